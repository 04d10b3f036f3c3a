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

use super::buckets::{Counts, TPOT_BOUNDS_S, TTFT_BOUNDS_S};
use super::rate::{keep, rate, rate_range};
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

    /// Samples that a pod's counters hold, at most.
    #[cfg(test)]
    pub(super) fn samples_most(&self) -> usize {
        self.pods.values().map(|s| s.totals.len()).max().unwrap_or(0)
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

/// Thousandths of a value, truncated, as the adapter makes a quantity of it.
pub fn to_milli(value: f64) -> i64 {
    (value * 1000.0) as i64
}
