//! (being built)

pub mod units;
