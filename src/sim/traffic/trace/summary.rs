//! What a trace holds, in a few numbers; made on demand in one pass over the rows.

use super::{Row, Trace};
use crate::sim::time::Span;

/// Lengths of all prompts or all answers, in tokens as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tokens {
    pub mean: f64,
    /// By linear interpolation between the sorted lengths.
    pub p50: f64,
    pub p99: f64,
    pub max: u32,
}

/// A trace in a few numbers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Summary {
    pub requests: usize,
    /// From the first to the last request.
    pub span: Span,
    /// Zero if all requests have the same time.
    pub mean_per_second: f64,
    /// Requests of the busiest minute, counted in minutes from the first request.
    pub busiest_minute: u32,
    pub prompt: Tokens,
    pub output: Tokens,
}

/// Lengths below this are counted one by one.
const COUNTED: usize = 1 << 17;

/// How often each length occurs: exact quantiles without a sorted copy of all rows.
struct Counts {
    low: Vec<u32>,
    high: Vec<u32>,
    sum: u64,
}

impl Counts {
    fn new() -> Counts {
        Counts { low: vec![0; COUNTED], high: Vec::new(), sum: 0 }
    }

    fn add(&mut self, n: u32) {
        match self.low.get_mut(n as usize) {
            Some(count) => *count += 1,
            None => self.high.push(n),
        }
        self.sum += u64::from(n);
    }

    /// The length at this place in the sorted order; `high` is sorted.
    fn at(&self, place: u64) -> u32 {
        let mut before: u64 = 0;
        for (n, count) in self.low.iter().enumerate() {
            before += u64::from(*count);
            if place < before {
                return n as u32;
            }
        }
        self.high.get((place - before) as usize).copied().unwrap_or_default()
    }

    fn quantile(&self, rows: usize, p: f64) -> f64 {
        let place = rows.saturating_sub(1) as f64 * p;
        let (below, rest) = (place.floor(), place - place.floor());
        let low = f64::from(self.at(below as u64));
        if rest == 0.0 { low } else { low + rest * (f64::from(self.at(below as u64 + 1)) - low) }
    }

    fn tokens(mut self, rows: usize) -> Tokens {
        self.high.sort_unstable();
        let max = self.high.last().copied();
        let max = max.or_else(|| self.low.iter().rposition(|c| *c > 0).map(|n| n as u32));
        Tokens {
            mean: self.sum as f64 / rows.max(1) as f64,
            p50: self.quantile(rows, 0.5),
            p99: self.quantile(rows, 0.99),
            max: max.unwrap_or_default(),
        }
    }
}

impl Trace {
    /// The trace in a few numbers.
    pub fn summary(&self) -> Summary {
        const MINUTE_US: u64 = 60_000_000;
        let (mut prompts, mut outputs) = (Counts::new(), Counts::new());
        let (mut minute, mut in_minute, mut busiest) = (0, 0, 0);
        for row in &self.rows {
            prompts.add(row.prompt_tokens);
            outputs.add(row.output_tokens);
            let this = row.offset_us / MINUTE_US;
            in_minute = if this == minute { in_minute + 1 } else { 1 };
            minute = this;
            busiest = busiest.max(in_minute);
        }
        let requests = self.rows.len();
        let span = self.span();
        Summary {
            requests,
            span,
            mean_per_second: if span.0 == 0 { 0.0 } else { requests as f64 / span.secs_f64() },
            busiest_minute: busiest,
            prompt: prompts.tokens(requests),
            output: outputs.tokens(requests),
        }
    }

    /// Requests whose prompt and answer together are longer than this: what a server with such a
    /// `max_model_len` refuses.
    pub fn longer_than(&self, max_model_len: u32) -> usize {
        self.rows.iter().filter(|row| row.tokens() > u64::from(max_model_len)).count()
    }

    /// Requests that come within so long, at a speed (1 as recorded).
    pub fn within(&self, length: Span, speed: f64) -> usize {
        let reach_us = length.0 as f64 * speed;
        self.rows.partition_point(|row| row.offset_us as f64 <= reach_us)
    }
}

impl Row {
    /// Prompt and answer, each at least one token.
    pub fn tokens(&self) -> u64 {
        u64::from(self.prompt_tokens.max(1)) + u64::from(self.output_tokens.max(1))
    }
}
