//! Recorded traces: requests with their times, prompts and answers, read from the published formats.
//!
//! Bytes come in pieces of any size (a file being dropped onto a page) and go to a [`TraceReader`],
//! which tells the format by the first line ([`TraceFormat`]) and gives a [`Trace`], or names what is
//! wrong by line. A source plays the rows or draws lengths from them; [`Summary`] says what is there.

mod format;
mod problem;
mod reader;
mod stamp;
mod summary;

use crate::sim::limits::END_MAX_S;
use crate::sim::rng::{fnv1a64, fnv1a64_on};
use crate::sim::time::Span;

pub use format::TraceFormat;
pub use problem::{Expected, Field, Remark, TraceNote, TraceProblem, TraceProblems};
pub use reader::{Progress, TraceReader};
pub use summary::{Summary, Tokens};

/// Rows of a trace, of 16 bytes each: more than 128 MiB of any known format hold.
pub const ROWS_MAX: usize = 4_000_000;
/// Bytes of a line: a prompt of a million tokens has 2,000 prefix blocks.
pub const LINE_BYTES_MAX: usize = 64 * 1024;
/// Tokens of a prompt or an answer.
pub const TOKENS_MAX: u32 = 10_000_000;
/// Problems that are listed; more are counted.
pub const PROBLEMS_MAX: usize = 20;
/// Longest time without a request: after it no run would go on.
pub const GAP_MAX: Span = Span::from_secs(END_MAX_S);
/// From here a time without requests is remarked on.
pub const GAP_REMARKED: Span = Span::from_secs(86_400);

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Since the first row.
    pub offset_us: u64,
    /// May be 0 in a trace; a source makes it 1.
    pub prompt_tokens: u32,
    /// Likewise.
    pub output_tokens: u32,
}

/// The rows of a trace, sorted by time. Two traces are equal if their content hashes are.
#[derive(Debug, Clone)]
pub struct Trace {
    rows: Vec<Row>,
    rows_hash: u64,
    format: Option<TraceFormat>,
    notes: Vec<TraceNote>,
}

impl PartialEq for Trace {
    fn eq(&self, other: &Trace) -> bool {
        self.rows_hash == other.rows_hash && self.rows.len() == other.rows.len()
    }
}

impl Trace {
    /// A trace of these rows, which are sorted by time if they are not.
    pub fn from_rows(mut rows: Vec<Row>) -> Trace {
        rows.sort_by_key(|row| row.offset_us);
        let rows_hash = rows.iter().fold(fnv1a64(b""), hash_row);
        Trace { rows, rows_hash, format: None, notes: Vec::new() }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The format of the file it was read from.
    pub fn format(&self) -> Option<TraceFormat> {
        self.format
    }

    /// What is worth knowing about it.
    pub fn notes(&self) -> &[TraceNote] {
        &self.notes
    }

    /// FNV-1a 64 of all rows (offset, prompt, answer as little-endian 8 + 4 + 4 bytes), so that a log
    /// of commands can name the trace it was made with.
    pub fn rows_hash(&self) -> u64 {
        self.rows_hash
    }

    /// [`Self::rows_hash`] as 16 hex digits.
    pub fn rows_hash_text(&self) -> String {
        format!("{:016x}", self.rows_hash)
    }

    /// From the first to the last row.
    pub fn span(&self) -> Span {
        Span(self.rows.last().map_or(0, |row| row.offset_us))
    }

    /// From the first row to where a repeated trace starts again: the last row and one mean gap, or a
    /// second if all rows have the same time.
    pub fn lap_us(&self) -> u64 {
        let last_us = self.span().0;
        if last_us == 0 {
            return 1_000_000;
        }
        let gaps = (self.rows.len() as u64).saturating_sub(1).max(1);
        last_us.saturating_add((last_us / gaps).max(1))
    }
}

fn hash_row(hash: u64, row: &Row) -> u64 {
    let hash = fnv1a64_on(hash, &row.offset_us.to_le_bytes());
    let hash = fnv1a64_on(hash, &row.prompt_tokens.to_le_bytes());
    fnv1a64_on(hash, &row.output_tokens.to_le_bytes())
}

/// The beginning of what stands in a file, safe to show.
fn excerpt(text: &[u8]) -> String {
    const CHARS_MAX: usize = 40;
    let text = String::from_utf8_lossy(text.get(..CHARS_MAX * 4 + 4).unwrap_or(text));
    let mut out: String = text.chars().take(CHARS_MAX).flat_map(char::escape_default).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}
