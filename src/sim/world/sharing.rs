//! Replicas that share a GPU: who slows whom down, who fits beside whom, and who falls with whom.
//!
//! A MIG slice is hardware of its own: neighbours have no effect, and the step-time model uses the
//! slice's share. Under time slicing and vGPU the busy pods take turns; under MPS their kernels
//! overlap until the memory bus is full. Factors: `engine::sharing`. They are looked at whenever a
//! replica begins or ends to be busy (under MPS also when its engine is called), and hold from the
//! end of the step in progress on.

use super::World;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::engine::sharing::{Sharing, mps_decode_slowdown, small_model_slowdown};
use crate::sim::engine::{EngineSettings, EngineSpec};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::setup::Share;
use crate::sim::snapshot::GroupStage;

/// Under MPS a factor is rounded up to a multiple of this, so that neighbours are not disturbed at
/// every step.
const MPS_GRAIN: f64 = 1.0 / 16.0;

impl World {
    /// The GPUs that a replica has parts of: node, and position on it.
    pub(super) fn gpus_of(&self, group: GroupId) -> Vec<(NodeId, u32)> {
        let mut gpus = Vec::new();
        for pod in &self.group(group).pods {
            let Some(node) = self.pod(*pod).node else { continue };
            let n = self.node(node);
            let parts = n.parts_per_gpu();
            let slots = n.gpus.iter().enumerate().filter(|(_, s)| s.pod == Some(*pod));
            gpus.extend(slots.map(|(i, _)| (node, i as u32 / parts)));
        }
        gpus.dedup();
        gpus
    }

    /// Replicas with parts of a GPU, in the order of the parts.
    pub(super) fn groups_on_gpu(&self, (node, gpu): (NodeId, u32)) -> Vec<GroupId> {
        let n = self.node(node);
        let parts = n.parts_per_gpu() as usize;
        let slots = n.gpus.iter().skip(gpu as usize * parts).take(parts);
        slots.filter_map(|s| s.pod).map(|p| self.pod(p).group).collect()
    }

    /// How a replica's GPUs are divided.
    pub(super) fn share_of(&self, group: GroupId) -> Option<Share> {
        let node = self.group(group).pods.first().and_then(|p| self.pod(*p).node)?;
        self.node(node).share
    }

    /// A replica began or ended to be busy, or under MPS did something: its neighbours' pace
    /// changes.
    pub(super) fn neighbours_changed(&mut self, group: GroupId) {
        if matches!(self.share_of(group), Some(Share::TimeSlicing(_) | Share::Mps(_) | Share::Vgpu(_))) {
            let gpus = self.gpus_of(group);
            self.neighbours_gone(&gpus);
        }
    }

    /// The same for GPUs that a replica has left.
    pub(super) fn neighbours_gone(&mut self, gpus: &[(NodeId, u32)]) {
        // A new pace can let an engine report, which would lead here again; its own change is seen
        // at its next call.
        if self.settling {
            return;
        }
        self.settling = true;
        for gpu in gpus {
            let Some(share) = self.node(gpu.0).share else { continue };
            let groups = self.groups_on_gpu(*gpu);
            let factor = self.slowdown(share, &groups);
            for group in groups {
                self.set_slowdown(group, factor);
            }
        }
        self.settling = false;
    }

    fn set_slowdown(&mut self, group: GroupId, factor: f64) {
        let now = self.now;
        if self.group(group).engine.as_deref().is_none_or(|e| e.slowdown() == factor) {
            return;
        }
        let mut events = self.take_scratch();
        if let Some(engine) = self.group_mut(group).engine.as_deref_mut() {
            engine.set_slowdown(now, factor, &mut events);
        }
        self.after_engine(group, events);
    }

    /// How much longer each busy replica of these takes.
    fn slowdown(&self, share: Share, groups: &[GroupId]) -> f64 {
        let engines = groups.iter().filter_map(|g| self.group(*g).engine.as_deref());
        let busy = engines.filter(|e| !e.is_idle());
        match share {
            Share::Mig(_) => 1.0,
            Share::TimeSlicing(_) | Share::Vgpu(_) => small_model_slowdown(Sharing::TimeSlicing, busy.count() as u32),
            Share::Mps(_) => {
                let (pods, dram) = busy.fold((0, 0.0), |(n, sum), e| (n + 1, sum + e.dram_active()));
                (mps_decode_slowdown(pods, dram) / MPS_GRAIN).ceil() * MPS_GRAIN
            }
        }
    }

    /// Whether a server finds the memory that it asks for: where memory is not split, vLLM exits
    /// when less than `gpu_memory_utilization` of the whole GPU is free at its start.
    ///
    /// # Errors
    /// The GiB that are missing.
    pub(super) fn room_beside_neighbours(
        &self,
        group: GroupId,
        spec: &EngineSpec,
        settings: &EngineSettings,
    ) -> Result<(), f64> {
        if !matches!(self.share_of(group), Some(Share::TimeSlicing(_) | Share::Mps(_))) {
            return Ok(());
        }
        let usable = spec.usable_gib();
        for gpu in self.gpus_of(group) {
            let others = self.groups_on_gpu(gpu).into_iter().filter(|g| *g != group);
            let taken: f64 = others.map(|g| self.used_gib(g)).sum();
            let missing = settings.gpu_memory_utilization * usable - (usable - taken);
            if missing > 0.0 {
                return Err(missing);
            }
        }
        Ok(())
    }

    /// An engine crashes. Under MPS one fault ends the server that all processes of the GPU share,
    /// so its neighbours crash too. The containers start again.
    pub(super) fn crash(&mut self, group: GroupId) {
        let mut victims = vec![group];
        if matches!(self.share_of(group), Some(Share::Mps(_))) {
            for gpu in self.gpus_of(group) {
                victims.extend(self.groups_on_gpu(gpu));
            }
            victims.sort();
            victims.dedup();
        }
        victims.retain(|g| self.group(*g).engine.is_some());
        let with = victims.iter().filter(|g| **g != group).count() as u32;
        let lost = victims.iter().map(|g| self.crash_one(*g)).sum();
        self.log(Who::Engine, Verdict::EngineCrashed { group, with, lost }, Tone::Bad);
    }

    fn crash_one(&mut self, group: GroupId) -> u32 {
        self.leave_endpoints(group);
        let lost = self.lose_requests(group);
        self.engines_due.set(group, None);
        let now = self.now;
        let g = self.group_mut(group);
        g.engine = None;
        if g.stage == GroupStage::Draining {
            self.finish_drain(group);
            return lost;
        }
        g.stage = GroupStage::Image;
        g.stage_since = now;
        g.generation += 1;
        self.neighbours_changed(group);
        self.start_weights_if_pulled(group);
        lost
    }
}
