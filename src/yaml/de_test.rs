//! Tree -> typed values, and where refusals point.

use super::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lab {
    seed: u64,
    #[serde(default)]
    services: Vec<Service>,
    #[serde(default)]
    limits: BTreeMap<String, i32>,
    #[serde(default)]
    pair: Option<(u8, String)>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Service {
    name: String,
    hpa: Option<Hpa>,
    #[serde(default)]
    pattern: Pattern,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Hpa {
    target: u8,
    #[serde(default)]
    tolerance: f64,
    #[serde(default)]
    scale_down: bool,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Pattern {
    #[default]
    Silent,
    Fixed(u32),
    Poisson {
        per_second: f64,
    },
    Day(Day),
    Span(u8, u8),
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Day {
    from: u8,
}

fn pattern(text: &str) -> Pattern {
    from_str(text).unwrap()
}

#[test]
fn a_whole_file_is_read() {
    let lab: Lab = from_str(
        "seed: 7\nservices:\n- name: 8\n  hpa: {target: 0x46, tolerance: 1, scaleDown: true}\n- name: b\n  hpa: ~\n  pattern: silent\nlimits: {a: -1, 'b': +2}\npair: [1, x]\n",
    )
    .unwrap();
    let hpa = Hpa { target: 70, tolerance: 1.0, scale_down: true };
    assert_eq!(lab.services[0], Service { name: "8".into(), hpa: Some(hpa), pattern: Pattern::Silent });
    assert_eq!(lab.services[1].hpa, None);
    assert_eq!(lab.limits, BTreeMap::from([("a".into(), -1), ("b".into(), 2)]));
    assert_eq!(lab.pair, Some((1, "x".into())));
}

#[test]
fn enums_are_words_or_maps_of_one_key() {
    assert_eq!(pattern("silent"), Pattern::Silent);
    assert_eq!(pattern("{silent: }"), Pattern::Silent);
    assert_eq!(pattern("fixed: 3"), Pattern::Fixed(3));
    assert_eq!(pattern("poisson: {per_second: 4}"), Pattern::Poisson { per_second: 4.0 });
    assert_eq!(pattern("day: {from: 9}"), Pattern::Day(Day { from: 9 }));
    assert_eq!(pattern("day"), Pattern::Day(Day { from: 0 }));
    assert_eq!(pattern("span: [1, 2]"), Pattern::Span(1, 2));
}

#[test]
fn refusals_name_place_and_path() {
    for (text, wanted) in [
        ("sed: 7\n", "line 1, column 1: sed: unknown key; did you mean `seed`?"),
        ("seed: 1\nzoo: 7\n", "line 2, column 1: zoo: unknown key; accepted are: seed, services, limits, pair"),
        ("services: []\n", "line 1, column 1: the key `seed` is missing"),
        ("seed: -1\n", "line 1, column 7: seed: expected a whole number from 0 to 18446744073709551615, found `-1`"),
        (
            "seed: '7'\n",
            "line 1, column 7: seed: expected a whole number from 0 to 18446744073709551615, found the text \"7\"",
        ),
        (
            "seed: 1\nservices:\n- name: a\n  hpa:\n    target: 300\n",
            "line 5, column 13: services[0].hpa.target: expected a whole number from 0 to 255, found `300`",
        ),
        (
            "seed: 1\nservices:\n- name: a\n  hpa:\n    tolerance: 1\n",
            "line 5, column 5: services[0].hpa: the key `target` is missing",
        ),
        (
            "seed: 1\nservices:\n- name: a\n  hpa: {target: 1, tolerance: .inf}\n",
            "line 4, column 31: services[0].hpa.tolerance: expected a finite number, found `.inf`",
        ),
        (
            "seed: 1\nservices:\n- name: a\n  hpa: {target: 1, scaleDown: yes}\n",
            "line 4, column 31: services[0].hpa.scaleDown: expected true or false, found `yes`",
        ),
        ("seed: 1\nservices: {a: 1}\n", "line 2, column 11: services: expected a list, found a map"),
        ("seed: 1\nservices: [{name: [a]}]\n", "line 2, column 19: services[0].name: expected text, found a list"),
        ("seed: 1\nservices: [{name: }]\n", "line 2, column 17: services[0].name: expected text, found nothing"),
        (
            "seed: 1\nservices: [{name: a, hpa: 5}]\n",
            "line 2, column 27: services[0].hpa: expected a map with target, tolerance, scaleDown, found `5`",
        ),
        (
            "seed: 1\nservices: [{name: a, pattern: poison}]\n",
            "line 2, column 31: services[0].pattern: `poison`: unknown choice; did you mean `poisson`?",
        ),
        (
            "seed: 1\nservices: [{name: a, pattern: poisson}]\n",
            "line 2, column 31: services[0].pattern.poisson: the key `per_second` is missing",
        ),
        (
            "seed: 1\nservices: [{name: a, pattern: {poisson: {per_second: x}}}]\n",
            "line 2, column 54: services[0].pattern.poisson.per_second: expected a number, found `x`",
        ),
        (
            "seed: 1\nservices: [{name: a, pattern: {a: 1, b: 2}}]\n",
            "line 2, column 31: services[0].pattern: expected one of silent, fixed, poisson, day, span, found a map",
        ),
        (
            "seed: 1\nservices: [{name: a, pattern: {silent: 1}}]\n",
            "line 2, column 40: services[0].pattern.silent: expected nothing, found `1`",
        ),
        ("seed: 1\npair: [1, a, b]\n", "line 2, column 14: pair[2]: expected 2 elements, found 3"),
        (
            "seed: 1\nlimits: {a.b: x}\n",
            "line 2, column 15: limits.\"a.b\": expected a whole number from -2147483648 to 2147483647, found `x`",
        ),
    ] {
        assert_eq!(from_str::<Lab>(text).unwrap_err().to_string(), wanted, "{text}");
    }
}

#[test]
fn an_unknown_key_of_an_override_is_named_without_a_line() {
    let mut node = parse("seed: 1\nservices: [{name: a, hpa: {target: 1}}]\n").unwrap();
    node.set("services.a.hpa.tolerence", "0.2").unwrap();
    let problem = from_node::<Lab>(&node).unwrap_err();
    assert_eq!(problem.to_string(), "services[0].hpa.tolerence: unknown key; did you mean `tolerance`?");
}

#[test]
fn scalars_follow_the_core_schema() {
    let json = |text: &str| from_str::<serde_json::Value>(text).unwrap();
    for (text, wanted) in [
        ("", serde_json::json!(null)),
        ("NULL", serde_json::json!(null)),
        ("'null'", serde_json::json!("null")),
        ("True", serde_json::json!(true)),
        ("yes", serde_json::json!("yes")),
        ("0o17", serde_json::json!(15)),
        ("0x1F", serde_json::json!(31)),
        ("-0x1F", serde_json::json!("-0x1F")),
        ("017", serde_json::json!(17)),
        ("-5", serde_json::json!(-5)),
        ("1_000", serde_json::json!("1_000")),
        ("1e3", serde_json::json!(1000.0)),
        (".5", serde_json::json!(0.5)),
        ("5.", serde_json::json!(5.0)),
        (".", serde_json::json!(".")),
        ("e3", serde_json::json!("e3")),
        ("1.2.3", serde_json::json!("1.2.3")),
        ("inf", serde_json::json!("inf")),
        ("+1", serde_json::json!(1)),
        ("++1", serde_json::json!("++1")),
        ("09:30", serde_json::json!("09:30")),
        ("18446744073709551615", serde_json::json!(u64::MAX)),
    ] {
        assert_eq!(json(text), wanted, "{text}");
    }
    for text in ["1e999", ".nan", "18446744073709551616000"] {
        assert!(from_str::<serde_json::Value>(text).is_err(), "{text}");
    }
}
