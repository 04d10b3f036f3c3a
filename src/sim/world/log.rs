//! The why-log's store: records in order, equal ones folded, bounded.

use super::World;
use crate::sim::decision::{Decision, Tone, Verdict, Who};
use crate::sim::limits::DECISIONS_KEPT;
use serde::Serialize;
use std::collections::VecDeque;

/// How far back a repeated decision is looked for.
const FOLD_WINDOW: usize = 24;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DecisionLog {
    records: VecDeque<Decision>,
    next_id: u64,
    milestones: u64,
}

impl DecisionLog {
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Decision> + ExactSizeIterator {
        self.records.iter()
    }
    /// Number of milestones logged so far.
    pub fn milestones(&self) -> u64 {
        self.milestones
    }
    pub fn total(&self) -> u64 {
        self.next_id
    }
}

/// Whether a new verdict only repeats an old record: the same choice, with fresh numbers.
fn repeats(old: &Verdict, new: &Verdict) -> bool {
    use Verdict::*;
    match (old, new) {
        (
            HpaSync { service: s1, current: c1, desired: d1, limit: l1, signal_choice: g1, .. },
            HpaSync { service: s2, current: c2, desired: d2, limit: l2, signal_choice: g2, .. },
        ) => s1 == s2 && c1 == d1 && c2 == d2 && c1 == c2 && l1 == l2 && g1 == g2,
        (
            PodUnschedulable { pod: p1, counts: n1, bound: b1, .. },
            PodUnschedulable { pod: p2, counts: n2, bound: b2, .. },
        ) => p1 == p2 && n1 == n2 && b1 == b2,
        (GangDeferred { group: g1, fit: f1, .. }, GangDeferred { group: g2, fit: f2, .. }) => g1 == g2 && f1 == f2,
        (NoNodeFits { pod: p1, .. }, NoNodeFits { pod: p2, .. }) => p1 == p2,
        (PoolLimit { pod: p1, .. }, PoolLimit { pod: p2, .. }) => p1 == p2,
        (ConsolidationKept { node: n1, why: w1 }, ConsolidationKept { node: n2, why: w2 }) => {
            n1 == n2 && std::mem::discriminant(w1) == std::mem::discriminant(w2)
        }
        (PromptRefused { service: s1, tokens: t1, .. }, PromptRefused { service: s2, tokens: t2, .. }) => {
            s1 == s2 && t1 == t2
        }
        (
            TurnedAway { service: s1, why: w1, fallback: f1, .. },
            TurnedAway { service: s2, why: w2, fallback: f2, .. },
        ) => s1 == s2 && w1 == w2 && f1 == f2,
        _ => false,
    }
}

impl World {
    /// Writes a record, or folds it into an equal recent one. Returns its id.
    pub(super) fn log(&mut self, who: Who, verdict: Verdict, tone: Tone) -> u64 {
        self.log_caused(who, verdict, tone, None)
    }

    pub(super) fn log_caused(&mut self, who: Who, verdict: Verdict, tone: Tone, caused_by: Option<u64>) -> u64 {
        let now = self.now;
        let log = &mut self.log;
        let recent = log.records.len().saturating_sub(FOLD_WINDOW);
        if let Some(old) = log.records.range_mut(recent..).rev().find(|d| d.who == who && repeats(&d.verdict, &verdict))
        {
            old.verdict = verdict;
            old.times += 1;
            old.last_at = now;
            return old.id;
        }
        let record = Decision { id: log.next_id, at: now, who, verdict, tone, times: 1, last_at: now, caused_by };
        log.next_id += 1;
        log.milestones += u64::from(record.is_milestone());
        log.records.push_back(record);
        if log.records.len() > DECISIONS_KEPT {
            log.records.pop_front();
        }
        log.next_id - 1
    }
}

impl DecisionLog {
    /// Forgets what building the world logged.
    pub fn clear(&mut self) {
        *self = DecisionLog::default();
    }
}
