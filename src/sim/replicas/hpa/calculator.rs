//! From one metric's reading to a proposed number of replicas (Kubernetes HPA replica calculator).
//!
//! Values are 64-bit integers in thousandths, averages and percentages truncated integers, ratios
//! doubles; counts saturate at 2^31-1. Sums saturate instead of wrapping round.

use super::classify::{LeftOutClass, PodGroups, ReadinessPeriods, classify};
use super::decision::{Band, Filled, MetricError, Proposal, ProposalRule, Read};
use super::settings::{MetricSource, MetricSpec, MetricTarget, Resource, Tolerances};
use super::validate::target_allowed;
use super::{HpaView, PodPhase, PodSample, PodView, Reading};
use crate::sim::time::Time;

/// What every calculation needs beside the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Context<'a> {
    pub view: &'a HpaView,
    pub tolerances: Tolerances,
    pub periods: ReadinessPeriods,
    pub now: Time,
}

/// The proposal of one metric.
///
/// # Errors
/// When the metric cannot be read or its target makes no sense; it then counts as invalid.
pub fn propose(ctx: Context<'_>, spec: &MetricSpec, reading: &Reading) -> Result<Proposal, MetricError> {
    if spec.source == MetricSource::Unknown {
        return Err(MetricError::UnknownSource);
    }
    if *reading == Reading::Unavailable {
        return Err(MetricError::Unavailable);
    }
    if !target_allowed(&spec.source, spec.target) {
        return Err(MetricError::TargetTypeNotAllowed);
    }
    if spec.target.amount() <= 0 {
        return Err(MetricError::TargetNotPositive);
    }
    match (&spec.source, spec.target, reading) {
        (
            MetricSource::Resource { resource } | MetricSource::ContainerResource { resource, .. },
            MetricTarget::Utilization { percent },
            Reading::Pods(samples),
        ) => over_pods(ctx, samples, Some(*resource), Goal::Utilization { percent, resource: *resource }),
        (
            MetricSource::Resource { .. } | MetricSource::ContainerResource { .. } | MetricSource::Pods { .. },
            MetricTarget::AverageValue { milli },
            Reading::Pods(samples),
        ) => over_pods(ctx, samples, spec.source.resource(), Goal::Average { milli }),
        (source, MetricTarget::Value { milli }, Reading::Values(values)) if source.works_without_pods() => {
            whole_value(ctx, values, milli)
        }
        (source, MetricTarget::AverageValue { milli }, Reading::Values(values)) if source.works_without_pods() => {
            per_replica(ctx, values, milli)
        }
        _ => Err(MetricError::WrongReading),
    }
}

/// Rounded up and saturated to a count of replicas.
fn ceil_count(x: f64) -> i32 {
    x.ceil() as i32
}

fn within(band: Tolerances, ratio: f64) -> bool {
    1.0 - band.down <= ratio && ratio <= 1.0 + band.up
}

fn band_of(band: Tolerances, ratio: f64) -> Band {
    Band { low: 1.0 - band.down, high: 1.0 + band.up, inside: within(band, ratio) }
}

/// What a metric over pods is compared with.
#[derive(Clone, Copy)]
enum Goal {
    Utilization { percent: i32, resource: Resource },
    Average { milli: i64 },
}

/// One sample in the set: its value, and its pod's request (`None` for a pod that is not listed).
#[derive(Clone, Copy)]
struct Entry {
    value_milli: i64,
    request_milli: Option<i64>,
}

fn request_of(pod: &PodView, goal: Goal) -> Option<i64> {
    match goal {
        Goal::Utilization { resource: Resource::Cpu, .. } => pod.cpu_request_milli,
        Goal::Utilization { resource: Resource::Memory, .. } => pod.memory_request_milli,
        Goal::Average { .. } => Some(0),
    }
}

/// Resource, ContainerResource and Pods metrics.
fn over_pods(
    ctx: Context<'_>,
    samples: &[PodSample],
    resource: Option<Resource>,
    goal: Goal,
) -> Result<Proposal, MetricError> {
    let pods = &ctx.view.pods;
    if samples.is_empty() {
        return Err(MetricError::NoMetrics);
    }
    if pods.is_empty() {
        return Err(MetricError::NoPods);
    }
    let groups = classify(pods, samples, resource, ctx.periods, ctx.now);
    let entries: Vec<Entry> = samples
        .iter()
        .filter(|s| !groups.left_out.iter().any(|p| p.pod == s.pod))
        .map(|s| Entry {
            value_milli: s.value_milli,
            request_milli: pods.iter().find(|p| p.pod == s.pod).and_then(|p| request_of(p, goal)),
        })
        .collect();
    if entries.is_empty() {
        return Err(MetricError::NoReadyMetrics);
    }
    if let Some(pod) = pods.iter().find(|p| request_of(p, goal).is_none()) {
        return Err(MetricError::MissingRequest { pod: pod.pod });
    }
    let (read, ratio) = usage_ratio(&entries, goal)?;
    let band = band_of(ctx.tolerances, ratio);
    let any_missing = groups.of(LeftOutClass::Missing).next().is_some();
    let zero_unready = ratio > 1.0 && groups.of(LeftOutClass::Unready).next().is_some();
    let (replicas, rule, filled) = if any_missing || zero_unready {
        let (replicas, rule, filled) = with_fill(ctx, entries, &groups, ratio, goal)?;
        (replicas, rule, Some(filled))
    } else if band.inside {
        (ctx.view.spec_replicas, ProposalRule::WithinTolerance, None)
    } else {
        (ceil_count(ratio * f64::from(groups.ready)), ProposalRule::RatioTimesReady, None)
    };
    Ok(Proposal { replicas, read, pods: Some(groups), ratio: Some(ratio), band, filled, rule })
}

/// Judges again with missing and unready pods in the set, so that they damp the change.
fn with_fill(
    ctx: Context<'_>,
    mut entries: Vec<Entry>,
    groups: &PodGroups,
    ratio: f64,
    goal: Goal,
) -> Result<(i32, ProposalRule, Filled), MetricError> {
    let request = |pod| {
        let view = ctx.view.pods.iter().find(|p| p.pod == pod);
        view.and_then(|p| request_of(p, goal))
    };
    let (mut missing, mut missing_sum, mut unready) = (0, 0i64, 0);
    if ratio != 1.0 {
        for pod in groups.of(LeftOutClass::Missing) {
            let request_milli = request(pod.pod);
            let value_milli = match goal {
                _ if ratio > 1.0 => 0,
                Goal::Utilization { percent, .. } => {
                    let full = i128::from(request_milli.unwrap_or(0)) * i128::from(percent.max(100)) / 100;
                    saturate(full)
                }
                Goal::Average { milli } => milli,
            };
            missing += 1;
            missing_sum = missing_sum.saturating_add(value_milli);
            entries.push(Entry { value_milli, request_milli });
        }
    }
    if ratio > 1.0 {
        for pod in groups.of(LeftOutClass::Unready) {
            unready += 1;
            entries.push(Entry { value_milli: 0, request_milli: request(pod.pod) });
        }
    }
    let (_, again) = usage_ratio(&entries, goal)?;
    let size = count(entries.len());
    let inside = within(ctx.tolerances, again);
    let filled = Filled { missing, missing_sum_milli: missing_sum, unready, size, ratio: again, inside };
    let now = ctx.view.spec_replicas;
    let wanted = ceil_count(again * f64::from(size));
    let (replicas, rule) = if inside {
        (now, ProposalRule::FilledWithinTolerance)
    } else if (ratio < 1.0 && again > 1.0) || (ratio > 1.0 && again < 1.0) {
        (now, ProposalRule::FillReversesRatio)
    } else if (again < 1.0 && wanted > now) || (again > 1.0 && wanted < now) {
        (now, ProposalRule::FillReversesCount)
    } else {
        (wanted, ProposalRule::FilledRatioTimesSize)
    };
    Ok((replicas, rule, filled))
}

/// Usage over target of a set of samples.
///
/// Samples of pods that are not listed have no request, so a utilization leaves them out of both
/// sums; a plain average has nothing to tell them by and keeps them.
fn usage_ratio(entries: &[Entry], goal: Goal) -> Result<(Read, f64), MetricError> {
    match goal {
        Goal::Utilization { percent: target, .. } => {
            let known: Vec<(i64, i64)> =
                entries.iter().filter_map(|e| e.request_milli.map(|r| (e.value_milli, r))).collect();
            let sum: i128 = known.iter().map(|(v, _)| i128::from(*v)).sum();
            let requests: i128 = known.iter().map(|(_, r)| i128::from(*r)).sum();
            if requests == 0 {
                return Err(MetricError::NoKnownPodMetrics);
            }
            let percent = (sum * 100 / requests).clamp(i128::from(i32::MIN), i128::from(i32::MAX)) as i32;
            let read = Read::Utilization {
                percent,
                average_milli: saturate(sum / known.len() as i128),
                sum_milli: saturate(sum),
                request_sum_milli: saturate(requests),
                samples: count(known.len()),
            };
            Ok((read, f64::from(percent) / f64::from(target)))
        }
        Goal::Average { milli: target } => {
            let sum: i128 = entries.iter().map(|e| i128::from(e.value_milli)).sum();
            let average_milli = saturate(sum / (entries.len().max(1)) as i128);
            let read = Read::Average {
                average_milli,
                sum_milli: saturate(sum),
                samples: count(entries.len()),
                unknown_samples: count(entries.iter().filter(|e| e.request_milli.is_none()).count()),
            };
            Ok((read, average_milli as f64 / target as f64))
        }
    }
}

fn saturate(x: i128) -> i64 {
    x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The sum of all series.
fn total(values: &[i64]) -> Result<i64, MetricError> {
    if values.is_empty() {
        return Err(MetricError::NoMetrics);
    }
    Ok(saturate(values.iter().map(|v| i128::from(*v)).sum()))
}

/// Object and External metrics with a Value target.
fn whole_value(ctx: Context<'_>, values: &[i64], target_milli: i64) -> Result<Proposal, MetricError> {
    let value_milli = total(values)?;
    let ratio = value_milli as f64 / target_milli as f64;
    let band = band_of(ctx.tolerances, ratio);
    let ready = |p: &&PodView| p.phase == PodPhase::Running && p.ready.is_some_and(|r| r.status);
    let ready_pods = count(ctx.view.pods.iter().filter(ready).count());
    let (replicas, rule) = if ctx.view.spec_replicas == 0 {
        (ceil_count(ratio), ProposalRule::RatioFromZero)
    } else if band.inside {
        (ctx.view.spec_replicas, ProposalRule::WithinTolerance)
    } else if ctx.view.pods.is_empty() {
        return Err(MetricError::NoPods);
    } else {
        (ceil_count(ratio * f64::from(ready_pods)), ProposalRule::RatioTimesReady)
    };
    let read = Read::Value { value_milli, ready_pods };
    Ok(Proposal { replicas, read, pods: None, ratio: Some(ratio), band, filled: None, rule })
}

/// Object and External metrics with an AverageValue target: shared by all existing replicas.
fn per_replica(ctx: Context<'_>, values: &[i64], target_milli: i64) -> Result<Proposal, MetricError> {
    let value_milli = total(values)?;
    let existing = ctx.view.status_replicas;
    let ratio = value_milli as f64 / (target_milli as f64 * f64::from(existing));
    let band = band_of(ctx.tolerances, ratio);
    let (replicas, rule) = if band.inside {
        (existing, ProposalRule::WithinTolerance)
    } else {
        (ceil_count(value_milli as f64 / target_milli as f64), ProposalRule::ValueOverTarget)
    };
    let average_milli = match existing {
        _ if value_milli as f64 >= i64::MAX as f64 => Some(i64::MAX),
        0 => None,
        _ => Some((value_milli as f64 / f64::from(existing)).ceil() as i64),
    };
    let read = Read::PerReplica { value_milli, average_milli, replicas: existing };
    let ratio = Some(ratio).filter(|r| r.is_finite());
    Ok(Proposal { replicas, read, pods: None, ratio, band, filled: None, rule })
}
