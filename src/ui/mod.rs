//! The page: Yew components that draw snapshots and send messages. It decides nothing about
//! the world. `shell` is the only part that touches clock, storage, clipboard and files.

pub mod inspect;
pub mod layers;
pub mod score;
pub mod setting;
pub mod tasks;
pub mod text;
pub mod why;

/// Mounts the page.
pub fn start() {}
