//! Pure view models: what the page shows of a snapshot, as messages and numbers, without a browser.

pub mod actions;
pub mod announce;
pub mod cards;
pub mod charts;
pub mod hpa;
pub mod inspect;
pub mod map;
pub mod names;
pub mod query;
pub mod replica;
pub mod score;
pub mod serving;
pub mod texts;
pub mod time;
pub mod trace;
pub mod why;
pub mod words;

#[cfg(test)]
pub mod fixture;
#[cfg(test)]
mod trap_fixture;
#[cfg(test)]
mod words_test;

pub use texts::{Texts, scenario_texts};
