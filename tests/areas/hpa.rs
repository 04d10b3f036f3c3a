//! HPA cases: each kind becomes a view and settings for the function the simulation calls.

use super::{Outcome, same};
use serde::Deserialize;
use serde_json::Value;
use seven_of_eight::sim::id::PodId;
use seven_of_eight::sim::replicas::hpa::behavior::{self, Bounds};
use seven_of_eight::sim::replicas::hpa::calculator::{Context, propose};
use seven_of_eight::sim::replicas::hpa::classify::{LeftOutClass, ReadinessPeriods, classify};
use seven_of_eight::sim::replicas::hpa::decision::{MetricError, Proposal, Read, ScalingLimitedReason};
use seven_of_eight::sim::replicas::hpa::settings::*;
use seven_of_eight::sim::replicas::hpa::{stabilize, *};
use seven_of_eight::sim::time::{Span, Time};

/// Far enough from the start that every age in the cases is a valid time.
const NOW: Time = Time::from_secs(1_000_000);
/// Pods that are not listed get ids from here on.
const UNKNOWN_PODS: u32 = 1_000_000;
/// Upstream's default for the scale-down window, where a case does not give the flag.
const DOWNSCALE_S: u32 = 300;

type Check = Result<(), String>;

pub fn check(case: &Value) -> Outcome {
    let kind = case["kind"].as_str().unwrap_or_default();
    let (input, expect) = (&case["input"], &case["expect"]);
    let result = match kind {
        "resource_utilization" | "pods_metric_average" => over_pods(kind, input, expect),
        "object_value" | "external_value" | "object_per_pod" | "external_per_pod" => whole(kind, input, expect),
        "classify_pods" => classify_pods(input, expect),
        "stabilize_default" => stabilize_default(input, expect),
        "stabilize_behavior" => stabilize_behavior(input, expect),
        "limit_default" => limit_default(input, expect),
        "limit_behavior" => limit_behavior(input, expect),
        "policy_limit" => policy_limit(input, expect),
        "store_event" => store_event(input, expect),
        "reconcile" => reconcile(input, expect),
        other => return Outcome::NotBuilt(other.to_owned()),
    };
    match result {
        Ok(()) => Outcome::Pass,
        Err(why) => Outcome::Fail(why),
    }
}

fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, String> {
    T::deserialize(value).map_err(|e| format!("unreadable case: {e}"))
}

fn ago(seconds: u32) -> Time {
    NOW - span(seconds)
}

fn span(seconds: u32) -> Span {
    Span::from_secs(u64::from(seconds))
}

/// Compares with `expect[field]` if the case has it.
fn expect_field<'a, T>(expect: &'a Value, field: &str, actual: T) -> Check
where
    T: Deserialize<'a> + PartialEq + std::fmt::Debug,
{
    match expect.get(field) {
        None => Ok(()),
        Some(value) => same(field, read::<T>(value)?, actual),
    }
}

/// Compares the name of a reason with `expect[field]`.
fn expect_reason(expect: &Value, field: &str, actual: impl std::fmt::Debug) -> Check {
    expect_field(expect, field, format!("{actual:?}"))
}

#[derive(Deserialize)]
struct Flags {
    tolerance_up: f64,
    tolerance_down: f64,
    cpu_initialization_period_s: u32,
    initial_readiness_delay_s: u32,
    downscale_stabilization_s: Option<u32>,
    scale_to_zero_gate: Option<bool>,
    configurable_tolerance_gate: Option<bool>,
}

impl Flags {
    fn controller(&self) -> ControllerFlags {
        let defaults = ControllerFlags::default();
        ControllerFlags {
            tolerance: Tolerances { up: self.tolerance_up, down: self.tolerance_down },
            cpu_initialization_period_s: self.cpu_initialization_period_s,
            initial_readiness_delay_s: self.initial_readiness_delay_s,
            downscale_stabilization_s: self.downscale_stabilization_s.unwrap_or(DOWNSCALE_S),
            scale_to_zero_gate: self.scale_to_zero_gate.unwrap_or(defaults.scale_to_zero_gate),
            configurable_tolerance_gate: self
                .configurable_tolerance_gate
                .unwrap_or(defaults.configurable_tolerance_gate),
            ..defaults
        }
    }

    fn periods(&self) -> ReadinessPeriods {
        ReadinessPeriods {
            cpu_initialization: span(self.cpu_initialization_period_s),
            initial_readiness_delay: span(self.initial_readiness_delay_s),
        }
    }
}

#[derive(Deserialize)]
struct Pod {
    name: String,
    phase: String,
    deleting: bool,
    ready: Option<bool>,
    start_age_s: Option<u32>,
    ready_changed_age_s: Option<u32>,
    request_milli: Option<i64>,
    value_milli: Option<i64>,
    metric_age_s: Option<u32>,
    metric_window_s: Option<u32>,
}

impl Pod {
    fn view(&self, index: usize) -> Result<PodView, String> {
        let phase = match self.phase.as_str() {
            "pending" => PodPhase::Pending,
            "running" => PodPhase::Running,
            "succeeded" => PodPhase::Succeeded,
            "failed" => PodPhase::Failed,
            other => return Err(format!("unknown phase {other}")),
        };
        let changed = self.ready_changed_age_s.map_or(Time::ZERO, ago);
        Ok(PodView {
            pod: PodId::from_index(index),
            phase,
            deleting: self.deleting,
            ready: self.ready.map(|status| ReadyCondition { status, changed }),
            started: self.start_age_s.map(ago),
            cpu_request_milli: self.request_milli,
            memory_request_milli: self.request_milli,
        })
    }

    fn sample(&self, index: usize, value_milli: i64) -> PodSample {
        let at = self.metric_age_s.map_or(NOW, ago);
        let window = self.metric_window_s.map_or(Span::ZERO, span);
        PodSample { pod: PodId::from_index(index), value_milli, at, window }
    }
}

fn views(pods: &[Pod]) -> Result<Vec<PodView>, String> {
    pods.iter().enumerate().map(|(i, p)| p.view(i)).collect()
}

fn own_samples(pods: &[Pod]) -> Vec<PodSample> {
    pods.iter().enumerate().filter_map(|(i, p)| p.value_milli.map(|v| p.sample(i, v))).collect()
}

fn unknown_samples(values: &[i64]) -> impl Iterator<Item = PodSample> + '_ {
    (UNKNOWN_PODS..).zip(values).map(|(id, v)| PodSample {
        pod: PodId(id),
        value_milli: *v,
        at: NOW,
        window: Span::ZERO,
    })
}

fn resource(name: Option<&str>) -> Result<Option<Resource>, String> {
    match name {
        None => Ok(None),
        Some("cpu") => Ok(Some(Resource::Cpu)),
        Some("memory") => Ok(Some(Resource::Memory)),
        Some(other) => Err(format!("unknown resource {other}")),
    }
}

fn pod_source(name: Option<&str>) -> Result<MetricSource, String> {
    Ok(match resource(name)? {
        Some(resource) => MetricSource::Resource { resource },
        None => MetricSource::Pods { metric: "custom".into() },
    })
}

fn error_name(error: MetricError) -> &'static str {
    match error {
        MetricError::NoMetrics => "no_metrics",
        MetricError::NoPods => "no_pods",
        MetricError::NoReadyMetrics => "no_ready_metrics",
        MetricError::NoKnownPodMetrics => "no_known_pod_metrics",
        MetricError::MissingRequest { .. } => "missing_request",
        _ => "other",
    }
}

fn compare_proposal(expect: &Value, outcome: Result<Proposal, MetricError>) -> Check {
    let error = expect.get("error").and_then(Value::as_str);
    let proposal = match outcome {
        Err(e) => return same("error", error, Some(error_name(e))),
        Ok(proposal) => proposal,
    };
    same("error", error, None)?;
    expect_field(expect, "replicas", i64::from(proposal.replicas))?;
    match proposal.read {
        Read::Utilization { percent, average_milli, .. } => {
            expect_field(expect, "utilization_percent", i64::from(percent))?;
            expect_field(expect, "average_milli", average_milli)
        }
        Read::Average { average_milli, .. } => expect_field(expect, "average_milli", average_milli),
        Read::Value { value_milli, .. } => expect_field(expect, "value_milli", value_milli),
        Read::PerReplica { average_milli, .. } => expect_field(expect, "average_milli", average_milli),
    }
}

fn calculate(flags: &Flags, view: HpaView, spec: &MetricSpec) -> Result<Proposal, MetricError> {
    let tolerances = flags.controller().tolerance;
    let ctx = Context { view: &view, tolerances, periods: flags.periods(), now: NOW };
    propose(ctx, spec, &view.readings[0])
}

fn over_pods(kind: &str, input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        settings: Flags,
        resource: Option<String>,
        current_replicas: i32,
        target_utilization_percent: Option<i32>,
        target_milli: Option<i64>,
        pods: Vec<Pod>,
        #[serde(default)]
        unknown_pod_values_milli: Vec<i64>,
    }
    let input: Input = read(input)?;
    let target = match kind {
        "resource_utilization" => {
            MetricTarget::Utilization { percent: input.target_utilization_percent.ok_or("no target")? }
        }
        _ => MetricTarget::AverageValue { milli: input.target_milli.ok_or("no target")? },
    };
    let mut samples = own_samples(&input.pods);
    samples.extend(unknown_samples(&input.unknown_pod_values_milli));
    let view = HpaView {
        spec_replicas: input.current_replicas,
        status_replicas: input.current_replicas,
        pods: views(&input.pods)?,
        readings: vec![Reading::Pods(samples)],
    };
    let spec = MetricSpec { source: pod_source(input.resource.as_deref())?, target };
    compare_proposal(expect, calculate(&input.settings, view, &spec))
}

fn whole(kind: &str, input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        settings: Flags,
        current_replicas: Option<i32>,
        status_replicas: Option<i32>,
        target_milli: i64,
        values_milli: Vec<i64>,
        #[serde(default)]
        pods: Vec<Pod>,
    }
    let input: Input = read(input)?;
    let replicas = input.current_replicas.or(input.status_replicas).ok_or("no replicas")?;
    let metric = "whole".to_owned();
    let source =
        if kind.starts_with("object") { MetricSource::Object { metric } } else { MetricSource::External { metric } };
    let target = if kind.ends_with("per_pod") {
        MetricTarget::AverageValue { milli: input.target_milli }
    } else {
        MetricTarget::Value { milli: input.target_milli }
    };
    let view = HpaView {
        spec_replicas: replicas,
        status_replicas: replicas,
        pods: views(&input.pods)?,
        readings: vec![Reading::Values(input.values_milli)],
    };
    compare_proposal(expect, calculate(&input.settings, view, &MetricSpec { source, target }))
}

fn classify_pods(input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        settings: Flags,
        resource: Option<String>,
        pods: Vec<Pod>,
    }
    let input: Input = read(input)?;
    let pods = views(&input.pods)?;
    let samples = own_samples(&input.pods);
    let groups = classify(&pods, &samples, resource(input.resource.as_deref())?, input.settings.periods(), NOW);
    expect_field(expect, "ready_count", groups.ready)?;
    let fields =
        [("unready", LeftOutClass::Unready), ("missing", LeftOutClass::Missing), ("ignored", LeftOutClass::Ignored)];
    for (field, class) in fields {
        let Some(names) = expect.get(field) else { continue };
        let mut expected: Vec<String> = read(names)?;
        let mut actual: Vec<String> = groups.of(class).map(|p| input.pods[p.pod.index()].name.clone()).collect();
        expected.sort();
        actual.sort();
        same(field, expected, actual)?;
    }
    Ok(())
}

#[derive(Deserialize)]
struct Past {
    replicas: i32,
    age_s: u32,
}

fn history(past: &[Past]) -> Vec<Recommendation> {
    past.iter().map(|p| Recommendation { replicas: p.replicas, at: ago(p.age_s) }).collect()
}

fn events(past: &[Past]) -> Vec<ScaleEvent> {
    past.iter().map(|p| ScaleEvent { replicas: p.replicas, at: ago(p.age_s), outdated: false }).collect()
}

fn stabilize_default(input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        scale_down_window_s: u32,
        desired_replicas: i32,
        recommendations: Vec<Past>,
    }
    let input: Input = read(input)?;
    let mut stored = history(&input.recommendations);
    let window = span(input.scale_down_window_s);
    let result = stabilize::stabilize_default(&mut stored, input.desired_replicas, window, NOW);
    expect_field(expect, "replicas", result.result)?;
    expect_field(expect, "stored_count", stored.len())
}

fn stabilize_behavior(input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        scale_up_window_s: u32,
        scale_down_window_s: u32,
        current_replicas: i32,
        desired_replicas: i32,
        recommendations: Vec<Past>,
    }
    let input: Input = read(input)?;
    let mut stored = history(&input.recommendations);
    let result = stabilize::stabilize_behavior(
        &mut stored,
        input.current_replicas,
        input.desired_replicas,
        span(input.scale_up_window_s),
        span(input.scale_down_window_s),
        NOW,
    );
    expect_field(expect, "replicas", result.result)?;
    let replicas: Vec<i32> = stored.iter().map(|r| r.replicas).collect();
    expect_field(expect, "stored_recommendations", replicas)
}

#[derive(Deserialize)]
struct Limits {
    current_replicas: i32,
    desired_replicas: Option<i32>,
    min_replicas: Option<i32>,
    max_replicas: Option<i32>,
    scale_up: Option<ScalingRules>,
    scale_down: Option<ScalingRules>,
    #[serde(default)]
    scale_up_events: Vec<Past>,
    #[serde(default)]
    scale_down_events: Vec<Past>,
    direction: Option<String>,
}

impl Limits {
    fn bounds(&self) -> Result<Bounds, String> {
        Ok(Bounds {
            current: self.current_replicas,
            min: self.min_replicas.ok_or("no min")?,
            max: self.max_replicas.ok_or("no max")?,
        })
    }

    fn behavior(&self) -> ResolvedBehavior {
        Behavior { scale_up: self.scale_up.clone(), scale_down: self.scale_down.clone() }.resolve(DOWNSCALE_S)
    }

    fn events(&self) -> ScaleEvents {
        ScaleEvents { up: events(&self.scale_up_events), down: events(&self.scale_down_events) }
    }
}

fn compare_limit(expect: &Value, replicas: i32, reason: ScalingLimitedReason) -> Check {
    expect_field(expect, "replicas", replicas)?;
    expect_reason(expect, "reason", reason)
}

fn limit_default(input: &Value, expect: &Value) -> Check {
    let input: Limits = read(input)?;
    let result = behavior::limit_default(input.bounds()?, input.desired_replicas.ok_or("no desired")?);
    compare_limit(expect, result.result, result.reason)
}

fn limit_behavior(input: &Value, expect: &Value) -> Check {
    let input: Limits = read(input)?;
    let desired = input.desired_replicas.ok_or("no desired")?;
    let result = behavior::limit_behavior(input.bounds()?, desired, &input.behavior(), &input.events(), NOW);
    compare_limit(expect, result.result, result.reason)
}

fn policy_limit(input: &Value, expect: &Value) -> Check {
    let input: Limits = read(input)?;
    let rules = input.behavior();
    let (direction, rules) = match input.direction.as_deref() {
        Some("up") => (Direction::Up, rules.up),
        Some("down") => (Direction::Down, rules.down),
        other => return Err(format!("unknown direction {other:?}")),
    };
    let limits = behavior::policy_limits(direction, input.current_replicas, &rules, &input.events(), NOW);
    expect_field(expect, "limit", limits.limit)
}

fn store_event(input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        count_period_s: u32,
        new_change: i32,
        events: Vec<Past>,
        policies: Option<Vec<ScalingPolicy>>,
    }
    #[derive(Deserialize, PartialEq, Debug)]
    struct Stored {
        replicas: i32,
        outdated: bool,
    }
    let input: Input = read(input)?;
    let mut stored = events(&input.events);
    let counted = behavior::change_within(&stored, span(input.count_period_s), NOW);
    expect_field(expect, "counted_change", counted)?;
    // Without a behavior the controller stores nothing.
    if let Some(policies) = input.policies {
        let rules = ScalingRules { policies: Some(policies), ..ScalingRules::default() };
        behavior::store_event(&mut stored, resolve_up(Some(&rules)).longest_period(), input.new_change, NOW);
    }
    let stored: Vec<Stored> = stored.iter().map(|e| Stored { replicas: e.replicas, outdated: e.outdated }).collect();
    expect_field(expect, "stored", stored)
}

#[derive(Deserialize)]
struct Metric {
    #[serde(rename = "type")]
    kind: String,
    resource: Option<String>,
    target_type: Option<String>,
    target: Option<i64>,
    pod_values_milli: Option<Vec<Option<i64>>>,
    values_milli: Option<Vec<i64>>,
    #[serde(default)]
    unknown_pod_values_milli: Vec<i64>,
    #[serde(default)]
    error: bool,
}

impl Metric {
    fn spec(&self) -> Result<MetricSpec, String> {
        let metric = "metric".to_owned();
        let source = match self.kind.as_str() {
            "resource" => {
                let resource = resource(self.resource.as_deref())?.unwrap_or(Resource::Cpu);
                MetricSource::Resource { resource }
            }
            "pods" => MetricSource::Pods { metric },
            "object" => MetricSource::Object { metric },
            "external" => MetricSource::External { metric },
            "unknown" => MetricSource::Unknown,
            other => return Err(format!("unknown metric type {other}")),
        };
        let amount = self.target.unwrap_or(1);
        let target = match self.target_type.as_deref() {
            Some("utilization") => {
                MetricTarget::Utilization { percent: i32::try_from(amount).map_err(|e| e.to_string())? }
            }
            Some("value") => MetricTarget::Value { milli: amount },
            Some("average_value") | None => MetricTarget::AverageValue { milli: amount },
            Some(other) => return Err(format!("unknown target type {other}")),
        };
        Ok(MetricSpec { source, target })
    }

    fn reading(&self, pods: &[Pod]) -> Reading {
        if self.error {
            return Reading::Unavailable;
        }
        if let Some(values) = &self.values_milli {
            return Reading::Values(values.clone());
        }
        let values = self.pod_values_milli.iter().flatten();
        let own = pods.iter().enumerate().zip(values);
        let mut samples: Vec<PodSample> = own.filter_map(|((i, p), v)| v.map(|v| p.sample(i, v))).collect();
        samples.extend(unknown_samples(&self.unknown_pod_values_milli));
        Reading::Pods(samples)
    }
}

fn reconcile(input: &Value, expect: &Value) -> Check {
    #[derive(Deserialize)]
    struct Input {
        settings: Flags,
        min_replicas: i32,
        max_replicas: i32,
        spec_replicas: i32,
        status_replicas: i32,
        behavior: Option<Behavior>,
        metrics: Vec<Metric>,
        pods: Vec<Pod>,
        recommendations: Option<Vec<Past>>,
        #[serde(default)]
        scale_up_events: Vec<Past>,
        #[serde(default)]
        scale_down_events: Vec<Past>,
        scaled_to_zero: Option<bool>,
    }
    let input: Input = read(input)?;
    let settings = HpaSettings {
        min_replicas: input.min_replicas,
        max_replicas: input.max_replicas,
        metrics: input.metrics.iter().map(Metric::spec).collect::<Result<_, _>>()?,
        behavior: input.behavior.clone(),
        controller: input.settings.controller(),
    };
    let view = HpaView {
        spec_replicas: input.spec_replicas,
        status_replicas: input.status_replicas,
        pods: views(&input.pods)?,
        readings: input.metrics.iter().map(|m| m.reading(&input.pods)).collect(),
    };
    let memory = HpaMemory {
        recommendations: input.recommendations.as_deref().map(history),
        events: ScaleEvents { up: events(&input.scale_up_events), down: events(&input.scale_down_events) },
        scaled_to_zero: input.scaled_to_zero,
        last_scale: None,
    };
    let (decision, _) = decide(&view, &settings, memory, NOW);
    expect_field(expect, "replicas", decision.desired)?;
    expect_field(expect, "rescaled", decision.rescaled)?;
    let conditions = decision.conditions;
    expect_reason(expect, "able_to_scale_reason", conditions.able_to_scale)?;
    let active = conditions.scaling_active.map(|r| format!("{r:?}"));
    expect_field(expect, "scaling_active_reason", active)?;
    expect_field(expect, "scaling_active", conditions.scaling_active.map(|r| r.is_active()))?;
    let limited = conditions.scaling_limited.map(|l| format!("{:?}", l.reason));
    expect_field(expect, "scaling_limited_reason", limited)?;
    expect_field(expect, "scaling_limited", conditions.scaling_limited.map(|l| l.limited))?;
    expect_field(expect, "scaled_to_zero", conditions.scaled_to_zero)
}
