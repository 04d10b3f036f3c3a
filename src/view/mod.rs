//! Pure view models: what the page shows of a snapshot, as values and messages. No web, no world.

#[cfg(test)]
pub mod fixture;
pub mod map;
