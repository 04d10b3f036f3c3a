//! Seven of Eight: a GPU autoscaling lab.
//!
//! One package: a pure simulation core, an application core without a browser, pure view
//! models, a Yew front (feature `ui`) and a command line (feature `cli`).
//!
//! ```text
//! scenario file --resolve--> Scenario --\
//! share link  --decode-->  Scenario+log -+--> sim::World --> Decisions, Ledger, Series --snapshot--> view --> ui
//! learner ----> session::Message --update--> Command (stamped, logged) --> World
//! ```
//!
//! Invariants, each with the test that guards it, are in `ARCHITECTURE.md`.

pub mod i18n;
pub mod problem;
pub mod report;
pub mod scenario;
pub mod session;
pub mod share;
pub mod sim;
pub mod view;
pub mod yaml;

#[cfg(feature = "ui")]
pub mod ui;
