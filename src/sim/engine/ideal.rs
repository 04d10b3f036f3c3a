//! What a request costs at best: its share of a replica that is filled to the largest batch which
//! still keeps the SLO on time per output token. The score compares paid GPU-seconds with this.

use super::batch::blocks_of;
use super::memory::EngineLimits;
use super::step::{PrefillWork, StepCost};

/// The ideal cost of requests to one service. Building it is cheap; each request costs a binary
/// search over a table and one or two powers.
#[derive(Debug, Clone, PartialEq)]
pub struct IdealCost {
    cost: StepCost,
    limits: EngineLimits,
    tpot_slo_us: f64,
}

impl IdealCost {
    pub fn new(cost: &StepCost, limits: &EngineLimits, tpot_slo_s: f64) -> IdealCost {
        IdealCost { cost: cost.clone(), limits: *limits, tpot_slo_us: tpot_slo_s * 1e6 }
    }

    /// The largest batch of requests like this one: seats, KV blocks, and a pure decode step within
    /// the SLO. At least 1, even when the SLO cannot be met at all.
    pub fn batch(&self, prompt: u32, output: u32) -> u32 {
        let tokens = u64::from(prompt) + u64::from(output).saturating_sub(1);
        let by_blocks = u64::from(self.limits.usable_blocks()) / blocks_of(tokens).max(1);
        let most = u64::from(self.limits.max_num_seqs).min(by_blocks).max(1);
        let seats = u32::try_from(most).unwrap_or(u32::MAX);
        if self.decode_us(seats, prompt, output) <= self.tpot_slo_us {
            return seats;
        }
        let (mut good, mut bad) = (1, seats);
        while good + 1 < bad {
            let middle = good + (bad - good) / 2;
            if self.decode_us(middle, prompt, output) <= self.tpot_slo_us {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    /// A decode step of `batch` such requests, each halfway through its output.
    fn decode_us(&self, batch: u32, prompt: u32, output: u32) -> f64 {
        self.cost.decode_base(batch).time_us + self.cost.kv_us_per_token(batch) * context(batch, prompt, output)
    }

    /// GPU-seconds of one request: its share of the decode steps, plus what its prompt adds to the
    /// steps that carry it.
    pub fn gpu_seconds(&self, prompt: u32, output: u32) -> f64 {
        let batch = self.batch(prompt, output);
        let decode_us = self.decode_us(batch, prompt, output) / f64::from(batch);
        let steps = f64::from(output.saturating_sub(1));
        (decode_us * steps + self.prompt_us(batch, prompt)) * f64::from(self.cost.gpus()) / 1e6
    }

    /// What the chunks of one prompt add to steps of `batch` decodes.
    fn prompt_us(&self, batch: u32, prompt: u32) -> f64 {
        let alone_us = self.cost.decode_base(batch).time_us;
        let budget = self.limits.max_num_batched_tokens.saturating_sub(batch).max(1);
        let (mut done, mut us) = (0, 0.0);
        while done < prompt {
            let chunk = (prompt - done).min(budget);
            let mut work = PrefillWork::default();
            self.cost.add_chunk(&mut work, chunk, done, done + chunk >= prompt);
            us += self.cost.mixed_base(batch, &work).time_us - alone_us;
            done += chunk;
        }
        us
    }
}

/// [`IdealCost::gpu_seconds`] for a single question.
pub fn ideal_gpu_seconds(cost: &StepCost, limits: &EngineLimits, prompt: u32, output: u32, tpot_slo_s: f64) -> f64 {
    IdealCost::new(cost, limits, tpot_slo_s).gpu_seconds(prompt, output)
}

fn context(batch: u32, prompt: u32, output: u32) -> f64 {
    f64::from(batch) * (f64::from(prompt) + f64::from(output) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog;
    use crate::sim::engine::memory;
    use crate::sim::engine::{EngineEvent, EngineSettings, EngineSpec, Replica, Submission};
    use crate::sim::id::RequestId;
    use crate::sim::time::Time;

    fn engine() -> (StepCost, EngineLimits) {
        let gpu = catalog::gpu("h100-sxm").unwrap();
        let spec = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), gpu, 1);
        let settings = EngineSettings { max_model_len: Some(16_384), ..EngineSettings::defaults(gpu) };
        (StepCost::new(&spec, settings.max_num_seqs).unwrap(), memory::start(&spec, &settings).unwrap())
    }

    #[test]
    fn the_batch_is_the_largest_within_the_slo() {
        let (cost, limits) = engine();
        let ideal = IdealCost::new(&cost, &limits, 0.02);
        let batch = ideal.batch(1000, 200);
        assert!(ideal.decode_us(batch, 1000, 200) <= 20_000.0);
        assert!(ideal.decode_us(batch + 1, 1000, 200) > 20_000.0);
        assert_eq!(IdealCost::new(&cost, &limits, 0.001).batch(1000, 200), 1, "an impossible SLO");
        let by_memory = IdealCost::new(&cost, &limits, 10.0).batch(10_000, 200);
        assert_eq!(u64::from(by_memory), u64::from(limits.usable_blocks()) / blocks_of(10_199));
    }

    #[test]
    fn a_looser_slo_never_costs_more_and_longer_requests_never_less() {
        let (cost, limits) = engine();
        let at = |slo, prompt, output| ideal_gpu_seconds(&cost, &limits, prompt, output, slo);
        assert!(at(0.01, 1000, 200) >= at(0.02, 1000, 200) && at(0.02, 1000, 200) >= at(0.05, 1000, 200));
        assert!(at(0.02, 1000, 200) < at(0.02, 2000, 200) && at(0.02, 1000, 200) < at(0.02, 1000, 400));
    }

    #[test]
    fn a_saturated_replica_comes_close_and_never_below() {
        let (cost, limits) = engine();
        let ideal = IdealCost::new(&cost, &limits, 0.02);
        let seats = ideal.batch(1000, 200);
        let held = EngineLimits { max_num_seqs: seats, ..limits };
        let (mut replica, mut out) = (Replica::new(cost, held), Vec::new());
        let requests = 4000;
        for i in 0..requests {
            replica.submit(Time(0), Submission::whole(RequestId(i), 1000, 200), &mut out);
        }
        let mut end = 0;
        while let Some(due) = replica.next_due() {
            replica.advance(due, &mut out);
            end = due.0;
        }
        assert!(matches!(out.last(), Some(EngineEvent::Finished { .. })));
        let paid = end as f64 / 1e6;
        let share = f64::from(requests) * ideal.gpu_seconds(1000, 200) / paid;
        assert!(share > 0.8 && share <= 1.0, "{share}");
    }
}
