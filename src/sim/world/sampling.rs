//! Points for the charts, every few seconds: of the cluster in full, of each service in little
//! memory (a strip of its own, about 17 KiB).

use super::World;
use crate::sim::event::Event;
use crate::sim::id::{GroupId, ServiceId};
use crate::sim::metrics::Signal;
use crate::sim::metrics::histogram::WindowedLatency;
use crate::sim::metrics::ledger::PARTS_PER_GPU;
use crate::sim::metrics::scrape::{SeriesKey, Sweep};
use crate::sim::metrics::series::Series;
use crate::sim::metrics::strip::{Fold, Strip};
use crate::sim::series_view::{Point, ServiceTrack, Track};
use crate::sim::time::{Span, Time};
use serde::Serialize;

/// Distance of chart points.
pub const SAMPLE_EVERY: Span = Span::from_secs(5);
const SAMPLES_KEPT: usize = 512;
/// The exact TTFT percentile looks back so long.
const TTFT_INTERVAL: Span = Span::from_secs(10);
const TTFT_INTERVALS: u32 = 6;
/// Services whose points are kept; any more go without charts of their own.
const SERVICES_MAX: usize = 32;

pub(super) fn ttft_window() -> WindowedLatency {
    WindowedLatency::new(TTFT_INTERVAL, TTFT_INTERVALS)
}

/// Points so far.
#[derive(Debug, Clone, Serialize)]
pub struct Samples {
    cluster: Vec<Series>,
    services: Vec<Strip>,
}

impl Samples {
    pub fn new(services: usize) -> Samples {
        let fold = |track| match track {
            ServiceTrack::RawDesired | ServiceTrack::Desired | ServiceTrack::Ready => Fold::Last,
            _ => Fold::Mean,
        };
        let strip = Strip::new(SAMPLE_EVERY, ServiceTrack::ALL.map(fold).to_vec());
        Samples {
            cluster: (0..Track::CLUSTER).map(|_| Series::new(SAMPLE_EVERY, SAMPLES_KEPT)).collect(),
            services: vec![strip; services.min(SERVICES_MAX)],
        }
    }
}

impl World {
    /// Mean over a service's pods of what the adapter would serve now.
    pub(super) fn signal_mean(&self, service: ServiceId, signal: Signal) -> Option<f64> {
        self.meter.path.query_mean(self.now, service, signal)
    }

    pub(super) fn on_sample(&mut self) {
        self.after(SAMPLE_EVERY, Event::Sample);
        let ids = (0..self.services.len()).map(ServiceId::from_index);
        let waiting: u32 = ids.clone().map(|s| self.waiting(s)).sum();
        let arrivals: u32 = ids.clone().map(|s| std::mem::take(&mut self.service_mut(s).arrivals_since_sample)).sum();
        self.push(Track::Waiting, f64::from(waiting));
        self.push(Track::Arrivals, f64::from(arrivals) / SAMPLE_EVERY.secs_f64());
        let parts = self.meter.ledger.parts_by_state();
        for (i, p) in parts.iter().enumerate() {
            self.push(Track::Gpus(i as u8), *p as f64 / PARTS_PER_GPU as f64);
        }
        for service in ids.take(SERVICES_MAX) {
            let sweep = self.meter.path.sweep(self.now, service);
            let values = ServiceTrack::ALL.map(|track| self.track_value(service, track, &sweep));
            if let Some(strip) = self.meter.samples.services.get_mut(service.index()) {
                strip.push(self.now, values);
            }
        }
    }

    fn track_value(&self, service: ServiceId, track: ServiceTrack, sweep: &Sweep) -> Option<f64> {
        let (now, path) = (self.now, &self.meter.path);
        match track {
            ServiceTrack::TokensPerSecond => sweep.tokens_per_s(),
            ServiceTrack::TtftP95 | ServiceTrack::TtftP99 | ServiceTrack::TpotP95 => {
                path.query_service(now, service, track.signal()?).map(|s| s.value)
            }
            ServiceTrack::RawDesired => {
                let s = self.service(service);
                Some(f64::from(s.hpa_view.as_ref().map_or(s.wanted, |h| h.raw_desired)))
            }
            ServiceTrack::Desired => Some(f64::from(self.service(service).wanted)),
            ServiceTrack::Ready => Some(f64::from(self.replica_counts(service).0)),
            ServiceTrack::ExactTtftP99 => {
                self.service(service).ttft.window_quantile_us(now, 0.99).map(|us| us as f64 / 1e6)
            }
            _ => sweep.mean(track.signal()?),
        }
    }

    fn push(&mut self, track: Track, value: f64) {
        let now = self.now;
        let series = track.index().and_then(|i| self.meter.samples.cluster.get_mut(i));
        if let Some(series) = series {
            series.push(now, value as f32);
        }
    }

    /// Points of a track in a range; of a cluster's track at most so many, of a service's at most
    /// [`ROWS`](crate::sim::metrics::strip::ROWS).
    pub fn series(&self, track: Track, from: Time, to: Time, points_max: usize) -> Vec<Point> {
        let samples = &self.meter.samples;
        if let Track::Of(service, of) = track {
            let strip = samples.services.get(service.index());
            return strip.map(|s| s.points(of.index(), from, to)).unwrap_or_default();
        }
        let series = track.index().and_then(|i| samples.cluster.get(i));
        let points = series.map(|s| s.range(from, to, points_max)).unwrap_or_default();
        points.into_iter().map(|p| Point { at: p.at, value: Some(p.mean) }).collect()
    }

    /// The value of a signal that fills its range, in the metric's unit: the mean over the
    /// replicas' GPUs and engines where these set it. `None` for a signal without a bound, or
    /// without a replica.
    pub fn full_range(&self, service: ServiceId, track: ServiceTrack) -> Option<f64> {
        let of_replica = |value: &dyn Fn(GroupId) -> Option<f64>| {
            let found: Vec<f64> = self.services.get(service.index())?.groups.iter().filter_map(|g| value(*g)).collect();
            (!found.is_empty()).then(|| found.iter().sum::<f64>() / found.len() as f64)
        };
        match track {
            ServiceTrack::GpuUtilization => Some(100.0),
            ServiceTrack::SmActive | ServiceTrack::TensorActive | ServiceTrack::DramActive => Some(1.0),
            ServiceTrack::KvUsage => Some(1.0),
            ServiceTrack::FbUsed => of_replica(&|g| self.engine_spec(g).map(|(s, _)| s.usable_gib() * 1024.0)),
            ServiceTrack::PowerUsage => of_replica(&|g| self.engine_spec(g).map(|(s, _)| f64::from(s.gpu.tdp_w))),
            ServiceTrack::Running => of_replica(&|g| {
                let engine = self.groups.get(g.index())?.engine.as_deref()?;
                Some(f64::from(engine.limits().max_num_seqs))
            }),
            _ => None,
        }
    }

    /// Output tokens per second of one replica, as its counter reads; `None` without two scrapes.
    pub(super) fn tokens_per_second(&self, group: GroupId) -> Option<f64> {
        let g = self.group(group);
        let key = SeriesKey { service: g.service, signal: Signal::TokensPerSecond, pod: g.pods.first().copied() };
        key.pod?;
        self.meter.path.query(self.now, key).sample().map(|s| s.value)
    }
}
