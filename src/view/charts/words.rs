//! The charts in words: one sentence each, values at line ends, and the table.

use super::build::{chart_service, value_arg};
use super::{Chart, Line, Plot, STACK, STACK_WORKING};
use crate::i18n::{Arg, Message};
use crate::sim::snapshot::{GpuCount, GpuUse, Snapshot};
use crate::sim::time::Time;

/// Value of a line at a time, with its unit.
pub fn label_value(line: &Line, at: Time) -> Arg {
    line.own_value_at(at).map_or(Message::NoValue.into(), |v| value_arg(line.unit, v))
}

/// What the chart says now, in one sentence.
pub fn summary(plot: &Plot, snapshot: &Snapshot) -> Message {
    let last = |label: Message| plot.lines.iter().find(|l| l.label == label);
    let said = |label: Message| {
        last(label).and_then(|l| l.last().map(|v| value_arg(l.unit, v))).unwrap_or(Message::SumNoSample.into())
    };
    if plot.lines.iter().all(|l| l.points.is_empty()) {
        return if plot.chart == Chart::Ttft && snapshot.now > Time::ZERO {
            Message::SumTtftNone
        } else {
            Message::SumNothing
        };
    }
    match plot.chart {
        Chart::Queue => Message::SumQueue {
            waiting: waiting_now(snapshot).into(),
            arrivals: Arg::Float(last(Message::LineArrivals).and_then(Line::last).unwrap_or(0.0).into(), 1),
        },
        Chart::Signals => Message::SumSignalsNow {
            service: service(plot, snapshot),
            gpu: said(Message::SigGpuUtilization),
            tensor: said(Message::SigTensorActive),
            waiting: said(Message::SigWaiting),
            kv: said(Message::SigKvUsage),
        },
        Chart::Replicas => Message::SumReplicas {
            service: service(plot, snapshot),
            raw: said(Message::LineRawDesired),
            desired: said(Message::LineDesired),
            ready: said(Message::LineReady),
        },
        Chart::Ttft => ttft(plot, snapshot),
        Chart::Ledger => ledger(snapshot),
    }
}

/// The service that the charts of signals, replicas and first tokens are about.
fn service(plot: &Plot, snapshot: &Snapshot) -> Arg {
    chart_service(snapshot, plot.service).map_or(Message::NoValue.into(), |s| s.name.clone().into())
}

fn ttft(plot: &Plot, snapshot: &Snapshot) -> Message {
    /// A sample of the last minute still holds.
    const FRESH_US: u64 = 60_000_000;
    let point = plot.lines.first().and_then(|l| l.points.last().map(|p| (l.unit, *p)));
    let Some((unit, point)) = point.filter(|(_, p)| snapshot.now.since(p.at).0 <= FRESH_US) else {
        return Message::SumTtftNone;
    };
    let value = point.value.unwrap_or(0.0);
    let slo = chart_service(snapshot, plot.service).map(|s| s.slo_ttft).unwrap_or_default();
    let p99 = value_arg(unit, value);
    if f64::from(value) <= slo.secs_f64() {
        Message::SumTtftMet { service: service(plot, snapshot), p99, slo: slo.into() }
    } else {
        Message::SumTtftMissed { service: service(plot, snapshot), p99, slo: slo.into() }
    }
}

/// Requests that wait at this instant, as the serving card counts them.
fn waiting_now(snapshot: &Snapshot) -> u32 {
    snapshot.services.iter().map(|s| s.waiting).sum()
}

/// What stands at the end of a line: the value of this instant where the snapshot has it, else of
/// the last sample.
pub fn end_value(line: &Line, snapshot: &Snapshot) -> Arg {
    if line.label == Message::LineWaiting { waiting_now(snapshot).into() } else { label_value(line, Time::MAX) }
}

/// The GPUs paid for at this instant, in tenths of a GPU: working and unused are exactly the paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerNow {
    pub working: u64,
    pub unused: u64,
}

impl LedgerNow {
    pub fn of(snapshot: &Snapshot) -> LedgerNow {
        let now = snapshot.ledger.gpus_now;
        let tenths = |gpus: GpuCount| (gpus.gpus() * 10.0).round() as u64;
        let paid = tenths(now.iter().copied().sum());
        let working = STACK.iter().take(STACK_WORKING).map(|s| now[*s as usize]).sum();
        let working = tenths(working).min(paid);
        LedgerNow { working, unused: paid - working }
    }
    pub fn paid(self) -> u64 {
        self.working + self.unused
    }
}

/// The ledger states that some GPU is in at this instant, from the bottom of the stack: those that
/// work, and those that do not.
pub fn present_states(snapshot: &Snapshot) -> (Vec<GpuUse>, Vec<GpuUse>) {
    let present = |states: &[GpuUse]| {
        let gpus = |s: &GpuUse| snapshot.ledger.gpus_now[*s as usize];
        states.iter().copied().filter(|s| !gpus(s).is_zero()).collect()
    };
    let (working, unused) = STACK.split_at(STACK_WORKING);
    (present(working), present(unused))
}

/// Tenths of a GPU: whole numbers as such, parts with one decimal.
pub fn tenths(tenths: u64) -> Arg {
    if tenths.is_multiple_of(10) { (tenths / 10).into() } else { Arg::Float(tenths as f64 / 10.0, 1) }
}

/// Of the GPUs paid for at this instant, so that the numbers add up with the map's.
fn ledger(snapshot: &Snapshot) -> Message {
    let now = LedgerNow::of(snapshot);
    Message::SumLedger { working: tenths(now.working), paid: tenths(now.paid()), nothing: tenths(now.unused) }
}

/// Rows of the table at most.
const ROWS_MAX: usize = 60;

/// The chart as a table: for each time, the value of every line in the order of `plot.lines`.
/// Newest first.
pub fn table(plot: &Plot) -> Vec<(Time, Vec<Arg>)> {
    let longest = plot.lines.iter().max_by_key(|l| l.points.len());
    let times: Vec<Time> = longest.map_or(Vec::new(), |l| l.points.iter().map(|p| p.at).collect());
    let step = times.len().div_ceil(ROWS_MAX).max(1);
    let rows = times.into_iter().rev().step_by(step);
    rows.map(|at| (at, plot.lines.iter().map(|l| label_value(l, at)).collect())).collect()
}
