//! The lag of the metric path: exporter, Prometheus, adapter.
//!
//! A value passes two stores before an autoscaler sees it. The exporter *exposes* it: DCGM's at
//! its own collection period, the engine's at once. Prometheus *scrapes* what is exposed at the
//! scrape period. The adapter has no clock: an HPA sync queries what was scraped last, however old
//! it is, up to the look-back. The clocks are not synchronised, so the lag is anything up to the
//! sum of the periods. Event handlers call [`MetricPath::record`] at collection ticks and
//! [`MetricPath::scrape`] at scrape ticks; queries change nothing.

use super::signal::{Scraper, Signal, SignalPath};
use crate::sim::id::{PodId, ServiceId};
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Periods of the hops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PathSettings {
    /// DCGM exporter's collection period (default 30 s).
    pub dcgm_collect_us: Span,
    /// Prometheus's scrape period (15 s, as common charts set it; its own default is 60 s).
    pub scrape_us: Span,
    /// metrics-server's resolution (15 s, as its manifests set it).
    pub metrics_server_us: Span,
    /// How long Prometheus serves a series' last sample when no newer one comes (5 min).
    pub lookback_us: Span,
    /// Whether a scrape that no longer finds a series ends it at once, as Prometheus 2 does.
    /// Without it, a dead exporter's last value is served until the look-back ends.
    pub staleness_markers: bool,
}

impl Default for PathSettings {
    fn default() -> Self {
        PathSettings {
            dcgm_collect_us: Span::from_secs(30),
            scrape_us: Span::from_secs(15),
            metrics_server_us: Span::from_secs(15),
            lookback_us: Span::from_mins(5),
            staleness_markers: true,
        }
    }
}

impl PathSettings {
    /// How often a signal is measured, where the exporter has its own clock. `None`: it is exposed
    /// as it is at each scrape.
    pub fn collect_period(&self, signal: Signal) -> Option<Span> {
        match signal.path() {
            SignalPath::Dcgm => Some(self.dcgm_collect_us),
            SignalPath::MetricsServer | SignalPath::Prometheus => None,
        }
    }

    /// How often a signal's exposed value is picked up.
    pub fn scrape_period(&self, signal: Signal) -> Span {
        match signal.scraper() {
            Scraper::MetricsServer => self.metrics_server_us,
            Scraper::Prometheus => self.scrape_us,
        }
    }

    /// The oldest a change can be before a query every `sync` sees it.
    pub fn worst_lag(&self, signal: Signal, sync: Span) -> Span {
        self.collect_period(signal).unwrap_or(Span::ZERO) + self.scrape_period(signal) + sync
    }
}

/// The first instant after `now` on the grid `phase`, `phase + period`, ... A period of 0 counts as
/// one microsecond, so that ticks always advance.
pub fn next_tick(now: Time, period: Span, phase: Span) -> Time {
    let period = period.0.max(1);
    match now.0.checked_sub(phase.0) {
        None => Time(phase.0),
        Some(past) => Time(phase.0.saturating_add((past / period + 1).saturating_mul(period))),
    }
}

/// Which series: a service's own (`pod` is `None`) or one pod's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Never scraped.
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

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Exposed {
    value: f64,
    measured_at: Time,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Series {
    /// What the exporter's page shows; `None` when the exporter or its pod is gone.
    exposed: Option<Exposed>,
    scraped: Option<ScrapedSample>,
    /// A staleness marker follows the last sample.
    ended: bool,
}

/// The stores of the path, by series. Ordered, so iteration is the same everywhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct MetricPath {
    settings: PathSettings,
    series: BTreeMap<SeriesKey, Series>,
}

impl MetricPath {
    pub fn new(settings: PathSettings) -> Self {
        MetricPath { settings, series: BTreeMap::new() }
    }

    pub fn settings(&self) -> &PathSettings {
        &self.settings
    }

    /// The exporter's page now shows `value`, measured now. A value that is not finite is not
    /// recorded: exporters leave such samples out.
    pub fn record(&mut self, now: Time, key: SeriesKey, value: f64) {
        if !value.is_finite() {
            return;
        }
        let series = self.series.entry(key).or_insert(Series { exposed: None, scraped: None, ended: false });
        series.exposed = Some(Exposed { value, measured_at: now });
    }

    /// The exporter or the pod behind this series is gone: the next scrape finds nothing.
    pub fn vanish(&mut self, key: SeriesKey) {
        if let Some(series) = self.series.get_mut(&key) {
            series.exposed = None;
        }
    }

    /// The same for every series of a pod.
    pub fn vanish_pod(&mut self, pod: PodId) {
        for (_, series) in self.series.iter_mut().filter(|(key, _)| key.pod == Some(pod)) {
            series.exposed = None;
        }
    }

    /// One scrape of everything that `scraper` covers. Series past their look-back with nothing
    /// exposed are dropped, so the store holds no more than what can still be queried.
    pub fn scrape(&mut self, now: Time, scraper: Scraper) {
        let (lookback, markers) = (self.settings.lookback_us, self.settings.staleness_markers);
        for (_, series) in self.series.iter_mut().filter(|(key, _)| key.signal.scraper() == scraper) {
            match series.exposed {
                Some(Exposed { value, measured_at }) => {
                    series.scraped = Some(ScrapedSample { value, measured_at, scraped_at: now });
                    series.ended = false;
                }
                None => series.ended |= markers,
            }
        }
        self.series.retain(|key, series| {
            let old = series.scraped.is_none_or(|s| now.since(s.scraped_at) > lookback);
            !(key.signal.scraper() == scraper && series.exposed.is_none() && old)
        });
    }

    /// What a query for one series finds at `now`.
    pub fn query(&self, now: Time, key: SeriesKey) -> Answer {
        self.series.get(&key).map_or(Answer::Missing, |series| self.answer(now, series))
    }

    fn answer(&self, now: Time, series: &Series) -> Answer {
        match series.scraped {
            None => Answer::Missing,
            Some(sample) if series.ended || now.since(sample.scraped_at) > self.settings.lookback_us => {
                Answer::Stale { scraped_at: sample.scraped_at }
            }
            Some(sample) => Answer::Sample(sample),
        }
    }

    /// The pods' samples of one signal of a service, by pod. Pods without one are absent, as they
    /// are in the custom metrics API.
    pub fn query_pods(&self, now: Time, service: ServiceId, signal: Signal) -> Vec<(PodId, ScrapedSample)> {
        let from = SeriesKey { service, signal, pod: None };
        let to = SeriesKey { service, signal, pod: Some(PodId(u32::MAX)) };
        let pods = self.series.range(from..=to);
        pods.filter_map(|(key, series)| Some((key.pod?, self.answer(now, series).sample()?))).collect()
    }

    /// `sum(...)` over the pods; `None` when the query has no result.
    pub fn query_sum(&self, now: Time, service: ServiceId, signal: Signal) -> Option<f64> {
        let pods = self.query_pods(now, service, signal);
        (!pods.is_empty()).then(|| pods.iter().map(|(_, s)| s.value).sum())
    }

    /// Number of series held.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }
}

/// Thousandths of a value, truncated, as the adapter makes a quantity of it.
pub fn to_milli(value: f64) -> i64 {
    (value * 1000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: ServiceId = ServiceId(0);

    fn key(signal: Signal, pod: u32) -> SeriesKey {
        SeriesKey { service: SERVICE, signal, pod: Some(PodId(pod)) }
    }

    fn at(s: u64) -> Time {
        Time::from_secs(s)
    }

    #[test]
    fn a_value_is_seen_only_after_the_scrape_and_bears_its_age() {
        let mut path = MetricPath::default();
        let gpu = key(Signal::GpuUtilization, 1);
        path.record(at(30), gpu, 100.0);
        assert_eq!(path.query(at(44), gpu), Answer::Missing);
        path.scrape(at(45), Scraper::Prometheus);
        path.record(at(60), gpu, 0.0);
        let seen = path.query(at(59), gpu).sample().unwrap();
        assert_eq!((seen.value, seen.measured_at, seen.scraped_at), (100.0, at(30), at(45)));
        assert_eq!(path.settings().worst_lag(Signal::GpuUtilization, Span::from_secs(15)), Span::from_secs(60));
    }

    #[test]
    fn a_marked_series_ends_at_the_next_scrape_an_unmarked_one_at_the_look_back() {
        for (staleness_markers, seen_until) in [(true, 14), (false, 300)] {
            let mut path = MetricPath::new(PathSettings { staleness_markers, ..PathSettings::default() });
            let gpu = key(Signal::GpuUtilization, 1);
            path.record(at(0), gpu, 100.0);
            path.scrape(at(0), Scraper::Prometheus);
            path.vanish_pod(PodId(1));
            let mut last_seen = 0;
            for second in 1..400 {
                if second % 15 == 0 {
                    path.scrape(at(second), Scraper::Prometheus);
                }
                if path.query(at(second), gpu).sample().is_some() {
                    last_seen = second;
                }
            }
            assert_eq!(last_seen, seen_until, "markers {staleness_markers}");
            assert!(path.is_empty(), "nothing is kept past the look-back");
        }
    }

    #[test]
    fn cpu_is_scraped_by_its_own_server() {
        let mut path = MetricPath::default();
        path.record(at(0), key(Signal::Cpu, 1), 0.5);
        path.scrape(at(1), Scraper::Prometheus);
        assert_eq!(path.query(at(1), key(Signal::Cpu, 1)), Answer::Missing);
        path.scrape(at(1), Scraper::MetricsServer);
        assert!(path.query(at(1), key(Signal::Cpu, 1)).sample().is_some());
    }

    #[test]
    fn pod_queries_keep_to_service_and_signal() {
        let mut path = MetricPath::default();
        let other = SeriesKey { service: ServiceId(1), ..key(Signal::QueueDepth, 9) };
        let of_service = SeriesKey { pod: None, ..key(Signal::QueueDepth, 0) };
        for (k, v) in [(key(Signal::QueueDepth, 2), 5.0), (key(Signal::QueueDepth, 1), 3.0), (other, 7.0)] {
            path.record(at(0), k, v);
        }
        path.record(at(0), of_service, 100.0);
        path.record(at(0), key(Signal::RunningRequests, 1), 50.0);
        path.record(at(0), key(Signal::QueueDepth, 3), f64::NAN);
        path.scrape(at(5), Scraper::Prometheus);
        let pods: Vec<(u32, f64)> =
            path.query_pods(at(6), SERVICE, Signal::QueueDepth).iter().map(|(p, s)| (p.0, s.value)).collect();
        assert_eq!(pods, [(1, 3.0), (2, 5.0)]);
        assert_eq!(path.query_sum(at(6), SERVICE, Signal::QueueDepth), Some(8.0));
        assert_eq!(path.query_sum(at(6), SERVICE, Signal::Goodput), None);
    }

    #[test]
    fn ticks_lie_on_their_grid_and_always_advance() {
        let (period, phase) = (Span::from_secs(30), Span::from_secs(7));
        assert_eq!(next_tick(at(0), period, phase), at(7));
        assert_eq!(next_tick(at(7), period, phase), at(37));
        assert_eq!(next_tick(at(36), period, phase), at(37));
        assert!(next_tick(at(5), Span::ZERO, Span::ZERO) > at(5));
    }

    #[test]
    fn quantities_are_truncated_to_thousandths() {
        assert_eq!(to_milli(0.9999), 999);
        assert_eq!(to_milli(f64::NAN), 0);
    }
}
