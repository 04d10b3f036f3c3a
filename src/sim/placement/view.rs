//! What a scheduler sees: nodes with their room, pod groups with their pods, queues.
//!
//! The world builds a [`View`] before a scheduling cycle and applies the decisions afterwards;
//! nothing here knows the world. Texts are shared (`Arc<str>`), so that building a view copies
//! pointers. Schedulers match labels once per group of like pods, never in an inner loop.

use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::time::Time;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A shared, immutable text.
pub type Text = Arc<str>;

/// Everything one scheduling cycle may look at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    pub nodes: Vec<NodeView>,
    pub groups: Vec<GroupView>,
    /// Queues of KAI: any number of trees, in any order. Empty for the default scheduler.
    pub queues: Vec<QueueView>,
}

impl View {
    /// Puts a pending pod on a node and takes its room. False, and nothing changes, if either does
    /// not exist, the pod is not pending or the room is not there.
    pub fn bind(&mut self, pod: PodId, node: NodeId) -> bool {
        let mut tasks = self.groups.iter_mut().flat_map(|g| &mut g.tasks);
        let task = tasks.find(|t| t.pod == pod && t.state == TaskState::Pending);
        let target = self.nodes.iter_mut().find(|n| n.id == node);
        let Some((task, target)) = task.zip(target) else {
            return false;
        };
        if !task.request.fits(target.free) {
            return false;
        }
        target.free = target.free.minus(task.request);
        task.state = TaskState::Bound(node);
        true
    }
}

/// A node and the room on it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeView {
    pub id: NodeId,
    /// Breaks ties between equally good nodes, so it must be unique.
    pub name: Text,
    /// What the node offers to pods at all (allocatable).
    pub allocatable: Amounts,
    /// What no pod holds now. GPUs of a node that is not `gpu_ready` are never free.
    pub free: Amounts,
    /// What terminating pods still hold and will give back; not part of `free`.
    pub releasing: Amounts,
    /// Sorted by key: instance type, GPU product, zone, block, rack, NVLink domain, hostname…
    pub labels: Labels,
    pub taints: Vec<Taint>,
    /// `kubectl cordon`, or a node that is being drained.
    pub unschedulable: bool,
    /// The device plugin has reported the GPUs to the kubelet.
    pub gpu_ready: bool,
}

/// An amount of each resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Whole GPUs.
    pub gpus: u32,
    /// Thousandths of a CPU core.
    pub cpu_m: u32,
    pub mem_mib: u32,
}

impl Amounts {
    pub const ZERO: Amounts = Amounts { gpus: 0, cpu_m: 0, mem_mib: 0 };
    /// GPUs only: what a test or a scenario without CPU accounting needs.
    pub const fn of_gpus(gpus: u32) -> Amounts {
        Amounts { gpus, cpu_m: 0, mem_mib: 0 }
    }
    /// Whether a request of this size fits into `room`.
    #[inline]
    pub fn fits(self, room: Amounts) -> bool {
        self.gpus <= room.gpus && self.cpu_m <= room.cpu_m && self.mem_mib <= room.mem_mib
    }
    /// Component-wise, saturating.
    #[inline]
    pub fn plus(self, other: Amounts) -> Amounts {
        Amounts {
            gpus: self.gpus.saturating_add(other.gpus),
            cpu_m: self.cpu_m.saturating_add(other.cpu_m),
            mem_mib: self.mem_mib.saturating_add(other.mem_mib),
        }
    }
    /// Component-wise, never below zero.
    #[inline]
    pub fn minus(self, other: Amounts) -> Amounts {
        Amounts {
            gpus: self.gpus.saturating_sub(other.gpus),
            cpu_m: self.cpu_m.saturating_sub(other.cpu_m),
            mem_mib: self.mem_mib.saturating_sub(other.mem_mib),
        }
    }
    /// How many requests of this size `room` holds, at most `at_most`.
    #[inline]
    pub fn times_in(self, room: Amounts, at_most: u32) -> u32 {
        // Most nodes of a busy cluster hold none: no division for them.
        if !self.fits(room) {
            return 0;
        }
        let mut n = at_most;
        if let Some(k) = room.gpus.checked_div(self.gpus) {
            n = n.min(k);
        }
        if let Some(k) = room.cpu_m.checked_div(self.cpu_m) {
            n = n.min(k);
        }
        if let Some(k) = room.mem_mib.checked_div(self.mem_mib) {
            n = n.min(k);
        }
        n
    }
}

/// Key-value pairs sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Vec<(Text, Text)>);

impl Labels {
    /// Sorts; of several pairs with one key the last counts.
    pub fn new<K: Into<Text>, V: Into<Text>>(pairs: impl IntoIterator<Item = (K, V)>) -> Labels {
        let mut labels = Labels::default();
        for (key, value) in pairs {
            labels.set(key.into(), value.into());
        }
        labels
    }
    /// Adds a pair or replaces its value.
    pub fn set(&mut self, key: Text, value: Text) {
        match self.0.binary_search_by(|(k, _)| k.as_ref().cmp(&key)) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (key, value)),
        }
    }
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Text> {
        self.0.binary_search_by(|(k, _)| k.as_ref().cmp(key)).ok().map(|i| &self.0[i].1)
    }
    pub fn iter(&self) -> impl Iterator<Item = &(Text, Text)> {
        self.0.iter()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What a taint does to pods that do not tolerate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaintEffect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    pub key: Text,
    pub value: Text,
    pub effect: TaintEffect,
}

/// A toleration; `None` is the wildcard of the Kubernetes field of that name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// `None` tolerates every key.
    pub key: Option<Text>,
    /// `None` is `operator: Exists`, `Some` is `operator: Equal`.
    pub value: Option<Text>,
    /// `None` tolerates every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|e| e == taint.effect)
            && self.key.as_ref().is_none_or(|k| *k == taint.key)
            && self.value.as_ref().is_none_or(|v| *v == taint.value)
    }
}

/// A PodGroup: one replica of a service, one gang job, or one bare pod.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupView {
    pub id: GroupId,
    pub name: Text,
    /// `spec.schedulerName`: a scheduler looks at its own groups only.
    pub scheduler_name: Text,
    /// Name of a leaf queue (KAI); ignored by the default scheduler.
    pub queue: Text,
    /// Larger goes first. KAI's classes: 50 train, 75 preemptible build, 100 build, 125 inference.
    pub priority: i32,
    /// Whether KAI may evict it and lets it run above its queue's quota.
    pub preemptible: bool,
    /// Pods that must run together; 1 means no gang. The default scheduler ignores it.
    pub min_member: u32,
    pub created: Time,
    pub topology: TopologyConstraint,
    /// Voluntary disruptions that a PodDisruptionBudget still allows; `None` without a budget.
    pub disruptions_allowed: Option<u32>,
    pub tasks: Vec<TaskView>,
}

/// Where the pods of a group must or should be together. Levels are node label keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopologyConstraint {
    pub required: Option<Text>,
    pub preferred: Option<Text>,
}

impl TopologyConstraint {
    pub fn is_none(&self) -> bool {
        self.required.is_none() && self.preferred.is_none()
    }
}

/// A pod as a scheduler sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskView {
    pub pod: PodId,
    pub request: Amounts,
    pub rules: PodRules,
    pub state: TaskState,
    pub created: Time,
    /// Rank of arrival in the scheduler's queue: smaller came earlier.
    pub arrival: u64,
    /// KAI's `kai.scheduler/task-priority` label: larger goes first, labelled before unlabelled.
    pub order: Option<i32>,
    /// When it was bound; meaningless while pending.
    pub started: Time,
}

/// Where a pod may run. Shared by the pods of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRules(Arc<(Labels, Vec<Toleration>)>);

impl PodRules {
    pub fn new(node_selector: Labels, tolerations: Vec<Toleration>) -> PodRules {
        PodRules(Arc::new((node_selector, tolerations)))
    }
    pub fn node_selector(&self) -> &Labels {
        &self.0.0
    }
    pub fn tolerations(&self) -> &[Toleration] {
        &self.0.1
    }
    /// Equal, with a short cut for pods of one template.
    pub fn same(&self, other: &PodRules) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self == other
    }
}

/// How far a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Exists and waits for a node.
    Pending,
    /// Held back by a scheduling gate.
    Gated,
    /// Assigned to a node, running or not.
    Bound(NodeId),
    /// Terminating: still holds its node's resources.
    Releasing(NodeId),
    Succeeded,
    Failed,
}

/// A queue of KAI and what it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueView {
    pub name: Text,
    pub parent: Option<Text>,
    pub gpus: Quota,
    /// In thousandths of a core.
    pub cpu_m: Quota,
    pub mem_mib: Quota,
    /// Larger is served first with GPUs above quota. Default 100.
    pub priority: i32,
    /// Older queues win ties.
    pub created: Time,
}

/// One resource of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// Guaranteed amount ("quota"); `None` is unlimited, 0 guarantees nothing.
    pub deserved: Option<f64>,
    /// Hard cap; `None` is unlimited, 0 allows nothing.
    pub limit: Option<f64>,
    /// Weight in the division of what is left above the quotas; 0 gets nothing of it.
    pub over_quota_weight: f64,
}

impl Quota {
    pub const UNLIMITED: Quota = Quota { deserved: None, limit: None, over_quota_weight: 1.0 };
}
