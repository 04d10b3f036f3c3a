//! The five charts as values: lines with their looks, axes, ticks, labels, a sentence and a table.
//! Drawing is elsewhere; so is the world: points come through a function from [`Track`].

mod axis;
mod build;
mod signals;
mod words;

#[cfg(test)]
mod charts_test;

pub use axis::{Axis, nice_top};
pub use build::{Source, band, chart_service, plot};
pub use signals::{LegendRow, legend, metric_name};
pub use words::{LedgerNow, end_value, label_value, present_states, summary, table, tenths};

use crate::i18n::Message;
use crate::sim::id::ServiceId;
use crate::sim::series_view::{Point, ServiceTrack, Track};
use crate::sim::snapshot::GpuUse;
use crate::sim::time::Time;

/// One of the charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chart {
    Queue,
    Signals,
    Replicas,
    Ttft,
    Ledger,
}

impl Chart {
    pub const ALL: [Chart; 5] = [Chart::Queue, Chart::Signals, Chart::Replicas, Chart::Ttft, Chart::Ledger];

    /// Stable id.
    pub fn id(self) -> &'static str {
        match self {
            Chart::Queue => "queue",
            Chart::Signals => "signals",
            Chart::Replicas => "replicas",
            Chart::Ttft => "ttft",
            Chart::Ledger => "ledger",
        }
    }

    pub fn title(self) -> Message {
        match self {
            Chart::Queue => Message::ChartQueue,
            Chart::Signals => Message::ChartSignals,
            Chart::Replicas => Message::ChartReplicas,
            Chart::Ttft => Message::ChartTtft,
            Chart::Ledger => Message::ChartLedger,
        }
    }

    pub fn unit(self) -> Message {
        match self {
            Chart::Queue => Message::UnitQueue,
            Chart::Signals => Message::UnitShare,
            Chart::Replicas => Message::UnitReplicas,
            Chart::Ttft => Message::UnitSeconds,
            Chart::Ledger => Message::UnitGpus,
        }
    }
}

/// A colour, by the name of its token (`--serving`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ink {
    Text,
    Muted,
    Rule,
    Outline,
    Accent,
    Good,
    Bad,
    Serving,
    Training,
    Held,
    Loading,
    Draining,
    Booting,
}

impl Ink {
    pub const ALL: [Ink; 13] = [
        Ink::Text,
        Ink::Muted,
        Ink::Rule,
        Ink::Outline,
        Ink::Accent,
        Ink::Good,
        Ink::Bad,
        Ink::Serving,
        Ink::Training,
        Ink::Held,
        Ink::Loading,
        Ink::Draining,
        Ink::Booting,
    ];

    /// Name of the custom property.
    pub fn token(self) -> &'static str {
        match self {
            Ink::Text => "--text",
            Ink::Muted => "--muted",
            Ink::Rule => "--rule",
            Ink::Outline => "--outline",
            Ink::Accent => "--accent",
            Ink::Good => "--good",
            Ink::Bad => "--bad",
            Ink::Serving => "--serving",
            Ink::Training => "--training",
            Ink::Held => "--held",
            Ink::Loading => "--loading",
            Ink::Draining => "--draining",
            Ink::Booting => "--booting",
        }
    }
}

/// How a line is broken, so that lines differ without colour too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
    Long,
}

/// How points become marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Line,
    /// Holds a value until the next one.
    Steps,
    /// Filled down to zero.
    Area,
    /// Filled down to the band below it, with this pattern over it.
    Band(Hatch),
}

/// Pattern over a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hatch {
    None,
    /// Rising strokes.
    Rising,
    /// Outline only.
    Hollow,
    Dots,
}

impl Hatch {
    /// How strong a band is filled with its colour, 0 to 1.
    pub fn strength(self) -> f64 {
        match self {
            Hatch::None => 1.0,
            Hatch::Rising => 0.55,
            Hatch::Dots => 0.7,
            Hatch::Hollow => 0.16,
        }
    }
}

/// Which unit a line's values have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Count,
    PerSecond,
    Share,
    Seconds,
    /// Percent points, 0 to 100.
    Points,
    Mib,
    Watts,
    TokensPerSecond,
}

/// One line or band. Points are in order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub label: Message,
    pub ink: Ink,
    pub dash: Dash,
    pub shape: Shape,
    pub unit: Unit,
    /// True if it is drawn against the second axis.
    pub second: bool,
    /// Its name and last value stand at its end.
    pub labelled: bool,
    /// Value that the axis shows as 1, where it shows shares of ranges.
    pub full: f64,
    /// Drawn over the others: what the autoscaler reads.
    pub strong: bool,
    /// The signal that can be hidden and shown.
    pub of: Option<ServiceTrack>,
    pub points: Vec<Point>,
    /// Of a band: lower edge at each of `points`, in the same order.
    pub below: Vec<f32>,
}

impl Line {
    /// The last value at or before a time.
    pub fn value_at(&self, at: Time) -> Option<f32> {
        let next = self.points.partition_point(|p| p.at <= at);
        self.points[..next].last().and_then(|p| p.value)
    }
    pub fn last(&self) -> Option<f32> {
        self.points.last().and_then(|p| p.value)
    }
    /// A value as the axis counts it.
    pub fn on_axis(&self, value: f32) -> f64 {
        f64::from(value) / self.full
    }
}

/// A chart, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    pub chart: Chart,
    /// Right end of the time axis; it begins with the run.
    pub until: Time,
    pub axis: Axis,
    /// Second axis, on the right.
    pub second: Option<Axis>,
    pub lines: Vec<Line>,
    /// A limit across the chart: value and label.
    pub limit: Option<(f64, Message)>,
    /// The service that it shows, if it is of one.
    pub service: Option<ServiceId>,
}

/// Ledger states from the bottom of the stack to its top: what works, what gets ready, what is
/// paid for nothing.
pub const STACK: [GpuUse; 8] = [
    GpuUse::ServingBusy,
    GpuUse::Training,
    GpuUse::Loading,
    GpuUse::Booting,
    GpuUse::Draining,
    GpuUse::ServingIdle,
    GpuUse::Empty,
    GpuUse::Held,
];
/// How many of [`STACK`] work, from its bottom.
pub const STACK_WORKING: usize = 2;

/// The track of a ledger state.
pub fn gpus(state: GpuUse) -> Track {
    let at = GpuUse::ALL.iter().position(|s| *s == state).unwrap_or(0);
    Track::Gpus(at as u8)
}
