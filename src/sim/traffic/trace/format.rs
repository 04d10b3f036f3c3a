//! The known trace formats: how a file's first line tells which one it is, and how a line becomes a
//! request.
//!
//! CSV columns are found by the names in the header, so further columns and another order do no harm.
//! Quoted fields are not supported: none of these data sets has them.

use super::problem::{Expected, Field};
use super::stamp::{self, Stamp};
use super::{TOKENS_MAX, excerpt};
use crate::sim::time::Span;
use serde::Deserialize;

/// A published format of request traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// CSV, date-time without a zone and seven decimals. Azure LLM inference trace 2023.
    Azure2023,
    /// The same columns, date-time with `+00:00`. Azure LLM inference trace 2024.
    Azure2024,
    /// CSV, seconds; versions 1 to 3, of which the third has two more columns.
    BurstGpt,
    /// A JSON object on each line, milliseconds. The traces of Mooncake (FAST 2025).
    Mooncake,
}

impl TraceFormat {
    pub const ALL: [TraceFormat; 4] =
        [TraceFormat::Azure2023, TraceFormat::Azure2024, TraceFormat::BurstGpt, TraceFormat::Mooncake];

    /// The data set's own name.
    pub fn name(self) -> &'static str {
        match self {
            TraceFormat::Azure2023 => "Azure LLM inference 2023",
            TraceFormat::Azure2024 => "Azure LLM inference 2024",
            TraceFormat::BurstGpt => "BurstGPT",
            TraceFormat::Mooncake => "Mooncake",
        }
    }

    /// The step of the time stamps where it is so coarse that many requests share one: replayed as
    /// written, they would be bursts that never were. BurstGPT has whole seconds; in Mooncake's
    /// conversation trace stamps are 2,999 to 3,001 ms apart, with nine requests each on average.
    pub fn grid(self) -> Option<Span> {
        match self {
            TraceFormat::Azure2023 | TraceFormat::Azure2024 => None,
            TraceFormat::BurstGpt => Some(Span::from_secs(1)),
            TraceFormat::Mooncake => Some(Span::from_secs(3)),
        }
    }
}

/// The CSV dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Azure,
    BurstGpt,
}

impl Dialect {
    /// Names of the columns of time, prompt and answer.
    const fn names(self) -> [&'static str; 3] {
        match self {
            Dialect::Azure => ["TIMESTAMP", "ContextTokens", "GeneratedTokens"],
            Dialect::BurstGpt => ["Timestamp", "Request tokens", "Response tokens"],
        }
    }
}

const JSON_NAMES: [&str; 3] = ["timestamp", "input_length", "output_length"];

/// What the lines of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// `at` are the positions of time, prompt and answer among `columns`.
    Csv {
        dialect: Dialect,
        at: [usize; 3],
        columns: usize,
    },
    JsonLines,
}

/// A line as read: each part by itself, so that all that is wrong can be said.
pub(super) struct Line {
    pub stamp: Option<Stamp>,
    pub prompt: Option<u32>,
    pub output: Option<u32>,
    /// The stamp names its zone.
    pub zoned: bool,
    pub wrong: Vec<(Field, Expected, String)>,
}

impl Line {
    fn wrong(field: Field, expected: Expected, found: String) -> Line {
        Line { stamp: None, prompt: None, output: None, zoned: false, wrong: vec![(field, expected, found)] }
    }
}

#[derive(Deserialize)]
struct JsonRow {
    timestamp: f64,
    input_length: u32,
    output_length: u32,
}

impl Layout {
    /// The layout that a first line announces.
    pub fn of(first: &str) -> Option<Layout> {
        if first.trim_start().starts_with('{') {
            let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(first).ok()?;
            return JSON_NAMES.iter().all(|name| object.contains_key(*name)).then_some(Layout::JsonLines);
        }
        let names: Vec<&str> = first.split(',').map(str::trim).collect();
        [Dialect::Azure, Dialect::BurstGpt].into_iter().find_map(|dialect| {
            let place = |name: &str| names.iter().position(|n| *n == name);
            let [time, prompt, output] = dialect.names();
            let at = [place(time)?, place(prompt)?, place(output)?];
            Some(Layout::Csv { dialect, at, columns: names.len() })
        })
    }

    pub fn has_header(self) -> bool {
        matches!(self, Layout::Csv { .. })
    }

    /// The column or key that holds the time.
    pub fn time_field(self) -> Field {
        match self {
            Layout::Csv { dialect, .. } => Field::Named(dialect.names()[0]),
            Layout::JsonLines => Field::Named(JSON_NAMES[0]),
        }
    }

    pub fn read(self, line: &[u8]) -> Line {
        let read = match self {
            Layout::Csv { dialect, at, columns } => csv(line, dialect, at, columns),
            Layout::JsonLines => json(line),
        };
        if !read.wrong.is_empty() && std::str::from_utf8(line).is_err() {
            return Line::wrong(Field::Line, Expected::Utf8, "other bytes".to_owned());
        }
        read
    }
}

fn csv(line: &[u8], dialect: Dialect, at: [usize; 3], columns: usize) -> Line {
    let mut picked: [&[u8]; 3] = [b""; 3];
    let mut count = 0;
    for field in line.split(|b| *b == b',') {
        for (slot, place) in picked.iter_mut().zip(at) {
            if count == place {
                *slot = field;
            }
        }
        count += 1;
    }
    if count != columns {
        let found = format!("{count} in `{}`", excerpt(line));
        return Line::wrong(Field::Line, Expected::Fields { n: columns }, found);
    }
    let stamp = match dialect {
        Dialect::Azure => stamp::date(picked[0]),
        Dialect::BurstGpt => stamp::seconds(picked[0]).map(|stamp| (stamp, false)),
    };
    let (prompt, output) = (tokens(picked[1]), tokens(picked[2]));
    let mut wrong = Vec::new();
    if stamp.is_none() {
        let time = if dialect == Dialect::Azure { Expected::Date } else { Expected::Seconds };
        wrong.push((Field::Named(dialect.names()[0]), time, quoted(picked[0])));
    }
    for (i, value) in [(1, prompt), (2, output)] {
        if value.is_none() {
            wrong.push((Field::Named(dialect.names()[i]), Expected::Tokens, quoted(picked[i])));
        }
    }
    Line { stamp: stamp.map(|s| s.0), zoned: stamp.is_some_and(|s| s.1), prompt, output, wrong }
}

fn tokens(text: &[u8]) -> Option<u32> {
    stamp::digits(text).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= TOKENS_MAX)
}

fn quoted(text: &[u8]) -> String {
    format!("`{}`", excerpt(text))
}

fn json(line: &[u8]) -> Line {
    if let Ok(row) = serde_json::from_slice::<JsonRow>(line)
        && let Some(stamp) = stamp::milliseconds(row.timestamp)
        && row.input_length <= TOKENS_MAX
        && row.output_length <= TOKENS_MAX
    {
        let (prompt, output) = (Some(row.input_length), Some(row.output_length));
        return Line { stamp: Some(stamp), prompt, output, zoned: false, wrong: Vec::new() };
    }
    let object: serde_json::Map<String, serde_json::Value> = match serde_json::from_slice(line) {
        Ok(object) => object,
        Err(_) => return Line::wrong(Field::Line, Expected::JsonRow, quoted(line)),
    };
    let found = |name: &str| object.get(name).map_or("nothing".to_owned(), |v| quoted(v.to_string().as_bytes()));
    let count = |name: &str| {
        let n = object.get(name).and_then(serde_json::Value::as_u64).and_then(|n| u32::try_from(n).ok());
        n.filter(|n| *n <= TOKENS_MAX)
    };
    let stamp = object.get(JSON_NAMES[0]).and_then(serde_json::Value::as_f64).and_then(stamp::milliseconds);
    let (prompt, output) = (count(JSON_NAMES[1]), count(JSON_NAMES[2]));
    let mut wrong = Vec::new();
    if stamp.is_none() {
        wrong.push((Field::Named(JSON_NAMES[0]), Expected::Milliseconds, found(JSON_NAMES[0])));
    }
    for (name, value) in [(JSON_NAMES[1], prompt), (JSON_NAMES[2], output)] {
        if value.is_none() {
            wrong.push((Field::Named(name), Expected::Tokens, found(name)));
        }
    }
    if wrong.is_empty() {
        // Only a key that is there twice gets here.
        wrong.push((Field::Line, Expected::JsonRow, quoted(line)));
    }
    Line { stamp, prompt, output, zoned: false, wrong }
}
