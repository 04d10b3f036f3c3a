//! English.

use super::messages::Key;

/// The English template of a key.
pub fn text(key: Key) -> &'static str {
    match key {
        // --- Page and shell ---
        Key::LabName => "Seven of Eight",
        Key::LabTitle => "Seven of Eight, a GPU autoscaling lab",
        Key::Experiments => "Experiments",

        // --- Map ---
        Key::MapTitle => "Cluster",

        // --- Layers, why-log, waits, score, tasks ---
        Key::WhyTitle => "Why",

        // --- Scenario texts ---
        Key::ScenarioSandbox => "Sandbox",
    }
}
