//! Links: a whole run (`x1=…`) or a library scenario with a few changes
//! (`s=seven-of-eight&seed=7&hpa.signal=queue_depth&t=02:04:31`).
//!
//! A link may set nothing that the page could not. Decoders are kept for ever.

pub mod codec;
mod payload;
mod readable;

pub use payload::{Origin, Shared};

use crate::problem::Problem;
use crate::scenario::{self, Scenario};
use crate::sim::command::Stamped;
use crate::sim::time::Time;

/// Grows whenever the same commands may give other results.
pub const ENGINE: u32 = 1;

/// What a link opens.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    pub scenario: Scenario,
    /// Library id, or the name of the file that the link carries.
    pub scenario_id: String,
    /// The file's text, if it is not of the library.
    pub text: Option<String>,
    pub log: Vec<Stamped>,
    pub at: Time,
    /// State hash that the sender saw at `at`.
    pub state_hash: Option<u64>,
    /// Made with another engine: results may differ.
    pub other_engine: Option<u32>,
    /// Values that were not used, and why.
    pub ignored: Vec<Problem>,
}

/// The fragment (without `#`) of a run.
pub fn link(shared: &Shared) -> String {
    codec::encode(&payload::encode(shared))
}

/// Opens a fragment, with or without `#`.
///
/// # Errors
/// Why it cannot be opened: damaged, too large, newer, or what is wrong inside.
pub fn open(fragment: &str) -> Result<Opened, Vec<Problem>> {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    if fragment.starts_with("s=") || fragment.contains("&s=") {
        return readable::open(fragment);
    }
    let bytes = codec::decode(fragment).map_err(|e| vec![Problem::new("link", e.to_string())])?;
    payload::open(&bytes)
}

fn library(id: &str) -> Result<Scenario, Vec<Problem>> {
    scenario::library(id).unwrap_or_else(|| {
        let ids: Vec<&str> = scenario::LIBRARY.iter().map(|(id, _)| *id).collect();
        let what = format!("no experiment `{}`; there are: {}", scenario::clip(id), ids.join(", "));
        Err(vec![Problem::new("s", what)])
    })
}
