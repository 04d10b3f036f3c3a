//! Services and their engines: arrivals, the gateway, and what engines report.

use super::World;
use super::requests::{Outcome, Request};
use crate::sim::cluster::PodPhase;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::engine::collectives::AllReduceCost;
use crate::sim::engine::{EngineEvent, EngineSettings, EngineSpec, Fabric, Replica, StepCost, memory};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, RequestId, ServiceId};
use crate::sim::limits::IN_FLIGHT_MAX;
use crate::sim::metrics::histogram::WindowedLatency;
use crate::sim::replicas::hpa::HpaMemory;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use crate::sim::traffic::{Lengths, Origin, Source, Spike};
use serde::Serialize;
use std::collections::VecDeque;

/// HTTP server, tokenizer and detokenizer before the first token leaves (vLLM front end).
pub(super) const FRONT_END: Span = Span::from_millis(15);
/// Answer to the long prompt of a spike.
const LONG_ANSWER_TOKENS: u32 = 500;
/// Batch at which the map states what a bridge over the fabric costs a decode step.
const NOTED_BATCH: u32 = 8;

/// A service at run time.
#[derive(Debug, Clone, Serialize)]
pub struct Service {
    pub id: ServiceId,
    /// `spec.replicas`.
    pub wanted: u32,
    pub next_ordinal: u32,
    /// Replicas that exist, draining ones included.
    pub groups: Vec<GroupId>,
    pub traffic: Source,
    /// The time for which an arrival event is in the heap.
    pub arrival_due: Option<Time>,
    /// Spikes that the source has had, its scenario's own included.
    pub spikes: u32,
    /// Which of them are single long prompts.
    pub long_spikes: Vec<u32>,
    /// Requests that the gateway holds because no replica is ready.
    pub backlog: VecDeque<(RequestId, u64)>,
    /// Client timeouts, oldest first: all requests of a service wait equally long.
    pub timeouts: VecDeque<(Time, RequestId, u64)>,
    pub timeout_due: bool,
    /// Arrivals since the last chart point.
    pub arrivals_since_sample: u32,
    pub ttft: WindowedLatency,
    pub hpa: HpaMemory,
    pub hpa_view: Option<super::hpa_glue::LastSync>,
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

    fn offer(&mut self, service: ServiceId, prompt_tokens: u32, output_tokens: u32, long: bool) {
        let now = self.now;
        let timeout = self.setup.services[service.index()].client_timeout;
        let request = Request {
            serial: 0,
            service,
            arrived: now,
            prompt_tokens,
            output_tokens,
            group: None,
            first_token: None,
            long,
        };
        let id = self.requests.add(request);
        self.service_mut(service).arrivals_since_sample += 1;
        if self.requests.under_way() > IN_FLIGHT_MAX {
            self.requests.end(id, Outcome::Rejected);
            return;
        }
        let serial = self.requests.get(id).map_or(0, |r| r.serial);
        let s = self.service_mut(service);
        s.timeouts.push_back((now + timeout, id, serial));
        if !s.timeout_due {
            s.timeout_due = true;
            self.after(timeout, Event::ClientTimeout(service));
        }
        self.route(id);
    }

    /// Hands a request to the ready replica with the fewest in flight, or holds it.
    fn route(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let (service, serial) = (request.service, request.serial);
        let ready = self.service(service).groups.iter().filter(|g| self.group(**g).routable());
        match ready.min_by_key(|g| (self.in_flight(**g), **g)).copied() {
            Some(group) => self.submit(id, group),
            None => self.service_mut(service).backlog.push_back((id, serial)),
        }
    }

    fn submit(&mut self, id: RequestId, group: GroupId) {
        let now = self.now;
        let Some(request) = self.requests.get_mut(id) else { return };
        request.group = Some(group);
        let (prompt, output) = (request.prompt_tokens, request.output_tokens);
        let mut events = Vec::new();
        if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
            engine.submit(now, id, prompt, output, &mut events);
        }
        self.after_engine(group, events);
    }

    /// Requests that a replica has, waiting or running.
    pub(super) fn in_flight(&self, group: GroupId) -> u32 {
        self.group(group).engine.as_deref().map_or(0, |e| e.running() + e.waiting())
    }

    pub(super) fn on_engine(&mut self, group: GroupId, generation: u32) {
        let now = self.now;
        let g = self.group_mut(group);
        if g.engine_generation != generation {
            return;
        }
        g.engine_due = None;
        let mut events = Vec::new();
        if let Some(engine) = g.engine.as_deref_mut() {
            engine.advance(now, &mut events);
        }
        self.after_engine(group, events);
    }

    /// Carries out what an engine reported, and asks it when it wants to be called next.
    fn after_engine(&mut self, group: GroupId, events: Vec<EngineEvent>) {
        for event in events {
            self.on_engine_event(group, event);
        }
        let g = self.group_mut(group);
        let due = g.engine.as_deref().and_then(Replica::next_due);
        if due != g.engine_due {
            g.engine_due = due;
            g.engine_generation = g.engine_generation.wrapping_add(1);
            let generation = g.engine_generation;
            if let Some(at) = due {
                self.queue.push(at, Event::Engine { group, generation });
            }
        }
        let busy = self.group(group).engine.as_deref().is_some_and(|e| !e.is_idle());
        if busy != self.group(group).busy {
            self.group_mut(group).busy = busy;
            self.refresh_group_gpus(group);
        }
        if self.group(group).stage == GroupStage::Draining && !busy {
            self.finish_drain(group);
        }
    }

    fn on_engine_event(&mut self, group: GroupId, event: EngineEvent) {
        match event {
            EngineEvent::Admitted { .. } | EngineEvent::Preempted { .. } => {}
            EngineEvent::FirstToken { req, at } => {
                let Some(request) = self.requests.get_mut(req) else { return };
                // A preempted request is recomputed: its client has had its first token already.
                if request.first_token.is_some() {
                    return;
                }
                request.first_token = Some(at);
                let (service, long, tokens) = (request.service, request.long, request.prompt_tokens);
                let ttft = at.since(request.arrived) + FRONT_END;
                self.service_mut(service).ttft.record(at, ttft);
                self.meter.path.observe_ttft(service, ttft);
                if long {
                    self.log(Who::Engine, Verdict::LongPromptAnswered { service, tokens, after: ttft }, Tone::Good);
                }
            }
            EngineEvent::Finished { req, at, output_tokens, .. } => self.on_finished(group, req, at, output_tokens),
            EngineEvent::Refused { req, .. } => {
                let limit = self.group(group).engine.as_deref().map_or(0, |e| e.limits().max_model_len);
                if let Some(r) = self.requests.end(req, Outcome::Rejected) {
                    let tokens = r.prompt_tokens + r.output_tokens;
                    let verdict = Verdict::PromptRefused { service: r.service, tokens, limit };
                    self.log(Who::Engine, verdict, Tone::Bad);
                }
            }
        }
    }

    fn on_finished(&mut self, group: GroupId, req: RequestId, at: Time, output_tokens: u32) {
        if let Some(drain) = &mut self.group_mut(group).drain {
            drain.finished += 1;
        }
        let Some(request) = self.requests.get(req) else { return };
        let spec = &self.setup.services[request.service.index()];
        let first = request.first_token.unwrap_or(at);
        let ttft = first.since(request.arrived) + FRONT_END;
        let gaps = u64::from(output_tokens.saturating_sub(1)).max(1);
        let tpot = Span(at.since(first).0 / gaps);
        let met = ttft <= spec.slo_ttft && tpot <= spec.slo_tpot;
        self.meter.path.observe_tpot(request.service, tpot);
        if met {
            let (service, prompt) = (request.service, request.prompt_tokens);
            self.meter.add_ideal(service, prompt, output_tokens);
        }
        self.requests.end(req, if met { Outcome::Met } else { Outcome::Late });
    }

    /// The oldest clients give up.
    pub(super) fn on_client_timeout(&mut self, service: ServiceId) {
        let now = self.now;
        while let Some((at, id, serial)) = self.service(service).timeouts.front().copied() {
            let alive = self.requests.tenant(id, serial).is_some();
            if alive && at > now {
                break;
            }
            self.service_mut(service).timeouts.pop_front();
            if alive {
                self.give_up(id);
            }
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
        let (group, service, long, tokens) = (request.group, request.service, request.long, request.prompt_tokens);
        let (after, answered) = (now.since(request.arrived), request.first_token.is_some());
        let mut events = Vec::new();
        if let Some(group) = group
            && let Some(engine) = self.group_mut(group).engine.as_deref_mut()
        {
            engine.abort(now, id, &mut events);
        }
        // The engine may have finished it in a turn that was due before the abort.
        if let Some(group) = group {
            let before = self.requests.get(id).map(|r| r.serial);
            self.after_engine(group, events);
            if self.requests.get(id).map(|r| r.serial) != before {
                return;
            }
        }
        if !answered {
            // A client that gave up has waited this long for a first token that did not come.
            self.service_mut(service).ttft.record(now, after);
        }
        self.requests.end(id, Outcome::TimedOut);
        // The gateway's oldest go first, so its dead are at the front.
        while let Some((held, serial)) = self.service(service).backlog.front().copied() {
            if self.requests.tenant(held, serial).is_some() {
                break;
            }
            self.service_mut(service).backlog.pop_front();
        }
        if long && !answered {
            self.log(Who::Traffic, Verdict::LongPromptLost { service, tokens, after }, Tone::Bad);
        }
    }

    /// Cuts off what a replica still had. Returns how many.
    pub(super) fn lose_requests(&mut self, group: GroupId) -> u32 {
        let now = self.now;
        let mut events = Vec::new();
        let Some(engine) = self.group_mut(group).engine.as_deref_mut() else { return 0 };
        let lost = engine.abort_all(now, &mut events);
        for event in events {
            self.on_engine_event(group, event);
        }
        let mut count = 0;
        for id in lost {
            count += u32::from(self.requests.end(id, Outcome::Lost).is_some());
        }
        self.group_mut(group).busy = false;
        count
    }

    /// What the engine of a group would be on the nodes that it has.
    pub(super) fn engine_spec(&self, group: GroupId) -> Option<(EngineSpec, EngineSettings)> {
        let g = self.group(group);
        let service = &self.setup.services[g.service.index()];
        let nodes = self.group_nodes(group);
        // Ranks step together: a group over unlike GPUs runs at the pace of the slowest.
        let slowest =
            nodes.iter().map(|n| self.node(*n).gpu).min_by(|a, b| a.bandwidth_gb_s.total_cmp(&b.bandwidth_gb_s));
        let gpu = slowest?;
        let mut spec = EngineSpec::new(service.model, gpu, service.gpus());
        spec.weight_dtype = service.weight_dtype;
        spec.kv_dtype = service.kv_dtype;
        spec.tp_fabric = self.fabric(&nodes);
        spec.pp_fabric = spec.tp_fabric;
        let mut settings = EngineSettings::defaults(gpu);
        settings.max_model_len = service.max_model_len;
        if let Some(seqs) = service.max_num_seqs {
            settings.max_num_seqs = seqs;
            settings.max_num_batched_tokens = settings.max_num_batched_tokens.max(seqs);
        }
        Some((spec, settings))
    }

    /// What joins the GPUs of these nodes.
    fn fabric(&self, nodes: &[NodeId]) -> Fabric {
        let domain = |n: &NodeId| self.nvlink_domain(*n);
        let first = nodes.first().and_then(domain);
        if first.is_some() && nodes.iter().all(|n| domain(n) == first) {
            return Fabric::InDomain;
        }
        if nodes.len() <= 1 {
            return Fabric::Pcie;
        }
        let nic = nodes.iter().map(|n| self.node(*n).gpu.internode_gb_s).fold(f64::INFINITY, f64::min);
        Fabric::AcrossNodes { nic_gb_s: nic }
    }

    /// The NVLink domain of a node: its NVL72 rack, the node itself (HGX), or none (PCIe).
    pub(super) fn nvlink_domain(&self, node: NodeId) -> Option<(bool, u32)> {
        let n = self.node(node);
        if n.is_tray() {
            Some((true, n.rack.0))
        } else if n.own_nvlink_domain() {
            Some((false, n.id.0))
        } else {
            None
        }
    }

    /// The engine process is up: it serves, or it refuses to start and tries again.
    pub(super) fn start_engine(&mut self, group: GroupId) {
        let Some((spec, settings)) = self.engine_spec(group) else { return };
        match memory::start(&spec, &settings) {
            Ok(limits) => {
                let Ok(cost) = StepCost::new(&spec, limits.max_num_seqs) else { return };
                self.group_mut(group).engine = Some(Box::new(Replica::new(cost, limits)));
                self.enter_stage(group, GroupStage::Serving, None);
                self.note_domains(group, &spec);
                let g = self.group(group);
                let pending = g.complete_at.unwrap_or(g.created).since(g.created);
                let verdict =
                    Verdict::ReplicaReady { group, pending, image: g.image, weights: g.weights, warm_up: g.warm_up };
                self.log(Who::Engine, verdict, Tone::Good);
                self.release_backlog(self.group(group).service);
            }
            Err(error) => {
                let short = memory::short_gib(&error);
                let verdict = Verdict::EngineRefused { group, short_gib_tenths: (short * 10.0).ceil() as u32 };
                self.log(Who::Engine, verdict, Tone::Bad);
                self.enter_stage(group, GroupStage::WarmUp, Some(super::groups::CRASH_BACKOFF));
            }
        }
    }

    /// Whether tensor parallelism leaves the NVLink domain, and what that costs a decode step.
    pub(super) fn note_domains(&mut self, group: GroupId, spec: &EngineSpec) {
        let crosses = spec.tp > 1 && matches!(spec.tp_fabric, Fabric::AcrossNodes { .. });
        let bytes = f64::from(NOTED_BATCH * spec.model.hidden * 2);
        let one_us = AllReduceCost::new(spec.gpu, spec.tp, spec.tp_fabric).us(bytes);
        // Two per layer: after attention and after the feed-forward part.
        let step = crosses.then(|| Span::from_secs_f64(2.0 * f64::from(spec.model.layers) * one_us / 1e6));
        let g = self.group_mut(group);
        g.crosses_domains = crosses;
        g.all_reduce_step = step;
    }

    /// Requests that the gateway held go to the replica that has just become ready.
    fn release_backlog(&mut self, service: ServiceId) {
        let held = std::mem::take(&mut self.service_mut(service).backlog);
        for (id, serial) in held {
            if self.requests.tenant(id, serial).is_some() {
                self.route(id);
            }
        }
    }

    /// Requests that the gateway holds now.
    pub(super) fn backlog_len(&self, service: ServiceId) -> u32 {
        let alive = self.service(service).backlog.iter().filter(|(id, s)| self.requests.tenant(*id, *s).is_some());
        alive.count() as u32
    }

    /// Ready replicas and all replicas of a service.
    pub(super) fn replica_counts(&self, service: ServiceId) -> (u32, u32) {
        let groups = self.service(service).groups.iter().map(|g| self.group(*g));
        let ready = groups.clone().filter(|g| g.routable()).count() as u32;
        (ready, groups.filter(|g| g.alive()).count() as u32)
    }

    /// Pods of a service that are bound and whose engine is up, for exporters.
    pub(super) fn serving_groups(&self, service: ServiceId) -> impl Iterator<Item = GroupId> + '_ {
        self.service(service).groups.iter().copied().filter(|g| {
            let g = self.group(*g);
            g.engine.is_some() && g.pods.iter().all(|p| self.pod(*p).phase == PodPhase::Bound)
        })
    }
}
