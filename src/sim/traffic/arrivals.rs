//! Arrival times of a pattern: unit gaps along the integral of its rate.

use super::pattern::{Pattern, Problems, positive};
use super::profile::{Point, Profile, Walk};
use crate::sim::rng::Stream;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// How regular arrivals are around the rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Gaps {
    /// All alike.
    Even,
    /// Independent of each other.
    #[default]
    Poisson,
    /// Gamma with this coefficient of variation: bursts above 1.
    Gamma { cv: f64 },
}

impl Gaps {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        if let Gaps::Gamma { cv } = self {
            positive(problems, format!("{path}.gamma.cv"), *cv, 100.0);
        }
    }

    /// A gap with mean 1.
    fn draw(&self, stream: &mut Stream) -> f64 {
        match *self {
            Gaps::Even => 1.0,
            Gaps::Poisson => stream.exponential(1.0),
            Gaps::Gamma { cv } => stream.gamma(1.0 / (cv * cv), cv * cv),
        }
    }
}

/// The arrival times of a pattern that has a rate, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arrivals {
    profile: Profile,
    gaps: Gaps,
    stream: Stream,
    rate_factor: f64,
    /// From here, `gap` is still to be covered until the next arrival.
    from: Point,
    gap: f64,
    next: Option<Point>,
}

impl Arrivals {
    /// Nothing for [`Pattern::Silent`] and [`Pattern::Trace`]. `clock_at_start` is the time
    /// since Monday, 00:00, at the simulation's time 0.
    pub fn new(pattern: &Pattern, clock_at_start: Span, mut stream: Stream) -> Option<Arrivals> {
        let gaps = match pattern {
            Pattern::Silent | Pattern::Trace(_) => return None,
            Pattern::Constant { .. } => Gaps::Even,
            Pattern::Poisson { .. } => Gaps::Poisson,
            Pattern::GammaBurst { cv, .. } => Gaps::Gamma { cv: *cv },
            Pattern::Phases { gaps, .. } | Pattern::Hours { gaps, .. } => *gaps,
            Pattern::OfficeDay(day) => day.gaps,
            Pattern::Diurnal(day) => day.gaps,
            Pattern::Weekly(week) => week.day.gaps(),
        };
        let profile = Profile::new(pattern, clock_at_start)?;
        let gap = gaps.draw(&mut stream);
        let from = Point { us: 0, fraction: 0.0 };
        let mut arrivals = Arrivals { profile, gaps, stream, rate_factor: 1.0, from, gap, next: None };
        arrivals.find_next();
        Some(arrivals)
    }

    /// When the next one comes; nothing if none ever does.
    pub fn next_time(&self) -> Option<Time> {
        self.next.map(|point| Time(point.rounded_us()))
    }

    /// Takes the next one.
    pub fn take(&mut self) -> Option<Time> {
        let point = self.next?;
        self.from = point;
        self.gap = self.gaps.draw(&mut self.stream);
        self.find_next();
        Some(Time(point.rounded_us()))
    }

    /// Multiplies all rates by `factor` from `now` on (1 as the settings say, 0 pauses). The gap
    /// that has begun is stretched or shortened from there; no draw is added or lost. `now` must
    /// not be later than the next arrival. Factors that are no number or below 0 count as 0.
    pub fn set_rate_factor(&mut self, now: Time, factor: f64) {
        if now.0 > self.from.us {
            let left = match self.profile.walk(self.from, self.gap, self.rate_factor, now.0) {
                Walk::Stopped(left) => left,
                // Due in the microsecond that has begun.
                Walk::Arrived(_) | Walk::Never => 0.0,
            };
            (self.from, self.gap) = (Point { us: now.0, fraction: 0.0 }, left);
        }
        self.rate_factor = if factor > 0.0 { factor.min(1e6) } else { 0.0 };
        self.find_next();
    }

    fn find_next(&mut self) {
        self.next = match self.profile.walk(self.from, self.gap, self.rate_factor, u64::MAX) {
            Walk::Arrived(point) => Some(point),
            Walk::Stopped(_) | Walk::Never => None,
        };
    }
}
