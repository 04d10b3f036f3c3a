//! English.

use super::messages::Key;

/// The English template of a key.
pub fn text(key: Key) -> &'static str {
    match key {
        // The page
        Key::LabName => "Seven of Eight",
        Key::LabTitle => "Seven of Eight, a GPU autoscaling lab",
        Key::Experiments => "Experiments",
    }
}
