//! Many quantities over a whole run, sampled together, in little memory: what the charts of one
//! service draw.
//!
//! A strip is a table of `f32`: a row per step of time from the run's beginning, a column per
//! quantity. When it is full, neighbouring rows are merged and the step doubles, so it always spans
//! the run, at a resolution of at least half its rows. [`super::series`] keeps more of each
//! quantity (recent points, extremes) and needs about eighty times the memory.

use crate::sim::series_view::Point;
use crate::sim::time::{Span, Time};
use serde::Serialize;

/// Rows at most. A chart shows about as many points.
pub const ROWS: usize = 256;
/// Stands where nothing was sampled. No sample is negative.
const GAP: f32 = -1.0;

/// What stands for several samples of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Fold {
    Mean,
    Last,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Strip {
    /// A row covers so much time.
    step: Span,
    folds: Vec<Fold>,
    /// Closed rows, one after the other; row `i` begins at `i * step`.
    rows: Vec<f32>,
    /// Sums and counts of the row that is still open.
    sums: Vec<(f64, u32)>,
    last: Vec<f32>,
    last_at: Option<Time>,
}

impl Strip {
    /// A strip with a column per fold, sampled about once per `step`.
    pub fn new(step: Span, folds: Vec<Fold>) -> Strip {
        let (sums, last) = (vec![(0.0, 0); folds.len()], vec![GAP; folds.len()]);
        Strip { step: Span(step.0.max(1)), folds, rows: Vec::new(), sums, last, last_at: None }
    }

    fn columns(&self) -> usize {
        self.folds.len()
    }

    fn closed(&self) -> usize {
        self.rows.len().checked_div(self.columns()).unwrap_or(0)
    }

    /// Adds a sample of every column at once; `None`, negative and infinite values leave a gap.
    /// Time does not go back: an earlier sample counts in the open row. Missing and superfluous
    /// values are ignored.
    pub fn push(&mut self, at: Time, values: impl IntoIterator<Item = Option<f64>>) {
        if self.folds.is_empty() {
            return;
        }
        while at.0 / self.step.0 > self.closed() as u64 {
            self.close_row();
            if self.closed() >= ROWS {
                self.halve();
            }
        }
        let columns = self.sums.iter_mut().zip(&mut self.last).zip(&self.folds);
        for (((sum, last), fold), value) in columns.zip(values) {
            *last = value.filter(|v| v.is_finite() && *v >= 0.0).map_or(GAP, |v| v as f32);
            if *last != GAP {
                *sum = match fold {
                    Fold::Mean => (sum.0 + f64::from(*last), sum.1 + 1),
                    Fold::Last => (f64::from(*last), 1),
                };
            }
        }
        self.last_at = Some(at);
    }

    fn close_row(&mut self) {
        for sum in &mut self.sums {
            self.rows.push(if sum.1 == 0 { GAP } else { (sum.0 / f64::from(sum.1)) as f32 });
            *sum = (0.0, 0);
        }
    }

    /// Merges rows by twos. An odd one at the end goes back into the open row.
    fn halve(&mut self) {
        let columns = self.columns();
        let merged: Vec<f32> = self
            .rows
            .chunks_exact(columns * 2)
            .flat_map(|pair| {
                let folds = self.folds.iter();
                folds.enumerate().map(move |(i, fold)| merge(*fold, pair[i], pair[i + columns]))
            })
            .collect();
        let odd = self.rows.len() / columns % 2 == 1;
        if odd {
            let from = self.rows.len() - columns;
            for (i, (sum, fold)) in self.sums.iter_mut().zip(&self.folds).enumerate() {
                let row = self.rows[from + i];
                if row != GAP && (*fold == Fold::Mean || sum.1 == 0) {
                    *sum = (sum.0 + f64::from(row), sum.1 + 1);
                }
            }
        }
        self.rows = merged;
        self.step = Span(self.step.0.saturating_mul(2));
    }

    /// Points of a column in `[from, to)`, oldest first. Rows bear the time at which they begin;
    /// the last point is the last sample itself.
    pub fn points(&self, column: usize, from: Time, to: Time) -> Vec<Point> {
        let inside = |at: &Time| *at >= from && *at < to;
        let rows = self.rows.iter().skip(column).step_by(self.columns().max(1)).enumerate();
        let mut points: Vec<Point> = rows
            .filter(|(_, value)| **value != GAP)
            .map(|(i, value)| Point { at: Time(self.step.0.saturating_mul(i as u64)), value: Some(*value) })
            .filter(|p| inside(&p.at))
            .collect();
        if let (Some(at), Some(value)) = (self.last_at.filter(inside), self.last.get(column).filter(|v| **v != GAP)) {
            points.push(Point { at, value: Some(*value) });
        }
        points
    }

    /// Bytes held when full.
    pub fn bytes_max(&self) -> usize {
        ROWS * self.columns() * size_of::<f32>() + self.columns() * (size_of::<(f64, u32)>() + size_of::<f32>() + 1)
    }
}

fn merge(fold: Fold, first: f32, second: f32) -> f32 {
    match (fold, first == GAP, second == GAP) {
        (_, _, true) => first,
        (_, true, false) | (Fold::Last, false, false) => second,
        (Fold::Mean, false, false) => (first + second) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STEP: Span = Span::from_secs(5);

    fn filled(samples: u64) -> Strip {
        let mut strip = Strip::new(STEP, vec![Fold::Mean, Fold::Last]);
        for i in 0..samples {
            strip.push(Time(STEP.0 * i), [Some(i as f64), Some(i as f64)]);
        }
        strip
    }

    fn values(strip: &Strip, column: usize) -> Vec<f32> {
        strip.points(column, Time::ZERO, Time::MAX).iter().filter_map(|p| p.value).collect()
    }

    #[test]
    fn each_sample_is_a_point_until_the_strip_is_full() {
        let strip = filled(200);
        assert_eq!(values(&strip, 0), (0..200).map(|i| i as f32).collect::<Vec<_>>());
        assert_eq!(strip.points(1, Time::ZERO, Time::MAX)[10].at, Time::from_secs(50));
    }

    #[test]
    fn a_day_stays_in_the_same_memory_and_at_half_the_rows_or_better() {
        let strip = filled(17_280);
        let points = strip.points(0, Time::ZERO, Time::MAX);
        assert!(strip.closed() < ROWS && points.len() >= ROWS / 2, "{}", points.len());
        assert!(strip.rows.len() * 4 <= strip.bytes_max());
        assert!(points.windows(2).all(|w| w[0].at < w[1].at && w[0].value < w[1].value));
        assert_eq!(points.last().and_then(|p| p.value), Some(17_279.0), "the last sample, not a mean");
        let lasts = values(&strip, 1);
        assert!(lasts.iter().all(|v| v.fract() == 0.0), "counts stay whole");
    }

    #[test]
    fn what_was_not_sampled_leaves_a_gap() {
        let mut strip = Strip::new(STEP, vec![Fold::Mean, Fold::Mean]);
        strip.push(Time::ZERO, [Some(1.0), None]);
        strip.push(Time::from_secs(5), [Some(f64::NAN), Some(-3.0)]);
        strip.push(Time::from_secs(60), [Some(2.0), Some(4.0)]);
        assert_eq!(values(&strip, 0), [1.0, 2.0]);
        assert_eq!(values(&strip, 1), [4.0]);
        assert!(strip.points(7, Time::ZERO, Time::MAX).is_empty());
    }

    proptest! {
        #[test]
        fn the_mean_of_a_constant_is_the_constant_and_rows_keep_their_bound(
            steps in proptest::collection::vec(0u64..400, 1..300), value in 0.0f32..1e6,
        ) {
            let mut strip = Strip::new(STEP, vec![Fold::Mean]);
            let mut now = Time::ZERO;
            for step in steps {
                now += Span::from_secs(step);
                strip.push(now, [Some(f64::from(value))]);
                prop_assert!(strip.closed() <= ROWS);
            }
            for seen in values(&strip, 0) {
                prop_assert!((seen - value).abs() <= value * 1e-6);
            }
            let points = strip.points(0, Time::ZERO, Time::MAX);
            prop_assert!(points.windows(2).all(|w| w[0].at <= w[1].at));
        }
    }
}
