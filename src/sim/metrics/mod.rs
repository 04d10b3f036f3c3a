//! What is measured, between the engine and everything that reads numbers.
//!
//! [`scrape`] is the path a scaling signal takes to an autoscaler, with its lag; [`rate`] and
//! [`buckets`] are PromQL's ideas of a rate and a percentile; [`series`], [`strip`] and [`histogram`] hold charts and exact
//! percentiles in fixed memory; [`ledger`] accounts for every
//! GPU-second and its price. All are plain data that event handlers write and snapshots read;
//! reading changes nothing.

pub mod buckets;
pub mod histogram;
pub mod ledger;
pub mod rate;
pub mod scrape;
#[cfg(test)]
mod scrape_test;
pub mod series;
pub mod signal;
pub mod strip;

pub use signal::{Scaling, Signal};
