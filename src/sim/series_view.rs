//! The time series that the charts draw, sampled on a fixed step.

use super::time::Time;

/// One drawn quantity. The order is fixed: it indexes the world's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// Requests waiting at gateways and engines.
    Waiting,
    /// Arrivals per second, over the last step.
    Arrivals,
    /// Each signal of the scaled service as a share of its range, 0 to 1 (queue: waiting per
    /// pod over its target, capped at 1 for the chart's percent axis).
    GpuUtilization,
    GpuMemory,
    QueueShare,
    KvUsage,
    /// Raw wish of the HPA, wish after limits, and ready replicas of the scaled service.
    RawDesired,
    Desired,
    Ready,
    /// P99 of time to first token over the last minute, in seconds.
    TtftP99,
    /// GPUs by ledger state, in the order of `GpuUse::ALL`.
    Gpus(u8),
}

/// One point: time and value; NaN never occurs, a gap is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub at: Time,
    pub value: Option<f32>,
}
