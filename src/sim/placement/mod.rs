//! Layer 2, placement: who gets which GPU. Each system is a pure function
//! `decide(view, settings, memory, now) -> (decisions, memory)` over a [`view::View`].
//!
//! ```text
//! world --> View --decide--> decisions with reasons --> world binds, evicts, logs
//! ```

pub mod fit;
pub mod kai;
pub mod kube_scheduler;
pub mod view;

#[cfg(test)]
mod testing;
