//! The record of one sync: every number needed to work the result out again by hand, and the
//! reasons as closed enums. The why-log makes sentences of it; nothing here is text.

use super::Direction;
use super::classify::PodGroups;
use super::settings::{MetricSource, MetricTarget, ScalingPolicy, SelectPolicy};
use crate::sim::id::PodId;
use crate::sim::time::{Span, Time};
use serde::Serialize;

/// One sync of one HPA.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HpaDecision {
    pub at: Time,
    /// `scale.spec.replicas` before: what was asked for.
    pub spec_replicas: i32,
    /// `scale.status.replicas`: the pods that exist.
    pub status_replicas: i32,
    pub min_replicas: i32,
    pub max_replicas: i32,
    pub path: HpaPath,
    /// One report per metric; empty when no metric was read.
    pub metrics: Vec<MetricReport>,
    /// The largest valid proposal; `None` when no metric was read or they did not suffice.
    pub combined: Option<Combined>,
    pub stabilized: Option<Stabilization>,
    pub limited: Option<Limiting>,
    /// A wake-up from 0 was raised to `min_replicas`.
    pub raised_to_min: bool,
    /// `scale.spec.replicas` after.
    pub desired: i32,
    /// Whether the scale was written.
    pub rescaled: bool,
    pub conditions: HpaConditions,
}

/// Which of the branches of a sync was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum HpaPath {
    /// The target is at 0 and this HPA did not bring it there: switched off.
    Disabled,
    /// More than `max_replicas`: one step to it, without metrics, windows or rates.
    AboveMax,
    /// Fewer than `min_replicas`: one step to it, without metrics, windows or rates.
    BelowMin,
    /// All metrics were invalid, or some were and the rest would scale down.
    MetricsInvalid,
    /// The whole computation.
    Computed,
}

/// What one metric said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricReport {
    pub source: MetricSource,
    pub target: MetricTarget,
    pub outcome: Result<Proposal, MetricError>,
}

/// Why a metric made no proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum MetricError {
    /// The metrics API returned an error.
    Unavailable,
    /// The API answered with no sample or series.
    NoMetrics,
    /// No pod matches the target's selector.
    NoPods,
    /// All samples belong to pods that are set aside.
    NoReadyMetrics,
    /// All samples belong to pods that are not in the list.
    NoKnownPodMetrics,
    /// This pod has no request for the resource.
    MissingRequest { pod: PodId },
    /// A target that is not positive.
    TargetNotPositive,
    /// A target type that this source cannot have.
    TargetTypeNotAllowed,
    /// The reading does not fit the source: pod samples where values belong, or the reverse.
    WrongReading,
    /// A source type the controller does not know.
    UnknownSource,
}

/// A metric's proposal and how it came about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Proposal {
    pub replicas: i32,
    pub read: Read,
    /// How the pods were sorted; for metrics over pods only.
    pub pods: Option<PodGroups>,
    /// Usage over target, over the samples that count. `None` where it divides by 0 replicas.
    pub ratio: Option<f64>,
    pub band: Band,
    /// The second judgement, with left-out pods filled in.
    pub filled: Option<Filled>,
    pub rule: ProposalRule,
}

/// The tolerance band, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    pub low: f64,
    pub high: f64,
    /// Whether the first ratio is inside.
    pub inside: bool,
}

/// What was read, in the units of the target. Sums and averages are thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Read {
    /// `percent = 100 * sum / request_sum`, truncated; `average = sum / samples`, truncated.
    Utilization { percent: i32, average_milli: i64, sum_milli: i64, request_sum_milli: i64, samples: u32 },
    /// `average = sum / samples`, truncated. Samples of unknown pods are among them.
    Average { average_milli: i64, sum_milli: i64, samples: u32, unknown_samples: u32 },
    /// A whole value, with the number of ready pods that its ratio multiplies.
    Value { value_milli: i64, ready_pods: u32 },
    /// A whole value shared by all existing replicas; the average is `ceil(value / replicas)`.
    PerReplica { value_milli: i64, average_milli: Option<i64>, replicas: i32 },
}

/// The set of samples after missing and unready pods were filled in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Filled {
    pub missing: u32,
    /// Sum of what the missing pods entered with, in thousandths.
    pub missing_sum_milli: i64,
    /// Unready pods that entered as 0.
    pub unready: u32,
    /// Samples in the filled set.
    pub size: u32,
    pub ratio: f64,
    pub inside: bool,
}

/// Which line of the algorithm gave the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ProposalRule {
    /// Inside the band: as many as now.
    WithinTolerance,
    /// `ceil(ratio * ready pods)`.
    RatioTimesReady,
    /// With the fill inside the band: as many as now.
    FilledWithinTolerance,
    /// The fill puts the ratio on the other side of 1: as many as now.
    FillReversesRatio,
    /// The filled count would go against the ratio: as many as now.
    FillReversesCount,
    /// `ceil(filled ratio * size of the filled set)`.
    FilledRatioTimesSize,
    /// From 0 replicas: `ceil(ratio)`, no band.
    RatioFromZero,
    /// `ceil(value / target)`.
    ValueOverTarget,
}

/// The largest proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Combined {
    pub replicas: i32,
    /// Position of the metric that proposed it, the first of equals.
    pub metric: usize,
    /// How many metrics were invalid.
    pub invalid: u32,
}

/// What the recent proposals made of the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stabilization {
    pub proposal: i32,
    pub windows: Windows,
    pub result: i32,
    /// Which window changed the result, if one did.
    pub held_by: Option<Direction>,
}

/// The windows and what they hold, the new proposal included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Windows {
    /// No `behavior`: the highest of the controller's window, which includes its far end.
    Controller { window: Span, highest: i32 },
    /// `behavior`: both windows exclude their far end.
    Behavior { up_window: Span, up_lowest: i32, down_window: Span, down_highest: i32 },
}

/// Rates and bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limiting {
    pub stabilized: i32,
    pub rate: RateLimit,
    /// After the rate limit alone.
    pub after_rate: i32,
    /// After `min_replicas` and `max_replicas` too.
    pub result: i32,
    pub reason: ScalingLimitedReason,
}

/// The rate limit in the direction of the change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum RateLimit {
    /// No `behavior`: up to `max(2 * current, 4)`, down without limit.
    Doubling { limit: i32 },
    /// `behavior`.
    Policies(PolicyLimits),
    /// `behavior`, and no change is wanted.
    NotNeeded,
}

/// The policies of one direction and the limit they select.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyLimits {
    pub direction: Direction,
    pub select: SelectPolicy,
    pub policies: Vec<PolicyLimit>,
    /// The selected limit, before it is kept from pointing the other way.
    pub limit: i32,
    /// The limit in force: never against the direction.
    pub limit_in_force: i32,
}

/// One policy's arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PolicyLimit {
    pub policy: ScalingPolicy,
    /// Replicas added within the period.
    pub added: i32,
    /// Replicas removed within the period.
    pub removed: i32,
    /// `current - added + removed`.
    pub period_start_replicas: i32,
    pub limit: i32,
}

/// Conditions that this sync set. `None`: left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct HpaConditions {
    /// Always True here: the scale can always be read and written.
    pub able_to_scale: AbleToScaleReason,
    pub scaling_active: Option<ScalingActiveReason>,
    pub scaling_limited: Option<ScalingLimited>,
    /// `ScaledToZero` after this sync; `None` when the object does not have it.
    pub scaled_to_zero: Option<bool>,
}

/// Reasons of `AbleToScale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum AbleToScaleReason {
    SucceededGetScale,
    ReadyForNewScale,
    ScaleUpStabilized,
    ScaleDownStabilized,
    SucceededRescale,
}

/// Reasons of `ScalingActive`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ScalingActiveReason {
    ValidMetricFound,
    ScalingDisabled,
    FailedGetResourceMetric,
    FailedGetContainerResourceMetric,
    FailedGetPodsMetric,
    FailedGetObjectMetric,
    FailedGetExternalMetric,
    InvalidMetricSourceType,
}

impl ScalingActiveReason {
    /// The status of the condition.
    pub fn is_active(self) -> bool {
        self == ScalingActiveReason::ValidMetricFound
    }
}

/// `ScalingLimited`: status and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ScalingLimited {
    pub limited: bool,
    pub reason: ScalingLimitedReason,
}

/// Reasons of `ScalingLimited`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ScalingLimitedReason {
    DesiredWithinRange,
    /// Cut off by `min_replicas`.
    TooFewReplicas,
    /// Cut off by `max_replicas`.
    TooManyReplicas,
    /// Cut off by the rate upwards.
    ScaleUpLimit,
    /// Cut off by the rate downwards.
    ScaleDownLimit,
}
