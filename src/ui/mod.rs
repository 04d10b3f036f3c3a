//! The page: Yew components that draw snapshots and send messages. It decides nothing about
//! the world. `shell` is the only part that touches clock, storage, clipboard and files.

pub mod map;

/// Mounts the page.
pub fn start() {}
