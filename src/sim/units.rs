//! Lengths of time and times of day as people write them: "90s", "1h30m", "250ms", "01:58".
//!
//! For settings types, with `#[serde(with = "units::span")]`, `units::span_option` and
//! `units::time_of_day`: text in readable formats (YAML, JSON), a plain integer of microseconds in
//! compact ones (share links). Durations are Kubernetes' own (Go's `time.ParseDuration`).

use super::time::Span;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use std::fmt;

const UNITS: [(&str, u64); 7] =
    [("ms", 1_000), ("us", 1), ("µs", 1), ("μs", 1), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000)];
/// Microseconds of a day.
pub const DAY_US: u64 = 86_400_000_000;

const SPAN_WANTED: &str = "a duration such as \"90s\", \"5m\", \"1h30m\" or \"250ms\"";
const DAY_WANTED: &str = "a time of day such as \"01:58\" or \"01:58:30\"";

/// Why a text is no duration or time of day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("expected {SPAN_WANTED}, found `{0}`")]
    NotASpan(String),
    #[error("the duration `{0}` is too long")]
    TooLong(String),
    #[error("expected {DAY_WANTED}, from 00:00 to 23:59:59, found `{0}`")]
    NotATimeOfDay(String),
}

fn excerpt(text: &str) -> String {
    text.chars().take(40).flat_map(char::escape_default).collect()
}

/// Reads a sequence of numbers with units (`h`, `m`, `s`, `ms`, `us`), each possibly with decimals;
/// parts of a microsecond are cut off. `0` needs no unit. There are no negative lengths.
pub fn parse_span(text: &str) -> Result<Span, UnitError> {
    let wrong = || UnitError::NotASpan(excerpt(text));
    if text == "0" {
        return Ok(Span::ZERO);
    }
    let mut total: u64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, after) = rest.split_at(end);
        let (unit, unit_us) = UNITS.iter().find(|(unit, _)| after.starts_with(unit)).ok_or_else(wrong)?;
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && decimals.is_empty()) || decimals.contains('.') {
            return Err(wrong());
        }
        let part = part_us(whole, decimals, *unit_us);
        total = part.and_then(|p| total.checked_add(p)).ok_or_else(|| UnitError::TooLong(excerpt(text)))?;
        rest = &after[unit.len()..];
    }
    if text.is_empty() { Err(wrong()) } else { Ok(Span(total)) }
}

/// `whole.decimals` units in microseconds; nothing on overflow.
fn part_us(whole: &str, decimals: &str, unit_us: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut us = whole.checked_mul(unit_us)?;
    // An hour in microseconds has 10 digits: further decimals are below a microsecond.
    let (mut fraction, mut scale) = (0, 1);
    for digit in decimals.bytes().take(10) {
        fraction = fraction * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    us = us.checked_add(u64::try_from(u128::from(unit_us) * fraction / scale).ok()?)?;
    Some(us)
}

/// Writes a length so that [`parse_span`] gives it back exactly: "1h30m", "250ms", "0s".
pub fn format_span(span: Span) -> String {
    let mut rest = span.0;
    let mut text = String::new();
    for (unit, unit_us) in [("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)] {
        if rest >= unit_us {
            text += &format!("{}{unit}", rest / unit_us);
            rest %= unit_us;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Reads "HH:MM" or "HH:MM:SS" as the length since midnight.
pub fn parse_time_of_day(text: &str) -> Result<Span, UnitError> {
    let wrong = || UnitError::NotATimeOfDay(excerpt(text));
    let mut fields = text.split(':');
    let mut field = |limit: u64, needed: bool| match fields.next() {
        None if !needed => Ok(0),
        Some(digits) if digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().filter(|n| *n < limit).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    };
    let seconds = field(24, true)? * 3600 + field(60, true)? * 60 + field(60, false)?;
    if fields.next().is_some() { Err(wrong()) } else { Ok(Span::from_secs(seconds)) }
}

/// Writes a length since midnight as "HH:MM" or "HH:MM:SS"; whole days and parts of a second are
/// cut off.
pub fn format_time_of_day(span: Span) -> String {
    let seconds = span.0 % DAY_US / 1_000_000;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if s == 0 { format!("{h:02}:{m:02}") } else { format!("{h:02}:{m:02}:{s:02}") }
}

/// Takes text by `parse`.
struct Text {
    wanted: &'static str,
    parse: fn(&str) -> Result<Span, UnitError>,
}

impl Visitor<'_> for Text {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
        (self.parse)(text).map_err(E::custom)
    }
}

/// A length of time.
pub mod span {
    use super::*;

    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&format_span(*span))
        } else {
            serializer.serialize_u64(span.0)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text { wanted: SPAN_WANTED, parse: parse_span })
        } else {
            u64::deserialize(deserializer).map(Span)
        }
    }
}

/// A length of time that may be absent; use with `#[serde(default, with = ...)]`.
pub mod span_option {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(transparent)]
    struct Inner(#[serde(with = "super::span")] Span);

    pub fn serialize<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&span.map(Inner), serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Span>, D::Error> {
        Ok(Option::<Inner>::deserialize(deserializer)?.map(|inner| inner.0))
    }
}

/// A time of day, as the length since midnight.
pub mod time_of_day {
    use super::*;

    pub fn serialize<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&format_time_of_day(*span))
        } else {
            serializer.serialize_u64(span.0)
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Text { wanted: DAY_WANTED, parse: parse_time_of_day })
        } else {
            let span = u64::deserialize(deserializer).map(Span)?;
            if span.0 < DAY_US { Ok(span) } else { Err(D::Error::custom("a time of day lies past midnight")) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_read_as_kubernetes_does() {
        for (text, us) in [
            ("90s", 90_000_000),
            ("5m", 300_000_000),
            ("1h30m", 5_400_000_000),
            ("250ms", 250_000),
            ("1.5h", 5_400_000_000),
            (".5s", 500_000),
            ("1m0.25s", 60_250_000),
            ("7us", 7),
            ("7µs", 7),
            ("0.0000009s", 0),
            ("0", 0),
            ("0s", 0),
            ("720h", 2_592_000_000_000),
        ] {
            assert_eq!(parse_span(text), Ok(Span(us)), "{text}");
        }
        for text in ["", "90", "s", "5 m", "5d", "-5s", "1.2.3s", ".s", "5m3", "5M", "1h30"] {
            assert_eq!(parse_span(text), Err(UnitError::NotASpan(text.into())), "{text}");
        }
        for text in ["99999999999h", "99999999999999999999s", "5124095576h5124095576h"] {
            assert_eq!(parse_span(text), Err(UnitError::TooLong(text.into())), "{text}");
        }
    }

    #[test]
    fn times_of_day_are_lengths_since_midnight() {
        assert_eq!(parse_time_of_day("01:58"), Ok(Span::from_mins(118)));
        assert_eq!(parse_time_of_day("23:59:59"), Ok(Span::from_secs(86_399)));
        for text in ["", "1:58", "24:00", "12:60", "12:00:60", "12", "12:00:00:00", "ab:cd", "+1:00"] {
            assert_eq!(parse_time_of_day(text), Err(UnitError::NotATimeOfDay(text.into())), "{text}");
        }
    }

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Both {
        #[serde(with = "span")]
        every: Span,
        #[serde(default, with = "span_option")]
        after: Option<Span>,
        #[serde(with = "time_of_day")]
        from: Span,
    }

    #[test]
    fn readable_and_compact_formats_agree() {
        let both = Both { every: Span(90_000_000), after: Some(Span(1)), from: Span::from_mins(118) };
        let json = serde_json::to_string(&both).unwrap();
        assert_eq!(json, r#"{"every":"1m30s","after":"1us","from":"01:58"}"#);
        assert_eq!(serde_json::from_str::<Both>(&json).unwrap(), both);
        let bytes = postcard::to_allocvec(&both).unwrap();
        assert_eq!(postcard::from_bytes::<Both>(&bytes).unwrap(), both);
        let yaml: Both = crate::yaml::from_str("every: 1m30s\nafter: 1us\nfrom: 01:58\n").unwrap();
        assert_eq!(yaml, both);
        let absent: Both = crate::yaml::from_str("every: 0\nfrom: '01:58'\n").unwrap();
        assert_eq!((absent.every, absent.after), (Span::ZERO, None));
    }

    #[test]
    fn a_bare_number_is_refused_where_it_stands() {
        let problem = crate::yaml::from_str::<Both>("every: 90\nfrom: 01:58\n").unwrap_err();
        let wanted =
            "line 1, column 8: every: expected a duration such as \"90s\", \"5m\", \"1h30m\" or \"250ms\", found `90`";
        assert_eq!(problem.to_string(), wanted);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read_back(us: u64, seconds in 0u64..86_400) {
            prop_assert_eq!(parse_span(&format_span(Span(us))), Ok(Span(us)));
            let day = Span::from_secs(seconds);
            prop_assert_eq!(parse_time_of_day(&format_time_of_day(day)), Ok(day));
        }

        #[test]
        fn no_text_panics(text in "[0-9.:hmsuµ -]{0,30}|\\PC{0,10}") {
            let _ = (parse_span(&text), parse_time_of_day(&text));
        }
    }
}
