//! Between the world and Karpenter: pending pods into batches, plans into nodes, disruption
//! commands into evictions.

use super::World;
use super::metering::price_of;
use super::placement_glue::GPU_PRODUCT;
use crate::sim::cluster::node::product_label;
use crate::sim::cluster::{DrainCause, Leave, PodPhase};
use crate::sim::decision::{KeptBecause, Tone, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::{NodeId, PodId, RackId};
use crate::sim::money::Microusd;
use crate::sim::nodes::karpenter::batch::BatchWindow;
use crate::sim::nodes::karpenter::decision::{Command, KeptReason};
use crate::sim::nodes::karpenter::disruption::{self, DisruptionMemory};
use crate::sim::nodes::karpenter::plan::{NewNode, Refusal};
use crate::sim::nodes::karpenter::pool::{Limits, Policy as PoolPolicy, Pool, Reason};
use crate::sim::nodes::karpenter::types::{
    CapacityType, INSTANCE_TYPE, InstanceType, NodeView, Offering, Resources, Settings, View, node_labels,
};
use crate::sim::nodes::karpenter::{PodView, provision};
use crate::sim::param::Param;
use crate::sim::snapshot::NodeStage;
use crate::sim::time::{Span, Time};
use crate::sim::wait::{Wait, WaitReason};
use serde::Serialize;
use std::collections::BTreeMap;

/// The disruption loop runs again so long after it did nothing.
const REVIEW: Span = Span::from_secs(10);
/// A consolidation command is confirmed after this long.
const VALIDATION: Span = Span::from_secs(15);
/// The one NodePool.
const POOL: u32 = 0;

/// What Karpenter keeps in mind.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KarpenterState {
    batch: BatchWindow,
    batch_due: Option<Time>,
    memory: DisruptionMemory,
    /// Found, and waiting for its confirmation.
    planned: Option<Command>,
    /// Confirmed, and waiting for its replacements to be up.
    replacing: Option<Replacing>,
    pub(super) next_review: Option<Time>,
    /// Grows with every change of the cluster.
    pub(super) state_version: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Replacing {
    command: Command,
    nodes: Vec<NodeId>,
}

impl KarpenterState {
    /// Tainted `karpenter.sh/disrupted`: takes no new pods.
    pub(super) fn is_disrupting(&self, node: NodeId) -> bool {
        self.replacing.as_ref().is_some_and(|r| r.command.nodes.contains(&node))
    }
    pub(super) fn planned_nodes(&self) -> impl Iterator<Item = NodeId> + '_ {
        let planned = self.planned.iter().flat_map(|c| c.nodes.iter());
        planned.chain(self.replacing.iter().flat_map(|r| r.command.nodes.iter())).copied()
    }
}

impl World {
    pub(super) fn karpenter_on(&self) -> bool {
        self.policy.choice(Param::Provisioner) == "karpenter"
    }

    /// A pod has become provisionable, or is looked at again.
    pub(super) fn karpenter_sees(&mut self, pod: PodId) {
        if !self.karpenter_on() {
            return;
        }
        let settings = Settings::default();
        let closes = self.karpenter.batch.seen(pod, &settings, self.now);
        if self.karpenter.batch_due != Some(closes) {
            self.karpenter.batch_due = Some(closes);
            self.queue.push(closes, Event::BatchClose);
        }
    }

    /// Karpenter was switched on or its settings changed.
    pub(super) fn wake_karpenter(&mut self) {
        if !self.karpenter_on() {
            return;
        }
        self.karpenter.state_version += 1;
        let waiting: Vec<PodId> = self.provisionable().collect();
        for pod in waiting {
            self.karpenter_sees(pod);
        }
        if self.karpenter.next_review.is_none() {
            self.review_in(REVIEW);
        }
    }

    fn provisionable(&self) -> impl Iterator<Item = PodId> + '_ {
        let groups = self.services.iter().flat_map(|s| s.groups.iter());
        let pods = groups.flat_map(|g| self.group(*g).pods.iter()).map(|p| self.pod(*p));
        pods.filter(|p| p.phase == PodPhase::Pending && p.unschedulable).map(|p| p.id)
    }

    fn review_in(&mut self, span: Span) {
        let at = self.now + span;
        self.karpenter.next_review = Some(at);
        self.queue.push(at, Event::DisruptionDue);
    }

    pub(super) fn on_batch_close(&mut self) {
        if self.karpenter.batch_due != Some(self.now) {
            return;
        }
        self.karpenter.batch_due = None;
        self.karpenter.batch.close();
        if !self.karpenter_on() {
            return;
        }
        let view = self.karpenter_view();
        let settings = Settings::default();
        let plan = provision::provision(&view, &settings, self.now);
        for (pod, node) in &plan.on_existing {
            self.nominate(*pod, *node, &settings);
        }
        for new in &plan.new_nodes {
            self.launch(new, &settings);
        }
        for refused in &plan.unschedulable {
            let (pod, group) = (refused.pod, self.pod(refused.pod).group);
            let out_of_stock = matches!(refused.reason, Refusal::NoOffering);
            if out_of_stock {
                self.set_wait(pod, WaitReason::CloudCapacity, None);
            }
            let verdict = match refused.reason {
                Refusal::Limit => Verdict::PoolLimit { pod, group },
                _ => Verdict::NoNodeFits { pod, group },
            };
            self.log(Who::Karpenter, verdict, Tone::Bad);
        }
    }

    /// Buys a planned node and nominates it for its pods.
    fn launch(&mut self, new: &NewNode, settings: &Settings) -> Option<NodeId> {
        let instance = *self.setup.pool.instances.get(new.launch.instance_type)?;
        let rack = self.rack_for(instance, &new.launch.zone)?;
        let node = self.buy_node(instance, rack, Some(POOL))?;
        let ready_in = self.node(node).stages.last().map_or(Span::ZERO, |(_, at)| at.since(self.now));
        let verdict = Verdict::NodeBought {
            node,
            instance: instance.name,
            pods: new.pods.len() as u32,
            price_per_hour: price_of(instance),
            ready_in,
        };
        self.log(Who::Karpenter, verdict, Tone::Good);
        for pod in &new.pods {
            self.nominate(*pod, node, settings);
        }
        self.karpenter.state_version += 1;
        Some(node)
    }

    /// A pending pod is expected to land on a node.
    fn nominate(&mut self, pod: PodId, node: NodeId, settings: &Settings) {
        let until = self.now + settings.nomination();
        self.node_mut(node).nominated_until = Some(until);
        if self.pod(pod).phase == PodPhase::Pending && self.node(node).booting() {
            self.pod_mut(pod).nominated = Some(node);
            self.refresh_nominated_waits(node);
        }
    }

    /// Pods that expect a starting node wait for its boot or for its device plugin.
    pub(super) fn refresh_nominated_waits(&mut self, node: NodeId) {
        let n = self.node(node);
        let until = n.stages.last().map(|(_, at)| *at);
        let reason = match n.stage {
            NodeStage::GpuStack => WaitReason::DevicePlugin,
            _ => WaitReason::NodeBoot,
        };
        let waiting: Vec<PodId> = self.provisionable().filter(|p| self.pod(*p).nominated == Some(node)).collect();
        for pod in waiting {
            self.set_wait(pod, reason, until);
        }
    }

    fn set_wait(&mut self, pod: PodId, reason: WaitReason, until: Option<Time>) {
        let now = self.now;
        let wait = &mut self.pod_mut(pod).wait;
        let since = if wait.reason == reason { wait.since } else { now };
        *wait = Wait { reason, since, gpus_missing: 0, until };
    }

    /// A node's GPUs are allocatable: pods nominated to it are ordinary pending pods again, and a
    /// command that waited for it may go on.
    pub(super) fn on_node_initialized(&mut self, node: NodeId) {
        let waiting: Vec<PodId> = self.provisionable().filter(|p| self.pod(*p).nominated == Some(node)).collect();
        for pod in waiting {
            self.pod_mut(pod).nominated = None;
            self.set_wait(pod, WaitReason::Turn, None);
        }
        self.continue_replacing();
    }

    fn continue_replacing(&mut self) {
        let Some(replacing) = &self.karpenter.replacing else { return };
        if replacing.nodes.iter().any(|n| self.node(*n).initialized_at.is_none()) {
            return;
        }
        if let Some(done) = self.karpenter.replacing.take() {
            self.evict_nodes(&done.command);
        }
    }

    pub(super) fn on_disruption_due(&mut self) {
        if self.karpenter.next_review != Some(self.now) {
            return;
        }
        self.karpenter.next_review = None;
        if !self.karpenter_on() {
            return;
        }
        self.review_in(REVIEW);
        // A waiting pod is a trigger every 10 s, as upstream.
        for pod in self.provisionable().filter(|p| self.pod(*p).nominated.is_none()).collect::<Vec<_>>() {
            self.karpenter_sees(pod);
        }
        if self.karpenter.planned.is_some() || self.karpenter.replacing.is_some() {
            return;
        }
        let view = self.karpenter_view();
        let settings = Settings::default();
        let (decision, memory) = disruption::disrupt(&view, &settings, &self.karpenter.memory, self.now);
        self.karpenter.memory = memory;
        if let Some(kept) = decision.best_kept()
            && let Some(why) = kept_because(&kept.reason)
        {
            self.log(Who::Karpenter, Verdict::ConsolidationKept { node: kept.node, why }, Tone::Neutral);
        }
        if let Some(command) = decision.command {
            let pods = command.landings.len() as u32;
            let replacement = command.replacements.first().and_then(|r| self.instance_name(r.launch.instance_type));
            let verdict = Verdict::ConsolidationPlanned {
                nodes: command.nodes.clone(),
                empty: command.reason == Reason::Empty,
                pods,
                replacement,
                saves_per_hour: saved(&command),
            };
            self.log(Who::Karpenter, verdict, if pods > 0 { Tone::Bad } else { Tone::Neutral });
            self.karpenter.planned = Some(command);
            self.after(VALIDATION, Event::ConsolidationValidate);
        }
    }

    fn instance_name(&self, index: usize) -> Option<&'static str> {
        self.setup.pool.instances.get(index).map(|i| i.name)
    }

    pub(super) fn on_consolidation_validate(&mut self) {
        let Some(command) = self.karpenter.planned.take() else { return };
        if !self.karpenter_on() {
            self.log(Who::Karpenter, Verdict::ConsolidationDropped { nodes: command.nodes }, Tone::Neutral);
            return;
        }
        let view = self.karpenter_view();
        match disruption::validate(&view, &Settings::default(), &command, self.now) {
            Err(_) => {
                self.log(Who::Karpenter, Verdict::ConsolidationDropped { nodes: command.nodes }, Tone::Neutral);
            }
            Ok(command) if command.replacements.is_empty() => self.evict_nodes(&command),
            Ok(command) => self.replace_nodes(command),
        }
    }

    /// Replacements first; the old nodes are drained when all of them are up.
    fn replace_nodes(&mut self, command: Command) {
        let settings = Settings::default();
        let mut nodes = Vec::new();
        for new in &command.replacements {
            let bare = NewNode { pods: Vec::new(), ..new.clone() };
            match self.launch(&bare, &settings) {
                Some(node) => nodes.push(node),
                None => {
                    // No room for a replacement: the command rolls back, the nodes stay.
                    self.log(Who::Karpenter, Verdict::ConsolidationDropped { nodes: command.nodes }, Tone::Neutral);
                    return;
                }
            }
        }
        self.karpenter.replacing = Some(Replacing { command, nodes });
    }

    fn evict_nodes(&mut self, command: &Command) {
        let saves_per_hour = saved(command);
        for node in command.nodes.clone() {
            if self.node(node).leave.is_some() || self.node(node).is_released() {
                continue;
            }
            let groups = self.groups_on(node);
            let in_flight = groups.iter().map(|g| self.in_flight(*g)).sum();
            let grace = groups.iter().map(|g| self.grace(self.group(*g).service)).max();
            let verdict = Verdict::ConsolidationEvicts {
                node,
                pods: self.pods_on(node),
                in_flight,
                grace: grace.unwrap_or(Span::ZERO),
                saves_per_hour,
            };
            let tone = if in_flight > 0 { Tone::Bad } else { Tone::Neutral };
            self.log(Who::Karpenter, verdict, tone);
            self.empty_node(node, Leave::Release, DrainCause::Evicted);
        }
    }

    /// Pods that hold GPUs of a node.
    fn pods_on(&self, node: NodeId) -> u32 {
        let mut pods: Vec<PodId> = self.node(node).gpus.iter().filter_map(|s| s.pod).collect();
        pods.sort();
        pods.dedup();
        pods.len() as u32
    }

    /// What Karpenter sees. GPU pods name their GPU; the rest is as on the nodes.
    pub(super) fn karpenter_view(&self) -> View {
        let mut view = View {
            types: self.setup.pool.instances.iter().map(|i| self.instance_type(i)).collect(),
            pools: vec![self.node_pool()],
            state_version: self.karpenter.state_version,
            ..View::default()
        };
        view.pending = self.provisionable().map(|p| self.pod_for_karpenter(p)).collect();
        let nodes = self.nodes.iter().filter(|n| !n.is_released()).map(|n| self.node_for_karpenter(n.id, &view));
        let nodes: Vec<NodeView> = nodes.collect();
        view.nodes = nodes;
        view
    }

    fn node_pool(&self) -> Pool {
        let after = self.policy.get(Param::ConsolidateAfter).max(0) as u64;
        let policy = match self.policy.choice(Param::Consolidation) {
            "WhenEmpty" => PoolPolicy::WhenEmpty,
            _ => PoolPolicy::WhenEmptyOrUnderutilized,
        };
        Pool {
            name: self.setup.pool.name.clone(),
            policy,
            consolidate_after: Some(Span::from_secs(after)),
            limits: Limits { gpu: self.setup.pool.gpus_max.map(i64::from), ..Limits::default() },
            ..Pool::default()
        }
    }

    fn instance_type(&self, instance: &'static crate::sim::catalog::Instance) -> InstanceType {
        let gpus = i64::from(instance.gpu_count);
        let (cpu_m, mem_mib) = crate::sim::cluster::node::allocatable(instance);
        let capacity = Resources::new(i64::from(cpu_m), i64::from(mem_mib), gpus, 110);
        let product = crate::sim::catalog::gpu(instance.gpu).map_or(instance.gpu, |g| g.product_label);
        let labels = BTreeMap::from([
            (INSTANCE_TYPE.to_owned(), instance.name.to_owned()),
            (GPU_PRODUCT.to_owned(), product.to_owned()),
        ]);
        let offerings = self.setup.zones.iter().map(|zone| Offering {
            zone: zone.clone(),
            capacity_type: CapacityType::OnDemand,
            price_microusd_per_hour: price_of(instance),
            available: self.rack_for(instance, zone).is_some(),
            reservation_left: None,
        });
        InstanceType {
            name: instance.name.to_owned(),
            capacity,
            overhead: Resources::default(),
            labels,
            offerings: offerings.collect(),
        }
    }

    fn pod_for_karpenter(&self, pod: PodId) -> PodView {
        let p = self.pod(pod);
        let g = self.group(p.group);
        let spec = &self.setup.services[g.service.index()];
        let gpus = i64::from(spec.gpus_per_worker);
        let mut view = PodView::new(pod, Resources::new(i64::from(spec.cpu_m), i64::from(spec.mem_mib), gpus, 0));
        view.created = p.created;
        view.started = p.bound_at;
        view.terminating = p.phase == PodPhase::Releasing;
        view.ready = g.routable();
        view.priority = i64::from(spec.priority);
        view.grace = self.grace(g.service);
        if let Some(gpu) = spec.gpu {
            view.node_selector.insert(GPU_PRODUCT.to_owned(), product_label(gpu, spec.share));
        }
        view
    }

    fn node_for_karpenter(&self, id: NodeId, view: &View) -> NodeView {
        let n = self.node(id);
        let zone = self.rack_zone(n.rack);
        let kind = self.instance_type(n.instance);
        let pool = n.pool.map(|p| p as usize);
        let pods = n.gpus.iter().filter_map(|s| s.pod);
        let mut pods: Vec<PodId> = pods.collect();
        pods.sort();
        pods.dedup();
        let ready = matches!(n.stage, NodeStage::Ready | NodeStage::Draining);
        let planned = self.karpenter.planned_nodes().any(|p| p == id);
        let (total, none) = (kind.allocatable(), Resources { gpu: 0, ..kind.allocatable() });
        NodeView {
            id,
            pool,
            instance_type: view.types.iter().position(|t| t.name == n.instance.name),
            zone: zone.clone(),
            capacity_type: CapacityType::OnDemand,
            labels: node_labels(
                &kind,
                pool.and_then(|p| view.pools.get(p)),
                &zone,
                CapacityType::OnDemand,
                &BTreeMap::from([("kubernetes.io/hostname".to_owned(), n.name.to_string())]),
            ),
            taints: Vec::new(),
            allocatable: if ready { total.clone() } else { none },
            capacity: total,
            pods: pods.into_iter().map(|p| self.pod_for_karpenter(p)).collect(),
            initialized: n.initialized_at.is_some() && ready,
            ready: ready || n.stage == NodeStage::GpuStack,
            deleting: n.leave.is_some() || self.karpenter.is_disrupting(id),
            instance_terminating: false,
            nominated_until: n.nominated_until,
            consolidatable: None,
            do_not_disrupt: planned && self.karpenter.replacing.is_some(),
            created: n.created,
            initialized_at: n.initialized_at,
            last_pod_event: n.last_pod_event,
            drifted_at: None,
            termination_grace: None,
        }
    }

    fn rack_zone(&self, rack: RackId) -> String {
        self.racks.get(rack.index()).map_or_else(String::new, |r| r.zone.to_string())
    }

    /// The managed node whose `consolidateAfter` ends first, and when.
    pub(super) fn next_consolidatable(&self) -> Option<(NodeId, Time)> {
        if !self.karpenter_on() {
            return None;
        }
        let after = Span::from_secs(self.policy.get(Param::ConsolidateAfter).max(0) as u64);
        let only_empty = self.policy.choice(Param::Consolidation) == "WhenEmpty";
        let nodes = self.nodes.iter().filter(|n| n.pool.is_some() && n.schedulable());
        let nodes = nodes.filter(|n| !only_empty || n.is_empty());
        nodes
            .filter_map(|n| Some((n.id, n.last_pod_event.or(n.initialized_at)? + after)))
            .min_by_key(|(id, at)| (*at, *id))
    }
}

fn saved(command: &Command) -> Microusd {
    Microusd(command.savings_microusd_per_hour().max(0) as u64)
}

/// The reasons that the log shows; a node that is simply busy starting or leaving is no news.
fn kept_because(reason: &KeptReason) -> Option<KeptBecause> {
    Some(match reason {
        KeptReason::NotConsolidatable { remaining: Some(remaining) } => {
            KeptBecause::NotConsolidatable { remaining: *remaining }
        }
        KeptReason::NotEmpty { .. } => KeptBecause::NotEmpty,
        KeptReason::PodsDoNotFit { .. } | KeptReason::OnlyOnStartingNode { .. } | KeptReason::NeedsNodes { .. } => {
            KeptBecause::PodsDoNotFit
        }
        KeptReason::NotCheaper { .. } => KeptBecause::NotCheaper,
        KeptReason::Budget { .. } => KeptBecause::Budget,
        KeptReason::DoNotDisrupt { .. } => KeptBecause::DoNotDisrupt,
        KeptReason::Pdb { .. } => KeptBecause::Pdb,
        _ => return None,
    })
}
