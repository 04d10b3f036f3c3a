//! The metric path's clocks: DCGM collects, Prometheus scrapes. What they hold is
//! [`MetricPath`](crate::sim::metrics::scrape::MetricPath)'s; here engines are read for it.
//!
//! A replica of several pods shows as its leader, as it does to the HPA; what DCGM says of it is
//! the mean over its GPUs, which run in step.

use super::World;
use crate::sim::engine::Reading;
use crate::sim::engine::power::power_watts;
use crate::sim::event::Event;
use crate::sim::id::{GroupId, ServiceId};
use crate::sim::metrics::Signal;
use crate::sim::metrics::scrape::Page;
use crate::sim::metrics::signal::Exporter;
use crate::sim::param::Param;
use crate::sim::setup::Share;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::collections::BTreeMap;

/// GPU_UTIL and power are what the last second of a collection period showed; the profiling
/// counters average over the whole period.
const DCGM_SAMPLE: Span = Span::from_secs(1);
/// CUDA context beside what vLLM takes of a GPU's memory.
const CUDA_CONTEXT_GIB: f64 = 0.5;
const MIB_PER_GIB: f64 = 1024.0;

/// Busy time of a GPU since its engine started, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
struct Activity {
    busy_us: f64,
    sm_us: f64,
    dram_us: f64,
    tensor_us: f64,
}

impl Activity {
    fn of(reading: &Reading) -> Activity {
        Activity {
            busy_us: reading.busy_us_total as f64,
            sm_us: reading.sm_us_total,
            dram_us: reading.dram_us_total,
            tensor_us: reading.tensor_us_total,
        }
    }

    /// Shares of the time between two readings, 0 to 1.
    fn shares(self, before: Activity, window: Span) -> Activity {
        let share = |now: f64, then: f64| ((now - then) / (window.0.max(1) as f64)).clamp(0.0, 1.0);
        Activity {
            busy_us: share(self.busy_us, before.busy_us),
            sm_us: share(self.sm_us, before.sm_us),
            dram_us: share(self.dram_us, before.dram_us),
            tensor_us: share(self.tensor_us, before.tensor_us),
        }
    }

    /// Of all who share a GPU, as far as it can give.
    fn and(self, other: Activity) -> Activity {
        let sum = |a: f64, b: f64| (a + b).min(1.0);
        Activity {
            busy_us: sum(self.busy_us, other.busy_us),
            sm_us: sum(self.sm_us, other.sm_us),
            dram_us: sum(self.dram_us, other.dram_us),
            tensor_us: sum(self.tensor_us, other.tensor_us),
        }
    }
}

/// Where the clocks of the metric path are.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Collected {
    /// Activity of each engine when DCGM's last second began; `None` between samples.
    opened: Option<BTreeMap<GroupId, Activity>>,
    /// The same at the last collection, and when that was.
    last: BTreeMap<GroupId, Activity>,
    last_at: Time,
    scraped_at: Time,
    /// The one event of each clock that counts, once its period was changed: earlier ones are
    /// still in the heap.
    dcgm_due: Option<Time>,
    scrape_due: Option<Time>,
}

impl World {
    fn dcgm_period(&self) -> Span {
        Span::from_secs(self.policy.get(Param::DcgmCollect).max(1) as u64)
    }

    fn scrape_period(&self) -> Span {
        Span::from_secs(self.policy.get(Param::Scrape).max(1) as u64)
    }

    /// A period was changed: the next tick comes one new period after the last one, or now.
    pub(super) fn set_metrics_param(&mut self, param: Param) {
        let now = self.now;
        match param {
            Param::Scrape => {
                let due = (self.meter.collected.scraped_at + self.scrape_period()).max(now);
                self.meter.collected.scrape_due = Some(due);
                self.queue.push(due, Event::Scrape);
            }
            // A sample that is being taken is finished first.
            Param::DcgmCollect if self.meter.collected.opened.is_none() => {
                let due = (self.meter.collected.last_at + (self.dcgm_period() - DCGM_SAMPLE)).max(now);
                self.meter.collected.dcgm_due = Some(due);
                self.queue.push(due, Event::DcgmWindow);
            }
            _ => {}
        }
    }

    /// DCGM's sample: opens one second before each collection and closes at it.
    pub(super) fn on_dcgm_window(&mut self) {
        let now = self.now;
        if self.meter.collected.dcgm_due.is_some_and(|due| due != now) {
            return;
        }
        let next = match self.meter.collected.opened.take() {
            None => {
                self.meter.collected.opened = Some(self.activities());
                DCGM_SAMPLE
            }
            Some(opened) => {
                self.collect_dcgm(&opened);
                self.dcgm_period() - DCGM_SAMPLE
            }
        };
        if let Some(due) = &mut self.meter.collected.dcgm_due {
            *due = now + next;
        }
        self.after(next, Event::DcgmWindow);
    }

    fn activities(&self) -> BTreeMap<GroupId, Activity> {
        let groups = (0..self.services.len()).flat_map(|i| self.serving_groups(ServiceId::from_index(i)));
        let read = |g: GroupId| Some((g, Activity::of(&self.group(g).engine.as_deref()?.reading(self.now))));
        groups.filter_map(read).collect()
    }

    /// Every pod that has GPUs: the exporter maps GPUs to pods, so one that is still loading shows
    /// no work and no memory.
    fn collect_dcgm(&mut self, opened: &BTreeMap<GroupId, Activity>) {
        let now = self.now;
        let totals = self.activities();
        let before = std::mem::take(&mut self.meter.collected.last);
        let period = now.since(self.meter.collected.last_at);
        self.meter.path.begin_collection();
        // Of whoever has no earlier reading, the engine started since then, at zero.
        let shares = |group: &GroupId, from: &BTreeMap<GroupId, Activity>, window| {
            let total = totals.get(group).copied().unwrap_or_default();
            total.shares(from.get(group).copied().unwrap_or_default(), window)
        };
        for i in 0..self.services.len() {
            let service = ServiceId::from_index(i);
            for group in self.service(service).groups.clone() {
                let g = self.group(group);
                if g.standby {
                    continue; // another Deployment's pods
                }
                let loading = matches!(g.stage, GroupStage::Weights | GroupStage::WarmUp);
                let Some(leader) = g.pods.first().copied().filter(|_| loading || g.engine.is_some()) else { continue };
                let seen = self.dcgm_shows(group);
                let all = |from, window| {
                    let each = seen.iter().map(|g| shares(g, from, window));
                    each.fold(Activity::default(), Activity::and)
                };
                let (second, period) = (all(opened, DCGM_SAMPLE), all(&before, period));
                let page = self.dcgm_page(group, &seen, &second, &period);
                self.meter.path.expose(now, Exporter::Dcgm, service, leader, page);
            }
        }
        self.meter.collected.last = totals;
        self.meter.collected.last_at = now;
    }

    fn dcgm_page(&self, group: GroupId, seen: &[GroupId], second: &Activity, period: &Activity) -> Page {
        let Some((spec, _)) = self.engine_spec(group) else { return Page::default() };
        let total_gib = spec.usable_gib();
        let used_gib = seen.iter().map(|g| self.used_gib(*g)).sum::<f64>().min(total_gib);
        let values = [
            (Signal::GpuUtilization, 100.0 * second.busy_us),
            (Signal::SmActive, period.sm_us),
            (Signal::TensorActive, period.tensor_us),
            (Signal::DramActive, period.dram_us),
            (Signal::FbUsed, used_gib * MIB_PER_GIB),
            (Signal::PowerUsage, power_watts(spec.gpu, second.dram_us, second.tensor_us)),
            (Signal::GpuMemory, 100.0 * used_gib / total_gib),
        ];
        let shown = values.into_iter().filter(|(signal, _)| self.dcgm_exports(group, *signal));
        shown.fold(Page::default(), |page, (signal, value)| page.with(signal, value))
    }

    /// Whether DCGM has this series for the GPUs of a replica: GPU_UTIL does not exist on a MIG
    /// instance.
    pub(super) fn dcgm_exports(&self, group: GroupId, signal: Signal) -> bool {
        let share = self.setup.services.get(self.group(group).service.index()).and_then(|s| s.share);
        !(signal == Signal::GpuUtilization && matches!(share, Some(Share::Mig(_))))
    }

    /// Memory that a replica's process holds on each of its GPUs or slices: what vLLM took at its
    /// start, whatever it needs now.
    pub(super) fn used_gib(&self, group: GroupId) -> f64 {
        if self.group(group).engine.is_none() {
            return 0.0;
        }
        let Some((spec, settings)) = self.engine_spec(group) else { return 0.0 };
        let total_gib = spec.usable_gib();
        (settings.gpu_memory_utilization * total_gib + CUDA_CONTEXT_GIB).min(total_gib)
    }

    /// The replicas whose work DCGM shows under this one's GPUs: all that take turns or overlap on
    /// them. A MIG slice is shown by itself.
    fn dcgm_shows(&self, group: GroupId) -> Vec<GroupId> {
        match self.share_of(group) {
            None | Some(Share::Mig(_)) => vec![group],
            Some(Share::TimeSlicing(_) | Share::Mps(_) | Share::Vgpu(_)) => {
                self.gpus_of(group).into_iter().flat_map(|gpu| self.groups_on_gpu(gpu)).collect()
            }
        }
    }

    /// Prometheus picks up what the exporters and engines show.
    pub(super) fn on_scrape(&mut self) {
        let now = self.now;
        if self.meter.collected.scrape_due.is_some_and(|due| due != now) {
            return;
        }
        let period = self.scrape_period();
        self.scrape_all(period);
        self.meter.collected.scraped_at = now;
        if let Some(due) = &mut self.meter.collected.scrape_due {
            *due = now + period;
        }
        self.after(period, Event::Scrape);
    }

    pub(super) fn scrape_all(&mut self, period: Span) {
        let now = self.now;
        let mut path = std::mem::take(&mut self.meter.path);
        path.scraped_every(period);
        for i in 0..self.services.len() {
            let service = ServiceId::from_index(i);
            for group in self.serving_groups(service) {
                let g = self.group(group);
                if let (Some(leader), Some(engine)) = (g.pods.first().copied(), g.engine.as_deref()) {
                    path.expose(now, Exporter::Engine, service, leader, engine_page(&engine.reading(now)));
                }
            }
        }
        path.scrape(now);
        self.meter.path = path;
    }
}

/// The engine's `/metrics`.
fn engine_page(r: &Reading) -> Page {
    Page::default()
        .with(Signal::QueueDepth, f64::from(r.waiting))
        .with(Signal::RunningRequests, f64::from(r.running))
        .with(Signal::KvCacheUsage, r.kv_usage())
        .with(Signal::PromptTokensPerSecond, r.prompt_tokens_total as f64)
        .with(Signal::TokensPerSecond, r.generation_tokens_total as f64)
        .with(Signal::PreemptionsPerSecond, r.preemptions_total as f64)
        .with(Signal::CompletionsPerSecond, r.finished_total as f64)
}
