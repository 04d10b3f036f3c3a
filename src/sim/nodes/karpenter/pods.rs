//! Pods as Karpenter sees them, and their disruption budgets.

use super::requirement::{RequirementSpec, Requirements};
use super::taints::Toleration;
use super::types::Resources;
use crate::sim::id::PodId;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who owns a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Owner {
    #[default]
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    /// A static pod of the node.
    Mirror,
}

/// The value of `karpenter.sh/do-not-disrupt` on a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DoNotDisrupt {
    Always,
    /// For so long after the pod's start.
    For(Span),
}

impl DoNotDisrupt {
    /// From the annotation: `true` or a Go duration such as `10m` or `1h30m`; anything else protects nothing.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "true" => Some(DoNotDisrupt::Always),
            _ => super::pool::go_duration(text).map(DoNotDisrupt::For),
        }
    }
}

/// A pod, pending or bound.
#[derive(Debug, Clone, PartialEq)]
pub struct PodView {
    pub id: PodId,
    pub requests: Resources,
    pub owner: Owner,
    pub namespace: String,
    pub labels: BTreeMap<String, String>,
    pub node_selector: BTreeMap<String, String>,
    /// Required node affinity: one term.
    pub requirements: Vec<RequirementSpec>,
    pub tolerations: Vec<Toleration>,
    /// Pods with the same value never share a node (required anti-affinity on the host name).
    pub anti_affinity_host: Option<String>,
    pub do_not_disrupt: Option<DoNotDisrupt>,
    pub created: Time,
    /// When it started to run; its creation if unknown.
    pub started: Option<Time>,
    /// Deletion has begun.
    pub terminating: bool,
    /// Succeeded or failed.
    pub terminal: bool,
    pub ready: bool,
    /// `controller.kubernetes.io/pod-deletion-cost`.
    pub deletion_cost: i64,
    pub priority: i64,
    pub grace: Span,
    /// system-cluster-critical or system-node-critical.
    pub critical: bool,
    /// Tolerates `karpenter.sh/disrupted`, so a drain leaves it alone.
    pub tolerates_disruption: bool,
}

impl PodView {
    /// A ready pod of a ReplicaSet in the default namespace without constraints.
    pub fn new(id: PodId, requests: Resources) -> Self {
        PodView {
            id,
            requests,
            owner: Owner::ReplicaSet,
            namespace: "default".to_owned(),
            labels: BTreeMap::new(),
            node_selector: BTreeMap::new(),
            requirements: Vec::new(),
            tolerations: Vec::new(),
            anti_affinity_host: None,
            do_not_disrupt: None,
            created: Time::ZERO,
            started: None,
            terminating: false,
            terminal: false,
            ready: true,
            deletion_cost: 0,
            priority: 0,
            grace: Span::from_secs(30),
            critical: false,
            tolerates_disruption: false,
        }
    }
    /// Requests with the pod's own slot.
    pub fn demand(&self) -> Resources {
        Resources { pods: 1, ..self.requests.clone() }
    }
    /// Neither finished nor being deleted.
    pub fn is_active(&self) -> bool {
        !self.terminal && !self.terminating
    }
    /// Its controller will bring it back elsewhere if its node goes. A terminating pod of a
    /// StatefulSet counts, because it comes back under the same name.
    pub fn is_reschedulable(&self) -> bool {
        let returns = self.is_active() || (self.owner == Owner::StatefulSet && self.terminating && !self.terminal);
        returns && !matches!(self.owner, Owner::DaemonSet | Owner::Mirror)
    }
    /// The do-not-disrupt annotation is in force.
    pub fn is_protected(&self, now: Time) -> bool {
        self.is_active()
            && match self.do_not_disrupt {
                None => false,
                Some(DoNotDisrupt::Always) => true,
                Some(DoNotDisrupt::For(span)) => now < self.started.unwrap_or(self.created) + span,
            }
    }
    /// Node selector and required affinity together.
    pub fn node_requirements(&self) -> Requirements {
        Requirements::build(&self.requirements, &self.node_selector)
    }
}

/// A PodDisruptionBudget.
#[derive(Debug, Clone, PartialEq)]
pub struct Pdb {
    pub name: String,
    pub namespace: String,
    /// Empty selects every pod of the namespace.
    pub match_labels: BTreeMap<String, String>,
    /// `status.disruptionsAllowed`.
    pub allowed: u32,
    /// maxUnavailable 0 or minAvailable 100%.
    pub fully_blocking: bool,
    /// unhealthyPodEvictionPolicy AlwaysAllow.
    pub always_allow_unhealthy: bool,
}

impl Pdb {
    pub fn selects(&self, pod: &PodView) -> bool {
        self.namespace == pod.namespace && self.match_labels.iter().all(|(k, v)| pod.labels.get(k) == Some(v))
    }
}
