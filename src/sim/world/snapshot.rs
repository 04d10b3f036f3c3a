//! The snapshot: what a view may see, copied out of the world.

use super::World;
use super::groups::held_cost;
use super::metering::price_of;
use crate::sim::catalog;
use crate::sim::cluster::{Leave, PodPhase};
use crate::sim::id::{GroupId, NodeId, PodId, ServiceId};
use crate::sim::metrics::Signal;
use crate::sim::metrics::ledger::GpuState;
use crate::sim::money::Microusd;
use crate::sim::param::Param;
use crate::sim::setup::Role;
use crate::sim::snapshot::{
    Cell, GpuCount, GroupStage, GroupView, HpaView, LedgerView, NodeStage, NodeView, NodesView, PaletteItem,
    PendingView, RackKind, RackView, ReplicaRole, RequestTotals, ServiceView, Signals, Snapshot, TenantView,
};
use crate::sim::time::Span;

/// How many names of gone things a snapshot carries.
const GONE_NAMED: usize = 64;

/// Short names of GPUs, as cards and chips show them.
fn gpu_label(id: &str) -> &'static str {
    match id {
        "h100-sxm" | "h100-pcie" | "h100-nvl" => "H100",
        "h200-sxm" => "H200",
        "a100-sxm-80gb" | "a100-sxm-40gb" | "a100-pcie-80gb" => "A100",
        "l40s" => "L40S",
        "l4" => "L4",
        "a10g" => "A10G",
        "b200-sxm" => "B200",
        "gb200" => "GB200",
        _ => "GPU",
    }
}

impl World {
    /// Everything that the page shows of this instant.
    pub fn snapshot(&self) -> Snapshot {
        let alive = |id: &NodeId| !self.node(*id).is_released();
        let nodes: Vec<NodeId> = self.nodes.iter().map(|n| n.id).filter(alive).collect();
        Snapshot {
            now: self.now,
            day_start: self.setup.day_start,
            end: self.setup.end,
            policy: self.policy.clone(),
            racks: (0..self.racks.len()).map(|i| self.rack_view(i)).collect(),
            nodes: nodes.into_iter().map(|n| self.node_view(n)).collect(),
            groups: self.groups_in_order().map(|g| self.group_view(g)).collect(),
            pending: self.groups_in_order().flat_map(|g| self.pending_views(g)).collect(),
            gone_groups: self.gone_groups(),
            gone_nodes: self.gone_nodes(),
            services: (0..self.services.len()).map(|i| self.service_view(ServiceId::from_index(i))).collect(),
            palette: self.setup.palette.iter().map(|i| palette_item(i)).collect(),
            nodes_layer: self.nodes_layer(),
            requests: self.requests.totals(),
            score: self.score(),
            ledger: self.ledger_view(),
            decisions: self.log.total() as usize,
        }
    }

    fn gone_groups(&self) -> Vec<(GroupId, String, ServiceId)> {
        let gone = self.groups.iter().rev().filter(|g| g.stage == GroupStage::Gone).take(GONE_NAMED);
        gone.map(|g| (g.id, g.name.to_string(), g.service)).collect()
    }

    fn gone_nodes(&self) -> Vec<(NodeId, String)> {
        let gone = self.nodes.iter().rev().filter(|n| n.is_released()).take(GONE_NAMED);
        gone.map(|n| (n.id, n.name.to_string())).collect()
    }

    fn groups_in_order(&self) -> impl Iterator<Item = GroupId> + '_ {
        self.services.iter().flat_map(|s| s.groups.iter().copied())
    }

    fn rack_view(&self, index: usize) -> RackView {
        let r = &self.racks[index];
        let nodes: Vec<NodeId> =
            self.nodes.iter().filter(|n| n.rack == r.id && !n.is_released()).map(|n| n.id).collect();
        let per_node = if r.kind == RackKind::Nvl72 { 4 } else { 1 };
        let trapped = nodes.iter().flat_map(|n| self.groups_on(*n)).find(|g| self.group(*g).held_since.is_some());
        let nvlink = match r.kind {
            RackKind::Nvl72 => catalog::gpu("gb200").map_or(0.0, |g| g.nvlink_gb_s_per_direction),
            RackKind::Network => 0.0,
        };
        RackView {
            id: r.id,
            name: r.name.to_string(),
            zone: r.zone.to_string(),
            block: r.block.to_string(),
            kind: r.kind,
            slots_total: r.slots * per_node,
            slots_used: self.slots_used(r.id) * per_node,
            gpus_total: nodes.iter().map(|n| self.node(*n).gpus.len() as u32).sum(),
            gpus_free: nodes.iter().map(|n| self.node(*n).gpus_free()).sum(),
            nvlink_gb_s: nvlink as u32,
            nodes,
            trapped,
        }
    }

    fn node_view(&self, id: NodeId) -> NodeView {
        let n = self.node(id);
        let nvlink = n.is_tray() || n.own_nvlink_domain();
        let groups = self.groups_on(id);
        NodeView {
            id,
            name: n.name.to_string(),
            instance: n.instance.name,
            provider: n.instance.provider,
            gpu: n.gpu.id,
            gpu_label: gpu_label(n.gpu.id),
            gpus: n.instance.gpu_count,
            rack: n.rack,
            own_nvlink_domain: n.own_nvlink_domain(),
            nvlink_gb_s: if nvlink { n.gpu.nvlink_gb_s_per_direction as u32 } else { 0 },
            price_per_hour: price_of(n.instance),
            stage: n.stage,
            stage_since: n.stage_since,
            stage_until: self.node_stage_until(id),
            managed: n.pool.is_some(),
            moving_to: match n.leave {
                Some(Leave::MoveTo(rack)) => Some(rack),
                _ => None,
            },
            leaving: n.leave == Some(Leave::Release),
            parts_per_gpu: n.parts_per_gpu(),
            share_label: n.share.map(crate::sim::setup::Share::label),
            in_flight: groups.iter().map(|g| self.in_flight(*g)).sum(),
            empty_since: n.empty_since,
            cells: n.gpus.iter().map(|s| self.cell(id, s.pod)).collect(),
        }
    }

    /// End of the bring-up stage, or of the longest drain on the node.
    fn node_stage_until(&self, id: NodeId) -> Option<crate::sim::time::Time> {
        let n = self.node(id);
        match n.stage {
            NodeStage::Draining => self.groups_on(id).iter().filter_map(|g| self.drain_deadline(*g)).max(),
            _ => n.stages.first().map(|(_, at)| *at),
        }
    }

    fn cell(&self, node: NodeId, pod: Option<PodId>) -> Cell {
        let state = self.gpu_state(node, pod);
        let group = pod.map(|p| self.pod(p).group);
        let progress = group.filter(|_| state == GpuState::Loading).map(|g| self.loading_progress(g));
        Cell { state, pod, group, rank: pod.map(|p| self.pod(p).rank), progress }
    }

    fn group_view(&self, id: GroupId) -> GroupView {
        let g = self.group(id);
        let reading = g.engine.as_deref().map(|e| e.reading(self.now));
        let (held_gpu_time, held_cost) = self.held_so_far(id);
        let first_waiting = g.pods.iter().map(|p| self.pod(*p)).find(|p| p.phase == PodPhase::Pending);
        let loading = g.pods.first().map(|p| self.pod(*p).wait);
        let wait = match g.stage {
            GroupStage::Pending => first_waiting.map(|p| p.wait),
            GroupStage::Image | GroupStage::Weights | GroupStage::WarmUp => loading,
            _ => None,
        };
        GroupView {
            id,
            name: g.name.to_string(),
            badge: g.badge,
            service: g.service,
            stage: g.stage,
            stage_since: g.stage_since,
            stage_until: g.stage_until,
            pods_total: g.pods.len() as u32,
            pods_bound: self.bound_pods(id),
            min_member: g.min_member,
            held_since: g.held_since,
            held_gpu_time,
            held_cost,
            nodes: self.group_nodes(id),
            running: reading.map_or(0, |r| r.running),
            waiting: reading.map_or(0, |r| r.waiting),
            kv_usage: reading.map_or(0.0, |r| r.kv_usage() as f32),
            seats: g.engine.as_deref().map_or(0, |e| e.limits().max_num_seqs),
            slowdown: g.engine.as_deref().map_or(1.0, |e| e.slowdown() as f32),
            standby: g.standby,
            ready_early: g.ready_early,
            role: role_view(self.setup.services[g.service.index()].role),
            wait,
            crosses_domains: g.crosses_domains,
            all_reduce_per_step: g.all_reduce_step,
            tokens_per_s: self.tokens_per_second(id).map(|v| v as f32),
        }
    }

    /// What a group has burnt below its minimum, up to now.
    fn held_so_far(&self, id: GroupId) -> (Span, Microusd) {
        let g = self.group(id);
        let (mut time, mut product) = (g.held_gpu_time, g.held_price_product);
        if g.held_since.is_some() {
            let span = self.now.since(g.held_counted_to);
            let per_pod = u64::from(self.setup.services[g.service.index()].gpus_per_worker);
            for node in
                g.pods.iter().map(|p| self.pod(*p)).filter(|p| p.phase == PodPhase::Bound).filter_map(|p| p.node)
            {
                time += Span(span.0 * per_pod);
                product += self.gpu_price(node) * u128::from(per_pod) * u128::from(span.0);
            }
        }
        (time, held_cost(product))
    }

    fn pending_views(&self, group: GroupId) -> Vec<PendingView> {
        let g = self.group(group);
        let spec = &self.setup.services[g.service.index()];
        let waiting = g.pods.iter().map(|p| self.pod(*p)).filter(|p| p.phase == PodPhase::Pending);
        waiting
            .map(|p| PendingView {
                pod: p.id,
                group,
                group_name: g.name.to_string(),
                rank: p.rank,
                gpus: spec.gpus_per_worker,
                selector: spec.gpu.map(|gpu| gpu_label(gpu.id).to_owned()),
                wait: p.wait,
            })
            .collect()
    }

    fn service_view(&self, id: ServiceId) -> ServiceView {
        let (spec, s) = (&self.setup.services[id.index()], self.service(id));
        let (ready, total) = self.replica_counts(id);
        let engines = s.groups.iter().filter_map(|g| self.group(*g).engine.as_deref());
        let next_sync = s.hpa_view.as_ref().map(|h| h.at + super::hpa_glue::SYNC);
        ServiceView {
            id,
            name: spec.name.clone(),
            model: spec.model.id,
            model_name: spec.model.name,
            gpus_per_replica: spec.gpus(),
            workers: spec.workers,
            scaled: spec.scaled,
            launchable: spec.launchable,
            context_limit: spec.max_model_len.unwrap_or(spec.model.context_length),
            replicas_wanted: s.wanted,
            replicas_ready: ready,
            replicas_total: total,
            waiting: self.waiting(id),
            running: engines.map(|e| e.running()).sum(),
            signals: self.signals(id),
            hpa: s.hpa_view.as_ref().filter(|_| self.policy.choice(Param::Scaler) == "hpa").map(|h| HpaView {
                at: h.at,
                value_milli: h.value_milli,
                target_milli: h.target_milli,
                ratio: h.ratio,
                inside_tolerance: h.inside_tolerance,
                current: h.current,
                raw_desired: h.raw_desired,
                stabilized: h.stabilized,
                desired: h.desired,
                limit: h.limit,
                next_sync: next_sync.unwrap_or(self.now),
            }),
            slo_ttft: spec.slo_ttft,
            slo_tpot: spec.slo_tpot,
            role: role_view(spec.role),
            has_fallback: spec.fallback.is_some(),
            requests: self.requests_of(id),
            tenants: self.tenants_of(id),
        }
    }

    fn requests_of(&self, id: ServiceId) -> RequestTotals {
        let mut all = RequestTotals::default();
        self.requests.of_service(id).iter().for_each(|t| all.add(t));
        all
    }

    fn tenants_of(&self, id: ServiceId) -> Vec<TenantView> {
        let accounts = self.requests.of_service(id);
        let tenants = self.setup.services[id.index()].tenants.iter().enumerate();
        let view = tenants.map(|(i, t)| TenantView {
            name: t.name.clone(),
            priority: t.priority,
            requests: accounts.get(i).copied().unwrap_or_default(),
        });
        view.collect()
    }

    fn signals(&self, id: ServiceId) -> Signals {
        let mean = |signal, full: f64| self.signal_mean(id, signal).map(|v| (v / full) as f32);
        Signals {
            gpu_utilization: mean(Signal::GpuUtilization, 100.0),
            gpu_memory: mean(Signal::GpuMemory, 100.0),
            waiting_per_pod: mean(Signal::QueueDepth, 1.0),
            kv_usage: mean(Signal::KvCacheUsage, 1.0),
        }
    }

    fn nodes_layer(&self) -> NodesView {
        let paid = self.nodes.iter().filter(|n| !n.is_released() && n.stage != NodeStage::Launching);
        let evicting =
            self.nodes.iter().find(|n| n.leave == Some(Leave::Release) && n.pool.is_some() && !n.is_released());
        NodesView {
            nodes_paid: paid.clone().count() as u32,
            nodes_booting: self.nodes.iter().filter(|n| n.booting()).count() as u32,
            managed: paid.clone().filter(|n| n.pool.is_some()).count() as u32,
            price_per_hour: Microusd(paid.map(|n| price_of(n.instance).0).sum()),
            evicting: evicting.map(|n| (n.id, self.groups_on(n.id).iter().map(|g| self.in_flight(*g)).sum())),
            next_review: self.karpenter.next_review.filter(|_| self.karpenter_on()),
            next_consolidatable: self.next_consolidatable(),
        }
    }

    fn ledger_view(&self) -> LedgerView {
        let (totals, bill) = self.totals();
        let span = |t: crate::sim::metrics::ledger::GpuTime| Span(u64::try_from(t.gpu_us()).unwrap_or(u64::MAX));
        let parts = self.meter.ledger.parts_by_state();
        LedgerView {
            gpu_time: GpuState::ALL.map(|s| span(totals.time(s))),
            cost: GpuState::ALL.map(|s| totals.cost(s).microusd()),
            bill_gpu_time: span(bill.gpu_time),
            bill: bill.cost().microusd(),
            gpus_now: GpuState::ALL.map(|s| GpuCount(parts[s as usize])),
        }
    }
}

fn role_view(role: Role) -> ReplicaRole {
    match role {
        Role::Monolithic => ReplicaRole::Monolithic,
        Role::Prefill { .. } => ReplicaRole::Prefill,
        Role::Decode => ReplicaRole::Decode,
    }
}

fn palette_item(instance: &'static catalog::Instance) -> PaletteItem {
    PaletteItem {
        instance: instance.name,
        gpu_label: gpu_label(instance.gpu),
        gpus: instance.gpu_count,
        price_per_hour: price_of(instance),
        kind: if crate::sim::cluster::node::is_tray(instance) { RackKind::Nvl72 } else { RackKind::Network },
    }
}
