//! The event heap: ordered by (time, sequence), so that ties never depend on memory order.

use super::event::Event;
use super::time::Time;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Entry {
    at: Time,
    seq: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at, self.seq).cmp(&(other.at, other.seq))
    }
}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Future events.
#[derive(Debug, Clone, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    next_seq: u64,
}

impl EventQueue {
    /// Adds an event; of equal times the one added first comes first.
    pub fn push(&mut self, at: Time, event: Event) {
        self.heap.push(Reverse(Entry { at, seq: self.next_seq, event }));
        self.next_seq += 1;
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|e| e.0.at)
    }

    /// Takes the next event if it is due at or before `until`.
    pub fn pop_until(&mut self, until: Time) -> Option<(Time, Event)> {
        if self.next_at()? > until {
            return None;
        }
        self.heap.pop().map(|e| (e.0.at, e.0.event))
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// In heap order the bytes would depend on history: sorted, they do not.
impl Serialize for EventQueue {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut entries: Vec<Entry> = self.heap.iter().map(|e| e.0).collect();
        entries.sort();
        (entries, self.next_seq).serialize(s)
    }
}

impl PartialEq for EventQueue {
    fn eq(&self, other: &EventQueue) -> bool {
        let sorted = |q: &EventQueue| {
            let mut v: Vec<Entry> = q.heap.iter().map(|e| e.0).collect();
            v.sort();
            v
        };
        self.next_seq == other.next_seq && sorted(self) == sorted(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_time_order_and_ties_in_the_order_of_insertion(times in proptest::collection::vec(0u64..20, 1..60)) {
            let mut q = EventQueue::default();
            for (i, t) in times.iter().enumerate() {
                q.push(Time(*t), Event::Script(i as u32));
            }
            let mut expected: Vec<(u64, u32)> = times.iter().enumerate().map(|(i, t)| (*t, i as u32)).collect();
            expected.sort();
            let mut got = Vec::new();
            while let Some((at, Event::Script(i))) = q.pop_until(Time::MAX) {
                got.push((at.0, i));
            }
            prop_assert_eq!(got, expected);
        }

        #[test]
        fn nothing_comes_before_its_time(at in 1u64..1000) {
            let mut q = EventQueue::default();
            q.push(Time(at), Event::Sample);
            prop_assert!(q.pop_until(Time(at - 1)).is_none());
            prop_assert!(q.pop_until(Time(at)).is_some());
        }
    }
}
