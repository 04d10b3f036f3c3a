//! The closed form against the step-by-step scheduler, over random scripts; and what must hold
//! whatever the script.

use super::event::EngineEvent;
use super::memory::EngineLimits;
use super::reference_test::{COST, Call, Op, Outcome, Script, limits, run_out, simulate};
use super::replica::Replica;
use super::submission::{Scheduling, Submission, Work};
use crate::sim::id::RequestId;
use crate::sim::rng::Stream;
use crate::sim::time::Time;
use proptest::prelude::*;

/// What came of a script: the replica at rest, its events, and the last instant.
struct Driven {
    replica: Replica,
    events: Vec<EngineEvent>,
    end: Time,
}

/// Plays a script as the world would: turns when they are due, transfers that end after their time.
/// `look` is called at each of the given instants.
fn drive(limits: EngineLimits, script: &Script, instants: &[u64], mut look: impl FnMut(Time, &mut Replica)) -> Driven {
    let (mut replica, mut events) = (Replica::new(COST.clone(), limits), Vec::new());
    replica.set_scheduling(Time::ZERO, script.scheduling, &mut events);
    let mut calls = script.calls.iter().peekable();
    let mut instants = instants.iter().copied().peekable();
    let mut transfers: Vec<(u64, RequestId)> = Vec::new();
    let (mut seen, mut end) = (0, Time::ZERO);
    loop {
        for event in &events[seen..] {
            if let EngineEvent::Prefilled { req, at, .. } = *event {
                transfers.push((at.0 + script.transfer_us, req));
            }
        }
        seen = events.len();
        let transfer = (0..transfers.len()).min_by_key(|&i| transfers[i]);
        let at = |i: usize| transfers[i].0;
        let next = [transfer.map(at), calls.peek().map(|c| c.at_us), instants.peek().copied()];
        let next = next.into_iter().flatten().min();
        if let Some(due) = replica.next_due().filter(|due| next.is_none_or(|next| due.0 <= next)) {
            replica.advance(due, &mut events);
            end = due;
            continue;
        }
        let Some(now) = next else { break };
        let time = Time(now);
        end = time;
        if let Some(i) = transfer.filter(|&i| at(i) == now) {
            let (_, req) = transfers.swap_remove(i);
            replica.release_kv(time, req, &mut events);
        } else if let Some(call) = calls.next_if(|call| call.at_us == now) {
            match call.op {
                Op::Submit(submission) => replica.submit(time, submission, &mut events),
                Op::Slowdown(factor) => replica.set_slowdown(time, factor, &mut events),
                Op::Scheduling(scheduling) => replica.set_scheduling(time, scheduling, &mut events),
                Op::Abort(req) => {
                    replica.abort(time, req, &mut events);
                }
            }
        } else {
            instants.next();
            look(time, &mut replica);
        }
    }
    Driven { replica, events, end }
}

fn quiet(limits: EngineLimits, script: &Script) -> Driven {
    drive(limits, script, &[], |_, _| {})
}

/// What the events say about each of `count` requests, and how often each was preempted.
fn outcomes(events: &[EngineEvent], count: usize) -> Vec<Outcome> {
    let mut all = vec![Outcome::default(); count];
    for event in events {
        let outcome = &mut all[event.req().index()];
        let at = event.at().0 as f64;
        match event {
            EngineEvent::FirstToken { .. } => outcome.first_token_us = at,
            EngineEvent::Finished { .. } => outcome.finished_us = at,
            EngineEvent::Prefilled { .. } => outcome.prefilled_us = at,
            EngineEvent::Preempted { .. } => outcome.preemptions += 1,
            EngineEvent::Admitted { .. } | EngineEvent::Refused { .. } => {}
        }
    }
    all
}

fn submissions(script: &Script) -> Vec<(u64, Submission)> {
    let submission = |call: &Call| match call.op {
        Op::Submit(submission) => Some((call.at_us, submission)),
        _ => None,
    };
    script.calls.iter().filter_map(submission).collect()
}

/// Only whole requests of one priority, and nothing from outside.
fn plain(count: usize, gap_us: u64) -> impl Strategy<Value = Script> {
    requests(count, gap_us, Just(Work::Whole)).prop_map(|calls| Script {
        scheduling: Scheduling::Fcfs,
        calls,
        transfer_us: 1,
    })
}

fn requests(count: usize, gap_us: u64, work: impl Strategy<Value = Work>) -> impl Strategy<Value = Vec<Call>> {
    let row = (0..gap_us, 1_u32..1500, 1_u32..400, -1_i32..2, work);
    prop::collection::vec(row, 1..count).prop_map(|rows| {
        let mut at_us = 0;
        let call = |(i, (gap, prompt_tokens, output_tokens, priority, work))| {
            at_us += gap;
            let req = RequestId(i as u32);
            Call { at_us, op: Op::Submit(Submission { req, prompt_tokens, output_tokens, priority, work }) }
        };
        rows.into_iter().enumerate().map(call).collect()
    })
}

/// Everything at once: both policies and changes between them, all kinds of work, aborts, neighbours
/// on the GPU.
fn mixed(count: usize, gap_us: u64) -> impl Strategy<Value = Script> {
    let work = prop_oneof![3 => Just(Work::Whole), 1 => Just(Work::PrefillOnly), 1 => Just(Work::DecodeOnly)];
    let scheduling = prop_oneof![Just(Scheduling::Fcfs), Just(Scheduling::Priority)];
    let until = count as u64 * gap_us;
    let other = prop_oneof![
        6 => (0..count as u32).prop_map(|i| Op::Abort(RequestId(i))),
        2 => prop_oneof![Just(1.0), 1.0..4.0].prop_map(Op::Slowdown),
        1 => scheduling.clone().prop_map(Op::Scheduling),
    ];
    let others = prop::collection::vec((0..until, other), 0..20);
    (requests(count, gap_us, work), others, scheduling, 1..400_000_u64).prop_map(
        |(mut calls, others, scheduling, transfer_us)| {
            calls.extend(others.into_iter().map(|(at_us, op)| Call { at_us, op }));
            calls.sort_by_key(|call| call.at_us);
            Script { scheduling, calls, transfer_us }
        },
    )
}

/// The closed form and the reference say the same about every single request.
fn agrees(limits: EngineLimits, script: &Script) -> Result<(), TestCaseError> {
    let driven = quiet(limits, script);
    let expected = simulate(&COST, limits, script);
    let submissions = submissions(script);
    for (got, (at_us, submission)) in outcomes(&driven.events, submissions.len()).into_iter().zip(&submissions) {
        let want = expected.outcomes.get(&submission.req.0).copied().unwrap_or_default();
        for (got, want) in [
            (got.first_token_us, want.first_token_us),
            (got.finished_us, want.finished_us),
            (got.prefilled_us, want.prefilled_us),
        ] {
            let since = (want - *at_us as f64).max(0.0);
            prop_assert!((got - want).abs() <= 2.0 + 1e-3 * since, "{submission:?}: {got} for {want}");
        }
        prop_assert_eq!(got.preemptions, want.preemptions);
    }
    let reading = driven.replica.reading(driven.end);
    prop_assert_eq!(reading.generation_tokens_total, expected.generated_tokens);
    prop_assert_eq!(reading.prompt_tokens_total, expected.prompt_tokens);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_closed_form_agrees_with_step_by_step(
        script in plain(60, 120_000), seats in 1_u32..40, budget in 64_u32..4096,
    ) {
        agrees(limits(seats, budget.max(seats), 100_000), &script)?;
    }

    #[test]
    fn so_it_does_with_priorities_roles_aborts_and_neighbours(
        script in mixed(60, 80_000), seats in 1_u32..40, budget in 64_u32..4096,
    ) {
        agrees(limits(seats, budget.max(seats), 100_000), &script)?;
    }

    #[test]
    fn tokens_and_blocks_are_conserved_under_pressure(
        script in mixed(70, 40_000), seats in 4_u32..60, budget in 256_u32..4096, blocks in 260_u32..700,
    ) {
        let limits = limits(seats, budget, blocks);
        let driven = quiet(limits, &script);
        let reading = driven.replica.reading(driven.end);
        prop_assert!(driven.replica.is_idle());
        prop_assert_eq!((reading.kv_used_blocks, reading.prefill_held_blocks, driven.replica.held()), (0, 0, 0));
        let aborted = script.calls.iter().any(|call| matches!(call.op, Op::Abort(_)));
        let ends = outcomes(&driven.events, submissions(&script).len());
        let (mut generated, mut computed) = (0, 0);
        for (end, (_, submission)) in ends.iter().zip(submissions(&script)) {
            let answered = end.finished_us > 0.0;
            let prefilled = end.prefilled_us > 0.0;
            prop_assert!(aborted || (submission.work == Work::PrefillOnly) == prefilled && prefilled != answered);
            generated += if answered { u64::from(submission.output_tokens) } else { 0 };
            let local = submission.work != Work::DecodeOnly && (answered || prefilled);
            computed += if local { u64::from(submission.prompt_tokens) } else { 0 };
        }
        // Aborted requests leave what they had got by then.
        prop_assert!(reading.generation_tokens_total >= generated && reading.prompt_tokens_total >= computed);
        prop_assert!(aborted || (reading.generation_tokens_total, reading.prompt_tokens_total) == (generated, computed));
        let count = |happened: fn(&Outcome) -> bool| ends.iter().filter(|end| happened(end)).count() as u64;
        prop_assert_eq!(reading.finished_total, count(|end| end.finished_us > 0.0));
        prop_assert_eq!(reading.prefilled_total, count(|end| end.prefilled_us > 0.0));
        prop_assert_eq!(reading.first_tokens_total, count(|end| end.first_token_us > 0.0));
        prop_assert_eq!(reading.preemptions_total, ends.iter().map(|end| u64::from(end.preemptions)).sum::<u64>());
    }

    #[test]
    fn how_often_it_is_read_or_advanced_changes_nothing(
        script in mixed(60, 60_000), blocks in 260_u32..900, mut instants in prop::collection::vec(0_u64..4_000_000, 0..80),
    ) {
        let limits = limits(32, 1024, blocks);
        let unseen = quiet(limits, &script);
        instants.sort_unstable();
        let mut readings = Vec::new();
        let seen = drive(limits, &script, &instants, |now, replica| {
            let mut none = Vec::new();
            replica.advance(now, &mut none);
            readings.push((now, replica.reading(now)));
            assert_eq!(none, [], "turns that were due had been taken");
        });
        prop_assert_eq!(&seen.events, &unseen.events);
        prop_assert_eq!(seen.replica, unseen.replica);
        let mut before = None;
        for (now, reading) in readings {
            let last = before.replace(reading).unwrap_or_default();
            prop_assert!(reading.generation_tokens_total >= last.generation_tokens_total);
            prop_assert!(reading.busy_us_total >= last.busy_us_total && reading.busy_us_total <= now.0);
            prop_assert!(reading.tensor_us_total >= last.tensor_us_total);
            prop_assert!(reading.dram_us_total >= last.dram_us_total);
            prop_assert!(reading.sm_us_total >= last.sm_us_total);
            prop_assert!(reading.dram_us_total <= reading.sm_us_total + 1.0);
            prop_assert!(reading.sm_us_total <= reading.busy_us_total as f64 + 1.0);
            prop_assert!(reading.prefill_held_blocks <= reading.kv_used_blocks);
            prop_assert!(reading.kv_used_blocks <= reading.kv_total_blocks);
        }
    }

    #[test]
    fn after_an_abort_there_is_silence_and_the_rest_finishes(
        script in plain(50, 60_000), blocks in 260_u32..900,
        aborts in prop::collection::vec((0_u64..4_000_000, 0_u32..50), 0..30),
    ) {
        let mut script = script;
        script.calls.extend(aborts.into_iter().map(|(at_us, i)| Call { at_us, op: Op::Abort(RequestId(i)) }));
        script.calls.sort_by_key(|call| call.at_us);
        let limits = limits(16, 1024, blocks);
        let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
        let mut gone = Vec::new();
        for call in &script.calls {
            match call.op {
                Op::Submit(submission) => replica.submit(Time(call.at_us), submission, &mut out),
                Op::Abort(req) if replica.abort(Time(call.at_us), req, &mut out) => gone.push((req, out.len())),
                _ => {}
            }
        }
        run_out(&mut replica, &mut out);
        prop_assert!(replica.is_idle());
        for &(req, from) in &gone {
            prop_assert!(out[from..].iter().all(|e| e.req() != req));
        }
        let finished = out.iter().filter(|e| matches!(e, EngineEvent::Finished { .. })).count();
        prop_assert_eq!(finished + gone.len(), submissions(&script).len());
    }

    #[test]
    fn a_longer_prompt_never_has_a_shorter_ttft_on_an_idle_replica(
        prompt in 1_u32..3000, more in 0_u32..1000, budget in 64_u32..4096, slowdown in 1.0_f64..3.0,
    ) {
        let ttft = |prompt_tokens| {
            let (mut replica, mut out) = (Replica::new(COST.clone(), limits(8, budget, 10_000)), Vec::new());
            replica.set_slowdown(Time::ZERO, slowdown, &mut out);
            replica.submit(Time::ZERO, Submission::whole(RequestId(0), prompt_tokens, 2), &mut out);
            run_out(&mut replica, &mut out);
            outcomes(&out, 1)[0].first_token_us
        };
        prop_assert!(ttft(prompt) <= ttft(prompt + more));
    }
}

/// A script whose memory is too small for it; with everything, or whole requests alone.
fn pressed(seed: u64, scheduling: Scheduling, everything: bool) -> (Script, EngineLimits) {
    let mut stream = Stream::new(seed, "pressed");
    let mut draw = |from: u32, to: u32| from + (stream.uniform() * f64::from(to - from)) as u32;
    let gap_us = draw(5_000, 60_000);
    let mut at_us = 0;
    let mut calls = Vec::new();
    for i in 0..REQUESTS {
        at_us += u64::from(draw(0, 2 * gap_us));
        let submission = Submission::whole(RequestId(i), draw(1, 1500), draw(1, 400));
        let priority = draw(0, 3) as i32;
        let work = match draw(0, 5) {
            0 if everything => Work::PrefillOnly,
            1 if everything => Work::DecodeOnly,
            _ => Work::Whole,
        };
        calls.push(Call { at_us, op: Op::Submit(Submission { priority, work, ..submission }) });
    }
    for i in 0..if everything { 12 } else { 0 } {
        let op = match i % 4 {
            0 => Op::Slowdown(f64::from(draw(10, 30)) / 10.0),
            _ => Op::Abort(RequestId(draw(0, REQUESTS))),
        };
        calls.push(Call { at_us: u64::from(draw(0, at_us as u32)), op });
    }
    calls.sort_by_key(|call| call.at_us);
    let limits = limits(draw(4, 60), draw(256, 4096), draw(260, 700));
    (Script { scheduling, calls, transfer_us: 1 + u64::from(draw(0, 300_000)) }, limits)
}

const REQUESTS: u32 = 80;

/// Means over many scripts under memory pressure, for each priority: where requests preempt each
/// other, single requests may trade places when the order of events inside a step differs.
fn preemption_agrees_in_the_mean(scheduling: Scheduling, everything: bool) {
    let sum = |outcome: &Outcome, at_us: u64| {
        let since = |instant: f64| if instant > 0.0 { instant - at_us as f64 } else { 0.0 };
        let first = since(outcome.first_token_us) + since(outcome.prefilled_us);
        [first, since(outcome.finished_us), f64::from(outcome.preemptions)]
    };
    let mut sums = [[[0.0; 3]; 2]; 3];
    for seed in 0..150 {
        let (script, limits) = pressed(seed, scheduling, everything);
        let expected = simulate(&COST, limits, &script);
        let ends = outcomes(&quiet(limits, &script).events, REQUESTS as usize);
        for (end, (at_us, submission)) in ends.into_iter().zip(submissions(&script)) {
            let want = expected.outcomes.get(&submission.req.0).copied().unwrap_or_default();
            let class = &mut sums[submission.priority as usize];
            for (total, outcome) in class.iter_mut().zip([end, want]) {
                total.iter_mut().zip(sum(&outcome, at_us)).for_each(|(total, value)| *total += value);
            }
        }
    }
    assert!(sums.iter().map(|class| class[1][2]).sum::<f64>() > 1000.0, "no pressure: {sums:?}");
    for (priority, [got, want]) in sums.iter().enumerate() {
        let off: Vec<f64> = got.iter().zip(want).map(|(got, want)| (got / want - 1.0) * 100.0).collect();
        println!("{scheduling:?}, priority {priority}, {} preemptions:", want[2]);
        println!("  TTFT {:+.2} %, latency {:+.2} %, preemptions {:+.2} %", off[0], off[1], off[2]);
        assert!(off.iter().all(|off| off.abs() < 1.0), "{off:?}");
    }
}

#[test]
fn preemption_agrees_with_step_by_step_in_the_mean() {
    preemption_agrees_in_the_mean(Scheduling::Fcfs, false);
}

#[test]
fn preemption_by_priority_agrees_with_step_by_step_in_the_mean() {
    preemption_agrees_in_the_mean(Scheduling::Priority, false);
}

#[test]
fn so_it_does_with_roles_aborts_and_neighbours() {
    preemption_agrees_in_the_mean(Scheduling::Fcfs, true);
    preemption_agrees_in_the_mean(Scheduling::Priority, true);
}

#[test]
fn rising_load_never_shortens_the_wait() {
    let mut last = 0.0;
    for gap_us in [400_000, 100_000, 25_000, 6_000] {
        let call = |i: u64| {
            let submission = Submission::whole(RequestId(i as u32), 512, 128);
            Call { at_us: i * gap_us, op: Op::Submit(submission) }
        };
        let script = Script { scheduling: Scheduling::Fcfs, calls: (0..400).map(call).collect(), transfer_us: 1 };
        let ends = outcomes(&quiet(limits(64, 8192, 4_000), &script).events, 400);
        let latency: f64 = ends.iter().zip(0..).map(|(end, i)| end.finished_us - (i * gap_us) as f64).sum();
        assert!(latency >= last, "{latency} after {last}");
        last = latency;
    }
}
