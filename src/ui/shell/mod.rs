//! What only a browser can do: clock, storage, clipboard, address, files, keys, the page's own
//! attributes, and what is shown when the program fails.

pub mod address;
pub mod clipboard;
pub mod files;
pub mod keyboard;
pub mod media;
pub mod page;
pub mod panic;
pub mod storage;

/// Milliseconds since the page was opened.
pub fn now_ms() -> f64 {
    web_sys::window().and_then(|w| w.performance()).map_or(0.0, |p| p.now())
}
