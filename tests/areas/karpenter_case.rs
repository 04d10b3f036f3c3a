//! The case schema of node provisioning, and the view that a case describes.

use serde::Deserialize;
use seven_of_eight::sim::id::{NodeId, PodId};
use seven_of_eight::sim::money::Microusd;
use seven_of_eight::sim::nodes::karpenter::pool::{AllowedNodes, Limits};
use seven_of_eight::sim::nodes::karpenter::requirement::{Operator, RequirementSpec};
use seven_of_eight::sim::nodes::karpenter::taints::{Effect, Taint, Toleration, TolerationOp};
use seven_of_eight::sim::nodes::karpenter::{
    Budget, CapacityType, DoNotDisrupt, IceMemory, InstanceType, NodeView, Offering, Owner, Pdb, PodView, Policy, Pool,
    Reason, Resources, Settings, View, node_labels,
};
use seven_of_eight::sim::time::{Span, Time};
use std::collections::BTreeMap;

pub fn time(s: f64) -> Time {
    Time::ZERO + seconds(s)
}

pub fn seconds(s: f64) -> Span {
    Span::from_secs_f64(s)
}

/// Pod slots of a machine that does not say.
const MACHINE_PODS: i64 = 110;

#[derive(Deserialize)]
pub struct Case {
    pub ask: String,
    #[serde(default)]
    pub now_s: f64,
    #[serde(default)]
    pub settings: SettingsCase,
    #[serde(default)]
    pools: Vec<PoolCase>,
    #[serde(default)]
    instance_types: Vec<TypeCase>,
    #[serde(default)]
    pub nodes: Vec<NodeCase>,
    #[serde(default)]
    pending: Vec<PodCase>,
    #[serde(default)]
    daemonsets: Vec<PodCase>,
    #[serde(default)]
    pdbs: Vec<PdbCase>,
    #[serde(default)]
    ice: Vec<IceCase>,
    #[serde(default)]
    pub events: Vec<EventCase>,
    wall_clock: Option<String>,
    pub pool_node_count: Option<u32>,
    pub node_claim: Option<ClaimCase>,
    pub balanced: Option<BalancedCase>,
    pub expect: Expect,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    pub batch_end_s: Option<f64>,
    pub batch_pods: Option<Vec<String>>,
    pub new_nodes: Option<Vec<ExpectedNode>>,
    pub new_node_count: Option<usize>,
    pub all_launch: Option<String>,
    pub launch_counts: Option<BTreeMap<String, usize>>,
    pub unschedulable: Option<Vec<String>>,
    pub unschedulable_count: Option<usize>,
    pub on_existing: Option<BTreeMap<String, String>>,
    pub action: Option<String>,
    pub reason: Option<String>,
    pub nodes: Option<Vec<String>>,
    pub node_count: Option<usize>,
    pub per_pool: Option<BTreeMap<String, usize>>,
    pub replacement_count: Option<usize>,
    pub replacements: Option<Vec<ExpectedNode>>,
    pub allowed: Option<BTreeMap<String, BTreeMap<String, i64>>>,
    pub consolidatable: Option<BTreeMap<String, bool>>,
    pub score: Option<f64>,
    pub approved: Option<bool>,
    pub deleted: Option<bool>,
    pub delete_reason: Option<String>,
    pub initialized: Option<bool>,
    pub expired: Option<Vec<String>>,
    pub drain_groups: Option<Vec<Vec<String>>>,
    pub force_delete_at_s: Option<BTreeMap<String, f64>>,
}

#[derive(Deserialize, Debug, Default)]
#[serde(default, deny_unknown_fields)]
pub struct ExpectedNode {
    pub pool: Option<String>,
    pub pods: Option<Vec<String>>,
    pub options: Option<Vec<String>>,
    pub launch: Option<String>,
    pub capacity_type: Option<String>,
    pub zone: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default, deny_unknown_fields)]
pub struct Res {
    cpu_m: i64,
    mem_mib: i64,
    gpu: i64,
    pods: Option<i64>,
    extra: BTreeMap<String, i64>,
}

impl Res {
    pub fn build(&self, pods: i64) -> Resources {
        Resources {
            extra: self.extra.clone(),
            ..Resources::new(self.cpu_m, self.mem_mib, self.gpu, self.pods.unwrap_or(pods))
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
pub struct SettingsCase {
    batch_idle_s: Option<f64>,
    batch_max_s: Option<f64>,
    spot_to_spot: bool,
}

impl SettingsCase {
    pub fn build(&self) -> Settings {
        let default = Settings::default();
        Settings {
            batch_idle: self.batch_idle_s.map_or(default.batch_idle, seconds),
            batch_max: self.batch_max_s.map_or(default.batch_max, seconds),
            spot_to_spot: self.spot_to_spot,
        }
    }
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct BudgetCase {
    nodes: String,
    #[serde(default)]
    reasons: Vec<Reason>,
    schedule: Option<String>,
    duration_s: Option<f64>,
}

impl BudgetCase {
    fn build(&self) -> Budget {
        Budget {
            nodes: AllowedNodes::from(self.nodes.clone()),
            reasons: self.reasons.clone(),
            schedule: self.schedule.clone(),
            duration: self.duration_s.map(seconds),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct LimitsCase {
    cpu_m: Option<i64>,
    mem_mib: Option<i64>,
    gpu: Option<i64>,
    pods: Option<i64>,
    extra: BTreeMap<String, i64>,
    nodes: Option<i64>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct RequirementCase {
    key: String,
    op: Operator,
    #[serde(default)]
    values: Vec<String>,
    min_values: Option<u32>,
}

impl RequirementCase {
    fn build(&self) -> RequirementSpec {
        RequirementSpec { min_values: self.min_values, ..RequirementSpec::new(&self.key, self.op, self.values.clone()) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PoolCase {
    name: String,
    #[serde(default)]
    weight: i32,
    #[serde(default)]
    policy: Policy,
    #[serde(default)]
    consolidate_after_s: f64,
    #[serde(default)]
    consolidate_never: bool,
    budgets: Option<Vec<BudgetCase>>,
    #[serde(default)]
    limits: LimitsCase,
    #[serde(default)]
    requirements: Vec<RequirementCase>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Taint>,
    #[serde(default)]
    startup_taints: Vec<Taint>,
    expire_after_s: Option<f64>,
    replicas: Option<u32>,
}

impl PoolCase {
    fn build(&self) -> Pool {
        let limits = &self.limits;
        Pool {
            name: self.name.clone(),
            weight: self.weight,
            policy: self.policy,
            consolidate_after: (!self.consolidate_never).then(|| seconds(self.consolidate_after_s)),
            budgets: match &self.budgets {
                Some(budgets) => budgets.iter().map(BudgetCase::build).collect(),
                None => vec![Budget::default()],
            },
            limits: Limits {
                cpu_m: limits.cpu_m,
                mem_mib: limits.mem_mib,
                gpu: limits.gpu,
                pods: limits.pods,
                extra: limits.extra.clone(),
                nodes: limits.nodes,
            },
            requirements: self.requirements.iter().map(RequirementCase::build).collect(),
            labels: self.labels.clone(),
            taints: self.taints.clone(),
            startup_taints: self.startup_taints.clone(),
            expire_after: self.expire_after_s.map(seconds),
            termination_grace: None,
            replicas: self.replicas,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfferingCase {
    zone: String,
    capacity_type: CapacityType,
    price: f64,
    available: Option<bool>,
    reservation_capacity: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeCase {
    name: String,
    capacity: Res,
    #[serde(default)]
    overhead: Res,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    offerings: Vec<OfferingCase>,
}

impl TypeCase {
    fn build(&self) -> InstanceType {
        InstanceType {
            name: self.name.clone(),
            capacity: self.capacity.build(MACHINE_PODS),
            overhead: self.overhead.build(0),
            labels: self.labels.clone(),
            offerings: self
                .offerings
                .iter()
                .map(|o| Offering {
                    zone: o.zone.clone(),
                    capacity_type: o.capacity_type,
                    price_microusd_per_hour: Microusd::from_usd(o.price),
                    available: o.available.unwrap_or(true),
                    reservation_left: o.reservation_capacity,
                })
                .collect(),
        }
    }
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct TolerationCase {
    #[serde(default)]
    key: String,
    #[serde(default)]
    op: TolerationOp,
    #[serde(default)]
    value: String,
    effect: Option<Effect>,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
pub struct PodCase {
    pub name: String,
    #[serde(default)]
    req: Res,
    #[serde(default)]
    owner: Owner,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    namespace: Option<String>,
    #[serde(default)]
    node_selector: BTreeMap<String, String>,
    #[serde(default)]
    requirements: Vec<RequirementCase>,
    #[serde(default)]
    tolerations: Vec<TolerationCase>,
    anti_affinity_host: Option<String>,
    do_not_disrupt: Option<String>,
    started_s: Option<f64>,
    #[serde(default)]
    created_s: f64,
    #[serde(default)]
    terminating: bool,
    ready: Option<bool>,
    #[serde(default)]
    deletion_cost: i64,
    #[serde(default)]
    priority: i64,
    grace_s: Option<f64>,
    #[serde(default)]
    critical: bool,
    #[serde(default)]
    tolerates_disruption: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeCase {
    name: String,
    #[serde(default)]
    pool: String,
    #[serde(default)]
    instance_type: String,
    capacity_type: Option<CapacityType>,
    #[serde(default)]
    zone: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Taint>,
    allocatable: Option<Res>,
    capacity: Option<Res>,
    #[serde(default)]
    pods: Vec<PodCase>,
    initialized: Option<bool>,
    ready: Option<bool>,
    #[serde(default)]
    deleting: bool,
    #[serde(default)]
    nominated: bool,
    consolidatable: Option<bool>,
    do_not_disrupt: Option<String>,
    #[serde(default)]
    created_s: f64,
    initialized_at_s: Option<f64>,
    last_pod_event_s: Option<f64>,
    drifted_at_s: Option<f64>,
    termination_grace_s: Option<f64>,
    pub deleted_at_s: Option<f64>,
    reported_gpu: Option<i64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PdbCase {
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    match_labels: BTreeMap<String, String>,
    #[serde(default)]
    allowed: u32,
    #[serde(default)]
    fully_blocking: bool,
    #[serde(default)]
    always_allow_unhealthy: bool,
}

impl PdbCase {
    fn build(&self) -> Pdb {
        Pdb {
            name: self.name.clone(),
            namespace: self.namespace.clone().unwrap_or("default".to_owned()),
            match_labels: self.match_labels.clone(),
            allowed: self.allowed,
            fully_blocking: self.fully_blocking,
            always_allow_unhealthy: self.always_allow_unhealthy,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IceCase {
    instance_type: String,
    zone: String,
    capacity_type: CapacityType,
    at_s: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventCase {
    pub at_s: f64,
    #[serde(rename = "type")]
    pub kind: String,
    pub pod: Option<PodCase>,
    node: Option<String>,
    pdb: Option<PdbCase>,
    pool: Option<String>,
    budgets: Option<Vec<BudgetCase>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimCase {
    pub created_s: f64,
    pub launched_at_s: Option<f64>,
    pub registered_at_s: Option<f64>,
    pub requests: Option<Res>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalancedCase {
    pub savings: f64,
    pub disruption: f64,
    pub total_cost: f64,
    pub total_disruption: f64,
    pub k: u32,
}

/// A case as a view, with the names that the ids stand for.
pub struct Built {
    pub view: View,
    pub settings: Settings,
    pub now: Time,
    node_names: Vec<String>,
    pod_names: Vec<String>,
}

impl Built {
    pub fn new(case: &Case) -> Result<Built, String> {
        let now = time(case.now_s);
        let mut built = Built {
            view: View {
                types: case.instance_types.iter().map(TypeCase::build).collect(),
                pools: case.pools.iter().map(PoolCase::build).collect(),
                pdbs: case.pdbs.iter().map(PdbCase::build).collect(),
                ..View::default()
            },
            settings: case.settings.build(),
            now,
            node_names: Vec::new(),
            pod_names: Vec::new(),
        };
        if let Some(text) = &case.wall_clock {
            built.view.unix_at_zero_s = unix(text)? - case.now_s as i64;
        }
        let mut ice = IceMemory::default();
        for failed in &case.ice {
            ice.mark(&failed.instance_type, &failed.zone, failed.capacity_type, time(failed.at_s));
        }
        ice.apply(&mut built.view, now);
        built.view.pending = case.pending.iter().map(|p| built.pod(p)).collect();
        built.view.daemonsets = case.daemonsets.iter().map(|p| built.pod(p)).collect();
        // Upstream orders nodes by name; ids follow it.
        let mut nodes: Vec<&NodeCase> = case.nodes.iter().collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        for node in nodes {
            let view = built.node(node)?;
            built.view.nodes.push(view);
        }
        Ok(built)
    }

    pub fn node_name(&self, id: NodeId) -> String {
        self.node_names[id.index()].clone()
    }
    pub fn pod_name(&self, id: PodId) -> String {
        self.pod_names[id.index()].clone()
    }
    pub fn pool_index(&self, name: &str) -> Result<usize, String> {
        let found = self.view.pools.iter().position(|p| p.name == name);
        found.ok_or_else(|| format!("no pool {name}"))
    }

    fn pod(&mut self, case: &PodCase) -> PodView {
        let id = PodId::from_index(self.pod_names.len());
        self.pod_names.push(case.name.clone());
        PodView {
            owner: case.owner,
            namespace: case.namespace.clone().unwrap_or("default".to_owned()),
            labels: case.labels.clone(),
            node_selector: case.node_selector.clone(),
            requirements: case.requirements.iter().map(RequirementCase::build).collect(),
            tolerations: case
                .tolerations
                .iter()
                .map(|t| Toleration { key: t.key.clone(), op: t.op, value: t.value.clone(), effect: t.effect })
                .collect(),
            anti_affinity_host: case.anti_affinity_host.clone(),
            do_not_disrupt: case.do_not_disrupt.as_deref().and_then(DoNotDisrupt::parse),
            created: time(case.created_s),
            started: case.started_s.map(time),
            terminating: case.terminating,
            ready: case.ready.unwrap_or(true),
            deletion_cost: case.deletion_cost,
            priority: case.priority,
            grace: seconds(case.grace_s.unwrap_or(30.0)),
            critical: case.critical,
            tolerates_disruption: case.tolerates_disruption,
            ..PodView::new(id, case.req.build(1))
        }
    }

    fn node(&mut self, case: &NodeCase) -> Result<NodeView, String> {
        let id = NodeId::from_index(self.node_names.len());
        self.node_names.push(case.name.clone());
        let pool = match case.pool.as_str() {
            "" => None,
            name => Some(self.pool_index(name)?),
        };
        let instance_type = self.view.types.iter().position(|t| t.name == case.instance_type);
        let capacity_type = case.capacity_type.unwrap_or(CapacityType::OnDemand);
        let pods = case.pods.iter().map(|p| self.pod(p)).collect();
        let kind = instance_type.map(|i| &self.view.types[i]);
        let resources = |own: &Option<Res>, of_type: fn(&InstanceType) -> Resources| match own {
            Some(res) => res.build(MACHINE_PODS),
            None => kind.map(of_type).unwrap_or_default(),
        };
        let mut allocatable = resources(&case.allocatable, InstanceType::allocatable);
        allocatable.gpu = case.reported_gpu.unwrap_or(allocatable.gpu);
        let initialized = case.initialized.unwrap_or(true);
        let untimed = case.initialized_at_s.is_none() && case.last_pod_event_s.is_none();
        let owner = pool.map(|p| &self.view.pools[p]);
        let mut own_labels = case.labels.clone();
        own_labels.entry("kubernetes.io/hostname".to_owned()).or_insert(case.name.clone());
        Ok(NodeView {
            id,
            pool,
            instance_type,
            zone: case.zone.clone(),
            capacity_type,
            labels: match kind {
                Some(kind) => node_labels(kind, owner, &case.zone, capacity_type, &own_labels),
                None => own_labels,
            },
            taints: case.taints.clone(),
            allocatable,
            capacity: resources(&case.capacity, |t| t.capacity.clone()),
            pods,
            initialized,
            ready: case.ready.unwrap_or(true),
            deleting: case.deleting,
            instance_terminating: false,
            nominated_until: case.nominated.then_some(Time::MAX),
            consolidatable: case.consolidatable.or((initialized && untimed).then_some(true)),
            do_not_disrupt: case.do_not_disrupt.as_deref() == Some("true"),
            created: time(case.created_s),
            initialized_at: case.initialized_at_s.map(time),
            last_pod_event: case.last_pod_event_s.map(time),
            drifted_at: case.drifted_at_s.map(time),
            termination_grace: case.termination_grace_s.map(seconds),
        })
    }

    /// Changes the view as an event says.
    pub fn apply(&mut self, event: &EventCase) -> Result<(), String> {
        let node_index = |built: &Built| {
            let name = event.node.as_deref().ok_or("event without node")?;
            let found = built.node_names.iter().position(|n| n == name);
            found.ok_or_else(|| format!("no node {name}"))
        };
        match event.kind.as_str() {
            "pod_bound" => {
                let pod = self.pod(event.pod.as_ref().ok_or("event without pod")?);
                let index = node_index(self)?;
                let names = &self.pod_names;
                self.view.pending.retain(|p| names[p.id.index()] != names[pod.id.index()]);
                let node = &mut self.view.nodes[index];
                node.pods.push(pod);
                node.last_pod_event = Some(time(event.at_s));
                node.consolidatable = None;
            }
            "pod_pending" => {
                let pod = self.pod(event.pod.as_ref().ok_or("event without pod")?);
                self.view.pending.push(pod);
            }
            "pdb_created" => self.view.pdbs.push(event.pdb.as_ref().ok_or("event without pdb")?.build()),
            "node_nominated" => {
                let index = node_index(self)?;
                let until = time(event.at_s) + self.settings.nomination();
                self.view.nodes[index].nominated_until = Some(until);
            }
            "budget_changed" => {
                let pool = self.pool_index(event.pool.as_deref().ok_or("event without pool")?)?;
                let budgets = event.budgets.as_ref().ok_or("event without budgets")?;
                self.view.pools[pool].budgets = budgets.iter().map(BudgetCase::build).collect();
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(())
    }
}

/// Seconds since 1970 of an RFC 3339 instant.
fn unix(text: &str) -> Result<i64, String> {
    let bad = || format!("not RFC 3339: {text}");
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|s| s.parse::<i64>().ok()).ok_or_else(bad);
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let days_before = |year: i64| year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let february = if leap { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let in_year: i64 = lengths.iter().take(usize::try_from(month - 1).map_err(|_| bad())?).sum();
    let days = days_before(year - 1) - days_before(1969) + in_year + day - 1;
    let zone = text.get(19..).map(|z| z.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit()));
    let offset = match zone {
        Some("Z") => 0,
        Some(zone) if zone.len() == 6 => {
            let part = |range: std::ops::Range<usize>| zone[range].parse::<i64>().map_err(|_| bad());
            let minutes = part(1..3)? * 60 + part(4..6)?;
            if zone.starts_with('-') { -minutes * 60 } else { minutes * 60 }
        }
        _ => return Err(bad()),
    };
    Ok(days * 86_400 + hour * 3600 + minute * 60 + second - offset)
}
