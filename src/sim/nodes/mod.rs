//! Layer 1, nodes: who buys and releases hardware, and how long a bought node takes to come up.
//!
//! Each system is a pure function of a view of the cluster, its settings and its memory. Nothing
//! here knows the rest of the world: the world builds the views and carries the decisions out.

pub mod bring_up;
pub mod karpenter;
