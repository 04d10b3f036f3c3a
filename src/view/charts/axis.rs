//! Value axes: a round top and ticks that can be read at a small size.

use super::Unit;
use crate::i18n::{Arg, Message};
use crate::sim::time::Span;

/// An axis from zero to `top`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    pub top: f64,
    pub unit: Unit,
}

impl Axis {
    /// An axis that shows `highest`, but at least `least`.
    pub fn for_values(highest: f64, least: f64, unit: Unit) -> Axis {
        let top = nice_top(highest.max(least));
        let top = if unit == Unit::Count { ((top / 2.0).ceil() * 2.0).max(2.0) } else { top };
        Axis { top, unit }
    }

    /// Zero, half and the full mark.
    pub fn ticks(&self) -> [f64; 3] {
        let full = if self.unit == Unit::Share { 1.0 } else { self.top };
        [0.0, full / 2.0, full]
    }

    /// Height of a value, 0 to 1; values beyond the top lie on it.
    pub fn height(&self, value: f64) -> f64 {
        (value / self.top).clamp(0.0, 1.0)
    }

    pub fn tick_label(&self, value: f64) -> Arg {
        match self.unit {
            Unit::Share | Unit::Points => Arg::Percent(value),
            Unit::Count => Arg::Int(value.round() as i64),
            Unit::Mib | Unit::Watts | Unit::TokensPerSecond => number(value),
            Unit::PerSecond => Message::PerSecond { n: number(value) }.into(),
            // An axis has no room for "1 min 20 s".
            Unit::Seconds if value >= 60.0 => Message::ValueSeconds { n: number(value) }.into(),
            Unit::Seconds => Arg::Span(Span::from_secs_f64(value)),
        }
    }
}

/// With the decimals that its size needs.
pub(super) fn number(value: f64) -> Arg {
    let decimals = if value >= 10.0 || value.fract() == 0.0 {
        0
    } else if value >= 1.0 {
        1
    } else {
        2
    };
    Arg::Float(value, decimals)
}

/// What is smaller is drawn as nothing.
const SMALLEST: f64 = 1e-6;

/// The next of 1, 2, 4, 5, 8 times a power of ten at or above a value: half of it is round too.
pub fn nice_top(value: f64) -> f64 {
    if !value.is_finite() || value < SMALLEST {
        return 1.0;
    }
    let mut power = 1.0;
    while power * 10.0 <= value {
        power *= 10.0;
    }
    while power > value {
        power /= 10.0;
    }
    let steps = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0];
    let found = steps.iter().map(|s| s * power).find(|top| *top >= value * (1.0 - 1e-9));
    found.unwrap_or(10.0 * power)
}
