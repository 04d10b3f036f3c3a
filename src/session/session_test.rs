use super::{Dialog, Effect, Message, Model, Notice, Speed, Theme, update};
use crate::i18n::Lang;
use crate::sim::command::{Command, Refusal};
use crate::sim::id::{NodeId, RackId, ServiceId};
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};

fn model() -> Model {
    Model::new(Lang::english(), Theme::Auto).unwrap()
}

/// Frames of a 60th of a second until `at`, as the page would draw them.
fn play_until(m: &mut Model, at: Time) {
    update(m, Message::TogglePlay);
    for _ in 0..200_000 {
        if m.run.now() >= at || !m.playing {
            break;
        }
        m.begin_frame(Span::from_micros(16_667));
        while !m.slice(500) {}
        m.end_frame();
    }
    update(m, Message::Pause);
}

#[test]
fn frames_and_a_single_advance_meet_the_same_state() {
    let mut framed = model();
    update(&mut framed, Message::SetSpeed(Speed(600)));
    play_until(&mut framed, Time::from_secs(300));
    let mut straight = model();
    straight.run.advance(framed.run.now(), usize::MAX);
    assert_eq!(framed.run.world().state_hash(), straight.run.world().state_hash());
}

#[test]
fn the_trap_holds_seven_gpus_and_kai_none() {
    let held = |scheduler: i64| {
        let mut m = model();
        update(&mut m, Message::Do(Command::Set { param: Param::Scheduler, value: scheduler }));
        m.run.advance(Time::from_secs(240), usize::MAX);
        m.refresh();
        let group = m.snapshot.groups.iter().find(|g| g.pods_total == 8).cloned().unwrap();
        assert_eq!(group.stage, GroupStage::Pending);
        (group.pods_bound, group.held_cost.0 > 0, m.tasks[0].1.is_some())
    };
    assert_eq!(held(0), (7, true, true));
    assert_eq!(held(1), (0, false, false));
}

#[test]
fn kai_and_one_more_tray_start_the_gang_inside_one_domain() {
    let mut m = model();
    update(&mut m, Message::Do(Command::Set { param: Param::Scheduler, value: 1 }));
    update(&mut m, Message::Do(Command::Set { param: Param::Topology, value: 2 }));
    update(&mut m, Message::Do(Command::BuyNode { palette: 0, rack: RackId(0) }));
    m.run.advance(Time::from_secs(900), usize::MAX);
    m.refresh();
    let group = m.snapshot.groups.iter().find(|g| g.pods_total == 8).unwrap();
    assert_eq!(group.stage, GroupStage::Serving);
    assert!(!group.crosses_domains);
    let done: Vec<bool> = m.tasks.iter().map(|(_, at)| at.is_some()).collect();
    assert_eq!(done, [false, true, true]);
}

#[test]
fn a_refused_command_says_why_and_changes_nothing() {
    let mut m = model();
    let before = m.run.log().len();
    let tray_to_network = Command::MoveNode { node: NodeId(0), rack: RackId(2) };
    update(&mut m, Message::Do(tray_to_network.clone()));
    let why = Refusal::TrayNeedsNvl72;
    assert_eq!(m.notice, Some(Notice::Refused { command: tray_to_network, why }));
    assert_eq!(m.run.log().len(), before);
}

#[test]
fn a_prompt_beyond_the_context_is_refused_with_its_limit() {
    let mut m = model();
    let spike =
        Command::InjectSpike { service: ServiceId(0), requests: 0, over: Span::ZERO, long_prompt_tokens: 1_000_000 };
    update(&mut m, Message::Do(spike.clone()));
    let why = Refusal::ContextLimit { asked: 1_000_000, limit: 32_768 };
    assert_eq!(m.notice, Some(Notice::Refused { command: spike, why }));
}

#[test]
fn the_million_token_model_takes_the_million_token_prompt() {
    let mut m = model();
    update(&mut m, Message::OpenScenario { id: "sandbox".into(), seed: None });
    let spike =
        Command::InjectSpike { service: ServiceId(1), requests: 0, over: Span::ZERO, long_prompt_tokens: 1_000_000 };
    update(&mut m, Message::Do(spike));
    assert_eq!(m.notice, None);
    m.run.advance(Time::from_secs(400), usize::MAX);
    let offered = m.run.world().snapshot().requests;
    assert!(offered.offered > 0);
    assert_eq!(m.run.world().check_invariants(), Ok(()));
}

#[test]
fn acting_in_the_past_forks_and_says_so() {
    let mut m = model();
    m.run.advance(Time::from_secs(60), usize::MAX);
    update(&mut m, Message::Do(Command::Set { param: Param::Scheduler, value: 1 }));
    update(&mut m, Message::Rewind);
    while !m.slice(10_000) {}
    update(&mut m, Message::Do(Command::Set { param: Param::Topology, value: 1 }));
    assert!(matches!(m.notice, Some(Notice::Forked { commands_dropped: 1, .. })));
}

#[test]
fn a_shared_link_reopens_time_log_and_hash() {
    let mut m = model();
    m.run.advance(Time::from_secs(100), usize::MAX);
    update(&mut m, Message::Do(Command::BuyNode { palette: 0, rack: RackId(0) }));
    m.run.advance(Time::from_secs(200), usize::MAX);
    let effects = update(&mut m, Message::Share);
    let Some(Dialog::Share { link, state_hash }) = m.dialog.clone() else { panic!("no share dialog") };
    assert!(effects.contains(&Effect::CopyText(link.clone())));
    let mut other = model();
    update(&mut other, Message::OpenLink(link));
    while !other.slice(10_000) {}
    assert_eq!(other.run.now(), m.run.now());
    assert_eq!(other.run.log(), m.run.log());
    assert_eq!(format!("{:016x}", other.run.world().state_hash()), state_hash);
    assert_eq!(other.notice, None);
}

#[test]
fn bad_input_opens_one_dialog_and_keeps_the_run() {
    let mut m = model();
    m.run.advance(Time::from_secs(77), usize::MAX);
    let hash = m.run.world().state_hash();
    for message in [
        Message::OpenLink("x1=broken".into()),
        Message::OpenScenario { id: "nowhere".into(), seed: None },
        Message::OpenFile { name: "a.yaml".into(), text: "id: [".into() },
    ] {
        update(&mut m, message);
        assert!(matches!(m.dialog, Some(Dialog::Problems { .. })));
        assert_eq!(m.run.world().state_hash(), hash);
        update(&mut m, Message::CloseDialog);
    }
}

#[test]
fn every_library_scenario_opens_with_its_tasks() {
    for (id, _) in crate::scenario::LIBRARY {
        let mut m = model();
        update(&mut m, Message::OpenScenario { id: (*id).to_owned(), seed: Some(5) });
        assert_eq!(m.dialog, None, "{id}");
        assert_eq!(m.scenario, *id);
        assert_eq!(m.run.world().setup().seed, 5);
    }
}

#[test]
fn at_the_end_of_the_run_acts_are_refused_and_say_so() {
    let mut m = model();
    m.run.advance(m.run.end(), usize::MAX);
    let launch = Command::LaunchGang { service: ServiceId(3) };
    update(&mut m, Message::Do(launch.clone()));
    assert_eq!(m.notice, Some(Notice::Refused { command: launch, why: Refusal::RunOver }));
}

#[test]
fn tasks_stay_done_when_rewound() {
    let mut m = model();
    m.run.advance(Time::from_secs(240), usize::MAX);
    m.refresh();
    assert!(m.tasks[0].1.is_some());
    update(&mut m, Message::Rewind);
    assert!(m.tasks[0].1.is_some());
}

#[test]
fn another_signal_has_no_reading_before_its_first_sync() {
    let mut m = model();
    m.run.advance(Time::from_secs(100), usize::MAX);
    update(&mut m, Message::Do(Command::Set { param: Param::Signal, value: 2 }));
    assert!(m.snapshot.services[0].hpa.is_none());
}

#[test]
fn the_gang_runs_over_two_trays_of_one_domain_or_on_one_hgx_node() {
    let mut m = model();
    update(&mut m, Message::OpenScenario { id: "sandbox".into(), seed: None });
    update(&mut m, Message::Do(Command::BuyNode { palette: 0, rack: RackId(0) }));
    update(&mut m, Message::Do(Command::Set { param: Param::Scheduler, value: 1 }));
    update(&mut m, Message::Do(Command::Set { param: Param::Topology, value: 2 }));
    for service in [2, 3] {
        update(&mut m, Message::Do(Command::LaunchGang { service: ServiceId(service) }));
    }
    m.run.advance(Time::from_secs(1500), usize::MAX);
    m.refresh();
    for (service, nodes, pods) in [(2, 2, 8), (3, 1, 1)] {
        let g = m.snapshot.groups.iter().find(|g| g.service == ServiceId(service)).unwrap();
        assert_eq!((g.stage, g.nodes.len(), g.pods_total), (GroupStage::Serving, nodes, pods));
        assert!(!g.crosses_domains);
    }
}
