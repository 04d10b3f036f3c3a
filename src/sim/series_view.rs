//! The time series that the charts draw, sampled on a fixed step.

use super::id::ServiceId;
use super::metrics::Signal;
use super::time::Time;

/// One drawn quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Track {
    /// Requests waiting at gateways and engines.
    Waiting,
    /// Arrivals per second, over the last step.
    Arrivals,
    /// GPUs by ledger state, in the order of `GpuUse::ALL`.
    Gpus(u8),
    /// A quantity of one service.
    Of(ServiceId, ServiceTrack),
}

impl Track {
    /// Tracks of the whole cluster, GPU states included.
    pub const CLUSTER: usize = 10;

    /// Position in the world's buffers; `None` for a service's.
    pub fn index(self) -> Option<usize> {
        match self {
            Track::Waiting => Some(0),
            Track::Arrivals => Some(1),
            Track::Gpus(state) => Some(2 + usize::from(state.min(7))),
            Track::Of(..) => None,
        }
    }
}

/// One drawn quantity of a service. The order is fixed: it indexes the world's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServiceTrack {
    /// The mean over its pods of what the adapter serves, in the metric's own unit.
    GpuUtilization,
    SmActive,
    TensorActive,
    DramActive,
    FbUsed,
    PowerUsage,
    Running,
    Waiting,
    KvUsage,
    /// Percentiles over all its pods, as a query reads them from the buckets, in seconds.
    TtftP95,
    TtftP99,
    TpotP95,
    /// Output tokens per second of all its pods.
    TokensPerSecond,
    /// Raw wish of the HPA, wish after limits, and ready replicas.
    RawDesired,
    Desired,
    Ready,
    /// P99 of time to first token over the last minute, in seconds, from the requests themselves.
    ExactTtftP99,
}

impl ServiceTrack {
    pub const ALL: [ServiceTrack; 17] = [
        ServiceTrack::GpuUtilization,
        ServiceTrack::SmActive,
        ServiceTrack::TensorActive,
        ServiceTrack::DramActive,
        ServiceTrack::FbUsed,
        ServiceTrack::PowerUsage,
        ServiceTrack::Running,
        ServiceTrack::Waiting,
        ServiceTrack::KvUsage,
        ServiceTrack::TtftP95,
        ServiceTrack::TtftP99,
        ServiceTrack::TpotP95,
        ServiceTrack::TokensPerSecond,
        ServiceTrack::RawDesired,
        ServiceTrack::Desired,
        ServiceTrack::Ready,
        ServiceTrack::ExactTtftP99,
    ];

    /// The signals that the signal chart lays over one another, in the order of its legend.
    pub const SIGNALS: &'static [ServiceTrack] = ServiceTrack::ALL.split_at(13).0;

    pub fn index(self) -> usize {
        self as usize
    }

    /// The signal that it shows, if it shows one.
    pub fn signal(self) -> Option<Signal> {
        Some(match self {
            ServiceTrack::GpuUtilization => Signal::GpuUtilization,
            ServiceTrack::SmActive => Signal::SmActive,
            ServiceTrack::TensorActive => Signal::TensorActive,
            ServiceTrack::DramActive => Signal::DramActive,
            ServiceTrack::FbUsed => Signal::FbUsed,
            ServiceTrack::PowerUsage => Signal::PowerUsage,
            ServiceTrack::Running => Signal::RunningRequests,
            ServiceTrack::Waiting => Signal::QueueDepth,
            ServiceTrack::KvUsage => Signal::KvCacheUsage,
            ServiceTrack::TtftP95 => Signal::TtftP95,
            ServiceTrack::TtftP99 => Signal::TtftP99,
            ServiceTrack::TpotP95 => Signal::TpotP95,
            ServiceTrack::TokensPerSecond => Signal::TokensPerSecond,
            ServiceTrack::RawDesired | ServiceTrack::Desired | ServiceTrack::Ready | ServiceTrack::ExactTtftP99 => {
                return None;
            }
        })
    }

    /// The track that shows a signal: memory as a percentage is drawn as the memory it is of.
    pub fn of_signal(signal: Signal) -> Option<ServiceTrack> {
        let signal = if signal == Signal::GpuMemory { Signal::FbUsed } else { signal };
        ServiceTrack::ALL.into_iter().find(|t| t.signal() == Some(signal))
    }
}

/// One point: time and value; NaN never occurs, a gap is `None`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub at: Time,
    pub value: Option<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracks_stand_at_their_index_and_signals_find_theirs() {
        for (i, track) in ServiceTrack::ALL.into_iter().enumerate() {
            assert_eq!(track.index(), i);
            if let Some(signal) = track.signal() {
                assert_eq!(ServiceTrack::of_signal(signal), Some(track));
            }
        }
        assert!(ServiceTrack::SIGNALS.iter().all(|t| t.signal().is_some()));
        assert_eq!(ServiceTrack::of_signal(Signal::GpuMemory), Some(ServiceTrack::FbUsed));
        assert_eq!(Track::Gpus(7).index(), Some(Track::CLUSTER - 1));
    }
}
