//! Client requests: every offered one ends in exactly one outcome, or is still under way.

use crate::sim::id::{GroupId, RequestId, ServiceId};
use crate::sim::snapshot::RequestTotals;
use crate::sim::time::Time;
use serde::Serialize;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// Answered within both targets.
    Met,
    /// Answered, but too slowly.
    Late,
    /// The client gave up.
    TimedOut,
    /// Refused: too long for the model, or no room.
    Rejected,
    /// Answered by a pod that was not ready.
    Failed,
    /// Cut off: by a drain that ran out of time, or a crash.
    Lost,
    /// Answered, whatever its targets, but not as asked: by the fallback model, or cut by the cap.
    Degraded,
}

/// A request that has not ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Tells a slot's tenants apart.
    pub serial: u64,
    /// The service that the client named.
    pub service: ServiceId,
    /// The service whose replicas answer.
    pub backend: ServiceId,
    pub arrived: Time,
    /// When this attempt reached an engine.
    pub sent: Time,
    pub prompt_tokens: u32,
    pub output_tokens: u32,
    pub first_token: Option<Time>,
    pub place: Place,
    /// The prefill replica that still holds its KV cache.
    pub kv_at: Option<GroupId>,
    /// Position in the service's list of tenants.
    pub tenant: u8,
    /// Attempts that failed.
    pub failures: u8,
    /// Sent on to the fallback.
    pub degraded: bool,
    /// Its answer is shorter than what was asked for.
    pub cut: bool,
    /// The long prompt of a spike: logged by itself.
    pub long: bool,
}

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Place {
    /// At the gateway: no replica is ready.
    Held,
    /// The client waits before its next attempt.
    BackingOff,
    /// In an engine.
    Engine(GroupId),
    /// Its KV cache is on the way to this decode replica, or waits for one.
    Handover(Option<GroupId>),
}

/// All requests under way: slots are reused, so memory follows the number in flight.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Requests {
    slots: Vec<Option<Request>>,
    free: Vec<u32>,
    next_serial: u64,
    totals: RequestTotals,
    /// By service and tenant; they sum to `totals`.
    accounts: Vec<Vec<RequestTotals>>,
}

fn account(accounts: &mut Vec<Vec<RequestTotals>>, service: ServiceId, tenant: u8) -> &mut RequestTotals {
    if accounts.len() <= service.index() {
        accounts.resize(service.index() + 1, Vec::new());
    }
    let tenants = &mut accounts[service.index()];
    if tenants.len() <= usize::from(tenant) {
        tenants.resize(usize::from(tenant) + 1, RequestTotals::default());
    }
    &mut tenants[usize::from(tenant)]
}

fn count(t: &mut RequestTotals, outcome: Outcome) {
    t.unfinished -= 1;
    match outcome {
        Outcome::Met => t.met += 1,
        Outcome::Late => t.late += 1,
        Outcome::TimedOut => t.timed_out += 1,
        Outcome::Rejected => t.rejected += 1,
        Outcome::Failed => t.failed += 1,
        Outcome::Lost => t.lost += 1,
        Outcome::Degraded => t.degraded += 1,
    }
}

impl Requests {
    pub fn add(&mut self, mut request: Request) -> (RequestId, u64) {
        request.serial = self.next_serial;
        let serial = self.next_serial;
        self.next_serial += 1;
        for t in [&mut self.totals, account(&mut self.accounts, request.service, request.tenant)] {
            t.offered += 1;
            t.unfinished += 1;
        }
        match self.free.pop() {
            Some(i) => {
                self.slots[i as usize] = Some(request);
                (RequestId(i), serial)
            }
            None => {
                self.slots.push(Some(request));
                (RequestId::from_index(self.slots.len() - 1), serial)
            }
        }
    }

    pub fn get(&self, id: RequestId) -> Option<&Request> {
        self.slots.get(id.index())?.as_ref()
    }
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        self.slots.get_mut(id.index())?.as_mut()
    }
    /// The request, if the slot still has this tenant.
    pub fn tenant(&self, id: RequestId, serial: u64) -> Option<&Request> {
        self.get(id).filter(|r| r.serial == serial)
    }

    /// Ends a request and counts it.
    pub fn end(&mut self, id: RequestId, outcome: Outcome) -> Option<Request> {
        let request = self.slots.get_mut(id.index())?.take()?;
        self.free.push(id.0);
        count(&mut self.totals, outcome);
        count(self.account(request.service, request.tenant), outcome);
        Some(request)
    }

    /// A client tries again.
    pub fn count_retry(&mut self, service: ServiceId, tenant: u8) {
        self.totals.retries += 1;
        self.account(service, tenant).retries += 1;
    }
    /// An answer was shortened by the cap.
    pub fn count_cut(&mut self, service: ServiceId, tenant: u8) {
        self.totals.cut += 1;
        self.account(service, tenant).cut += 1;
    }

    fn account(&mut self, service: ServiceId, tenant: u8) -> &mut RequestTotals {
        account(&mut self.accounts, service, tenant)
    }
    /// Totals of a service's clients by tenant; empty before the first request.
    pub fn of_service(&self, service: ServiceId) -> &[RequestTotals] {
        self.accounts.get(service.index()).map_or(&[], Vec::as_slice)
    }

    /// Those under way.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().flatten()
    }

    pub fn totals(&self) -> RequestTotals {
        self.totals
    }
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
