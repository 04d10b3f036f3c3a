//! The metric path over the real world: what appears, what ends, and when.

use super::World;
use crate::sim::command::Command;
use crate::sim::id::{GroupId, PodId, ServiceId};
use crate::sim::metrics::Signal;
use crate::sim::metrics::scrape::{Answer, SeriesKey};
use crate::sim::param::Param;
use crate::sim::setup::{Setup, Share};
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use std::sync::Arc;

const CHAT: ServiceId = ServiceId(0);

fn setup() -> Setup {
    crate::scenario::library("lying-signal").unwrap().unwrap().setup
}

fn world(setup: Setup) -> World {
    World::new(Arc::new(setup)).unwrap()
}

fn run(world: &mut World, secs: u64) {
    assert!(world.advance(Time::from_secs(secs), usize::MAX).reached);
}

fn set(world: &mut World, param: Param, value: i64) {
    world.apply(&Command::Set { param, value }).unwrap();
}

fn leader(world: &World, group: GroupId) -> PodId {
    world.group(group).pods[0]
}

fn ask(world: &World, pod: PodId, signal: Signal) -> Answer {
    world.meter.path.query(world.now, SeriesKey { service: CHAT, signal, pod: Some(pod) })
}

#[test]
fn after_a_minute_every_signal_of_a_running_replica_has_a_sensible_value() {
    let mut w = world(setup());
    run(&mut w, 150);
    let pod = leader(&w, w.service(CHAT).groups[0]);
    let spec = w.engine_spec(w.service(CHAT).groups[0]).unwrap().0;
    for signal in Signal::ALL {
        let answer = match signal.exporter() {
            crate::sim::metrics::signal::Exporter::Service => w.meter.path.query_service(w.now, CHAT, signal),
            _ => ask(&w, pod, signal).sample(),
        };
        let value = answer.unwrap_or_else(|| panic!("{signal:?} has no sample")).value;
        let (low, high) = match signal {
            Signal::GpuUtilization | Signal::GpuMemory => (1.0, 100.0),
            Signal::SmActive | Signal::TensorActive | Signal::DramActive => (0.001, 1.0),
            Signal::FbUsed => (10_000.0, spec.gpu.usable_gib * 1024.0),
            Signal::PowerUsage => (0.15 * f64::from(spec.gpu.tdp_w), f64::from(spec.gpu.tdp_w)),
            Signal::RunningRequests => (1.0, 256.0),
            Signal::QueueDepth | Signal::PreemptionsPerSecond => (0.0, 1000.0),
            Signal::KvCacheUsage => (0.001, 1.0),
            Signal::PromptTokensPerSecond | Signal::TokensPerSecond => (1.0, 1e5),
            Signal::CompletionsPerSecond | Signal::Goodput => (0.001, 100.0),
            Signal::TtftP95 | Signal::TtftP99 => (0.01, 40.0),
            Signal::TpotP95 => (0.005, 0.5),
        };
        assert!((low..=high).contains(&value), "{signal:?}: {value}");
    }
}

#[test]
fn a_replica_that_goes_away_ends_its_series_at_the_next_scrape() {
    let mut w = world(setup());
    run(&mut w, 150);
    let group = w.service(CHAT).groups[0];
    let pod = leader(&w, group);
    set(&mut w, Param::Scaler, 1);
    w.apply(&Command::DeleteGroup { group }).unwrap();
    while w.group(group).stage != GroupStage::Gone {
        let next = w.now.0 / 1_000_000 + 1;
        run(&mut w, next);
    }
    let gone = w.now.0 / 1_000_000;
    run(&mut w, gone + 15);
    for signal in [Signal::QueueDepth, Signal::GpuUtilization, Signal::FbUsed] {
        assert!(matches!(ask(&w, pod, signal), Answer::Stale { .. }), "{signal:?}: {:?}", ask(&w, pod, signal));
    }
    assert!(w.meter.path.query_pods(w.now, CHAT, Signal::QueueDepth).iter().all(|(p, _)| *p != pod));
    run(&mut w, gone + 400);
    assert_eq!(ask(&w, pod, Signal::QueueDepth), Answer::Missing, "forgotten after the look-back");
}

#[test]
fn a_new_replica_is_missing_until_it_has_been_scraped() {
    let mut w = world(setup());
    run(&mut w, 100);
    set(&mut w, Param::Scaler, 1);
    let more = w.policy.get(Param::ManualReplicas) + 1;
    set(&mut w, Param::ManualReplicas, more);
    let group = *w.service(CHAT).groups.last().unwrap();
    let pod = leader(&w, group);
    while !w.group(group).routable() {
        assert_eq!(ask(&w, pod, Signal::QueueDepth), Answer::Missing);
        let next = Time(w.now.0 + 100_000);
        assert!(w.advance(next, usize::MAX).reached && next < Time::from_secs(1_500));
    }
    let missing = |w: &World| ask(w, pod, Signal::QueueDepth) == Answer::Missing;
    let up = w.now;
    assert!(missing(&w), "its engine is up, and nobody has asked it yet");
    while missing(&w) {
        w.advance(Time(w.now.0 + 100_000), usize::MAX);
    }
    assert!(w.now.since(up) <= Span::from_secs(15));
    // One sample makes no rate.
    assert_eq!(ask(&w, pod, Signal::TokensPerSecond), Answer::Missing);
}

#[test]
fn the_scrape_and_collection_intervals_hold_from_the_moment_they_are_set() {
    let seen = |w: &World| {
        let pod = leader(w, w.service(CHAT).groups[0]);
        let of = |signal| ask(w, pod, signal).sample().unwrap();
        (of(Signal::QueueDepth).scraped_at, of(Signal::GpuUtilization).measured_at)
    };
    let mut w = world(setup());
    run(&mut w, 100);
    // From slow to fast: no waiting for the end of the long interval.
    set(&mut w, Param::Scrape, 300);
    run(&mut w, 500);
    set(&mut w, Param::Scrape, 1);
    set(&mut w, Param::DcgmCollect, 1);
    let mut times = Vec::new();
    for second in 503..510 {
        run(&mut w, second);
        times.push(seen(&w));
    }
    assert!(times.windows(2).all(|t| t[1].0.since(t[0].0) == Span::from_secs(1)), "{times:?}");
    assert!(times.windows(2).all(|t| t[1].1.since(t[0].1) == Span::from_secs(1)), "{times:?}");
    // And back: exactly one clock each goes on.
    set(&mut w, Param::Scrape, 30);
    set(&mut w, Param::DcgmCollect, 60);
    run(&mut w, 700);
    let scraped: Vec<Time> = (700..820).map(|s| (run(&mut w, s), seen(&w).0).1).collect();
    let mut distinct = scraped.clone();
    distinct.dedup();
    assert!(distinct.windows(2).all(|t| t[1].since(t[0]) == Span::from_secs(30)), "{distinct:?}");
}

#[test]
fn on_mig_instances_gpu_utilization_does_not_exist() {
    let mut s = setup();
    let profile = crate::sim::catalog::gpu("a100-sxm-80gb").unwrap().mig.first().unwrap();
    s.services[0].share = Some(Share::Mig(profile));
    // Only what DCGM exports is asked here, not where the replicas fit.
    let w = world(s);
    let group = w.service(CHAT).groups[0];
    assert!(!w.dcgm_exports(group, Signal::GpuUtilization));
    assert!(w.dcgm_exports(group, Signal::SmActive));
}
