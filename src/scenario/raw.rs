//! A scenario as its file writes it: names, human units, defaults left out.

use super::tasks::Check;
use crate::sim::catalog::Dtype;
use crate::sim::engine::HostProfile;
use crate::sim::nodes::bring_up::DriverMode;
use crate::sim::snapshot::RackKind;
use crate::sim::time::Span;
use crate::sim::traffic::TrafficSettings;
use crate::sim::units::{span, span_option, time_of_day};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawScenario {
    pub id: String,
    #[serde(default = "seven")]
    pub seed: u64,
    /// Time of day at the start.
    #[serde(with = "time_of_day")]
    pub start: Span,
    /// Day of the week at the start, for weekly traffic.
    #[serde(default)]
    pub weekday: crate::sim::traffic::Weekday,
    #[serde(with = "span")]
    pub length: Span,
    pub racks: Vec<RawRack>,
    #[serde(default)]
    pub nodes: Vec<RawNode>,
    pub services: Vec<RawService>,
    /// Instance types that can be bought by hand.
    #[serde(default)]
    pub palette: Vec<String>,
    #[serde(default)]
    pub pool: RawPool,
    #[serde(default)]
    pub links: RawLinks,
    #[serde(default)]
    pub driver: DriverMode,
    /// Parameter table by section: `hpa: {signal: queue_depth}`.
    #[serde(default)]
    pub policy: BTreeMap<String, BTreeMap<String, String>>,
    #[serde(default)]
    pub script: Vec<RawStep>,
    #[serde(default)]
    pub tasks: Vec<RawTask>,
}

fn seven() -> u64 {
    7
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawRack {
    pub name: String,
    pub zone: String,
    pub block: String,
    pub kind: RackKind,
    /// Nodes that fit; an NVL72 rack has 18.
    #[serde(default)]
    pub slots: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawNode {
    pub name: String,
    pub instance: String,
    pub rack: String,
    /// Belongs to the NodePool.
    #[serde(default)]
    pub managed: bool,
    #[serde(default)]
    pub sharing: Option<RawShare>,
}

/// How GPUs are divided: `{mig: 1g.10gb}`, `{time_slicing: 4}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RawShare {
    Mig(String),
    TimeSlicing(u32),
    Mps(u32),
    Vgpu(u32),
}

/// What loaders share, GB (1e9 bytes) per second.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLinks {
    #[serde(default)]
    pub registry_gb_s: Option<f64>,
    #[serde(default)]
    pub object_store_gb_s: Option<f64>,
    #[serde(default)]
    pub files_gb_s: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawPool {
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub instances: Vec<String>,
    #[serde(default)]
    pub gpus_max: Option<u32>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawService {
    pub name: String,
    pub model: String,
    #[serde(default)]
    pub weights: Option<Dtype>,
    #[serde(default)]
    pub kv: Option<Dtype>,
    #[serde(default = "one")]
    pub workers: u32,
    #[serde(default = "one")]
    pub gpus_per_worker: u32,
    /// GPU that the node selector asks for, by catalogue id.
    #[serde(default)]
    pub gpu: Option<String>,
    #[serde(default = "cpu")]
    pub cpu_m: u32,
    #[serde(default = "memory")]
    pub mem_mib: u32,
    /// Replicas wanted at the start; those not in `placed` have to be scheduled.
    #[serde(default)]
    pub replicas: Option<u32>,
    /// Node name to number of replicas that run there at the start.
    #[serde(default)]
    pub placed: BTreeMap<String, u32>,
    #[serde(default)]
    pub scaled: bool,
    #[serde(default)]
    pub launchable: bool,
    #[serde(default)]
    pub max_model_len: Option<u32>,
    #[serde(default)]
    pub max_num_seqs: Option<u32>,
    #[serde(default)]
    pub engine: RawEngine,
    #[serde(default)]
    pub role: RawRole,
    /// Runs on GPUs that are divided in this way.
    #[serde(default)]
    pub sharing: Option<RawShare>,
    #[serde(default)]
    pub tenants: Vec<RawTenant>,
    /// Who answers: service name to weight.
    #[serde(default)]
    pub backends: BTreeMap<String, u32>,
    /// Who answers what the gateway would turn away.
    #[serde(default)]
    pub fallback: Option<String>,
    #[serde(default = "inference")]
    pub priority: i32,
    #[serde(default, with = "span_option")]
    pub grace: Option<Span>,
    #[serde(default)]
    pub slo: RawSlo,
    #[serde(default = "timeout", with = "span")]
    pub client_timeout: Span,
    #[serde(default)]
    pub traffic: TrafficSettings,
    #[serde(default)]
    pub image_cached: bool,
}

/// Flags of `vllm serve`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawEngine {
    #[serde(default)]
    pub gpu_memory_utilization: Option<f64>,
    #[serde(default)]
    pub max_num_batched_tokens: Option<u32>,
    #[serde(default)]
    pub pipeline: Option<u32>,
    #[serde(default)]
    pub host: Option<HostProfile>,
}

/// `{prefill: name-of-the-decode-service}`, `decode`, or nothing for all of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RawRole {
    #[default]
    Monolithic,
    Prefill(String),
    Decode,
}

/// A class of clients.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTenant {
    pub name: String,
    /// Weight of its requests among all.
    #[serde(default = "one")]
    pub weight: u32,
    /// Larger goes first.
    #[serde(default)]
    pub priority: i32,
}

/// Targets: time to first token, and time per output token after it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSlo {
    #[serde(with = "span")]
    pub ttft: Span,
    #[serde(with = "span")]
    pub tpot: Span,
}

impl Default for RawSlo {
    fn default() -> RawSlo {
        RawSlo { ttft: Span::from_secs(2), tpot: Span::from_millis(100) }
    }
}

fn one() -> u32 {
    1
}
fn cpu() -> u32 {
    4_000
}
fn memory() -> u32 {
    24_576
}
fn inference() -> i32 {
    125
}
fn timeout() -> Span {
    Span::from_secs(60)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawStep {
    /// Time of day; before `start` means the next day.
    #[serde(with = "time_of_day")]
    pub at: Span,
    #[serde(rename = "do")]
    pub act: RawAct,
}

/// What a script can do: the learner's own commands, by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RawAct {
    /// One more replica of this service.
    Launch(String),
    Spike(RawSpike),
    /// `hpa.signal: queue_depth`
    Set(BTreeMap<String, String>),
    /// Drain a node and give it back.
    Release(String),
    /// Crash the engine of this service's oldest replica.
    Crash(String),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawSpike {
    pub service: String,
    #[serde(default)]
    pub requests: u32,
    #[serde(default = "minute", with = "span")]
    pub over: Span,
    #[serde(default)]
    pub long_prompt_tokens: u32,
}

fn minute() -> Span {
    Span::from_mins(1)
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTask {
    /// Names the task's text in the catalogue.
    pub id: String,
    pub check: Check,
}
