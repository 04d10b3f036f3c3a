//! Same scenario, seed and commands: same bytes, however the run was reached.

use seven_of_eight::scenario;
use seven_of_eight::session::Run;
use seven_of_eight::share::{self, Origin, Shared};
use seven_of_eight::sim::command::Command;
use seven_of_eight::sim::id::{RackId, ServiceId};
use seven_of_eight::sim::param::Param;
use seven_of_eight::sim::time::{Span, Time};
use std::sync::Arc;

fn run(id: &str) -> Run {
    let scenario = scenario::library(id).expect("in the library").expect("readable");
    Run::new(Arc::new(scenario.setup), Vec::new()).expect("starts")
}

/// A run with commands at several times, as a learner would leave it.
fn played(id: &str) -> Run {
    let mut r = run(id);
    let acts = [
        (60, Command::Set { param: Param::Scheduler, value: 1 }),
        (61, Command::BuyNode { palette: 0, rack: RackId(0) }),
        (
            61,
            Command::InjectSpike {
                service: ServiceId(0),
                requests: 40,
                over: Span::from_secs(20),
                long_prompt_tokens: 0,
            },
        ),
        (200, Command::Set { param: Param::Signal, value: 2 }),
    ];
    for (at, command) in acts {
        r.advance(Time::from_secs(at), usize::MAX);
        // A command that this scenario refuses is not part of its log.
        let _ = r.act(&command);
    }
    r.advance(Time::from_secs(420), usize::MAX);
    r
}

#[test]
fn a_replayed_log_gives_the_same_state() {
    for (id, _) in scenario::LIBRARY {
        let first = played(id);
        let setup = Arc::new(first.world().setup().clone());
        let mut again = Run::new(setup, first.log().to_vec()).expect("starts");
        again.advance(first.now(), usize::MAX);
        assert_eq!(first.world().state_hash(), again.world().state_hash(), "{id}");
        assert!(!first.log().is_empty(), "{id}");
    }
}

#[test]
fn rewinding_and_playing_on_gives_the_same_state() {
    for (id, _) in scenario::LIBRARY {
        let mut r = played(id);
        let (hash, now) = (r.world().state_hash(), r.now());
        for back in [399, 100, 0] {
            r.seek(Time::from_secs(back), usize::MAX);
            r.seek(now, usize::MAX);
            assert_eq!(hash, r.world().state_hash(), "{id}, back to {back} s");
        }
    }
}

#[test]
fn undo_takes_the_last_command_back_and_redo_restores_it() {
    let mut r = run("seven-of-eight");
    r.advance(Time::from_secs(50), usize::MAX);
    let before = r.world().state_hash();
    r.act(&Command::Set { param: Param::Scheduler, value: 1 }).expect("allowed");
    let after = r.world().state_hash();
    assert_ne!(before, after);
    r.undo(usize::MAX);
    assert_eq!(before, r.world().state_hash());
    r.redo(usize::MAX);
    assert_eq!(after, r.world().state_hash());
}

#[test]
fn acting_in_the_past_drops_the_future() {
    let mut r = played("seven-of-eight");
    r.seek(Time::from_secs(100), usize::MAX);
    assert_eq!(r.ahead().len(), 1);
    r.act(&Command::Set { param: Param::Topology, value: 2 }).expect("allowed");
    assert!(r.ahead().is_empty());
    assert_eq!(r.seen_until(), Time::from_secs(100));
}

#[test]
fn a_link_reopens_the_same_state() {
    for (id, _) in scenario::LIBRARY {
        let r = played(id);
        let link = share::link(&Shared {
            engine: share::ENGINE,
            origin: Origin::Library((*id).to_owned()),
            seed: r.world().setup().seed,
            log: r.log().to_vec(),
            at: r.now(),
            state_hash: r.world().state_hash(),
            trace: None,
        });
        assert!(link.len() < share::codec::QUIET_CHARS_MAX, "{} characters", link.len());
        let opened = share::open(&link).expect("opens");
        let mut again = Run::new(Arc::new(opened.scenario.setup), opened.log).expect("starts");
        again.advance(opened.at, usize::MAX);
        assert_eq!(opened.state_hash, Some(again.world().state_hash()), "{id}");
    }
}

#[test]
fn a_seed_changes_the_traffic() {
    let hash = |seed| {
        let mut scenario = scenario::library("lying-signal").expect("there").expect("readable");
        scenario.setup.seed = seed;
        let mut r = Run::new(Arc::new(scenario.setup), Vec::new()).expect("starts");
        r.advance(Time::from_secs(300), usize::MAX);
        r.world().state_hash()
    };
    assert_ne!(hash(1), hash(2));
    assert_eq!(hash(1), hash(1));
}
