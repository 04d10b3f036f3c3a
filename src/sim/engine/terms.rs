//! The coefficients of the step-time model, worked out from a spec, and the sum of its terms.
//!
//! [`StepCost`](super::step::StepCost) shares one of these between all replicas of the same spec.
//! Powers are slow, so whatever needs them is tabulated: by batch size for pure decode steps, by
//! token count for steps with prompt chunks. The tables hold the values of the formulas, bit for bit.

use super::collectives::{AllReduceCost, link};
use super::memory::{StartError, check_shape};
use super::spec::EngineSpec;
use super::step::{PrefillWork, StepBase};
use crate::sim::catalog::Dtype;
use crate::sim::catalog::gpus::GemmEfficiency;
use crate::sim::catalog::models::Moe;
use crate::sim::math;
use serde::Serialize;

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

/// Batch sizes and token counts that are tabulated; larger ones are computed each time.
const BATCHES_MAX: u32 = 4096;
const TOKENS_MAX: u32 = 65_536;

/// Soft maximum of a fixed memory time and an arithmetic time per token.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(super) struct Roofline {
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
pub(super) struct MoeCost {
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

    pub fn layer_us(&self, tokens: f64) -> f64 {
        self.layer_us_of(self.touched(tokens), tokens)
    }

    fn layer_us_of(&self, touched: f64, tokens: f64) -> f64 {
        MOE_LAYER_US + soft_max(touched * self.expert_us, self.us_per_token * tokens, 2.0)
    }
}

/// Every coefficient of one spec, and the tables.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Terms {
    pub gpus: u32,
    pub pp: f64,
    pub host_us: f64,
    pub host_us_per_sample: f64,
    pub small_us: f64,
    pub small_us_per_token: f64,
    pub linear_fixed_us: f64,
    pub linear: Roofline,
    pub head: Roofline,
    pub moe: Option<MoeCost>,
    pub decode_fixed_us: f64,
    pub kv_us_per_token: f64,
    pub kv_peak_us_per_token: f64,
    pub prefill_fixed_us: f64,
    pub prefill_us_per_unit: f64,
    pub prefill_half_tokens: f64,
    pub all_reduce: AllReduceCost,
    pub all_reduces: f64,
    pub bytes_per_token: f64,
    pub send_us: f64,
    pub send_us_per_byte: f64,
    pub weights_peak_us: f64,
    pub tensor_us_per_token: f64,
    /// `a(B)` for B = 0, 1, ...: a pure decode step without its KV reads.
    #[serde(skip)]
    pub decode_table: Vec<StepBase>,
    /// The LM head for 0, 1, ... sampled tokens.
    #[serde(skip)]
    head_table: Vec<f64>,
    /// The layers' GEMMs for 0, 1, ... tokens, without their fixed time.
    #[serde(skip)]
    linear_table: Vec<f64>,
    /// Experts that 0, 1, ... tokens touch; empty for dense models.
    #[serde(skip)]
    touched_table: Vec<f64>,
}

impl Terms {
    /// # Errors
    /// When the shape or a number format is impossible; memory is not checked here.
    pub fn new(spec: &EngineSpec) -> Result<Terms, StartError> {
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
        Ok(Terms {
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
            decode_table: Vec::new(),
            head_table: Vec::new(),
            linear_table: Vec::new(),
            touched_table: Vec::new(),
        })
    }

    /// See [`StepCost::synthetic`](super::step::StepCost::synthetic).
    pub fn synthetic(fixed_us: f64, us_per_request: f64, us_per_kv_token: f64) -> Terms {
        let none = Roofline { memory_us: 0.0, us_per_token: 0.0, p: 2.0 };
        Terms {
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
            decode_table: Vec::new(),
            head_table: Vec::new(),
            linear_table: Vec::new(),
            touched_table: Vec::new(),
        }
    }

    /// Fills the tables for up to `batches` decoding requests and `tokens` tokens in a step.
    pub fn tabulate(&mut self, batches: u32, tokens: u32) {
        let counts = |most: u32| (0..=most).map(f64::from);
        if tokens > 0 {
            let tokens = tokens.min(TOKENS_MAX);
            self.linear_table = counts(tokens).map(|n| self.linear.us(n)).collect();
            if let Some(moe) = &self.moe {
                self.touched_table = counts(tokens).map(|n| moe.touched(n)).collect();
            }
        }
        let batches = batches.min(BATCHES_MAX);
        // One more: a prompt that is completed beside a full batch samples a token too.
        self.head_table = counts(batches + 1).map(|m| self.head_us(m)).collect();
        self.decode_table = counts(batches).map(|b| self.base(b, &PrefillWork::default())).collect();
    }

    pub fn chunk_attention_us(&self, new: f64, prior: f64) -> f64 {
        let pairs = new * prior + new * new / 2.0;
        self.prefill_us_per_unit * pairs * (1.0 + self.prefill_half_tokens / (prior + new).max(1.0))
    }

    /// GEMMs of the layers for `tokens` tokens, microseconds.
    pub fn linear_us(&self, tokens: f64) -> f64 {
        self.linear_fixed_us + entry(&self.linear_table, tokens).unwrap_or_else(|| self.linear.us(tokens))
    }

    /// The LM head for `samples` tokens.
    fn head_us(&self, samples: f64) -> f64 {
        match entry(&self.head_table, samples) {
            Some(us) => us,
            None if samples > 0.0 => self.head.us(samples),
            None => 0.0,
        }
    }

    /// How many micro-batches are in flight: at most one per stage, at least one request each.
    pub fn micro_batches(&self, batch: f64) -> f64 {
        batch.min(self.pp).max(1.0)
    }

    /// A step of `batch` decodes and `work`, without its KV reads.
    pub fn base(&self, batch: f64, work: &PrefillWork) -> StepBase {
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
        let host_us = self.host_us + self.host_us_per_sample * all_samples;
        let mut time_us = host_us;
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
        let send_us = self.send_us + self.send_us_per_byte * bytes;
        time_us += send_us;
        let mut dram_us = self.weights_peak_us;
        if let Some(moe) = &self.moe {
            let touched = entry(&self.touched_table, tokens).unwrap_or_else(|| moe.touched(tokens));
            time_us += moe.layers * moe.layer_us_of(touched, tokens);
            dram_us += moe.layers * touched * moe.expert_peak_us;
        }
        // Of all stages' time, the share in which a stage has a micro-batch.
        let filled = if tokens > 0.0 { all_tokens / (tokens * self.pp) } else { 0.0 };
        StepBase {
            time_us,
            dram_us,
            tensor_us: self.tensor_us_per_token * all_tokens / self.pp,
            sm_us: (time_us - host_us - send_us) * filled,
        }
    }
}

/// A table's value where the count is whole and in it.
fn entry(table: &[f64], count: f64) -> Option<f64> {
    let index = count as usize;
    table.get(index).filter(|_| index as f64 == count).copied()
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
