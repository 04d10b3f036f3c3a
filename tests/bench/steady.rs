//! Speed and memory over long runs, natively: the cost of a request from ten thousand to ten
//! million, and a day on 128 nodes. The browser's side of it is `tests/browser`, `speed`.

mod fleet;

use fleet::{DAY, Fleet, STEADY};
use seven_of_eight::scenario;
use seven_of_eight::sim::time::{Span, Time};
use seven_of_eight::sim::world::World;
use std::sync::Arc;
use std::time::Instant;

fn world(fleet: &Fleet) -> World {
    let scenario = scenario::read(&fleet.yaml(), &[]).expect("readable");
    World::new(Arc::new(scenario.setup)).expect("starts")
}

/// Resident memory of this process in MB; nothing where the system does not tell.
fn resident_mb() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: f64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096.0 / 1e6)
}

#[allow(clippy::disallowed_methods, reason = "a bench looks at the wall clock")]
fn main() {
    // `cargo test` runs benches too, and asks for nothing to be measured.
    if !std::env::args().any(|a| a == "--bench") {
        return;
    }
    println!("steady: 100 replicas, 400 requests a second");
    println!("{:>12} {:>9} {:>12} {:>10} {:>12}", "requests", "seconds", "ns/request", "ratio", "resident MB");
    let mut first = None;
    let mut run = world(&STEADY);
    run.advance(Time::from_secs(60), usize::MAX);
    for requests in [10_000u64, 100_000, 1_000_000, 10_000_000] {
        let from = run.snapshot().requests.offered;
        let begun = Instant::now();
        let until = run.now() + Span::from_secs_f64(requests as f64 / f64::from(STEADY.per_second));
        run.advance(until, usize::MAX);
        let seconds = begun.elapsed().as_secs_f64();
        let done = run.snapshot().requests.offered - from;
        let each = seconds * 1e9 / done.max(1) as f64;
        let ratio = each / *first.get_or_insert(each);
        let memory = resident_mb().map_or("-".to_owned(), |mb| format!("{mb:.1}"));
        println!("{done:>12} {seconds:>9.2} {each:>12.0} {ratio:>10.2} {memory:>12}");
    }
    let begun = Instant::now();
    let mut day = world(&DAY);
    day.advance(day.end(), usize::MAX);
    let (seconds, done) = (begun.elapsed().as_secs_f64(), day.snapshot().requests.offered);
    println!(
        "day: 128 nodes, 24 h, {done} requests in {seconds:.1} s, {:.2} million a second",
        done as f64 / seconds / 1e6
    );
}
