//! Layer 3, replicas: who adds copies. Each system is a pure function
//! `decide(view, settings, memory, now)`.

pub mod hpa;
