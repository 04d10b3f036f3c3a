//! The whole state of a run, and what changes it: commands from outside, due events from inside.
//!
//! `World` is cloneable (a checkpoint is a clone) and never reads a clock: its owner says
//! "advance to T, at most N events". Each layer's controller is a pure function elsewhere in
//! `sim`; the files here build its view, call it, and carry out what it decided.

mod check;
mod commands;
mod drain;
mod endpoints;
mod engines;
mod gateway;
mod groups;
mod handover;
mod hpa_glue;
mod image_pulls;
mod karpenter_glue;
mod loading;
mod log;
mod metering;
mod node_files;
mod nodes;
mod placement_glue;
mod readiness;
mod requests;
mod sampling;
mod scraping;
#[cfg(test)]
mod scraping_test;
mod setup;
mod sharing;
mod snapshot;
mod spares;

pub use check::Broken;
pub use requests::Outcome;
pub use setup::StartError;

use super::cluster::{Group, Node, Pod, Rack};
use super::decision::Decision;
use super::due::DueTimes;
use super::engine::EngineEvent;
use super::engine::step::StepCosts;
use super::event::Event;
use super::id::{GroupId, NodeId, PodId, ServiceId};
use super::param::Policy;
use super::queue::EventQueue;
use super::setup::Setup;
use super::time::{Span, Time};
use serde::Serialize;
use std::sync::Arc;

/// How far an [`World::advance`] got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    pub events: usize,
    /// False if the event budget ran out first.
    pub reached: bool,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct World {
    #[serde(skip)]
    pub(super) setup: Arc<Setup>,
    seed: u64,
    now: Time,
    queue: EventQueue,
    engines_due: DueTimes,
    policy: Policy,
    racks: Vec<Rack>,
    nodes: Vec<Node>,
    pods: Vec<Pod>,
    groups: Vec<Group>,
    services: Vec<gateway::Service>,
    requests: requests::Requests,
    placement: placement_glue::PlacementState,
    karpenter: karpenter_glue::KarpenterState,
    meter: metering::Metering,
    log: log::DecisionLog,
    /// Names the draws of each bought node.
    nodes_bought: u64,
    /// Step-time models in use, by what they were made from.
    #[serde(skip)]
    costs: StepCosts,
    /// Memory for an engine's events, used again and again.
    #[serde(skip)]
    scratch: Vec<EngineEvent>,
    /// The paces on shared GPUs are being set.
    #[serde(skip)]
    settling: bool,
    loading: loading::Loading,
}

impl World {
    pub fn now(&self) -> Time {
        self.now
    }
    pub fn setup(&self) -> &Setup {
        &self.setup
    }
    pub fn end(&self) -> Time {
        self.setup.end
    }
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
    /// The records of the why-log, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Decision> + ExactSizeIterator {
        self.log.records()
    }
    /// Hash of the whole state.
    pub fn state_hash(&self) -> u64 {
        super::state_hash::state_hash(self)
    }

    /// Runs all events up to and at `until` (at most the run's end), or `events_max` of them.
    /// Time stands at `until` afterwards if the budget sufficed, else at the last event.
    pub fn advance(&mut self, until: Time, events_max: usize) -> Advance {
        let until = until.min(self.setup.end);
        let mut events = 0;
        while events < events_max {
            if !self.next_event(until) {
                self.now = self.now.max(until);
                return Advance { events, reached: true };
            }
            events += 1;
        }
        Advance { events, reached: false }
    }

    /// Runs until a decision that changes something on the page was logged, `until` is reached or
    /// the budget is spent. True if a milestone was reached.
    pub fn step(&mut self, until: Time, events_max: usize) -> bool {
        let until = until.min(self.setup.end);
        let before = self.log.milestones();
        for _ in 0..events_max {
            if !self.next_event(until) {
                self.now = self.now.max(until);
                return false;
            }
            if self.log.milestones() > before {
                return true;
            }
        }
        false
    }

    /// Runs the next event that is due at or before `until`. Of equal times, events of the queue
    /// come before the engines. False if there is none.
    fn next_event(&mut self, until: Time) -> bool {
        let engine = self.engines_due.first().filter(|(at, _)| *at <= until);
        let limit = engine.map_or(until, |(at, _)| at);
        if let Some((at, event)) = self.queue.pop_until(limit) {
            debug_assert!(at >= self.now, "time goes back");
            self.now = at;
            self.dispatch(event);
            return true;
        }
        let Some((at, group)) = engine else { return false };
        self.now = at;
        self.on_engine(group);
        true
    }

    fn dispatch(&mut self, event: Event) {
        match event {
            Event::Script(i) => self.on_script(i),
            Event::Arrival(s) => self.on_arrival(s),
            Event::ClientTimeout(s) => self.on_client_timeout(s),
            Event::ImagePulled { pod } => self.on_image_pulled(pod),
            Event::StageEnd { group, generation } => self.on_stage_end(group, generation),
            Event::GraceEnd { group, generation } => self.on_grace_end(group, generation),
            Event::NodeStageEnd { node, generation } => self.on_node_stage_end(node, generation),
            Event::KubeCycle => self.on_kube_cycle(),
            Event::KaiCycle => self.on_kai_cycle(),
            Event::DcgmWindow => self.on_dcgm_window(),
            Event::Scrape => self.on_scrape(),
            Event::HpaSync(s) => self.on_hpa_sync(s),
            Event::BatchClose => self.on_batch_close(),
            Event::DisruptionDue => self.on_disruption_due(),
            Event::ConsolidationValidate => self.on_consolidation_validate(),
            Event::Sample => self.on_sample(),
            Event::EndpointGone { group, generation } => self.on_endpoint_gone(group, generation),
            Event::Retry { request, serial } => self.on_retry(request, serial),
            Event::KvArrived { request, serial } => self.on_kv_arrived(request, serial),
            Event::LinkEnd { generation } => self.on_link_end(generation),
            Event::ImageUnpacked { node, service, generation } => self.on_image_unpacked(node, service, generation),
        }
    }

    fn after(&mut self, span: Span, event: Event) {
        self.queue.push(self.now + span, event);
    }
    fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }
    fn pod(&self, id: PodId) -> &Pod {
        &self.pods[id.index()]
    }
    fn pod_mut(&mut self, id: PodId) -> &mut Pod {
        &mut self.pods[id.index()]
    }
    fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }
    fn group_mut(&mut self, id: GroupId) -> &mut Group {
        &mut self.groups[id.index()]
    }
    fn service(&self, id: ServiceId) -> &gateway::Service {
        &self.services[id.index()]
    }
    fn service_mut(&mut self, id: ServiceId) -> &mut gateway::Service {
        &mut self.services[id.index()]
    }
}
