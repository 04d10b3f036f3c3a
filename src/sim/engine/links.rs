//! What loaders share: flows of bytes over links, by processor sharing.
//!
//! A flow has bytes left, a limit of its own client and the links that it passes. With `n` flows on
//! a link of capacity `C`, each gets at most `C / n` of it; a flow's rate is the smallest of these
//! and of its own limit, and is computed anew at each start and end. What a flow cannot use of its
//! share is not given to the others: that is the usual model of fair queueing per connection at
//! the server, and a little pessimistic where a second link holds some flows back.
//!
//! Bytes are moved at starts and ends only, so reading in between changes nothing; the next end is
//! rounded up to a microsecond once, when it is computed. `sim::world` owns the flows' meaning.

use crate::sim::id::NodeId;
use crate::sim::time::{Span, Time};
use serde::Serialize;
use std::collections::BTreeMap;

/// Less than this is what rounding leaves of a finished flow.
const BYTES_ROUNDED: f64 = 0.5;

/// Something that several loaders share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Link {
    /// A node's network card.
    Nic(NodeId),
    /// The image registry.
    Registry,
    /// The way out of the object store.
    ObjectStore,
    /// The file server.
    Files,
    /// A node's local disk.
    Nvme(NodeId),
}

/// One transfer, for as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct FlowId(pub u64);

/// What holds a flow to its present rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Its own client cannot take more.
    Client,
    /// This link, which so many flows share.
    Link { link: Link, flows: u32 },
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Flow {
    bytes: u64,
    left: f64,
    /// Of its own client, bytes per microsecond.
    limit: f64,
    links: Vec<Link>,
    /// Bytes per microsecond since the last start or end.
    rate: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct LinkState {
    /// Bytes per microsecond.
    capacity: f64,
    flows: u32,
}

impl LinkState {
    fn share(self) -> f64 {
        self.capacity / f64::from(self.flows.max(1))
    }
}

/// All flows and the links in use.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Links {
    links: BTreeMap<Link, LinkState>,
    flows: BTreeMap<FlowId, Flow>,
    /// Up to when bytes are moved.
    settled: Time,
    next_id: u64,
}

impl Links {
    /// Starts a flow of `bytes`, at most `limit` bytes per second, over links of these capacities
    /// (bytes per second). A link keeps the capacity of the flow that found it unused.
    pub fn start(&mut self, now: Time, bytes: u64, limit: f64, over: &[(Link, f64)]) -> FlowId {
        self.settle(now);
        let id = FlowId(self.next_id);
        self.next_id += 1;
        for (link, capacity) in over {
            let unused = LinkState { capacity: per_us(*capacity), flows: 0 };
            self.links.entry(*link).or_insert(unused).flows += 1;
        }
        let links = over.iter().map(|(link, _)| *link).collect();
        self.flows.insert(id, Flow { bytes, left: bytes as f64, limit: per_us(limit), links, rate: 0.0 });
        self.share();
        id
    }

    /// Gives a flow up; what it had moved, in bytes. `None` if it is over.
    pub fn stop(&mut self, now: Time, id: FlowId) -> Option<u64> {
        self.settle(now);
        let flow = self.remove(id)?;
        self.share();
        Some(flow.bytes - (flow.left.max(0.0) as u64).min(flow.bytes))
    }

    /// Takes out the flows that are over at `now`, oldest first.
    pub fn finish(&mut self, now: Time) -> Vec<FlowId> {
        self.settle(now);
        let over = self.flows.iter().filter(|(_, f)| f.left < BYTES_ROUNDED).map(|(id, _)| *id);
        let over: Vec<FlowId> = over.collect();
        for id in &over {
            self.remove(*id);
        }
        self.share();
        over
    }

    /// When the next flow is over if none starts or stops before. `None` without flows, or if all
    /// of them stand still.
    pub fn next_end(&self) -> Option<Time> {
        self.flows.values().filter_map(|f| self.end_of(f)).min()
    }

    /// When a flow is over at its present rate.
    pub fn ends(&self, id: FlowId) -> Option<Time> {
        self.end_of(self.flows.get(&id)?)
    }

    /// Bytes that a flow still has to move at `now`, which is not before the last start or end.
    pub fn left(&self, id: FlowId, now: Time) -> Option<f64> {
        let flow = self.flows.get(&id)?;
        Some((flow.left - flow.rate * now.since(self.settled).0 as f64).max(0.0))
    }

    /// Bytes per second that a flow gets now.
    pub fn rate(&self, id: FlowId) -> Option<f64> {
        self.flows.get(&id).map(|f| f.rate * 1e6)
    }

    /// What holds a flow back now: the link with the smallest share, or its own limit.
    pub fn held(&self, id: FlowId) -> Option<Held> {
        let flow = self.flows.get(&id)?;
        let mut least = (flow.limit, Held::Client);
        for link in &flow.links {
            let state = self.links.get(link)?;
            if state.share() < least.0 {
                least = (state.share(), Held::Link { link: *link, flows: state.flows });
            }
        }
        Some(least.1)
    }

    /// Flows under way, oldest first.
    pub fn ids(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.flows.keys().copied()
    }

    fn end_of(&self, flow: &Flow) -> Option<Time> {
        if flow.left < BYTES_ROUNDED {
            return Some(self.settled);
        }
        // The cast saturates, and so does the sum.
        (flow.rate > 0.0).then(|| self.settled + Span((flow.left / flow.rate).ceil() as u64))
    }

    /// Moves bytes up to `now`.
    fn settle(&mut self, now: Time) {
        let span = now.since(self.settled).0 as f64;
        for flow in self.flows.values_mut() {
            flow.left = (flow.left - flow.rate * span).max(0.0);
        }
        self.settled = self.settled.max(now);
    }

    fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let flow = self.flows.remove(&id)?;
        for link in &flow.links {
            if let Some(state) = self.links.get_mut(link) {
                state.flows -= 1;
                if state.flows == 0 {
                    self.links.remove(link);
                }
            }
        }
        Some(flow)
    }

    fn share(&mut self) {
        let links = &self.links;
        for flow in self.flows.values_mut() {
            let shares = flow.links.iter().filter_map(|l| links.get(l)).map(|s| s.share());
            flow.rate = shares.fold(flow.limit, f64::min);
        }
    }
}

/// Per second to per microsecond; nonsense is a stopped link.
fn per_us(per_s: f64) -> f64 {
    if per_s > 0.0 { per_s / 1e6 } else { 0.0 }
}

#[cfg(test)]
#[path = "links_test.rs"]
mod tests;
