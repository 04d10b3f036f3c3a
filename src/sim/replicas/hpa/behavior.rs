//! Rates and bounds: how fast the stabilized number may be reached, and where it stops
//! (`behavior.scaleUp`, `behavior.scaleDown`, `minReplicas`, `maxReplicas`).

use super::Direction;
use super::decision::{Limiting, PolicyLimit, PolicyLimits, RateLimit, ScalingLimitedReason};
use super::settings::{PolicyType, ResolvedBehavior, ResolvedRules, ScalingPolicy, SelectPolicy};
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// A past rescale in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleEvent {
    /// Replicas added or removed, positive either way.
    pub replicas: i32,
    pub at: Time,
    /// Older than the longest period of its direction when last looked at: the slot may be reused.
    pub outdated: bool,
}

/// Rescales in both directions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleEvents {
    pub up: Vec<ScaleEvent>,
    pub down: Vec<ScaleEvent>,
}

/// Bounds and the count of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bounds {
    pub current: i32,
    pub min: i32,
    pub max: i32,
}

/// Replicas changed by events younger than `period`.
pub fn change_within(events: &[ScaleEvent], period: Span, now: Time) -> i32 {
    let young = events.iter().filter(|e| now.since(e.at) < period);
    young.fold(0, |sum: i32, e| sum.saturating_add(e.replicas))
}

/// Stores a rescale, in the last outdated slot if there is one. Call it only under a `behavior`.
pub fn store_event(events: &mut Vec<ScaleEvent>, longest_period: Span, change: i32, now: Time) {
    let mut outdated = None;
    for (slot, event) in events.iter_mut().enumerate() {
        if now.since(event.at) > longest_period {
            event.outdated = true;
        }
        if event.outdated {
            outdated = Some(slot);
        }
    }
    let new = ScaleEvent { replicas: change, at: now, outdated: false };
    match outdated.and_then(|slot| events.get_mut(slot)) {
        Some(slot) => *slot = new,
        None => events.push(new),
    }
}

/// The limit that the policies of one direction allow.
pub fn policy_limits(
    direction: Direction,
    current: i32,
    rules: &ResolvedRules,
    events: &ScaleEvents,
    now: Time,
) -> PolicyLimits {
    let policies: Vec<PolicyLimit> =
        rules.policies.iter().map(|p| policy_limit(direction, current, *p, events, now)).collect();
    let limits = policies.iter().map(|p| p.limit);
    let limit = match (rules.select, direction) {
        (SelectPolicy::Disabled, _) => current,
        (SelectPolicy::Max, Direction::Up) => limits.max().unwrap_or(current),
        (SelectPolicy::Min, Direction::Up) => limits.min().unwrap_or(current),
        (SelectPolicy::Max, Direction::Down) => limits.min().unwrap_or(current),
        (SelectPolicy::Min, Direction::Down) => limits.max().unwrap_or(current),
    };
    let limit_in_force = match direction {
        Direction::Up => limit.max(current),
        Direction::Down => limit.min(current),
    };
    PolicyLimits { direction, select: rules.select, policies, limit, limit_in_force }
}

fn policy_limit(
    direction: Direction,
    current: i32,
    policy: ScalingPolicy,
    events: &ScaleEvents,
    now: Time,
) -> PolicyLimit {
    let period = Span::from_secs(u64::from(policy.period_s));
    let added = change_within(&events.up, period, now);
    let removed = change_within(&events.down, period, now);
    let start = current.saturating_sub(added).saturating_add(removed);
    let share = f64::from(policy.value) / 100.0;
    let limit = match (policy.kind, direction) {
        (PolicyType::Pods, Direction::Up) => start.saturating_add(policy.value),
        (PolicyType::Pods, Direction::Down) => start.saturating_sub(policy.value),
        // Rounded up: a small percentage of a small fleet must still add one.
        (PolicyType::Percent, Direction::Up) => (f64::from(start) * (1.0 + share)).ceil() as i32,
        (PolicyType::Percent, Direction::Down) => (f64::from(start) * (1.0 - share)) as i32,
    };
    PolicyLimit { policy, added, removed, period_start_replicas: start, limit }
}

/// Without `behavior`: at most `max(2 * current, 4)`, then the bounds.
pub fn limit_default(bounds: Bounds, stabilized: i32) -> Limiting {
    let limit = bounds.current.saturating_mul(2).max(4);
    let (ceiling, ceiling_reason) = if bounds.max > limit {
        (limit, ScalingLimitedReason::ScaleUpLimit)
    } else {
        (bounds.max, ScalingLimitedReason::TooManyReplicas)
    };
    let (result, reason) = if stabilized < bounds.min {
        (bounds.min, ScalingLimitedReason::TooFewReplicas)
    } else if stabilized > ceiling {
        (ceiling, ceiling_reason)
    } else {
        (stabilized, ScalingLimitedReason::DesiredWithinRange)
    };
    Limiting { stabilized, rate: RateLimit::Doubling { limit }, after_rate: stabilized.min(limit), result, reason }
}

/// With `behavior`: the policies of the direction of change, then the bound of that direction.
pub fn limit_behavior(
    bounds: Bounds,
    stabilized: i32,
    behavior: &ResolvedBehavior,
    events: &ScaleEvents,
    now: Time,
) -> Limiting {
    let within = ScalingLimitedReason::DesiredWithinRange;
    if stabilized == bounds.current {
        let rate = RateLimit::NotNeeded;
        return Limiting { stabilized, rate, after_rate: stabilized, result: stabilized, reason: within };
    }
    if stabilized > bounds.current {
        let limits = policy_limits(Direction::Up, bounds.current, &behavior.up, events, now);
        let limit = limits.limit_in_force;
        let (ceiling, reason) = if bounds.max > limit {
            (limit, ScalingLimitedReason::ScaleUpLimit)
        } else {
            (bounds.max, ScalingLimitedReason::TooManyReplicas)
        };
        Limiting {
            stabilized,
            rate: RateLimit::Policies(limits),
            after_rate: stabilized.min(limit),
            result: stabilized.min(ceiling),
            reason: if stabilized > ceiling { reason } else { within },
        }
    } else {
        let limits = policy_limits(Direction::Down, bounds.current, &behavior.down, events, now);
        let limit = limits.limit_in_force;
        let (floor, reason) = if bounds.min < limit {
            (limit, ScalingLimitedReason::ScaleDownLimit)
        } else {
            (bounds.min, ScalingLimitedReason::TooFewReplicas)
        };
        Limiting {
            stabilized,
            rate: RateLimit::Policies(limits),
            after_rate: stabilized.max(limit),
            result: stabilized.max(floor),
            reason: if stabilized < floor { reason } else { within },
        }
    }
}
