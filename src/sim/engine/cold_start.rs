//! From "the container is created" to "the engine answers": the stages of a cold start.
//!
//! Each stage takes the time of its own bottleneck on an otherwise idle link. Several pods that
//! share a registry, a storage service, an NFS server or a node's NIC slow each other down; that
//! contention belongs to the cluster, which knows who else is loading, and is not modelled here.
//! Node bring-up and the wait for a GPU come before, readiness probes after.
//!
//! Durations: measurements published for vLLM (startup profiles of upb-cn/vllm-startup-profiler,
//! Run:ai's model streamer, Tensorfuse, BentoML). Where a source gives a range, the middle is
//! taken: process start 8 to 11 s, parallel workers 5 to 15 s, profiling 2 to 5 s, CUDA graphs 5 to
//! 20 s on typical and about 1 s on fast hosts, warm-up 1 to 5 s.

use super::spec::EngineSpec;
use crate::sim::time::Span;
use serde::{Deserialize, Serialize};

const GIB: f64 = 1_073_741_824.0;
const PROCESS_S: f64 = 9.5;
const WORKERS_S: f64 = 10.0;
const PROFILING_S: f64 = 3.5;
const CUDA_GRAPHS_S: f64 = 7.0;
const WARM_UP_S: f64 = 3.0;
const CACHED_IMAGE_S: f64 = 1.0;
/// Layers are unpacked one after the other.
const UNPACK_BYTES_PER_S: f64 = 0.1e9;
/// Share of PCIe's peak that a copy from pinned memory reaches.
const HBM_COPY_EFFICIENCY: f64 = 0.8;

/// One named part of a cold start, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    ImagePull,
    ImageUnpack,
    ProcessStart,
    /// Reading the weights from where they are.
    WeightsRead,
    /// What the copy to the GPU adds to reading; both overlap, so usually nothing.
    HbmLoad,
    TorchCompile,
    /// Memory profiling and KV-cache allocation.
    Profiling,
    CudaGraphs,
    WarmUp,
}

/// The container image.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Image {
    /// On the node already.
    pub cached: bool,
    pub compressed_bytes: u64,
    pub unpacked_bytes: u64,
    /// What the registry gives one client, bytes per second.
    pub registry_bytes_per_s: f64,
}

impl Image {
    /// A vLLM image: 10 GB to pull at 50 MB/s, 15 GB unpacked. Published pulls take 7 to 10 minutes.
    pub fn vllm(cached: bool) -> Image {
        Image { cached, compressed_bytes: 10_000_000_000, unpacked_bytes: 15_000_000_000, registry_bytes_per_s: 50e6 }
    }
}

/// Where the weights come from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightSource {
    /// Read before on this node and still in memory.
    PageCache,
    LocalNvme,
    /// Object store with a parallel streamer.
    ObjectStoreStreamer,
    /// Object store with a plain client.
    ObjectStore,
    /// Network volume with default throughput (AWS gp3).
    BlockVolume,
    /// Network volume with provisioned throughput (AWS io2).
    FastBlockVolume,
    /// Shared file system (EFS, NFS).
    SharedFiles,
    /// Anything else, bytes per second.
    Rate(f64),
}

impl WeightSource {
    /// What one reader gets when nobody else reads, bytes per second.
    pub fn bytes_per_s(self) -> f64 {
        match self {
            WeightSource::PageCache => 7e9,
            WeightSource::LocalNvme => 3.2e9,
            WeightSource::ObjectStoreStreamer => 3.5 * GIB,
            WeightSource::ObjectStore => 1.2e9,
            WeightSource::BlockVolume => 0.125 * GIB,
            WeightSource::FastBlockVolume => 1.96 * GIB,
            WeightSource::SharedFiles => 0.5e9,
            WeightSource::Rate(rate) => rate,
        }
    }

    /// Whether the bytes pass the node's network card.
    pub fn is_remote(self) -> bool {
        !matches!(self, WeightSource::PageCache | WeightSource::LocalNvme)
    }
}

/// Everything that decides a cold start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ColdStart {
    pub spec: EngineSpec,
    pub image: Image,
    pub weights: WeightSource,
    /// torch.compile's artefacts are on the node or on a shared volume.
    pub compile_cached: bool,
    /// The node's network, bytes per second.
    pub node_bytes_per_s: f64,
}

/// Time to have an image on a node: pull and unpack, or a look at the disk.
pub fn image_time(image: &Image, node_bytes_per_s: f64) -> Span {
    let (pull_s, unpack_s) = image_s(image, node_bytes_per_s);
    Span::from_secs_f64(pull_s + unpack_s)
}

fn image_s(image: &Image, node_bytes_per_s: f64) -> (f64, f64) {
    if image.cached {
        return (CACHED_IMAGE_S, 0.0);
    }
    let rate = image.registry_bytes_per_s.min(node_bytes_per_s);
    let unpack_s = image.unpacked_bytes as f64 / UNPACK_BYTES_PER_S;
    (weights_read_s(image.compressed_bytes as f64, rate), unpack_s)
}

/// torch.compile: fits over models of 24 to 80 layers.
pub fn torch_compile_s(layers: u32, cached: bool) -> f64 {
    let layers = f64::from(layers);
    if cached { 0.7 + 0.15 * layers } else { 2.7 + 0.65 * layers }
}

/// Reading `bytes` of weights at `bytes_per_s`, seconds; a stopped source takes a day.
pub fn weights_read_s(bytes: f64, bytes_per_s: f64) -> f64 {
    if bytes_per_s > 0.0 { (bytes / bytes_per_s).min(86_400.0) } else { 86_400.0 }
}

/// The stages in order. A stage that takes no time is listed with zero.
pub fn stages(start: &ColdStart) -> Vec<(Stage, Span)> {
    let (spec, image) = (&start.spec, &start.image);
    let (pull_s, unpack_s) = image_s(image, start.node_bytes_per_s);
    let bytes = spec.model.weight_bytes(spec.weight_dtype) as f64;
    let mut rate = start.weights.bytes_per_s();
    if start.weights.is_remote() {
        rate = rate.min(start.node_bytes_per_s);
    }
    let read_s = weights_read_s(bytes, rate);
    let gpus = f64::from(spec.gpus().max(1));
    let copy_s = bytes / gpus / (HBM_COPY_EFFICIENCY * spec.gpu.pcie_gb_s_per_direction * 1e9);
    let workers_s = if spec.gpus() > 1 { WORKERS_S } else { 0.0 };
    [
        (Stage::ImagePull, pull_s),
        (Stage::ImageUnpack, unpack_s),
        (Stage::ProcessStart, PROCESS_S + workers_s),
        (Stage::WeightsRead, read_s),
        (Stage::HbmLoad, (copy_s - read_s).max(0.0)),
        (Stage::TorchCompile, torch_compile_s(spec.model.layers, start.compile_cached)),
        (Stage::Profiling, PROFILING_S),
        (Stage::CudaGraphs, CUDA_GRAPHS_S),
        (Stage::WarmUp, WARM_UP_S),
    ]
    .into_iter()
    .map(|(stage, s)| (stage, Span::from_secs_f64(s)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog::{self, Dtype};

    fn start(model: &str, tp: u32, cached: bool) -> ColdStart {
        let spec = EngineSpec::new(catalog::model(model).unwrap(), catalog::gpu("h100-sxm").unwrap(), tp);
        ColdStart {
            spec: EngineSpec { weight_dtype: if tp > 1 { Dtype::Fp8 } else { Dtype::Bf16 }, ..spec },
            image: Image::vllm(cached),
            weights: if cached { WeightSource::LocalNvme } else { WeightSource::ObjectStore },
            compile_cached: cached,
            node_bytes_per_s: 12.5e9,
        }
    }

    fn total_s(start: &ColdStart, stages_of: impl Fn(Stage) -> bool) -> f64 {
        stages(start).into_iter().filter(|(stage, _)| stages_of(*stage)).map(|(_, span)| span.secs_f64()).sum()
    }

    fn is_image(stage: Stage) -> bool {
        matches!(stage, Stage::ImagePull | Stage::ImageUnpack)
    }

    #[test]
    fn an_eight_b_model_takes_half_a_minute_warm_and_a_minute_cold() {
        let warm = total_s(&start("llama-3.1-8b", 1, true), |_| true);
        assert!((warm - 34.0).abs() < 3.0, "{warm}");
        let cold = start("llama-3.1-8b", 1, false);
        let engine = total_s(&cold, |s| !is_image(s) && s != Stage::WeightsRead);
        assert!((engine - 46.0).abs() < 2.0, "{engine}");
        let image = total_s(&cold, is_image);
        assert!(image > 200.0 && image < 600.0, "{image}");
    }

    #[test]
    fn a_seventy_b_model_over_four_gpus_takes_longer() {
        let warm = total_s(&start("llama-3.3-70b", 4, true), |_| true);
        assert!((warm - 70.0).abs() < 10.0, "{warm}");
    }

    #[test]
    fn the_slowest_of_source_and_node_network_decides() {
        let mut start = start("llama-3.1-8b", 1, false);
        start.node_bytes_per_s = 0.3125e9;
        let read = total_s(&start, |s| s == Stage::WeightsRead);
        assert!((read - 16.06 / 0.3125).abs() < 0.1, "{read}");
        start.weights = WeightSource::LocalNvme;
        let local = total_s(&start, |s| s == Stage::WeightsRead);
        assert!(local < 6.0, "{local}");
    }

    #[test]
    fn the_copy_to_the_gpu_hides_behind_reading() {
        assert_eq!(total_s(&start("llama-3.1-8b", 1, true), |s| s == Stage::HbmLoad), 0.0);
    }
}
