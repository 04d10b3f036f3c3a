//! The allocate action: groups in queue order, gangs all or nothing.

use super::counting;
use super::domains::{Depths, Domains};
use super::explain;
use super::queues::{Sums, add, sums};
use super::session::Session;
use super::{KaiDecision, Placed, Placement, Why};
use crate::sim::id::GroupId;
use crate::sim::placement::view::{Amounts, GroupView, Text};
use crate::sim::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Order of jobs inside a queue: priority; below, at, above the minimum; age; id.
type JobKey = (Reverse<i32>, u8, Time, GroupId, usize);

/// A pod's place within a statement.
#[derive(Clone, Copy)]
pub struct Step {
    /// Position in the group.
    pub task: u32,
    node: u32,
    request: Amounts,
    pipelined: bool,
}

pub fn allocate(session: &mut Session, decisions: &mut Vec<KaiDecision>) {
    let mut order = JobOrder::new(session);
    for job in 0..session.jobs.len() {
        match not_ready(session, job) {
            Some(why) => decisions.push(without_fit(session, job, why)),
            None => order.push(session, job),
        }
    }
    while let Some(job) = order.pop(session) {
        if try_job(session, job, decisions) && session.jobs[job].placed < session.jobs[job].pending.len() {
            order.push(session, job);
        }
    }
}

/// Why a job with pending pods cannot be tried at all. Jobs without pending pods are never
/// reported: they are not pushed either, as `JobOrder::push` skips them.
fn not_ready(session: &Session, job: usize) -> Option<Why> {
    let job = &session.jobs[job];
    let group = &session.view.groups[job.group];
    if job.pending.is_empty() {
        return None;
    }
    if job.queue.is_none() {
        return Some(Why::UnknownQueue { queue: group.queue.clone() });
    }
    let exist = job.alive - job.gated;
    (exist < group.min_member).then_some(Why::Partners { exist, need: group.min_member })
}

/// A deferral for a reason that is not about nodes.
fn without_fit(session: &Session, job: usize, why: Why) -> KaiDecision {
    KaiDecision::GangDeferred(explain::without_fit(session, job, why))
}

/// One attempt: the missing part of the minimum together, or one pod above it.
fn try_job(session: &mut Session, job: usize, decisions: &mut Vec<KaiDecision>) -> bool {
    let group = &session.view.groups[session.jobs[job].group];
    let Some(queue) = session.jobs[job].queue else {
        return false;
    };
    let request = session.jobs[job].next_request;
    if let Err(limit) = session.queues.check(queue, request, group.preemptible) {
        let why = if limit.is_limit { Why::OverLimit(limit) } else { Why::NonPreemptibleOverQuota(limit) };
        decisions.push(without_fit(session, job, why));
        return false;
    }
    match place(session, job, group) {
        Ok(steps) => {
            let extra = session.jobs[job].is_extra(group.min_member);
            decisions.push(commit(session, job, steps, extra));
            true
        }
        Err(unknown_level) => {
            decisions.push(match unknown_level {
                Some(level) => without_fit(session, job, Why::UnknownTopology { level }),
                None => KaiDecision::GangDeferred(explain::explain(session, job)),
            });
            false
        }
    }
}

/// Places the attempt in the first domain that takes it. `Err(Some(level))`: no such level.
fn place(session: &mut Session, job: usize, group: &GroupView) -> Result<Vec<Step>, Option<Text>> {
    if explain::has_failed(session, job) {
        return Err(None);
    }
    if group.topology.is_none() {
        if counting::cannot_fit(session, job) {
            return Err(None);
        }
        return fill(session, job, None, &[]).ok_or(None);
    }
    let depths = Depths::of(session, group).map_err(Some)?;
    let domains = Domains::of(session, job, &depths);
    for domain in domains.candidates {
        if let Some(steps) = fill(session, job, Some(domain), &domains.ranks) {
            return Ok(steps);
        }
    }
    Err(None)
}

/// Places the attempt's pods one after the other on their best nodes, all or none. `ranks` is the
/// topology score by node position, empty without a preferred level.
fn fill(session: &mut Session, job: usize, domain: Option<usize>, ranks: &[u8]) -> Option<Vec<Step>> {
    let (_, count) = attempt(session, job);
    let steps = place_each(session, job, domain, ranks, true);
    if steps.len() == count {
        return Some(steps);
    }
    roll_back(session, &steps);
    None
}

/// Places the attempt's pods one after the other and returns those that found a node;
/// `until_failure` ends at the first that does not.
pub fn place_each(
    session: &mut Session,
    job: usize,
    domain: Option<usize>,
    ranks: &[u8],
    until_failure: bool,
) -> Vec<Step> {
    let (start, count) = attempt(session, job);
    let mut steps: Vec<Step> = Vec::with_capacity(count);
    let mut candidates = Candidates::default();
    for i in start..start + count {
        let j = &session.jobs[job];
        let (task, class) = (j.pending[i], j.classes[i]);
        let request = session.view.groups[j.group].tasks[task as usize].request;
        candidates.select(session, class, domain);
        let node =
            candidates.same_again(session, request).or_else(|| best_node(session, &candidates.nodes, request, ranks));
        let Some(node) = node else {
            if until_failure {
                break;
            }
            continue;
        };
        let n = node as usize;
        let pipelined = !request.fits(session.idle[n]);
        session.left[n] = session.left[n].minus(request);
        if !pipelined {
            session.idle[n] = session.idle[n].minus(request);
        }
        candidates.last = (!pipelined).then_some((node, request));
        steps.push(Step { task, node, request, pipelined });
    }
    steps
}

/// First position in `pending` and number of pods of the job's next attempt.
pub fn attempt(session: &Session, job: usize) -> (usize, usize) {
    let j = &session.jobs[job];
    (j.placed, j.next_count(session.view.groups[j.group].min_member))
}

/// The nodes that pods of one class may use, and where the last pod went.
#[derive(Default)]
struct Candidates {
    class: Option<usize>,
    nodes: Vec<u32>,
    last: Option<(u32, Amounts)>,
}

impl Candidates {
    fn select(&mut self, session: &Session, class: usize, domain: Option<usize>) {
        if self.class == Some(class) {
            return;
        }
        self.class = Some(class);
        self.last = None;
        self.nodes.clear();
        let matched = session.matcher.class(class);
        match domain.zip(session.tree.as_ref()) {
            None => self.nodes.extend_from_slice(&matched.nodes),
            Some((d, tree)) => {
                let inside = tree.nodes(d).iter().copied();
                self.nodes.extend(inside.filter(|n| matched.out[*n as usize].is_none()));
            }
        }
    }

    /// The node of the previous, equal pod if it still has idle room. Under bin packing it is the
    /// best again: it has become fuller, and no other node has changed.
    fn same_again(&self, session: &Session, request: Amounts) -> Option<u32> {
        let (node, previous) = self.last?;
        let packs = session.placement(request) == Placement::Binpack;
        let fits = request.fits(session.idle[node as usize]) && request.fits(session.left[node as usize]);
        (packs && previous == request && fits).then_some(node)
    }
}

impl Session<'_> {
    fn placement(&self, request: Amounts) -> Placement {
        if request.gpus > 0 { self.settings.gpu_placement } else { self.settings.cpu_placement }
    }
}

/// Topology rank, idle now, right kind of node: compared before density.
type Coarse = (u8, bool, bool);

/// The best node for a request: topology rank, room that is idle now, CPU pods away from GPU
/// nodes, then fullest (or emptiest) first, then name.
fn best_node(session: &Session, nodes: &[u32], request: Amounts, ranks: &[u8]) -> Option<u32> {
    let spread = session.placement(request) == Placement::Spread;
    let wants_gpus = request.gpus > 0;
    let mut best: Option<(u32, Coarse, (u32, u32))> = None;
    for &node in nodes {
        let n = node as usize;
        let left = session.left[n];
        if !request.fits(left) {
            continue;
        }
        let allocatable = session.total[n];
        let rank = ranks.get(n).copied().unwrap_or(0);
        let coarse = (rank, request.fits(session.idle[n]), wants_gpus || allocatable.gpus == 0);
        let (free, of) = if wants_gpus { (left.gpus, allocatable.gpus) } else { (left.cpu_m, allocatable.cpu_m) };
        let better = match &best {
            None => true,
            Some((_, c, _)) if coarse != *c => coarse > *c,
            Some((_, _, (f, o))) if spread => u64::from(free) * u64::from(*o) > u64::from(*f) * u64::from(of),
            Some((_, _, (f, _))) => free < *f,
        };
        if better {
            best = Some((node, coarse, (free, of)));
        }
    }
    best.map(|(node, _, _)| node)
}

/// Takes a statement back.
pub fn roll_back(session: &mut Session, steps: &[Step]) {
    for step in steps {
        let n = step.node as usize;
        session.left[n] = session.left[n].plus(step.request);
        if !step.pipelined {
            session.idle[n] = session.idle[n].plus(step.request);
        }
    }
}

/// Books the statement. A gang below its minimum with one pipelined pod is pipelined whole.
fn commit(session: &mut Session, job: usize, mut steps: Vec<Step>, extra: bool) -> KaiDecision {
    let pipelined = steps.iter().any(|s| s.pipelined);
    if pipelined {
        for step in steps.iter_mut().filter(|s| !s.pipelined) {
            let n = step.node as usize;
            session.idle[n] = session.idle[n].plus(step.request);
            step.pipelined = true;
        }
    }
    let group = &session.view.groups[session.jobs[job].group];
    let mut amount: Sums = [0.0; 3];
    for step in &steps {
        add(&mut amount, sums(step.request), 1.0);
        if let Some(tree) = &mut session.tree {
            tree.take(step.node, step.request);
        }
    }
    session.failed.clear();
    let j = &mut session.jobs[job];
    if let Some(queue) = j.queue {
        session.queues.allocate(queue, amount, group.preemptible, 1.0);
    }
    j.placed += steps.len();
    j.active += steps.len() as u32;
    j.active_on.extend(steps.iter().map(|s| s.node));
    j.set_next_request(group);
    let placed = |s: &Step| Placed { pod: group.tasks[s.task as usize].pod, node: session.nodes[s.node as usize].id };
    let placements = steps.iter().map(placed).collect();
    let group = group.id;
    if pipelined {
        KaiDecision::Pipelined { group, placements, extra }
    } else {
        KaiDecision::GangPlaced { group, placements, extra }
    }
}

/// Jobs waiting for their attempt, by leaf queue.
struct JobOrder {
    leaves: Vec<BTreeSet<JobKey>>,
    /// Jobs in the subtree of each queue.
    waiting: Vec<u32>,
}

impl JobOrder {
    fn new(session: &Session) -> JobOrder {
        let queues = session.queues.list.len();
        JobOrder { leaves: vec![BTreeSet::new(); queues], waiting: vec![0; queues] }
    }

    fn count(&mut self, session: &Session, leaf: usize, up: bool) {
        let mut at = Some(leaf);
        while let Some(i) = at {
            if up {
                self.waiting[i] += 1;
            } else {
                self.waiting[i] -= 1;
            }
            at = session.queues.list[i].parent;
        }
    }

    fn push(&mut self, session: &Session, job: usize) {
        let j = &session.jobs[job];
        let Some(queue) = j.queue.filter(|_| j.placed < j.pending.len()) else {
            return;
        };
        let group = &session.view.groups[j.group];
        let elastic = match j.active.cmp(&group.min_member) {
            std::cmp::Ordering::Less => 0,
            std::cmp::Ordering::Equal => 1,
            std::cmp::Ordering::Greater => 2,
        };
        self.leaves[queue].insert((Reverse(group.priority), elastic, group.created, group.id, job));
        self.count(session, queue, true);
    }

    /// Takes the first job of the first queue, compared level by level.
    fn pop(&mut self, session: &Session) -> Option<usize> {
        let (leaf, _) = self.first(session, &session.queues.roots)?;
        let (_, _, _, _, job) = self.leaves[leaf].pop_first()?;
        self.count(session, leaf, false);
        Some(job)
    }

    /// The leaf to serve next among these siblings' subtrees, and what its next job asks for.
    fn first(&self, session: &Session, siblings: &[usize]) -> Option<(usize, Sums)> {
        let mut best: Option<(usize, usize, Sums)> = None;
        for &queue in siblings.iter().filter(|q| self.waiting[**q] > 0) {
            let children = &session.queues.list[queue].children;
            let (leaf, next) = if children.is_empty() {
                let (_, _, _, _, job) = self.leaves[queue].first()?;
                (queue, session.jobs[*job].next_request)
            } else {
                self.first(session, children)?
            };
            let wins = best
                .as_ref()
                .is_none_or(|(other, _, others)| session.queues.compare(queue, next, *other, *others).is_lt());
            if wins {
                best = Some((queue, leaf, next));
            }
        }
        best.map(|(_, leaf, next)| (leaf, next))
    }
}
