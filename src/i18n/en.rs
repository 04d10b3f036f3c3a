//! English.

use super::messages::Key;

/// The English template of a key.
pub fn text(key: Key) -> &'static str {
    match key {
        // --- Page and shell ---
        Key::LabName => "Seven of Eight",
        Key::LabTitle => "Seven of Eight, a GPU autoscaling lab",
        Key::Experiments => "Experiments",
        Key::ProblemScenario => "This experiment cannot be opened",
        Key::ProblemLink => "This link cannot be opened",
        Key::ProblemLinkValues => "Some values of the link were not used",
        Key::ProblemTrace => "This trace cannot be used",

        // --- Map ---
        Key::MapTitle => "Cluster",

        // --- Layers, why-log, waits, score, tasks ---
        Key::WhyTitle => "Why",

        // --- Scenario texts ---
        Key::ScenarioSandbox => "Sandbox",
    }
}
