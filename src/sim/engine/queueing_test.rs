//! Replicas with artificial step times are textbook queues: the formulas must come out.

use super::event::EngineEvent;
use super::memory::EngineLimits;
use super::queueing::{erlang_b, mmc_wait};
use super::reference_test::{COST, limits};
use super::replica::Replica;
use super::step::StepCost;
use super::submission::Submission;
use crate::sim::id::RequestId;
use crate::sim::rng::Stream;
use crate::sim::time::Time;

const STEP_US: f64 = 100.0;
const SERVICE_US: f64 = 1e6;

struct Queue {
    servers: u32,
    load: f64,
    constant_service: bool,
    /// Whoever finds no free seat is turned away by the gateway.
    loss: bool,
}

#[derive(Default)]
struct Measured {
    offered: f64,
    lost: f64,
    admitted: f64,
    wait_us: f64,
    /// Load that was drawn, per server.
    load: f64,
}

/// One server per seat; a request's output length is its service.
fn measure(queue: &Queue, seed: u64, requests: u32) -> Measured {
    let limits = EngineLimits {
        max_num_seqs: queue.servers,
        max_num_batched_tokens: 1_000_000,
        max_model_len: u32::MAX,
        kv_blocks: u32::MAX,
    };
    let mut replica = Replica::new(StepCost::synthetic(STEP_US, 0.0, 0.0, queue.servers), limits);
    let (mut gaps, mut services) = (Stream::new(seed, "gaps"), Stream::new(seed, "services"));
    let (mut now_us, mut asked_us) = (0.0, 0.0);
    let mut submitted = Vec::new();
    let (mut measured, mut out) = (Measured::default(), Vec::new());
    let book = |out: &mut Vec<EngineEvent>, submitted: &[Time], measured: &mut Measured| {
        for event in out.drain(..) {
            if let EngineEvent::Admitted { req, at } = event {
                measured.admitted += 1.0;
                measured.wait_us += at.since(submitted[req.index()]).0 as f64;
            }
        }
    };
    for i in 0..requests {
        now_us += gaps.exponential(SERVICE_US / queue.load / f64::from(queue.servers));
        let service_us = if queue.constant_service { SERVICE_US } else { services.exponential(SERVICE_US) };
        asked_us += service_us;
        let now = Time(now_us as u64);
        submitted.push(now);
        measured.offered += 1.0;
        replica.advance(now, &mut out);
        if queue.loss && replica.running() + replica.waiting() >= queue.servers {
            measured.lost += 1.0;
        } else {
            let tokens = (service_us / STEP_US).round().max(1.0) as u32;
            replica.submit(now, Submission::whole(RequestId(i), 1, tokens), &mut out);
        }
        book(&mut out, &submitted, &mut measured);
    }
    while let Some(due) = replica.next_due() {
        replica.advance(due, &mut out);
        book(&mut out, &submitted, &mut measured);
    }
    measured.load = asked_us / now_us / f64::from(queue.servers);
    measured
}

/// Mean over runs, with the load that each happened to draw as control variate: most of the scatter
/// of a busy queue is the scatter of its load.
fn mean(queue: &Queue, value: fn(&Measured) -> f64) -> f64 {
    let runs: Vec<Measured> = (1..=40).map(|seed| measure(queue, seed, 5_000)).collect();
    let n = runs.len() as f64;
    let mean = |of: &dyn Fn(&Measured) -> f64| runs.iter().map(of).sum::<f64>() / n;
    let (value_mean, load_mean) = (mean(&value), mean(&|m| m.load));
    let covariance = mean(&|m| (value(m) - value_mean) * (m.load - load_mean));
    let variance = mean(&|m| (m.load - load_mean) * (m.load - load_mean));
    value_mean - covariance / variance * (load_mean - queue.load)
}

fn close(what: &str, got: f64, want: f64, tolerance: f64) {
    println!("{what}: {got} for {want} ({:+.1} %)", (got / want - 1.0) * 100.0);
    assert!((got / want - 1.0).abs() < tolerance, "{what}: {got} for {want}");
}

#[test]
fn waits_are_those_of_the_formulas() {
    let wait_s = |m: &Measured| m.wait_us / m.admitted / 1e6;
    let queue = |servers, load, constant_service| Queue { servers, load, constant_service, loss: false };
    close("M/M/1", mean(&queue(1, 0.7, false), wait_s), mmc_wait(1, 0.7, 1.0), 0.03);
    close("M/D/1", mean(&queue(1, 0.7, true), wait_s), mmc_wait(1, 0.7, 1.0) / 2.0, 0.03);
    close("M/M/4", mean(&queue(4, 0.8, false), wait_s), mmc_wait(4, 3.2, 1.0), 0.03);
}

#[test]
fn a_full_house_turns_away_what_erlang_says() {
    let lost = |m: &Measured| m.lost / m.offered;
    for (servers, load, constant_service) in [(1, 0.6, false), (4, 0.8, false), (4, 0.8, true), (8, 1.2, false)] {
        let queue = Queue { servers, load, constant_service, loss: true };
        let want = erlang_b(servers, load * f64::from(servers));
        close(&format!("loss of {servers} servers at {load}"), mean(&queue, lost), want, 0.02);
    }
}

/// Little's law for queue, running and whole of a real step-time model: mean numbers, read every
/// 50 ms, against arrival rate times mean times, from the events.
#[test]
fn little_s_law_holds_for_queue_running_and_whole() {
    let limits = limits(24, 2048, 20_000);
    let (mut replica, mut out) = (Replica::new(COST.clone(), limits), Vec::new());
    let mut stream = Stream::new(3, "little");
    let requests = 20_000;
    let (mut now_us, mut next_read_us) = (0.0, 0);
    let (mut reads, mut waiting, mut running) = (0.0, 0.0, 0.0);
    let mut read = |replica: &Replica, at: Time| {
        let reading = replica.reading(at);
        reads += 1.0;
        waiting += f64::from(reading.waiting);
        running += f64::from(reading.running);
    };
    let mut read_until = |replica: &mut Replica, until: u64, out: &mut Vec<EngineEvent>| {
        while next_read_us < until {
            replica.advance(Time(next_read_us), out);
            read(replica, Time(next_read_us));
            next_read_us += 50_000;
        }
    };
    for i in 0..requests {
        now_us += stream.exponential(95_000.0);
        let now = Time(now_us as u64);
        let (prompt, output) = (1 + (stream.uniform() * 1200.0) as u32, 1 + (stream.uniform() * 400.0) as u32);
        read_until(&mut replica, now.0, &mut out);
        replica.submit(now, Submission::whole(RequestId(i), prompt, output), &mut out);
    }
    while let Some(due) = replica.next_due() {
        read_until(&mut replica, due.0, &mut out);
        replica.advance(due, &mut out);
    }
    let window_us = next_read_us as f64;
    let mut admitted_at = vec![Time::ZERO; requests as usize];
    let (mut queued_us, mut ran_us) = (0.0, 0.0);
    for event in &out {
        match *event {
            EngineEvent::Admitted { req, at } => admitted_at[req.index()] = at,
            EngineEvent::Finished { req, at, submitted_at, .. } => {
                queued_us += admitted_at[req.index()].since(submitted_at).0 as f64;
                ran_us += at.since(admitted_at[req.index()]).0 as f64;
            }
            _ => {}
        }
    }
    assert!(waiting / reads > 0.5, "{} waiting is no queue to speak of", waiting / reads);
    close("waiting", waiting / reads, queued_us / window_us, 0.01);
    close("running", running / reads, ran_us / window_us, 0.01);
    close("both", (waiting + running) / reads, (queued_us + ran_us) / window_us, 0.01);
}
