//! NodePool settings, as a learner or a manifest writes them.

use super::requirement::{RequirementSpec, Requirements};
use super::taints::Taint;
use super::types::NODE_POOL;
use crate::sim::time::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `spec.disruption.consolidationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Policy {
    /// Only nodes without pods that would have to move.
    WhenEmpty,
    #[default]
    WhenEmptyOrUnderutilized,
    /// As the former, but only moves whose savings justify the disruption.
    Balanced,
}

/// Why a node is disrupted; budgets may name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    Empty,
    Drifted,
    Underutilized,
}

/// How many nodes a budget lets go at once: a count, or a percentage of the pool, rounded up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum AllowedNodes {
    Count(u32),
    Percent(u32),
    /// Not understood: allows none.
    Invalid(String),
}

impl From<String> for AllowedNodes {
    fn from(text: String) -> Self {
        let parsed = match text.strip_suffix('%') {
            Some(number) => number.parse().map(AllowedNodes::Percent),
            None => text.parse().map(AllowedNodes::Count),
        };
        parsed.unwrap_or(AllowedNodes::Invalid(text))
    }
}

impl From<AllowedNodes> for String {
    fn from(nodes: AllowedNodes) -> String {
        match nodes {
            AllowedNodes::Count(n) => n.to_string(),
            AllowedNodes::Percent(n) => format!("{n}%"),
            AllowedNodes::Invalid(text) => text,
        }
    }
}

/// One disruption budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    pub nodes: AllowedNodes,
    /// Empty means all reasons.
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// Cron in UTC; needs `duration`. `None` means always active.
    #[serde(default)]
    pub schedule: Option<String>,
    #[serde(default)]
    pub duration: Option<Span>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget { nodes: AllowedNodes::Percent(10), reasons: Vec::new(), schedule: None, duration: None }
    }
}

/// Upper bounds on what a pool owns; `None` is no bound.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    pub cpu_m: Option<i64>,
    pub mem_mib: Option<i64>,
    pub gpu: Option<i64>,
    pub pods: Option<i64>,
    /// Further resources by name.
    pub extra: BTreeMap<String, i64>,
    /// Number of nodes.
    pub nodes: Option<i64>,
}

/// A NodePool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Pool {
    pub name: String,
    /// The highest is tried first.
    pub weight: i32,
    pub policy: Policy,
    /// How long a node must be without pod events; `None` is `Never`.
    pub consolidate_after: Option<Span>,
    pub budgets: Vec<Budget>,
    pub limits: Limits,
    pub requirements: Vec<RequirementSpec>,
    pub labels: BTreeMap<String, String>,
    pub taints: Vec<Taint>,
    /// Expected to be taken away while the node starts; pods need not tolerate them.
    pub startup_taints: Vec<Taint>,
    /// `None` is `Never`.
    pub expire_after: Option<Span>,
    pub termination_grace: Option<Span>,
    /// A fixed number of nodes: the pool takes no pending pods and is never consolidated.
    pub replicas: Option<u32>,
}

impl Default for Pool {
    fn default() -> Self {
        Pool {
            name: "default".to_owned(),
            weight: 0,
            policy: Policy::default(),
            consolidate_after: Some(Span::ZERO),
            budgets: vec![Budget::default()],
            limits: Limits::default(),
            requirements: Vec::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: Some(Span::from_secs(720 * 3600)),
            termination_grace: None,
            replicas: None,
        }
    }
}

impl Pool {
    /// What every node of the pool satisfies.
    pub fn node_requirements(&self) -> Requirements {
        let mut all = Requirements::build(&self.requirements, &self.labels);
        all.add(NODE_POOL, super::requirement::Requirement::one_of([self.name.as_str()]));
        all
    }
}

/// A Go duration (`1h30m`, `90s`, `1.5h`); `None` if it is not one or is negative.
pub fn go_duration(text: &str) -> Option<Span> {
    const UNITS: [(&str, f64); 6] = [("ms", 1e3), ("us", 1.0), ("ns", 1e-3), ("h", 3.6e9), ("m", 6e7), ("s", 1e6)];
    if text.is_empty() {
        return None;
    }
    let (mut rest, mut total_us) = (text, 0.0);
    while !rest.is_empty() {
        if rest == "0" && total_us == 0.0 {
            break;
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let (unit, scale) = UNITS.into_iter().find(|(unit, _)| rest.starts_with(unit))?;
        rest = &rest[unit.len()..];
        total_us += number * scale;
    }
    Some(Span::from_micros(total_us.round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_go_writes_them() {
        assert_eq!(go_duration("10m"), Some(Span::from_mins(10)));
        assert_eq!(go_duration("1h30m"), Some(Span::from_mins(90)));
        assert_eq!(go_duration("1.5s"), Some(Span::from_millis(1500)));
        assert_eq!(go_duration("250ms"), Some(Span::from_millis(250)));
        assert_eq!(go_duration("0"), Some(Span::ZERO));
        for bad in ["", "soon", "10", "m", "-5m", "5 m", "1.2.3s"] {
            assert_eq!(go_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn allowed_nodes_from_text() {
        assert_eq!(AllowedNodes::from("15%".to_owned()), AllowedNodes::Percent(15));
        assert_eq!(AllowedNodes::from("7".to_owned()), AllowedNodes::Count(7));
        assert!(matches!(AllowedNodes::from("-1".to_owned()), AllowedNodes::Invalid(_)));
    }
}
