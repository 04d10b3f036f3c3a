//! One vLLM-like replica, advanced in closed form.
//!
//! The scheduler is that of vLLM v1. Per step: running requests first, in admission order (a decode
//! takes one token of the budget, an unfinished prompt what is left); whoever needs a KV block when
//! none is free preempts a running request (all its blocks go, its output so far becomes prompt, it
//! returns to the queue); only if nothing was preempted, waiting requests are admitted while seats,
//! token budget and blocks last, and the first that does not fit ends the loop. Who is admitted and
//! who is preempted first depends on [`Scheduling`]. Admission needs room for the whole known
//! sequence; blocks are taken chunk by chunk. There is no queue limit. Prefix caching is not
//! modelled: submit the tokens that have to be computed. The turn itself is in `turn.rs`, what
//! exporters read in `reading.rs`.
//!
//! Between such events only the contexts grow, so a run of steps is one span (see [`Span`]); the
//! cost per request is a few spans, whatever its length. Only what the next turn must see (a
//! submission that could join, an abort, freed blocks, a new pace) cuts a span, and only at a
//! step's end: readings look into it.
//!
//! **Same instants.** The scheduler's turn at instant `e` sees every submission with `now <= e`.
//! That turn is therefore taken when the caller's clock has passed `e`: [`Replica::next_due`] is
//! `e + 1 us`, and the events say `at: e`. So the order of calls within one microsecond cannot
//! change anything but the order of the queue itself, and extra calls of `advance` change nothing.

use super::batch::{DecodeBatch, blocks_of};
use super::event::{EngineEvent, RefuseReason};
use super::memory::EngineLimits;
use super::reading::Totals;
use super::sequence::{Sequence, Sequences};
use super::span::{Clock, KvActivity, Span};
use super::step::StepCost;
use super::submission::{Scheduling, Submission, Work};
use crate::sim::id::RequestId;
use crate::sim::time::{Span as Duration, Time};
use serde::Serialize;
use std::collections::VecDeque;

/// The longest that neighbours on the GPU can stretch a step.
const SLOWDOWN_MAX: f64 = 1e4;

/// What the replica is doing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) enum Stage {
    /// Nothing to do; or requests wait, none runs, and only the release of held blocks can let
    /// the head in.
    Idle,
    /// The scheduler's turn comes at this instant, after an idle time.
    Due(Clock),
    Running(Span),
}

/// A prompt chunk in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Chunk {
    pub slot: u32,
    pub tokens: u32,
}

/// A computed prompt whose KV waits for its transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Held {
    pub req: RequestId,
    pub blocks: u32,
}

/// One engine with its requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replica {
    pub(super) cost: StepCost,
    pub(super) limits: EngineLimits,
    #[serde(skip)]
    pub(super) kv_activity: KvActivity,
    pub(super) scheduling: Scheduling,
    /// How many times longer than alone a step takes, from the next step on.
    pub(super) slowdown: f64,
    pub(super) stage: Stage,
    pub(super) sequences: Sequences,
    pub(super) batch: DecodeBatch,
    /// The running sequence whose prompt is not complete: always the last admitted one.
    pub(super) prefilling: Option<u32>,
    /// Chunks of the current step.
    pub(super) chunks: Vec<Chunk>,
    /// Running sequences whose clients went away since the last turn.
    pub(super) leaving: Vec<u32>,
    /// In the order of completion.
    pub(super) held: VecDeque<Held>,
    pub(super) held_blocks: u64,
    /// Steps since the start.
    pub(super) global_step: u64,
    /// Blocks taken, held ones included, without the growth of the current span.
    pub(super) used_blocks: u64,
    pub(super) totals: Totals,
}

impl Replica {
    /// An idle replica that has just become ready: FCFS, alone on its GPUs.
    pub fn new(cost: StepCost, limits: EngineLimits) -> Replica {
        Replica {
            kv_activity: cost.kv_activity(),
            cost,
            limits,
            scheduling: Scheduling::Fcfs,
            slowdown: 1.0,
            stage: Stage::Idle,
            sequences: Sequences::default(),
            batch: DecodeBatch::default(),
            prefilling: None,
            chunks: Vec::new(),
            leaving: Vec::new(),
            held: VecDeque::new(),
            held_blocks: 0,
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

    pub fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    /// How many times longer than alone a step takes.
    pub fn slowdown(&self) -> f64 {
        self.slowdown
    }

    /// Share of the time that the memory bus would be busy if the present steps had the GPU to
    /// themselves, 0 to 1; 0 while no step runs.
    pub fn dram_active(&self) -> f64 {
        match &self.stage {
            Stage::Running(span) => span.dram_active(&self.kv_activity) * self.slowdown,
            Stage::Idle | Stage::Due(_) => 0.0,
        }
    }

    /// Running requests.
    pub fn running(&self) -> u32 {
        self.sequences.running()
    }

    /// Waiting requests.
    pub fn waiting(&self) -> u32 {
        self.sequences.waiting()
    }

    /// Computed prompts whose blocks are held.
    pub fn held(&self) -> u32 {
        self.held.len() as u32
    }

    /// No request runs or waits. Held prompts are none: they need no step.
    pub fn is_idle(&self) -> bool {
        self.running() == 0 && self.waiting() == 0
    }

    /// Hands in a request. Takes the turns that are due before `now` first, and cuts the current
    /// span at the end of the step in progress when the request could join there.
    ///
    /// `now` must not go back. The outcome comes as events; a refusal comes at once.
    pub fn submit(&mut self, now: Time, submission: Submission, out: &mut Vec<EngineEvent>) {
        self.advance(now, out);
        if let Err(reason) = self.acceptable(&submission) {
            out.push(EngineEvent::Refused { req: submission.req, at: now, reason });
            return;
        }
        let sequence = Sequence::new(&submission, now);
        let needed = blocks_of(sequence.admission_tokens());
        let place = self.sequences.enqueue(sequence, self.scheduling);
        match &mut self.stage {
            Stage::Idle => self.stage = Stage::Due(Clock::at(now)),
            Stage::Running(span) if span.steps > 1 && place == 0 => {
                if self.sequences.running() >= self.limits.max_num_seqs {
                    return;
                }
                let step = span.step_at(now);
                let growth = self.batch.growth(self.global_step, step + 1);
                if self.used_blocks + growth + needed <= u64::from(self.limits.usable_blocks()) {
                    span.cut(step);
                }
            }
            Stage::Due(_) | Stage::Running(_) => {}
        }
    }

    fn acceptable(&self, submission: &Submission) -> Result<(), RefuseReason> {
        let Submission { prompt_tokens, output_tokens, work, .. } = *submission;
        if prompt_tokens == 0 || output_tokens == 0 {
            return Err(RefuseReason::Empty);
        }
        // A prefill engine is asked for one token.
        let output_tokens = if work == Work::PrefillOnly { 1 } else { output_tokens };
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

    /// When [`Replica::advance`] must be called next; `None` while there is nothing to do, or
    /// nothing to be done before held blocks are released. Ask again after each call that changes
    /// the replica.
    pub fn next_due(&self) -> Option<Time> {
        match &self.stage {
            Stage::Idle => None,
            Stage::Due(clock) => Some(clock.time() + Duration::from_micros(1)),
            Stage::Running(span) => Some(span.end().time() + Duration::from_micros(1)),
        }
    }

    /// Takes every turn that is due before `now`.
    pub fn advance(&mut self, now: Time, out: &mut Vec<EngineEvent>) {
        loop {
            let clock = match &self.stage {
                Stage::Idle => return,
                Stage::Due(clock) if clock.us < now.0 => *clock,
                Stage::Running(span) if span.end().us < now.0 => {
                    let span = *span;
                    self.finish_span(&span, out)
                }
                Stage::Due(_) | Stage::Running(_) => return,
            };
            self.start_span(clock, out);
        }
    }

    /// The client went away or the gateway gave up. A waiting request leaves at once, a running one
    /// at the end of the step in progress, and held blocks are released; it is not heard of again.
    /// `false` if the request is not here. Takes the turns that are due before `now` first.
    pub fn abort(&mut self, now: Time, req: RequestId, out: &mut Vec<EngineEvent>) -> bool {
        self.advance(now, out);
        // Clients that give up are mostly the oldest in the queue.
        if !self.sequences.is_head(req)
            && let Some(slot) = self.sequences.find_running(req)
        {
            self.sequences.get_mut(slot).aborted = true;
            self.leaving.push(slot);
            self.cut_span(now);
            return true;
        }
        match self.sequences.remove_waiting(req) {
            Some(0) => self.wake(now),
            Some(_) => {}
            None => return self.release_kv(now, req, out),
        }
        if self.is_idle() {
            self.stage = Stage::Idle;
        }
        true
    }

    /// The KV of a computed prompt has been transferred, or nobody wants it: its blocks are free
    /// from the next turn on. `false` if nothing is held for this request. Takes the turns that are
    /// due before `now` first.
    pub fn release_kv(&mut self, now: Time, req: RequestId, out: &mut Vec<EngineEvent>) -> bool {
        self.advance(now, out);
        let Some(held) = self.held.iter().position(|h| h.req == req).and_then(|place| self.held.remove(place)) else {
            return false;
        };
        self.used_blocks -= u64::from(held.blocks);
        self.held_blocks -= u64::from(held.blocks);
        self.wake(now);
        true
    }

    /// Changes the order of the waiting queue. Later turns follow the new policy; running requests
    /// keep their seats. Takes the turns that are due before `now` first.
    pub fn set_scheduling(&mut self, now: Time, scheduling: Scheduling, out: &mut Vec<EngineEvent>) {
        self.advance(now, out);
        if scheduling != self.scheduling {
            self.scheduling = scheduling;
            self.sequences.reorder(scheduling);
            self.wake(now);
        }
    }

    /// Other processes take turns on these GPUs: from the end of the step in progress on, a step
    /// takes `factor` times as long as alone. Busy time counts wall time, the other activities
    /// count this replica's own work. A factor below 1, or none at all (NaN), counts as 1; nothing
    /// happens if it is the present one. Takes the turns that are due before `now` first.
    pub fn set_slowdown(&mut self, now: Time, factor: f64, out: &mut Vec<EngineEvent>) {
        self.advance(now, out);
        let factor = factor.clamp(1.0, SLOWDOWN_MAX);
        let factor = if factor.is_nan() { 1.0 } else { factor };
        if factor != self.slowdown {
            self.slowdown = factor;
            self.cut_span(now);
        }
    }

    /// The process is gone (killed, evicted, crashed): every request is lost in the middle of its
    /// step. Returns them: running ones in admission order, the queue, held prompts in the order of
    /// their completion. Takes the turns that are due before `now` first.
    pub fn abort_all(&mut self, now: Time, out: &mut Vec<EngineEvent>) -> Vec<RequestId> {
        self.advance(now, out);
        let lost = self
            .sequences
            .iter_running()
            .chain(self.sequences.iter_waiting())
            .map(|slot| self.sequences.get(slot))
            .filter(|sequence| !sequence.aborted)
            .map(|sequence| sequence.req)
            .chain(self.held.iter().map(|held| held.req))
            .collect();
        if let Stage::Running(span) = &self.stage {
            let (steps, _) = span.progress(now);
            self.totals.busy_us += span.elapsed_us(now);
            self.totals.generation_tokens += steps * u64::from(span.batch);
            self.totals.activity += span.activity_until(now, &self.kv_activity);
            self.global_step += steps;
        }
        self.stage = Stage::Idle;
        self.sequences.clear();
        self.batch.clear();
        self.prefilling = None;
        self.chunks.clear();
        self.leaving.clear();
        self.held.clear();
        self.held_blocks = 0;
        self.used_blocks = 0;
        lost
    }

    /// Ends the current span with the step in progress at `now`.
    fn cut_span(&mut self, now: Time) {
        if let Stage::Running(span) = &mut self.stage {
            span.cut(span.step_at(now));
        }
    }

    /// Something has changed that may let the head of the queue in: the next turn comes as early
    /// as it can.
    fn wake(&mut self, now: Time) {
        if self.sequences.waiting() == 0 {
            return;
        }
        match &self.stage {
            Stage::Idle => self.stage = Stage::Due(Clock::at(now)),
            Stage::Due(_) => {}
            Stage::Running(_) => self.cut_span(now),
        }
    }
}
