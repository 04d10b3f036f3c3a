//! Checkers: what must hold at every instant. Run every step in tests, and on demand.

use super::World;
use super::requests::Place;
use crate::sim::cluster::PodPhase;
use crate::sim::id::{GroupId, NodeId, PodId, ServiceId};
use crate::sim::metrics::ledger::Mismatch;
use crate::sim::snapshot::RequestTotals;
use std::collections::BTreeMap;

/// An invariant that does not hold: a fault of the lab.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Broken {
    #[error("the ledger's states do not sum to the bill: {0}")]
    Ledger(#[from] Mismatch),
    #[error("request outcomes do not sum to the offered ones: {0:?}")]
    Requests(RequestTotals),
    #[error("{alive} requests are under way, {unfinished} are counted as unfinished")]
    UnderWay { alive: usize, unfinished: u64 },
    #[error("pod {pod:?} holds {held} GPUs on node {node:?}, and should hold {wanted}")]
    Gpus { pod: PodId, node: NodeId, held: u32, wanted: u32 },
    #[error("GPUs of node {node:?} are held by pod {pod:?}, which is not there")]
    Ghost { pod: PodId, node: NodeId },
    #[error("CPU or memory of node {0:?} does not add up")]
    CpuMemory(NodeId),
    #[error("KAI started {bound} of {min_member} pods of {group:?}")]
    PartialGang { group: GroupId, bound: u32, min_member: u32 },
    #[error("the gateway's view of {0:?} is not what its engine has")]
    Endpoint(GroupId),
    #[error("{counted} requests are held at the gateway of {service:?}, {held} are there")]
    Held { service: ServiceId, counted: u32, held: u32 },
    #[error("{group:?} keeps {held} computed prompts, {wanted} requests wait for theirs")]
    Handover { group: GroupId, held: u32, wanted: u32 },
    #[error("flows over links do not belong to pulls and reads one to one")]
    Flows,
    #[error("{0:?} loads in a stage that does not")]
    Loading(GroupId),
}

impl World {
    /// # Errors
    /// The first invariant that does not hold now.
    pub fn check_invariants(&self) -> Result<(), Broken> {
        self.meter.ledger.check(self.now)?;
        self.check_requests()?;
        self.check_gpus()?;
        self.check_gangs()?;
        self.check_gateway()?;
        self.check_loading()
    }

    fn check_requests(&self) -> Result<(), Broken> {
        let t = self.requests.totals();
        let sum = t.met + t.late + t.timed_out + t.rejected + t.failed + t.lost + t.degraded + t.unfinished;
        if sum != t.offered {
            return Err(Broken::Requests(t));
        }
        let mut by_client = RequestTotals::default();
        for service in (0..self.services.len()).map(ServiceId::from_index) {
            self.requests.of_service(service).iter().for_each(|account| by_client.add(account));
        }
        if by_client != t {
            return Err(Broken::Requests(by_client));
        }
        let alive = self.requests.under_way();
        if alive as u64 != t.unfinished {
            return Err(Broken::UnderWay { alive, unfinished: t.unfinished });
        }
        Ok(())
    }

    fn check_gpus(&self) -> Result<(), Broken> {
        for n in self.nodes.iter().filter(|n| !n.is_released()) {
            let mut held: BTreeMap<PodId, u32> = BTreeMap::new();
            for pod in n.gpus.iter().filter_map(|s| s.pod) {
                *held.entry(pod).or_default() += 1;
            }
            let (mut cpu_m, mut mem_mib) = (0, 0);
            for (pod, held) in held {
                let p = self.pod(pod);
                if p.node != Some(n.id) || !matches!(p.phase, PodPhase::Bound | PodPhase::Releasing) {
                    return Err(Broken::Ghost { pod, node: n.id });
                }
                let spec = &self.setup.services[self.group(p.group).service.index()];
                if held != spec.gpus_per_worker {
                    return Err(Broken::Gpus { pod, node: n.id, held, wanted: spec.gpus_per_worker });
                }
                cpu_m += spec.cpu_m;
                mem_mib += spec.mem_mib;
            }
            if (cpu_m, mem_mib) != (n.cpu_m_used, n.mem_mib_used) {
                return Err(Broken::CpuMemory(n.id));
            }
        }
        for p in self.pods.iter().filter(|p| matches!(p.phase, PodPhase::Bound | PodPhase::Releasing)) {
            let there = p.node.is_some_and(|n| self.node(n).gpus.iter().any(|s| s.pod == Some(p.id)));
            if let (false, Some(node)) = (there, p.node) {
                return Err(Broken::Ghost { pod: p.id, node });
            }
        }
        Ok(())
    }

    /// What the gateway counts is what is there: endpoints, held requests, prompts on their way.
    fn check_gateway(&self) -> Result<(), Broken> {
        for s in &self.services {
            for group in &s.groups {
                let g = self.group(*group);
                let there = s.endpoints.position(*group);
                let load = there.map(|at| s.endpoints.load(at));
                let engine = g.engine.as_deref().map_or((0, 0), |e| (e.running() + e.waiting(), e.waiting()));
                let leaving = g.drain.is_some();
                if there.is_none() && g.routable() || there.is_some() && !g.routable() && !leaving {
                    return Err(Broken::Endpoint(*group));
                }
                if load.is_some_and(|load| load != engine) {
                    return Err(Broken::Endpoint(*group));
                }
                let held = g.engine.as_deref().map_or(0, |e| e.held());
                let wanted = self.requests.iter().filter(|r| r.kv_at == Some(*group)).count() as u32;
                if held != wanted {
                    return Err(Broken::Handover { group: *group, held, wanted });
                }
            }
            let held = self.requests.iter().filter(|r| r.place == Place::Held && r.backend == s.id).count() as u32;
            if held != s.held {
                return Err(Broken::Held { service: s.id, counted: s.held, held });
            }
        }
        Ok(())
    }

    /// Under KAI a gang that has not started holds all of its minimum or nothing.
    fn check_gangs(&self) -> Result<(), Broken> {
        for g in self.living_groups().filter(|g| g.scheduler == super::placement_glue::KAI) {
            let bound = self.bound_pods(g.id);
            if bound > 0 && bound < g.min_member {
                return Err(Broken::PartialGang { group: g.id, bound, min_member: g.min_member });
            }
        }
        Ok(())
    }
}
