//! How a replica starts: image, weights and warm-up, up to the first step of its engine.
//!
//! Stages of fixed length end by an event of the group. Reading weights (or a checkpoint) is one
//! flow per node of the group over the links that its source passes, and ends when the last of
//! them does; what is shown as the end before that is an estimate, computed anew whenever any flow
//! starts or ends. Each node reads the whole model, as a plain download does. Two replicas that
//! start on one node at the same time each read their own: nothing coordinates their downloads, and
//! the node's disk has the weights only when a read is over.

use super::World;
use super::check::Broken;
use super::image_pulls::{Pull, PullAt};
use super::node_files::{compiled, file_of};
use crate::sim::catalog::Instance;
use crate::sim::cluster::PodPhase;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::engine::cold_start::{self, Bottleneck, ColdStage, Stage, WeightSource};
use crate::sim::engine::links::{FlowId, Held, Links};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::{Span, Time};
use crate::sim::wait::{Wait, WaitReason};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything on its way to nodes and GPUs.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Loading {
    pub(super) links: Links,
    /// The time for which a link event is in the heap, and which of them is valid.
    pub(super) due: Option<Time>,
    pub(super) generation: u32,
    pub(super) pulls: Vec<Pull>,
    pub(super) starts: BTreeMap<GroupId, Start>,
}

/// A container that has started and whose engine is not up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Start {
    since: Time,
    at: At,
    compile_cached: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
enum At {
    /// Stages of known length, one after the other, and what comes then.
    Fixed { stages: Vec<(Stage, Span)>, then: Then },
    /// What is still to be read.
    Reading { stage: Stage, reads: Vec<Read> },
    /// The container failed.
    BackOff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum Then {
    Read,
    WarmUp,
    Engine,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Read {
    node: NodeId,
    flow: FlowId,
    source: WeightSource,
}

impl World {
    pub(super) fn on_image_pulled(&mut self, pod: PodId) {
        let now = self.now;
        let p = self.pod(pod);
        let group = p.group;
        if p.node.is_none() || p.phase != PodPhase::Bound || p.image_at.is_some() {
            return;
        }
        self.pod_mut(pod).image_at = Some(now);
        self.set_member_waits(group);
        self.refresh_image_end(group);
        self.start_weights_if_pulled(group);
    }

    /// When the last image of a complete group is there.
    pub(super) fn refresh_image_end(&mut self, group: GroupId) {
        let g = self.group(group);
        if g.stage == GroupStage::Image {
            let waits = g.pods.iter().map(|p| self.pod(*p)).filter(|p| p.image_at.is_none());
            let until = waits.filter_map(|p| p.wait.until).max();
            self.group_mut(group).stage_until = until;
        }
    }

    /// Once all members are bound and have their image, the containers start.
    pub(super) fn start_weights_if_pulled(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group(group);
        if g.stage != GroupStage::Image || g.pods.iter().any(|p| self.pod(*p).image_at.is_none()) {
            return;
        }
        let image = now.since(g.stage_since);
        self.group_mut(group).image = image;
        self.start_container(group);
    }

    /// The containers of a replica start, for the first time or after a crash.
    fn start_container(&mut self, group: GroupId) {
        let now = self.now;
        let Some((spec, _)) = self.engine_spec(group) else { return };
        let restore = self.restores();
        let (_, _, warm_up) = self.expected(group);
        self.group_mut(group).warm_up = warm_up;
        self.enter_stage(group, GroupStage::Weights, None);
        let at = if restore {
            At::Reading { stage: Stage::CheckpointRead, reads: Vec::new() }
        } else {
            let stages = vec![(Stage::ProcessStart, cold_start::process_start_time(&spec))];
            At::Fixed { stages, then: Then::Read }
        };
        self.loading.starts.insert(group, Start { since: now, at, compile_cached: false });
        if restore {
            self.start_reading(group, Stage::CheckpointRead);
        } else {
            self.end_stage_after(group, cold_start::process_start_time(&spec));
            self.refresh_reads();
        }
        if self.policy.choice(Param::Readiness) == "container" {
            self.claim_ready(group);
        }
    }

    /// Enters a stage. With a `length` it ends by itself then.
    pub(super) fn enter_stage(&mut self, group: GroupId, stage: GroupStage, length: Option<Span>) {
        let now = self.now;
        let until = length.map(|l| now + l);
        let g = self.group_mut(group);
        g.stage = stage;
        g.stage_since = now;
        g.stage_until = until;
        g.generation += 1;
        let reason = match stage {
            GroupStage::Weights => Some(WaitReason::Weights),
            GroupStage::WarmUp => Some(WaitReason::WarmUp),
            _ => None,
        };
        if let Some(reason) = reason {
            for pod in self.group(group).pods.clone() {
                self.pod_mut(pod).wait = Wait { reason, since: now, gpus_missing: 0, until };
            }
        }
        if let Some(length) = length {
            self.end_stage_after(group, length);
        }
        self.refresh_group_gpus(group);
    }

    fn end_stage_after(&mut self, group: GroupId, length: Span) {
        let g = self.group_mut(group);
        g.generation += 1;
        let generation = g.generation;
        self.after(length, Event::StageEnd { group, generation });
    }

    pub(super) fn on_stage_end(&mut self, group: GroupId, generation: u32) {
        if self.group(group).generation != generation {
            return;
        }
        let Some(start) = self.loading.starts.get(&group) else { return };
        match start.at {
            At::Fixed { then: Then::Read, .. } => self.start_reading(group, Stage::WeightsRead),
            At::Fixed { then: Then::WarmUp, .. } => self.warm_up(group),
            At::Fixed { then: Then::Engine, .. } => self.end_warm_up(group),
            At::BackOff => self.start_container(group),
            At::Reading { .. } => {}
        }
    }

    /// One read per node of the group: from its disk if that has the file, else from the source.
    fn start_reading(&mut self, group: GroupId, stage: Stage) {
        let now = self.now;
        let Some((spec, _)) = self.engine_spec(group) else { return };
        let (kept, bytes) = file_of(stage, &spec);
        let mut reads = Vec::new();
        for node in self.group_nodes(group) {
            let source = self.source_on(node, kept);
            let limit = match stage {
                Stage::CheckpointRead => cold_start::checkpoint_bytes_per_s(source),
                _ => source.bytes_per_s(),
            };
            let over = source.links(node, |link| self.capacity(link));
            reads.push(Read { node, flow: self.loading.links.start(now, bytes, limit, &over), source });
        }
        if let Some(start) = self.loading.starts.get_mut(&group) {
            *start = Start { since: now, at: At::Reading { stage, reads }, ..*start };
        }
        self.links_changed();
    }

    /// A flow that was no image is over: a node has read its file.
    pub(super) fn on_read(&mut self, flow: FlowId) {
        let found = self.loading.starts.iter_mut().find_map(|(group, start)| match &mut start.at {
            At::Reading { stage, reads } => {
                let i = reads.iter().position(|r| r.flow == flow)?;
                Some((*group, *stage, reads.remove(i).node, reads.is_empty()))
            }
            _ => None,
        });
        let Some((group, stage, node, last)) = found else { return };
        let Some((spec, _)) = self.engine_spec(group) else { return };
        let (kept, bytes) = file_of(stage, &spec);
        if self.keeps_files() {
            self.node_mut(node).disk.keep(kept, bytes);
        }
        if !last {
            return;
        }
        let read = self.loading.starts.get(&group).map_or(Span::ZERO, |s| self.now.since(s.since));
        let copy = cold_start::hbm_copy_time(&spec) - read;
        if stage == Stage::CheckpointRead || copy == Span::ZERO {
            self.warm_up(group);
            return;
        }
        self.set_fixed(group, vec![(Stage::HbmLoad, copy)], Then::WarmUp);
        self.end_stage_after(group, copy);
        self.refresh_reads();
    }

    fn set_fixed(&mut self, group: GroupId, stages: Vec<(Stage, Span)>, then: Then) {
        let now = self.now;
        if let Some(start) = self.loading.starts.get_mut(&group) {
            *start = Start { since: now, at: At::Fixed { stages, then }, ..*start };
        }
    }

    /// The weights are in the GPUs' memory.
    fn warm_up(&mut self, group: GroupId) {
        let now = self.now;
        let Some((spec, _)) = self.engine_spec(group) else { return };
        let restored = matches!(
            self.loading.starts.get(&group).map(|s| &s.at),
            Some(At::Reading { stage: Stage::CheckpointRead, .. })
        );
        let compile_cached = self.compile_cached(group, &spec);
        let stages =
            if restored { cold_start::restore_stages(&spec) } else { cold_start::engine_stages(&spec, compile_cached) };
        let length = total(&stages);
        let g = self.group_mut(group);
        g.weights = now.since(g.stage_since);
        g.warm_up = length;
        self.set_fixed(group, stages, Then::Engine);
        if let Some(start) = self.loading.starts.get_mut(&group) {
            start.compile_cached = compile_cached;
        }
        self.enter_stage(group, GroupStage::WarmUp, Some(length));
    }

    /// The engine is up, or it refuses to start.
    fn end_warm_up(&mut self, group: GroupId) {
        let now = self.now;
        if let (true, Some((spec, _))) = (self.keeps_files(), self.engine_spec(group)) {
            for node in self.group_nodes(group) {
                self.node_mut(node).disk.keep(compiled(&spec), 0);
            }
        }
        self.loading.starts.remove(&group);
        self.start_engine(group);
        if self.group(group).engine.is_some() {
            self.end_early_readiness(group);
            if self.group(group).standby {
                self.log(Who::Kubelet, Verdict::SpareLoaded { group }, Tone::Neutral);
            }
        } else {
            self.leave_endpoints(group);
            self.group_mut(group).ready_early = false;
            self.loading.starts.insert(group, Start { since: now, at: At::BackOff, compile_cached: false });
        }
    }

    /// A replica goes away before its engine is up: its reads stop.
    pub(super) fn stop_loading(&mut self, group: GroupId) {
        let now = self.now;
        self.group_mut(group).ready_early = false;
        let Some(start) = self.loading.starts.remove(&group) else { return };
        if let At::Reading { reads, .. } = start.at {
            for read in reads {
                self.loading.links.stop(now, read.flow);
            }
            self.links_changed();
        }
    }

    /// Estimates of all replicas whose weights are on their way.
    pub(super) fn refresh_reads(&mut self) {
        for group in self.loading.starts.keys().copied().collect::<Vec<_>>() {
            let g = self.group(group);
            if g.stage != GroupStage::Weights {
                continue;
            }
            let since = g.stage_since;
            let Some(until) = self.weights_end(group) else { continue };
            let g = self.group_mut(group);
            g.stage_until = Some(until);
            g.weights = until.since(since);
            for pod in self.group(group).pods.clone() {
                self.pod_mut(pod).wait.until = Some(until);
            }
        }
    }

    /// When the weights of a replica are in its GPUs, if the links stay as they are.
    fn weights_end(&self, group: GroupId) -> Option<Time> {
        let (spec, _) = self.engine_spec(group)?;
        let start = self.loading.starts.get(&group)?;
        Some(match &start.at {
            At::Reading { stage, reads } => {
                let read = reads.iter().filter_map(|r| self.loading.links.ends(r.flow)).max()?;
                let copy = cold_start::hbm_copy_time(&spec) - read.since(start.since);
                if *stage == Stage::CheckpointRead { read } else { read + copy }
            }
            At::Fixed { stages, then: Then::Read } => {
                let (_, weights, _) = self.expected(group);
                start.since + total(stages) + weights
            }
            At::Fixed { stages, .. } => start.since + total(stages),
            At::BackOff => return None,
        })
    }

    /// Process start, reading and warm-up of a replica on idle links, for estimates.
    fn expected(&self, group: GroupId) -> (Span, Span, Span) {
        let Some((spec, _)) = self.engine_spec(group) else { return (Span::ZERO, Span::ZERO, Span::ZERO) };
        let restore = self.restores();
        let (kept, bytes) = file_of(if restore { Stage::CheckpointRead } else { Stage::WeightsRead }, &spec);
        let slowest = self.group_nodes(group).into_iter().map(|node| {
            let source = self.source_on(node, kept);
            let rate = source.links(node, |link| self.capacity(link)).into_iter().map(|(_, c)| c);
            let limit = if restore { cold_start::checkpoint_bytes_per_s(source) } else { source.bytes_per_s() };
            rate.fold(limit, f64::min)
        });
        let rate = slowest.fold(f64::INFINITY, f64::min);
        let read = Span::from_secs_f64(cold_start::weights_read_s(bytes as f64, rate));
        if restore {
            return (Span::ZERO, read, total(&cold_start::restore_stages(&spec)));
        }
        let weights = read.max(cold_start::hbm_copy_time(&spec));
        let stages = cold_start::engine_stages(&spec, self.compile_cached(group, &spec));
        (cold_start::process_start_time(&spec), weights, total(&stages))
    }

    /// Share of a replica's start that is done, by the time that it is expected to take: 0 before
    /// all its pods have a node, 1 when its engine is up.
    pub(super) fn loading_progress(&self, group: GroupId) -> f32 {
        let g = self.group(group);
        let to_end = g.stage_until.map_or(Span::ZERO, |t| t.since(self.now));
        let left = match g.stage {
            GroupStage::Pending => return 0.0,
            GroupStage::Image => {
                let (process, weights, warm_up) = self.expected(group);
                to_end + process + weights + warm_up
            }
            GroupStage::Weights => to_end + g.warm_up,
            GroupStage::WarmUp => to_end,
            GroupStage::Serving | GroupStage::Draining | GroupStage::Gone => return 1.0,
        };
        let done = self.now.since(g.complete_at.unwrap_or(g.created)).secs_f64();
        (done / (done + left.secs_f64()).max(1e-9)).min(1.0) as f32
    }

    /// The stage of a replica's start, finer than [`GroupStage`], with the time that it began, its
    /// expected end, and what it waits for. `None` before it is complete and once it serves.
    pub fn cold_stage(&self, group: GroupId) -> Option<ColdStage> {
        let g = self.groups.get(group.index())?;
        match g.stage {
            GroupStage::Image => {
                // The pod whose image comes last.
                let stages = g.pods.iter().filter_map(|p| self.image_stage(*p));
                stages.reduce(|a, b| if b.until > a.until { b } else { a })
            }
            GroupStage::Weights | GroupStage::WarmUp => self.start_stage(group),
            _ => None,
        }
    }

    fn start_stage(&self, group: GroupId) -> Option<ColdStage> {
        let start = self.loading.starts.get(&group)?;
        match &start.at {
            At::BackOff => {
                let until = self.group(group).stage_until;
                Some(ColdStage { stage: Stage::BackOff, since: start.since, until, waits_for: Bottleneck::BackOff })
            }
            At::Fixed { stages, .. } => {
                let mut since = start.since;
                let running = stages.iter().find(|(_, length)| {
                    let over = since + *length <= self.now;
                    if over {
                        since += *length;
                    }
                    !over
                });
                let (stage, length) = running.or(stages.last())?;
                let waits_for = Bottleneck::of_stage(*stage, start.compile_cached)?;
                Some(ColdStage { stage: *stage, since, until: Some(since + *length), waits_for })
            }
            At::Reading { stage, reads } => {
                let links = &self.loading.links;
                let last = reads.iter().max_by_key(|r| links.ends(r.flow))?;
                let waits_for = last.source.bottleneck(links.held(last.flow).unwrap_or(Held::Client));
                Some(ColdStage { stage: *stage, since: start.since, until: links.ends(last.flow), waits_for })
            }
        }
    }
}

impl Loading {
    /// Flows that pulls and reads own, sorted.
    fn owned(&self) -> Vec<FlowId> {
        let pulls = self.pulls.iter().filter_map(|p| match p.at {
            PullAt::Download(flow) => Some(flow),
            PullAt::Unpack { .. } => None,
        });
        let reads = self.starts.values().flat_map(|s| match &s.at {
            At::Reading { reads, .. } => reads.as_slice(),
            _ => &[],
        });
        let mut owned: Vec<FlowId> = pulls.chain(reads.map(|r| r.flow)).collect();
        owned.sort();
        owned
    }
}

impl World {
    /// Every flow has one owner, and whoever loads is in a stage that loads, and the other way round.
    pub(super) fn check_loading(&self) -> Result<(), Broken> {
        if self.loading.owned() != self.loading.links.ids().collect::<Vec<_>>() {
            return Err(Broken::Flows);
        }
        let loads = |g: &GroupId| matches!(self.group(*g).stage, GroupStage::Weights | GroupStage::WarmUp);
        if let Some(group) = self.loading.starts.keys().find(|g| !loads(g)) {
            return Err(Broken::Loading(*group));
        }
        let lost = self.living_groups().find(|g| loads(&g.id) && !self.loading.starts.contains_key(&g.id));
        lost.map_or(Ok(()), |g| Err(Broken::Loading(g.id)))
    }
}

fn total(stages: &[(Stage, Span)]) -> Span {
    stages.iter().fold(Span::ZERO, |sum, (_, s)| sum + *s)
}

/// A node's network where the catalogue does not state it: 10 Gbit/s.
const NIC_BYTES_PER_S: f64 = 1.25e9;

pub(super) fn nic_bytes_per_s(instance: &Instance) -> f64 {
    instance.network_gbit_s.map_or(NIC_BYTES_PER_S, |gbit| gbit * 1e9 / 8.0)
}
