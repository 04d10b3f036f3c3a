//! Upstream behaviour as data: every case goes through the functions that the simulation calls.
//!
//! Cases are read from `tests/conformance/<area>/*.json`, or from `$LAB_CONFORMANCE_DIR/<area>/`.
//! One line per area is printed (`kai: 183 of 183`); a mismatch fails and names the case, the
//! expected and the actual value. Questions whose code does not exist yet are counted apart.

#[path = "areas/kai.rs"]
mod kai_area;
#[path = "areas/kube_scheduler.rs"]
mod kube_scheduler_area;
#[path = "areas/sched_cases.rs"]
mod sched_cases;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[path = "areas/engine.rs"]
mod engine_area;
#[path = "areas/hpa.rs"]
mod hpa_area;
#[path = "areas/karpenter.rs"]
mod karpenter_area;

/// What became of one case.
pub enum Outcome {
    Pass,
    /// Expected and actual, in words.
    Fail(String),
    /// The code that would answer this kind of case does not exist yet: name the kind.
    #[allow(dead_code)]
    NotBuilt(String),
}

/// Compares and says both values where they differ.
#[allow(dead_code)]
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, actual: T) -> Result<(), String> {
    if expected == actual { Ok(()) } else { Err(format!("{what}: expected {expected:?}, actual {actual:?}")) }
}

fn folder(area: &str) -> PathBuf {
    match std::env::var_os("LAB_CONFORMANCE_DIR") {
        Some(dir) => PathBuf::from(dir).join(area),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(area),
    }
}

/// Runs every case of an area. `check` gets the file's stem and the case.
fn run(area: &str, check: impl Fn(&str, &Value) -> Outcome) {
    let dir = folder(area);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{area}: cannot read {}: {e}", dir.display()))
        .map(|entry| entry.expect("directory entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{area}: no *.json in {}", dir.display());

    let (mut total, mut passed) = (0, 0);
    let mut failures = Vec::new();
    let mut not_built: BTreeMap<String, usize> = BTreeMap::new();
    for file in &files {
        let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let cases = json["cases"].as_array().unwrap_or_else(|| panic!("{}: no `cases`", file.display()));
        for case in cases {
            total += 1;
            let name = case["id"].as_str().or(case["name"].as_str()).unwrap_or("unnamed");
            match check(&stem, case) {
                Outcome::Pass => passed += 1,
                Outcome::Fail(why) => failures.push(format!("{area}/{stem}: {name}: {why}")),
                Outcome::NotBuilt(kind) => *not_built.entry(kind).or_default() += 1,
            }
        }
    }
    assert!(total > 0, "{area}: no cases in {}", dir.display());
    let rest: Vec<String> = not_built.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    if rest.is_empty() {
        println!("{area}: {passed} of {total}");
    } else {
        println!("{area}: {passed} of {total} (not built: {})", rest.join(", "));
    }
    assert!(failures.is_empty(), "{} of {total} cases fail\n{}", failures.len(), failures.join("\n"));
}

fn not_built(area: &str) {
    println!("{area}: not built");
}

#[test]
fn hpa() {
    run("hpa", |_, case| hpa_area::check(case));
}

#[test]
fn keda() {
    not_built("keda");
}

#[test]
fn kai() {
    run("kai", kai_area::check);
}

#[test]
fn kube_scheduler() {
    run("kube-scheduler", kube_scheduler_area::check);
}

#[test]
fn kueue() {
    not_built("kueue");
}

#[test]
fn karpenter() {
    run("karpenter", karpenter_area::check);
}

#[test]
fn cluster_autoscaler() {
    not_built("cluster-autoscaler");
}

#[test]
fn engine() {
    let errors = engine_area::Errors::default();
    run("engine", |file, case| errors.check(file, case));
}
