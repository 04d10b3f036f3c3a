//! The numbers of one selected node or group, as rows of label and value.

use super::names::Names;
use super::replica;
use super::words::{gpu_minutes, gpu_use, group_stage, node_stage, wait, who};
use crate::i18n::{Arg, Message};
use crate::sim::decision::Who;
use crate::sim::snapshot::{GpuUse, GroupStage, GroupView, NodeStage, NodeView, Snapshot};
use crate::sim::time::{Span, Time};

/// Rows of one thing.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    pub name: String,
    pub rows: Vec<(Message, Message)>,
}

fn word(arg: impl Into<Arg>) -> Message {
    Message::Word { word: arg.into() }
}

fn whole_seconds(span: Span) -> Span {
    Span::from_secs(span.0 / 1_000_000)
}

fn stage(name: Message, until: Option<Time>, now: Time) -> Message {
    match until.filter(|t| *t > now) {
        Some(t) => Message::InspectStageUntil {
            stage: name.into(),
            remaining: Span::from_secs(t.since(now).0.div_ceil(1_000_000)).into(),
        },
        None => name,
    }
}

/// A node with its hardware, place, stage, price, load and fate.
pub fn node(node: &NodeView, snapshot: &Snapshot, names: &Names) -> Inspected {
    let now = snapshot.now;
    let mut rows = vec![
        (Message::InspectStage, stage(node_stage(node.stage), node.stage_until, now)),
        (
            Message::InspectHardware,
            Message::InspectHardwareValue {
                gpus: node.gpus.into(),
                gpu: node.gpu_label.into(),
                instance: node.instance.into(),
            },
        ),
        (Message::InspectPlace, word(names.rack(node.rack))),
        (Message::InspectPrice, word(Arg::MoneyPerHour(node.price_per_hour))),
        (Message::InspectOwner, if node.managed { who(Who::Karpenter) } else { Message::InspectOwnerOther }),
    ];
    if let Some(share) = &node.share_label {
        rows.push((Message::InspectShare, word(share.clone())));
    }
    let uses = GpuUse::ALL.iter().filter_map(|state| {
        let n = node.cells.iter().filter(|c| c.state == *state).count();
        (n > 0).then(|| Message::InspectGpusValue { n: n.into(), state: gpu_use(*state).0.into() })
    });
    if let Some(uses) = super::words::comma(uses) {
        rows.push((Message::InspectGpus, uses));
    }
    if node.stage >= NodeStage::Ready {
        rows.push((Message::InspectInFlight, word(node.in_flight)));
    }
    if let Some(since) = node.empty_since {
        rows.push((Message::InspectEmptyFor, word(whole_seconds(now.since(since)))));
    }
    if let Some(rack) = node.moving_to {
        rows.push((Message::InspectLeaving, Message::InspectMovesTo { rack: names.rack(rack) }));
    } else if node.leaving {
        rows.push((Message::InspectLeaving, Message::InspectGivenBack));
    }
    Inspected { name: node.name.clone(), rows }
}

/// A group with its pods, stage, waits, load and what it burnt while held.
pub fn group(group: &GroupView, snapshot: &Snapshot, names: &Names) -> Inspected {
    let now = snapshot.now;
    let mut rows = vec![
        (Message::InspectService, word(names.service(group.service))),
        (Message::InspectStage, stage(group_stage(group.stage), group.stage_until, now)),
        (
            Message::InspectPods,
            Message::InspectPodsValue {
                bound: group.pods_bound.into(),
                total: group.pods_total.into(),
                min: group.min_member.into(),
            },
        ),
    ];
    if !group.nodes.is_empty() {
        rows.push((Message::InspectNodes, word(names.nodes(&group.nodes, 6))));
    }
    if let Some(w) = group.wait {
        let value = Message::InspectWaitValue {
            reason: wait(w.reason).into(),
            waited: whole_seconds(now.since(w.since)).into(),
        };
        rows.push((Message::InspectWaitsFor, value));
    }
    if let Some(since) = group.held_since {
        rows.push((Message::InspectHeld, word(whole_seconds(now.since(since)))));
    }
    if group.held_gpu_time > Span::ZERO {
        let gpu_minutes = gpu_minutes(group.held_gpu_time).into();
        let value = Message::InspectBurntValue { gpu_minutes, cost: group.held_cost.into() };
        rows.push((Message::InspectBurnt, value));
    }
    if let Some(role) = replica::role(group.role) {
        rows.push((Message::InspectRole, role));
    }
    if let Some(note) = replica::note(group) {
        rows.push((Message::InspectNote, note));
    }
    rows.push((Message::InspectRunning, replica::seats(group).unwrap_or_else(|| word(group.running))));
    rows.push((Message::InspectWaiting, word(group.waiting)));
    rows.push((Message::InspectKv, word(Arg::Percent(f64::from(group.kv_usage)))));
    if let Some(tokens) = replica::tokens(group) {
        rows.push((Message::InspectTokens, Message::ReplicaTokens { tokens }));
    }
    if replica::is_slowed(group) {
        rows.push((Message::InspectSlowdown, Message::InspectSlowdownValue { times: replica::times(group) }));
    }
    if group.pods_total > 1 && group.stage != GroupStage::Pending {
        let value = match (group.crosses_domains, group.all_reduce_per_step) {
            (false, _) => Message::InspectDomainsOne,
            (true, None) => Message::InspectDomainsMany,
            (true, Some(time)) => Message::InspectDomainsCost { all_reduce: time.into() },
        };
        rows.push((Message::InspectDomains, value));
    }
    Inspected { name: group.name.clone(), rows }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::sim::snapshot::ReplicaRole;
    use crate::view::fixture;

    fn said(inspected: &Inspected) -> Vec<String> {
        let en = Lang::english();
        inspected.rows.iter().map(|(label, value)| format!("{}: {}", render(&en, label), render(&en, value))).collect()
    }

    #[test]
    fn a_replica_shows_its_seats_role_output_and_neighbours_where_there_are_any() {
        let s = fixture::trap();
        let names = Names::of(&s);
        let mut g = s.groups[1].clone();
        let plain = said(&group(&g, &s, &names));
        assert!(plain.contains(&"Running requests: 12 of 256 seats run".to_owned()), "{plain:?}");
        assert!(!plain.iter().any(|r| r.starts_with("Role") || r.starts_with("Neighbours")));
        (g.role, g.slowdown, g.tokens_per_s, g.standby) = (ReplicaRole::Prefill, 1.9, Some(340.0), true);
        let rows = said(&group(&g, &s, &names));
        for row in [
            "Role: prefill: reads prompts",
            "Neighbours: steps take 1.9 times as long",
            "Output: 340 tokens/s",
            "Note: warm spare: loaded, gets no requests",
        ] {
            assert!(rows.contains(&row.to_owned()), "{row}: {rows:?}");
        }
    }

    #[test]
    fn a_node_with_divided_gpus_says_how() {
        let s = fixture::shared();
        let names = Names::of(&s);
        let find = |name: &str| s.nodes.iter().find(|n| n.name == name).unwrap();
        assert!(said(&node(find("mig-1"), &s, &names)).contains(&"GPUs divided: MIG-1g.10gb".to_owned()));
        assert!(!said(&node(find("gb-a1"), &s, &names)).iter().any(|r| r.starts_with("GPUs divided")));
    }
}
