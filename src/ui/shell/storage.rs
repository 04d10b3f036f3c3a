//! Preferences that outlive the page, where the browser lets them.

use gloo::storage::{LocalStorage, Storage};

const PREFIX: &str = "seven-of-eight.";

/// Whether there is storage. A private window or a sandboxed frame may have none, and `gloo` would
/// end the program there, so nothing below is called without asking.
pub fn available() -> bool {
    web_sys::window().is_some_and(|w| matches!(w.local_storage(), Ok(Some(_))))
}

pub fn load(key: &str) -> Option<String> {
    available().then(|| LocalStorage::get(format!("{PREFIX}{key}")).ok()).flatten()
}

/// Keeps a preference; false if the browser refused.
pub fn store(key: &str, value: &str) -> bool {
    available() && LocalStorage::set(format!("{PREFIX}{key}"), value).is_ok()
}
