//! The query part of the address: how the lab is shown. One table of keys with their values and
//! defaults; whatever is wrong is named and the default is used instead.

use crate::i18n::{Lang, Message, render};
use crate::problem::Problem;
use crate::scenario;
use crate::session::{Speed, Theme};
use crate::sim::time::Span;
use crate::sim::units::parse_time_of_day;

/// Panels that `panels=` can name.
pub const PANELS: [&str; 8] = ["map", "pending", "tools", "layers", "tasks", "why", "charts", "time"];

/// One key of the table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    pub name: &'static str,
    /// What it takes, as the address writes it.
    pub values: fn() -> String,
    /// What holds without it, as the address would write it.
    pub default: &'static str,
    /// Reads a value; false if it is not one.
    set: fn(&mut Options, &str) -> bool,
}

/// How the lab is shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    pub lang: Option<Lang>,
    pub theme: Option<Theme>,
    pub embed: bool,
    pub scenario: Option<String>,
    /// Time of day to open at.
    pub at: Option<Span>,
    pub speed: Option<Speed>,
    /// True for `motion=reduce`.
    pub reduce_motion: bool,
    /// Panels to show; all of them if `None`.
    pub panels: Option<Vec<&'static str>>,
}

/// Every key that the lab reads. Other keys are somebody else's and are left alone.
pub const KEYS: &[Key] = &[
    Key {
        name: "scenario",
        values: || scenario::LIBRARY.iter().map(|(id, _)| *id).collect::<Vec<_>>().join(", "),
        default: "seven-of-eight",
        set: |o, v| {
            let known = scenario::LIBRARY.iter().any(|(id, _)| *id == v);
            if known {
                o.scenario = Some(v.to_owned());
            }
            known
        },
    },
    Key { name: "embed", values: || "0, 1".to_owned(), default: "0", set: |o, v| switch(&mut o.embed, v, "0", "1") },
    Key {
        name: "lang",
        values: || {
            let mut tags: Vec<&str> = Lang::offered().iter().map(|l| l.tag).collect();
            tags.extend(["x-long", "x-double", "x-rtl"]);
            tags.join(", ")
        },
        default: "auto",
        set: |o, v| {
            o.lang = Lang::from_tag(v);
            o.lang.is_some()
        },
    },
    Key {
        name: "theme",
        values: || "auto, light, dark".to_owned(),
        default: "auto",
        set: |o, v| {
            o.theme = theme(v);
            o.theme.is_some()
        },
    },
    Key {
        name: "t",
        values: || "HH:MM, HH:MM:SS".to_owned(),
        default: "0",
        set: |o, v| {
            o.at = parse_time_of_day(v).ok();
            o.at.is_some()
        },
    },
    Key {
        name: "speed",
        values: || Speed::ALL.map(|s| s.0.to_string()).join(", "),
        default: "60",
        set: |o, v| {
            o.speed = v.parse().ok().map(Speed).filter(|s| Speed::ALL.contains(s));
            o.speed.is_some()
        },
    },
    Key {
        name: "motion",
        values: || "auto, reduce".to_owned(),
        default: "auto",
        set: |o, v| switch(&mut o.reduce_motion, v, "auto", "reduce"),
    },
    Key {
        name: "panels",
        values: || PANELS.join(", "),
        default: "all",
        set: |o, v| {
            let named = v.split(',').map(|p| PANELS.iter().copied().find(|known| *known == p.trim()));
            o.panels = named.collect::<Option<Vec<_>>>().filter(|p| !p.is_empty());
            o.panels.is_some()
        },
    },
];

fn switch(flag: &mut bool, value: &str, off: &str, on: &str) -> bool {
    *flag = value == on;
    value == on || value == off
}

/// The theme of a word, for the address and for the stored preference.
pub fn theme(word: &str) -> Option<Theme> {
    match word {
        "auto" => Some(Theme::Auto),
        "light" => Some(Theme::Light),
        "dark" => Some(Theme::Dark),
        _ => None,
    }
}

/// A value that could not be used.
#[derive(Debug, Clone, PartialEq)]
pub struct BadValue {
    pub key: &'static str,
    pub value: String,
    allowed: String,
    used: &'static str,
}

impl BadValue {
    /// The same as a problem in the learner's language.
    pub fn problem(&self, lang: &Lang) -> Problem {
        let message = Message::QueryBadValue {
            value: self.value.clone().into(),
            allowed: self.allowed.clone().into(),
            used: self.used.into(),
        };
        Problem::new(self.key, render(lang, &message))
    }
}

/// Longest value that is quoted back.
const QUOTED_CHARS: usize = 40;

/// Reads decoded pairs of key and value.
pub fn read(pairs: impl IntoIterator<Item = (String, String)>) -> (Options, Vec<BadValue>) {
    let mut options = Options::default();
    let mut bad = Vec::new();
    for (name, value) in pairs {
        let Some(key) = KEYS.iter().find(|k| k.name == name) else {
            continue;
        };
        if !(key.set)(&mut options, value.trim()) {
            bad.push(BadValue {
                key: key.name,
                value: value.chars().take(QUOTED_CHARS).collect(),
                allowed: (key.values)(),
                used: key.default,
            });
        }
    }
    (options, bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> (Options, Vec<BadValue>) {
        read(list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
    }

    #[test]
    fn good_values_are_taken() {
        let (o, bad) = pairs(&[
            ("lang", "x-rtl"),
            ("theme", "dark"),
            ("embed", "1"),
            ("scenario", "lying-signal"),
            ("t", "09:05:00"),
            ("speed", "600"),
            ("motion", "reduce"),
            ("panels", "map,time"),
        ]);
        assert_eq!(bad, []);
        assert_eq!(o.lang.map(|l| l.tag), Some("x-rtl"));
        assert_eq!((o.theme, o.embed, o.speed), (Some(Theme::Dark), true, Some(Speed(600))));
        assert_eq!((o.scenario.as_deref(), o.reduce_motion), (Some("lying-signal"), true));
        assert_eq!(o.at, Some(Span::from_secs(9 * 3600 + 300)));
        assert_eq!(o.panels, Some(vec!["map", "time"]));
    }

    #[test]
    fn each_bad_value_is_named_and_its_default_holds() {
        let all: Vec<(&str, &str)> = KEYS.iter().map(|k| (k.name, "nonsense\u{202e}")).collect();
        let (o, bad) = pairs(&all);
        assert_eq!(o, Options::default());
        assert_eq!(bad.len(), KEYS.len());
        let shown = bad[0].problem(&Lang::english());
        assert_eq!(shown.place, "scenario");
        assert!(shown.what.contains("lying-signal") && shown.what.contains("seven-of-eight"), "{}", shown.what);
    }

    #[test]
    fn keys_of_others_are_left_alone() {
        assert_eq!(pairs(&[("utm_source", "mail"), ("", "")]), (Options::default(), vec![]));
    }

    #[test]
    fn a_bad_value_is_quoted_shortly() {
        let long = "x".repeat(10_000);
        assert_eq!(pairs(&[("speed", &long)]).1[0].value.len(), QUOTED_CHARS);
    }
}
