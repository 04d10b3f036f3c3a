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
    /// Replicas that the target had at the sync.
    pub current: u32,
    pub raw_desired: u32,
}

impl Reading {
    pub fn of(signal: i64, view: &HpaView, service: &ServiceView) -> Option<Reading> {
        Some(Reading {
            signal,
            value_milli: view.value_milli?,
            target_milli: view.target_milli,
            ready: service.replicas_ready,
            current: view.current,
            raw_desired: view.raw_desired,
        })
    }

    /// Value over target; 0 without a target.
    pub fn ratio(&self) -> f64 {
        if self.target_milli <= 0 { 0.0 } else { self.value_milli as f64 / self.target_milli as f64 }
    }

    pub fn value(&self) -> Arg {
        words::signal_value(self.signal, self.value_milli)
    }

    pub fn target(&self) -> Arg {
        words::signal_value(self.signal, self.target_milli)
    }

    /// Ratio times a number of replicas.
    pub fn product(&self, replicas: u32) -> f64 {
        self.ratio() * f64::from(replicas)
    }

    /// The number of replicas that explains the wish: the ready ones or, where the HPA counted
    /// others too, the present ones. `None` if neither does, as when missing pods were filled in.
    pub fn factor(&self) -> Option<u32> {
        let raw = f64::from(self.raw_desired);
        let explains = |n: u32| (self.product(n) - 1e-6).ceil() <= raw && raw <= (self.product(n) + 1e-6).ceil();
        [self.ready, self.current].into_iter().find(|n| explains(*n))
    }

    /// `99 % / 70 % × 4 = 5.66 → 6`.
    pub fn formula(&self) -> Message {
        let (value, target, raw) = (self.value(), self.target(), self.raw_desired.into());
        match self.factor() {
            Some(replicas) => Message::HpaFormula {
                value,
                target,
                ready: replicas.into(),
                product: Arg::Float(self.product(replicas), 2),
                raw,
            },
            None => Message::HpaFormulaShort { value, target, ratio: Arg::Float(self.ratio(), 2), raw },
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
        None => Message::HpaNoMetric { service: name, signal, n },
        Some(value) => {
            let reading = Reading {
                signal: *signal_choice,
                value_milli: *value,
                target_milli: *target_milli,
                ready: *ready,
                current: *current,
                raw_desired: *raw_desired,
            };
            one_reading(&reading, name, signal, *limit, (*current, *desired))
        }
    };
    let window = stabilized != raw_desired && matches!(limit, HpaLimit::Rate | HpaLimit::Max | HpaLimit::Min);
    if window {
        sentence = words::then(sentence, Message::HpaHeldByWindow { n: (*stabilized).into() });
    }
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
        std::cmp::Ordering::Equal => Message::HpaSteady { service, signal, formula, n: to.into() },
        std::cmp::Ordering::Greater => Message::HpaUp { service, signal, formula, from: from.into(), to: to.into() },
        std::cmp::Ordering::Less => Message::HpaDown { service, signal, formula, from: from.into(), to: to.into() },
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
