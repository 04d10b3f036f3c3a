//! Requests of clients: when they arrive and how long their prompts and answers are.
//!
//! [`TrafficSettings`] (from a scenario) -> [`Source`], an iterator of [`Arrival`]s in time order;
//! the world pulls one at a time and schedules it. A source draws from its own named streams only
//! (`NAME/gaps`, `NAME/prompt`, `NAME/output`, `NAME/rows`, and three for each spike), and its draws
//! depend on nothing but the arrivals themselves: no policy, replica count or client timeout shifts
//! them.

mod arrivals;
mod lengths;
mod pattern;
mod profile;
mod replay;
mod source;
mod spike;
pub mod trace;
mod week;

pub use arrivals::{Arrivals, Gaps};
pub use lengths::{LengthSampler, Lengths};
pub use pattern::{
    Diurnal, OfficeDay, Pattern, SPEED_MAX, Stage, TraceLengths, TraceUse, TrafficProblem, TrafficSettings,
};
pub use source::{Arrival, Origin, Source};
pub use spike::Spike;
pub use trace::{Trace, TraceFormat, TraceReader};
pub use week::{Day, WeekFactors, Weekday, Weekly};

#[cfg(test)]
mod formats_test;
#[cfg(test)]
mod replay_test;
#[cfg(test)]
mod source_test;
#[cfg(test)]
mod trace_test;
