//! Model, messages, effects.
use crate::sim::command::Command;
use crate::sim::id::{GroupId, NodeId};
use crate::sim::time::Time;

/// Simulated seconds per second of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(pub u32);

impl Speed {
    pub const ALL: [Speed; 5] = [Speed(1), Speed(10), Speed(60), Speed(600), Speed(3600)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    Auto,
    Light,
    Dark,
}

/// What the person has picked on the map or in the log.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Selection {
    #[default]
    Nothing,
    Node(NodeId),
    Group(GroupId),
    Decision(u64),
}
