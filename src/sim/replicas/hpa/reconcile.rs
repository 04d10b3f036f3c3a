//! One sync of one HPA, in the order of the Kubernetes HPA controller: shortcuts, metrics,
//! windows, rates and bounds, the write, and the conditions.
//!
//! Left out, because the simulation has no place for them: failures to read or write the scale,
//! ambiguous selectors, and events in the API server's log.

use super::behavior::{Bounds, limit_behavior, limit_default, store_event};
use super::calculator::{Context, propose};
use super::classify::ReadinessPeriods;
use super::decision::*;
use super::settings::{HpaSettings, MetricSource, MetricSpec};
use super::stabilize::{Recommendation, stabilize_behavior, stabilize_default};
use super::{HpaMemory, HpaView, Reading};
use crate::sim::time::{Span, Time};

/// Decides one sync. Pure: the caller writes `desired` to the scale if `rescaled`, keeps the
/// returned memory and calls again one sync period later.
///
/// `view.readings` has one entry per metric in force (see [`HpaSettings::metrics_in_force`]); a
/// missing one counts as unavailable.
pub fn decide(view: &HpaView, settings: &HpaSettings, memory: HpaMemory, now: Time) -> (HpaDecision, HpaMemory) {
    let mut memory = memory;
    let current = view.spec_replicas;
    // The first sync records what it finds, which blocks scale-down for one window.
    memory.recommendations.get_or_insert_with(|| vec![Recommendation { replicas: current, at: now }]);
    let specs = settings.metrics_in_force();
    let mut decision = start(view, settings, &memory, now);
    match shortcut(view, settings, &memory, &specs) {
        Some((path, desired)) => {
            decision.path = path;
            decision.desired = desired;
            if path == HpaPath::Disabled {
                decision.conditions.scaling_active = Some(ScalingActiveReason::ScalingDisabled);
            }
        }
        None => compute(view, settings, &specs, &mut memory, &mut decision),
    }
    decision.rescaled = decision.desired != current;
    if decision.rescaled {
        decision.conditions.able_to_scale = AbleToScaleReason::SucceededRescale;
        remember_rescale(settings, &specs, &mut memory, &decision);
    }
    decision.conditions.scaled_to_zero = memory.scaled_to_zero;
    (decision, memory)
}

fn start(view: &HpaView, settings: &HpaSettings, memory: &HpaMemory, now: Time) -> HpaDecision {
    HpaDecision {
        at: now,
        spec_replicas: view.spec_replicas,
        status_replicas: view.status_replicas,
        min_replicas: settings.min_replicas,
        max_replicas: settings.max_replicas,
        path: HpaPath::Computed,
        metrics: Vec::new(),
        combined: None,
        stabilized: None,
        limited: None,
        raised_to_min: false,
        desired: view.spec_replicas,
        rescaled: false,
        conditions: HpaConditions {
            able_to_scale: AbleToScaleReason::SucceededGetScale,
            scaling_active: None,
            scaling_limited: None,
            scaled_to_zero: memory.scaled_to_zero,
        },
    }
}

/// Whether the target's 0 is this HPA's own doing, so that it may wake it.
fn slept_by_hpa(settings: &HpaSettings, memory: &HpaMemory) -> bool {
    settings.controller.scale_to_zero_gate && memory.scaled_to_zero == Some(true)
}

/// The branches that read no metric, with the replicas they give.
fn shortcut(
    view: &HpaView,
    settings: &HpaSettings,
    memory: &HpaMemory,
    specs: &[MetricSpec],
) -> Option<(HpaPath, i32)> {
    let current = view.spec_replicas;
    if current == 0 {
        let readable = settings.min_replicas != 0 || specs.iter().any(|s| s.source.works_without_pods());
        let wakes = slept_by_hpa(settings, memory) && readable;
        (!wakes).then_some((HpaPath::Disabled, 0))
    } else if current > settings.max_replicas {
        Some((HpaPath::AboveMax, settings.max_replicas))
    } else if current < settings.min_replicas {
        Some((HpaPath::BelowMin, settings.min_replicas))
    } else {
        None
    }
}

/// Metrics, windows, rates and bounds.
fn compute(
    view: &HpaView,
    settings: &HpaSettings,
    specs: &[MetricSpec],
    memory: &mut HpaMemory,
    decision: &mut HpaDecision,
) {
    let now = decision.at;
    let current = view.spec_replicas;
    decision.metrics = read_metrics(view, settings, specs, now);
    let combined = match combine(&decision.metrics, current) {
        Ok(combined) => combined,
        Err(reason) => {
            decision.path = HpaPath::MetricsInvalid;
            decision.conditions.scaling_active = Some(reason);
            return;
        }
    };
    decision.combined = Some(combined);
    decision.conditions.scaling_active = Some(ScalingActiveReason::ValidMetricFound);

    let proposal = combined.replicas;
    let history = memory.recommendations.get_or_insert_default();
    let bounds = Bounds { current, min: settings.min_replicas, max: settings.max_replicas };
    let downscale_s = settings.controller.downscale_stabilization_s;
    let (stabilized, limited) = match &settings.behavior {
        None => {
            let window = Span::from_secs(u64::from(downscale_s));
            let stabilized = stabilize_default(history, proposal, window, now);
            (stabilized, limit_default(bounds, stabilized.result))
        }
        Some(behavior) => {
            let rules = behavior.resolve(downscale_s);
            let (up, down) = (rules.up.window, rules.down.window);
            let stabilized = stabilize_behavior(history, current, proposal, up, down, now);
            (stabilized, limit_behavior(bounds, stabilized.result, &rules, &memory.events, now))
        }
    };
    decision.conditions.able_to_scale = match stabilized.held_by {
        None => AbleToScaleReason::ReadyForNewScale,
        Some(super::Direction::Up) => AbleToScaleReason::ScaleUpStabilized,
        Some(super::Direction::Down) => AbleToScaleReason::ScaleDownStabilized,
    };
    decision.conditions.scaling_limited =
        Some(ScalingLimited { limited: limited.result != stabilized.result, reason: limited.reason });
    decision.desired = limited.result;
    // `min_replicas` may have been raised while the fleet slept.
    if current == 0 && settings.min_replicas > decision.desired {
        decision.desired = settings.min_replicas;
        decision.raised_to_min = true;
    }
    decision.stabilized = Some(stabilized);
    decision.limited = Some(limited);
}

fn read_metrics(view: &HpaView, settings: &HpaSettings, specs: &[MetricSpec], now: Time) -> Vec<MetricReport> {
    let flags = &settings.controller;
    let periods = ReadinessPeriods {
        cpu_initialization: Span::from_secs(u64::from(flags.cpu_initialization_period_s)),
        initial_readiness_delay: Span::from_secs(u64::from(flags.initial_readiness_delay_s)),
    };
    let ctx = Context { view, tolerances: settings.tolerances(), periods, now };
    let report = |(i, spec): (usize, &MetricSpec)| MetricReport {
        source: spec.source.clone(),
        target: spec.target,
        outcome: propose(ctx, spec, view.readings.get(i).unwrap_or(&Reading::Unavailable)),
    };
    specs.iter().enumerate().map(report).collect()
}

/// The largest valid proposal, or why the valid ones do not suffice: an invalid metric blocks a
/// scale-down, not a scale-up.
fn combine(metrics: &[MetricReport], current: i32) -> Result<Combined, ScalingActiveReason> {
    let mut best: Option<(usize, i32)> = None;
    let mut first_invalid = None;
    let mut invalid = 0;
    for (metric, report) in metrics.iter().enumerate() {
        match &report.outcome {
            Ok(proposal) if best.is_none_or(|(_, replicas)| proposal.replicas > replicas) => {
                best = Some((metric, proposal.replicas));
            }
            Ok(_) => {}
            Err(_) => {
                invalid += 1;
                first_invalid.get_or_insert(failure_reason(&report.source));
            }
        }
    }
    match (best, first_invalid) {
        (Some((_, replicas)), Some(reason)) if replicas < current => Err(reason),
        (Some((metric, replicas)), _) => Ok(Combined { replicas: replicas.max(0), metric, invalid }),
        (None, reason) => Err(reason.unwrap_or(ScalingActiveReason::InvalidMetricSourceType)),
    }
}

fn failure_reason(source: &MetricSource) -> ScalingActiveReason {
    match source {
        MetricSource::Resource { .. } => ScalingActiveReason::FailedGetResourceMetric,
        MetricSource::ContainerResource { .. } => ScalingActiveReason::FailedGetContainerResourceMetric,
        MetricSource::Pods { .. } => ScalingActiveReason::FailedGetPodsMetric,
        MetricSource::Object { .. } => ScalingActiveReason::FailedGetObjectMetric,
        MetricSource::External { .. } => ScalingActiveReason::FailedGetExternalMetric,
        MetricSource::Unknown => ScalingActiveReason::InvalidMetricSourceType,
    }
}

/// After the write: the scale event, and whether the 0 is the HPA's own.
fn remember_rescale(settings: &HpaSettings, specs: &[MetricSpec], memory: &mut HpaMemory, decision: &HpaDecision) {
    let (before, after) = (decision.spec_replicas, decision.desired);
    memory.last_scale = Some(decision.at);
    if let Some(behavior) = &settings.behavior {
        let rules = behavior.resolve(settings.controller.downscale_stabilization_s);
        let change = after.saturating_sub(before).saturating_abs();
        if after > before {
            store_event(&mut memory.events.up, rules.up.longest_period(), change, decision.at);
        } else {
            store_event(&mut memory.events.down, rules.down.longest_period(), change, decision.at);
        }
    }
    memory.scaled_to_zero = settings.controller.scale_to_zero_gate.then(|| {
        let can_wake = specs.iter().any(|s| s.source.works_without_pods());
        before > 0 && after == 0 && settings.min_replicas == 0 && can_wake
    });
}
