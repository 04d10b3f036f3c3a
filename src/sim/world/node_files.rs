//! What the disks of nodes have for the next start: weights, checkpoints, compile artefacts.
//!
//! Kept by model and number format, so that services of one model share them, and only while the
//! node cache is on. Writing to the disk overlaps reading from the source and takes no time.

use super::World;
use crate::sim::cluster::Kept;
use crate::sim::engine::EngineSpec;
use crate::sim::engine::cold_start::{self, Stage, WeightSource};
use crate::sim::id::{GroupId, NodeId, ServiceId};
use crate::sim::param::Param;

impl World {
    pub(super) fn source_on(&self, node: NodeId, kept: Kept) -> WeightSource {
        if self.keeps_files() && self.node(node).disk.holds(kept) {
            return WeightSource::LocalNvme;
        }
        match self.policy.choice(Param::WeightsFrom) {
            "streamer" => WeightSource::ObjectStoreStreamer,
            "files" => WeightSource::SharedFiles,
            "block_volume" => WeightSource::BlockVolume,
            _ => WeightSource::ObjectStore,
        }
    }

    pub(super) fn restores(&self) -> bool {
        self.policy.choice(Param::Restore) == "on"
    }

    pub(super) fn keeps_files(&self) -> bool {
        self.policy.choice(Param::NodeCache) == "on"
    }

    pub(super) fn compile_cached(&self, group: GroupId, spec: &EngineSpec) -> bool {
        self.keeps_files() && self.group_nodes(group).iter().all(|n| self.node(*n).disk.holds(compiled(spec)))
    }

    /// Puts on a node what a replica of this service leaves there after it has run.
    pub(super) fn stock_node(&mut self, node: NodeId, service: ServiceId) {
        let setup = self.setup.clone();
        let s = &setup.services[service.index()];
        let (keeps, restore) = (self.keeps_files(), self.restores());
        let n = self.node_mut(node);
        if !n.images.contains(&service) {
            n.images.push(service);
        }
        if keeps {
            let spec = s.engine_spec(n.gpu);
            let (kept, bytes) = file_of(if restore { Stage::CheckpointRead } else { Stage::WeightsRead }, &spec);
            n.disk.keep(kept, bytes);
            n.disk.keep(compiled(&spec), 0);
        }
    }

    /// The node cache was switched off: nothing is kept.
    pub(super) fn drop_node_caches(&mut self) {
        if !self.keeps_files() {
            for n in &mut self.nodes {
                n.disk.clear();
            }
        }
    }
}

/// What a stage reads, and its size.
pub(super) fn file_of(stage: Stage, spec: &EngineSpec) -> (Kept, u64) {
    let (model, dtype) = (spec.model.id, spec.weight_dtype);
    match stage {
        Stage::CheckpointRead => {
            (Kept::Checkpoint { model, dtype, gpu: spec.gpu.id, gpus: spec.gpus() }, cold_start::checkpoint_bytes(spec))
        }
        _ => (Kept::Weights { model, dtype }, spec.model.weight_bytes(dtype)),
    }
}

pub(super) fn compiled(spec: &EngineSpec) -> Kept {
    Kept::Compiled { model: spec.model.id, dtype: spec.weight_dtype, gpu: spec.gpu.id, gpus: spec.gpus() }
}
