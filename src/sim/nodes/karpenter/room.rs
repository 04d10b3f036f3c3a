//! What is left during a scheduling pass: on existing nodes, and of the limits of pools.

use super::catalogue::Catalogue;
use super::pods::{Owner, PodView};
use super::requirement::Requirements;
use super::scheduling::Job;
use super::taints::{Taint, counting, untolerated};
use super::types::{NodeView, Resources, View};
use crate::sim::id::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// An existing node at the start of a pass. Made once for all simulations of a view.
pub(super) struct Standing<'a> {
    pub node: &'a NodeView,
    free: Resources,
    labels: Requirements,
    taints: Vec<Taint>,
    anti_affinity: BTreeSet<&'a str>,
}

impl<'a> Standing<'a> {
    /// Free is what is allocatable less the pods that are there and the DaemonSet pods to come.
    pub fn new(view: &'a View, daemon_requirements: &[Requirements], node: &'a NodeView) -> Self {
        let taints = counting(view, node);
        let labels = Requirements::build([], &node.labels);
        let present = || node.pods.iter().filter(|p| !p.terminal);
        let demand_of = |sum: Resources, pod: &PodView| sum.plus(&pod.demand());
        let used = present().fold(Resources::default(), demand_of);
        let daemons_used = present().filter(|p| p.owner == Owner::DaemonSet).fold(Resources::default(), demand_of);
        let runs = |daemon: &PodView, wants: &Requirements| {
            untolerated(&taints, &daemon.tolerations, true).is_none() && labels.refuses(wants, |_| false).is_none()
        };
        let daemons = view
            .daemonsets
            .iter()
            .zip(daemon_requirements)
            .filter(|(daemon, wants)| runs(daemon, wants))
            .fold(Resources::default(), |sum, (daemon, _)| demand_of(sum, daemon));
        Standing {
            free: expected_allocatable(view, node).minus(&used).minus(&daemons.minus(&daemons_used).floored()),
            labels,
            taints,
            anti_affinity: present().filter_map(|p| p.anti_affinity_host.as_deref()).collect(),
            node,
        }
    }
}

/// An existing node, as far as the pass has filled it.
pub(super) struct Existing<'a, 'c> {
    standing: &'c Standing<'a>,
    free: Resources,
    joined: BTreeSet<&'a str>,
    closed_to_running: bool,
}

impl<'a, 'c> Existing<'a, 'c> {
    pub fn new(standing: &'c Standing<'a>, closed_to_running: bool) -> Self {
        Existing { standing, free: standing.free.clone(), joined: BTreeSet::new(), closed_to_running }
    }

    /// Whether the pod may go here, and fits.
    pub fn takes(&self, job: &Job, relaxed: bool) -> bool {
        !(job.running && self.closed_to_running)
            && job.demand.fits(&self.free)
            && untolerated(&self.standing.taints, &job.pod.tolerations, relaxed).is_none()
            && !shares_host(&self.standing.anti_affinity, job.pod)
            && !shares_host(&self.joined, job.pod)
            && self.standing.labels.refuses(&job.wants, |_| false).is_none()
    }

    /// Plans the pod onto this node.
    pub fn join(&mut self, job: &Job<'a>) -> NodeId {
        self.free = self.free.minus(&job.demand);
        self.joined.extend(job.pod.anti_affinity_host.as_deref());
        self.standing.node.id
    }
}

/// What the node will offer: while a managed node starts, what it does not report yet is taken
/// from its type, so that a missing device plugin does not start a second node.
fn expected_allocatable(view: &View, node: &NodeView) -> Resources {
    let kind = node.instance_type.and_then(|i| view.types.get(i));
    match (node.pool, node.initialized, kind) {
        (Some(_), false, Some(kind)) => node.allocatable.or_planned(&kind.allocatable()),
        _ => node.allocatable.clone(),
    }
}

/// A pod of the same anti-affinity group is there already.
pub(super) fn shares_host(present: &BTreeSet<&str>, pod: &PodView) -> bool {
    pod.anti_affinity_host.as_deref().is_some_and(|group| present.contains(group))
}

/// What is left of a pool's limits; only limited resources are named.
pub(super) struct Remaining(BTreeMap<String, i64>);

impl Remaining {
    pub fn of(catalogue: &Catalogue, pool: usize, without: &[NodeId]) -> Self {
        let view = catalogue.view;
        let limits = &view.pools[pool].limits;
        let named = [
            ("cpu", limits.cpu_m),
            ("memory", limits.mem_mib),
            ("gpu", limits.gpu),
            ("pods", limits.pods),
            ("nodes", limits.nodes),
        ];
        let mut left: BTreeMap<String, i64> = limits.extra.clone();
        left.extend(named.into_iter().filter_map(|(name, limit)| Some((name.to_owned(), limit?))));
        let mut remaining = Remaining(left);
        for node in &view.nodes {
            if node.pool == Some(pool) && !node.deleting && !without.contains(&node.id) {
                remaining.subtract(&node.capacity);
            }
        }
        remaining
    }
    fn amount(capacity: &Resources, name: &str) -> i64 {
        match name {
            "cpu" => capacity.cpu_m,
            "memory" => capacity.mem_mib,
            "gpu" => capacity.gpu,
            "pods" => capacity.pods,
            "nodes" => 1,
            other => capacity.extra.get(other).copied().unwrap_or(0),
        }
    }
    pub fn allows(&self, capacity: &Resources) -> bool {
        self.0.iter().all(|(name, left)| Self::amount(capacity, name) <= *left)
    }
    pub fn subtract(&mut self, capacity: &Resources) {
        for (name, left) in &mut self.0 {
            *left = left.saturating_sub(Self::amount(capacity, name));
        }
    }
}
