//! The scaling signals: one table from which metric names and paths are taken.

use serde::{Deserialize, Serialize};

/// A quantity that an autoscaler can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Percent of time in which at least one kernel ran, averaged over a pod's GPUs.
    GpuUtilization,
    /// Percent of GPU memory in use.
    GpuMemory,
    /// Cores in use.
    Cpu,
    /// Bytes of memory in use.
    Memory,
    /// Requests waiting in the engine.
    QueueDepth,
    /// Requests in the running batch.
    RunningRequests,
    /// Share of KV-cache blocks in use, 0 to 1.
    KvCacheUsage,
    /// 95th percentile of time to first token, in seconds.
    TtftP95,
    /// 99th percentile of time to first token, in seconds.
    TtftP99,
    /// Output tokens per second.
    TokensPerSecond,
    /// Requests per second that met their SLO.
    Goodput,
}

/// Who measures a signal, and so which hops delay it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SignalPath {
    /// DCGM exporter, then Prometheus, then the adapter: three unsynchronised clocks.
    Dcgm,
    /// The engine's own `/metrics`, then Prometheus, then the adapter.
    Prometheus,
    /// metrics-server, for cpu and memory.
    MetricsServer,
}

/// Who picks an exposed value up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Scraper {
    Prometheus,
    MetricsServer,
}

impl Signal {
    /// Every signal, in a fixed order.
    pub const ALL: [Signal; 11] = [
        Signal::GpuUtilization,
        Signal::GpuMemory,
        Signal::Cpu,
        Signal::Memory,
        Signal::QueueDepth,
        Signal::RunningRequests,
        Signal::KvCacheUsage,
        Signal::TtftP95,
        Signal::TtftP99,
        Signal::TokensPerSecond,
        Signal::Goodput,
    ];

    /// The name in an HPA's or a trigger's metric field. Exporters' own names where one series is
    /// the signal; names of recording rules where it is computed.
    pub fn metric_name(self) -> &'static str {
        match self {
            Signal::GpuUtilization => "DCGM_FI_DEV_GPU_UTIL",
            Signal::GpuMemory => "gpu_memory_used_percent",
            Signal::Cpu => "cpu",
            Signal::Memory => "memory",
            Signal::QueueDepth => "vllm:num_requests_waiting",
            Signal::RunningRequests => "vllm:num_requests_running",
            Signal::KvCacheUsage => "vllm:kv_cache_usage_perc",
            Signal::TtftP95 => "ttft_p95_seconds",
            Signal::TtftP99 => "ttft_p99_seconds",
            Signal::TokensPerSecond => "generation_tokens_per_second",
            Signal::Goodput => "goodput_requests_per_second",
        }
    }

    /// The signal of that metric name.
    pub fn from_metric_name(name: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|s| s.metric_name() == name)
    }

    pub fn path(self) -> SignalPath {
        match self {
            Signal::GpuUtilization | Signal::GpuMemory => SignalPath::Dcgm,
            Signal::Cpu | Signal::Memory => SignalPath::MetricsServer,
            _ => SignalPath::Prometheus,
        }
    }

    pub fn scraper(self) -> Scraper {
        match self.path() {
            SignalPath::MetricsServer => Scraper::MetricsServer,
            SignalPath::Dcgm | SignalPath::Prometheus => Scraper::Prometheus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metric_names_are_unique_and_read_back() {
        for signal in Signal::ALL {
            assert_eq!(Signal::from_metric_name(signal.metric_name()), Some(signal));
        }
        assert_eq!(Signal::from_metric_name("nvidia_gpu_magic"), None);
    }
}
