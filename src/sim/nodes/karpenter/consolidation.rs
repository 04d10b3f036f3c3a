//! The consolidation test: would the pods of these nodes fit on the rest, plus at most one cheaper
//! new node?

use super::balanced::{self, K};
use super::candidates::{Candidate, consolidatable_in, disruption_cost, price};
use super::catalogue::{Catalogue, needed_for_min_values, short_of_values};
use super::decision::{Command, Destination, KeptReason, Landing, Method};
use super::plan::{NewNode, choose_launch, sort_by_price};
use super::pool::{Policy, Reason};
use super::provision::{deleting_jobs, pending_jobs};
use super::requirement::Requirement;
use super::scheduling::{Job, Mode, Outcome, Pass};
use super::types::{CAPACITY_TYPE, CapacityType, InstanceType, NodeView, Settings, View};
use crate::sim::id::{NodeId, PodId};
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};
use std::collections::BTreeSet;

/// A spot node is replaced by a spot node only if so many types are cheaper, so that the next pass
/// does not move it again.
pub(super) const SPOT_TO_SPOT_TYPES: usize = 15;

/// What a disruption method needs to simulate.
pub(super) struct Context<'a> {
    pub view: &'a View,
    pub settings: &'a Settings,
    pub now: Time,
    catalogue: Catalogue<'a>,
    /// Nodes inside their own `consolidateAfter`: running pods may not be moved there.
    closed: Vec<NodeId>,
}

/// A simulated removal: every pod has a place.
pub(super) struct Simulation {
    pub landings: Vec<Landing>,
    pub new_nodes: Vec<NewNode>,
}

impl<'a> Context<'a> {
    pub fn new(view: &'a View, settings: &'a Settings, now: Time) -> Self {
        let still_waiting = |node: &&NodeView| {
            let pool = node.pool.and_then(|p| view.pools.get(p));
            node.initialized
                && pool.is_some_and(|p| {
                    p.consolidate_after.is_some() && consolidatable_in(p, node, now) != Some(Span::ZERO)
                })
        };
        Context {
            view,
            settings,
            now,
            catalogue: Catalogue::new(view),
            closed: view.nodes.iter().filter(still_waiting).map(|n| n.id).collect(),
        }
    }

    /// Schedules the candidates' pods, all pending pods and the pods of deleting nodes on what is
    /// left. All but the pending ones must land, and those of the candidates not on a node that is
    /// still starting.
    pub fn simulate(&self, candidates: &[Candidate]) -> Result<Simulation, KeptReason> {
        let without: Vec<NodeId> = candidates.iter().map(Candidate::id).collect();
        let mine: BTreeSet<PodId> = candidates.iter().flat_map(|c| &c.pods).map(|p| p.id).collect();
        let moved = self
            .view
            .nodes
            .iter()
            .filter(|n| without.contains(&n.id))
            .flat_map(|n| &n.pods)
            .filter(|p| mine.contains(&p.id))
            .map(|pod| Job::new(pod, true));
        let jobs = pending_jobs(self.view).chain(moved).chain(deleting_jobs(self.view, self.now)).collect();
        let mode = Mode { without: &without, closed_to_running: &self.closed, strict_reservations: false };
        let outcome = Pass::new(&self.catalogue, &mode).run(jobs);
        self.judge(outcome, &mine)
    }

    fn judge(&self, outcome: Outcome, mine: &BTreeSet<PodId>) -> Result<Simulation, KeptReason> {
        let pending: BTreeSet<PodId> = self.view.pending.iter().map(|p| p.id).collect();
        if let Some(failed) = outcome.unschedulable.iter().find(|u| !pending.contains(&u.pod)) {
            return Err(KeptReason::PodsDoNotFit { pod: failed.pod, why: failed.reason.clone() });
        }
        let starting: BTreeSet<NodeId> =
            self.view.nodes.iter().filter(|n| n.pool.is_some() && !n.initialized).map(|n| n.id).collect();
        let mine_on_existing = outcome.on_existing.iter().filter(|(pod, _)| mine.contains(pod));
        if let Some((pod, node)) = mine_on_existing.clone().find(|(_, node)| starting.contains(node)) {
            return Err(KeptReason::OnlyOnStartingNode { pod: *pod, node: *node });
        }
        let mut landings: Vec<Landing> =
            mine_on_existing.map(|(pod, node)| Landing { pod: *pod, to: Destination::Existing(*node) }).collect();
        for (index, node) in outcome.new_nodes.iter().enumerate() {
            landings.extend(
                node.pods
                    .iter()
                    .filter(|p| mine.contains(p))
                    .map(|pod| Landing { pod: *pod, to: Destination::Replacement(index) }),
            );
        }
        landings.sort_by_key(|l| l.pod);
        Ok(Simulation { landings, new_nodes: outcome.new_nodes })
    }

    /// Deletes the candidates if their pods fit elsewhere, or replaces them by one cheaper node.
    pub fn consolidate(&self, candidates: &[Candidate], method: Method) -> Result<Command, KeptReason> {
        let simulation = self.simulate(candidates)?;
        let mut replacements = simulation.new_nodes;
        if replacements.len() > 1 {
            return Err(KeptReason::NeedsNodes { count: replacements.len() });
        }
        if let Some(node) = replacements.first_mut() {
            self.make_cheaper(node, candidates)?;
            if method == Method::MultiNode {
                self.drop_removed_types(node, candidates)?;
            }
            node.launch = choose_launch(self.view, &node.options, &node.requirements)
                .ok_or(KeptReason::NotCheaper { now: total_price(candidates), cheapest: None })?;
        }
        let command = self.command(method, Reason::Underutilized, candidates, simulation.landings, replacements);
        self.balanced_allows(candidates, command.savings_microusd_per_hour() as f64)?;
        Ok(command)
    }

    pub fn command(
        &self,
        method: Method,
        reason: Reason,
        candidates: &[Candidate],
        landings: Vec<Landing>,
        replacements: Vec<NewNode>,
    ) -> Command {
        Command {
            method,
            reason,
            nodes: candidates.iter().map(Candidate::id).collect(),
            landings,
            price_before: total_price(candidates),
            price_after: replacements.iter().fold(Microusd(0), |sum, n| sum + n.launch.price_microusd_per_hour),
            replacements,
            decided_at: self.now,
        }
    }

    /// Leaves the options that are strictly cheaper than the candidates together.
    fn make_cheaper(&self, node: &mut NewNode, candidates: &[Candidate]) -> Result<(), KeptReason> {
        let now = total_price(candidates);
        let allows = |node: &NewNode, c: CapacityType| node.requirements.allows(CAPACITY_TYPE, c.label());
        let all_spot = candidates.iter().all(|c| c.node.capacity_type == CapacityType::Spot);
        if all_spot && allows(node, CapacityType::Spot) {
            if !self.settings.spot_to_spot {
                return Err(KeptReason::SpotToSpotOff);
            }
            pin_to_spot(node);
            self.keep_below(node, now)?;
            if candidates.len() == 1 {
                self.cut_to_cheapest(node)?;
            }
            return Ok(());
        }
        self.keep_below(node, now)?;
        // Prices were compared on the assumption that spot will launch, so on-demand must not. A
        // node without any spot offering stays as it is: upstream would only fail to launch it.
        let has_spot = |index: &usize| {
            self.view.types.get(*index).is_some_and(|kind| {
                kind.offerings
                    .iter()
                    .any(|o| o.capacity_type == CapacityType::Spot && o.can_launch() && o.matches(&node.requirements))
            })
        };
        if allows(node, CapacityType::OnDemand) && allows(node, CapacityType::Spot) && node.options.iter().any(has_spot)
        {
            pin_to_spot(node);
        }
        Ok(())
    }

    fn keep_below(&self, node: &mut NewNode, limit: Microusd) -> Result<(), KeptReason> {
        let worst = |index: &usize| {
            let kind = self.view.types.get(*index)?;
            worst_launch_price(kind, node)
        };
        let cheapest = node.options.iter().filter_map(worst).min();
        let kept: Vec<usize> =
            node.options.iter().copied().filter(|i| worst(i).is_some_and(|price| price < limit)).collect();
        if kept.is_empty() {
            return Err(KeptReason::NotCheaper { now: limit, cheapest });
        }
        if let Some(key) = short_of_values(self.view, &kept, &node.requirements) {
            return Err(KeptReason::MinValues { key });
        }
        node.options = kept;
        Ok(())
    }

    fn cut_to_cheapest(&self, node: &mut NewNode) -> Result<(), KeptReason> {
        if node.options.len() < SPOT_TO_SPOT_TYPES {
            return Err(KeptReason::TooFewSpotTypes { found: node.options.len() });
        }
        sort_by_price(self.view, &mut node.options, &node.requirements);
        let needed = if node.requirements.has_min_values() {
            needed_for_min_values(self.view, &node.options, &node.requirements)
        } else {
            0
        };
        node.options.truncate(needed.max(SPOT_TO_SPOT_TYPES));
        Ok(())
    }

    /// If a removed type is among the options, only what is cheaper than the cheapest removed node
    /// of such a type makes sense: otherwise that node could simply be kept.
    fn drop_removed_types(&self, node: &mut NewNode, candidates: &[Candidate]) -> Result<(), KeptReason> {
        let cheapest_removed = candidates
            .iter()
            .filter(|c| c.node.instance_type.is_some_and(|t| node.options.contains(&t)))
            .filter_map(|c| c.price)
            .min();
        match cheapest_removed {
            Some(limit) => self.keep_below(node, limit),
            None => Ok(()),
        }
    }

    /// Every Balanced pool among the candidates must find its share of the savings worth it.
    fn balanced_allows(&self, candidates: &[Candidate], savings: f64) -> Result<(), KeptReason> {
        let all = total_price(candidates).0 as f64;
        let pools: BTreeSet<usize> =
            candidates.iter().filter(|c| c.pool.policy == Policy::Balanced).map(|c| c.pool_index).collect();
        for pool in pools {
            let of_pool = || candidates.iter().filter(|c| c.pool_index == pool);
            let cost = of_pool().filter_map(|c| c.price).fold(0.0, |s, p| s + p.0 as f64);
            let share = if all > 0.0 { cost / all } else { 1.0 };
            let disruption = of_pool().fold(0.0, |s, c| s + c.disruption);
            self.score(pool, savings * share, disruption)?;
        }
        Ok(())
    }

    /// Balanced: whether removing the node without any replacement would be worth it. If not, no
    /// replacement can be, and the node is not simulated.
    pub fn deletion_worth_it(&self, candidate: &Candidate) -> Result<(), KeptReason> {
        let savings = candidate.price.unwrap_or_default().0 as f64;
        match candidate.pool.policy {
            Policy::Balanced => self.score(candidate.pool_index, savings, candidate.disruption),
            Policy::WhenEmpty | Policy::WhenEmptyOrUnderutilized => Ok(()),
        }
    }

    fn score(&self, pool: usize, savings: f64, disruption: f64) -> Result<(), KeptReason> {
        let priced = self
            .view
            .nodes
            .iter()
            .filter(|n| n.pool == Some(pool))
            .filter_map(|n| price(self.view, n).map(|p| (p.0 as f64, disruption_cost(n))));
        let (cost, total) = priced.fold((0.0, 0.0), |(c, d), (p, x)| (c + p, d + x));
        let result = balanced::score(savings, disruption, cost, total, K);
        if result.approved {
            Ok(())
        } else {
            Err(KeptReason::NotWorthIt { score_milli: (result.score * 1000.0).round() as u64 })
        }
    }
}

fn pin_to_spot(node: &mut NewNode) {
    node.requirements.add(CAPACITY_TYPE, Requirement::one_of([CapacityType::Spot.label()]));
}

fn total_price(candidates: &[Candidate]) -> Microusd {
    candidates.iter().filter_map(|c| c.price).fold(Microusd(0), |sum, p| sum + p)
}

/// The dearest offering that a launch might end up with: of the first capacity type that is
/// available at all.
fn worst_launch_price(kind: &InstanceType, node: &NewNode) -> Option<Microusd> {
    CapacityType::PREFERENCE.into_iter().find_map(|capacity_type| {
        kind.offerings
            .iter()
            .filter(|o| o.capacity_type == capacity_type && o.can_launch() && o.matches(&node.requirements))
            .map(|o| o.price_microusd_per_hour)
            .max()
    })
}
