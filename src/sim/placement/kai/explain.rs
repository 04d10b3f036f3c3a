//! Why a gang has no place, in numbers: how many of its pods would have fitted,
//! what keeps out the next one, and how many GPUs are missing.

use super::allocate::{attempt, place_each, roll_back};
use super::counting::{Greedy, Run, attempt_key};
use super::domains::{Depths, Domains, domain_fits};
use super::session::Session;
use super::{Deferred, Why};
use crate::sim::placement::fit::{Exclusion, NodeCounts};
use crate::sim::placement::view::Amounts;

/// A report without numbers about nodes.
pub fn without_fit(session: &Session, job: usize, why: Why) -> Deferred {
    let group = &session.view.groups[session.jobs[job].group];
    let missing = group.min_member.saturating_sub(session.jobs[job].active);
    Deferred {
        group: group.id,
        fit: 0,
        need: missing.max(1),
        why,
        counts: NodeCounts::default(),
        gpus_missing: 0,
        extra: session.jobs[job].is_extra(group.min_member),
    }
}

/// Why the attempt that was just rolled back found no place. Equal attempts share one answer until
/// something is placed.
pub fn explain(session: &mut Session, job: usize) -> Deferred {
    let Some(key) = attempt_key(session, job) else {
        return explain_afresh(session, job);
    };
    let own = without_fit(session, job, Why::NoFreeGpu);
    if let Some(known) = session.failed.get(&key) {
        return Deferred { group: own.group, need: own.need, extra: own.extra, ..known.clone() };
    }
    let report = explain_afresh(session, job);
    session.failed.insert(key, report.clone());
    report
}

/// Whether an equal attempt has failed since something was last placed.
pub fn has_failed(session: &Session, job: usize) -> bool {
    attempt_key(session, job).is_some_and(|key| session.failed.contains_key(&key))
}

fn explain_afresh(session: &mut Session, job: usize) -> Deferred {
    let group = &session.view.groups[session.jobs[job].group];
    let everywhere: Vec<u32> = (0..session.nodes.len() as u32).collect();
    let (_, need) = attempt(session, job);
    if let Ok(depths) = Depths::of(session, group) {
        let fits = domain_fits(session, job, &depths);
        let open: Vec<usize> = session.tree.as_ref().map_or_else(Vec::new, |tree| {
            let outermost = tree.at(depths.outer).iter().copied();
            outermost.filter(|d| is_open(session, job, *d, &depths)).collect()
        });
        let Some(best) = open.iter().copied().rev().max_by_key(|d| fits[*d]) else {
            // Its running pods are on nodes outside the topology.
            let level = group.topology.required.clone().unwrap_or_default();
            return without_fit(session, job, Why::UnknownTopology { level });
        };
        let ranks = Domains::of(session, job, &depths).ranks;
        let nodes = session.tree.as_ref().map_or(&[][..], |tree| tree.nodes(best)).to_vec();
        let mut report = explain_in(session, job, Some(best), &ranks, &nodes);
        if let Some(level) = &group.topology.required
            && Greedy::new(session, job).fit(everywhere.iter().copied()) >= need as u32
        {
            report.why =
                Why::Topology { level: level.clone(), best_domain_free_gpus: most_free_gpus(session, job, &open) };
        }
        return report;
    }
    explain_in(session, job, None, &[], &everywhere)
}

/// Whether running pods of the group leave this domain of the required level open.
fn is_open(session: &Session, job: usize, domain: usize, depths: &Depths) -> bool {
    let Some(tree) = &session.tree else { return false };
    let pins = &session.jobs[job].active_on;
    !depths.required || pins.is_empty() || pins.iter().any(|n| tree.path(*n).get(depths.outer) == Some(&domain))
}

/// The largest number of free GPUs that the first pod may use in one of the domains.
fn most_free_gpus(session: &Session, job: usize, domains: &[usize]) -> u32 {
    let (Some(tree), Some(class)) = (&session.tree, session.jobs[job].classes.get(attempt(session, job).0)) else {
        return 0;
    };
    let out = &session.matcher.class(*class).out;
    let free = |domain: usize| {
        let nodes = tree.nodes(domain).iter().map(|n| *n as usize);
        nodes.filter(|n| out[*n].is_none()).map(|n| session.left[n].gpus).sum()
    };
    domains.iter().map(|d| free(*d)).max().unwrap_or(0)
}

/// What is left when as many pods as possible have a place: runs of equal pods with how many
/// have none, and the room on the given nodes. Pods of one kind are counted; mixed pods are placed
/// one after the other, as the attempt did.
fn place_what_fits<'s, 'a>(
    session: &'s mut Session<'a>,
    job: usize,
    domain: Option<usize>,
    ranks: &[u8],
    nodes: &[u32],
) -> (Vec<Run>, u32, Vec<Amounts>) {
    let room = |session: &Session| nodes.iter().map(|n| session.left[*n as usize]).collect();
    let mut greedy = Greedy::new(session, job);
    if greedy.runs.len() == 1 {
        let mut left: Vec<Amounts> = room(session);
        for (node, left) in nodes.iter().zip(&mut left) {
            greedy.fill_node(*node, left);
        }
        return (greedy.runs, greedy.fit, left);
    }
    let mut runs = greedy.runs;
    let steps = place_each(session, job, domain, ranks, false);
    let left = room(session);
    roll_back(session, &steps);
    let (start, _) = attempt(session, job);
    let mut waiting = session.jobs[job].pending[start..].iter();
    for run in &mut runs {
        let of_run = waiting.by_ref().take(run.2 as usize);
        let placed = of_run.filter(|t| steps.iter().any(|s| s.task == **t)).count();
        run.2 -= placed as u32;
    }
    (runs, steps.len() as u32, left)
}

/// The report over the given nodes, all of a domain or of the cluster.
fn explain_in(session: &mut Session, job: usize, domain: Option<usize>, ranks: &[u8], nodes: &[u32]) -> Deferred {
    let (runs, fit, left) = place_what_fits(session, job, domain, ranks, nodes);
    let mut report = without_fit(session, job, Why::NoFreeGpu);
    report.fit = fit;
    let Some((request, class, unplaced)) = runs.iter().find(|r| r.2 > 0).copied() else {
        return report;
    };
    let out = &session.matcher.class(class).out;
    let mut shortages = Vec::new();
    for (n, left) in nodes.iter().zip(&left) {
        let n = *n as usize;
        let gpus_later = session.gpus_later[n];
        report.counts.count(out[n], *left, gpus_later, request);
        let could = out[n].is_none() && gpus_later == 0 && session.total[n].gpus >= request.gpus;
        if could && request.gpus > left.gpus {
            shortages.push(request.gpus - left.gpus);
        }
    }
    report.why = reason(session, nodes, &left, out, request, unplaced, report.counts);
    if !matches!(report.why, Why::Cpu | Why::Memory) {
        shortages.sort_unstable();
        let here: u32 = shortages.iter().take(unplaced as usize).sum();
        let beyond = unplaced.saturating_sub(shortages.len() as u32);
        report.gpus_missing = here + beyond * request.gpus;
        for (request, _, waiting) in runs.iter().filter(|r| r.2 > 0).skip(1) {
            report.gpus_missing += request.gpus * waiting;
        }
    }
    report
}

/// The layer to blame: would the pods without a place have had one with that obstacle away?
fn reason(
    session: &Session,
    nodes: &[u32],
    left: &[Amounts],
    out: &[Option<Exclusion>],
    request: Amounts,
    unplaced: u32,
    counts: NodeCounts,
) -> Why {
    let usable = || nodes.iter().zip(left).filter(|(n, _)| out[**n as usize].is_none());
    if usable().next().is_none() && !nodes.is_empty() {
        return match () {
            () if counts.selector > 0 => Why::Selector,
            () if counts.taint > 0 => Why::Taint,
            () => Why::Cordoned,
        };
    }
    let fits = |request: Amounts, with_plugins: bool| {
        let mut places: u32 = 0;
        for (n, left) in usable() {
            let mut room = *left;
            if with_plugins {
                room.gpus += session.gpus_later[*n as usize];
            }
            places += request.times_in(room, unplaced - places);
        }
        places >= unplaced
    };
    let gpus = Amounts::of_gpus(request.gpus);
    let gpus_and_cpu = Amounts { cpu_m: request.cpu_m, ..gpus };
    if fits(gpus, false) {
        return if fits(gpus_and_cpu, false) { Why::Memory } else { Why::Cpu };
    }
    if fits(gpus, true) {
        return Why::DevicePlugin;
    }
    Why::NoFreeGpu
}
