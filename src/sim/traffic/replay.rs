//! Using a recorded trace: playing its rows in time, or drawing lengths from them.

use super::pattern::{PER_SECOND_MAX, Problems, TraceLengths, TraceUse};
use super::trace::{Row, Trace};
use crate::sim::math;
use crate::sim::rng::Stream;
use crate::sim::time::{Span, Time};
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A trace's rows and how much of each is used.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Rows {
    #[serde(serialize_with = "only_its_hash")]
    trace: Arc<Trace>,
    cut_to: Option<u32>,
}

/// Rows never change: in a saved state the hash stands for them.
fn only_its_hash<S: Serializer>(trace: &Arc<Trace>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(trace.rows_hash())
}

impl Rows {
    /// The loaded trace, if it is the named one. `path` is where its settings stand.
    fn of(
        (path, name, wanted): (&str, &str, Option<&String>),
        trace: Option<Arc<Trace>>,
        cut_to: Option<u32>,
        problems: &mut Problems,
    ) -> Option<Rows> {
        let Some(trace) = trace.filter(|trace| !trace.rows().is_empty()) else {
            problems.add(format!("{path}.name"), format!("the trace `{name}` is not loaded"));
            return None;
        };
        if let Some(wanted) = wanted
            && !wanted.eq_ignore_ascii_case(&trace.rows_hash_text())
        {
            let message = format!("wants the trace {wanted}, the loaded one is {}", trace.rows_hash_text());
            problems.add(format!("{path}.rows_hash"), message);
            return None;
        }
        Some(Rows { trace, cut_to })
    }

    /// Prompt and answer of a row. A cut takes from the prompt first, as vLLM's
    /// `truncate_prompt_tokens` does, and from the answer only what is then still too much.
    fn lengths(&self, row: Row) -> (u32, u32) {
        let (prompt, output) = (row.prompt_tokens.max(1), row.output_tokens.max(1));
        let Some(limit) = self.cut_to.filter(|limit| row.tokens() > u64::from(*limit)) else {
            return (prompt, output);
        };
        let output = output.min(limit.saturating_sub(1)).max(1);
        (prompt.min(limit.saturating_sub(output)).max(1), output)
    }
}

/// A place in a trace that is being played.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Cursor {
    rows: Rows,
    row: usize,
    lap: u64,
    speed: f64,
    repeat: bool,
    spread: Option<Span>,
    /// The batch of equal stamps that the row belongs to, if it is spread.
    batch: Option<Batch>,
}

/// Rows with the same stamp, spread over the time to the next one.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Batch {
    width_us: u64,
    left: u32,
    /// How far into the width the next request is, 0 to 1.
    at: f64,
    stream: Stream,
}

impl Batch {
    /// Moves to the smallest of the `left` uniform times that are still to come: independent times,
    /// in order, without keeping them.
    fn step(&mut self) {
        if self.left > 0 {
            let survive = math::pow(self.stream.uniform_open(), 1.0 / f64::from(self.left));
            self.at = 1.0 - (1.0 - self.at) * survive;
        }
    }
}

impl Cursor {
    pub fn new(used: &TraceUse, trace: Option<Arc<Trace>>, problems: &mut Problems) -> Option<Cursor> {
        let named = ("pattern.trace", used.name.as_str(), used.rows_hash.as_ref());
        let rows = Rows::of(named, trace, used.cut_to, problems)?;
        let lap_s = rows.trace.lap_us() as f64 / 1e6;
        let per_second = rows.trace.rows().len() as f64 / lap_s * used.speed;
        if per_second > PER_SECOND_MAX {
            let message = format!("gives {per_second:.0} requests per second on average, at most {PER_SECOND_MAX}");
            problems.add("pattern.trace.speed".to_owned(), message);
            return None;
        }
        let (speed, repeat, spread) = (used.speed, used.repeat, used.spread);
        let mut cursor = Cursor { rows, row: 0, lap: 0, speed, repeat, spread, batch: None };
        cursor.enter();
        Some(cursor)
    }

    pub fn next_time(&self) -> Option<Time> {
        let row = self.rows.trace.rows().get(self.row)?;
        let into_us = self.batch.as_ref().map_or(0, |b| (b.at * b.width_us as f64).floor() as u64);
        let lap_us = self.lap.saturating_mul(self.rows.trace.lap_us());
        let us = lap_us.saturating_add(row.offset_us).saturating_add(into_us);
        // At speed 1 without the detour over floats, which have 53 bits.
        let us = if self.speed == 1.0 { us } else { (us as f64 / self.speed).round() as u64 };
        Some(Time(us))
    }

    /// Prompt and answer of the next request; the row after it is next.
    pub fn take(&mut self) -> (u32, u32) {
        let rows = self.rows.trace.rows();
        let Some(row) = rows.get(self.row).copied() else {
            return (1, 1);
        };
        self.row += 1;
        if self.repeat && self.row == rows.len() {
            (self.row, self.lap) = (0, self.lap.saturating_add(1));
        }
        match &mut self.batch {
            Some(batch) if batch.left > 1 => {
                batch.left -= 1;
                batch.step();
            }
            _ => self.enter(),
        }
        self.rows.lengths(row)
    }

    /// Begins the batch that starts at the present row. Its draws depend on the trace and the row
    /// alone: every lap and every seed has the same trace.
    fn enter(&mut self) {
        self.batch = None;
        let Some(most) = self.spread else { return };
        let trace = &self.rows.trace;
        let Some(ahead) = trace.rows().get(self.row..) else { return };
        let Some(first) = ahead.first() else { return };
        let count = ahead.iter().take_while(|row| row.offset_us == first.offset_us).count();
        if count < 2 {
            return;
        }
        let next_us = ahead.get(count).map_or(trace.lap_us(), |row| row.offset_us);
        let width_us = next_us.saturating_sub(first.offset_us).min(most.0);
        let stream = Stream::with_ordinal(trace.rows_hash(), "trace/spread", self.row as u64);
        let mut batch = Batch { width_us, left: u32::try_from(count).unwrap_or(u32::MAX), at: 0.0, stream };
        batch.step();
        self.batch = Some(batch);
    }
}

/// Draws lengths from a trace, all rows as likely.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Drawn {
    rows: Rows,
    stream: Stream,
}

impl Drawn {
    pub fn new(
        used: &TraceLengths,
        trace: Option<Arc<Trace>>,
        stream: Stream,
        problems: &mut Problems,
    ) -> Option<Drawn> {
        let named = ("lengths_of", used.name.as_str(), used.rows_hash.as_ref());
        Rows::of(named, trace, used.cut_to, problems).map(|rows| Drawn { rows, stream })
    }

    /// Prompt and answer of one row.
    pub fn draw(&mut self) -> (u32, u32) {
        let rows = self.rows.trace.rows();
        let index = self.stream.integer(0, (rows.len() as u64).saturating_sub(1));
        rows.get(index as usize).map_or((1, 1), |row| self.rows.lengths(*row))
    }
}
