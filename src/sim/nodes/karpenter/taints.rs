//! Taints and tolerations, and which taints of a starting node do not count.

use super::types::NodeView;
use super::types::View;
use serde::{Deserialize, Serialize};

/// What a taint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Effect {
    NoSchedule,
    PreferNoSchedule,
    NoExecute,
}

/// A taint of a node or pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    pub key: String,
    #[serde(default)]
    pub value: String,
    pub effect: Effect,
}

/// How a toleration compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum TolerationOp {
    #[default]
    Equal,
    Exists,
}

/// A toleration of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toleration {
    /// Empty with `Exists` tolerates everything.
    pub key: String,
    #[serde(rename = "operator")]
    pub op: TolerationOp,
    pub value: String,
    /// `None` tolerates every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    pub fn tolerates(&self, taint: &Taint) -> bool {
        let key = if self.key.is_empty() { self.op == TolerationOp::Exists } else { self.key == taint.key };
        let value = self.op == TolerationOp::Exists || self.value == taint.value;
        key && value && self.effect.is_none_or(|effect| effect == taint.effect)
    }
}

/// The first taint that keeps the pod away. `PreferNoSchedule` counts like the others until the
/// pod's preferences have been relaxed.
pub fn untolerated<'a>(taints: &'a [Taint], tolerations: &[Toleration], relaxed: bool) -> Option<&'a Taint> {
    taints.iter().find(|taint| {
        let soft = relaxed && taint.effect == Effect::PreferNoSchedule;
        !soft && !tolerations.iter().any(|t| t.tolerates(taint))
    })
}

fn goes_away_by_itself(taint: &Taint) -> bool {
    match taint.key.as_str() {
        "node.kubernetes.io/not-ready" => true,
        "node.kubernetes.io/unreachable" => taint.effect == Effect::NoSchedule,
        "node.cloudprovider.kubernetes.io/uninitialized" | "karpenter.sh/unregistered" => true,
        key => key.starts_with("readiness.k8s.io/"),
    }
}

/// The taints of a node that count for scheduling. On a managed node that is still starting, the
/// pool's startup taints and those that the start itself removes do not.
pub fn counting(view: &View, node: &NodeView) -> Vec<Taint> {
    let Some(pool) = node.pool.filter(|_| !node.initialized) else {
        return node.taints.clone();
    };
    let startup = view.pools.get(pool).map_or(&[][..], |p| &p.startup_taints);
    let is_startup = |taint: &Taint| startup.iter().any(|s| s.key == taint.key && s.effect == taint.effect);
    node.taints.iter().filter(|t| !is_startup(t) && !goes_away_by_itself(t)).cloned().collect()
}
