//! Latency percentiles in fixed memory, over `hdrhistogram` with two significant digits.
//!
//! A value is counted in a bucket at most 1/128 of itself wide, and a percentile is reported as
//! its bucket's upper end: never below the exact one, and above it by less than 0.79 %. Up to
//! 255 µs it is exact. Merging histograms adds no error. Counts are integers, so results do not
//! depend on the order of recording.

use crate::sim::time::{Span, Time};
use hdrhistogram::Histogram;
use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::collections::VecDeque;

/// Longest latency told apart, in µs (one hour); longer ones count as this.
pub const LATENCY_MAX_US: u64 = 3_600_000_000;

/// Latencies, in µs.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyHistogram {
    counts: Histogram<u64>,
    /// Exact sum, for the mean.
    sum_us: u128,
}

/// Three percentiles and the mean, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Percentiles {
    pub count: u64,
    pub p50_us: u64,
    pub p95_us: u64,
    pub p99_us: u64,
    pub mean_us: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        LatencyHistogram { counts: empty(), sum_us: 0 }
    }
}

fn empty() -> Histogram<u64> {
    // The bounds are constants that the constructor accepts; a test makes one.
    match Histogram::new_with_bounds(1, LATENCY_MAX_US, 2) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("1 < LATENCY_MAX_US, two digits"),
    }
}

impl LatencyHistogram {
    pub fn record(&mut self, latency: Span) {
        let us = latency.0.min(LATENCY_MAX_US);
        self.counts.saturating_record(us);
        self.sum_us += u128::from(us);
    }

    /// Adds all that `other` has recorded.
    pub fn merge(&mut self, other: &LatencyHistogram) {
        // Same bounds and digits, so it cannot fail.
        let merged = self.counts.add(&other.counts);
        debug_assert!(merged.is_ok());
        self.sum_us += other.sum_us;
    }

    /// Number of latencies recorded.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The latency that a share `q` (0 to 1) of the recorded ones does not exceed; `None` if there
    /// is none.
    pub fn quantile_us(&self, q: f64) -> Option<u64> {
        (!self.counts.is_empty()).then(|| self.counts.value_at_quantile(q).min(LATENCY_MAX_US))
    }

    pub fn percentiles(&self) -> Option<Percentiles> {
        Some(Percentiles {
            count: self.count(),
            p50_us: self.quantile_us(0.50)?,
            p95_us: self.quantile_us(0.95)?,
            p99_us: self.quantile_us(0.99)?,
            mean_us: mean(self.sum_us, self.count()),
        })
    }

    /// How many were at most `limit`, to the resolution of the buckets.
    pub fn count_within(&self, limit: Span) -> u64 {
        self.counts.count_between(0, limit.0.min(LATENCY_MAX_US))
    }

    /// Buckets in use: upper end in µs and count, ascending.
    fn sparse(&self) -> Vec<(u64, u64)> {
        self.counts.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())).collect()
    }
}

fn mean(sum_us: u128, count: u64) -> u64 {
    u64::try_from(sum_us / u128::from(count.max(1))).unwrap_or(u64::MAX)
}

impl Serialize for LatencyHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut s = serializer.serialize_struct("LatencyHistogram", 2)?;
        s.serialize_field("counts", &self.sparse())?;
        s.serialize_field("sum_us", &self.sum_us)?;
        s.end()
    }
}

/// Latencies over the whole run and over a sliding window of recent intervals.
///
/// The window is a ring of closed intervals, each kept as the few buckets it used, and one open
/// interval. It moves in whole intervals: a query covers the current interval so far and the
/// `intervals - 1` before it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WindowedLatency {
    total: LatencyHistogram,
    interval: Span,
    intervals: u64,
    open_index: u64,
    open: LatencyHistogram,
    closed: VecDeque<Closed>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
struct Closed {
    /// Time over the interval's length.
    index: u64,
    counts: Vec<(u64, u64)>,
    sum_us: u64,
}

impl WindowedLatency {
    /// A window of `intervals` intervals (both at least 1).
    pub fn new(interval: Span, intervals: u32) -> WindowedLatency {
        WindowedLatency {
            total: LatencyHistogram::default(),
            interval: Span(interval.0.max(1)),
            intervals: u64::from(intervals.max(1)),
            open_index: 0,
            open: LatencyHistogram::default(),
            closed: VecDeque::new(),
        }
    }

    /// Counts a latency that became known at `now`. Time does not go back: an earlier `now` counts
    /// in the open interval.
    pub fn record(&mut self, now: Time, latency: Span) {
        let index = now.0 / self.interval.0;
        if index > self.open_index {
            self.close(index);
        }
        self.total.record(latency);
        self.open.record(latency);
    }

    fn close(&mut self, next: u64) {
        if self.open.count() > 0 {
            let sum_us = u64::try_from(self.open.sum_us).unwrap_or(u64::MAX);
            self.closed.push_back(Closed { index: self.open_index, counts: self.open.sparse(), sum_us });
            self.open.counts.reset();
            self.open.sum_us = 0;
        }
        self.open_index = next;
        while self.closed.front().is_some_and(|c| c.index + self.intervals <= next) {
            self.closed.pop_front();
        }
    }

    /// The whole run.
    pub fn total(&self) -> &LatencyHistogram {
        &self.total
    }

    /// A percentile of [`window`](WindowedLatency::window), without building its histogram.
    pub fn window_quantile_us(&self, now: Time, q: f64) -> Option<u64> {
        let index = (now.0 / self.interval.0).max(self.open_index);
        let closed =
            self.closed.iter().filter(|c| c.index + self.intervals > index).flat_map(|c| c.counts.iter().copied());
        let open = if self.open_index + self.intervals > index { self.open.sparse() } else { Vec::new() };
        let mut counts: Vec<(u64, u64)> = closed.chain(open).collect();
        counts.sort_unstable();
        let total: u64 = counts.iter().map(|(_, n)| n).sum();
        let rank = ((q * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let reached = |(_, n): &&(u64, u64)| {
            seen += n;
            seen >= rank
        };
        counts.iter().find(reached).map(|(value, _)| (*value).min(LATENCY_MAX_US))
    }

    /// What was recorded in the window that ends at `now`, merged.
    pub fn window(&self, now: Time) -> LatencyHistogram {
        let index = (now.0 / self.interval.0).max(self.open_index);
        let mut merged = LatencyHistogram::default();
        for closed in self.closed.iter().filter(|c| c.index + self.intervals > index) {
            for (value, count) in &closed.counts {
                merged.counts.saturating_record_n(*value, *count);
            }
            merged.sum_us += u128::from(closed.sum_us);
        }
        if self.open_index + self.intervals > index {
            merged.merge(&self.open);
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The exact percentile by the same rank rule: the smallest value that a share `q` reaches.
    fn exact(values: &[u64], q: f64) -> u64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let rank = ((q * sorted.len() as f64).ceil() as usize).max(1);
        sorted[rank - 1]
    }

    #[test]
    fn nothing_recorded_gives_no_percentile() {
        assert_eq!(LatencyHistogram::default().percentiles(), None);
        assert_eq!(WindowedLatency::new(Span::from_secs(10), 6).window(Time::ZERO).count(), 0);
    }

    #[test]
    fn latencies_past_the_limit_count_as_the_limit() {
        let mut histogram = LatencyHistogram::default();
        histogram.record(Span(u64::MAX));
        histogram.record(Span::ZERO);
        assert_eq!(histogram.quantile_us(1.0), Some(LATENCY_MAX_US));
        assert_eq!(histogram.quantile_us(0.5), Some(0));
    }

    #[test]
    fn the_window_forgets_and_the_total_does_not() {
        let mut latency = WindowedLatency::new(Span::from_secs(10), 3);
        latency.record(Time::from_secs(1), Span::from_secs(9));
        latency.record(Time::from_secs(12), Span::from_millis(100));
        assert_eq!(latency.window(Time::from_secs(29)).count(), 2);
        assert_eq!(latency.window(Time::from_secs(30)).count(), 1);
        assert_eq!(latency.window(Time::from_secs(40)).count(), 0);
        latency.record(Time::from_secs(41), Span::from_millis(200));
        assert_eq!(latency.window(Time::from_secs(41)).percentiles().unwrap().count, 1);
        assert_eq!(latency.total().count(), 3);
        assert!(latency.closed.len() <= 3);
    }

    #[test]
    fn counting_within_a_limit_agrees_with_the_limit() {
        let mut histogram = LatencyHistogram::default();
        for ms in 1..=100 {
            histogram.record(Span::from_millis(ms));
        }
        let within = histogram.count_within(Span::from_millis(50));
        assert!((50..=51).contains(&within));
    }

    proptest! {
        #[test]
        fn percentiles_keep_their_stated_error(values in proptest::collection::vec(0u64..4_000_000_000, 1..300)) {
            let mut histogram = LatencyHistogram::default();
            values.iter().for_each(|v| histogram.record(Span(*v)));
            let clipped: Vec<u64> = values.iter().map(|v| (*v).min(LATENCY_MAX_US)).collect();
            for q in [0.5, 0.95, 0.99] {
                let (told, truth) = (histogram.quantile_us(q).unwrap(), exact(&clipped, q));
                prop_assert!(told >= truth && (told - truth) as f64 <= truth as f64 * 0.0079, "{told} {truth}");
            }
            let sum: u128 = clipped.iter().map(|v| u128::from(*v)).sum();
            prop_assert_eq!(u128::from(histogram.percentiles().unwrap().mean_us), sum / values.len() as u128);
        }

        #[test]
        fn a_window_equals_a_histogram_of_its_intervals(
            events in proptest::collection::vec((0u64..20_000, 0u64..100_000_000), 1..200), ahead in 0u64..60_000,
        ) {
            let mut windowed = WindowedLatency::new(Span::from_secs(5), 4);
            let mut now = Time::ZERO;
            let mut seen = Vec::new();
            for (step_ms, us) in events {
                now += Span::from_millis(step_ms);
                windowed.record(now, Span(us));
                seen.push((now, us));
            }
            let before = windowed.clone();
            let end = now + Span::from_millis(ahead);
            let mut expected = LatencyHistogram::default();
            let interval = |t: Time| t.0 / 5_000_000;
            for (at, us) in seen {
                if interval(at) + 4 > interval(end) {
                    expected.record(Span(us));
                }
            }
            prop_assert_eq!(windowed.window(end).percentiles(), expected.percentiles());
            for q in [0.5, 0.95, 0.99] {
                prop_assert_eq!(windowed.window_quantile_us(end, q), expected.quantile_us(q));
            }
            prop_assert_eq!(windowed, before);
        }
    }
}
