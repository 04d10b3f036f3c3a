//! One vLLM-like replica, advanced in closed form.
//!
//! The scheduler is that of vLLM v1. Per step: running requests first, in admission order (a decode
//! takes one token of the budget, an unfinished prompt what is left); whoever needs a KV block when
//! none is free preempts the last admitted request (all its blocks go, its output so far becomes
//! prompt, it returns to the head of the queue); only if nothing was preempted, waiting requests
//! are admitted first come, first served while seats, token budget and blocks last, and the first
//! that does not fit ends the loop. Admission needs room for the whole known sequence; blocks are
//! taken chunk by chunk. There is no queue limit. Prefix caching is not modelled: submit the
//! tokens that have to be computed.
//!
//! Between such events only the contexts grow, so a run of steps is one span (see [`Span`]); the
//! cost per request is a few spans, whatever its length. Nothing but a submission, an abort or the
//! span's own end cuts a span, and only at a step's end: readings look into it.
//!
//! **Same instants.** The scheduler's turn at instant `e` sees every submission with `now <= e`.
//! That turn is therefore taken when the caller's clock has passed `e`: [`Replica::next_due`] is
//! `e + 1 us`, and the events say `at: e`. So the order of calls within one microsecond cannot
//! change anything but the order of the queue itself, and extra calls of `advance` change nothing.

use super::batch::{DecodeBatch, blocks_of};
use super::event::{EngineEvent, RefuseReason};
use super::memory::EngineLimits;
use super::sequence::{Sequence, Sequences};
use super::span::{Clock, Span};
use super::step::{PrefillWork, StepCost};
use crate::sim::id::RequestId;
use crate::sim::time::{Span as Duration, Time};
use serde::Serialize;

/// What the replica is doing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
enum Stage {
    Idle,
    /// The scheduler's turn comes at this instant, after an idle time.
    Due(Clock),
    Running(Span),
}

/// A prompt chunk in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Chunk {
    slot: u32,
    tokens: u32,
}

/// Totals up to the start of the current span.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
struct Totals {
    prompt_tokens: u64,
    generation_tokens: u64,
    preemptions: u64,
    finished: u64,
    busy_us: u64,
    dram_us: f64,
    tensor_us: f64,
}

/// What exporters read from a replica. Totals never fall, so a rate is a difference of two
/// readings.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reading {
    /// `vllm:num_requests_running`: admitted and not finished.
    pub running: u32,
    /// `vllm:num_requests_waiting`, preempted ones included.
    pub waiting: u32,
    pub kv_used_blocks: u32,
    /// Usable blocks, without the null block.
    pub kv_total_blocks: u32,
    /// A step is running.
    pub busy: bool,
    /// `vllm:prompt_tokens_total`: prompts whose computation is complete.
    pub prompt_tokens_total: u64,
    /// `vllm:generation_tokens_total`.
    pub generation_tokens_total: u64,
    /// `vllm:num_preemptions_total`.
    pub preemptions_total: u64,
    /// `vllm:request_success_total`.
    pub finished_total: u64,
    /// Time with a running step. `DCGM_FI_DEV_GPU_UTIL` over a window is its difference / the
    /// window's length, whatever the batch.
    pub busy_us_total: u64,
    /// Time that the memory bus was busy at peak bandwidth (`DCGM_FI_PROF_DRAM_ACTIVE`).
    pub dram_us_total: f64,
    /// Time that the tensor cores were busy at peak (`DCGM_FI_PROF_PIPE_TENSOR_ACTIVE`).
    pub tensor_us_total: f64,
}

impl Reading {
    /// `vllm:kv_cache_usage_perc`, 0 to 1.
    pub fn kv_usage(&self) -> f64 {
        if self.kv_total_blocks == 0 { 0.0 } else { f64::from(self.kv_used_blocks) / f64::from(self.kv_total_blocks) }
    }
}

/// One engine with its requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replica {
    cost: StepCost,
    limits: EngineLimits,
    stage: Stage,
    sequences: Sequences,
    batch: DecodeBatch,
    /// The running sequence whose prompt is not complete: always the last admitted one.
    prefilling: Option<u32>,
    /// Chunks of the current step.
    chunks: Vec<Chunk>,
    /// Running sequences whose clients went away since the last turn.
    leaving: Vec<u32>,
    /// Steps since the start.
    global_step: u64,
    /// Blocks held, without the growth of the current span.
    used_blocks: u64,
    totals: Totals,
}

impl Replica {
    /// An idle replica that has just become ready.
    pub fn new(cost: StepCost, limits: EngineLimits) -> Replica {
        Replica {
            cost,
            limits,
            stage: Stage::Idle,
            sequences: Sequences::default(),
            batch: DecodeBatch::default(),
            prefilling: None,
            chunks: Vec::new(),
            leaving: Vec::new(),
            global_step: 0,
            used_blocks: 0,
            totals: Totals::default(),
        }
    }

    pub fn limits(&self) -> &EngineLimits {
        &self.limits
    }

    pub fn cost(&self) -> &StepCost {
        &self.cost
    }

    /// Running requests.
    pub fn running(&self) -> u32 {
        self.sequences.running()
    }

    /// Waiting requests.
    pub fn waiting(&self) -> u32 {
        self.sequences.waiting.len() as u32
    }

    /// No request at all.
    pub fn is_idle(&self) -> bool {
        self.running() == 0 && self.waiting() == 0
    }

    /// Hands in a request. Takes the turns that are due before `now` first, and cuts the current
    /// span at the end of the step in progress when the request could join there.
    ///
    /// `now` must not go back. The outcome comes as events; a refusal comes at once.
    pub fn submit(
        &mut self,
        now: Time,
        req: RequestId,
        prompt_tokens: u32,
        output_tokens: u32,
        out: &mut Vec<EngineEvent>,
    ) {
        self.advance(now, out);
        if let Err(reason) = self.acceptable(prompt_tokens, output_tokens) {
            out.push(EngineEvent::Refused { req, at: now, reason });
            return;
        }
        let blocked_by_others = !self.sequences.waiting.is_empty();
        self.sequences.add_waiting(Sequence::new(req, prompt_tokens, output_tokens, now));
        match &mut self.stage {
            Stage::Idle => self.stage = Stage::Due(Clock::at(now)),
            Stage::Running(span) if span.steps > 1 && !blocked_by_others => {
                let step = span.step_at(now);
                let growth = self.batch.growth(self.global_step, step + 1);
                let needed = self.used_blocks + growth + blocks_of(u64::from(prompt_tokens));
                let fits = needed <= u64::from(self.limits.usable_blocks());
                if fits && self.sequences.running() < self.limits.max_num_seqs {
                    span.steps = step;
                }
            }
            Stage::Due(_) | Stage::Running(_) => {}
        }
    }

    fn acceptable(&self, prompt_tokens: u32, output_tokens: u32) -> Result<(), RefuseReason> {
        if prompt_tokens == 0 || output_tokens == 0 {
            return Err(RefuseReason::Empty);
        }
        let tokens = u64::from(prompt_tokens) + u64::from(output_tokens);
        if tokens > u64::from(self.limits.max_model_len) {
            return Err(RefuseReason::ExceedsMaxModelLen { tokens, max_model_len: self.limits.max_model_len });
        }
        let (blocks, usable_blocks) = (blocks_of(tokens - 1), self.limits.usable_blocks());
        if blocks > u64::from(usable_blocks) {
            return Err(RefuseReason::ExceedsKvCache { blocks, usable_blocks });
        }
        Ok(())
    }

    /// When [`Replica::advance`] must be called next; `None` while idle. Ask again after each call
    /// that changes the replica.
    pub fn next_due(&self) -> Option<Time> {
        match &self.stage {
            Stage::Idle => None,
            Stage::Due(clock) => Some(clock.time() + Duration::from_micros(1)),
            Stage::Running(span) => Some(Time(span.end_us(span.steps)) + Duration::from_micros(1)),
        }
    }

    /// Takes every turn that is due before `now`.
    pub fn advance(&mut self, now: Time, out: &mut Vec<EngineEvent>) {
        loop {
            let clock = match &self.stage {
                Stage::Idle => return,
                Stage::Due(clock) if clock.us < now.0 => *clock,
                Stage::Running(span) if span.end_us(span.steps) < now.0 => {
                    let span = *span;
                    self.finish_span(&span, out)
                }
                Stage::Due(_) | Stage::Running(_) => return,
            };
            self.start_span(clock, out);
        }
    }

    /// The client went away or the gateway gave up. A waiting request leaves at once, a running one
    /// at the end of the step in progress; neither is heard of again. `false` if the request is not
    /// here. Takes the turns that are due before `now` first.
    pub fn abort(&mut self, now: Time, req: RequestId, out: &mut Vec<EngineEvent>) -> bool {
        self.advance(now, out);
        if let Some(slot) = self.sequences.find_running(req) {
            self.sequences.get_mut(slot).aborted = true;
            self.leaving.push(slot);
            self.cut_span(now);
            return true;
        }
        let Some(index) = self.sequences.find_waiting(req) else {
            return false;
        };
        if let Some(slot) = self.sequences.waiting.remove(index) {
            self.sequences.release(slot);
        }
        if index == 0 && !self.sequences.waiting.is_empty() {
            self.cut_span(now);
        }
        if self.is_idle() {
            self.stage = Stage::Idle;
        }
        true
    }

    /// The process is gone (killed, evicted, crashed): every request is lost in the middle of its
    /// step. Returns them, running ones in admission order, then the queue. Takes the turns that
    /// are due before `now` first.
    pub fn abort_all(&mut self, now: Time, out: &mut Vec<EngineEvent>) -> Vec<RequestId> {
        self.advance(now, out);
        let lost = self
            .sequences
            .iter_running()
            .chain(self.sequences.waiting.iter().copied())
            .map(|slot| self.sequences.get(slot))
            .filter(|sequence| !sequence.aborted)
            .map(|sequence| sequence.req)
            .collect();
        if let Stage::Running(span) = &self.stage {
            let span = *span;
            let (steps, share) = span.progress(now);
            self.totals.busy_us += now.0.clamp(span.start.us, span.end_us(span.steps)) - span.start.us;
            self.totals.generation_tokens += steps * u64::from(span.batch);
            self.totals.dram_us += between(|k| span.dram_us(k), steps, share);
            self.totals.tensor_us += between(|k| span.tensor_us(k), steps, share);
            self.global_step += steps;
        }
        self.stage = Stage::Idle;
        self.sequences.clear();
        self.batch.clear();
        self.prefilling = None;
        self.chunks.clear();
        self.leaving.clear();
        self.used_blocks = 0;
        lost
    }

    /// What exporters see at `now`, inside the current span and without cutting it. Turns that are
    /// due before `now` must have been taken.
    pub fn reading(&self, now: Time) -> Reading {
        let mut reading = Reading {
            running: self.running(),
            waiting: self.waiting(),
            kv_used_blocks: self.used_blocks as u32,
            kv_total_blocks: self.limits.usable_blocks(),
            busy: false,
            prompt_tokens_total: self.totals.prompt_tokens,
            generation_tokens_total: self.totals.generation_tokens,
            preemptions_total: self.totals.preemptions,
            finished_total: self.totals.finished,
            busy_us_total: self.totals.busy_us,
            dram_us_total: self.totals.dram_us,
            tensor_us_total: self.totals.tensor_us,
        };
        if let Stage::Running(span) = &self.stage {
            let (steps, share) = span.progress(now);
            reading.busy = true;
            reading.kv_used_blocks = (self.used_blocks + self.batch.growth(self.global_step, steps + 1)) as u32;
            reading.generation_tokens_total += steps * u64::from(span.batch);
            reading.busy_us_total += now.0.clamp(span.start.us, span.end_us(span.steps)) - span.start.us;
            reading.dram_us_total += between(|k| span.dram_us(k), steps, share);
            reading.tensor_us_total += between(|k| span.tensor_us(k), steps, share);
        }
        reading
    }

    /// Ends the current span with the step in progress at `now`.
    fn cut_span(&mut self, now: Time) {
        if let Stage::Running(span) = &mut self.stage {
            span.steps = span.step_at(now);
        }
    }

    /// Books a span that has run to its end: tokens, finished requests, completed prompts.
    fn finish_span(&mut self, span: &Span, out: &mut Vec<EngineEvent>) -> Clock {
        let clock = span.end();
        self.used_blocks += self.batch.growth(self.global_step, span.steps);
        self.batch.context_tokens += span.steps * u64::from(span.batch);
        self.global_step += span.steps;
        self.totals.generation_tokens += span.steps * u64::from(span.batch);
        self.totals.busy_us += clock.us - span.start.us;
        self.totals.dram_us += span.dram_us(span.steps);
        self.totals.tensor_us += span.tensor_us(span.steps);
        let at = clock.time();
        while let Some(slot) = self.batch.finished_at(self.global_step) {
            self.finish(slot, at, out);
        }
        for index in 0..self.chunks.len() {
            let Chunk { slot, tokens } = self.chunks[index];
            self.finish_chunk(slot, tokens, at, out);
        }
        self.chunks.clear();
        clock
    }

    /// A chunk is in the cache; a complete prompt yields a token and joins the decodes.
    fn finish_chunk(&mut self, slot: u32, tokens: u32, at: Time, out: &mut Vec<EngineEvent>) {
        let global_step = self.global_step;
        let sequence = self.sequences.get_mut(slot);
        sequence.computed += tokens;
        if sequence.computed < sequence.known_tokens() {
            return;
        }
        if self.prefilling == Some(slot) {
            self.prefilling = None;
        }
        let first = sequence.first_token_at.is_none();
        if first {
            sequence.first_token_at = Some(at);
            self.totals.prompt_tokens += u64::from(sequence.prompt_tokens);
            if !sequence.aborted {
                out.push(EngineEvent::FirstToken { req: sequence.req, at });
            }
        }
        sequence.generated += 1;
        self.totals.generation_tokens += 1;
        if sequence.generated >= sequence.output_tokens {
            self.finish(slot, at, out);
            return;
        }
        sequence.decoding = true;
        sequence.context_offset = i64::from(sequence.computed).saturating_sub_unsigned(global_step);
        sequence.end_step = global_step + u64::from(sequence.output_tokens - sequence.generated);
        let (end_step, admission, offset) = (sequence.end_step, sequence.admission, sequence.context_offset);
        self.batch.insert(slot, end_step, admission, offset, global_step);
    }

    /// All output is there: blocks and slot are free.
    fn finish(&mut self, slot: u32, at: Time, out: &mut Vec<EngineEvent>) {
        let sequence = self.sequences.get(slot);
        if !sequence.aborted {
            self.totals.finished += 1;
            out.push(EngineEvent::Finished {
                req: sequence.req,
                at,
                submitted_at: sequence.submitted_at,
                first_token_at: sequence.first_token_at.unwrap_or(at),
                prompt_tokens: sequence.prompt_tokens,
                output_tokens: sequence.output_tokens,
                preemptions: sequence.preemptions,
            });
        } else {
            self.leaving.retain(|&leaving| leaving != slot);
        }
        self.free_blocks(slot);
        self.sequences.stop_running(slot);
        self.sequences.release(slot);
    }

    /// Takes a running sequence's blocks and its place in the batch.
    fn free_blocks(&mut self, slot: u32) {
        let sequence = self.sequences.get(slot);
        self.used_blocks -= blocks_of(sequence.context(self.global_step));
        if sequence.decoding {
            self.batch.remove(slot, sequence.context_offset, self.global_step);
        }
        if self.prefilling == Some(slot) {
            self.prefilling = None;
        }
    }

    /// The scheduler's turn at `clock`: forms the next step, or the next run of equal steps.
    fn start_span(&mut self, clock: Clock, out: &mut Vec<EngineEvent>) {
        self.let_leave();
        let at = clock.time();
        let mut work = PrefillWork::default();
        let mut preempted = self.make_room(at, out);
        preempted |= self.continue_prompt(at, &mut work, out);
        if !preempted {
            self.admit(at, &mut work, out);
        } else if self.sequences.running() == 0 {
            // The only running request gave way to itself: it starts over.
            self.admit(at, &mut work, out);
        }
        let batch = self.batch.len();
        if batch == 0 && self.chunks.is_empty() {
            self.stage = Stage::Idle;
            return;
        }
        let single = !self.chunks.is_empty() || (preempted && !self.sequences.waiting.is_empty());
        let (steps, base) = if single {
            let base =
                if self.chunks.is_empty() { self.cost.decode_base(batch) } else { self.cost.mixed_base(batch, &work) };
            (1, base)
        } else {
            let to_end = self.batch.first_end().map_or(1, |end| end.saturating_sub(self.global_step));
            let fit = self.batch.steps_that_fit(self.global_step, self.free_now());
            (to_end.min(fit).max(1), self.cost.decode_base(batch))
        };
        self.stage = Stage::Running(Span {
            start: clock,
            steps,
            batch,
            context_tokens: self.batch.context_tokens,
            base,
            kv_us_per_token: self.cost.kv_us_per_token(batch),
            kv_peak_us_per_token: self.cost.kv_peak_us_per_token(),
        });
    }

    /// Aborted sequences give up their blocks.
    fn let_leave(&mut self) {
        while let Some(slot) = self.leaving.pop() {
            self.free_blocks(slot);
            self.sequences.stop_running(slot);
            self.sequences.release(slot);
        }
    }

    fn free_now(&self) -> u64 {
        u64::from(self.limits.usable_blocks()).saturating_sub(self.used_blocks)
    }

    /// Blocks free after the decodes have taken theirs for the next step.
    fn free_after_decodes(&self) -> u64 {
        self.free_now().saturating_sub(self.batch.growth(self.global_step, 1))
    }

    /// Preempts the last admitted sequences until the decodes' next tokens fit.
    fn make_room(&mut self, at: Time, out: &mut Vec<EngineEvent>) -> bool {
        let mut preempted = false;
        while self.batch.growth(self.global_step, 1) > self.free_now() {
            let Some(slot) = self.sequences.last_admitted() else {
                break;
            };
            self.preempt(slot, at, out);
            preempted = true;
        }
        preempted
    }

    fn preempt(&mut self, slot: u32, at: Time, out: &mut Vec<EngineEvent>) {
        self.free_blocks(slot);
        self.sequences.stop_running(slot);
        let global_step = self.global_step;
        let sequence = self.sequences.get_mut(slot);
        if sequence.decoding {
            sequence.generated = sequence.output_tokens - (sequence.end_step - global_step) as u32;
        }
        sequence.decoding = false;
        sequence.computed = 0;
        sequence.preemptions += 1;
        let req = sequence.req;
        self.sequences.waiting.push_front(slot);
        self.totals.preemptions += 1;
        out.push(EngineEvent::Preempted { req, at });
    }

    /// The next chunk of the prompt that is being computed. When its blocks are not free it is
    /// itself the last admitted one, and gives way.
    fn continue_prompt(&mut self, at: Time, work: &mut PrefillWork, out: &mut Vec<EngineEvent>) -> bool {
        let Some(slot) = self.prefilling else { return false };
        let sequence = self.sequences.get(slot);
        let rest = sequence.known_tokens() - sequence.computed;
        let tokens = rest.min(self.budget(work));
        if tokens == 0 {
            return false;
        }
        let more = blocks_of(u64::from(sequence.computed + tokens)) - blocks_of(u64::from(sequence.computed));
        if more > self.free_after_decodes() {
            self.preempt(slot, at, out);
            return true;
        }
        self.used_blocks += more;
        self.add_chunk(slot, tokens, work);
        false
    }

    /// Admits waiting sequences while seats, budget and blocks last.
    fn admit(&mut self, at: Time, work: &mut PrefillWork, out: &mut Vec<EngineEvent>) {
        while let Some(&head) = self.sequences.waiting.front() {
            let known = self.sequences.get(head).known_tokens();
            let tokens = known.min(self.budget(work));
            let seats = self.sequences.running() < self.limits.max_num_seqs;
            if !seats || tokens == 0 || blocks_of(u64::from(known)) > self.free_after_decodes() {
                return;
            }
            let Some(slot) = self.sequences.admit_head() else {
                return;
            };
            self.used_blocks += blocks_of(u64::from(tokens));
            out.push(EngineEvent::Admitted { req: self.sequences.get(slot).req, at });
            if tokens < known {
                self.prefilling = Some(slot);
            }
            self.add_chunk(slot, tokens, work);
        }
    }

    /// Tokens that the step can still take.
    fn budget(&self, work: &PrefillWork) -> u32 {
        self.limits.max_num_batched_tokens.saturating_sub(self.batch.len() + work.tokens)
    }

    fn add_chunk(&mut self, slot: u32, tokens: u32, work: &mut PrefillWork) {
        let sequence = self.sequences.get(slot);
        let finishes = sequence.computed + tokens >= sequence.known_tokens();
        self.cost.add_chunk(work, tokens, sequence.computed, finishes);
        self.chunks.push(Chunk { slot, tokens });
    }
}

/// A running sum at `steps` whole steps plus a share of the next.
fn between(total: impl Fn(u64) -> f64, steps: u64, share: f64) -> f64 {
    let (low, high) = (total(steps), total(steps + 1));
    low + (high - low) * share
}
