//! A language: its tag, direction, table, plurals and way of writing numbers.

use super::messages::Key;
use super::{Arg, en, plural, pseudo, render};
use crate::sim::money::Microusd;
use crate::sim::time::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    LeftToRight,
    RightToLeft,
}

/// How a language writes numbers. English's own rules are here; a later table may hand over
/// to the browser's `Intl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbers {
    pub group: &'static str,
    pub decimal: &'static str,
}

impl Numbers {
    pub fn int(&self, n: i64) -> String {
        let digits = n.unsigned_abs().to_string();
        let mut out = String::new();
        if n < 0 {
            out.push('−');
        }
        for (i, c) in digits.chars().enumerate() {
            if i > 0 && (digits.len() - i).is_multiple_of(3) {
                out.push_str(self.group);
            }
            out.push(c);
        }
        out
    }

    pub fn float(&self, v: f64, decimals: u8) -> String {
        let s = format!("{:.*}", usize::from(decimals), v.abs());
        let (whole, fraction) = s.split_once('.').unwrap_or((&s, ""));
        let mut out = self.int(whole.parse().unwrap_or(i64::MAX));
        if !fraction.is_empty() {
            out.push_str(self.decimal);
            out.push_str(fraction);
        }
        if v < 0.0 && out.chars().any(|c| ('1'..='9').contains(&c)) { format!("−{out}") } else { out }
    }
}

/// One language of the page.
#[derive(Debug, Clone, Copy)]
pub struct Lang {
    /// BCP 47 tag, or `x-long`, `x-double`, `x-rtl` for the pseudo-languages.
    pub tag: &'static str,
    pub direction: Direction,
    pub numbers: Numbers,
    pseudo: Option<fn(&str) -> String>,
}

impl PartialEq for Lang {
    fn eq(&self, other: &Lang) -> bool {
        self.tag == other.tag
    }
}

const EN_NUMBERS: Numbers = Numbers { group: ",", decimal: "." };

impl Lang {
    pub const fn english() -> Lang {
        Lang { tag: "en", direction: Direction::LeftToRight, numbers: EN_NUMBERS, pseudo: None }
    }

    /// The languages offered to people. Pseudo-languages open only by `?lang=`.
    pub fn offered() -> Vec<Lang> {
        vec![Lang::english()]
    }

    /// The language of a `?lang=` value; `None` if there is no table for it.
    pub fn from_tag(tag: &str) -> Option<Lang> {
        let en = Lang::english();
        match tag {
            "en" => Some(en),
            "x-long" => Some(Lang { tag: "x-long", pseudo: Some(pseudo::long), ..en }),
            "x-double" => Some(Lang { tag: "x-double", pseudo: Some(pseudo::double), ..en }),
            "x-rtl" => Some(Lang { tag: "x-rtl", direction: Direction::RightToLeft, pseudo: Some(pseudo::rtl), ..en }),
            _ => None,
        }
    }

    /// The template of a key.
    pub fn template(&self, key: Key) -> String {
        let text = en::text(key);
        match self.pseudo {
            Some(change) => change(text),
            None => text.to_owned(),
        }
    }

    pub(super) fn plural(&self, n: i64) -> &'static str {
        plural::english(n)
    }

    pub(super) fn write_arg(&self, arg: &Arg) -> String {
        let n = &self.numbers;
        match arg {
            Arg::Int(v) => n.int(*v),
            Arg::Float(v, decimals) => n.float(*v, *decimals),
            Arg::Percent(v) => format!("{} %", n.float(v * 100.0, 0)),
            Arg::PercentTenths(v) => format!("{} %", n.float(v * 100.0, 1)),
            Arg::Span(span) => self.span(*span),
            Arg::Clock(us) => clock(*us),
            Arg::Money(m) => self.money(*m),
            Arg::MoneyPerHour(m) => format!("{}/h", self.money(*m)),
            Arg::Name(s) => s.clone(),
            Arg::Text(m) => render(self, m),
            Arg::List(items) => items.join(", "),
        }
    }

    /// Two largest units: `3 min 42 s`, `1 h 05 min`, `850 ms`.
    fn span(&self, span: Span) -> String {
        let s = span.secs_f64();
        let whole = span.0 / 1_000_000;
        if span.0 == 0 {
            "0 s".to_owned()
        } else if s < 0.001 {
            format!("{} µs", span.0)
        } else if s < 1.0 {
            format!("{} ms", self.numbers.float(s * 1e3, 0))
        } else if s < 10.0 && !span.0.is_multiple_of(1_000_000) {
            format!("{} s", self.numbers.float(s, 1))
        } else if whole < 60 {
            format!("{whole} s")
        } else if whole < 3600 {
            match whole % 60 {
                0 => format!("{} min", whole / 60),
                rest => format!("{} min {rest:02} s", whole / 60),
            }
        } else {
            match whole % 3600 / 60 {
                0 => format!("{} h", self.numbers.int((whole / 3600) as i64)),
                rest => format!("{} h {rest:02} min", self.numbers.int((whole / 3600) as i64)),
            }
        }
    }

    fn money(&self, m: Microusd) -> String {
        format!("${}", self.numbers.float(m.usd(), 2))
    }
}

/// `HH:MM:SS`, from microseconds since midnight of the first day; later days add `+1 d`.
pub fn clock(us: u64) -> String {
    let s = us / 1_000_000;
    let (days, s) = (s / 86_400, s % 86_400);
    let hms = format!("{:02}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60);
    if days == 0 { hms } else { format!("+{days} d {hms}") }
}

/// The first offered language that a list of preferences names, else English.
pub fn detect<'a>(preferences: impl IntoIterator<Item = &'a str>) -> Lang {
    preferences
        .into_iter()
        .find_map(|p| Lang::from_tag(p).or_else(|| p.split('-').next().and_then(Lang::from_tag)))
        .unwrap_or(Lang::english())
}
