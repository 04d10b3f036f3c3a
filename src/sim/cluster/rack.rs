//! A rack: where nodes stand. An NVL72 rack is one NVLink domain.

use crate::sim::id::RackId;
use crate::sim::snapshot::RackKind;
use serde::Serialize;
use std::sync::Arc;

/// Trays of 4 GPUs in an NVL72 rack.
pub const NVL72_TRAYS: u32 = 18;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rack {
    pub id: RackId,
    pub name: Arc<str>,
    pub zone: Arc<str>,
    pub block: Arc<str>,
    pub kind: RackKind,
    /// Nodes that fit.
    pub slots: u32,
}
