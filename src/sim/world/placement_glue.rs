//! Between the world and layer 2: builds the schedulers' view, runs their cycles, carries out
//! what they decide, and writes down why each pod waits.

use super::World;
use crate::sim::cluster::node::product_label;
use crate::sim::cluster::{DrainCause, PodPhase};
use crate::sim::decision::{NodeCounts, Tone, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::param::Param;
use crate::sim::placement::fit;
use crate::sim::placement::kai::{self, Deferred, KaiDecision, KaiMemory, KaiSettings, Placed, Why};
use crate::sim::placement::kube_scheduler::{self, KubeDecision, KubeMemory, KubeSettings};
use crate::sim::placement::view::{
    Amounts, GroupView, Labels, NodeView, PodRules, QueueView, Quota, TaskState, TaskView, Text, TopologyConstraint,
    View,
};
use crate::sim::snapshot::NodeStage;
use crate::sim::time::{Span, Time};
use crate::sim::wait::{Wait, WaitReason};
use serde::Serialize;

/// KAI takes a snapshot this often (`--schedule-period`), if something has changed.
const KAI_PERIOD: Span = Span::from_secs(1);
/// Value of [`Param::Scheduler`] for KAI.
pub(super) const KAI: i64 = 1;

pub(super) const GPU_PRODUCT: &str = "nvidia.com/gpu.product";
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
const BLOCK: &str = "seven-of-eight.dev/block";
const RACK: &str = "seven-of-eight.dev/rack";
const NVLINK_DOMAIN: &str = "seven-of-eight.dev/nvlink-domain";
const HOSTNAME: &str = "kubernetes.io/hostname";
const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
const QUEUE: &str = "default-queue";

/// What both schedulers remember.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PlacementState {
    kube: KubeMemory,
    kube_due: Option<Time>,
    kai: KaiMemory,
    kai_due: Option<Time>,
}

impl World {
    /// Something changed that could let a waiting pod in: capacity, or a node's state.
    pub(super) fn cluster_changed(&mut self) {
        self.placement.kube.on_cluster_event();
        self.karpenter.state_version += 1;
        self.wake_scheduler();
    }

    /// New pods are there: both schedulers look.
    pub(super) fn wake_scheduler(&mut self) {
        if self.placement.kube_due.is_none_or(|t| t > self.now) {
            self.placement.kube_due = Some(self.now);
            self.queue.push(self.now, Event::KubeCycle);
        }
        if self.placement.kai_due.is_none() {
            let tick = Time((self.now.0 / KAI_PERIOD.0 + 1) * KAI_PERIOD.0);
            self.wake_kai(tick);
        }
    }

    fn wake_kai(&mut self, at: Time) {
        self.placement.kai_due = Some(at);
        self.queue.push(at, Event::KaiCycle);
    }

    pub(super) fn on_kube_cycle(&mut self) {
        if self.placement.kube_due != Some(self.now) {
            return;
        }
        self.placement.kube_due = None;
        let settings = KubeSettings::default();
        let mut view = self.placement_view();
        let mut bound: Vec<GroupId> = Vec::new();
        loop {
            let memory = std::mem::take(&mut self.placement.kube);
            let (decision, memory) = kube_scheduler::decide(&view, &settings, memory, self.now);
            self.placement.kube = memory;
            match decision {
                None => break,
                Some(KubeDecision::Bind { group, pod, node, .. }) => {
                    note_bound(&mut view, group, pod, node);
                    self.bind(pod, node);
                    if !bound.contains(&group) {
                        bound.push(group);
                    }
                }
                Some(KubeDecision::Unschedulable { group, pod, counts, gpus_missing }) => {
                    self.log_bound(&mut bound, group);
                    self.pod_unschedulable(group, pod, counts, gpus_missing);
                }
                Some(KubeDecision::Preempt { group, pod, preemption, counts }) => {
                    self.pod_unschedulable(group, pod, counts, 0);
                    self.evict_victims(&preemption.victims);
                    self.pod_mut(pod).wait.reason = WaitReason::Turn;
                    view = self.placement_view();
                }
            }
        }
        for group in std::mem::take(&mut bound) {
            self.log_pods_bound(group);
        }
        let pods = &self.pods;
        self.placement.kube.keep(|pod| pods.get(pod.index()).is_some_and(|p| p.phase == PodPhase::Pending));
        if let Some(at) = self.placement.kube.next_wakeup(self.now)
            && self.placement.kube_due.is_none_or(|t| t > at)
        {
            self.placement.kube_due = Some(at);
            self.queue.push(at, Event::KubeCycle);
        }
    }

    /// Says what was bound of a group before it says what was not.
    fn log_bound(&mut self, bound: &mut Vec<GroupId>, group: GroupId) {
        if let Some(i) = bound.iter().position(|g| *g == group) {
            bound.remove(i);
            self.log_pods_bound(group);
        }
    }

    fn log_pods_bound(&mut self, group: GroupId) {
        let placed = self.bound_pods(group);
        let g = self.group(group);
        let (total, min_member) = (g.pods.len() as u32, g.min_member);
        let nodes = self.group_nodes(group);
        let tone = if placed < min_member { Tone::Bad } else { Tone::Good };
        self.log(Who::KubeScheduler, Verdict::PodsBound { group, placed, total, min_member, nodes }, tone);
    }

    fn pod_unschedulable(&mut self, group: GroupId, pod: PodId, counts: fit::NodeCounts, gpus_missing: u32) {
        let reason = wait_reason(&counts);
        self.mark_waiting(pod, reason, gpus_missing);
        let g = self.group(group);
        let (rank, total) = (self.pod(pod).rank, g.pods.len() as u32);
        let bound = self.bound_pods(group);
        let counts = logged_counts(&counts);
        let tone = if bound > 0 { Tone::Bad } else { Tone::Neutral };
        self.log(Who::KubeScheduler, Verdict::PodUnschedulable { pod, rank, group, counts, bound, total }, tone);
    }

    /// A scheduler said no: the pod is provisionable, and this is what it waits for.
    fn mark_waiting(&mut self, pod: PodId, reason: WaitReason, gpus_missing: u32) {
        let now = self.now;
        let p = self.pod_mut(pod);
        p.unschedulable = true;
        if p.nominated.is_some() {
            return; // a node is on its way: that wait is shown
        }
        if p.wait.reason != reason {
            p.wait.since = now;
        }
        p.wait = Wait { reason, gpus_missing, until: None, ..p.wait };
        self.karpenter_sees(pod);
    }

    fn evict_victims(&mut self, victims: &[PodId]) {
        for pod in victims {
            let group = self.pod(*pod).group;
            let grace = self.grace(self.group(group).service);
            self.start_drain(group, DrainCause::Preempted, grace);
        }
    }

    pub(super) fn on_kai_cycle(&mut self) {
        if self.placement.kai_due != Some(self.now) {
            return;
        }
        self.placement.kai_due = None;
        let settings = kai_settings();
        let view = self.placement_view();
        let memory = std::mem::take(&mut self.placement.kai);
        let (decisions, memory) = kai::decide(&view, &settings, memory, self.now);
        self.placement.kai = memory;
        for decision in decisions {
            match decision {
                KaiDecision::GangPlaced { group, placements, .. } => self.place_gang(group, &placements),
                KaiDecision::Pipelined { placements, .. } => {
                    for p in placements {
                        self.mark_turn(p.pod);
                    }
                }
                KaiDecision::GangDeferred(deferred) => self.defer_gang(&deferred),
                KaiDecision::StaleEvicted { group, stale_for, .. } => {
                    self.log(Who::Kai, Verdict::StaleEvicted { group, held: stale_for }, Tone::Bad);
                    let grace = self.grace(self.group(group).service);
                    self.start_drain(group, DrainCause::Recreated, grace);
                }
            }
        }
        let first_stale = self.placement.kai.stale_since.values().min().copied();
        if let (Some(since), Some(grace), None) = (first_stale, settings.stale_grace, self.placement.kai_due) {
            let due = since + grace;
            let at = due.max(self.now + KAI_PERIOD);
            self.wake_kai(Time(at.0.div_ceil(KAI_PERIOD.0) * KAI_PERIOD.0));
        }
    }

    fn place_gang(&mut self, group: GroupId, placements: &[Placed]) {
        for p in placements {
            self.bind(p.pod, p.node);
        }
        let nodes = self.group_nodes(group);
        let mut domains: Vec<_> = nodes.iter().map(|n| (self.nvlink_domain(*n), *n)).collect();
        domains.iter_mut().filter(|d| d.0.is_some()).for_each(|d| d.1 = NodeId(0));
        domains.sort();
        domains.dedup();
        let total = self.group(group).pods.len() as u32;
        let verdict = Verdict::GangPlaced { group, total, domains: domains.len() as u32, nodes };
        self.log(Who::Kai, verdict, Tone::Good);
    }

    fn mark_turn(&mut self, pod: PodId) {
        let now = self.now;
        let p = self.pod_mut(pod);
        if p.wait.reason != WaitReason::Turn {
            p.wait = Wait { reason: WaitReason::Turn, since: now, gpus_missing: 0, until: None };
        }
    }

    fn defer_gang(&mut self, deferred: &Deferred) {
        let group = deferred.group;
        let (reason, best_domain) = match &deferred.why {
            Why::NoFreeGpu => (WaitReason::FreeGpu, None),
            Why::Cpu | Why::Memory => (WaitReason::NodeOverhead, None),
            Why::Selector | Why::Taint | Why::Cordoned => (WaitReason::TaintOrSelector, None),
            Why::DevicePlugin => (WaitReason::DevicePlugin, None),
            Why::Topology { best_domain_free_gpus, .. } => (WaitReason::Topology, Some(*best_domain_free_gpus)),
            Why::UnknownTopology { .. } => (WaitReason::Topology, Some(0)),
            Why::OverLimit(_) | Why::NonPreemptibleOverQuota(_) | Why::UnknownQueue { .. } => (WaitReason::Quota, None),
            Why::Partners { .. } => (WaitReason::GangPartners, None),
        };
        for pod in self.group(group).pods.clone() {
            if self.pod(pod).phase == PodPhase::Pending {
                self.mark_waiting(pod, reason, deferred.gpus_missing);
            }
        }
        let (fit, need, missing) = (deferred.fit, deferred.need, deferred.gpus_missing);
        self.log(Who::Kai, Verdict::GangDeferred { group, fit, need, missing, best_domain }, Tone::Neutral);
    }

    /// What both schedulers see. Each acts on the groups that name it.
    pub(super) fn placement_view(&self) -> View {
        let nodes = self.nodes.iter().filter(|n| !n.is_released()).map(|n| self.node_for_scheduler(n.id)).collect();
        let everything = Quota::UNLIMITED;
        let queue = QueueView {
            name: QUEUE.into(),
            parent: None,
            gpus: everything,
            cpu_m: everything,
            mem_mib: everything,
            priority: 100,
            created: Time::ZERO,
        };
        let services: Vec<PodRules> = (0..self.setup.services.len()).map(|s| self.pod_rules(s)).collect();
        let mut groups: Vec<GroupView> = Vec::new();
        for id in self.services.iter().flat_map(|s| s.groups.iter()) {
            groups.push(self.group_for_scheduler(*id, &services));
        }
        groups.sort_by_key(|g| g.id);
        View { nodes, groups, queues: vec![queue] }
    }

    fn node_for_scheduler(&self, id: NodeId) -> NodeView {
        let n = self.node(id);
        let gpu_ready = matches!(n.stage, NodeStage::Ready | NodeStage::Draining);
        let (cpu_m, mem_mib) = n.allocatable();
        let allocatable = Amounts { gpus: n.gpus.len() as u32, cpu_m, mem_mib };
        let releasing = self.releasing_on(id);
        let held = n.gpus.iter().filter(|s| s.pod.is_some()).count() as u32;
        let used = Amounts { gpus: held, cpu_m: n.cpu_m_used, mem_mib: n.mem_mib_used };
        let mut free = allocatable.minus(used);
        if !gpu_ready {
            free.gpus = 0;
        }
        // A node that has not registered yet is not in the API at all; it is shown as cordoned.
        let registered = !matches!(n.stage, NodeStage::Launching | NodeStage::Booting | NodeStage::Registering);
        let tainted = self.karpenter.is_disrupting(id);
        NodeView {
            id,
            name: n.name.clone(),
            allocatable,
            free,
            releasing,
            labels: self.node_labels(id),
            taints: Vec::new(),
            unschedulable: n.leave.is_some() || !registered || tainted,
            gpu_ready,
        }
    }

    /// What terminating pods of a node will give back.
    fn releasing_on(&self, id: NodeId) -> Amounts {
        let mut pods: Vec<PodId> = self.node(id).gpus.iter().filter_map(|s| s.pod).collect();
        pods.sort();
        pods.dedup();
        let leaving = pods.into_iter().map(|p| self.pod(p)).filter(|p| p.phase == PodPhase::Releasing);
        leaving.fold(Amounts::ZERO, |sum, p| {
            let spec = &self.setup.services[self.group(p.group).service.index()];
            sum.plus(Amounts { gpus: spec.gpus_per_worker, cpu_m: spec.cpu_m, mem_mib: spec.mem_mib })
        })
    }

    fn node_labels(&self, id: NodeId) -> Labels {
        let n = self.node(id);
        let rack = &self.racks[n.rack.index()];
        let mut labels: Vec<(Text, Text)> = vec![
            (INSTANCE_TYPE.into(), n.instance.name.into()),
            (GPU_PRODUCT.into(), n.product_label().into()),
            (ZONE.into(), rack.zone.clone()),
            (BLOCK.into(), rack.block.clone()),
            (RACK.into(), rack.name.clone()),
            (HOSTNAME.into(), n.name.clone()),
        ];
        match self.nvlink_domain(id) {
            Some((true, _)) => labels.push((NVLINK_DOMAIN.into(), rack.name.clone())),
            Some((false, _)) => labels.push((NVLINK_DOMAIN.into(), n.name.clone())),
            None => {}
        }
        Labels::new(labels)
    }

    pub(super) fn pod_rules(&self, service: usize) -> PodRules {
        let spec = &self.setup.services[service];
        let selector = spec.gpu.map(|gpu| (GPU_PRODUCT, product_label(gpu, spec.share)));
        PodRules::new(Labels::new(selector), Vec::new())
    }

    fn group_for_scheduler(&self, id: GroupId, rules: &[PodRules]) -> GroupView {
        let g = self.group(id);
        let spec = &self.setup.services[g.service.index()];
        let request = Amounts { gpus: spec.gpus_per_worker, cpu_m: spec.cpu_m, mem_mib: spec.mem_mib };
        let topology = match self.policy.choice(Param::Topology) {
            "required" => TopologyConstraint { required: Some(NVLINK_DOMAIN.into()), preferred: None },
            "preferred" => TopologyConstraint { required: None, preferred: Some(NVLINK_DOMAIN.into()) },
            _ => TopologyConstraint::default(),
        };
        let tasks = g.pods.iter().map(|p| self.pod(*p)).filter(|p| p.phase != PodPhase::Gone).map(|p| TaskView {
            pod: p.id,
            request,
            rules: rules[g.service.index()].clone(),
            state: match (p.phase, p.node) {
                (PodPhase::Bound, Some(n)) => TaskState::Bound(n),
                (PodPhase::Releasing, Some(n)) => TaskState::Releasing(n),
                _ => TaskState::Pending,
            },
            created: p.created,
            arrival: u64::from(p.id.0),
            order: None,
            started: p.bound_at.unwrap_or(p.created),
        });
        GroupView {
            id,
            name: g.name.clone(),
            scheduler_name: if g.scheduler == KAI { "kai-scheduler".into() } else { "default-scheduler".into() },
            queue: QUEUE.into(),
            priority: spec.priority,
            preemptible: spec.priority < 100,
            min_member: g.min_member,
            created: g.created,
            topology: if spec.workers > 1 { topology } else { TopologyConstraint::default() },
            disruptions_allowed: None,
            tasks: tasks.collect(),
        }
    }
}

fn kai_settings() -> KaiSettings {
    KaiSettings {
        levels: [ZONE, BLOCK, RACK, NVLINK_DOMAIN, HOSTNAME].map(str::to_owned).to_vec(),
        ..KaiSettings::default()
    }
}

/// Keeps a view true after a binding, so that it need not be built again for the next pod.
fn note_bound(view: &mut View, group: GroupId, pod: PodId, node: NodeId) {
    let Some(task) =
        view.groups.iter_mut().find(|g| g.id == group).and_then(|g| g.tasks.iter_mut().find(|t| t.pod == pod))
    else {
        return;
    };
    task.state = TaskState::Bound(node);
    let request = task.request;
    if let Some(n) = view.nodes.iter_mut().find(|n| n.id == node) {
        n.free = n.free.minus(request);
    }
}

/// What an unschedulable pod waits for: the reason that the nearest nodes give.
fn wait_reason(c: &fit::NodeCounts) -> WaitReason {
    if c.no_free_gpu > 0 {
        WaitReason::FreeGpu
    } else if c.device_plugin > 0 {
        WaitReason::DevicePlugin
    } else if c.cpu + c.memory > 0 {
        WaitReason::NodeOverhead
    } else if c.taint + c.selector > 0 {
        WaitReason::TaintOrSelector
    } else {
        WaitReason::FreeGpu
    }
}

fn logged_counts(c: &fit::NodeCounts) -> NodeCounts {
    NodeCounts {
        nodes: c.total,
        no_free_gpu: c.no_free_gpu,
        selector: c.selector,
        taint: c.taint,
        not_ready: c.unschedulable + c.device_plugin,
        cpu_or_memory: c.cpu + c.memory,
    }
}
