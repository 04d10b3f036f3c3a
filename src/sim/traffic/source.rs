//! A source of requests: its pattern or trace and its spikes, merged in time order.

use super::arrivals::Arrivals;
use super::lengths::{LengthSampler, Lengths};
use super::pattern::{Pattern, Problems, TrafficProblem, TrafficSettings};
use super::replay::{Cursor, Drawn};
use super::spike::{RunningSpike, Spike};
use super::trace::Trace;
use crate::sim::rng::Stream;
use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::sync::Arc;

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Arrival {
    pub at: Time,
    /// At least 1.
    pub prompt_tokens: u32,
    /// At least 1.
    pub output_tokens: u32,
    pub origin: Origin,
}

/// Which part of a source a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Origin {
    /// The pattern or the trace.
    Pattern,
    /// The spike with this ordinal: the settings' in their order, then the injected ones.
    Spike(u32),
}

/// Requests in time order, from its own random streams alone. As an iterator it takes the next one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Source {
    name: String,
    seed: u64,
    base: Base,
    prompt: LengthSampler,
    output: LengthSampler,
    lengths: [Lengths; 2],
    /// By rising ordinals.
    spikes: Vec<RunningSpike>,
    spikes_made: u32,
    /// The spike that is next and its time: follows from `spikes`, and saves looking through them at
    /// every arrival of the pattern.
    #[serde(skip)]
    next_spike: Option<(Time, usize)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
enum Base {
    Silent,
    // Boxed: the others are small.
    Pattern(Box<Arrivals>),
    Trace(Box<Cursor>),
    /// The pattern's times with lengths of a trace's rows.
    Drawn(Box<Arrivals>, Box<Drawn>),
}

impl Source {
    /// A source by the scenario's seed and the source's name. `clock_at_start` is the time since
    /// Monday, 00:00, at the simulation's time 0. `trace` is the loaded trace that a
    /// [`Pattern::Trace`] or [`TrafficSettings::lengths_of`] names.
    ///
    /// # Errors
    /// All settings outside their limits, and a trace that is missing, empty or another one than
    /// the settings name.
    pub fn new(
        settings: &TrafficSettings,
        seed: u64,
        name: &str,
        clock_at_start: Span,
        trace: Option<Arc<Trace>>,
    ) -> Result<Source, Vec<TrafficProblem>> {
        let mut problems = Problems(settings.problems());
        let stream = |part: &str| Stream::new(seed, &format!("{name}/{part}"));
        let base = match (&settings.pattern, &settings.lengths_of) {
            (Pattern::Trace(used), _) => {
                Cursor::new(used, trace, &mut problems).map_or(Base::Silent, |cursor| Base::Trace(Box::new(cursor)))
            }
            (pattern, lengths_of) if problems.0.is_empty() => {
                let arrivals = Arrivals::new(pattern, clock_at_start, stream("gaps")).map(Box::new);
                let drawn = lengths_of.as_ref().map(|used| Drawn::new(used, trace, stream("rows"), &mut problems));
                match (arrivals, drawn.flatten()) {
                    (None, _) => Base::Silent,
                    (Some(arrivals), None) => Base::Pattern(arrivals),
                    (Some(arrivals), Some(drawn)) => Base::Drawn(arrivals, Box::new(drawn)),
                }
            }
            _ => Base::Silent,
        };
        if !problems.0.is_empty() {
            return Err(problems.0);
        }
        let lengths = [settings.prompt_tokens.clone(), settings.output_tokens.clone()];
        let mut source = Source {
            name: name.to_owned(),
            seed,
            base,
            prompt: LengthSampler::new(lengths[0].clone(), stream("prompt")),
            output: LengthSampler::new(lengths[1].clone(), stream("output")),
            lengths,
            spikes: Vec::new(),
            spikes_made: 0,
            next_spike: None,
        };
        for spike in &settings.spikes {
            source.start(spike, Time::ZERO + spike.at);
        }
        Ok(source)
    }

    /// When the next request comes; nothing if none ever does.
    pub fn next_time(&self) -> Option<Time> {
        self.base.next_time().into_iter().chain(self.next_spike.map(|(at, _)| at)).min()
    }

    /// Adds a spike that a learner asked for. Its window opens at `spike.at`, but not before `now`.
    /// Draws of the pattern and of other spikes stay as they are.
    ///
    /// # Errors
    /// The settings that are outside their limits, by their path below the spike.
    pub fn inject(&mut self, now: Time, spike: &Spike) -> Result<(), Vec<TrafficProblem>> {
        let mut problems = Problems::default();
        spike.check(&mut problems, "spike");
        if problems.0.is_empty() {
            self.start(spike, now.max(Time::ZERO + spike.at));
            Ok(())
        } else {
            Err(problems.0)
        }
    }

    /// Multiplies the pattern's rates from `now` on; 0 pauses it. Traces and spikes stay as they
    /// are. `now` must not be later than [`Self::next_time`].
    pub fn set_rate_factor(&mut self, now: Time, factor: f64) {
        if let Base::Pattern(arrivals) | Base::Drawn(arrivals, _) = &mut self.base {
            arrivals.set_rate_factor(now, factor);
        }
    }

    fn start(&mut self, spike: &Spike, opens: Time) {
        let ordinal = self.spikes_made;
        self.spikes_made += 1;
        let own = [&self.lengths[0], &self.lengths[1]];
        self.spikes.push(RunningSpike::new(spike, opens, ordinal, self.seed, &self.name, own));
        self.find_next_spike();
    }

    /// Of spikes at the same time, the one with the lowest ordinal.
    fn find_next_spike(&mut self) {
        let times = self.spikes.iter().enumerate().filter_map(|(i, spike)| Some((spike.next_time()?, i)));
        self.next_spike = times.min();
    }

    fn take_spike(&mut self, at: Time, index: usize) -> Option<Arrival> {
        let spike = self.spikes.get_mut(index)?;
        let (prompt_tokens, output_tokens) = spike.take();
        let origin = Origin::Spike(spike.ordinal);
        if spike.next_time().is_none() {
            self.spikes.remove(index);
        }
        self.find_next_spike();
        Some(Arrival { at, prompt_tokens, output_tokens, origin })
    }
}

impl Iterator for Source {
    type Item = Arrival;

    /// At equal times the pattern comes first, then the spikes by their ordinals.
    fn next(&mut self) -> Option<Arrival> {
        let base = self.base.next_time();
        match self.next_spike {
            Some((at, index)) if base.is_none_or(|base| at < base) => self.take_spike(at, index),
            _ => {
                let at = base?;
                let (prompt_tokens, output_tokens) = match &mut self.base {
                    Base::Trace(cursor) => cursor.take(),
                    Base::Pattern(arrivals) => {
                        arrivals.take();
                        (self.prompt.draw(), self.output.draw())
                    }
                    Base::Drawn(arrivals, drawn) => {
                        arrivals.take();
                        drawn.draw()
                    }
                    Base::Silent => return None,
                };
                Some(Arrival { at, prompt_tokens, output_tokens, origin: Origin::Pattern })
            }
        }
    }
}

impl Base {
    fn next_time(&self) -> Option<Time> {
        match self {
            Base::Silent => None,
            Base::Pattern(arrivals) | Base::Drawn(arrivals, _) => arrivals.next_time(),
            Base::Trace(cursor) => cursor.next_time(),
        }
    }
}
