//! Invariants of whole runs under random commands: GPU-seconds and requests always sum, nothing
//! is placed twice, time never goes back, and a refused command changes nothing.

use proptest::prelude::*;
use seven_of_eight::scenario;
use seven_of_eight::sim::command::Command;
use seven_of_eight::sim::id::{GroupId, NodeId, RackId, ServiceId};
use seven_of_eight::sim::param::{Kind, Param};
use seven_of_eight::sim::snapshot::Snapshot;
use seven_of_eight::sim::time::{Span, Time};
use seven_of_eight::sim::world::World;
use std::sync::Arc;

fn world(id: &str, seed: u64) -> World {
    let mut scenario = scenario::library(id).expect("in the library").expect("readable");
    scenario.setup.seed = seed;
    World::new(Arc::new(scenario.setup)).expect("starts")
}

fn any_param() -> impl Strategy<Value = Command> {
    (0..Param::ALL.len(), any::<u32>()).prop_map(|(i, r)| {
        let param = Param::ALL[i];
        let value = match param.kind() {
            Kind::Choice(ids) => i64::from(r) % ids.len() as i64,
            Kind::Count { min, max } | Kind::Percent { min, max } | Kind::Seconds { min, max } => {
                min + i64::from(r) % (max - min + 1)
            }
            Kind::Limit { max } => i64::from(r) % (max + 1),
        };
        Command::Set { param, value }
    })
}

fn any_command() -> impl Strategy<Value = Command> {
    prop_oneof![
        (0u32..4, 0u32..5).prop_map(|(palette, rack)| Command::BuyNode { palette, rack: RackId(rack) }),
        (0u32..12, 0u32..5).prop_map(|(node, rack)| Command::MoveNode { node: NodeId(node), rack: RackId(rack) }),
        (0u32..12).prop_map(|node| Command::ReleaseNode { node: NodeId(node) }),
        (0u32..5).prop_map(|service| Command::LaunchGang { service: ServiceId(service) }),
        (0u32..30).prop_map(|group| Command::DeleteGroup { group: GroupId(group) }),
        (0u32..30).prop_map(|group| Command::CrashReplica { group: GroupId(group) }),
        (0u32..4, 0u32..200, 0u64..120, prop_oneof![Just(0u32), Just(1_000_000), 1u32..60_000]).prop_map(
            |(service, requests, over, long_prompt_tokens)| Command::InjectSpike {
                service: ServiceId(service),
                requests,
                over: Span::from_secs(over),
                long_prompt_tokens,
            }
        ),
        any_param(),
        any_param(),
    ]
}

fn scenario_id() -> impl Strategy<Value = &'static str> {
    prop::sample::select(scenario::LIBRARY.iter().map(|(id, _)| *id).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_every_stretch(
        id in scenario_id(),
        seed in 0u64..1000,
        acts in prop::collection::vec((1u64..120, any_command()), 1..14),
    ) {
        let mut world = world(id, seed);
        let mut at = Time::ZERO;
        for (wait_s, command) in acts {
            at += Span::from_secs(wait_s);
            let before = world.now();
            world.advance(at, usize::MAX);
            prop_assert!(world.now() >= before);
            let allowed = world.check(&command);
            let before = world.snapshot();
            let result = world.apply(&command);
            prop_assert_eq!(allowed.is_ok(), result.is_ok());
            if result.is_err() {
                let after = world.snapshot();
                prop_assert!(after.decisions <= before.decisions + 1, "a refusal is one record");
                prop_assert_eq!(Snapshot { decisions: after.decisions, ..before }, after);
            }
            prop_assert_eq!(world.check_invariants(), Ok(()));
        }
        world.advance(at + Span::from_mins(8), usize::MAX);
        prop_assert_eq!(world.check_invariants(), Ok(()));
    }

    #[test]
    fn the_way_of_advancing_does_not_matter(seed in 0u64..1000, cuts in prop::collection::vec(1u64..400, 1..30)) {
        let end = Time::from_secs(400);
        let mut whole = world("sandbox", seed);
        whole.advance(end, usize::MAX);
        let mut pieces = world("sandbox", seed);
        let mut sorted = cuts.clone();
        sorted.sort_unstable();
        for cut in sorted {
            while !pieces.advance(Time::from_secs(cut), 7).reached {}
            let _ = pieces.snapshot(); // reading must not change anything
        }
        pieces.advance(end, usize::MAX);
        prop_assert_eq!(whole.state_hash(), pieces.state_hash());
    }
}

#[test]
fn switching_a_policy_does_not_change_the_traffic() {
    let offered = |param: Param, value: i64| {
        let mut w = world("lying-signal", 3);
        w.apply(&Command::Set { param, value }).expect("allowed");
        w.advance(Time::from_secs(1800), usize::MAX);
        w.snapshot().requests.offered
    };
    let blind = offered(Param::Signal, 0);
    assert_eq!(blind, offered(Param::Signal, 2));
    assert_eq!(blind, offered(Param::MaxReplicas, 3));
    assert!(blind > 1000);
}

/// Answers until minute 20 of a service that is asked for more than one replica can give.
fn answered(replicas: u32, seed: u64) -> u64 {
    let text = format!(
        "id: more\nseed: {seed}\nstart: \"09:00\"\nlength: 20m\n\
         racks: [{{name: r, zone: a, block: b, kind: Network}}]\n\
         nodes: [{{name: n, instance: g6e.12xlarge, rack: r}}]\n\
         services:\n  - name: chat\n    model: qwen2.5-14b\n    weights: fp8\n    gpu: l40s\n    \
         placed: {{n: {replicas}}}\n    max_model_len: 16384\n    \
         traffic: {{pattern: {{poisson: {{per_second: 8}}}}}}\n\
         policy: {{replicas: {{scaler: manual}}}}\n"
    );
    let scenario = scenario::read(&text, &[]).expect("readable");
    let mut w = World::new(Arc::new(scenario.setup)).expect("starts");
    w.advance(Time::from_secs(1200), usize::MAX);
    let r = w.snapshot().requests;
    r.met + r.late
}

#[test]
fn more_replicas_never_serve_less() {
    for seed in 0..5 {
        let served: Vec<u64> = (1..=4).map(|n| answered(n, seed)).collect();
        assert!(served.is_sorted(), "seed {seed}: {served:?} by 1 to 4 replicas");
        assert!(served[0] < served[3], "seed {seed}: one replica is too few, {served:?}");
    }
}
