//! Warm spares: replicas that are loaded and stand by, outside the endpoints.
//!
//! They are another Deployment of the same pods, so the HPA sees neither them nor their metrics;
//! their GPUs are paid for and count as serving idle. When the service wants more replicas, a spare
//! that is loaded is taken over in the same instant (its labels change, so that the endpoints
//! select it) and a new one starts in its place. One that is still loading stays a spare.

use super::World;
use crate::sim::cluster::{DrainCause, Group};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::id::{GroupId, ServiceId};
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;

impl World {
    /// Spares that a service should have.
    fn spares_wanted(&self, service: ServiceId) -> usize {
        match self.setup.services[service.index()].scaled {
            true => self.policy.get(Param::WarmReplicas).max(0) as usize,
            false => 0,
        }
    }

    fn spares(&self, service: ServiceId) -> Vec<GroupId> {
        let groups = self.service(service).groups.iter().copied();
        groups.filter(|g| self.group(*g).alive() && self.group(*g).standby).collect()
    }

    /// Takes the oldest loaded spare into service. False if there is none.
    pub(super) fn promote_spare(&mut self, service: ServiceId) -> bool {
        let loaded = |g: &GroupId| self.group(*g).stage == GroupStage::Serving;
        let Some(group) = self.spares(service).into_iter().find(loaded) else { return false };
        self.group_mut(group).standby = false;
        self.log(Who::Kubelet, Verdict::SparePromoted { group }, Tone::Good);
        self.join_endpoints(group);
        true
    }

    /// Makes the number of spares what is wanted; those that are not loaded stop first.
    pub(super) fn reconcile_spares(&mut self, service: ServiceId) {
        let wanted = self.spares_wanted(service);
        for _ in self.spares(service).len()..wanted {
            let group = self.create_group(service);
            self.group_mut(group).standby = true;
        }
        let mut spares = self.spares(service);
        if spares.len() > wanted {
            spares.sort_by_key(|g| self.stop_order(self.group(*g)));
            let grace = self.grace(service);
            for group in spares.into_iter().take(self.spares(service).len() - wanted) {
                self.start_drain(group, DrainCause::ScaledDown, grace);
            }
        }
    }

    /// The order in which a ReplicaSet stops surplus replicas: without a node, not ready, newest.
    pub(super) fn stop_order(&self, g: &Group) -> (bool, bool, std::cmp::Reverse<(crate::sim::time::Time, GroupId)>) {
        let ready = g.routable() || g.stage == GroupStage::Serving;
        (self.bound_pods(g.id) > 0, ready, std::cmp::Reverse((g.created, g.id)))
    }

    /// The number of spares was changed.
    pub(super) fn apply_spares(&mut self) {
        for i in 0..self.services.len() {
            self.reconcile(ServiceId::from_index(i));
        }
    }
}
