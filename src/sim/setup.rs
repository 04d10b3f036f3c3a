//! A resolved scenario: everything that a world is built from. Made by `scenario::resolve`,
//! or by tests; every name is already an index or a catalogue entry.

use super::catalog::gpus::MigProfile;
use super::catalog::{Dtype, Gpu, Instance, Model};
use super::command::Stamped;
use super::engine::{EngineSpec, HostProfile};
use super::id::{RackId, ServiceId};
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
    pub links: LinkSetup,
}

/// What loaders share, bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSetup {
    /// The image registry, all pulls together.
    pub registry_bytes_per_s: f64,
    /// The way out of the object store, all readers together.
    pub object_store_bytes_per_s: f64,
    /// The file server (NFS, EFS), all readers together.
    pub files_bytes_per_s: f64,
}

impl Default for LinkSetup {
    /// A registry of 1 GB/s, an object store behind 100 Gbit/s, and a file server of 0.5 GB/s,
    /// which one client can use up.
    fn default() -> LinkSetup {
        LinkSetup { registry_bytes_per_s: 1e9, object_store_bytes_per_s: 12.5e9, files_bytes_per_s: 0.5e9 }
    }
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
    /// How each of its GPUs is divided; `None`: whole.
    pub share: Option<Share>,
}

/// How a GPU is divided among pods. The device plugin then reports each part as one
/// `nvidia.com/gpu`, and the node's product label says so, so that a pod asks for it by selector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// Hardware slices, all of one profile (`mig.strategy: single`).
    Mig(&'static MigProfile),
    /// So many pods take turns; memory is not split.
    TimeSlicing(u32),
    /// Kernels of so many pods overlap; one crash takes all down.
    Mps(u32),
    /// So many pods take turns, each with a fixed share of the memory.
    Vgpu(u32),
}

impl Share {
    /// Pods that one GPU takes.
    pub fn parts(self) -> u32 {
        match self {
            Share::Mig(profile) => profile.instances_max,
            Share::TimeSlicing(n) | Share::Mps(n) | Share::Vgpu(n) => n,
        }
    }
    /// Suffix of the product label.
    pub fn label(self) -> String {
        match self {
            Share::Mig(profile) => format!("MIG-{}", profile.name),
            Share::TimeSlicing(n) => format!("SHARED-{n}"),
            Share::Mps(n) => format!("MPS-{n}"),
            Share::Vgpu(n) => format!("VGPU-{n}"),
        }
    }
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
    /// Engine flags that differ from the server's defaults.
    pub engine: EngineFlags,
    pub role: Role,
    /// Runs on GPUs that are divided in this way; `None`: on whole ones.
    pub share: Option<Share>,
    /// Who asks, by share of the requests; empty: everybody alike.
    pub tenants: Vec<Tenant>,
    /// Who answers, with weights: a canary, or the pool behind a name that has no replicas of its
    /// own. Empty: the service itself.
    pub backends: Vec<(ServiceId, u32)>,
    /// Who answers what the gateway would turn away.
    pub fallback: Option<ServiceId>,
    pub priority: i32,
    /// `terminationGracePeriodSeconds`, if not the policy's.
    pub grace: Option<Span>,
    pub slo_ttft: Span,
    pub slo_tpot: Span,
    pub client_timeout: Span,
    pub traffic: TrafficSettings,
    /// The trace that the traffic's pattern or its lengths name, if they do.
    pub trace: Option<Arc<Trace>>,
    /// Image on every node at the start.
    pub image_cached: bool,
}

/// Flags of `vllm serve`; `None`: the default on its GPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EngineFlags {
    pub gpu_memory_utilization: Option<f64>,
    pub max_num_batched_tokens: Option<u32>,
    /// Pipeline stages; the GPUs of a replica are `tp * pp`.
    pub pipeline: Option<u32>,
    pub host: Option<HostProfile>,
}

/// What the replicas of a service do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// All of it.
    Monolithic,
    /// The prompt; the answer comes from replicas of this service.
    Prefill { decode: ServiceId },
    /// The answer, for a prefill service.
    Decode,
}

/// A class of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub name: String,
    /// Weight of its requests among all.
    pub weight: u32,
    /// Larger goes first.
    pub priority: i32,
}

impl ServiceSetup {
    /// GPUs of one replica: tensor-parallel size times pipeline stages.
    pub fn gpus(&self) -> u32 {
        self.workers * self.gpus_per_worker
    }

    /// The engine of a replica on whole GPUs of this kind in one box.
    pub fn engine_spec(&self, gpu: &'static Gpu) -> EngineSpec {
        let stages = self.engine.pipeline.unwrap_or(1).max(1);
        let plain = EngineSpec::new(self.model, gpu, self.gpus() / stages);
        EngineSpec {
            pp: stages,
            host: self.engine.host.unwrap_or(plain.host),
            weight_dtype: self.weight_dtype,
            kv_dtype: self.kv_dtype,
            ..plain
        }
    }
}
