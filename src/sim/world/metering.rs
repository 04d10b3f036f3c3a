//! What is measured: the GPU ledger, the metric path, chart series, ideal cost.

use super::World;
use crate::sim::catalog;
use crate::sim::engine::ideal::IdealCost;
use crate::sim::engine::{EngineSettings, EngineSpec, StepCost, memory};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, PodId, ServiceId};
use crate::sim::metrics::Signal;
use crate::sim::metrics::ledger::{Bill, GpuState, Ledger, Totals};
use crate::sim::metrics::scrape::{MetricPath, PathSettings, SeriesKey};
use crate::sim::metrics::series::Series;
use crate::sim::metrics::signal::Scraper;
use crate::sim::money::Microusd;
use crate::sim::series_view::{Point, Track};
use crate::sim::setup::ServiceSetup;
use crate::sim::snapshot::{GroupStage, NodeStage, Score};
use crate::sim::time::{Span, Time};
use crate::sim::{cluster::PodPhase, math};
use serde::Serialize;
use std::collections::BTreeMap;

/// DCGM looks at the last second of each collection period.
const DCGM_SAMPLE: Span = Span::from_secs(1);
/// CUDA context beside what vLLM takes of a GPU's memory.
const CUDA_CONTEXT_GIB: f64 = 0.5;
/// Distance of chart points.
pub const SAMPLE_EVERY: Span = Span::from_secs(5);
const SAMPLES_KEPT: usize = 512;
/// The TTFT percentile of the chart looks back so long.
const TTFT_INTERVAL: Span = Span::from_secs(10);
const TTFT_INTERVALS: u32 = 6;

pub(super) fn ttft_window() -> crate::sim::metrics::histogram::WindowedLatency {
    crate::sim::metrics::histogram::WindowedLatency::new(TTFT_INTERVAL, TTFT_INTERVALS)
}

#[derive(Debug, Clone, Serialize)]
pub struct Metering {
    pub ledger: Ledger,
    pub path: MetricPath,
    /// Busy time of each engine when DCGM's sample began; `None` between samples.
    dcgm: Option<BTreeMap<GroupId, u64>>,
    series: Vec<Series>,
    /// Ideal GPU time of the requests that met their SLO.
    ideal: Span,
    /// Memory for the states of one node's GPUs, used again and again.
    #[serde(skip)]
    states: Vec<GpuState>,
    #[serde(skip)]
    ideal_costs: Vec<Option<IdealCost>>,
}

impl Metering {
    pub fn new(services: &[ServiceSetup]) -> Metering {
        Metering {
            ledger: Ledger::default(),
            path: MetricPath::new(PathSettings::default()),
            dcgm: None,
            series: (0..Track::COUNT).map(|_| Series::new(SAMPLE_EVERY, SAMPLES_KEPT)).collect(),
            ideal: Span::ZERO,
            states: Vec::new(),
            ideal_costs: services.iter().map(ideal_cost).collect(),
        }
    }

    pub fn add_ideal(&mut self, service: ServiceId, prompt_tokens: u32, output_tokens: u32) {
        if let Some(Some(cost)) = self.ideal_costs.get(service.index()) {
            self.ideal += Span::from_secs_f64(cost.gpu_seconds(prompt_tokens, output_tokens));
        }
    }
}

/// What a request of this service costs on a well-filled replica: on the GPU that its selector
/// asks for, else an H100, its tensor-parallel group inside one NVLink domain.
fn ideal_cost(service: &ServiceSetup) -> Option<IdealCost> {
    let gpu = service.gpu.or_else(|| catalog::gpu("h100-sxm"))?;
    let mut spec = EngineSpec::new(service.model, gpu, service.gpus());
    spec.weight_dtype = service.weight_dtype;
    spec.kv_dtype = service.kv_dtype;
    let mut settings = EngineSettings::defaults(gpu);
    settings.max_model_len = service.max_model_len;
    let limits = memory::start(&spec, &settings).ok()?;
    let cost = StepCost::for_limits(&spec, &limits).ok()?;
    Some(IdealCost::new(&cost, &limits, service.slo_tpot.secs_f64()))
}

impl World {
    /// The first state that fits (see `GpuState`).
    pub(super) fn gpu_state(&self, node: NodeId, pod: Option<PodId>) -> GpuState {
        let n = self.node(node);
        if n.booting() || n.stage == NodeStage::Failed {
            return GpuState::Booting;
        }
        let Some(pod) = pod else {
            return if n.leave.is_some() { GpuState::Draining } else { GpuState::Empty };
        };
        let p = self.pod(pod);
        if p.phase == PodPhase::Releasing {
            return GpuState::Draining;
        }
        let g = self.group(p.group);
        match g.stage {
            GroupStage::Pending => GpuState::Held,
            GroupStage::Image | GroupStage::Weights | GroupStage::WarmUp => GpuState::Loading,
            GroupStage::Serving if g.busy => GpuState::ServingBusy,
            GroupStage::Serving => GpuState::ServingIdle,
            GroupStage::Draining | GroupStage::Gone => GpuState::Draining,
        }
    }

    pub(super) fn refresh_group_gpus(&mut self, group: GroupId) {
        for node in self.group_nodes(group) {
            self.refresh_node_gpus(node);
        }
    }

    /// Switches the meters of a node's GPUs whose state has changed.
    pub(super) fn refresh_node_gpus(&mut self, node: NodeId) {
        let mut states = std::mem::take(&mut self.meter.states);
        states.clear();
        let mut last: Option<(Option<PodId>, GpuState)> = None;
        for slot in &self.node(node).gpus {
            let state = match last {
                Some((pod, state)) if pod == slot.pod => state,
                _ => self.gpu_state(node, slot.pod),
            };
            last = Some((slot.pod, state));
            states.push(state);
        }
        let parts = self.node(node).parts_per_gpu();
        // A node that the cloud has not granted yet has no account.
        let _ = self.meter.ledger.set_states(self.now, node, parts, &states);
        self.meter.states = states;
    }

    pub(super) fn start_meter(&mut self, node: NodeId) {
        let now = self.now;
        let n = self.node_mut(node);
        n.granted = now;
        let (gpus, price) = (n.gpus.len() as u32, price_of(n.instance));
        let granted = self.meter.ledger.grant(now, node, gpus, price);
        debug_assert!(granted.is_ok(), "GPU counts of the catalogue share a price evenly");
    }

    pub(super) fn stop_meter(&mut self, node: NodeId) {
        // A node that the cloud had not granted yet has no account.
        let _ = self.meter.ledger.release(self.now, node);
    }

    pub(super) fn node_paid(&self, node: NodeId) -> Microusd {
        let n = self.node(node);
        let until = n.released.unwrap_or(self.now);
        price_of(n.instance).per_hour_for(until.since(n.granted))
    }

    /// Micro-dollars per hour of one GPU of a node.
    pub(super) fn gpu_price(&self, node: NodeId) -> u128 {
        let n = self.node(node);
        u128::from(price_of(n.instance).0) / (n.gpus.len() as u128).max(1)
    }

    pub(super) fn totals(&self) -> (Totals, Bill) {
        (self.meter.ledger.totals(self.now), self.meter.ledger.bill(self.now))
    }

    /// `100 · G^0.7 · E^0.3`; see the README for both factors.
    pub fn score(&self) -> Score {
        let r = self.requests.totals();
        let g = if r.offered == 0 { 1.0 } else { r.met as f64 / r.offered as f64 };
        let paid = self.meter.ledger.bill(self.now).gpu_time.gpu_secs_f64();
        let e = if paid > 0.0 { (self.meter.ideal.secs_f64() / paid).min(1.0) } else { 0.0 };
        let total = if g > 0.0 && e > 0.0 { 100.0 * math::pow(g, 0.7) * math::pow(e, 0.3) } else { 0.0 };
        Score { total, g, e }
    }

    /// DCGM's sample: opens one second before each collection and closes at it.
    pub(super) fn on_dcgm_window(&mut self) {
        let now = self.now;
        let period = self.meter.path.settings().dcgm_collect_us;
        match self.meter.dcgm.take() {
            None => {
                let busy = self.engine_groups().map(|g| (g, self.busy_us(g))).collect();
                self.meter.dcgm = Some(busy);
                self.after(DCGM_SAMPLE, Event::DcgmWindow);
            }
            Some(before) => {
                for i in 0..self.services.len() {
                    self.collect_dcgm(ServiceId::from_index(i), &before, now);
                }
                self.after(period - DCGM_SAMPLE, Event::DcgmWindow);
            }
        }
    }

    /// GPU_UTIL and FB_USED of every pod that has GPUs: the exporter maps GPUs to pods, so a pod
    /// that is still loading shows 0 % and no memory.
    fn collect_dcgm(&mut self, service: ServiceId, before: &BTreeMap<GroupId, u64>, now: Time) {
        for group in self.service(service).groups.clone() {
            let g = self.group(group);
            if g.standby {
                continue; // another Deployment's pods
            }
            let loading = matches!(g.stage, GroupStage::Weights | GroupStage::WarmUp);
            let Some(leader) = g.pods.first().copied().filter(|_| loading || g.engine.is_some()) else { continue };
            let (utilization, memory) = match before.get(&group) {
                Some(start) if g.engine.is_some() => {
                    let busy = self.busy_us(group).saturating_sub(*start);
                    (100.0 * busy as f64 / DCGM_SAMPLE.0 as f64, self.memory_percent(group))
                }
                _ => (0.0, if g.engine.is_some() { self.memory_percent(group) } else { 0.0 }),
            };
            let key = |signal| SeriesKey { service, signal, pod: Some(leader) };
            self.meter.path.record(now, key(Signal::GpuUtilization), utilization);
            self.meter.path.record(now, key(Signal::GpuMemory), memory);
        }
    }

    fn busy_us(&self, group: GroupId) -> u64 {
        self.group(group).engine.as_deref().map_or(0, |e| e.reading(self.now).busy_us_total)
    }

    /// What vLLM took at its start, whatever it holds now.
    fn memory_percent(&self, group: GroupId) -> f64 {
        let Some((spec, settings)) = self.engine_spec(group) else { return 0.0 };
        let usable = spec.gpu.usable_gib;
        100.0 * ((settings.gpu_memory_utilization * usable + CUDA_CONTEXT_GIB) / usable).min(1.0)
    }

    fn engine_groups(&self) -> impl Iterator<Item = GroupId> + '_ {
        (0..self.services.len()).flat_map(|i| self.serving_groups(ServiceId::from_index(i)))
    }

    /// Prometheus picks up what the exporters and engines show.
    pub(super) fn on_scrape(&mut self) {
        let now = self.now;
        for i in 0..self.services.len() {
            let service = ServiceId::from_index(i);
            for group in self.serving_groups(service).collect::<Vec<_>>() {
                let g = self.group(group);
                let (Some(leader), Some(engine)) = (g.pods.first().copied(), g.engine.as_deref()) else { continue };
                let r = engine.reading(now);
                let key = |signal| SeriesKey { service, signal, pod: Some(leader) };
                self.meter.path.record(now, key(Signal::QueueDepth), f64::from(r.waiting));
                self.meter.path.record(now, key(Signal::RunningRequests), f64::from(r.running));
                self.meter.path.record(now, key(Signal::KvCacheUsage), r.kv_usage());
            }
        }
        self.meter.path.scrape(now, Scraper::Prometheus);
        self.after(self.meter.path.settings().scrape_us, Event::Scrape);
    }

    /// Mean over a service's pods of what the adapter would serve now.
    pub(super) fn signal_mean(&self, service: ServiceId, signal: Signal) -> Option<f64> {
        let samples = self.meter.path.query_pods(self.now, service, signal);
        if samples.is_empty() {
            return None;
        }
        Some(samples.iter().map(|(_, s)| s.value).sum::<f64>() / samples.len() as f64)
    }

    /// The service whose signals and replicas the charts show.
    pub(super) fn chart_service(&self) -> Option<ServiceId> {
        let scaled = self.setup.services.iter().position(|s| s.scaled);
        scaled.or(if self.services.is_empty() { None } else { Some(0) }).map(ServiceId::from_index)
    }

    pub(super) fn on_sample(&mut self) {
        let now = self.now;
        self.after(SAMPLE_EVERY, Event::Sample);
        let ids = (0..self.services.len()).map(ServiceId::from_index);
        let waiting: u32 = ids.clone().map(|s| self.waiting(s)).sum();
        let arrivals: u32 = ids.map(|s| std::mem::take(&mut self.service_mut(s).arrivals_since_sample)).sum();
        self.push(Track::Waiting, f64::from(waiting));
        self.push(Track::Arrivals, f64::from(arrivals) / SAMPLE_EVERY.secs_f64());
        if let Some(service) = self.chart_service() {
            self.sample_service(service, now);
        }
        let parts = self.meter.ledger.parts_by_state();
        for (i, p) in parts.iter().enumerate() {
            self.push(Track::Gpus(i as u8), *p as f64 / crate::sim::metrics::ledger::PARTS_PER_GPU as f64);
        }
    }

    fn sample_service(&mut self, service: ServiceId, now: Time) {
        let target = self.policy.get(crate::sim::param::Param::TargetWaiting).max(1) as f64;
        let signals = [
            (Track::GpuUtilization, Signal::GpuUtilization, 100.0),
            (Track::GpuMemory, Signal::GpuMemory, 100.0),
            (Track::QueueShare, Signal::QueueDepth, target),
            (Track::KvUsage, Signal::KvCacheUsage, 1.0),
        ];
        for (track, signal, full) in signals {
            if let Some(v) = self.signal_mean(service, signal) {
                self.push(track, v / full);
            }
        }
        let (ready, _) = self.replica_counts(service);
        let wanted = self.service(service).wanted;
        let raw = self.service(service).hpa_view.as_ref().map_or(wanted, |h| h.raw_desired);
        self.push(Track::RawDesired, f64::from(raw));
        self.push(Track::Desired, f64::from(wanted));
        self.push(Track::Ready, f64::from(ready));
        if let Some(us) = self.service(service).ttft.window(now).quantile_us(0.99) {
            self.push(Track::TtftP99, us as f64 / 1e6);
        }
    }

    fn push(&mut self, track: Track, value: f64) {
        let now = self.now;
        if let Some(series) = self.meter.series.get_mut(track.index()) {
            series.push(now, value as f32);
        }
    }

    /// Points of a track in a range, at most so many.
    pub fn series(&self, track: Track, from: Time, to: Time, points_max: usize) -> Vec<Point> {
        let points = self.meter.series.get(track.index()).map(|s| s.range(from, to, points_max)).unwrap_or_default();
        points.into_iter().map(|p| Point { at: p.at, value: Some(p.mean) }).collect()
    }

    /// The GPU that a node's price is divided over; for tests and reports.
    pub fn ledger(&self) -> &Ledger {
        &self.meter.ledger
    }
}

pub(super) fn price_of(instance: &catalog::Instance) -> Microusd {
    instance.price.map_or(Microusd(0), |p| p.microusd_per_hour)
}
