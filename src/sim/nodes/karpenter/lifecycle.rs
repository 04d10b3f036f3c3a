//! Life and death of a NodeClaim: timeouts, initialisation, expiry, drain order.

use super::candidates::consolidatable_in;
use super::pods::{Owner, PodView};
use super::pool::Pool;
use super::types::{NodeView, Resources, View};
use crate::sim::id::{NodeId, PodId};
use crate::sim::time::{Span, Time};
use std::collections::BTreeMap;

/// A NodeClaim that was not launched after this is deleted.
pub const LAUNCH_TIMEOUT: Span = Span::from_mins(5);
/// A NodeClaim whose node did not register after this is deleted.
pub const REGISTRATION_TIMEOUT: Span = Span::from_mins(15);

/// Why a NodeClaim is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    LaunchTimeout,
    RegistrationTimeout,
}

/// Whether a NodeClaim is deleted because it did not get on. There is no such limit for
/// initialisation: a node whose GPU is never advertised stays, and is paid for.
pub fn given_up(created: Time, launched: Option<Time>, registered: Option<Time>, now: Time) -> Option<GivenUp> {
    let age = now.since(created);
    match (launched, registered) {
        (_, Some(_)) => None,
        (None, None) if age >= LAUNCH_TIMEOUT => Some(GivenUp::LaunchTimeout),
        (_, None) if age >= REGISTRATION_TIMEOUT => Some(GivenUp::RegistrationTimeout),
        _ => None,
    }
}

/// The Initialized condition: Ready, startup and ephemeral taints gone, and every resource that
/// the NodeClaim requested is advertised.
pub fn is_initialized(view: &View, node: &NodeView, requested: &Resources) -> bool {
    let starting = NodeView { initialized: false, ..node.clone() };
    let taints_left = node.taints.len() != super::taints::counting(view, &starting).len();
    let missing = |want: i64, have: i64| want > 0 && have == 0;
    let (have, want) = (&node.allocatable, requested);
    let lacks = missing(want.cpu_m, have.cpu_m)
        || missing(want.mem_mib, have.mem_mib)
        || missing(want.gpu, have.gpu)
        || missing(want.pods, have.pods)
        || want.extra.iter().any(|(name, amount)| missing(*amount, have.extra.get(name).copied().unwrap_or(0)));
    node.ready && !taints_left && !lacks
}

/// The Consolidatable condition.
pub fn is_consolidatable(pool: &Pool, node: &NodeView, now: Time) -> bool {
    consolidatable_in(pool, node, now) == Some(Span::ZERO)
}

/// Nodes that have reached their pool's `expireAfter`. They are deleted whatever the budgets say,
/// and nothing is launched for them first.
pub fn expired(view: &View, now: Time) -> Vec<NodeId> {
    let limit = |node: &NodeView| view.pools.get(node.pool?)?.expire_after;
    view.nodes
        .iter()
        .filter(|n| !n.deleting && limit(n).is_some_and(|after| now.since(n.created) >= after))
        .map(|n| n.id)
        .collect()
}

/// Pods to evict, in groups; each must be gone before the next is begun. Mirror pods and pods that
/// tolerate the disruption taint stay.
pub fn drain_groups(node: &NodeView) -> Vec<Vec<PodId>> {
    let group = |pod: &PodView| (pod.critical, pod.owner == Owner::DaemonSet);
    [(false, false), (false, true), (true, false), (true, true)]
        .into_iter()
        .map(|wanted| {
            node.pods
                .iter()
                .filter(|p| !p.terminal && p.owner != Owner::Mirror && !p.tolerates_disruption)
                .filter(|p| group(p) == wanted)
                .map(|p| p.id)
                .collect::<Vec<_>>()
        })
        .filter(|pods| !pods.is_empty())
        .collect()
}

/// When each pod is deleted by force, past budget and annotation, if the node's deletion began at
/// `deleted_at`: early enough to use its own grace period within the node's. Empty without a
/// terminationGracePeriod: then the drain waits for ever.
pub fn force_delete_at(node: &NodeView, deleted_at: Time) -> BTreeMap<PodId, Time> {
    let Some(grace) = node.termination_grace else {
        return BTreeMap::new();
    };
    node.pods
        .iter()
        .filter(|p| !p.terminal && p.owner != Owner::Mirror)
        .map(|p| (p.id, deleted_at + (grace - p.grace)))
        .collect()
}
