//! Gangs, topology, queues and reasons.

use super::*;
use crate::sim::placement::fit;
use crate::sim::placement::testing::{group, labelled, node, queue, selecting, trap};
use crate::sim::placement::view::{Amounts, GroupView, Quota, TaskState};
use std::collections::BTreeMap;

const KAI: &str = "kai-scheduler";

fn cycle(view: &View, settings: &KaiSettings) -> Vec<KaiDecision> {
    decide(view, settings, KaiMemory::default(), Time::from_secs(100)).0
}

fn deferred(decisions: &[KaiDecision]) -> &Deferred {
    let mut all = decisions.iter();
    let found = all.find_map(|d| match d {
        KaiDecision::GangDeferred(deferred) => Some(deferred),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("nothing deferred: {decisions:?}"))
}

fn view(nodes: Vec<crate::sim::placement::view::NodeView>, groups: Vec<GroupView>) -> View {
    View { nodes, groups, queues: vec![queue()] }
}

#[test]
fn gang_of_eight_waits_when_seven_fit() {
    let decisions = cycle(&trap(KAI), &KaiSettings::default());
    assert_eq!(decisions.len(), 1);
    let d = deferred(&decisions);
    assert_eq!((d.fit, d.need, d.gpus_missing), (7, 8, 1));
    assert_eq!(d.why, Why::NoFreeGpu);
    assert_eq!((d.counts.total, d.counts.selector, d.counts.no_free_gpu), (5, 3, 2));
}

#[test]
fn gang_of_eight_starts_with_the_eighth_gpu() {
    let mut view = trap(KAI);
    view.nodes[1].free.gpus = 4;
    let decisions = cycle(&view, &KaiSettings::default());
    let [KaiDecision::GangPlaced { placements, extra: false, .. }] = &decisions[..] else {
        panic!("{decisions:?}");
    };
    assert_eq!(placements.len(), 8);
}

#[test]
fn whole_node_pods_report_the_gpus_of_the_nearest_nodes() {
    let nodes = vec![node(0, "a", 8, 8), node(1, "b", 8, 5), node(2, "c", 8, 1)];
    let mut gang = group(1, KAI, 3, 3);
    for t in &mut gang.tasks {
        t.request.gpus = 8;
    }
    let decisions = cycle(&view(nodes, vec![gang]), &KaiSettings::default());
    let d = deferred(&decisions);
    assert_eq!((d.fit, d.need, d.gpus_missing), (1, 3, 3 + 7));
}

#[test]
fn each_layer_gets_the_blame_when_it_alone_is_in_the_way() {
    let base = || view(vec![node(0, "a", 8, 8)], vec![group(1, KAI, 4, 4)]);
    let why = |view: &View| deferred(&cycle(view, &KaiSettings::default())).why.clone();

    let mut v = base();
    v.nodes[0].free.cpu_m = 3500;
    assert_eq!(why(&v), Why::Cpu);
    let mut v = base();
    v.nodes[0].free.mem_mib = 10;
    assert_eq!(why(&v), Why::Memory);
    let mut v = base();
    v.nodes[0].gpu_ready = false;
    assert_eq!(why(&v), Why::DevicePlugin);
    let mut v = base();
    v.nodes[0].unschedulable = true;
    assert_eq!(why(&v), Why::Cordoned);
    let mut v = base();
    v.groups[0] = selecting(v.groups[0].clone(), "zone", "x");
    assert_eq!(why(&v), Why::Selector);
    let mut v = base();
    v.groups[0].queue = "nobody".into();
    assert_eq!(why(&v), Why::UnknownQueue { queue: "nobody".into() });
    let mut v = base();
    v.groups[0].tasks[0].state = TaskState::Gated;
    assert_eq!(why(&v), Why::Partners { exist: 3, need: 4 });
    let mut v = base();
    v.queues[0].gpus.limit = Some(3.0);
    assert!(matches!(why(&v), Why::OverLimit(l) if l.bound == 3.0 && l.asked == 4.0));
    let mut v = base();
    v.queues[0].gpus = Quota { deserved: Some(2.0), limit: None, over_quota_weight: 1.0 };
    assert!(matches!(cycle(&v, &KaiSettings::default())[..], [KaiDecision::GangPlaced { .. }]));
    v.groups[0].preemptible = false;
    assert!(matches!(why(&v), Why::NonPreemptibleOverQuota(l) if l.bound == 2.0));
}

#[test]
fn limit_of_a_queue_above_counts_too() {
    let mut v = view(vec![node(0, "a", 8, 8)], vec![group(1, KAI, 4, 4)]);
    let mut department = queue();
    department.name = "department".into();
    department.gpus.limit = Some(2.0);
    v.queues[0].parent = Some("department".into());
    v.queues.push(department);
    let decisions = cycle(&v, &KaiSettings::default());
    assert!(matches!(&deferred(&decisions).why, Why::OverLimit(l) if &*l.queue == "department"));
}

#[test]
fn queues_that_name_each_other_as_parent_do_not_hang() {
    let mut v = view(vec![node(0, "a", 8, 8)], vec![group(1, KAI, 1, 1)]);
    let mut other = queue();
    other.name = "other".into();
    other.parent = Some("team".into());
    v.queues[0].parent = Some("other".into());
    v.queues.push(other);
    assert_eq!(cycle(&v, &KaiSettings::default()).len(), 1);
}

fn racks(free: [u32; 4]) -> Vec<crate::sim::placement::view::NodeView> {
    let mut nodes = Vec::new();
    for (i, free) in free.into_iter().enumerate() {
        let rack = format!("r{}", i / 2);
        nodes.push(labelled(node(i as u32, &format!("n{i}"), 4, free), "rack", &rack));
    }
    nodes
}

fn racked(mut group: GroupView) -> GroupView {
    group.topology.required = Some("rack".into());
    group
}

fn rack_settings() -> KaiSettings {
    KaiSettings { levels: vec!["rack".to_owned()], ..KaiSettings::default() }
}

#[test]
fn required_rack_keeps_a_gang_waiting_although_the_cluster_has_room() {
    let v = view(racks([4, 2, 4, 1]), vec![racked(group(1, KAI, 8, 8))]);
    let decisions = cycle(&v, &rack_settings());
    let d = deferred(&decisions);
    let why = Why::Topology { level: "rack".into(), best_domain_free_gpus: 6 };
    assert_eq!(d.why, why);
    assert_eq!((d.fit, d.need, d.gpus_missing, d.counts.total), (6, 8, 2, 2));
}

#[test]
fn running_pods_pin_the_required_rack() {
    let mut gang = racked(group(1, KAI, 3, 1));
    gang.tasks[0].state = TaskState::Bound(NodeId(0));
    let v = view(racks([0, 0, 4, 4]), vec![gang.clone()]);
    let decisions = cycle(&v, &rack_settings());
    assert!(deferred(&decisions).extra);
    let v = view(racks([0, 1, 4, 4]), vec![gang]);
    let decisions = cycle(&v, &rack_settings());
    assert!(matches!(&decisions[0], KaiDecision::GangPlaced { placements, .. } if placements[0].node == NodeId(1)));
}

#[test]
fn unknown_level_is_named() {
    let v = view(racks([4; 4]), vec![racked(group(1, KAI, 1, 1))]);
    let decisions = cycle(&v, &KaiSettings::default());
    assert_eq!(deferred(&decisions).why, Why::UnknownTopology { level: "rack".into() });
}

#[test]
fn spread_takes_the_emptiest_node_and_binpack_the_fullest() {
    let first = |placement| {
        let v = view(vec![node(0, "a", 8, 3), node(1, "b", 4, 4)], vec![group(1, KAI, 1, 1)]);
        let settings = KaiSettings { gpu_placement: placement, ..KaiSettings::default() };
        match &cycle(&v, &settings)[..] {
            [KaiDecision::GangPlaced { placements, .. }] => placements[0].node,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(first(Placement::Binpack), NodeId(0));
    assert_eq!(first(Placement::Spread), NodeId(1));
}

#[test]
fn pipelined_gang_keeps_its_promise_against_the_next_gang() {
    let mut a = node(0, "a", 4, 1);
    a.releasing.gpus = 3;
    let v = view(vec![a], vec![group(1, KAI, 3, 3), group(2, KAI, 2, 2)]);
    let decisions = cycle(&v, &KaiSettings::default());
    assert!(matches!(&decisions[0], KaiDecision::Pipelined { placements, .. } if placements.len() == 3));
    assert_eq!(deferred(&decisions).fit, 1);
}

#[test]
fn stale_gang_is_evicted_after_its_grace_and_forgiven_when_whole() {
    let mut gang = group(1, KAI, 3, 3);
    for t in &mut gang.tasks[..2] {
        t.state = TaskState::Bound(NodeId(0));
    }
    let mut v = view(vec![node(0, "a", 2, 0)], vec![gang]);
    let settings = KaiSettings::default();
    let evicted =
        |d: &[KaiDecision]| d.iter().any(|d| matches!(d, KaiDecision::StaleEvicted { pods, .. } if pods.len() == 2));
    let (d, memory) = decide(&v, &settings, KaiMemory::default(), Time::from_secs(10));
    assert!(!evicted(&d));
    assert_eq!(memory.next_wakeup(&settings), Some(Time::from_secs(70)));
    let (d, memory) = decide(&v, &settings, memory, Time::from_secs(69));
    assert!(!evicted(&d));
    let (d, memory) = decide(&v, &settings, memory, Time::from_secs(70));
    assert!(evicted(&d));
    v.groups[0].tasks[2].state = TaskState::Bound(NodeId(0));
    let (_, memory) = decide(&v, &settings, memory, Time::from_secs(71));
    assert!(memory.stale_since.is_empty());
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    struct Gang {
        pods: u32,
        min: u32,
        gpus: u32,
        zone: u32,
        required: bool,
        preferred: bool,
    }

    fn any_view() -> impl Strategy<Value = View> {
        let nodes = prop::collection::vec((0u32..9, 0u32..3, 0u32..4, 0u32..2), 1..9);
        let gang = (1u32..7, 1u32..7, 1u32..4, 0u32..4, any::<bool>(), any::<bool>());
        let gang = gang.prop_map(|(pods, min, gpus, zone, required, preferred)| Gang {
            pods,
            min: min.min(pods),
            gpus,
            zone,
            required,
            preferred,
        });
        (nodes, prop::collection::vec(gang, 1..6)).prop_map(|(nodes, gangs)| {
            let nodes = nodes.into_iter().enumerate().map(|(i, (free, releasing, rack, zone))| {
                let mut n = node(i as u32, &format!("n{i}"), 12, free);
                n.releasing.gpus = releasing;
                n = labelled(n, "zone", &zone.to_string());
                labelled(n, "rack", &format!("{zone}-{rack}"))
            });
            let groups = gangs.iter().enumerate().map(|(i, gang)| {
                let mut g = group(i as u32, KAI, gang.pods, gang.min);
                for (k, t) in g.tasks.iter_mut().enumerate() {
                    // Some gangs are mixed.
                    t.request.gpus = if gang.gpus == 3 { 1 + k as u32 % 3 } else { gang.gpus };
                }
                g.topology.required = gang.required.then(|| "rack".into());
                g.topology.preferred = gang.preferred.then(|| "rack".into());
                if gang.zone < 2 { selecting(g, "zone", &gang.zone.to_string()) } else { g }
            });
            view(nodes.collect(), groups.collect())
        })
    }

    fn settings(placement: Placement) -> KaiSettings {
        KaiSettings {
            levels: vec!["zone".to_owned(), "rack".to_owned()],
            gpu_placement: placement,
            ..KaiSettings::default()
        }
    }

    proptest! {
        #[test]
        fn gangs_are_whole_capacity_holds_selectors_and_racks_are_kept(v in any_view(), spread in any::<bool>()) {
            let placement = if spread { Placement::Spread } else { Placement::Binpack };
            let decisions = cycle(&v, &settings(placement));
            let mut bound = vec![Amounts::ZERO; v.nodes.len()];
            let mut promised = bound.clone();
            let mut got: BTreeMap<GroupId, Vec<Placed>> = BTreeMap::new();
            for decision in &decisions {
                let (group, placements, binds) = match decision {
                    KaiDecision::GangPlaced { group, placements, .. } => (group, placements, true),
                    KaiDecision::Pipelined { group, placements, .. } => (group, placements, false),
                    KaiDecision::GangDeferred(d) => {
                        prop_assert!(d.fit < d.need, "{d:?}");
                        prop_assert!(d.gpus_missing > 0 || !matches!(d.why, Why::NoFreeGpu | Why::Topology { .. }), "{d:?}");
                        continue;
                    }
                    KaiDecision::StaleEvicted { .. } => continue,
                };
                for p in placements {
                    let g = &v.groups[group.index()];
                    let t = g.tasks.iter().find(|t| t.pod == p.pod).unwrap();
                    let n = p.node.index();
                    prop_assert!(fit::exclusion(&v.nodes[n], &t.rules).is_none());
                    promised[n] = promised[n].plus(t.request);
                    if binds {
                        bound[n] = bound[n].plus(t.request);
                    }
                    let all = got.entry(*group).or_default();
                    prop_assert!(all.iter().all(|q| q.pod != p.pod), "placed twice");
                    all.push(*p);
                }
            }
            for (n, node) in v.nodes.iter().enumerate() {
                prop_assert!(bound[n].fits(node.free), "{} holds {:?}", node.name, bound[n]);
                prop_assert!(promised[n].fits(node.free.plus(node.releasing)));
            }
            for (group, placed) in &got {
                let g = &v.groups[group.index()];
                prop_assert!(placed.len() as u32 >= g.min_member);
                if g.topology.required.is_some() {
                    let rack = |p: &Placed| v.nodes[p.node.index()].labels.get("rack").cloned();
                    prop_assert!(placed.iter().all(|p| rack(p) == rack(&placed[0])));
                }
            }
        }

        #[test]
        fn order_of_nodes_in_the_view_does_not_matter(v in any_view()) {
            let mut turned = v.clone();
            turned.nodes.reverse();
            let settings = settings(Placement::Binpack);
            prop_assert_eq!(cycle(&v, &settings), cycle(&turned, &settings));
        }

        #[test]
        fn a_waiting_gang_of_equal_pods_starts_when_its_missing_gpus_appear(v in any_view()) {
            let settings = settings(Placement::Binpack);
            let decisions = cycle(&v, &settings);
            let KaiDecision::GangDeferred(d) = &decisions[0] else { return Ok(()) };
            let g = &v.groups[d.group.index()];
            let alike = g.tasks.iter().all(|t| t.request == g.tasks[0].request);
            if d.why != Why::NoFreeGpu || !alike || g.tasks[0].request.gpus != 1 || !g.topology.is_none() {
                return Ok(());
            }
            let mut more = v.clone();
            let usable = |n: &&mut crate::sim::placement::view::NodeView| fit::exclusion(n, &g.tasks[0].rules).is_none();
            let target = more.nodes.iter_mut().find(usable).unwrap();
            target.allocatable.gpus += d.gpus_missing;
            target.free.gpus += d.gpus_missing;
            let again = cycle(&more, &settings);
            let first = &again[0];
            prop_assert!(!matches!(first, KaiDecision::GangDeferred(_)), "{first:?}");
            target_less(&v, d, &settings)?;
        }
    }

    /// One GPU fewer is not enough.
    fn target_less(v: &View, d: &Deferred, settings: &KaiSettings) -> Result<(), TestCaseError> {
        let g = &v.groups[d.group.index()];
        let mut less = v.clone();
        let target = less.nodes.iter_mut().find(|n| fit::exclusion(n, &g.tasks[0].rules).is_none()).unwrap();
        target.allocatable.gpus += d.gpus_missing - 1;
        target.free.gpus += d.gpus_missing - 1;
        let again = cycle(&less, settings);
        prop_assert!(matches!(&again[0], KaiDecision::GangDeferred(x) if x.gpus_missing == 1), "{:?}", again[0]);
        Ok(())
    }
}
