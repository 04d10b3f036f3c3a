//! A world from a resolved scenario: racks, nodes up and warm, replicas where the scenario puts
//! them, and the first events.

use super::gateway::{Pace, Service};
use super::hpa_glue;
use super::metering::{self, Metering, price_of};
use super::{World, karpenter_glue, log, placement_glue, requests};
use crate::sim::catalog;
use crate::sim::cluster::{GpuSlot, Node, Rack};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, RackId, ServiceId};
use crate::sim::metrics::ledger::GpuState;
use crate::sim::param::Param;
use crate::sim::queue::EventQueue;
use crate::sim::setup::{NodeSetup, ServiceSetup, Setup, Share};
use crate::sim::snapshot::{GroupStage, NodeStage};
use crate::sim::time::{Span, Time};
use crate::sim::traffic::Source;
use std::sync::Arc;

/// The clocks of the metric path are not synchronised: each hop has its own phase.
const DCGM_FIRST: Span = Span::from_secs(10);
const SCRAPE_FIRST: Span = Span::from_secs(4);
const REVIEW_FIRST: Span = Span::from_secs(10);

/// Why a scenario cannot start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StartError {
    #[error("node `{node}`: the catalogue has no figures for its GPU `{gpu}`")]
    NoGpuFigures { node: String, gpu: String },
    #[error("traffic of service `{service}`: {problem}")]
    Traffic { service: String, problem: String },
    #[error("service `{service}`: node `{node}` has no room for a replica of {gpus} GPUs")]
    NoRoom { service: String, node: String, gpus: u32 },
    #[error("service `{service}` cannot serve on node `{node}`: {problem}")]
    Engine { service: String, node: String, problem: String },
}

impl World {
    /// # Errors
    /// What in the scenario contradicts itself, by name.
    pub fn new(setup: Arc<Setup>) -> Result<World, StartError> {
        let services = setup.services.iter().enumerate().map(|(i, s)| service(&setup, i, s));
        let mut world = World {
            seed: setup.seed,
            now: Time::ZERO,
            queue: EventQueue::default(),
            engines_due: Default::default(),
            policy: setup.policy.clone(),
            racks: racks(&setup),
            nodes: Vec::new(),
            pods: Vec::new(),
            groups: Vec::new(),
            services: services.collect::<Result<_, _>>()?,
            requests: requests::Requests::default(),
            placement: placement_glue::PlacementState::default(),
            karpenter: karpenter_glue::KarpenterState::default(),
            meter: Metering::new(&setup.services),
            log: log::DecisionLog::default(),
            nodes_bought: 0,
            costs: Default::default(),
            scratch: Vec::new(),
            settling: false,
            loading: super::loading::Loading::default(),
            setup: setup.clone(),
        };
        for node in &setup.nodes {
            world.add_running_node(node)?;
        }
        for (i, spec) in setup.services.iter().enumerate() {
            world.place_running_replicas(ServiceId::from_index(i), spec)?;
        }
        world.first_events();
        Ok(world)
    }

    fn add_running_node(&mut self, setup: &NodeSetup) -> Result<(), StartError> {
        let no_figures = || StartError::NoGpuFigures { node: setup.name.clone(), gpu: setup.instance.gpu.to_owned() };
        let gpu = catalog::gpu(setup.instance.gpu).ok_or_else(no_figures)?;
        let id = NodeId::from_index(self.nodes.len());
        let parts = setup.share.map_or(1, Share::parts).max(1);
        let images = (0..self.setup.services.len()).map(ServiceId::from_index);
        let images = images.filter(|s| self.setup.services[s.index()].image_cached).collect();
        self.nodes.push(Node {
            id,
            name: setup.name.as_str().into(),
            instance: setup.instance,
            gpu,
            rack: setup.rack,
            stage: NodeStage::Ready,
            stage_since: Time::ZERO,
            stages: Vec::new(),
            pool: setup.managed.then_some(0),
            created: Time::ZERO,
            granted: Time::ZERO,
            released: None,
            initialized_at: Some(Time::ZERO),
            last_pod_event: None,
            nominated_until: None,
            empty_since: Some(Time::ZERO),
            leave: None,
            share: setup.share,
            gpus: vec![GpuSlot::default(); (setup.instance.gpu_count * parts) as usize],
            cpu_m_used: 0,
            mem_mib_used: 0,
            images,
            disk: crate::sim::cluster::Disk::of(setup.instance),
            generation: 0,
        });
        let granted = self.meter.ledger.grant(Time::ZERO, id, setup.instance.gpu_count, price_of(setup.instance));
        debug_assert!(granted.is_ok(), "GPU counts of the catalogue share a price evenly");
        for gpu in (0..setup.instance.gpu_count).filter(|_| parts > 1) {
            let slices = vec![(GpuState::Empty, 1); parts as usize];
            let divided = self.meter.ledger.divide(Time::ZERO, id, gpu, &slices);
            debug_assert!(divided.is_ok(), "up to 8 equal parts");
        }
        self.refresh_node_gpus(id);
        Ok(())
    }

    /// Replicas that ran before the scenario starts: bound, loaded and serving.
    fn place_running_replicas(&mut self, service: ServiceId, spec: &ServiceSetup) -> Result<(), StartError> {
        self.service_mut(service).wanted = spec.replicas;
        for node in &spec.placed {
            let node = NodeId(*node);
            let name = self.node(node).name.to_string();
            if self.node(node).gpus_free() < spec.gpus() {
                return Err(StartError::NoRoom { service: spec.name.clone(), node: name, gpus: spec.gpus() });
            }
            let group = self.create_group(service);
            self.stock_node(node, service);
            for pod in self.group(group).pods.clone() {
                self.bind(pod, node);
                self.pod_mut(pod).image_at = Some(Time::ZERO);
            }
            self.start_warm(group, spec, name)?;
        }
        self.reconcile(service);
        Ok(())
    }

    fn start_warm(&mut self, group: GroupId, spec: &ServiceSetup, node: String) -> Result<(), StartError> {
        self.start_engine(group);
        if self.group(group).stage == GroupStage::Serving {
            return Ok(());
        }
        let problem = self.engine_spec(group).map(|(s, e)| crate::sim::engine::memory::start(&s, &e));
        let problem = match problem {
            Some(Err(e)) => e.to_string(),
            _ => String::new(),
        };
        Err(StartError::Engine { service: spec.name.clone(), node, problem })
    }

    fn first_events(&mut self) {
        self.log.clear();
        for (i, stamped) in self.setup.clone().script.iter().enumerate() {
            self.queue.push(stamped.at, Event::Script(i as u32));
        }
        for i in 0..self.services.len() {
            let id = ServiceId::from_index(i);
            self.await_arrival(id);
            if self.setup.services[i].scaled {
                self.after(hpa_glue::SYNC, Event::HpaSync(id));
                if self.policy.choice(Param::Scaler) == "manual" {
                    let wanted = i64::from(self.services[i].wanted);
                    let _ = self.policy.set(Param::ManualReplicas, wanted);
                }
            }
        }
        self.after(DCGM_FIRST, Event::DcgmWindow);
        self.after(SCRAPE_FIRST, Event::Scrape);
        self.after(Span::ZERO, Event::Sample);
        self.wake_scheduler();
        if self.karpenter_on() {
            self.karpenter.next_review = Some(self.now + REVIEW_FIRST);
            self.after(REVIEW_FIRST, Event::DisruptionDue);
        }
    }
}

fn racks(setup: &Setup) -> Vec<Rack> {
    let racks = setup.racks.iter().enumerate();
    let rack = racks.map(|(i, r)| Rack {
        id: RackId::from_index(i),
        name: r.name.as_str().into(),
        zone: r.zone.as_str().into(),
        block: r.block.as_str().into(),
        kind: r.kind,
        slots: r.slots,
    });
    rack.collect()
}

fn service(setup: &Setup, index: usize, spec: &ServiceSetup) -> Result<Service, StartError> {
    let stream = format!("traffic/{}", spec.name);
    let traffic = Source::new(&spec.traffic, setup.seed, &stream, setup.clock_at_start(), spec.trace.clone());
    let traffic = traffic.map_err(|problems| StartError::Traffic {
        service: spec.name.clone(),
        problem: problems.first().map(ToString::to_string).unwrap_or_default(),
    })?;
    Ok(Service {
        id: ServiceId::from_index(index),
        wanted: 0,
        next_ordinal: 0,
        groups: Vec::new(),
        endpoints: Default::default(),
        arrivals: 0,
        draws: ["backend", "tenant"].map(|what| format!("{what}/{}", spec.name).into()),
        held: 0,
        handovers: std::collections::VecDeque::new(),
        first_tokens: Pace::default(),
        spikes: spec.traffic.spikes.len() as u32,
        traffic,
        arrival_due: None,
        long_spikes: Vec::new(),
        backlog: std::collections::VecDeque::new(),
        timeouts: std::collections::VecDeque::new(),
        timeout_due: false,
        arrivals_since_sample: 0,
        ttft: metering::ttft_window(),
        hpa: Default::default(),
        hpa_view: None,
    })
}
