//! The path of a metric: exporter, Prometheus, adapter; with its lag.
//!
//! A value passes two stores before an autoscaler sees it. An exporter *exposes* a page: DCGM's at
//! its own collection period, the engine's as it is when asked. Prometheus *scrapes* the pages at
//! the scrape period. The adapter has no clock: an HPA sync queries what was scraped last, however
//! old it is, up to the look-back. The clocks are not synchronised, so the lag is anything up to
//! the sum of the periods. Queries change nothing.
//!
//! Both exporters of a pod lie under one key, each as one array, so that a scrape looks up each pod
//! once, whatever the number of signals.
//!
//! **Rates.** A counter is a total; what is read of it is `rate(x[w])` with `w` the longer of one
//! minute and four scrape intervals (Grafana's `$__rate_interval`), so that two scrapes always lie
//! in it. [`rate`] extrapolates to the ends of the range as PromQL does. Of three samples within an
//! eighth of the range the middle one is dropped, so a pod holds at most 17: with a scrape interval
//! from 4 s on none is, below that a rate may be taken over up to an eighth less than the range.

use super::buckets::{Counts, TPOT_BOUNDS_S, TTFT_BOUNDS_S};
use super::signal::{COUNTERS, COUNTERS_FROM, Exporter, Kind, Latency, PAGE, Signal};
use crate::sim::id::{PodId, ServiceId};
use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// How Prometheus treats what it has scraped. The periods are policy parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathSettings {
    /// How long a series' last sample is served when no newer one comes (5 min).
    pub lookback: Span,
    /// Whether a scrape that no longer finds a series ends it at once, as Prometheus 2 does.
    /// Without it, a dead exporter's last value is served until the look-back ends.
    pub staleness_markers: bool,
    /// Range of `rate()`; see [`rate_range`].
    pub rate_range: Span,
}

impl Default for PathSettings {
    fn default() -> Self {
        PathSettings {
            lookback: Span::from_mins(5),
            staleness_markers: true,
            rate_range: rate_range(Span::from_secs(15)),
        }
    }
}

/// The range over which rates are taken at this scrape interval.
pub fn rate_range(scrape: Span) -> Span {
    Span((scrape.0 * 4).max(60_000_000))
}

/// No three samples lie within this part of a range.
const THINNED: u64 = 8;

/// Which series: a service's own (`pod` is `None`) or one pod's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SeriesKey {
    pub service: ServiceId,
    pub signal: Signal,
    pub pod: Option<PodId>,
}

/// A value as the adapter serves it, with the times a reader needs to see how old it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScrapedSample {
    pub value: f64,
    /// When the exporter measured it.
    pub measured_at: Time,
    /// When Prometheus last picked it up; the look-back counts from here.
    pub scraped_at: Time,
}

/// What a query finds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Answer {
    Sample(ScrapedSample),
    /// The last sample is older than the look-back, or the series was marked stale: no result.
    Stale {
        scraped_at: Time,
    },
    /// Never scraped, or not enough samples for a rate.
    Missing,
}

impl Answer {
    pub fn sample(self) -> Option<ScrapedSample> {
        match self {
            Answer::Sample(sample) => Some(sample),
            Answer::Stale { .. } | Answer::Missing => None,
        }
    }
}

/// What an exporter shows of one pod. A series that is not set does not exist there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Page {
    values: [f64; PAGE],
    present: u8,
}

impl Page {
    /// Puts a value where its signal belongs. A value that is not finite is left out, as exporters
    /// leave such samples out.
    pub fn with(mut self, signal: Signal, value: f64) -> Page {
        if let Kind::Gauge(place) | Kind::Rate(place) = signal.kind()
            && value.is_finite()
        {
            self.values[place] = value;
            self.present |= 1 << place;
        }
        self
    }

    fn get(&self, place: usize) -> Option<f64> {
        (self.present & (1 << place) != 0).then(|| self.values[place])
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Measured {
    page: Page,
    at: Time,
}

/// One exporter of a pod, and what was scraped of it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
struct Target {
    /// What its page shows; `None` when the exporter or its pod is gone.
    exposed: Option<Measured>,
    scraped: Option<(Measured, Time)>,
    /// Staleness markers follow the last samples.
    ended: bool,
}

impl Target {
    /// Picks up the page. Returns whether there was one.
    fn scrape(&mut self, now: Time, markers: bool) -> bool {
        match self.exposed {
            Some(measured) => {
                self.scraped = Some((measured, now));
                self.ended = false;
            }
            None => self.ended |= markers,
        }
        self.exposed.is_some()
    }

    fn forgotten(&self, now: Time, lookback: Span) -> bool {
        self.exposed.is_none() && self.scraped.is_none_or(|(_, at)| now.since(at) > lookback)
    }
}

/// Counters of a pod at one scrape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Totals {
    at: Time,
    values: [f64; COUNTERS],
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct PodSeries {
    dcgm: Target,
    engine: Target,
    /// The engine's counters at the scrapes of the last range, oldest first.
    totals: VecDeque<Totals>,
}

/// Histograms and counters of a service.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
struct Observed {
    at: Time,
    ttft: Counts,
    tpot: Counts,
    met: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct ServiceSeries {
    exposed: Observed,
    scraped: VecDeque<Observed>,
}

/// The stores of the path. Ordered, so iteration is the same everywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MetricPath {
    settings: PathSettings,
    pods: BTreeMap<(ServiceId, PodId), PodSeries>,
    services: BTreeMap<ServiceId, ServiceSeries>,
}

impl MetricPath {
    pub fn new(settings: PathSettings) -> Self {
        MetricPath { settings, ..MetricPath::default() }
    }

    pub fn settings(&self) -> &PathSettings {
        &self.settings
    }

    /// The scrape interval is now this; the range of rates follows.
    pub fn scraped_every(&mut self, scrape: Span) {
        self.settings.rate_range = rate_range(scrape);
    }

    /// The exporter's page of a pod now shows this. The engine's page is what it answers when it is
    /// asked: it holds for the next scrape only.
    pub fn expose(&mut self, now: Time, exporter: Exporter, service: ServiceId, pod: PodId, page: Page) {
        let series = self.pods.entry((service, pod)).or_default();
        let measured = Some(Measured { page, at: now });
        match exporter {
            Exporter::Dcgm => series.dcgm.exposed = measured,
            Exporter::Engine => series.engine.exposed = measured,
            Exporter::Service => {}
        }
    }

    /// DCGM collects anew: what it does not expose again now is gone from its page.
    pub fn begin_collection(&mut self) {
        self.pods.values_mut().for_each(|series| series.dcgm.exposed = None);
    }

    /// The pod is gone, and with it its engine and what DCGM shows under its name: the next scrape
    /// finds nothing.
    pub fn vanish_pod(&mut self, pod: PodId) {
        for (_, series) in self.pods.iter_mut().filter(|((_, id), _)| *id == pod) {
            series.dcgm.exposed = None;
            series.engine.exposed = None;
        }
    }

    /// A request of the service got its first token, this long after it arrived.
    pub fn observe_ttft(&mut self, service: ServiceId, ttft: Span) {
        self.services.entry(service).or_default().exposed.ttft.observe(&TTFT_BOUNDS_S, ttft);
    }

    /// A request of the service was finished with this mean time per output token.
    pub fn observe_tpot(&mut self, service: ServiceId, tpot: Span) {
        self.services.entry(service).or_default().exposed.tpot.observe(&TPOT_BOUNDS_S, tpot);
    }

    /// A request of the service met its SLO.
    pub fn observe_met(&mut self, service: ServiceId) {
        self.services.entry(service).or_default().exposed.met += 1;
    }

    /// One scrape of every page. Pods past their look-back with nothing exposed are dropped, so the
    /// store holds no more than what can still be queried.
    pub fn scrape(&mut self, now: Time) {
        let (lookback, markers, range) =
            (self.settings.lookback, self.settings.staleness_markers, self.settings.rate_range);
        self.pods.retain(|_, series| {
            series.dcgm.scrape(now, markers);
            if series.engine.scrape(now, markers)
                && let Some(measured) = series.engine.exposed.take()
            {
                let mut values = [0.0; COUNTERS];
                values.copy_from_slice(&measured.page.values[COUNTERS_FROM..]);
                keep(&mut series.totals, Totals { at: now, values }, range, |t| t.at);
            }
            !(series.dcgm.forgotten(now, lookback) && series.engine.forgotten(now, lookback))
        });
        for series in self.services.values_mut() {
            let sample = Observed { at: now, ..series.exposed };
            keep(&mut series.scraped, sample, range, |s| s.at);
        }
    }

    /// What a query for one series finds at `now`.
    pub fn query(&self, now: Time, key: SeriesKey) -> Answer {
        match key.pod {
            Some(pod) => {
                self.pods.get(&(key.service, pod)).map_or(Answer::Missing, |s| self.answer(now, s, key.signal))
            }
            None => self.query_service(now, key.service, key.signal).map_or(Answer::Missing, Answer::Sample),
        }
    }

    fn answer(&self, now: Time, series: &PodSeries, signal: Signal) -> Answer {
        let target = match signal.exporter() {
            Exporter::Dcgm => &series.dcgm,
            Exporter::Engine => &series.engine,
            Exporter::Service => return Answer::Missing,
        };
        let Some((measured, scraped_at)) = target.scraped else { return Answer::Missing };
        match signal.kind() {
            Kind::Gauge(place) => {
                let Some(value) = measured.page.get(place) else { return Answer::Missing };
                if target.ended || now.since(scraped_at) > self.settings.lookback {
                    return Answer::Stale { scraped_at };
                }
                Answer::Sample(ScrapedSample { value, measured_at: measured.at, scraped_at })
            }
            // A range takes what lies in it: a series that has ended still has a rate for a while.
            Kind::Rate(place) => {
                let samples = series.totals.iter().map(|t| (t.at, t.values[place - COUNTERS_FROM]));
                let rate = rate(now, self.settings.rate_range, samples);
                rate.map_or(Answer::Missing, |value| {
                    Answer::Sample(ScrapedSample { value, measured_at: scraped_at, scraped_at })
                })
            }
            Kind::Quantile(..) | Kind::MetRate => Answer::Missing,
        }
    }

    /// The pods' samples of one signal of a service, by pod. Pods without one are absent, as they
    /// are in the custom metrics API.
    pub fn query_pods(&self, now: Time, service: ServiceId, signal: Signal) -> Vec<(PodId, ScrapedSample)> {
        self.pods_of(service).filter_map(|(pod, s)| Some((pod, self.answer(now, s, signal).sample()?))).collect()
    }

    fn pods_of(&self, service: ServiceId) -> impl Iterator<Item = (PodId, &PodSeries)> {
        let range = (service, PodId(0))..=(service, PodId(u32::MAX));
        self.pods.range(range).map(|((_, pod), series)| (*pod, series))
    }

    /// Sums of every gauge and of the output tokens' rate over the pods, in one walk.
    pub fn sweep(&self, now: Time, service: ServiceId) -> Sweep {
        let mut sweep = Sweep::default();
        let fresh = |target: &Target| {
            let (measured, at) = target.scraped?;
            (!target.ended && now.since(at) <= self.settings.lookback).then_some(measured.page)
        };
        for (_, series) in self.pods_of(service) {
            if let Some(page) = fresh(&series.dcgm) {
                (0..PAGE).for_each(|i| add(&mut sweep.dcgm[i], page.get(i)));
            }
            if let Some(page) = fresh(&series.engine) {
                (0..COUNTERS_FROM).for_each(|i| add(&mut sweep.engine[i], page.get(i)));
            }
            let tokens = self.answer(now, series, Signal::TokensPerSecond).sample();
            add(&mut sweep.tokens_per_s, tokens.map(|s| s.value));
        }
        sweep
    }

    /// `sum(...)` over the pods; `None` when the query has no result.
    pub fn query_sum(&self, now: Time, service: ServiceId, signal: Signal) -> Option<f64> {
        self.fold(now, service, signal).map(|(sum, _)| sum)
    }

    /// `avg(...)` over the pods; `None` when the query has no result.
    pub fn query_mean(&self, now: Time, service: ServiceId, signal: Signal) -> Option<f64> {
        self.fold(now, service, signal).map(|(sum, n)| sum / f64::from(n))
    }

    fn fold(&self, now: Time, service: ServiceId, signal: Signal) -> Option<(f64, u32)> {
        let mut found = (0.0, 0);
        for value in self.pods_of(service).filter_map(|(_, s)| self.answer(now, s, signal).sample()) {
            found = (found.0 + value.value, found.1 + 1);
        }
        (found.1 > 0).then_some(found)
    }

    /// A signal of the service as a whole: a percentile over all its pods, or a rate of it.
    pub fn query_service(&self, now: Time, service: ServiceId, signal: Signal) -> Option<ScrapedSample> {
        let range = self.settings.rate_range;
        let scraped = &self.services.get(&service)?.scraped;
        let last = scraped.back()?;
        let first = scraped.iter().find(|s| now.since(s.at) <= range)?;
        let value = match signal.kind() {
            Kind::Quantile(Latency::Ttft, q) => last.ttft.since(&first.ttft).quantile_s(&TTFT_BOUNDS_S, q),
            Kind::Quantile(Latency::Tpot, q) => last.tpot.since(&first.tpot).quantile_s(&TPOT_BOUNDS_S, q),
            Kind::MetRate => rate(now, range, scraped.iter().map(|s| (s.at, s.met as f64))),
            Kind::Gauge(_) | Kind::Rate(_) => None,
        };
        value.map(|value| ScrapedSample { value, measured_at: last.at, scraped_at: last.at })
    }

    /// Number of pods and services held.
    pub fn len(&self) -> usize {
        self.pods.len() + self.services.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

type Sum = (f64, u32);

fn add(sum: &mut Sum, value: Option<f64>) {
    if let Some(value) = value {
        *sum = (sum.0 + value, sum.1 + 1);
    }
}

/// Sums over the pods of a service; see [`MetricPath::sweep`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sweep {
    dcgm: [Sum; PAGE],
    engine: [Sum; COUNTERS_FROM],
    tokens_per_s: Sum,
}

impl Sweep {
    /// `avg(...)` over the pods that have the gauge; `None` without any, and for other signals.
    pub fn mean(&self, signal: Signal) -> Option<f64> {
        let Kind::Gauge(place) = signal.kind() else { return None };
        let sums: &[Sum] = match signal.exporter() {
            Exporter::Dcgm => &self.dcgm,
            Exporter::Engine => &self.engine,
            Exporter::Service => return None,
        };
        sums.get(place).filter(|(_, n)| *n > 0).map(|(sum, n)| sum / f64::from(*n))
    }

    /// Output tokens per second of all pods.
    pub fn tokens_per_s(&self) -> Option<f64> {
        Some(self.tokens_per_s).filter(|(_, n)| *n > 0).map(|(sum, _)| sum)
    }
}

/// Adds a sample and drops what no range can reach any more. The newest always stays; see the
/// module's note on thinning.
fn keep<T>(samples: &mut VecDeque<T>, sample: T, range: Span, at: impl Fn(&T) -> Time) {
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

/// Thousandths of a value, truncated, as the adapter makes a quantity of it.
pub fn to_milli(value: f64) -> i64 {
    (value * 1000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
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
            assert!(path.pods.values().all(|s| s.totals.len() <= 17), "{every}");
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
}
