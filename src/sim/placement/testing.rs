//! Small clusters for the tests of the schedulers.

use super::view::*;
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::time::Time;

/// A ready node with CPU and memory to spare.
pub fn node(id: u32, name: &str, gpus: u32, free: u32) -> NodeView {
    let amounts = |gpus| Amounts { gpus, cpu_m: 64_000, mem_mib: 512_000 };
    NodeView {
        id: NodeId(id),
        name: name.into(),
        allocatable: amounts(gpus),
        free: amounts(free),
        releasing: Amounts::ZERO,
        labels: Labels::default(),
        taints: Vec::new(),
        unschedulable: false,
        gpu_ready: true,
    }
}

/// The same node with one more label.
pub fn labelled(mut node: NodeView, key: &str, value: &str) -> NodeView {
    node.labels.set(key.into(), value.into());
    node
}

/// Pending pods of one GPU each; pod ids start at `id * 1000`.
pub fn group(id: u32, scheduler: &str, pods: u32, min_member: u32) -> GroupView {
    let task = |i: u32| TaskView {
        pod: PodId(id * 1000 + i),
        request: Amounts { gpus: 1, cpu_m: 1000, mem_mib: 1000 },
        rules: PodRules::default(),
        state: TaskState::Pending,
        created: Time::ZERO,
        arrival: u64::from(id * 1000 + i),
        order: None,
        started: Time::ZERO,
    };
    GroupView {
        id: GroupId(id),
        name: format!("group-{id}").into(),
        scheduler_name: scheduler.into(),
        queue: "team".into(),
        priority: 50,
        preemptible: true,
        min_member,
        created: Time(u64::from(id)),
        topology: TopologyConstraint::default(),
        disruptions_allowed: None,
        tasks: (0..pods).map(task).collect(),
    }
}

/// The group with a node selector on every pod.
pub fn selecting(mut group: GroupView, key: &str, value: &str) -> GroupView {
    let rules = PodRules::new(Labels::new([(key, value)]), Vec::new());
    for task in &mut group.tasks {
        task.rules = rules.clone();
    }
    group
}

/// An unlimited queue named `team`.
pub fn queue() -> QueueView {
    QueueView {
        name: "team".into(),
        parent: None,
        gpus: Quota::UNLIMITED,
        cpu_m: Quota::UNLIMITED,
        mem_mib: Quota::UNLIMITED,
        priority: 100,
        created: Time::ZERO,
    }
}

/// The cluster of the seven-of-eight trap: 4 and 3 free GPUs where the gang may run, and three
/// nodes with one free GPU each that its node selector excludes.
pub fn trap(scheduler: &str) -> View {
    let gpu = "nvidia.com/gpu.product";
    let mut nodes =
        vec![labelled(node(0, "gb-a1", 4, 4), gpu, "GB200"), labelled(node(1, "gb-a2", 4, 3), gpu, "GB200")];
    for i in 0..3 {
        nodes.push(labelled(node(2 + i, &format!("l40s-{i}"), 4, 1), gpu, "L40S"));
    }
    View { nodes, groups: vec![selecting(group(1, scheduler, 8, 8), gpu, "GB200")], queues: vec![queue()] }
}
