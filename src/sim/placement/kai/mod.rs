//! KAI Scheduler: gangs, topology, and queues with quotas.
//!
//! A cycle works on a snapshot. `allocate` takes the groups in queue order and places the first
//! `min_member` pods of each together or not at all, then single pods above that; a gang that
//! could start only on GPUs that are being released is *pipelined*: promised its nodes, but not
//! bound yet. `stalegangeviction` ends gangs that have been below their minimum for too long.
//!
//! Source: KAI Scheduler (allocate and stalegangeviction actions; proportion, topology,
//! nodeplacement, priority, elastic and taskorder plugins). Not modelled: sub-groups, GPU
//! fractions and MIG, minimum run times, past usage.

mod allocate;
mod counting;
mod domains;
mod explain;
mod fair_share;
mod queues;
mod session;
mod stale;
mod topology;

pub use fair_share::{Claim, fair_shares};

use super::fit::NodeCounts;
use super::view::{Text, View};
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a cycle is configured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KaiSettings {
    pub scheduler_name: String,
    /// How often a cycle runs while the cluster changes.
    pub period: Span,
    /// In this order.
    pub actions: Vec<KaiAction>,
    /// Placement strategy for pods with GPUs.
    pub gpu_placement: Placement,
    /// Placement strategy for pods without.
    pub cpu_placement: Placement,
    /// Node label keys of the topology, outermost first.
    pub levels: Vec<String>,
    /// How long a gang may run below its minimum; `None` is for ever.
    pub stale_grace: Option<Span>,
}

impl Default for KaiSettings {
    fn default() -> Self {
        KaiSettings {
            scheduler_name: "kai-scheduler".to_owned(),
            period: Span::from_secs(1),
            actions: vec![KaiAction::Allocate, KaiAction::StaleGangEviction],
            gpu_placement: Placement::Binpack,
            cpu_placement: Placement::Binpack,
            levels: Vec::new(),
            stale_grace: Some(Span::from_secs(60)),
        }
    }
}

/// A step of the cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KaiAction {
    Allocate,
    StaleGangEviction,
}

/// Which of several fitting nodes is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// The fullest.
    Binpack,
    /// The one with the largest free share.
    Spread,
}

/// What KAI remembers between cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct KaiMemory {
    /// Since when a gang has been below its minimum.
    pub stale_since: BTreeMap<GroupId, Time>,
}

impl KaiMemory {
    /// When a stale gang's grace ends: an unchanged snapshot needs a cycle then.
    pub fn next_wakeup(&self, settings: &KaiSettings) -> Option<Time> {
        let grace = settings.stale_grace?;
        self.stale_since.values().min().map(|since| *since + grace)
    }
}

/// A pod and its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub pod: PodId,
    pub node: NodeId,
}

/// What one cycle decided, in the order of the decisions.
#[derive(Clone, Debug, PartialEq)]
pub enum KaiDecision {
    /// Bind these pods now. A gang's first decision has its whole minimum.
    GangPlaced {
        group: GroupId,
        placements: Vec<Placed>,
        /// A single pod above the gang's minimum.
        extra: bool,
    },
    /// These pods have a place once terminating pods are gone; nothing is bound yet.
    Pipelined { group: GroupId, placements: Vec<Placed>, extra: bool },
    /// Nothing of it is placed.
    GangDeferred(Deferred),
    /// These pods are evicted: the gang has been below its minimum for too long.
    StaleEvicted { group: GroupId, pods: Vec<PodId>, stale_for: Span },
}

/// A gang, or a single pod above a gang's minimum, that has no place.
#[derive(Clone, Debug, PartialEq)]
pub struct Deferred {
    pub group: GroupId,
    /// Pods that could have been placed.
    pub fit: u32,
    /// Pods that had to be placed together.
    pub need: u32,
    pub why: Why,
    /// Nodes against the first pod that had no place, the `fit` others being placed. For a
    /// required topology level: the nodes of the best domain.
    pub counts: NodeCounts,
    /// GPUs that would have to become free on nodes it may use.
    pub gpus_missing: u32,
    pub extra: bool,
}

/// What keeps a gang from being placed.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    NoFreeGpu,
    Cpu,
    Memory,
    /// The node selectors match no node.
    Selector,
    /// No node's taints are tolerated.
    Taint,
    /// Every node it may use is cordoned or draining.
    Cordoned,
    /// Nodes with enough GPUs are there, but their device plugins have not reported them.
    DevicePlugin,
    /// There is room, but not in one domain of the required level.
    Topology {
        level: Text,
        /// The largest number of free GPUs in one domain.
        best_domain_free_gpus: u32,
    },
    /// The settings know no such topology level, or no node has the labels of all levels.
    UnknownTopology {
        level: Text,
    },
    OverLimit(QueueLimit),
    NonPreemptibleOverQuota(QueueLimit),
    /// The queue does not exist or is not a leaf.
    UnknownQueue {
        queue: Text,
    },
    /// Fewer pods exist than must run together.
    Partners {
        exist: u32,
        need: u32,
    },
}

/// A resource that a queue bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitedResource {
    Gpus,
    Cpu,
    Memory,
}

/// The bound of a queue that a gang would exceed.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueLimit {
    /// The leaf, or one of the queues above it.
    pub queue: Text,
    pub resource: LimitedResource,
    /// In use now: GPUs, thousandths of a core or MiB.
    pub used: f64,
    pub asked: f64,
    pub bound: f64,
    /// True for the limit, false for the quota of non-preemptible pods.
    pub is_limit: bool,
}

impl QueueLimit {
    fn over_limit(queue: Text, resource: LimitedResource, used: f64, asked: f64, bound: f64) -> QueueLimit {
        QueueLimit { queue, resource, used, asked, bound, is_limit: true }
    }
    fn over_quota(queue: Text, resource: LimitedResource, used: f64, asked: f64, bound: f64) -> QueueLimit {
        QueueLimit { is_limit: false, ..QueueLimit::over_limit(queue, resource, used, asked, bound) }
    }
}

/// One cycle over the groups that name this scheduler.
pub fn decide(view: &View, settings: &KaiSettings, memory: KaiMemory, now: Time) -> (Vec<KaiDecision>, KaiMemory) {
    let mut session = session::Session::open(view, settings);
    let mut decisions = Vec::new();
    let mut memory = memory;
    for action in &settings.actions {
        match action {
            KaiAction::Allocate => allocate::allocate(&mut session, &mut decisions),
            KaiAction::StaleGangEviction => {
                memory = stale::evict(&session, memory, now, &mut decisions);
            }
        }
    }
    (decisions, memory)
}

#[cfg(test)]
#[path = "kai_test.rs"]
mod tests;
