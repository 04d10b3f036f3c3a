//! Between the world and layer 3: the HPA's settings from the policy table, its view from pods
//! and scraped metrics, and its decision carried out.

use super::World;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::ServiceId;
use crate::sim::metrics::{Scaling, Signal, scrape};
use crate::sim::param::Param;
use crate::sim::replicas::hpa::decision::{ProposalRule, Read, ScalingLimitedReason};
use crate::sim::replicas::hpa::settings::{ControllerFlags, MetricSource, MetricSpec, MetricTarget};
use crate::sim::replicas::hpa::{
    self, HpaDecision, HpaPath, HpaSettings, HpaView, PodPhase, PodSample, PodView, Reading, ReadyCondition,
};
use crate::sim::setup::Role;
use crate::sim::snapshot::{GroupStage, HpaLimit};
use crate::sim::time::{Span, Time};
use serde::Serialize;

/// `--horizontal-pod-autoscaler-sync-period`.
pub(super) const SYNC: Span = Span::from_secs(15);

/// The last sync, for the card and the chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LastSync {
    pub at: Time,
    pub value_milli: Option<i64>,
    pub target_milli: i64,
    pub ratio: Option<f64>,
    pub inside_tolerance: bool,
    pub current: u32,
    pub raw_desired: u32,
    pub stabilized: u32,
    pub desired: u32,
    pub limit: HpaLimit,
}

impl World {
    /// The chosen signal and its target in thousandths of the signal's unit.
    pub(super) fn hpa_signal(&self) -> (Signal, i64) {
        let scaling = Scaling::of(self.policy.get(Param::Signal));
        (scaling.signal, self.policy.get(scaling.target) * scaling.milli)
    }

    fn hpa_settings(&self) -> HpaSettings {
        let (signal, milli) = self.hpa_signal();
        HpaSettings {
            min_replicas: self.policy.get(Param::MinReplicas) as i32,
            max_replicas: self.policy.get(Param::MaxReplicas) as i32,
            metrics: vec![MetricSpec {
                source: MetricSource::Pods { metric: signal.metric_name().to_owned() },
                target: MetricTarget::AverageValue { milli },
            }],
            behavior: None,
            controller: ControllerFlags {
                downscale_stabilization_s: self.policy.get(Param::StabilizationDown) as u32,
                ..ControllerFlags::default()
            },
        }
    }

    pub(super) fn on_hpa_sync(&mut self, service: ServiceId) {
        self.after(SYNC, Event::HpaSync(service));
        let scaled = self.setup.services[service.index()].scaled && !self.follows_prefill(service);
        if self.policy.choice(Param::Scaler) != "hpa" || !scaled {
            return;
        }
        let settings = self.hpa_settings();
        let view = self.hpa_view_of(service);
        let memory = std::mem::take(&mut self.service_mut(service).hpa);
        let (decision, memory) = hpa::decide(&view, &settings, memory, self.now);
        self.service_mut(service).hpa = memory;
        self.carry_out_sync(service, &decision, settings.metrics[0].target.amount());
    }

    /// A replica of several pods scales as one: its leader stands for it.
    fn hpa_view_of(&self, service: ServiceId) -> HpaView {
        let (signal, _) = self.hpa_signal();
        let groups: Vec<_> =
            self.service(service).groups.iter().map(|g| self.group(*g)).filter(|g| !g.standby).collect();
        let pods = groups.iter().filter_map(|g| {
            let leader = self.pod(*g.pods.first()?);
            let running = !matches!(g.stage, GroupStage::Pending | GroupStage::Image | GroupStage::Gone);
            Some(PodView {
                pod: leader.id,
                phase: if running { PodPhase::Running } else { PodPhase::Pending },
                deleting: !g.alive(),
                ready: Some(ReadyCondition { status: g.routable(), changed: g.stage_since }),
                started: leader.bound_at,
                cpu_request_milli: None,
                memory_request_milli: None,
            })
        });
        // The custom metrics API answers for the pods that the selector finds, not for gone ones.
        let leaders: Vec<_> = groups.iter().filter_map(|g| g.pods.first().copied()).collect();
        let samples = self.meter.path.query_pods(self.now, service, signal).into_iter();
        let samples = samples.filter(|(pod, _)| leaders.contains(pod)).map(|(pod, s)| PodSample {
            pod,
            value_milli: scrape::to_milli(s.value),
            at: s.measured_at,
            window: Span::from_secs(60),
        });
        HpaView {
            spec_replicas: self.service(service).wanted as i32,
            status_replicas: groups.iter().filter(|g| g.alive()).count() as i32,
            pods: pods.collect(),
            readings: vec![Reading::Pods(samples.collect())],
        }
    }

    fn carry_out_sync(&mut self, service: ServiceId, decision: &HpaDecision, target_milli: i64) {
        let current = decision.spec_replicas.max(0) as u32;
        let desired = decision.desired.max(0) as u32;
        let report = decision.metrics.first().and_then(|m| m.outcome.as_ref().ok());
        let value_milli = report.and_then(|p| match p.read {
            Read::Average { average_milli, .. } => Some(average_milli),
            _ => None,
        });
        let raw_desired = decision.combined.map_or(current, |c| c.replicas.max(0) as u32);
        let stabilized = decision.stabilized.map_or(raw_desired, |s| s.result.max(0) as u32);
        let sync = LastSync {
            at: self.now,
            value_milli,
            target_milli,
            ratio: report.and_then(|p| p.ratio).filter(|r| r.is_finite()),
            inside_tolerance: report.is_some_and(|p| p.band.inside),
            current,
            raw_desired,
            stabilized,
            desired,
            limit: limit_of(decision),
        };
        let ready = self.replica_counts(service).0;
        let verdict = Verdict::HpaSync {
            service,
            signal: Param::Signal,
            signal_choice: self.policy.get(Param::Signal),
            value_milli,
            target_milli,
            current,
            ready,
            raw_desired,
            stabilized,
            desired,
            limit: sync.limit,
            waiting: self.waiting(service),
        };
        self.service_mut(service).hpa_view = Some(sync);
        let tone = if desired == current { Tone::Neutral } else { Tone::Good };
        self.log(Who::Hpa, verdict, tone);
        if decision.rescaled {
            self.service_mut(service).wanted = desired;
            self.reconcile(service);
        }
        self.take_decode_along(service);
    }

    /// Whether a decode service is scaled with its prefill service and not by itself.
    fn follows_prefill(&self, service: ServiceId) -> bool {
        self.policy.get(Param::Roles) == 1 && self.setup.services[service.index()].role == Role::Decode
    }

    /// One autoscaler for both roles: decode wants as many replicas as prefill.
    fn take_decode_along(&mut self, prefill: ServiceId) {
        let Some(decode) = self.decode_service(prefill).filter(|d| self.follows_prefill(*d)) else { return };
        let (from, to) = (self.service(decode).wanted, self.service(prefill).wanted);
        if from != to && self.setup.services[decode.index()].scaled {
            self.service_mut(decode).wanted = to;
            self.log(Who::Hpa, Verdict::ReplicasSet { service: decode, from, to }, Tone::Neutral);
            self.reconcile(decode);
        }
    }

    /// Requests waiting at the gateway and in the engines of a service.
    pub(super) fn waiting(&self, service: ServiceId) -> u32 {
        let engines = self.service(service).groups.iter().filter_map(|g| self.group(*g).engine.as_deref());
        self.service(service).held + engines.map(|e| e.waiting()).sum::<u32>()
    }

    /// The scaler was switched, or the manual count was changed.
    pub(super) fn apply_manual_replicas(&mut self, changed: Param) {
        if self.policy.choice(Param::Scaler) != "manual" {
            return;
        }
        for i in 0..self.services.len() {
            let service = ServiceId::from_index(i);
            if !self.setup.services[i].scaled {
                continue;
            }
            let from = self.service(service).wanted;
            if changed == Param::Scaler {
                // Taking over by hand starts from what is there.
                let _ = self.policy.set(Param::ManualReplicas, i64::from(from));
                continue;
            }
            let to = self.policy.get(Param::ManualReplicas) as u32;
            if from != to {
                self.service_mut(service).wanted = to;
                self.log(Who::You, Verdict::ReplicasSet { service, from, to }, Tone::Neutral);
                self.reconcile(service);
            }
        }
    }
}

/// The one limit that explains the outcome best: the last stage that changed the number.
fn limit_of(d: &HpaDecision) -> HpaLimit {
    match d.path {
        HpaPath::Disabled | HpaPath::MetricsInvalid => return HpaLimit::NoMetric,
        HpaPath::AboveMax => return HpaLimit::Max,
        HpaPath::BelowMin => return HpaLimit::Min,
        HpaPath::Computed => {}
    }
    if let Some(limited) = &d.limited
        && limited.result != limited.stabilized
    {
        return match limited.reason {
            ScalingLimitedReason::TooManyReplicas => HpaLimit::Max,
            ScalingLimitedReason::TooFewReplicas => HpaLimit::Min,
            ScalingLimitedReason::ScaleUpLimit | ScalingLimitedReason::ScaleDownLimit => HpaLimit::Rate,
            ScalingLimitedReason::DesiredWithinRange => HpaLimit::None,
        };
    }
    if d.stabilized.is_some_and(|s| s.held_by.is_some()) {
        return HpaLimit::Stabilization;
    }
    let rule = d.metrics.first().and_then(|m| m.outcome.as_ref().ok()).map(|p| p.rule);
    match rule {
        Some(ProposalRule::WithinTolerance) => HpaLimit::Tolerance,
        Some(
            ProposalRule::FilledWithinTolerance | ProposalRule::FillReversesRatio | ProposalRule::FillReversesCount,
        ) => HpaLimit::MissingPods,
        _ => HpaLimit::None,
    }
}
