//! Which nodes a pod may use at all, and why not the others. Shared by the schedulers.
//!
//! Labels and taints are compared once per distinct [`PodRules`] and node, in [`Matcher`]; after
//! that a scheduler compares numbers only.

use super::view::{Amounts, NodeView, PodRules, TaintEffect};

/// Why a node cannot take a pod before its room is looked at, in the order of the default
/// scheduler's filters (NodeUnschedulable, TaintToleration, NodeAffinity).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    Unschedulable,
    Taint,
    Selector,
}

/// Whether a pod with these rules may use the node, whatever its room.
pub fn exclusion(node: &NodeView, rules: &PodRules) -> Option<Exclusion> {
    if node.unschedulable {
        return Some(Exclusion::Unschedulable);
    }
    let hard = node.taints.iter().filter(|t| t.effect != TaintEffect::PreferNoSchedule);
    for taint in hard {
        if !rules.tolerations().iter().any(|t| t.tolerates(taint)) {
            return Some(Exclusion::Taint);
        }
    }
    for (key, value) in rules.node_selector().iter() {
        if node.labels.get(key) != Some(value) {
            return Some(Exclusion::Selector);
        }
    }
    None
}

/// Taints of the kind PreferNoSchedule that the pod does not tolerate.
pub fn disliked_taints(node: &NodeView, rules: &PodRules) -> u32 {
    let soft = node.taints.iter().filter(|t| t.effect == TaintEffect::PreferNoSchedule);
    soft.filter(|taint| !rules.tolerations().iter().any(|t| t.tolerates(taint))).count() as u32
}

/// What a node's GPUs are worth to a scheduler: none before the device plugin has reported them.
pub fn usable(node: &NodeView, amounts: Amounts) -> Amounts {
    Amounts { gpus: if node.gpu_ready { amounts.gpus } else { 0 }, ..amounts }
}

/// GPUs that appear once the node's device plugin has reported them; 0 if it has.
pub fn gpus_later(node: &NodeView) -> u32 {
    if node.gpu_ready { 0 } else { node.allocatable.gpus }
}

/// How many nodes are out for which reason, as `kubectl describe pod` sums it up. A node can
/// lack several resources at once, so the counts may add up to more than `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Nodes looked at.
    pub total: u32,
    /// Cordoned or draining.
    pub unschedulable: u32,
    /// A taint that the pod does not tolerate.
    pub taint: u32,
    /// The pod's node selector does not match.
    pub selector: u32,
    /// Too few free GPUs on a node whose device plugin is up.
    pub no_free_gpu: u32,
    /// Large enough, but the device plugin has not reported its GPUs.
    pub device_plugin: u32,
    pub cpu: u32,
    pub memory: u32,
}

impl NodeCounts {
    /// Counts one node against a request. `gpus_later`: the GPUs of a node whose device plugin is
    /// not up yet, else 0.
    pub fn count(&mut self, out: Option<Exclusion>, free: Amounts, gpus_later: u32, request: Amounts) {
        self.total += 1;
        match out {
            Some(Exclusion::Unschedulable) => self.unschedulable += 1,
            Some(Exclusion::Taint) => self.taint += 1,
            Some(Exclusion::Selector) => self.selector += 1,
            None => {
                if request.gpus > free.gpus {
                    if gpus_later >= request.gpus {
                        self.device_plugin += 1;
                    } else {
                        self.no_free_gpu += 1;
                    }
                }
                if request.cpu_m > free.cpu_m {
                    self.cpu += 1;
                }
                if request.mem_mib > free.mem_mib {
                    self.memory += 1;
                }
            }
        }
    }
}

/// The nodes of a view matched against each distinct set of pod rules, once.
#[derive(Debug, Default)]
pub struct Matcher {
    rules: Vec<PodRules>,
    classes: Vec<MatchClass>,
}

/// The result for one set of rules.
#[derive(Debug)]
pub struct MatchClass {
    /// Per node, in the order given to [`Matcher::class_of`].
    pub out: Vec<Option<Exclusion>>,
    /// Positions of the nodes that are not out.
    pub nodes: Vec<u32>,
}

impl Matcher {
    /// The class of these rules; matches the nodes on first use. `nodes` must be the same in
    /// every call.
    pub fn class_of<'a>(&mut self, rules: &PodRules, nodes: impl IntoIterator<Item = &'a NodeView>) -> usize {
        if let Some(i) = self.rules.iter().position(|r| r.same(rules)) {
            return i;
        }
        let out: Vec<_> = nodes.into_iter().map(|node| exclusion(node, rules)).collect();
        let fitting = out.iter().enumerate().filter(|(_, o)| o.is_none());
        let nodes = fitting.map(|(i, _)| i as u32).collect();
        self.rules.push(rules.clone());
        self.classes.push(MatchClass { out, nodes });
        self.classes.len() - 1
    }
    pub fn class(&self, class: usize) -> &MatchClass {
        &self.classes[class]
    }
}
