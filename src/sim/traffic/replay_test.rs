//! Recorded traces as traffic: speed, repetition, spreading, cutting, and drawing lengths from rows.

use super::trace::{Row, Trace};
use super::*;
use crate::sim::time::{Span, Time};
use crate::yaml;
use std::sync::Arc;

fn trace(rows: &[(u64, u32, u32)]) -> Arc<Trace> {
    let row = |&(offset_us, prompt_tokens, output_tokens)| Row { offset_us, prompt_tokens, output_tokens };
    Arc::new(Trace::from_rows(rows.iter().map(row).collect()))
}

fn source(text: &str, seed: u64, trace: &Arc<Trace>) -> Result<Source, Vec<TrafficProblem>> {
    let settings: TrafficSettings = yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    Source::new(&settings, seed, "chat", Span::ZERO, Some(trace.clone()))
}

fn play(text: &str, trace: &Arc<Trace>, n: usize) -> Vec<(u64, u32, u32)> {
    let source = source(text, 7, trace).unwrap();
    source.take(n).map(|a| (a.at.0, a.prompt_tokens, a.output_tokens)).collect()
}

/// Nine requests each on stamps three seconds apart.
fn gridded() -> Arc<Trace> {
    let rows: Vec<_> = (0..900).map(|i| (i / 9 * 3_000_000, 10 + i as u32, 1)).collect();
    trace(&rows)
}

const SPREAD: &str = "pattern: {trace: {name: t, spread: 3s}}";

#[test]
fn equal_stamps_are_spread_over_the_time_to_the_next() {
    let recorded = gridded();
    let played = play(SPREAD, &recorded, usize::MAX);
    assert_eq!(played.len(), 900);
    assert!(played.windows(2).all(|w| w[0].0 <= w[1].0));
    for (i, (at, prompt, _)) in played.iter().enumerate() {
        let batch = i as u64 / 9;
        assert!((batch * 3_000_000..(batch + 1) * 3_000_000).contains(at), "{i}: {at}");
        assert_eq!(*prompt, 10 + i as u32);
    }
    // Independent times: the gaps' coefficient of variation is near 1, as written it is 2.8.
    let cv = |times: Vec<u64>| {
        let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        (gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64).sqrt() / mean
    };
    let spread = cv(played.iter().map(|p| p.0).collect());
    assert!((0.85..1.15).contains(&spread), "{spread}");
    let written = play("pattern: {trace: {name: t}}", &recorded, usize::MAX);
    assert!(cv(written.iter().map(|p| p.0).collect()) > 2.7);
}

#[test]
fn spreading_is_alike_for_every_seed_and_lap_and_leaves_single_rows_alone() {
    let recorded = trace(&[(0, 1, 1), (0, 2, 1), (500_000, 3, 1), (9_000_000, 4, 1), (9_000_000, 5, 1)]);
    let text = "pattern: {trace: {name: t, spread: 3s, repeat: true}}";
    let times = |seed| -> Vec<u64> { source(text, seed, &recorded).unwrap().take(15).map(|a| a.at.0).collect() };
    let (a, b) = (times(1), times(2));
    assert_eq!(a, b);
    assert!(a[1] < 500_000 && a[2] == 500_000, "{a:?}");
    assert!(a[3] >= 9_000_000 && a[4] < recorded.lap_us(), "{a:?}");
    for i in 0..10 {
        assert_eq!(a[i + 5], a[i] + recorded.lap_us());
    }
    assert!(a.windows(2).all(|w| w[0] <= w[1]));
    // A long gap after a stamp does not stretch the batch beyond the grid.
    let gap = trace(&[(0, 1, 1), (0, 2, 1), (0, 3, 1), (600_000_000, 4, 1)]);
    assert!(play(SPREAD, &gap, 3).iter().all(|p| p.0 < 3_000_000));
}

#[test]
fn speed_scales_spread_times_too() {
    let recorded = gridded();
    let slow = play(SPREAD, &recorded, usize::MAX);
    let fast = play("pattern: {trace: {name: t, spread: 3s, speed: 2}}", &recorded, usize::MAX);
    for (s, f) in slow.iter().zip(&fast) {
        assert!(s.0.abs_diff(f.0 * 2) <= 1 && s.1 == f.1, "{s:?} {f:?}");
    }
}

#[test]
fn a_repeated_trace_keeps_its_mean_rate() {
    let recorded = trace(&[(0, 1, 1), (1_000_000, 2, 1), (2_000_000, 3, 1), (3_000_000, 4, 1)]);
    let played = play("pattern: {trace: {name: t, repeat: true, speed: 4}}", &recorded, 400);
    assert_eq!(played[399].0, 99_750_000);
    assert_eq!(played[4..8].iter().map(|p| p.1).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_trace_without_a_length_does_not_flood() {
    let one = trace(&[(0, 5, 5)]);
    assert_eq!(
        play("pattern: {trace: {name: t, repeat: true}}", &one, 3),
        [(0, 5, 5), (1_000_000, 5, 5), (2_000_000, 5, 5)]
    );
    let dense = trace(&[(0, 1, 1), (1, 1, 1)]);
    let problems = source("pattern: {trace: {name: t, repeat: true}}", 1, &dense).unwrap_err();
    assert_eq!(problems[0].path, "pattern.trace.speed");
    assert!(problems[0].message.contains("at most 100000"), "{}", problems[0].message);
}

#[test]
fn a_cut_takes_from_the_prompt_first() {
    let recorded = trace(&[(0, 50, 50), (1, 90, 20), (2, 10, 500), (3, 0, 0), (4, 4_000_000, 9)]);
    let played = play("pattern: {trace: {name: t, cut_to: 100, speed: 0.001}}", &recorded, 9);
    let lengths: Vec<_> = played.iter().map(|p| (p.1, p.2)).collect();
    assert_eq!(lengths, [(50, 50), (80, 20), (1, 99), (1, 1), (91, 9)]);
    assert!(source("pattern: {trace: {name: t, cut_to: 1}}", 1, &recorded).is_err());
}

#[test]
fn lengths_can_be_drawn_from_rows_and_keep_together() {
    let recorded = trace(&[(0, 100, 1), (5, 200, 2), (9, 300, 3), (9, 4_000, 40)]);
    let text = "pattern: {poisson: {per_second: 50}}\nlengths_of: {name: t, cut_to: 3000}";
    let drawn: Vec<Arrival> = source(text, 7, &recorded).unwrap().take(4_000).collect();
    let plain: Vec<Arrival> =
        Source::new(&yaml::from_str("pattern: {poisson: {per_second: 50}}").unwrap(), 7, "chat", Span::ZERO, None)
            .unwrap()
            .take(4_000)
            .collect();
    assert!(drawn.iter().map(|a| a.at).eq(plain.iter().map(|a| a.at)), "the pattern's times stay");
    for a in &drawn {
        let uncut = a.prompt_tokens == a.output_tokens * 100;
        assert!(uncut || (a.prompt_tokens, a.output_tokens) == (2_960, 40), "{a:?}");
    }
    let share = drawn.iter().filter(|a| a.output_tokens == 40).count();
    assert!((900..1100).contains(&share), "{share} of 4000");

    let missing: TrafficSettings =
        yaml::from_str("pattern: {poisson: {per_second: 5}}\nlengths_of: {name: t}").unwrap();
    let problems = Source::new(&missing, 7, "chat", Span::ZERO, None).unwrap_err();
    assert_eq!(problems[0].to_string(), "lengths_of.name: the trace `t` is not loaded");
}

#[test]
fn a_played_trace_is_fixed_to_the_bit() {
    use crate::sim::rng::{fnv1a64, fnv1a64_on};
    let played = play("pattern: {trace: {name: t, spread: 3s, repeat: true, speed: 1.5}}", &gridded(), 3_000);
    let hash = played.iter().fold(fnv1a64(b""), |hash, (at, prompt, output)| {
        let hash = fnv1a64_on(hash, &at.to_le_bytes());
        fnv1a64_on(fnv1a64_on(hash, &prompt.to_le_bytes()), &output.to_le_bytes())
    });
    assert_eq!(format!("{hash:016x}"), "03d1d36ede007871");
}

#[test]
fn a_saved_state_in_a_spread_batch_tells_places_apart() {
    let mut running = source(SPREAD, 7, &gridded()).unwrap();
    running.by_ref().take(4).count();
    let saved = postcard::to_allocvec(&running).unwrap();
    let mut copy = running.clone();
    running.next();
    assert_ne!(postcard::to_allocvec(&running).unwrap(), saved);
    copy.next();
    assert_eq!(copy, running);
    assert!(running.next_time().is_some_and(|at| at < Time::from_secs(3)));
}
