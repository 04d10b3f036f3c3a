//! The application without a browser: a model, messages that say what the person did, and
//! one `update` that changes the model and returns effects for the shell to carry out.
//!
//! Undo, rewind, forks, sharing and playback live and are tested here.

mod model;
mod open;
mod run;
mod update;

#[cfg(test)]
mod session_test;

pub use model::{Dialog, Effect, Message, Model, Notice, Problem, Selection, Speed, Theme};
pub use run::{Advanced, Run};
pub use update::{link, update};
