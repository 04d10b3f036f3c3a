//! What exporters read from a replica, at any instant and without changing it.

use super::replica::{Replica, Stage};
use super::span::Activity;
use crate::sim::time::Time;
use serde::Serialize;

/// Totals up to the start of the current span.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub(super) struct Totals {
    pub prompt_tokens: u64,
    pub generation_tokens: u64,
    pub preemptions: u64,
    pub finished: u64,
    pub first_tokens: u64,
    pub prefilled: u64,
    pub busy_us: u64,
    pub activity: Activity,
}

/// One look at a replica. Totals never fall, so a rate is a difference of two readings. Times are
/// per GPU of the replica.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// `vllm:num_requests_running`: admitted and not finished.
    pub running: u32,
    /// `vllm:num_requests_waiting`, preempted ones included.
    pub waiting: u32,
    /// Held blocks included.
    pub kv_used_blocks: u32,
    /// Usable blocks, without the null block.
    pub kv_total_blocks: u32,
    /// A step is running.
    pub busy: bool,
    /// `vllm:prompt_tokens_total`: prompts whose computation is complete. A decode engine computes
    /// none.
    pub prompt_tokens_total: u64,
    /// `vllm:generation_tokens_total`. A prefill engine counts none.
    pub generation_tokens_total: u64,
    /// `vllm:num_preemptions_total`.
    pub preemptions_total: u64,
    /// `vllm:request_success_total`, without the prompts of a prefill engine.
    pub finished_total: u64,
    /// Time with a running step. `DCGM_FI_DEV_GPU_UTIL` over a window is its difference / the
    /// window's length, whatever the batch.
    pub busy_us_total: u64,
    /// Time that the memory bus was busy at peak bandwidth (`DCGM_FI_PROF_DRAM_ACTIVE`).
    pub dram_us_total: f64,
    /// Time that the tensor cores were busy at peak (`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`).
    pub tensor_us_total: f64,
    /// Blocks of computed prompts that wait for their transfer to a decode engine.
    pub prefill_held_blocks: u32,
    /// Seats.
    pub max_num_seqs: u32,
    /// Requests whose first output token has been delivered from here.
    pub first_tokens_total: u64,
    /// Prompts that a prefill engine has completed.
    pub prefilled_total: u64,
    /// Time with a kernel on the GPU (`DCGM_FI_PROF_SM_ACTIVE`): steps without their host time and
    /// without the sends between pipeline stages. DCGM averages over the multiprocessors whether a
    /// warp is resident, waiting ones included; here every kernel is taken to fill the device. That
    /// is right for the GEMMs and long contexts, and somewhat high for attention of a few short
    /// requests and for all-reduces, which run on part of the multiprocessors. No measurement
    /// stands behind it.
    pub sm_us_total: f64,
}

impl Reading {
    /// `vllm:kv_cache_usage_perc`, 0 to 1.
    pub fn kv_usage(&self) -> f64 {
        if self.kv_total_blocks == 0 { 0.0 } else { f64::from(self.kv_used_blocks) / f64::from(self.kv_total_blocks) }
    }
}

impl Replica {
    /// What exporters see at `now`, inside the current span and without cutting it. Turns that are
    /// due before `now` must have been taken.
    pub fn reading(&self, now: Time) -> Reading {
        let mut totals = self.totals;
        let mut used_blocks = self.used_blocks;
        let busy = if let Stage::Running(span) = &self.stage {
            let (steps, _) = span.progress(now);
            used_blocks += self.batch.growth(self.global_step, steps + 1);
            totals.generation_tokens += steps * u64::from(span.batch);
            totals.busy_us += span.elapsed_us(now);
            totals.activity += span.activity_until(now, &self.kv_activity);
            true
        } else {
            false
        };
        Reading {
            running: self.running(),
            waiting: self.waiting(),
            kv_used_blocks: used_blocks as u32,
            kv_total_blocks: self.limits.usable_blocks(),
            busy,
            prompt_tokens_total: totals.prompt_tokens,
            generation_tokens_total: totals.generation_tokens,
            preemptions_total: totals.preemptions,
            finished_total: totals.finished,
            busy_us_total: totals.busy_us,
            dram_us_total: totals.activity.dram_us,
            tensor_us_total: totals.activity.tensor_us,
            prefill_held_blocks: self.held_blocks as u32,
            max_num_seqs: self.limits.max_num_seqs,
            first_tokens_total: totals.first_tokens,
            prefilled_total: totals.prefilled,
            sm_us_total: totals.activity.sm_us,
        }
    }
}
