//! Readiness too early: with a probe that asks only whether the container runs, a replica is in the
//! endpoints from then on, and what is sent to it fails until its engine is up.
//!
//! The kind of probe belongs to the pod: a change of the parameter holds for containers that start
//! later. The period of the probe (a few seconds) is not modelled.

use super::World;
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::id::GroupId;

impl World {
    /// With a probe of the container alone, the endpoints have a replica as soon as it runs.
    pub(super) fn claim_ready(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group_mut(group);
        g.ready_early = true;
        g.claimed_ready = Some(now);
        let (after, standby) = (now.since(g.created), g.standby);
        if !standby {
            self.log(Who::Kubelet, Verdict::ReadyClaimed { group, after }, Tone::Bad);
            self.join_endpoints(group);
        }
    }

    pub(super) fn end_early_readiness(&mut self, group: GroupId) {
        let now = self.now;
        let g = self.group_mut(group);
        g.ready_early = false;
        let Some(claimed) = g.claimed_ready.take() else { return };
        let (failed, standby) = (std::mem::take(&mut g.failed_early), g.standby);
        if !standby {
            let tone = if failed > 0 { Tone::Bad } else { Tone::Neutral };
            let verdict = Verdict::ReadyTooEarly { group, claimed, early: now.since(claimed), failed };
            self.log(Who::Engine, verdict, tone);
        }
    }
}
