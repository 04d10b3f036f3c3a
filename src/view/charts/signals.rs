//! The signals of one service over one another, each as a share of its own range, and their legend:
//! which of them move when the load does, and which one the autoscaler reads.

use super::axis::number;
use super::build::{highest, value_arg};
use super::{Axis, Chart, Dash, Ink, Line, Plot, Shape, Source, Unit};
use crate::i18n::{Arg, Message};
use crate::sim::metrics::Scaling;
use crate::sim::param::Param;
use crate::sim::series_view::{ServiceTrack, Track};
use crate::sim::snapshot::{ServiceView, Snapshot};
use crate::sim::time::Time;

/// Top of the axis: full ranges stay inside.
const TOP: f64 = 1.05;
/// The least range of rates and counts that have no bound.
const LEAST: f64 = 1.0;

pub(super) fn plot(snapshot: &Snapshot, service: Option<&ServiceView>, until: Time, source: &impl Source) -> Plot {
    let mut lines: Vec<Line> = match service {
        Some(service) => ServiceTrack::SIGNALS.iter().map(|t| line(*t, snapshot, service, until, source)).collect(),
        None => Vec::new(),
    };
    // What is drawn last lies on top.
    lines.sort_by_key(|l| l.strong);
    let axis = Axis { top: TOP, unit: Unit::Share };
    Plot { chart: Chart::Signals, until, axis, second: None, lines, limit: None, service: service.map(|s| s.id) }
}

/// The signal that the HPA reads for a service.
fn read_by_hpa(snapshot: &Snapshot, service: &ServiceView) -> Option<ServiceTrack> {
    let hpa = service.scaled && snapshot.policy.choice(Param::Scaler) == "hpa";
    let signal = Scaling::of(snapshot.policy.get(Param::Signal)).signal;
    ServiceTrack::of_signal(signal).filter(|_| hpa)
}

fn line(track: ServiceTrack, snapshot: &Snapshot, service: &ServiceView, until: Time, source: &impl Source) -> Line {
    let (label, ink, dash, unit) = look(track);
    let mut line = Line {
        label,
        ink,
        dash,
        shape: Shape::Line,
        unit,
        second: false,
        labelled: true,
        full: 1.0,
        strong: read_by_hpa(snapshot, service) == Some(track),
        of: Some(track),
        points: source.points(Track::Of(service.id, track), until),
        below: Vec::new(),
    };
    // Without a bound, the range reaches to the target or the highest value of the run.
    let most = highest(std::slice::from_ref(&line));
    let reference = match track {
        ServiceTrack::Waiting => snapshot.policy.get(Param::TargetWaiting).max(1) as f64,
        ServiceTrack::TtftP95 | ServiceTrack::TtftP99 => service.slo_ttft.secs_f64(),
        ServiceTrack::TpotP95 => service.slo_tpot.secs_f64(),
        _ => LEAST,
    };
    line.full = source.full(service.id, track).unwrap_or(reference.max(most)).max(f64::MIN_POSITIVE);
    line
}

/// One family of colours for each exporter, told apart by dashes.
fn look(track: ServiceTrack) -> (Message, Ink, Dash, Unit) {
    use ServiceTrack as T;
    match track {
        T::GpuUtilization => (Message::SigGpuUtilization, Ink::Training, Dash::Dashed, Unit::Points),
        T::SmActive => (Message::SigSmActive, Ink::Training, Dash::Solid, Unit::Share),
        T::TensorActive => (Message::SigTensorActive, Ink::Training, Dash::Long, Unit::Share),
        T::DramActive => (Message::SigDramActive, Ink::Training, Dash::Dotted, Unit::Share),
        T::FbUsed => (Message::SigFbUsed, Ink::Muted, Dash::Dotted, Unit::Mib),
        T::PowerUsage => (Message::SigPower, Ink::Muted, Dash::Dashed, Unit::Watts),
        T::Running => (Message::SigRunning, Ink::Serving, Dash::Dashed, Unit::Count),
        T::Waiting => (Message::SigWaiting, Ink::Serving, Dash::Solid, Unit::Count),
        T::KvUsage => (Message::SigKvUsage, Ink::Good, Dash::Long, Unit::Share),
        T::TtftP95 => (Message::SigTtftP95, Ink::Bad, Dash::Dashed, Unit::Seconds),
        T::TtftP99 => (Message::SigTtftP99, Ink::Bad, Dash::Solid, Unit::Seconds),
        T::TpotP95 => (Message::SigTpotP95, Ink::Held, Dash::Long, Unit::Seconds),
        T::TokensPerSecond => (Message::SigTokens, Ink::Loading, Dash::Solid, Unit::TokensPerSecond),
        T::RawDesired => (Message::LineRawDesired, Ink::Muted, Dash::Dotted, Unit::Count),
        T::Desired => (Message::LineDesired, Ink::Training, Dash::Dashed, Unit::Count),
        T::Ready => (Message::LineReady, Ink::Serving, Dash::Solid, Unit::Count),
        T::ExactTtftP99 => (Message::LineTtftP99, Ink::Bad, Dash::Solid, Unit::Seconds),
    }
}

/// One signal in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct LegendRow {
    pub track: ServiceTrack,
    pub label: Message,
    pub ink: Ink,
    pub dash: Dash,
    /// Its value at the asked time with its unit, and what fills its range if that is not 100 %.
    pub value: Arg,
    /// The HPA reads it.
    pub read: bool,
}

/// The legend at a time, in the order of [`ServiceTrack::SIGNALS`].
pub fn legend(plot: &Plot, at: Time) -> Vec<LegendRow> {
    let of = |track: &ServiceTrack| plot.lines.iter().find(|l| l.of == Some(*track));
    let row = |line: &Line| {
        Some(LegendRow {
            track: line.of?,
            label: line.label.clone(),
            ink: line.ink,
            dash: line.dash,
            value: line.own_value_at(at).map_or(Message::NoValue.into(), |v| value(line, v)),
            read: line.strong,
        })
    };
    ServiceTrack::SIGNALS.iter().filter_map(of).filter_map(row).collect()
}

fn value(line: &Line, value: f32) -> Arg {
    let full = value_arg(line.unit, line.full as f32);
    // The unit stands once, at the end.
    let bare = match line.unit {
        Unit::Share | Unit::Points => return value_arg(line.unit, value),
        Unit::Mib | Unit::Watts | Unit::TokensPerSecond => Arg::Int(f64::from(value).round() as i64),
        Unit::Count if value < 10.0 => number((f64::from(value) * 10.0).round() / 10.0),
        Unit::Count | Unit::PerSecond | Unit::Seconds => value_arg(line.unit, value),
    };
    Message::LegendOf { value: bare, full }.into()
}

/// The exporter's own name of a signal.
pub fn metric_name(track: ServiceTrack) -> &'static str {
    track.signal().map_or("", |s| s.metric_name())
}
