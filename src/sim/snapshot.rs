//! What a view may see: plain values copied out of the world, once per frame.
//!
//! Views get a `&Snapshot` and cannot reach the world. Nothing here is a sentence.

use super::catalog::instances::Provider;
use super::id::{GroupId, NodeId, PodId, RackId, ServiceId};
use super::money::Microusd;
use super::param::Policy;
use super::time::{Span, Time};
use super::wait::Wait;
use serde::Serialize;

use super::metrics::ledger::PARTS_PER_GPU;

pub use super::metrics::ledger::GpuState as GpuUse;

/// One GPU on the map.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub state: GpuUse,
    pub pod: Option<PodId>,
    pub group: Option<GroupId>,
    /// Rank of the pod in its group, from 0.
    pub rank: Option<u32>,
    /// Share of the loading stages done, 0 to 1, while loading.
    pub progress: Option<f32>,
}

/// Which kind of hardware a rack takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
pub enum RackKind {
    /// One NVLink domain of up to 18 trays of 4 GPUs.
    Nvl72,
    /// Slots for HGX and PCIe servers; no NVLink between them.
    Network,
}

/// A rack: the place where nodes are dropped. An NVL72 rack is one NVLink domain; in a network
/// rack each HGX node is its own domain and PCIe nodes have none.
#[derive(Debug, Clone, PartialEq)]
pub struct RackView {
    pub id: RackId,
    /// Name as shown (`A` for an NVLink domain, `rack 3`).
    pub name: String,
    pub zone: String,
    pub block: String,
    pub kind: RackKind,
    /// GPUs that fit in all (NVL72) or node slots (network rack).
    pub slots_total: u32,
    pub slots_used: u32,
    pub gpus_total: u32,
    pub gpus_free: u32,
    /// One-way NVLink bandwidth per GPU in GB/s; 0 for a network rack.
    pub nvlink_gb_s: u32,
    pub nodes: Vec<NodeId>,
    /// The gang that holds GPUs here and cannot start, if any.
    pub trapped: Option<GroupId>,
}

/// Where a node is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub enum NodeStage {
    /// Asked for, not yet granted by the cloud.
    Launching,
    /// Kernel, cloud-init, kubelet registration.
    Booting,
    /// CNI and readiness.
    Registering,
    /// Driver, container toolkit, device plugin: no GPU is allocatable before.
    GpuStack,
    Ready,
    /// Tainted, no new pods; its pods are leaving.
    Draining,
    Failed,
    /// Given back; no longer paid for.
    Released,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeView {
    pub id: NodeId,
    pub name: String,
    pub instance: &'static str,
    pub provider: Provider,
    /// Catalogue id of the GPU (`gb200`, `h100-sxm`, `l40s`).
    pub gpu: &'static str,
    /// Short name of the GPU (`GB200`, `H100`).
    pub gpu_label: &'static str,
    pub gpus: u32,
    pub rack: RackId,
    /// True for a node that is an NVLink domain of its own (HGX).
    pub own_nvlink_domain: bool,
    /// One-way NVLink bandwidth per GPU in GB/s, 0 without.
    pub nvlink_gb_s: u32,
    pub price_per_hour: Microusd,
    pub stage: NodeStage,
    pub stage_since: Time,
    pub stage_until: Option<Time>,
    /// Bought by Karpenter (and so may be consolidated by it).
    pub managed: bool,
    /// Where it goes once drained, if it is being moved.
    pub moving_to: Option<RackId>,
    /// Will be released once drained.
    pub leaving: bool,
    /// Pods that one GPU takes; the cells of a GPU follow one another.
    pub parts_per_gpu: u32,
    /// How its GPUs are divided, as the product label says it (`MIG-1g.10gb`, `MPS-3`).
    pub share_label: Option<String>,
    /// Requests in flight on its replicas.
    pub in_flight: u32,
    /// Since when it has no pod.
    pub empty_since: Option<Time>,
    pub cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
pub enum GroupStage {
    /// Some pods have no node.
    Pending,
    /// All pods are bound and the image is being pulled.
    Image,
    Weights,
    WarmUp,
    /// Ready and routed.
    Serving,
    /// Deleted or evicted: finishing its requests.
    Draining,
    Gone,
}

/// A PodGroup: one replica of a service, of one or several pods.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupView {
    pub id: GroupId,
    /// Name as `kubectl` would show (`chat-8b-3`, `llama-70b-0`).
    pub name: String,
    /// Letter badge on the map for groups of several pods.
    pub badge: Option<char>,
    pub service: ServiceId,
    pub stage: GroupStage,
    pub stage_since: Time,
    pub stage_until: Option<Time>,
    pub pods_total: u32,
    pub pods_bound: u32,
    pub min_member: u32,
    /// Since when it holds GPUs below its minimum.
    pub held_since: Option<Time>,
    /// GPU time and money burnt while held, so far.
    pub held_gpu_time: Span,
    pub held_cost: Microusd,
    pub nodes: Vec<NodeId>,
    pub running: u32,
    pub waiting: u32,
    /// 0 to 1.
    pub kv_usage: f32,
    /// Seats of its engine (`max_num_seqs`); 0 while none is up.
    pub seats: u32,
    /// How many times longer its steps take because other pods use the same GPUs; 1 alone.
    pub slowdown: f32,
    /// A warm spare: loaded, without requests.
    pub standby: bool,
    /// The gateway sends to it although its engine is not up.
    pub ready_early: bool,
    pub role: ReplicaRole,
    /// What the pods without a node wait for.
    pub wait: Option<Wait>,
    /// True when its tensor-parallel ranks span NVLink domains.
    pub crosses_domains: bool,
    /// All-reduce time of one decode step at the present batch, when it spans domains.
    pub all_reduce_per_step: Option<Span>,
    /// Output tokens per second over the last scrapes; `None` before there are two.
    pub tokens_per_s: Option<f32>,
}

/// What a replica does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ReplicaRole {
    Monolithic,
    Prefill,
    Decode,
}

/// One pod that waits, for the pending tray.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingView {
    pub pod: PodId,
    pub group: GroupId,
    pub group_name: String,
    pub rank: u32,
    pub gpus: u32,
    /// GPU kind its selector asks for (label of the catalogue), if any.
    pub selector: Option<String>,
    pub wait: Wait,
}

/// The signals of a service, as shares of each one's range; `None` = no sample.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Signals {
    /// DCGM_FI_DEV_GPU_UTIL, mean over pods, 0 to 1.
    pub gpu_utilization: Option<f32>,
    /// FB_USED over total, mean over pods, 0 to 1.
    pub gpu_memory: Option<f32>,
    /// Waiting requests per pod (not a share).
    pub waiting_per_pod: Option<f32>,
    /// KV-cache usage, mean over pods, 0 to 1.
    pub kv_usage: Option<f32>,
}

/// The last HPA sync, with the numbers of its formula.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaView {
    pub at: Time,
    /// Metric value and target in milli-units of the signal; `None` = no sample.
    pub value_milli: Option<i64>,
    pub target_milli: i64,
    pub ratio: Option<f64>,
    pub inside_tolerance: bool,
    pub current: u32,
    /// ceil(ratio × ready), before limits.
    pub raw_desired: u32,
    pub stabilized: u32,
    pub desired: u32,
    pub limit: HpaLimit,
    pub next_sync: Time,
}

/// What held the HPA's wish back at its last sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, serde::Deserialize)]
pub enum HpaLimit {
    None,
    Tolerance,
    /// Mixed or missing samples: the filled-in ratio crossed 1 or the band.
    MissingPods,
    Stabilization,
    Rate,
    Max,
    Min,
    NoMetric,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServiceView {
    pub id: ServiceId,
    pub name: String,
    pub model: &'static str,
    pub model_name: &'static str,
    pub gpus_per_replica: u32,
    pub workers: u32,
    /// True for the service that layer 3 scales.
    pub scaled: bool,
    /// True when **Launch** adds replicas of it.
    pub launchable: bool,
    pub context_limit: u32,
    pub replicas_wanted: u32,
    pub replicas_ready: u32,
    pub replicas_total: u32,
    pub waiting: u32,
    pub running: u32,
    pub signals: Signals,
    pub hpa: Option<HpaView>,
    /// TTFT target and TPOT target.
    pub slo_ttft: Span,
    pub slo_tpot: Span,
    pub role: ReplicaRole,
    /// It names a service that answers what the gateway would turn away.
    pub has_fallback: bool,
    /// Its clients' requests, and the same by tenant where it has tenants.
    pub requests: RequestTotals,
    pub tenants: Vec<TenantView>,
}

/// Client requests by outcome. `offered` is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RequestTotals {
    pub offered: u64,
    pub met: u64,
    pub late: u64,
    pub timed_out: u64,
    pub rejected: u64,
    pub failed: u64,
    pub lost: u64,
    /// Answered by the fallback model.
    pub degraded: u64,
    pub unfinished: u64,
    /// Beside the sum: further attempts of clients, and answers cut by the cap.
    pub retries: u64,
    pub cut: u64,
}

impl RequestTotals {
    pub fn add(&mut self, other: &RequestTotals) {
        self.offered += other.offered;
        self.met += other.met;
        self.late += other.late;
        self.timed_out += other.timed_out;
        self.rejected += other.rejected;
        self.failed += other.failed;
        self.lost += other.lost;
        self.degraded += other.degraded;
        self.unfinished += other.unfinished;
        self.retries += other.retries;
        self.cut += other.cut;
    }
}

/// A class of clients and what became of its requests.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantView {
    pub name: String,
    pub priority: i32,
    pub requests: RequestTotals,
}

/// `100 · G^0.7 · E^0.3`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    pub total: f64,
    /// Share of offered requests that met the SLO (unfinished ones are not yet counted).
    pub g: f64,
    /// Ideal GPU-seconds over paid GPU-seconds.
    pub e: f64,
}

/// Paid GPU time and money by state.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LedgerView {
    pub gpu_time: [Span; 8],
    pub cost: [Microusd; 8],
    pub bill_gpu_time: Span,
    pub bill: Microusd,
    /// GPUs in each state now.
    pub gpus_now: [GpuCount; 8],
}

/// A number of GPUs, of which some may be divided: in parts of a GPU
/// ([`PARTS_PER_GPU`](super::metrics::ledger::PARTS_PER_GPU)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
pub struct GpuCount(pub u64);

impl GpuCount {
    pub fn whole(gpus: u32) -> GpuCount {
        GpuCount(u64::from(gpus) * PARTS_PER_GPU)
    }
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
    pub fn is_whole(self) -> bool {
        self.0.is_multiple_of(PARTS_PER_GPU)
    }
    pub fn gpus(self) -> f64 {
        self.0 as f64 / PARTS_PER_GPU as f64
    }
    pub fn less(self, other: GpuCount) -> GpuCount {
        GpuCount(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for GpuCount {
    fn sum<I: Iterator<Item = GpuCount>>(counts: I) -> GpuCount {
        GpuCount(counts.map(|c| c.0).sum())
    }
}

/// A palette entry: a node that can be bought.
#[derive(Debug, Clone, PartialEq)]
pub struct PaletteItem {
    pub instance: &'static str,
    pub gpu_label: &'static str,
    pub gpus: u32,
    pub price_per_hour: Microusd,
    pub kind: RackKind,
}

/// One line of Karpenter's state, for its card.
#[derive(Debug, Clone, PartialEq)]
pub struct NodesView {
    pub nodes_paid: u32,
    pub nodes_booting: u32,
    pub managed: u32,
    pub price_per_hour: Microusd,
    /// A node being emptied by consolidation: its name, requests in flight.
    pub evicting: Option<(NodeId, u32)>,
    /// When the disruption loop may act next.
    pub next_review: Option<Time>,
    /// The next node that becomes consolidatable, and when.
    pub next_consolidatable: Option<(NodeId, Time)>,
}

/// Everything that the page shows of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    pub now: Time,
    /// Time of day at the scenario's start, since midnight.
    pub day_start: Span,
    /// End of the run.
    pub end: Time,
    pub policy: Policy,
    pub racks: Vec<RackView>,
    pub nodes: Vec<NodeView>,
    pub groups: Vec<GroupView>,
    pub pending: Vec<PendingView>,
    /// Names of what has gone, for sentences about the past: the latest of each.
    pub gone_groups: Vec<(GroupId, String, ServiceId)>,
    pub gone_nodes: Vec<(NodeId, String)>,
    pub services: Vec<ServiceView>,
    pub palette: Vec<PaletteItem>,
    pub nodes_layer: NodesView,
    pub requests: RequestTotals,
    pub score: Score,
    pub ledger: LedgerView,
    pub decisions: usize,
}
