//! Pure view models: what the page shows of a snapshot, as messages and numbers, without a browser.

pub mod announce;
pub mod cards;
pub mod hpa;
pub mod inspect;
pub mod map;
pub mod names;
pub mod score;
pub mod why;
pub mod words;

#[cfg(test)]
mod trap_fixture;
#[cfg(test)]
mod words_test;
