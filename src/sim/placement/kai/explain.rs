//! Where a gang could go, and in numbers why it cannot: how many of its pods would have fitted,
//! what keeps out the next one, and how many GPUs are missing.

use super::allocate::{attempt, place_each, roll_back};
use super::session::{AttemptKey, Session};
use super::{Deferred, Why};
use crate::sim::placement::fit::{Exclusion, NodeCounts};
use crate::sim::placement::view::{Amounts, GroupView, Text};

/// The depths at which an attempt may be placed.
pub struct Depths {
    /// The required level, or the whole cluster.
    outer: usize,
    /// The preferred level, if that is inside.
    inner: usize,
    preferred: Option<usize>,
    required: bool,
}

impl Depths {
    /// `Err`: the level that the settings do not know, or that no node has.
    pub fn of(session: &Session, group: &GroupView) -> Result<Depths, Text> {
        let constraint = &group.topology;
        let named = constraint.required.as_ref().or(constraint.preferred.as_ref());
        let Some((tree, named)) = session.tree.as_ref().zip(named) else {
            return Err(Text::from(""));
        };
        let depth = |level: &Option<Text>| match level {
            None => Ok(None),
            Some(key) => tree.depth_of(key).map(Some).ok_or_else(|| key.clone()),
        };
        let (required, preferred) = (depth(&constraint.required)?, depth(&constraint.preferred)?);
        if tree.nodes(0).is_empty() {
            return Err(named.clone());
        }
        let outer = required.unwrap_or(0);
        Ok(Depths {
            outer,
            inner: preferred.unwrap_or(outer).max(outer),
            preferred,
            required: required.is_some(),
        })
    }
}

/// Where an attempt may go: domains in the order they are tried, and the topology score of each
/// node position (empty without a preferred level).
pub struct Domains {
    pub candidates: Vec<usize>,
    pub ranks: Vec<u8>,
}

impl Domains {
    pub fn of(session: &Session, job: usize, depths: &Depths) -> Domains {
        let mut domains = Domains {
            candidates: Vec::new(),
            ranks: Vec::new(),
        };
        let Some(tree) = &session.tree else { return domains };
        let (start, count) = attempt(session, job);
        let need = count as u32;
        let fits = domain_fits(session, job, depths);
        if !fits.iter().any(|fit| *fit >= need) {
            return domains;
        }
        let j = &session.jobs[job];
        let tasks = &session.view.groups[j.group].tasks;
        let waiting = j.pending[start..start + count].iter();
        let wanted = waiting.fold(Amounts::ZERO, |sum, t| sum.plus(tasks[*t as usize].request));
        let ordered = tree.ordered(wanted, depths.inner.max(depths.preferred.unwrap_or(0)));
        for depth in (depths.outer..=depths.inner).rev() {
            let fitting = ordered[depth].iter().filter(|d| fits[**d] >= need);
            domains.candidates.extend(fitting);
        }
        if let Some(preferred) = depths.preferred {
            domains.ranks = tree.ranks(&ordered[preferred]);
        }
        domains
    }
}

/// How many of the attempt's pods each domain between the depths takes; 0 for domains that are
/// out because running pods of the group pin another one. Mixed pods cannot be counted without
/// placing them: then every domain counts as large enough.
fn domain_fits(session: &Session, job: usize, depths: &Depths) -> Vec<u32> {
    let Some(tree) = &session.tree else { return Vec::new() };
    let mut fits = vec![0u32; tree.domains()];
    let j = &session.jobs[job];
    let (_, need) = attempt(session, job);
    let greedy = Greedy::new(session, job);
    let pins: &[u32] = if depths.required { &j.active_on } else { &[] };
    let pinned: Vec<usize> = pins
        .iter()
        .filter_map(|n| tree.path(*n).get(depths.outer).copied())
        .collect();
    let is_open = |path: &[usize]| pins.is_empty() || pinned.contains(&path[depths.outer]);
    match greedy.runs[..] {
        [(request, class, waiting)] => {
            for &n in &session.matcher.class(class).nodes {
                let k = request.times_in(session.left[n as usize], waiting);
                let path = tree.path(n);
                if k == 0 || path.is_empty() || !is_open(path) {
                    continue;
                }
                for &domain in &path[depths.outer..=depths.inner] {
                    fits[domain] = fits[domain].saturating_add(k);
                }
            }
        }
        _ => {
            for depth in depths.outer..=depths.inner {
                for &domain in tree.at(depth) {
                    let first = tree.nodes(domain).first();
                    if first.is_some_and(|n| is_open(tree.path(*n))) {
                        fits[domain] = need as u32;
                    }
                }
            }
        }
    }
    fits
}

/// Equal pods in a row: request, match class, how many have no place yet.
type Run = (Amounts, usize, u32);

/// The attempt's pods, placed as far as they go and without regard to order or preference.
struct Greedy<'s, 'a> {
    session: &'s Session<'a>,
    runs: Vec<Run>,
    fit: u32,
    total: u32,
}

impl<'s, 'a> Greedy<'s, 'a> {
    fn new(session: &'s Session<'a>, job: usize) -> Self {
        let (start, count) = attempt(session, job);
        let j = &session.jobs[job];
        let group = &session.view.groups[j.group];
        let mut runs: Vec<Run> = Vec::new();
        for i in start..start + count {
            let request = group.tasks[j.pending[i] as usize].request;
            match runs.last_mut() {
                Some((r, class, n)) if *r == request && *class == j.classes[i] => *n += 1,
                _ => runs.push((request, j.classes[i], 1)),
            }
        }
        Greedy {
            session,
            runs,
            fit: 0,
            total: count as u32,
        }
    }

    fn fit(mut self, nodes: impl Iterator<Item = u32>) -> u32 {
        for node in nodes {
            let mut left = self.session.left[node as usize];
            self.fill_node(node, &mut left);
            if self.fit == self.total {
                break;
            }
        }
        self.fit
    }

    /// Puts as many pods on the node as it takes.
    fn fill_node(&mut self, node: u32, left: &mut Amounts) {
        for (request, class, waiting) in &mut self.runs {
            if *waiting == 0 || self.session.matcher.class(*class).out[node as usize].is_some() {
                continue;
            }
            let n = request.times_in(*left, *waiting);
            if n == 0 {
                continue;
            }
            *waiting -= n;
            self.fit += n;
            *left = Amounts {
                gpus: left.gpus - n * request.gpus,
                cpu_m: left.cpu_m - n * request.cpu_m,
                mem_mib: left.mem_mib - n * request.mem_mib,
            };
        }
    }
}

/// Whether pods of one kind are more than the whole cluster takes: spares trying them one by one.
pub fn cannot_fit(session: &Session, job: usize) -> bool {
    let greedy = Greedy::new(session, job);
    let (_, need) = attempt(session, job);
    let [(_, class, _)] = greedy.runs[..] else { return false };
    let nodes = session.matcher.class(class).nodes.iter().copied();
    greedy.fit(nodes) < need as u32
}

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
        return Deferred {
            group: own.group,
            need: own.need,
            extra: own.extra,
            ..known.clone()
        };
    }
    let report = explain_afresh(session, job);
    session.failed.insert(key, report.clone());
    report
}

/// Whether an equal attempt has failed since something was last placed.
pub fn has_failed(session: &Session, job: usize) -> bool {
    attempt_key(session, job).is_some_and(|key| session.failed.contains_key(&key))
}

/// The key of an attempt for pods of one kind that no running pod pins to a domain.
fn attempt_key(session: &Session, job: usize) -> Option<AttemptKey> {
    let greedy = Greedy::new(session, job);
    let [(request, class, count)] = greedy.runs[..] else {
        return None;
    };
    let topology = &session.view.groups[session.jobs[job].group].topology;
    if topology.required.is_some() && !session.jobs[job].active_on.is_empty() {
        return None;
    }
    Some((
        request.gpus,
        request.cpu_m,
        request.mem_mib,
        class,
        count,
        topology.clone(),
    ))
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
            report.why = Why::Topology {
                level: level.clone(),
                best_domain_free_gpus: most_free_gpus(session, job, &open),
            };
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
    let (start, count) = attempt(session, job);
    let j = &session.jobs[job];
    let mut of_run = runs
        .iter()
        .enumerate()
        .flat_map(|(r, run)| vec![r; run.2 as usize])
        .collect::<Vec<_>>();
    of_run.truncate(count);
    for (i, r) in of_run.into_iter().enumerate() {
        let task = j.pending[start + i];
        if steps.iter().any(|s| s.task == task) {
            runs[r].2 -= 1;
        }
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
    let gpus_and_cpu = Amounts {
        cpu_m: request.cpu_m,
        ..gpus
    };
    if fits(gpus, false) {
        return if fits(gpus_and_cpu, false) {
            Why::Memory
        } else {
            Why::Cpu
        };
    }
    if fits(gpus, true) {
        return Why::DevicePlugin;
    }
    Why::NoFreeGpu
}
