//! The application without a browser: a model, messages that say what the person did, and
//! one `update` that changes the model and returns effects for the shell to carry out.
//!
//! Undo, rewind, forks, sharing and playback live and are tested here.

mod model;
mod playback;
mod run;

pub use model::{Dialog, Effect, Message, Model, Notice, OpenError, Selection, Speed, Theme, update};
pub use run::Run;
