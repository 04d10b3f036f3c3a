//! The table of policy parameters: one entry per switch, from which come the settings cards,
//! the scenario's `policy:` section, URL keys, `--set`, range checks and help.
//!
//! A value is an `i64` in the parameter's unit; the order of a choice list is fixed for ever,
//! because links carry the index.

use serde::{Deserialize, Serialize};

/// Which controller's card a parameter stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Nodes,
    Placement,
    Replicas,
    /// Under the three layers: gateway, engine, start, drain and metrics of every service.
    Serving,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// One of these stable ids.
    Choice(&'static [&'static str]),
    /// A whole number with inclusive bounds.
    Count { min: i64, max: i64 },
    /// A percentage, in whole percent.
    Percent { min: i64, max: i64 },
    /// A length of time, in seconds.
    Seconds { min: i64, max: i64 },
    /// A bound that can be absent: a whole number up to `max`, 0 for none.
    Limit { max: i64 },
}

macro_rules! params {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $layer:ident, $kind:expr, default $default:expr;)*) => {
        /// A policy parameter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Param { $($(#[$doc])* $name),* }

        impl Param {
            pub const ALL: &'static [Param] = &[$(Param::$name),*];
            /// Stable id: scenario key, URL key, `--set` path.
            pub fn id(self) -> &'static str {
                match self { $(Param::$name => $id),* }
            }
            pub fn layer(self) -> Layer {
                match self { $(Param::$name => Layer::$layer),* }
            }
            pub fn kind(self) -> Kind {
                match self { $(Param::$name => $kind),* }
            }
            /// The upstream default, or the lab's where upstream has none.
            pub fn default_value(self) -> i64 {
                match self { $(Param::$name => $default),* }
            }
        }
    };
}

params! {
    /// Who buys nodes.
    Provisioner = "nodes.provisioner", Nodes, Kind::Choice(&["fixed", "karpenter"]), default 0;
    /// Karpenter `disruption.consolidationPolicy`.
    Consolidation = "nodes.consolidation", Nodes, Kind::Choice(&["WhenEmptyOrUnderutilized", "WhenEmpty"]), default 0;
    /// Karpenter `disruption.consolidateAfter`.
    ConsolidateAfter = "nodes.consolidate_after", Nodes, Kind::Seconds { min: 0, max: 86_400 }, default 0;
    /// Who places pods.
    Scheduler = "placement.scheduler", Placement, Kind::Choice(&["kube-scheduler", "kai"]), default 0;
    /// How a gang's topology annotation is set at the level of the NVLink domain.
    Topology = "placement.topology", Placement, Kind::Choice(&["ignored", "preferred", "required"]), default 0;
    /// Who adds replicas.
    Scaler = "replicas.scaler", Replicas, Kind::Choice(&["hpa", "manual"]), default 0;
    /// The metric that the HPA reads.
    Signal = "hpa.signal", Replicas, Kind::Choice(&["gpu_utilization", "gpu_memory", "queue_depth", "kv_usage"]), default 0;
    /// HPA target of the two percent signals (GPU utilization, GPU memory), averaged over pods.
    TargetPercent = "hpa.target_percent", Replicas, Kind::Percent { min: 1, max: 200 }, default 80;
    /// HPA target of the queue signal: waiting requests per pod.
    TargetWaiting = "hpa.target_waiting", Replicas, Kind::Count { min: 1, max: 1000 }, default 5;
    /// HPA target of the KV-cache signal, averaged over pods.
    TargetKv = "hpa.target_kv", Replicas, Kind::Percent { min: 1, max: 100 }, default 75;
    /// HPA `minReplicas`; also the count under manual scaling's lower bound.
    MinReplicas = "hpa.min", Replicas, Kind::Count { min: 1, max: 64 }, default 1;
    /// HPA `maxReplicas`.
    MaxReplicas = "hpa.max", Replicas, Kind::Count { min: 1, max: 64 }, default 8;
    /// HPA scale-down stabilization window.
    StabilizationDown = "hpa.stabilization_down", Replicas, Kind::Seconds { min: 0, max: 3600 }, default 300;
    /// Replicas under manual scaling.
    ManualReplicas = "replicas.manual", Replicas, Kind::Count { min: 0, max: 64 }, default 1;
    /// How the gateway picks a replica: fewest in flight, in turn, or by queue and KV cache as the
    /// scorers of the Gateway API inference extension do.
    Routing = "gateway.routing", Serving, Kind::Choice(&["least_loaded", "round_robin", "kv_aware"]), default 0;
    /// Waiting requests per ready replica beyond which the gateway answers 429.
    QueueLimit = "gateway.queue_limit", Serving, Kind::Limit { max: 10_000 }, default 0;
    /// Whether the gateway turns away a request that would wait longer than its TTFT target.
    DeadlineDrop = "gateway.deadline_drop", Serving, Kind::Choice(&["off", "on"]), default 0;
    /// Longest prompt that the gateway lets in, tokens.
    ContextCap = "gateway.context_cap", Serving, Kind::Limit { max: 10_000_000 }, default 0;
    /// Longest answer that the gateway asks for (`max_tokens`), tokens.
    OutputCap = "gateway.output_cap", Serving, Kind::Limit { max: 1_000_000 }, default 0;
    /// Whether what the gateway would turn away goes to the service's fallback instead.
    Fallback = "gateway.fallback", Serving, Kind::Choice(&["off", "on"]), default 0;
    /// How often a client tries again after a 429, an error or a cut connection.
    Retries = "gateway.retries", Serving, Kind::Count { min: 0, max: 10 }, default 0;
    /// vLLM `--scheduling-policy`.
    Scheduling = "engine.scheduling", Serving, Kind::Choice(&["fcfs", "priority"]), default 0;
    /// Where replicas read their weights from when the node does not have them.
    WeightsFrom = "start.weights", Serving, Kind::Choice(&["object_store", "streamer", "files", "block_volume"]), default 0;
    /// Whether a node keeps weights and compile artefacts on its NVMe disk.
    NodeCache = "start.node_cache", Serving, Kind::Choice(&["on", "off"]), default 0;
    /// Whether a replica is restored from a checkpoint of a warm process instead of starting.
    Restore = "start.restore", Serving, Kind::Choice(&["off", "on"]), default 0;
    /// What the readiness probe asks: the engine's `/health`, or only whether the container runs.
    Readiness = "start.readiness", Serving, Kind::Choice(&["engine", "container"]), default 0;
    /// Replicas of the scaled service that stand by, warm and outside the endpoints.
    WarmReplicas = "start.warm", Serving, Kind::Count { min: 0, max: 16 }, default 0;
    /// `terminationGracePeriodSeconds` of services that do not set their own (KServe: 60 s).
    Grace = "drain.grace", Serving, Kind::Seconds { min: 0, max: 3600 }, default 60;
    /// Length of the preStop hook, a part of the grace period (KServe: 15 s).
    PreStop = "drain.pre_stop", Serving, Kind::Seconds { min: 0, max: 3600 }, default 15;
    /// Time until the gateway stops sending to a pod that is being deleted.
    EndpointDelay = "drain.endpoint_delay", Serving, Kind::Seconds { min: 0, max: 60 }, default 5;
    /// vLLM `--shutdown-timeout`: how long it finishes requests after SIGTERM (vLLM: 0; KServe: 45 s).
    ShutdownTimeout = "drain.shutdown_timeout", Serving, Kind::Seconds { min: 0, max: 3600 }, default 45;
    /// How often Prometheus scrapes.
    Scrape = "metrics.scrape", Serving, Kind::Seconds { min: 1, max: 300 }, default 15;
    /// How often the DCGM exporter collects.
    DcgmCollect = "metrics.dcgm", Serving, Kind::Seconds { min: 1, max: 300 }, default 30;
    /// Whether prefill and decode replicas are scaled each by its own readings, or decode follows
    /// prefill one for one.
    Roles = "engine.roles", Serving, Kind::Choice(&["separate", "together"]), default 0;
}

/// Why a parameter was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ParamError {
    #[error("unknown parameter `{0}`")]
    Unknown(String),
    #[error("`{id}` takes one of {choices}, not `{given}`")]
    Choice { id: String, choices: String, given: String },
    #[error("`{id}` takes a whole number from {min} to {max} ({unit}), not `{given}`")]
    Range { id: String, min: i64, max: i64, unit: String, given: String },
    #[error("`hpa.min` ({min}) may not be above `hpa.max` ({max})")]
    MinAboveMax { min: i64, max: i64 },
}

impl Param {
    pub fn from_id(id: &str) -> Option<Param> {
        Param::ALL.iter().copied().find(|p| p.id() == id)
    }

    /// Unit word for help and errors.
    pub fn unit(self) -> &'static str {
        match self.kind() {
            Kind::Choice(_) => "choice",
            Kind::Count { .. } => "count",
            Kind::Percent { .. } => "percent",
            Kind::Seconds { .. } => "seconds",
            Kind::Limit { .. } => "count, 0 for none",
        }
    }

    /// The stable text of a value, as URLs and scenario files write it.
    pub fn value_text(self, value: i64) -> String {
        match self.kind() {
            Kind::Choice(ids) => ids.get(value as usize).copied().unwrap_or("?").to_owned(),
            Kind::Seconds { .. } => format!("{value}s"),
            _ => value.to_string(),
        }
    }

    /// Reads the stable text of a value; seconds also as `5m`, `1h`.
    pub fn parse(self, text: &str) -> Result<i64, ParamError> {
        let text = text.trim();
        match self.kind() {
            Kind::Choice(ids) => {
                ids.iter().position(|id| id.eq_ignore_ascii_case(text)).map(|i| i as i64).ok_or_else(|| {
                    ParamError::Choice { id: self.id().into(), choices: ids.join(", "), given: clip(text) }
                })
            }
            Kind::Seconds { .. } => {
                let (digits, factor) = match text.as_bytes().last() {
                    Some(b's') => (&text[..text.len() - 1], 1),
                    Some(b'm') => (&text[..text.len() - 1], 60),
                    Some(b'h') => (&text[..text.len() - 1], 3600),
                    _ => (text, 1),
                };
                let n = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(factor));
                n.ok_or_else(|| self.range_error(text)).and_then(|n| self.check(n))
            }
            _ => {
                let digits = text.strip_suffix('%').unwrap_or(text).trim();
                digits.parse::<i64>().map_err(|_| self.range_error(text)).and_then(|n| self.check(n))
            }
        }
    }

    /// Checks a value against the parameter's own range.
    pub fn check(self, value: i64) -> Result<i64, ParamError> {
        let ok = match self.kind() {
            Kind::Choice(ids) => value >= 0 && (value as usize) < ids.len(),
            Kind::Count { min, max } | Kind::Percent { min, max } | Kind::Seconds { min, max } => {
                (min..=max).contains(&value)
            }
            Kind::Limit { max } => (0..=max).contains(&value),
        };
        if ok { Ok(value) } else { Err(self.range_error(&value.to_string())) }
    }

    fn range_error(self, given: &str) -> ParamError {
        let (min, max) = match self.kind() {
            Kind::Choice(ids) => (0, ids.len() as i64 - 1),
            Kind::Count { min, max } | Kind::Percent { min, max } | Kind::Seconds { min, max } => (min, max),
            Kind::Limit { max } => (0, max),
        };
        ParamError::Range { id: self.id().into(), min, max, unit: self.unit().into(), given: clip(given) }
    }
}

fn clip(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The value of every parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy(Vec<i64>);

impl Default for Policy {
    fn default() -> Policy {
        Policy(Param::ALL.iter().map(|p| p.default_value()).collect())
    }
}

impl Policy {
    pub fn get(&self, param: Param) -> i64 {
        self.0.get(param as usize).copied().unwrap_or_else(|| param.default_value())
    }

    /// Sets one value; refuses what leaves its range or contradicts another value.
    pub fn set(&mut self, param: Param, value: i64) -> Result<(), ParamError> {
        let value = param.check(value)?;
        let old = self.get(param);
        self.0[param as usize] = value;
        let (min, max) = (self.get(Param::MinReplicas), self.get(Param::MaxReplicas));
        if min > max {
            self.0[param as usize] = old;
            return Err(ParamError::MinAboveMax { min, max });
        }
        Ok(())
    }

    pub fn choice(&self, param: Param) -> &'static str {
        match param.kind() {
            Kind::Choice(ids) => ids.get(self.get(param) as usize).copied().unwrap_or(ids[0]),
            _ => "",
        }
    }
}
