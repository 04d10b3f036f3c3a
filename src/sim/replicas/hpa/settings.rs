//! What an autoscaling/v2 HorizontalPodAutoscaler asks for, and the flags of the controller that
//! runs it. Kubernetes' own words in snake case (`minReplicas` is `min_replicas`); a field left out
//! means the API default. Read by the other files of this folder; checked by [`HpaSettings::validate`].

use crate::sim::time::Span;
use serde::{Deserialize, Serialize};

/// One HPA object with the controller's flags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HpaSettings {
    /// Lower bound. 0 needs the scale-to-zero gate and an Object or External metric.
    #[serde(default = "one")]
    pub min_replicas: i32,
    /// Upper bound.
    pub max_replicas: i32,
    /// What to follow. Empty means the API default, cpu at 80 % utilization.
    #[serde(default)]
    pub metrics: Vec<MetricSpec>,
    /// Rates and windows. `None` selects the older rules: doubling at most, and one scale-down
    /// window for the whole controller.
    #[serde(default)]
    pub behavior: Option<Behavior>,
    /// Flags of kube-controller-manager.
    #[serde(default)]
    pub controller: ControllerFlags,
}

fn one() -> i32 {
    1
}

/// One entry of `spec.metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricSpec {
    pub source: MetricSource,
    pub target: MetricTarget,
}

/// Where a metric comes from (`metrics[].type`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MetricSource {
    /// cpu or memory of the pods, summed over containers.
    Resource { resource: Resource },
    /// cpu or memory of one container of each pod.
    ContainerResource { resource: Resource, container: String },
    /// A custom metric that each pod has, averaged.
    Pods { metric: String },
    /// One value that belongs to another object.
    Object { metric: String },
    /// Values from outside the cluster's API; all matching series are summed.
    External { metric: String },
    /// A type this controller does not know. The API refuses it; a sync reports it as invalid.
    Unknown,
}

impl MetricSource {
    /// Object and External metrics have a value without any pod, so they can wake a fleet at 0.
    pub fn works_without_pods(&self) -> bool {
        matches!(self, MetricSource::Object { .. } | MetricSource::External { .. })
    }

    /// The compute resource, if it is a resource metric. Decides whether readiness rules apply.
    pub fn resource(&self) -> Option<Resource> {
        match self {
            MetricSource::Resource { resource } | MetricSource::ContainerResource { resource, .. } => Some(*resource),
            _ => None,
        }
    }
}

/// A compute resource that the resource metrics API serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    Cpu,
    Memory,
}

/// What the metric is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MetricTarget {
    /// Percent of the pods' requests; resource metrics only.
    Utilization { percent: i32 },
    /// Average per pod, in thousandths.
    AverageValue { milli: i64 },
    /// The value itself, in thousandths; Object and External only.
    Value { milli: i64 },
}

impl MetricTarget {
    /// The target as a number: percent, or thousandths.
    pub fn amount(self) -> i64 {
        match self {
            MetricTarget::Utilization { percent } => i64::from(percent),
            MetricTarget::AverageValue { milli } | MetricTarget::Value { milli } => milli,
        }
    }
}

/// `spec.behavior`. A direction left out has the API's default rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behavior {
    pub scale_up: Option<ScalingRules>,
    pub scale_down: Option<ScalingRules>,
}

/// `behavior.scaleUp` or `behavior.scaleDown`; each field left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScalingRules {
    /// Seconds of past proposals that hold a change back.
    pub stabilization_window_s: Option<u32>,
    pub select_policy: Option<SelectPolicy>,
    pub policies: Option<Vec<ScalingPolicy>>,
    /// Replaces the controller's tolerance in this direction, if the gate is on.
    pub tolerance: Option<f64>,
}

/// Which of several policies counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectPolicy {
    /// The one that allows the largest change.
    Max,
    /// The one that allows the smallest change.
    Min,
    /// No change in this direction.
    Disabled,
}

/// At most `value` pods or percent within `period_s` seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalingPolicy {
    #[serde(rename = "type")]
    pub kind: PolicyType,
    pub value: i32,
    pub period_s: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyType {
    Pods,
    Percent,
}

/// How far the ratio may be from 1 in each direction without a change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    pub up: f64,
    pub down: f64,
}

impl Default for Tolerances {
    fn default() -> Self {
        Tolerances { up: 0.1, down: 0.1 }
    }
}

/// Flags and feature gates of the controller; the defaults are those of Kubernetes 1.37.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControllerFlags {
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period_s: u32,
    /// `--horizontal-pod-autoscaler-tolerance`; upstream has one value for both directions.
    pub tolerance: Tolerances,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization_s: u32,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period_s: u32,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay_s: u32,
    /// Gate `HPAScaleToZero`.
    pub scale_to_zero_gate: bool,
    /// Gate `HPAConfigurableTolerance`.
    pub configurable_tolerance_gate: bool,
}

impl Default for ControllerFlags {
    fn default() -> Self {
        ControllerFlags {
            sync_period_s: 15,
            tolerance: Tolerances::default(),
            downscale_stabilization_s: 300,
            cpu_initialization_period_s: 300,
            initial_readiness_delay_s: 30,
            scale_to_zero_gate: true,
            configurable_tolerance_gate: true,
        }
    }
}

/// Rules of one direction with every default filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedRules {
    pub window: Span,
    pub select: SelectPolicy,
    pub policies: Vec<ScalingPolicy>,
}

impl ResolvedRules {
    /// The longest period of its policies: older scale events are of no use to them.
    pub fn longest_period(&self) -> Span {
        Span::from_secs(self.policies.iter().map(|p| u64::from(p.period_s)).max().unwrap_or(0))
    }
}

/// Both directions, resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResolvedBehavior {
    pub up: ResolvedRules,
    pub down: ResolvedRules,
}

impl Behavior {
    /// Fills in the API defaults; the scale-down window defaults to the controller's flag.
    pub fn resolve(&self, downscale_stabilization_s: u32) -> ResolvedBehavior {
        ResolvedBehavior {
            up: resolve_up(self.scale_up.as_ref()),
            down: resolve_down(self.scale_down.as_ref(), downscale_stabilization_s),
        }
    }
}

/// Scale-up default: no window, the larger of 4 pods and 100 percent per 15 s.
pub fn resolve_up(rules: Option<&ScalingRules>) -> ResolvedRules {
    let default = vec![
        ScalingPolicy { kind: PolicyType::Pods, value: 4, period_s: 15 },
        ScalingPolicy { kind: PolicyType::Percent, value: 100, period_s: 15 },
    ];
    resolve_rules(rules, 0, default)
}

/// Scale-down default: the controller's window, 100 percent per 15 s.
pub fn resolve_down(rules: Option<&ScalingRules>, downscale_stabilization_s: u32) -> ResolvedRules {
    let default = vec![ScalingPolicy { kind: PolicyType::Percent, value: 100, period_s: 15 }];
    resolve_rules(rules, downscale_stabilization_s, default)
}

fn resolve_rules(rules: Option<&ScalingRules>, window_s: u32, policies: Vec<ScalingPolicy>) -> ResolvedRules {
    let rules = rules.cloned().unwrap_or_default();
    ResolvedRules {
        window: Span::from_secs(u64::from(rules.stabilization_window_s.unwrap_or(window_s))),
        select: rules.select_policy.unwrap_or(SelectPolicy::Max),
        policies: rules.policies.unwrap_or(policies),
    }
}

impl HpaSettings {
    /// The metrics in force: the API's default when none is given.
    pub fn metrics_in_force(&self) -> Vec<MetricSpec> {
        if self.metrics.is_empty() {
            vec![MetricSpec {
                source: MetricSource::Resource { resource: Resource::Cpu },
                target: MetricTarget::Utilization { percent: 80 },
            }]
        } else {
            self.metrics.clone()
        }
    }

    /// The band in force: the flag, or `behavior`'s own per direction behind its gate.
    pub fn tolerances(&self) -> Tolerances {
        let mut band = self.controller.tolerance;
        if let (true, Some(behavior)) = (self.controller.configurable_tolerance_gate, &self.behavior) {
            let own = |rules: &Option<ScalingRules>| rules.as_ref().and_then(|r| r.tolerance);
            band.up = own(&behavior.scale_up).unwrap_or(band.up);
            band.down = own(&behavior.scale_down).unwrap_or(band.down);
        }
        band
    }
}
