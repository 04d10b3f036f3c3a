//! Sorting the pods of a target before their samples are averaged: which count, which are set
//! aside, and why (Kubernetes HPA replica calculator, `groupPods`).

use super::settings::Resource;
use super::{PodPhase, PodSample, PodView};
use crate::sim::id::PodId;
use crate::sim::time::{Span, Time};
use serde::Serialize;

/// Why a pod's sample is left out of the first average. In the order in which the rules are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LeftOutReason {
    /// Being deleted: ignored.
    Deleting,
    /// Phase Failed: ignored.
    Failed,
    /// Phase Pending: unscheduled, or its containers have not started.
    Pending,
    /// Running, but the metrics API has no sample of it.
    NoSample,
    /// cpu only: the pod has no Ready condition.
    NoReadyCondition,
    /// cpu only: the pod has no start time.
    NoStartTime,
    /// cpu only: inside the initialization period and not ready.
    NotReadyWhileInitializing,
    /// cpu only: inside the initialization period, and the sample reaches back to before it was ready.
    SampleFromBeforeReady,
    /// cpu only: past the initialization period, not ready, and never was.
    NeverReady,
}

/// What becomes of a pod that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum LeftOutClass {
    /// Enters as 0 when the ratio is above 1.
    Unready,
    /// Enters as 0 when the ratio is above 1, at the target when below.
    Missing,
    /// Never enters.
    Ignored,
}

impl LeftOutReason {
    pub fn class(self) -> LeftOutClass {
        match self {
            LeftOutReason::Deleting | LeftOutReason::Failed => LeftOutClass::Ignored,
            LeftOutReason::NoSample => LeftOutClass::Missing,
            _ => LeftOutClass::Unready,
        }
    }
}

/// Periods that decide when a starting pod's cpu sample counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReadinessPeriods {
    pub cpu_initialization: Span,
    pub initial_readiness_delay: Span,
}

/// A pod that is left out of the first average.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LeftOutPod {
    pub pod: PodId,
    pub reason: LeftOutReason,
    /// The sample that was dropped, in thousandths.
    pub dropped_milli: Option<i64>,
}

/// The pods of a target, sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PodGroups {
    /// Pods whose samples count; the ratio multiplies this number.
    pub ready: u32,
    /// The others, in the order of the view.
    pub left_out: Vec<LeftOutPod>,
}

impl PodGroups {
    /// Left-out pods of one class, in the order of the view.
    pub fn of(&self, class: LeftOutClass) -> impl Iterator<Item = &LeftOutPod> {
        self.left_out.iter().filter(move |p| p.reason.class() == class)
    }
}

/// Sorts `pods`. `resource` is `None` for custom metrics, to which the readiness rules do not apply.
pub fn classify(
    pods: &[PodView],
    samples: &[PodSample],
    resource: Option<Resource>,
    periods: ReadinessPeriods,
    now: Time,
) -> PodGroups {
    let mut groups = PodGroups::default();
    for pod in pods {
        let sample = samples.iter().find(|s| s.pod == pod.pod);
        match left_out(pod, sample, resource, periods, now) {
            None => groups.ready += 1,
            Some(reason) => {
                groups.left_out.push(LeftOutPod { pod: pod.pod, reason, dropped_milli: sample.map(|s| s.value_milli) })
            }
        }
    }
    groups
}

fn left_out(
    pod: &PodView,
    sample: Option<&PodSample>,
    resource: Option<Resource>,
    periods: ReadinessPeriods,
    now: Time,
) -> Option<LeftOutReason> {
    if pod.deleting {
        return Some(LeftOutReason::Deleting);
    }
    match pod.phase {
        PodPhase::Failed => return Some(LeftOutReason::Failed),
        PodPhase::Pending => return Some(LeftOutReason::Pending),
        PodPhase::Running | PodPhase::Succeeded => {}
    }
    let Some(sample) = sample else {
        return Some(LeftOutReason::NoSample);
    };
    if resource != Some(Resource::Cpu) {
        return None;
    }
    let Some(ready) = pod.ready else {
        return Some(LeftOutReason::NoReadyCondition);
    };
    let Some(started) = pod.started else {
        return Some(LeftOutReason::NoStartTime);
    };
    if started + periods.cpu_initialization > now {
        if !ready.status {
            Some(LeftOutReason::NotReadyWhileInitializing)
        } else if sample.at < ready.changed + sample.window {
            Some(LeftOutReason::SampleFromBeforeReady)
        } else {
            None
        }
    } else if !ready.status && started + periods.initial_readiness_delay > ready.changed {
        Some(LeftOutReason::NeverReady)
    } else {
        None
    }
}
