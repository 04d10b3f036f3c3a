//! How replicas start in a world: what they share, what nodes keep, what stops with them.

use proptest::prelude::*;
use seven_of_eight::scenario;
use seven_of_eight::sim::command::Command;
use seven_of_eight::sim::decision::Verdict;
use seven_of_eight::sim::engine::cold_start::{Bottleneck, Stage};
use seven_of_eight::sim::id::{GroupId, NodeId, RackId, ServiceId};
use seven_of_eight::sim::param::Param;
use seven_of_eight::sim::snapshot::GroupStage;
use seven_of_eight::sim::time::{Span, Time};
use seven_of_eight::sim::world::World;
use std::sync::Arc;

/// Nodes of one L40S kind, with these services and this policy.
fn world(nodes: &str, services: &str, policy: &str) -> World {
    let text = format!(
        "id: test\nstart: \"02:00\"\nlength: 2h\n\
         racks: [{{name: r, zone: z, block: b, kind: Network}}]\n\
         nodes: [{nodes}]\nservices: [{services}]\npolicy: {{{policy}}}\n"
    );
    let scenario = scenario::read(&text, &[]).unwrap_or_else(|p| panic!("{p:?}"));
    World::new(Arc::new(scenario.setup)).expect("starts")
}

const ONE: &str = "{name: a, instance: g6e.12xlarge, rack: r}";
const TWO: &str = "{name: a, instance: g6e.12xlarge, rack: r}, {name: b, instance: g6e.12xlarge, rack: r}";

fn chat(name: &str, rest: &str) -> String {
    format!("{{name: {name}, model: qwen2.5-14b, gpu: l40s, max_model_len: 16384, {rest}}}")
}

fn at(w: &mut World, s: u64) {
    w.advance(Time::from_secs(s), usize::MAX);
    assert_eq!(w.check_invariants(), Ok(()), "at {s} s");
}

/// Image, weights, warm-up in seconds of each replica that became ready, in order.
fn ready(w: &World) -> Vec<(f64, f64, f64)> {
    let found = w.decisions().filter_map(|d| match d.verdict {
        Verdict::ReplicaReady { image, weights, warm_up, .. } => {
            Some((image.secs_f64(), weights.secs_f64(), warm_up.secs_f64()))
        }
        _ => None,
    });
    found.collect()
}

fn near(actual: f64, expected: f64) {
    assert!((actual - expected).abs() < 0.01 * expected.max(1.0), "{actual} against {expected}");
}

#[test]
fn pods_of_one_service_on_one_node_wait_for_one_pull() {
    let mut w = world(ONE, &chat("chat", "replicas: 3"), "");
    at(&mut w, 10);
    let stage = w.cold_stage(GroupId(2)).expect("it pulls");
    assert_eq!((stage.stage, stage.waits_for), (Stage::ImagePull, Bottleneck::Registry { loaders: 1 }));
    at(&mut w, 210);
    assert_eq!(w.cold_stage(GroupId(2)).map(|s| s.stage), Some(Stage::ImageUnpack));
    at(&mut w, 1000);
    let ready = ready(&w);
    assert_eq!(ready.len(), 3);
    for r in ready {
        near(r.0, 200.0 + 150.0); // 10 GB at 50 MB/s, 15 GB at 0.1 GB/s
    }
}

#[test]
fn services_pull_their_own_images_and_share_the_registry() {
    // 30 pulls of 50 MB/s want 1.5 GB/s of a registry that has 1.
    let nodes: Vec<String> = (0..8).map(|i| format!("{{name: n{i}, instance: g6e.12xlarge, rack: r}}")).collect();
    let services: Vec<String> = (0..4).map(|i| chat(&format!("s{i}"), "replicas: 8")).collect();
    let mut w = world(&nodes.join(", "), &services.join(", "), "");
    at(&mut w, 10);
    let stage = w.cold_stage(GroupId(0)).expect("it pulls");
    assert!(matches!(stage.waits_for, Bottleneck::Registry { loaders } if loaders > 20), "{stage:?}");
    at(&mut w, 2000);
    assert!(ready(&w).iter().all(|r| r.0 > 360.0 && r.0 < 520.0), "{:?}", ready(&w));
}

#[test]
fn a_reader_that_stops_gives_its_share_to_the_others() {
    let policy = "start: {weights: files}, replicas: {scaler: manual}";
    let mut w = world(TWO, &chat("chat", "replicas: 4, image_cached: true, scaled: true"), policy);
    at(&mut w, 60);
    let stage = w.cold_stage(GroupId(0)).expect("it reads");
    assert_eq!((stage.stage, stage.waits_for), (Stage::WeightsRead, Bottleneck::Files { loaders: 4 }));
    let before = stage.until.expect("an estimate");
    w.apply(&Command::Set { param: Param::ManualReplicas, value: 2 }).expect("allowed");
    let kept: Vec<GroupId> =
        w.snapshot().groups.iter().filter(|g| g.stage == GroupStage::Weights).map(|g| g.id).collect();
    assert_eq!(kept.len(), 2);
    let after = w.cold_stage(kept[0]).and_then(|s| s.until).expect("an estimate");
    // Half of what was left, as two share what four did.
    near(after.since(w.now()).secs_f64(), before.since(Time::from_secs(60)).secs_f64() / 2.0);
    let view = w.snapshot();
    let g = view.groups.iter().find(|g| g.id == kept[0]).expect("there");
    assert_eq!((g.stage_until, g.wait.and_then(|w| w.until)), (Some(after), Some(after)));
    at(&mut w, 600);
    // Read by then: 49.5 s of a quarter of 0.5 GB/s, and the rest at half of it.
    let bytes = 2.0 * 14.77e9;
    near(ready(&w)[0].1, 60.0 - 1.0 + (bytes - 49.5 * 0.125e9) / 0.25e9);
}

#[test]
fn the_stages_follow_one_another_and_progress_grows() {
    let mut w = world(ONE, &chat("chat", "replicas: 1, image_cached: true"), "");
    let (mut seen, mut last) = (Vec::new(), 0.0);
    for s in 1..200 {
        at(&mut w, s);
        if let Some(stage) = w.cold_stage(GroupId(0)) {
            assert!(stage.since <= w.now() && stage.until.is_some_and(|t| t >= w.now()), "{stage:?}");
            if seen.last() != Some(&stage.waits_for) {
                seen.push(stage.waits_for);
            }
            let view = w.snapshot();
            let progress = view.nodes[0].cells.iter().find_map(|c| c.progress).expect("a GPU that loads");
            assert!(progress >= last && progress <= 1.0, "{s} s: {progress} after {last}");
            last = progress;
        }
    }
    let expected = [
        Bottleneck::ProcessStart,
        Bottleneck::ObjectStore { loaders: 1 },
        Bottleneck::Compile { cached: false },
        Bottleneck::Profiling,
        Bottleneck::CudaGraphs,
        Bottleneck::WarmUp,
    ];
    assert_eq!(seen, expected);
    assert!(last > 0.98, "{last}");
}

#[test]
fn services_of_one_model_share_a_nodes_disk_and_nothing_is_kept_with_the_cache_off() {
    let services = [
        chat("one", "replicas: 1, image_cached: true"),
        chat("two", "launchable: true, image_cached: true, replicas: 0"),
    ];
    for (cache, weights, warm_up) in [("on", 9.5 + 29.54e9 / 3.2e9, 21.4), ("off", 9.5 + 29.54e9 / 1.2e9, 47.4)] {
        let mut w = world(ONE, &services.join(", "), &format!("start: {{node_cache: {cache}}}"));
        at(&mut w, 300);
        w.apply(&Command::LaunchGang { service: ServiceId(1) }).expect("allowed");
        at(&mut w, 600);
        let second = ready(&w)[1];
        near(second.1, weights);
        near(second.2, warm_up);
    }
}

#[test]
fn two_pods_that_start_together_on_a_node_each_read_their_own() {
    let mut w = world(ONE, &chat("chat", "replicas: 2, image_cached: true"), "start: {weights: files}");
    at(&mut w, 400);
    let bytes = 2.0 * 14.77e9;
    near(ready(&w)[0].1, 9.5 + 2.0 * bytes / 0.5e9);
}

#[test]
fn a_container_that_crashed_starts_again_with_its_image_and_from_the_disk() {
    // The model's own context of 131,072 tokens does not fit an A10G's memory.
    let node = "{name: a, instance: g5.12xlarge, rack: r}";
    let mut w =
        world(node, "{name: big, model: llama-3.1-8b, replicas: 1, gpu: a10g}", "start: {readiness: container}");
    at(&mut w, 600);
    let refused = |w: &World| {
        w.decisions().filter(|d| matches!(d.verdict, Verdict::EngineRefused { .. })).map(|d| d.at).collect::<Vec<_>>()
    };
    assert_eq!(refused(&w).len(), 1);
    assert_eq!(w.cold_stage(GroupId(0)).map(|s| (s.stage, s.waits_for)), Some((Stage::BackOff, Bottleneck::BackOff)));
    assert!(!w.snapshot().groups[0].ready_early, "no container runs");
    let again = refused(&w)[0] + Span::from_mins(5) + Span::from_secs(12);
    w.advance(again, usize::MAX);
    let stage = w.cold_stage(GroupId(0)).expect("it starts again");
    assert_eq!((stage.stage, stage.waits_for), (Stage::WeightsRead, Bottleneck::Nvme { loaders: 1 }));
    assert!(w.snapshot().groups[0].ready_early);
}

#[test]
fn a_restore_reads_a_checkpoint_and_nothing_is_compiled() {
    let mut w = world(ONE, &chat("chat", "replicas: 1, image_cached: true"), "start: {restore: on}");
    at(&mut w, 5);
    assert_eq!(w.cold_stage(GroupId(0)).map(|s| s.stage), Some(Stage::CheckpointRead));
    at(&mut w, 200);
    let bytes = 29.54e9 + 5.37e9;
    near(ready(&w)[0].1, bytes / 1.2e9);
    assert!(ready(&w)[0].2 < 8.0);
}

#[test]
fn spares_are_replaced_counted_apart_and_the_unloaded_go_first() {
    let policy = "replicas: {scaler: manual}, start: {warm: 2}";
    let mut w = world(TWO, &chat("chat", "placed: {a: 1}, image_cached: true, scaled: true"), policy);
    at(&mut w, 300);
    let s = w.snapshot();
    assert_eq!((s.services[0].replicas_ready, s.services[0].replicas_total), (1, 1));
    assert_eq!(s.groups.iter().filter(|g| g.standby && g.stage == GroupStage::Serving).count(), 2);
    w.apply(&Command::Set { param: Param::ManualReplicas, value: 2 }).expect("allowed");
    let s = w.snapshot();
    assert_eq!((s.services[0].replicas_ready, s.services[0].replicas_total), (2, 2));
    let spares = |w: &World| w.snapshot().groups.iter().filter(|g| g.standby).map(|g| g.stage).collect::<Vec<_>>();
    assert_eq!(spares(&w), [GroupStage::Serving, GroupStage::Pending], "one loaded, a new one asked for");
    w.apply(&Command::Set { param: Param::WarmReplicas, value: 1 }).expect("allowed");
    at(&mut w, 310);
    assert_eq!(spares(&w), [GroupStage::Serving]);
    // A person who deletes a spare does not change what the service wants.
    let spare = w.snapshot().groups.iter().find(|g| g.standby).expect("one").id;
    w.apply(&Command::DeleteGroup { group: spare }).expect("allowed");
    at(&mut w, 330);
    assert_eq!((w.snapshot().services[0].replicas_wanted, spares(&w).len()), (2, 1));
}

#[test]
fn releasing_a_node_stops_what_was_on_its_way_to_it() {
    let mut w = world(TWO, &chat("chat", "replicas: 2"), "");
    at(&mut w, 100);
    w.apply(&Command::ReleaseNode { node: NodeId(0) }).expect("allowed");
    at(&mut w, 200);
    at(&mut w, 900);
    assert_eq!(ready(&w).len(), 2);
}

/// What changes the way of starts, and what interrupts them.
fn act() -> impl Strategy<Value = Command> {
    let start = [Param::WeightsFrom, Param::NodeCache, Param::Restore, Param::Readiness, Param::WarmReplicas];
    prop_oneof![
        4 => (prop::sample::select(start.to_vec()), 0i64..4).prop_map(|(param, v)| {
            let value = if matches!(param, Param::WeightsFrom | Param::WarmReplicas) { v } else { v % 2 };
            Command::Set { param, value }
        }),
        4 => (0i64..9).prop_map(|value| Command::Set { param: Param::ManualReplicas, value }),
        1 => (0u32..24).prop_map(|g| Command::DeleteGroup { group: GroupId(g) }),
        1 => (0u32..4, 0u32..2).prop_map(|(n, r)| Command::MoveNode { node: NodeId(n), rack: RackId(r) }),
        1 => (0u32..4).prop_map(|n| Command::ReleaseNode { node: NodeId(n) }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn whatever_interrupts_a_start_nothing_is_left_behind(
        acts in prop::collection::vec((1u64..150, act()), 1..20),
        image_cached in any::<bool>(),
    ) {
        let text = scenario::library_text("cold-start").expect("there");
        let racks = "[{name: rack 1, zone: us-east-1a, block: block-1, kind: Network, slots: 6}, \
                      {name: rack 2, zone: us-east-1a, block: block-1, kind: Network, slots: 6}]";
        let set = [("length", "3h"), ("racks", racks), ("services[0].image_cached", if image_cached { "true" } else { "false" })];
        let set: Vec<(String, String)> = set.iter().map(|(p, v)| ((*p).to_owned(), (*v).to_owned())).collect();
        let scenario = scenario::read(text, &set).unwrap_or_else(|p| panic!("{p:?}"));
        let mut w = World::new(Arc::new(scenario.setup)).expect("starts");
        let mut now = Time::ZERO;
        for (wait, command) in &acts {
            now += Span::from_secs(*wait);
            w.advance(now, usize::MAX);
            prop_assert_eq!(w.check_invariants(), Ok(()));
            let _ = w.apply(command); // one that does not apply now is refused
            prop_assert_eq!(w.check_invariants(), Ok(()));
            for g in &w.snapshot().groups {
                let loads = matches!(g.stage, GroupStage::Weights | GroupStage::WarmUp);
                prop_assert_eq!(loads, w.cold_stage(g.id).is_some_and(|s| !matches!(s.stage, Stage::ImagePull | Stage::ImageUnpack)));
                prop_assert!(!g.standby || (g.running, g.waiting) == (0, 0));
            }
        }
        // Whoever has a node is up in the end: nothing waits for a flow that is gone.
        let rest = [(Param::WeightsFrom, 0), (Param::Readiness, 0)];
        for (param, value) in rest {
            w.apply(&Command::Set { param, value }).expect("allowed");
        }
        w.advance(now + Span::from_secs(1500), usize::MAX);
        prop_assert_eq!(w.check_invariants(), Ok(()));
        let stuck: Vec<_> = w.snapshot().groups.into_iter().filter(|g| !g.nodes.is_empty() && g.stage != GroupStage::Serving).collect();
        prop_assert!(stuck.is_empty(), "{:?}", stuck);
    }
}
