//! The readable form: `s=ID&seed=N&PARAM=VALUE&t=HH:MM:SS`, for links written by hand.

use super::{Opened, library};
use crate::problem::Problem;
use crate::scenario::clip;
use crate::sim::param::Param;
use crate::sim::time::Time;
use crate::sim::units::{DAY_US, parse_time_of_day};

/// Longest readable fragment.
const CHARS_MAX: usize = 2_000;

/// # Errors
/// If it is too long or names no scenario. A single bad value is left out and reported in `ignored`.
pub fn open(fragment: &str) -> Result<Opened, Vec<Problem>> {
    if fragment.len() > CHARS_MAX {
        let what = format!("{} characters, at most {CHARS_MAX} are accepted", fragment.len());
        return Err(vec![Problem::new("link", what)]);
    }
    let pairs: Vec<(&str, &str)> = fragment.split('&').map(|p| p.split_once('=').unwrap_or((p, ""))).collect();
    let id = pairs.iter().find(|(k, _)| *k == "s").map_or("", |(_, v)| *v);
    let mut scenario = library(id)?;
    let mut ignored = Vec::new();
    let mut at = Time::ZERO;
    for (key, value) in pairs.into_iter().filter(|(k, _)| *k != "s") {
        let mut ignore = |what: String| ignored.push(Problem::new(clip(key), what));
        match (key, Param::from_id(key)) {
            ("seed", _) => match value.parse() {
                Ok(seed) => scenario.setup.seed = seed,
                Err(_) => ignore(format!("`{}` is not a whole number; the scenario's seed is used", clip(value))),
            },
            ("t", _) => match parse_time_of_day(value) {
                Ok(clock) => at = Time((clock.0 + DAY_US - scenario.setup.day_start.0) % DAY_US),
                Err(e) => ignore(format!("{e}; the run starts at its beginning")),
            },
            (_, Some(param)) => {
                let set = param.parse(value).and_then(|v| scenario.setup.policy.set(param, v));
                if let Err(e) = set {
                    ignore(format!("{e}; the scenario's own value is used"));
                }
            }
            _ => ignore("unknown key".to_owned()),
        }
    }
    if at > scenario.setup.end {
        ignored.push(Problem::new("t", "outside the run; it starts at its beginning"));
        at = Time::ZERO;
    }
    Ok(Opened {
        scenario,
        scenario_id: id.to_owned(),
        text: None,
        log: Vec::new(),
        at,
        state_hash: None,
        other_engine: None,
        ignored,
    })
}
