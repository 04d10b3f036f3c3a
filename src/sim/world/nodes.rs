//! Nodes: bought, booted stage by stage, drained, moved, given back.

use super::World;
use crate::sim::catalog::{self, Instance};
use crate::sim::cluster::{Disk, DrainCause, GpuSlot, Leave, Node, PodPhase};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, RackId};
use crate::sim::nodes::bring_up::{self, Stage};
use crate::sim::rng::Stream;
use crate::sim::snapshot::NodeStage;
use crate::sim::time::{Span, Time};
use std::sync::Arc;

impl World {
    /// Adds a node that is still with the cloud; it boots stage by stage. `None` if the catalogue
    /// has no efficiency figures for its GPU, so that no replica could run on it.
    pub(super) fn buy_node(&mut self, instance: &'static Instance, rack: RackId, pool: Option<u32>) -> Option<NodeId> {
        let gpu = catalog::gpu(instance.gpu)?;
        let id = NodeId::from_index(self.nodes.len());
        let now = self.now;
        let stages = self.bring_up_stages(instance.gpu_count, Stage::Launching);
        let first = stages.first().copied()?;
        let granted = first.1;
        self.nodes.push(Node {
            id,
            name: self.free_node_name(instance),
            instance,
            gpu,
            rack,
            stage: NodeStage::Launching,
            stage_since: now,
            stages,
            pool,
            created: now,
            granted,
            released: None,
            initialized_at: None,
            last_pod_event: None,
            nominated_until: None,
            empty_since: None,
            leave: None,
            share: None,
            gpus: vec![GpuSlot::default(); instance.gpu_count as usize],
            cpu_m_used: 0,
            mem_mib_used: 0,
            images: Vec::new(),
            disk: Disk::of(instance),
            generation: 0,
        });
        self.queue.push(first.1, Event::NodeStageEnd { node: id, generation: 0 });
        Some(id)
    }

    /// Ends of the bring-up stages from `from` on. A node's draws depend on its own ordinal only.
    fn bring_up_stages(&mut self, gpu_count: u32, from: Stage) -> Vec<(NodeStage, Time)> {
        let mut draws = Stream::with_ordinal(self.seed, "node-bring-up", self.nodes_bought);
        self.nodes_bought += 1;
        let u = std::array::from_fn(|_| draws.uniform());
        let times = bring_up::stage_times(gpu_count, self.setup.driver, u);
        let mut stages: Vec<(NodeStage, Time)> = Vec::new();
        let mut at = self.now;
        for (stage, span) in times.iter().filter(|(s, _)| *s >= from && *s <= Stage::DevicePlugin) {
            at += *span;
            let stage = match stage {
                Stage::Launching => NodeStage::Launching,
                Stage::Booting => NodeStage::Booting,
                Stage::Registering => NodeStage::Registering,
                _ => NodeStage::GpuStack,
            };
            match stages.last_mut() {
                Some(last) if last.0 == stage => last.1 = at,
                _ => stages.push((stage, at)),
            }
        }
        stages
    }

    /// `gb-1`, `hgx-2`, `l40s-3`: a short family name and the first free number.
    fn free_node_name(&self, instance: &Instance) -> Arc<str> {
        let family = instance.gpu.split('-').next().unwrap_or("gpu");
        (1..)
            .map(|n| format!("{family}-{n}"))
            .find(|name| !self.nodes.iter().any(|node| *node.name == **name))
            .unwrap_or_default()
            .into()
    }

    pub(super) fn on_node_stage_end(&mut self, node: NodeId, generation: u32) {
        let now = self.now;
        let n = self.node_mut(node);
        if n.generation != generation || n.stages.is_empty() {
            return;
        }
        let (ended, _) = n.stages.remove(0);
        let took = now.since(n.stage_since);
        n.stage_since = now;
        let next = n.stages.first().copied();
        n.stage = next.map_or(NodeStage::Ready, |(s, _)| s);
        match next {
            Some((_, at)) => {
                self.queue.push(at, Event::NodeStageEnd { node, generation });
                if ended == NodeStage::Launching {
                    self.start_meter(node);
                }
                self.log(Who::Cloud, Verdict::NodeReached { node, stage: self.node(node).stage, took }, Tone::Neutral);
                self.refresh_nominated_waits(node);
            }
            None => self.node_ready(node, took),
        }
    }

    fn node_ready(&mut self, node: NodeId, took: Span) {
        let now = self.now;
        let n = self.node_mut(node);
        n.initialized_at = Some(now);
        n.empty_since = Some(now);
        let image_everywhere: Vec<_> = (0..self.services.len())
            .filter(|i| self.setup.services[*i].image_cached)
            .map(crate::sim::id::ServiceId::from_index)
            .collect();
        self.node_mut(node).images.extend(image_everywhere);
        self.log(Who::Cloud, Verdict::NodeReached { node, stage: NodeStage::Ready, took }, Tone::Good);
        self.refresh_node_gpus(node);
        self.on_node_initialized(node);
        self.cluster_changed();
    }

    /// Taints a node and evicts its replicas; once empty it leaves or moves.
    pub(super) fn empty_node(&mut self, node: NodeId, leave: Leave, cause: DrainCause) {
        let now = self.now;
        let n = self.node_mut(node);
        n.leave = Some(leave);
        if n.stage == NodeStage::Ready {
            n.stage = NodeStage::Draining;
            n.stage_since = now;
        }
        for group in self.groups_on(node) {
            let grace = self.grace(self.group(group).service);
            self.start_drain(group, cause, grace);
        }
        self.refresh_node_gpus(node);
        self.on_pod_gone(node);
    }

    /// Living groups with a pod on the node.
    pub(super) fn groups_on(&self, node: NodeId) -> Vec<GroupId> {
        let mut groups: Vec<GroupId> =
            self.node(node).gpus.iter().filter_map(|s| s.pod).map(|p| self.pod(p).group).collect();
        groups.sort();
        groups.dedup();
        groups
    }

    /// A pod left a node: a leaving node that is empty goes.
    pub(super) fn on_pod_gone(&mut self, node: NodeId) {
        let n = self.node(node);
        let Some(leave) = n.leave else { return };
        if !n.is_empty() || n.is_released() {
            return;
        }
        match leave {
            Leave::Release => self.release_node(node),
            Leave::MoveTo(rack) => self.carry_node(node, rack),
        }
    }

    /// Gives a node back: the price meter stops.
    fn release_node(&mut self, node: NodeId) {
        let now = self.now;
        self.stop_pulls(node);
        self.stop_meter(node);
        let n = self.node_mut(node);
        n.stage = NodeStage::Released;
        n.stage_since = now;
        n.stages.clear();
        n.released = Some(now);
        n.generation += 1;
        let paid = self.node_paid(node);
        self.log(Who::Cloud, Verdict::NodeReleased { node, paid }, Tone::Neutral);
        for pod in self.pods.iter_mut().filter(|p| p.phase == PodPhase::Pending && p.nominated == Some(node)) {
            pod.nominated = None;
        }
        self.cluster_changed();
    }

    /// Puts an empty node into another rack; it is paid for while it boots again there.
    fn carry_node(&mut self, node: NodeId, rack: RackId) {
        let now = self.now;
        self.stop_pulls(node);
        let gpu_count = self.node(node).instance.gpu_count;
        let stages = self.bring_up_stages(gpu_count, Stage::Booting);
        let n = self.node_mut(node);
        n.rack = rack;
        n.leave = None;
        n.generation += 1;
        n.stages = stages;
        n.stage = NodeStage::Booting;
        n.stage_since = now;
        n.initialized_at = None;
        n.empty_since = None;
        let (generation, at) = (n.generation, n.stages.first().map_or(now, |s| s.1));
        self.queue.push(at, Event::NodeStageEnd { node, generation });
        self.refresh_node_gpus(node);
        self.cluster_changed();
    }

    /// Node slots of a rack that are taken: nodes in it, and nodes on their way to it.
    pub(super) fn slots_used(&self, rack: RackId) -> u32 {
        let here = self.nodes.iter().filter(|n| !n.is_released());
        here.filter(|n| n.rack == rack || n.leave == Some(Leave::MoveTo(rack))).count() as u32
    }

    /// Where the cloud puts a machine of this type: the first rack of the zone with room.
    pub(super) fn rack_for(&self, instance: &Instance, zone: &str) -> Option<RackId> {
        self.racks.iter().find(|r| *r.zone == *zone && self.check_place(instance, r.id, None).is_ok()).map(|r| r.id)
    }
}
