//! How a replica starts: image, weights and warm-up, up to the first step of its engine.

use super::World;
use crate::sim::catalog::Instance;
use crate::sim::cluster::PodPhase;
use crate::sim::engine::cold_start::{self, ColdStart, Image, Stage, WeightSource};
use crate::sim::event::Event;
use crate::sim::id::{GroupId, NodeId, PodId};
use crate::sim::snapshot::GroupStage;
use crate::sim::time::Span;
use crate::sim::wait::{Wait, WaitReason};

impl World {
    pub(super) fn on_image_pulled(&mut self, pod: PodId) {
        let now = self.now;
        let p = self.pod(pod);
        let (group, Some(node)) = (p.group, p.node) else { return };
        if p.phase != PodPhase::Bound || p.image_at.is_some() {
            return;
        }
        self.pod_mut(pod).image_at = Some(now);
        let service = self.group(group).service;
        let n = self.node_mut(node);
        if !n.images.contains(&service) {
            n.images.push(service);
        }
        self.set_member_waits(group);
        self.start_weights_if_pulled(group);
    }

    /// Once all members are bound and have their image, the weights are read.
    pub(super) fn start_weights_if_pulled(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group(group);
        if g.stage != GroupStage::Image || g.pods.iter().any(|p| self.pod(*p).image_at.is_none()) {
            return;
        }
        let since = g.stage_since;
        let (weights, warm_up) = self.load_times(group);
        let g = self.group_mut(group);
        g.image = now.since(since);
        g.weights = weights;
        g.warm_up = warm_up;
        self.enter_stage(group, GroupStage::Weights, Some(weights));
    }

    pub(super) fn enter_stage(&mut self, group: GroupId, stage: GroupStage, length: Option<Span>) {
        let now = self.now;
        let g = self.group_mut(group);
        g.stage = stage;
        g.stage_since = now;
        g.stage_until = length.map(|l| now + l);
        g.generation += 1;
        let generation = g.generation;
        let reason = match stage {
            GroupStage::Weights => Some(WaitReason::Weights),
            GroupStage::WarmUp => Some(WaitReason::WarmUp),
            _ => None,
        };
        if let Some(reason) = reason {
            for pod in self.group(group).pods.clone() {
                self.pod_mut(pod).wait = Wait { reason, since: now, gpus_missing: 0, until: length.map(|l| now + l) };
            }
        }
        if let Some(length) = length {
            self.after(length, Event::StageEnd { group, generation });
        }
        self.refresh_group_gpus(group);
    }

    pub(super) fn on_stage_end(&mut self, group: GroupId, generation: u32) {
        let g = self.group(group);
        if g.generation != generation {
            return;
        }
        match g.stage {
            GroupStage::Weights => {
                let (service, warm_up) = (g.service, g.warm_up);
                for node in self.group_nodes(group) {
                    let n = self.node_mut(node);
                    if !n.weights.contains(&service) {
                        n.weights.push(service);
                    }
                }
                self.enter_stage(group, GroupStage::WarmUp, Some(warm_up));
            }
            GroupStage::WarmUp => self.start_engine(group),
            _ => {}
        }
    }

    /// Time to read the weights, and from there to ready.
    pub(super) fn load_times(&self, group: GroupId) -> (Span, Span) {
        let Some((spec, _)) = self.engine_spec(group) else { return (Span::ZERO, Span::ZERO) };
        let service = self.group(group).service;
        let nodes = self.group_nodes(group);
        let cached = nodes.iter().all(|n| self.node(*n).weights.contains(&service));
        let start = ColdStart {
            spec,
            image: Image::vllm(true),
            weights: if cached { WeightSource::LocalNvme } else { WeightSource::ObjectStore },
            compile_cached: cached,
            node_bytes_per_s: nodes.first().map_or(NIC_BYTES_PER_S, |n| nic_bytes_per_s(self.node(*n).instance)),
        };
        let (mut weights, mut warm_up) = (Span::ZERO, Span::ZERO);
        for (stage, span) in cold_start::stages(&start) {
            match stage {
                Stage::ImagePull | Stage::ImageUnpack => {}
                Stage::ProcessStart | Stage::WeightsRead | Stage::HbmLoad => weights += span,
                Stage::TorchCompile | Stage::Profiling | Stage::CudaGraphs | Stage::WarmUp => warm_up += span,
            }
        }
        (weights, warm_up)
    }

    /// Time to have the image on a node: pull and unpack, or a look at the disk.
    pub(super) fn image_pull(&self, node: NodeId, cached: bool) -> Span {
        cold_start::image_time(&Image::vllm(cached), nic_bytes_per_s(self.node(node).instance))
    }
}

/// A node's network where the catalogue does not state it: 10 Gbit/s.
const NIC_BYTES_PER_S: f64 = 1.25e9;

fn nic_bytes_per_s(instance: &Instance) -> f64 {
    instance.network_gbit_s.map_or(NIC_BYTES_PER_S, |gbit| gbit * 1e9 / 8.0)
}
