//! Typed identifiers: `u32` indices into the world's arenas. An id is never reused.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
            pub fn from_index(i: usize) -> Self {
                $name(u32::try_from(i).unwrap_or(u32::MAX))
            }
        }
    )*};
}

ids! {
    /// A node, from purchase to release.
    NodeId,
    /// An NVLink domain, or the slot of a PCIe rack that has none.
    DomainId,
    /// A rack.
    RackId,
    /// A pod.
    PodId,
    /// A PodGroup: one replica of a service (leader and workers) or one gang job.
    GroupId,
    /// An inference service.
    ServiceId,
    /// A client request.
    RequestId,
}
