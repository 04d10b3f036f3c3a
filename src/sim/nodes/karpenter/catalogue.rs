//! Facts about pools, instance types and DaemonSets that hold for a whole scheduling pass.

use super::pods::PodView;
use super::requirement::{Requirement, Requirements};
use super::room::Standing;
use super::taints::untolerated;
use super::types::{ARCH, CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, NodeView, OS, Resources, View, ZONE};
use std::collections::BTreeSet;

/// Facts about pools and types that do not change during a pass.
pub(super) struct Catalogue<'a> {
    pub view: &'a View,
    pub well_known: BTreeSet<&'a str>,
    pub type_requirements: Vec<Requirements>,
    pub allocatable: Vec<Resources>,
    /// Pools that buy nodes, heaviest first, later name first among equals.
    pub pool_order: Vec<usize>,
    pub pool_requirements: Vec<Requirements>,
    /// DaemonSet requests by pool and type.
    pub daemon_overhead: Vec<Vec<Resources>>,
    daemon_requirements: Vec<Requirements>,
    /// Nodes that are not being deleted: initialised ones first, then by id.
    pub standing: Vec<Standing<'a>>,
}

impl<'a> Catalogue<'a> {
    pub fn new(view: &'a View) -> Self {
        let mut well_known = BTreeSet::from([ZONE, CAPACITY_TYPE, INSTANCE_TYPE, ARCH, OS, NODE_POOL]);
        well_known.extend(view.types.iter().flat_map(|t| t.labels.keys().map(String::as_str)));
        let type_requirements: Vec<_> =
            (0..view.types.len()).map(|i| type_requirements(view, i, &well_known)).collect();
        let pool_requirements: Vec<_> = view.pools.iter().map(|p| p.node_requirements()).collect();
        let daemon_requirements: Vec<_> = view.daemonsets.iter().map(|d| d.node_requirements()).collect();
        let mut pool_order: Vec<usize> = (0..view.pools.len()).filter(|i| view.pools[*i].replicas.is_none()).collect();
        pool_order.sort_by(|a, b| {
            let (a, b) = (&view.pools[*a], &view.pools[*b]);
            b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name))
        });
        let mut nodes: Vec<&NodeView> = view.nodes.iter().filter(|n| !n.deleting).collect();
        nodes.sort_by_key(|n| (!n.initialized, n.id));
        let mut catalogue = Catalogue {
            view,
            well_known,
            type_requirements,
            allocatable: view.types.iter().map(|t| t.allocatable()).collect(),
            pool_order,
            pool_requirements,
            daemon_overhead: Vec::new(),
            standing: nodes.into_iter().map(|n| Standing::new(view, &daemon_requirements, n)).collect(),
            daemon_requirements,
        };
        catalogue.daemon_overhead = (0..view.pools.len())
            .map(|pool| (0..view.types.len()).map(|t| catalogue.overhead(pool, t)).collect())
            .collect();
        catalogue
    }

    fn overhead(&self, pool: usize, kind: usize) -> Resources {
        let (pool, requirements) = (&self.view.pools[pool], &self.pool_requirements[pool]);
        let runs = |daemon: &PodView, wants: &Requirements| {
            untolerated(&pool.taints, &daemon.tolerations, true).is_none()
                && requirements.refuses(wants, |key| self.well_known.contains(key)).is_none()
                && self.type_requirements[kind].conflict(wants).is_none()
        };
        self.view
            .daemonsets
            .iter()
            .zip(&self.daemon_requirements)
            .filter(|(daemon, wants)| runs(daemon, wants))
            .fold(Resources::default(), |sum, (daemon, _)| sum.plus(&daemon.demand()))
    }
}

/// What an instance type says about its labels. A well-known label that it lacks does not exist.
fn type_requirements(view: &View, index: usize, well_known: &BTreeSet<&str>) -> Requirements {
    let kind = &view.types[index];
    let available = || kind.offerings.iter().filter(|o| o.can_launch());
    let mut all = Requirements::default();
    for key in well_known {
        let requirement = match *key {
            NODE_POOL => continue,
            ZONE => Requirement::one_of(available().map(|o| o.zone.as_str())),
            CAPACITY_TYPE => Requirement::one_of(available().map(|o| o.capacity_type.label())),
            INSTANCE_TYPE => Requirement::one_of([kind.name.as_str()]),
            key => match kind.labels.get(key) {
                Some(value) => Requirement::one_of([value.as_str()]),
                None if key == ARCH => Requirement::one_of(["amd64"]),
                None if key == OS => Requirement::one_of(["linux"]),
                None => Requirement::does_not_exist(),
            },
        };
        all.set(key, requirement);
    }
    all
}

/// The first label with `minValues` of which the types offer too few distinct values.
pub(super) fn short_of_values(view: &View, types: &[usize], requirements: &Requirements) -> Option<String> {
    if !requirements.has_min_values() {
        return None;
    }
    let catalogue = Catalogue::new(view);
    missing_values(view, &catalogue.type_requirements, types, requirements)
}

/// How many of the first `types` are needed to satisfy every `minValues`.
pub(super) fn needed_for_min_values(view: &View, types: &[usize], requirements: &Requirements) -> usize {
    (1..types.len()).find(|n| short_of_values(view, &types[..*n], requirements).is_none()).unwrap_or(types.len())
}

pub(super) fn missing_values(
    view: &View,
    of_type: &[Requirements],
    types: &[usize],
    wanted: &Requirements,
) -> Option<String> {
    debug_assert_eq!(of_type.len(), view.types.len());
    wanted.iter().find_map(|(key, requirement)| {
        let least = requirement.min_values? as usize;
        let distinct: BTreeSet<&String> =
            types.iter().filter_map(|t| of_type[*t].get(key).and_then(Requirement::listed)).flatten().collect();
        (distinct.len() < least).then(|| key.clone())
    })
}
