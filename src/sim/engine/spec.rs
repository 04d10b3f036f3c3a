//! What a deployment asks of the engine: model, GPU, number formats, parallel shape and flags.

use crate::sim::catalog::gpus::MigProfile;
use crate::sim::catalog::{Dtype, Gpu, Model};
use serde::{Deserialize, Serialize};

/// What connects the GPUs of one tensor-parallel group, or two pipeline stages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Fabric {
    /// All in one NVLink domain (on parts without NVLink: the same as `Pcie`).
    InDomain,
    /// One box without NVLink between the GPUs.
    Pcie,
    /// Several boxes; `nic_gb_s` is one GPU's share of the network, one direction, 1e9 bytes/s.
    AcrossNodes { nic_gb_s: f64 },
}

/// CPU time between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostProfile {
    /// vLLM with async scheduling, the default of recent releases.
    Async,
    /// The synchronous loop of vLLM up to 0.12.
    Sync,
    /// A C++ runtime (TensorRT-LLM): hardly any time per sampled token.
    Lean,
}

impl HostProfile {
    /// Fixed time per step and time per sampled token, microseconds.
    pub fn step_and_token_us(self) -> (f64, f64) {
        match self {
            HostProfile::Async => (300.0, 15.0),
            HostProfile::Sync => (1000.0, 40.0),
            HostProfile::Lean => (300.0, 2.0),
        }
    }
}

/// The hardware side of a replica: everything that decides how long a step takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EngineSpec {
    pub model: &'static Model,
    pub gpu: &'static Gpu,
    /// Run on this slice of each GPU; then `tp` must be 1.
    pub mig: Option<&'static MigProfile>,
    pub weight_dtype: Dtype,
    pub kv_dtype: Dtype,
    /// Tensor-parallel size.
    pub tp: u32,
    /// Pipeline stages.
    pub pp: u32,
    /// Between the GPUs of a tensor-parallel group.
    pub tp_fabric: Fabric,
    /// Between pipeline stages.
    pub pp_fabric: Fabric,
    pub host: HostProfile,
}

impl EngineSpec {
    /// `tp` GPUs in one box, BF16 throughout, recent release.
    pub fn new(model: &'static Model, gpu: &'static Gpu, tp: u32) -> EngineSpec {
        EngineSpec {
            model,
            gpu,
            mig: None,
            weight_dtype: if model.fp8_only { Dtype::Fp8 } else { Dtype::Bf16 },
            kv_dtype: Dtype::Bf16,
            tp,
            pp: 1,
            tp_fabric: Fabric::InDomain,
            pp_fabric: Fabric::InDomain,
            host: HostProfile::Async,
        }
    }

    /// GPUs (or slices) of one replica.
    pub fn gpus(&self) -> u32 {
        self.tp * self.pp
    }

    /// Memory of the GPU or slice that CUDA reports, GiB.
    pub fn usable_gib(&self) -> f64 {
        self.gpu.usable_gib * self.mig.map_or(1.0, MigProfile::memory_fraction)
    }

    /// Peak bandwidth of the GPU or slice, bytes per microsecond.
    pub(super) fn bytes_per_us(&self) -> f64 {
        self.gpu.bandwidth_gb_s * 1e3 * self.mig.map_or(1.0, MigProfile::memory_fraction)
    }

    /// Peak BF16 arithmetic of the GPU or slice, operations per microsecond.
    pub(super) fn bf16_ops_per_us(&self) -> f64 {
        self.gpu.bf16_tflops * 1e6 * self.mig.map_or(1.0, MigProfile::compute_fraction)
    }

    /// Peak arithmetic on the weights' format. Without FP8 tensor cores FP8 weights are unpacked
    /// and multiplied in BF16.
    pub(super) fn weight_ops_per_us(&self) -> f64 {
        let tflops = match self.weight_dtype {
            Dtype::Bf16 => self.gpu.bf16_tflops,
            Dtype::Fp8 => self.gpu.fp8_tflops.unwrap_or(self.gpu.bf16_tflops),
        };
        tflops * 1e6 * self.mig.map_or(1.0, MigProfile::compute_fraction)
    }

    /// How many ways the KV heads are split inside a stage; beyond that they are duplicated.
    /// MLA's latent cache is not split at all.
    pub(super) fn kv_split(&self) -> u32 {
        match self.model.mla_values_per_token {
            Some(_) => 1,
            None => self.tp.min(self.model.kv_heads).max(1),
        }
    }
}

/// The flags of `vllm serve` that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EngineSettings {
    /// Share of the GPU's total memory that the server may take, 0 to 1.
    pub gpu_memory_utilization: f64,
    /// Longest prompt plus output, tokens; `None`: the model's own context length.
    pub max_model_len: Option<u32>,
    /// Token budget of one step.
    pub max_num_batched_tokens: u32,
    /// Most running requests.
    pub max_num_seqs: u32,
    /// Releases from about 0.21 on subtract the memory of CUDA graphs before sizing the cache.
    pub counts_cuda_graph_memory: bool,
}

impl EngineSettings {
    /// The API server's defaults on this GPU (vLLM `arg_utils`): the large pair on GPUs with at
    /// least 70 GiB whose name does not contain "a100", else the small pair.
    pub fn defaults(gpu: &Gpu) -> EngineSettings {
        let large = gpu.usable_gib >= 70.0 && !gpu.id.contains("a100");
        EngineSettings {
            gpu_memory_utilization: 0.92,
            max_model_len: None,
            max_num_batched_tokens: if large { 8192 } else { 2048 },
            max_num_seqs: if large { 1024 } else { 256 },
            counts_cuda_graph_memory: true,
        }
    }
}
