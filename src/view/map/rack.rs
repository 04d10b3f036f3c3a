//! A rack with its nodes, the trap banner, and the places of missing gang members.

use super::drop::{Carried, drop_check, room_message};
use super::node::{CellCard, CellLook, NodeCard, nvlink_message};
use super::words::place_message;
use super::{Index, Lit, group_name, node};
use crate::i18n::{Arg, Message};
use crate::sim::command::Command;
use crate::sim::id::{GroupId, RackId};
use crate::sim::money::Microusd;
use crate::sim::param::Param;
use crate::sim::snapshot::{NodeStage, NodeView, RackKind, RackView};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A way out of the trap that the learner can take at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// Stable name for tests and links.
    pub id: &'static str,
    pub label: Message,
    pub command: Command,
}

/// The banner on a rack whose GPUs a gang holds without being able to start.
#[derive(Debug, Clone, PartialEq)]
pub struct TrapCard {
    pub group: GroupId,
    pub text: Message,
    pub fixes: Vec<Fix>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RackCard {
    pub id: RackId,
    /// Name without spaces, for `data-testid`.
    pub slug: String,
    pub kind: RackKind,
    pub title: Message,
    /// Free and total GPUs; `None` for a rack without any.
    pub free: Option<Message>,
    /// Block and zone.
    pub whereabouts: Message,
    pub bandwidth: Option<Message>,
    /// The rack in words.
    pub label: Message,
    pub place: Message,
    pub room: Message,
    pub nodes: Vec<Rc<NodeCard>>,
    /// One for each member that the gang misses.
    pub missing: Rc<Vec<CellCard>>,
    pub trapped: bool,
    pub trap: Option<Rc<TrapCard>>,
}

pub(super) fn cards(index: &Index<'_>, lit: &Lit) -> Vec<RackCard> {
    let mut by_rack: BTreeMap<RackId, Vec<&NodeView>> = BTreeMap::new();
    for n in index.snapshot.nodes.iter().filter(|n| n.stage != NodeStage::Released) {
        by_rack.entry(n.rack).or_default().push(n);
    }
    let mut told: Vec<GroupId> = Vec::new();
    let racks = index.snapshot.racks.iter();
    racks.map(|r| card(index, r, by_rack.get(&r.id).map_or(&[], Vec::as_slice), lit, &mut told)).collect()
}

/// `told` holds the gangs whose banner an earlier rack carries: a gang has one banner.
fn card(index: &Index<'_>, rack: &RackView, nodes: &[&NodeView], lit: &Lit, told: &mut Vec<GroupId>) -> RackCard {
    let name = Arg::Name(rack.name.clone());
    let title = match rack.kind {
        RackKind::Nvl72 => Message::MapDomain { name },
        RackKind::Network => Message::MapPlaceRack { name },
    };
    let first = rack.trapped.filter(|g| !told.contains(g));
    told.extend(first);
    RackCard {
        id: rack.id,
        slug: rack.name.strip_prefix("rack ").unwrap_or(&rack.name).replace(char::is_whitespace, "-"),
        kind: rack.kind,
        free: (rack.gpus_total > 0)
            .then(|| Message::MapFreeOf { free: rack.gpus_free.into(), total: rack.gpus_total.into() }),
        whereabouts: whereabouts(index, rack),
        bandwidth: (rack.nvlink_gb_s > 0).then(|| nvlink_message(rack.nvlink_gb_s)),
        label: Message::MapRackLabel {
            place: title.clone().into(),
            block: rack.block.clone().into(),
            zone: rack.zone.clone().into(),
            free: rack.gpus_free.into(),
            total: rack.gpus_total.into(),
        },
        title,
        place: place_message(rack),
        room: room_message(rack),
        nodes: nodes.iter().map(|n| Rc::new(node::card(index, n, rack, lit))).collect(),
        missing: Rc::new(first.map_or_else(Vec::new, |g| missing(index, g, lit))),
        trapped: rack.trapped.is_some(),
        trap: first.and_then(|g| trap(index, rack, g)).map(Rc::new),
    }
}

/// The block, and the zone where there is more than one.
fn whereabouts(index: &Index<'_>, rack: &RackView) -> Message {
    let block = Arg::Name(rack.block.clone());
    if index.snapshot.racks.iter().any(|r| r.zone != rack.zone) {
        Message::MapRackIn { block, zone: rack.zone.clone().into() }
    } else {
        Message::MapRackInBlock { block }
    }
}

/// The members that have no GPU, drawn beside their partners.
fn missing(index: &Index<'_>, id: GroupId, lit: &Lit) -> Vec<CellCard> {
    let Some(group) = index.groups.get(&id) else {
        return Vec::new();
    };
    let ranks = index.snapshot.pending.iter().filter(|p| p.group == id).map(|p| p.rank);
    ranks
        .map(|rank| CellCard {
            look: CellLook::Missing,
            done: 0,
            rank: Some(rank),
            badge: group.badge,
            group: Some(id),
            group_name: Some(Rc::from(group.name.as_str())),
            lit: lit.groups.contains(&id),
        })
        .collect()
}

fn trap(index: &Index<'_>, rack: &RackView, id: GroupId) -> Option<TrapCard> {
    let group = index.groups.get(&id)?;
    let per_pod = index.gpus_per_pod(group);
    let missing = group.min_member.saturating_sub(group.pods_bound) * per_pod;
    Some(TrapCard {
        group: id,
        text: Message::MapTrap {
            held: (group.pods_bound * per_pod).into(),
            total: (group.pods_total * per_pod).into(),
            minutes: Arg::Int(group.held_gpu_time.mins_f64().round() as i64),
            // Whole cents, so that the banner is not redrawn for what it does not show.
            cost: Arg::Money(Microusd(group.held_cost.0 / 10_000 * 10_000)),
            missing: missing.into(),
        },
        fixes: fixes(index, rack, id),
    })
}

fn fixes(index: &Index<'_>, rack: &RackView, id: GroupId) -> Vec<Fix> {
    let s = index.snapshot;
    let mut out = Vec::new();
    // The same kind of GPU that the gang holds, where the rack takes it.
    let held = s.nodes.iter().find(|n| n.rack == rack.id && n.cells.iter().any(|c| c.group == Some(id)));
    let fits = |i: usize| drop_check(s, Carried::Palette(i as u32), rack.id).is_ok();
    let buy = s.palette.iter().enumerate().find(|(i, p)| held.is_none_or(|h| h.gpu_label == p.gpu_label) && fits(*i));
    if let Some((i, item)) = buy {
        out.push(Fix {
            id: "add-node",
            label: Message::MapFixAddNode {
                item: super::tools::item_message(item).into(),
                price: Arg::MoneyPerHour(item.price_per_hour),
            },
            command: Command::BuyNode { palette: i as u32, rack: rack.id },
        });
    }
    if s.policy.choice(Param::Scheduler) != "kai" {
        out.push(Fix {
            id: "kai",
            label: Message::MapFixKai,
            command: Command::Set { param: Param::Scheduler, value: 1 },
        });
    }
    if s.policy.choice(Param::Topology) == "required" {
        out.push(Fix {
            id: "topology",
            label: Message::MapFixTopology,
            command: Command::Set { param: Param::Topology, value: 1 },
        });
    }
    if let Some(group) = index.groups.get(&id) {
        out.push(Fix {
            id: "delete",
            label: Message::MapFixDelete { group: group_name(group).into() },
            command: Command::DeleteGroup { group: id },
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;
    use crate::view::map::map_view;

    #[test]
    fn the_trap_banner_names_what_is_held_what_it_cost_and_what_is_missing() {
        let s = fixture::trap();
        let view = map_view(&s, &Lit::default());
        let trap = view.racks[0].trap.as_ref().expect("domain A is trapped");
        assert_eq!(
            render(&Lang::english(), &trap.text),
            "7 of 8 GPUs held, 26 GPU-minutes and $4.55 so far, waiting for 1"
        );
        assert_eq!(trap.fixes.iter().map(|f| f.id).collect::<Vec<_>>(), ["add-node", "kai", "delete"]);
        assert_eq!(trap.fixes[0].command, Command::BuyNode { palette: 0, rack: view.racks[0].id });
    }

    #[test]
    fn under_kai_the_switch_is_not_offered() {
        let mut s = fixture::trap();
        s.policy.set(Param::Scheduler, 1).expect("in range");
        let view = map_view(&s, &Lit::default());
        assert!(view.racks[0].trap.as_ref().expect("trap").fixes.iter().all(|f| f.id != "kai"));
    }

    #[test]
    fn a_gang_over_two_racks_has_one_banner_and_one_place_per_missing_member() {
        let mut s = fixture::trap();
        s.racks[1].trapped = s.racks[0].trapped;
        let view = map_view(&s, &Lit::default());
        assert!(view.racks[0].trap.is_some() && view.racks[1].trap.is_none());
        assert!(view.racks[1].trapped);
        assert_eq!(view.racks.iter().map(|r| r.missing.len()).sum::<usize>(), 1);
        assert_eq!(view.racks[0].missing[0].rank, Some(7));
    }

    #[test]
    fn slugs_have_no_spaces() {
        let view = map_view(&fixture::trap(), &Lit::default());
        assert_eq!(view.racks.iter().map(|r| r.slug.as_str()).collect::<Vec<_>>(), ["A", "B", "1", "2", "3"]);
    }
}
