//! The scaling signals: one table from which metric names, exporters and paths are taken.

use crate::sim::param::Param;
use serde::{Deserialize, Serialize};

/// A quantity that an autoscaler or a chart can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// Percent of the last second of DCGM's period in which any kernel ran, whatever the batch.
    GpuUtilization,
    /// Share of DCGM's period in which a multiprocessor had work, 0 to 1.
    SmActive,
    /// Share of the tensor cores' peak, 0 to 1: the one GPU signal that grows with the load.
    TensorActive,
    /// Share of the memory bus's peak, 0 to 1: high at one request already, as each step reads
    /// the weights.
    DramActive,
    /// Memory in use, MiB. The engine reserves its KV cache at its start, so it hardly moves.
    FbUsed,
    /// Power, watts.
    PowerUsage,
    /// Percent of GPU memory in use, which a recording rule makes of FB_USED and FB_FREE.
    GpuMemory,
    /// Requests waiting in the engine.
    QueueDepth,
    /// Requests in the running batch.
    RunningRequests,
    /// Share of KV-cache blocks in use, 0 to 1.
    KvCacheUsage,
    /// Prompt tokens per second.
    PromptTokensPerSecond,
    /// Output tokens per second.
    TokensPerSecond,
    /// Preemptions per second.
    PreemptionsPerSecond,
    /// Finished requests per second.
    CompletionsPerSecond,
    /// 95th percentile of time to first token, in seconds.
    TtftP95,
    /// 99th percentile of time to first token, in seconds.
    TtftP99,
    /// 95th percentile of a request's mean time per output token, in seconds.
    TpotP95,
    /// Requests per second that met their SLO.
    Goodput,
}

/// Who measures a signal, and so which hops delay it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Exporter {
    /// DCGM exporter, then Prometheus, then the adapter: three unsynchronised clocks.
    Dcgm,
    /// The engine's own `/metrics`, then Prometheus, then the adapter.
    Engine,
    /// Histograms and counters of a whole service, summed over its pods by the query.
    Service,
}

/// The histograms that engines export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Latency {
    Ttft,
    Tpot,
}

/// How a query makes the signal of what was scraped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The last sample, at this place of the exporter's page.
    Gauge(usize),
    /// `rate()` of the counter at this place of the engine's page.
    Rate(usize),
    /// `histogram_quantile()` over the rates of the service's buckets.
    Quantile(Latency, f64),
    /// `rate()` of the requests that met their SLO.
    MetRate,
}

/// Series on a page of one exporter, at most.
pub const PAGE: usize = 7;
/// First counter of the engine's page, and how many there are.
pub const COUNTERS_FROM: usize = 3;
pub const COUNTERS: usize = PAGE - COUNTERS_FROM;

impl Signal {
    /// Every signal, in a fixed order.
    pub const ALL: [Signal; 18] = [
        Signal::GpuUtilization,
        Signal::SmActive,
        Signal::TensorActive,
        Signal::DramActive,
        Signal::FbUsed,
        Signal::PowerUsage,
        Signal::GpuMemory,
        Signal::QueueDepth,
        Signal::RunningRequests,
        Signal::KvCacheUsage,
        Signal::PromptTokensPerSecond,
        Signal::TokensPerSecond,
        Signal::PreemptionsPerSecond,
        Signal::CompletionsPerSecond,
        Signal::TtftP95,
        Signal::TtftP99,
        Signal::TpotP95,
        Signal::Goodput,
    ];

    /// The name in an HPA's or a trigger's metric field: the exporter's own where one series is the
    /// signal; where it is computed, a recording rule's, which is that name with the operation
    /// after a colon.
    pub fn metric_name(self) -> &'static str {
        match self {
            Signal::GpuUtilization => "DCGM_FI_DEV_GPU_UTIL",
            Signal::SmActive => "DCGM_FI_PROF_SM_ACTIVE",
            Signal::TensorActive => "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
            Signal::DramActive => "DCGM_FI_PROF_DRAM_ACTIVE",
            Signal::FbUsed => "DCGM_FI_DEV_FB_USED",
            Signal::PowerUsage => "DCGM_FI_DEV_POWER_USAGE",
            Signal::GpuMemory => "DCGM_FI_DEV_FB_USED:percent",
            Signal::QueueDepth => "vllm:num_requests_waiting",
            Signal::RunningRequests => "vllm:num_requests_running",
            Signal::KvCacheUsage => "vllm:kv_cache_usage_perc",
            Signal::PromptTokensPerSecond => "vllm:prompt_tokens_total:rate",
            Signal::TokensPerSecond => "vllm:generation_tokens_total:rate",
            Signal::PreemptionsPerSecond => "vllm:num_preemptions_total:rate",
            Signal::CompletionsPerSecond => "vllm:request_success_total:rate",
            Signal::TtftP95 => "vllm:time_to_first_token_seconds:p95",
            Signal::TtftP99 => "vllm:time_to_first_token_seconds:p99",
            Signal::TpotP95 => "vllm:request_time_per_output_token_seconds:p95",
            Signal::Goodput => "requests_within_slo_total:rate",
        }
    }

    /// The exporter's series behind it.
    pub fn series_name(self) -> &'static str {
        let name = self.metric_name();
        match self.kind() {
            Kind::Gauge(_) if self != Signal::GpuMemory => name,
            _ => name.rsplit_once(':').map_or(name, |(series, _)| series),
        }
    }

    /// The signal of that metric name.
    pub fn from_metric_name(name: &str) -> Option<Signal> {
        Signal::ALL.into_iter().find(|s| s.metric_name() == name)
    }

    pub fn kind(self) -> Kind {
        match self {
            Signal::GpuUtilization => Kind::Gauge(0),
            Signal::SmActive => Kind::Gauge(1),
            Signal::TensorActive => Kind::Gauge(2),
            Signal::DramActive => Kind::Gauge(3),
            Signal::FbUsed => Kind::Gauge(4),
            Signal::PowerUsage => Kind::Gauge(5),
            Signal::GpuMemory => Kind::Gauge(6),
            Signal::QueueDepth => Kind::Gauge(0),
            Signal::RunningRequests => Kind::Gauge(1),
            Signal::KvCacheUsage => Kind::Gauge(2),
            Signal::PromptTokensPerSecond => Kind::Rate(COUNTERS_FROM),
            Signal::TokensPerSecond => Kind::Rate(COUNTERS_FROM + 1),
            Signal::PreemptionsPerSecond => Kind::Rate(COUNTERS_FROM + 2),
            Signal::CompletionsPerSecond => Kind::Rate(COUNTERS_FROM + 3),
            Signal::TtftP95 => Kind::Quantile(Latency::Ttft, 0.95),
            Signal::TtftP99 => Kind::Quantile(Latency::Ttft, 0.99),
            Signal::TpotP95 => Kind::Quantile(Latency::Tpot, 0.95),
            Signal::Goodput => Kind::MetRate,
        }
    }

    pub fn exporter(self) -> Exporter {
        match self {
            Signal::GpuUtilization
            | Signal::SmActive
            | Signal::TensorActive
            | Signal::DramActive
            | Signal::FbUsed
            | Signal::PowerUsage
            | Signal::GpuMemory => Exporter::Dcgm,
            Signal::QueueDepth
            | Signal::RunningRequests
            | Signal::KvCacheUsage
            | Signal::PromptTokensPerSecond
            | Signal::TokensPerSecond
            | Signal::PreemptionsPerSecond
            | Signal::CompletionsPerSecond => Exporter::Engine,
            Signal::TtftP95 | Signal::TtftP99 | Signal::TpotP95 | Signal::Goodput => Exporter::Service,
        }
    }
}

/// What one choice of [`Param::Signal`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scaling {
    /// Stable id of the choice.
    pub id: &'static str,
    pub signal: Signal,
    /// The parameter that holds its target.
    pub target: Param,
    /// Thousandths of the signal's unit in one unit of that parameter.
    pub milli: i64,
    /// The most that the signal can read, in thousandths of its unit; `None` without a bound.
    pub most_milli: Option<i64>,
}

impl Scaling {
    /// By index of the choice.
    pub const ALL: [Scaling; 4] = [
        Scaling {
            id: "gpu_utilization",
            signal: Signal::GpuUtilization,
            target: Param::TargetPercent,
            milli: 1000,
            most_milli: Some(100_000),
        },
        Scaling {
            id: "gpu_memory",
            signal: Signal::GpuMemory,
            target: Param::TargetPercent,
            milli: 1000,
            most_milli: Some(100_000),
        },
        Scaling {
            id: "queue_depth",
            signal: Signal::QueueDepth,
            target: Param::TargetWaiting,
            milli: 1000,
            most_milli: None,
        },
        Scaling {
            id: "kv_usage",
            signal: Signal::KvCacheUsage,
            target: Param::TargetKv,
            milli: 10,
            most_milli: Some(1000),
        },
    ];

    /// Of a choice's index; an unknown one reads as the first.
    pub fn of(choice: i64) -> &'static Scaling {
        usize::try_from(choice).ok().and_then(|i| Scaling::ALL.get(i)).unwrap_or(&Scaling::ALL[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::param;
    use std::collections::BTreeSet;

    #[test]
    fn metric_names_are_unique_and_read_back() {
        for signal in Signal::ALL {
            assert_eq!(Signal::from_metric_name(signal.metric_name()), Some(signal));
        }
        assert_eq!(Signal::from_metric_name("nvidia_gpu_magic"), None);
    }

    #[test]
    fn computed_signals_name_the_series_that_they_are_computed_from() {
        assert_eq!(Signal::QueueDepth.series_name(), "vllm:num_requests_waiting");
        assert_eq!(Signal::TtftP99.series_name(), "vllm:time_to_first_token_seconds");
        assert_eq!(Signal::TokensPerSecond.series_name(), "vllm:generation_tokens_total");
        assert_eq!(Signal::GpuMemory.series_name(), Signal::FbUsed.series_name());
    }

    #[test]
    fn no_two_signals_share_a_place_on_a_page() {
        let mut taken = BTreeSet::new();
        for signal in Signal::ALL {
            if let Kind::Gauge(place) | Kind::Rate(place) = signal.kind() {
                assert!(place < PAGE && taken.insert((signal.exporter(), place)), "{signal:?}");
                let counter = signal.exporter() == Exporter::Engine && place >= COUNTERS_FROM;
                assert_eq!(counter, matches!(signal.kind(), Kind::Rate(_)), "{signal:?}");
            }
        }
    }

    #[test]
    fn the_scaling_table_follows_the_choices_of_the_parameter() {
        let param::Kind::Choice(ids) = Param::Signal.kind() else { panic!("a choice") };
        assert_eq!(Scaling::ALL.map(|s| s.id).as_slice(), ids);
    }
}
