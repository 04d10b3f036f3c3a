//! The scene of the 7-of-8 trap as a snapshot, and one decision of every kind, for tests.

use crate::sim::catalog::instances::Provider;
use crate::sim::command::{Command, Refusal};
use crate::sim::decision::{Decision, KeptBecause, NodeCounts, Tone, TurnedAway, Verdict, Who};
use crate::sim::id::{GroupId, NodeId, PodId, RackId, ServiceId};
use crate::sim::money::Microusd;
use crate::sim::param::{Param, Policy};
use crate::sim::snapshot::*;
use crate::sim::time::{Span, Time};
use crate::sim::wait::{Wait, WaitReason};

pub fn usd(v: f64) -> Microusd {
    Microusd::from_usd(v)
}

fn node(id: u32, name: &str, rack: u32, gpus: u32, state: GpuUse) -> NodeView {
    let hgx = gpus == 8;
    NodeView {
        id: NodeId(id),
        name: name.to_owned(),
        instance: if hgx { "p5.48xlarge" } else { "p6e-gb200.36xlarge" },
        provider: Provider::Aws,
        gpu: if hgx { "h100-sxm" } else { "gb200" },
        gpu_label: if hgx { "H100" } else { "GB200" },
        gpus,
        rack: RackId(rack),
        own_nvlink_domain: hgx,
        nvlink_gb_s: 900,
        price_per_hour: usd(32.0),
        stage: NodeStage::Ready,
        stage_since: Time::ZERO,
        stage_until: None,
        managed: hgx,
        moving_to: None,
        leaving: false,
        parts_per_gpu: 1,
        share_label: None,
        in_flight: 11,
        empty_since: None,
        cells: (0..gpus)
            .map(|i| Cell { state, pod: Some(PodId(i)), group: Some(GroupId(0)), rank: Some(i), progress: None })
            .collect(),
    }
}

fn rack(id: u32, name: &str, kind: RackKind, nodes: &[u32]) -> RackView {
    RackView {
        id: RackId(id),
        name: name.to_owned(),
        zone: "us-east-1a".into(),
        block: "b1".into(),
        kind,
        slots_total: 72,
        slots_used: 12,
        gpus_total: 12,
        gpus_free: 0,
        nvlink_gb_s: 900,
        nodes: nodes.iter().copied().map(NodeId).collect(),
        trapped: None,
    }
}

fn group(id: u32, name: &str, service: u32, pods: (u32, u32)) -> GroupView {
    GroupView {
        id: GroupId(id),
        name: name.to_owned(),
        badge: (pods.1 > 1).then_some('A'),
        service: ServiceId(service),
        stage: if pods.0 < pods.1 { GroupStage::Pending } else { GroupStage::Serving },
        stage_since: Time::ZERO,
        stage_until: None,
        pods_total: pods.1,
        pods_bound: pods.0,
        min_member: pods.1,
        held_since: None,
        held_gpu_time: Span::ZERO,
        held_cost: Microusd(0),
        nodes: vec![NodeId(0), NodeId(1)],
        running: 12,
        waiting: 3,
        kv_usage: 0.71,
        seats: 256,
        slowdown: 1.0,
        standby: false,
        ready_early: false,
        role: ReplicaRole::Monolithic,
        wait: None,
        crosses_domains: false,
        all_reduce_per_step: None,
        tokens_per_s: None,
    }
}

fn service(id: u32, name: &str, gpus: u32, scaled: bool) -> ServiceView {
    ServiceView {
        id: ServiceId(id),
        name: name.to_owned(),
        model: "m",
        model_name: "M",
        gpus_per_replica: gpus,
        workers: gpus,
        scaled,
        launchable: !scaled,
        context_limit: 131_072,
        replicas_wanted: 4,
        replicas_ready: 4,
        replicas_total: 4,
        waiting: if scaled { 412 } else { 0 },
        running: if scaled { 64 } else { 0 },
        signals: Signals::default(),
        hpa: scaled.then(|| hpa(Some(99_000), 95_000, 4, (4, 4, 4), HpaLimit::Tolerance)),
        slo_ttft: Span::from_secs(2),
        slo_tpot: Span::from_millis(50),
        role: ReplicaRole::Monolithic,
        has_fallback: false,
        requests: RequestTotals::default(),
        tenants: Vec::new(),
    }
}

/// A sync of `current` replicas with raw, stabilized and final wish.
pub fn hpa(value: Option<i64>, target: i64, current: u32, wish: (u32, u32, u32), limit: HpaLimit) -> HpaView {
    HpaView {
        at: Time::from_secs(60),
        value_milli: value,
        target_milli: target,
        ratio: value.map(|v| v as f64 / target as f64),
        inside_tolerance: limit == HpaLimit::Tolerance,
        current,
        raw_desired: wish.0,
        stabilized: wish.1,
        desired: wish.2,
        limit,
        next_sync: Time::from_secs(283),
    }
}

/// Two trays of a domain hold seven of eight pods; one HGX node; a scaled service of four.
pub fn trap() -> Snapshot {
    let mut policy = Policy::default();
    policy.set(Param::TargetPercent, 95).expect("in range");
    let wait = Wait { reason: WaitReason::FreeGpu, since: Time::from_secs(49), gpus_missing: 1, until: None };
    let mut gang = group(0, "llama-70b", 0, (7, 8));
    gang.held_since = Some(Time::from_secs(49));
    gang.held_gpu_time = Span::from_mins(26);
    gang.held_cost = usd(4.55);
    gang.wait = Some(wait);
    let times = [0, 0, 26, 4, 0, 300, 100, 54].map(Span::from_mins);
    let cost = [0.0, 0.0, 4.55, 0.7, 0.0, 52.5, 17.5, 9.45].map(usd);
    Snapshot {
        now: Time::from_secs(271),
        day_start: Span::from_secs(2 * 3600),
        end: Time::from_secs(5400),
        policy,
        racks: vec![rack(0, "A", RackKind::Nvl72, &[0, 1]), rack(1, "rack 3", RackKind::Network, &[2])],
        nodes: vec![
            node(0, "gb-a1", 0, 4, GpuUse::Held),
            node(1, "gb-a2", 0, 4, GpuUse::Held),
            node(2, "hgx-1", 1, 8, GpuUse::ServingBusy),
        ],
        groups: vec![gang, group(1, "rag-14b-1", 1, (1, 1))],
        pending: vec![PendingView {
            pod: PodId(7),
            group: GroupId(0),
            group_name: "llama-70b".into(),
            rank: 7,
            gpus: 1,
            selector: Some("GB200".into()),
            wait,
        }],
        gone_groups: Vec::new(),
        gone_nodes: Vec::new(),
        services: vec![service(0, "llama-70b", 8, false), service(1, "rag-14b", 1, true)],
        palette: vec![PaletteItem {
            instance: "p6e-gb200.36xlarge",
            gpu_label: "GB200",
            gpus: 4,
            price_per_hour: usd(42.0),
            kind: RackKind::Nvl72,
        }],
        nodes_layer: NodesView {
            nodes_paid: 3,
            nodes_booting: 0,
            managed: 1,
            price_per_hour: usd(116.0),
            evicting: None,
            next_review: None,
            next_consolidatable: None,
        },
        requests: RequestTotals {
            offered: 1000,
            met: 580,
            late: 60,
            timed_out: 200,
            rejected: 10,
            failed: 5,
            lost: 37,
            degraded: 0,
            unfinished: 108,
            retries: 0,
            cut: 0,
        },
        score: Score { total: 41.2, g: 0.58, e: 0.18 },
        ledger: LedgerView {
            gpu_time: times,
            cost,
            bill_gpu_time: Span::from_mins(484),
            bill: usd(84.7),
            gpus_now: [0, 0, 7, 0, 0, 8, 0, 1].map(GpuCount::whole),
        },
        decisions: 12,
    }
}

pub fn decision(id: u64, who: Who, verdict: Verdict, tone: Tone) -> Decision {
    let at = Time::from_secs(49 + 10 * id);
    Decision { id, at, who, verdict, tone, times: 1, last_at: at, caused_by: None }
}

/// An HPA sync of GPU utilization.
pub fn sync(value: Option<i64>, target: i64, replicas: (u32, u32, u32, u32), limit: HpaLimit, waiting: u32) -> Verdict {
    let (current, raw_desired, stabilized, desired) = replicas;
    Verdict::HpaSync {
        service: ServiceId(1),
        signal: Param::Signal,
        signal_choice: 0,
        value_milli: value,
        target_milli: target,
        current,
        ready: current,
        raw_desired,
        stabilized,
        desired,
        limit,
        waiting,
    }
}

/// Commands of every kind.
pub fn commands() -> Vec<Command> {
    let over = Span::from_mins(5);
    vec![
        Command::BuyNode { palette: 0, rack: RackId(0) },
        Command::MoveNode { node: NodeId(2), rack: RackId(1) },
        Command::ReleaseNode { node: NodeId(2) },
        Command::LaunchGang { service: ServiceId(0) },
        Command::DeleteGroup { group: GroupId(0) },
        Command::CrashReplica { group: GroupId(0) },
        Command::InjectSpike { service: ServiceId(1), requests: 240, over, long_prompt_tokens: 1_000_000 },
        Command::InjectSpike { service: ServiceId(1), requests: 1, over, long_prompt_tokens: 0 },
        Command::InjectSpike { service: ServiceId(1), requests: 0, over, long_prompt_tokens: 1_000_000 },
        Command::Set { param: Param::Signal, value: 2 },
        Command::Set { param: Param::TargetPercent, value: 70 },
        Command::Set { param: Param::ConsolidateAfter, value: 3600 },
    ]
}

fn placement_verdicts() -> Vec<Verdict> {
    let (g, nodes) = (GroupId(0), vec![NodeId(0), NodeId(1)]);
    let counts = NodeCounts { nodes: 8, no_free_gpu: 5, selector: 3, ..NodeCounts::default() };
    let unschedulable =
        |counts, bound, total| Verdict::PodUnschedulable { pod: PodId(7), rank: 7, group: g, counts, bound, total };
    vec![
        Verdict::PodsBound { group: g, placed: 7, total: 8, min_member: 8, nodes: nodes.clone() },
        Verdict::PodsBound { group: g, placed: 8, total: 8, min_member: 8, nodes: nodes.clone() },
        Verdict::PodsBound { group: g, placed: 7, total: 8, min_member: 4, nodes: nodes.clone() },
        Verdict::PodsBound { group: GroupId(1), placed: 1, total: 1, min_member: 1, nodes: vec![NodeId(2)] },
        unschedulable(counts, 7, 8),
        unschedulable(NodeCounts { nodes: 9, taint: 2, not_ready: 3, cpu_or_memory: 1, ..counts }, 0, 1),
        unschedulable(NodeCounts::default(), 0, 8),
        Verdict::GangPlaced { group: g, total: 8, domains: 1, nodes: nodes.clone() },
        Verdict::GangPlaced { group: g, total: 8, domains: 2, nodes: nodes.clone() },
        Verdict::GangPlaced { group: g, total: 8, domains: 0, nodes },
        Verdict::GangDeferred { group: g, fit: 7, need: 8, missing: 1, best_domain: None },
        Verdict::GangDeferred { group: g, fit: 7, need: 8, missing: 1, best_domain: Some(7) },
        Verdict::GangDeferred { group: g, fit: 8, need: 8, missing: 0, best_domain: None },
        Verdict::StaleEvicted { group: g, held: Span::from_secs(60) },
        Verdict::GangComplete { group: g, held: Span::from_secs(222), gpu_time: Span::from_mins(26), cost: usd(4.55) },
        Verdict::GangComplete { group: g, held: Span::ZERO, gpu_time: Span::ZERO, cost: usd(0.0) },
    ]
}

fn replica_verdicts() -> Vec<Verdict> {
    let (g, grace, s) = (GroupId(0), Span::from_secs(30), Span::from_secs);
    vec![
        sync(Some(99_000), 95_000, (4, 4, 4, 4), HpaLimit::Tolerance, 412),
        sync(Some(99_000), 70_000, (4, 6, 6, 6), HpaLimit::None, 1),
        sync(Some(35_000), 70_000, (4, 2, 4, 4), HpaLimit::Stabilization, 0),
        sync(Some(35_000), 70_000, (4, 2, 2, 2), HpaLimit::None, 0),
        sync(Some(99_000), 10_000, (4, 40, 40, 8), HpaLimit::Max, 5),
        sync(Some(1_000), 70_000, (4, 1, 1, 2), HpaLimit::Min, 0),
        sync(Some(99_000), 10_000, (1, 10, 10, 5), HpaLimit::Rate, 0),
        sync(Some(99_000), 70_000, (4, 4, 4, 4), HpaLimit::MissingPods, 0),
        sync(None, 70_000, (4, 4, 4, 4), HpaLimit::NoMetric, 0),
        Verdict::ReplicasSet { service: ServiceId(1), from: 2, to: 4 },
        Verdict::DrainStarted { group: g, in_flight: 11, grace },
        Verdict::DrainStarted { group: g, in_flight: 0, grace },
        Verdict::DrainEnded { group: g, finished: 4, lost: 7 },
        Verdict::DrainEnded { group: g, finished: 1, lost: 0 },
        Verdict::ReplicaReady { group: g, pending: s(52), image: s(40), weights: s(65), warm_up: s(20) },
        Verdict::EngineRefused { group: g, short_gib_tenths: 125 },
    ]
}

fn node_verdicts() -> Vec<Verdict> {
    let (n, saves, kept) = (NodeId(2), usd(32.0), KeptBecause::Pdb);
    let plan = |empty, pods, replacement| Verdict::ConsolidationPlanned {
        nodes: vec![n],
        empty,
        pods,
        replacement,
        saves_per_hour: saves,
    };
    let evicts = |pods, in_flight| Verdict::ConsolidationEvicts {
        node: n,
        pods,
        in_flight,
        grace: Span::from_secs(30),
        saves_per_hour: saves,
    };
    let mut all = vec![
        Verdict::NodeBought {
            node: n,
            instance: "p5.48xlarge",
            pods: 1,
            price_per_hour: usd(55.04),
            ready_in: Span::from_secs(52),
        },
        Verdict::NoNodeFits { pod: PodId(7), group: GroupId(0) },
        Verdict::PoolLimit { pod: PodId(7), group: GroupId(0) },
        plan(true, 0, None),
        plan(false, 4, None),
        plan(false, 4, Some("g6e.12xlarge")),
        evicts(4, 11),
        evicts(4, 0),
        evicts(0, 0),
        Verdict::ConsolidationDropped { nodes: (0..7).map(NodeId).collect() },
        Verdict::NodeReleased { node: n, paid: usd(12.3) },
        Verdict::ConsolidationKept { node: n, why: kept },
    ];
    let remaining = Span::from_secs(540);
    all.extend(
        [
            KeptBecause::NotConsolidatable { remaining },
            KeptBecause::NotEmpty,
            KeptBecause::PodsDoNotFit,
            KeptBecause::NotCheaper,
            KeptBecause::Budget,
            KeptBecause::DoNotDisrupt,
        ]
        .map(|why| Verdict::ConsolidationKept { node: n, why }),
    );
    use NodeStage::*;
    all.extend(
        [Launching, Booting, Registering, GpuStack, Ready, Draining, Failed, Released]
            .map(|stage| Verdict::NodeReached { node: n, stage, took: Span::from_secs(21) }),
    );
    all
}

fn request_verdicts() -> Vec<Verdict> {
    let (service, tokens, over) = (ServiceId(1), 1_000_000, Span::from_mins(1));
    let spike = |requests, long_prompt_tokens| Verdict::SpikeBegan { service, requests, over, long_prompt_tokens };
    vec![
        Verdict::PromptRefused { service, tokens, limit: 131_072 },
        spike(240, 0),
        spike(240, tokens),
        spike(0, tokens),
        Verdict::LongPromptAnswered { service, tokens, after: Span::from_secs(97) },
        Verdict::LongPromptLost { service, tokens, after: Span::from_secs(120) },
        Verdict::TurnedAway { service, why: TurnedAway::QueueLimit, found: 41, limit: 40, fallback: None },
        Verdict::TurnedAway { service, why: TurnedAway::Deadline, found: 41, limit: 12, fallback: Some(ServiceId(0)) },
        Verdict::TurnedAway { service, why: TurnedAway::ContextCap, found: 90_000, limit: 32_000, fallback: None },
        Verdict::EngineCrashed { group: GroupId(0), with: 0, lost: 1 },
        Verdict::EngineCrashed { group: GroupId(0), with: 2, lost: 17 },
    ]
}

fn start_verdicts() -> Vec<Verdict> {
    let (group, early, claimed) = (GroupId(0), Span::from_secs(62), Time::from_secs(40));
    vec![
        Verdict::ReadyClaimed { group, after: Span::from_secs(3) },
        Verdict::ReadyTooEarly { group, claimed, early, failed: 0 },
        Verdict::ReadyTooEarly { group, claimed, early, failed: 512 },
        Verdict::SpareLoaded { group },
        Verdict::SparePromoted { group },
    ]
}

/// Verdicts of every kind, each in its variations.
pub fn verdicts() -> Vec<Verdict> {
    let mut all: Vec<Verdict> = commands().into_iter().map(Verdict::Did).collect();
    all.extend(commands().into_iter().map(|command| Verdict::Refused { command, why: Refusal::NoSuchNode }));
    all.extend(placement_verdicts());
    all.extend(replica_verdicts());
    all.extend(node_verdicts());
    all.extend(request_verdicts());
    all.extend(start_verdicts());
    all
}

/// A running number for each kind of verdict; a new kind does not compile without one.
pub fn kind(verdict: &Verdict) -> usize {
    use Verdict::*;
    match verdict {
        Did(_) => 0,
        Refused { .. } => 1,
        PodsBound { .. } => 2,
        PodUnschedulable { .. } => 3,
        GangPlaced { .. } => 4,
        GangDeferred { .. } => 5,
        StaleEvicted { .. } => 6,
        GangComplete { .. } => 7,
        HpaSync { .. } => 8,
        ReplicasSet { .. } => 9,
        NodeBought { .. } => 10,
        NoNodeFits { .. } => 11,
        PoolLimit { .. } => 12,
        NodeReached { .. } => 13,
        ConsolidationPlanned { .. } => 14,
        ConsolidationEvicts { .. } => 15,
        ConsolidationDropped { .. } => 16,
        ConsolidationKept { .. } => 17,
        NodeReleased { .. } => 18,
        DrainStarted { .. } => 19,
        DrainEnded { .. } => 20,
        ReplicaReady { .. } => 21,
        EngineRefused { .. } => 22,
        PromptRefused { .. } => 23,
        SpikeBegan { .. } => 24,
        LongPromptAnswered { .. } => 25,
        LongPromptLost { .. } => 26,
        TurnedAway { .. } => 27,
        EngineCrashed { .. } => 28,
        ReadyClaimed { .. } => 29,
        ReadyTooEarly { .. } => 30,
        SparePromoted { .. } => 31,
        SpareLoaded { .. } => 32,
    }
}
