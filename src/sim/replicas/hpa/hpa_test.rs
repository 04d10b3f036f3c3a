//! Whole syncs: invariants over random views, and the courses that a GPU metric takes.

use super::decision::*;
use super::settings::*;
use super::*;
use proptest::prelude::*;

fn settings(min: i32, max: i32, spec: MetricSpec) -> HpaSettings {
    HpaSettings {
        min_replicas: min,
        max_replicas: max,
        metrics: vec![spec],
        behavior: None,
        controller: ControllerFlags::default(),
    }
}

fn gpu_average(target_percent: i64) -> MetricSpec {
    MetricSpec {
        source: MetricSource::Pods { metric: "DCGM_FI_DEV_GPU_UTIL".into() },
        target: MetricTarget::AverageValue { milli: target_percent * 1000 },
    }
}

fn queue_per_replica(milli: i64) -> MetricSpec {
    MetricSpec {
        source: MetricSource::External { metric: "queue".into() },
        target: MetricTarget::AverageValue { milli },
    }
}

fn pod(id: usize, phase: PodPhase) -> PodView {
    PodView {
        pod: PodId::from_index(id),
        phase,
        deleting: false,
        ready: Some(ReadyCondition { status: phase == PodPhase::Running, changed: Time::ZERO }),
        started: Some(Time::ZERO),
        cpu_request_milli: Some(1000),
        memory_request_milli: Some(1000),
    }
}

fn sample(id: usize, value_milli: i64) -> PodSample {
    PodSample { pod: PodId::from_index(id), value_milli, at: Time::ZERO, window: Span::ZERO }
}

fn running(values_milli: &[i64]) -> HpaView {
    let replicas = i32::try_from(values_milli.len()).unwrap();
    HpaView {
        spec_replicas: replicas,
        status_replicas: replicas,
        pods: (0..values_milli.len()).map(|i| pod(i, PodPhase::Running)).collect(),
        readings: vec![Reading::Pods(values_milli.iter().enumerate().map(|(i, v)| sample(i, *v)).collect())],
    }
}

/// Runs the HPA on a fleet whose pods are ready at once and all read `value_milli`.
fn course(target_percent: i64, value_milli: i64, from: usize, syncs: u64) -> Vec<i32> {
    let settings = settings(1, 64, gpu_average(target_percent));
    let mut memory = HpaMemory { recommendations: Some(vec![]), ..HpaMemory::default() };
    let mut path = vec![i32::try_from(from).unwrap()];
    for sync in 1..=syncs {
        let replicas = usize::try_from(path[path.len() - 1]).unwrap();
        let view = running(&vec![value_milli; replicas]);
        let (decision, next) = decide(&view, &settings, memory, Time::from_secs(15 * sync));
        memory = next;
        if decision.rescaled {
            path.push(decision.desired);
        }
    }
    path
}

#[test]
fn saturated_gpu_utilization_runs_to_max_below_the_blind_target() {
    assert_eq!(course(70, 100_000, 1, 20), [1, 2, 3, 5, 8, 12, 18, 26, 38, 55, 64]);
    assert_eq!(course(91, 100_000, 1, 20), [1]);
}

#[test]
fn constant_memory_is_dead_in_the_band_and_shrinks_to_a_floor_above_it() {
    assert_eq!(course(85, 90_000, 5, 60), [5]);
    let shrinking = course(120, 90_000, 10, 200);
    assert_eq!(shrinking.last(), Some(&3));
}

#[test]
fn the_first_sync_blocks_scale_down_for_one_window() {
    let settings = settings(1, 10, gpu_average(70));
    let mut memory = HpaMemory::default();
    for sync in 1..=21u64 {
        let (decision, next) = decide(&running(&[1000; 4]), &settings, memory, Time::from_secs(15 * sync));
        assert_eq!(decision.desired, 4, "sync {sync}");
        memory = next;
    }
    let (decision, _) = decide(&running(&[1000; 4]), &settings, memory, Time::from_secs(15 * 22));
    assert_eq!(decision.desired, 1);
}

#[test]
fn the_record_names_left_out_pods_and_what_they_entered_with() {
    let mut view = running(&[100_000, 100_000, 100_000]);
    view.pods.extend([pod(3, PodPhase::Pending), pod(4, PodPhase::Pending)]);
    (view.spec_replicas, view.status_replicas) = (5, 5);
    let (decision, _) = decide(&view, &settings(1, 10, gpu_average(70)), HpaMemory::default(), Time::from_secs(15));
    let proposal = decision.metrics[0].outcome.as_ref().unwrap();
    assert_eq!(proposal.rule, ProposalRule::FillReversesRatio);
    let filled = proposal.filled.unwrap();
    assert_eq!((filled.unready, filled.size), (2, 5));
    assert_eq!(filled.ratio, 60.0 / 70.0);
    let groups = proposal.pods.as_ref().unwrap();
    assert!(groups.left_out.iter().all(|p| p.reason == classify::LeftOutReason::Pending));
    assert_eq!(decision.desired, 5);
}

#[test]
fn a_fleet_that_the_hpa_put_to_sleep_wakes_to_a_raised_min() {
    let mut settings = settings(0, 10, queue_per_replica(1000));
    settings.behavior = Some(Behavior::default());
    let asleep = HpaView { readings: vec![Reading::Values(vec![0])], ..HpaView::default() };
    let own = HpaMemory { scaled_to_zero: Some(true), ..HpaMemory::default() };
    let (decision, _) = decide(&asleep, &settings, own.clone(), Time::from_secs(900));
    assert_eq!((decision.desired, decision.path), (0, HpaPath::Computed));
    settings.min_replicas = 3;
    let (decision, memory) = decide(&asleep, &settings, own, Time::from_secs(900));
    assert_eq!((decision.desired, decision.raised_to_min, memory.scaled_to_zero), (3, true, Some(false)));
    let (decision, _) = decide(&asleep, &settings, HpaMemory::default(), Time::from_secs(900));
    assert_eq!((decision.desired, decision.path), (0, HpaPath::Disabled));
}

#[test]
fn a_fleet_with_no_replica_has_no_ratio_instead_of_infinity() {
    let view = HpaView { readings: vec![Reading::Values(vec![3500])], ..HpaView::default() };
    let own = HpaMemory { scaled_to_zero: Some(true), ..HpaMemory::default() };
    let (decision, _) = decide(&view, &settings(0, 9, queue_per_replica(1000)), own, Time::from_secs(15));
    let proposal = decision.metrics[0].outcome.as_ref().unwrap();
    assert_eq!((proposal.ratio, proposal.replicas), (None, 4));
    assert!(serde_json::to_string(&decision).is_ok());
}

#[test]
fn bad_targets_and_readings_are_errors_not_panics() {
    let cases = [
        (gpu_average(0), Reading::Pods(vec![sample(0, 1)]), MetricError::TargetNotPositive),
        (gpu_average(70), Reading::Values(vec![1]), MetricError::WrongReading),
        (queue_per_replica(1000), Reading::Pods(vec![]), MetricError::WrongReading),
        (queue_per_replica(1000), Reading::Values(vec![]), MetricError::NoMetrics),
        (gpu_average(70), Reading::Pods(vec![]), MetricError::NoMetrics),
    ];
    for (spec, reading, error) in cases {
        let view = HpaView { readings: vec![reading], ..running(&[1]) };
        let (decision, _) = decide(&view, &settings(1, 9, spec), HpaMemory::default(), Time::from_secs(15));
        assert_eq!(decision.metrics[0].outcome, Err(error));
        assert_eq!((decision.desired, decision.path), (1, HpaPath::MetricsInvalid));
    }
}

#[test]
fn samples_of_unlisted_pods_stay_in_a_plain_average_and_leave_a_utilization() {
    let average = |spec: MetricSpec| {
        let mut view = running(&[600, 600]);
        view.readings = vec![Reading::Pods(vec![sample(0, 600), sample(1, 600), sample(77, 0)])];
        let (decision, _) = decide(&view, &settings(1, 9, spec), HpaMemory::default(), Time::from_secs(15));
        decision.metrics[0].outcome.as_ref().map(|p| p.read).unwrap()
    };
    let plain = Read::Average { average_milli: 400, sum_milli: 1200, samples: 3, unknown_samples: 1 };
    assert_eq!(average(gpu_average(1)), plain);
    let utilization = MetricSpec {
        source: MetricSource::Resource { resource: Resource::Memory },
        target: MetricTarget::Utilization { percent: 60 },
    };
    let Read::Utilization { percent, samples, .. } = average(utilization) else {
        panic!("a utilization is read as one")
    };
    assert_eq!((percent, samples), (60, 2));
}

#[test]
fn percent_policy_of_ten_steps_eighty_down_as_documented() {
    let rules = ScalingRules {
        stabilization_window_s: Some(0),
        policies: Some(vec![
            ScalingPolicy { kind: PolicyType::Pods, value: 4, period_s: 60 },
            ScalingPolicy { kind: PolicyType::Percent, value: 10, period_s: 60 },
        ]),
        ..ScalingRules::default()
    };
    let mut settings = settings(10, 100, queue_per_replica(1000));
    settings.behavior = Some(Behavior { scale_up: None, scale_down: Some(rules) });
    let mut memory = HpaMemory::default();
    let mut path = vec![80];
    for minute in 1..=10u64 {
        let replicas = path[path.len() - 1];
        let readings = vec![Reading::Values(vec![0])];
        let view = HpaView { spec_replicas: replicas, status_replicas: replicas, pods: vec![], readings };
        let (decision, next) = decide(&view, &settings, memory, Time::from_secs(60 * minute));
        memory = next;
        path.push(decision.desired);
    }
    assert_eq!(path, [80, 72, 64, 57, 51, 45, 40, 36, 32, 28, 24]);
}

/// Any phase, readiness and value, sample or none, and some pods nobody lists.
fn any_view() -> impl Strategy<Value = HpaView> {
    let one = (0u8..4, any::<bool>(), proptest::option::of(any::<bool>()), proptest::option::of(0i64..300_000));
    (proptest::collection::vec(one, 0..12), 0i32..40, 0i32..40, 0usize..3).prop_map(
        |(pods, spec, status, strangers)| {
            let phases = [PodPhase::Pending, PodPhase::Running, PodPhase::Succeeded, PodPhase::Failed];
            let mut view = HpaView { spec_replicas: spec, status_replicas: status, ..HpaView::default() };
            let mut samples: Vec<PodSample> = (0..strangers).map(|i| sample(1000 + i, 50_000)).collect();
            for (i, (phase, deleting, ready, value)) in pods.into_iter().enumerate() {
                let condition = ready.map(|status| ReadyCondition { status, changed: Time::from_secs(100) });
                let phase = phases[usize::from(phase)];
                view.pods.push(PodView { deleting, ready: condition, ..pod(i, phase) });
                samples.extend(value.map(|v| sample(i, v)));
            }
            view.readings = vec![Reading::Pods(samples)];
            view
        },
    )
}

proptest! {
    #[test]
    fn desired_stays_within_bounds_unless_switched_off(
        view in any_view(), min in 1i32..10, extra in 0i32..30, target in 1i64..200, with_behavior: bool, syncs in 1u64..30,
    ) {
        let mut settings = settings(min, min + extra, gpu_average(target));
        settings.behavior = with_behavior.then(Behavior::default);
        let mut memory = HpaMemory::default();
        for sync in 1..=syncs {
            let (decision, next) = decide(&view, &settings, memory, Time::from_secs(15 * sync));
            memory = next;
            if decision.path == HpaPath::Disabled {
                prop_assert_eq!(decision.desired, 0);
            } else {
                prop_assert!(decision.desired >= min && decision.desired <= min + extra);
            }
            prop_assert_eq!(decision.rescaled, decision.desired != view.spec_replicas);
            prop_assert!(serde_json::to_string(&decision).is_ok());
        }
    }

    #[test]
    fn inside_the_band_nothing_changes(values in proptest::collection::vec(64_000i64..=76_000, 1..20)) {
        let average = values.iter().sum::<i64>() / i64::try_from(values.len()).unwrap();
        prop_assume!((63_000..=77_000).contains(&average));
        let view = running(&values);
        let memory = HpaMemory { recommendations: Some(vec![]), ..HpaMemory::default() };
        let (decision, _) = decide(&view, &settings(1, 100, gpu_average(70)), memory, Time::from_secs(600));
        prop_assert_eq!(decision.desired, view.spec_replicas);
        prop_assert!(!decision.rescaled);
    }

    #[test]
    fn at_most_doubling_upwards_without_behavior(view in any_view(), target in 1i64..50) {
        let memory = HpaMemory { recommendations: Some(vec![]), ..HpaMemory::default() };
        let (decision, _) = decide(&view, &settings(1, 1000, gpu_average(target)), memory, Time::from_secs(600));
        prop_assert!(decision.desired <= (2 * view.spec_replicas).max(4));
    }

    #[test]
    fn the_record_adds_up(view in any_view(), target in 1i64..200) {
        let memory = HpaMemory { recommendations: Some(vec![]), ..HpaMemory::default() };
        let (decision, _) = decide(&view, &settings(1, 50, gpu_average(target)), memory, Time::from_secs(600));
        if let Some(combined) = decision.combined {
            let stabilized = decision.stabilized.unwrap();
            let limited = decision.limited.clone().unwrap();
            prop_assert_eq!(combined.replicas, stabilized.proposal);
            prop_assert_eq!(stabilized.result, limited.stabilized);
            prop_assert_eq!(limited.result, decision.desired);
            prop_assert_eq!(limited.after_rate.clamp(1, 50), limited.result);
        }
        for report in &decision.metrics {
            let Ok(proposal) = &report.outcome else { continue };
            let Read::Average { average_milli, sum_milli, samples, .. } = proposal.read else {
                panic!("a Pods metric reads an average")
            };
            prop_assert_eq!(sum_milli / i64::from(samples), average_milli);
            prop_assert_eq!(proposal.ratio, Some(average_milli as f64 / (target * 1000) as f64));
        }
    }
}
