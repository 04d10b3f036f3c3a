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
    /// pod over its target, which may pass 1).
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

impl Track {
    /// Tracks in all, GPU states included.
    pub const COUNT: usize = 18;

    /// Position in the world's buffers.
    pub fn index(self) -> usize {
        match self {
            Track::Waiting => 0,
            Track::Arrivals => 1,
            Track::GpuUtilization => 2,
            Track::GpuMemory => 3,
            Track::QueueShare => 4,
            Track::KvUsage => 5,
            Track::RawDesired => 6,
            Track::Desired => 7,
            Track::Ready => 8,
            Track::TtftP99 => 9,
            Track::Gpus(state) => 10 + usize::from(state.min(7)),
        }
    }
}

/// One point: time and value; NaN never occurs, a gap is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub at: Time,
    pub value: Option<f32>,
}
