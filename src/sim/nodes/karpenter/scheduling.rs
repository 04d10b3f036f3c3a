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

use super::catalogue::{Catalogue, missing_values};
use super::plan::{NewNode, Refusal, Unschedulable, new_node};
use super::pods::PodView;
use super::requirement::{Requirement, Requirements};
use super::room::{Existing, Remaining, shares_host};
use super::taints::{Effect, untolerated};
use super::types::{CAPACITY_TYPE, CapacityType, Offering, Resources, ZONE};
use crate::sim::id::{NodeId, PodId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A pod in the queue.
pub(super) struct Job<'a> {
    pub pod: &'a PodView,
    /// It runs now (on a candidate or a node being deleted); false for pending pods.
    pub running: bool,
    pub demand: Resources,
    pub wants: Requirements,
}

impl<'a> Job<'a> {
    pub fn new(pod: &'a PodView, running: bool) -> Self {
        Job { pod, running, demand: pod.demand(), wants: pod.node_requirements() }
    }
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

/// The narrowed state of a new node after one more pod.
struct Narrowed {
    requirements: Requirements,
    types: Vec<usize>,
    demand: Resources,
    held: BTreeSet<(usize, usize)>,
}

pub(super) struct Pass<'a, 'c> {
    catalogue: &'c Catalogue<'a>,
    existing: Vec<Existing<'a, 'c>>,
    open: Vec<Open<'a>>,
    remaining: Vec<Remaining>,
    reservations_left: BTreeMap<(usize, usize), u32>,
    strict_reservations: bool,
    relaxable: bool,
}

impl<'a, 'c> Pass<'a, 'c> {
    pub fn new(catalogue: &'c Catalogue<'a>, mode: &Mode) -> Self {
        let view = catalogue.view;
        let existing = catalogue
            .standing
            .iter()
            .filter(|s| !mode.without.contains(&s.node.id))
            .map(|s| Existing::new(s, mode.closed_to_running.contains(&s.node.id)))
            .collect();
        let reservations_left = view
            .types
            .iter()
            .enumerate()
            .flat_map(|(t, kind)| kind.offerings.iter().enumerate().map(move |(o, offering)| ((t, o), offering)))
            .filter(|(_, o)| o.capacity_type == CapacityType::Reserved && o.can_launch())
            .map(|(key, o)| (key, o.reservation_left.unwrap_or(u32::MAX)))
            .collect();
        Pass {
            catalogue,
            existing,
            open: Vec::new(),
            remaining: (0..view.pools.len()).map(|pool| Remaining::of(catalogue, pool, mode.without)).collect(),
            reservations_left,
            strict_reservations: mode.strict_reservations,
            relaxable: view.pools.iter().any(|p| p.taints.iter().any(|t| t.effect == Effect::PreferNoSchedule)),
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
        let mut unschedulable: Vec<_> = refused.into_iter().map(|(pod, why)| Unschedulable::new(pod, why)).collect();
        let mut new_nodes = Vec::new();
        for open in std::mem::take(&mut self.open) {
            let pool = open.pool;
            let pods = open.pods.clone();
            match self.finish(open) {
                Some(node) => new_nodes.push(node),
                None => unschedulable
                    .extend(pods.into_iter().map(|pod| Unschedulable::new(pod, vec![(pool, Refusal::NoOffering)]))),
            }
        }
        Outcome { new_nodes, on_existing, unschedulable }
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
        if let Some(room) = self.existing.iter_mut().find(|e| e.takes(job, relaxed)) {
            return Ok(Some(room.join(job)));
        }
        self.open.sort_by_key(|o| o.pods.len());
        for index in 0..self.open.len() {
            let open = &self.open[index];
            if shares_host(&open.anti_affinity, job.pod) {
                continue;
            }
            if let Ok(narrowed) = self.narrow(open, job, relaxed) {
                self.join(index, job, narrowed);
                return Ok(None);
            }
        }
        self.open_new(job, relaxed).map(|()| None)
    }

    /// Puts the pod on an open new node.
    fn join(&mut self, index: usize, job: &Job<'a>, narrowed: Narrowed) {
        self.reserve(index, &narrowed.held);
        let open = &mut self.open[index];
        open.requirements = narrowed.requirements;
        open.types = narrowed.types;
        open.demand = narrowed.demand;
        open.held = narrowed.held;
        open.pods.push(job.pod.id);
        open.anti_affinity.extend(job.pod.anti_affinity_host.as_deref());
    }

    /// Opens a new node for the pod in the first pool that can have it.
    fn open_new(&mut self, job: &Job<'a>, relaxed: bool) -> Result<(), Vec<(usize, Refusal)>> {
        let kinds = &self.catalogue.view.types;
        let mut refusals = Vec::new();
        for &pool in &self.catalogue.pool_order {
            let mut fresh = Open {
                pool,
                requirements: self.catalogue.pool_requirements[pool].clone(),
                types: (0..kinds.len()).filter(|t| self.remaining[pool].allows(&kinds[*t].capacity)).collect(),
                demand: Resources::default(),
                pods: Vec::new(),
                anti_affinity: BTreeSet::new(),
                held: BTreeSet::new(),
            };
            let why = match self.narrow(&fresh, job, relaxed) {
                Ok(narrowed) => {
                    // The limit is charged with the largest machine that this node could still be.
                    let capacities = narrowed.types.iter().map(|t| &kinds[*t].capacity);
                    let largest = capacities.fold(Resources::default(), |max, c| max.max(c));
                    self.remaining[pool].subtract(&largest);
                    self.open.push(fresh);
                    self.join(self.open.len() - 1, job, narrowed);
                    return Ok(());
                }
                Err(why) => why,
            };
            // If the types that the limit excludes would have done, the limit is the reason.
            let of_types = matches!(why, Refusal::NoSuchType | Refusal::TypeTooSmall | Refusal::NoOffering);
            let limited = of_types && fresh.types.len() < kinds.len() && {
                fresh.types = (0..kinds.len()).collect();
                self.narrow(&fresh, job, relaxed).is_ok()
            };
            // Who could have reserved capacity waits for it, instead of trying a lighter pool.
            let waits = why == Refusal::ReservationBusy;
            refusals.push((pool, if limited { Refusal::Limit } else { why }));
            if waits {
                break;
            }
        }
        Err(refusals)
    }

    /// The open node with one more pod: fewer types, more requirements, or why it cannot be.
    fn narrow(&self, open: &Open, job: &Job, relaxed: bool) -> Result<Narrowed, Refusal> {
        let catalogue = self.catalogue;
        let demand = open.demand.plus(&job.demand);
        if !open.pods.is_empty() && !open.types.iter().any(|t| self.fits(open.pool, *t, &demand)) {
            return Err(Refusal::TypeTooSmall);
        }
        let taints = &catalogue.view.pools[open.pool].taints;
        if let Some(taint) = untolerated(taints, &job.pod.tolerations, relaxed) {
            return Err(Refusal::Taint { key: taint.key.clone() });
        }
        let well_known = |key: &str| catalogue.well_known.contains(key);
        if let Some(key) = open.requirements.refuses(&job.wants, well_known) {
            return Err(Refusal::Requirement { key: key.to_owned() });
        }
        let mut requirements = open.requirements.clone();
        requirements.add_all(&job.wants);
        let types = self.suitable(open, &requirements, &demand)?;
        if let Some(key) = missing_values(catalogue.view, &catalogue.type_requirements, &types, &requirements) {
            return Err(Refusal::MinValues { key });
        }
        let held = self.reservations(open, &types, &requirements)?;
        Ok(Narrowed { requirements, types, demand, held })
    }

    /// The node's types that satisfy the requirements, are large enough and can be had.
    fn suitable(&self, open: &Open, requirements: &Requirements, demand: &Resources) -> Result<Vec<usize>, Refusal> {
        let (mut any_matches, mut any_fits) = (false, false);
        let mut types = Vec::with_capacity(open.types.len());
        for &index in &open.types {
            let matches = self.catalogue.type_requirements[index].conflict(requirements).is_none();
            // A sold-out type has no zones and capacity types to match; that is no fault of the labels.
            let otherwise = matches || self.matches_but_for_offerings(index, requirements);
            let fits = otherwise && self.fits(open.pool, index, demand);
            any_matches |= otherwise;
            any_fits |= fits;
            let offered = |o: &Offering| o.can_launch() && o.matches(requirements);
            if matches && fits && self.catalogue.view.types[index].offerings.iter().any(offered) {
                types.push(index);
            }
        }
        match (types.is_empty(), any_matches, any_fits) {
            (false, ..) => Ok(types),
            (true, false, _) => Err(Refusal::NoSuchType),
            (true, true, false) => Err(Refusal::TypeTooSmall),
            (true, true, true) => Err(Refusal::NoOffering),
        }
    }

    fn fits(&self, pool: usize, index: usize, demand: &Resources) -> bool {
        demand.plus(&self.catalogue.daemon_overhead[pool][index]).fits(&self.catalogue.allocatable[index])
    }

    fn matches_but_for_offerings(&self, index: usize, requirements: &Requirements) -> bool {
        let own = &self.catalogue.type_requirements[index];
        let mut without = requirements.clone();
        without.set(ZONE, own.get(ZONE).cloned().unwrap_or_else(Requirement::exists));
        without.set(CAPACITY_TYPE, own.get(CAPACITY_TYPE).cloned().unwrap_or_else(Requirement::exists));
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

    fn reserve(&mut self, open: usize, now_held: &BTreeSet<(usize, usize)>) {
        let before = &self.open[open].held;
        for key in before.difference(now_held) {
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
