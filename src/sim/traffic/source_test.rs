//! Rates, bursts, days, spikes, and that one part's draws never shift another's.

use super::*;
use crate::sim::rng::{Stream, fnv1a64, fnv1a64_on};
use crate::sim::time::{Span, Time};
use crate::yaml;
use proptest::prelude::*;
use std::sync::Arc;

const HOUR: u64 = 3_600_000_000;

fn settings(text: &str) -> TrafficSettings {
    yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn source(text: &str) -> Source {
    Source::new(&settings(text), 7, "chat", Span::ZERO, None).unwrap()
}

fn until(source: Source, end: Time) -> Vec<Arrival> {
    source.take_while(|a| a.at < end).collect()
}

fn times(text: &str, end: Time) -> Vec<u64> {
    until(source(text), end).iter().map(|a| a.at.0).collect()
}

/// Mean in seconds and coefficient of variation of the gaps.
fn gaps(times: &[u64]) -> (f64, f64) {
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / gaps.len() as f64;
    (mean, variance.sqrt() / mean)
}

fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted} ± {tolerance}");
}

fn in_window(times: &[u64], from: u64, to: u64) -> f64 {
    times.iter().filter(|t| (from..to).contains(*t)).count() as f64
}

#[test]
fn a_constant_rate_is_even_and_does_not_drift() {
    let found = times("pattern: {constant: {per_second: 3}}", Time::from_secs(3600) + Span(1));
    assert_eq!(found[..4], [333_333, 666_667, 1_000_000, 1_333_333]);
    assert_eq!((found.len(), found[10_799]), (10_800, 3_600_000_000));
}

#[test]
fn poisson_and_gamma_gaps_have_their_variation() {
    let (mean, cv) = gaps(&times("pattern: {poisson: {per_second: 50}}", Time::from_secs(3600)));
    near(mean, 0.02, 0.0002);
    near(cv, 1.0, 0.01);
    let (mean, cv) = gaps(&times("pattern: {gamma_burst: {per_second: 50, cv: 4}}", Time::from_secs(7200)));
    near(mean, 0.02, 0.0006);
    near(cv, 4.0, 0.1);
}

#[test]
fn phases_follow_each_other_and_end() {
    let text = "pattern: {phases: {stages: [{for: 10m, per_second: 2}, {for: 5m, per_second: 0}, {for: 10m, per_second: 0, to_per_second: 40}]}}";
    let found = times(text, Time::MAX);
    near(in_window(&found, 0, 600_000_000), 1200.0, 120.0);
    assert_eq!(in_window(&found, 600_000_000, 900_000_000), 0.0);
    near(in_window(&found, 900_000_000, 1_200_000_000), 3000.0, 200.0);
    near(in_window(&found, 1_200_000_000, 1_500_000_000), 9000.0, 350.0);
    assert!(found.last().unwrap() < &1_500_000_000);

    let even =
        "pattern: {phases: {stages: [{for: 10s, per_second: 1}, {for: 5s, per_second: 0}], repeat: true, gaps: even}}";
    assert_eq!(times(even, Time::from_secs(40)).len(), 10 + 10 + 10 - 1);
}

#[test]
fn an_office_day_is_busy_in_office_hours() {
    let text = "pattern: {office_day: {peak_per_second: 10, lunch_share: 0.5, ramp: 30m}}";
    let found = times(text, Time(24 * HOUR));
    let per_second = |from: u64, to: u64| in_window(&found, from, to) / ((to - from) as f64 / 1e6);
    assert_eq!((per_second(0, 9 * HOUR), per_second(18 * HOUR, 24 * HOUR)), (0.0, 0.0));
    near(per_second(9 * HOUR, 9 * HOUR + HOUR / 2), 5.0, 0.3);
    near(per_second(10 * HOUR, 12 * HOUR), 10.0, 0.2);
    near(per_second(12 * HOUR + HOUR / 4, 13 * HOUR - HOUR / 4), 5.0, 0.3);
    near(per_second(14 * HOUR, 17 * HOUR), 10.0, 0.2);
    near(per_second(17 * HOUR + HOUR / 2, 18 * HOUR), 5.0, 0.3);
}

#[test]
fn a_diurnal_day_has_its_peak_at_its_hour_by_the_scenarios_clock() {
    let text = "pattern: {diurnal: {low_per_second: 1, high_per_second: 9, peak_at: 15:00}}";
    let clock = Span(2 * HOUR);
    let arrivals = until(Source::new(&settings(text), 7, "chat", clock, None).unwrap(), Time(24 * HOUR));
    let found: Vec<u64> = arrivals.iter().map(|a| a.at.0 + clock.0).collect();
    near(found.len() as f64, 5.0 * 86_400.0, 2_000.0);
    near(in_window(&found, 14 * HOUR + HOUR / 2, 15 * HOUR + HOUR / 2) / 3600.0, 8.98, 0.3);
    near(in_window(&found, 9 * HOUR - HOUR / 2, 9 * HOUR + HOUR / 2) / 3600.0, 5.0, 0.3);
    near(in_window(&found, 3 * HOUR, 4 * HOUR) / 3600.0, 1.02, 0.2);
}

#[test]
fn a_rate_by_the_hour_is_followed() {
    let rates: Vec<String> = (0..24).map(|h| (if h == 2 { "20" } else { "0" }).to_string()).collect();
    let text = format!("pattern: {{hours: {{per_second: [{}], gaps: even}}}}", rates.join(", "));
    let found = times(&text, Time(24 * HOUR));
    // The last falls on the end itself, give or take rounding.
    assert_eq!(found[..71_999].len(), 71_999);
    assert!(found[0] > HOUR && found[71_998] < 3 * HOUR && found.get(72_000).is_none());
}

const WEEK: &str = "pattern: {weekly: {day: {office_day: {peak_per_second: 4, night_per_second: 1}}, factors: {friday: 0.5, saturday: 0.25, sunday: 0}}}";

#[test]
fn a_week_has_its_weekends_by_the_scenarios_weekday() {
    // Nine hours at 4 less half an hour of ramps each side, the rest at 1.
    let day = 1.0 * 15.0 * 3600.0 + 4.0 * 8.0 * 3600.0 + 2.5 * 3600.0;
    let per_day = |starts_at: Span| -> Vec<f64> {
        let source = Source::new(&settings(WEEK), 7, "chat", starts_at, None).unwrap();
        let found: Vec<u64> = until(source, Time(8 * 24 * HOUR)).iter().map(|a| a.at.0).collect();
        (0..8).map(|d| in_window(&found, d * 24 * HOUR, (d + 1) * 24 * HOUR) / day).collect()
    };
    let check = |found: Vec<f64>, wanted: [f64; 8]| {
        for (f, w) in found.iter().zip(wanted) {
            near(*f, w, 0.03 * w);
        }
    };
    check(per_day(Span::ZERO), [1.0, 1.0, 1.0, 1.0, 0.5, 0.25, 0.0, 1.0]);
    check(per_day(Span(Weekday::Saturday.index() * 24 * HOUR)), [0.25, 0.0, 1.0, 1.0, 1.0, 1.0, 0.5, 0.25]);
    // The day's shape stays: Saturday from 10:00 to 12:00 at a quarter of the peak.
    let saturday = Span(Weekday::Saturday.index() * 24 * HOUR);
    let source = Source::new(&settings(WEEK), 7, "chat", saturday, None).unwrap();
    let found: Vec<u64> = until(source, Time(24 * HOUR)).iter().map(|a| a.at.0).collect();
    near(in_window(&found, 10 * HOUR, 12 * HOUR) / 7200.0, 1.0, 0.05);
    near(in_window(&found, 0, 6 * HOUR) / 21_600.0, 0.25, 0.02);
}

#[test]
fn a_week_of_equal_days_is_those_days() {
    let day = "{diurnal: {low_per_second: 1, high_per_second: 9, gaps: even}}";
    let week = times(&format!("pattern: {{weekly: {{day: {day}}}}}"), Time(48 * HOUR));
    let days = times(&format!("pattern: {day}"), Time(48 * HOUR));
    assert_eq!(week.len(), days.len());
    assert!(week.iter().zip(&days).all(|(a, b)| a.abs_diff(*b) <= 1));
}

#[test]
fn quantiles_give_their_mean_and_percentiles() {
    let text = "pattern: {constant: {per_second: 100}}\nprompt_tokens: {quantiles: [[0, 100], [0.5, 1000], [0.9, 2000], [1, 12000]]}";
    let mut found: Vec<f64> =
        until(source(text), Time::from_secs(2_000)).iter().map(|a| f64::from(a.prompt_tokens)).collect();
    found.sort_by(f64::total_cmp);
    let at = |p: f64| found[(p * (found.len() - 1) as f64) as usize];
    // Trapezoids under the quantile function.
    let mean = 0.5 * 550.0 + 0.4 * 1500.0 + 0.1 * 7000.0;
    near(found.iter().sum::<f64>() / found.len() as f64, mean, mean * 0.01);
    for (p, wanted) in [(0.25, 550.0), (0.5, 1000.0), (0.7, 1500.0), (0.9, 2000.0), (0.95, 7000.0)] {
        near(at(p), wanted, wanted * 0.03);
    }
    assert!(found[0] >= 100.0 && found[found.len() - 1] <= 12_000.0);

    // Open ends: from one token up to the first, and nothing above the last.
    let text = "pattern: {constant: {per_second: 100}}\nprompt_tokens: {quantiles: [[0.5, 1000], [0.9, 2000]]}";
    let found: Vec<u32> = until(source(text), Time::from_secs(200)).iter().map(|a| a.prompt_tokens).collect();
    let most = found.iter().filter(|n| **n == 2000).count() as f64 / found.len() as f64;
    near(most, 0.1, 0.01);
    assert!(found.iter().all(|n| (1..=2000).contains(n)) && found.iter().any(|n| *n < 20));
}

#[test]
fn lengths_follow_their_distribution() {
    let lengths = |text: &str| -> Vec<f64> {
        let text = format!("pattern: {{constant: {{per_second: 100}}}}\nprompt_tokens: {text}");
        until(source(&text), Time::from_secs(500)).iter().map(|a| f64::from(a.prompt_tokens)).collect()
    };
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    assert!(lengths("{fixed: 300}").iter().all(|n| *n == 300.0));
    let uniform = lengths("{uniform: {min: 10, max: 20}}");
    near(mean(&uniform), 15.0, 0.1);
    assert!(uniform.iter().all(|n| (10.0..=20.0).contains(n)));
    let lognormal = lengths("{lognormal: {mean: 1000, cv: 0.5, max: 100000}}");
    near(mean(&lognormal), 1000.0, 10.0);
    assert_eq!(lengths("{lognormal: {mean: 1000, cv: 2, max: 700}}").iter().copied().fold(0.0, f64::max), 700.0);
    let listed = lengths("{list: [1, 1, 7]}");
    near(mean(&listed), 3.0, 0.05);
}

#[test]
fn a_spike_sends_all_its_requests_within_its_window() {
    let text = "spikes: [{at: 2m, requests: 80, within: 10s, prompt_tokens: {fixed: 1000000}}]";
    let found: Vec<Arrival> = source(text).collect();
    assert_eq!(found.len(), 80);
    assert!(found.iter().all(|a| (120_000_000..130_000_000).contains(&a.at.0) && a.prompt_tokens == 1_000_000));
    let middle = found.iter().map(|a| a.at.secs_f64()).sum::<f64>() / 80.0;
    near(middle, 125.0, 1.5);
    let at_once: Vec<Arrival> = source("spikes: [{at: 5s, requests: 3}]").collect();
    assert!(at_once.len() == 3 && at_once.iter().all(|a| a.at == Time::from_secs(5)));
}

const MIXED: &str = "pattern: {poisson: {per_second: 20}}\nprompt_tokens: {lognormal: {mean: 800, cv: 1, max: 9000}}\noutput_tokens: {uniform: {min: 5, max: 50}}\n";

fn of_pattern(arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.into_iter().filter(|a| a.origin == Origin::Pattern).collect()
}

#[test]
fn spikes_never_change_what_the_pattern_draws() {
    let end = Time::from_secs(600);
    let plain = until(source(MIXED), end);
    let with = until(source(&format!("{MIXED}spikes: [{{at: 1m, requests: 500, within: 3m}}]")), end);
    assert_eq!(with.len(), plain.len() + 500);
    assert_eq!(of_pattern(with.clone()), plain);

    let mut injected = source(MIXED);
    let mut found: Vec<Arrival> = injected.by_ref().take(700).collect();
    let spike: Spike = yaml::from_str("{at: 0s, requests: 40, within: 20s}").unwrap();
    let now = found[699].at;
    injected.inject(now, &spike).unwrap();
    found.extend(until(injected, end));
    assert!(found.windows(2).all(|w| w[0].at <= w[1].at));
    let spiked: Vec<&Arrival> = found.iter().filter(|a| a.origin == Origin::Spike(0)).collect();
    assert!(spiked.len() == 40 && spiked.iter().all(|a| a.at >= now && a.at <= now + Span::from_secs(20)));
    assert_eq!(of_pattern(found), plain);
}

#[test]
fn other_answer_lengths_change_neither_times_nor_prompts() {
    let end = Time::from_secs(300);
    let changed = MIXED.replace("{uniform: {min: 5, max: 50}}", "{lognormal: {mean: 70, cv: 3, max: 500}}");
    let key = |a: &Arrival| (a.at, a.prompt_tokens);
    let (a, b) = (until(source(MIXED), end), until(source(&changed), end));
    assert!(a.iter().map(key).eq(b.iter().map(key)));
    assert_ne!(a, b);
}

#[test]
fn a_rate_factor_moves_arrivals_but_adds_no_draw() {
    let mut doubled = source(MIXED);
    let before: Vec<Arrival> = doubled.by_ref().take(1_000).collect();
    let now = before[999].at;
    doubled.set_rate_factor(now, 2.0);
    let after: Vec<Arrival> = doubled.take(1_000).collect();
    let plain: Vec<Arrival> = source(MIXED).take(2_000).collect();
    assert_eq!(before, plain[..1_000]);
    for (fast, slow) in after.iter().zip(&plain[1_000..]) {
        assert_eq!(fast.prompt_tokens, slow.prompt_tokens);
        near((fast.at.0 - now.0) as f64 * 2.0, (slow.at.0 - now.0) as f64, 3.0);
    }
}

#[test]
fn a_paused_pattern_goes_on_where_it_stopped() {
    let mut paused = source("pattern: {constant: {per_second: 1}}");
    paused.by_ref().take(2).count();
    paused.set_rate_factor(Time(2_250_000), 0.0);
    assert_eq!(paused.next_time(), None);
    paused.set_rate_factor(Time(10_000_000), 1.0);
    assert_eq!(paused.next_time(), Some(Time(10_750_000)));
}

#[test]
fn sources_differ_by_seed_and_name_only() {
    let end = Time::from_secs(60);
    let of = |seed, name| until(Source::new(&settings(MIXED), seed, name, Span::ZERO, None).unwrap(), end);
    assert_eq!(of(1, "a"), of(1, "a"));
    assert_ne!(of(1, "a"), of(2, "a"));
    assert_ne!(of(1, "a"), of(1, "b"));
}

#[test]
fn arrivals_are_fixed_to_the_bit() {
    let mut hash = fnv1a64(b"");
    for text in [
        MIXED,
        "pattern: {gamma_burst: {per_second: 5, cv: 13}}\nspikes: [{at: 1m, requests: 30, within: 30s}]",
        "pattern: {diurnal: {low_per_second: 0, high_per_second: 2}}",
        "pattern: {office_day: {peak_per_second: 4, lunch_share: 0.7}}",
    ] {
        for a in source(text).take(5_000) {
            for word in [a.at.0, u64::from(a.prompt_tokens), u64::from(a.output_tokens)] {
                hash = fnv1a64_on(hash, &word.to_le_bytes());
            }
        }
    }
    assert_eq!(format!("{hash:016x}"), "07b81d44f3236d87");
}

#[test]
fn a_trace_is_played_at_its_speed_and_again() {
    let row = |offset_us, prompt_tokens, output_tokens| trace::Row { offset_us, prompt_tokens, output_tokens };
    let recorded = Arc::new(Trace::from_rows(vec![row(0, 10, 0), row(1_000_000, 20, 2), row(4_000_000, 30, 3)]));
    let play = |text: &str, n: usize| -> Vec<(u64, u32, u32)> {
        let played = Source::new(&settings(text), 7, "chat", Span::ZERO, Some(recorded.clone())).unwrap();
        played.take(n).map(|a| (a.at.0, a.prompt_tokens, a.output_tokens)).collect()
    };
    let once = play("pattern: {trace: {name: t, speed: 2}}", 9);
    assert_eq!(once, [(0, 10, 1), (500_000, 20, 2), (2_000_000, 30, 3)]);
    let again = play("pattern: {trace: {name: t, repeat: true}}", 5);
    assert_eq!(again[2..], [(4_000_000, 30, 3), (6_000_000, 10, 1), (7_000_000, 20, 2)]);

    let hash = recorded.rows_hash_text();
    assert_eq!(play(&format!("pattern: {{trace: {{name: t, rows_hash: '{hash}'}}}}"), 1).len(), 1);
    let other = settings("pattern: {trace: {name: t, rows_hash: '0000000000000000'}}");
    let problems = Source::new(&other, 7, "chat", Span::ZERO, Some(recorded)).unwrap_err();
    assert_eq!(problems[0].path, "pattern.trace.rows_hash");
    let problems = Source::new(&other, 7, "chat", Span::ZERO, None).unwrap_err();
    assert_eq!(problems[0].to_string(), "pattern.trace.name: the trace `t` is not loaded");
}

#[test]
fn settings_outside_the_limits_are_named() {
    let day =
        "pattern: {office_day: {peak_per_second: -1, night_per_second: 1e9, from: 18:00, to: 09:00, lunch_share: 2}}";
    for (text, paths) in [
        ("pattern: {poisson: {per_second: -1}}", vec!["pattern.poisson.per_second"]),
        ("pattern: {gamma_burst: {per_second: 1, cv: 0}}", vec!["pattern.gamma_burst.cv"]),
        ("pattern: {phases: {stages: []}}", vec!["pattern.phases.stages"]),
        (
            "pattern: {phases: {stages: [{for: 0s, per_second: 1, to_per_second: 1e7}], gaps: {gamma: {cv: 101}}}}",
            vec![
                "pattern.phases.stages[0].for",
                "pattern.phases.stages[0].to_per_second",
                "pattern.phases.gaps.gamma.cv",
            ],
        ),
        (
            day,
            vec![
                "pattern.office_day.peak_per_second",
                "pattern.office_day.night_per_second",
                "pattern.office_day.lunch_share",
                "pattern.office_day.to",
            ],
        ),
        ("pattern: {office_day: {peak_per_second: 1, ramp: 5h}}", vec!["pattern.office_day.ramp"]),
        ("pattern: {diurnal: {low_per_second: 2, high_per_second: 1}}", vec!["pattern.diurnal.low_per_second"]),
        ("pattern: {hours: {per_second: [1]}}", vec!["pattern.hours.per_second"]),
        ("pattern: {trace: {name: t, speed: 0}}", vec!["pattern.trace.speed"]),
        ("prompt_tokens: {fixed: 0}", vec!["prompt_tokens.fixed"]),
        ("output_tokens: {uniform: {min: 3, max: 2}}", vec!["output_tokens.uniform.min"]),
        (
            "output_tokens: {lognormal: {mean: 0, cv: -1, max: 2}}",
            vec!["output_tokens.lognormal.mean", "output_tokens.lognormal.cv"],
        ),
        ("output_tokens: {list: [1, 0]}", vec!["output_tokens.list[1]"]),
        ("output_tokens: {quantiles: []}", vec!["output_tokens.quantiles"]),
        (
            "output_tokens: {quantiles: [[0.5, 9], [0.4, 10], [1.5, 8]]}",
            vec!["output_tokens.quantiles[2]", "output_tokens.quantiles[1]", "output_tokens.quantiles[2]"],
        ),
        (
            "pattern: {weekly: {day: {office_day: {peak_per_second: 9e4}}, factors: {sunday: 2}}}",
            vec!["pattern.weekly.factors.sunday"],
        ),
        (
            "pattern: {weekly: {day: {hours: {per_second: [1]}}, factors: {friday: -1}}}",
            vec!["pattern.weekly.day.hours.per_second", "pattern.weekly.factors.friday"],
        ),
        ("lengths_of: {name: t, cut_to: 1}", vec!["lengths_of.cut_to"]),
        ("spikes: [{at: 0s, requests: 0, within: 25h}]", vec!["spikes[0].requests", "spikes[0].within"]),
    ] {
        let found: Vec<String> = settings(text).problems().into_iter().map(|p| p.path).collect();
        assert_eq!(found, paths, "{text}");
        assert!(Source::new(&settings(text), 7, "chat", Span::ZERO, None).is_err(), "{text}");
    }
}

#[test]
fn misspelt_settings_are_named() {
    let problem = yaml::from_str::<TrafficSettings>("pattern: {poisson: {per_secnd: 1}}").unwrap_err();
    assert_eq!(
        problem.to_string(),
        "line 1, column 21: pattern.poisson.per_secnd: unknown key; did you mean `per_second`?"
    );
}

#[test]
fn settings_survive_readable_and_compact_formats() {
    let all = settings(
        "pattern: {phases: {stages: [{for: 90s, per_second: 1, to_per_second: 2}], gaps: {gamma: {cv: 3}}}}\nprompt_tokens: {list: [3]}\nspikes: [{at: 1m, requests: 2, output_tokens: {fixed: 9}}]\n",
    );
    let json = serde_json::to_string(&all).unwrap();
    assert!(json.contains(r#""for":"1m30s""#), "{json}");
    assert_eq!(serde_json::from_str::<TrafficSettings>(&json).unwrap(), all);
    assert_eq!(yaml::from_str::<TrafficSettings>(&json).unwrap(), all);
    let bytes = postcard::to_allocvec(&all).unwrap();
    assert_eq!(postcard::from_bytes::<TrafficSettings>(&bytes).unwrap(), all);
    assert_eq!(settings("{}"), TrafficSettings::default());
}

#[test]
fn the_saved_state_is_small_and_tells_states_apart() {
    let mut running = source(MIXED);
    let first = postcard::to_allocvec(&running).unwrap();
    let copy = running.clone();
    running.next();
    assert_ne!(first, postcard::to_allocvec(&running).unwrap());
    assert_eq!(first, postcard::to_allocvec(&copy).unwrap());
    assert!(first.len() < 400, "{}", first.len());
}

fn any_pattern() -> impl Strategy<Value = Pattern> {
    let rate = || prop_oneof![Just(0.0), 0.0..100.0f64, Just(1e-9), Just(1e5), any::<f64>()];
    let gaps = || prop_oneof![Just(Gaps::Even), Just(Gaps::Poisson), (0.01..50.0f64).prop_map(|cv| Gaps::Gamma { cv })];
    let stage = (any::<u64>(), rate(), prop::option::of(rate())).prop_map(|(us, per_second, to_per_second)| Stage {
        length: Span(us >> 20),
        per_second,
        to_per_second,
    });
    prop_oneof![
        rate().prop_map(|per_second| Pattern::Constant { per_second }),
        (rate(), any::<f64>()).prop_map(|(per_second, cv)| Pattern::GammaBurst { per_second, cv }),
        (prop::collection::vec(stage, 0..5), any::<bool>(), gaps())
            .prop_map(|(stages, repeat, gaps)| Pattern::Phases { stages, repeat, gaps }),
        (prop::collection::vec(rate(), 24), gaps()).prop_map(|(per_second, gaps)| Pattern::Hours { per_second, gaps }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_accepted_pattern_gives_rising_times_and_ends(pattern in any_pattern(), clock: u64, factor in any::<f64>()) {
        let settings = TrafficSettings { pattern, ..TrafficSettings::default() };
        if let Ok(mut source) = Source::new(&settings, 1, "any", Span(clock), None) {
            let mut last = Time::ZERO;
            for i in 0..200 {
                let Some(next) = source.next_time() else { break };
                if i == 100 {
                    source.set_rate_factor(last, factor);
                    continue;
                }
                let arrival = source.next().unwrap();
                prop_assert!(arrival.at == next && arrival.at >= last && arrival.prompt_tokens > 0);
                last = arrival.at;
            }
        }
    }

    #[test]
    fn no_unchecked_pattern_panics(pattern in any_pattern()) {
        if let Some(mut arrivals) = Arrivals::new(&pattern, Span::ZERO, Stream::new(1, "x")) {
            for _ in 0..50 {
                arrivals.take();
            }
        }
    }
}
