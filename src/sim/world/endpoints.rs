//! The replicas that the gateway may send to, with their load side by side, so that choosing one
//! of a hundred reads two short arrays and nothing else.
//!
//! Kept up to date by the world: a replica joins when it is ready, leaves when its endpoint is
//! removed, and reports after each call of its engine.

use crate::sim::id::GroupId;
use serde::Serialize;

/// Weights of the scorers, as the inference extension of the Gateway API sets them by default.
const QUEUE_WEIGHT: f64 = 2.0;
const KV_WEIGHT: f64 = 2.0;

/// Ready replicas of one service, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Endpoints {
    groups: Vec<GroupId>,
    /// Requests in flight, waiting ones included.
    in_flight: Vec<u32>,
    waiting: Vec<u32>,
    /// Where round robin stands.
    turn: u32,
    #[serde(skip)]
    levels: Levels,
}

/// Who has how many in flight, so that the least loaded is found without a look at all of them.
/// Follows from `in_flight`.
#[derive(Debug, Clone, Default, PartialEq)]
struct Levels {
    /// 64-bit words of one level: a bit per endpoint.
    words: usize,
    /// Level by level; the last holds everybody with so many or more.
    bits: Vec<u64>,
    counts: Vec<u32>,
}

impl Levels {
    const ALL: usize = 64;

    fn of(loads: &[u32]) -> Levels {
        let words = loads.len().div_ceil(64);
        let mut levels = Levels { words, bits: vec![0; words * Levels::ALL], counts: vec![0; Levels::ALL] };
        for (at, load) in loads.iter().enumerate() {
            levels.flip(at, *load);
        }
        levels
    }

    fn level(load: u32) -> usize {
        (load as usize).min(Levels::ALL - 1)
    }

    /// Puts an endpoint onto its level, or takes it away.
    fn flip(&mut self, at: usize, load: u32) {
        let level = Levels::level(load);
        let word = &mut self.bits[level * self.words + at / 64];
        *word ^= 1 << (at % 64);
        let there = *word & 1 << (at % 64) != 0;
        self.counts[level] = if there { self.counts[level] + 1 } else { self.counts[level] - 1 };
    }

    fn change(&mut self, at: usize, from: u32, to: u32) {
        if Levels::level(from) != Levels::level(to) {
            self.flip(at, from);
            self.flip(at, to);
        }
    }

    /// The first endpoint of the lowest level, if that level tells its load exactly.
    fn first(&self) -> Option<usize> {
        let level = self.counts.iter().position(|n| *n > 0).filter(|l| *l < Levels::ALL - 1)?;
        let words = self.bits.get(level * self.words..(level + 1) * self.words)?;
        let (i, word) = words.iter().enumerate().find(|(_, w)| **w != 0)?;
        Some(i * 64 + word.trailing_zeros() as usize)
    }
}

impl Endpoints {
    pub fn len(&self) -> u32 {
        self.groups.len() as u32
    }

    /// Where a replica stands.
    pub fn position(&self, group: GroupId) -> Option<usize> {
        self.groups.binary_search(&group).ok()
    }

    /// In flight and waiting, by position.
    pub fn load(&self, at: usize) -> (u32, u32) {
        (self.in_flight[at], self.waiting[at])
    }

    pub fn join(&mut self, group: GroupId) {
        if let Err(at) = self.groups.binary_search(&group) {
            self.groups.insert(at, group);
            self.in_flight.insert(at, 0);
            self.waiting.insert(at, 0);
            self.levels = Levels::of(&self.in_flight);
        }
    }

    pub fn leave(&mut self, group: GroupId) {
        if let Ok(at) = self.groups.binary_search(&group) {
            self.groups.remove(at);
            self.in_flight.remove(at);
            self.waiting.remove(at);
            self.levels = Levels::of(&self.in_flight);
        }
    }

    /// What a replica has now. `hint` is where it stood last; it is put right.
    pub fn report(&mut self, group: GroupId, hint: &mut u32, running: u32, waiting: u32) {
        let known = self.groups.get(*hint as usize) == Some(&group);
        let at = if known { Some(*hint as usize) } else { self.position(group) };
        if let Some(at) = at {
            *hint = at as u32;
            let load = running + waiting;
            self.levels.change(at, self.in_flight[at], load);
            self.in_flight[at] = load;
            self.waiting[at] = waiting;
        }
    }

    /// Requests waiting in the engines.
    pub fn waiting(&self) -> u32 {
        self.waiting.iter().sum()
    }

    /// The replica with the fewest requests in flight, the oldest of equals.
    pub fn least_loaded(&self) -> Option<GroupId> {
        let at = self.levels.first().or_else(|| {
            let fewest = self.in_flight.iter().min()?;
            self.in_flight.iter().position(|n| n == fewest)
        });
        self.groups.get(at?).copied()
    }

    /// Each in turn.
    pub fn next_in_turn(&mut self) -> Option<GroupId> {
        let group = self.groups.get(self.turn as usize).or_else(|| self.groups.first()).copied()?;
        let at = self.position(group)? as u32;
        self.turn = (at + 1) % self.len();
        Some(group)
    }

    /// The best by queue and KV cache: each replica gets up to 1 for a short queue (relative to the
    /// shortest and longest) and up to 1 for a free cache, and the sum of both by weight decides.
    /// `kv_usage` tells a replica's usage, 0 to 1. The prefix scorer is left out, since prefix
    /// caching is not modelled.
    pub fn best_scored(&self, kv_usage: impl Fn(GroupId) -> f64) -> Option<GroupId> {
        let (low, high) = (*self.waiting.iter().min()?, *self.waiting.iter().max()?);
        let mut best: Option<(f64, u32, GroupId)> = None;
        for (i, group) in self.groups.iter().enumerate() {
            let queue = if high > low { f64::from(high - self.waiting[i]) / f64::from(high - low) } else { 1.0 };
            let score = QUEUE_WEIGHT * queue + KV_WEIGHT * (1.0 - kv_usage(*group));
            // Upstream draws among equals; here the one with the fewest in flight goes first.
            let better = best.is_none_or(|(s, n, _)| score > s || (score == s && self.in_flight[i] < n));
            if better {
                best = Some((score, self.in_flight[i], *group));
            }
        }
        best.map(|(_, _, group)| group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn three() -> Endpoints {
        let mut e = Endpoints::default();
        for id in [4, 2, 9] {
            e.join(GroupId(id));
        }
        e
    }

    #[test]
    fn the_fewest_in_flight_and_among_equals_the_oldest() {
        let mut e = three();
        assert_eq!(e.least_loaded(), Some(GroupId(2)));
        e.report(GroupId(2), &mut 0, 3, 0);
        e.report(GroupId(4), &mut 0, 1, 1);
        e.report(GroupId(9), &mut 0, 2, 0);
        assert_eq!(e.least_loaded(), Some(GroupId(4)));
        assert_eq!(e.waiting(), 1);
    }

    proptest! {
        #[test]
        fn the_least_loaded_is_the_one_that_a_search_finds(
            acts in prop::collection::vec((0_u32..80, prop::option::of(0_u32..90)), 1..200),
        ) {
            let mut e = Endpoints::default();
            for (group, load) in acts {
                match load {
                    None => e.leave(GroupId(group)),
                    Some(load) => {
                        e.join(GroupId(group));
                        e.report(GroupId(group), &mut 0, load, 0);
                    }
                }
                let found = e.groups.iter().zip(&e.in_flight).min_by_key(|(g, n)| (**n, **g)).map(|(g, _)| *g);
                prop_assert_eq!(e.least_loaded(), found);
            }
        }
    }

    #[test]
    fn round_robin_goes_on_when_one_leaves() {
        let mut e = three();
        let turns: Vec<u32> = (0..4).filter_map(|_| e.next_in_turn()).map(|g| g.0).collect();
        assert_eq!(turns, [2, 4, 9, 2]);
        e.leave(GroupId(4));
        let turns: Vec<u32> = (0..3).filter_map(|_| e.next_in_turn()).map(|g| g.0).collect();
        assert_eq!(turns, [9, 2, 9]);
        e.leave(GroupId(9));
        e.leave(GroupId(2));
        assert_eq!(e.next_in_turn(), None);
    }

    #[test]
    fn a_free_cache_outweighs_a_short_queue_only_by_its_weight() {
        let mut e = three();
        e.report(GroupId(2), &mut 0, 10, 4);
        e.report(GroupId(4), &mut 0, 10, 0);
        e.report(GroupId(9), &mut 0, 10, 2);
        let kv = |g: GroupId| if g.0 == 4 { 0.9 } else { 0.1 };
        // 2: 0 + 1.8; 4: 2 + 0.2; 9: 1 + 1.8.
        assert_eq!(e.best_scored(kv), Some(GroupId(9)));
        assert_eq!(Endpoints::default().best_scored(|_| 0.0), None);
    }
}
