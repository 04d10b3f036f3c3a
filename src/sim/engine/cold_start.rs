//! From "the container is created" to "the engine answers": the stages of a cold start.
//!
//! [`stages`] gives each stage the time of its own bottleneck on an otherwise idle link. Several pods
//! that share a registry, a storage service, an NFS server or a node's NIC slow each other down:
//! the world plays that out with [`super::links`] and takes the stages of fixed length from here.
//! Node bring-up and the wait for a GPU come before, readiness probes after.
//!
//! Durations: measurements published for vLLM (startup profiles of upb-cn/vllm-startup-profiler,
//! Run:ai's model streamer, Tensorfuse, BentoML). Where a source gives a range, the middle is
//! taken: process start 8 to 11 s, parallel workers 5 to 15 s, profiling 2 to 5 s, CUDA graphs 5 to
//! 20 s on typical and about 1 s on fast hosts, warm-up 1 to 5 s.
//!
//! **Restore.** Instead of starting, a replica can be restored from a checkpoint of a process that
//! was warm and had served nothing (CRIU for the host side, `cuda-checkpoint` for the GPU side). In
//! it are the weights in their format and the host process with its CUDA contexts and graphs; the
//! KV cache is released before. Figures: ai-dynamo/snapshot, `docs/development/benchmarks.md`, and
//! ai-dynamo/dynamo, `docs/blogs/dynamo-snapshot` (vLLM 0.20, B200, one GPU, seven models of 0.6 to
//! 72 B): CRIU with parallel reads takes 1.7 s and then up to 8.9 GiB/s of the image; the copy
//! back to the GPU 9.3 GiB/s of it; waking up one more copy of the weights over PCIe and 0.3 s. The
//! image without weights is 4.3 to 6.7 GiB there, and 4.7 GiB for a 32B model on an H100 (llm-d,
//! `guides/gke-pod-snapshots`); 5 GiB here. The images of the benchmark hold a part of the weights
//! twice (74 GiB for 32B), so that its restores take up to a third longer than those here. Assumed:
//! with several GPUs each rank has such an image and all are restored in parallel (published
//! restores are of one GPU); the checkpoint was made before and lies where the weights come from.
//! Upstream CRIU, without parallel reads, would manage 1.3 GiB/s.

use super::links::{Held, Link};
use super::spec::EngineSpec;
use crate::sim::id::NodeId;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

const GIB: f64 = 1_073_741_824.0;
const PROCESS_S: f64 = 9.5;
const WORKERS_S: f64 = 10.0;
const PROFILING_S: f64 = 3.5;
const CUDA_GRAPHS_S: f64 = 7.0;
const WARM_UP_S: f64 = 3.0;
const CACHED_IMAGE_S: f64 = 1.0;
/// Host process, CUDA context and graphs of one rank, in a checkpoint without weights.
const CHECKPOINT_HOST_BYTES: u64 = 5 << 30;
/// What CRIU with parallel reads takes in at most.
const CRIU_BYTES_PER_S: f64 = 8.9 * GIB;
/// The agent finds its way, CRIU builds the processes, the engine wakes up.
const PROCESS_RESTORE_S: f64 = 2.0;
/// `cuda-checkpoint` copies a rank's image back in one sequence of copies.
const CUDA_RESTORE_BYTES_PER_S: f64 = 9.3 * GIB;
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
    /// Reading a checkpoint instead of weights.
    CheckpointRead,
    /// CRIU builds the processes of the checkpoint.
    ProcessRestore,
    /// The engine did not start; the kubelet waits before it starts the container again.
    BackOff,
}

/// What a stage waits for. Where others share it, `loaders` counts them all; 1 is what a single
/// client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Bottleneck {
    Registry {
        loaders: u32,
    },
    ObjectStore {
        loaders: u32,
    },
    /// The file server.
    Files {
        loaders: u32,
    },
    BlockVolume,
    /// The node's network card.
    Nic {
        loaders: u32,
    },
    /// The node's local disk.
    Nvme {
        loaders: u32,
    },
    /// A look at the disk: the image is there.
    CachedImage,
    /// Layers are unpacked one after the other.
    Unpack,
    /// Python imports, worker processes, NCCL.
    ProcessStart,
    /// PCIe.
    HbmCopy,
    Compile {
        cached: bool,
    },
    Profiling,
    CudaGraphs,
    WarmUp,
    /// CRIU.
    ProcessRestore,
    BackOff,
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

    /// The link that all its readers share, if there is one.
    fn shared(self, node: NodeId) -> Option<Link> {
        match self {
            WeightSource::ObjectStoreStreamer | WeightSource::ObjectStore => Some(Link::ObjectStore),
            WeightSource::SharedFiles => Some(Link::Files),
            WeightSource::LocalNvme => Some(Link::Nvme(node)),
            WeightSource::PageCache
            | WeightSource::BlockVolume
            | WeightSource::FastBlockVolume
            | WeightSource::Rate(_) => None,
        }
    }

    /// The links that a read on a node passes, with their capacities.
    pub fn links(self, node: NodeId, capacity: impl Fn(Link) -> f64) -> Vec<(Link, f64)> {
        let nic = self.is_remote().then_some(Link::Nic(node));
        self.shared(node).into_iter().chain(nic).map(|link| (link, capacity(link))).collect()
    }

    /// What holds a read of this source.
    pub fn bottleneck(self, held: Held) -> Bottleneck {
        match (held, self) {
            (Held::Link { link, flows }, _) => Bottleneck::of_link(link, flows),
            (Held::Client, WeightSource::ObjectStoreStreamer | WeightSource::ObjectStore) => {
                Bottleneck::ObjectStore { loaders: 1 }
            }
            (Held::Client, WeightSource::SharedFiles) => Bottleneck::Files { loaders: 1 },
            (Held::Client, WeightSource::LocalNvme | WeightSource::PageCache) => Bottleneck::Nvme { loaders: 1 },
            (Held::Client, WeightSource::BlockVolume | WeightSource::FastBlockVolume | WeightSource::Rate(_)) => {
                Bottleneck::BlockVolume
            }
        }
    }

    /// Whether the bytes pass the node's network card.
    pub fn is_remote(self) -> bool {
        !matches!(self, WeightSource::PageCache | WeightSource::LocalNvme)
    }
}

/// Where a start is: the stage, when it began, when it should end, and what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColdStage {
    pub stage: Stage,
    pub since: Time,
    /// An estimate while bytes move over shared links.
    pub until: Option<Time>,
    pub waits_for: Bottleneck,
}

impl Bottleneck {
    /// A link with so many flows.
    pub fn of_link(link: Link, loaders: u32) -> Bottleneck {
        match link {
            Link::Nic(_) => Bottleneck::Nic { loaders },
            Link::Registry => Bottleneck::Registry { loaders },
            Link::ObjectStore => Bottleneck::ObjectStore { loaders },
            Link::Files => Bottleneck::Files { loaders },
            Link::Nvme(_) => Bottleneck::Nvme { loaders },
        }
    }

    /// What a stage of fixed length waits for; `None` for one that moves bytes over links.
    pub fn of_stage(stage: Stage, compile_cached: bool) -> Option<Bottleneck> {
        Some(match stage {
            Stage::ImagePull | Stage::WeightsRead | Stage::CheckpointRead => return None,
            Stage::ImageUnpack => Bottleneck::Unpack,
            Stage::ProcessStart => Bottleneck::ProcessStart,
            Stage::HbmLoad => Bottleneck::HbmCopy,
            Stage::TorchCompile => Bottleneck::Compile { cached: compile_cached },
            Stage::Profiling => Bottleneck::Profiling,
            Stage::CudaGraphs => Bottleneck::CudaGraphs,
            Stage::WarmUp => Bottleneck::WarmUp,
            Stage::ProcessRestore => Bottleneck::ProcessRestore,
            Stage::BackOff => Bottleneck::BackOff,
        })
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

/// A look at the disk for an image that is there.
pub fn cached_image_time() -> Span {
    Span::from_secs_f64(CACHED_IMAGE_S)
}

/// Unpacking an image that was pulled.
pub fn unpack_time(image: &Image) -> Span {
    Span::from_secs_f64(image.unpacked_bytes as f64 / UNPACK_BYTES_PER_S)
}

/// Python imports and, with several GPUs, the workers and NCCL.
pub fn process_start_time(spec: &EngineSpec) -> Span {
    Span::from_secs_f64(PROCESS_S + if spec.gpus() > 1 { WORKERS_S } else { 0.0 })
}

/// The copy of a GPU's weights over PCIe, which overlaps reading them.
pub fn hbm_copy_time(spec: &EngineSpec) -> Span {
    Span::from_secs_f64(hbm_copy_s(spec))
}

fn bytes_per_gpu(spec: &EngineSpec) -> f64 {
    spec.model.weight_bytes(spec.weight_dtype) as f64 / f64::from(spec.gpus().max(1))
}

fn hbm_copy_s(spec: &EngineSpec) -> f64 {
    bytes_per_gpu(spec) / (HBM_COPY_EFFICIENCY * spec.gpu.pcie_gb_s_per_direction * 1e9)
}

/// What follows the weights until the engine answers.
pub fn engine_stages(spec: &EngineSpec, compile_cached: bool) -> Vec<(Stage, Span)> {
    vec![
        (Stage::TorchCompile, Span::from_secs_f64(torch_compile_s(spec.model.layers, compile_cached))),
        (Stage::Profiling, Span::from_secs_f64(PROFILING_S)),
        (Stage::CudaGraphs, Span::from_secs_f64(CUDA_GRAPHS_S)),
        (Stage::WarmUp, Span::from_secs_f64(WARM_UP_S)),
    ]
}

/// Bytes of a checkpoint: the weights, and the process of every rank.
pub fn checkpoint_bytes(spec: &EngineSpec) -> u64 {
    spec.model.weight_bytes(spec.weight_dtype) + u64::from(spec.gpus().max(1)) * CHECKPOINT_HOST_BYTES
}

/// What one restore takes of a source, bytes per second.
pub fn checkpoint_bytes_per_s(source: WeightSource) -> f64 {
    source.bytes_per_s().min(CRIU_BYTES_PER_S)
}

/// What follows the reading of a checkpoint until the engine answers.
pub fn restore_stages(spec: &EngineSpec) -> Vec<(Stage, Span)> {
    restore_stages_of(spec, checkpoint_bytes(spec))
}

fn restore_stages_of(spec: &EngineSpec, image_bytes: u64) -> Vec<(Stage, Span)> {
    let rank_bytes = image_bytes as f64 / f64::from(spec.gpus().max(1));
    let copy_s = rank_bytes / CUDA_RESTORE_BYTES_PER_S + hbm_copy_s(spec);
    vec![(Stage::ProcessRestore, Span::from_secs_f64(PROCESS_RESTORE_S)), (Stage::HbmLoad, Span::from_secs_f64(copy_s))]
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
    let read = Span::from_secs_f64(read_s);
    let mut stages = vec![
        (Stage::ImagePull, Span::from_secs_f64(pull_s)),
        (Stage::ImageUnpack, Span::from_secs_f64(unpack_s)),
        (Stage::ProcessStart, process_start_time(spec)),
        (Stage::WeightsRead, read),
        (Stage::HbmLoad, hbm_copy_time(spec) - read),
    ];
    stages.extend(engine_stages(spec, start.compile_cached));
    stages
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

    /// ai-dynamo: GiB of the image (blog on Dynamo Snapshot), and seconds from the order to restore
    /// until the process runs (benchmarks of ai-dynamo/snapshot), read as fast as CRIU takes it.
    #[test]
    fn a_restore_of_an_image_of_published_size_takes_what_was_published() {
        let published = [
            ("qwen3-14b", Dtype::Bf16, 47.0, 12.79),
            ("qwen3-32b", Dtype::Bf16, 74.0, 19.38),
            ("llama-3.3-70b", Dtype::Fp8, 86.0, 22.44),
        ];
        for (model, dtype, gib, seconds) in published {
            let spec = EngineSpec::new(catalog::model(model).unwrap(), catalog::gpu("b200-sxm").unwrap(), 1);
            let spec = EngineSpec { weight_dtype: dtype, ..spec };
            let read = weights_read_s(gib * GIB, checkpoint_bytes_per_s(WeightSource::Rate(1e12)));
            let rest: f64 = restore_stages_of(&spec, (gib * GIB) as u64).iter().map(|(_, s)| s.secs_f64()).sum();
            let ratio = (read + rest) / seconds;
            assert!((0.95..1.05).contains(&ratio), "{model}: {} s, published {seconds} s", read + rest);
        }
    }

    /// llm-d, one H100: 65.73 GiB.
    #[test]
    fn a_checkpoint_of_a_32b_model_has_the_published_size() {
        let spec = EngineSpec::new(catalog::model("qwen3-32b").unwrap(), catalog::gpu("h100-sxm").unwrap(), 1);
        let gib = checkpoint_bytes(&spec) as f64 / GIB;
        assert!((gib - 65.73).abs() < 1.0, "{gib}");
    }

    #[test]
    fn a_restore_is_shorter_than_a_start_with_everything_cached() {
        let start = start("llama-3.1-8b", 1, true);
        let rest: f64 = restore_stages(&start.spec).iter().map(|(_, s)| s.secs_f64()).sum();
        let read = weights_read_s(checkpoint_bytes(&start.spec) as f64, WeightSource::LocalNvme.bytes_per_s());
        assert!(read + rest < total_s(&start, |_| true) / 2.0, "{}", read + rest);
    }

    #[test]
    fn the_copy_to_the_gpu_hides_behind_reading() {
        assert_eq!(total_s(&start("llama-3.1-8b", 1, true), |s| s == Stage::HbmLoad), 0.0);
    }
}
