//! Harness of the browser tests: serves the built `dist/` folder under a sub-path, starts
//! Chromium through chromedriver, and gives a [`Page`] to act on.
//!
//! It knows the page only from outside: what a person sees, clicks and types. Each page has a
//! browser, a profile and a server of its own, so tests share nothing.

mod driver;
mod page;
mod pointer;
mod server;

pub use page::{Opening, Page, by_test};
pub use server::Server;

use std::path::PathBuf;

/// Sizes at which the lab is looked at, in CSS pixels.
pub mod size {
    /// A laptop.
    pub const DESKTOP: (u32, u32) = (1440, 900);
    /// A phone, upright.
    pub const PHONE: (u32, u32) = (390, 844);
    /// A frame inside a lesson page.
    pub const EMBED: (u32, u32) = (640, 480);
}

/// The repository's root folder.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where screenshots go.
pub fn screens() -> PathBuf {
    root().join("target/screens")
}
