//! Latency histograms as Prometheus sees them: fixed buckets, and a quantile by interpolation.
//!
//! A quantile read this way cannot be better than the bucket it falls into. The exact one, for the
//! charts, is [`super::histogram`]'s.

use crate::sim::time::Span;
use serde::Serialize;

/// Upper bounds of `vllm:time_to_first_token_seconds`.
pub const TTFT_BOUNDS_S: [f64; 22] = [
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0, 640.0, 2560.0,
];
/// Upper bounds of `vllm:request_time_per_output_token_seconds`.
pub const TPOT_BOUNDS_S: [f64; 19] =
    [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0];

/// Counts by bucket, not cumulative; the last is `+Inf`. They only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    counts: [u32; 23],
}

impl Counts {
    /// Counts a latency. A bucket's bound belongs to it (`le`).
    pub fn observe(&mut self, bounds_s: &[f64], latency: Span) {
        let seconds = latency.secs_f64();
        let bucket = bounds_s.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.saturating_add(1);
        }
    }

    /// What came since `earlier`, by bucket.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let mut counts = self.counts;
        for (now, then) in counts.iter_mut().zip(earlier.counts) {
            *now = now.saturating_sub(then);
        }
        Counts { counts }
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().map(|c| u64::from(*c)).sum()
    }

    /// PromQL's `histogram_quantile(q, ...)` in seconds: linear within the bucket; in `+Inf`, the
    /// largest bound. `None` without observations, where PromQL has NaN.
    pub fn quantile_s(&self, bounds_s: &[f64], q: f64) -> Option<f64> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = q * total as f64;
        let mut below = 0.0;
        for (i, count) in self.counts.iter().map(|c| f64::from(*c)).enumerate() {
            if below + count >= rank && count > 0.0 {
                let Some(upper) = bounds_s.get(i) else { return bounds_s.last().copied() };
                let lower = if i == 0 { 0.0 } else { bounds_s[i - 1] };
                return Some(lower + (upper - lower) * ((rank - below) / count));
            }
            below += count;
        }
        bounds_s.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ms: &[u64]) -> Counts {
        let mut counts = Counts::default();
        ms.iter().for_each(|ms| counts.observe(&TTFT_BOUNDS_S, Span::from_millis(*ms)));
        counts
    }

    #[test]
    fn a_quantile_is_interpolated_within_its_bucket() {
        // All between 0.25 and 0.5 s: p50 is told as the middle of the bucket, whatever they were.
        let p50 = of(&[260, 261, 262, 263]).quantile_s(&TTFT_BOUNDS_S, 0.5).unwrap();
        assert!((p50 - 0.375).abs() < 1e-12, "{p50}");
        // Ten up to 100 ms, ten in (0.5, 0.75]: p95 is nine tenths into the last bucket.
        let mut mixed = vec![90; 10];
        mixed.extend([600; 10]);
        let p95 = of(&mixed).quantile_s(&TTFT_BOUNDS_S, 0.95).unwrap();
        assert!((p95 - (0.5 + 0.25 * 0.9)).abs() < 1e-12, "{p95}");
    }

    #[test]
    fn a_bound_belongs_to_its_bucket_and_what_lies_beyond_all_reads_as_the_largest() {
        assert!(of(&[100]).quantile_s(&TTFT_BOUNDS_S, 1.0).unwrap() <= 0.1);
        assert!(of(&[101]).quantile_s(&TTFT_BOUNDS_S, 1.0).unwrap() > 0.1);
        assert_eq!(of(&[9_000_000]).quantile_s(&TTFT_BOUNDS_S, 0.99), Some(2560.0));
        assert_eq!(of(&[]).quantile_s(&TTFT_BOUNDS_S, 0.99), None);
        // The first bucket begins at zero.
        assert_eq!(of(&[1]).quantile_s(&TTFT_BOUNDS_S, 0.5), Some(0.0005));
    }

    #[test]
    fn every_bound_has_a_place_and_one_more_is_left_for_the_rest() {
        assert!(TTFT_BOUNDS_S.len() < Counts::default().counts.len());
        assert!(TPOT_BOUNDS_S.len() < Counts::default().counts.len());
        assert!(TTFT_BOUNDS_S.windows(2).all(|w| w[0] < w[1]) && TPOT_BOUNDS_S.windows(2).all(|w| w[0] < w[1]));
        let later = of(&[90, 90, 600]);
        assert_eq!(later.since(&of(&[90])).total(), 2);
    }
}
