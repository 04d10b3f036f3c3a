//! The requests inside one replica: an arena of sequences, the running list in admission order and
//! the waiting queue.

use crate::sim::id::RequestId;
use crate::sim::time::Time;
use serde::Serialize;
use std::collections::VecDeque;

/// "No sequence" in the links of the running list.
const NONE: u32 = u32::MAX;

/// One request. Token counts of a decoding sequence are derived from the replica's global step, so
/// that a span of steps touches none of them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sequence {
    pub req: RequestId,
    pub prompt_tokens: u32,
    pub output_tokens: u32,
    /// Output tokens that existed when it last joined the decode batch or was preempted.
    pub generated: u32,
    /// Tokens in the KV cache, while its prompt is being computed.
    pub computed: u32,
    /// While decoding: tokens in the KV cache minus the global step.
    pub context_offset: i64,
    /// While decoding: the global step after which it has all its output.
    pub end_step: u64,
    pub decoding: bool,
    pub running: bool,
    /// The client went away; it leaves at the next step boundary, silently.
    pub aborted: bool,
    pub preemptions: u32,
    pub submitted_at: Time,
    pub first_token_at: Option<Time>,
    /// Grows with each admission: order of the running list.
    pub admission: u64,
    previous: u32,
    next: u32,
}

impl Sequence {
    pub fn new(req: RequestId, prompt_tokens: u32, output_tokens: u32, submitted_at: Time) -> Sequence {
        Sequence {
            req,
            prompt_tokens,
            output_tokens,
            generated: 0,
            computed: 0,
            context_offset: 0,
            end_step: 0,
            decoding: false,
            running: false,
            aborted: false,
            preemptions: 0,
            submitted_at,
            first_token_at: None,
            admission: 0,
            previous: NONE,
            next: NONE,
        }
    }

    /// Tokens to compute before the next output token: the prompt, and after a preemption the
    /// output so far.
    pub fn known_tokens(&self) -> u32 {
        self.prompt_tokens + self.generated
    }

    /// Tokens in the KV cache at `global_step`.
    pub fn context(&self, global_step: u64) -> u64 {
        if self.decoding {
            self.context_offset.saturating_add_unsigned(global_step).unsigned_abs()
        } else {
            u64::from(self.computed)
        }
    }
}

/// Arena, running list and waiting queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequences {
    arena: Vec<Sequence>,
    free: Vec<u32>,
    first: Option<u32>,
    last: Option<u32>,
    running: u32,
    admissions: u64,
    /// FCFS; preempted sequences return to the front.
    pub waiting: VecDeque<u32>,
}

impl Sequences {
    pub fn add_waiting(&mut self, sequence: Sequence) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.arena[slot as usize] = sequence;
                slot
            }
            None => {
                self.arena.push(sequence);
                (self.arena.len() - 1) as u32
            }
        };
        self.waiting.push_back(slot);
    }

    pub fn get(&self, slot: u32) -> &Sequence {
        &self.arena[slot as usize]
    }

    pub fn get_mut(&mut self, slot: u32) -> &mut Sequence {
        &mut self.arena[slot as usize]
    }

    pub fn running(&self) -> u32 {
        self.running
    }

    /// The last admitted running sequence: the first to be preempted.
    pub fn last_admitted(&self) -> Option<u32> {
        self.last
    }

    /// Moves the head of the waiting queue to the end of the running list.
    pub fn admit_head(&mut self) -> Option<u32> {
        let slot = self.waiting.pop_front()?;
        let last = self.last;
        self.admissions += 1;
        let admission = self.admissions;
        let sequence = self.get_mut(slot);
        sequence.admission = admission;
        sequence.running = true;
        sequence.previous = last.unwrap_or(NONE);
        sequence.next = NONE;
        match last {
            Some(last) => self.get_mut(last).next = slot,
            None => self.first = Some(slot),
        }
        self.last = Some(slot);
        self.running += 1;
        Some(slot)
    }

    /// Takes a sequence out of the running list; its slot stays taken.
    pub fn stop_running(&mut self, slot: u32) {
        let (previous, next) = (self.get(slot).previous, self.get(slot).next);
        match link(previous) {
            Some(previous) => self.get_mut(previous).next = next,
            None => self.first = link(next),
        }
        match link(next) {
            Some(next) => self.get_mut(next).previous = previous,
            None => self.last = link(previous),
        }
        self.get_mut(slot).running = false;
        self.running -= 1;
    }

    /// Gives the slot back.
    pub fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Running sequences, oldest admission first.
    pub fn iter_running(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first, |&slot| link(self.get(slot).next))
    }

    /// Where a request waits, and where it runs.
    pub fn find_waiting(&self, req: RequestId) -> Option<usize> {
        self.waiting.iter().position(|&slot| self.get(slot).req == req)
    }

    pub fn find_running(&self, req: RequestId) -> Option<u32> {
        self.iter_running().find(|&slot| self.get(slot).req == req && !self.get(slot).aborted)
    }

    /// Forgets everything; capacity stays.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.free.clear();
        self.waiting.clear();
        self.first = None;
        self.last = None;
        self.running = 0;
    }
}

fn link(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
}
