//! KAI Scheduler: fair shares, and clusters over the actions that exist.

use crate::sched_cases::{Cluster, parse};
use crate::{Outcome, same};
use serde::Deserialize;
use serde_json::Value;
use seven_of_eight::sim::id::{GroupId, NodeId, PodId};
use seven_of_eight::sim::placement::kai::{
    Claim, KaiAction, KaiDecision, KaiMemory, KaiSettings, Placement, decide, fair_shares,
};
use seven_of_eight::sim::placement::view::{
    Amounts, GroupView, Labels, NodeView, PodRules, QueueView, Quota, TaskState, TaskView, TopologyConstraint, View,
};
use seven_of_eight::sim::time::{Span, Time};
use std::collections::BTreeMap;

pub fn check(_file: &str, case: &Value) -> Outcome {
    match case["kind"].as_str() {
        Some("fair_share") => outcome(shares(case)),
        Some("cluster") => match parse::<Cluster>(case) {
            Err(why) => Outcome::Fail(why),
            Ok(cluster) => match not_built(&cluster) {
                Some(kind) => Outcome::NotBuilt(kind),
                None => outcome(run(&cluster)),
            },
        },
        other => Outcome::NotBuilt(other.unwrap_or("no kind").to_owned()),
    }
}

fn outcome(result: Result<(), String>) -> Outcome {
    match result {
        Ok(()) => Outcome::Pass,
        Err(why) => Outcome::Fail(why),
    }
}

fn action(name: &str) -> Option<KaiAction> {
    match name {
        "allocate" => Some(KaiAction::Allocate),
        "stalegangeviction" => Some(KaiAction::StaleGangEviction),
        _ => None,
    }
}

/// The first thing of a case that the scheduler cannot do yet.
fn not_built(case: &Cluster) -> Option<String> {
    let mut tasks = case.jobs.iter().flat_map(|j| &j.tasks);
    if tasks.any(|t| t.device.is_some() || t.gpus.fract() != 0.0) {
        return Some("fractions".to_owned());
    }
    match case.run.actions.iter().filter(|a| action(a).is_none()).count() {
        0 => None,
        1 => case.run.actions.iter().find(|a| action(a).is_none()).cloned(),
        _ => Some("full cycle".to_owned()),
    }
}

#[derive(Deserialize)]
struct ShareQueue {
    name: String,
    deserved: f64,
    limit: f64,
    weight: f64,
    priority: i32,
    request: f64,
}

#[derive(Deserialize)]
struct ShareExpect {
    shares: BTreeMap<String, f64>,
    #[serde(default)]
    remaining: Option<f64>,
}

#[derive(Deserialize)]
struct FairShare {
    total: f64,
    queues: Vec<ShareQueue>,
    expect: ShareExpect,
}

/// The cases' -1 is unlimited.
fn bound(x: f64) -> Option<f64> {
    (x >= 0.0).then_some(x)
}

fn shares(case: &Value) -> Result<(), String> {
    let case: FairShare = parse(case)?;
    let claims: Vec<Claim> = case
        .queues
        .iter()
        .enumerate()
        .map(|(age, q)| Claim {
            deserved: bound(q.deserved),
            limit: bound(q.limit),
            weight: q.weight,
            priority: q.priority,
            request: q.request,
            created: Time(age as u64),
            name: &q.name,
        })
        .collect();
    let (shares, remaining) = fair_shares(case.total, &claims);
    for (queue, share) in case.queues.iter().zip(shares) {
        let expected = case.expect.shares.get(&queue.name).ok_or("no expected share")?;
        if (expected - share).abs() > 1e-9 {
            return Err(format!("{}: expected {expected}, actual {share}", queue.name));
        }
    }
    match case.expect.remaining {
        Some(expected) if (expected - remaining).abs() > 1e-9 => {
            Err(format!("remaining: expected {expected}, actual {remaining}"))
        }
        _ => Ok(()),
    }
}

/// A task of a case and where it is.
struct Task {
    name: String,
    gpus: u32,
    order: Option<i32>,
    state: &'static str,
    node: Option<usize>,
}

struct Lab<'a> {
    case: &'a Cluster,
    /// By job.
    jobs: Vec<Vec<Task>>,
}

const STATES: [&str; 6] = ["pending", "binding", "running", "releasing", "pipelined", "failed"];

impl<'a> Lab<'a> {
    fn new(case: &'a Cluster) -> Result<Lab<'a>, String> {
        let mut jobs = Vec::new();
        for job in &case.jobs {
            let mut tasks = Vec::new();
            for task in &job.tasks {
                let known = STATES.into_iter().find(|s| *s == task.state);
                let node = task.node.as_ref().map(|name| {
                    let position = case.nodes.iter().position(|n| n.name == *name);
                    position.ok_or(format!("no node {name}"))
                });
                tasks.push(Task {
                    name: task.name.clone(),
                    gpus: task.gpus as u32,
                    order: task.order,
                    state: known.ok_or(format!("unknown state {}", task.state))?,
                    node: node.transpose()?,
                });
            }
            jobs.push(tasks);
        }
        Ok(Lab { case, jobs })
    }

    fn view(&self) -> View {
        let mut free: Vec<u32> = self.case.nodes.iter().map(|n| n.gpus).collect();
        let mut releasing = vec![0; free.len()];
        let mut pod = 0;
        let mut groups = Vec::new();
        for (g, (job, tasks)) in self.case.jobs.iter().zip(&self.jobs).enumerate() {
            let mut views = Vec::new();
            for task in tasks {
                let node = task.node.map(|n| NodeId(n as u32));
                let state = match (task.state, node) {
                    ("running" | "binding", Some(node)) => TaskState::Bound(node),
                    ("releasing", Some(node)) => TaskState::Releasing(node),
                    ("failed", _) => TaskState::Failed,
                    _ => TaskState::Pending,
                };
                match state {
                    TaskState::Bound(n) => free[n.index()] -= task.gpus,
                    TaskState::Releasing(n) => {
                        free[n.index()] -= task.gpus;
                        releasing[n.index()] += task.gpus;
                    }
                    _ => {}
                }
                views.push(TaskView {
                    pod: PodId(pod),
                    request: Amounts::of_gpus(task.gpus),
                    rules: PodRules::default(),
                    state,
                    created: Time::ZERO,
                    arrival: 0,
                    order: task.order,
                    started: Time::ZERO,
                });
                pod += 1;
            }
            let topology = job.topology.as_ref();
            let level = |l: Option<&String>| l.map(|l| l.as_str().into());
            groups.push(GroupView {
                id: GroupId(g as u32),
                name: job.name.as_str().into(),
                scheduler_name: "kai-scheduler".into(),
                queue: job.queue.as_deref().unwrap_or_default().into(),
                priority: job.priority,
                preemptible: job.preemptible,
                min_member: job.min,
                created: Time(g as u64),
                topology: TopologyConstraint {
                    required: level(topology.and_then(|t| t.required.as_ref())),
                    preferred: level(topology.and_then(|t| t.preferred.as_ref())),
                },
                disruptions_allowed: None,
                tasks: views,
            });
        }
        let nodes = self.case.nodes.iter().enumerate().map(|(n, node)| NodeView {
            id: NodeId(n as u32),
            name: node.name.as_str().into(),
            allocatable: Amounts::of_gpus(node.gpus),
            free: Amounts::of_gpus(free[n]),
            releasing: Amounts::of_gpus(releasing[n]),
            labels: Labels::new(node.labels.iter().flatten().map(|(k, v)| (k.as_str(), v.as_str()))),
            taints: Vec::new(),
            unschedulable: false,
            gpu_ready: true,
        });
        View { nodes: nodes.collect(), queues: self.queues(), groups }
    }

    fn queues(&self) -> Vec<QueueView> {
        let queues = self.case.queues.iter().enumerate().map(|(age, q)| QueueView {
            name: q.name.as_str().into(),
            parent: q.parent.as_deref().map(Into::into),
            gpus: Quota { deserved: bound(q.deserved), limit: bound(q.limit), over_quota_weight: q.weight },
            cpu_m: Quota::UNLIMITED,
            mem_mib: Quota::UNLIMITED,
            priority: q.priority,
            created: Time(age as u64),
        });
        queues.collect()
    }

    fn task(&mut self, pod: PodId) -> &mut Task {
        let mut tasks = self.jobs.iter_mut().flatten();
        tasks.nth(pod.index()).expect("a pod of the view")
    }

    fn apply(&mut self, decisions: Vec<KaiDecision>) {
        for decision in decisions {
            let (placements, state) = match decision {
                KaiDecision::GangPlaced { placements, .. } => (placements, "binding"),
                KaiDecision::Pipelined { placements, .. } => (placements, "pipelined"),
                KaiDecision::GangDeferred(_) => continue,
                KaiDecision::StaleEvicted { pods, .. } => {
                    for pod in pods {
                        self.task(pod).state = "releasing";
                    }
                    continue;
                }
            };
            for placed in placements {
                let task = self.task(placed.pod);
                task.state = state;
                task.node = Some(placed.node.index());
            }
        }
    }

    /// Between cycles: what binds runs, what is evicted is gone and comes back unless its job is
    /// deleted, what is pipelined waits again.
    fn deliver(&mut self) {
        for (job, tasks) in self.case.jobs.iter().zip(&mut self.jobs) {
            if job.deleted == Some(true) {
                tasks.retain_mut(|t| t.state != "releasing");
            }
            for task in tasks {
                match task.state {
                    "binding" => task.state = "running",
                    "releasing" | "pipelined" => {
                        task.state = "pending";
                        task.node = None;
                    }
                    _ => {}
                }
            }
        }
    }

    fn compare(&self) -> Result<(), String> {
        let expect = &self.case.expect;
        let all = || self.jobs.iter().flatten();
        for e in &expect.tasks {
            let task = all().find(|t| t.name == e.task).ok_or(format!("no task {}", e.task))?;
            same(&e.task, e.state.as_str(), task.state)?;
            if e.node.is_some() {
                let node = task.node.map(|n| self.case.nodes[n].name.as_str());
                same(&format!("{}: node", e.task), e.node.as_deref(), node)?;
            }
        }
        if expect.complete {
            same("number of tasks", expect.tasks.len(), all().count())?;
        }
        for (queue, gpus) in expect.queue_gpus.iter().flatten() {
            let jobs = self.case.jobs.iter().zip(&self.jobs);
            let inside = jobs.filter(|(job, _)| self.is_inside(job.queue.as_deref(), queue));
            let holding = inside.flat_map(|(_, tasks)| tasks);
            let holding = holding.filter(|t| ["running", "binding", "pipelined"].contains(&t.state));
            let sum: u32 = holding.map(|t| t.gpus).sum();
            same(&format!("GPUs of {queue}"), *gpus, f64::from(sum))?;
        }
        for e in expect.jobs.iter().flatten() {
            let j = self.case.jobs.iter().position(|j| j.name == e.job);
            let tasks = &self.jobs[j.ok_or(format!("no job {}", e.job))?];
            let count = |state: &str| tasks.iter().filter(|t| t.state == state).count() as u32;
            same(&e.job, (e.running, e.pending), (count("running"), count("pending")))?;
        }
        Ok(())
    }

    fn is_inside(&self, mut queue: Option<&'a str>, outer: &str) -> bool {
        while let Some(name) = queue {
            if name == outer {
                return true;
            }
            let found = self.case.queues.iter().find(|q| q.name == name);
            queue = found.and_then(|q| q.parent.as_deref());
        }
        false
    }
}

fn run(case: &Cluster) -> Result<(), String> {
    let settings = KaiSettings {
        actions: case.run.actions.iter().filter_map(|a| action(a)).collect(),
        gpu_placement: match case.placement.as_str() {
            "binpack" => Placement::Binpack,
            "spread" => Placement::Spread,
            other => return Err(format!("unknown placement {other}")),
        },
        levels: case.levels.clone(),
        stale_grace: bound(case.run.stale_grace_s).map(Span::from_secs_f64),
        ..KaiSettings::default()
    };
    let mut now = Time::from_secs(3600);
    let mut memory = KaiMemory::default();
    for (g, job) in case.jobs.iter().enumerate() {
        if let Some(stale_for) = job.stale_for_s {
            let since = now - Span::from_secs_f64(stale_for);
            memory.stale_since.insert(GroupId(g as u32), since);
        }
    }
    let mut lab = Lab::new(case)?;
    let stable = if case.run.deliver { case.run.stable_cycles } else { 0 };
    for cycle in 1..=case.run.cycles + stable {
        let (decisions, after) = decide(&lab.view(), &settings, memory, now);
        memory = after;
        now += Span::from_secs(1);
        lab.apply(decisions);
        if case.run.deliver {
            lab.deliver();
        }
        if cycle >= case.run.cycles {
            lab.compare().map_err(|why| format!("after cycle {cycle}: {why}"))?;
        }
    }
    Ok(())
}
