//! Speed of the engine alone: nanoseconds per request through a fleet of replicas, without the
//! world's queue, gateway and meters around it.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use seven_of_eight::sim::catalog;
use seven_of_eight::sim::engine::memory::EngineLimits;
use seven_of_eight::sim::engine::{EngineEvent, EngineSpec, Replica, Scheduling, StepCosts, Submission, Work};
use seven_of_eight::sim::id::RequestId;
use seven_of_eight::sim::rng::Stream;
use seven_of_eight::sim::time::Time;
use std::hint::black_box;

const REPLICAS: usize = 100;

struct Load {
    /// Mean time between two arrivals at one replica.
    gap_us: f64,
    prompt: f64,
    output: f64,
    kv_blocks: u32,
    work: Work,
    scheduling: Scheduling,
}

/// 8B on one H100, seven to eight requests running on each replica.
const LIGHT: Load = Load {
    gap_us: 180_000.0,
    prompt: 500.0,
    output: 170.0,
    kv_blocks: 28_000,
    work: Work::Whole,
    scheduling: Scheduling::Fcfs,
};

/// One draw of the load.
struct Draw {
    gap_us: u64,
    prompt: u32,
    output: u32,
    priority: i32,
}

/// Replicas that get requests in turn, each in its own time.
struct Fleet {
    replicas: Vec<(Replica, Time)>,
    draws: Vec<Draw>,
    work: Work,
    next: usize,
    events: Vec<EngineEvent>,
    turns: u64,
    running: u64,
}

impl Fleet {
    fn new(load: &Load) -> Fleet {
        let spec =
            EngineSpec::new(catalog::model("llama-3.1-8b").expect("model"), catalog::gpu("h100-sxm").expect("GPU"), 1);
        let limits = EngineLimits {
            max_num_seqs: 1024,
            max_num_batched_tokens: 8192,
            max_model_len: 8192,
            kv_blocks: load.kv_blocks,
        };
        let cost = StepCosts::default().get(&spec, &limits).expect("runs");
        let mut stream = Stream::new(7, "engine-bench");
        let mut around = |mean: f64| (mean * (0.25 + 1.5 * stream.uniform())) as u32;
        let mut lengths: Vec<(u32, u32)> =
            (0..1 << 14).map(|_| (around(load.prompt).max(1), around(load.output).max(1))).collect();
        let draws = lengths
            .drain(..)
            .map(|(prompt, output)| Draw {
                gap_us: stream.exponential(load.gap_us) as u64,
                prompt,
                output,
                priority: (stream.uniform() * 3.0) as i32,
            })
            .collect();
        let mut events = Vec::new();
        let mut replica = Replica::new(cost, limits);
        replica.set_scheduling(Time::ZERO, load.scheduling, &mut events);
        let mut fleet = Fleet {
            replicas: vec![(replica, Time::ZERO); REPLICAS],
            draws,
            work: load.work,
            next: 0,
            events,
            turns: 0,
            running: 0,
        };
        for _ in 0..REPLICAS * 300 {
            fleet.request();
        }
        (fleet.turns, fleet.running) = (0, 0);
        let from = fleet.next;
        for _ in 0..REPLICAS * 100 {
            fleet.request();
        }
        let n = (fleet.next - from) as f64;
        println!("{:.1} running, {:.2} turns per request", fleet.running as f64 / n, fleet.turns as f64 / n);
        fleet
    }

    /// The next request: its replica's turns that are due, as the world's queue would call them,
    /// then the submission.
    fn request(&mut self) {
        let index = self.next;
        self.next += 1;
        let draw = &self.draws[index * 7 % self.draws.len()];
        let (replica, clock) = &mut self.replicas[index % REPLICAS];
        clock.0 += draw.gap_us;
        while let Some(due) = replica.next_due().filter(|due| due <= clock) {
            replica.advance(due, &mut self.events);
            self.turns += 1;
            for event in self.events.drain(..) {
                black_box(&event);
            }
        }
        let submission = Submission {
            req: RequestId(index as u32),
            prompt_tokens: draw.prompt,
            output_tokens: draw.output,
            priority: draw.priority,
            work: self.work,
        };
        replica.submit(*clock, submission, &mut self.events);
        self.running += u64::from(replica.running());
    }
}

fn requests(c: &mut Criterion) {
    let loads = [
        ("whole", LIGHT),
        ("priority", Load { scheduling: Scheduling::Priority, ..LIGHT }),
        ("decode-only", Load { work: Work::DecodeOnly, ..LIGHT }),
        ("sixty-running", Load { gap_us: 30_000.0, ..LIGHT }),
        ("preempting", Load { gap_us: 60_000.0, kv_blocks: 700, ..LIGHT }),
    ];
    let mut group = c.benchmark_group("engine");
    group.throughput(Throughput::Elements(1));
    for (name, load) in loads {
        let mut fleet = Fleet::new(&load);
        group.bench_function(name, |b| b.iter(|| fleet.request()));
    }
    group.finish();
}

criterion_group!(benches, requests);
criterion_main!(benches);
