//! kube-scheduler: node scores, back-off, and what per-pod scheduling does to gangs.

use crate::sched_cases::{Cluster, parse};
use crate::{Outcome, same};
use serde::Deserialize;
use serde_json::Value;
use seven_of_eight::sim::id::{GroupId, NodeId, PodId};
use seven_of_eight::sim::placement::kube_scheduler::{
    KubeDecision, KubeMemory, KubeSettings, Resource, ScoringStrategy, Usage, backoff, decide, fit_score, schedule_pod,
};
use seven_of_eight::sim::placement::view::{
    Amounts, GroupView, Labels, NodeView, PodRules, TaskState, TaskView, Text, TopologyConstraint, View,
};
use seven_of_eight::sim::time::{Span, Time};
use std::collections::BTreeMap;

pub fn check(_file: &str, case: &Value) -> Outcome {
    let result = match case["kind"].as_str() {
        Some("score") => score(case),
        Some("backoff") => waits(case),
        Some("cluster") => cluster(case),
        other => return Outcome::NotBuilt(other.unwrap_or("no kind").to_owned()),
    };
    match result {
        Ok(()) => Outcome::Pass,
        Err(why) => Outcome::Fail(why),
    }
}

#[derive(Deserialize)]
struct Weight {
    resource: String,
    weight: i64,
}

#[derive(Deserialize)]
struct ScoreNode {
    name: String,
    capacity: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
struct Existing {
    node: String,
    request: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
struct Scores {
    scores: BTreeMap<String, i64>,
}

#[derive(Deserialize)]
struct Score {
    strategy: String,
    resources: Vec<Weight>,
    nodes: Vec<ScoreNode>,
    existing: Vec<Existing>,
    request: BTreeMap<String, i64>,
    expect: Scores,
}

fn resource(name: &str) -> Result<Resource, String> {
    match name {
        "cpu" => Ok(Resource::Cpu),
        "memory" => Ok(Resource::Memory),
        "gpu" => Ok(Resource::Gpu),
        other => Err(format!("unknown resource {other}")),
    }
}

fn score(case: &Value) -> Result<(), String> {
    let case: Score = parse(case)?;
    let strategy = match case.strategy.as_str() {
        "least" => ScoringStrategy::LeastAllocated,
        "most" => ScoringStrategy::MostAllocated,
        other => return Err(format!("unknown strategy {other}")),
    };
    let amount = |of: &BTreeMap<String, i64>, name: &str| of.get(name).copied().unwrap_or(0);
    let mut scores = BTreeMap::new();
    for node in &case.nodes {
        let mut usages = Vec::new();
        for weight in &case.resources {
            let on_node = case.existing.iter().filter(|e| e.node == node.name);
            usages.push(Usage {
                resource: resource(&weight.resource)?,
                weight: weight.weight,
                capacity: amount(&node.capacity, &weight.resource),
                used: on_node.map(|e| amount(&e.request, &weight.resource)).sum(),
                request: amount(&case.request, &weight.resource),
            });
        }
        scores.insert(node.name.clone(), fit_score(strategy, usages));
    }
    same("scores", case.expect.scores, scores)
}

#[derive(Deserialize)]
struct Waits {
    wait_s: Vec<u64>,
}

#[derive(Deserialize)]
struct Backoff {
    base_s: u64,
    max_s: u64,
    attempts: Vec<u32>,
    expect: Waits,
}

fn waits(case: &Value) -> Result<(), String> {
    let case: Backoff = parse(case)?;
    let (base, max) = (Span::from_secs(case.base_s), Span::from_secs(case.max_s));
    let waits: Vec<Span> = case.attempts.iter().map(|n| backoff(base, max, *n)).collect();
    let expected: Vec<Span> = case.expect.wait_s.iter().map(|s| Span::from_secs(*s)).collect();
    same("waits", expected, waits)
}

/// CPU and memory are unlimited in the cases: pods ask for GPUs only.
fn view_of(case: &Cluster) -> Result<View, String> {
    let names: Vec<&str> = case.nodes.iter().map(|n| n.name.as_str()).collect();
    let mut used = vec![0; names.len()];
    let mut groups = Vec::new();
    let mut pods = 0;
    for (g, job) in case.jobs.iter().enumerate() {
        let mut tasks = Vec::new();
        for task in &job.tasks {
            let gpus = task.gpus as u32;
            let state = match (task.state.as_str(), &task.node) {
                ("pending", _) => TaskState::Pending,
                ("running", Some(node)) => {
                    let n = names.iter().position(|n| n == node).ok_or(format!("no node {node}"))?;
                    used[n] += gpus;
                    TaskState::Bound(NodeId(n as u32))
                }
                (state, node) => return Err(format!("unexpected state {state} on {node:?}")),
            };
            let arrival = case.arrival.iter().flatten().position(|a| *a == task.name);
            tasks.push(TaskView {
                pod: PodId(pods),
                request: Amounts::of_gpus(gpus),
                rules: PodRules::default(),
                state,
                created: Time::ZERO,
                arrival: arrival.unwrap_or(0) as u64,
                order: None,
                started: Time::ZERO,
            });
            pods += 1;
        }
        groups.push(GroupView {
            id: GroupId(g as u32),
            name: job.name.as_str().into(),
            scheduler_name: "default-scheduler".into(),
            queue: "".into(),
            priority: job.priority,
            preemptible: job.preemptible,
            min_member: job.min,
            created: Time(g as u64),
            topology: TopologyConstraint::default(),
            disruptions_allowed: None,
            tasks,
        });
    }
    let node = |(n, node): (usize, &crate::sched_cases::Node)| NodeView {
        id: NodeId(n as u32),
        name: Text::from(node.name.as_str()),
        allocatable: Amounts::of_gpus(node.gpus),
        free: Amounts::of_gpus(node.gpus - used[n]),
        releasing: Amounts::ZERO,
        labels: Labels::default(),
        taints: Vec::new(),
        unschedulable: false,
        gpu_ready: true,
    };
    Ok(View { nodes: case.nodes.iter().enumerate().map(node).collect(), groups, queues: Vec::new() })
}

fn set(view: &mut View, pod: PodId, state: TaskState) {
    for task in view.groups.iter_mut().flat_map(|g| &mut g.tasks) {
        if task.pod != pod {
            continue;
        }
        let (was, gpus) = (std::mem::replace(&mut task.state, state), task.request.gpus);
        for (place, frees) in [(was, true), (state, false)] {
            let TaskState::Bound(id) = place else { continue };
            for node in view.nodes.iter_mut().filter(|n| n.id == id) {
                if frees {
                    node.free.gpus += gpus;
                } else {
                    node.free.gpus -= gpus;
                }
            }
        }
    }
}

fn cluster(case: &Value) -> Result<(), String> {
    let case: Cluster = parse(case)?;
    let mut view = view_of(&case)?;
    let settings = KubeSettings {
        strategy: match case.placement.as_str() {
            "least" => ScoringStrategy::LeastAllocated,
            other => return Err(format!("unknown placement {other}")),
        },
        resources: vec![(Resource::Gpu, 1)],
        ..KubeSettings::default()
    };
    for cycle in 0..case.run.cycles {
        run_cycle(&mut view, &settings, Time::from_secs(3600 * u64::from(cycle)));
    }
    for expect in case.expect.jobs.iter().flatten() {
        let group = view.groups.iter().find(|g| *g.name == *expect.job);
        let tasks = group.map(|g| g.tasks.as_slice()).unwrap_or_default();
        let bound = tasks.iter().filter(|t| matches!(t.state, TaskState::Bound(_))).count() as u32;
        same(
            &format!("{}: running and pending", expect.job),
            (expect.running, expect.pending),
            (bound, tasks.len() as u32 - bound),
        )?;
    }
    Ok(())
}

/// One cycle of the cases: each pending pod once; a preemptor takes its node as soon as its
/// victims are deleted; the victims come back as pending at the end.
fn run_cycle(view: &mut View, settings: &KubeSettings, now: Time) {
    let mut memory = KubeMemory::default();
    let mut evicted = Vec::new();
    loop {
        let (decision, after) = decide(view, settings, memory, now);
        memory = after;
        match decision {
            None => break,
            Some(KubeDecision::Bind { pod, node, .. }) => set(view, pod, TaskState::Bound(node)),
            Some(KubeDecision::Unschedulable { .. }) => {}
            Some(KubeDecision::Preempt { group, pod, preemption, .. }) => {
                for victim in preemption.victims {
                    set(view, victim, TaskState::Failed);
                    evicted.push(victim);
                }
                let g = view.groups.iter().position(|g| g.id == group).unwrap();
                let t = view.groups[g].tasks.iter().position(|t| t.pod == pod).unwrap();
                if let KubeDecision::Bind { node, .. } = schedule_pod(view, settings, &mut memory, g, t) {
                    set(view, pod, TaskState::Bound(node));
                }
            }
        }
    }
    for pod in evicted {
        set(view, pod, TaskState::Pending);
    }
}
