use super::event::{EngineEvent, RefuseReason};
use super::memory::EngineLimits;
use super::reference_test::{Arrival, simulate};
use super::replica::Replica;
use super::spec::EngineSpec;
use super::step::StepCost;
use super::submission::Submission;
use crate::sim::catalog;
use crate::sim::id::RequestId;
use crate::sim::time::Time;
use proptest::prelude::*;
use std::sync::LazyLock;

static COST: LazyLock<StepCost> = LazyLock::new(|| {
    let spec = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), catalog::gpu("h100-sxm").unwrap(), 1);
    StepCost::new(&spec, 64).unwrap()
});

fn limits(max_num_seqs: u32, max_num_batched_tokens: u32, kv_blocks: u32) -> EngineLimits {
    EngineLimits { max_num_seqs, max_num_batched_tokens, max_model_len: 4096, kv_blocks }
}

fn submit_all(replica: &mut Replica, arrivals: &[Arrival], out: &mut Vec<EngineEvent>) {
    for (i, a) in arrivals.iter().enumerate() {
        replica.submit(Time(a.at_us), Submission::whole(RequestId(i as u32), a.prompt, a.output), out);
    }
}

fn run_out(replica: &mut Replica, out: &mut Vec<EngineEvent>) -> Time {
    let mut last = Time::ZERO;
    while let Some(due) = replica.next_due() {
        replica.advance(due, out);
        last = due;
    }
    last
}

fn run(cost: &StepCost, limits: EngineLimits, arrivals: &[Arrival]) -> Vec<EngineEvent> {
    let (mut replica, mut out) = (Replica::new(cost.clone(), limits), Vec::new());
    submit_all(&mut replica, arrivals, &mut out);
    let end = run_out(&mut replica, &mut out);
    let reading = replica.reading(end);
    assert!(replica.is_idle());
    assert_eq!(reading.kv_used_blocks, 0, "blocks are free when idle");
    assert_eq!(reading.generation_tokens_total, arrivals.iter().map(|a| u64::from(a.output)).sum::<u64>());
    assert_eq!(reading.prompt_tokens_total, arrivals.iter().map(|a| u64::from(a.prompt)).sum::<u64>());
    assert_eq!(reading.finished_total, arrivals.len() as u64);
    out
}

fn arrivals(count: usize, gap_us: u64) -> impl Strategy<Value = Vec<Arrival>> {
    prop::collection::vec((0..gap_us, 1_u32..1500, 1_u32..400), 1..count).prop_map(|rows| {
        let mut at_us = 0;
        rows.into_iter()
            .map(|(gap, prompt, output)| {
                at_us += gap;
                Arrival { at_us, prompt, output }
            })
            .collect()
    })
}

/// Times to first token and to completion, microseconds, per request.
fn timings(events: &[EngineEvent], arrivals: &[Arrival]) -> Vec<(f64, f64)> {
    let mut all = vec![(f64::NAN, f64::NAN); arrivals.len()];
    for event in events {
        let index = event.req().0 as usize;
        let since = event.at().0 as f64 - arrivals[index].at_us as f64;
        match event {
            EngineEvent::FirstToken { .. } => all[index].0 = since,
            EngineEvent::Finished { .. } => all[index].1 = since,
            _ => {}
        }
    }
    all
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    sum / n
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_closed_form_agrees_with_step_by_step(
        arrivals in arrivals(60, 120_000), seats in 1_u32..40, budget in 64_u32..4096,
    ) {
        let limits = limits(seats, budget.max(seats), 100_000);
        let events = run(&COST, limits, &arrivals);
        let reference = simulate(&COST, limits, &arrivals);
        for (index, (ttft, latency)) in timings(&events, &arrivals).into_iter().enumerate() {
            let expected = &reference[&index];
            let at = arrivals[index].at_us as f64;
            prop_assert!((ttft - (expected.first_token_us - at)).abs() <= 2.0 + 1e-3 * ttft, "{ttft} {expected:?}");
            prop_assert!((latency - (expected.finished_us - at)).abs() <= 2.0 + 1e-3 * latency);
        }
    }

    #[test]
    fn preemption_agrees_with_step_by_step_in_the_mean(
        arrivals in arrivals(80, 60_000), seats in 4_u32..60, budget in 256_u32..4096, blocks in 260_u32..700,
    ) {
        let limits = limits(seats, budget, blocks);
        let events = run(&COST, limits, &arrivals);
        let reference = simulate(&COST, limits, &arrivals);
        let got = timings(&events, &arrivals);
        let since = |value: f64, index: usize| value - arrivals[index].at_us as f64;
        let ttft = mean(got.iter().map(|t| t.0));
        let expected = mean(reference.iter().map(|(&i, o)| since(o.first_token_us, i)));
        prop_assert!((ttft - expected).abs() <= 2.0 + 0.03 * expected, "TTFT {ttft} for {expected}");
        let latency = mean(got.iter().map(|t| t.1));
        let expected = mean(reference.iter().map(|(&i, o)| since(o.finished_us, i)));
        prop_assert!((latency - expected).abs() <= 2.0 + 0.03 * expected, "latency {latency} for {expected}");
        let preempted = events.iter().filter(|e| matches!(e, EngineEvent::Preempted { .. })).count() as f64;
        let expected: f64 = reference.values().map(|o| f64::from(o.preemptions)).sum();
        prop_assert!((preempted - expected).abs() <= 1.0 + 0.05 * expected, "{preempted} for {expected}");
    }

    #[test]
    fn how_often_it_is_read_or_advanced_changes_nothing(
        arrivals in arrivals(60, 60_000), blocks in 260_u32..900, instants in prop::collection::vec(0_u64..4_000_000, 0..80),
    ) {
        let limits = limits(32, 1024, blocks);
        let quiet = run(&COST, limits, &arrivals);
        let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
        let mut calls: Vec<(u64, Option<usize>)> = instants.into_iter().map(|at| (at, None)).collect();
        calls.extend(arrivals.iter().enumerate().map(|(i, a)| (a.at_us, Some(i))));
        calls.sort_by_key(|call| call.0);
        let mut before = replica.reading(Time::ZERO);
        for (at, submission) in calls {
            while let Some(due) = replica.next_due().filter(|due| due.0 <= at) {
                replica.advance(due, &mut out);
                replica.advance(due, &mut out);
            }
            replica.advance(Time(at), &mut out);
            let reading = replica.reading(Time(at));
            prop_assert!(reading.generation_tokens_total >= before.generation_tokens_total);
            prop_assert!(reading.busy_us_total >= before.busy_us_total);
            prop_assert!(reading.busy_us_total <= at);
            prop_assert!(reading.dram_us_total >= before.dram_us_total);
            prop_assert!(reading.dram_us_total <= reading.busy_us_total as f64 + 1.0);
            prop_assert!(reading.kv_used_blocks <= reading.kv_total_blocks);
            before = reading;
            if let Some(i) = submission {
                replica.submit(Time(at), Submission::whole(RequestId(i as u32), arrivals[i].prompt, arrivals[i].output), &mut out);
            }
        }
        run_out(&mut replica, &mut out);
        prop_assert_eq!(out, quiet);
    }

    #[test]
    fn after_aborts_the_rest_finishes_and_nothing_is_held(
        arrivals in arrivals(50, 60_000), blocks in 260_u32..900,
        aborts in prop::collection::vec((0_u64..4_000_000, 0_u32..50), 0..30),
    ) {
        let limits = limits(16, 1024, blocks);
        let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
        let mut calls: Vec<(u64, bool, u32)> = aborts.into_iter().map(|(at, req)| (at, true, req)).collect();
        calls.extend(arrivals.iter().enumerate().map(|(i, a)| (a.at_us, false, i as u32)));
        calls.sort_unstable();
        let mut gone = Vec::new();
        for (at, is_abort, req) in calls {
            if !is_abort {
                let a = arrivals[req as usize];
                replica.submit(Time(at), Submission::whole(RequestId(req), a.prompt, a.output), &mut out);
                continue;
            }
            if replica.abort(Time(at), RequestId(req), &mut out) {
                gone.push((req, out.len()));
            }
        }
        let end = run_out(&mut replica, &mut out);
        prop_assert!(replica.is_idle());
        prop_assert_eq!(replica.reading(end).kv_used_blocks, 0);
        for &(req, from) in &gone {
            prop_assert!(out[from..].iter().all(|e| e.req().0 != req), "silence after an abort");
        }
        let finished = out.iter().filter(|e| matches!(e, EngineEvent::Finished { .. })).count();
        prop_assert_eq!(finished + gone.len(), arrivals.len());
    }
}

#[test]
fn memory_pressure_does_preempt_in_these_workloads() {
    let arrivals: Vec<Arrival> = (0..40).map(|i| Arrival { at_us: i * 1000, prompt: 300, output: 300 }).collect();
    let events = run(&COST, limits(40, 2048, 400), &arrivals);
    assert!(events.iter().any(|e| matches!(e, EngineEvent::Preempted { .. })));
    let total = simulate(&COST, limits(40, 2048, 400), &arrivals);
    assert!(total.values().any(|o| o.preemptions > 0));
}

#[test]
fn a_burst_of_one_instant_shares_its_first_step() {
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits(64, 8192, 10_000)), Vec::new());
    for i in 0..4 {
        replica.submit(Time(500), Submission::whole(RequestId(i), 100, 2), &mut out);
    }
    assert_eq!(out, [], "the turn of an instant comes when the clock has passed it");
    assert_eq!(replica.next_due(), Some(Time(501)));
    run_out(&mut replica, &mut out);
    let firsts: Vec<Time> =
        out.iter().filter(|e| matches!(e, EngineEvent::FirstToken { .. })).map(EngineEvent::at).collect();
    assert_eq!(firsts.len(), 4);
    assert!(firsts.iter().all(|at| *at == firsts[0]));
    assert_eq!(out[0], EngineEvent::Admitted { req: RequestId(0), at: Time(500) });
}

#[test]
fn a_newcomer_joins_at_the_end_of_the_step_in_progress() {
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits(64, 8192, 10_000)), Vec::new());
    replica.submit(Time(0), Submission::whole(RequestId(0), 100, 1000), &mut out);
    replica.submit(Time(1_000_000), Submission::whole(RequestId(1), 100, 10), &mut out);
    run_out(&mut replica, &mut out);
    let admitted = out.iter().find(|e| matches!(e, EngineEvent::Admitted { req: RequestId(1), .. })).unwrap();
    let wait = admitted.at().0 - 1_000_000;
    assert!(wait < 8_000, "{wait} us, a step takes about 7 ms");
}

#[test]
fn a_full_house_does_not_cut_the_span() {
    let limits = limits(1, 8192, 10_000);
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
    replica.submit(Time(0), Submission::whole(RequestId(0), 100, 1000), &mut out);
    replica.advance(Time(100_000), &mut out);
    let due = replica.next_due();
    replica.submit(Time(200_000), Submission::whole(RequestId(1), 100, 1000), &mut out);
    assert_eq!(replica.next_due(), due);
    assert_eq!((replica.running(), replica.waiting()), (1, 1));
}

#[test]
fn requests_that_can_never_run_are_refused_with_numbers() {
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits(8, 2048, 101)), Vec::new());
    replica.submit(Time(5), Submission::whole(RequestId(0), 4000, 200), &mut out);
    replica.submit(Time(5), Submission::whole(RequestId(1), 0, 5), &mut out);
    replica.submit(Time(5), Submission::whole(RequestId(2), 1700, 5), &mut out);
    let reasons: Vec<RefuseReason> = out
        .iter()
        .filter_map(|e| match e {
            EngineEvent::Refused { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    let too_long = RefuseReason::ExceedsMaxModelLen { tokens: 4200, max_model_len: 4096 };
    let too_large = RefuseReason::ExceedsKvCache { blocks: 107, usable_blocks: 100 };
    assert_eq!(reasons, [too_long, RefuseReason::Empty, too_large]);
    assert!(replica.is_idle());
}

#[test]
fn a_killed_replica_loses_everything_and_can_start_over() {
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits(2, 2048, 1000)), Vec::new());
    for i in 0..3 {
        replica.submit(Time(0), Submission::whole(RequestId(i), 100, 1000), &mut out);
    }
    let lost = replica.abort_all(Time(1_000_000), &mut out);
    assert_eq!(lost, [RequestId(0), RequestId(1), RequestId(2)]);
    let reading = replica.reading(Time(1_000_000));
    assert_eq!((reading.running, reading.waiting, reading.kv_used_blocks, reading.busy), (0, 0, 0, false));
    assert_eq!(reading.busy_us_total, 1_000_000);
    assert!(reading.generation_tokens_total > 200 && reading.generation_tokens_total < 400);
    out.clear();
    replica.submit(Time(2_000_000), Submission::whole(RequestId(9), 10, 3), &mut out);
    run_out(&mut replica, &mut out);
    assert!(matches!(out.last(), Some(EngineEvent::Finished { req: RequestId(9), .. })));
}

#[test]
fn a_lone_request_keeps_the_gpu_busy_all_the_time() {
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits(64, 8192, 10_000)), Vec::new());
    replica.submit(Time(0), Submission::whole(RequestId(0), 100, 1000), &mut out);
    replica.advance(Time(1_000_001), &mut out);
    let (a, b) = (replica.reading(Time(1_000_001)), replica.reading(Time(2_000_001)));
    assert_eq!(b.busy_us_total - a.busy_us_total, 1_000_000);
    assert!((b.tensor_us_total - a.tensor_us_total) / 1e6 < 0.01, "and yet does next to nothing");
    let dram = (b.dram_us_total - a.dram_us_total) / 1e6;
    assert!(dram > 0.5 && dram < 0.9, "{dram}");
}

#[test]
fn turns_per_request_do_not_depend_on_its_length() {
    let turns = |output: u32| {
        let limits = EngineLimits { max_model_len: 100_000, ..limits(64, 8192, 100_000) };
        let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
        let mut turns = 0;
        for i in 0..300 {
            let at = Time(u64::from(i) * u64::from(output) * 2000);
            while let Some(due) = replica.next_due().filter(|due| *due <= at) {
                replica.advance(due, &mut out);
                turns += 1;
            }
            replica.submit(at, Submission::whole(RequestId(i), 200, output), &mut out);
        }
        f64::from(turns) / 300.0
    };
    let (short, long) = (turns(40), turns(4000));
    assert!(short < 3.0 && long < 3.0, "{short} {long}");
}

#[test]
fn rising_load_never_shortens_the_wait() {
    let mut last = 0.0;
    for gap_us in [400_000, 100_000, 25_000, 6_000] {
        let arrivals: Vec<Arrival> =
            (0..400).map(|i| Arrival { at_us: i * gap_us, prompt: 512, output: 128 }).collect();
        let events = run(&COST, limits(64, 8192, 4_000), &arrivals);
        let latency = mean(timings(&events, &arrivals).into_iter().map(|t| t.1));
        assert!(latency >= last, "{latency} after {last}");
        last = latency;
    }
}

#[test]
fn encoding_is_the_same_for_equal_histories() {
    let make = || {
        let (mut replica, mut out) = (Replica::new(COST.clone(), limits(8, 1024, 300)), Vec::new());
        for i in 0..20 {
            replica.submit(Time(u64::from(i) * 7000), Submission::whole(RequestId(i), 200 + i, 90), &mut out);
        }
        replica
    };
    let bytes = postcard::to_allocvec(&make()).unwrap();
    assert_eq!(bytes, postcard::to_allocvec(&make()).unwrap());
    let mut other = make();
    other.abort_all(Time(200_000), &mut Vec::new());
    assert_ne!(bytes, postcard::to_allocvec(&other).unwrap());
}
