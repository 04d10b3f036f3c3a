//! A PodGroup: one replica of a service, made of `workers` pods.

use crate::sim::engine::Replica;
use crate::sim::id::{GroupId, PodId, ServiceId};
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::sync::Arc;

/// Why a replica stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum DrainCause {
    /// Fewer replicas are wanted, or a person deleted it.
    ScaledDown,
    /// Consolidation empties its node.
    Evicted,
    /// A person moves or releases its node.
    NodeLeft,
    /// A pod of higher priority takes its place.
    Preempted,
    /// Its controller changed the template (another scheduler), or a stale gang was given up.
    Recreated,
}

/// A replica on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Drain {
    pub since: Time,
    /// SIGTERM comes: the preStop hook has ended.
    pub term_at: Time,
    /// SIGKILL comes: the engine's shutdown timeout or the grace period has ended.
    pub deadline: Time,
    /// SIGTERM has come: the engine takes no new request.
    pub terminated: bool,
    pub cause: DrainCause,
    pub in_flight: u32,
    pub finished: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    pub id: GroupId,
    pub name: Arc<str>,
    pub service: ServiceId,
    pub badge: Option<char>,
    pub stage: GroupStage,
    pub stage_since: Time,
    pub stage_until: Option<Time>,
    pub pods: Vec<PodId>,
    pub min_member: u32,
    /// `spec.schedulerName`: index of the choice in the policy table.
    pub scheduler: i64,
    pub created: Time,
    /// When the last member got its node.
    pub complete_at: Option<Time>,
    /// Since when it holds GPUs below its minimum.
    pub held_since: Option<Time>,
    /// GPUs held below the minimum, and the time already accounted.
    pub held_gpu_time: Span,
    pub held_price_product: u128,
    pub held_counted_to: Time,
    /// Lengths of the stages of this start.
    pub image: Span,
    pub weights: Span,
    pub warm_up: Span,
    pub engine: Option<Box<Replica>>,
    /// Where it stands among the endpoints of its service, as far as known: a shortcut.
    #[serde(skip)]
    pub endpoint: u32,
    /// Whether a request was running when last looked at.
    pub busy: bool,
    pub drain: Option<Drain>,
    /// Makes events of an earlier stage stale.
    pub generation: u32,
    pub crosses_domains: bool,
    pub all_reduce_step: Option<Span>,
    /// A warm spare: its pods belong to another Deployment, the endpoints do not select them.
    pub standby: bool,
    /// Ready by a probe of the container alone: in the endpoints although no engine answers.
    pub ready_early: bool,
    /// Since when such a probe says so, and the requests that have failed since.
    pub claimed_ready: Option<Time>,
    pub failed_early: u32,
}

impl Group {
    pub fn alive(&self) -> bool {
        !matches!(self.stage, GroupStage::Draining | GroupStage::Gone)
    }
    /// In the endpoints of its service. That an engine answers there is another matter.
    pub fn routable(&self) -> bool {
        !self.standby && (self.stage == GroupStage::Serving || (self.ready_early && self.alive()))
    }
}
