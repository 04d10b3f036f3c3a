//! A run of engine steps with the same members, in closed form.
//!
//! With `B` members whose contexts sum to `S`, step `i` takes `a + b * (S + i * B)`: the sum over
//! `k` steps is a quadratic in `k`, and so is the memory traffic. A step with prompt chunks is a
//! span of one.

use super::step::StepBase;
use crate::sim::time::Time;
use serde::Serialize;
use std::ops::AddAssign;

/// An instant with the part below a microsecond that rounding left over, so that errors do not add
/// up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Clock {
    pub us: u64,
    /// Between -0.5 and 0.5.
    pub rest_us: f64,
}

impl Clock {
    pub fn at(now: Time) -> Clock {
        Clock { us: now.0, rest_us: 0.0 }
    }

    pub fn time(&self) -> Time {
        Time(self.us)
    }
}

/// `steps` steps from `start` on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    pub start: Clock,
    /// Follows from the rest; see [`Span::cut`].
    end: Clock,
    pub steps: u64,
    pub batch: u32,
    /// Context at the start, tokens.
    pub context_tokens: u64,
    /// `a`, in wall time, and what the GPU does in it.
    pub base: StepBase,
    /// `b`, in wall time.
    pub kv_us_per_token: f64,
}

/// Time that parts of a GPU worked, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Activity {
    pub dram_us: f64,
    pub tensor_us: f64,
    pub sm_us: f64,
}

impl AddAssign for Activity {
    fn add_assign(&mut self, other: Activity) {
        self.dram_us += other.dram_us;
        self.tensor_us += other.tensor_us;
        self.sm_us += other.sm_us;
    }
}

/// What reading one token of context keeps busy, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KvActivity {
    /// The memory bus, at peak bandwidth.
    pub peak_us_per_token: f64,
    /// Any kernel.
    pub sm_us_per_token: f64,
}

impl Span {
    /// `steps` steps that take `slowdown` times as long as they would alone.
    pub fn new(
        start: Clock,
        steps: u64,
        batch: u32,
        context_tokens: u64,
        base: StepBase,
        kv_us_per_token: f64,
        slowdown: f64,
    ) -> Span {
        let base = StepBase { time_us: base.time_us * slowdown, ..base };
        let kv_us_per_token = kv_us_per_token * slowdown;
        let mut span = Span { start, end: start, steps, batch, context_tokens, base, kv_us_per_token };
        span.cut(steps);
        span
    }

    /// Ends the span after `steps` steps.
    pub fn cut(&mut self, steps: u64) {
        let length = self.start.rest_us + self.length_us(steps);
        let whole = round(length);
        self.steps = steps;
        self.end = Clock { us: self.start.us + whole, rest_us: (length - float(whole)).clamp(-0.5, 0.5) };
    }

    /// End of the whole span.
    pub fn end(&self) -> Clock {
        self.end
    }

    /// Context tokens read in the first `steps` steps.
    fn tokens_read(&self, steps: u64) -> f64 {
        let k = float(steps);
        k * float(self.context_tokens) + f64::from(self.batch) * k * (k + 1.0) / 2.0
    }

    /// Length of the first `steps` steps, microseconds.
    fn length_us(&self, steps: u64) -> f64 {
        float(steps) * self.base.time_us + self.kv_us_per_token * self.tokens_read(steps)
    }

    /// End of step `steps`, to whole microseconds.
    pub fn end_us(&self, steps: u64) -> u64 {
        self.start.us + round(self.start.rest_us + self.length_us(steps))
    }

    /// The step in progress at `now`: the first, counted from 1, whose end is not before `now`.
    pub fn step_at(&self, now: Time) -> u64 {
        let elapsed = float(now.0.saturating_sub(self.start.us)) - self.start.rest_us;
        let square = self.kv_us_per_token * f64::from(self.batch) / 2.0;
        let linear = self.base.time_us + self.kv_us_per_token * float(self.context_tokens) + square;
        let root = (linear * linear + 4.0 * square * elapsed.max(0.0)).sqrt();
        let guess = if linear + root > 0.0 { 2.0 * elapsed / (linear + root) } else { 1.0 };
        let step = (guess.max(0.0) as u64).saturating_add(1).clamp(1, self.steps);
        let ends_late_enough = step == self.steps || self.end_us(step) >= now.0;
        if ends_late_enough && (step == 1 || self.end_us(step - 1) < now.0) {
            return step;
        }
        self.step_near(step, now)
    }

    /// Corrects a guess of [`Span::step_at`] that rounding has put beside the step.
    #[cold]
    fn step_near(&self, mut step: u64, now: Time) -> u64 {
        while step < self.steps && self.end_us(step) < now.0 {
            step += 1;
        }
        while step > 1 && self.end_us(step - 1) >= now.0 {
            step -= 1;
        }
        step
    }

    /// Wall time of the span that has passed at `now`, microseconds.
    pub fn elapsed_us(&self, now: Time) -> u64 {
        now.0.clamp(self.start.us, self.end.us) - self.start.us
    }

    /// What the GPU did in the first `steps` steps, at these slopes per token of context.
    pub fn activity(&self, steps: u64, kv: &KvActivity) -> Activity {
        let (k, tokens) = (float(steps), self.tokens_read(steps));
        Activity {
            dram_us: k * self.base.dram_us + kv.peak_us_per_token * tokens,
            tensor_us: k * self.base.tensor_us,
            sm_us: k * self.base.sm_us + kv.sm_us_per_token * tokens,
        }
    }

    /// Share of its first step that keeps the memory bus busy.
    pub fn dram_active(&self, kv: &KvActivity) -> f64 {
        let length = self.length_us(1);
        if length > 0.0 { self.activity(1, kv).dram_us / length } else { 0.0 }
    }

    /// The same up to `now`: whole steps, and a share of the one in progress.
    pub fn activity_until(&self, now: Time, kv: &KvActivity) -> Activity {
        let (steps, share) = self.progress(now);
        let (mut low, high) = (self.activity(steps, kv), self.activity(steps + 1, kv));
        low.dram_us += (high.dram_us - low.dram_us) * share;
        low.tensor_us += (high.tensor_us - low.tensor_us) * share;
        low.sm_us += (high.sm_us - low.sm_us) * share;
        low
    }

    /// Completed steps at `now`, and the share of the one in progress that has passed.
    pub fn progress(&self, now: Time) -> (u64, f64) {
        let step = self.step_at(now);
        let (from, to) = (if step > 1 { self.end_us(step - 1) } else { self.start.us }, self.end_us(step));
        let passed = now.0.clamp(from, to) - from;
        let share = if to > from { passed as f64 / (to - from) as f64 } else { 0.0 };
        (step - 1, share)
    }
}

/// Counts stay far below 2^63, and signed numbers convert in one instruction.
fn float(count: u64) -> f64 {
    count as i64 as f64
}

/// To the nearest whole number; negative becomes zero. (The cast cuts off, and is cheaper than
/// `floor`.)
fn round(x: f64) -> u64 {
    (x + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_step_in_progress_is_found_for_every_instant(
            base in 0.0_f64..50_000.0, slope in 0.0_f64..0.1, batch in 1_u32..500, context in 0_u64..1_000_000,
            steps in 1_u64..3000, share in 0.0_f64..1.1, rest in -0.5_f64..0.5,
            slowdown in 1.0_f64..4.0,
        ) {
            let base = StepBase { time_us: base, dram_us: 1.0, tensor_us: 1.0, sm_us: 1.0 };
            let start = Clock { us: 1000, rest_us: rest };
            let span = Span::new(start, steps, batch, context, base, slope, slowdown);
            prop_assert_eq!(span.end().us, span.end_us(steps));
            let now = Time(1000 + ((span.end_us(steps) - 1000) as f64 * share) as u64);
            let step = span.step_at(now);
            prop_assert!(step == steps || span.end_us(step) >= now.0);
            prop_assert!(step == 1 || span.end_us(step - 1) < now.0);
        }
    }
}
