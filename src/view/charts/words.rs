//! The charts in words: one sentence each, values at line ends, and the table.

use super::build::{chart_service, value_arg};
use super::{Chart, Line, Plot};
use crate::i18n::{Arg, Message};
use crate::sim::snapshot::Snapshot;
use crate::sim::snapshot::{GpuCount, GpuUse};
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
            waiting: said(Message::LineWaiting),
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

/// Of the GPUs paid for at this instant, so that the numbers add up with the map's.
fn ledger(snapshot: &Snapshot) -> Message {
    let now = |state: GpuUse| snapshot.ledger.gpus_now[state as usize];
    let paid: GpuCount = snapshot.ledger.gpus_now.iter().copied().sum();
    let working: GpuCount = [now(GpuUse::Training), now(GpuUse::ServingBusy)].into_iter().sum();
    Message::SumLedger { working: working.into(), paid: paid.into(), nothing: paid.less(working).into() }
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
