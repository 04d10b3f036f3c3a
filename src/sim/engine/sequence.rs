//! The requests inside one replica: an arena of sequences, the running list in admission order and
//! the waiting queue in the order of the scheduling policy.

use super::submission::{Scheduling, Submission, Work};
use crate::sim::id::RequestId;
use crate::sim::time::Time;
use serde::Serialize;
use std::cmp::Reverse;
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
    pub priority: i32,
    /// What is left to do: `DecodeOnly` only until it is admitted.
    pub work: Work,
    pub decoding: bool,
    /// The client went away; it leaves at the next step boundary, silently.
    pub aborted: bool,
    pub preemptions: u16,
    /// Grows with each admission; breaks ties in the decode batch.
    pub admission: u32,
    previous: u32,
    next: u32,
    /// While decoding: the global step after which it has all its output.
    pub end_step: u64,
    pub submitted_at: Time,
    /// [`Time::MAX`] while there is none.
    pub first_token_at: Time,
}

impl Sequence {
    pub fn new(submission: &Submission, submitted_at: Time) -> Sequence {
        Sequence {
            req: submission.req,
            prompt_tokens: submission.prompt_tokens,
            output_tokens: submission.output_tokens,
            generated: u32::from(submission.work == Work::DecodeOnly),
            computed: 0,
            priority: submission.priority,
            work: submission.work,
            decoding: false,
            aborted: false,
            preemptions: 0,
            admission: 0,
            previous: NONE,
            next: NONE,
            end_step: 0,
            submitted_at,
            first_token_at: Time::MAX,
        }
    }

    /// Tokens to compute before the next output token: the prompt, and after a preemption the
    /// output so far.
    pub fn known_tokens(&self) -> u32 {
        self.prompt_tokens + self.generated
    }

    /// Tokens that must fit into the cache when it is admitted: the known ones, but the last output
    /// token is never cached.
    pub fn admission_tokens(&self) -> u64 {
        let last = u64::from(self.prompt_tokens) + u64::from(self.output_tokens) - 1;
        u64::from(self.known_tokens()).min(last)
    }

    /// While decoding: tokens in the KV cache minus the global step.
    pub fn context_offset(&self) -> i64 {
        let at_end = u64::from(self.prompt_tokens) + u64::from(self.output_tokens) - 1;
        at_end.wrapping_sub(self.end_step) as i64
    }

    /// Tokens in the KV cache at `global_step`.
    pub fn context(&self, global_step: u64) -> u64 {
        if self.decoding {
            self.context_offset().saturating_add_unsigned(global_step).unsigned_abs()
        } else {
            u64::from(self.computed)
        }
    }

    /// Order under [`Scheduling::Priority`].
    fn rank(&self) -> (Reverse<i32>, Time) {
        (Reverse(self.priority), self.submitted_at)
    }
}

/// A place in the waiting queue. The request is repeated here so that a search need not leave the
/// queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Waiting {
    slot: u32,
    req: RequestId,
}

/// Arena, running list and waiting queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequences {
    arena: Vec<Sequence>,
    free: Vec<u32>,
    first: Option<u32>,
    last: Option<u32>,
    running: u32,
    admissions: u32,
    waiting: VecDeque<Waiting>,
}

impl Sequences {
    pub fn get(&self, slot: u32) -> &Sequence {
        &self.arena[slot as usize]
    }

    pub fn get_mut(&mut self, slot: u32) -> &mut Sequence {
        &mut self.arena[slot as usize]
    }

    pub fn running(&self) -> u32 {
        self.running
    }

    pub fn waiting(&self) -> u32 {
        self.waiting.len() as u32
    }

    /// Queues a new sequence. Returns its place, the head being 0.
    pub fn enqueue(&mut self, sequence: Sequence, scheduling: Scheduling) -> usize {
        let (req, rank) = (sequence.req, sequence.rank());
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
        let place = match scheduling {
            Scheduling::Fcfs => self.waiting.len(),
            Scheduling::Priority => self.waiting.partition_point(|w| self.get(w.slot).rank() <= rank),
        };
        self.waiting.insert(place, Waiting { slot, req });
        place
    }

    /// Queues a preempted sequence again.
    pub fn requeue(&mut self, slot: u32, scheduling: Scheduling) {
        let (req, rank) = (self.get(slot).req, self.get(slot).rank());
        let place = match scheduling {
            Scheduling::Fcfs => 0,
            Scheduling::Priority => self.waiting.partition_point(|w| self.get(w.slot).rank() < rank),
        };
        self.waiting.insert(place, Waiting { slot, req });
    }

    /// Orders the waiting queue for a new policy; FCFS goes back to the order of arrival.
    pub fn reorder(&mut self, scheduling: Scheduling) {
        let arena = &self.arena;
        let sequence = |w: &Waiting| &arena[w.slot as usize];
        let queue = self.waiting.make_contiguous();
        match scheduling {
            Scheduling::Fcfs => queue.sort_by_key(|w| sequence(w).submitted_at),
            Scheduling::Priority => queue.sort_by_key(|w| sequence(w).rank()),
        }
    }

    /// Who is next in the waiting queue.
    pub fn head(&self) -> Option<u32> {
        self.waiting.front().map(|w| w.slot)
    }

    /// Whether this request is next in the waiting queue.
    pub fn is_head(&self, req: RequestId) -> bool {
        self.waiting.front().is_some_and(|w| w.req == req)
    }

    /// Whom a needy running sequence displaces.
    pub fn victim(&self, scheduling: Scheduling) -> Option<u32> {
        match scheduling {
            Scheduling::Fcfs => self.last,
            Scheduling::Priority => self.iter_running().max_by_key(|&slot| self.get(slot).rank()),
        }
    }

    /// Moves the head of the waiting queue to the end of the running list.
    pub fn admit_head(&mut self) -> Option<u32> {
        let slot = self.waiting.pop_front()?.slot;
        let last = self.last;
        self.admissions = self.admissions.wrapping_add(1);
        let admission = self.admissions;
        let sequence = self.get_mut(slot);
        sequence.admission = admission;
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

    /// Waiting sequences, the head first.
    pub fn iter_waiting(&self) -> impl Iterator<Item = u32> + '_ {
        self.waiting.iter().map(|w| w.slot)
    }

    pub fn find_running(&self, req: RequestId) -> Option<u32> {
        self.iter_running().find(|&slot| self.get(slot).req == req && !self.get(slot).aborted)
    }

    /// Takes a request out of the waiting queue for good. Returns the place that it had.
    pub fn remove_waiting(&mut self, req: RequestId) -> Option<usize> {
        let place = self.waiting.iter().position(|w| w.req == req)?;
        let slot = self.waiting.remove(place)?.slot;
        self.release(slot);
        Some(place)
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
