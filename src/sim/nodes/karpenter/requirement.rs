//! Requirements on labels: what pools, pods, instance types and nodes say about label values.
//!
//! A set algebra as in Karpenter's scheduling package: a requirement is a set of values, or the
//! complement of one, optionally bounded by integers. Used by everything that asks whether a pod
//! may be on a node.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Operators of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    /// Strictly greater than an integer.
    Gt,
    /// Strictly less than an integer.
    Lt,
    Gte,
    Lte,
}

/// One requirement as written in a manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequirementSpec {
    pub key: String,
    #[serde(rename = "operator")]
    pub op: Operator,
    #[serde(default)]
    pub values: Vec<String>,
    /// At least so many distinct values must remain among the instance types of a new node.
    #[serde(default)]
    pub min_values: Option<u32>,
}

impl RequirementSpec {
    /// A requirement without `minValues`.
    pub fn new<S: Into<String>>(key: &str, op: Operator, values: impl IntoIterator<Item = S>) -> Self {
        RequirementSpec {
            key: key.to_owned(),
            op,
            values: values.into_iter().map(Into::into).collect(),
            min_values: None,
        }
    }
}

/// The allowed values of one label.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Requirement {
    /// `values` are the forbidden ones, everything else is allowed.
    complement: bool,
    values: BTreeSet<String>,
    at_least: Option<i64>,
    at_most: Option<i64>,
    pub min_values: Option<u32>,
}

impl Requirement {
    /// Any value, but the label must exist.
    pub fn exists() -> Self {
        Requirement { complement: true, values: BTreeSet::new(), at_least: None, at_most: None, min_values: None }
    }
    /// The label must be absent.
    pub fn does_not_exist() -> Self {
        Requirement { complement: false, ..Requirement::exists() }
    }
    /// One of these values.
    pub fn one_of<S: Into<String>>(values: impl IntoIterator<Item = S>) -> Self {
        Requirement { complement: false, values: values.into_iter().map(Into::into).collect(), ..Requirement::exists() }
    }
    /// From its written form. A bound that is no integer allows nothing.
    pub fn from_spec(spec: &RequirementSpec) -> Self {
        let number = || spec.values.first().and_then(|v| v.trim().parse::<i64>().ok());
        let bounded = |at_least: Option<i64>, at_most: Option<i64>| match (at_least, at_most) {
            (None, None) => Requirement::does_not_exist(),
            (at_least, at_most) => Requirement { at_least, at_most, ..Requirement::exists() },
        };
        let mut made = match spec.op {
            Operator::In => Requirement::one_of(spec.values.iter().cloned()),
            Operator::NotIn => Requirement { complement: true, ..Requirement::one_of(spec.values.iter().cloned()) },
            Operator::Exists => Requirement::exists(),
            Operator::DoesNotExist => Requirement::does_not_exist(),
            Operator::Gt => bounded(number().map(|n| n.saturating_add(1)), None),
            Operator::Gte => bounded(number(), None),
            Operator::Lt => bounded(None, number().map(|n| n.saturating_sub(1))),
            Operator::Lte => bounded(None, number()),
        };
        made.min_values = spec.min_values;
        made
    }

    fn within(&self, value: &str) -> bool {
        if self.at_least.is_none() && self.at_most.is_none() {
            return true;
        }
        value
            .parse::<i64>()
            .is_ok_and(|n| self.at_least.is_none_or(|low| n >= low) && self.at_most.is_none_or(|high| n <= high))
    }

    /// Whether this value is allowed.
    pub fn has(&self, value: &str) -> bool {
        self.values.contains(value) != self.complement && self.within(value)
    }
    /// No value is allowed.
    fn is_nothing(&self) -> bool {
        !self.complement && self.values.is_empty()
    }
    /// `NotIn` or `DoesNotExist`: satisfied by a missing label.
    pub fn accepts_absence(&self) -> bool {
        if self.complement { !self.values.is_empty() } else { self.values.is_empty() }
    }
    /// The listed values, if the allowed ones are a list.
    pub fn listed(&self) -> Option<&BTreeSet<String>> {
        (!self.complement).then_some(&self.values)
    }

    /// The values that both allow.
    pub fn and(&self, other: &Requirement) -> Requirement {
        let at_least = self.at_least.max(other.at_least);
        let at_most = match (self.at_most, other.at_most) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let min_values = self.min_values.max(other.min_values);
        if let (Some(low), Some(high)) = (at_least, at_most)
            && low > high
        {
            return Requirement { min_values, ..Requirement::does_not_exist() };
        }
        let complement = self.complement && other.complement;
        let bounds = Requirement { at_least, at_most, ..Requirement::exists() };
        let all: BTreeSet<&String> = match (self.complement, other.complement) {
            (true, true) => self.values.union(&other.values).collect(),
            (true, false) => other.values.difference(&self.values).collect(),
            (false, true) => self.values.difference(&other.values).collect(),
            (false, false) => self.values.intersection(&other.values).collect(),
        };
        Requirement {
            complement,
            values: all.into_iter().filter(|v| bounds.within(v)).cloned().collect(),
            at_least: at_least.filter(|_| complement),
            at_most: at_most.filter(|_| complement),
            min_values,
        }
    }

    /// Some value is allowed by both, or both are content with a missing label.
    fn meets(&self, other: &Requirement) -> bool {
        // The common case, one listed value, without building a set.
        let listed_against = |one: &Requirement, two: &Requirement| one.values.iter().any(|v| one.has(v) && two.has(v));
        let shared = match (self.complement, other.complement) {
            (false, _) => listed_against(self, other),
            (true, false) => listed_against(other, self),
            (true, true) => !self.and(other).is_nothing(),
        };
        shared || (self.accepts_absence() && other.accepts_absence())
    }
}

/// Requirements by label key; every one must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct Requirements(BTreeMap<String, Requirement>);

impl Requirements {
    /// From written requirements and fixed labels.
    pub fn build<'a>(
        specs: impl IntoIterator<Item = &'a RequirementSpec>,
        labels: impl IntoIterator<Item = (&'a String, &'a String)>,
    ) -> Self {
        let mut all = Requirements::default();
        for spec in specs {
            all.add(&spec.key, Requirement::from_spec(spec));
        }
        for (key, value) in labels {
            all.add(key, Requirement::one_of([value.as_str()]));
        }
        all
    }

    /// Narrows one key.
    pub fn add(&mut self, key: &str, requirement: Requirement) {
        let narrowed = match self.0.get(key) {
            Some(old) => old.and(&requirement),
            None => requirement,
        };
        self.0.insert(key.to_owned(), narrowed);
    }
    /// Narrows by all of `other`.
    pub fn add_all(&mut self, other: &Requirements) {
        for (key, requirement) in &other.0 {
            self.add(key, requirement.clone());
        }
    }
    /// Sets one key, whatever it was before.
    pub fn set(&mut self, key: &str, requirement: Requirement) {
        self.0.insert(key.to_owned(), requirement);
    }
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(key)
    }
    /// Whether `value` of label `key` is allowed; a key without a requirement allows all.
    pub fn allows(&self, key: &str, value: &str) -> bool {
        self.0.get(key).is_none_or(|r| r.has(value))
    }
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Requirement)> {
        self.0.iter()
    }
    /// Some requirement has `minValues`.
    pub fn has_min_values(&self) -> bool {
        self.0.values().any(|r| r.min_values.is_some())
    }

    /// The first key on which the two exclude each other. Keys that only one side has do not.
    pub fn conflict<'a>(&self, other: &'a Requirements) -> Option<&'a str> {
        let clash = |key: &String, theirs: &Requirement| self.0.get(key).is_some_and(|ours| !ours.meets(theirs));
        other.0.iter().find(|(key, theirs)| clash(key, theirs)).map(|(key, _)| key.as_str())
    }

    /// Why something with the requirements `incoming` (a pod) cannot go where `self` holds: the
    /// offending key. A key that `self` does not define is fine if it is well known (a new node may
    /// get it) or if the requirement accepts absence.
    pub fn refuses<'a>(&self, incoming: &'a Requirements, well_known: impl Fn(&str) -> bool) -> Option<&'a str> {
        for (key, requirement) in &incoming.0 {
            if !self.0.contains_key(key) && !requirement.accepts_absence() && !well_known(key) {
                return Some(key);
            }
        }
        self.conflict(incoming)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn req(op: Operator, values: &[&str]) -> Requirement {
        Requirement::from_spec(&RequirementSpec::new("k", op, values.iter().copied()))
    }

    #[test]
    fn strict_bounds_move_by_one() {
        assert!(!req(Operator::Gt, &["8"]).has("8"));
        assert!(req(Operator::Gt, &["8"]).has("9"));
        assert!(req(Operator::Gte, &["8"]).has("8"));
        assert!(!req(Operator::Lt, &["8"]).has("8"));
        assert!(!req(Operator::Lte, &["8"]).has("eight"));
    }

    #[test]
    fn intersection_keeps_what_both_allow() {
        let not_a = req(Operator::NotIn, &["a"]);
        let a_or_b = req(Operator::In, &["a", "b"]);
        assert_eq!(not_a.and(&a_or_b), Requirement::one_of(["b"]));
        assert_eq!(a_or_b.and(&not_a), Requirement::one_of(["b"]));
        assert!(req(Operator::Gt, &["8"]).and(&req(Operator::Lt, &["8"])).is_nothing());
        assert!(req(Operator::NotIn, &["a"]).and(&req(Operator::NotIn, &["b"])).has("c"));
        assert_eq!(
            req(Operator::Gte, &["4"]).and(&req(Operator::In, &["2", "4", "8"])),
            Requirement::one_of(["4", "8"])
        );
    }

    #[test]
    fn absence_satisfies_only_negative_operators() {
        let none = Requirements::default();
        for (op, values, refused) in [
            (Operator::In, &["a"][..], true),
            (Operator::Exists, &[][..], true),
            (Operator::NotIn, &["a"][..], false),
            (Operator::DoesNotExist, &[][..], false),
        ] {
            let pod = Requirements::build(&[RequirementSpec::new("team", op, values.iter().copied())], []);
            assert_eq!(none.refuses(&pod, |_| false).is_some(), refused, "{op:?}");
            assert_eq!(none.refuses(&pod, |key| key == "team"), None);
        }
    }

    #[test]
    fn a_present_label_meets_does_not_exist_never() {
        let has = Requirements::build([], [(&"k".to_owned(), &"v".to_owned())]);
        let wants_absent = Requirements::build(&[RequirementSpec::new("k", Operator::DoesNotExist, [""; 0])], []);
        assert_eq!(has.conflict(&wants_absent), Some("k"));
        let not_w = Requirements::build(&[RequirementSpec::new("k", Operator::NotIn, ["w"])], []);
        assert_eq!(has.conflict(&not_w), None);
    }
}
