//! Replicas as PodGroups: created, bound pod by pod, loaded, ready, drained.

use super::World;
use crate::sim::cluster::{DrainCause, Group, Pod, PodPhase};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::id::{GroupId, NodeId, PodId, ServiceId};
use crate::sim::money::Microusd;
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::Span;
use crate::sim::wait::{Wait, WaitReason};

/// Longest back-off of a container that keeps failing (kubelet).
pub(super) const CRASH_BACKOFF: Span = Span::from_mins(5);

impl World {
    /// Creates a replica with its pods; they wait for a scheduler.
    pub(super) fn create_group(&mut self, service: ServiceId) -> GroupId {
        let id = GroupId::from_index(self.groups.len());
        let setup = self.setup.clone();
        let spec = &setup.services[service.index()];
        let ordinal = self.service(service).next_ordinal;
        self.service_mut(service).next_ordinal += 1;
        let badge = (spec.workers > 1).then(|| self.free_badge());
        let scheduler = self.policy.get(Param::Scheduler);
        let mut pods = Vec::with_capacity(spec.workers as usize);
        for rank in 0..spec.workers {
            let pod = PodId::from_index(self.pods.len());
            self.pods.push(Pod {
                id: pod,
                group: id,
                rank,
                phase: PodPhase::Pending,
                node: None,
                created: self.now,
                bound_at: None,
                image_at: None,
                unschedulable: false,
                nominated: None,
                wait: Wait { reason: WaitReason::Turn, since: self.now, gpus_missing: 0, until: None },
                nominated_stage: None,
            });
            pods.push(pod);
        }
        self.groups.push(Group {
            id,
            name: format!("{}-{ordinal}", spec.name).into(),
            service,
            badge,
            stage: GroupStage::Pending,
            stage_since: self.now,
            stage_until: None,
            pods,
            min_member: spec.workers,
            scheduler,
            created: self.now,
            complete_at: None,
            held_since: None,
            held_gpu_time: Span::ZERO,
            held_price_product: 0,
            held_counted_to: self.now,
            image: Span::ZERO,
            weights: Span::ZERO,
            warm_up: Span::ZERO,
            engine: None,
            endpoint: 0,
            busy: false,
            drain: None,
            generation: 0,
            crosses_domains: false,
            all_reduce_step: None,
            standby: false,
            ready_early: false,
            claimed_ready: None,
            failed_early: 0,
        });
        self.service_mut(service).groups.push(id);
        self.wake_scheduler();
        id
    }

    /// The first letter that no living gang wears.
    fn free_badge(&self) -> char {
        ('A'..='Z').find(|c| !self.living_groups().any(|g| g.badge == Some(*c))).unwrap_or('Z')
    }

    pub(super) fn living_groups(&self) -> impl Iterator<Item = &Group> {
        self.services.iter().flat_map(|s| s.groups.iter()).map(|g| self.group(*g))
    }

    /// Puts a pod on a node: from now on it holds its GPUs.
    pub(super) fn bind(&mut self, pod: PodId, node: NodeId) {
        let now = self.now;
        let setup = self.setup.clone();
        let group = self.pod(pod).group;
        // What was held until now was held without this pod.
        self.count_held(group);
        let service = self.group(group).service;
        let spec = &setup.services[service.index()];
        let n = self.node_mut(node);
        let mut wanted = spec.gpus_per_worker;
        for slot in n.gpus.iter_mut().filter(|s| s.pod.is_none()) {
            if wanted == 0 {
                break;
            }
            slot.pod = Some(pod);
            wanted -= 1;
        }
        debug_assert_eq!(wanted, 0, "bound to a node without room");
        n.cpu_m_used += spec.cpu_m;
        n.mem_mib_used += spec.mem_mib;
        n.empty_since = None;
        n.last_pod_event = Some(now);
        let p = self.pod_mut(pod);
        p.phase = PodPhase::Bound;
        p.node = Some(node);
        p.bound_at = Some(now);
        p.unschedulable = false;
        p.nominated = None;
        p.nominated_stage = None;
        p.wait = Wait { reason: WaitReason::Image, since: now, gpus_missing: 0, until: None };
        self.start_image(pod);
        self.on_members_changed(group);
    }

    /// Bound members changed: the group became complete, or began or ended to hold GPUs idle.
    pub(super) fn on_members_changed(&mut self, group: GroupId) {
        let now = self.now;
        self.count_held(group);
        let bound = self.bound_pods(group);
        let g = self.group(group);
        let total = g.pods.len() as u32;
        let partial = bound > 0 && bound < g.min_member && g.alive();
        let held_since = g.held_since;
        let complete = bound == total && g.stage == GroupStage::Pending;
        match (partial, held_since) {
            (true, None) => {
                let g = self.group_mut(group);
                g.held_since = Some(now);
                g.held_counted_to = now;
            }
            (false, Some(since)) => {
                self.group_mut(group).held_since = None;
                let g = self.group(group);
                if complete && now > since {
                    let verdict = Verdict::GangComplete {
                        group,
                        held: now.since(since),
                        gpu_time: g.held_gpu_time,
                        cost: held_cost(g.held_price_product),
                    };
                    self.log(Who::KubeScheduler, verdict, Tone::Good);
                }
            }
            _ => {}
        }
        if complete {
            let g = self.group_mut(group);
            g.complete_at = Some(now);
            g.stage = GroupStage::Image;
            g.stage_since = now;
            g.generation += 1;
        }
        self.set_member_waits(group);
        self.refresh_group_gpus(group);
        if complete {
            self.refresh_image_end(group);
            self.start_weights_if_pulled(group);
        }
    }

    /// Adds the GPU time since the last look to what the group burnt while below its minimum.
    pub(super) fn count_held(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group(group);
        if g.held_since.is_none() {
            return;
        }
        let span = now.since(g.held_counted_to);
        let mut gpus = 0u64;
        let mut price_product = 0u128;
        for p in g.pods.iter().map(|p| self.pod(*p)).filter(|p| p.phase == PodPhase::Bound) {
            if let Some(node) = p.node {
                let per_pod = u64::from(self.setup.services[g.service.index()].gpus_per_worker);
                gpus += per_pod;
                price_product += self.gpu_price(node) * u128::from(per_pod) * u128::from(span.0);
            }
        }
        let g = self.group_mut(group);
        g.held_gpu_time += Span(span.0 * gpus);
        g.held_price_product += price_product;
        g.held_counted_to = now;
    }

    pub(super) fn bound_pods(&self, group: GroupId) -> u32 {
        self.group(group).pods.iter().filter(|p| self.pod(**p).phase == PodPhase::Bound).count() as u32
    }

    /// Bound members of an incomplete gang wait for their partners.
    pub(super) fn set_member_waits(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group(group);
        let incomplete = g.stage == GroupStage::Pending;
        let missing = g.pods.len() as u32 - self.bound_pods(group);
        let per_pod = self.setup.services[g.service.index()].gpus_per_worker;
        for pod in g.pods.clone() {
            let p = self.pod_mut(pod);
            if p.phase != PodPhase::Bound || !incomplete || p.image_at.is_none_or(|t| t > now) {
                continue;
            }
            if p.wait.reason != WaitReason::GangPartners {
                p.wait.since = now;
            }
            p.wait = Wait { reason: WaitReason::GangPartners, gpus_missing: missing * per_pod, until: None, ..p.wait };
        }
    }

    /// Nodes of its pods, each once, in order of rank.
    pub(super) fn group_nodes(&self, group: GroupId) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        for p in &self.group(group).pods {
            if let Some(n) = self.pod(*p).node
                && !nodes.contains(&n)
            {
                nodes.push(n);
            }
        }
        nodes
    }

    /// Makes the number of replicas what is wanted: takes over loaded spares, creates missing ones,
    /// stops surplus ones in the order of the ReplicaSet controller. Then the spares.
    pub(super) fn reconcile(&mut self, service: ServiceId) {
        let wanted = self.service(service).wanted as usize;
        let groups = self.service(service).groups.iter().copied();
        let alive: Vec<GroupId> = groups.filter(|g| self.group(*g).alive() && !self.group(*g).standby).collect();
        for _ in alive.len()..wanted {
            if !self.promote_spare(service) {
                self.create_group(service);
            }
        }
        if alive.len() > wanted {
            let mut order = alive.clone();
            order.sort_by_key(|g| self.stop_order(self.group(*g)));
            let grace = self.grace(service);
            for group in order.into_iter().take(alive.len() - wanted) {
                self.start_drain(group, DrainCause::ScaledDown, grace);
            }
        }
        self.reconcile_spares(service);
    }
}

/// Money of a product of (micro-dollars per GPU-hour × µs).
pub(super) fn held_cost(price_product: u128) -> Microusd {
    Microusd((price_product / 3_600_000_000) as u64)
}
