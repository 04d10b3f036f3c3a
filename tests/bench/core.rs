//! Speed of the core, natively: whole runs (simulated requests a second), the state hash, a
//! checkpoint, a frame's snapshot, arrivals, and reading a trace.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use seven_of_eight::scenario;
use seven_of_eight::sim::time::{Span, Time};
use seven_of_eight::sim::traffic::{Pattern, Source, TraceReader, TrafficSettings};
use seven_of_eight::sim::world::World;
use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;

fn world(id: &str) -> World {
    let scenario = scenario::library(id).expect("in the library").expect("readable");
    World::new(Arc::new(scenario.setup)).expect("starts")
}

/// Ten simulated minutes of each scenario; throughput in client requests.
fn runs(c: &mut Criterion) {
    let mut group = c.benchmark_group("run-10-min");
    let until = Time::from_secs(600);
    for (id, _) in scenario::LIBRARY {
        let mut probe = world(id);
        probe.advance(until, usize::MAX);
        group.throughput(Throughput::Elements(probe.snapshot().requests.offered));
        group.sample_size(20);
        group.bench_function(*id, |b| {
            b.iter_batched_ref(
                || world(id),
                |w| {
                    w.advance(until, usize::MAX);
                    black_box(w.now())
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn readings(c: &mut Criterion) {
    let mut w = world("seven-of-eight");
    w.advance(Time::from_secs(600), usize::MAX);
    c.bench_function("snapshot", |b| b.iter(|| black_box(w.snapshot())));
    c.bench_function("state-hash", |b| b.iter(|| black_box(w.state_hash())));
    c.bench_function("checkpoint", |b| b.iter(|| black_box(w.clone())));
}

/// What an arrival costs, as the world asks: when, then what.
fn arrivals(c: &mut Criterion) {
    let mut group = c.benchmark_group("arrival");
    group.throughput(Throughput::Elements(1));
    for (name, pattern) in [
        ("poisson", Pattern::Poisson { per_second: 5000.0 }),
        ("gamma-burst", Pattern::GammaBurst { per_second: 5000.0, cv: 13.0 }),
    ] {
        let settings = TrafficSettings { pattern, ..TrafficSettings::default() };
        let mut source = Source::new(&settings, 7, "bench", Span::ZERO, None).expect("in range");
        group.bench_function(name, |b| {
            b.iter(|| {
                black_box(source.next_time());
                black_box(source.next())
            });
        });
    }
    group.finish();
}

/// Reading a trace in pieces, as a dropped file is.
fn traces(c: &mut Criterion) {
    const ROWS: u64 = 100_000;
    let mut azure = String::from("TIMESTAMP,ContextTokens,GeneratedTokens\r\n");
    for i in 0..ROWS {
        let (h, m, s, us) = (i / 360_000, i / 6_000 % 60, i / 100 % 60, i % 100 * 10_000);
        let _ = write!(azure, "2023-11-16 {h:02}:{m:02}:{s:02}.{us:06}0,{},{}\r\n", 100 + i * 7 % 4_000, 1 + i % 600);
    }
    let mut group = c.benchmark_group("trace");
    group.throughput(Throughput::Elements(ROWS)).sample_size(20);
    group.bench_function("azure", |b| {
        b.iter(|| {
            let mut reader = TraceReader::new();
            for piece in azure.as_bytes().chunks(512 * 1024) {
                black_box(reader.push(piece));
            }
            reader.finish().expect("rows")
        });
    });
    group.finish();
}

criterion_group!(benches, runs, readings, arrivals, traces);
criterion_main!(benches);
