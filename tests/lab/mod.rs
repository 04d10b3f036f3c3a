//! Opens library scenarios for the claims tests.

#![allow(dead_code, reason = "each file of claims takes what it needs")]

use seven_of_eight::scenario;
use seven_of_eight::session::Run;
use seven_of_eight::sim::snapshot::{RequestTotals, ServiceView, Snapshot};
use seven_of_eight::sim::time::{Span, Time};
use std::sync::Arc;

pub const SEEDS: std::ops::Range<u64> = 0..20;

pub fn start(id: &str, seed: u64, set: &[(&str, &str)]) -> Run {
    let set: Vec<(String, String)> = set.iter().map(|(p, v)| ((*p).to_owned(), (*v).to_owned())).collect();
    let text = scenario::library_text(id).expect("in the library");
    let mut scenario = scenario::read(text, &set).expect("readable");
    scenario.setup.seed = seed;
    Run::new(Arc::new(scenario.setup), Vec::new()).expect("starts")
}

/// Runs to `until` and looks every minute.
pub fn watch(run: &mut Run, until: Time, mut look: impl FnMut(&Snapshot)) {
    let mut at = run.world().now();
    while at < until {
        at += Span::from_mins(1);
        run.advance(at, usize::MAX);
        look(&run.world().snapshot());
    }
    assert_eq!(run.world().check_invariants(), Ok(()));
}

/// Runs to the end.
pub fn finish(id: &str, seed: u64, set: &[(&str, &str)]) -> Snapshot {
    let mut run = start(id, seed, set);
    let end = run.end();
    run.advance(end, usize::MAX);
    assert_eq!(run.world().check_invariants(), Ok(()));
    run.world().snapshot()
}

pub fn service<'a>(s: &'a Snapshot, name: &str) -> &'a ServiceView {
    s.services.iter().find(|v| v.name == name).expect("the service")
}

/// Share of the offered requests that met their targets.
pub fn met(r: &RequestTotals) -> f64 {
    r.met as f64 / r.offered.max(1) as f64
}
