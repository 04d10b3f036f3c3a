//! The simulation core: pure, integer time, named random streams, the same bytes on every
//! platform. It knows no web, clock, file or global state and imports nothing outside itself
//! but small pure crates (serde, libm, rand, hdrhistogram).

pub mod catalog;
pub mod cluster;
pub mod command;
pub mod decision;
pub mod due;
pub mod engine;
pub mod event;
pub mod id;
pub mod limits;
pub mod math;
pub mod metrics;
pub mod money;
pub mod nodes;
pub mod param;
pub mod placement;
pub mod queue;
pub mod replicas;
pub mod rng;
pub mod series_view;
pub mod setup;
pub mod snapshot;
pub mod state_hash;
pub mod time;
pub mod traffic;
pub mod units;
pub mod wait;
pub mod world;
