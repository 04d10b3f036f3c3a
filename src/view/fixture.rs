//! A snapshot for tests of the views: the 7-of-8 trap in the middle of a busy cluster.
//!
//! NVL72 domains A (gb-a1..3) and B (gb-b1), HGX nodes hgx-1 (evicted) and hgx-2 (booting), and
//! three PCIe nodes with a free GPU each.

use crate::sim::catalog::Provider;
use crate::sim::id::{GroupId, NodeId, PodId, RackId, ServiceId};
use crate::sim::money::Microusd;
use crate::sim::param::Policy;
use crate::sim::snapshot::{
    Cell, GpuCount, GpuUse, GroupStage, GroupView, LedgerView, NodeStage, NodeView, NodesView, PaletteItem,
    PendingView, RackKind, RackView, ReplicaRole, RequestTotals, Score, ServiceView, Signals, Snapshot,
};
use crate::sim::time::{Span, Time};
use crate::sim::wait::{Wait, WaitReason};

const NOW: Time = Time::from_secs(7471);
const WAITED: Span = Span::from_secs(222);

const LLAMA: ServiceId = ServiceId(0);
const CHAT: ServiceId = ServiceId(1);
const RAG: ServiceId = ServiceId(2);
const LONG: ServiceId = ServiceId(3);

/// The trap: seven of eight GPUs held for 3 min 42 s.
pub fn trap() -> Snapshot {
    let mut b = Builder::default();
    b.racks();
    b.gang();
    b.domain_nodes();
    b.network_nodes();
    b.finish()
}

/// The same with a node of two GPUs in seven MIG instances each, and one whose GPU three processes
/// share by MPS.
pub fn shared() -> Snapshot {
    let mut b = Builder::default();
    b.racks();
    b.gang();
    b.domain_nodes();
    b.network_nodes();
    b.shared_nodes();
    b.finish()
}

/// The node of this name.
pub fn node(s: &Snapshot, name: &str) -> NodeId {
    s.nodes.iter().find(|n| n.name == name).map(|n| n.id).expect("node of the fixture")
}

/// The rack of this name.
pub fn rack(s: &Snapshot, name: &str) -> RackId {
    s.racks.iter().find(|r| r.name == name).map(|r| r.id).expect("rack of the fixture")
}

/// One more, empty NVL72 rack.
pub fn add_rack(s: &mut Snapshot, name: &str) -> RackId {
    let id = RackId::from_index(s.racks.len());
    s.racks.push(nvl72(id, name));
    id
}

pub fn free_cell() -> Cell {
    Cell { state: GpuUse::Empty, pod: None, group: None, rank: None, progress: None }
}

fn nvl72(id: RackId, name: &str) -> RackView {
    RackView {
        id,
        name: name.into(),
        zone: "us-east-1a".into(),
        block: "block-1".into(),
        kind: RackKind::Nvl72,
        slots_total: 72,
        slots_used: 0,
        gpus_total: 0,
        gpus_free: 0,
        nvlink_gb_s: 900,
        nodes: vec![],
        trapped: None,
    }
}

#[derive(Default)]
struct Builder {
    racks: Vec<RackView>,
    nodes: Vec<NodeView>,
    groups: Vec<GroupView>,
    pods: u32,
    chat: u32,
}

impl Builder {
    fn racks(&mut self) {
        self.racks = vec![nvl72(RackId(0), "A"), nvl72(RackId(1), "B")];
        self.racks[0].trapped = Some(GroupId(0));
        for i in 0..3u32 {
            self.racks.push(RackView {
                name: format!("rack {}", i + 1),
                kind: RackKind::Network,
                slots_total: 4,
                nvlink_gb_s: 0,
                block: format!("block-{}", if i < 2 { 1 } else { 2 }),
                ..nvl72(RackId(i + 2), "")
            });
        }
    }

    fn group(&mut self, name: &str, service: ServiceId, pods: u32) -> GroupId {
        let id = GroupId::from_index(self.groups.len());
        self.groups.push(GroupView {
            id,
            name: name.into(),
            badge: None,
            service,
            stage: GroupStage::Serving,
            stage_since: Time::ZERO,
            stage_until: None,
            pods_total: pods,
            pods_bound: pods,
            min_member: pods,
            held_since: None,
            held_gpu_time: Span::ZERO,
            held_cost: Microusd(0),
            nodes: vec![],
            running: 12,
            waiting: 3,
            kv_usage: 0.708,
            seats: 256,
            slowdown: 1.0,
            standby: false,
            ready_early: false,
            role: ReplicaRole::Monolithic,
            wait: None,
            crosses_domains: false,
            all_reduce_per_step: None,
            tokens_per_s: None,
        });
        id
    }

    fn gang(&mut self) {
        let id = self.group("llama-70b-0", LLAMA, 8);
        let g = &mut self.groups[id.index()];
        g.badge = Some('A');
        g.stage = GroupStage::Pending;
        g.pods_bound = 7;
        g.held_since = Some(NOW - WAITED);
        g.held_gpu_time = Span::from_secs(222 * 7);
        g.held_cost = Microusd(4_552_341);
        g.running = 0;
    }

    fn cell(&mut self, state: GpuUse, group: GroupId, rank: u32) -> Cell {
        self.pods += 1;
        let progress = (state == GpuUse::Loading).then_some(0.62);
        Cell { state, pod: Some(PodId(self.pods)), group: Some(group), rank: Some(rank), progress }
    }

    fn chat(&mut self, state: GpuUse) -> Cell {
        let group = self.group(&format!("chat-8b-{}", self.chat), CHAT, 1);
        self.chat += 1;
        if state == GpuUse::Loading {
            let g = &mut self.groups[group.index()];
            g.stage = GroupStage::Weights;
            g.stage_since = NOW - Span::from_secs(62);
            g.stage_until = Some(NOW + Span::from_secs(38));
        }
        self.cell(state, group, 0)
    }

    fn node(&mut self, name: &str, rack: u32, kind: (&'static str, &'static str, u64, u32), cells: Vec<Cell>) -> usize {
        let (instance, gpu_label, dollars, nvlink_gb_s) = kind;
        let id = NodeId::from_index(self.nodes.len());
        for g in cells.iter().filter_map(|c| c.group) {
            self.groups[g.index()].nodes.push(id);
        }
        let r = &mut self.racks[rack as usize];
        let gpus = cells.len() as u32;
        r.nodes.push(id);
        r.slots_used += if r.kind == RackKind::Nvl72 { gpus } else { 1 };
        r.gpus_total += gpus;
        r.gpus_free += cells.iter().filter(|c| c.state == GpuUse::Empty).count() as u32;
        self.nodes.push(NodeView {
            id,
            name: name.into(),
            instance,
            provider: Provider::Aws,
            gpu: "",
            gpu_label,
            gpus,
            rack: RackId(rack),
            own_nvlink_domain: gpus == 8,
            nvlink_gb_s,
            price_per_hour: Microusd(dollars * 1_000_000),
            stage: NodeStage::Ready,
            stage_since: Time::ZERO,
            stage_until: None,
            managed: false,
            moving_to: None,
            leaving: false,
            parts_per_gpu: 1,
            share_label: None,
            in_flight: 0,
            empty_since: None,
            cells,
        });
        id.index()
    }

    fn domain_nodes(&mut self) {
        let tray = ("p6e-gb200.36xlarge", "GB200", 42, 900);
        let gang = GroupId(0);
        let a1: Vec<Cell> = (0..4).map(|r| self.cell(GpuUse::Held, gang, r)).collect();
        self.node("gb-a1", 0, tray, a1);
        let mut a2: Vec<Cell> = (4..7).map(|r| self.cell(GpuUse::Held, gang, r)).collect();
        a2.push(self.chat(GpuUse::ServingBusy));
        self.node("gb-a2", 0, tray, a2);
        let a3 = (0..4).map(|i| self.chat(if i == 2 { GpuUse::ServingIdle } else { GpuUse::ServingBusy })).collect();
        self.node("gb-a3", 0, tray, a3);
        let mut b1: Vec<Cell> = (0..3).map(|_| self.chat(GpuUse::ServingBusy)).collect();
        b1.push(self.chat(GpuUse::Loading));
        self.node("gb-b1", 1, tray, b1);
    }

    fn network_nodes(&mut self) {
        let hgx = ("p5.48xlarge", "H100", 55, 450);
        let long = self.group("long-14b-0", LONG, 1);
        let mut cells: Vec<Cell> = (0..4).map(|_| self.cell(GpuUse::Draining, long, 0)).collect();
        cells.extend((0..4).map(|_| free_cell()));
        let h1 = self.node("hgx-1", 2, hgx, cells);
        self.nodes[h1].stage = NodeStage::Draining;
        self.nodes[h1].in_flight = 11;
        self.nodes[h1].managed = true;
        let booting = Cell { state: GpuUse::Booting, ..free_cell() };
        let h2 = self.node("hgx-2", 3, hgx, vec![booting; 8]);
        self.nodes[h2].stage = NodeStage::GpuStack;
        self.nodes[h2].stage_until = Some(NOW + Span::from_millis(13_500));
        for name in ["l40-1", "l40-2", "l40-3"] {
            let rag = self.group(&format!("rag-14b-{name}"), RAG, 3);
            let g = &mut self.groups[rag.index()];
            g.name = "rag-14b".into();
            g.kv_usage = 0.34;
            let mut cells: Vec<Cell> = (0..3).map(|r| self.cell(GpuUse::ServingBusy, rag, r)).collect();
            cells.push(free_cell());
            self.node(name, 4, ("g6e.12xlarge", "L40S", 10, 0), cells);
        }
    }

    fn shared_nodes(&mut self) {
        let part = |b: &mut Builder, node: u32, i: u32| {
            let group = b.group(&format!("embed-{node}-{i}"), RAG, 1);
            b.cell(GpuUse::ServingBusy, group, 0)
        };
        let mut mig: Vec<Cell> = (0..10).map(|i| part(self, 0, i)).collect();
        mig.extend((0..4).map(|_| free_cell()));
        let node = self.node("mig-1", 2, ("a2-ultragpu-2g", "A100", 5, 0), mig);
        self.divide(node, 7, "MIG-1g.10gb");
        let mut mps: Vec<Cell> = (0..2).map(|i| part(self, 1, i)).collect();
        mps.push(free_cell());
        let node = self.node("mps-1", 3, ("g6.xlarge", "L4", 1, 0), mps);
        self.divide(node, 3, "MPS-3");
    }

    fn divide(&mut self, node: usize, parts: u32, label: &str) {
        let n = &mut self.nodes[node];
        (n.gpus, n.parts_per_gpu, n.share_label) = (n.gpus / parts, parts, Some(label.to_owned()));
        n.own_nvlink_domain = false;
    }

    fn finish(self) -> Snapshot {
        let service = |id, name: &str, gpus, workers, launchable, context_limit| ServiceView {
            id,
            name: name.into(),
            model: "",
            model_name: "",
            gpus_per_replica: gpus,
            workers,
            scaled: id == CHAT,
            launchable,
            context_limit,
            replicas_wanted: 1,
            replicas_ready: 1,
            replicas_total: 1,
            waiting: 0,
            running: 0,
            signals: Signals::default(),
            hpa: None,
            slo_ttft: Span::from_secs(2),
            slo_tpot: Span::from_millis(50),
            role: ReplicaRole::Monolithic,
            has_fallback: false,
            requests: RequestTotals::default(),
            tenants: Vec::new(),
        };
        let item = |instance, gpu_label, gpus, dollars: u64, kind| PaletteItem {
            instance,
            gpu_label,
            gpus,
            price_per_hour: Microusd(dollars * 1_000_000),
            kind,
        };
        let mut gpus_now = [GpuCount::default(); 8];
        for n in &self.nodes {
            for c in &n.cells {
                let now = &mut gpus_now[c.state as usize];
                *now = GpuCount(now.0 + GpuCount::whole(1).0 / u64::from(n.parts_per_gpu));
            }
        }
        let wait = Wait { reason: WaitReason::FreeGpu, since: NOW - WAITED, gpus_missing: 1, until: None };
        let evicting = self.nodes.iter().find(|n| n.name == "hgx-1").map(|n| (n.id, 11));
        Snapshot {
            now: NOW,
            day_start: Span::ZERO,
            end: Time::from_secs(12_600),
            policy: Policy::default(),
            pending: vec![PendingView {
                pod: PodId(999),
                group: GroupId(0),
                group_name: "llama-70b-0".into(),
                rank: 7,
                gpus: 1,
                selector: Some("GB200".into()),
                wait,
            }],
            gone_groups: Vec::new(),
            gone_nodes: Vec::new(),
            services: vec![
                service(LLAMA, "llama-70b", 8, 8, true, 131_072),
                service(CHAT, "chat-8b", 1, 1, false, 131_072),
                service(RAG, "rag-14b", 3, 3, false, 32_768),
                service(LONG, "long-14b", 4, 1, false, 1_010_000),
            ],
            palette: vec![
                item("p6e-gb200.36xlarge", "GB200", 4, 42, RackKind::Nvl72),
                item("p5.48xlarge", "H100", 8, 55, RackKind::Network),
                item("g6e.12xlarge", "L40S", 4, 10, RackKind::Network),
            ],
            nodes_layer: NodesView {
                nodes_paid: self.nodes.len() as u32,
                nodes_booting: 1,
                managed: 1,
                price_per_hour: Microusd(308_000_000),
                evicting,
                next_review: None,
                next_consolidatable: None,
            },
            requests: RequestTotals::default(),
            score: Score { total: 41.0, g: 0.58, e: 0.18 },
            ledger: LedgerView {
                gpu_time: [Span::ZERO; 8],
                cost: [Microusd(0); 8],
                bill_gpu_time: Span::ZERO,
                bill: Microusd(0),
                gpus_now,
            },
            decisions: 0,
            racks: self.racks,
            nodes: self.nodes,
            groups: self.groups,
        }
    }
}
