//! The snapshot one KAI cycle works on: what nodes have left, which pods wait, the queue tree.

use super::queues::{Queues, Sums, add, sums};
use super::topology::Tree;
use super::{Deferred, KaiSettings};
use crate::sim::id::NodeId;
use crate::sim::placement::fit::{Matcher, gpus_later, usable};
use crate::sim::placement::view::{Amounts, GroupView, NodeView, TaskState, TopologyConstraint, View};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A group of this scheduler.
#[derive(Debug)]
pub struct Job {
    /// Position in the view.
    pub group: usize,
    /// Leaf queue.
    pub queue: Option<usize>,
    /// Pending tasks' positions in the group, in task order; `[..placed]` got a node this cycle.
    pub pending: Vec<u32>,
    pub placed: usize,
    /// Match class of each entry of `pending`.
    pub classes: Vec<usize>,
    /// Bound pods, and those placed or pipelined in this cycle.
    pub active: u32,
    pub releasing: u32,
    pub succeeded: bool,
    /// Pods that are or can become active.
    pub alive: u32,
    pub gated: u32,
    /// Node positions of active pods, for the topology.
    pub active_on: Vec<u32>,
    /// What the next attempt asks for.
    pub next_request: Sums,
}

impl Job {
    /// How many pods the next attempt must place together.
    pub fn next_count(&self, min_member: u32) -> usize {
        let waiting = self.pending.len() - self.placed;
        let missing = min_member.saturating_sub(self.active) as usize;
        waiting.min(missing.max(1))
    }
    /// Whether the next attempt is for a single pod above the minimum.
    pub fn is_extra(&self, min_member: u32) -> bool {
        self.active >= min_member.max(1)
    }
}

/// The state of one cycle. Nodes are addressed by position in name order.
pub struct Session<'a> {
    pub view: &'a View,
    pub settings: &'a KaiSettings,
    pub nodes: Vec<&'a NodeView>,
    /// Held by nobody, by position.
    pub idle: Vec<Amounts>,
    /// What the node offers at all, by position.
    pub total: Vec<Amounts>,
    /// GPUs that appear with the device plugin, by position.
    pub gpus_later: Vec<u32>,
    /// Idle, or held by a terminating pod and promised to nobody, by position.
    pub left: Vec<Amounts>,
    pub matcher: Matcher,
    pub tree: Option<Tree>,
    pub queues: Queues<'a>,
    pub jobs: Vec<Job>,
    /// Reports on attempts that failed since the last placement: equal attempts fail equally.
    pub failed: BTreeMap<AttemptKey, Deferred>,
}

/// What makes two attempts equal.
pub type AttemptKey = (u32, u32, u32, usize, u32, TopologyConstraint);

impl<'a> Session<'a> {
    pub fn open(view: &'a View, settings: &'a KaiSettings) -> Session<'a> {
        let mut nodes: Vec<&NodeView> = view.nodes.iter().collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let idle: Vec<Amounts> = nodes.iter().map(|n| usable(n, n.free)).collect();
        let releasing = nodes.iter().map(|n| usable(n, n.releasing));
        let left: Vec<Amounts> = idle.iter().zip(releasing).map(|(i, r)| i.plus(r)).collect();
        let wants_topology = |g: &GroupView| !g.topology.is_none() && *g.scheduler_name == *settings.scheduler_name;
        let tree = view.groups.iter().any(wants_topology).then(|| Tree::new(&settings.levels, &nodes, &left));
        let mut session = Session {
            view,
            settings,
            total: nodes.iter().map(|n| n.allocatable).collect(),
            gpus_later: nodes.iter().map(|n| gpus_later(n)).collect(),
            nodes,
            idle,
            left,
            matcher: Matcher::default(),
            tree,
            queues: Queues::new(view),
            jobs: Vec::new(),
            failed: BTreeMap::new(),
        };
        session.load_jobs();
        session
    }

    fn load_jobs(&mut self) {
        let positions: BTreeMap<NodeId, u32> = self.nodes.iter().enumerate().map(|(i, n)| (n.id, i as u32)).collect();
        // Fair shares divide the cluster less what pods of other schedulers hold.
        let mut total: Sums = [0.0; 3];
        for amounts in &self.left {
            add(&mut total, sums(*amounts), 1.0);
        }
        for (g, group) in self.view.groups.iter().enumerate() {
            if *group.scheduler_name != *self.settings.scheduler_name {
                continue;
            }
            let mut job = Job {
                group: g,
                queue: self.queues.leaf(&group.queue),
                pending: Vec::new(),
                placed: 0,
                classes: Vec::new(),
                active: 0,
                releasing: 0,
                succeeded: false,
                alive: 0,
                gated: 0,
                active_on: Vec::new(),
                next_request: [0.0; 3],
            };
            for (t, task) in group.tasks.iter().enumerate() {
                let amount = sums(task.request);
                match task.state {
                    TaskState::Pending => {
                        job.alive += 1;
                        job.pending.push(t as u32);
                        if let Some(queue) = job.queue {
                            self.queues.request(queue, amount);
                        }
                    }
                    TaskState::Gated => {
                        job.alive += 1;
                        job.gated += 1;
                    }
                    TaskState::Bound(node) => {
                        job.alive += 1;
                        job.active += 1;
                        job.active_on.extend(positions.get(&node));
                        add(&mut total, amount, 1.0);
                        if let Some(queue) = job.queue {
                            self.queues.request(queue, amount);
                            self.queues.allocate(queue, amount, group.preemptible, 1.0);
                        }
                    }
                    TaskState::Releasing(_) => job.releasing += 1,
                    TaskState::Succeeded => job.succeeded = true,
                    TaskState::Failed => {}
                }
            }
            self.finish_job(&mut job, group);
            self.jobs.push(job);
        }
        self.queues.divide(total);
    }

    fn finish_job(&mut self, job: &mut Job, group: &GroupView) {
        // Labelled before unlabelled, larger label first; then older, then by id.
        job.pending.sort_by_key(|t| {
            let task = &group.tasks[*t as usize];
            (Reverse(task.order), task.created, task.pod)
        });
        for t in &job.pending {
            let rules = &group.tasks[*t as usize].rules;
            let class = self.matcher.class_of(rules, self.nodes.iter().copied());
            job.classes.push(class);
        }
        job.set_next_request(group);
    }
}

impl Job {
    /// Recomputes what the next attempt asks for.
    pub fn set_next_request(&mut self, group: &GroupView) {
        let mut sum = [0.0; 3];
        for t in &self.pending[self.placed..][..self.next_count(group.min_member)] {
            add(&mut sum, sums(group.tasks[*t as usize].request), 1.0);
        }
        self.next_request = sum;
    }
}
