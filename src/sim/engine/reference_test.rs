//! The scheduler step by step, request by request, as vLLM's `schedule()` walks its lists: slow,
//! plain, and independent of the closed form. Tests compare the two.

use super::memory::EngineLimits;
use super::step::{PrefillWork, StepCost};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at_us: u64,
    pub prompt: u32,
    pub output: u32,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub first_token_us: f64,
    pub finished_us: f64,
    pub preemptions: u32,
}

#[derive(Debug, Clone)]
struct Request {
    id: usize,
    prompt: u32,
    output: u32,
    generated: u32,
    computed: u32,
    blocks: u32,
}

impl Request {
    fn known(&self) -> u32 {
        self.prompt + self.generated
    }
}

struct Engine<'a> {
    cost: &'a StepCost,
    limits: EngineLimits,
    clock_us: f64,
    running: Vec<Request>,
    waiting: VecDeque<Request>,
    free: u32,
    outcomes: BTreeMap<usize, Outcome>,
}

/// Runs all arrivals (sorted by time) to completion.
pub fn simulate(cost: &StepCost, limits: EngineLimits, arrivals: &[Arrival]) -> BTreeMap<usize, Outcome> {
    let mut engine = Engine {
        cost,
        limits,
        clock_us: 0.0,
        running: Vec::new(),
        waiting: VecDeque::new(),
        free: limits.usable_blocks(),
        outcomes: BTreeMap::new(),
    };
    let mut next = 0;
    loop {
        if engine.running.is_empty() && engine.waiting.is_empty() {
            match arrivals.get(next) {
                Some(arrival) => engine.clock_us = engine.clock_us.max(arrival.at_us as f64),
                None => return engine.outcomes,
            }
        }
        while let Some(a) = arrivals.get(next).filter(|a| a.at_us as f64 <= engine.clock_us.round()) {
            let (prompt, output) = (a.prompt, a.output);
            engine.waiting.push_back(Request { id: next, prompt, output, generated: 0, computed: 0, blocks: 0 });
            next += 1;
        }
        engine.step();
    }
}

impl Engine<'_> {
    fn step(&mut self) {
        let scheduled = self.schedule();
        let mut work = PrefillWork::default();
        let (mut batch, mut context) = (0_u32, 0_u64);
        for &(id, tokens) in &scheduled {
            let r = self.running.iter().find(|r| r.id == id).unwrap();
            if r.generated > 0 && r.computed + 1 == r.known() {
                batch += 1;
                context += u64::from(r.computed) + 1;
            } else {
                self.cost.add_chunk(&mut work, tokens, r.computed, r.computed + tokens == r.known());
            }
        }
        self.clock_us += self.cost.step_us(f64::from(batch), context as f64, &work);
        for (id, tokens) in scheduled {
            let index = self.running.iter().position(|r| r.id == id).unwrap();
            let r = &mut self.running[index];
            r.computed += tokens;
            if r.computed < r.known() {
                continue;
            }
            r.generated += 1;
            let outcome = self.outcomes.entry(id).or_default();
            if outcome.first_token_us == 0.0 {
                outcome.first_token_us = self.clock_us;
            }
            if r.generated == r.output {
                outcome.finished_us = self.clock_us;
                self.free += r.blocks;
                self.running.remove(index);
            }
        }
    }

    fn schedule(&mut self) -> Vec<(usize, u32)> {
        let mut scheduled = Vec::new();
        let mut budget = self.limits.max_num_batched_tokens;
        let mut preempted = false;
        let mut index = 0;
        while index < self.running.len() && budget > 0 {
            let r = &self.running[index];
            let tokens = (r.known() - r.computed).min(budget);
            let need = (r.computed + tokens).div_ceil(16) - r.blocks;
            let mut gave_way = false;
            while need > self.free {
                let mut last = self.running.pop().unwrap();
                gave_way = self.running.len() == index;
                self.free += last.blocks;
                last.blocks = 0;
                last.computed = 0;
                self.outcomes.entry(last.id).or_default().preemptions += 1;
                self.waiting.push_front(last);
                preempted = true;
                if gave_way {
                    break;
                }
            }
            if gave_way {
                break;
            }
            self.free -= need;
            self.running[index].blocks += need;
            budget -= tokens;
            scheduled.push((self.running[index].id, tokens));
            index += 1;
        }
        while !preempted && budget > 0 && self.running.len() < self.limits.max_num_seqs as usize {
            let Some(head) = self.waiting.front() else { break };
            if head.known().div_ceil(16) > self.free {
                break;
            }
            let mut r = self.waiting.pop_front().unwrap();
            let tokens = r.known().min(budget);
            r.blocks = tokens.div_ceil(16);
            self.free -= r.blocks;
            budget -= tokens;
            scheduled.push((r.id, tokens));
            self.running.push(r);
        }
        scheduled
    }
}
