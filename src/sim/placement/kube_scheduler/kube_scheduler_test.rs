//! The default scheduler pod by pod, and what that does to gangs.

use super::*;
use crate::sim::placement::testing::{group, labelled, node, selecting, trap};
use crate::sim::placement::view::{Labels, PodRules, Taint, TaintEffect, Toleration};

const DEFAULT: &str = "default-scheduler";

/// Runs cycles until the active queue is empty, and binds.
fn run(view: &mut View, settings: &KubeSettings) -> Vec<KubeDecision> {
    let (decisions, _) = decide_all(view, settings, KubeMemory::default(), Time::ZERO);
    for decision in &decisions {
        if let KubeDecision::Bind { pod, node, .. } = decision {
            assert!(view.bind(*pod, *node), "{decision:?} does not fit");
        }
    }
    decisions
}

#[test]
fn seven_of_eight_start_and_the_eighth_lacks_one_gpu() {
    let mut view = trap(DEFAULT);
    let decisions = run(&mut view, &KubeSettings::default());
    let bound = decisions.iter().filter(|d| matches!(d, KubeDecision::Bind { .. }));
    assert_eq!(bound.count(), 7);
    let Some(KubeDecision::Unschedulable { counts, gpus_missing, .. }) = decisions.last() else {
        panic!("the eighth pod is unschedulable: {decisions:?}");
    };
    assert_eq!((counts.total, counts.selector, counts.no_free_gpu), (5, 3, 2));
    assert_eq!(*gpus_missing, 1);
}

#[test]
fn equal_pods_walk_over_the_nodes_by_default_and_fill_one_when_packing() {
    let nodes = |view: &View| view.nodes.iter().filter(|n| n.free.gpus < n.allocatable.gpus).count();
    let fresh = || View {
        nodes: (0..8).map(|i| node(i, &format!("n{i}"), 8, 8)).collect(),
        groups: vec![group(1, DEFAULT, 8, 1)],
        queues: Vec::new(),
    };
    let mut spread = fresh();
    run(&mut spread, &KubeSettings::default());
    assert_eq!(nodes(&spread), 8);
    let mut packed = fresh();
    let settings = KubeSettings {
        strategy: ScoringStrategy::MostAllocated,
        resources: vec![(Resource::Gpu, 1)],
        balanced_weight: 0,
        ..KubeSettings::default()
    };
    run(&mut packed, &settings);
    assert_eq!(nodes(&packed), 1);
}

#[test]
fn each_obstacle_is_counted_once_per_node() {
    let mut view = View {
        nodes: (0..7).map(|i| node(i, &format!("n{i}"), 8, 8)).collect(),
        groups: vec![group(1, DEFAULT, 1, 1)],
        queues: Vec::new(),
    };
    view.nodes[0].unschedulable = true;
    view.nodes[1].taints.push(Taint { key: "dedicated".into(), value: "x".into(), effect: TaintEffect::NoSchedule });
    view.nodes[2].gpu_ready = false;
    view.nodes[3].free.gpus = 0;
    view.nodes[4].free.cpu_m = 0;
    view.nodes[5].free = Amounts::ZERO;
    view.nodes[6] = labelled(view.nodes[6].clone(), "zone", "b");
    view.groups[0].tasks[0].rules = PodRules::new(Labels::default(), Vec::new());
    let settings = KubeSettings::default();
    let (decision, _) = decide(&view, &settings, KubeMemory::default(), Time::ZERO);
    assert!(matches!(decision, Some(KubeDecision::Bind { node: NodeId(6), .. })));

    view.groups[0] = selecting(view.groups[0].clone(), "zone", "c");
    for n in &mut view.nodes[2..6] {
        n.labels.set("zone".into(), "c".into());
    }
    let (decision, _) = decide(&view, &settings, KubeMemory::default(), Time::ZERO);
    let Some(KubeDecision::Unschedulable { counts, .. }) = decision else {
        panic!("nothing fits");
    };
    let expected = NodeCounts {
        total: 7,
        unschedulable: 1,
        taint: 1,
        selector: 1,
        no_free_gpu: 2,
        device_plugin: 1,
        cpu: 2,
        memory: 1,
    };
    assert_eq!(counts, expected);
}

#[test]
fn tolerated_taint_does_not_exclude_and_a_disliked_one_only_lowers_the_score() {
    let taint = |effect| Taint { key: "gpu".into(), value: "".into(), effect };
    let mut view = View {
        nodes: vec![node(0, "a", 8, 8), node(1, "b", 8, 8)],
        groups: vec![group(1, DEFAULT, 1, 1)],
        queues: Vec::new(),
    };
    view.nodes[0].taints.push(taint(TaintEffect::PreferNoSchedule));
    let chosen = |view: &View| match decide(view, &KubeSettings::default(), KubeMemory::default(), Time::ZERO).0 {
        Some(KubeDecision::Bind { node, .. }) => Some(node),
        _ => None,
    };
    assert_eq!(chosen(&view), Some(NodeId(1)), "b is not disliked");
    view.nodes[1].taints.push(taint(TaintEffect::NoSchedule));
    assert_eq!(chosen(&view), Some(NodeId(0)), "b is excluded");
    let tolerate = Toleration { key: Some("gpu".into()), value: None, effect: Some(TaintEffect::NoSchedule) };
    view.groups[0].tasks[0].rules = PodRules::new(Labels::default(), vec![tolerate]);
    assert_eq!(chosen(&view), Some(NodeId(1)), "b is tolerated");
}

/// Two full nodes with running pods of these (group, priority, started) each.
fn full(pods: [&[(i32, u64)]; 2]) -> View {
    let mut view = View { nodes: vec![node(0, "a", 2, 0), node(1, "b", 2, 0)], groups: Vec::new(), queues: Vec::new() };
    for (n, pods) in pods.into_iter().enumerate() {
        for (priority, started) in pods {
            let mut running = group(view.groups.len() as u32 + 10, DEFAULT, 1, 1);
            running.priority = *priority;
            running.tasks[0].state = TaskState::Bound(NodeId(n as u32));
            running.tasks[0].started = Time::from_secs(*started);
            view.groups.push(running);
        }
    }
    let mut wanting = group(1, DEFAULT, 1, 1);
    wanting.priority = 100;
    view.groups.push(wanting);
    view
}

fn preemption(view: &View, memory: KubeMemory) -> (Option<Preemption>, KubeMemory) {
    match decide(view, &KubeSettings::default(), memory, Time::ZERO) {
        (Some(KubeDecision::Preempt { preemption, .. }), memory) => (Some(preemption), memory),
        (_, memory) => (None, memory),
    }
}

#[test]
fn preemption_takes_the_least_important_victims() {
    let chosen = |view: &View| preemption(view, KubeMemory::default()).0.map(|p| (p.node.0, p.victims));
    // Lowest highest priority first.
    assert_eq!(chosen(&full([&[(20, 0), (20, 0)], &[(10, 0), (30, 0)]])), Some((1, vec![PodId(12_000)])));
    // Same priority: the victim that started last.
    assert_eq!(chosen(&full([&[(10, 5), (50, 0)], &[(10, 9), (50, 0)]])), Some((1, vec![PodId(12_000)])));
    // A budget without room is respected while another node can help.
    let mut guarded = full([&[(10, 0), (10, 0)], &[(40, 0), (40, 0)]]);
    for g in &mut guarded.groups[..2] {
        g.disruptions_allowed = Some(0);
    }
    assert_eq!(chosen(&guarded).map(|c| c.0), Some(1));
    assert_eq!(chosen(&full([&[(100, 0), (100, 0)], &[(200, 0), (100, 0)]])), None);
}

#[test]
fn preemptor_waits_for_its_victims_and_keeps_their_room() {
    let mut view = full([&[(10, 0), (10, 0)], &[(200, 0), (200, 0)]]);
    let (first, mut memory) = preemption(&view, KubeMemory::default());
    let victim = first.unwrap().victims[0];
    for task in view.groups.iter_mut().flat_map(|g| &mut g.tasks) {
        if task.pod == victim {
            task.state = TaskState::Releasing(NodeId(0));
        }
    }
    memory.on_cluster_event();
    let later = Time::from_secs(60);
    let (again, mut memory) = decide(&view, &KubeSettings::default(), memory, later);
    assert!(matches!(again, Some(KubeDecision::Unschedulable { .. })), "{again:?}");

    // The victim is gone; a newcomer of lower priority does not take the room.
    view.nodes[0].free = view.groups[0].tasks[0].request;
    view.groups[0].tasks.clear();
    view.groups[1].tasks.clear();
    view.nodes[0].free.gpus = 1;
    let mut newcomer = group(2, DEFAULT, 1, 1);
    newcomer.priority = 10;
    view.groups.push(newcomer);
    let (other, after) = decide(&view, &KubeSettings::default(), memory, later);
    memory = after;
    assert!(matches!(other, Some(KubeDecision::Unschedulable { pod: PodId(2000), .. })), "{other:?}");
    memory.on_cluster_event();
    let (bound, memory) = decide(&view, &KubeSettings::default(), memory, Time::from_secs(120));
    assert!(matches!(bound, Some(KubeDecision::Bind { pod: PodId(1000), .. })), "{bound:?}");
    assert!(!memory.waiting.contains_key(&PodId(1000)));
}

#[test]
fn large_clusters_are_searched_in_part_and_in_turn() {
    assert_eq!(nodes_to_find(99), 99);
    assert_eq!(nodes_to_find(1000), 420);
    assert_eq!(nodes_to_find(6000), 300);
    let view = View {
        nodes: (0..1000).map(|i| node(i, &format!("n{i:04}"), 8, 8)).collect(),
        groups: vec![group(1, DEFAULT, 1, 1)],
        queues: Vec::new(),
    };
    let memory = KubeMemory { next_start: 900, ..KubeMemory::default() };
    let (decision, memory) = decide(&view, &KubeSettings::default(), memory, Time::ZERO);
    let Some(KubeDecision::Bind { choice, .. }) = decision else { panic!("all nodes are free") };
    assert_eq!((choice.feasible, choice.tied), (420, 420));
    assert_eq!(memory.next_start, 320);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    fn any_view() -> impl Strategy<Value = View> {
        let nodes = prop::collection::vec((0u32..9, 0u32..2, any::<bool>()), 1..6);
        let groups = prop::collection::vec((1u32..5, 1u32..5, 0i32..3, 0u32..3), 1..5);
        (nodes, groups).prop_map(|(nodes, groups)| View {
            nodes: nodes
                .into_iter()
                .enumerate()
                .map(|(i, (free, zone, ready))| {
                    let mut n = labelled(node(i as u32, &format!("n{i}"), 8, free), "zone", &zone.to_string());
                    n.gpu_ready = ready;
                    n
                })
                .collect(),
            groups: groups
                .into_iter()
                .enumerate()
                .map(|(i, (pods, gpus, priority, zone))| {
                    let mut g = group(i as u32, DEFAULT, pods, 1);
                    g.priority = priority;
                    for t in &mut g.tasks {
                        t.request.gpus = gpus;
                    }
                    if zone < 2 { selecting(g, "zone", &zone.to_string()) } else { g }
                })
                .collect(),
            queues: Vec::new(),
        })
    }

    proptest! {
        #[test]
        fn capacity_and_selectors_hold(mut view in any_view()) {
            let settings = KubeSettings { preemption: false, ..KubeSettings::default() };
            let decisions = run(&mut view, &settings);
            let pods: usize = view.groups.iter().map(|g| g.tasks.len()).sum();
            prop_assert_eq!(decisions.len(), pods, "each pod is tried once");
            for t in view.groups.iter().flat_map(|g| &g.tasks) {
                if let TaskState::Bound(n) = t.state {
                    let node = &view.nodes[n.index()];
                    prop_assert!(fit::exclusion(node, &t.rules).is_none());
                    prop_assert!(node.gpu_ready);
                }
            }
        }
    }
}
