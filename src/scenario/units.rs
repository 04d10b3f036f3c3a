//! Durations and times of day in scenario files. They live in the core, whose settings types use
//! them and which imports nothing from here.

pub use crate::sim::units::*;
