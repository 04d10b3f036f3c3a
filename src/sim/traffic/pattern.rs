//! Settings of a traffic source, as scenarios write them, and their limits.

use super::arrivals::Gaps;
use super::lengths::Lengths;
use super::spike::Spike;
use super::week::Weekly;
use crate::sim::time::Span;
use crate::sim::units::{DAY_US, span, span_option, time_of_day};
use serde::{Deserialize, Serialize};

/// Requests per second of one source.
pub const PER_SECOND_MAX: f64 = 100_000.0;
/// Stages of [`Pattern::Phases`].
pub const STAGES_MAX: usize = 1_000;
/// Spikes of a scenario's source.
pub const SPIKES_MAX: usize = 1_000;
/// How much faster or slower than recorded a trace can be played.
pub const SPEED_MAX: f64 = 1_000.0;

/// One source of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrafficSettings {
    #[serde(default)]
    pub pattern: Pattern,
    /// Lengths of prompts; a trace brings its own. The default is fitted to the conversation part of
    /// the Azure LLM inference trace of 2023.
    #[serde(default = "conversation_prompts")]
    pub prompt_tokens: Lengths,
    /// Lengths of answers, likewise.
    #[serde(default = "conversation_outputs")]
    pub output_tokens: Lengths,
    /// Requests on top of the pattern.
    #[serde(default)]
    pub spikes: Vec<Spike>,
    /// Prompt and answer of the pattern's requests come from the rows of a recorded trace, both of
    /// the same row, instead of the two distributions.
    #[serde(default)]
    pub lengths_of: Option<TraceLengths>,
}

fn conversation_prompts() -> Lengths {
    Lengths::Lognormal { mean: 1156.0, cv: 0.9, max: 14_050 }
}

fn conversation_outputs() -> Lengths {
    Lengths::Lognormal { mean: 250.0, cv: 0.68, max: 1_000 }
}

impl Default for TrafficSettings {
    fn default() -> Self {
        TrafficSettings {
            pattern: Pattern::Silent,
            prompt_tokens: conversation_prompts(),
            output_tokens: conversation_outputs(),
            spikes: Vec::new(),
            lengths_of: None,
        }
    }
}

/// When requests arrive. Rates are per second and at most [`PER_SECOND_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// Never; spikes may still come.
    #[default]
    Silent,
    /// Evenly.
    Constant { per_second: f64 },
    /// Independently of each other.
    Poisson { per_second: f64 },
    /// In bursts: gaps are gamma-distributed with this coefficient of variation (1 is Poisson; the
    /// code part of the Azure LLM inference trace of 2023 has 13).
    GammaBurst { per_second: f64, cv: f64 },
    /// Stage after stage; then nothing, or the first stage again.
    Phases {
        stages: Vec<Stage>,
        #[serde(default)]
        repeat: bool,
        #[serde(default)]
        gaps: Gaps,
    },
    /// Busy in office hours.
    OfficeDay(OfficeDay),
    /// A smooth day and night.
    Diurnal(Diurnal),
    /// By the hour: the rate at 00:00, 01:00 ... 23:00, straight lines between.
    Hours {
        per_second: Vec<f64>,
        #[serde(default)]
        gaps: Gaps,
    },
    /// As recorded.
    Trace(TraceUse),
    /// A day that is repeated, with a factor for each day of the week.
    Weekly(Box<Weekly>),
}

/// A part of [`Pattern::Phases`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    #[serde(rename = "for", with = "span")]
    pub length: Span,
    /// The rate, or the rate at the start of a ramp.
    pub per_second: f64,
    /// The rate at the end of a ramp.
    #[serde(default)]
    pub to_per_second: Option<f64>,
}

/// Every day alike; see [`Weekly`] for weekends. The rate rises in a straight line from `from` over
/// `ramp`, stays, and falls over `ramp` until `to`; between 12:00 and 13:00 it can dip (a quarter of
/// an hour down, half an hour low, a quarter up).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfficeDay {
    pub peak_per_second: f64,
    #[serde(default)]
    pub night_per_second: f64,
    #[serde(default = "nine", with = "time_of_day")]
    pub from: Span,
    #[serde(default = "eighteen", with = "time_of_day")]
    pub to: Span,
    #[serde(default = "half_hour", with = "span")]
    pub ramp: Span,
    /// The rate at lunch as a share of the peak.
    #[serde(default = "one")]
    pub lunch_share: f64,
    #[serde(default)]
    pub gaps: Gaps,
}

fn nine() -> Span {
    Span::from_mins(9 * 60)
}
fn eighteen() -> Span {
    Span::from_mins(18 * 60)
}
fn fifteen() -> Span {
    Span::from_mins(15 * 60)
}
fn half_hour() -> Span {
    Span::from_mins(30)
}
fn one() -> f64 {
    1.0
}

/// One cosine wave a day, drawn by straight lines of 15 minutes (at most 0.06 % of the amplitude off).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diurnal {
    pub low_per_second: f64,
    pub high_per_second: f64,
    #[serde(default = "fifteen", with = "time_of_day")]
    pub peak_at: Span,
    #[serde(default)]
    pub gaps: Gaps,
}

/// Plays a recorded trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceUse {
    /// What the trace is called where it is loaded or shipped.
    pub name: String,
    /// The trace's content hash, 16 hex digits: a log of commands means this very trace.
    #[serde(default)]
    pub rows_hash: Option<String>,
    /// 2 plays an hour in half an hour.
    #[serde(default = "one")]
    pub speed: f64,
    /// Starts again at the end, one mean gap after the last row.
    #[serde(default)]
    pub repeat: bool,
    /// Requests with equal time stamps are spread over the time to the next stamp, at most so much;
    /// nothing leaves them together. See [`super::trace::TraceFormat::grid`].
    #[serde(default, with = "span_option")]
    pub spread: Option<Span>,
    /// Longer requests are cut to so many tokens of prompt and answer together; nothing leaves them
    /// to the engine, which refuses what it cannot take.
    #[serde(default)]
    pub cut_to: Option<u32>,
}

/// Draws lengths from the rows of a recorded trace, all rows as likely: what belongs together stays
/// together, which two distributions of their own would lose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLengths {
    /// As in [`TraceUse`].
    pub name: String,
    #[serde(default)]
    pub rows_hash: Option<String>,
    #[serde(default)]
    pub cut_to: Option<u32>,
}

/// What is wrong with settings: the path below the source (`pattern.poisson.per_second`) and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct TrafficProblem {
    pub path: String,
    pub message: String,
}

#[derive(Default)]
pub(super) struct Problems(pub Vec<TrafficProblem>);

impl Problems {
    pub fn add(&mut self, path: String, message: String) {
        self.0.push(TrafficProblem { path, message });
    }
}

pub(super) fn positive(problems: &mut Problems, path: String, x: f64, max: f64) {
    if !(x > 0.0 && x <= max) {
        problems.add(path, format!("must be above 0 and at most {max}, is {x}"));
    }
}

pub(super) fn rate(problems: &mut Problems, path: String, x: f64) {
    if !(0.0..=PER_SECOND_MAX).contains(&x) {
        problems.add(path, format!("must be from 0 to {PER_SECOND_MAX} per second, is {x}"));
    }
}

impl TrafficSettings {
    /// All that is outside the limits; empty if the settings can be used.
    pub fn problems(&self) -> Vec<TrafficProblem> {
        let mut problems = Problems::default();
        self.pattern.check(&mut problems);
        self.prompt_tokens.check(&mut problems, "prompt_tokens");
        self.output_tokens.check(&mut problems, "output_tokens");
        for (i, spike) in self.spikes.iter().enumerate().take(SPIKES_MAX) {
            spike.check(&mut problems, &format!("spikes[{i}]"));
        }
        if self.spikes.len() > SPIKES_MAX {
            problems.add("spikes".to_owned(), format!("at most {SPIKES_MAX} are accepted"));
        }
        if self.lengths_of.as_ref().is_some_and(|used| used.cut_to.is_some_and(|n| n < 2)) {
            problems.add("lengths_of.cut_to".to_owned(), "must be at least 2, a token each".to_owned());
        }
        problems.0
    }
}

impl Pattern {
    fn check(&self, problems: &mut Problems) {
        let path = |rest: &str| format!("pattern.{rest}");
        match self {
            Pattern::Silent => {}
            Pattern::Constant { per_second } => rate(problems, path("constant.per_second"), *per_second),
            Pattern::Poisson { per_second } => rate(problems, path("poisson.per_second"), *per_second),
            Pattern::GammaBurst { per_second, cv } => {
                rate(problems, path("gamma_burst.per_second"), *per_second);
                positive(problems, path("gamma_burst.cv"), *cv, 100.0);
            }
            Pattern::Phases { stages, gaps, .. } => {
                if stages.is_empty() || stages.len() > STAGES_MAX {
                    problems.add(path("phases.stages"), format!("must have from 1 to {STAGES_MAX} entries"));
                }
                for (i, stage) in stages.iter().enumerate().take(STAGES_MAX) {
                    stage.check(problems, &path(&format!("phases.stages[{i}]")));
                }
                gaps.check(problems, &path("phases.gaps"));
            }
            Pattern::OfficeDay(day) => day.check(problems, &path("office_day")),
            Pattern::Diurnal(day) => day.check(problems, &path("diurnal")),
            Pattern::Hours { per_second, gaps } => {
                check_hours(per_second, problems, &path("hours.per_second"));
                gaps.check(problems, &path("hours.gaps"));
            }
            Pattern::Trace(trace) => {
                if !(1.0 / SPEED_MAX..=SPEED_MAX).contains(&trace.speed) {
                    let message = format!("must be from {} to {SPEED_MAX}, is {}", 1.0 / SPEED_MAX, trace.speed);
                    problems.add(path("trace.speed"), message);
                }
                if trace.cut_to.is_some_and(|n| n < 2) {
                    problems.add(path("trace.cut_to"), "must be at least 2, a token each".to_owned());
                }
            }
            Pattern::Weekly(week) => week.check(problems, &path("weekly")),
        }
    }
}

pub(super) fn time(problems: &mut Problems, path: String, at: Span) {
    if at.0 >= DAY_US {
        problems.add(path, "must be before midnight".to_owned());
    }
}

impl Stage {
    fn check(&self, problems: &mut Problems, path: &str) {
        // A stage longer than ten years is a slip; the bound also keeps sums far from overflow.
        let longest = Span(3_650 * DAY_US);
        if self.length == Span::ZERO || self.length > longest {
            problems.add(format!("{path}.for"), "must be above 0 and at most 87600h".to_owned());
        }
        rate(problems, format!("{path}.per_second"), self.per_second);
        if let Some(to) = self.to_per_second {
            rate(problems, format!("{path}.to_per_second"), to);
        }
    }
}

pub(super) fn check_hours(per_second: &[f64], problems: &mut Problems, path: &str) {
    if per_second.len() != 24 {
        problems.add(path.to_owned(), format!("must have 24 entries, has {}", per_second.len()));
    }
    for (i, r) in per_second.iter().enumerate().take(24) {
        rate(problems, format!("{path}[{i}]"), *r);
    }
}

impl Diurnal {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        let path = |rest: &str| format!("{path}.{rest}");
        rate(problems, path("low_per_second"), self.low_per_second);
        rate(problems, path("high_per_second"), self.high_per_second);
        if self.low_per_second > self.high_per_second {
            problems.add(path("low_per_second"), "is above high_per_second".to_owned());
        }
        time(problems, path("peak_at"), self.peak_at);
        self.gaps.check(problems, &path("gaps"));
    }
}

impl OfficeDay {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        let path = |rest: &str| format!("{path}.{rest}");
        rate(problems, path("peak_per_second"), self.peak_per_second);
        rate(problems, path("night_per_second"), self.night_per_second);
        time(problems, path("from"), self.from);
        time(problems, path("to"), self.to);
        if !(0.0..=1.0).contains(&self.lunch_share) {
            problems.add(path("lunch_share"), format!("must be from 0 to 1, is {}", self.lunch_share));
        }
        let open_us = self.to.0.saturating_sub(self.from.0);
        if open_us == 0 {
            problems.add(path("to"), "must be later than from".to_owned());
        } else if self.ramp.0 > open_us / 2 {
            problems.add(path("ramp"), "the two ramps do not fit between from and to".to_owned());
        }
        self.gaps.check(problems, &path("gaps"));
    }
}
