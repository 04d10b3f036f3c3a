//! Priority preemption, per pod, as in the default scheduler's DefaultPreemption plugin. It does
//! not know gangs: one worker of a gang is one victim, although it stops all of them.

use super::{Cycle, KubeSettings};
use crate::sim::id::{NodeId, PodId};
use crate::sim::placement::view::{Amounts, TaskState};
use crate::sim::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A node to free and the pods that must go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preemption {
    pub node: NodeId,
    /// Most important first.
    pub victims: Vec<PodId>,
    /// Victims whose PodDisruptionBudget is violated.
    pub budget_violations: u32,
}

#[derive(Clone, Copy)]
struct Candidate {
    pod: PodId,
    group: usize,
    priority: i32,
    started: Time,
    request: Amounts,
    violates: bool,
}

/// The best node that fits the pod once lower-priority pods are gone; `None` if there is none.
/// Nodes excluded by a selector, taint or cordon cannot be helped and are not candidates.
pub(super) fn preempt(cycle: &Cycle, settings: &KubeSettings, group: usize, task: usize) -> Option<Preemption> {
    let priority = cycle.view.groups[group].priority;
    let request = cycle.view.groups[group].tasks[task].request;
    let lower = || cycle.view.groups.iter().enumerate().filter(|(_, g)| g.priority < priority);
    let is_bound = |s: TaskState| matches!(s, TaskState::Bound(_));
    if !lower().any(|(_, g)| g.tasks.iter().any(|t| is_bound(t.state))) {
        return None;
    }
    let nodes = cycle.view.nodes.iter().enumerate();
    let positions: BTreeMap<NodeId, usize> = nodes.map(|(i, n)| (n.id, i)).collect();
    let mut by_node: Vec<Vec<Candidate>> = vec![Vec::new(); cycle.view.nodes.len()];
    for (g, other) in lower() {
        for t in &other.tasks {
            let TaskState::Bound(node) = t.state else { continue };
            let Some(&n) = positions.get(&node) else { continue };
            by_node[n].push(Candidate {
                pod: t.pod,
                group: g,
                priority: other.priority,
                started: t.started,
                request: t.request,
                violates: false,
            });
        }
    }
    let wanted = (cycle.view.nodes.len() * settings.preemption_candidates_percent as usize / 100)
        .max(settings.preemption_candidates_min as usize);
    let mut by_name: Vec<usize> = (0..cycle.view.nodes.len()).collect();
    by_name.sort_by(|a, b| cycle.view.nodes[*a].name.cmp(&cycle.view.nodes[*b].name));
    let mut found = Vec::new();
    for n in by_name {
        if cycle.exclusion(n, group, task).is_some() || by_node[n].is_empty() {
            continue;
        }
        let free = cycle.free_for(n, cycle.view.groups[group].tasks[task].pod, priority);
        if let Some(victims) = victims_on(cycle, std::mem::take(&mut by_node[n]), free, request) {
            found.push((n, victims));
            if found.len() >= wanted {
                break;
            }
        }
    }
    let (n, victims) = pick(found)?;
    Some(Preemption {
        node: cycle.view.nodes[n].id,
        budget_violations: victims.iter().filter(|v| v.violates).count() as u32,
        victims: victims.iter().map(|v| v.pod).collect(),
    })
}

/// The victims on one node: all lower-priority pods, less those that can stay. Pods whose budget
/// would be violated are spared first, then the most important.
fn victims_on(cycle: &Cycle, mut pods: Vec<Candidate>, free: Amounts, request: Amounts) -> Option<Vec<Candidate>> {
    let mut room = pods.iter().fold(free, |sum, p| sum.plus(p.request));
    if !request.fits(room) {
        return None;
    }
    pods.sort_by_key(|p| (Reverse(p.priority), p.started, p.pod));
    mark_budget_violations(cycle, &mut pods);
    let mut victims = Vec::new();
    for violating in [true, false] {
        for p in pods.iter().filter(|p| p.violates == violating) {
            let without = room.minus(p.request);
            let stays = p.request.fits(room) && request.fits(without);
            if stays {
                room = without;
            } else {
                victims.push(*p);
            }
        }
    }
    victims.sort_by_key(|p| (Reverse(p.priority), p.started, p.pod));
    Some(victims)
}

/// In order of importance, each pod uses up one allowed disruption of its budget; pods beyond
/// that violate it.
fn mark_budget_violations(cycle: &Cycle, pods: &mut [Candidate]) {
    let mut used: Vec<(usize, u32)> = Vec::new();
    for p in pods {
        let Some(allowed) = cycle.view.groups[p.group].disruptions_allowed else {
            continue;
        };
        let at = used.iter().position(|(g, _)| *g == p.group).unwrap_or_else(|| {
            used.push((p.group, 0));
            used.len() - 1
        });
        used[at].1 += 1;
        p.violates = used[at].1 > allowed;
    }
}

/// Fewest budget violations; lowest highest victim priority; smallest sum of priorities; fewest
/// victims; latest start of the earliest-started highest-priority victim; then name.
fn pick(found: Vec<(usize, Vec<Candidate>)>) -> Option<(usize, Vec<Candidate>)> {
    found.into_iter().min_by_key(|(_, victims)| {
        let highest = victims.iter().map(|v| v.priority).max().unwrap_or(i32::MIN);
        // Upstream shifts priorities into the positive so that more victims never sum to less.
        let sum: i64 = victims.iter().map(|v| i64::from(v.priority) + i64::from(i32::MAX) + 1).sum();
        let top = victims.iter().filter(|v| v.priority == highest);
        let earliest = top.map(|v| v.started).min().unwrap_or(Time::ZERO);
        let violations = victims.iter().filter(|v| v.violates).count();
        (violations, highest, sum, victims.len(), Reverse(earliest))
    })
}
