//! The Kubernetes Horizontal Pod Autoscaler, autoscaling/v2: from metrics to a number of replicas.
//!
//! The algorithm is that of the Kubernetes controller (1.36 and later), step by step:
//! [`classify`] sorts the pods, [`calculator`] makes one proposal per metric, [`stabilize`] holds
//! it against recent proposals, [`behavior`] against rates and bounds, and [`reconcile`] runs a
//! whole sync. [`decide`] is the door for the simulation: the world builds an [`HpaView`] once per
//! sync period (the first sync comes one period after the HPA is created), and writes the result
//! to the target. Everything here is pure; the only state is [`HpaMemory`].

pub mod behavior;
pub mod calculator;
pub mod classify;
pub mod decision;
pub mod reconcile;
pub mod settings;
pub mod stabilize;
pub mod validate;

pub use behavior::{ScaleEvent, ScaleEvents};
pub use decision::{HpaDecision, HpaPath};
pub use reconcile::decide;
pub use settings::HpaSettings;
pub use stabilize::Recommendation;
pub use validate::HpaProblem;

use crate::sim::id::PodId;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// A direction of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Up,
    Down,
}

/// What the controller sees of its target in one sync.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HpaView {
    /// `scale.spec.replicas`: what was asked for.
    pub spec_replicas: i32,
    /// `scale.status.replicas`: the pods that exist.
    pub status_replicas: i32,
    /// The pods that match the target's selector.
    pub pods: Vec<PodView>,
    /// One per metric in force, in their order.
    pub readings: Vec<Reading>,
}

/// One pod as the controller's lister has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PodView {
    pub pod: PodId,
    pub phase: PodPhase,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// Its Ready condition; `None` if it has none yet.
    pub ready: Option<ReadyCondition>,
    /// When the kubelet acknowledged it; `None` before.
    pub started: Option<Time>,
    /// cpu request summed over its containers, in millicores.
    pub cpu_request_milli: Option<i64>,
    /// Memory request summed over its containers, in thousandths of a byte.
    pub memory_request_milli: Option<i64>,
}

/// A pod's Ready condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ReadyCondition {
    pub status: bool,
    /// Last transition.
    pub changed: Time,
}

/// A pod's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PodPhase {
    Pending,
    Running,
    Succeeded,
    Failed,
}

/// What the metrics API answered for one metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Reading {
    /// Resource, ContainerResource and Pods metrics: at most one sample per pod. Samples of pods
    /// that are no longer listed may be among them.
    Pods(Vec<PodSample>),
    /// Object metrics: one value. External metrics: one per series. In thousandths.
    Values(Vec<i64>),
    /// The API returned an error.
    Unavailable,
}

/// One pod's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PodSample {
    pub pod: PodId,
    /// In thousandths: millicores, thousandths of a byte, or of the metric's unit.
    pub value_milli: i64,
    /// The time the sample bears. Matters to cpu only.
    pub at: Time,
    /// The span before `at` that it averages over. Matters to cpu only.
    pub window: Span,
}

/// What the controller keeps between syncs of one HPA.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HpaMemory {
    /// Past proposals; `None` before the first sync.
    pub recommendations: Option<Vec<Recommendation>>,
    /// Past rescales, kept under a `behavior` only.
    pub events: ScaleEvents,
    /// The `ScaledToZero` condition; `None` when absent.
    pub scaled_to_zero: Option<bool>,
    /// `status.lastScaleTime`.
    pub last_scale: Option<Time>,
}

#[cfg(test)]
#[path = "hpa_test.rs"]
mod tests;
