//! A pod: one worker of a replica.

use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::snapshot::NodeStage;
use crate::sim::time::Time;
use crate::sim::wait::Wait;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum PodPhase {
    Pending,
    /// On a node: pulling, loading or running.
    Bound,
    /// Terminating: still holds its GPUs.
    Releasing,
    Gone,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pod {
    pub id: PodId,
    pub group: GroupId,
    /// Rank in its group, from 0.
    pub rank: u32,
    pub phase: PodPhase,
    pub node: Option<NodeId>,
    pub created: Time,
    pub bound_at: Option<Time>,
    /// When its image is on the node.
    pub image_at: Option<Time>,
    /// A scheduler has said that it does not fit: what node autoscalers act on.
    pub unschedulable: bool,
    /// A node is on its way for it.
    pub nominated: Option<NodeId>,
    /// What it waits for, while it has no node.
    pub wait: Wait,
    /// The stage of the nominated node when last looked at.
    pub nominated_stage: Option<NodeStage>,
}
