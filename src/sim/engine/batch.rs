//! The decoding requests of one replica as aggregates that a span of steps can use without touching
//! each request: when the first one ends, how much context they have, and how many KV blocks they
//! need for `k` more steps.
//!
//! Every decoding request gains one token per step, so each ends at a fixed *global step* and
//! crosses a block border at a fixed residue of it. Sixteen counters therefore answer the block
//! question in constant time.

use super::memory::BLOCK_TOKENS;
use serde::Serialize;

const BLOCK: u64 = BLOCK_TOKENS as u64;
const NOWHERE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Entry {
    end_step: u64,
    /// Ties end in admission order.
    admission: u32,
    slot: u32,
}

impl Entry {
    fn before(&self, other: &Entry) -> bool {
        (self.end_step, self.admission) < (other.end_step, other.admission)
    }
}

/// Min-heap of end steps with removal from the middle, plus the block counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DecodeBatch {
    heap: Vec<Entry>,
    /// Where each slot's entry is in the heap.
    position: Vec<u32>,
    /// Requests by `(tokens in cache - global step) mod 16`.
    residues: [u32; BLOCK_TOKENS as usize],
    /// Tokens in the caches of all members.
    pub context_tokens: u64,
}

impl DecodeBatch {
    pub fn len(&self) -> u32 {
        self.heap.len() as u32
    }

    /// Global step at whose end the first member is finished.
    pub fn first_end(&self) -> Option<u64> {
        self.heap.first().map(|entry| entry.end_step)
    }

    pub fn insert(&mut self, slot: u32, end_step: u64, admission: u32, context_offset: i64, global_step: u64) {
        if self.position.len() <= slot as usize {
            self.position.resize(slot as usize + 1, NOWHERE);
        }
        self.residues[residue(context_offset)] += 1;
        self.context_tokens += context_offset.saturating_add_unsigned(global_step).unsigned_abs();
        self.heap.push(Entry { end_step, admission, slot });
        self.sift_up(self.heap.len() - 1);
    }

    /// Removes the member in `slot`, whose offset is given, at `global_step`.
    pub fn remove(&mut self, slot: u32, context_offset: i64, global_step: u64) {
        let at = match self.position.get(slot as usize) {
            Some(&at) if at != NOWHERE => at as usize,
            _ => return,
        };
        self.position[slot as usize] = NOWHERE;
        self.residues[residue(context_offset)] -= 1;
        self.context_tokens -= context_offset.saturating_add_unsigned(global_step).unsigned_abs();
        let Some(moved) = self.heap.pop() else { return };
        if at < self.heap.len() {
            self.heap[at] = moved;
            self.position[moved.slot as usize] = at as u32;
            if at > 0 && self.heap[at].before(&self.heap[(at - 1) / 2]) {
                self.sift_up(at);
            } else {
                self.sift_down(at);
            }
        }
    }

    /// The member that is finished at `global_step`, earliest admission first.
    pub fn finished_at(&self, global_step: u64) -> Option<u32> {
        self.heap.first().filter(|entry| entry.end_step <= global_step).map(|entry| entry.slot)
    }

    /// New blocks that `steps` more steps need, from `global_step` on.
    pub fn growth(&self, global_step: u64, steps: u64) -> u64 {
        if steps == 1 {
            return u64::from(self.crossing(global_step));
        }
        // Residues cross in descending order, from that of the next step on.
        let (first, rest) = (first_crossing(global_step), (steps % BLOCK) as u32);
        let in_rest = |residue: u32| first.wrapping_sub(residue) % BLOCK_TOKENS < rest;
        let members = self.residues.iter().zip(0..);
        let crossing: u32 = members.map(|(&n, residue)| if in_rest(residue) { n } else { 0 }).sum();
        steps / BLOCK * u64::from(self.len()) + u64::from(crossing)
    }

    /// The most steps up to `wanted` whose new blocks do not exceed `free`.
    pub fn steps_that_fit(&self, global_step: u64, free: u64, wanted: u64) -> u64 {
        let per_round = u64::from(self.len());
        if per_round.saturating_mul(wanted.div_ceil(BLOCK)) <= free {
            return wanted;
        }
        let rounds = free / per_round;
        let mut rest = free - rounds * per_round;
        let mut steps = rounds * BLOCK;
        for step in 0..BLOCK {
            let need = u64::from(self.crossing(global_step + step));
            if need > rest {
                break;
            }
            rest -= need;
            steps += 1;
        }
        steps.min(wanted)
    }

    /// Members that need a new block in the step that follows `global_step`.
    fn crossing(&self, global_step: u64) -> u32 {
        self.residues[first_crossing(global_step) as usize]
    }

    fn sift_up(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.heap[at] = self.heap[parent];
            self.position[self.heap[at].slot as usize] = at as u32;
            at = parent;
        }
        self.heap[at] = entry;
        self.position[entry.slot as usize] = at as u32;
    }

    fn sift_down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].before(&self.heap[child]) {
                child += 1;
            }
            if !self.heap[child].before(&entry) {
                break;
            }
            self.heap[at] = self.heap[child];
            self.position[self.heap[at].slot as usize] = at as u32;
            at = child;
        }
        self.heap[at] = entry;
        self.position[entry.slot as usize] = at as u32;
    }

    pub fn clear(&mut self) {
        self.heap.clear();
        self.position.clear();
        self.residues = [0; BLOCK_TOKENS as usize];
        self.context_tokens = 0;
    }
}

/// The residue whose members need a new block in the step that follows `global_step`.
fn first_crossing(global_step: u64) -> u32 {
    (global_step.wrapping_neg() % BLOCK) as u32
}

fn residue(context_offset: i64) -> usize {
    context_offset.rem_euclid(BLOCK as i64) as usize
}

/// Blocks that `tokens` tokens occupy.
pub fn blocks_of(tokens: u64) -> u64 {
    tokens.div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn growth_equals_counting_block_by_block(
            contexts in prop::collection::vec(1_u64..200, 1..40), start in 0_u64..1000, steps in 0_u64..100,
        ) {
            let mut batch = DecodeBatch::default();
            for (slot, &context) in contexts.iter().enumerate() {
                let offset = context as i64 - start as i64;
                batch.insert(slot as u32, start + 500, slot as u32, offset, start);
            }
            let counted: u64 = contexts.iter().map(|c| blocks_of(c + steps) - blocks_of(*c)).sum();
            prop_assert_eq!(batch.growth(start, steps), counted);
            let fit = batch.steps_that_fit(start, counted, 10_000);
            prop_assert!(fit >= steps);
            prop_assert_eq!(batch.steps_that_fit(start, counted, fit / 2), fit / 2);
            prop_assert!(batch.growth(start, fit) <= counted && batch.growth(start, fit + 1) > counted);
        }

        #[test]
        fn members_leave_in_order_of_end_and_admission(
            ends in prop::collection::vec(1_u64..30, 1..40), removed in prop::collection::vec(0_usize..40, 0..10),
        ) {
            let mut batch = DecodeBatch::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (slot, &end) in ends.iter().enumerate() {
                batch.insert(slot as u32, end, slot as u32, 5, 0);
                expected.push((end, slot as u32));
            }
            for slot in removed {
                batch.remove(slot as u32, 5, 0);
                expected.retain(|&(_, s)| s as usize != slot);
            }
            expected.sort_unstable();
            let mut seen = Vec::new();
            while let Some(slot) = batch.finished_at(u64::MAX) {
                seen.push((batch.first_end().unwrap(), slot));
                batch.remove(slot, 5, 0);
            }
            prop_assert_eq!(seen, expected);
            prop_assert_eq!(batch.context_tokens, 0);
            prop_assert_eq!(batch.growth(0, 16), 0);
        }
    }
}
