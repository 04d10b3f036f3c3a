//! Simulated time: integer microseconds since the scenario's start.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Sub};

/// An instant, in microseconds since the scenario's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A length of time, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Time {
    pub const ZERO: Time = Time(0);
    pub const MAX: Time = Time(u64::MAX);

    pub const fn from_secs(s: u64) -> Time {
        Time(s * 1_000_000)
    }
    /// Seconds since the start.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The length from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    pub const ZERO: Span = Span(0);

    pub const fn from_micros(us: u64) -> Span {
        Span(us)
    }
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000)
    }
    pub const fn from_secs(s: u64) -> Span {
        Span(s * 1_000_000)
    }
    pub const fn from_mins(m: u64) -> Span {
        Span(m * 60_000_000)
    }
    /// Rounds to the nearest microsecond; negative and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e6).round() as u64)
    }
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    pub fn mins_f64(self) -> f64 {
        self.0 as f64 / 6e7
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, rhs: Span) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}
impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, rhs: Span) -> Time {
        Time(self.0.saturating_sub(rhs.0))
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, rhs: Span) -> Span {
        Span(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}
impl Sub for Span {
    type Output = Span;
    fn sub(self, rhs: Span) -> Span {
        Span(self.0.saturating_sub(rhs.0))
    }
}
