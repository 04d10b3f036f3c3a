//! Stabilization windows: recent proposals hold the new one back. The history keeps proposals
//! before stabilization, rates and bounds; obsolete slots are reused, so it stops growing after
//! one window.

use super::Direction;
use super::decision::{Stabilization, Windows};
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// A past proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recommendation {
    pub replicas: i32,
    pub at: Time,
}

/// Without `behavior`: the highest proposal of the controller's window, its far end included.
pub fn stabilize_default(history: &mut Vec<Recommendation>, proposal: i32, window: Span, now: Time) -> Stabilization {
    let mut highest = proposal;
    let mut obsolete = None;
    for (slot, past) in history.iter().enumerate() {
        if now.since(past.at) > window {
            obsolete = Some(slot);
        } else {
            highest = highest.max(past.replicas);
        }
    }
    store(history, obsolete, Recommendation { replicas: proposal, at: now });
    Stabilization {
        proposal,
        windows: Windows::Controller { window, highest },
        result: highest,
        held_by: (highest != proposal).then_some(Direction::Down),
    }
}

/// With `behavior`: the lowest proposal of the up window and the highest of the down window, far
/// ends excluded, bracket the result; between them it stays at `current`.
pub fn stabilize_behavior(
    history: &mut Vec<Recommendation>,
    current: i32,
    proposal: i32,
    up_window: Span,
    down_window: Span,
    now: Time,
) -> Stabilization {
    let (mut up_lowest, mut down_highest) = (proposal, proposal);
    let mut obsolete = None;
    for (slot, past) in history.iter().enumerate() {
        let age = now.since(past.at);
        if age < up_window {
            up_lowest = up_lowest.min(past.replicas);
        }
        if age < down_window {
            down_highest = down_highest.max(past.replicas);
        }
        if age > up_window && age > down_window {
            obsolete = Some(slot);
        }
    }
    store(history, obsolete, Recommendation { replicas: proposal, at: now });
    let mut result = current;
    if result < up_lowest {
        result = up_lowest;
    }
    if result > down_highest {
        result = down_highest;
    }
    let held_by = match result {
        _ if result == proposal => None,
        _ if proposal >= current => Some(Direction::Up),
        _ => Some(Direction::Down),
    };
    let windows = Windows::Behavior { up_window, up_lowest, down_window, down_highest };
    Stabilization { proposal, windows, result, held_by }
}

fn store(history: &mut Vec<Recommendation>, obsolete: Option<usize>, new: Recommendation) {
    match obsolete.and_then(|slot| history.get_mut(slot)) {
        Some(slot) => *slot = new,
        None => history.push(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn past(entries: &[(i32, u64)], now: Time) -> Vec<Recommendation> {
        let at = |age| now - Span::from_secs(age);
        entries.iter().map(|&(replicas, age)| Recommendation { replicas, at: at(age) }).collect()
    }

    #[test]
    fn history_stops_growing_after_one_window() {
        let (up, down) = (Span::ZERO, Span::from_secs(300));
        let (mut plain, mut ruled) = (Vec::new(), Vec::new());
        for sync in 0..1000u64 {
            let now = Time::from_secs(15 * sync);
            stabilize_default(&mut plain, 3, down, now);
            stabilize_behavior(&mut ruled, 3, 3, up, down, now);
        }
        assert_eq!((plain.len(), ruled.len()), (21, 21));
    }

    #[test]
    fn one_low_sample_cancels_a_step_up_and_one_high_sample_a_step_down() {
        let now = Time::from_secs(1000);
        let (up, down) = (Span::from_secs(60), Span::from_secs(60));
        let mut history = past(&[(9, 45), (4, 30), (9, 15)], now);
        let s = stabilize_behavior(&mut history, 4, 9, up, down, now);
        assert_eq!((s.result, s.held_by), (4, Some(Direction::Up)));
        let mut history = past(&[(2, 45), (8, 30), (2, 15)], now);
        let s = stabilize_behavior(&mut history, 8, 2, up, down, now);
        assert_eq!((s.result, s.held_by), (8, Some(Direction::Down)));
    }

    proptest! {
        #[test]
        fn the_way_down_never_ends_above_the_windows_highest(
            entries in proptest::collection::vec((0i32..50, 0u64..600), 0..30),
            current in 0i32..50, proposal in 0i32..50, up in 0u64..400, down in 0u64..400,
        ) {
            let now = Time::from_secs(10_000);
            let highest = |exclusive: bool, window: u64| entries.iter()
                .filter(|(_, age)| *age < window || (!exclusive && *age == window))
                .map(|(r, _)| *r).chain([proposal]).max().unwrap_or(proposal);
            let mut history = past(&entries, now);
            let s = stabilize_default(&mut history, proposal, Span::from_secs(down), now);
            prop_assert_eq!(s.result, highest(false, down));
            prop_assert!(history.iter().any(|r| r.at == now && r.replicas == proposal));

            let mut history = past(&entries, now);
            let s = stabilize_behavior(&mut history, current, proposal, Span::from_secs(up), Span::from_secs(down), now);
            prop_assert!(s.result <= highest(true, down).max(current.min(proposal)));
            prop_assert!(s.result <= current.max(proposal) && s.result >= current.min(proposal));
            prop_assert!(history.len() <= entries.len() + 1);
        }
    }
}
