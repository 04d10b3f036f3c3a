//! What can be wrong with a trace file, and what is worth knowing about one that is not.

use super::{GAP_MAX, LINE_BYTES_MAX, TOKENS_MAX};
use crate::sim::time::Span;
use std::fmt;

/// The part of a line that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Line,
    /// A column or key by its name in the file.
    Named(&'static str),
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Line => "line",
            Field::Named(name) => name,
        })
    }
}

/// What was expected where something else stood, with the remedy where it is not plain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Expected {
    #[error(
        "a known trace format: a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens (Azure LLM inference 2023 or 2024), a CSV header with Timestamp, Request tokens and Response tokens (BurstGPT), or on each line a JSON object with timestamp, input_length and output_length (Mooncake)"
    )]
    KnownFormat,
    #[error("{n} fields")]
    Fields { n: usize },
    #[error("a JSON object with timestamp, input_length and output_length")]
    JsonRow,
    #[error("at most {LINE_BYTES_MAX} bytes")]
    ShorterLine,
    #[error("UTF-8 text")]
    Utf8,
    #[error("at most {n} rows (keep the first lines of the file)")]
    FewerRows { n: usize },
    #[error("at least one row")]
    AnyRow,
    #[error("a time such as `2023-11-16 18:15:46.6805900`, in UTC")]
    Date,
    #[error("seconds such as `45` or `19440110.0`")]
    Seconds,
    #[error("milliseconds, not below 0")]
    Milliseconds,
    #[error("a time not before that of line {line} (sort the rows by time)")]
    Sorted { line: u64 },
    #[error(
        "a time at most {} days after that of line {line}, which is as long as a run can be (correct it, or remove the rows on one side of the gap)",
        GAP_MAX.0 / 86_400_000_000
    )]
    Near { line: u64 },
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
    /// At most [`super::PROBLEMS_MAX`].
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

/// Something about a trace that can be used but may not be what its reader thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark {
    /// BurstGPT rows with a prompt and no answer are requests that failed. Their answers' lengths
    /// are unknown, so they are left out, as in the data set's own files without failures.
    FailedLeftOut,
    /// Rows with neither prompt nor answer are left out.
    EmptyLeftOut,
    /// Zero tokens of a prompt or an answer count as one.
    ZeroTokens,
    /// Nothing for so long, the longest of them.
    LongGap { gap: Span },
    /// The trace is longer than any run can be.
    LongerThanAnyRun { span: Span },
    /// All requests have the same time.
    OneInstant,
    /// The prefix blocks are not used: prefix caching is not modelled.
    PrefixesIgnored,
}

/// A remark with where it applies first, and to how many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceNote {
    pub remark: Remark,
    /// 1-based; 0 if it is about the whole file.
    pub line: u64,
    pub rows: u64,
}
