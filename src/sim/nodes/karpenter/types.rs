//! What Karpenter sees: instance types, nodes, pods and disruption budgets of pods.
//!
//! The world fills a [`View`] and passes it to `provision`, `disrupt` and `validate`; nothing here
//! points back into the world. Pools and instance types are referred to by their index in the view.

pub use super::pods::{DoNotDisrupt, Owner, Pdb, PodView};
use super::pool::Pool;
use super::requirement::Requirements;
use super::taints::Taint;
use crate::sim::id::NodeId;
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const ZONE: &str = "topology.kubernetes.io/zone";
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
pub const NODE_POOL: &str = "karpenter.sh/nodepool";
pub const ARCH: &str = "kubernetes.io/arch";
pub const OS: &str = "kubernetes.io/os";

/// Amounts of resources, requested or offered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Resources {
    /// Millicores.
    pub cpu_m: i64,
    /// MiB of memory.
    pub mem_mib: i64,
    /// Whole GPUs.
    pub gpu: i64,
    /// Pod slots. A pod always takes one, whatever its requests say here.
    pub pods: i64,
    /// Further resources by name.
    pub extra: BTreeMap<String, i64>,
}

impl Resources {
    pub fn new(cpu_m: i64, mem_mib: i64, gpu: i64, pods: i64) -> Self {
        Resources { cpu_m, mem_mib, gpu, pods, extra: BTreeMap::new() }
    }
    fn combine(&self, other: &Resources, f: impl Fn(i64, i64) -> i64) -> Resources {
        let mut extra = self.extra.clone();
        for (name, theirs) in &other.extra {
            let ours = extra.entry(name.clone()).or_default();
            *ours = f(*ours, *theirs);
        }
        Resources {
            cpu_m: f(self.cpu_m, other.cpu_m),
            mem_mib: f(self.mem_mib, other.mem_mib),
            gpu: f(self.gpu, other.gpu),
            pods: f(self.pods, other.pods),
            extra,
        }
    }
    pub fn plus(&self, other: &Resources) -> Resources {
        self.combine(other, i64::saturating_add)
    }
    /// May go below zero: a node can be overcommitted.
    pub fn minus(&self, other: &Resources) -> Resources {
        self.combine(other, i64::saturating_sub)
    }
    /// The larger amount of each resource.
    pub fn max(&self, other: &Resources) -> Resources {
        self.combine(other, i64::max)
    }
    /// Negative amounts become zero.
    pub fn floored(&self) -> Resources {
        self.combine(self, |a, _| a.max(0))
    }
    /// What is missing here (zero) taken from `planned`.
    pub fn or_planned(&self, planned: &Resources) -> Resources {
        self.combine(planned, |have, plan| if have == 0 { plan } else { have })
    }
    fn amounts(&self) -> [i64; 4] {
        [self.cpu_m, self.mem_mib, self.gpu, self.pods]
    }
    /// Whether these requests fit `free`. A request of zero needs nothing; a resource that `free`
    /// does not name is zero; anything negative in `free` means that nothing fits.
    pub fn fits(&self, free: &Resources) -> bool {
        if free.amounts().iter().chain(free.extra.values()).any(|have| *have < 0) {
            return false;
        }
        self.amounts().iter().zip(free.amounts()).all(|(want, have)| *want <= have)
            && self.extra.iter().all(|(name, want)| *want <= free.extra.get(name).copied().unwrap_or(0))
    }
}

/// How capacity is bought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    Reserved,
    Spot,
    OnDemand,
}

impl CapacityType {
    /// The order in which a launch prefers them.
    pub const PREFERENCE: [CapacityType; 3] = [CapacityType::Reserved, CapacityType::Spot, CapacityType::OnDemand];

    /// The value of the label `karpenter.sh/capacity-type`.
    pub fn label(self) -> &'static str {
        match self {
            CapacityType::Reserved => "reserved",
            CapacityType::Spot => "spot",
            CapacityType::OnDemand => "on-demand",
        }
    }
    pub fn from_label(label: &str) -> Option<Self> {
        CapacityType::PREFERENCE.into_iter().find(|c| c.label() == label)
    }
}

/// One way to buy an instance type.
#[derive(Debug, Clone, PartialEq)]
pub struct Offering {
    pub zone: String,
    pub capacity_type: CapacityType,
    pub price_microusd_per_hour: Microusd,
    /// False while the cloud is known to have none (see `IceMemory`).
    pub available: bool,
    /// Instances left in the reservation; `None` if not a reservation or without bound.
    pub reservation_left: Option<u32>,
}

impl Offering {
    /// Available, and not an exhausted reservation.
    pub fn can_launch(&self) -> bool {
        self.available && self.reservation_left != Some(0)
    }
    /// Zone and capacity type are allowed.
    pub fn matches(&self, requirements: &Requirements) -> bool {
        requirements.allows(ZONE, &self.zone) && requirements.allows(CAPACITY_TYPE, self.capacity_type.label())
    }
}

/// A machine type of the cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceType {
    pub name: String,
    pub capacity: Resources,
    /// Kube-reserved, system-reserved and eviction threshold together.
    pub overhead: Resources,
    /// Labels of nodes of this type; their keys are well known.
    pub labels: BTreeMap<String, String>,
    pub offerings: Vec<Offering>,
}

impl InstanceType {
    /// Capacity less overhead.
    pub fn allocatable(&self) -> Resources {
        self.capacity.minus(&self.overhead)
    }
    /// The offering of this zone and capacity type.
    pub fn offering(&self, zone: &str, capacity_type: CapacityType) -> Option<&Offering> {
        self.offerings.iter().find(|o| o.zone == zone && o.capacity_type == capacity_type)
    }
}

/// The labels that a node carries: those of its type, its offering and its pool, then its own.
pub fn node_labels(
    instance_type: &InstanceType,
    pool: Option<&Pool>,
    zone: &str,
    capacity_type: CapacityType,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([(ARCH.to_owned(), "amd64".to_owned()), (OS.to_owned(), "linux".to_owned())]);
    labels.extend(instance_type.labels.clone());
    for (key, value) in
        [(INSTANCE_TYPE, instance_type.name.as_str()), (ZONE, zone), (CAPACITY_TYPE, capacity_type.label())]
    {
        labels.insert(key.to_owned(), value.to_owned());
    }
    if let Some(pool) = pool {
        labels.extend(pool.labels.clone());
        labels.insert(NODE_POOL.to_owned(), pool.name.clone());
    }
    labels.extend(own.clone());
    labels
}

/// A node, or one that is on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeView {
    pub id: NodeId,
    /// Index of the pool that owns it; `None` for a node that Karpenter does not manage.
    pub pool: Option<usize>,
    /// Index of its instance type.
    pub instance_type: Option<usize>,
    pub zone: String,
    pub capacity_type: CapacityType,
    /// All labels (see [`node_labels`]).
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// As the kubelet reports it.
    pub allocatable: Resources,
    pub capacity: Resources,
    pub pods: Vec<PodView>,
    /// Ready once, startup taints gone, every requested resource advertised.
    pub initialized: bool,
    pub ready: bool,
    /// Being deleted, or part of a disruption command.
    pub deleting: bool,
    /// Drained, and the cloud has been told to terminate it.
    pub instance_terminating: bool,
    /// A pending pod was planned onto it; no disruption before this time.
    pub nominated_until: Option<Time>,
    /// The Consolidatable condition, if the caller keeps it; `None` derives it from the times.
    pub consolidatable: Option<bool>,
    /// The node has `karpenter.sh/do-not-disrupt: "true"`.
    pub do_not_disrupt: bool,
    pub created: Time,
    pub initialized_at: Option<Time>,
    /// Last time a pod was bound, finished or began to terminate here (DaemonSet pods aside).
    pub last_pod_event: Option<Time>,
    /// When it became Drifted.
    pub drifted_at: Option<Time>,
    /// terminationGracePeriod of its NodeClaim.
    pub termination_grace: Option<Span>,
}

impl NodeView {
    /// A node of `instance_type`, up and initialised since time zero, with nothing on it.
    /// `None` if an index is out of range.
    pub fn of_type(
        view: &View,
        id: NodeId,
        pool: Option<usize>,
        instance_type: usize,
        zone: &str,
        capacity_type: CapacityType,
    ) -> Option<Self> {
        let kind = view.types.get(instance_type)?;
        let owner = match pool {
            Some(index) => Some(view.pools.get(index)?),
            None => None,
        };
        Some(NodeView {
            id,
            pool,
            instance_type: Some(instance_type),
            zone: zone.to_owned(),
            capacity_type,
            labels: node_labels(kind, owner, zone, capacity_type, &BTreeMap::new()),
            taints: owner.map(|p| p.taints.clone()).unwrap_or_default(),
            allocatable: kind.allocatable(),
            capacity: kind.capacity.clone(),
            pods: Vec::new(),
            initialized: true,
            ready: true,
            deleting: false,
            instance_terminating: false,
            nominated_until: None,
            consolidatable: None,
            do_not_disrupt: false,
            created: Time::ZERO,
            initialized_at: Some(Time::ZERO),
            last_pod_event: None,
            drifted_at: None,
            termination_grace: owner.and_then(|p| p.termination_grace),
        })
    }
    /// A pending pod has been planned onto it a short while ago.
    pub fn is_nominated(&self, now: Time) -> bool {
        self.nominated_until.is_some_and(|until| now < until)
    }
}

/// Everything that Karpenter looks at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct View {
    pub types: Vec<InstanceType>,
    pub pools: Vec<Pool>,
    pub nodes: Vec<NodeView>,
    /// Pods that kube-scheduler found unschedulable.
    pub pending: Vec<PodView>,
    /// One pod per DaemonSet.
    pub daemonsets: Vec<PodView>,
    pub pdbs: Vec<Pdb>,
    /// The wall clock at simulated time zero, seconds since 1970 UTC: budgets follow the calendar.
    pub unix_at_zero_s: i64,
    /// Grows with every change of the cluster; consolidation sleeps while it stands still.
    pub state_version: u64,
}

impl View {
    pub fn node(&self, id: NodeId) -> Option<&NodeView> {
        self.nodes.iter().find(|n| n.id == id)
    }
}

/// Settings of the Karpenter controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Settings {
    /// A batch closes when no new pod came for so long (BATCH_IDLE_DURATION).
    pub batch_idle: Span,
    /// A batch closes at the latest after this (BATCH_MAX_DURATION).
    pub batch_max: Span,
    /// Feature gate SpotToSpotConsolidation.
    pub spot_to_spot: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { batch_idle: Span::from_secs(1), batch_max: Span::from_secs(10), spot_to_spot: false }
    }
}

impl Settings {
    /// How long a node that a pod was planned onto is safe from disruption.
    pub fn nomination(&self) -> Span {
        Span(self.batch_max.0.saturating_mul(2)).max(Span::from_secs(10))
    }
}
