//! Layer 2, placement: who gets which GPU. Each system is a pure function
//! `decide(view, settings, memory, now)`.

pub mod kai;
pub mod kube_scheduler;
