//! Recorded traces: the CSV format of the Azure LLM inference dataset of 2023.
//!
//! `TIMESTAMP,ContextTokens,GeneratedTokens`, one request per row, sorted by time; the time stamp is
//! `2023-11-16 18:15:46.6805900` with up to nine decimals and perhaps `+00:00`; CRLF or LF. Bytes
//! come in pieces of any size (a file being dropped onto a page) and are read as they come.

use crate::sim::rng::{fnv1a64, fnv1a64_on};
use std::fmt;

/// Rows of a trace.
pub const ROWS_MAX: usize = 2_000_000;
/// Bytes of a line.
pub const LINE_BYTES_MAX: usize = 4 * 1024;
/// Tokens of a prompt or an answer.
pub const TOKENS_MAX: u32 = 10_000_000;
/// Problems that are listed; more are counted.
pub const PROBLEMS_MAX: usize = 20;

const HEADER: &str = "TIMESTAMP,ContextTokens,GeneratedTokens";

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
        Trace { rows, rows_hash }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
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

    /// From the first row to where a repeated trace starts again: the last row and one mean gap.
    pub fn lap_us(&self) -> u64 {
        let last_us = self.rows.last().map_or(0, |row| row.offset_us);
        let gaps = (self.rows.len() as u64).saturating_sub(1).max(1);
        last_us.saturating_add((last_us / gaps).max(1))
    }
}

fn hash_row(hash: u64, row: &Row) -> u64 {
    let hash = fnv1a64_on(hash, &row.offset_us.to_le_bytes());
    let hash = fnv1a64_on(hash, &row.prompt_tokens.to_le_bytes());
    fnv1a64_on(hash, &row.output_tokens.to_le_bytes())
}

/// The part of a line that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Line,
    Timestamp,
    ContextTokens,
    GeneratedTokens,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Line => "line",
            Field::Timestamp => "TIMESTAMP",
            Field::ContextTokens => "ContextTokens",
            Field::GeneratedTokens => "GeneratedTokens",
        })
    }
}

/// What was expected where something else stood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Expected {
    #[error("the header `{HEADER}`")]
    Header,
    #[error("3 fields")]
    ThreeFields,
    #[error("at most {LINE_BYTES_MAX} bytes")]
    ShorterLine,
    #[error("UTF-8 text")]
    Utf8,
    #[error("at most {ROWS_MAX} rows")]
    FewerRows,
    #[error("at least one row")]
    AnyRow,
    #[error("a time such as `2023-11-16 18:15:46.6805900`")]
    Timestamp,
    #[error("a time not before that of line {line}")]
    Sorted { line: u64 },
    #[error("a whole number from 0 to {TOKENS_MAX}")]
    Tokens,
}

/// One problem of a trace file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {field}: expected {expected}, found {found}")]
pub struct TraceProblem {
    /// 1-based.
    pub line: u64,
    pub field: Field,
    pub expected: Expected,
    /// The beginning of what stands there, or a description of it.
    pub found: String,
}

/// Why a file is not a trace: the first problems, and how many there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceProblems {
    /// At most [`PROBLEMS_MAX`].
    pub first: Vec<TraceProblem>,
    pub count: u64,
}

impl fmt::Display for TraceProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.first {
            writeln!(f, "{problem}")?;
        }
        match self.count - self.first.len() as u64 {
            0 => Ok(()),
            more => writeln!(f, "and {more} more"),
        }
    }
}

impl std::error::Error for TraceProblems {}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub rows: usize,
    pub problems: u64,
    /// False once no further bytes can matter: the file is too long.
    pub wants_more: bool,
}

/// Reads a trace from bytes as they come.
#[derive(Debug)]
pub struct TraceReader {
    rows_max: usize,
    /// The line that has begun.
    partial: Vec<u8>,
    /// The line that has begun is too long and its rest is skipped.
    skipping: bool,
    /// Lines that are complete.
    lines: u64,
    header_seen: bool,
    /// An empty line is fine only as the last one.
    empty_line: Option<u64>,
    first_ns: Option<i128>,
    latest: Option<(i128, u64)>,
    rows: Vec<Row>,
    full: bool,
    problems: Vec<TraceProblem>,
    count: u64,
}

impl Default for TraceReader {
    fn default() -> Self {
        TraceReader::with_rows_max(ROWS_MAX)
    }
}

impl TraceReader {
    pub fn new() -> TraceReader {
        TraceReader::default()
    }

    pub(super) fn with_rows_max(rows_max: usize) -> TraceReader {
        TraceReader {
            rows_max,
            partial: Vec::new(),
            skipping: false,
            lines: 0,
            header_seen: false,
            empty_line: None,
            first_ns: None,
            latest: None,
            rows: Vec::new(),
            full: false,
            problems: Vec::new(),
            count: 0,
        }
    }

    /// Reads the next bytes; lines may be split anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|b| *b == b'\n').filter(|_| !self.full) {
            self.extend(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        if !self.full {
            self.extend(rest);
        }
        Progress { rows: self.rows.len(), problems: self.count, wants_more: !self.full }
    }

    /// Ends the file, whose last line needs no line end.
    pub fn finish(mut self) -> Result<Trace, TraceProblems> {
        if !self.full && (!self.partial.is_empty() || self.skipping) {
            self.end_line();
        }
        if !self.header_seen {
            self.refuse(1, Field::Line, Expected::Header, "an empty file");
        } else if self.rows.is_empty() && self.count == 0 {
            self.refuse(self.lines + 1, Field::Line, Expected::AnyRow, "the end of the file");
        }
        if self.count > 0 {
            return Err(TraceProblems { first: self.problems, count: self.count });
        }
        Ok(Trace::from_rows(self.rows))
    }

    fn extend(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        // One more than the limit, for the CR of a line end.
        if self.partial.len() + bytes.len() > LINE_BYTES_MAX + 1 {
            self.skipping = true;
            self.partial.clear();
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        self.lines += 1;
        let line = self.lines;
        let mut bytes = std::mem::take(&mut self.partial);
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        if std::mem::take(&mut self.skipping) || bytes.len() > LINE_BYTES_MAX {
            self.header_seen = true;
            self.refuse(line, Field::Line, Expected::ShorterLine, "a longer line");
        } else {
            match std::str::from_utf8(&bytes) {
                Ok(text) => self.line(line, text),
                Err(_) => {
                    self.header_seen = true;
                    self.refuse(line, Field::Line, Expected::Utf8, "other bytes");
                }
            }
        }
        // Its memory serves the next line.
        bytes.clear();
        self.partial = bytes;
    }

    fn line(&mut self, line: u64, text: &str) {
        if !self.header_seen {
            self.header_seen = true;
            if text.strip_prefix('\u{feff}').unwrap_or(text) != HEADER {
                self.refuse(line, Field::Line, Expected::Header, text);
            }
            return;
        }
        if let Some(empty) = self.empty_line.take() {
            self.refuse(empty, Field::Line, Expected::ThreeFields, "an empty line");
        }
        if text.is_empty() {
            self.empty_line = Some(line);
            return;
        }
        if self.rows.len() == self.rows_max {
            self.full = true;
            self.refuse(line, Field::Line, Expected::FewerRows, "one more");
            return;
        }
        let mut fields = text.split(',');
        let (Some(time), Some(context), Some(generated), None) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            let found = format!("{} in `{}`", text.split(',').count(), excerpt(text));
            return self.refuse_described(line, Field::Line, Expected::ThreeFields, found);
        };
        let at_ns = nanoseconds(time);
        let prompt = tokens(context);
        let output = tokens(generated);
        if at_ns.is_none() {
            self.refuse(line, Field::Timestamp, Expected::Timestamp, time);
        }
        if prompt.is_none() {
            self.refuse(line, Field::ContextTokens, Expected::Tokens, context);
        }
        if output.is_none() {
            self.refuse(line, Field::GeneratedTokens, Expected::Tokens, generated);
        }
        let Some(at_ns) = at_ns else { return };
        match self.latest {
            Some((latest_ns, latest_line)) if at_ns < latest_ns => {
                self.refuse(line, Field::Timestamp, Expected::Sorted { line: latest_line }, time);
            }
            _ => self.latest = Some((at_ns, line)),
        }
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        if let (Some(prompt_tokens), Some(output_tokens), 0) = (prompt, output, self.count) {
            // No problem so far, so the rows are sorted and the difference is not negative; years
            // have four digits, so it fits.
            let offset_us = u64::try_from((at_ns - first_ns) / 1_000).unwrap_or(0);
            self.rows.push(Row { offset_us, prompt_tokens, output_tokens });
        }
    }

    fn refuse(&mut self, line: u64, field: Field, expected: Expected, found: &str) {
        let described = matches!(
            expected,
            Expected::ShorterLine | Expected::Utf8 | Expected::FewerRows | Expected::AnyRow | Expected::ThreeFields
        ) || (expected == Expected::Header && found == "an empty file");
        let found = if described { found.to_owned() } else { format!("`{}`", excerpt(found)) };
        self.refuse_described(line, field, expected, found);
    }

    fn refuse_described(&mut self, line: u64, field: Field, expected: Expected, found: String) {
        self.count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(TraceProblem { line, field, expected, found });
        }
    }
}

fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 40;
    let mut out: String = text.chars().take(CHARS_MAX).flat_map(char::escape_default).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.len() <= 10 && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

fn tokens(text: &str) -> Option<u32> {
    digits(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= TOKENS_MAX)
}

/// `YYYY-MM-DD HH:MM:SS[.d{1,9}][+00:00]` as nanoseconds since the year 0 of the Gregorian calendar.
fn nanoseconds(text: &str) -> Option<i128> {
    let text = text.strip_suffix("+00:00").unwrap_or(text);
    let (whole, decimals) = match text.split_once('.') {
        Some((whole, decimals)) if (1..=9).contains(&decimals.len()) => (whole, decimals),
        Some(_) => return None,
        None => (text, "0"),
    };
    let (date, clock) = whole.split_once(' ')?;
    let part = |text: Option<&str>, length: usize, min: u64, max: u64| {
        digits(text.filter(|t| t.len() == length)?).filter(|n| (min..=max).contains(n))
    };
    let mut date = date.split('-');
    let year = part(date.next(), 4, 0, 9999)?;
    let month = part(date.next(), 2, 1, 12)?;
    let day = part(date.next(), 2, 1, days_of_month(year, month))?;
    let mut clock = clock.split(':');
    let hour = part(clock.next(), 2, 0, 23)?;
    let minute = part(clock.next(), 2, 0, 59)?;
    let second = part(clock.next(), 2, 0, 59)?;
    if date.next().is_some() || clock.next().is_some() {
        return None;
    }
    let days = days_before_year(year) + (1..month).map(|m| days_of_month(year, m)).sum::<u64>() + day - 1;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    let nanos = (decimals.len()..9).fold(digits(decimals)?, |n, _| n * 10);
    Some(i128::from(seconds) * 1_000_000_000 + i128::from(nanos))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_before_year(year: u64) -> u64 {
    // Year 0 is a leap year itself.
    let leap_days = if year == 0 { 0 } else { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 };
    year * 365 + leap_days
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(year) => 29,
        2 => 28,
        _ => 31,
    }
}
