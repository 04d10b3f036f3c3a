//! What a message may carry: numbers with units, names, and other messages.

use super::Message;
use crate::sim::money::Microusd;
use crate::sim::snapshot::GpuCount;
use crate::sim::time::Span;

/// One value inside a message. The variant fixes how it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A count, with the language's digit grouping; also what plurals choose by.
    Int(i64),
    /// A number with this many decimals.
    Float(f64, u8),
    /// A share between 0 and 1, written as a percentage.
    Percent(f64),
    /// The same with one decimal, where a reader is to compute with it.
    PercentTenths(f64),
    /// A length of time, written with its two largest units.
    Span(Span),
    /// A time of day: microseconds since midnight of the first day.
    Clock(u64),
    /// Dollars and cents.
    Money(Microusd),
    /// Dollars per hour.
    MoneyPerHour(Microusd),
    /// A name or code that no language translates (`gb-a1`, `llama-70b`).
    Name(String),
    /// Another message, in the same language.
    Text(Box<Message>),
    /// A list of names, joined as the language does.
    List(Vec<String>),
}

impl From<i64> for Arg {
    fn from(v: i64) -> Arg {
        Arg::Int(v)
    }
}
/// Whole numbers as such, parts with one decimal.
impl From<GpuCount> for Arg {
    fn from(v: GpuCount) -> Arg {
        if v.is_whole() { Arg::Int(v.gpus() as i64) } else { Arg::Float(v.gpus(), 1) }
    }
}
impl From<u32> for Arg {
    fn from(v: u32) -> Arg {
        Arg::Int(i64::from(v))
    }
}
impl From<u64> for Arg {
    fn from(v: u64) -> Arg {
        Arg::Int(v as i64)
    }
}
impl From<usize> for Arg {
    fn from(v: usize) -> Arg {
        Arg::Int(v as i64)
    }
}
impl From<Span> for Arg {
    fn from(v: Span) -> Arg {
        Arg::Span(v)
    }
}
impl From<Microusd> for Arg {
    fn from(v: Microusd) -> Arg {
        Arg::Money(v)
    }
}
impl From<&str> for Arg {
    fn from(v: &str) -> Arg {
        Arg::Name(v.to_owned())
    }
}
impl From<String> for Arg {
    fn from(v: String) -> Arg {
        Arg::Name(v)
    }
}
impl From<Message> for Arg {
    fn from(v: Message) -> Arg {
        Arg::Text(Box::new(v))
    }
}
impl From<Vec<String>> for Arg {
    fn from(v: Vec<String>) -> Arg {
        Arg::List(v)
    }
}
