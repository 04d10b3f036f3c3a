//! The scheduler step by step, request by request, as vLLM's `schedule()` walks its lists: slow,
//! plain, and independent of the closed form. Tests compare the two.

use super::event::EngineEvent;
use super::memory::EngineLimits;
use super::replica::Replica;
use super::spec::EngineSpec;
use super::step::{PrefillWork, StepCost};
use super::submission::{Scheduling, Submission, Work};
use crate::sim::catalog;
use crate::sim::id::RequestId;
use crate::sim::time::Time;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// 8B on one H100.
pub static COST: LazyLock<StepCost> = LazyLock::new(|| {
    let spec = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), catalog::gpu("h100-sxm").unwrap(), 1);
    StepCost::for_limits(&spec, &limits(64, 4096, 1)).unwrap()
});

pub fn limits(max_num_seqs: u32, max_num_batched_tokens: u32, kv_blocks: u32) -> EngineLimits {
    EngineLimits { max_num_seqs, max_num_batched_tokens, max_model_len: 4096, kv_blocks }
}

/// Advances until nothing is due any more. Returns the last instant.
pub fn run_out(replica: &mut Replica, out: &mut Vec<EngineEvent>) -> Time {
    let mut last = Time::ZERO;
    while let Some(due) = replica.next_due() {
        replica.advance(due, out);
        last = due;
    }
    last
}

/// One call of a replica's interface.
#[derive(Debug, Clone, Copy)]
pub enum Op {
    Submit(Submission),
    Abort(RequestId),
    Slowdown(f64),
    Scheduling(Scheduling),
}

#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub at_us: u64,
    pub op: Op,
}

/// Everything that happens to one replica.
#[derive(Debug, Clone)]
pub struct Script {
    pub scheduling: Scheduling,
    /// Sorted by time.
    pub calls: Vec<Call>,
    /// How long a KV transfer takes.
    pub transfer_us: u64,
}

/// Absolute instants, microseconds; zero for what did not happen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    pub first_token_us: f64,
    pub finished_us: f64,
    pub prefilled_us: f64,
    pub preemptions: u32,
}

#[derive(Debug, Default)]
pub struct Result {
    pub outcomes: BTreeMap<u32, Outcome>,
    pub generated_tokens: u64,
    pub prompt_tokens: u64,
}

#[derive(Debug, Clone)]
struct Request {
    id: RequestId,
    at_us: u64,
    prompt: u32,
    output: u32,
    priority: i32,
    work: Work,
    generated: u32,
    computed: u32,
    blocks: u32,
    started: bool,
    aborted: bool,
}

impl Request {
    fn known(&self) -> u32 {
        self.prompt + self.generated
    }

    fn decodes(&self) -> bool {
        self.generated > 0 && self.computed + 1 == self.known()
    }

    /// Smaller goes first, as in vLLM.
    fn rank(&self) -> (Reverse<i32>, u64, u32) {
        (Reverse(self.priority), self.at_us, self.id.0)
    }
}

struct Engine<'a> {
    cost: &'a StepCost,
    limits: EngineLimits,
    scheduling: Scheduling,
    slowdown: f64,
    transfer_us: u64,
    clock_us: f64,
    calls: std::iter::Peekable<std::slice::Iter<'a, Call>>,
    running: Vec<Request>,
    waiting: Vec<Request>,
    /// Ends of transfers: instant, request, blocks.
    held: Vec<(u64, RequestId, u32)>,
    free: u32,
    result: Result,
}

/// Runs a script to its end.
pub fn simulate(cost: &StepCost, limits: EngineLimits, script: &Script) -> Result {
    let mut engine = Engine {
        cost,
        limits,
        scheduling: script.scheduling,
        slowdown: 1.0,
        transfer_us: script.transfer_us,
        clock_us: 0.0,
        calls: script.calls.iter().peekable(),
        running: Vec::new(),
        waiting: Vec::new(),
        held: Vec::new(),
        free: limits.usable_blocks(),
        result: Result::default(),
    };
    loop {
        engine.hear();
        engine.let_leave();
        let (scheduled, preempted) = engine.schedule();
        if !scheduled.is_empty() {
            engine.run(scheduled);
        } else if !preempted {
            // Nothing to do before something happens outside.
            let call = engine.calls.peek().map(|call| call.at_us);
            let Some(next) = engine.held.iter().map(|held| held.0).chain(call).min() else {
                assert!(engine.running.is_empty() && engine.waiting.is_empty());
                assert_eq!(engine.free, limits.usable_blocks());
                return engine.result;
            };
            engine.clock_us = engine.clock_us.max(next as f64);
        }
    }
}

impl Engine<'_> {
    /// Everything that has happened outside by now.
    fn hear(&mut self) {
        let now = self.clock_us.round() as u64;
        while let Some(call) = self.calls.next_if(|call| call.at_us <= now) {
            match call.op {
                Op::Submit(s) => self.enqueue(&s, call.at_us),
                Op::Abort(id) => self.abort(id),
                Op::Slowdown(factor) => self.slowdown = factor,
                Op::Scheduling(scheduling) => {
                    self.scheduling = scheduling;
                    match scheduling {
                        Scheduling::Fcfs => self.waiting.sort_by_key(|r| r.at_us),
                        Scheduling::Priority => self.waiting.sort_by_key(Request::rank),
                    }
                }
            }
        }
        self.held.retain(|&(at, _, blocks)| {
            self.free += if at <= now { blocks } else { 0 };
            at > now
        });
    }

    fn enqueue(&mut self, s: &Submission, at_us: u64) {
        let request = Request {
            id: s.req,
            at_us,
            prompt: s.prompt_tokens,
            output: s.output_tokens,
            priority: s.priority,
            work: s.work,
            generated: u32::from(s.work == Work::DecodeOnly),
            computed: 0,
            blocks: 0,
            started: false,
            aborted: false,
        };
        self.waiting.push(request);
        if self.scheduling == Scheduling::Priority {
            self.waiting.sort_by_key(Request::rank);
        }
    }

    fn abort(&mut self, id: RequestId) {
        self.waiting.retain(|r| r.id != id);
        self.running.iter_mut().filter(|r| r.id == id).for_each(|r| r.aborted = true);
        self.held.iter_mut().filter(|held| held.1 == id).for_each(|held| held.0 = 0);
    }

    fn let_leave(&mut self) {
        self.running.retain(|r| {
            self.free += if r.aborted { r.blocks } else { 0 };
            !r.aborted
        });
    }

    fn run(&mut self, scheduled: Vec<(RequestId, u32)>) {
        let mut work = PrefillWork::default();
        let (mut batch, mut context) = (0_u32, 0_u64);
        for &(id, tokens) in &scheduled {
            let r = self.running.iter().find(|r| r.id == id).unwrap();
            if r.decodes() {
                batch += 1;
                context += u64::from(r.computed) + 1;
            } else {
                self.cost.add_chunk(&mut work, tokens, r.computed, r.computed + tokens == r.known());
            }
        }
        self.clock_us += self.slowdown * self.cost.step_us(f64::from(batch), context as f64, &work);
        self.hear();
        for (id, tokens) in scheduled {
            let index = self.running.iter().position(|r| r.id == id).unwrap();
            let r = &mut self.running[index];
            r.computed += tokens;
            if r.computed < r.known() {
                continue;
            }
            if !r.started {
                r.started = true;
                self.result.prompt_tokens += u64::from(r.prompt);
            }
            let heard = !r.aborted;
            let outcome = self.result.outcomes.entry(id.0).or_default();
            if r.work == Work::PrefillOnly {
                if heard {
                    outcome.prefilled_us = self.clock_us;
                    let end = self.clock_us.round() as u64 + self.transfer_us;
                    self.held.push((end, id, r.blocks));
                    self.running.remove(index);
                }
                continue;
            }
            r.generated += 1;
            self.result.generated_tokens += 1;
            if heard && outcome.first_token_us == 0.0 {
                outcome.first_token_us = self.clock_us;
            }
            if r.generated == r.output {
                if heard {
                    outcome.finished_us = self.clock_us;
                }
                self.free += r.blocks;
                self.running.remove(index);
            }
        }
    }

    /// Tokens for each request of the next step, and whether any was preempted.
    fn schedule(&mut self) -> (Vec<(RequestId, u32)>, bool) {
        let mut scheduled: Vec<(RequestId, u32)> = Vec::new();
        let mut budget = self.limits.max_num_batched_tokens;
        let mut preempted = false;
        let mut index = 0;
        'running: while index < self.running.len() && budget > 0 {
            let r = &self.running[index];
            let id = r.id;
            let tokens = (r.known() - r.computed).min(budget);
            let need = (r.computed + tokens).div_ceil(16) - r.blocks;
            while need > self.free {
                let victim = match self.scheduling {
                    Scheduling::Fcfs => self.running.len() - 1,
                    Scheduling::Priority => (0..self.running.len()).max_by_key(|&i| self.running[i].rank()).unwrap(),
                };
                let mut last = self.running.remove(victim);
                if let Some(place) = scheduled.iter().position(|s| s.0 == last.id) {
                    budget += scheduled.remove(place).1;
                    index -= 1;
                }
                self.free += last.blocks;
                last.blocks = 0;
                last.computed = 0;
                self.result.outcomes.entry(last.id.0).or_default().preemptions += 1;
                preempted = true;
                let gave_way = last.id == id;
                self.waiting.insert(0, last);
                if self.scheduling == Scheduling::Priority {
                    self.waiting.sort_by_key(Request::rank);
                }
                if gave_way {
                    break 'running;
                }
            }
            self.free -= need;
            self.running[index].blocks += need;
            budget -= tokens;
            scheduled.push((id, tokens));
            index += 1;
        }
        while !preempted && budget > 0 && self.running.len() < self.limits.max_num_seqs as usize {
            let Some(head) = self.waiting.first() else { break };
            if head.known().min(head.prompt + head.output - 1).div_ceil(16) > self.free {
                break;
            }
            let mut r = self.waiting.remove(0);
            if r.work == Work::DecodeOnly {
                r.work = Work::Whole;
                r.started = true;
                r.computed = r.prompt;
                self.result.generated_tokens += 1;
                let outcome = self.result.outcomes.entry(r.id.0).or_default();
                outcome.first_token_us = self.clock_us;
                if r.output == 1 {
                    outcome.finished_us = self.clock_us;
                    continue;
                }
            }
            let tokens = (r.known() - r.computed).min(budget);
            r.blocks = (r.computed + tokens).div_ceil(16);
            self.free -= r.blocks;
            budget -= tokens;
            scheduled.push((r.id, tokens));
            self.running.push(r);
        }
        (scheduled, preempted)
    }
}
