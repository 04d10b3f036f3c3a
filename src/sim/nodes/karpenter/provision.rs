//! Provisioning: one scheduling pass over the pending pods, and the memory of failed launches.

use super::catalogue::Catalogue;
use super::plan::ProvisionPlan;
use super::pods::PodView;
use super::scheduling::{Job, Mode, Pass};
use super::types::{CapacityType, Settings, View};
use crate::sim::time::{Span, Time};
use std::collections::BTreeMap;

/// One pass: pending pods, and the pods of nodes that are being deleted as if they were pending,
/// so that their replacement starts before they are evicted. Pods on such nodes that cannot be
/// evicted (annotation, fully blocking budget) get no capacity in advance.
///
/// The caller creates the new nodes, and nominates those in `on_existing` until
/// `now + settings.nomination()`.
pub fn provision(view: &View, _settings: &Settings, now: Time) -> ProvisionPlan {
    let catalogue = Catalogue::new(view);
    let jobs = pending_jobs(view).chain(deleting_jobs(view, now)).collect();
    let mode = Mode { without: &[], closed_to_running: &[], strict_reservations: true };
    let outcome = Pass::new(&catalogue, &mode).run(jobs);
    ProvisionPlan {
        new_nodes: outcome.new_nodes,
        on_existing: outcome.on_existing,
        unschedulable: outcome.unschedulable,
    }
}

pub(super) fn pending_jobs(view: &View) -> impl Iterator<Item = Job<'_>> {
    view.pending.iter().map(|pod| Job::new(pod, false))
}

pub(super) fn deleting_jobs(view: &View, now: Time) -> impl Iterator<Item = Job<'_>> {
    view.nodes
        .iter()
        .filter(|n| n.deleting)
        .flat_map(|n| &n.pods)
        .filter(move |pod| leaves_by_itself(view, pod, now))
        .map(|pod| Job::new(pod, true))
}

/// Reschedulable, and neither protected by annotation nor by a fully blocking budget.
pub(super) fn leaves_by_itself(view: &View, pod: &PodView, now: Time) -> bool {
    pod.is_reschedulable()
        && !pod.is_protected(now)
        && !view.pdbs.iter().any(|pdb| pdb.fully_blocking && pdb.selects(pod))
}

/// Offerings of which the cloud had none a short while ago. Quota errors count the same, so a long
/// shortage is tried again about every three minutes, without growing backoff.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IceMemory {
    until: BTreeMap<(String, String, CapacityType), Time>,
}

impl IceMemory {
    /// How long an offering stays marked (AWS provider).
    pub const REMEMBERED: Span = Span::from_mins(3);

    /// A launch failed for lack of capacity (or a spot node of this type and zone was interrupted).
    pub fn mark(&mut self, instance_type: &str, zone: &str, capacity_type: CapacityType, now: Time) {
        let key = (instance_type.to_owned(), zone.to_owned(), capacity_type);
        self.until.insert(key, now + Self::REMEMBERED);
    }
    pub fn is_marked(&self, instance_type: &str, zone: &str, capacity_type: CapacityType, now: Time) -> bool {
        self.until.get(&(instance_type.to_owned(), zone.to_owned(), capacity_type)).is_some_and(|until| now < *until)
    }
    /// Makes marked offerings of the view unavailable; leaves the others as they are.
    pub fn apply(&self, view: &mut View, now: Time) {
        for kind in &mut view.types {
            for offering in &mut kind.offerings {
                if self.is_marked(&kind.name, &offering.zone, offering.capacity_type, now) {
                    offering.available = false;
                }
            }
        }
    }
}
