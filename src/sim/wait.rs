//! Why a pod waits: the closed list that a learner must be able to tell apart, each with the
//! number that would end the wait.

use super::time::Time;
use serde::{Deserialize, Serialize};

/// The reason that holds a pod up now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WaitReason {
    /// Over a queue's quota or limit.
    Quota,
    /// Its turn in the queue has not come, or victims are still leaving.
    Turn,
    /// It holds its GPUs and waits for the other members of its gang.
    GangPartners,
    /// Enough GPUs are free, but not inside one domain of the required level.
    Topology,
    /// No GPU is free where it may run.
    FreeGpu,
    /// GPUs are free on nodes that its selector or tolerations exclude.
    TaintOrSelector,
    /// CPU or memory of the node is taken by DaemonSets and other pods.
    NodeOverhead,
    /// The cloud has none of the instance types.
    CloudCapacity,
    /// A node for it is booting.
    NodeBoot,
    /// The node is up, its GPUs are not yet advertised.
    DevicePlugin,
    /// The container image is being pulled.
    Image,
    /// Model weights are being loaded.
    Weights,
    /// The engine starts and warms up.
    WarmUp,
}

impl WaitReason {
    pub const ALL: [WaitReason; 13] = [
        WaitReason::Quota,
        WaitReason::Turn,
        WaitReason::GangPartners,
        WaitReason::Topology,
        WaitReason::FreeGpu,
        WaitReason::TaintOrSelector,
        WaitReason::NodeOverhead,
        WaitReason::CloudCapacity,
        WaitReason::NodeBoot,
        WaitReason::DevicePlugin,
        WaitReason::Image,
        WaitReason::Weights,
        WaitReason::WarmUp,
    ];
}

/// A wait with its start and what would end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    pub reason: WaitReason,
    pub since: Time,
    /// GPUs that would free it, for reasons that GPUs can free.
    pub gpus_missing: u32,
    /// When it is expected to end, for stages whose end is known.
    pub until: Option<Time>,
}
