//! (being built)
pub fn start() {}
