//! Money as integer micro-dollars, so that a bill sums exactly.

use super::time::Span;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// An amount in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Microusd(pub u64);

impl Microusd {
    /// From dollars, rounded to the nearest micro-dollar.
    pub fn from_usd(usd: f64) -> Microusd {
        Microusd((usd * 1e6).round() as u64)
    }
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// What `span` costs at this price per hour, rounded down.
    pub fn per_hour_for(self, span: Span) -> Microusd {
        Microusd((u128::from(self.0) * u128::from(span.0) / 3_600_000_000) as u64)
    }
}

impl Add for Microusd {
    type Output = Microusd;
    fn add(self, rhs: Microusd) -> Microusd {
        Microusd(self.0 + rhs.0)
    }
}
impl AddAssign for Microusd {
    fn add_assign(&mut self, rhs: Microusd) {
        *self = *self + rhs;
    }
}
