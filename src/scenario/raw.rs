//! A scenario as its file writes it: names, human units, defaults left out.

use super::tasks::Check;
use crate::sim::catalog::Dtype;
use crate::sim::nodes::bring_up::DriverMode;
use crate::sim::snapshot::RackKind;
use crate::sim::time::Span;
use crate::sim::traffic::TrafficSettings;
use crate::sim::units::{span, time_of_day};
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
    #[serde(default = "inference")]
    pub priority: i32,
    #[serde(default = "grace", with = "span")]
    pub grace: Span,
    #[serde(default)]
    pub slo: RawSlo,
    #[serde(default = "timeout", with = "span")]
    pub client_timeout: Span,
    #[serde(default)]
    pub traffic: TrafficSettings,
    #[serde(default)]
    pub image_cached: bool,
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
fn grace() -> Span {
    Span::from_secs(30)
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
