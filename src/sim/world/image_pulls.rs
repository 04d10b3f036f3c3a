//! Images on their way to nodes, and the one event of all shared links.
//!
//! The kubelet pulls an image once per node: a second pod of the same service waits for the same
//! pull, and a pull outlives the pod that asked for it. Pulls share the registry and the node's
//! network card; unpacking is local. Pulls of different images on one node run side by side, as
//! with `serializeImagePulls: false`.

use super::World;
use super::loading::nic_bytes_per_s;
use crate::sim::cluster::PodPhase;
use crate::sim::engine::cold_start::{self, Bottleneck, ColdStage, Image, Stage};
use crate::sim::engine::links::{FlowId, Held, Link};
use crate::sim::event::Event;
use crate::sim::id::{NodeId, PodId, ServiceId};
use crate::sim::time::Time;
use crate::sim::wait::WaitReason;
use serde::Serialize;

/// One image on its way to one node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Pull {
    pub node: NodeId,
    pub service: ServiceId,
    /// Since when it is in its present stage.
    since: Time,
    pub at: PullAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) enum PullAt {
    Download(FlowId),
    Unpack { until: Time },
}

impl World {
    /// A pod was bound: its image is there, on its way, or pulled from now on.
    pub(super) fn start_image(&mut self, pod: PodId) {
        let now = self.now;
        let p = self.pod(pod);
        let (service, Some(node)) = (self.group(p.group).service, p.node) else { return };
        if self.node(node).images.contains(&service) {
            let look = cold_start::cached_image_time();
            self.pod_mut(pod).wait.until = Some(now + look);
            self.after(look, Event::ImagePulled { pod });
            return;
        }
        if self.pull(node, service).is_none() {
            let image = Image::vllm(false);
            let over = [Link::Registry, Link::Nic(node)].map(|link| (link, self.capacity(link)));
            let flow = self.loading.links.start(now, image.compressed_bytes, image.registry_bytes_per_s, &over);
            self.loading.pulls.push(Pull { node, service, since: now, at: PullAt::Download(flow) });
            self.links_changed();
        }
        self.pod_mut(pod).wait.until = self.pull(node, service).and_then(|p| self.pull_ends(p));
    }

    fn pull(&self, node: NodeId, service: ServiceId) -> Option<&Pull> {
        self.loading.pulls.iter().find(|p| (p.node, p.service) == (node, service))
    }

    /// When an image can be used, if the links stay as they are.
    fn pull_ends(&self, pull: &Pull) -> Option<Time> {
        match pull.at {
            PullAt::Download(flow) => {
                self.loading.links.ends(flow).map(|end| end + cold_start::unpack_time(&Image::vllm(false)))
            }
            PullAt::Unpack { until } => Some(until),
        }
    }

    /// Bytes per second of a link.
    pub(super) fn capacity(&self, link: Link) -> f64 {
        let links = &self.setup.links;
        match link {
            Link::Registry => links.registry_bytes_per_s,
            Link::ObjectStore => links.object_store_bytes_per_s,
            Link::Files => links.files_bytes_per_s,
            Link::Nic(node) => nic_bytes_per_s(self.node(node).instance),
            Link::Nvme(_) => cold_start::WeightSource::LocalNvme.bytes_per_s(),
        }
    }

    /// The next flow on some link is over.
    pub(super) fn on_link_end(&mut self, generation: u32) {
        if self.loading.generation != generation {
            return;
        }
        let now = self.now;
        self.loading.due = None;
        for flow in self.loading.links.finish(now) {
            match self.loading.pulls.iter().position(|p| p.at == PullAt::Download(flow)) {
                Some(i) => self.unpack(i),
                None => self.on_read(flow),
            }
        }
        self.links_changed();
    }

    fn unpack(&mut self, pull: usize) {
        let now = self.now;
        let length = cold_start::unpack_time(&Image::vllm(false));
        let Some(p) = self.loading.pulls.get_mut(pull) else { return };
        p.since = now;
        p.at = PullAt::Unpack { until: now + length };
        let (node, service) = (p.node, p.service);
        let generation = self.node(node).generation;
        self.after(length, Event::ImageUnpacked { node, service, generation });
    }

    /// An image is on a node: all pods there that wait for it go on.
    pub(super) fn on_image_unpacked(&mut self, node: NodeId, service: ServiceId, generation: u32) {
        if self.node(node).generation != generation || self.pull(node, service).is_none() {
            return;
        }
        self.loading.pulls.retain(|p| (p.node, p.service) != (node, service));
        let n = self.node_mut(node);
        if !n.images.contains(&service) {
            n.images.push(service);
        }
        for pod in self.pods_pulling(node, service) {
            self.on_image_pulled(pod);
        }
    }

    /// Pods on a node that wait for a service's image, each once.
    fn pods_pulling(&self, node: NodeId, service: ServiceId) -> Vec<PodId> {
        let mut pods: Vec<PodId> = self.node(node).gpus.iter().filter_map(|s| s.pod).collect();
        pods.sort();
        pods.dedup();
        pods.retain(|pod| {
            let p = self.pod(*pod);
            p.phase == PodPhase::Bound && p.image_at.is_none() && self.group(p.group).service == service
        });
        pods
    }

    /// The node leaves or boots anew: what was on its way to it is lost.
    pub(super) fn stop_pulls(&mut self, node: NodeId) {
        let now = self.now;
        let gone: Vec<Pull> = self.loading.pulls.iter().filter(|p| p.node == node).cloned().collect();
        for pull in &gone {
            if let PullAt::Download(flow) = pull.at {
                self.loading.links.stop(now, flow);
            }
        }
        if !gone.is_empty() {
            self.loading.pulls.retain(|p| p.node != node);
            self.links_changed();
        }
    }

    /// A flow started or ended: the next end is another, and so are all estimates.
    pub(super) fn links_changed(&mut self) {
        let due = self.loading.links.next_end();
        if due != self.loading.due {
            self.loading.due = due;
            self.loading.generation = self.loading.generation.wrapping_add(1);
            let generation = self.loading.generation;
            if let Some(at) = due {
                self.queue.push(at, Event::LinkEnd { generation });
            }
        }
        for pull in self.loading.pulls.clone() {
            let until = self.pull_ends(&pull);
            for pod in self.pods_pulling(pull.node, pull.service) {
                if self.pod(pod).wait.reason == WaitReason::Image {
                    self.pod_mut(pod).wait.until = until;
                }
                self.refresh_image_end(self.pod(pod).group);
            }
        }
        self.refresh_reads();
    }

    /// Where the image of a pod is, while the pod waits for it.
    pub(super) fn image_stage(&self, pod: PodId) -> Option<ColdStage> {
        let p = self.pod(pod);
        let (node, since) = (p.node?, p.bound_at?);
        if p.image_at.is_some() {
            return None;
        }
        let Some(pull) = self.pull(node, self.group(p.group).service) else {
            let until = Some(since + cold_start::cached_image_time());
            return Some(ColdStage { stage: Stage::ImagePull, since, until, waits_for: Bottleneck::CachedImage });
        };
        Some(match pull.at {
            PullAt::Download(flow) => ColdStage {
                stage: Stage::ImagePull,
                since: pull.since,
                until: self.loading.links.ends(flow),
                waits_for: match self.loading.links.held(flow) {
                    Some(Held::Link { link, flows }) => Bottleneck::of_link(link, flows),
                    _ => Bottleneck::Registry { loaders: 1 },
                },
            },
            PullAt::Unpack { until } => ColdStage {
                stage: Stage::ImageUnpack,
                since: pull.since,
                until: Some(until),
                waits_for: Bottleneck::Unpack,
            },
        })
    }
}
