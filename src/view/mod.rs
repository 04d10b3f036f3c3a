//! Pure view models: what the page shows of a snapshot, as messages and numbers, without a browser.

pub mod actions;
pub mod charts;
pub mod query;
pub mod texts;
pub mod time;

pub use texts::{Texts, scenario_texts};
