//! Priorities, prefill and decode engines, and neighbours on the GPU, call by call.

use super::event::EngineEvent;
use super::reference_test::{COST, limits, run_out};
use super::replica::Replica;
use super::step::StepCost;
use super::submission::{Scheduling, Submission, Work};
use crate::sim::id::RequestId;
use crate::sim::time::Time;

fn replica(seats: u32, blocks: u32) -> Replica {
    Replica::new(COST.clone(), limits(seats, 4096, blocks))
}

fn request(req: u32, prompt_tokens: u32, output_tokens: u32) -> Submission {
    Submission::whole(RequestId(req), prompt_tokens, output_tokens)
}

fn prefill(req: u32, prompt_tokens: u32) -> Submission {
    Submission { work: Work::PrefillOnly, ..request(req, prompt_tokens, 100) }
}

fn decode(req: u32, prompt_tokens: u32, output_tokens: u32) -> Submission {
    Submission { work: Work::DecodeOnly, ..request(req, prompt_tokens, output_tokens) }
}

/// Requests in the order of these events.
fn order(events: &[EngineEvent], wanted: fn(&EngineEvent) -> bool) -> Vec<u32> {
    events.iter().filter(|e| wanted(e)).map(|e| e.req().0).collect()
}

fn admitted(e: &EngineEvent) -> bool {
    matches!(e, EngineEvent::Admitted { .. })
}

fn preempted(e: &EngineEvent) -> bool {
    matches!(e, EngineEvent::Preempted { .. })
}

#[test]
fn the_more_important_goes_first_and_equals_in_order_of_arrival() {
    let (mut replica, mut out) = (replica(1, 1000), Vec::new());
    replica.set_scheduling(Time::ZERO, Scheduling::Priority, &mut out);
    for (i, priority) in [0, 0, 5, -3, 5, 0].into_iter().enumerate() {
        let submission = Submission { priority, ..request(i as u32, 100, 20) };
        replica.submit(Time(i as u64 * 10), submission, &mut out);
    }
    run_out(&mut replica, &mut out);
    assert_eq!(order(&out, admitted), [0, 2, 4, 1, 5, 3], "a running request keeps its seat");
}

#[test]
fn without_the_policy_priorities_do_nothing() {
    let (mut replica, mut out) = (replica(1, 1000), Vec::new());
    for i in 0..4 {
        replica.submit(Time(i), Submission { priority: i as i32, ..request(i as u32, 100, 20) }, &mut out);
    }
    run_out(&mut replica, &mut out);
    assert_eq!(order(&out, admitted), [0, 1, 2, 3]);
}

#[test]
fn a_change_of_policy_holds_from_the_next_turn_on() {
    let (mut replica, mut out) = (replica(1, 1000), Vec::new());
    for i in 0..6 {
        replica.submit(Time(i), Submission { priority: i as i32 % 3, ..request(i as u32, 100, 50) }, &mut out);
    }
    let due = |replica: &Replica| replica.next_due().unwrap();
    while order(&out, admitted).len() < 2 {
        replica.advance(due(&replica), &mut out);
    }
    replica.set_scheduling(due(&replica), Scheduling::Priority, &mut out);
    while order(&out, admitted).len() < 4 {
        replica.advance(due(&replica), &mut out);
    }
    replica.set_scheduling(due(&replica), Scheduling::Fcfs, &mut out);
    run_out(&mut replica, &mut out);
    assert_eq!(order(&out, admitted), [0, 1, 2, 5, 3, 4]);
}

#[test]
fn the_least_important_gives_way_even_if_it_came_first() {
    let victims = |scheduling| {
        let (mut replica, mut out) = (replica(8, 64), Vec::new());
        replica.set_scheduling(Time::ZERO, scheduling, &mut out);
        for (i, priority) in [0, 7, 7].into_iter().enumerate() {
            let submission = Submission { priority, ..request(i as u32, 300, 100) };
            replica.submit(Time(i as u64), submission, &mut out);
        }
        run_out(&mut replica, &mut out);
        assert!(replica.is_idle());
        order(&out, preempted)
    };
    assert_eq!(victims(Scheduling::Priority), [0]);
    assert_eq!(victims(Scheduling::Fcfs), [2]);
}

#[test]
fn a_change_of_policy_lets_a_head_in_that_fits() {
    let (mut replica, mut out) = (replica(8, 70), Vec::new());
    replica.submit(Time(0), request(0, 400, 500), &mut out);
    replica.submit(Time(1), request(1, 800, 10), &mut out);
    replica.submit(Time(2), Submission { priority: 1, ..request(2, 100, 10) }, &mut out);
    replica.advance(Time(200_000), &mut out);
    assert_eq!((replica.running(), replica.waiting()), (1, 2), "head-of-line blocking");
    replica.set_scheduling(Time(200_000), Scheduling::Priority, &mut out);
    replica.advance(Time(220_000), &mut out);
    assert_eq!(order(&out, admitted), [0, 2]);
}

#[test]
fn a_prefill_engine_gives_up_the_seat_and_holds_the_blocks() {
    let (mut replica, mut out) = (replica(1, 1000), Vec::new());
    replica.submit(Time(0), prefill(0, 1600), &mut out);
    let end = run_out(&mut replica, &mut out);
    let at = end - crate::sim::time::Span::from_micros(1);
    let done = EngineEvent::Prefilled { req: RequestId(0), at, submitted_at: Time(0), prompt_tokens: 1600 };
    assert_eq!(out, [EngineEvent::Admitted { req: RequestId(0), at: Time(0) }, done]);
    let reading = replica.reading(end);
    assert_eq!((reading.running, reading.kv_used_blocks, reading.prefill_held_blocks), (0, 100, 100));
    assert_eq!((reading.prompt_tokens_total, reading.generation_tokens_total), (1600, 0));
    assert_eq!((reading.prefilled_total, reading.finished_total, reading.first_tokens_total), (1, 0, 0));
    assert!(replica.is_idle() && replica.held() == 1 && replica.next_due().is_none());
    assert!(replica.release_kv(end, RequestId(0), &mut out));
    assert!(!replica.release_kv(end, RequestId(0), &mut out));
    assert_eq!((replica.reading(end).kv_used_blocks, replica.held()), (0, 0));
}

#[test]
fn the_next_prompt_waits_for_held_blocks_and_starts_when_they_are_released() {
    let (mut replica, mut out) = (replica(8, 101), Vec::new());
    replica.submit(Time(0), prefill(0, 1000), &mut out);
    replica.submit(Time(0), prefill(1, 1000), &mut out);
    run_out(&mut replica, &mut out);
    assert_eq!((replica.held(), replica.waiting(), replica.next_due()), (1, 1, None), "a stalled engine");
    let now = Time(500_000);
    replica.release_kv(now, RequestId(0), &mut out);
    run_out(&mut replica, &mut out);
    assert!(out.contains(&EngineEvent::Admitted { req: RequestId(1), at: now }));
    assert!(replica.abort(Time(900_000), RequestId(1), &mut out), "an abort releases what is held");
    assert_eq!(replica.reading(Time(900_000)).kv_used_blocks, 0);
}

#[test]
fn a_killed_prefill_engine_loses_what_it_holds() {
    let (mut replica, mut out) = (replica(1, 1000), Vec::new());
    for i in 0..3 {
        replica.submit(Time(0), prefill(i, 4000), &mut out);
    }
    let second_done = |out: &[EngineEvent]| order(out, |e| matches!(e, EngineEvent::Prefilled { .. })) == [0];
    while !second_done(&out) {
        replica.advance(replica.next_due().unwrap(), &mut out);
    }
    let now = replica.next_due().unwrap();
    assert_eq!(replica.abort_all(now, &mut Vec::new()), [2, 0, 1].map(RequestId));
    assert_eq!((replica.held(), replica.reading(now).kv_used_blocks), (0, 0));
}

#[test]
fn a_decode_engine_has_the_first_token_at_admission() {
    let (mut replica, mut out) = (replica(8, 1000), Vec::new());
    replica.submit(Time(700), decode(0, 1600, 1000), &mut out);
    replica.submit(Time(700), decode(1, 1600, 1), &mut out);
    replica.advance(Time(701), &mut out);
    let at = Time(700);
    let (first, second) = (RequestId(0), RequestId(1));
    let finished = EngineEvent::Finished {
        req: second,
        at,
        submitted_at: at,
        first_token_at: at,
        prompt_tokens: 1600,
        output_tokens: 1,
        preemptions: 0,
    };
    assert_eq!(
        out,
        [
            EngineEvent::Admitted { req: first, at },
            EngineEvent::FirstToken { req: first, at },
            EngineEvent::Admitted { req: second, at },
            EngineEvent::FirstToken { req: second, at },
            finished,
        ]
    );
    let reading = replica.reading(Time(701));
    assert_eq!((reading.prompt_tokens_total, reading.generation_tokens_total), (0, 2));
    assert_eq!(reading.kv_used_blocks, 101, "the prompt's, and one for the token of this step");
    out.clear();
    let end = run_out(&mut replica, &mut out);
    let steps: f64 = (1..1000).map(|i| COST.step_us(1.0, 1600.0 + f64::from(i), &Default::default())).sum();
    assert!((end.0 as f64 - 1.0 - 700.0 - steps).abs() < 1.0, "{end:?} after {steps}");
}

#[test]
fn a_preempted_decode_is_recomputed_here() {
    let (mut replica, mut out) = (replica(8, 60), Vec::new());
    replica.submit(Time(0), decode(0, 400, 100), &mut out);
    replica.submit(Time(0), decode(1, 400, 100), &mut out);
    let end = run_out(&mut replica, &mut out);
    assert_eq!(order(&out, preempted), [1]);
    assert_eq!(order(&out, |e| matches!(e, EngineEvent::FirstToken { .. })), [0, 1], "and not told twice");
    let reading = replica.reading(end);
    assert_eq!((reading.generation_tokens_total, reading.prompt_tokens_total, reading.finished_total), (200, 0, 2));
}

#[test]
fn neighbours_stretch_steps_from_the_next_one_on() {
    let mut replica = Replica::new(StepCost::synthetic(1000.0, 0.0, 0.0, 8), limits(8, 100, 1000));
    let mut out = Vec::new();
    replica.submit(Time(0), request(0, 1, 10), &mut out);
    replica.set_slowdown(Time(2_500), 3.0, &mut out);
    replica.set_slowdown(Time(2_600), 3.0, &mut out);
    replica.advance(Time(4_500), &mut out);
    let reading = replica.reading(Time(4_500));
    assert_eq!((reading.busy_us_total, reading.generation_tokens_total), (4_500, 3));
    assert!((reading.dram_us_total - 3_500.0).abs() < 1e-6, "half of the fourth step's own work: {reading:?}");
    replica.set_slowdown(Time(9_000), 1.0, &mut out);
    let end = run_out(&mut replica, &mut out);
    // Three steps alone, two with neighbours, until 9000; the turn at that instant sees the change.
    assert_eq!(end, Time(3_000 + 2 * 3_000 + 5 * 1_000 + 1));
    let reading = replica.reading(end);
    assert_eq!(reading.busy_us_total, 14_000);
    assert!((reading.dram_us_total - 10_000.0).abs() < 1e-6);
}

#[test]
fn a_pace_that_is_none_counts_as_alone() {
    let mut replica = replica(1, 1000);
    for factor in [0.3, f64::NAN, f64::NEG_INFINITY] {
        replica.set_slowdown(Time::ZERO, factor, &mut Vec::new());
        assert_eq!(replica.slowdown(), 1.0);
    }
    replica.set_slowdown(Time::ZERO, f64::INFINITY, &mut Vec::new());
    assert!(replica.slowdown().is_finite());
}
