//! The gateway: what a request passes before it reaches an engine, and where it goes when it is
//! turned away.
//!
//! In order: output cap, backend (by name and weight), context cap, queue limit, deadline, choice
//! of a replica. What is turned away goes to the fallback, else back to the client, who may try
//! again, else it is rejected. See the degradation policies of the serving-engine note.

use super::World;
use super::endpoints::Endpoints;
use super::requests::{Outcome, Place, Request};
use crate::sim::decision::{Tone, TurnedAway, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, RequestId, ServiceId};
use crate::sim::limits::IN_FLIGHT_MAX;
use crate::sim::metrics::histogram::WindowedLatency;
use crate::sim::param::Param;
use crate::sim::replicas::hpa::HpaMemory;
use crate::sim::rng::Stream;
use crate::sim::setup::Tenant;
use crate::sim::time::{Span, Time};
use crate::sim::traffic::{Lengths, Origin, Source, Spike};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// Answer to the long prompt of a spike.
const LONG_ANSWER_TOKENS: u32 = 500;
/// A client's first pause before it tries again; it doubles each time and is drawn from its upper
/// half.
const BACK_OFF: Span = Span::from_millis(500);
const BACK_OFF_MAX: Span = Span::from_secs(30);
/// The rate at which requests get their first token is taken over this long.
const RATE_WINDOW: Span = Span::from_secs(10);

/// A service at run time.
#[derive(Debug, Clone, Serialize)]
pub struct Service {
    pub id: ServiceId,
    /// `spec.replicas`.
    pub wanted: u32,
    pub next_ordinal: u32,
    /// Replicas that exist, draining ones included.
    pub groups: Vec<GroupId>,
    pub endpoints: Endpoints,
    pub traffic: Source,
    /// Arrivals so far: the ordinal of a request's own draws.
    pub arrivals: u64,
    /// Names of the streams of those draws: its backend, its tenant.
    #[serde(skip)]
    pub draws: [Arc<str>; 2],
    /// The time for which an arrival event is in the heap.
    pub arrival_due: Option<Time>,
    /// Spikes that the source has had, its scenario's own included.
    pub spikes: u32,
    /// Which of them are single long prompts.
    pub long_spikes: Vec<u32>,
    /// Requests that the gateway holds because no replica is ready; dead ones included.
    pub backlog: VecDeque<(RequestId, u64)>,
    /// How many of them are alive.
    pub held: u32,
    /// Prompts whose KV cache waits for a decode replica (decode services).
    pub handovers: VecDeque<(RequestId, u64)>,
    /// Client timeouts, oldest first: all requests of a service wait equally long.
    pub timeouts: VecDeque<(Time, RequestId, u64)>,
    pub timeout_due: bool,
    pub first_tokens: Pace,
    /// Arrivals since the last chart point.
    pub arrivals_since_sample: u32,
    pub ttft: WindowedLatency,
    pub hpa: HpaMemory,
    pub hpa_view: Option<super::hpa_glue::LastSync>,
}

/// How often something happens, over the last one to two windows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Pace {
    window: u64,
    now: u32,
    before: u32,
}

impl Pace {
    fn turn(&mut self, at: Time) {
        let window = at.0 / RATE_WINDOW.0;
        if window > self.window {
            self.before = if window == self.window + 1 { self.now } else { 0 };
            self.now = 0;
            self.window = window;
        }
    }

    pub fn count(&mut self, at: Time) {
        self.turn(at);
        self.now += 1;
    }

    /// Per second.
    pub fn rate(mut self, at: Time) -> f64 {
        self.turn(at);
        let into = at.0 - self.window * RATE_WINDOW.0;
        f64::from(self.now + self.before) / ((RATE_WINDOW.0 + into) as f64 / 1e6)
    }
}

impl World {
    /// Puts the next arrival into the heap, unless it is there already.
    pub(super) fn await_arrival(&mut self, service: ServiceId) {
        let s = self.service_mut(service);
        let next = s.traffic.next_time();
        if next != s.arrival_due {
            s.arrival_due = next;
            if let Some(at) = next {
                self.queue.push(at, Event::Arrival(service));
            }
        }
    }

    pub(super) fn on_arrival(&mut self, service: ServiceId) {
        let now = self.now;
        let s = self.service_mut(service);
        if s.arrival_due != Some(now) {
            return; // a spike brought an earlier one
        }
        s.arrival_due = None;
        if let Some(arrival) = s.traffic.next() {
            let long = matches!(arrival.origin, Origin::Spike(n) if s.long_spikes.contains(&n));
            self.await_arrival(service);
            self.offer(service, arrival.prompt_tokens, arrival.output_tokens, long);
        }
    }

    /// Adds a burst and one long prompt to a service's traffic; the rest of it stays as it is.
    pub(super) fn inject_spike(&mut self, service: ServiceId, requests: u32, over: Span, long_prompt_tokens: u32) {
        let now = self.now;
        let spec = &self.setup.services[service.index()];
        let limit = spec.max_model_len.unwrap_or(spec.model.context_length);
        let at = now.since(Time::ZERO);
        if requests > 0 {
            let burst = Spike { at, requests, within: over, prompt_tokens: None, output_tokens: None };
            self.add_spike(service, &burst);
        }
        if long_prompt_tokens > 0 {
            let output = LONG_ANSWER_TOKENS.min(limit.saturating_sub(long_prompt_tokens)).max(1);
            let prompt = long_prompt_tokens.min(limit.saturating_sub(output)).max(1);
            let ordinal = self.service(service).spikes;
            self.service_mut(service).long_spikes.push(ordinal);
            let fixed = |tokens| Some(Lengths::Fixed(tokens));
            let long = Spike {
                at,
                requests: 1,
                within: Span::ZERO,
                prompt_tokens: fixed(prompt),
                output_tokens: fixed(output),
            };
            self.add_spike(service, &long);
        }
        self.await_arrival(service);
        self.log(Who::Traffic, Verdict::SpikeBegan { service, requests, over, long_prompt_tokens }, Tone::Neutral);
    }

    fn add_spike(&mut self, service: ServiceId, spike: &Spike) {
        let now = self.now;
        let s = self.service_mut(service);
        // The command was checked against tighter limits than the source's own.
        if s.traffic.inject(now, spike).is_ok() {
            s.spikes += 1;
        }
    }

    /// A client's request comes in.
    fn offer(&mut self, service: ServiceId, prompt_tokens: u32, output_tokens: u32, long: bool) {
        let now = self.now;
        let setup = self.setup.clone();
        let spec = &setup.services[service.index()];
        let s = self.service_mut(service);
        let ordinal = s.arrivals;
        s.arrivals += 1;
        s.arrivals_since_sample += 1;
        let cap = self.policy.get(Param::OutputCap);
        let cut = cap > 0 && i64::from(output_tokens) > cap;
        let tenant = self.draw_tenant(service, &spec.tenants, ordinal);
        let request = Request {
            serial: 0,
            service,
            backend: self.draw_backend(service, &spec.backends, ordinal),
            arrived: now,
            sent: now,
            prompt_tokens,
            output_tokens: if cut { cap as u32 } else { output_tokens },
            first_token: None,
            place: Place::Held,
            kv_at: None,
            tenant,
            failures: 0,
            degraded: false,
            cut,
            long,
        };
        let (id, serial) = self.requests.add(request);
        if cut {
            self.requests.count_cut(service, tenant);
        }
        if self.requests.under_way() > IN_FLIGHT_MAX {
            self.requests.end(id, Outcome::Rejected);
            return;
        }
        self.await_timeout(service, id, serial, now + spec.client_timeout);
        self.admit(id);
    }

    /// Draws that belong to one request do not move others.
    fn draw(&self, name: &str, ordinal: u64, total: u32) -> u32 {
        let mut stream = Stream::with_ordinal(self.seed, name, ordinal);
        stream.integer(1, u64::from(total.max(1))) as u32
    }

    fn draw_backend(&self, service: ServiceId, backends: &[(ServiceId, u32)], ordinal: u64) -> ServiceId {
        match backends {
            [] => service,
            [(only, _)] => *only,
            several => {
                let mut left = self.draw(&self.service(service).draws[0], ordinal, several.iter().map(|b| b.1).sum());
                for (backend, weight) in several {
                    if left <= *weight {
                        return *backend;
                    }
                    left -= weight;
                }
                service
            }
        }
    }

    fn draw_tenant(&self, service: ServiceId, tenants: &[Tenant], ordinal: u64) -> u8 {
        if tenants.len() < 2 {
            return 0;
        }
        let mut left = self.draw(&self.service(service).draws[1], ordinal, tenants.iter().map(|t| t.weight).sum());
        for (i, tenant) in tenants.iter().enumerate() {
            if left <= tenant.weight {
                return i as u8;
            }
            left -= tenant.weight;
        }
        0
    }

    /// Priority of a request: that of its tenant.
    pub(super) fn request_priority(&self, request: &Request) -> i32 {
        let tenants = &self.setup.services[request.service.index()].tenants;
        tenants.get(usize::from(request.tenant)).map_or(0, |t| t.priority)
    }

    /// Lets a request in, or turns it away.
    fn admit(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        match self.obstacle(request) {
            None => self.route(id),
            Some((why, waiting, limit)) => self.turn_away(id, why, waiting, limit),
        }
    }

    /// What turns a request away, with what was found and the limit that it broke.
    fn obstacle(&self, request: &Request) -> Option<(TurnedAway, u32, u32)> {
        let cap = self.policy.get(Param::ContextCap);
        if cap > 0 && i64::from(request.prompt_tokens) > cap {
            return Some((TurnedAway::ContextCap, request.prompt_tokens, cap as u32));
        }
        let per_replica = self.policy.get(Param::QueueLimit);
        let deadline = self.policy.get(Param::DeadlineDrop) == 1;
        if per_replica == 0 && !deadline {
            return None;
        }
        let s = self.service(request.backend);
        let waiting = s.held + s.endpoints.waiting();
        if per_replica > 0 {
            let whole = per_replica as u64 * u64::from(s.endpoints.len().max(1));
            let limit = self.limit_of_class(request, whole);
            if waiting >= limit {
                return Some((TurnedAway::QueueLimit, waiting, limit));
            }
        }
        if deadline && waiting > 0 {
            let rate = s.first_tokens.rate(self.now);
            let target = self.setup.services[request.service.index()].slo_ttft;
            let waited = self.now.since(request.arrived).secs_f64();
            if rate > 0.0 && waited + f64::from(waiting) / rate > target.secs_f64() {
                let at_most = (rate * target.secs_f64()) as u32;
                return Some((TurnedAway::Deadline, waiting, at_most));
            }
        }
        None
    }

    /// The queue limit for a class of clients: the most important class has all of it, and each
    /// class below an equal step less, so that the lowest is shed first.
    fn limit_of_class(&self, request: &Request, whole: u64) -> u32 {
        let tenants = &self.setup.services[request.service.index()].tenants;
        let own = self.request_priority(request);
        // At most eight tenants: looking back is cheaper than a list.
        let first_of_class = |i: usize| !tenants[..i].iter().any(|t| t.priority == tenants[i].priority);
        let classes = (0..tenants.len()).filter(|i| first_of_class(*i));
        let up_to = classes.clone().filter(|i| tenants[*i].priority <= own).count().max(1) as u64;
        let all = classes.count().max(1) as u64;
        u32::try_from((whole * up_to).div_ceil(all)).unwrap_or(u32::MAX)
    }

    /// 429, or the fallback, or another try.
    fn turn_away(&mut self, id: RequestId, why: TurnedAway, waiting: u32, limit: u32) {
        let Some(request) = self.requests.get(id) else { return };
        let (service, degraded) = (request.service, request.degraded);
        let fallback = self.setup.services[service.index()].fallback;
        let fallback = fallback.filter(|_| self.policy.get(Param::Fallback) == 1 && !degraded);
        self.log(Who::Gateway, Verdict::TurnedAway { service, why, found: waiting, limit, fallback }, Tone::Bad);
        if let Some(fallback) = fallback {
            if let Some(request) = self.requests.get_mut(id) {
                request.degraded = true;
                request.backend = fallback;
            }
            self.admit(id);
        } else if why == TurnedAway::ContextCap {
            self.requests.end(id, Outcome::Rejected); // it would be refused again
        } else {
            self.try_again_or_end(id, Outcome::Rejected);
        }
    }

    /// An attempt came to nothing. The client tries again if it does that, after a pause; `outcome`
    /// is how the request ends otherwise.
    pub(super) fn try_again_or_end(&mut self, id: RequestId, outcome: Outcome) {
        let tries = self.policy.get(Param::Retries);
        let seed = self.seed;
        let Some(request) = self.requests.get_mut(id) else { return };
        if i64::from(request.failures) >= tries {
            self.requests.end(id, outcome);
            return;
        }
        let pause = Span(BACK_OFF.0 << request.failures.min(16)).min(BACK_OFF_MAX);
        request.failures += 1;
        request.first_token = None;
        request.place = Place::BackingOff;
        let (serial, service, tenant) = (request.serial, request.service, request.tenant);
        let ordinal = serial * 16 + u64::from(request.failures);
        let share = Stream::with_ordinal(seed, "retry", ordinal).uniform();
        self.requests.count_retry(service, tenant);
        let pause = Span(pause.0 / 2 + (pause.0 as f64 / 2.0 * share) as u64);
        self.after(pause, Event::Retry { request: id, serial });
    }

    pub(super) fn on_retry(&mut self, id: RequestId, serial: u64) {
        if self.requests.tenant(id, serial).is_some_and(|r| r.place == Place::BackingOff) {
            self.admit(id);
        }
    }

    /// Hands a request to a ready replica, or holds it.
    pub(super) fn route(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let backend = request.backend;
        match self.pick(backend) {
            Some(group) => self.submit(id, group),
            None => {
                let Some(request) = self.requests.get_mut(id) else { return };
                request.place = Place::Held;
                let serial = request.serial;
                let s = self.service_mut(backend);
                s.backlog.push_back((id, serial));
                s.held += 1;
            }
        }
    }

    /// A replica of a service by the routing policy.
    pub(super) fn pick(&mut self, service: ServiceId) -> Option<GroupId> {
        match self.policy.get(Param::Routing) {
            1 => self.service_mut(service).endpoints.next_in_turn(),
            2 => {
                let kv_usage =
                    |g: GroupId| self.group(g).engine.as_deref().map_or(0.0, |e| e.reading(self.now).kv_usage());
                self.service(service).endpoints.best_scored(kv_usage)
            }
            _ => self.service(service).endpoints.least_loaded(),
        }
    }

    /// A replica can be sent to from now on: what the gateway held goes to it.
    pub(super) fn join_endpoints(&mut self, group: GroupId) {
        let service = self.group(group).service;
        self.service_mut(service).endpoints.join(group);
        let held = std::mem::take(&mut self.service_mut(service).backlog);
        self.service_mut(service).held = 0;
        for (id, serial) in held {
            if self.requests.tenant(id, serial).is_some_and(|r| r.place == Place::Held) {
                self.route(id);
            }
        }
        self.release_handovers(service);
    }

    pub(super) fn leave_endpoints(&mut self, group: GroupId) {
        let service = self.group(group).service;
        self.service_mut(service).endpoints.leave(group);
    }

    fn await_timeout(&mut self, service: ServiceId, id: RequestId, serial: u64, at: Time) {
        self.forget_answered(service);
        let s = self.service_mut(service);
        s.timeouts.push_back((at, id, serial));
        if !s.timeout_due {
            s.timeout_due = true;
            self.queue.push(at, Event::ClientTimeout(service));
        }
    }

    /// Drops timeouts at the front whose requests have ended.
    fn forget_answered(&mut self, service: ServiceId) {
        let s = &mut self.services[service.index()];
        while s.timeouts.front().is_some_and(|(_, id, serial)| self.requests.tenant(*id, *serial).is_none()) {
            s.timeouts.pop_front();
        }
    }

    /// The oldest clients give up.
    pub(super) fn on_client_timeout(&mut self, service: ServiceId) {
        let now = self.now;
        self.forget_answered(service);
        while let Some((at, id, _)) = self.service(service).timeouts.front().copied() {
            if at > now {
                break;
            }
            self.service_mut(service).timeouts.pop_front();
            self.give_up(id);
            self.forget_answered(service);
        }
        let next = self.service(service).timeouts.front().map(|(at, _, _)| *at);
        self.service_mut(service).timeout_due = next.is_some();
        if let Some(at) = next {
            self.queue.push(at, Event::ClientTimeout(service));
        }
    }

    fn give_up(&mut self, id: RequestId) {
        let now = self.now;
        let Some(request) = self.requests.get(id) else { return };
        let (serial, place) = (request.serial, request.place);
        if let Place::Engine(group) = place {
            self.abort_in_engine(id, group);
        }
        // The engine may have finished it in a turn that was due before the abort.
        let Some(request) = self.requests.tenant(id, serial) else { return };
        let (service, backend, long, tokens) = (request.service, request.backend, request.long, request.prompt_tokens);
        let (after, answered) = (now.since(request.arrived), request.first_token.is_some());
        if request.place == Place::Held {
            let s = self.service_mut(backend);
            s.held = s.held.saturating_sub(1);
        }
        self.release_kv(id);
        if !answered {
            // A client that gave up has waited this long for a first token that did not come.
            self.service_mut(service).ttft.record(now, after);
        }
        self.requests.end(id, Outcome::TimedOut);
        self.forget_dead_held(backend);
        if long && !answered {
            self.log(Who::Traffic, Verdict::LongPromptLost { service, tokens, after }, Tone::Bad);
        }
    }

    /// The gateway's oldest go first, so its dead are at the front.
    fn forget_dead_held(&mut self, service: ServiceId) {
        let s = &mut self.services[service.index()];
        while s.backlog.front().is_some_and(|(id, serial)| self.requests.tenant(*id, *serial).is_none()) {
            s.backlog.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_looks_back_one_to_two_windows() {
        let mut pace = Pace::default();
        for i in 0..100 {
            pace.count(Time(i * 100_000));
        }
        assert!((pace.rate(Time::from_secs(10)) - 10.0).abs() < 1e-9);
        assert!((pace.rate(Time::from_secs(15)) - 100.0 / 15.0).abs() < 1e-9);
        assert_eq!(pace.rate(Time::from_secs(40)), 0.0);
    }
}
