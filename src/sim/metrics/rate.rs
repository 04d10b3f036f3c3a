//! Rates of counters, as PromQL reads them of scraped samples.
//!
//! A counter is a total; what is read of it is `rate(x[w])` with `w` the longer of one
//! minute and four scrape intervals (Grafana's `$__rate_interval`), so that two scrapes always lie
//! in it. [`rate`] extrapolates to the ends of the range as PromQL does. Of three samples within an
//! eighth of the range the middle one is dropped, so a pod holds at most 17: with a scrape interval
//! from 4 s on none is, below that a rate may be taken over up to an eighth less than the range.

use crate::sim::time::{Span, Time};
use std::collections::VecDeque;

/// No three samples lie within this part of a range.
const THINNED: u64 = 8;

/// The range over which rates are taken at this scrape interval.
pub fn rate_range(scrape: Span) -> Span {
    Span((scrape.0 * 4).max(60_000_000))
}

/// Adds a sample and drops what no range can reach any more. The newest always stays; see the
/// module's note on thinning.
pub(super) fn keep<T>(samples: &mut VecDeque<T>, sample: T, range: Span, at: impl Fn(&T) -> Time) {
    let now = at(&sample);
    let apart = Span(range.0 / THINNED);
    let close = samples.len() >= 2 && now.since(at(&samples[samples.len() - 2])) < apart;
    if close {
        samples.pop_back();
    }
    samples.push_back(sample);
    while samples.front().is_some_and(|s| now.since(at(s)) > range) {
        samples.pop_front();
    }
}

/// PromQL's `rate()` at `now` over `range`: the increase between the first and the last sample in
/// the range, extrapolated to its ends where those are close (within 1.1 times the mean distance of
/// samples; else by half of that distance), but not to before the counter was zero. `None` with
/// fewer than two samples. Counters of one pod never fall: a new engine is a new pod.
pub fn rate(now: Time, range: Span, samples: impl Iterator<Item = (Time, f64)>) -> Option<f64> {
    let mut inside = samples.filter(|(at, _)| now.since(*at) <= range);
    let first = inside.next()?;
    let (mut last, mut count) = (first, 1u32);
    for sample in inside {
        last = sample;
        count += 1;
    }
    if count < 2 || last.0 <= first.0 {
        return None;
    }
    let sampled_s = last.0.since(first.0).secs_f64();
    let apart_s = sampled_s / f64::from(count - 1);
    let increase = last.1 - first.1;
    let near = |gap_s: f64| if gap_s >= apart_s * 1.1 { apart_s / 2.0 } else { gap_s };
    let start_s = range.secs_f64() - now.since(first.0).secs_f64();
    let mut before_s = near(start_s);
    if increase > 0.0 && first.1 >= 0.0 {
        before_s = before_s.min(sampled_s * first.1 / increase);
    }
    let after_s = near(now.since(last.0).secs_f64());
    Some(increase * ((sampled_s + before_s + after_s) / sampled_s) / range.secs_f64())
}
