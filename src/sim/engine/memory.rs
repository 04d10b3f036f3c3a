//! Memory of a replica: weights, KV cache, and whether the server starts at all.
//!
//! vLLM takes `gpu_memory_utilization` of what CUDA reports, loads the weights, keeps a reserve for
//! activations and NCCL, and turns the rest into KV blocks once and for all.

use super::spec::{EngineSettings, EngineSpec};
use crate::sim::catalog::Dtype;
use serde::{Deserialize, Serialize};

/// Tokens per KV block.
pub const BLOCK_TOKENS: u32 = 16;
const GIB: f64 = 1_073_741_824.0;
/// Activations, workspace and context, GiB; more for NCCL and for counted CUDA graphs.
const RESERVE_GIB: f64 = 0.5;
const RESERVE_NCCL_GIB: f64 = 0.7;
const RESERVE_GRAPHS_GIB: f64 = 1.0;

/// What bounds a running replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineLimits {
    /// Most running requests.
    pub max_num_seqs: u32,
    /// Token budget of one step.
    pub max_num_batched_tokens: u32,
    /// Longest prompt plus output, tokens.
    pub max_model_len: u32,
    /// KV blocks of [`BLOCK_TOKENS`] tokens, the null block included.
    pub kv_blocks: u32,
}

impl EngineLimits {
    /// Blocks that requests can hold: vLLM keeps one as the null block.
    pub fn usable_blocks(&self) -> u32 {
        self.kv_blocks.saturating_sub(1)
    }
}

/// Why a server does not start (it exits, and the pod goes into a crash loop).
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum StartError {
    #[error("tensor-parallel size {tp} does not divide the {heads} attention heads")]
    TpDoesNotDivideHeads { tp: u32, heads: u32 },
    #[error("{pp} pipeline stages for {layers} layers")]
    PipelineTooDeep { pp: u32, layers: u32 },
    #[error("a MIG slice has no link to another GPU: tensor-parallel size {tp} is not possible")]
    SliceCannotBeParallel { tp: u32 },
    #[error("weights in this number format are not available for this model or GPU")]
    WeightFormat { dtype: Dtype },
    #[error("a KV cache in this number format is not available on this GPU")]
    KvFormat { dtype: Dtype },
    #[error("gpu_memory_utilization {value} is not above 0 and at most 1")]
    UtilizationOutOfRange { value: f64 },
    #[error("max_num_batched_tokens {tokens} is below max_num_seqs {seqs}")]
    BatchedTokensBelowSeqs { tokens: u32, seqs: u32 },
    #[error("weights take {weights_gib:.2} GiB per GPU, and only {available_gib:.2} GiB are left for them")]
    WeightsDoNotFit { weights_gib: f64, available_gib: f64 },
    #[error("the KV cache holds {kv_tokens} tokens, fewer than max_model_len {max_model_len}")]
    MaxModelLenDoesNotFit { kv_tokens: u64, max_model_len: u32, short_gib: f64 },
}

/// Memory per GPU, GiB, that was missing; 0 when memory was not the reason.
pub fn short_gib(error: &StartError) -> f64 {
    match *error {
        StartError::WeightsDoNotFit { weights_gib, available_gib } => weights_gib - available_gib,
        StartError::MaxModelLenDoesNotFit { short_gib, .. } => short_gib,
        _ => 0.0,
    }
}

/// Weight bytes on the fullest GPU of the replica.
pub fn weight_bytes_per_gpu(spec: &EngineSpec) -> f64 {
    let model = spec.model;
    let tp = f64::from(spec.tp.max(1));
    if spec.pp <= 1 {
        return model.weight_bytes(spec.weight_dtype) as f64 / tp;
    }
    let layers = (model.linear_params * spec.weight_dtype.bytes()) as f64 / f64::from(spec.pp);
    let ends = model.embedding_params.max(model.lm_head_params) * Dtype::Bf16.bytes();
    (layers + ends as f64) / tp
}

/// KV bytes of one token on one GPU.
pub fn kv_bytes_per_token_per_gpu(spec: &EngineSpec) -> f64 {
    spec.model.kv_bytes_per_token(spec.kv_dtype) as f64 / f64::from(spec.kv_split()) / f64::from(spec.pp.max(1))
}

/// Tokens the KV cache holds, whole blocks; negative room counts as an error with its numbers.
pub fn kv_capacity_tokens(spec: &EngineSpec, settings: &EngineSettings) -> Result<u64, StartError> {
    let usable_gib = spec.usable_gib();
    let mut reserve_gib = RESERVE_GIB;
    if spec.tp > 1 {
        reserve_gib += RESERVE_NCCL_GIB;
    }
    if settings.counts_cuda_graph_memory {
        reserve_gib += RESERVE_GRAPHS_GIB;
    }
    let weights_gib = weight_bytes_per_gpu(spec) / GIB;
    let available_gib = settings.gpu_memory_utilization * usable_gib - reserve_gib;
    if available_gib <= weights_gib {
        return Err(StartError::WeightsDoNotFit { weights_gib, available_gib });
    }
    let tokens = (available_gib - weights_gib) * GIB / kv_bytes_per_token_per_gpu(spec);
    let block = f64::from(BLOCK_TOKENS);
    Ok((tokens / block).floor() as u64 * u64::from(BLOCK_TOKENS))
}

/// Checks the number formats and the parallel shape.
pub fn check_shape(spec: &EngineSpec) -> Result<(), StartError> {
    let (model, gpu) = (spec.model, spec.gpu);
    if !model.allows_tp(spec.tp) {
        return Err(StartError::TpDoesNotDivideHeads { tp: spec.tp, heads: model.heads });
    }
    if spec.pp == 0 || spec.pp > model.layers {
        return Err(StartError::PipelineTooDeep { pp: spec.pp, layers: model.layers });
    }
    if spec.mig.is_some() && spec.gpus() > 1 {
        return Err(StartError::SliceCannotBeParallel { tp: spec.gpus() });
    }
    let weights_ok = match spec.weight_dtype {
        Dtype::Bf16 => !model.fp8_only,
        Dtype::Fp8 => gpu.efficiency.gemm_fp8.is_some(),
    };
    if !weights_ok {
        return Err(StartError::WeightFormat { dtype: spec.weight_dtype });
    }
    if spec.kv_dtype == Dtype::Fp8 && gpu.efficiency.decode_fp8.is_none() {
        return Err(StartError::KvFormat { dtype: spec.kv_dtype });
    }
    Ok(())
}

/// Everything that vLLM checks before it serves.
///
/// # Errors
/// The first reason why the server would exit, with the numbers of its log line.
pub fn start(spec: &EngineSpec, settings: &EngineSettings) -> Result<EngineLimits, StartError> {
    check_shape(spec)?;
    if settings.max_num_batched_tokens < settings.max_num_seqs || settings.max_num_seqs == 0 {
        return Err(StartError::BatchedTokensBelowSeqs {
            tokens: settings.max_num_batched_tokens,
            seqs: settings.max_num_seqs,
        });
    }
    let value = settings.gpu_memory_utilization;
    if !(value > 0.0 && value <= 1.0) {
        return Err(StartError::UtilizationOutOfRange { value });
    }
    let kv_tokens = kv_capacity_tokens(spec, settings)?;
    let max_model_len = settings.max_model_len.unwrap_or(spec.model.context_length);
    if kv_tokens < u64::from(max_model_len) {
        let missing_tokens = (u64::from(max_model_len) - kv_tokens) as f64;
        let short_gib = missing_tokens * kv_bytes_per_token_per_gpu(spec) / GIB;
        return Err(StartError::MaxModelLenDoesNotFit { kv_tokens, max_model_len, short_gib });
    }
    Ok(EngineLimits {
        max_num_seqs: settings.max_num_seqs,
        max_num_batched_tokens: settings.max_num_batched_tokens,
        max_model_len,
        kv_blocks: u32::try_from(kv_tokens / u64::from(BLOCK_TOKENS)).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog;
    use crate::sim::engine::spec::Fabric;

    fn spec(model: &str, gpu: &str, tp: u32, dtype: Dtype) -> EngineSpec {
        let (model, gpu) = (catalog::model(model).unwrap(), catalog::gpu(gpu).unwrap());
        EngineSpec { weight_dtype: dtype, ..EngineSpec::new(model, gpu, tp) }
    }

    #[test]
    fn the_native_context_of_an_eight_b_model_does_not_start_on_an_a10g() {
        let spec = spec("llama-3.1-8b", "a10g", 1, Dtype::Bf16);
        let mut settings = EngineSettings::defaults(spec.gpu);
        let error = start(&spec, &settings).unwrap_err();
        let StartError::MaxModelLenDoesNotFit { kv_tokens, max_model_len, short_gib } = error else {
            panic!("{error}")
        };
        assert_eq!(max_model_len, 131_072);
        assert!(kv_tokens < 40_000, "{kv_tokens}");
        let missing = f64::from(max_model_len) - kv_tokens as f64;
        assert!((short_gib - missing * 131_072.0 / GIB).abs() < 1e-9);
        settings.max_model_len = Some(8192);
        assert!(start(&spec, &settings).is_ok());
    }

    #[test]
    fn weights_that_do_not_fit_are_refused_with_both_sizes() {
        let spec = spec("llama-3.3-70b", "h100-sxm", 1, Dtype::Bf16);
        let error = start(&spec, &EngineSettings::defaults(spec.gpu)).unwrap_err();
        let StartError::WeightsDoNotFit { weights_gib, available_gib } = error else { panic!("{error}") };
        assert!((weights_gib - 131.41).abs() < 0.01 && available_gib < 73.0);
        assert!((short_gib(&error) - (weights_gib - available_gib)).abs() < 1e-9);
        assert!(error.to_string().contains("131.4"), "{error}");
    }

    #[test]
    fn deepseek_v3_needs_more_than_eight_h100() {
        let settings =
            |spec: &EngineSpec| EngineSettings { max_model_len: Some(32_768), ..EngineSettings::defaults(spec.gpu) };
        let small = spec("deepseek-v3", "h100-sxm", 8, Dtype::Fp8);
        assert!(matches!(start(&small, &settings(&small)), Err(StartError::WeightsDoNotFit { .. })));
        let large = spec("deepseek-v3", "h200-sxm", 8, Dtype::Fp8);
        assert!(start(&large, &settings(&large)).is_ok());
        let two_boxes = EngineSpec { pp: 2, pp_fabric: Fabric::AcrossNodes { nic_gb_s: 50.0 }, ..small };
        assert!(start(&two_boxes, &settings(&two_boxes)).is_ok());
    }

    #[test]
    fn an_fp8_eight_b_model_does_not_fit_the_smallest_slice() {
        let gpu = catalog::gpu("h100-sxm").unwrap();
        let on = |name: &str, dtype| EngineSpec {
            mig: gpu.mig.iter().find(|m| m.name == name),
            ..spec("llama-3.1-8b", "h100-sxm", 1, dtype)
        };
        let settings = EngineSettings {
            max_model_len: Some(4096),
            counts_cuda_graph_memory: false,
            gpu_memory_utilization: 0.9,
            ..EngineSettings::defaults(gpu)
        };
        assert!(start(&on("1g.10gb", Dtype::Fp8), &settings).is_err());
        assert!(start(&on("3g.40gb", Dtype::Bf16), &settings).is_ok());
    }

    #[test]
    fn kv_heads_are_duplicated_beyond_their_number_and_mla_is_never_split() {
        let per_gpu = |tp| kv_bytes_per_token_per_gpu(&spec("llama-3.3-70b", "h100-sxm", tp, Dtype::Bf16));
        assert_eq!(per_gpu(8), per_gpu(16));
        assert_eq!(per_gpu(1), 8.0 * per_gpu(8));
        let mla = |tp| kv_bytes_per_token_per_gpu(&spec("deepseek-v3", "h200-sxm", tp, Dtype::Fp8));
        assert_eq!(mla(1), mla(8));
    }

    #[test]
    fn a_share_of_memory_must_be_a_share() {
        let spec = spec("llama-3.1-8b", "h100-sxm", 1, Dtype::Bf16);
        for value in [0.0, -0.5, 1.01, f64::NAN, f64::INFINITY] {
            let settings = EngineSettings { gpu_memory_utilization: value, ..EngineSettings::defaults(spec.gpu) };
            assert!(matches!(start(&spec, &settings), Err(StartError::UtilizationOutOfRange { .. })), "{value}");
        }
    }

    #[test]
    fn a_budget_below_the_seats_is_refused() {
        let spec = spec("llama-3.1-8b", "h100-sxm", 1, Dtype::Bf16);
        let settings = EngineSettings { max_num_batched_tokens: 100, ..EngineSettings::defaults(spec.gpu) };
        let error = StartError::BatchedTokensBelowSeqs { tokens: 100, seqs: 1024 };
        assert_eq!(start(&spec, &settings), Err(error));
    }
}
