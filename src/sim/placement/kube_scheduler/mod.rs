//! kube-scheduler, the default: one pod per cycle, filter, score, bind. It knows no gang, so
//! seven of eight pods start and wait: partial allocation happens here by itself.
//!
//! Source: the Kubernetes scheduler (scheduling queue, NodeResourcesFit,
//! NodeResourcesBalancedAllocation, TaintToleration, NodeAffinity, DefaultPreemption).
//! Not modelled: pod affinity, spread constraints, volumes, image locality (they would add the
//! same score to every node here); upstream's floor of 100m CPU and 200 MiB per pod is applied
//! to the new pod's score only. Upstream takes one of the best nodes at random; here the first
//! by name is taken.

mod preemption;
mod queue;
mod score;

pub use preemption::Preemption;
pub use queue::{FLUSH_EVERY, KubeMemory, PARKED_MAX, Waiting, backoff};
pub use score::{Resource, ScoringStrategy, Usage, balanced_score, fit_score, taint_score};

use super::fit::{self, Exclusion, NodeCounts};
use super::view::{Amounts, TaskState, View};
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The scheduler's profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KubeSettings {
    pub scheduler_name: String,
    /// NodeResourcesFit: spread or pack.
    pub strategy: ScoringStrategy,
    /// What NodeResourcesFit weighs. The default sees no GPUs.
    pub resources: Vec<(Resource, i64)>,
    pub fit_weight: i64,
    pub balanced_weight: i64,
    pub taint_weight: i64,
    pub backoff_initial: Span,
    pub backoff_max: Span,
    /// Whether pods may evict pods of lower priority.
    pub preemption: bool,
    pub preemption_candidates_percent: u32,
    pub preemption_candidates_min: u32,
}

impl Default for KubeSettings {
    fn default() -> Self {
        KubeSettings {
            scheduler_name: "default-scheduler".to_owned(),
            strategy: ScoringStrategy::LeastAllocated,
            resources: vec![(Resource::Cpu, 1), (Resource::Memory, 1)],
            fit_weight: 1,
            balanced_weight: 1,
            taint_weight: 3,
            backoff_initial: Span::from_secs(1),
            backoff_max: Span::from_secs(10),
            preemption: true,
            preemption_candidates_percent: 10,
            preemption_candidates_min: 100,
        }
    }
}

/// What came of one pod.
#[derive(Clone, Debug, PartialEq)]
pub enum KubeDecision {
    Bind {
        group: GroupId,
        pod: PodId,
        node: NodeId,
        choice: Choice,
    },
    /// No node fits, but one will once these pods are gone. The pod waits for them.
    Preempt {
        group: GroupId,
        pod: PodId,
        preemption: Preemption,
        counts: NodeCounts,
    },
    Unschedulable {
        group: GroupId,
        pod: PodId,
        counts: NodeCounts,
        /// GPUs that would have to become free on the best node the pod may use. The whole
        /// request if no such node is large enough; 0 if GPUs are not what is missing.
        gpus_missing: u32,
    },
}

/// How a node was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Weighted sum of the plugins' scores.
    pub score: i64,
    /// Nodes that passed the filters.
    pub feasible: u32,
    /// Of these, nodes with the same score.
    pub tied: u32,
}

/// Tries the first pod of the active queue (priority, then arrival). `None` if it is empty.
pub fn decide(
    view: &View,
    settings: &KubeSettings,
    mut memory: KubeMemory,
    now: Time,
) -> (Option<KubeDecision>, KubeMemory) {
    memory.flush(now);
    let Some((group, task)) = next_pod(view, settings, &memory, now) else {
        return (None, memory);
    };
    let decision = schedule_pod(view, settings, &mut memory, group, task);
    let pod = view.groups[group].tasks[task].pod;
    let (base, max) = (settings.backoff_initial, settings.backoff_max);
    match &decision {
        KubeDecision::Bind { .. } => {
            memory.waiting.remove(&pod);
        }
        KubeDecision::Preempt { preemption, .. } => memory.fail(pod, base, max, Some(preemption.node), now),
        KubeDecision::Unschedulable { .. } => {
            let nominated = waits_for_victims(view, &memory, group, task);
            memory.fail(pod, base, max, nominated, now);
        }
    }
    (Some(decision), memory)
}

/// Cycles until the active queue is empty, each seeing what the ones before have bound. What is
/// preempted keeps its room: victims are still to terminate.
pub fn decide_all(
    view: &View,
    settings: &KubeSettings,
    mut memory: KubeMemory,
    now: Time,
) -> (Vec<KubeDecision>, KubeMemory) {
    let mut view = view.clone();
    let mut decisions = Vec::new();
    loop {
        let (decision, after) = decide(&view, settings, memory, now);
        memory = after;
        let Some(decision) = decision else {
            return (decisions, memory);
        };
        if let KubeDecision::Bind { pod, node, .. } = decision {
            view.bind(pod, node);
        }
        decisions.push(decision);
    }
}

/// The head of the active queue, as positions of its group and pod.
pub fn next_pod(view: &View, settings: &KubeSettings, memory: &KubeMemory, now: Time) -> Option<(usize, usize)> {
    let mut best = None;
    for (g, group) in view.groups.iter().enumerate() {
        if *group.scheduler_name != *settings.scheduler_name {
            continue;
        }
        for (t, task) in group.tasks.iter().enumerate() {
            if task.state != TaskState::Pending || !memory.is_active(task.pod, now) {
                continue;
            }
            let key = (std::cmp::Reverse(group.priority), task.arrival, task.pod);
            if best.as_ref().is_none_or(|(k, _, _)| key < *k) {
                best = Some((key, g, t));
            }
        }
    }
    best.map(|(_, g, t)| (g, t))
}

/// One scheduling cycle for the given pod, whatever its place in the queue. Of `memory` it reads
/// the nominated pods and moves the node at which the next search starts.
pub fn schedule_pod(
    view: &View,
    settings: &KubeSettings,
    memory: &mut KubeMemory,
    group: usize,
    task: usize,
) -> KubeDecision {
    let cycle = Cycle::new(view, memory);
    let (group_id, pod) = (view.groups[group].id, view.groups[group].tasks[task].pod);
    let feasible = cycle.feasible(memory, group, task);
    if let Some((node, choice)) = cycle.best(settings, &feasible, group, task) {
        return KubeDecision::Bind { group: group_id, pod, node, choice };
    }
    let (counts, gpus_missing) = cycle.explain(group, task);
    if settings.preemption
        && waits_for_victims(view, memory, group, task).is_none()
        && let Some(preemption) = preemption::preempt(&cycle, settings, group, task)
    {
        return KubeDecision::Preempt { group: group_id, pod, preemption, counts };
    }
    KubeDecision::Unschedulable { group: group_id, pod, counts, gpus_missing }
}

/// The nominated node, while lower-priority pods terminate on it: until then the pod must not
/// preempt again.
fn waits_for_victims(view: &View, memory: &KubeMemory, group: usize, task: usize) -> Option<NodeId> {
    let pod = view.groups[group].tasks[task].pod;
    let node = memory.waiting.get(&pod)?.nominated?;
    let lower = view.groups.iter().filter(|g| g.priority < view.groups[group].priority);
    let mut tasks = lower.flat_map(|g| &g.tasks);
    tasks.any(|t| t.state == TaskState::Releasing(node)).then_some(node)
}

/// Nodes examined until enough fit: all below 100, then a falling share of at least 100.
fn nodes_to_find(nodes: usize) -> usize {
    if nodes < 100 {
        return nodes;
    }
    let percent = 50usize.saturating_sub(nodes / 125).max(5);
    (nodes * percent / 100).max(100)
}

/// The view plus what one cycle works out about it.
struct Cycle<'a> {
    view: &'a View,
    /// Pods that wait for victims: node position, pod, priority, request.
    nominated: Vec<(usize, PodId, i32, Amounts)>,
}

impl<'a> Cycle<'a> {
    fn new(view: &'a View, memory: &KubeMemory) -> Cycle<'a> {
        let mut cycle = Cycle { view, nominated: Vec::new() };
        if memory.waiting.values().any(|w| w.nominated.is_some()) {
            cycle.nominated = cycle.collect_nominated(memory);
        }
        cycle
    }

    fn collect_nominated(&self, memory: &KubeMemory) -> Vec<(usize, PodId, i32, Amounts)> {
        let mut nominated = Vec::new();
        for group in &self.view.groups {
            for task in group.tasks.iter().filter(|t| t.state == TaskState::Pending) {
                let node = memory.waiting.get(&task.pod).and_then(|w| w.nominated);
                if let Some(n) = node.and_then(|node| self.position(node)) {
                    nominated.push((n, task.pod, group.priority, task.request));
                }
            }
        }
        nominated
    }

    /// Position of a node; linear, for the few nominated pods.
    fn position(&self, node: NodeId) -> Option<usize> {
        self.view.nodes.iter().position(|n| n.id == node)
    }

    fn exclusion(&self, node: usize, group: usize, task: usize) -> Option<Exclusion> {
        fit::exclusion(&self.view.nodes[node], &self.view.groups[group].tasks[task].rules)
    }

    /// Room for a pod: nominated pods of at least its priority already count as placed.
    fn free_for(&self, node: usize, pod: PodId, priority: i32) -> Amounts {
        let n = &self.view.nodes[node];
        let others = self.nominated.iter();
        others
            .filter(|(at, other, p, _)| *at == node && *other != pod && *p >= priority)
            .fold(fit::usable(n, n.free), |free, (_, _, _, request)| free.minus(*request))
    }

    fn feasible(&self, memory: &mut KubeMemory, group: usize, task: usize) -> Vec<usize> {
        let nodes = self.view.nodes.len();
        let wanted = nodes_to_find(nodes);
        let (g, t) = (&self.view.groups[group], &self.view.groups[group].tasks[task]);
        let start = if nodes == 0 { 0 } else { memory.next_start as usize % nodes };
        let mut feasible = Vec::new();
        let mut examined = 0;
        while examined < nodes && feasible.len() < wanted {
            let n = (start + examined) % nodes;
            examined += 1;
            let fits = t.request.fits(self.free_for(n, t.pod, g.priority));
            if fits && fit::exclusion(&self.view.nodes[n], &t.rules).is_none() {
                feasible.push(n);
            }
        }
        if nodes > 0 {
            memory.next_start = ((start + examined) % nodes) as u32;
        }
        feasible
    }

    fn best(&self, settings: &KubeSettings, feasible: &[usize], group: usize, task: usize) -> Option<(NodeId, Choice)> {
        let task = &self.view.groups[group].tasks[task];
        let nodes = &self.view.nodes;
        let disliked = |n: usize| fit::disliked_taints(&nodes[n], &task.rules);
        let disliked_max = feasible.iter().map(|n| disliked(*n)).max().unwrap_or(0);
        let mut best: Option<(usize, i64)> = None;
        let mut tied = 0;
        for &n in feasible {
            let score = settings.taint_weight * taint_score(disliked(n), disliked_max)
                + resource_score(settings, nodes[n].allocatable, nodes[n].free, task.request);
            let beats = best.is_none_or(|(b, s)| score > s || (score == s && nodes[n].name < nodes[b].name));
            match best {
                Some((_, s)) if s == score => tied += 1,
                Some((_, s)) if s > score => {}
                _ => tied = 1,
            }
            if beats {
                best = Some((n, score));
            }
        }
        best.map(|(n, score)| {
            let choice = Choice { score, feasible: feasible.len() as u32, tied };
            (nodes[n].id, choice)
        })
    }

    fn explain(&self, group: usize, task: usize) -> (NodeCounts, u32) {
        let (g, t) = (&self.view.groups[group], &self.view.groups[group].tasks[task]);
        let mut counts = NodeCounts::default();
        let mut shortage: Option<u32> = None;
        for (n, node) in self.view.nodes.iter().enumerate() {
            let out = fit::exclusion(node, &t.rules);
            let free = self.free_for(n, t.pod, g.priority);
            counts.count(out, free, fit::gpus_later(node), t.request);
            if out.is_none() && node.gpu_ready && node.allocatable.gpus >= t.request.gpus {
                let lacks = t.request.gpus.saturating_sub(free.gpus);
                shortage = Some(shortage.map_or(lacks, |s| s.min(lacks)));
            }
        }
        (counts, shortage.unwrap_or(t.request.gpus))
    }
}

/// Weighted score of the plugins that look at resources.
fn resource_score(settings: &KubeSettings, allocatable: Amounts, free: Amounts, request: Amounts) -> i64 {
    // A pod without a CPU or memory request is scored as if it asked for a little.
    let floor = |asked: u32, default: u32| if asked == 0 { default } else { asked };
    let usage = |resource, weight| {
        let (capacity, free, request) = match resource {
            Resource::Cpu => (allocatable.cpu_m, free.cpu_m, floor(request.cpu_m, 100)),
            Resource::Memory => (allocatable.mem_mib, free.mem_mib, floor(request.mem_mib, 200)),
            Resource::Gpu => (allocatable.gpus, free.gpus, request.gpus),
        };
        Usage {
            resource,
            weight,
            capacity: i64::from(capacity),
            used: i64::from(capacity.saturating_sub(free)),
            request: i64::from(request),
        }
    };
    let fit = fit_score(settings.strategy, settings.resources.iter().map(|(r, w)| usage(*r, *w)));
    let balance = balanced_score(usage(Resource::Cpu, 1), usage(Resource::Memory, 1));
    settings.fit_weight * fit + settings.balanced_weight * balance
}

#[cfg(test)]
#[path = "kube_scheduler_test.rs"]
mod tests;
