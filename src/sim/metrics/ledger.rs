//! The GPU-second ledger: from grant to release, each GPU is in exactly one state, and the states
//! sum to the bill.
//!
//! Two accounts are kept apart on purpose. *Meters* add up what each GPU was doing. The *bill* of
//! a node knows only its size, its price and how long it was held. [`Ledger::check`] compares
//! them; all sums are integers, so they must be equal, not close. Money is kept as the product of
//! price and time and divided only for display.
//!
//! A GPU can be shared: it is divided into [`PARTS_PER_GPU`] parts, and a slice holds some of
//! them. Nodes without GPUs are billed apart.

use crate::sim::id::NodeId;
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::{Add, AddAssign};

/// Parts of one GPU: divisible by every number of equal slices up to 8, and by 10, 12, 14, 15, 20.
pub const PARTS_PER_GPU: u64 = 840;
/// GPUs per node must divide this, so that a GPU's share of the node's price is an integer: all
/// counts up to 16, and 18, 20, 24, 36, 72.
pub const NODE_SHARES: u64 = 720_720;
/// Microseconds per hour.
const HOUR_US: u128 = 3_600_000_000;

/// What a GPU is doing. The first that fits, in this order, is its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuState {
    /// Not allocatable yet, or failed.
    Booting,
    /// Its holder is shutting down.
    Draining,
    /// Bound to a group that is below its minimum.
    Held,
    /// Image, weights or warm-up.
    Loading,
    Training,
    /// Serving at least one request.
    ServingBusy,
    /// Able to serve, with no request.
    ServingIdle,
    /// Nobody holds it.
    Empty,
}

impl GpuState {
    /// Every state, in the order of the rule.
    pub const ALL: [GpuState; 8] = [
        GpuState::Booting,
        GpuState::Draining,
        GpuState::Held,
        GpuState::Loading,
        GpuState::Training,
        GpuState::ServingBusy,
        GpuState::ServingIdle,
        GpuState::Empty,
    ];
}

/// An amount of GPU time, in parts of a GPU-microsecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct GpuTime(pub u128);

impl GpuTime {
    fn of(parts: u64, span: Span) -> GpuTime {
        // The 840 parts of a GPU times the longest run are below 2^50.
        GpuTime(u128::from(parts.wrapping_mul(span.0)))
    }
    /// Whole GPU-microseconds; exact where no GPU is shared.
    pub fn gpu_us(self) -> u128 {
        self.0 / u128::from(PARTS_PER_GPU)
    }
    pub fn gpu_secs_f64(self) -> f64 {
        self.0 as f64 / (PARTS_PER_GPU as f64 * 1e6)
    }
}

/// An exact amount of money: micro-dollars per hour, times GPU time, times [`NODE_SHARES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize)]
#[serde(transparent)]
pub struct Cost(pub u128);

impl Cost {
    const PER_MICROUSD: u128 = HOUR_US * PARTS_PER_GPU as u128 * NODE_SHARES as u128;

    /// Rounded down to micro-dollars.
    pub fn microusd(self) -> Microusd {
        Microusd(u64::try_from(self.0 / Cost::PER_MICROUSD).unwrap_or(u64::MAX))
    }
    pub fn usd(self) -> f64 {
        self.0 as f64 / (Cost::PER_MICROUSD as f64 * 1e6)
    }
}

macro_rules! adds {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = $name;
            fn add(self, rhs: $name) -> $name {
                $name(self.0.saturating_add(rhs.0))
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, rhs: $name) {
                *self = *self + rhs;
            }
        }
    )*};
}
adds!(GpuTime, Cost);

/// Time and cost of each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    time: [GpuTime; 8],
    cost: [Cost; 8],
}

impl Totals {
    pub fn time(&self, state: GpuState) -> GpuTime {
        self.time[state as usize]
    }
    pub fn cost(&self, state: GpuState) -> Cost {
        self.cost[state as usize]
    }
    pub fn time_sum(&self) -> GpuTime {
        self.time.iter().fold(GpuTime::default(), |sum, t| sum + *t)
    }
    pub fn cost_sum(&self) -> Cost {
        self.cost.iter().fold(Cost::default(), |sum, c| sum + *c)
    }
    /// Time by state at one rate: the cost is worked out once, and not at each switch.
    fn at_rate(times: &[GpuTime; 8], rate: u128) -> Totals {
        Totals { time: *times, cost: times.map(|time| Cost(time.0.saturating_mul(rate))) }
    }
    fn absorb(&mut self, other: &Totals) {
        for state in GpuState::ALL {
            self.time[state as usize] += other.time(state);
            self.cost[state as usize] += other.cost(state);
        }
    }
}

/// What is owed, computed from nodes alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Bill {
    pub gpu_time: GpuTime,
    pub gpu_cost: Cost,
    /// Nodes without GPUs.
    pub cpu_cost: Cost,
}

impl Bill {
    fn absorb(&mut self, other: &Bill) {
        self.gpu_time += other.gpu_time;
        self.gpu_cost += other.gpu_cost;
        self.cpu_cost += other.cpu_cost;
    }
    /// GPU and CPU nodes together.
    pub fn cost(&self) -> Cost {
        self.gpu_cost + self.cpu_cost
    }
}

/// The running account of one GPU or slice: its state, since when, and how many parts it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Meter {
    pub state: GpuState,
    pub since: Time,
    pub parts: u64,
}

impl Meter {
    /// Books the time since the last switch and starts the new state.
    fn switch(&mut self, now: Time, state: GpuState, times: &mut [GpuTime; 8]) {
        // Plain addition, here where it counts: see the bound in `of`.
        times[self.state as usize].0 += GpuTime::of(self.parts, now.since(self.since)).0;
        self.state = state;
        self.since = now;
    }
}

/// Why a call did not change the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
pub enum LedgerError {
    #[error("node {0:?} is already granted")]
    AlreadyGranted(NodeId),
    #[error("node {0:?} is not granted")]
    UnknownNode(NodeId),
    #[error("the node has no such GPU")]
    UnknownGpu { node: NodeId, gpu: u32 },
    #[error("the GPU has no such slice")]
    UnknownSlice { node: NodeId, gpu: u32, slice: u32 },
    #[error("{gpus} GPUs per node do not share its price evenly")]
    GpuCountNotSupported { gpus: u32 },
    #[error("slices need positive weights, at most 840 in all")]
    BadSlices { node: NodeId, gpu: u32 },
}

/// The two accounts differ: a fault of the ledger or its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("metered {metered:?}, billed {billed:?}")]
pub struct Mismatch {
    /// `None`: over all nodes, released ones included.
    pub node: Option<NodeId>,
    pub metered: (GpuTime, Cost),
    pub billed: (GpuTime, Cost),
}

/// One node's accounts.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct NodeAccount {
    granted: Time,
    price_microusd_per_hour: Microusd,
    gpus: u32,
    /// GPU by GPU, one meter per slice; one of all parts when it is whole.
    meters: Vec<Meter>,
    /// Where each GPU's meters begin, and where the last one's end.
    starts: Vec<u32>,
    /// Booked so far, by state.
    times: [GpuTime; 8],
}

impl NodeAccount {
    /// Price of one part of a GPU, in units of [`Cost`] per µs.
    fn rate(&self) -> u128 {
        let share = NODE_SHARES / u64::from(self.gpus.max(1));
        u128::from(self.price_microusd_per_hour.0) * u128::from(share)
    }

    /// Where a GPU's meters are.
    fn range(&self, gpu: usize) -> Option<std::ops::Range<usize>> {
        Some(*self.starts.get(gpu)? as usize..*self.starts.get(gpu + 1)? as usize)
    }

    /// Puts other meters in the place of a GPU's.
    fn replace(&mut self, gpu: usize, meters: Vec<Meter>) {
        let Some(range) = self.range(gpu) else { return };
        let (before, after) = (range.len() as u32, meters.len() as u32);
        self.meters.splice(range, meters);
        for start in &mut self.starts[gpu + 1..] {
            *start = *start + after - before;
        }
    }

    fn totals(&self, now: Time) -> Totals {
        let mut times = self.times;
        for meter in &self.meters {
            times[meter.state as usize] += GpuTime::of(meter.parts, now.since(meter.since));
        }
        Totals::at_rate(&times, self.rate())
    }

    fn bill(&self, now: Time) -> Bill {
        let held = now.since(self.granted);
        let price = u128::from(self.price_microusd_per_hour.0);
        let units = u128::from(held.0) * u128::from(PARTS_PER_GPU * NODE_SHARES);
        let cost = Cost(price.saturating_mul(units));
        if self.gpus == 0 {
            Bill { cpu_cost: cost, ..Bill::default() }
        } else {
            let gpu_time = GpuTime::of(u64::from(self.gpus) * PARTS_PER_GPU, held);
            Bill { gpu_time, gpu_cost: cost, cpu_cost: Cost::default() }
        }
    }
}

/// A node's final account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NodeSummary {
    pub granted: Time,
    pub released: Time,
    pub totals: Totals,
    pub bill: Bill,
}

/// All accounts. Released nodes are folded into sums, so memory follows the nodes held now.
///
/// Time does not go back: a call with an earlier time counts as at the latest one seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Ledger {
    latest: Time,
    nodes: BTreeMap<NodeId, NodeAccount>,
    released_totals: Totals,
    released_bill: Bill,
}

impl Ledger {
    /// A node is granted: its price runs, and each of its GPUs is booting.
    ///
    /// # Errors
    /// If it is granted already, or if its number of GPUs does not divide [`NODE_SHARES`].
    pub fn grant(&mut self, now: Time, node: NodeId, gpus: u32, price_per_hour: Microusd) -> Result<(), LedgerError> {
        if self.nodes.contains_key(&node) {
            return Err(LedgerError::AlreadyGranted(node));
        }
        if gpus != 0 && !NODE_SHARES.is_multiple_of(u64::from(gpus)) {
            return Err(LedgerError::GpuCountNotSupported { gpus });
        }
        let now = self.advance(now);
        let whole = Meter { state: GpuState::Booting, since: now, parts: PARTS_PER_GPU };
        let account = NodeAccount {
            granted: now,
            price_microusd_per_hour: price_per_hour,
            gpus,
            meters: vec![whole; gpus as usize],
            starts: (0..=gpus).collect(),
            times: Default::default(),
        };
        self.nodes.insert(node, account);
        Ok(())
    }

    /// A GPU, with all its slices, changes state.
    ///
    /// # Errors
    /// If the node or GPU is not there.
    pub fn switch(&mut self, now: Time, node: NodeId, gpu: u32, state: GpuState) -> Result<(), LedgerError> {
        let now = self.advance(now);
        let (meters, times) = self.gpu(node, gpu)?;
        for meter in meters {
            meter.switch(now, state, times);
        }
        Ok(())
    }

    /// One slice of a GPU changes state.
    ///
    /// # Errors
    /// If the node, GPU or slice is not there.
    pub fn switch_slice(
        &mut self,
        now: Time,
        node: NodeId,
        gpu: u32,
        slice: u32,
        state: GpuState,
    ) -> Result<(), LedgerError> {
        let now = self.advance(now);
        let (meters, times) = self.gpu(node, gpu)?;
        let unknown = LedgerError::UnknownSlice { node, gpu, slice };
        meters.get_mut(slice as usize).ok_or(unknown)?.switch(now, state, times);
        Ok(())
    }

    /// The states of all parts of a node, GPU by GPU; those that have changed are switched.
    ///
    /// # Errors
    /// If the node is not there.
    pub fn set_states(&mut self, now: Time, node: NodeId, states: &[GpuState]) -> Result<(), LedgerError> {
        let now = self.advance(now);
        let account = self.nodes.get_mut(&node).ok_or(LedgerError::UnknownNode(node))?;
        // The GPUs of a replica change together: their times are added up before they are booked.
        let (mut from, mut time) = (GpuState::Empty, 0u64);
        for (meter, state) in account.meters.iter_mut().zip(states) {
            if meter.state == *state {
                continue;
            }
            if meter.state != from {
                account.times[from as usize].0 += u128::from(time);
                (from, time) = (meter.state, 0);
            }
            time += meter.parts * now.since(meter.since).0;
            meter.state = *state;
            meter.since = now;
        }
        account.times[from as usize].0 += u128::from(time);
        Ok(())
    }

    /// Divides a GPU anew: a state and a weight per slice. Parts go by weight, rounded down, and
    /// the last slice takes what is left.
    ///
    /// # Errors
    /// If the node or GPU is not there, there is no slice, or a weight is 0 or too large.
    pub fn divide(&mut self, now: Time, node: NodeId, gpu: u32, slices: &[(GpuState, u32)]) -> Result<(), LedgerError> {
        let weights: u64 = slices.iter().map(|(_, w)| u64::from(*w)).sum();
        let positive = slices.iter().all(|(_, w)| *w > 0);
        if slices.is_empty() || !positive || weights > PARTS_PER_GPU {
            return Err(LedgerError::BadSlices { node, gpu });
        }
        let now = self.advance(now);
        let (meters, times) = self.gpu(node, gpu)?;
        for meter in meters {
            meter.switch(now, meter.state, times);
        }
        let mut left = PARTS_PER_GPU;
        let mut divided = Vec::with_capacity(slices.len());
        for (i, (state, weight)) in slices.iter().enumerate() {
            let share = PARTS_PER_GPU * u64::from(*weight) / weights;
            let parts = if i + 1 == slices.len() { left } else { share };
            left -= parts;
            divided.push(Meter { state: *state, since: now, parts });
        }
        if let Some(account) = self.nodes.get_mut(&node) {
            account.replace(gpu as usize, divided);
        }
        Ok(())
    }

    /// A node is given back: its price stops.
    ///
    /// # Errors
    /// If it is not granted.
    pub fn release(&mut self, now: Time, node: NodeId) -> Result<NodeSummary, LedgerError> {
        let now = self.advance(now);
        let account = self.nodes.remove(&node).ok_or(LedgerError::UnknownNode(node))?;
        let (totals, bill) = (account.totals(now), account.bill(now));
        self.released_totals.absorb(&totals);
        self.released_bill.absorb(&bill);
        Ok(NodeSummary { granted: account.granted, released: now, totals, bill })
    }

    /// Time and cost by state up to `now`, over all nodes ever granted.
    pub fn totals(&self, now: Time) -> Totals {
        let mut totals = self.released_totals;
        for account in self.nodes.values() {
            totals.absorb(&account.totals(now.max(self.latest)));
        }
        totals
    }

    /// What is owed up to `now`, over all nodes ever granted.
    pub fn bill(&self, now: Time) -> Bill {
        let mut bill = self.released_bill;
        for account in self.nodes.values() {
            bill.absorb(&account.bill(now.max(self.latest)));
        }
        bill
    }

    /// One held node's totals and bill up to `now`.
    pub fn node(&self, now: Time, node: NodeId) -> Option<(Totals, Bill)> {
        let now = now.max(self.latest);
        self.nodes.get(&node).map(|a| (a.totals(now), a.bill(now)))
    }

    /// A GPU's meters, one per slice.
    pub fn meters(&self, node: NodeId, gpu: u32) -> Option<&[Meter]> {
        let account = self.nodes.get(&node)?;
        account.meters.get(account.range(gpu as usize)?)
    }

    /// GPUs in each state now, in parts of a GPU, in the order of [`GpuState::ALL`].
    pub fn parts_by_state(&self) -> [u64; 8] {
        let mut parts = [0; 8];
        for meter in self.nodes.values().flat_map(|a| &a.meters) {
            parts[meter.state as usize] += meter.parts;
        }
        parts
    }

    /// Compares the two accounts, node by node and in all.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, now: Time) -> Result<(), Mismatch> {
        let now = now.max(self.latest);
        let compare = |node, totals: &Totals, bill: &Bill| {
            let metered = (totals.time_sum(), totals.cost_sum());
            let billed = (bill.gpu_time, bill.gpu_cost);
            if metered == billed { Ok(()) } else { Err(Mismatch { node, metered, billed }) }
        };
        for (node, account) in &self.nodes {
            compare(Some(*node), &account.totals(now), &account.bill(now))?;
        }
        compare(None, &self.totals(now), &self.bill(now))
    }

    fn advance(&mut self, now: Time) -> Time {
        self.latest = self.latest.max(now);
        self.latest
    }

    fn gpu(&mut self, node: NodeId, gpu: u32) -> Result<(&mut [Meter], &mut [GpuTime; 8]), LedgerError> {
        let account = self.nodes.get_mut(&node).ok_or(LedgerError::UnknownNode(node))?;
        let range = account.range(gpu as usize);
        let meters = range.and_then(|r| account.meters.get_mut(r)).ok_or(LedgerError::UnknownGpu { node, gpu })?;
        Ok((meters, &mut account.times))
    }
}

#[cfg(test)]
#[path = "ledger_test.rs"]
mod tests;
