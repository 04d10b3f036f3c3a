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

use super::memory::{EngineLimits, StartError};
use super::span::KvActivity;
use super::spec::EngineSpec;
use super::terms::Terms;
use serde::Serialize;
use std::sync::Arc;

/// The prompt chunks of one step, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PrefillWork {
    /// New tokens of all chunks.
    pub tokens: u32,
    /// Chunks that complete their prompt and so sample a token.
    pub finishing: u32,
    pub(super) attention_us: f64,
    pub(super) largest_tokens: u32,
    pub(super) largest_attention_us: f64,
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
    /// Any kernel running: the step without its host time and the sends between pipeline stages.
    pub sm_us: f64,
}

/// The step-time model of one replica. A clone shares coefficients and tables with the original.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCost {
    terms: Arc<Terms>,
}

impl StepCost {
    /// Works out the coefficients and tabulates pure decode steps of up to `max_num_seqs` requests.
    /// Right for a few questions; a replica that serves wants [`StepCost::for_limits`].
    ///
    /// # Errors
    /// When the shape or a number format is impossible; memory is not checked here.
    pub fn new(spec: &EngineSpec, max_num_seqs: u32) -> Result<StepCost, StartError> {
        Ok(StepCost::tabulated(Terms::new(spec)?, max_num_seqs, 0))
    }

    /// The same, and tabulates steps with prompt chunks up to the token budget as well: about a
    /// millisecond of work, and then the same results several times as fast.
    ///
    /// # Errors
    /// As [`StepCost::new`].
    pub fn for_limits(spec: &EngineSpec, limits: &EngineLimits) -> Result<StepCost, StartError> {
        Ok(StepCost::tabulated(Terms::new(spec)?, limits.max_num_seqs, limits.max_num_batched_tokens))
    }

    /// An artificial engine whose step takes `fixed_us + us_per_request * B + us_per_kv_token * S`
    /// and whose prompts cost nothing more: one seat and the first term make M/G/1, `c` seats
    /// M/G/c, the second term alone processor sharing.
    pub fn synthetic(fixed_us: f64, us_per_request: f64, us_per_kv_token: f64, max_num_seqs: u32) -> StepCost {
        StepCost::tabulated(Terms::synthetic(fixed_us, us_per_request, us_per_kv_token), max_num_seqs, 0)
    }

    fn tabulated(mut terms: Terms, batches: u32, tokens: u32) -> StepCost {
        terms.tabulate(batches, tokens);
        StepCost { terms: Arc::new(terms) }
    }

    /// GPUs (or slices) of the replica.
    pub fn gpus(&self) -> u32 {
        self.terms.gpus
    }

    /// Adds a chunk of `new` tokens of a prompt of which `prior` tokens are computed already.
    pub fn add_chunk(&self, work: &mut PrefillWork, new: u32, prior: u32, finishes: bool) {
        let attention_us = self.terms.chunk_attention_us(f64::from(new), f64::from(prior));
        work.tokens += new;
        work.finishing += u32::from(finishes);
        work.attention_us += attention_us;
        work.largest_tokens = work.largest_tokens.max(new);
        work.largest_attention_us = work.largest_attention_us.max(attention_us);
    }

    /// `a(B)`: a step of `batch` decodes and no chunk, without its KV reads.
    pub fn decode_base(&self, batch: u32) -> StepBase {
        match self.terms.decode_table.get(batch as usize) {
            Some(base) => *base,
            None => self.terms.base(f64::from(batch), &PrefillWork::default()),
        }
    }

    /// `a(B, chunks)`: a step of `batch` decodes and `work`, without its KV reads.
    pub fn mixed_base(&self, batch: u32, work: &PrefillWork) -> StepBase {
        self.terms.base(f64::from(batch), work)
    }

    /// `b`: microseconds per token of context of `batch` decoding requests.
    pub fn kv_us_per_token(&self, batch: u32) -> f64 {
        if self.terms.pp == 1.0 {
            return self.terms.kv_us_per_token;
        }
        self.terms.kv_us_per_token / self.terms.micro_batches(f64::from(batch))
    }

    /// What reading a token of context keeps busy on one GPU of the replica, alone on its GPUs.
    pub(super) fn kv_activity(&self) -> KvActivity {
        KvActivity {
            peak_us_per_token: self.terms.kv_peak_us_per_token / self.terms.pp,
            sm_us_per_token: self.terms.kv_us_per_token / self.terms.pp,
        }
    }

    /// One step of `batch` decodes (may be a mean, hence fractional) whose contexts sum to
    /// `context_tokens`, with `work` beside them.
    ///
    /// With pipeline stages, a step is one cycle of all micro-batches: each request gets one token
    /// in the time that the largest micro-batch needs to pass every stage. A prompt chunk is never
    /// split, so its micro-batch is at least as large as the chunk.
    pub fn step_us(&self, batch: f64, context_tokens: f64, work: &PrefillWork) -> f64 {
        let kv_us = self.terms.kv_us_per_token / self.terms.micro_batches(batch) * context_tokens;
        self.terms.base(batch, work).time_us + kv_us
    }

    /// GEMMs of the layers for `tokens` tokens, microseconds.
    pub fn linear_us(&self, tokens: f64) -> f64 {
        self.terms.linear_us(tokens)
    }

    /// Attention of `batch` decoding requests over `context_tokens` in all, microseconds.
    pub fn decode_attention_us(&self, batch: f64, context_tokens: f64) -> f64 {
        if batch <= 0.0 {
            return 0.0;
        }
        self.terms.decode_fixed_us + self.terms.kv_us_per_token / self.terms.micro_batches(batch) * context_tokens
    }

    /// Attention of one prompt chunk, microseconds.
    pub fn prefill_attention_us(&self, new: f64, prior: f64) -> f64 {
        self.terms.prefill_fixed_us + self.terms.chunk_attention_us(new, prior)
    }

    /// One routed-experts layer, microseconds; `None` for dense models.
    pub fn moe_layer_us(&self, tokens: f64) -> Option<f64> {
        self.terms.moe.as_ref().map(|moe| moe.layer_us(tokens))
    }
}

/// Step costs that exist already, so that replicas of the same spec share one set of tables.
/// Derived data: keep it out of state hashes, and rebuild it at will.
#[derive(Debug, Clone, Default)]
pub struct StepCosts {
    entries: Vec<(EngineSpec, EngineLimits, StepCost)>,
}

impl StepCosts {
    /// The cost of this spec within these limits, from the shelf or new.
    ///
    /// # Errors
    /// As [`StepCost::new`].
    pub fn get(&mut self, spec: &EngineSpec, limits: &EngineLimits) -> Result<StepCost, StartError> {
        if let Some((_, _, cost)) = self.entries.iter().find(|(s, l, _)| s == spec && l == limits) {
            return Ok(cost.clone());
        }
        let cost = StepCost::for_limits(spec, limits)?;
        self.entries.push((*spec, *limits, cost.clone()));
        Ok(cost)
    }
}

#[cfg(test)]
#[path = "step_test.rs"]
mod tests;
