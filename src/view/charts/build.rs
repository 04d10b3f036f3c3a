//! What each chart shows of the tracks.

use super::{Axis, Chart, Dash, Hatch, Ink, Line, Plot, STACK, Shape, Unit, gpus, signals};
use crate::i18n::{Arg, Message};
use crate::sim::id::ServiceId;
use crate::sim::series_view::{Point, ServiceTrack, Track};
use crate::sim::snapshot::{GpuUse, ServiceView, Snapshot};
use crate::sim::time::{Span, Time};

/// Where points come from.
pub trait Source {
    /// Points of a track from the run's beginning to `until`, thinned to what a chart can show.
    fn points(&self, track: Track, until: Time) -> Vec<Point>;
    /// The value of a service's signal that fills its range; `None` without a bound.
    fn full(&self, service: ServiceId, track: ServiceTrack) -> Option<f64>;
}

/// Seconds that the latency axis shows at least, in SLOs.
const TTFT_TOP_SLOS: f64 = 1.5;

/// Builds a chart. Those of one service show `service`, or [`chart_service`] if it is not there.
pub fn plot(chart: Chart, snapshot: &Snapshot, service: Option<ServiceId>, until: Time, source: &impl Source) -> Plot {
    let shown = chart_service(snapshot, service);
    let of = |track: ServiceTrack| shown.map(|s| Track::Of(s.id, track));
    let line = |track: Option<Track>, label, ink, dash, shape, unit| Line {
        label,
        ink,
        dash,
        shape,
        unit,
        second: false,
        labelled: true,
        full: 1.0,
        strong: false,
        of: None,
        points: track.map(|t| source.points(t, until)).unwrap_or_default(),
        below: Vec::new(),
    };
    match chart {
        Chart::Queue => queue(
            until,
            line(Some(Track::Waiting), Message::LineWaiting, Ink::Text, Dash::Solid, Shape::Line, Unit::Count),
            line(Some(Track::Arrivals), Message::LineArrivals, Ink::Held, Dash::Solid, Shape::Area, Unit::PerSecond),
        ),
        Chart::Signals => signals::plot(snapshot, shown, until, source),
        Chart::Replicas => {
            let count = |track, label, ink, dash| line(of(track), label, ink, dash, Shape::Steps, Unit::Count);
            let lines = vec![
                count(ServiceTrack::RawDesired, Message::LineRawDesired, Ink::Muted, Dash::Dotted),
                count(ServiceTrack::Desired, Message::LineDesired, Ink::Training, Dash::Dashed),
                count(ServiceTrack::Ready, Message::LineReady, Ink::Serving, Dash::Solid),
            ];
            let axis = Axis::for_values(highest(&lines), 4.0, Unit::Count);
            Plot { chart, until, axis, second: None, lines, limit: None, service: shown.map(|s| s.id) }
        }
        Chart::Ttft => {
            let track = of(ServiceTrack::ExactTtftP99);
            let p99 = line(track, Message::LineTtftP99, Ink::Bad, Dash::Solid, Shape::Line, Unit::Seconds);
            let lines = vec![p99];
            let slo = shown.map(|s| s.slo_ttft);
            let least = slo.map_or(1.0, |s| s.secs_f64() * TTFT_TOP_SLOS);
            let axis = Axis::for_values(highest(&lines), least, Unit::Seconds);
            let limit = slo.map(|s| (s.secs_f64(), Message::LineSlo { limit: s.into() }));
            Plot { chart, until, axis, second: None, lines, limit, service: shown.map(|s| s.id) }
        }
        Chart::Ledger => ledger(until, source),
    }
}

/// The service that the charts of signals, replicas and first tokens show: the chosen one, else
/// the scaled one, else the first.
pub fn chart_service(snapshot: &Snapshot, chosen: Option<ServiceId>) -> Option<&ServiceView> {
    let services = &snapshot.services;
    let chosen = chosen.and_then(|id| services.iter().find(|s| s.id == id));
    chosen.or_else(|| services.iter().find(|s| s.scaled)).or(services.first())
}

fn queue(until: Time, waiting: Line, mut arrivals: Line) -> Plot {
    arrivals.second = true;
    let axis = Axis::for_values(highest(std::slice::from_ref(&waiting)), 4.0, Unit::Count);
    let second = Axis::for_values(highest(std::slice::from_ref(&arrivals)), 2.0, Unit::PerSecond);
    let lines = vec![arrivals, waiting];
    Plot { chart: Chart::Queue, until, axis, second: Some(second), lines, limit: None, service: None }
}

pub(super) fn highest(lines: &[Line]) -> f64 {
    let values = lines.iter().flat_map(|l| l.points.iter().filter_map(|p| p.value));
    f64::from(values.fold(0.0, f32::max))
}

fn ledger(until: Time, source: &impl Source) -> Plot {
    let tracks: Vec<Vec<Point>> = STACK.iter().map(|s| source.points(gpus(*s), until)).collect();
    // All states are sampled together, so equal positions are equal times.
    let length = tracks.iter().map(Vec::len).min().unwrap_or(0);
    let mut floor = vec![0f32; length];
    let mut lines = Vec::new();
    for (state, points) in STACK.iter().zip(tracks) {
        let below = floor.clone();
        let own: Vec<f32> = points.iter().take(length).map(|p| p.value.unwrap_or(0.0)).collect();
        let stacked = points.iter().take(length).zip(&own).zip(&below);
        let points = stacked.map(|((p, own), below)| Point { at: p.at, value: Some(own + below) }).collect();
        for (f, own) in floor.iter_mut().zip(&own) {
            *f += own;
        }
        let (label, ink, hatch) = band(*state);
        lines.push(Line {
            label,
            ink,
            dash: Dash::Solid,
            shape: Shape::Band(hatch),
            unit: Unit::Count,
            second: false,
            labelled: false,
            full: 1.0,
            strong: false,
            of: None,
            points,
            below,
        });
    }
    let axis = Axis::for_values(f64::from(floor.iter().copied().fold(0.0, f32::max)), 4.0, Unit::Count);
    Plot { chart: Chart::Ledger, until, axis, second: None, lines, limit: None, service: None }
}

/// Name and looks of a ledger state's band.
pub fn band(state: GpuUse) -> (Message, Ink, Hatch) {
    match state {
        GpuUse::Booting => (Message::LedgerBooting, Ink::Booting, Hatch::Dots),
        GpuUse::Draining => (Message::LedgerDraining, Ink::Draining, Hatch::None),
        GpuUse::Held => (Message::LedgerHeld, Ink::Held, Hatch::Rising),
        GpuUse::Loading => (Message::LedgerLoading, Ink::Loading, Hatch::None),
        GpuUse::Training => (Message::LedgerTraining, Ink::Training, Hatch::None),
        GpuUse::ServingBusy => (Message::LedgerServingBusy, Ink::Serving, Hatch::None),
        GpuUse::ServingIdle => (Message::LedgerServingIdle, Ink::Serving, Hatch::Hollow),
        GpuUse::Empty => (Message::LedgerEmpty, Ink::Outline, Hatch::Hollow),
    }
}

impl Line {
    /// Its own value at a time: of a band, without what it stands on.
    pub fn own_value_at(&self, at: Time) -> Option<f32> {
        let next = self.points.partition_point(|p| p.at <= at);
        let i = next.checked_sub(1)?;
        let value = self.points[i].value?;
        Some(value - self.below.get(i).copied().unwrap_or(0.0))
    }

    /// The runs of points without a gap: where several samples are missing, the line is broken.
    pub fn runs(&self) -> Vec<&[Point]> {
        const MISSING: u64 = 3;
        let steps = self.points.windows(2).map(|w| w[1].at.0 - w[0].at.0).filter(|d| *d > 0);
        let gap = steps.min().unwrap_or(u64::MAX).saturating_mul(MISSING);
        let mut runs: Vec<&[Point]> = Vec::new();
        let mut from = 0;
        for i in 1..=self.points.len() {
            let broken = i < self.points.len() && self.points[i].at.0 - self.points[i - 1].at.0 > gap;
            if i == self.points.len() || broken {
                runs.push(&self.points[from..i]);
                from = i;
            }
        }
        runs
    }
}

/// A value in the words of its unit.
pub(super) fn value_arg(unit: Unit, value: f32) -> Arg {
    let value = f64::from(value);
    match unit {
        Unit::Count => Arg::Int(value.round() as i64),
        Unit::PerSecond => Message::PerSecond { n: Arg::Float(value, 1) }.into(),
        Unit::Share => Arg::Percent(value),
        Unit::Seconds => Arg::Span(Span::from_secs_f64(value)),
        Unit::Points => Arg::Percent(value / 100.0),
        Unit::Mib => Message::ValueMib { n: Arg::Int(value.round() as i64) }.into(),
        Unit::Watts => Message::ValueWatts { n: Arg::Int(value.round() as i64) }.into(),
        Unit::TokensPerSecond => Message::ValueTokensPerSecond { n: Arg::Int(value.round() as i64) }.into(),
    }
}
