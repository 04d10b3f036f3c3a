//! Commands: checked, then carried out. A refused command changes nothing.

use super::World;
use crate::sim::catalog::Instance;
use crate::sim::cluster::rules::{RackFacts, can_place};
use crate::sim::cluster::{DrainCause, Leave};
use crate::sim::command::{Command, Refusal};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::id::{NodeId, RackId, ServiceId};
use crate::sim::limits;
use crate::sim::param::Param;
use crate::sim::snapshot::GroupStage;
use crate::sim::time::Span;

impl World {
    /// Carries out a learner's command at the present time. All events up to now are run first, so
    /// that a replay of the log meets the same state.
    ///
    /// # Errors
    /// Why it was refused; the state is then unchanged but for the record in the why-log.
    pub fn apply(&mut self, command: &Command) -> Result<(), Refusal> {
        let now = self.now;
        self.advance(now, usize::MAX);
        self.carry_out(command, Who::You)
    }

    pub(super) fn on_script(&mut self, index: u32) {
        let setup = self.setup.clone();
        if let Some(stamped) = setup.script.get(index as usize) {
            // A script that no longer applies (its node is gone) leaves its refusal in the log.
            let _ = self.carry_out(&stamped.command, Who::Script);
        }
    }

    fn carry_out(&mut self, command: &Command, who: Who) -> Result<(), Refusal> {
        if let Err(why) = self.check(command) {
            self.log(who, Verdict::Refused { command: command.clone(), why: why.clone() }, Tone::Bad);
            return Err(why);
        }
        self.log(who, Verdict::Did(command.clone()), Tone::Neutral);
        match *command {
            Command::BuyNode { palette, rack } => {
                let instance = self.setup.palette[palette as usize];
                self.buy_node(instance, rack, None);
            }
            Command::MoveNode { node, rack } => self.empty_node(node, Leave::MoveTo(rack), DrainCause::NodeLeft),
            Command::ReleaseNode { node } => self.empty_node(node, Leave::Release, DrainCause::NodeLeft),
            Command::LaunchGang { service } => {
                self.service_mut(service).wanted += 1;
                self.reconcile(service);
            }
            Command::DeleteGroup { group } => {
                let service = self.group(group).service;
                let grace = self.grace(service);
                if !self.group(group).standby {
                    let s = self.service_mut(service);
                    s.wanted = s.wanted.saturating_sub(1);
                }
                self.start_drain(group, DrainCause::ScaledDown, grace);
            }
            Command::InjectSpike { service, requests, over, long_prompt_tokens } => {
                self.inject_spike(service, requests, over, long_prompt_tokens);
            }
            Command::Set { param, value } => self.set_param(param, value),
            Command::CrashReplica { group } => self.crash(group),
        }
        Ok(())
    }

    /// Whether a command would be carried out now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check(&self, command: &Command) -> Result<(), Refusal> {
        if self.now >= self.setup.end {
            return Err(Refusal::RunOver);
        }
        match command {
            Command::BuyNode { palette, rack } => {
                let instance = self.setup.palette.get(*palette as usize).ok_or(Refusal::NoSuchPaletteItem)?;
                if self.nodes.iter().filter(|n| !n.is_released()).count() as u32 >= limits::NODES_MAX {
                    return Err(Refusal::TooMany { limit: limits::NODES_MAX });
                }
                self.check_place(instance, *rack, None)
            }
            Command::MoveNode { node, rack } => self.check_move(*node, *rack),
            Command::ReleaseNode { node } => self.check_at_hand(*node),
            Command::LaunchGang { service } => {
                let spec = self.setup.services.get(service.index()).ok_or(Refusal::NoSuchService)?;
                if !spec.launchable {
                    return Err(Refusal::NotLaunchable);
                }
                self.check_group_room()
            }
            Command::DeleteGroup { group } => {
                let g = self.groups.get(group.index()).ok_or(Refusal::NoSuchGroup)?;
                match g.stage {
                    GroupStage::Gone => Err(Refusal::NoSuchGroup),
                    GroupStage::Draining => Err(Refusal::GroupLeaving),
                    _ => Ok(()),
                }
            }
            Command::InjectSpike { service, requests, long_prompt_tokens, over } => {
                self.check_spike(*service, *requests, *long_prompt_tokens, *over)
            }
            Command::Set { param, value } => self.policy.clone().set(*param, *value).map_err(Refusal::Param),
            Command::CrashReplica { group } => {
                let g = self.groups.get(group.index()).ok_or(Refusal::NoSuchGroup)?;
                if g.engine.is_some() { Ok(()) } else { Err(Refusal::NotServing) }
            }
        }
    }

    fn check_group_room(&self) -> Result<(), Refusal> {
        if self.living_groups().count() as u32 >= limits::GROUPS_MAX {
            return Err(Refusal::TooMany { limit: limits::GROUPS_MAX });
        }
        Ok(())
    }

    fn check_spike(&self, service: ServiceId, requests: u32, long: u32, over: Span) -> Result<(), Refusal> {
        let spec = self.setup.services.get(service.index()).ok_or(Refusal::NoSuchService)?;
        if requests > limits::SPIKE_REQUESTS_MAX {
            return Err(Refusal::TooMany { limit: limits::SPIKE_REQUESTS_MAX });
        }
        if over > Span::from_secs(86_400) {
            return Err(Refusal::TooMany { limit: 86_400 });
        }
        let limit = spec.max_model_len.unwrap_or(spec.model.context_length);
        if long > limit {
            return Err(Refusal::ContextLimit { asked: long, limit });
        }
        Ok(())
    }

    fn check_at_hand(&self, node: NodeId) -> Result<(), Refusal> {
        let n = self.nodes.get(node.index()).filter(|n| !n.is_released()).ok_or(Refusal::NoSuchNode)?;
        if n.leave.is_some() {
            return Err(Refusal::NodeLeaving);
        }
        if n.booting() {
            return Err(Refusal::NodeBooting);
        }
        Ok(())
    }

    fn check_move(&self, node: NodeId, rack: RackId) -> Result<(), Refusal> {
        self.check_at_hand(node)?;
        let n = self.node(node);
        if n.rack == rack {
            return Err(Refusal::SamePlace);
        }
        let from = self.racks.get(n.rack.index()).map(|r| &*r.zone);
        self.check_place(n.instance, rack, from)
    }

    pub(super) fn check_place(&self, instance: &Instance, rack: RackId, from: Option<&str>) -> Result<(), Refusal> {
        let r = self.racks.get(rack.index()).ok_or(Refusal::NoSuchRack)?;
        let facts = RackFacts { kind: r.kind, zone: &r.zone, slots: r.slots, slots_used: self.slots_used(rack) };
        can_place(instance, facts, from)
    }

    fn set_param(&mut self, param: Param, value: i64) {
        if self.policy.set(param, value).is_err() {
            return; // checked before
        }
        match param {
            Param::Scheduler | Param::Topology => self.recreate_waiting_groups(),
            Param::Provisioner | Param::Consolidation | Param::ConsolidateAfter => self.wake_karpenter(),
            Param::Scaler | Param::ManualReplicas => self.apply_manual_replicas(param),
            Param::Signal => {
                // The last reading belongs to another signal.
                for service in &mut self.services {
                    service.hpa_view = None;
                }
            }
            Param::MinReplicas | Param::MaxReplicas | Param::TargetPercent => {}
            Param::TargetWaiting | Param::TargetKv | Param::StabilizationDown => {}
            _ => self.set_serving_param(param),
        }
    }

    /// `schedulerName` and the topology annotation are part of the pod template: replicas that do
    /// not run yet are created anew, and what they held is free again.
    fn recreate_waiting_groups(&mut self) {
        for group in self.living_groups().filter(|g| g.stage == GroupStage::Pending).map(|g| g.id).collect::<Vec<_>>() {
            self.start_drain(group, DrainCause::Recreated, Span::ZERO);
        }
        self.wake_scheduler();
    }

    /// Gateway, engine, start, drain and metrics: read where they are used, but for what is in
    /// force at once.
    fn set_serving_param(&mut self, param: Param) {
        match param {
            Param::Scheduling => self.set_scheduling(),
            Param::WarmReplicas => self.apply_spares(),
            Param::NodeCache => self.drop_node_caches(),
            _ => self.set_metrics_param(param),
        }
    }
}
