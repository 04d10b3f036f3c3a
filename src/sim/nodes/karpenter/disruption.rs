//! The disruption loop: Emptiness, Drift, multi-node and single-node consolidation, in this order;
//! the first method with a command ends the pass.
//!
//! Left out: drift of pools with a fixed number of nodes, node repair, and the search time limits
//! (1 and 3 minutes of real time) that only very large clusters reach. Where upstream leaves the
//! order of pools open, it is by name here.

use super::budgets::Purse;
use super::candidates::{Candidate, Class, sort, within_budget};
use super::consolidation::Context;
use super::decision::{Command, Decision, Invalid, Kept, KeptReason, Method};
use super::pool::Reason;
use super::types::{Settings, View};
use crate::sim::id::NodeId;
use crate::sim::time::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Most nodes that one multi-node search considers.
const MULTI_NODE_MAX: usize = 100;
/// Consolidation of an unchanged cluster is tried again after so long.
const RECHECK: Span = Span::from_mins(5);

/// What the loop remembers between passes.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct DisruptionMemory {
    /// State of the cluster and time when consolidation last found nothing.
    consolidated: Option<(u64, Vec<NodeId>, Time)>,
}

/// Reasons found so far; a later method overwrites an earlier one.
struct Notes(BTreeMap<NodeId, KeptReason>);

impl Notes {
    fn note(&mut self, node: NodeId, reason: KeptReason) {
        self.0.insert(node, reason);
    }
}

/// One pass. Returns the decision and the memory for the next pass.
///
/// A command of Emptiness or consolidation must wait `VALIDATION_WAIT` and pass [`validate`]; the
/// loop stands still meanwhile. The caller marks the nodes of an accepted command as deleting.
pub fn disrupt(view: &View, settings: &Settings, memory: &DisruptionMemory, now: Time) -> (Decision, DisruptionMemory) {
    let mut notes = Notes(BTreeMap::new());
    let mut candidates = Vec::new();
    for node in view.nodes.iter().filter(|n| n.pool.is_some()) {
        match Candidate::new(view, node, Class::Graceful, now) {
            Ok(candidate) => candidates.push(candidate),
            Err(reason) => notes.note(node.id, reason),
        }
    }
    let mut consolidatable = Vec::new();
    for candidate in candidates {
        match candidate.consolidatable(now) {
            Ok(()) => consolidatable.push(candidate),
            Err(reason) => notes.note(candidate.id(), reason),
        }
    }
    sort(&mut consolidatable);
    let awake: Vec<NodeId> = {
        let ids: BTreeSet<NodeId> = consolidatable.iter().map(Candidate::id).collect();
        ids.into_iter().collect()
    };
    let asleep = memory.consolidated.as_ref().is_some_and(|(version, ids, since)| {
        *version == view.state_version && *ids == awake && now.since(*since) < RECHECK
    });
    let context = Context::new(view, settings, now);
    let mut limited = false;

    let mut command = None;
    if !asleep {
        command = emptiness(&context, &consolidatable, &mut notes, &mut limited);
    }
    if command.is_none() {
        command = drift(&context, &mut notes);
    }
    if command.is_none() && !asleep {
        let movable: Vec<Candidate> = movable(&consolidatable, &mut notes);
        command = multi_node(&context, &movable, &mut notes, &mut limited)
            .or_else(|| single_node(&context, &movable, &mut notes, &mut limited));
    }
    if asleep {
        for candidate in &consolidatable {
            notes.note(candidate.id(), KeptReason::Unchanged);
        }
    }
    let next = match (&command, asleep, limited) {
        (Some(_), ..) => DisruptionMemory::default(),
        (None, true, _) => memory.clone(),
        // A budget may open without any change of the cluster: look again next time.
        (None, false, true) => DisruptionMemory::default(),
        (None, false, false) => DisruptionMemory { consolidated: Some((view.state_version, awake, now)) },
    };
    let decision = Decision { kept: kept_in_order(view, notes, command.as_ref()), command };
    (decision, next)
}

fn kept_in_order(view: &View, notes: Notes, command: Option<&Command>) -> Vec<Kept> {
    let chosen = |node: &NodeId| command.is_some_and(|c| c.nodes.contains(node));
    let ratio = |id: NodeId| {
        view.node(id).map_or(0.0, |node| {
            let price = super::candidates::price(view, node).unwrap_or_default();
            price.0 as f64 / super::candidates::disruption_cost(node)
        })
    };
    let mut kept: Vec<(f64, Kept)> = notes
        .0
        .into_iter()
        .filter(|(node, _)| !chosen(node))
        .map(|(node, reason)| (ratio(node), Kept { node, reason }))
        .collect();
    kept.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.node.cmp(&y.node)));
    kept.into_iter().map(|(_, kept)| kept).collect()
}

fn emptiness(context: &Context, candidates: &[Candidate], notes: &mut Notes, limited: &mut bool) -> Option<Command> {
    let empty: Vec<Candidate> = candidates.iter().filter(|c| c.is_empty()).cloned().collect();
    let reason = Reason::Empty;
    let mut purse = Purse::new(context.view, reason, context.now);
    let chosen = within_budget(empty, &mut purse, |node| {
        *limited = true;
        notes.note(node, KeptReason::Budget { reason });
    });
    (!chosen.is_empty()).then(|| context.command(Method::Emptiness, reason, &chosen, Vec::new(), Vec::new()))
}

/// One drifted node: those without pods first, then the earliest. Replacements may be several and
/// cost what they want.
fn drift(context: &Context, notes: &mut Notes) -> Option<Command> {
    let (view, now, reason) = (context.view, context.now, Reason::Drifted);
    let purse = Purse::new(view, reason, now);
    let mut drifted = Vec::new();
    for node in view.nodes.iter().filter(|n| n.pool.is_some() && n.drifted_at.is_some()) {
        match Candidate::new(view, node, Class::Eventual, now) {
            Ok(candidate) if candidate.pool.replicas.is_none() => drifted.push(candidate),
            Ok(_) => {}
            Err(why) => notes.note(node.id, why),
        }
    }
    drifted.sort_by_key(|c| (!c.pods.is_empty(), c.node.drifted_at, c.id()));
    drifted.iter().find_map(|candidate| {
        if !purse.has_room(candidate.pool_index) {
            notes.note(candidate.id(), KeptReason::Budget { reason });
            return None;
        }
        let alone = std::slice::from_ref(candidate);
        match context.simulate(alone) {
            Ok(found) => Some(context.command(Method::Drift, reason, alone, found.landings, found.new_nodes)),
            Err(why) => {
                notes.note(candidate.id(), why);
                None
            }
        }
    })
}

/// Candidates with pods whose policy lets them be consolidated. Empty ones are Emptiness' business:
/// if it left them, its budget was used up.
fn movable<'a>(candidates: &[Candidate<'a>], notes: &mut Notes) -> Vec<Candidate<'a>> {
    let with_pods = candidates.iter().filter(|c| !c.is_empty());
    with_pods
        .filter(|c| match c.underutilized_allowed() {
            Ok(()) => true,
            Err(reason) => {
                notes.note(c.id(), reason);
                false
            }
        })
        .cloned()
        .collect()
}

/// The longest prefix (two or more) of the sorted candidates that consolidates, by binary search.
fn multi_node(context: &Context, movable: &[Candidate], notes: &mut Notes, limited: &mut bool) -> Option<Command> {
    let reason = Reason::Underutilized;
    let mut purse = Purse::new(context.view, reason, context.now);
    let chosen = within_budget(movable.to_vec(), &mut purse, |node| {
        *limited = true;
        notes.note(node, KeptReason::Budget { reason });
    });
    let (mut low, mut high) = (2, chosen.len().min(MULTI_NODE_MAX));
    let mut best = None;
    while low <= high {
        let length = (low + high) / 2;
        match context.consolidate(&chosen[..length], Method::MultiNode) {
            Ok(command) => {
                best = Some(command);
                low = length + 1;
            }
            Err(_) => high = length - 1,
        }
    }
    best
}

/// The first node that consolidates alone; pools take turns.
fn single_node(context: &Context, movable: &[Candidate], notes: &mut Notes, limited: &mut bool) -> Option<Command> {
    let reason = Reason::Underutilized;
    let purse = Purse::new(context.view, reason, context.now);
    for candidate in interleaved(movable) {
        if !purse.has_room(candidate.pool_index) {
            *limited = true;
            notes.note(candidate.id(), KeptReason::Budget { reason });
            continue;
        }
        let alone = std::slice::from_ref(candidate);
        let attempt =
            context.deletion_worth_it(candidate).and_then(|()| context.consolidate(alone, Method::SingleNode));
        match attempt {
            Ok(command) => return Some(command),
            Err(why) => notes.note(candidate.id(), why),
        }
    }
    None
}

fn interleaved<'c, 'a>(movable: &'c [Candidate<'a>]) -> Vec<&'c Candidate<'a>> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut turns: Vec<(usize, &str, &Candidate)> = Vec::new();
    for candidate in movable {
        let turn = seen.entry(&candidate.pool.name).or_default();
        turns.push((*turn, &candidate.pool.name, candidate));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, pool, _)| (*turn, *pool));
    turns.into_iter().map(|(_, _, candidate)| candidate).collect()
}

/// Whether a command still holds after `VALIDATION_WAIT`, against the view of then.
///
/// Emptiness goes on with the nodes that are still empty candidates within budget. Consolidation
/// holds only as a whole: all nodes still candidates, budgets kept, the same number of new nodes,
/// and the chosen types a subset of what fits now.
pub fn validate(view: &View, settings: &Settings, command: &Command, now: Time) -> Result<Command, Invalid> {
    match command.method {
        Method::Drift => Ok(command.clone()),
        Method::Emptiness => validate_emptiness(view, settings, command, now),
        Method::MultiNode | Method::SingleNode => validate_consolidation(view, settings, command, now),
    }
}

/// A node of a command as it is now.
fn still_candidate(view: &View, node: NodeId, reason: Reason, now: Time) -> Result<Candidate<'_>, Invalid> {
    let current = view.node(node).ok_or(Invalid::NodeGone(node))?;
    let check = || {
        let candidate = Candidate::new(view, current, Class::Graceful, now)?;
        candidate.consolidatable(now)?;
        if reason == Reason::Empty {
            if !candidate.is_empty() {
                let pods = candidate.pods.len();
                return Err(KeptReason::NotEmpty { pods });
            }
        } else {
            candidate.underutilized_allowed()?;
        }
        Ok(candidate)
    };
    check().map_err(|reason| Invalid::Candidate(Kept { node, reason }))
}

fn validate_emptiness(view: &View, settings: &Settings, command: &Command, now: Time) -> Result<Command, Invalid> {
    let mut purse = Purse::new(view, command.reason, now);
    let mut valid = Vec::new();
    let mut dropped = None;
    for node in &command.nodes {
        match still_candidate(view, *node, command.reason, now) {
            Ok(candidate) if purse.take(candidate.pool_index) => valid.push(candidate),
            Ok(_) => dropped = Some(over_budget(*node, command.reason)),
            Err(why) => dropped = Some(why),
        }
    }
    match dropped {
        Some(why) if valid.is_empty() => Err(why),
        _ => Ok(Command {
            decided_at: command.decided_at,
            ..Context::new(view, settings, now).command(command.method, command.reason, &valid, Vec::new(), Vec::new())
        }),
    }
}

fn over_budget(node: NodeId, reason: Reason) -> Invalid {
    Invalid::Candidate(Kept { node, reason: KeptReason::Budget { reason } })
}

fn validate_consolidation(view: &View, settings: &Settings, command: &Command, now: Time) -> Result<Command, Invalid> {
    let mut purse = Purse::new(view, command.reason, now);
    let mut candidates = Vec::new();
    for node in &command.nodes {
        let candidate = still_candidate(view, *node, command.reason, now)?;
        if !purse.take(candidate.pool_index) {
            return Err(over_budget(*node, command.reason));
        }
        candidates.push(candidate);
    }
    let first = command.nodes.first().copied().unwrap_or(NodeId(0));
    let found = Context::new(view, settings, now)
        .simulate(&candidates)
        .map_err(|reason| Invalid::Candidate(Kept { node: first, reason }))?;
    if found.new_nodes.len() != command.replacements.len() {
        return Err(Invalid::NewNodeCount { expected: command.replacements.len(), now: found.new_nodes.len() });
    }
    let possible = |chosen: &super::plan::NewNode, now: &super::plan::NewNode| {
        chosen.options.iter().all(|option| now.options.contains(option))
    };
    if !command.replacements.iter().zip(&found.new_nodes).all(|(a, b)| possible(a, b)) {
        return Err(Invalid::TypesChanged);
    }
    // The pods are those of now; the replacement keeps its chosen types.
    let replacements = command
        .replacements
        .iter()
        .zip(found.new_nodes)
        .map(|(chosen, now)| super::plan::NewNode { pods: now.pods, ..chosen.clone() });
    Ok(Command { landings: found.landings, replacements: replacements.collect(), ..command.clone() })
}
