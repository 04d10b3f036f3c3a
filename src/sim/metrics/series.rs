//! Time series for charts in fixed memory: recent points at full resolution, the whole run at a
//! coarser one.
//!
//! Every level holds at most `capacity` buckets. Level `k` merges `4^k` base steps per bucket and
//! drops its oldest bucket when full; the last level never drops, it merges neighbouring buckets
//! and doubles its step instead, so that it always spans the whole run.

use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::collections::VecDeque;

/// Each level is this power of two coarser than the one before.
const LEVEL_SHIFT: u32 = 2;
/// Number of levels. With 512 buckets and a step of 1 s the first holds 8 minutes, the third 2
/// hours, the fourth the run.
const LEVELS: u32 = 4;
/// A last level past this shift holds any run in two buckets.
const SHIFT_MAX: u32 = 63;

/// A series buffer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    base_step: Span,
    capacity: usize,
    levels: Vec<Level>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Level {
    /// A bucket covers `base_step << shift`.
    shift: u32,
    /// Oldest first. Buckets in which nothing was pushed are absent.
    buckets: VecDeque<Bucket>,
    /// It has dropped buckets, so it does not reach back to the start.
    dropped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Bucket {
    /// Position on the level's grid: time over the level's step.
    index: u64,
    min: f32,
    max: f32,
    last: f32,
    sum: f64,
    count: u64,
}

impl Bucket {
    fn absorb(&mut self, later: &Bucket) {
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.sum += later.sum;
        self.count += later.count;
    }
}

/// One point of a chart: what was pushed in `[at, at + span)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    pub at: Time,
    pub span: Span,
    pub min: f32,
    pub max: f32,
    pub mean: f32,
    pub last: f32,
    /// Number of values pushed.
    pub count: u64,
}

impl Series {
    /// A buffer for values pushed about once per `base_step`, with `capacity` buckets per level
    /// (at least 2).
    pub fn new(base_step: Span, capacity: usize) -> Series {
        let level = |k| Level { shift: k * LEVEL_SHIFT, buckets: VecDeque::new(), dropped: false };
        Series {
            base_step: Span(base_step.0.max(1)),
            capacity: capacity.max(2),
            levels: (0..LEVELS).map(level).collect(),
        }
    }

    /// Adds a value. Values that are not finite, and values from before the last bucket, are not
    /// taken; returns whether it was.
    pub fn push(&mut self, at: Time, value: f32) -> bool {
        let base = at.0 / self.base_step.0;
        let last = self.levels[0].buckets.back().map_or(0, |b| b.index);
        if !value.is_finite() || base < last {
            return false;
        }
        let capacity = self.capacity;
        let coarsest = self.levels.len() - 1;
        for (k, level) in self.levels.iter_mut().enumerate() {
            level.add(base, value);
            if k == coarsest {
                level.merge_down_to(capacity);
            } else if level.buckets.len() > capacity {
                level.buckets.pop_front();
                level.dropped = true;
            }
        }
        true
    }

    /// The points that touch `[from, to)`, oldest first, at most `max_points`, at the finest
    /// resolution that reaches back to `from`.
    pub fn range(&self, from: Time, to: Time, max_points: usize) -> Vec<Point> {
        let Some(level) = self.levels.iter().find(|l| l.reaches(from, self.base_step)) else {
            return Vec::new();
        };
        let mut shift = level.shift;
        loop {
            let points = self.merged(level, shift, from, to);
            if points.len() <= max_points.max(1) || shift >= SHIFT_MAX {
                return points;
            }
            shift += 1;
        }
    }

    /// Buckets of a level in the range, merged onto a coarser grid.
    fn merged(&self, level: &Level, shift: u32, from: Time, to: Time) -> Vec<Point> {
        let own_step = u128::from(self.base_step.0) << level.shift;
        let mut merged: Vec<Bucket> = Vec::new();
        for bucket in &level.buckets {
            let start = u128::from(bucket.index) * own_step;
            if start >= u128::from(to.0) || start + own_step <= u128::from(from.0) {
                continue;
            }
            let index = bucket.index >> (shift - level.shift);
            match merged.last_mut() {
                Some(open) if open.index == index => open.absorb(bucket),
                _ => merged.push(Bucket { index, ..*bucket }),
            }
        }
        let step = u128::from(self.base_step.0) << shift;
        let clip = |us: u128| u64::try_from(us).unwrap_or(u64::MAX);
        let point = |b: Bucket| Point {
            at: Time(clip(u128::from(b.index) * step)),
            span: Span(clip(step)),
            min: b.min,
            max: b.max,
            mean: (b.sum / b.count as f64) as f32,
            last: b.last,
            count: b.count,
        };
        merged.into_iter().map(point).collect()
    }

    /// The last value pushed.
    pub fn last(&self) -> Option<f32> {
        self.levels[0].buckets.back().map(|b| b.last)
    }

    /// Buckets held, over all levels; bounded by `4 * capacity`.
    pub fn len(&self) -> usize {
        self.levels.iter().map(|l| l.buckets.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.levels.iter().all(|l| l.buckets.is_empty())
    }
}

impl Level {
    fn add(&mut self, base: u64, value: f32) {
        let index = base >> self.shift;
        let one = Bucket { index, min: value, max: value, last: value, sum: f64::from(value), count: 1 };
        match self.buckets.back_mut() {
            Some(open) if open.index == index => open.absorb(&one),
            _ => self.buckets.push_back(one),
        }
    }

    fn merge_down_to(&mut self, capacity: usize) {
        while self.buckets.len() > capacity && self.shift < SHIFT_MAX {
            self.shift += 1;
            let mut merged: VecDeque<Bucket> = VecDeque::with_capacity(self.buckets.len());
            for bucket in self.buckets.drain(..) {
                let index = bucket.index >> 1;
                match merged.back_mut() {
                    Some(open) if open.index == index => open.absorb(&bucket),
                    _ => merged.push_back(Bucket { index, ..bucket }),
                }
            }
            self.buckets = merged;
        }
    }

    /// Whether nothing from `from` on is missing here.
    fn reaches(&self, from: Time, base_step: Span) -> bool {
        let step = u128::from(base_step.0) << self.shift;
        !self.dropped || self.buckets.front().is_some_and(|b| u128::from(b.index) * step <= u128::from(from.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(seconds: u64, capacity: usize) -> Series {
        let mut series = Series::new(Span::from_secs(1), capacity);
        for s in 0..seconds {
            assert!(series.push(Time::from_secs(s), (s % 100) as f32));
        }
        series
    }

    #[test]
    fn a_long_run_keeps_its_memory_and_its_extremes() {
        let series = filled(1_000_000, 64);
        assert!(series.len() <= 4 * 64);
        let all = series.range(Time::ZERO, Time::from_secs(1_000_000), 1000);
        assert!(all.len() <= 64 && all.len() > 32);
        assert_eq!(all.iter().map(|p| p.count).sum::<u64>(), 1_000_000);
        assert_eq!(all[0].at, Time::ZERO);
        assert!(all.iter().all(|p| p.min == 0.0 && p.max == 99.0));
        assert_eq!(series.last(), Some(99.0));
    }

    #[test]
    fn recent_points_keep_full_resolution() {
        let series = filled(10_000, 64);
        let recent = series.range(Time::from_secs(9_990), Time::from_secs(10_000), 100);
        let values: Vec<f32> = recent.iter().map(|p| p.last).collect();
        assert_eq!(values, [90.0, 91.0, 92.0, 93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0]);
        assert!(recent.iter().all(|p| p.span == Span::from_secs(1) && p.count == 1));
    }

    #[test]
    fn a_narrow_chart_gets_merged_points() {
        let series = filled(60, 64);
        let points = series.range(Time::ZERO, Time::from_secs(60), 10);
        assert_eq!(points.len(), 8);
        assert_eq!((points[0].min, points[0].max, points[0].mean, points[0].last), (0.0, 7.0, 3.5, 7.0));
    }

    #[test]
    fn gaps_stay_gaps_and_bad_values_are_refused() {
        let mut series = Series::new(Span::from_secs(1), 8);
        assert!(series.push(Time::from_secs(1), 1.0));
        assert!(!series.push(Time::from_secs(2), f32::NAN));
        assert!(series.push(Time::from_secs(50), 2.0));
        assert!(!series.push(Time::from_secs(3), 3.0));
        let points = series.range(Time::ZERO, Time::from_secs(60), 100);
        assert_eq!(points.iter().map(|p| p.at).collect::<Vec<_>>(), [Time::from_secs(1), Time::from_secs(50)]);
    }

    proptest! {
        #[test]
        fn no_value_is_lost_from_the_whole_run(
            steps in proptest::collection::vec((0u64..5_000, -100i16..100), 1..400), max_points in 1usize..80,
        ) {
            let mut series = Series::new(Span::from_millis(500), 16);
            let (mut now, mut sum) = (0u64, 0i64);
            for (step, value) in &steps {
                now += step * 1000;
                prop_assert!(series.push(Time(now), f32::from(*value)));
                sum += i64::from(*value);
            }
            let points = series.range(Time::ZERO, Time::MAX, max_points);
            prop_assert!(points.len() <= max_points && series.len() <= 64);
            prop_assert_eq!(points.iter().map(|p| p.count).sum::<u64>(), steps.len() as u64);
            let low = steps.iter().map(|(_, v)| *v).min().unwrap();
            prop_assert_eq!(points.iter().map(|p| p.min).fold(f32::MAX, f32::min), f32::from(low));
            let mean: f64 = points.iter().map(|p| f64::from(p.mean) * p.count as f64).sum();
            prop_assert!((mean - sum as f64).abs() < 0.01 * steps.len() as f64);
            for pair in points.windows(2) {
                prop_assert!(pair[0].at + pair[0].span <= pair[1].at);
            }
        }
    }
}
