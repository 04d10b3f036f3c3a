//! Speed of the core, natively: whole runs (simulated requests a second), the state hash, a
//! checkpoint and a frame's snapshot.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use seven_of_eight::scenario;
use seven_of_eight::sim::time::Time;
use seven_of_eight::sim::world::World;
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

criterion_group!(benches, runs, readings);
criterion_main!(benches);
