//! The API server's own rules for an HPA (autoscaling validation), as typed problems. The sync
//! itself never fails on settings that break them; the scenario reader and the dialogs show them.

use super::Direction;
use super::settings::{HpaSettings, MetricSource, MetricSpec, MetricTarget, ScalingRules};
use serde::Serialize;

/// Longest stabilization window the API takes, in seconds.
pub const WINDOW_MAX_S: u32 = 3600;
/// Longest policy period the API takes, in seconds.
pub const PERIOD_MAX_S: u32 = 1800;

/// One thing the API server would refuse. `metric` and `policy` are positions in their lists.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum HpaProblem {
    MinNegative {
        min: i32,
    },
    /// 0 without the scale-to-zero gate.
    MinZeroWithoutGate,
    /// 0 needs a metric that has a value when there is no pod.
    MinZeroNeedsObjectOrExternal,
    MaxBelowOne {
        max: i32,
    },
    MaxBelowMin {
        min: i32,
        max: i32,
    },
    MetricSourceUnknown {
        metric: usize,
    },
    MetricNameEmpty {
        metric: usize,
    },
    ContainerNameEmpty {
        metric: usize,
    },
    TargetNotPositive {
        metric: usize,
        amount: i64,
    },
    /// For example Value on a Pods metric, or Utilization on anything but a resource.
    TargetTypeNotAllowed {
        metric: usize,
    },
    WindowTooLong {
        direction: Direction,
        window_s: u32,
    },
    NoPolicies {
        direction: Direction,
    },
    PolicyValueNotPositive {
        direction: Direction,
        policy: usize,
        value: i32,
    },
    /// Outside 1 to [`PERIOD_MAX_S`] seconds.
    PolicyPeriodOutOfRange {
        direction: Direction,
        policy: usize,
        period_s: u32,
    },
    /// Negative or not a finite number.
    ToleranceInvalid {
        direction: Direction,
    },
    /// Controller flag: negative or not a finite number.
    ControllerToleranceInvalid,
    /// Controller flag: the sync period must be positive.
    SyncPeriodZero,
}

impl HpaSettings {
    /// Every problem, in the order of the fields; empty when the API server would accept it.
    pub fn validate(&self) -> Vec<HpaProblem> {
        let mut problems = Vec::new();
        self.check_bounds(&mut problems);
        for (i, spec) in self.metrics.iter().enumerate() {
            check_metric(i, spec, &mut problems);
        }
        if let Some(behavior) = &self.behavior {
            let sides = [(Direction::Up, &behavior.scale_up), (Direction::Down, &behavior.scale_down)];
            for (direction, rules) in sides {
                if let Some(rules) = rules {
                    check_rules(direction, rules, &mut problems);
                }
            }
        }
        if self.controller.sync_period_s == 0 {
            problems.push(HpaProblem::SyncPeriodZero);
        }
        let flag = self.controller.tolerance;
        if !tolerance_ok(flag.up) || !tolerance_ok(flag.down) {
            problems.push(HpaProblem::ControllerToleranceInvalid);
        }
        problems
    }

    fn check_bounds(&self, problems: &mut Vec<HpaProblem>) {
        let (min, max) = (self.min_replicas, self.max_replicas);
        if min < 0 {
            problems.push(HpaProblem::MinNegative { min });
        } else if min == 0 && !self.controller.scale_to_zero_gate {
            problems.push(HpaProblem::MinZeroWithoutGate);
        } else if min == 0 && !self.metrics.iter().any(|m| m.source.works_without_pods()) {
            problems.push(HpaProblem::MinZeroNeedsObjectOrExternal);
        }
        if max < 1 {
            problems.push(HpaProblem::MaxBelowOne { max });
        }
        if max < min {
            problems.push(HpaProblem::MaxBelowMin { min, max });
        }
    }
}

/// Whether the API lets this source have this kind of target.
pub(super) fn target_allowed(source: &MetricSource, target: MetricTarget) -> bool {
    match source {
        MetricSource::Resource { .. } | MetricSource::ContainerResource { .. } => {
            !matches!(target, MetricTarget::Value { .. })
        }
        MetricSource::Pods { .. } => matches!(target, MetricTarget::AverageValue { .. }),
        MetricSource::Object { .. } | MetricSource::External { .. } => {
            !matches!(target, MetricTarget::Utilization { .. })
        }
        MetricSource::Unknown => true,
    }
}

fn check_metric(metric: usize, spec: &MetricSpec, problems: &mut Vec<HpaProblem>) {
    match &spec.source {
        MetricSource::Unknown => problems.push(HpaProblem::MetricSourceUnknown { metric }),
        MetricSource::ContainerResource { container, .. } if container.is_empty() => {
            problems.push(HpaProblem::ContainerNameEmpty { metric });
        }
        MetricSource::Pods { metric: name }
        | MetricSource::Object { metric: name }
        | MetricSource::External { metric: name }
            if name.is_empty() =>
        {
            problems.push(HpaProblem::MetricNameEmpty { metric });
        }
        _ => {}
    }
    if !target_allowed(&spec.source, spec.target) {
        problems.push(HpaProblem::TargetTypeNotAllowed { metric });
    }
    let amount = spec.target.amount();
    if amount <= 0 {
        problems.push(HpaProblem::TargetNotPositive { metric, amount });
    }
}

fn check_rules(direction: Direction, rules: &ScalingRules, problems: &mut Vec<HpaProblem>) {
    if let Some(window_s) = rules.stabilization_window_s.filter(|w| *w > WINDOW_MAX_S) {
        problems.push(HpaProblem::WindowTooLong { direction, window_s });
    }
    if let Some(policies) = &rules.policies {
        if policies.is_empty() {
            problems.push(HpaProblem::NoPolicies { direction });
        }
        for (policy, p) in policies.iter().enumerate() {
            if p.value <= 0 {
                problems.push(HpaProblem::PolicyValueNotPositive { direction, policy, value: p.value });
            }
            if p.period_s == 0 || p.period_s > PERIOD_MAX_S {
                problems.push(HpaProblem::PolicyPeriodOutOfRange { direction, policy, period_s: p.period_s });
            }
        }
    }
    if rules.tolerance.is_some_and(|t| !tolerance_ok(t)) {
        problems.push(HpaProblem::ToleranceInvalid { direction });
    }
}

fn tolerance_ok(tolerance: f64) -> bool {
    tolerance.is_finite() && tolerance >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::replicas::hpa::settings::*;

    fn external(milli: i64) -> MetricSpec {
        MetricSpec {
            source: MetricSource::External { metric: "queue".into() },
            target: MetricTarget::AverageValue { milli },
        }
    }

    fn valid() -> HpaSettings {
        HpaSettings {
            min_replicas: 1,
            max_replicas: 10,
            metrics: vec![external(1000)],
            behavior: None,
            controller: ControllerFlags::default(),
        }
    }

    #[test]
    fn valid_settings_have_no_problem() {
        assert_eq!(valid().validate(), []);
        let zero = HpaSettings { min_replicas: 0, ..valid() };
        assert_eq!(zero.validate(), []);
    }

    #[test]
    fn bounds_are_checked_against_each_other_and_zero() {
        let crossed = HpaSettings { min_replicas: 5, max_replicas: 2, ..valid() };
        assert_eq!(crossed.validate(), [HpaProblem::MaxBelowMin { min: 5, max: 2 }]);
        let none = HpaSettings { max_replicas: 0, ..valid() };
        assert!(none.validate().contains(&HpaProblem::MaxBelowOne { max: 0 }));
        let mut cpu = HpaSettings { min_replicas: 0, metrics: vec![], ..valid() };
        assert_eq!(cpu.validate(), [HpaProblem::MinZeroNeedsObjectOrExternal]);
        cpu.controller.scale_to_zero_gate = false;
        assert_eq!(cpu.validate(), [HpaProblem::MinZeroWithoutGate]);
    }

    #[test]
    fn metric_targets_are_checked_by_type_and_sign() {
        let pods = MetricSpec {
            source: MetricSource::Pods { metric: String::new() },
            target: MetricTarget::Value { milli: 0 },
        };
        let settings = HpaSettings { metrics: vec![external(0), pods], ..valid() };
        assert_eq!(
            settings.validate(),
            [
                HpaProblem::TargetNotPositive { metric: 0, amount: 0 },
                HpaProblem::MetricNameEmpty { metric: 1 },
                HpaProblem::TargetTypeNotAllowed { metric: 1 },
                HpaProblem::TargetNotPositive { metric: 1, amount: 0 },
            ]
        );
    }

    #[test]
    fn behavior_rules_keep_the_api_limits() {
        let rules = ScalingRules {
            stabilization_window_s: Some(WINDOW_MAX_S + 1),
            select_policy: None,
            policies: Some(vec![ScalingPolicy { kind: PolicyType::Pods, value: 0, period_s: PERIOD_MAX_S + 1 }]),
            tolerance: Some(f64::NAN),
        };
        let at_limit = ScalingRules {
            stabilization_window_s: Some(WINDOW_MAX_S),
            select_policy: None,
            policies: Some(vec![ScalingPolicy { kind: PolicyType::Pods, value: 1, period_s: PERIOD_MAX_S }]),
            tolerance: Some(0.0),
        };
        let behavior = Behavior { scale_up: Some(rules), scale_down: Some(at_limit) };
        let settings = HpaSettings { behavior: Some(behavior), ..valid() };
        let direction = Direction::Up;
        assert_eq!(
            settings.validate(),
            [
                HpaProblem::WindowTooLong { direction, window_s: 3601 },
                HpaProblem::PolicyValueNotPositive { direction, policy: 0, value: 0 },
                HpaProblem::PolicyPeriodOutOfRange { direction, policy: 0, period_s: 1801 },
                HpaProblem::ToleranceInvalid { direction },
            ]
        );
    }

    #[test]
    fn settings_read_with_defaults_and_refuse_unknown_fields() {
        let text = r#"{"max_replicas": 8, "metrics": [
            {"source": {"pods": {"metric": "DCGM_FI_DEV_GPU_UTIL"}}, "target": {"average_value": {"milli": 70000}}}]}"#;
        let settings: HpaSettings = serde_json::from_str(text).unwrap();
        assert_eq!(settings.min_replicas, 1);
        assert_eq!(settings.controller.sync_period_s, 15);
        assert!(serde_json::from_str::<HpaSettings>(r#"{"max_replicas": 8, "maxReplicas": 8}"#).is_err());
    }
}
