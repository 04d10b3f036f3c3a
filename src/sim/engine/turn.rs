//! The scheduler's turn of a [`Replica`]: booking the span that has ended, and forming the next
//! step or run of equal steps.

use super::batch::blocks_of;
use super::event::EngineEvent;
use super::replica::{Chunk, Held, Replica, Stage};
use super::span::{Clock, Span};
use super::step::PrefillWork;
use super::submission::Work;
use crate::sim::time::Time;

impl Replica {
    /// Books a span that has run to its end: tokens, finished requests, completed prompts.
    pub(super) fn finish_span(&mut self, span: &Span, out: &mut Vec<EngineEvent>) -> Clock {
        let clock = span.end();
        self.used_blocks += self.batch.growth(self.global_step, span.steps);
        self.batch.context_tokens += span.steps * u64::from(span.batch);
        self.global_step += span.steps;
        self.totals.generation_tokens += span.steps * u64::from(span.batch);
        self.totals.busy_us += clock.us - span.start.us;
        self.totals.activity += span.activity(span.steps, &self.kv_activity);
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

    /// A chunk is in the cache; a complete prompt yields a token and joins the decodes, or is
    /// handed over.
    fn finish_chunk(&mut self, slot: u32, tokens: u32, at: Time, out: &mut Vec<EngineEvent>) {
        let sequence = self.sequences.get_mut(slot);
        sequence.computed += tokens;
        if sequence.computed < sequence.known_tokens() {
            return;
        }
        if self.prefilling == Some(slot) {
            self.prefilling = None;
        }
        if sequence.work == Work::PrefillOnly {
            self.hand_over(slot, at, out);
            return;
        }
        if sequence.first_token_at == Time::MAX {
            sequence.first_token_at = at;
            self.totals.prompt_tokens += u64::from(sequence.prompt_tokens);
            if !sequence.aborted {
                self.totals.first_tokens += 1;
                out.push(EngineEvent::FirstToken { req: sequence.req, at });
            }
        }
        sequence.generated += 1;
        self.totals.generation_tokens += 1;
        if sequence.generated >= sequence.output_tokens {
            self.finish(slot, at, out);
        } else {
            self.join_decodes(slot);
        }
    }

    /// The prompt of a prefill engine is complete: the seat is free, the blocks are held.
    fn hand_over(&mut self, slot: u32, at: Time, out: &mut Vec<EngineEvent>) {
        let sequence = self.sequences.get(slot);
        let (req, submitted_at, prompt_tokens) = (sequence.req, sequence.submitted_at, sequence.prompt_tokens);
        self.totals.prompt_tokens += u64::from(prompt_tokens);
        if sequence.aborted {
            return; // leaves with its blocks in the turn that follows
        }
        let blocks = blocks_of(u64::from(sequence.computed));
        self.totals.prefilled += 1;
        self.held_blocks += blocks;
        self.held.push_back(Held { req, blocks: blocks as u32 });
        self.sequences.stop_running(slot);
        self.sequences.release(slot);
        out.push(EngineEvent::Prefilled { req, at, submitted_at, prompt_tokens });
    }

    /// A sequence whose known tokens are cached but for the newest one decodes from the next step
    /// on.
    fn join_decodes(&mut self, slot: u32) {
        let global_step = self.global_step;
        let sequence = self.sequences.get_mut(slot);
        sequence.decoding = true;
        sequence.end_step = global_step + u64::from(sequence.output_tokens - sequence.generated);
        let (end_step, admission, offset) = (sequence.end_step, sequence.admission, sequence.context_offset());
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
                first_token_at: sequence.first_token_at.min(at),
                prompt_tokens: sequence.prompt_tokens,
                output_tokens: sequence.output_tokens,
                preemptions: u32::from(sequence.preemptions),
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
            self.batch.remove(slot, sequence.context_offset(), self.global_step);
        }
        if self.prefilling == Some(slot) {
            self.prefilling = None;
        }
    }

    /// The scheduler's turn at `clock`: forms the next step, or the next run of equal steps.
    pub(super) fn start_span(&mut self, clock: Clock, out: &mut Vec<EngineEvent>) {
        self.let_leave();
        let at = clock.time();
        let mut work = PrefillWork::default();
        let mut preempted = self.make_room(at, out);
        preempted |= self.continue_prompt(at, &mut work, out);
        // If the only running request gave way to itself, it starts over.
        if !preempted || self.sequences.running() == 0 {
            self.admit(at, &mut work, out);
        }
        let batch = self.batch.len();
        if batch == 0 && self.chunks.is_empty() {
            self.stage = Stage::Idle;
            return;
        }
        let (steps, base) = if !self.chunks.is_empty() {
            (1, self.cost.mixed_base(batch, &work))
        } else if preempted && self.sequences.waiting() > 0 {
            (1, self.cost.decode_base(batch))
        } else {
            let to_end = self.batch.first_end().map_or(1, |end| end.saturating_sub(self.global_step));
            let fit = self.batch.steps_that_fit(self.global_step, self.free_now(), to_end);
            (fit.max(1), self.cost.decode_base(batch))
        };
        let (context, kv_us) = (self.batch.context_tokens, self.cost.kv_us_per_token(batch));
        self.stage = Stage::Running(Span::new(clock, steps, batch, context, base, kv_us, self.slowdown));
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

    /// Preempts sequences until the decodes' next tokens fit.
    fn make_room(&mut self, at: Time, out: &mut Vec<EngineEvent>) -> bool {
        let mut preempted = false;
        while self.batch.growth(self.global_step, 1) > self.free_now() {
            let Some(slot) = self.sequences.victim(self.scheduling) else {
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
        sequence.preemptions = sequence.preemptions.saturating_add(1);
        let req = sequence.req;
        self.sequences.requeue(slot, self.scheduling);
        self.totals.preemptions += 1;
        out.push(EngineEvent::Preempted { req, at });
    }

    /// The next chunk of the prompt that is being computed. While its blocks are not free, others
    /// give way, or it does itself: under FCFS at once, being the last admitted.
    fn continue_prompt(&mut self, at: Time, work: &mut PrefillWork, out: &mut Vec<EngineEvent>) -> bool {
        let Some(slot) = self.prefilling else { return false };
        let sequence = self.sequences.get(slot);
        let rest = sequence.known_tokens() - sequence.computed;
        let tokens = rest.min(self.budget(work));
        if tokens == 0 {
            return false;
        }
        let more = blocks_of(u64::from(sequence.computed + tokens)) - blocks_of(u64::from(sequence.computed));
        let mut preempted = false;
        while more > self.free_after_decodes() {
            let victim = self.sequences.victim(self.scheduling).unwrap_or(slot);
            self.preempt(victim, at, out);
            if victim == slot {
                return true;
            }
            preempted = true;
        }
        self.used_blocks += more;
        self.add_chunk(slot, tokens, work);
        preempted
    }

    /// Admits waiting sequences while seats, budget and blocks last.
    fn admit(&mut self, at: Time, work: &mut PrefillWork, out: &mut Vec<EngineEvent>) {
        while let Some(head) = self.sequences.head() {
            let sequence = self.sequences.get(head);
            let (known, needed) = (sequence.known_tokens(), blocks_of(sequence.admission_tokens()));
            let tokens = known.min(self.budget(work));
            let seats = self.sequences.running() < self.limits.max_num_seqs;
            if !seats || tokens == 0 || needed > self.free_after_decodes() {
                return;
            }
            let Some(slot) = self.sequences.admit_head() else {
                return;
            };
            let sequence = self.sequences.get(slot);
            out.push(EngineEvent::Admitted { req: sequence.req, at });
            if sequence.work == Work::DecodeOnly {
                self.take_over(slot, at, out);
                continue;
            }
            self.used_blocks += blocks_of(u64::from(tokens));
            if tokens < known {
                self.prefilling = Some(slot);
            }
            self.add_chunk(slot, tokens, work);
        }
    }

    /// The prompt's KV and the first token are here: it decodes in the step that starts now, for
    /// one token of the budget like any other.
    fn take_over(&mut self, slot: u32, at: Time, out: &mut Vec<EngineEvent>) {
        let sequence = self.sequences.get_mut(slot);
        sequence.work = Work::Whole;
        sequence.computed = sequence.prompt_tokens;
        sequence.first_token_at = at;
        self.used_blocks += blocks_of(u64::from(sequence.prompt_tokens));
        self.totals.first_tokens += 1;
        self.totals.generation_tokens += 1;
        out.push(EngineEvent::FirstToken { req: sequence.req, at });
        if sequence.generated >= sequence.output_tokens {
            self.finish(slot, at, out);
        } else {
            self.join_decodes(slot);
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
