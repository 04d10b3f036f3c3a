//! What a screen reader hears: a summary of the cluster, and the few decisions worth a sentence
//! in the polite live region.

use super::names::Names;
use super::why::sentence;
use super::words::{comma, then, wait, who};
use crate::i18n::{Arg, Message};
use crate::sim::decision::{Decision, Verdict};
use crate::sim::snapshot::{GroupStage, NodeStage, RackKind, Snapshot};

/// Gangs named in the summary.
const GANGS_NAMED: usize = 3;

/// Time of day of the snapshot.
pub fn clock(snapshot: &Snapshot) -> Arg {
    Arg::Clock(snapshot.day_start.0.saturating_add(snapshot.now.0))
}

/// The cluster and what waits, ending with the time of day.
pub fn summary(snapshot: &Snapshot) -> Message {
    then(cluster(snapshot), Message::SayAt { clock: clock(snapshot) })
}

/// As [`summary`], ending with whether the run is paused.
pub fn summary_with_state(snapshot: &Snapshot, playing: bool) -> Message {
    let clock = clock(snapshot);
    let state = if playing { Message::SayRunning { clock } } else { Message::SayPaused { clock } };
    then(cluster(snapshot), state)
}

fn cluster(snapshot: &Snapshot) -> Message {
    let present = || snapshot.nodes.iter().filter(|n| n.stage != NodeStage::Released);
    let racks = snapshot.racks.iter().filter(|r| r.kind == RackKind::Nvl72 && !r.nodes.is_empty()).count();
    let first = Message::SayCluster {
        nodes: present().count().into(),
        gpus: present().map(|n| n.gpus).sum::<u32>().into(),
        domains: (racks + present().filter(|n| n.own_nvlink_domain).count()).into(),
    };
    then(first, waiting(snapshot))
}

fn waiting(snapshot: &Snapshot) -> Message {
    let names = Names::of(snapshot);
    let gangs = || snapshot.groups.iter().filter(|g| g.stage == GroupStage::Pending && g.pods_total > 1);
    let list = comma(gangs().take(GANGS_NAMED).map(|g| {
        let each = names.gpus_per_pod(g.id).unwrap_or(1);
        Message::SayGang {
            group: g.name.clone().into(),
            bound: (g.pods_bound * each).into(),
            total: (g.pods_total * each).into(),
        }
    }));
    let in_gang = |id| gangs().any(|g| g.id == id);
    let single: Vec<_> = snapshot.pending.iter().filter(|p| !in_gang(p.group)).collect();
    let pods = single.first().map(|p| Message::SayPods { n: single.len().into(), reason: wait(p.wait.reason).into() });
    let gangs = list.map(|list| Message::SayGangs { n: gangs().count().into(), list: list.into() });
    match (gangs, pods) {
        (Some(gangs), Some(pods)) => then(gangs, pods),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Message::SayNothingWaits,
    }
}

/// The announcement of a decision, for the few that change what a listener would do next.
/// Refusals are left out: they are alerts.
pub fn milestone(decision: &Decision, names: &Names) -> Option<Message> {
    use crate::sim::snapshot::NodeStage as Stage;
    let worth = match &decision.verdict {
        Verdict::PodsBound { placed, min_member, .. } => placed < min_member,
        Verdict::PodUnschedulable { bound, .. } => *bound > 0,
        Verdict::HpaSync { current, desired, .. } => current != desired,
        Verdict::NodeReached { stage, .. } => matches!(stage, Stage::Ready | Stage::Failed),
        Verdict::ConsolidationEvicts { pods, .. } => *pods > 0,
        Verdict::DrainEnded { lost, .. } => *lost > 0,
        Verdict::EngineCrashed { .. } => true,
        Verdict::GangPlaced { .. }
        | Verdict::GangDeferred { .. }
        | Verdict::StaleEvicted { .. }
        | Verdict::GangComplete { .. }
        | Verdict::ReplicasSet { .. }
        | Verdict::NodeBought { .. }
        | Verdict::NoNodeFits { .. }
        | Verdict::PoolLimit { .. }
        | Verdict::ReplicaReady { .. }
        | Verdict::EngineRefused { .. }
        | Verdict::SpikeBegan { .. }
        | Verdict::LongPromptAnswered { .. }
        | Verdict::LongPromptLost { .. }
        | Verdict::ReadyClaimed { .. }
        | Verdict::SparePromoted { .. } => true,
        Verdict::SpareLoaded { .. } => false,
        Verdict::ReadyTooEarly { failed, .. } => *failed > 0,
        Verdict::Did(_)
        | Verdict::Refused { .. }
        | Verdict::ConsolidationPlanned { .. }
        | Verdict::ConsolidationDropped { .. }
        | Verdict::ConsolidationKept { .. }
        | Verdict::NodeReleased { .. }
        | Verdict::DrainStarted { .. }
        | Verdict::TurnedAway { .. }
        | Verdict::PromptRefused { .. } => false,
    };
    let fresh = decision.times == 1;
    (worth && fresh)
        .then(|| Message::SayMilestone { who: who(decision.who).into(), sentence: sentence(decision, names).into() })
}
