//! One scheduling pass of Karpenter, shared by provisioning and by the simulations of disruption.
//!
//! Pods are taken by CPU, then memory, both descending, then age; GPU requests play no part. Each
//! goes to the first existing node that fits, else to an open new node with the fewest pods, else
//! to a new node of the heaviest pool. An open new node is a *set* of instance types that shrinks
//! with each pod, so pods pile up as long as any type fits them; price is looked at only at the
//! end.
//!
//! Left out: topology spread, pod affinity other than anti-affinity on the host name, preferred
//! affinities, host ports, volumes. The only preference that is relaxed is `PreferNoSchedule`.

use super::plan::{NewNode, Refusal, Unschedulable, new_node};
use super::requirement::{Requirement, Requirements};
use super::taints::{Effect, Taint, counting, untolerated};
use super::types::{
    ARCH, CAPACITY_TYPE, CapacityType, INSTANCE_TYPE, NODE_POOL, NodeView, OS, Owner, PodView, Resources, View, ZONE,
};
use crate::sim::id::{NodeId, PodId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A pod in the queue.
pub(super) struct Job<'a> {
    pub pod: &'a PodView,
    /// It runs now (on a candidate or a node being deleted); false for pending pods.
    pub running: bool,
}

/// How a pass differs between provisioning and disruption.
pub(super) struct Mode<'a> {
    /// Nodes that are thought away.
    pub without: &'a [NodeId],
    /// Nodes onto which running pods may not be moved.
    pub closed_to_running: &'a [NodeId],
    /// A pod that could use reserved capacity waits for it instead of going elsewhere.
    pub strict_reservations: bool,
}

/// What a pass found.
pub(super) struct Outcome {
    pub new_nodes: Vec<NewNode>,
    pub on_existing: Vec<(PodId, NodeId)>,
    pub unschedulable: Vec<Unschedulable>,
}

/// Facts about pools and types that do not change during a pass.
pub(super) struct Catalogue<'a> {
    view: &'a View,
    well_known: BTreeSet<&'a str>,
    type_requirements: Vec<Requirements>,
    allocatable: Vec<Resources>,
    /// Pools that buy nodes, heaviest first, later name first among equals.
    pool_order: Vec<usize>,
    pool_requirements: Vec<Requirements>,
    /// DaemonSet requests by pool and type.
    daemon_overhead: Vec<Vec<Resources>>,
    daemon_requirements: Vec<Requirements>,
}

impl<'a> Catalogue<'a> {
    pub fn new(view: &'a View) -> Self {
        let mut well_known = BTreeSet::from([ZONE, CAPACITY_TYPE, INSTANCE_TYPE, ARCH, OS, NODE_POOL]);
        well_known.extend(view.types.iter().flat_map(|t| t.labels.keys().map(String::as_str)));
        let type_requirements: Vec<_> = (0..view.types.len())
            .map(|i| type_requirements(view, i, &well_known))
            .collect();
        let pool_requirements: Vec<_> = view.pools.iter().map(|p| p.node_requirements()).collect();
        let daemon_requirements: Vec<_> = view.daemonsets.iter().map(|d| d.node_requirements()).collect();
        let mut pool_order: Vec<usize> = (0..view.pools.len())
            .filter(|i| view.pools[*i].replicas.is_none())
            .collect();
        pool_order.sort_by(|a, b| {
            let (a, b) = (&view.pools[*a], &view.pools[*b]);
            b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name))
        });
        let mut catalogue = Catalogue {
            view,
            well_known,
            type_requirements,
            allocatable: view.types.iter().map(|t| t.allocatable()).collect(),
            pool_order,
            pool_requirements,
            daemon_overhead: Vec::new(),
            daemon_requirements,
        };
        catalogue.daemon_overhead = (0..view.pools.len())
            .map(|pool| (0..view.types.len()).map(|t| catalogue.overhead(pool, t)).collect())
            .collect();
        catalogue
    }

    fn overhead(&self, pool: usize, kind: usize) -> Resources {
        let (pool, requirements) = (&self.view.pools[pool], &self.pool_requirements[pool]);
        let runs = |daemon: &PodView, wants: &Requirements| {
            untolerated(&pool.taints, &daemon.tolerations, true).is_none()
                && requirements
                    .refuses(wants, |key| self.well_known.contains(key))
                    .is_none()
                && self.type_requirements[kind].conflict(wants).is_none()
        };
        self.view
            .daemonsets
            .iter()
            .zip(&self.daemon_requirements)
            .filter(|(daemon, wants)| runs(daemon, wants))
            .fold(Resources::default(), |sum, (daemon, _)| sum.plus(&daemon.demand()))
    }
}

/// What an instance type says about its labels. A well-known label that it lacks does not exist.
fn type_requirements(view: &View, index: usize, well_known: &BTreeSet<&str>) -> Requirements {
    let kind = &view.types[index];
    let available = || kind.offerings.iter().filter(|o| o.can_launch());
    let mut all = Requirements::default();
    for key in well_known {
        let requirement = match *key {
            NODE_POOL => continue,
            ZONE => Requirement::one_of(available().map(|o| o.zone.as_str())),
            CAPACITY_TYPE => Requirement::one_of(available().map(|o| o.capacity_type.label())),
            INSTANCE_TYPE => Requirement::one_of([kind.name.as_str()]),
            key => match kind.labels.get(key) {
                Some(value) => Requirement::one_of([value.as_str()]),
                None if key == ARCH => Requirement::one_of(["amd64"]),
                None if key == OS => Requirement::one_of(["linux"]),
                None => Requirement::does_not_exist(),
            },
        };
        all.set(key, requirement);
    }
    all
}

/// An existing node, as far as the pass has filled it.
struct Existing<'a> {
    node: &'a NodeView,
    free: Resources,
    labels: Requirements,
    taints: Vec<Taint>,
    anti_affinity: BTreeSet<&'a str>,
    closed_to_running: bool,
}

impl<'a> Existing<'a> {
    fn new(catalogue: &Catalogue<'a>, node: &'a NodeView, closed_to_running: bool) -> Self {
        let view = catalogue.view;
        let taints = counting(view, node);
        let labels = Requirements::build([], &node.labels);
        let present = node.pods.iter().filter(|p| !p.terminal);
        let used = present.clone().fold(Resources::default(), |s, p| s.plus(&p.demand()));
        let daemons_used = present
            .clone()
            .filter(|p| p.owner == Owner::DaemonSet)
            .fold(Resources::default(), |s, p| s.plus(&p.demand()));
        let daemons = view
            .daemonsets
            .iter()
            .zip(&catalogue.daemon_requirements)
            .filter(|(d, wants)| {
                untolerated(&taints, &d.tolerations, true).is_none() && labels.refuses(wants, |_| false).is_none()
            })
            .fold(Resources::default(), |s, (d, _)| s.plus(&d.demand()));
        Existing {
            free: expected_allocatable(view, node)
                .minus(&used)
                .minus(&daemons.minus(&daemons_used).floored()),
            labels,
            taints,
            anti_affinity: present.filter_map(|p| p.anti_affinity_host.as_deref()).collect(),
            closed_to_running,
            node,
        }
    }

    fn takes(&self, job: &Job, demand: &Resources, wants: &Requirements, relaxed: bool) -> bool {
        !(job.running && self.closed_to_running)
            && demand.fits(&self.free)
            && untolerated(&self.taints, &job.pod.tolerations, relaxed).is_none()
            && !shares_host(&self.anti_affinity, job.pod)
            && self.labels.refuses(wants, |_| false).is_none()
    }
}

/// What the node will offer: while a managed node starts, what it does not report yet is taken
/// from its type, so that a missing device plugin does not start a second node.
pub(super) fn expected_allocatable(view: &View, node: &NodeView) -> Resources {
    let kind = node.instance_type.and_then(|i| view.types.get(i));
    match (node.pool, node.initialized, kind) {
        (Some(_), false, Some(kind)) => node.allocatable.or_planned(&kind.allocatable()),
        _ => node.allocatable.clone(),
    }
}

fn shares_host(present: &BTreeSet<&str>, pod: &PodView) -> bool {
    pod.anti_affinity_host
        .as_deref()
        .is_some_and(|group| present.contains(group))
}

/// A new node that is still a set of instance types.
struct Open<'a> {
    pool: usize,
    requirements: Requirements,
    types: Vec<usize>,
    demand: Resources,
    pods: Vec<PodId>,
    anti_affinity: BTreeSet<&'a str>,
    /// Reservations held, by type and offering.
    held: BTreeSet<(usize, usize)>,
}

/// What is left of a pool's limits; only limited resources are named.
#[derive(Clone)]
struct Remaining(BTreeMap<String, i64>);

impl Remaining {
    fn of(catalogue: &Catalogue, pool: usize, without: &[NodeId]) -> Self {
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
        left.extend(
            named
                .into_iter()
                .filter_map(|(name, limit)| Some((name.to_owned(), limit?))),
        );
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
    fn allows(&self, capacity: &Resources) -> bool {
        self.0.iter().all(|(name, left)| Self::amount(capacity, name) <= *left)
    }
    fn subtract(&mut self, capacity: &Resources) {
        for (name, left) in &mut self.0 {
            *left = left.saturating_sub(Self::amount(capacity, name));
        }
    }
}

/// The narrowed state of a new node after one more pod.
struct Narrowed {
    requirements: Requirements,
    types: Vec<usize>,
    demand: Resources,
    held: BTreeSet<(usize, usize)>,
}

pub(super) struct Pass<'a, 'c> {
    catalogue: &'c Catalogue<'a>,
    existing: Vec<Existing<'a>>,
    open: Vec<Open<'a>>,
    remaining: Vec<Remaining>,
    reservations_left: BTreeMap<(usize, usize), u32>,
    strict_reservations: bool,
    relaxable: bool,
}

impl<'a, 'c> Pass<'a, 'c> {
    pub fn new(catalogue: &'c Catalogue<'a>, mode: &Mode) -> Self {
        let view = catalogue.view;
        let mut existing: Vec<_> = view
            .nodes
            .iter()
            .filter(|n| !n.deleting && !mode.without.contains(&n.id))
            .map(|n| Existing::new(catalogue, n, mode.closed_to_running.contains(&n.id)))
            .collect();
        existing.sort_by_key(|e| (!e.node.initialized, e.node.id));
        let reservations_left = view
            .types
            .iter()
            .enumerate()
            .flat_map(|(t, kind)| {
                kind.offerings
                    .iter()
                    .enumerate()
                    .map(move |(o, offering)| ((t, o), offering))
            })
            .filter(|(_, o)| o.capacity_type == CapacityType::Reserved && o.can_launch())
            .map(|(key, o)| (key, o.reservation_left.unwrap_or(u32::MAX)))
            .collect();
        Pass {
            catalogue,
            existing,
            open: Vec::new(),
            remaining: (0..view.pools.len())
                .map(|pool| Remaining::of(catalogue, pool, mode.without))
                .collect(),
            reservations_left,
            strict_reservations: mode.strict_reservations,
            relaxable: view
                .pools
                .iter()
                .any(|p| p.taints.iter().any(|t| t.effect == Effect::PreferNoSchedule)),
        }
    }

    /// Runs the queue until it is empty or a whole round has placed nothing.
    pub fn run(mut self, mut jobs: Vec<Job<'a>>) -> Outcome {
        jobs.sort_by(|a, b| {
            let (a, b) = (a.pod, b.pod);
            (b.requests.cpu_m, b.requests.mem_mib)
                .cmp(&(a.requests.cpu_m, a.requests.mem_mib))
                .then_with(|| (a.created, a.id).cmp(&(b.created, b.id)))
        });
        let mut queue: VecDeque<Job> = jobs.into();
        let mut refused: BTreeMap<PodId, Vec<(usize, Refusal)>> = BTreeMap::new();
        let mut on_existing = Vec::new();
        let mut failures_in_a_row = 0;
        while failures_in_a_row < queue.len() {
            let Some(job) = queue.pop_front() else { break };
            match self.place(&job) {
                Ok(placed) => {
                    on_existing.extend(placed.map(|node| (job.pod.id, node)));
                    refused.remove(&job.pod.id);
                    failures_in_a_row = 0;
                }
                Err(why) => {
                    refused.insert(job.pod.id, why);
                    queue.push_back(job);
                    failures_in_a_row += 1;
                }
            }
        }
        let mut unschedulable: Vec<_> = refused
            .into_iter()
            .map(|(pod, why)| Unschedulable::new(pod, why))
            .collect();
        let mut new_nodes = Vec::new();
        for open in std::mem::take(&mut self.open) {
            let pool = open.pool;
            let pods = open.pods.clone();
            match self.finish(open) {
                Some(node) => new_nodes.push(node),
                None => unschedulable.extend(
                    pods.into_iter()
                        .map(|pod| Unschedulable::new(pod, vec![(pool, Refusal::NoOffering)])),
                ),
            }
        }
        Outcome {
            new_nodes,
            on_existing,
            unschedulable,
        }
    }

    /// Places a pod; `Ok(Some(node))` on an existing node, `Ok(None)` on a new one.
    fn place(&mut self, job: &Job<'a>) -> Result<Option<NodeId>, Vec<(usize, Refusal)>> {
        match self.add(job, false) {
            // A pod that waits for a reservation keeps its preferences: the next pass may have room.
            Err(why) if self.relaxable && !why.iter().any(|(_, r)| *r == Refusal::ReservationBusy) => {
                self.add(job, true)
            }
            result => result,
        }
    }

    fn add(&mut self, job: &Job<'a>, relaxed: bool) -> Result<Option<NodeId>, Vec<(usize, Refusal)>> {
        let demand = job.pod.demand();
        let wants = job.pod.node_requirements();
        if let Some(spot) = self
            .existing
            .iter_mut()
            .find(|e| e.takes(job, &demand, &wants, relaxed))
        {
            spot.free = spot.free.minus(&demand);
            spot.anti_affinity.extend(job.pod.anti_affinity_host.as_deref());
            return Ok(Some(spot.node.id));
        }
        self.open.sort_by_key(|o| o.pods.len());
        for index in 0..self.open.len() {
            let open = &self.open[index];
            if shares_host(&open.anti_affinity, job.pod) {
                continue;
            }
            if let Ok(narrowed) = self.narrow(open, job.pod, &demand, &wants, relaxed) {
                self.reserve(index, narrowed.held.clone());
                let open = &mut self.open[index];
                open.requirements = narrowed.requirements;
                open.types = narrowed.types;
                open.demand = narrowed.demand;
                open.held = narrowed.held;
                open.pods.push(job.pod.id);
                open.anti_affinity.extend(job.pod.anti_affinity_host.as_deref());
                return Ok(None);
            }
        }
        self.open_new(job, &demand, &wants, relaxed).map(|()| None)
    }

    fn open_new(
        &mut self,
        job: &Job<'a>,
        demand: &Resources,
        wants: &Requirements,
        relaxed: bool,
    ) -> Result<(), Vec<(usize, Refusal)>> {
        let mut refusals = Vec::new();
        for &pool in &self.catalogue.pool_order {
            let types: Vec<usize> = (0..self.catalogue.view.types.len())
                .filter(|t| self.remaining[pool].allows(&self.catalogue.view.types[*t].capacity))
                .collect();
            let limited = types.len() < self.catalogue.view.types.len();
            let mut fresh = Open {
                pool,
                requirements: self.catalogue.pool_requirements[pool].clone(),
                types,
                demand: Resources::default(),
                pods: Vec::new(),
                anti_affinity: BTreeSet::new(),
                held: BTreeSet::new(),
            };
            match self.narrow(&fresh, job.pod, demand, wants, relaxed) {
                Ok(narrowed) => {
                    let largest = narrowed.types.iter().fold(Resources::default(), |max, t| {
                        max.max(&self.catalogue.view.types[*t].capacity)
                    });
                    // The limit is charged with the largest machine that this node could still be.
                    self.remaining[pool].subtract(&largest);
                    self.open.push(fresh);
                    let index = self.open.len() - 1;
                    self.reserve(index, narrowed.held.clone());
                    let open = &mut self.open[index];
                    open.requirements = narrowed.requirements;
                    open.types = narrowed.types;
                    open.demand = narrowed.demand;
                    open.held = narrowed.held;
                    open.pods.push(job.pod.id);
                    open.anti_affinity.extend(job.pod.anti_affinity_host.as_deref());
                    return Ok(());
                }
                Err(why) => {
                    // If the dropped types would have done, the limit is the reason.
                    let blamed = if limited
                        && matches!(why, Refusal::NoSuchType | Refusal::TypeTooSmall | Refusal::NoOffering)
                    {
                        fresh.types = (0..self.catalogue.view.types.len()).collect();
                        match self.narrow(&fresh, job.pod, demand, wants, relaxed) {
                            Ok(_) => Refusal::Limit,
                            Err(_) => why,
                        }
                    } else {
                        why
                    };
                    let waits = blamed == Refusal::ReservationBusy;
                    refusals.push((pool, blamed));
                    if waits {
                        break;
                    }
                }
            }
        }
        Err(refusals)
    }

    fn narrow(
        &self,
        open: &Open,
        pod: &PodView,
        demand: &Resources,
        wants: &Requirements,
        relaxed: bool,
    ) -> Result<Narrowed, Refusal> {
        let catalogue = self.catalogue;
        let pool = &catalogue.view.pools[open.pool];
        if let Some(taint) = untolerated(&pool.taints, &pod.tolerations, relaxed) {
            return Err(Refusal::Taint { key: taint.key.clone() });
        }
        if let Some(key) = open
            .requirements
            .refuses(wants, |key| catalogue.well_known.contains(key))
        {
            return Err(Refusal::Requirement { key: key.to_owned() });
        }
        let mut requirements = open.requirements.clone();
        requirements.add_all(wants);
        let demand = open.demand.plus(demand);
        let (mut any_matches, mut any_fits) = (false, false);
        let mut types = Vec::with_capacity(open.types.len());
        for &index in &open.types {
            // The label of the pool is not the type's to refuse.
            if catalogue.type_requirements[index].conflict(&requirements).is_some() {
                // Zone and capacity type of a sold-out type are empty sets: say "no offering" then.
                any_matches |= self.matches_but_for_offerings(index, &requirements);
                any_fits |= any_matches && self.fits(open.pool, index, &demand);
                continue;
            }
            any_matches = true;
            if !self.fits(open.pool, index, &demand) {
                continue;
            }
            any_fits = true;
            let kind = &catalogue.view.types[index];
            if kind
                .offerings
                .iter()
                .any(|o| o.can_launch() && o.matches(&requirements))
            {
                types.push(index);
            }
        }
        if types.is_empty() {
            return Err(match (any_matches, any_fits) {
                (false, _) => Refusal::NoSuchType,
                (true, false) => Refusal::TypeTooSmall,
                (true, true) => Refusal::NoOffering,
            });
        }
        if let Some(key) = missing_values(catalogue.view, &catalogue.type_requirements, &types, &requirements) {
            return Err(Refusal::MinValues { key });
        }
        let held = self.reservations(open, &types, &requirements)?;
        Ok(Narrowed {
            requirements,
            types,
            demand,
            held,
        })
    }

    fn fits(&self, pool: usize, index: usize, demand: &Resources) -> bool {
        demand
            .plus(&self.catalogue.daemon_overhead[pool][index])
            .fits(&self.catalogue.allocatable[index])
    }

    fn matches_but_for_offerings(&self, index: usize, requirements: &Requirements) -> bool {
        let own = &self.catalogue.type_requirements[index];
        let mut without = requirements.clone();
        without.set(ZONE, own.get(ZONE).cloned().unwrap_or_else(Requirement::exists));
        without.set(
            CAPACITY_TYPE,
            own.get(CAPACITY_TYPE).cloned().unwrap_or_else(Requirement::exists),
        );
        own.conflict(&without).is_none()
    }

    /// The reservations that a node of these types would hold: all that it might still use.
    fn reservations(
        &self,
        open: &Open,
        types: &[usize],
        requirements: &Requirements,
    ) -> Result<BTreeSet<(usize, usize)>, Refusal> {
        let mut held = BTreeSet::new();
        let mut could_use_one = false;
        for &index in types {
            for (o, offering) in self.catalogue.view.types[index].offerings.iter().enumerate() {
                let usable = offering.capacity_type == CapacityType::Reserved
                    && offering.can_launch()
                    && offering.matches(requirements);
                if !usable {
                    continue;
                }
                could_use_one = true;
                let key = (index, o);
                if open.held.contains(&key) || self.reservations_left.get(&key).is_some_and(|left| *left > 0) {
                    held.insert(key);
                }
            }
        }
        let loses = held.is_empty() && (could_use_one || !open.held.is_empty());
        if self.strict_reservations && loses {
            return Err(Refusal::ReservationBusy);
        }
        Ok(held)
    }

    fn reserve(&mut self, open: usize, now_held: BTreeSet<(usize, usize)>) {
        let before = &self.open[open].held;
        for key in before.difference(&now_held) {
            if let Some(left) = self.reservations_left.get_mut(key) {
                *left = left.saturating_add(1);
            }
        }
        for key in now_held.difference(before) {
            if let Some(left) = self.reservations_left.get_mut(key) {
                *left = left.saturating_sub(1);
            }
        }
    }

    fn finish(&self, open: Open) -> Option<NewNode> {
        let mut requirements = open.requirements;
        // A node that holds a reservation is launched from it; one that does not must not take
        // what other new nodes hold.
        if open.held.is_empty() {
            let others = [CapacityType::Spot, CapacityType::OnDemand].map(CapacityType::label);
            if self.reservations_left.values().any(|left| *left == 0) {
                requirements.add(CAPACITY_TYPE, Requirement::one_of(others));
            }
        } else {
            requirements.add(CAPACITY_TYPE, Requirement::one_of([CapacityType::Reserved.label()]));
        }
        new_node(self.catalogue.view, open.pool, open.pods, open.types, requirements)
    }
}

/// The first label with `minValues` of which the types offer too few distinct values.
pub(super) fn short_of_values(view: &View, types: &[usize], requirements: &Requirements) -> Option<String> {
    if !requirements.has_min_values() {
        return None;
    }
    let catalogue = Catalogue::new(view);
    missing_values(view, &catalogue.type_requirements, types, requirements)
}

/// How many of the first `types` are needed to satisfy every `minValues`.
pub(super) fn needed_for_min_values(view: &View, types: &[usize], requirements: &Requirements) -> usize {
    (1..types.len())
        .find(|n| short_of_values(view, &types[..*n], requirements).is_none())
        .unwrap_or(types.len())
}

fn missing_values(view: &View, of_type: &[Requirements], types: &[usize], wanted: &Requirements) -> Option<String> {
    debug_assert_eq!(of_type.len(), view.types.len());
    wanted.iter().find_map(|(key, requirement)| {
        let least = requirement.min_values? as usize;
        let distinct: BTreeSet<&String> = types
            .iter()
            .filter_map(|t| of_type[*t].get(key).and_then(Requirement::listed))
            .flatten()
            .collect();
        (distinct.len() < least).then(|| key.clone())
    })
}
