//! Reads a trace from bytes as they come.

use super::format::{Dialect, Layout, TraceFormat};
use super::problem::{Expected, Field, Remark, TraceNote, TraceProblem, TraceProblems};
use super::stamp::Stamp;
use super::{GAP_MAX, GAP_REMARKED, LINE_BYTES_MAX, PROBLEMS_MAX, ROWS_MAX, Row, Trace, excerpt, hash_row};
use crate::sim::rng::fnv1a64;
use crate::sim::time::Span;
use crate::sim::units::format_span;

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub rows: usize,
    pub problems: u64,
    /// False once no further bytes can matter: too many rows, or no trace at all.
    pub wants_more: bool,
}

/// Reads a trace from bytes as they come: [`Self::push`] until the file ends, then [`Self::finish`].
#[derive(Debug)]
pub struct TraceReader {
    rows_max: usize,
    /// The line that has begun.
    partial: Vec<u8>,
    /// The line that has begun is too long and its rest is skipped.
    skipping: bool,
    /// Lines that are complete.
    lines: u64,
    layout: Option<Layout>,
    /// An empty line is fine only as the last one.
    empty_line: Option<u64>,
    first: Option<Stamp>,
    latest: Option<(Stamp, u64)>,
    rows: Vec<Row>,
    rows_hash: u64,
    /// No further bytes matter.
    full: bool,
    zoned: bool,
    problems: Vec<TraceProblem>,
    count: u64,
    failed: Tally,
    empty: Tally,
    zero: Tally,
    gaps: Tally,
    longest_gap: Span,
}

/// Rows of one kind: how many, and the line of the first.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    line: u64,
    rows: u64,
}

impl Tally {
    fn add(&mut self, line: u64) {
        if self.rows == 0 {
            self.line = line;
        }
        self.rows += 1;
    }
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

    pub(in crate::sim::traffic) fn with_rows_max(rows_max: usize) -> TraceReader {
        TraceReader {
            rows_max,
            partial: Vec::new(),
            skipping: false,
            lines: 0,
            layout: None,
            empty_line: None,
            first: None,
            latest: None,
            rows: Vec::new(),
            rows_hash: fnv1a64(b""),
            full: false,
            zoned: false,
            problems: Vec::new(),
            count: 0,
            failed: Tally::default(),
            empty: Tally::default(),
            zero: Tally::default(),
            gaps: Tally::default(),
            longest_gap: Span::ZERO,
        }
    }

    /// Reads the next bytes; lines may be split anywhere.
    pub fn push(&mut self, bytes: &[u8]) -> Progress {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|b| *b == b'\n').filter(|_| !self.full) {
            if self.partial.is_empty() && !self.skipping {
                // The usual case: a whole line without a copy.
                self.end_line(&rest[..end], end > LINE_BYTES_MAX + 1);
            } else {
                self.extend(&rest[..end]);
                self.end_partial();
            }
            rest = &rest[end + 1..];
        }
        if !self.full {
            self.extend(rest);
        }
        Progress { rows: self.rows.len(), problems: self.count, wants_more: !self.full }
    }

    /// Ends the file, whose last line needs no line end.
    ///
    /// # Errors
    /// What is wrong, by line.
    pub fn finish(mut self) -> Result<Trace, TraceProblems> {
        if !self.full && (!self.partial.is_empty() || self.skipping) {
            self.end_partial();
        }
        if self.lines == 0 {
            self.refuse(1, Field::Line, Expected::KnownFormat, "an empty file".to_owned());
        } else if self.rows.is_empty() && self.count == 0 {
            self.refuse(self.lines + 1, Field::Line, Expected::AnyRow, "the end of the file".to_owned());
        }
        if self.count > 0 {
            return Err(TraceProblems { first: self.problems, count: self.count });
        }
        let notes = self.notes();
        let format = self.format();
        self.rows.shrink_to_fit();
        Ok(Trace { rows: self.rows, rows_hash: self.rows_hash, format, notes })
    }

    fn format(&self) -> Option<TraceFormat> {
        Some(match self.layout? {
            Layout::Csv { dialect: Dialect::Azure, .. } if self.zoned => TraceFormat::Azure2024,
            Layout::Csv { dialect: Dialect::Azure, .. } => TraceFormat::Azure2023,
            Layout::Csv { dialect: Dialect::BurstGpt, .. } => TraceFormat::BurstGpt,
            Layout::JsonLines => TraceFormat::Mooncake,
        })
    }

    fn notes(&self) -> Vec<TraceNote> {
        let mut notes = Vec::new();
        let mut tally = |remark, tally: Tally| {
            if tally.rows > 0 {
                notes.push(TraceNote { remark, line: tally.line, rows: tally.rows });
            }
        };
        tally(Remark::FailedLeftOut, self.failed);
        tally(Remark::EmptyLeftOut, self.empty);
        tally(Remark::ZeroTokens, self.zero);
        tally(Remark::LongGap { gap: self.longest_gap }, self.gaps);
        let rows = self.rows.len() as u64;
        let span = Span(self.rows.last().map_or(0, |row| row.offset_us));
        if span > GAP_MAX {
            notes.push(TraceNote { remark: Remark::LongerThanAnyRun { span }, line: 0, rows });
        }
        if span == Span::ZERO && rows > 1 {
            notes.push(TraceNote { remark: Remark::OneInstant, line: 0, rows });
        }
        if self.layout == Some(Layout::JsonLines) {
            notes.push(TraceNote { remark: Remark::PrefixesIgnored, line: 0, rows });
        }
        notes
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

    fn end_partial(&mut self) {
        let mut bytes = std::mem::take(&mut self.partial);
        let skipped = std::mem::take(&mut self.skipping);
        self.end_line(&bytes, skipped);
        // Its memory serves the next line.
        bytes.clear();
        self.partial = bytes;
    }

    fn end_line(&mut self, bytes: &[u8], skipped: bool) {
        self.lines += 1;
        let line = self.lines;
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if self.lines == 1 && !self.begin(bytes, skipped) {
            return;
        }
        if skipped || bytes.len() > LINE_BYTES_MAX {
            self.refuse(line, Field::Line, Expected::ShorterLine, "a longer line".to_owned());
        } else {
            self.line(line, bytes);
        }
    }

    /// Looks at the first line. True if it is a row as well.
    fn begin(&mut self, bytes: &[u8], skipped: bool) -> bool {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let text = if skipped { None } else { std::str::from_utf8(bytes).ok() };
        self.layout = text.and_then(Layout::of);
        match self.layout {
            Some(layout) => !layout.has_header(),
            None => {
                self.full = true;
                let found = match text {
                    Some(text) if text.starts_with("version https://git-lfs") => {
                        "a Git LFS pointer, which only stands for the file: download the file itself".to_owned()
                    }
                    Some(_) => format!("`{}`", excerpt(bytes)),
                    None => "something else than text".to_owned(),
                };
                self.refuse(1, Field::Line, Expected::KnownFormat, found);
                false
            }
        }
    }

    fn line(&mut self, line: u64, bytes: &[u8]) {
        let Some(layout) = self.layout else { return };
        if let Some(empty) = self.empty_line.take() {
            let expected = match layout {
                Layout::Csv { columns, .. } => Expected::Fields { n: columns },
                Layout::JsonLines => Expected::JsonRow,
            };
            self.refuse(empty, Field::Line, expected, "an empty line".to_owned());
        }
        if bytes.is_empty() {
            self.empty_line = Some(line);
            return;
        }
        if self.rows.len() == self.rows_max {
            self.full = true;
            let expected = Expected::FewerRows { n: self.rows_max };
            return self.refuse(line, Field::Line, expected, "one more".to_owned());
        }
        // A JSON file's first line may begin with a byte order mark.
        let bytes = if line == 1 { bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes) } else { bytes };
        let read = layout.read(bytes);
        for (field, expected, found) in read.wrong {
            self.refuse(line, field, expected, found);
        }
        let Some(stamp) = read.stamp else { return };
        let near = self.follow(line, stamp, layout.time_field());
        self.zoned |= read.zoned;
        if let (Some(prompt), Some(output), true) = (read.prompt, read.output, near) {
            self.row(line, stamp, prompt, output, layout);
        }
    }

    /// Whether a row may have this time after those before it.
    fn follow(&mut self, line: u64, stamp: Stamp, field: Field) -> bool {
        let Some((latest, latest_line)) = self.latest else {
            self.latest = Some((stamp, line));
            return true;
        };
        if stamp < latest {
            let found = match latest.since_us(stamp) {
                0 => "an earlier one".to_owned(),
                us => format!("one {} earlier", format_span(Span(us))),
            };
            self.refuse(line, field, Expected::Sorted { line: latest_line }, found);
            return false;
        }
        let gap = Span(stamp.since_us(latest));
        self.latest = Some((stamp, line));
        if gap > GAP_MAX {
            let found = format!("one {} days later", gap.0 / 86_400_000_000);
            self.refuse(line, field, Expected::Near { line: latest_line }, found);
            return false;
        }
        if gap > GAP_REMARKED {
            self.gaps.add(line);
            self.longest_gap = self.longest_gap.max(gap);
        }
        true
    }

    fn row(&mut self, line: u64, stamp: Stamp, prompt_tokens: u32, output_tokens: u32, layout: Layout) {
        let logs_failures = matches!(layout, Layout::Csv { dialect: Dialect::BurstGpt, .. });
        if output_tokens == 0 && logs_failures {
            let kind = if prompt_tokens == 0 { &mut self.empty } else { &mut self.failed };
            return kind.add(line);
        }
        if prompt_tokens == 0 || output_tokens == 0 {
            self.zero.add(line);
        }
        // After a problem nothing will come of the rows, so they take no memory.
        if self.count == 0 {
            let first = *self.first.get_or_insert(stamp);
            let row = Row { offset_us: stamp.since_us(first), prompt_tokens, output_tokens };
            self.rows_hash = hash_row(self.rows_hash, &row);
            self.rows.push(row);
        }
    }

    fn refuse(&mut self, line: u64, field: Field, expected: Expected, found: String) {
        self.count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(TraceProblem { line, field, expected, found });
        }
    }
}
