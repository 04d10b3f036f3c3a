//! Scenarios: YAML files to resolved setups, with every problem named by its place. The library
//! is compiled in; a file dropped on the page goes through the same reader.

pub mod raw;
mod resolve;
mod serving;
pub mod tasks;
mod traces;
pub mod units;

use crate::problem::Problem;
use crate::sim::param::Param;
use crate::sim::setup::Setup;
use crate::yaml;

pub use tasks::{Check, Task};
pub use traces::{TraceChoice, context_limit, use_trace};

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
    ("memory-never-down", include_str!("../../scenarios/memory-never-down.yaml")),
    ("graceful-drain", include_str!("../../scenarios/graceful-drain.yaml")),
    ("shed-load", include_str!("../../scenarios/shed-load.yaml")),
    ("prefill-decode", include_str!("../../scenarios/prefill-decode.yaml")),
    ("mig-or-slices", include_str!("../../scenarios/mig-or-slices.yaml")),
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

/// Keeps quoted input short.
pub(crate) fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
