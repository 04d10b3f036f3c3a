//! The metric path: lag, staleness, rates, percentiles.

use super::rate::rate;
use super::scrape::*;
use super::signal::{Exporter, Signal};
use crate::sim::id::{PodId, ServiceId};
use crate::sim::time::{Span, Time};
use proptest::prelude::*;

const SERVICE: ServiceId = ServiceId(0);

fn key(signal: Signal, pod: u32) -> SeriesKey {
    SeriesKey { service: SERVICE, signal, pod: Some(PodId(pod)) }
}

fn at(s: u64) -> Time {
    Time::from_secs(s)
}

fn show(path: &mut MetricPath, now: Time, pod: u32, signal: Signal, value: f64) {
    path.expose(now, signal.exporter(), SERVICE, PodId(pod), Page::default().with(signal, value));
}

#[test]
fn a_value_is_seen_only_after_the_scrape_and_bears_its_age() {
    let mut path = MetricPath::default();
    let gpu = key(Signal::GpuUtilization, 1);
    show(&mut path, at(30), 1, Signal::GpuUtilization, 100.0);
    assert_eq!(path.query(at(44), gpu), Answer::Missing, "exposed, but not scraped yet");
    path.scrape(at(45));
    show(&mut path, at(60), 1, Signal::GpuUtilization, 0.0);
    let seen = path.query(at(59), gpu).sample().unwrap();
    assert_eq!((seen.value, seen.measured_at, seen.scraped_at), (100.0, at(30), at(45)));
    path.scrape(at(75));
    assert_eq!(path.query(at(75), gpu).sample().unwrap().value, 0.0);
}

#[test]
fn a_marked_series_ends_at_the_next_scrape_an_unmarked_one_at_the_look_back() {
    for signal in [Signal::GpuUtilization, Signal::QueueDepth] {
        for (staleness_markers, seen_until) in [(true, 14), (false, 300)] {
            let mut path = MetricPath::new(PathSettings { staleness_markers, ..PathSettings::default() });
            show(&mut path, at(0), 1, signal, 100.0);
            path.scrape(at(0));
            path.vanish_pod(PodId(1));
            let mut last_seen = 0;
            for second in 1..400 {
                if second % 15 == 0 {
                    path.scrape(at(second));
                }
                if path.query(at(second), key(signal, 1)).sample().is_some() {
                    last_seen = second;
                }
            }
            assert_eq!(last_seen, seen_until, "{signal:?}, markers {staleness_markers}");
            assert!(path.is_empty(), "nothing is kept past the look-back");
        }
    }
}

#[test]
fn the_engine_answers_for_one_scrape_and_dcgm_until_it_collects_again() {
    let mut path = MetricPath::default();
    show(&mut path, at(0), 1, Signal::QueueDepth, 4.0);
    show(&mut path, at(0), 1, Signal::FbUsed, 70_000.0);
    path.scrape(at(0));
    path.scrape(at(15));
    assert_eq!(path.query(at(15), key(Signal::QueueDepth, 1)), Answer::Stale { scraped_at: at(0) });
    assert!(path.query(at(15), key(Signal::FbUsed, 1)).sample().is_some());
    path.begin_collection();
    path.scrape(at(30));
    assert_eq!(path.query(at(30), key(Signal::FbUsed, 1)), Answer::Stale { scraped_at: at(15) });
}

#[test]
fn a_series_that_its_exporter_does_not_have_is_missing_beside_others_of_the_pod() {
    let mut path = MetricPath::default();
    show(&mut path, at(0), 1, Signal::SmActive, 0.5);
    path.scrape(at(5));
    assert_eq!(path.query(at(5), key(Signal::GpuUtilization, 1)), Answer::Missing);
    assert_eq!(path.query(at(5), key(Signal::QueueDepth, 1)), Answer::Missing);
    assert!(path.query(at(5), key(Signal::SmActive, 1)).sample().is_some());
}

#[test]
fn pod_queries_keep_to_service_and_signal() {
    let mut path = MetricPath::default();
    for (pod, value) in [(2, 5.0), (1, 3.0), (3, f64::NAN)] {
        show(&mut path, at(0), pod, Signal::QueueDepth, value);
    }
    let other = Page::default().with(Signal::QueueDepth, 7.0);
    path.expose(at(0), Exporter::Engine, ServiceId(1), PodId(9), other);
    path.scrape(at(5));
    let pods: Vec<(u32, f64)> =
        path.query_pods(at(6), SERVICE, Signal::QueueDepth).iter().map(|(p, s)| (p.0, s.value)).collect();
    assert_eq!(pods, [(1, 3.0), (2, 5.0)]);
    assert_eq!(path.query_sum(at(6), SERVICE, Signal::QueueDepth), Some(8.0));
    assert_eq!(path.query_mean(at(6), SERVICE, Signal::QueueDepth), Some(4.0));
    assert_eq!(path.query_sum(at(6), SERVICE, Signal::GpuUtilization), None);
    let sweep = path.sweep(at(6), SERVICE);
    assert_eq!(sweep.mean(Signal::QueueDepth), Some(4.0), "what the single query says");
    assert_eq!((sweep.mean(Signal::GpuUtilization), sweep.mean(Signal::TtftP99)), (None, None));
    assert_eq!(path.sweep(at(400), SERVICE).mean(Signal::QueueDepth), None, "past the look-back");
}

/// A counter that grows by `per_s`, scraped every `every` seconds from `from` until `until`.
fn counted(every: u64, per_s: f64, from: u64, until: u64) -> MetricPath {
    let mut path = MetricPath::default();
    path.scraped_every(Span::from_secs(every));
    for second in (from..=until).step_by(every as usize) {
        show(&mut path, at(second), 1, Signal::TokensPerSecond, per_s * second as f64);
        path.scrape(at(second));
    }
    path
}

#[test]
fn a_steady_counter_reads_as_its_rate_at_every_scrape_interval() {
    for every in [1, 5, 15, 30, 60, 300] {
        let until = every * 20 + 300;
        let path = counted(every, 40.0, 0, until);
        let rate = path.query(at(until), key(Signal::TokensPerSecond, 1)).sample().unwrap().value;
        let error = if every < 4 { 2.0 } else { 1e-9 };
        assert!((rate - 40.0).abs() < error, "{every}: {rate}");
        assert_eq!(path.sweep(at(until), SERVICE).tokens_per_s(), Some(rate));
        assert!(path.samples_most() <= 17, "{every}");
    }
}

#[test]
fn a_rate_needs_two_scrapes_and_is_extrapolated_as_promql_does() {
    assert_eq!(counted(15, 40.0, 0, 0).query(at(1), key(Signal::TokensPerSecond, 1)), Answer::Missing);
    // Two samples, 15 s apart, from 600 on: 600 more in 15 s, extrapolated by half an interval
    // to the far start of the range and the whole way to its near end: (15 + 7.5 + 5) / 15.
    let path = counted(15, 40.0, 15, 30);
    let rate = path.query(at(35), key(Signal::TokensPerSecond, 1)).sample().unwrap().value;
    assert!((rate - 600.0 * (27.5 / 15.0) / 60.0).abs() < 1e-9, "{rate}");
    // A counter is not taken to have been below zero: from 0 on there is nothing before.
    let path = counted(15, 40.0, 0, 15);
    let rate = path.query(at(15), key(Signal::TokensPerSecond, 1)).sample().unwrap().value;
    assert!((rate - 600.0 / 60.0).abs() < 1e-9, "{rate}");
}

#[test]
fn a_percentile_is_that_of_the_buckets_of_the_last_range() {
    let mut path = MetricPath::default();
    path.scrape(at(0));
    path.observe_ttft(SERVICE, Span::from_secs(70));
    for second in [15, 30, 45, 60, 75, 90] {
        path.scrape(at(second));
        path.observe_ttft(SERVICE, Span::from_millis(300));
    }
    path.scrape(at(105));
    let p99 = path.query_service(at(105), SERVICE, Signal::TtftP99).unwrap();
    // Four of 0.3 s in the range, told from the bucket (0.25, 0.5]; the 70 s are past.
    assert!((p99.value - (0.25 + 0.25 * 0.99)).abs() < 1e-9, "{p99:?}");
    assert_eq!(path.query_service(at(300), SERVICE, Signal::TtftP99), None);
    assert_eq!(path.query_service(at(105), SERVICE, Signal::TpotP95), None);
}

#[test]
fn quantities_are_truncated_to_thousandths() {
    assert_eq!(to_milli(0.9999), 999);
    assert_eq!(to_milli(f64::NAN), 0);
}

proptest! {
    /// Over any scrape times, a rate lies between the least and the greatest slope between
    /// samples, but for what extrapolation adds: at most one mean distance in each direction.
    #[test]
    fn a_rate_is_never_negative_and_never_invents_more_than_the_ends(
        steps in proptest::collection::vec((1u64..40, 0u32..10_000), 2..40), later in 0u64..20,
    ) {
        let (mut t, mut total, mut samples) = (0, 0.0, Vec::new());
        for (step, more) in steps {
            t += step;
            total += f64::from(more);
            samples.push((at(t), total));
        }
        let range = Span::from_secs(60);
        if let Some(rate) = rate(at(t + later), range, samples.iter().copied()) {
            let inside: Vec<_> = samples.iter().filter(|s| at(t + later).since(s.0) <= range).collect();
            let increase = inside[inside.len() - 1].1 - inside[0].1;
            prop_assert!(rate >= increase / 60.0 - 1e-9);
            prop_assert!(rate <= increase * 3.2 / 60.0 + 1e-9, "{} {}", rate, increase);
        }
    }
}
