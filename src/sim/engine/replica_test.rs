//! One replica, call by call.

use super::event::{EngineEvent, RefuseReason};
use super::memory::EngineLimits;
use super::reference_test::{COST, limits, run_out};
use super::replica::Replica;
use super::submission::Submission;
use crate::sim::id::RequestId;
use crate::sim::time::Time;

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
