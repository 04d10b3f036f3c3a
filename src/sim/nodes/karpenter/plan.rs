//! What a scheduling pass decides: new nodes, pods planned onto existing ones, and refusals.

use super::requirement::Requirements;
use super::types::{CAPACITY_TYPE, CapacityType, InstanceType, View, node_labels};
use crate::sim::id::{NodeId, PodId};
use crate::sim::money::Microusd;
use std::collections::BTreeMap;

/// The machine that will be asked for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Launch {
    /// Index of the instance type.
    pub instance_type: usize,
    pub zone: String,
    pub capacity_type: CapacityType,
    pub price_microusd_per_hour: Microusd,
}

/// A NodeClaim to create.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NewNode {
    /// Index of the pool.
    pub pool: usize,
    pub pods: Vec<PodId>,
    /// Indices of the instance types that would all do, cheapest first.
    pub options: Vec<usize>,
    /// What the node must satisfy; zone and capacity type restrict the launch.
    pub requirements: Requirements,
    /// Labels that the node will carry.
    pub labels: BTreeMap<String, String>,
    pub launch: Launch,
}

/// Why a pool cannot take a pod, in the order in which the questions are asked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// There is no pool that buys nodes.
    NoPool,
    /// The pod does not tolerate this taint of the pool.
    Taint { key: String },
    /// Pool and pod exclude each other on this label, or nothing defines it.
    Requirement { key: String },
    /// No type of the pool satisfies the pod's labels.
    NoSuchType,
    /// Types match, but all are too small for the pod and the DaemonSets.
    TypeTooSmall,
    /// Types match and are large enough, but none can be had in an allowed zone and capacity type.
    NoOffering,
    /// Fewer distinct values of this label are left than its `minValues`.
    MinValues { key: String },
    /// A reservation would do, but this pass has promised all of it; the next pass tries again.
    ReservationBusy,
    /// Every type would break a limit of the pool.
    Limit,
}

/// A pod that the pass could not place.
#[derive(Debug, Clone, PartialEq)]
pub struct Unschedulable {
    pub pod: PodId,
    /// The refusal that came furthest: what to change to get a node.
    pub reason: Refusal,
    /// Every pool that was asked, by index, with its refusal.
    pub by_pool: Vec<(usize, Refusal)>,
}

impl Unschedulable {
    pub(super) fn new(pod: PodId, by_pool: Vec<(usize, Refusal)>) -> Self {
        let reason = by_pool.iter().map(|(_, why)| why).max().cloned();
        Unschedulable { pod, reason: reason.unwrap_or(Refusal::NoPool), by_pool }
    }
}

/// The outcome of one provisioning pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProvisionPlan {
    pub new_nodes: Vec<NewNode>,
    /// Pods that existing or starting nodes will take; those nodes are nominated for a while.
    pub on_existing: Vec<(PodId, NodeId)>,
    pub unschedulable: Vec<Unschedulable>,
}

/// The price of the cheapest offering of a type that can be launched under `requirements`.
pub fn cheapest_price(kind: &InstanceType, requirements: &Requirements) -> Option<Microusd> {
    kind.offerings.iter().filter(|o| o.can_launch() && o.matches(requirements)).map(|o| o.price_microusd_per_hour).min()
}

/// Orders types by their cheapest offering, then by name; types without one come last.
pub(super) fn sort_by_price(view: &View, options: &mut [usize], requirements: &Requirements) {
    options.sort_by_cached_key(|index| {
        let kind = view.types.get(*index);
        let price = kind.and_then(|k| cheapest_price(k, requirements));
        (price.is_none(), price, kind.map(|k| k.name.clone()))
    });
}

/// What is launched: reserved capacity if there is some, else spot, else on-demand, and within
/// that the cheapest offering (by type name, then zone, at equal prices). The price-capacity
/// strategy of EC2 for spot and its filters for GPU machines are left out.
pub fn choose_launch(view: &View, options: &[usize], requirements: &Requirements) -> Option<Launch> {
    CapacityType::PREFERENCE.into_iter().find_map(|capacity_type| {
        options
            .iter()
            .filter_map(|index| view.types.get(*index).map(|kind| (*index, kind)))
            .flat_map(|(index, kind)| kind.offerings.iter().map(move |o| (index, kind, o)))
            .filter(|(_, _, o)| o.capacity_type == capacity_type && o.can_launch() && o.matches(requirements))
            .min_by_key(|(_, kind, o)| (o.price_microusd_per_hour, &kind.name, &o.zone))
            .map(|(index, _, o)| Launch {
                instance_type: index,
                zone: o.zone.clone(),
                capacity_type,
                price_microusd_per_hour: o.price_microusd_per_hour,
            })
    })
}

/// A new node of `pool` for these pods; `None` if nothing can be launched.
pub(super) fn new_node(
    view: &View,
    pool: usize,
    pods: Vec<PodId>,
    mut options: Vec<usize>,
    requirements: Requirements,
) -> Option<NewNode> {
    let launch = choose_launch(view, &options, &requirements)?;
    sort_by_price(view, &mut options, &requirements);
    let kind = view.types.get(launch.instance_type)?;
    // A label that a requirement pins to listed values becomes one of them on the node.
    let own = requirements
        .iter()
        .filter(|(key, _)| key.as_str() != CAPACITY_TYPE && !kind.labels.contains_key(*key))
        .filter_map(|(key, r)| r.listed().and_then(|v| v.first()).map(|v| (key.clone(), v.clone())))
        .collect();
    let mut labels = node_labels(kind, view.pools.get(pool), &launch.zone, launch.capacity_type, &own);
    for (key, value) in [(super::types::ZONE, launch.zone.as_str()), (super::types::INSTANCE_TYPE, kind.name.as_str())]
    {
        labels.insert(key.to_owned(), value.to_owned());
    }
    Some(NewNode { pool, pods, options, requirements, labels, launch })
}
