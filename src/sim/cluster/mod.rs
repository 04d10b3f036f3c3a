//! The things of the cluster: racks, nodes with their GPUs, pods, and PodGroups.
//!
//! Plain state and small rules over it. What changes it, and when, is `sim::world`.

pub mod disk;
pub mod group;
pub mod node;
pub mod pod;
pub mod rack;
pub mod rules;

pub use disk::{Disk, Kept};
pub use group::{Drain, DrainCause, Group};
pub use node::{GpuSlot, Leave, Node};
pub use pod::{Pod, PodPhase};
pub use rack::Rack;
