//! Spikes: so many requests within a window, on top of a pattern.

use super::lengths::{LengthSampler, Lengths};
use super::pattern::Problems;
use crate::sim::math;
use crate::sim::rng::Stream;
use crate::sim::time::{Span, Time};
use crate::sim::units::{DAY_US, span};
use serde::{Deserialize, Serialize};

/// Requests of one spike.
pub const SPIKE_REQUESTS_MAX: u32 = 1_000_000;

/// A burst of requests at independent, equally likely times within a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spike {
    /// When the window opens, since the scenario's start.
    #[serde(with = "span")]
    pub at: Span,
    pub requests: u32,
    /// The window; zero sends all at once.
    #[serde(default, with = "span")]
    pub within: Span,
    /// Lengths of prompts, if not as in the rest of the source.
    #[serde(default)]
    pub prompt_tokens: Option<Lengths>,
    /// Lengths of answers, if not as in the rest of the source.
    #[serde(default)]
    pub output_tokens: Option<Lengths>,
}

impl Spike {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        if !(1..=SPIKE_REQUESTS_MAX).contains(&self.requests) {
            let message = format!("must be from 1 to {SPIKE_REQUESTS_MAX}, is {}", self.requests);
            problems.add(format!("{path}.requests"), message);
        }
        if self.within.0 > DAY_US {
            problems.add(format!("{path}.within"), "must be at most 24h".to_owned());
        }
        for (key, lengths) in [("prompt_tokens", &self.prompt_tokens), ("output_tokens", &self.output_tokens)] {
            if let Some(lengths) = lengths {
                lengths.check(problems, &format!("{path}.{key}"));
            }
        }
    }
}

/// A spike that still has requests to send.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct RunningSpike {
    pub ordinal: u32,
    opens: Time,
    within: Span,
    left: u32,
    /// How far into the window the next request is, 0 to 1.
    at: f64,
    times: Stream,
    prompt: LengthSampler,
    output: LengthSampler,
}

impl RunningSpike {
    /// `opens` stands in for the spike's own `at`. `prompt` and `output` are the source's lengths.
    pub fn new(spike: &Spike, opens: Time, ordinal: u32, seed: u64, source: &str, own: [&Lengths; 2]) -> RunningSpike {
        let stream = |part: &str| Stream::with_ordinal(seed, &format!("{source}/spike-{part}"), u64::from(ordinal));
        let lengths = |own: &Lengths, set: &Option<Lengths>| set.as_ref().unwrap_or(own).clone();
        let mut running = RunningSpike {
            ordinal,
            opens,
            within: spike.within,
            left: spike.requests,
            at: 0.0,
            times: stream("times"),
            prompt: LengthSampler::new(lengths(own[0], &spike.prompt_tokens), stream("prompt")),
            output: LengthSampler::new(lengths(own[1], &spike.output_tokens), stream("output")),
        };
        running.step();
        running
    }

    /// Moves to the smallest of the `left` uniform times that are still to come: sorted uniforms one
    /// by one, without keeping them.
    fn step(&mut self) {
        if self.left > 0 {
            let survive = math::pow(self.times.uniform_open(), 1.0 / f64::from(self.left));
            self.at = 1.0 - (1.0 - self.at) * survive;
        }
    }

    pub fn next_time(&self) -> Option<Time> {
        let into_us = (self.at * self.within.0 as f64).floor() as u64;
        (self.left > 0).then(|| self.opens + Span(into_us))
    }

    /// Prompt and answer of the next request; call only while [`Self::next_time`] gives a time.
    pub fn take(&mut self) -> (u32, u32) {
        self.left = self.left.saturating_sub(1);
        self.step();
        (self.prompt.draw(), self.output.draw())
    }
}
