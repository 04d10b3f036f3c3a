//! Engines: what they are given, what they report, and what they are built from.

use super::World;
use super::requests::{Outcome, Place};
use crate::sim::cluster::PodPhase;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::engine::collectives::AllReduceCost;
use crate::sim::engine::{
    EngineEvent, EngineSettings, EngineSpec, Fabric, Replica, Scheduling, Submission, Work, memory,
};
use crate::sim::id::{GroupId, NodeId, RequestId, ServiceId};
use crate::sim::param::Param;
use crate::sim::setup::{Role, Share};
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};

/// HTTP server, tokenizer and detokenizer before the first token leaves (vLLM front end).
pub(super) const FRONT_END: Span = Span::from_millis(15);
/// Batch at which the map states what a bridge over the fabric costs a decode step.
const NOTED_BATCH: u32 = 8;

impl World {
    /// A list for an engine's events whose memory is used again.
    pub(super) fn take_scratch(&mut self) -> Vec<EngineEvent> {
        std::mem::take(&mut self.scratch)
    }

    /// Whether requests can be handed to a replica: its engine is up and has not been told to stop.
    pub(super) fn accepts(&self, group: GroupId) -> bool {
        let g = self.group(group);
        g.engine.is_some() && g.drain.is_none_or(|d| !d.terminated)
    }

    /// Sends a request to a replica. One that has an endpoint and no engine that accepts (ready too
    /// early, or terminating) answers with an error.
    pub(super) fn submit(&mut self, id: RequestId, group: GroupId) {
        if !self.accepts(group) {
            let g = self.group_mut(group);
            g.failed_early += u32::from(g.ready_early);
            self.try_again_or_end(id, Outcome::Failed);
            return;
        }
        let work = match self.setup.services[self.group(group).service.index()].role {
            Role::Prefill { .. } => Work::PrefillOnly,
            Role::Monolithic | Role::Decode => Work::Whole,
        };
        self.give(id, group, work);
    }

    /// Hands a request whose prompt is computed to a decode replica.
    pub(super) fn submit_decode(&mut self, id: RequestId, group: GroupId) {
        self.give(id, group, Work::DecodeOnly);
    }

    fn give(&mut self, id: RequestId, group: GroupId, work: Work) {
        let now = self.now;
        let Some(request) = self.requests.get(id) else { return };
        let priority = self.request_priority(request);
        let (prompt_tokens, output_tokens) = (request.prompt_tokens, request.output_tokens);
        if let Some(request) = self.requests.get_mut(id) {
            request.place = Place::Engine(group);
            if work != Work::DecodeOnly {
                request.sent = now;
            }
        }
        let mut events = self.take_scratch();
        if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
            engine.submit(now, Submission { req: id, prompt_tokens, output_tokens, priority, work }, &mut events);
        }
        self.after_engine(group, events);
    }

    /// Takes a request out of an engine: its client is gone.
    pub(super) fn abort_in_engine(&mut self, id: RequestId, group: GroupId) {
        let now = self.now;
        let mut events = self.take_scratch();
        if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
            engine.abort(now, id, &mut events);
        }
        self.after_engine(group, events);
    }

    /// Requests that a replica has: waiting, running, or computed and not yet handed over.
    pub(super) fn in_flight(&self, group: GroupId) -> u32 {
        self.group(group).engine.as_deref().map_or(0, |e| e.running() + e.waiting() + e.held())
    }

    pub(super) fn on_engine(&mut self, group: GroupId) {
        let now = self.now;
        let mut events = self.take_scratch();
        match self.group_mut(group).engine.as_deref_mut() {
            Some(engine) => engine.advance(now, &mut events),
            None => self.engines_due.set(group, None),
        }
        self.after_engine(group, events);
    }

    /// Carries out what an engine reported, and asks it when it wants to be called next.
    pub(super) fn after_engine(&mut self, group: GroupId, mut events: Vec<EngineEvent>) {
        for event in events.drain(..) {
            self.on_engine_event(group, event);
        }
        self.scratch = events;
        let g = self.group(group);
        let Some(engine) = g.engine.as_deref() else { return };
        let (due, running, waiting) = (engine.next_due(), engine.running(), engine.waiting());
        let (busy, held) = (!engine.is_idle(), engine.held());
        let service = g.service;
        self.engines_due.set(group, due);
        let g = &mut self.groups[group.index()];
        self.services[service.index()].endpoints.report(group, &mut g.endpoint, running, waiting);
        if busy != self.group(group).busy {
            self.group_mut(group).busy = busy;
            self.refresh_group_gpus(group);
            self.neighbours_changed(group);
        } else if matches!(self.setup.services[service.index()].share, Some(Share::Mps(_))) {
            self.neighbours_changed(group);
        }
        if !busy && held == 0 && self.group(group).drain.is_some_and(|d| d.terminated) {
            self.finish_drain(group);
        }
    }

    fn on_engine_event(&mut self, group: GroupId, event: EngineEvent) {
        match event {
            EngineEvent::Preempted { .. } => {}
            EngineEvent::Admitted { req, .. } => self.release_kv(req),
            EngineEvent::FirstToken { req, at } => self.on_first_token(req, at),
            EngineEvent::Finished { req, at, output_tokens, .. } => self.on_finished(group, req, at, output_tokens),
            EngineEvent::Prefilled { req, .. } => {
                if let Some(drain) = &mut self.group_mut(group).drain {
                    drain.finished += 1;
                }
                if let Some(request) = self.requests.get_mut(req) {
                    request.kv_at = Some(group);
                }
                self.hand_over(req);
            }
            EngineEvent::Refused { req, .. } => {
                let limit = self.group(group).engine.as_deref().map_or(0, |e| e.limits().max_model_len);
                self.release_kv(req);
                if let Some(r) = self.requests.end(req, Outcome::Rejected) {
                    let tokens = r.prompt_tokens + r.output_tokens;
                    let verdict = Verdict::PromptRefused { service: r.service, tokens, limit };
                    self.log(Who::Engine, verdict, Tone::Bad);
                }
            }
        }
    }

    fn on_first_token(&mut self, req: RequestId, at: Time) {
        let Some(request) = self.requests.get_mut(req) else { return };
        // A preempted request is recomputed: its client has had its first token already.
        if request.first_token.is_some() {
            return;
        }
        request.first_token = Some(at);
        let (service, backend, long, tokens) = (request.service, request.backend, request.long, request.prompt_tokens);
        let (ttft, sent) = (at.since(request.arrived) + FRONT_END, request.sent);
        self.service_mut(service).ttft.record(at, ttft);
        // The engine's own clock starts when it gets the request, not at the gateway.
        self.meter.path.observe_ttft(backend, at.since(sent) + FRONT_END);
        self.service_mut(backend).first_tokens.count(at);
        if long {
            self.log(Who::Engine, Verdict::LongPromptAnswered { service, tokens, after: ttft }, Tone::Good);
        }
    }

    fn on_finished(&mut self, group: GroupId, req: RequestId, at: Time, output_tokens: u32) {
        if let Some(drain) = &mut self.group_mut(group).drain {
            drain.finished += 1;
        }
        self.release_kv(req);
        let Some(request) = self.requests.get(req) else { return };
        let spec = &self.setup.services[request.service.index()];
        let first = request.first_token.unwrap_or(at);
        let ttft = first.since(request.arrived) + FRONT_END;
        let gaps = u64::from(output_tokens.saturating_sub(1)).max(1);
        let tpot = Span(at.since(first).0 / gaps);
        let met = ttft <= spec.slo_ttft && tpot <= spec.slo_tpot;
        self.meter.path.observe_tpot(request.backend, tpot);
        let outcome = match (request.degraded || request.cut, met) {
            (true, _) => Outcome::Degraded,
            (false, true) => Outcome::Met,
            (false, false) => Outcome::Late,
        };
        if outcome == Outcome::Met {
            let (service, prompt) = (request.service, request.prompt_tokens);
            self.meter.add_ideal(service, prompt, output_tokens);
        }
        self.requests.end(req, outcome);
    }

    /// Cuts off what a replica still had, prompts that wait for their transfer included. Returns
    /// how many.
    pub(super) fn lose_requests(&mut self, group: GroupId) -> u32 {
        let now = self.now;
        let mut events = self.take_scratch();
        let Some(engine) = self.group_mut(group).engine.as_deref_mut() else { return 0 };
        let lost = engine.abort_all(now, &mut events);
        for event in events.drain(..) {
            self.on_engine_event(group, event);
        }
        self.scratch = events;
        let mut count = 0;
        for id in lost {
            let Some(request) = self.requests.get_mut(id) else { continue };
            if request.kv_at == Some(group) {
                request.kv_at = None;
            }
            self.release_kv(id);
            count += 1;
            self.try_again_or_end(id, Outcome::Lost);
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
        let mut spec = service.engine_spec(gpu);
        spec.tp_fabric = self.fabric(&nodes);
        spec.pp_fabric = spec.tp_fabric;
        let mut settings = EngineSettings::defaults(gpu);
        settings.max_model_len = service.max_model_len;
        if let Some(tokens) = service.engine.max_num_batched_tokens {
            settings.max_num_batched_tokens = tokens;
        }
        if let Some(share) = service.engine.gpu_memory_utilization {
            settings.gpu_memory_utilization = share;
        }
        match nodes.first().and_then(|n| self.node(*n).share) {
            Some(Share::Mig(profile)) => spec.mig = Some(profile),
            // The hypervisor shows each guest its part as the whole memory.
            Some(Share::Vgpu(parts)) => settings.gpu_memory_utilization /= f64::from(parts),
            Some(Share::TimeSlicing(_) | Share::Mps(_)) | None => {}
        }
        if let Some(seqs) = service.max_num_seqs {
            settings.max_num_seqs = seqs;
            settings.max_num_batched_tokens = settings.max_num_batched_tokens.max(seqs);
        }
        Some((spec, settings))
    }

    /// What joins the GPUs of these nodes.
    pub(super) fn fabric(&self, nodes: &[NodeId]) -> Fabric {
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
        let started = memory::start(&spec, &settings).map_err(|error| memory::short_gib(&error));
        let started = started.and_then(|limits| self.room_beside_neighbours(group, &spec, &settings).map(|()| limits));
        match started {
            Ok(limits) => {
                let Ok(cost) = self.costs.get(&spec, &limits) else { return };
                let mut replica = Replica::new(cost, limits);
                replica.set_scheduling(self.now, self.scheduling(), &mut Vec::new());
                self.group_mut(group).engine = Some(Box::new(replica));
                self.enter_stage(group, GroupStage::Serving, None);
                self.note_domains(group, &spec);
                let g = self.group(group);
                let pending = g.complete_at.unwrap_or(g.created).since(g.created);
                let verdict =
                    Verdict::ReplicaReady { group, pending, image: g.image, weights: g.weights, warm_up: g.warm_up };
                self.log(Who::Engine, verdict, Tone::Good);
                if self.group(group).routable() {
                    self.join_endpoints(group);
                }
            }
            Err(short_gib) => {
                let verdict = Verdict::EngineRefused { group, short_gib_tenths: (short_gib * 10.0).ceil() as u32 };
                self.log(Who::Engine, verdict, Tone::Bad);
                self.enter_stage(group, GroupStage::WarmUp, Some(super::groups::CRASH_BACKOFF));
            }
        }
    }

    fn scheduling(&self) -> Scheduling {
        if self.policy.get(Param::Scheduling) == 1 { Scheduling::Priority } else { Scheduling::Fcfs }
    }

    /// The scheduling policy was switched: what waits is ordered anew.
    pub(super) fn set_scheduling(&mut self) {
        let (now, scheduling) = (self.now, self.scheduling());
        for group in self.living_groups().filter(|g| g.engine.is_some()).map(|g| g.id).collect::<Vec<_>>() {
            let mut events = self.take_scratch();
            if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
                engine.set_scheduling(now, scheduling, &mut events);
            }
            self.after_engine(group, events);
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

    /// Ready replicas and all replicas of a service.
    pub(super) fn replica_counts(&self, service: ServiceId) -> (u32, u32) {
        let groups = self.service(service).groups.iter().map(|g| self.group(*g)).filter(|g| !g.standby);
        let ready = groups.clone().filter(|g| g.routable()).count() as u32;
        (ready, groups.filter(|g| g.alive()).count() as u32)
    }

    /// Pods of a service that are bound and whose engine is up, for exporters.
    pub(super) fn serving_groups(&self, service: ServiceId) -> impl Iterator<Item = GroupId> + '_ {
        self.service(service).groups.iter().copied().filter(|g| {
            let g = self.group(*g);
            g.engine.is_some() && !g.standby && g.pods.iter().all(|p| self.pod(*p).phase == PodPhase::Bound)
        })
    }
}
