//! The rate over time, as pieces of straight lines, and walking along it by an area.
//!
//! Every pattern is unit gaps laid along the integral of the rate (inversion), so that an arrival
//! costs the same draws whatever the rate does: a change of rate moves arrivals in time but never
//! changes which gap is the next. Integrals and their inverses are exact up to rounding, so no
//! candidates are thrown away (thinning).

use super::pattern::{Diurnal, OfficeDay, Pattern, Stage};
use super::week::{Day, WEEK_US, Weekly};
use crate::sim::math;
use crate::sim::time::Span;
use crate::sim::units::DAY_US;
use serde::Serialize;

/// A rate per second over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Profile {
    /// Without holes; the first starts at 0, the last ends with the period.
    pieces: Vec<Piece>,
    period_us: u64,
    repeat: bool,
    /// Where in the period the simulation's time 0 is; below the period.
    offset_us: u64,
    /// Requests in a period.
    area: f64,
}

/// A straight line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Piece {
    /// In the period.
    start_us: u64,
    end_us: u64,
    /// Per second, at the start.
    rate: f64,
    /// Per second, in a second.
    slope: f64,
}

/// A point in time between microseconds, so that rounding does not bend the rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Point {
    pub us: u64,
    /// In [0, 1).
    pub fraction: f64,
}

/// Where a walk ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Walk {
    Arrived(Point),
    /// The stop came first; this area is left.
    Stopped(f64),
    /// There is not that much area left before the end of time.
    Never,
}

impl Profile {
    /// The pattern's rate; nothing for patterns without one. `clock_at_start` is the time since
    /// Monday, 00:00, at the simulation's time 0.
    pub fn new(pattern: &Pattern, clock_at_start: Span) -> Option<Profile> {
        let clock_us = clock_at_start.0 % DAY_US;
        match pattern {
            Pattern::Silent | Pattern::Trace(_) => None,
            Pattern::Constant { per_second }
            | Pattern::Poisson { per_second }
            | Pattern::GammaBurst { per_second, .. } => {
                Some(Profile::from_pieces(&[(0, *per_second, *per_second)], u64::MAX, false, 0))
            }
            Pattern::Phases { stages, repeat, .. } => Some(Profile::of_stages(stages, *repeat)),
            Pattern::OfficeDay(day) => Some(Profile::of_knots(&office_knots(day), clock_us)),
            Pattern::Diurnal(day) => Some(Profile::of_knots(&diurnal_knots(day), clock_us)),
            Pattern::Hours { per_second, .. } => Some(Profile::of_knots(&hour_knots(per_second), clock_us)),
            Pattern::Weekly(week) => Some(Profile::of_week(week, clock_at_start)),
        }
    }

    /// The day's lines seven times, each with its factor; at midnight the rate jumps if factors differ.
    fn of_week(week: &Weekly, clock_at_start: Span) -> Profile {
        let knots = match &week.day {
            Day::OfficeDay(day) => office_knots(day),
            Day::Diurnal(day) => diurnal_knots(day),
            Day::Hours { per_second, .. } => hour_knots(per_second),
        };
        let day = day_lines(&knots);
        let mut lines = Vec::with_capacity(day.len() * 7);
        for (i, factor) in week.factors.all().into_iter().enumerate() {
            let midnight_us = i as u64 * DAY_US;
            lines.extend(day.iter().map(|(at, from, to)| (midnight_us + at, from * factor, to * factor)));
        }
        Profile::from_pieces(&lines, WEEK_US, true, clock_at_start.0 % WEEK_US)
    }

    /// From (start in µs of the period, rate there, rate before the next).
    fn from_pieces(lines: &[(u64, f64, f64)], period_us: u64, repeat: bool, offset_us: u64) -> Profile {
        let mut area = 0.0;
        let mut pieces = Vec::new();
        for (i, (start_us, from, to)) in lines.iter().copied().enumerate() {
            let end_us = lines.get(i + 1).map_or(period_us, |next| next.0);
            let seconds = end_us.saturating_sub(start_us) as f64 / 1e6;
            if seconds > 0.0 {
                area += (from + to) / 2.0 * seconds;
                pieces.push(Piece { start_us, end_us, rate: from, slope: (to - from) / seconds });
            }
        }
        Profile { pieces, period_us, repeat, offset_us, area }
    }

    fn of_stages(stages: &[Stage], repeat: bool) -> Profile {
        let mut pieces = Vec::new();
        let mut at_us: u64 = 0;
        for stage in stages {
            pieces.push((at_us, stage.per_second, stage.to_per_second.unwrap_or(stage.per_second)));
            at_us = at_us.saturating_add(stage.length.0);
        }
        Profile::from_pieces(&pieces, at_us, repeat, 0)
    }

    /// A day through (time of day, rate), rising in time, straight lines between and over midnight.
    fn of_knots(knots: &[(u64, f64)], clock_us: u64) -> Profile {
        Profile::from_pieces(&day_lines(knots), DAY_US, true, clock_us)
    }

    /// Walks from `from` until the rate times `factor` has covered `area`, or time `stop_us` is reached.
    pub fn walk(&self, from: Point, mut area: f64, factor: f64, stop_us: u64) -> Walk {
        let ended = |area| {
            if stop_us == u64::MAX { Walk::Never } else { Walk::Stopped(area) }
        };
        let period_area = self.area * factor;
        // Written so that a NaN walks nowhere.
        if !(period_area > 0.0 && self.period_us > 0) {
            return ended(area);
        }
        let mut at = from;
        while at.us < stop_us {
            if self.repeat && area > period_area {
                // Whole periods at once: a tiny rate must not cost a step per piece.
                let wanted = (area / period_area).floor() as u64;
                let periods = wanted.min((stop_us - at.us) / self.period_us);
                area = (area - periods as f64 * period_area).max(0.0);
                at.us += periods * self.period_us;
            }
            let Some(phase_us) = self.phase(at.us) else {
                return ended(area);
            };
            let index = self.pieces.partition_point(|piece| piece.start_us <= phase_us).saturating_sub(1);
            let Some(piece) = self.pieces.get(index) else {
                return ended(area);
            };
            let left_us = piece.end_us.saturating_sub(phase_us).max(1).min(stop_us - at.us);
            match piece.walk(phase_us, at.fraction, area, factor, left_us) {
                Ok(step_us) => return Walk::Arrived(at.plus(step_us)),
                Err(left) => area = left,
            }
            at = Point { us: at.us.saturating_add(left_us), fraction: 0.0 };
        }
        ended(area)
    }

    fn phase(&self, us: u64) -> Option<u64> {
        if self.repeat {
            let phase_us = us % self.period_us + self.offset_us;
            Some(if phase_us < self.period_us { phase_us } else { phase_us - self.period_us })
        } else {
            Some(us).filter(|us| *us < self.period_us)
        }
    }
}

impl Piece {
    /// The microseconds to where `area` is covered, if that is within `left_us`; otherwise the area
    /// that is left then.
    fn walk(&self, phase_us: u64, fraction: f64, area: f64, factor: f64, left_us: u64) -> Result<f64, f64> {
        let (start_rate, slope) = (self.rate * factor, self.slope * factor);
        if slope == 0.0 {
            // The usual case, with the same result at less cost: a step that ends well within the piece.
            let step_us = area / start_rate * 1e6;
            if (0.0..1e15).contains(&step_us) && left_us > 4_000_000_000_000_000 {
                return Ok(step_us);
            }
        }
        let rate = (start_rate + slope * (((phase_us - self.start_us) as f64 + fraction) / 1e6)).max(0.0);
        let left_s = ((left_us as f64 - fraction) / 1e6).max(0.0);
        let covered = (rate + slope * left_s / 2.0).max(0.0) * left_s;
        if covered < area || covered <= 0.0 {
            return Err((area - covered).max(0.0));
        }
        let step_s = if slope == 0.0 {
            area / rate
        } else {
            // The stable form of the quadratic's root; the square root's argument is the rate squared
            // at the arrival, so only rounding can make it negative.
            2.0 * area / (rate + (rate * rate + 2.0 * slope * area).max(0.0).sqrt())
        };
        Ok((step_s * 1e6).clamp(0.0, left_us as f64 - fraction))
    }
}

impl Point {
    fn plus(self, step_us: f64) -> Point {
        let total = self.fraction + step_us;
        if total < 1e15 {
            // Never negative, so cutting off is rounding down.
            let whole = total as i64;
            let us = self.us.saturating_add_signed(whole);
            return Point { us, fraction: total - whole as f64 };
        }
        let whole = total.floor();
        Point { us: self.us.saturating_add(whole as u64), fraction: total - whole }
    }

    /// The nearest microsecond.
    pub fn rounded_us(self) -> u64 {
        if self.fraction >= 0.5 { self.us.saturating_add(1) } else { self.us }
    }
}

/// The straight lines of a day: start, rate there, rate before the next.
fn day_lines(knots: &[(u64, f64)]) -> Vec<(u64, f64, f64)> {
    let (Some(first), Some(last)) = (knots.first(), knots.last()) else {
        return vec![(0, 0.0, 0.0)];
    };
    let night_us = DAY_US - last.0 + first.0;
    let at_midnight = last.1 + (first.1 - last.1) * ((DAY_US - last.0) as f64 / night_us.max(1) as f64);
    let mut points = vec![(0, at_midnight)];
    points.extend(knots.iter().copied());
    points.push((DAY_US, at_midnight));
    points.windows(2).map(|w| (w[0].0, w[0].1, w[1].1)).collect()
}

fn hour_knots(per_second: &[f64]) -> Vec<(u64, f64)> {
    per_second.iter().enumerate().map(|(i, rate)| (DAY_US / 24 * i as u64, *rate)).collect()
}

fn office_knots(day: &OfficeDay) -> Vec<(u64, f64)> {
    const NOON_US: u64 = DAY_US / 2;
    const QUARTER_US: u64 = DAY_US / 96;
    let (night, peak) = (day.night_per_second, day.peak_per_second);
    let (up, down) = (day.from.0 + day.ramp.0, day.to.0.saturating_sub(day.ramp.0));
    let mut knots = vec![(day.from.0, night), (up, peak)];
    if day.lunch_share < 1.0 && up <= NOON_US && NOON_US + 4 * QUARTER_US <= down {
        let low = peak * day.lunch_share;
        knots.extend([(NOON_US, peak), (NOON_US + QUARTER_US, low), (NOON_US + 3 * QUARTER_US, low)]);
        knots.push((NOON_US + 4 * QUARTER_US, peak));
    }
    knots.extend([(down, peak), (day.to.0, night)]);
    knots
}

fn diurnal_knots(day: &Diurnal) -> Vec<(u64, f64)> {
    const STEPS: u64 = 96;
    let amplitude = (day.high_per_second - day.low_per_second) / 2.0;
    (0..STEPS)
        .map(|i| {
            let at_us = DAY_US / STEPS * i;
            let turn = (at_us as f64 - day.peak_at.0 as f64) / DAY_US as f64;
            (at_us, day.low_per_second + amplitude * (1.0 + math::cos(turn * std::f64::consts::TAU)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(walk: Walk) -> f64 {
        match walk {
            Walk::Arrived(p) => (p.us as f64 + p.fraction) / 1e6,
            other => panic!("{other:?}"),
        }
    }

    const START: Point = Point { us: 0, fraction: 0.0 };

    fn stage(secs: u64, from: f64, to: f64) -> Stage {
        Stage { length: Span::from_secs(secs), per_second: from, to_per_second: Some(to) }
    }

    #[test]
    fn a_walk_covers_the_area_under_the_rate() {
        // A ramp 0..10 over 10 s (50), a rest, then 4 per second.
        let p = Profile::of_stages(&[stage(10, 0.0, 10.0), stage(5, 0.0, 0.0), stage(10, 4.0, 4.0)], false);
        assert!((arrived(p.walk(START, 0.5, 1.0, u64::MAX)) - 1.0).abs() < 1e-9);
        assert!((arrived(p.walk(START, 32.0, 1.0, u64::MAX)) - 8.0).abs() < 1e-9);
        assert!((arrived(p.walk(START, 54.0, 1.0, u64::MAX)) - 16.0).abs() < 1e-9);
        assert!((arrived(p.walk(START, 108.0, 2.0, u64::MAX)) - 16.0).abs() < 1e-9);
        assert_eq!(p.walk(START, 90.5, 1.0, u64::MAX), Walk::Never);
        assert_eq!(p.walk(START, 52.0, 1.0, 12_000_000), Walk::Stopped(2.0));
        assert_eq!(p.walk(START, 1.0, 0.0, u64::MAX), Walk::Never);
        assert_eq!(p.walk(START, 1.0, f64::NAN, u64::MAX), Walk::Never);
    }

    #[test]
    fn a_repeated_profile_skips_whole_periods() {
        let p = Profile::of_stages(&[stage(1, 1.0, 1.0), stage(1, 0.0, 0.0)], true);
        assert!((arrived(p.walk(START, 1e6 + 0.5, 1.0, u64::MAX)) - 2_000_000.5).abs() < 1e-3);
        assert!((arrived(p.walk(START, 0.5, 1e-6, u64::MAX)) - 999_999.0 - 0.5).abs() < 2.0);
        assert_eq!(p.walk(START, 10.0, 1.0, 7_000_000), Walk::Stopped(6.0));
        assert_eq!(p.walk(START, 1e300, 1.0, u64::MAX), Walk::Never);
    }

    #[test]
    fn a_day_starts_at_the_scenarios_clock() {
        let mut knots: Vec<(u64, f64)> = (0..24).map(|i| (DAY_US / 24 * i, 0.0)).collect();
        knots[2].1 = 1.0;
        let at_one = Profile::of_knots(&knots, DAY_US / 24);
        // The triangle from 01:00 to 03:00 has its half behind it at 02:00, an hour from the start.
        assert!((arrived(at_one.walk(START, 1800.0, 1.0, u64::MAX)) - 3600.0).abs() < 1e-6);
        assert_eq!(at_one.area, 3600.0);
    }

    #[test]
    fn the_line_over_midnight_joins_last_and_first_knot() {
        let p = Profile::of_knots(&[(DAY_US / 4, 4.0), (DAY_US / 4 * 3, 2.0)], 0);
        let starts: Vec<_> = p.pieces.iter().map(|piece| (piece.start_us, piece.rate)).collect();
        assert_eq!(starts, [(0, 3.0), (DAY_US / 4, 4.0), (DAY_US / 4 * 3, 2.0)]);
        assert_eq!(p.pieces[2].slope, 1.0 / 21_600.0);
    }
}
