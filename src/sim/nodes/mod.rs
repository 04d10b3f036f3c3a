//! Layer 1, nodes: who buys and releases hardware. Each system is a pure function
//! `decide(view, settings, memory, now)`.

pub mod karpenter;
