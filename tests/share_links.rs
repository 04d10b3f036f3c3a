//! Links from outside: every refusal says what and where, and nothing panics.

use proptest::prelude::*;
use seven_of_eight::share;

fn refusal(fragment: &str) -> String {
    let problems = share::open(fragment).expect_err("refused");
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_readable_link_sets_parameters_seed_and_time() {
    let opened = share::open("#s=lying-signal&seed=11&hpa.signal=queue_depth&t=09:05:00").expect("opens");
    assert_eq!(opened.scenario.setup.seed, 11);
    assert_eq!(opened.scenario.setup.policy.choice(seven_of_eight::sim::param::Param::Signal), "queue_depth");
    assert_eq!(opened.at.secs_f64(), 600.0);
    assert!(opened.ignored.is_empty());
}

#[test]
fn a_bad_value_is_left_out_and_named() {
    let opened = share::open("s=lying-signal&hpa.max=900&hpa.sgnal=x&seed=-1&t=25:00").expect("opens");
    let places: Vec<&str> = opened.ignored.iter().map(|p| p.place.as_str()).collect();
    assert_eq!(places, ["hpa.max", "hpa.sgnal", "seed", "t"]);
    assert!(opened.ignored[0].what.contains("1 to 64"), "{}", opened.ignored[0].what);
}

#[test]
fn refusals_say_what_is_wrong() {
    assert!(refusal("s=no-such").contains("seven-of-eight"));
    assert!(refusal("x9=abc").contains("x9"));
    assert!(refusal("x1=***").to_lowercase().contains("link"));
    let huge = format!("x1={}", "A".repeat(40_000));
    assert!(refusal(&huge).contains("16384") || refusal(&huge).contains("16,384") || refusal(&huge).contains("16 KiB"));
    let long = format!("s=sandbox&{}", "a=1&".repeat(2_000));
    assert!(refusal(&long).contains("2000"));
}

#[test]
fn a_link_to_a_run_with_a_trace_is_refused_and_names_the_file() {
    let shared = share::Shared {
        engine: share::ENGINE,
        origin: share::Origin::Library("lying-signal".into()),
        seed: 7,
        log: Vec::new(),
        at: seven_of_eight::sim::time::Time::ZERO,
        state_hash: 1,
        trace: None,
    };
    assert!(share::open(&share::link(&shared)).is_ok());
    let traced = share::Shared { trace: Some(("requests.csv".into(), 5)), ..shared };
    let text = refusal(&share::link(&traced));
    assert!(text.contains("requests.csv") && text.contains("cannot carry"), "{text}");
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,300}") {
        let _ = share::open(&text);
        let _ = share::open(&format!("x1={text}"));
        let _ = share::open(&format!("s=sandbox&{text}"));
    }

    #[test]
    fn arbitrary_bytes_in_a_sound_envelope_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = share::open(&share::codec::encode(&bytes));
    }
}
