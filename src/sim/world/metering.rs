//! What is measured: the GPU ledger, ideal cost, and the state of the meters. [`super::scraping`] is
//! the metric path's clocks, [`super::sampling`] the charts' points.

use super::World;
use super::sampling::Samples;
pub(super) use super::sampling::ttft_window;
use super::scraping::Collected;
use crate::sim::catalog;
use crate::sim::engine::ideal::IdealCost;
use crate::sim::engine::{EngineSettings, StepCost, memory};
use crate::sim::id::{GroupId, NodeId, PodId, ServiceId};
use crate::sim::metrics::ledger::{Bill, GpuState, Ledger, Totals};
use crate::sim::metrics::scrape::MetricPath;
use crate::sim::money::Microusd;
use crate::sim::setup::ServiceSetup;
use crate::sim::snapshot::{GroupStage, NodeStage, Score};
use crate::sim::time::Span;
use crate::sim::{cluster::PodPhase, math};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Metering {
    pub ledger: Ledger,
    pub path: MetricPath,
    pub(super) collected: Collected,
    pub(super) samples: Samples,
    /// Ideal GPU time of the requests that met their SLO.
    pub(super) ideal: Span,
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
            path: MetricPath::default(),
            collected: Collected::default(),
            samples: Samples::new(services.len()),
            ideal: Span::ZERO,
            states: Vec::new(),
            ideal_costs: services.iter().map(ideal_cost).collect(),
        }
    }

    /// A request met its SLO: its ideal cost counts, and its service's goodput.
    pub fn add_ideal(&mut self, service: ServiceId, prompt_tokens: u32, output_tokens: u32) {
        self.path.observe_met(service);
        if let Some(Some(cost)) = self.ideal_costs.get(service.index()) {
            self.ideal += Span::from_secs_f64(cost.gpu_seconds(prompt_tokens, output_tokens));
        }
    }
}

/// What a request of this service costs on a well-filled replica: on whole GPUs of the kind that its
/// selector asks for, else H100, its tensor-parallel group inside one NVLink domain. Seats, memory
/// and a share of a GPU that were chosen smaller do not excuse anything.
fn ideal_cost(service: &ServiceSetup) -> Option<IdealCost> {
    let gpu = service.gpu.or_else(|| catalog::gpu("h100-sxm"))?;
    let spec = service.engine_spec(gpu);
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
        let mut last = None;
        for i in 0..self.group(group).pods.len() {
            let node = self.pod(self.group(group).pods[i]).node;
            if let Some(node) = node.filter(|_| node != last) {
                self.refresh_node_gpus(node);
            }
            last = node;
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
        // A node that the cloud has not granted yet has no account.
        let _ = self.meter.ledger.set_states(self.now, node, &states);
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

    /// The GPU that a node's price is divided over; for tests and reports.
    pub fn ledger(&self) -> &Ledger {
        &self.meter.ledger
    }
}

pub(super) fn price_of(instance: &catalog::Instance) -> Microusd {
    instance.price.map_or(Microusd(0), |p| p.microusd_per_hour)
}
