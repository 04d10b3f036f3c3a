//! Which nodes may be disrupted at all, and what it would cost to do so.

use super::budgets::Purse;
use super::decision::KeptReason;
use super::pods::{Owner, PodView};
use super::pool::{Policy, Pool};
use super::provision::leaves_by_itself;
use super::types::{NodeView, View};
use crate::sim::id::NodeId;
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};

/// A node that may be disrupted.
#[derive(Clone)]
pub(super) struct Candidate<'a> {
    pub node: &'a NodeView,
    pub pool_index: usize,
    pub pool: &'a Pool,
    /// Pods that would have to move.
    pub pods: Vec<&'a PodView>,
    /// 1 plus the eviction costs of `pods`.
    pub disruption: f64,
    /// Price of the node's own offering; `None` if type or offering are unknown.
    pub price: Option<Microusd>,
}

/// Whether pods that block eviction block the node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// They do.
    Graceful,
    /// They do unless the node has a terminationGracePeriod (drift).
    Eventual,
}

impl<'a> Candidate<'a> {
    /// The node as a candidate, or why it is none.
    pub fn new(view: &'a View, node: &'a NodeView, class: Class, now: Time) -> Result<Self, KeptReason> {
        let (pool_index, pool) = node.pool.and_then(|i| Some((i, view.pools.get(i)?))).ok_or(KeptReason::StaticPool)?;
        if node.deleting {
            return Err(KeptReason::Deleting);
        }
        if !node.initialized {
            return Err(KeptReason::NotInitialized);
        }
        if node.is_nominated(now) {
            let until = node.nominated_until.unwrap_or(now);
            return Err(KeptReason::Nominated { remaining: until.since(now) });
        }
        if node.do_not_disrupt {
            return Err(KeptReason::DoNotDisrupt { pod: None });
        }
        let forced = class == Class::Eventual && node.termination_grace.is_some();
        if let Some(blocked) = blocking_pod(view, node, now).filter(|_| !forced) {
            return Err(blocked);
        }
        let pods: Vec<&PodView> =
            node.pods.iter().filter(|p| p.is_reschedulable() && (!forced || leaves_by_itself(view, p, now))).collect();
        Ok(Candidate { node, pool_index, pool, disruption: disruption_cost(node), price: price(view, node), pods })
    }

    pub fn id(&self) -> NodeId {
        self.node.id
    }
    /// No pod would have to move, or only such as cost nothing to evict.
    pub fn is_empty(&self) -> bool {
        self.disruption <= 1.0
    }
    /// Price per disruption: the higher, the sooner.
    pub fn ratio(&self) -> f64 {
        self.price.unwrap_or_default().0 as f64 / self.disruption
    }
    /// Emptiness and consolidation ask this first.
    pub fn consolidatable(&self, now: Time) -> Result<(), KeptReason> {
        if self.pool.replicas.is_some() {
            return Err(KeptReason::StaticPool);
        }
        if self.pool.consolidate_after.is_none() {
            return Err(KeptReason::ConsolidationOff);
        }
        match consolidatable_in(self.pool, self.node, now) {
            Some(Span::ZERO) => Ok(()),
            remaining => Err(KeptReason::NotConsolidatable { remaining }),
        }
    }
    /// Whether the policy lets nodes with pods go.
    pub fn underutilized_allowed(&self) -> Result<(), KeptReason> {
        match self.pool.policy {
            Policy::WhenEmpty => Err(KeptReason::NotEmpty { pods: self.pods.len() }),
            Policy::WhenEmptyOrUnderutilized | Policy::Balanced => Ok(()),
        }
    }
}

/// Sorts by price per disruption, highest first; the lower id first among equals.
pub(super) fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()).then(a.id().cmp(&b.id())));
}

/// The candidates that the budget has room for, in order; the others are reported.
pub(super) fn within_budget<'a>(
    candidates: Vec<Candidate<'a>>,
    purse: &mut Purse,
    mut refused: impl FnMut(NodeId),
) -> Vec<Candidate<'a>> {
    let mut chosen = Vec::new();
    for candidate in candidates {
        if purse.take(candidate.pool_index) {
            chosen.push(candidate);
        } else {
            refused(candidate.id());
        }
    }
    chosen
}

/// Time until the node is Consolidatable: zero if it is, `None` if it will not be as things are.
/// The clock starts with the last pod event, or with initialisation if there was none.
pub fn consolidatable_in(pool: &Pool, node: &NodeView, now: Time) -> Option<Span> {
    let after = pool.consolidate_after?;
    if !node.initialized {
        return None;
    }
    match node.consolidatable {
        Some(true) => Some(Span::ZERO),
        Some(false) => None,
        None => {
            let since = node.last_pod_event.or(node.initialized_at)?;
            Some((since + after).since(now))
        }
    }
}

/// The price per hour of the node's own offering.
pub(super) fn price(view: &View, node: &NodeView) -> Option<Microusd> {
    view.types.get(node.instance_type?)?.offering(&node.zone, node.capacity_type).map(|o| o.price_microusd_per_hour)
}

/// 1 for the node itself plus the positive eviction costs of the pods that would have to move.
pub fn disruption_cost(node: &NodeView) -> f64 {
    let pods = node.pods.iter().filter(|p| p.is_reschedulable());
    pods.fold(1.0, |sum, pod| sum + eviction_cost(pod).max(0.0))
}

/// 1, moved by the pod's deletion cost and priority, between -10 and 10.
fn eviction_cost(pod: &PodView) -> f64 {
    let by_deletion_cost = pod.deletion_cost as f64 / f64::from(1 << 27);
    let by_priority = pod.priority as f64 / f64::from(1 << 25);
    (1.0 + by_deletion_cost + by_priority).clamp(-10.0, 10.0)
}

/// The first pod that keeps its node: by annotation (DaemonSet and mirror pods too), or because a
/// PodDisruptionBudget allows no eviction. Two budgets on one pod always block.
fn blocking_pod(view: &View, node: &NodeView, now: Time) -> Option<KeptReason> {
    node.pods.iter().find_map(|pod| {
        if pod.is_protected(now) {
            return Some(KeptReason::DoNotDisrupt { pod: Some(pod.id) });
        }
        let evictable = pod.is_active() && pod.owner != Owner::Mirror && !pod.tolerates_disruption;
        (evictable && pdb_blocks(view, pod)).then_some(KeptReason::Pdb { pod: pod.id })
    })
}

fn pdb_blocks(view: &View, pod: &PodView) -> bool {
    let mut selecting = view.pdbs.iter().filter(|pdb| pdb.selects(pod));
    match (selecting.next(), selecting.next()) {
        (None, _) => false,
        (Some(_), Some(_)) => true,
        (Some(pdb), None) => pdb.allowed == 0 && (pod.ready || !pdb.always_allow_unhealthy),
    }
}
