use super::{Dialog, Effect, Message, Model, Notice, Speed, Theme, update};
use crate::i18n::Lang;
use crate::scenario::{self, TraceChoice};
use crate::sim::command::{Command, Refusal};
use crate::sim::id::{NodeId, RackId, ServiceId};
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use crate::sim::traffic::Trace;
use crate::sim::traffic::trace::Row;

fn model() -> Model {
    Model::new(Lang::english(), Theme::Auto).unwrap()
}

/// A library scenario, as the library's button opens it.
fn opened(id: &str) -> Model {
    let mut m = model();
    update(&mut m, Message::OpenScenario { id: id.to_owned(), seed: None });
    m
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

/// A fault that was found by use: a task counted as done only if a drawn moment showed it, so a
/// jump to the end left it open.
#[test]
fn a_task_is_done_however_the_run_gets_past_it() {
    let done = |m: &Model| m.tasks.iter().map(|(_, at)| *at).collect::<Vec<_>>();
    for (id, _) in scenario::LIBRARY {
        let end = opened(id).run.end();
        let mut at_once = opened(id);
        update(&mut at_once, Message::Seek(end));
        while !at_once.slice(usize::MAX) {}
        let mut in_pieces = opened(id);
        update(&mut in_pieces, Message::Seek(end));
        while in_pieces.is_jumping() {
            in_pieces.slice(997);
            in_pieces.end_frame();
        }
        let pieces: Vec<bool> = done(&in_pieces).iter().map(Option::is_some).collect();
        let whole: Vec<bool> = done(&at_once).iter().map(Option::is_some).collect();
        assert_eq!(whole, pieces, "{id}");
    }
    let mut m = opened("mig-or-slices");
    let end = m.run.end();
    update(&mut m, Message::Seek(end));
    while !m.slice(usize::MAX) {}
    assert!(done(&m).iter().all(Option::is_some), "both happen by themselves");
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

fn small_trace(prompt_tokens: u32) -> std::sync::Arc<Trace> {
    let row = |i: u64| Row { offset_us: i * 1_000_000, prompt_tokens, output_tokens: 20 };
    std::sync::Arc::new(Trace::from_rows((0..40).map(row).collect()))
}

/// Drops a trace and takes the form's choice, changed.
fn drop_trace(m: &mut Model, prompt_tokens: u32, change: impl FnOnce(&mut TraceChoice)) {
    update(m, Message::LoadTrace { name: "requests.csv".into(), trace: small_trace(prompt_tokens) });
    let Some(Dialog::Trace { name, trace, mut choice }) = m.dialog.clone() else { panic!("nothing is asked") };
    change(&mut choice);
    update(m, Message::UseTrace { name, trace, choice });
}

#[test]
fn a_trace_is_asked_about_first_and_then_takes_the_place_of_traffic_and_tasks() {
    let mut m = model();
    m.run.advance(Time::from_secs(50), usize::MAX);
    let hash = m.run.world().state_hash();
    update(&mut m, Message::LoadTrace { name: "requests.csv".into(), trace: small_trace(100) });
    assert!(matches!(&m.dialog, Some(Dialog::Trace { choice, .. }) if choice.service == ServiceId(0)));
    assert_eq!((m.run.world().state_hash(), m.tasks.len()), (hash, 3), "nothing changed yet");

    drop_trace(&mut m, 100, |choice| choice.service = ServiceId(1));
    assert_eq!((m.dialog.clone(), m.run.now(), m.tasks.len()), (None, Time::ZERO, 0));
    let notice = m.notice.clone();
    assert!(matches!(notice, Some(Notice::TraceLoaded { service, requests: 40, .. }) if service == "code-32b"));
    // Another one for another service leaves the first one's service with its own traffic.
    let own = m.run.setup().services[0].traffic.clone();
    drop_trace(&mut m, 100, |choice| choice.service = ServiceId(2));
    assert_eq!(m.run.setup().services[0].traffic, own);
    assert!(m.run.setup().services[1].trace.is_none() && m.run.setup().services[2].trace.is_some());

    update(&mut m, Message::OpenScenario { id: "seven-of-eight".into(), seed: None });
    assert_eq!((m.tasks.len(), m.trace.clone()), (3, None));
}

#[test]
fn speed_repetition_and_cut_reach_the_run() {
    let offered = |change: fn(&mut TraceChoice), prompt| {
        let mut m = model();
        update(&mut m, Message::OpenScenario { id: "lying-signal".into(), seed: None });
        drop_trace(&mut m, prompt, change);
        m.run.advance(Time::from_secs(20), usize::MAX);
        let at_20 = m.run.world().snapshot().requests;
        m.run.advance(Time::from_secs(400), usize::MAX);
        let at_400 = m.run.world().snapshot().requests;
        assert_eq!(m.run.world().check_invariants(), Ok(()));
        (at_20.offered, at_400.offered, at_400.rejected)
    };
    assert_eq!(offered(|_| {}, 100), (21, 40, 0));
    assert_eq!(offered(|c| c.speed = 2.0, 100), (40, 40, 0));
    assert_eq!(offered(|c| (c.speed, c.repeat) = (2.0, true), 100), (41, 801, 0));
    // Longer than the service's 16,384 tokens.
    assert_eq!(offered(|_| {}, 50_000), (21, 40, 40));
    assert_eq!(offered(|c| c.cut = true, 50_000).2, 0);
}

#[test]
fn a_choice_that_cannot_be_met_is_refused_and_the_run_goes_on() {
    let mut m = model();
    for change in [(|c| c.service = ServiceId(99)) as fn(&mut TraceChoice), |c| c.speed = 0.0, |c| c.speed = f64::NAN] {
        let hash = m.run.world().state_hash();
        drop_trace(&mut m, 100, change);
        assert!(matches!(m.dialog, Some(Dialog::Problems { .. })));
        assert_eq!((m.run.world().state_hash(), m.tasks.len(), m.trace.clone()), (hash, 3, None));
        update(&mut m, Message::CloseDialog);
    }
    let mut m = model();
    update(&mut m, Message::OpenScenario { id: "sandbox".into(), seed: None });
    drop_trace(&mut m, 100, |c| (c.lengths_only, c.service) = (true, ServiceId(2)));
    assert!(matches!(m.dialog, Some(Dialog::Problems { .. })), "llama-70b has no arrivals of its own");
}

#[test]
fn lengths_alone_leave_the_arrivals_as_they_are() {
    let run = |lengths: Option<u32>| {
        let mut m = model();
        update(&mut m, Message::OpenScenario { id: "lying-signal".into(), seed: None });
        if let Some(prompt) = lengths {
            drop_trace(&mut m, prompt, |c| c.lengths_only = true);
        }
        m.run.advance(Time::from_secs(300), usize::MAX);
        (m.run.world().snapshot().requests.offered, m.run.world().state_hash())
    };
    let (own, long, longer) = (run(None), run(Some(500)), run(Some(900)));
    assert_eq!((own.0, own.0), (long.0, longer.0));
    assert!(own.1 != long.1 && long.1 != longer.1);
    assert_eq!(run(Some(500)), long);
}

#[test]
fn a_run_with_a_trace_is_not_shared_silently() {
    let mut m = model();
    drop_trace(&mut m, 100, |_| {});
    let effects = update(&mut m, Message::Share);
    assert_eq!(effects, []);
    assert!(matches!(&m.dialog, Some(Dialog::Problems { problems, .. }) if problems[0].what.contains("requests.csv")));
    let mut other = model();
    update(&mut other, Message::OpenLink(super::link(&m).0));
    assert!(
        matches!(&other.dialog, Some(Dialog::Problems { problems, .. }) if problems[0].what.contains("requests.csv"))
    );
}
