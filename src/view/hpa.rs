//! The HPA's formula in words: what it read, what it wished, what held it back.
//!
//! Both the why-log and the replicas card say it, from the same numbers.

use super::words;
use crate::i18n::{Arg, Message};
use crate::sim::decision::Verdict;
use crate::sim::param::Param;
use crate::sim::snapshot::{HpaLimit, HpaView, ServiceView};
use crate::view::names::Names;

/// The HPA's default tolerance (`--horizontal-pod-autoscaler-tolerance`).
pub const TOLERANCE: f64 = 0.1;

/// The numbers of one sync.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Index of the choice of [`Param::Signal`].
    pub signal: i64,
    /// In thousandths of the signal's unit.
    pub value_milli: i64,
    pub target_milli: i64,
    pub ready: u32,
    pub raw_desired: u32,
}

impl Reading {
    pub fn of(signal: i64, view: &HpaView, service: &ServiceView) -> Option<Reading> {
        Some(Reading {
            signal,
            value_milli: view.value_milli?,
            target_milli: view.target_milli,
            ready: service.replicas_ready,
            raw_desired: view.raw_desired,
        })
    }

    /// Value over target; 0 without a target.
    pub fn ratio(&self) -> f64 {
        if self.target_milli <= 0 {
            0.0
        } else {
            self.value_milli as f64 / self.target_milli as f64
        }
    }

    pub fn value(&self) -> Arg {
        words::signal_value(self.signal, self.value_milli)
    }

    pub fn target(&self) -> Arg {
        words::signal_value(self.signal, self.target_milli)
    }

    /// Ratio times ready replicas.
    pub fn product(&self) -> f64 {
        self.ratio() * f64::from(self.ready)
    }

    /// Whether ready replicas explain the wish. They do not when pods without a sample were
    /// filled in, or when the count has changed since.
    pub fn explains_wish(&self) -> bool {
        (self.product() - 1e-6).ceil() <= f64::from(self.raw_desired)
            && f64::from(self.raw_desired) <= (self.product() + 1e-6).ceil()
    }

    /// `99 % / 70 % × 4 = 5.66 → 6`.
    pub fn formula(&self) -> Message {
        let (value, target, raw) = (self.value(), self.target(), self.raw_desired.into());
        if self.explains_wish() {
            let product = Arg::Float(self.product(), 2);
            Message::HpaFormula {
                value,
                target,
                ready: self.ready.into(),
                product,
                raw,
            }
        } else {
            Message::HpaFormulaShort {
                value,
                target,
                ratio: Arg::Float(self.ratio(), 2),
                raw,
            }
        }
    }
}

/// The sentence of one sync; `None` for other verdicts.
pub fn sync_sentence(verdict: &Verdict, names: &Names) -> Option<Message> {
    let Verdict::HpaSync {
        service,
        signal_choice,
        value_milli,
        target_milli,
        current,
        ready,
        raw_desired,
        stabilized,
        desired,
        limit,
        waiting,
        ..
    } = verdict
    else {
        return None;
    };
    let signal: Arg = words::choice(Param::Signal, *signal_choice).into();
    let name = names.service(*service);
    let n = Arg::from(*desired);
    let mut sentence = match value_milli {
        None => Message::HpaNoMetric {
            service: name,
            signal,
            n,
        },
        Some(value) => {
            let reading = Reading {
                signal: *signal_choice,
                value_milli: *value,
                target_milli: *target_milli,
                ready: *ready,
                raw_desired: *raw_desired,
            };
            one_reading(&reading, name, signal, *limit, (*current, *desired))
        }
    };
    if let Some(held) = held_by(*limit, *stabilized, *desired) {
        sentence = words::then(sentence, held);
    }
    if *waiting > 0 {
        sentence = words::then(sentence, Message::RequestsWait { n: (*waiting).into() });
    }
    Some(sentence)
}

fn one_reading(reading: &Reading, service: Arg, signal: Arg, limit: HpaLimit, change: (u32, u32)) -> Message {
    let (from, to) = change;
    if limit == HpaLimit::Tolerance {
        return Message::HpaWithin {
            service,
            signal,
            value: reading.value(),
            target: reading.target(),
            ratio: Arg::Float(reading.ratio(), 2),
            tolerance: Arg::Percent(TOLERANCE),
            n: to.into(),
        };
    }
    let formula = reading.formula().into();
    match to.cmp(&from) {
        std::cmp::Ordering::Equal => Message::HpaSteady {
            service,
            signal,
            formula,
            n: to.into(),
        },
        std::cmp::Ordering::Greater => Message::HpaUp {
            service,
            signal,
            formula,
            from: from.into(),
            to: to.into(),
        },
        std::cmp::Ordering::Less => Message::HpaDown {
            service,
            signal,
            formula,
            from: from.into(),
            to: to.into(),
        },
    }
}

/// What held the wish back, as a sentence.
fn held_by(limit: HpaLimit, stabilized: u32, desired: u32) -> Option<Message> {
    match limit {
        HpaLimit::None | HpaLimit::Tolerance | HpaLimit::NoMetric => None,
        HpaLimit::MissingPods => Some(Message::HpaHeldByMissing),
        HpaLimit::Stabilization => Some(Message::HpaHeldByWindow { n: stabilized.into() }),
        HpaLimit::Rate => Some(Message::HpaHeldByRate { n: desired.into() }),
        HpaLimit::Max => Some(Message::HpaHeldByMax { n: desired.into() }),
        HpaLimit::Min => Some(Message::HpaHeldByMin { n: desired.into() }),
    }
}
