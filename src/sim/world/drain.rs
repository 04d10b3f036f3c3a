//! How a replica stops: drained, its requests finished or cut off, its GPUs given back.

use super::World;
use crate::sim::cluster::{Drain, DrainCause, PodPhase};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, ServiceId};
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};

/// A container that serves nothing stops at once on SIGTERM.
const STOP_IDLE: Span = Span::from_secs(1);

impl World {
    /// `terminationGracePeriodSeconds` of a service's pods.
    pub(super) fn grace(&self, service: ServiceId) -> Span {
        let own = self.setup.services[service.index()].grace;
        own.unwrap_or_else(|| Span::from_secs(self.policy.get(Param::Grace).max(0) as u64))
    }

    fn drain_span(&self, param: Param) -> Span {
        Span::from_secs(self.policy.get(param).max(0) as u64)
    }

    /// Begins to stop a replica, with `grace` until SIGKILL. Two things start together: its
    /// endpoint is being removed, which takes its time, and the preStop hook runs; SIGTERM follows
    /// the hook. A replica without a running container stops at once.
    pub(super) fn start_drain(&mut self, group: GroupId, cause: DrainCause, grace: Span) {
        let now = self.now;
        if !self.group(group).alive() {
            return;
        }
        self.count_held(group);
        self.stop_loading(group);
        let in_flight = self.in_flight(group);
        let serving = self.group(group).engine.is_some();
        let running = serving || matches!(self.group(group).stage, GroupStage::Weights | GroupStage::WarmUp);
        let term_at = now + self.drain_span(Param::PreStop).min(grace);
        let (term_at, deadline) = if running {
            (term_at, (term_at + self.drain_span(Param::ShutdownTimeout)).min(now + grace).max(term_at))
        } else {
            (now + STOP_IDLE, now + STOP_IDLE)
        };
        let g = self.group_mut(group);
        g.held_since = None;
        g.stage = GroupStage::Draining;
        g.stage_since = now;
        g.stage_until = Some(deadline);
        g.generation += 1;
        g.drain = Some(Drain { since: now, term_at, deadline, terminated: false, cause, in_flight, finished: 0 });
        let generation = g.generation;
        for pod in self.group(group).pods.clone() {
            let p = self.pod_mut(pod);
            p.phase = if p.node.is_some() { PodPhase::Releasing } else { PodPhase::Gone };
            if let Some(node) = p.node {
                self.node_mut(node).last_pod_event = Some(now);
            }
        }
        let who = if cause == DrainCause::Evicted { Who::Karpenter } else { Who::Kubelet };
        if serving {
            let tone = if cause == DrainCause::Evicted { Tone::Bad } else { Tone::Neutral };
            self.log(who, Verdict::DrainStarted { group, in_flight, grace: deadline.since(now) }, tone);
        }
        self.refresh_group_gpus(group);
        let removal = self.drain_span(Param::EndpointDelay);
        self.after(removal, Event::EndpointGone { group, generation });
        self.queue.push(term_at, Event::GraceEnd { group, generation });
        let service = self.group(group).service;
        self.reconcile(service);
    }

    pub(super) fn on_endpoint_gone(&mut self, group: GroupId, generation: u32) {
        if self.group(group).generation == generation {
            self.leave_endpoints(group);
        }
    }

    /// SIGTERM, and later SIGKILL.
    pub(super) fn on_grace_end(&mut self, group: GroupId, generation: u32) {
        let now = self.now;
        if self.group(group).generation != generation {
            return;
        }
        let Some(drain) = &mut self.group_mut(group).drain else { return };
        drain.terminated = true;
        let deadline = drain.deadline;
        if deadline <= now || self.in_flight(group) == 0 {
            self.finish_drain(group);
        } else {
            self.queue.push(deadline, Event::GraceEnd { group, generation });
        }
    }

    /// The last request left, or grace ran out: the pods are gone and give their GPUs back.
    pub(super) fn finish_drain(&mut self, group: GroupId) {
        let now = self.now;
        if self.group(group).stage != GroupStage::Draining {
            return;
        }
        self.leave_endpoints(group);
        let held = self.gpus_of(group);
        let lost = self.lose_requests(group);
        let service = self.group(group).service;
        let setup = self.setup.clone();
        let spec = &setup.services[service.index()];
        for pod in self.group(group).pods.clone() {
            let p = self.pod_mut(pod);
            p.phase = PodPhase::Gone;
            let node = p.node.take();
            self.meter.path.vanish_pod(pod);
            if let Some(node) = node {
                let n = self.node_mut(node);
                for slot in n.gpus.iter_mut().filter(|s| s.pod == Some(pod)) {
                    slot.pod = None;
                }
                n.cpu_m_used = n.cpu_m_used.saturating_sub(spec.cpu_m);
                n.mem_mib_used = n.mem_mib_used.saturating_sub(spec.mem_mib);
                n.last_pod_event = Some(now);
                if n.is_empty() {
                    n.empty_since = Some(now);
                }
                self.refresh_node_gpus(node);
                self.on_pod_gone(node);
            }
        }
        self.engines_due.set(group, None);
        let g = self.group_mut(group);
        let served = g.engine.is_some();
        let finished = g.drain.map_or(0, |d| d.finished);
        g.stage = GroupStage::Gone;
        g.stage_since = now;
        g.stage_until = None;
        g.engine = None;
        g.generation += 1;
        self.service_mut(service).groups.retain(|x| *x != group);
        self.neighbours_gone(&held);
        if served {
            let tone = if lost > 0 { Tone::Bad } else { Tone::Neutral };
            self.log(Who::Kubelet, Verdict::DrainEnded { group, finished, lost }, tone);
        }
        self.cluster_changed();
    }

    /// Whether `at` is the present end of a group's drain; for views.
    pub(super) fn drain_deadline(&self, group: GroupId) -> Option<Time> {
        self.group(group).drain.map(|d| d.deadline)
    }
}
