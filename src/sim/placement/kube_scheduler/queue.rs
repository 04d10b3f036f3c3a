//! The scheduling queue: active, back-off and unschedulable pods, as in the default scheduler's
//! `PriorityQueue`.
//!
//! A pod without an entry is active. Simplified: every cluster event may help every parked pod
//! (queueing hints are not modelled), so the world reports only events that could.

use crate::sim::id::{NodeId, PodId};
use crate::sim::time::{Span, Time};
use std::collections::BTreeMap;

/// How often parked pods are looked through.
pub const FLUSH_EVERY: Span = Span::from_secs(30);
/// Pods parked longer than this return at the next flush.
pub const PARKED_MAX: Span = Span::from_mins(5);

/// Wait before retry number `attempts` (0: none yet): `base * 2^(attempts - 1)`, at most `max`.
pub fn backoff(base: Span, max: Span, attempts: u32) -> Span {
    if attempts == 0 {
        return Span::ZERO;
    }
    let factor = 1u64.checked_shl(attempts - 1).unwrap_or(u64::MAX);
    Span(base.0.saturating_mul(factor).min(max.0))
}

/// A pod that failed at least once.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Waiting {
    /// Failed attempts so far.
    pub attempts: u32,
    /// When it failed last.
    pub since: Time,
    /// When its back-off ends.
    pub ready_at: Time,
    /// In the unschedulable pool: waits for an event or the flush, not for the clock alone.
    pub parked: bool,
    /// `status.nominatedNodeName`: where its preemption victims are terminating.
    pub nominated: Option<NodeId>,
}

/// What the scheduler remembers between cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct KubeMemory {
    pub waiting: BTreeMap<PodId, Waiting>,
    /// When the unschedulable pool was last flushed.
    pub flushed_at: Time,
    /// Node at which the next search starts (large clusters are searched in part).
    pub next_start: u32,
}

impl KubeMemory {
    /// Whether the pod may be tried now.
    pub fn is_active(&self, pod: PodId, now: Time) -> bool {
        self.waiting.get(&pod).is_none_or(|w| !w.parked && w.ready_at <= now)
    }

    /// A failed attempt: one more, and the pod is parked.
    pub fn fail(&mut self, pod: PodId, base: Span, max: Span, nominated: Option<NodeId>, now: Time) {
        let attempts = self.waiting.get(&pod).map_or(0, |w| w.attempts).saturating_add(1);
        self.waiting.insert(
            pod,
            Waiting { attempts, since: now, ready_at: now + backoff(base, max, attempts), parked: true, nominated },
        );
    }

    /// Something happened that could help: a pod was deleted, a node arrived or changed. Parked
    /// pods go back, those still in back-off after it has ended.
    pub fn on_cluster_event(&mut self) {
        for waiting in self.waiting.values_mut() {
            waiting.parked = false;
        }
    }

    /// Forgets pods that wait no longer (deleted, or bound by another).
    pub fn keep(&mut self, waits: impl Fn(PodId) -> bool) {
        self.waiting.retain(|pod, _| waits(*pod));
    }

    /// The periodic flush: pods parked for more than [`PARKED_MAX`] return.
    pub fn flush(&mut self, now: Time) {
        if now.since(self.flushed_at) < FLUSH_EVERY {
            return;
        }
        self.flushed_at = now;
        for waiting in self.waiting.values_mut() {
            if now.since(waiting.since) > PARKED_MAX {
                waiting.parked = false;
            }
        }
    }

    /// When the scheduler has something to do again by the clock alone: the end of a back-off,
    /// or the flush that returns a parked pod.
    pub fn next_wakeup(&self, now: Time) -> Option<Time> {
        let due = |w: &Waiting| {
            if !w.parked {
                return w.ready_at;
            }
            let returns = w.since + PARKED_MAX;
            let waits_us = returns.since(self.flushed_at).0;
            let flushes = waits_us / FLUSH_EVERY.0 + 1;
            self.flushed_at + Span(flushes * FLUSH_EVERY.0)
        };
        self.waiting.values().map(due).filter(|t| *t > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Span = Span::from_secs(1);
    const MAX: Span = Span::from_secs(10);

    #[test]
    fn backoff_doubles_up_to_its_maximum() {
        let waits: Vec<u64> = (0..6).map(|n| backoff(BASE, MAX, n).0 / 1_000_000).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 10]);
        assert_eq!(backoff(BASE, MAX, u32::MAX), MAX);
    }

    #[test]
    fn parked_pod_returns_after_an_event_and_its_backoff() {
        let mut memory = KubeMemory::default();
        let pod = PodId(1);
        assert!(memory.is_active(pod, Time::ZERO));
        memory.fail(pod, BASE, MAX, None, Time::from_secs(5));
        assert!(!memory.is_active(pod, Time::from_secs(100)), "nothing happened");
        memory.on_cluster_event();
        assert!(!memory.is_active(pod, Time::from_secs(5)), "still backs off");
        assert!(memory.is_active(pod, Time::from_secs(6)));
    }

    #[test]
    fn flush_returns_pods_parked_for_more_than_five_minutes() {
        let mut memory = KubeMemory::default();
        let pod = PodId(1);
        memory.fail(pod, BASE, MAX, None, Time::from_secs(10));
        assert_eq!(memory.next_wakeup(Time::from_secs(10)), Some(Time::from_secs(330)));
        memory.flush(Time::from_secs(300));
        assert!(!memory.is_active(pod, Time::from_secs(300)));
        memory.flush(Time::from_secs(329));
        assert!(!memory.is_active(pod, Time::from_secs(329)), "flushed 29 s ago");
        memory.flush(Time::from_secs(330));
        assert!(memory.is_active(pod, Time::from_secs(330)));
    }
}
