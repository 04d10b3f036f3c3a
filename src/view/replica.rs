//! The state of one replica in short lines: for the tip at its cells, its menu, and screen readers.

use super::words::{group_stage, wait};
use crate::i18n::{Arg, Message};
use crate::sim::snapshot::{GroupStage, GroupView, ReplicaRole};
use crate::sim::time::{Span, Time};

/// Slowdown by neighbours from which it is worth a line.
const SLOWER: f32 = 1.05;

fn passed(since: Time, now: Time) -> Arg {
    Arg::Span(Span::from_secs(now.since(since).0 / 1_000_000))
}

/// What it is, where it is in its life and since when, what it waits for, its load.
pub fn state(group: &GroupView, now: Time) -> Vec<Message> {
    let mut lines = vec![stage(group, now)];
    if let Some(w) = group.wait {
        lines.push(Message::ReplicaWaits { reason: wait(w.reason).into(), since: passed(w.since, now) });
    }
    lines.extend(role(group.role));
    lines.extend(note(group));
    lines.extend(seats(group));
    if group.seats > 0 {
        lines.push(Message::ReplicaWaiting { waiting: group.waiting.into() });
        lines.push(Message::ReplicaKv { kv: Arg::Percent(f64::from(group.kv_usage)) });
    }
    if group.slowdown >= SLOWER {
        lines.push(Message::ReplicaSlowdown { times: times(group) });
    }
    if let Some(tokens) = tokens(group) {
        lines.push(Message::ReplicaTokens { tokens });
    }
    lines
}

fn stage(group: &GroupView, now: Time) -> Message {
    let (stage, since) = (group_stage(group.stage).into(), passed(group.stage_since, now));
    match group.stage_until.filter(|until| *until > now) {
        Some(until) => Message::ReplicaStageUntil {
            stage,
            since,
            remaining: Arg::Span(super::words::whole_seconds(until.since(now))),
        },
        None => Message::ReplicaStageSince { stage, since },
    }
}

/// What part of a request it does; nothing if all of it.
pub fn role(role: ReplicaRole) -> Option<Message> {
    match role {
        ReplicaRole::Monolithic => None,
        ReplicaRole::Prefill => Some(Message::ReplicaPrefill),
        ReplicaRole::Decode => Some(Message::ReplicaDecode),
    }
}

/// What sets it apart from a replica that serves.
pub fn note(group: &GroupView) -> Option<Message> {
    match (group.standby, group.ready_early) {
        (true, _) => Some(Message::ReplicaSpare),
        (false, true) => Some(Message::ReplicaEarly),
        (false, false) => None,
    }
}

/// Running requests, of its seats while an engine is up.
pub fn seats(group: &GroupView) -> Option<Message> {
    let running = group.running.into();
    if group.seats > 0 {
        Some(Message::ReplicaSeats { running, seats: group.seats.into() })
    } else {
        (group.running > 0 && group.stage != GroupStage::Pending).then_some(Message::ReplicaRunning { running })
    }
}

/// How many times as long its steps take; [`is_slowed`] says whether that matters.
pub fn times(group: &GroupView) -> Arg {
    Arg::Float(f64::from(group.slowdown), 1)
}

pub fn is_slowed(group: &GroupView) -> bool {
    group.slowdown >= SLOWER
}

/// Output tokens per second, while an engine is up.
pub fn tokens(group: &GroupView) -> Option<Arg> {
    group.tokens_per_s.filter(|_| group.seats > 0).map(|t| Arg::Int(f64::from(t).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::sim::wait::{Wait, WaitReason};
    use crate::view::fixture;

    fn said(group: &GroupView, now: Time) -> Vec<String> {
        state(group, now).iter().map(|m| render(&Lang::english(), m)).collect()
    }

    #[test]
    fn a_serving_replica_says_its_load_and_its_neighbours() {
        let s = fixture::trap();
        let mut g = s.groups.iter().find(|g| g.name == "chat-8b-0").unwrap().clone();
        g.stage_since = s.now - Span::from_secs(65);
        g.tokens_per_s = Some(812.4);
        assert_eq!(
            said(&g, s.now),
            ["serving for 1 min 05 s", "12 of 256 seats run", "3 wait", "KV cache 71 %", "812 tokens/s"]
        );
        g.slowdown = 2.24;
        g.role = ReplicaRole::Decode;
        let lines = said(&g, s.now);
        assert!(lines.contains(&"steps take 2.2 times as long: others use its GPU too".to_owned()), "{lines:?}");
        assert!(lines.contains(&"decode: writes answers".to_owned()), "{lines:?}");
    }

    #[test]
    fn a_replica_without_an_engine_says_what_it_waits_for_and_no_load() {
        let s = fixture::trap();
        let mut g = s.groups[0].clone();
        g.seats = 0;
        g.stage_since = s.now - Span::from_secs(222);
        g.wait = Some(Wait {
            reason: WaitReason::FreeGpu,
            since: s.now - Span::from_secs(30),
            gpus_missing: 1,
            until: None,
        });
        assert_eq!(said(&g, s.now), ["not fully placed for 3 min 42 s", "waits for a free GPU, 30 s so far"]);
    }

    #[test]
    fn a_spare_and_one_that_is_ready_too_early_say_so() {
        let s = fixture::trap();
        let mut g = s.groups[1].clone();
        g.standby = true;
        assert!(said(&g, s.now).iter().any(|l| l.starts_with("warm spare")));
        (g.standby, g.ready_early, g.seats, g.running) = (false, true, 0, 0);
        let lines = said(&g, s.now);
        assert!(lines.iter().any(|l| l.contains("engine is not up")) && !lines.iter().any(|l| l.contains("KV")));
    }

    #[test]
    fn a_loading_replica_says_how_long_is_left() {
        let s = fixture::trap();
        let g = s.groups.iter().find(|g| g.name == "chat-8b-8").unwrap();
        assert_eq!(said(g, s.now)[0], "loading weights for 1 min 02 s, 38 s to go");
    }
}
