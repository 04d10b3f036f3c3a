//! Scenarios: YAML files to resolved setups, with every problem named by its place. The library
//! is compiled in; a file dropped on the page goes through the same reader.

pub mod raw;
mod resolve;
mod serving;
pub mod tasks;
pub mod units;

use crate::problem::Problem;
use crate::sim::param::Param;
use crate::sim::setup::Setup;
use crate::sim::traffic::{Pattern, Trace, TraceUse};
use crate::yaml;
use std::sync::Arc;

pub use tasks::{Check, Task};

/// A scenario ready to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub id: String,
    pub setup: Setup,
    pub tasks: Vec<Task>,
}

/// Ids and texts of the library, in the order of the page.
pub const LIBRARY: &[(&str, &str)] = &[
    ("seven-of-eight", include_str!("../../scenarios/seven-of-eight.yaml")),
    ("lying-signal", include_str!("../../scenarios/lying-signal.yaml")),
    ("cold-start", include_str!("../../scenarios/cold-start.yaml")),
    ("ready-too-early", include_str!("../../scenarios/ready-too-early.yaml")),
    ("sandbox", include_str!("../../scenarios/sandbox.yaml")),
];

/// The text of a library scenario.
pub fn library_text(id: &str) -> Option<&'static str> {
    LIBRARY.iter().find(|(i, _)| *i == id).map(|(_, text)| *text)
}

/// Opens a library scenario; `None` if there is none of that id.
pub fn library(id: &str) -> Option<Result<Scenario, Vec<Problem>>> {
    library_text(id).map(|text| read(text, &[]))
}

/// Reads a scenario file, with overrides `(path, value)` as `--set` gives them. A path that is a
/// parameter's id (`hpa.signal`) means the policy section.
///
/// # Errors
/// What is wrong and where: at the first place of the text, or all contradictions of a text that
/// could be read.
pub fn read(text: &str, overrides: &[(String, String)]) -> Result<Scenario, Vec<Problem>> {
    let mut root = yaml::parse(text).map_err(|p| vec![p.into()])?;
    for (path, value) in overrides {
        let full = if Param::from_id(path).is_some() { format!("policy.{path}") } else { path.clone() };
        let sections = full.strip_prefix("policy.").and_then(|p| p.split_once('.'));
        if let Some((section, _)) = sections {
            ensure_policy_section(&mut root, section);
        }
        let set = root.set(&full, value);
        set.map_err(|p| vec![Problem::new(format!("--set {}", clip(path)), p.message)])?;
    }
    let raw: raw::RawScenario = yaml::from_node(&root).map_err(|p| vec![p.into()])?;
    resolve::resolve(raw)
}

/// `--set` may name a policy section that the file leaves out.
fn ensure_policy_section(root: &mut yaml::Node, section: &str) {
    let section = format!("policy.{section}");
    for path in ["policy", &section] {
        if root.find(path).is_none() {
            // A path that cannot be made is reported by the override itself.
            let _ = root.set(path, "{}");
        }
    }
}

/// Makes a trace the traffic of the scaled service (the first one if none is).
///
/// # Errors
/// If there is no service, or the trace has no rows.
pub fn use_trace(setup: &mut Setup, name: &str, trace: Arc<Trace>) -> Result<(), Problem> {
    if trace.rows().is_empty() {
        return Err(Problem::new(clip(name), "the trace has no requests"));
    }
    let at = setup.services.iter().position(|s| s.scaled).unwrap_or(0);
    let service = setup.services.get_mut(at).ok_or_else(|| Problem::new("services", "no service to drive"))?;
    service.traffic.pattern = Pattern::Trace(TraceUse {
        name: name.to_owned(),
        rows_hash: Some(trace.rows_hash_text()),
        speed: 1.0,
        repeat: false,
    });
    service.traffic.spikes.clear();
    service.trace = Some(trace);
    Ok(())
}

/// Keeps quoted input short.
pub(crate) fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
