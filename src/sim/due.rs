//! When each replica's engine wants to be called next: a heap with one entry per engine that can
//! be moved, so that an engine whose plan changes leaves no stale event behind.
//!
//! Ties go by group, so the order depends on nothing but the entries. An entry is one number, time
//! before group, because it is compared several times per request.

use super::id::GroupId;
use super::time::Time;
use serde::Serialize;

const NOWHERE: u32 = u32::MAX;
/// Bits of the group in an entry: the 41 above them hold 25 days, more than the longest run.
const GROUP_BITS: u32 = 23;
/// Four children per entry: an engine that has just been called moves down from the top, and a
/// flat heap makes that way short.
const CHILDREN: usize = 4;

/// Due times by group, the earliest first.
#[derive(Debug, Clone, Default)]
pub struct DueTimes {
    heap: Vec<u64>,
    /// Where each group's entry is in the heap.
    position: Vec<u32>,
}

impl DueTimes {
    /// The earliest.
    pub fn first(&self) -> Option<(Time, GroupId)> {
        self.heap.first().map(|entry| unpack(*entry))
    }

    pub fn get(&self, group: GroupId) -> Option<Time> {
        self.place(group).map(|at| unpack(self.heap[at]).0)
    }

    /// Sets, moves or removes a group's due time.
    pub fn set(&mut self, group: GroupId, due: Option<Time>) {
        match (self.place(group), due) {
            (None, None) => {}
            (None, Some(due)) => {
                if self.position.len() <= group.index() {
                    self.position.resize(group.index() + 1, NOWHERE);
                }
                self.heap.push(pack(due, group));
                self.sift_up(self.heap.len() - 1);
            }
            (Some(at), Some(due)) => {
                let entry = pack(due, group);
                let earlier = entry < self.heap[at];
                self.heap[at] = entry;
                if earlier { self.sift_up(at) } else { self.sift_down(at) }
            }
            (Some(at), None) => {
                self.position[group.index()] = NOWHERE;
                let Some(moved) = self.heap.pop() else { return };
                if at < self.heap.len() {
                    let earlier = moved < self.heap[at];
                    self.heap[at] = moved;
                    if earlier { self.sift_up(at) } else { self.sift_down(at) }
                }
            }
        }
    }

    fn place(&self, group: GroupId) -> Option<usize> {
        self.position.get(group.index()).filter(|at| **at != NOWHERE).map(|at| *at as usize)
    }

    fn put(&mut self, at: usize, entry: u64) {
        self.heap[at] = entry;
        self.position[unpack(entry).1.index()] = at as u32;
    }

    fn sift_up(&mut self, mut at: usize) {
        let entry = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(at, self.heap[parent]);
            at = parent;
        }
        self.put(at, entry);
    }

    fn sift_down(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let first = CHILDREN * at + 1;
            let Some(children) = self.heap.get(first..(first + CHILDREN).min(self.heap.len())) else { break };
            let Some((child, least)) = children.iter().copied().enumerate().min_by_key(|(_, e)| *e) else { break };
            if least >= entry {
                break;
            }
            self.put(at, least);
            at = first + child;
        }
        self.put(at, entry);
    }
}

fn pack(due: Time, group: GroupId) -> u64 {
    debug_assert!(group.0 >> GROUP_BITS == 0, "eight million replicas");
    // Beyond the end of the longest run one time is as late as another.
    due.0.min((1 << (64 - GROUP_BITS)) - 1) << GROUP_BITS | u64::from(group.0)
}

fn unpack(entry: u64) -> (Time, GroupId) {
    (Time(entry >> GROUP_BITS), GroupId((entry & ((1 << GROUP_BITS) - 1)) as u32))
}

/// In heap order the bytes would depend on history: sorted, they do not.
impl Serialize for DueTimes {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut entries = self.heap.clone();
        entries.sort_unstable();
        entries.serialize(s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_behaves_like_a_sorted_map(acts in prop::collection::vec((0_u32..20, prop::option::of(0_u64..50)), 0..200)) {
            let mut due = DueTimes::default();
            let mut model: BTreeMap<GroupId, Time> = BTreeMap::new();
            for (group, at) in acts {
                let (group, at) = (GroupId(group), at.map(Time));
                due.set(group, at);
                match at {
                    Some(at) => drop(model.insert(group, at)),
                    None => drop(model.remove(&group)),
                }
                prop_assert_eq!(due.first(), model.iter().map(|(g, t)| (*t, *g)).min());
                prop_assert_eq!(due.get(group), at);
            }
        }
    }
}
