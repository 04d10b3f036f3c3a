//! The serving engine: what one vLLM-like replica does with its requests, and how long it takes.
//!
//! Data flow: a catalogue entry and the deployment's flags make an [`EngineSpec`]; [`memory`] says
//! whether the server starts and how much KV cache it has ([`EngineLimits`]); [`StepCost`] says how
//! long one step takes; [`Replica`] advances a queue of requests over such steps in closed form
//! and reports [`EngineEvent`]s; [`cold_start`] says how long it takes until the first step, and
//! [`links`] how loaders share what is between them and the bytes; [`ideal`] says what a request
//! would cost on a well-filled replica.
//!
//! Everything is per replica, but for [`links`], whose flows the cluster starts and ends. Durations
//! inside the engine are `f64` microseconds; whatever leaves it is integer.

mod batch;
pub mod cold_start;
pub mod collectives;
pub mod event;
pub mod ideal;
pub mod links;
pub mod memory;
pub mod power;
pub mod queueing;
mod reading;
pub mod replica;
mod sequence;
pub mod sharing;
mod span;
pub mod spec;
pub mod step;
pub mod submission;
mod terms;
mod turn;

#[cfg(test)]
mod agreement_test;
#[cfg(test)]
mod queueing_test;
#[cfg(test)]
mod reference_test;
#[cfg(test)]
mod replica_test;
#[cfg(test)]
mod roles_test;

pub use event::{EngineEvent, RefuseReason};
pub use memory::{EngineLimits, StartError};
pub use power::power_watts;
pub use reading::Reading;
pub use replica::Replica;
pub use spec::{EngineSettings, EngineSpec, Fabric, HostProfile};
pub use step::{PrefillWork, StepCost, StepCosts};
pub use submission::{Scheduling, Submission, Work};
