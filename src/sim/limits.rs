//! Every bound of the lab, with its reason. Each is tested at and above it.

/// Nodes alive at once: what the map can show.
pub const NODES_MAX: u32 = 512;
/// Replicas and gangs alive at once.
pub const GROUPS_MAX: u32 = 1_024;
/// Requests of one spike: an hour of a large service within a minute.
pub const SPIKE_REQUESTS_MAX: u32 = 20_000;
/// Commands in a log: what a link may carry.
pub const COMMANDS_MAX: usize = 5_000;
/// Why-log records kept; older ones are dropped, their numbers are not reused.
pub const DECISIONS_KEPT: usize = 5_000;
/// Requests in flight over all services: beyond it new ones are rejected, so that an overload
/// without a client timeout cannot eat the tab's memory.
pub const IN_FLIGHT_MAX: usize = 500_000;
/// Longest run.
pub const END_MAX_S: u64 = 14 * 86_400;
