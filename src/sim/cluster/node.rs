//! A node from purchase to release, and its GPUs.

use super::disk::Disk;
use crate::sim::catalog::{Gpu, Instance};
use crate::sim::id::{NodeId, PodId, RackId, ServiceId};
use crate::sim::setup::Share;
use crate::sim::snapshot::NodeStage;
use crate::sim::time::{Span, Time};
use serde::{Serialize, Serializer};
use std::sync::Arc;

fn by_name<S: Serializer>(instance: &&'static Instance, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(instance.name)
}
fn by_id<S: Serializer>(gpu: &&'static Gpu, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(gpu.id)
}

fn by_label<S: Serializer>(share: &Option<Share>, s: S) -> Result<S::Ok, S::Error> {
    share.map(Share::label).serialize(s)
}

/// Why a node is being emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Leave {
    /// Given back once empty.
    Release,
    /// Carried to this rack once empty; it boots again there.
    MoveTo(RackId),
}

/// One GPU, or a part of it, and who holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct GpuSlot {
    pub pod: Option<PodId>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    pub id: NodeId,
    pub name: Arc<str>,
    #[serde(serialize_with = "by_name")]
    pub instance: &'static Instance,
    #[serde(serialize_with = "by_id")]
    pub gpu: &'static Gpu,
    pub rack: RackId,
    pub stage: NodeStage,
    pub stage_since: Time,
    /// End of each stage still to come, in order; the first is the present one's.
    pub stages: Vec<(NodeStage, Time)>,
    /// Owned by the NodePool of this index; `None`: Karpenter does not manage it.
    pub pool: Option<u32>,
    pub created: Time,
    /// Paid from here on.
    pub granted: Time,
    pub released: Option<Time>,
    /// When its GPUs became allocatable.
    pub initialized_at: Option<Time>,
    pub last_pod_event: Option<Time>,
    pub nominated_until: Option<Time>,
    pub empty_since: Option<Time>,
    pub leave: Option<Leave>,
    /// How each GPU is divided; `None`: whole.
    #[serde(serialize_with = "by_label")]
    pub share: Option<Share>,
    /// One per part; the parts of a GPU follow one another.
    pub gpus: Vec<GpuSlot>,
    /// Milli-cores and MiB that pods hold.
    pub cpu_m_used: u32,
    pub mem_mib_used: u32,
    /// Services whose image is on its disk.
    pub images: Vec<ServiceId>,
    pub disk: Disk,
    /// Makes events of an earlier life stale.
    pub generation: u32,
}

impl Node {
    pub fn is_released(&self) -> bool {
        self.stage == NodeStage::Released
    }
    /// Up, GPUs allocatable, not being emptied.
    pub fn schedulable(&self) -> bool {
        self.stage == NodeStage::Ready && self.leave.is_none()
    }
    pub fn booting(&self) -> bool {
        matches!(self.stage, NodeStage::Launching | NodeStage::Booting | NodeStage::Registering | NodeStage::GpuStack)
    }
    /// Pods that one GPU takes.
    pub fn parts_per_gpu(&self) -> u32 {
        self.share.map_or(1, Share::parts).max(1)
    }
    /// What the GPU operator writes into `nvidia.com/gpu.product`.
    pub fn product_label(&self) -> String {
        product_label(self.gpu, self.share)
    }
    pub fn is_empty(&self) -> bool {
        self.gpus.iter().all(|g| g.pod.is_none())
    }
    pub fn gpus_free(&self) -> u32 {
        if self.stage == NodeStage::Ready { self.gpus.iter().filter(|g| g.pod.is_none()).count() as u32 } else { 0 }
    }
    /// Allocatable CPU and memory.
    pub fn allocatable(&self) -> (u32, u32) {
        allocatable(self.instance)
    }
    /// An HGX board is an NVLink domain of its own; trays and PCIe nodes are not.
    pub fn own_nvlink_domain(&self) -> bool {
        self.instance.nvlink_domain_gpus > 1 && self.instance.nvlink_domain_gpus <= self.instance.gpu_count
    }
    /// A tray shares its NVLink domain with others.
    pub fn is_tray(&self) -> bool {
        is_tray(self.instance)
    }
    /// Time since its last pod left.
    pub fn empty_for(&self, now: Time) -> Option<Span> {
        self.empty_since.map(|t| now.since(t))
    }
}

/// The product label of a GPU that is divided in this way.
pub fn product_label(gpu: &Gpu, share: Option<Share>) -> String {
    match share {
        None => gpu.product_label.to_owned(),
        Some(share) => format!("{}-{}", gpu.product_label, share.label()),
    }
}

/// Whether machines of this type share an NVLink domain.
pub fn is_tray(instance: &Instance) -> bool {
    instance.nvlink_domain_gpus > instance.gpu_count
}

/// Milli-cores and MiB that pods can have; where no provider states them, nine tenths of the machine.
pub fn allocatable(instance: &Instance) -> (u32, u32) {
    match instance.allocatable {
        Some(a) => (a.cpu_m, a.mem_mib),
        None => (instance.vcpu * 900, instance.memory_gib * 1024 / 10 * 9),
    }
}
