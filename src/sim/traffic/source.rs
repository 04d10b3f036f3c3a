//! A source of requests: its pattern or trace and its spikes, merged in time order.

use super::arrivals::Arrivals;
use super::lengths::{LengthSampler, Lengths};
use super::pattern::{Pattern, Problems, TraceUse, TrafficProblem, TrafficSettings};
use super::spike::{RunningSpike, Spike};
use super::trace::Trace;
use crate::sim::rng::Stream;
use crate::sim::time::{Span, Time};
use serde::{Serialize, Serializer};
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
    spikes: Vec<RunningSpike>,
    spikes_made: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
enum Base {
    Silent,
    // Boxed: the others are small.
    Pattern(Box<Arrivals>),
    Trace(Cursor),
}

impl Source {
    /// A source by the scenario's seed and the source's name. `clock_at_start` is the time of day
    /// at the simulation's time 0. `trace` is the loaded trace that a [`Pattern::Trace`] names;
    /// other patterns ignore it.
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
        let base = match &settings.pattern {
            Pattern::Trace(used) => Cursor::new(used, trace, &mut problems).map_or(Base::Silent, Base::Trace),
            pattern if problems.0.is_empty() => Arrivals::new(pattern, clock_at_start, stream("gaps"))
                .map_or(Base::Silent, |arrivals| Base::Pattern(Box::new(arrivals))),
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
        };
        for spike in &settings.spikes {
            source.start(spike, Time::ZERO + spike.at);
        }
        Ok(source)
    }

    /// When the next request comes; nothing if none ever does.
    pub fn next_time(&self) -> Option<Time> {
        self.spikes.iter().filter_map(RunningSpike::next_time).chain(self.base.next_time()).min()
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
        if let Base::Pattern(arrivals) = &mut self.base {
            arrivals.set_rate_factor(now, factor);
        }
    }

    fn start(&mut self, spike: &Spike, opens: Time) {
        let ordinal = self.spikes_made;
        self.spikes_made += 1;
        let own = [&self.lengths[0], &self.lengths[1]];
        self.spikes.push(RunningSpike::new(spike, opens, ordinal, self.seed, &self.name, own));
    }
}

impl Iterator for Source {
    type Item = Arrival;

    /// At equal times the pattern comes first, then the spikes by their ordinals.
    fn next(&mut self) -> Option<Arrival> {
        let base = self.base.next_time();
        let spike = self.spikes.iter().filter_map(RunningSpike::next_time).min();
        let at = base.into_iter().chain(spike).min()?;
        if base == Some(at) {
            let (prompt_tokens, output_tokens) = match &mut self.base {
                Base::Trace(cursor) => cursor.take(),
                Base::Pattern(arrivals) => {
                    arrivals.take();
                    (self.prompt.draw(), self.output.draw())
                }
                Base::Silent => return None,
            };
            return Some(Arrival { at, prompt_tokens, output_tokens, origin: Origin::Pattern });
        }
        let index = self.spikes.iter().position(|spike| spike.next_time() == Some(at))?;
        let spike = &mut self.spikes[index];
        let (prompt_tokens, output_tokens) = spike.take();
        let origin = Origin::Spike(spike.ordinal);
        if spike.next_time().is_none() {
            self.spikes.remove(index);
        }
        Some(Arrival { at, prompt_tokens, output_tokens, origin })
    }
}

impl Base {
    fn next_time(&self) -> Option<Time> {
        match self {
            Base::Silent => None,
            Base::Pattern(arrivals) => arrivals.next_time(),
            Base::Trace(cursor) => cursor.next_time(),
        }
    }
}

/// A place in a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Cursor {
    #[serde(serialize_with = "only_its_hash")]
    trace: Arc<Trace>,
    row: usize,
    lap: u64,
    speed: f64,
    repeat: bool,
}

/// Rows never change: in a saved state the hash stands for them.
fn only_its_hash<S: Serializer>(trace: &Arc<Trace>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(trace.rows_hash())
}

impl Cursor {
    fn new(used: &TraceUse, trace: Option<Arc<Trace>>, problems: &mut Problems) -> Option<Cursor> {
        let mut refuse = |key: &str, message: String| {
            problems.add(format!("pattern.trace.{key}"), message);
            None
        };
        let Some(trace) = trace.filter(|trace| !trace.rows().is_empty()) else {
            return refuse("name", format!("the trace `{}` is not loaded", used.name));
        };
        if let Some(wanted) = &used.rows_hash
            && !wanted.eq_ignore_ascii_case(&trace.rows_hash_text())
        {
            let message = format!("wants the trace {wanted}, the loaded one is {}", trace.rows_hash_text());
            return refuse("rows_hash", message);
        }
        Some(Cursor { trace, row: 0, lap: 0, speed: used.speed, repeat: used.repeat })
    }

    fn next_time(&self) -> Option<Time> {
        let row = self.trace.rows().get(self.row)?;
        let us = self.lap.saturating_mul(self.trace.lap_us()).saturating_add(row.offset_us);
        // At speed 1 without the detour over floats, which have 53 bits.
        let us = if self.speed == 1.0 { us } else { (us as f64 / self.speed).round() as u64 };
        Some(Time(us))
    }

    fn take(&mut self) -> (u32, u32) {
        let Some(row) = self.trace.rows().get(self.row).copied() else {
            return (1, 1);
        };
        self.row += 1;
        if self.repeat && self.row == self.trace.rows().len() {
            (self.row, self.lap) = (0, self.lap.saturating_add(1));
        }
        (row.prompt_tokens.max(1), row.output_tokens.max(1))
    }
}
