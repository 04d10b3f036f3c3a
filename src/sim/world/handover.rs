//! Disaggregated serving: a prompt computed by a prefill replica is answered by a decode replica.
//!
//! The prefill engine keeps the KV cache until the decode engine has admitted the request, so a
//! full decode pool holds up the prefill side too. The transfer runs over the NVLink domain that
//! both share, else over the network; all ranks send in parallel, and transfers do not slow each
//! other down. (Connectors that pull admit first and transfer then; the sum is the same.)

use super::World;
use super::requests::Place;
use crate::sim::engine::{Fabric, collectives, memory};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, RequestId, ServiceId};
use crate::sim::setup::Role;
use crate::sim::time::Span;

impl World {
    /// The decode service behind a prefill service.
    pub(super) fn decode_service(&self, prefill: ServiceId) -> Option<ServiceId> {
        match self.setup.services[prefill.index()].role {
            Role::Prefill { decode } => Some(decode),
            Role::Monolithic | Role::Decode => None,
        }
    }

    /// A prompt is computed: its KV cache goes to a decode replica, or waits for one.
    pub(super) fn hand_over(&mut self, id: RequestId) {
        let Some(request) = self.requests.get(id) else { return };
        let (serial, from) = (request.serial, request.kv_at);
        let (Some(decode), Some(from)) = (self.decode_service(request.backend), from) else { return };
        let to = self.pick(decode).filter(|g| self.group(*g).engine.is_some());
        if let Some(request) = self.requests.get_mut(id) {
            request.place = Place::Handover(to);
        }
        match to {
            None => self.service_mut(decode).handovers.push_back((id, serial)),
            Some(to) => {
                let span = self.transfer_time(id, from, to);
                self.after(span, Event::KvArrived { request: id, serial });
            }
        }
    }

    pub(super) fn on_kv_arrived(&mut self, id: RequestId, serial: u64) {
        let Some(request) = self.requests.tenant(id, serial) else { return };
        let Place::Handover(Some(to)) = request.place else { return };
        if self.accepts(to) {
            self.submit_decode(id, to);
        } else {
            self.hand_over(id);
        }
    }

    /// Prompts that waited for a decode replica.
    pub(super) fn release_handovers(&mut self, decode: ServiceId) {
        for (id, serial) in std::mem::take(&mut self.service_mut(decode).handovers) {
            if self.requests.tenant(id, serial).is_some_and(|r| r.place == Place::Handover(None)) {
                self.hand_over(id);
            }
        }
    }

    /// Time for the KV cache of a request's prompt from one replica to another.
    fn transfer_time(&self, id: RequestId, from: GroupId, to: GroupId) -> Span {
        let (Some(request), Some((spec, _))) = (self.requests.get(id), self.engine_spec(from)) else {
            return Span::ZERO;
        };
        let mut nodes = self.group_nodes(from);
        for node in self.group_nodes(to) {
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        let fabric: Fabric = self.fabric(&nodes);
        let bytes = memory::kv_bytes_per_token_per_gpu(&spec) * f64::from(request.prompt_tokens);
        Span::from_secs_f64(collectives::transfer_us(spec.gpu, fabric, bytes) / 1e6)
    }

    /// The prefill replica may forget the KV cache: the decode side has it, or nobody wants it.
    pub(super) fn release_kv(&mut self, id: RequestId) {
        let now = self.now;
        let Some(group) = self.requests.get_mut(id).and_then(|r| r.kv_at.take()) else { return };
        let mut events = self.take_scratch();
        if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
            engine.release_kv(now, id, &mut events);
        }
        self.after_engine(group, events);
    }
}
