//! Karpenter (v1 API): buys nodes for pending pods and takes away those that are not needed.
//!
//! ```text
//! pods ──> BatchWindow ──> provision(view) ──> ProvisionPlan: new nodes, nominations, refusals
//! every 10 s ───────────> disrupt(view, memory) ──> Decision ──15 s──> validate ──> Command
//! ```
//!
//! Pure functions of a [`View`]; the world builds the view, launches, drains and deletes. The
//! algorithm is that of kubernetes-sigs/karpenter and its AWS provider as of August 2026.

pub mod balanced;
pub mod batch;
pub mod budgets;
mod candidates;
mod catalogue;
mod consolidation;
mod cron;
pub mod decision;
pub mod disruption;
pub mod lifecycle;
pub mod plan;
pub mod pods;
pub mod pool;
pub mod provision;
pub mod requirement;
mod room;
mod scheduling;
pub mod taints;
pub mod types;

#[cfg(test)]
mod karpenter_test;

pub use batch::BatchWindow;
pub use decision::{Command, Decision, Destination, Invalid, Kept, KeptReason, Landing, Method};
pub use disruption::{DisruptionMemory, disrupt, validate};
pub use plan::{Launch, NewNode, ProvisionPlan, Refusal, Unschedulable};
pub use pods::{DoNotDisrupt, Owner, Pdb, PodView};
pub use pool::{Budget, Policy, Pool, Reason};
pub use provision::{IceMemory, provision};
pub use types::{CapacityType, InstanceType, NodeView, Offering, Resources, Settings, View, node_labels};

use crate::sim::time::Span;

/// Pods that stay unschedulable trigger the batcher again after so long.
pub const RETRIGGER: Span = Span::from_secs(10);
/// Time between disruption passes when nothing was done; after an action the next follows at once.
pub const DISRUPTION_INTERVAL: Span = Span::from_secs(10);
/// Wait before an Empty or Underutilized command is validated and carried out.
pub const VALIDATION_WAIT: Span = Span::from_secs(15);
