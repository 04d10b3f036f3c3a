//! A resolved scenario: everything that a world is built from. Made by `scenario::resolve`,
//! or by tests; every name is already an index or a catalogue entry.

use super::catalog::{Dtype, Gpu, Instance, Model};
use super::command::Stamped;
use super::id::RackId;
use super::nodes::bring_up::DriverMode;
use super::param::Policy;
use super::snapshot::RackKind;
use super::time::{Span, Time};
use super::traffic::{Trace, TrafficSettings, Weekday};
use super::units::DAY_US;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    pub id: String,
    pub seed: u64,
    /// Time of day at the start.
    pub day_start: Span,
    /// Day of the week at the start.
    pub weekday: Weekday,
    /// The run stops here.
    pub end: Time,
    pub racks: Vec<RackSetup>,
    pub nodes: Vec<NodeSetup>,
    pub services: Vec<ServiceSetup>,
    /// What can be bought from the palette.
    pub palette: Vec<&'static Instance>,
    /// What Karpenter's one NodePool may buy, and its limit in GPUs.
    pub pool: PoolSetup,
    pub policy: Policy,
    pub script: Vec<Stamped>,
    pub driver: DriverMode,
    /// Zones of the region, in order.
    pub zones: Vec<String>,
}

impl Setup {
    /// Time since Monday, 00:00, at the start: where in the week traffic begins.
    pub fn clock_at_start(&self) -> Span {
        Span(self.weekday.index() * DAY_US + self.day_start.0 % DAY_US)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct RackSetup {
    pub name: String,
    pub zone: String,
    pub block: String,
    pub kind: RackKind,
    /// Nodes that fit.
    pub slots: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeSetup {
    pub name: String,
    pub instance: &'static Instance,
    pub rack: RackId,
    /// Belongs to Karpenter's pool: its consolidation may act on it.
    pub managed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PoolSetup {
    pub name: String,
    pub instances: Vec<&'static Instance>,
    pub gpus_max: Option<u32>,
}

/// An inference service: what each of its replicas is.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceSetup {
    pub name: String,
    pub model: &'static Model,
    pub weight_dtype: Dtype,
    pub kv_dtype: Dtype,
    /// Pods of one replica, all needed before it serves.
    pub workers: u32,
    pub gpus_per_worker: u32,
    /// GPU that the node selector asks for; `None`: any.
    pub gpu: Option<&'static Gpu>,
    /// Request of one pod beside its GPUs.
    pub cpu_m: u32,
    pub mem_mib: u32,
    pub replicas: u32,
    /// Nodes (by position) on which replicas run at the start, warm.
    pub placed: Vec<u32>,
    /// Layer 3 changes its replicas.
    pub scaled: bool,
    /// **Launch** adds replicas.
    pub launchable: bool,
    pub max_model_len: Option<u32>,
    pub max_num_seqs: Option<u32>,
    pub priority: i32,
    pub grace: Span,
    pub slo_ttft: Span,
    pub slo_tpot: Span,
    pub client_timeout: Span,
    pub traffic: TrafficSettings,
    /// The trace that the traffic's pattern or its lengths name, if they do.
    pub trace: Option<Arc<Trace>>,
    /// Image on every node at the start.
    pub image_cached: bool,
}

impl ServiceSetup {
    /// GPUs of one replica: its tensor-parallel size.
    pub fn gpus(&self) -> u32 {
        self.workers * self.gpus_per_worker
    }
}
