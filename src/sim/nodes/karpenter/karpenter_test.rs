//! Behaviour of Karpenter beyond the upstream cases, and invariants over random clusters.

use super::decision::{Destination, KeptReason, Method};
use super::pool::{AllowedNodes, Limits};
use super::requirement::{Operator, RequirementSpec};
use super::types::{CAPACITY_TYPE, ZONE};
use super::*;
use crate::sim::id::{NodeId, PodId};
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const NOW: Time = Time::from_secs(10_000);

fn gpu_type(gpus: i64) -> InstanceType {
    let offering = |zone: &str, capacity_type, dollars_per_gpu: f64| Offering {
        zone: zone.to_owned(),
        capacity_type,
        price_microusd_per_hour: Microusd::from_usd(gpus as f64 * dollars_per_gpu),
        available: true,
        reservation_left: None,
    };
    InstanceType {
        name: format!("g{gpus}"),
        capacity: Resources::new(gpus * 12_000, gpus * 48_000, gpus, 110),
        overhead: Resources::new(100, 500, 0, 0),
        labels: BTreeMap::from([("gpu-count".to_owned(), gpus.to_string())]),
        offerings: vec![
            offering("z1", CapacityType::OnDemand, 2.0),
            offering("z2", CapacityType::OnDemand, 2.1),
            offering("z1", CapacityType::Spot, 0.8),
        ],
    }
}

fn on_demand_pool() -> Pool {
    Pool {
        requirements: vec![RequirementSpec::new(CAPACITY_TYPE, Operator::In, ["on-demand"])],
        budgets: vec![Budget { nodes: AllowedNodes::Percent(100), ..Budget::default() }],
        ..Pool::default()
    }
}

fn view_of(pool: Pool) -> View {
    View { types: [1, 4, 8].map(gpu_type).into(), pools: vec![pool], ..View::default() }
}

fn gpu_pod(id: u32, gpus: i64) -> PodView {
    PodView::new(PodId(id), Resources::new(1000, 1000, gpus, 1))
}

/// Adds a node of type `kind` with pods of these GPU counts; pod ids are 100 · node + position.
fn add_node(view: &mut View, kind: usize, pods: &[i64]) -> NodeId {
    let id = NodeId::from_index(view.nodes.len());
    let mut node = NodeView::of_type(view, id, Some(0), kind, "z1", CapacityType::OnDemand).expect("indices exist");
    node.pods = (0..).zip(pods).map(|(i, gpus)| gpu_pod(id.0 * 100 + i, *gpus)).collect();
    view.nodes.push(node);
    id
}

fn decide(view: &View) -> Decision {
    disrupt(view, &Settings::default(), &DisruptionMemory::default(), NOW).0
}

#[test]
fn two_pods_land_where_the_decision_says() {
    let mut view = view_of(on_demand_pool());
    let keep = add_node(&mut view, 2, &[1, 1, 1, 1]);
    let go = add_node(&mut view, 2, &[1, 1]);
    let command = decide(&view).command.expect("the second node is not needed");
    assert_eq!((command.nodes.as_slice(), command.reason), (&[go][..], Reason::Underutilized));
    let to = Destination::Existing(keep);
    let expected = [PodId(100), PodId(101)].map(|pod| Landing { pod, to });
    assert_eq!(command.landings, expected);
    assert_eq!(command.savings_microusd_per_hour(), 16_000_000);
}

#[test]
fn replacement_is_named_with_its_price() {
    let mut view = view_of(on_demand_pool());
    add_node(&mut view, 2, &[1, 1]);
    let command = decide(&view).command.expect("two GPUs do not need eight");
    let launch = &command.replacements[0].launch;
    assert_eq!(view.types[launch.instance_type].name, "g4");
    assert_eq!((command.method, command.price_after), (Method::SingleNode, Microusd(8_000_000)));
    assert_eq!(command.savings_microusd_per_hour(), 8_000_000);
}

#[test]
fn a_kept_node_says_why() {
    let reason = |change: &dyn Fn(&mut View)| {
        let mut view = view_of(on_demand_pool());
        add_node(&mut view, 2, &[1]);
        change(&mut view);
        let decision = decide(&view);
        assert_eq!(decision.command, None);
        decision.best_kept().expect("one node").reason.clone()
    };
    let pod = PodId(0);
    assert_eq!(
        reason(&|v| v.nodes[0].pods[0].do_not_disrupt = Some(DoNotDisrupt::Always)),
        KeptReason::DoNotDisrupt { pod: Some(pod) }
    );
    assert_eq!(
        reason(&|v| v.pdbs.push(Pdb {
            name: "pdb".into(),
            namespace: "default".into(),
            match_labels: BTreeMap::new(),
            allowed: 0,
            fully_blocking: false,
            always_allow_unhealthy: false,
        })),
        KeptReason::Pdb { pod }
    );
    let waiting = |v: &mut View| {
        v.pools[0].consolidate_after = Some(Span::from_secs(3600));
        v.nodes[0].last_pod_event = Some(Time::from_secs(9_000));
    };
    assert_eq!(reason(&waiting), KeptReason::NotConsolidatable { remaining: Some(Span::from_secs(2600)) });
    assert_eq!(
        reason(&|v| v.pools[0].budgets[0].nodes = AllowedNodes::Count(0)),
        KeptReason::Budget { reason: Reason::Underutilized }
    );
    assert_eq!(reason(&|v| v.pools[0].policy = Policy::WhenEmpty), KeptReason::NotEmpty { pods: 1 });
    assert_eq!(
        reason(&|v| v.nodes[0].pods[0].requests.gpu = 8),
        KeptReason::NotCheaper { now: Microusd(16_000_000), cheapest: Some(Microusd(16_800_000)) }
    );
    let no_stock = |v: &mut View| v.types.iter_mut().flat_map(|t| &mut t.offerings).for_each(|o| o.available = false);
    assert_eq!(reason(&no_stock), KeptReason::PodsDoNotFit { pod, why: Refusal::NoOffering });
}

#[test]
fn consolidation_sleeps_while_nothing_changes() {
    let mut view = view_of(on_demand_pool());
    add_node(&mut view, 0, &[1]);
    let settings = Settings::default();
    let (_, memory) = disrupt(&view, &settings, &DisruptionMemory::default(), NOW);
    let soon = NOW + DISRUPTION_INTERVAL;
    let (decision, _) = disrupt(&view, &settings, &memory, soon);
    assert_eq!(decision.best_kept().map(|k| &k.reason), Some(&KeptReason::Unchanged));
    let (later, _) = disrupt(&view, &settings, &memory, NOW + Span::from_mins(5));
    assert_ne!(later.best_kept().map(|k| &k.reason), Some(&KeptReason::Unchanged));
    view.nodes[0].pods.clear();
    view.state_version += 1;
    let (changed, _) = disrupt(&view, &settings, &memory, soon);
    assert_eq!(changed.command.map(|c| c.reason), Some(Reason::Empty));
}

#[test]
fn an_unschedulable_pod_gets_the_refusal_that_came_furthest() {
    let reason = |change: &dyn Fn(&mut View)| {
        let mut view = view_of(on_demand_pool());
        view.pending.push(gpu_pod(0, 8));
        change(&mut view);
        let plan = provision(&view, &Settings::default(), NOW);
        assert!(plan.new_nodes.is_empty());
        plan.unschedulable[0].reason.clone()
    };
    assert_eq!(reason(&|v| v.pools.clear()), Refusal::NoPool);
    assert_eq!(reason(&|v| v.pending[0].requests.gpu = 9), Refusal::TypeTooSmall);
    assert_eq!(reason(&|v| v.pools[0].limits.gpu = Some(7)), Refusal::Limit);
    let no_spot = |v: &mut View| {
        v.pools[0].requirements[0].values = vec!["spot".into()];
        v.types.iter_mut().for_each(|t| t.offerings[2].available = false);
    };
    assert_eq!(reason(&no_spot), Refusal::NoOffering);
    let elsewhere = |v: &mut View| {
        v.pending[0].node_selector.insert("team".into(), "a".into());
    };
    assert_eq!(reason(&elsewhere), Refusal::Requirement { key: "team".into() });
    let tainted = |v: &mut View| {
        v.pools[0].taints.push(taints::Taint {
            key: "gpu".into(),
            value: String::new(),
            effect: taints::Effect::NoSchedule,
        });
    };
    assert_eq!(reason(&tainted), Refusal::Taint { key: "gpu".into() });
}

#[test]
fn a_pinned_zone_shows_on_the_new_node() {
    let mut view = view_of(on_demand_pool());
    view.pools[0].requirements.push(RequirementSpec::new("team", Operator::In, ["a", "b"]));
    let mut pod = gpu_pod(0, 1);
    pod.node_selector = BTreeMap::from([(ZONE.into(), "z2".into()), ("team".into(), "b".into())]);
    view.pending.push(pod);
    let plan = provision(&view, &Settings::default(), NOW);
    let node = &plan.new_nodes[0];
    assert_eq!(node.launch.zone, "z2");
    assert_eq!(node.labels.get(ZONE).map(String::as_str), Some("z2"));
    assert_eq!(node.labels.get("team").map(String::as_str), Some("b"));
    assert_eq!(node.labels.get("gpu-count").map(String::as_str), Some("1"));
}

#[test]
fn failed_capacity_is_forgotten_after_three_minutes() {
    let mut ice = IceMemory::default();
    ice.mark("g8", "z1", CapacityType::OnDemand, Time::ZERO);
    let marked = |s| ice.is_marked("g8", "z1", CapacityType::OnDemand, Time::from_secs(s));
    assert!(marked(179));
    assert!(!marked(180));
    assert!(!ice.is_marked("g8", "z2", CapacityType::OnDemand, Time::ZERO));
}

#[test]
fn settings_survive_json() {
    let pool = Pool { limits: Limits { gpu: Some(16), ..Limits::default() }, ..on_demand_pool() };
    let text = serde_json::to_string(&pool).expect("serialises");
    assert_eq!(serde_json::from_str::<Pool>(&text).expect("reads back"), pool);
}

#[derive(Debug, Clone)]
struct RandomNode {
    kind: usize,
    pods: Vec<i64>,
    spot: bool,
    initialized: bool,
    deleting: bool,
    pod_event_s: Option<u64>,
    drifted: bool,
}

fn random_node() -> impl Strategy<Value = RandomNode> {
    let pods = prop::collection::vec(0i64..4, 0..4);
    let event = prop::option::of(0u64..10_000);
    let flags = (any::<bool>(), prop::bool::weighted(0.9), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (0usize..3, pods, event, flags).prop_map(|(kind, pods, pod_event_s, (spot, initialized, deleting, drifted))| {
        RandomNode { kind, pods, spot, initialized, deleting, pod_event_s, drifted }
    })
}

fn random_pool() -> impl Strategy<Value = Pool> {
    let policy = prop::sample::select(vec![Policy::WhenEmpty, Policy::WhenEmptyOrUnderutilized, Policy::Balanced]);
    let budget = prop_oneof![(0u32..4).prop_map(AllowedNodes::Count), (0u32..100).prop_map(AllowedNodes::Percent)];
    let gpu_limit = prop::option::of(0i64..40);
    (policy, budget, gpu_limit, 0u64..4000, any::<bool>()).prop_map(|(policy, nodes, gpu, after_s, spot)| {
        let mut pool = on_demand_pool();
        if spot {
            pool.requirements.clear();
        }
        Pool {
            policy,
            consolidate_after: Some(Span::from_secs(after_s)),
            budgets: vec![Budget { nodes, ..Budget::default() }],
            limits: Limits { gpu, ..Limits::default() },
            ..pool
        }
    })
}

prop_compose! {
    fn random_view()(
        pool in random_pool(),
        nodes in prop::collection::vec(random_node(), 0..7),
        pending in prop::collection::vec((0i64..9, 0i64..20_000, any::<bool>()), 0..10),
    ) -> View {
        let mut view = view_of(pool);
        let mut daemon = PodView::new(PodId(9_999), Resources::new(3000, 300, 0, 1));
        daemon.owner = Owner::DaemonSet;
        view.daemonsets.push(daemon);
        for random in nodes {
            let id = add_node(&mut view, random.kind, &[]);
            let node = &mut view.nodes[id.index()];
            let mut free = node.allocatable.gpu;
            for (i, gpus) in (0..).zip(random.pods) {
                if gpus <= free {
                    free -= gpus;
                    node.pods.push(gpu_pod(id.0 * 100 + i, gpus));
                }
            }
            node.capacity_type = if random.spot { CapacityType::Spot } else { CapacityType::OnDemand };
            node.initialized = random.initialized;
            node.ready = random.initialized;
            node.deleting = random.deleting;
            node.last_pod_event = random.pod_event_s.map(Time::from_secs);
            node.drifted_at = random.drifted.then_some(Time::ZERO);
        }
        for (i, (gpus, cpu_m, apart)) in (0..).zip(pending) {
            let mut pod = PodView::new(PodId(5_000 + i), Resources::new(cpu_m, 100, gpus, 1));
            pod.anti_affinity_host = apart.then(|| "apart".to_owned());
            view.pending.push(pod);
        }
        view
    }
}

fn all_pods(view: &View) -> BTreeMap<PodId, PodView> {
    let on_nodes = view.nodes.iter().flat_map(|n| &n.pods);
    on_nodes.chain(&view.pending).map(|p| (p.id, p.clone())).collect()
}

fn daemon_demand(view: &View) -> Resources {
    view.daemonsets.iter().fold(Resources::default(), |s, d| s.plus(&d.demand()))
}

/// Every option of a new node holds its pods and the DaemonSets.
fn assert_new_node_fits(view: &View, node: &NewNode) {
    let pods = all_pods(view);
    let demand = node.pods.iter().fold(daemon_demand(view), |s, p| s.plus(&pods[p].demand()));
    assert!(!node.pods.is_empty() && node.options.contains(&node.launch.instance_type));
    for option in &node.options {
        assert!(demand.fits(&view.types[*option].allocatable()), "{demand:?} on {}", view.types[*option].name);
    }
}

/// The pods planned onto an existing node fit beside those that stay.
fn assert_existing_fit(view: &View, moves: &[(PodId, NodeId)]) {
    let pods = all_pods(view);
    let targets: BTreeSet<NodeId> = moves.iter().map(|(_, n)| *n).collect();
    for target in targets {
        let node = view.node(target).expect("target exists");
        assert!(!node.deleting);
        let there = node.pods.iter().fold(daemon_demand(view), |s, p| s.plus(&p.demand()));
        let all = moves.iter().filter(|(_, n)| *n == target).fold(there, |s, (p, _)| s.plus(&pods[p].demand()));
        assert!(all.fits(&node.allocatable), "{all:?} on {:?}", node.allocatable);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_overfills_a_node_or_breaks_a_limit(view in random_view()) {
        let plan = provision(&view, &Settings::default(), NOW);
        plan.new_nodes.iter().for_each(|n| assert_new_node_fits(&view, n));
        assert_existing_fit(&view, &plan.on_existing);
        let placed = plan.new_nodes.iter().flat_map(|n| n.pods.iter().copied());
        let mut seen: Vec<PodId> = placed
            .chain(plan.on_existing.iter().map(|(p, _)| *p))
            .chain(plan.unschedulable.iter().map(|u| u.pod))
            .collect();
        let count = seen.len();
        seen.sort();
        seen.dedup();
        prop_assert_eq!(seen.len(), count, "a pod is answered once");
        prop_assert!(view.pending.iter().all(|p| seen.contains(&p.id)));
        if let Some(limit) = view.pools[0].limits.gpu && !plan.new_nodes.is_empty() {
            let owned: i64 = view.nodes.iter().filter(|n| !n.deleting).map(|n| n.capacity.gpu).sum();
            let worst = |n: &NewNode| n.options.iter().map(|o| view.types[*o].capacity.gpu).max().unwrap_or(0);
            prop_assert!(owned + plan.new_nodes.iter().map(worst).sum::<i64>() <= limit);
        }
    }

    #[test]
    fn pods_that_keep_apart_never_share_a_node(view in random_view()) {
        let plan = provision(&view, &Settings::default(), NOW);
        let apart = |pod: &PodId| view.pending.iter().any(|p| p.id == *pod && p.anti_affinity_host.is_some());
        for node in &plan.new_nodes {
            prop_assert!(node.pods.iter().filter(|p| apart(p)).count() <= 1);
        }
        let mut targets: Vec<NodeId> = plan.on_existing.iter().filter(|(p, _)| apart(p)).map(|(_, n)| *n).collect();
        let count = targets.len();
        targets.sort();
        targets.dedup();
        prop_assert_eq!(targets.len(), count);
    }

    #[test]
    fn disruption_keeps_policy_budget_and_capacity(view in random_view(), spot_to_spot in any::<bool>()) {
        let settings = Settings { spot_to_spot, ..Settings::default() };
        let (decision, _) = disrupt(&view, &settings, &DisruptionMemory::default(), NOW);
        let managed = view.nodes.len();
        let Some(command) = decision.command else {
            prop_assert_eq!(decision.kept.len(), managed, "every node that stays says why");
            return Ok(());
        };
        prop_assert!(!command.nodes.is_empty());
        let up = || view.nodes.iter().filter(|n| n.initialized);
        let most = match view.pools[0].budgets[0].nodes {
            AllowedNodes::Percent(p) => (up().count() as f64 * f64::from(p) / 100.0).ceil() as usize,
            AllowedNodes::Count(n) => n as usize,
            AllowedNodes::Invalid(_) => 0,
        };
        prop_assert!(command.nodes.len() + up().filter(|n| n.deleting).count() <= most);
        let mut moving: Vec<PodId> = command
            .nodes
            .iter()
            .flat_map(|id| &view.node(*id).expect("node exists").pods)
            .map(|p| p.id)
            .collect();
        moving.sort();
        if view.pools[0].policy == Policy::WhenEmpty && command.reason != Reason::Drifted {
            prop_assert!(moving.is_empty());
        }
        let landed: Vec<PodId> = command.landings.iter().map(|l| l.pod).collect();
        prop_assert_eq!(&landed, &moving, "every pod of a removed node has a place");
        command.replacements.iter().for_each(|n| assert_new_node_fits(&view, n));
        let on_existing: Vec<(PodId, NodeId)> = command
            .landings
            .iter()
            .filter_map(|l| match l.to {
                Destination::Existing(node) => Some((l.pod, node)),
                Destination::Replacement(_) => None,
            })
            .collect();
        prop_assert!(on_existing.iter().all(|(_, n)| !command.nodes.contains(n)));
        assert_existing_fit(&view, &on_existing);
        if command.reason == Reason::Underutilized {
            prop_assert!(command.replacements.len() <= 1);
            prop_assert!(command.savings_microusd_per_hour() > 0);
        }
        let confirmed = validate(&view, &settings, &command, NOW);
        prop_assert_eq!(confirmed.map(|c| c.nodes), Ok(command.nodes), "an unchanged cluster confirms");
    }
}
