//! How long one engine step takes.
//!
//! A step decodes one token for each of `B` requests and computes zero or more prompt chunks in the
//! same forward pass. The model is additive,
//! `T = host + small kernels + linear + head + decode attention + prefill attention + all-reduce`,
//! so that with `B` fixed it is linear in `S`, the sum of the decoding requests' contexts:
//! `T = a(B, chunks) + b * S`. [`Replica`](super::Replica) rests on that form.
//!
//! Every term is a roofline with fitted efficiencies (catalogue, `gpus`); the forms follow the
//! kernel tables of ai-dynamo/aiconfigurator and the profiles of microsoft/vidur. Real expert
//! routing is skewed, so MoE steps of 16 to 64 tokens are over-estimated by 10 to 40 %.
//! Pipeline parallelism is a derived simplification with low confidence: see [`StepCost::step_us`].

use super::collectives::{AllReduceCost, link};
use super::memory::{StartError, check_shape};
use super::spec::EngineSpec;
use crate::sim::catalog::Dtype;
use crate::sim::catalog::gpus::GemmEfficiency;
use crate::sim::catalog::models::Moe;
use crate::sim::math;
use serde::Serialize;
use std::sync::Arc;

/// GEMMs per dense layer, and per layer whose FFN is routed.
const GEMMS_DENSE: f64 = 4.0;
const GEMMS_MOE: f64 = 2.0;
/// Extra kernels of multi-head latent attention, per layer, and its larger prefill heads.
const MLA_LAYER_US: f64 = 60.0;
const MLA_PREFILL: f64 = 1.25;
/// Routing and the grouped GEMM's launch, per MoE layer.
const MOE_LAYER_US: f64 = 40.0;
const MOE_WEIGHT_EFFICIENCY: f64 = 0.85;
/// Latency of handing activations to the next pipeline stage.
const STAGE_SEND_US: f64 = 10.0;

/// Batch sizes that are tabulated; larger ones are computed each time.
const TABLE_MAX: u32 = 4096;

/// Soft maximum of a fixed memory time and an arithmetic time per token.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
struct Roofline {
    memory_us: f64,
    us_per_token: f64,
    p: f64,
}

impl Roofline {
    fn us(&self, tokens: f64) -> f64 {
        soft_max(self.memory_us, self.us_per_token * tokens, self.p)
    }
}

/// `(x^p + y^p)^(1/p)` without overflow.
fn soft_max(x: f64, y: f64, p: f64) -> f64 {
    let (low, high) = if x < y { (x, y) } else { (y, x) };
    if low <= 0.0 {
        return high;
    }
    let ratio = low / high;
    if p == 2.0 {
        return high * (1.0 + ratio * ratio).sqrt();
    }
    high * math::pow(1.0 + math::pow(ratio, p), 1.0 / p)
}

/// One routed-experts layer on one GPU of the group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct MoeCost {
    layers: f64,
    experts: f64,
    /// Probability that one token leaves a given expert untouched.
    miss: f64,
    /// Reading one expert's weights, at the fitted efficiency and at peak.
    expert_us: f64,
    expert_peak_us: f64,
    us_per_token: f64,
}

impl MoeCost {
    fn new(spec: &EngineSpec, moe: &Moe) -> MoeCost {
        let tp = f64::from(spec.tp);
        let params = moe.expert_params as f64 / tp;
        let expert_peak_us = params * spec.weight_dtype.bytes() as f64 / spec.bytes_per_us();
        let compute = match spec.weight_dtype {
            Dtype::Bf16 => 0.5,
            Dtype::Fp8 => 0.25,
        };
        let active = f64::from(moe.experts_per_token);
        MoeCost {
            layers: f64::from(moe.moe_layers),
            experts: f64::from(moe.experts),
            miss: 1.0 - active / f64::from(moe.experts),
            expert_us: expert_peak_us / MOE_WEIGHT_EFFICIENCY,
            expert_peak_us,
            us_per_token: 2.0 * active * params / (compute * spec.weight_ops_per_us()),
        }
    }

    /// Experts that `tokens` tokens touch when routing is even.
    fn touched(&self, tokens: f64) -> f64 {
        self.experts * (1.0 - math::pow(self.miss, tokens))
    }

    fn layer_us(&self, tokens: f64) -> f64 {
        MOE_LAYER_US + soft_max(self.touched(tokens) * self.expert_us, self.us_per_token * tokens, 2.0)
    }
}

/// The prompt chunks of one step, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrefillWork {
    /// New tokens of all chunks.
    pub tokens: u32,
    /// Chunks that complete their prompt and so sample a token.
    pub finishing: u32,
    attention_us: f64,
    largest_tokens: u32,
    largest_attention_us: f64,
}

/// Time that does not depend on the contexts, and what the GPU's memory bus and tensor cores do in
/// it, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct StepBase {
    pub time_us: f64,
    /// Moving weights at peak bandwidth.
    pub dram_us: f64,
    /// Multiplying at peak arithmetic.
    pub tensor_us: f64,
}

/// The step-time model of one replica, with every coefficient worked out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCost {
    gpus: u32,
    pp: f64,
    host_us: f64,
    host_us_per_sample: f64,
    small_us: f64,
    small_us_per_token: f64,
    linear_fixed_us: f64,
    linear: Roofline,
    head: Roofline,
    moe: Option<MoeCost>,
    decode_fixed_us: f64,
    kv_us_per_token: f64,
    kv_peak_us_per_token: f64,
    prefill_fixed_us: f64,
    prefill_us_per_unit: f64,
    prefill_half_tokens: f64,
    all_reduce: AllReduceCost,
    all_reduces: f64,
    bytes_per_token: f64,
    send_us: f64,
    send_us_per_byte: f64,
    weights_peak_us: f64,
    tensor_us_per_token: f64,
    /// `a(B)` for B = 0, 1, ...: a pure decode step without its KV reads.
    #[serde(skip)]
    decode_table: Arc<[StepBase]>,
    /// The LM head for 0, 1, ... sampled tokens.
    #[serde(skip)]
    head_table: Arc<[f64]>,
}

impl StepCost {
    /// Works out the coefficients and tabulates pure decode steps of up to `max_num_seqs` requests.
    ///
    /// # Errors
    /// When the shape or a number format is impossible; memory is not checked here.
    pub fn new(spec: &EngineSpec, max_num_seqs: u32) -> Result<StepCost, StartError> {
        check_shape(spec)?;
        let (model, gpu, eff) = (spec.model, spec.gpu, &spec.gpu.efficiency);
        let missing = StartError::WeightFormat { dtype: spec.weight_dtype };
        let gemm = match spec.weight_dtype {
            Dtype::Bf16 => eff.gemm_bf16,
            Dtype::Fp8 => eff.gemm_fp8.ok_or(missing)?,
        };
        let attention = match spec.kv_dtype {
            Dtype::Bf16 => eff.decode_bf16,
            Dtype::Fp8 => eff.decode_fp8.ok_or(StartError::KvFormat { dtype: spec.kv_dtype })?,
        };
        let layers = f64::from(model.layers);
        let (hidden, tp) = (f64::from(model.hidden), f64::from(spec.tp));
        let bytes_per_us = spec.bytes_per_us();
        let linear_params = linear_params_per_gpu(spec);
        let head_params = f64::from(model.vocab) * hidden / tp;
        let (host_us, host_us_per_sample) = spec.host.step_and_token_us();
        let mla = model.mla_values_per_token.is_some();
        let kv_bytes = model.kv_bytes_per_token(spec.kv_dtype) as f64 / f64::from(spec.kv_split());
        let (gemms, active_ffn, active_moe_params) = match &model.moe {
            None => (GEMMS_DENSE, f64::from(model.ffn), 0.0),
            Some(moe) => (
                GEMMS_MOE,
                f64::from(moe.expert_ffn) * f64::from(moe.experts_per_token + moe.shared_experts),
                f64::from(moe.moe_layers) * f64::from(moe.experts_per_token) * moe.expert_params as f64 / tp,
            ),
        };
        let stage_link = link(gpu, spec.pp_fabric);
        let mut cost = StepCost {
            gpus: spec.gpus(),
            pp: f64::from(spec.pp),
            host_us,
            host_us_per_sample,
            small_us: layers * (eff.layer_fixed_us + if mla { MLA_LAYER_US } else { 0.0 }),
            small_us_per_token: layers * (8.0 * hidden + 3.0 * active_ffn / tp) * 2.0
                / (eff.elementwise * bytes_per_us),
            linear_fixed_us: layers * gemms * gemm.fixed_us,
            linear: roofline(spec, &gemm, spec.weight_dtype, linear_params),
            head: roofline(spec, &eff.gemm_bf16, Dtype::Bf16, head_params),
            moe: model.moe.as_ref().map(|moe| MoeCost::new(spec, moe)),
            decode_fixed_us: layers * attention.layer_fixed_us,
            kv_us_per_token: kv_bytes / (attention.kv * bytes_per_us),
            kv_peak_us_per_token: kv_bytes / bytes_per_us,
            prefill_fixed_us: layers * eff.prefill.layer_fixed_us,
            prefill_us_per_unit: 4.0 * f64::from(model.heads) * f64::from(model.head_dim) * layers / tp
                * if mla { MLA_PREFILL } else { 1.0 }
                / (eff.prefill.compute * spec.bf16_ops_per_us()),
            prefill_half_tokens: eff.prefill.half_tokens,
            all_reduce: AllReduceCost::new(gpu, spec.tp, spec.tp_fabric),
            all_reduces: 2.0 * layers,
            bytes_per_token: hidden * 2.0,
            send_us: f64::from(spec.pp - 1) * STAGE_SEND_US,
            send_us_per_byte: f64::from(spec.pp - 1) / (stage_link.1 * 1e3),
            weights_peak_us: linear_params * spec.weight_dtype.bytes() as f64 / bytes_per_us
                + head_params * 2.0 / bytes_per_us,
            tensor_us_per_token: 2.0 * (linear_params + active_moe_params) / spec.weight_ops_per_us(),
            decode_table: Arc::from([]),
            head_table: Arc::from([]),
        };
        cost.tabulate(max_num_seqs);
        Ok(cost)
    }

    /// An artificial engine whose step takes `fixed_us + us_per_request * B + us_per_kv_token * S`
    /// and whose prompts cost nothing more: one seat and the first term make M/G/1, `c` seats
    /// M/G/c, the second term alone processor sharing.
    pub fn synthetic(fixed_us: f64, us_per_request: f64, us_per_kv_token: f64, max_num_seqs: u32) -> StepCost {
        let none = Roofline { memory_us: 0.0, us_per_token: 0.0, p: 2.0 };
        let mut cost = StepCost {
            gpus: 1,
            pp: 1.0,
            host_us: fixed_us,
            host_us_per_sample: us_per_request,
            small_us: 0.0,
            small_us_per_token: 0.0,
            linear_fixed_us: 0.0,
            linear: none,
            head: none,
            moe: None,
            decode_fixed_us: 0.0,
            kv_us_per_token: us_per_kv_token,
            kv_peak_us_per_token: us_per_kv_token,
            prefill_fixed_us: 0.0,
            prefill_us_per_unit: 0.0,
            prefill_half_tokens: 0.0,
            all_reduce: AllReduceCost::default(),
            all_reduces: 0.0,
            bytes_per_token: 0.0,
            send_us: 0.0,
            send_us_per_byte: 0.0,
            weights_peak_us: fixed_us,
            tensor_us_per_token: us_per_request,
            decode_table: Arc::from([]),
            head_table: Arc::from([]),
        };
        cost.tabulate(max_num_seqs);
        cost
    }

    fn tabulate(&mut self, max_num_seqs: u32) {
        let none = PrefillWork::default();
        let max_num_seqs = max_num_seqs.min(TABLE_MAX);
        self.head_table = (0..=max_num_seqs).map(|m| self.head_us(f64::from(m))).collect();
        self.decode_table = (0..=max_num_seqs).map(|b| self.base(f64::from(b), &none)).collect();
    }

    /// GPUs (or slices) of the replica.
    pub fn gpus(&self) -> u32 {
        self.gpus
    }

    /// Adds a chunk of `new` tokens of a prompt of which `prior` tokens are computed already.
    pub fn add_chunk(&self, work: &mut PrefillWork, new: u32, prior: u32, finishes: bool) {
        let attention_us = self.chunk_attention_us(f64::from(new), f64::from(prior));
        work.tokens += new;
        work.finishing += u32::from(finishes);
        work.attention_us += attention_us;
        work.largest_tokens = work.largest_tokens.max(new);
        work.largest_attention_us = work.largest_attention_us.max(attention_us);
    }

    fn chunk_attention_us(&self, new: f64, prior: f64) -> f64 {
        let pairs = new * prior + new * new / 2.0;
        self.prefill_us_per_unit * pairs * (1.0 + self.prefill_half_tokens / (prior + new).max(1.0))
    }

    /// `a(B)`: a step of `batch` decodes and no chunk, without its KV reads.
    pub fn decode_base(&self, batch: u32) -> StepBase {
        match self.decode_table.get(batch as usize) {
            Some(base) => *base,
            None => self.base(f64::from(batch), &PrefillWork::default()),
        }
    }

    /// `a(B, chunks)`: a step of `batch` decodes and `work`, without its KV reads.
    pub fn mixed_base(&self, batch: u32, work: &PrefillWork) -> StepBase {
        self.base(f64::from(batch), work)
    }

    /// `b`: microseconds per token of context of `batch` decoding requests.
    pub fn kv_us_per_token(&self, batch: u32) -> f64 {
        self.kv_us_per_token / self.micro_batches(f64::from(batch))
    }

    /// The same at peak bandwidth: what the memory bus is busy with.
    pub fn kv_peak_us_per_token(&self) -> f64 {
        self.kv_peak_us_per_token / self.pp
    }

    /// One step of `batch` decodes (may be a mean, hence fractional) whose contexts sum to
    /// `context_tokens`, with `work` beside them.
    ///
    /// With pipeline stages, a step is one cycle of all micro-batches: each request gets one token
    /// in the time that the largest micro-batch needs to pass every stage. A prompt chunk is never
    /// split, so its micro-batch is at least as large as the chunk.
    pub fn step_us(&self, batch: f64, context_tokens: f64, work: &PrefillWork) -> f64 {
        let kv_us = self.kv_us_per_token / self.micro_batches(batch) * context_tokens;
        self.base(batch, work).time_us + kv_us
    }

    /// GEMMs of the layers for `tokens` tokens, microseconds.
    pub fn linear_us(&self, tokens: f64) -> f64 {
        self.linear_fixed_us + self.linear.us(tokens)
    }

    /// Attention of `batch` decoding requests over `context_tokens` in all, microseconds.
    pub fn decode_attention_us(&self, batch: f64, context_tokens: f64) -> f64 {
        if batch <= 0.0 {
            return 0.0;
        }
        self.decode_fixed_us + self.kv_us_per_token / self.micro_batches(batch) * context_tokens
    }

    /// Attention of one prompt chunk, microseconds.
    pub fn prefill_attention_us(&self, new: f64, prior: f64) -> f64 {
        self.prefill_fixed_us + self.chunk_attention_us(new, prior)
    }

    /// One routed-experts layer, microseconds; `None` for dense models.
    pub fn moe_layer_us(&self, tokens: f64) -> Option<f64> {
        self.moe.as_ref().map(|moe| moe.layer_us(tokens))
    }

    /// The LM head for `samples` tokens: from the table where the number is whole and in it.
    fn head_us(&self, samples: f64) -> f64 {
        let index = samples as usize;
        match self.head_table.get(index) {
            Some(us) if index as f64 == samples => *us,
            _ if samples > 0.0 => self.head.us(samples),
            _ => 0.0,
        }
    }

    /// How many micro-batches are in flight: at most one per stage, at least one request each.
    fn micro_batches(&self, batch: f64) -> f64 {
        batch.min(self.pp).max(1.0)
    }

    fn base(&self, batch: f64, work: &PrefillWork) -> StepBase {
        let chunk_tokens = f64::from(work.tokens);
        let all_tokens = batch + chunk_tokens;
        let all_samples = batch + f64::from(work.finishing);
        let (tokens, samples, attention_us) = if self.pp > 1.0 {
            let share = |all: f64, least: f64| (all / self.pp).max(all.min(1.0)).max(least);
            let attention_us = (work.attention_us / self.pp).max(work.largest_attention_us);
            (share(all_tokens, f64::from(work.largest_tokens)), share(all_samples, 0.0), attention_us)
        } else {
            (all_tokens, all_samples, work.attention_us)
        };
        let mut time_us = self.host_us + self.host_us_per_sample * all_samples;
        time_us += self.small_us + self.small_us_per_token * tokens;
        time_us += self.linear_us(tokens);
        time_us += self.head_us(samples);
        if batch > 0.0 {
            time_us += self.decode_fixed_us;
        }
        if work.tokens > 0 {
            time_us += self.prefill_fixed_us + attention_us;
        }
        let bytes = tokens * self.bytes_per_token;
        time_us += self.all_reduces * self.all_reduce.us(bytes);
        time_us += self.send_us + self.send_us_per_byte * bytes;
        let mut dram_us = self.weights_peak_us;
        if let Some(moe) = &self.moe {
            time_us += moe.layers * moe.layer_us(tokens);
            dram_us += moe.layers * moe.touched(tokens) * moe.expert_peak_us;
        }
        StepBase { time_us, dram_us, tensor_us: self.tensor_us_per_token * all_tokens / self.pp }
    }
}

/// Matrix parameters of all layers (without routed experts) that one GPU multiplies with.
fn linear_params_per_gpu(spec: &EngineSpec) -> f64 {
    let model = spec.model;
    let tp = f64::from(spec.tp);
    if let Some(moe) = &model.moe {
        return f64::from(model.layers) * moe.non_expert_params_per_layer as f64 / tp;
    }
    let kv =
        f64::from(model.layers) * 2.0 * f64::from(model.hidden) * f64::from(model.head_dim) * f64::from(model.kv_heads);
    (model.linear_params as f64 - kv) / tp + kv / f64::from(spec.kv_split())
}

fn roofline(spec: &EngineSpec, gemm: &GemmEfficiency, dtype: Dtype, params: f64) -> Roofline {
    let ops_per_us = match dtype {
        Dtype::Bf16 => spec.bf16_ops_per_us(),
        Dtype::Fp8 => spec.weight_ops_per_us(),
    };
    Roofline {
        memory_us: params * dtype.bytes() as f64 / (gemm.weight * spec.bytes_per_us()),
        us_per_token: 2.0 * params / (gemm.compute * ops_per_us),
        p: gemm.roofline_p,
    }
}

#[cfg(test)]
#[path = "step_test.rs"]
mod tests;
