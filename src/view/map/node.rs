//! A node's card: its name, cells, and the one line that says what it is doing.

use super::words::{passed_seconds, place_message, whole_seconds};
use super::{Index, Lit, badge_arg, group_name};
use crate::i18n::{Arg, Message};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::snapshot::{Cell, GpuUse, GroupStage, GroupView, NodeStage, NodeView, RackView};
use crate::sim::time::Span;
use std::rc::Rc;

/// How a cell is drawn. Each look has its own colour, pattern, glyph and word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CellLook {
    Free,
    Busy,
    Idle,
    Training,
    Loading,
    Held,
    Draining,
    Booting,
    Failed,
    /// A member of a gang that has no GPU.
    Missing,
}

impl CellLook {
    /// The class of the cell in the style sheet.
    pub fn id(self) -> &'static str {
        match self {
            CellLook::Free => "free",
            CellLook::Busy => "busy",
            CellLook::Idle => "idle",
            CellLook::Training => "training",
            CellLook::Loading => "loading",
            CellLook::Held => "held",
            CellLook::Draining => "draining",
            CellLook::Booting => "booting",
            CellLook::Failed => "failed",
            CellLook::Missing => "missing",
        }
    }
}

/// The word of a look.
pub fn look_word(look: CellLook) -> Message {
    match look {
        CellLook::Free => Message::MapStateFree,
        CellLook::Busy => Message::MapStateBusy,
        CellLook::Idle => Message::MapStateIdle,
        CellLook::Training => Message::MapStateTraining,
        CellLook::Loading => Message::MapStateLoading,
        CellLook::Held => Message::MapStateHeld,
        CellLook::Draining => Message::MapStateDraining,
        CellLook::Booting => Message::MapStateBooting,
        CellLook::Failed => Message::MapStateFailed,
        CellLook::Missing => Message::MapStateMissing,
    }
}

/// One GPU, or the place of a missing member.
#[derive(Debug, Clone, PartialEq)]
pub struct CellCard {
    pub look: CellLook,
    /// Percent done while loading, in steps of five so that a cell is seldom redrawn.
    pub done: u8,
    /// Rank in the gang.
    pub rank: Option<u32>,
    pub badge: Option<char>,
    pub group: Option<GroupId>,
    pub group_name: Option<Rc<str>>,
    pub lit: bool,
}

impl CellCard {
    /// Which of the six outlines the gang has, 0 to 5.
    pub fn outline(&self) -> Option<u8> {
        self.badge.map(|b| ((b as u32).wrapping_sub('A' as u32) % 6) as u8)
    }
}

/// A cell in words, for screen readers: the `index`-th of its node, whose GPUs have so many parts.
pub fn cell_label(cell: &CellCard, index: usize, parts: u32, node: &str) -> Message {
    let each = parts.max(1) as usize;
    let gpu = match parts {
        0 | 1 => index.into(),
        _ => {
            let (gpu, part) = ((index / each).into(), (index % each + 1).into());
            Message::MapGpuPart { gpu, part, parts: parts.into() }.into()
        }
    };
    let (node, state) = (node.into(), look_word(cell.look).into());
    match (&cell.group_name, cell.rank, cell.badge) {
        (Some(group), Some(rank), Some(badge)) => Message::MapCellRank {
            gpu,
            node,
            state,
            rank: rank.into(),
            badge: badge.to_string().into(),
            group: group.to_string().into(),
        },
        (Some(group), _, _) => Message::MapCellGroup { gpu, node, state, group: group.to_string().into() },
        _ => Message::MapCell { gpu, node, state },
    }
}

/// How the card itself is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeLook {
    Ready,
    Booting,
    Draining,
    Failed,
}

/// What of a card seldom changes: a frame that only counts on redraws none of it.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeHead {
    pub id: NodeId,
    pub name: String,
    pub look: NodeLook,
    pub kind: Message,
    /// How its GPUs are divided (`MIG-1g.10gb`).
    pub share: Option<Rc<str>>,
    pub price: Message,
    /// Bandwidth of a node that is an NVLink domain of its own.
    pub domain: Option<Message>,
    /// Consolidation has its eye on it.
    pub reviewed: bool,
    /// It will leave for another rack or be given back.
    pub leaving: bool,
    /// It can be picked up now.
    pub movable: bool,
    /// Name, type, place and price in words.
    pub label: Message,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeCard {
    pub id: NodeId,
    pub head: Rc<NodeHead>,
    pub cells: Rc<Vec<CellCard>>,
    /// Cells of one GPU; they follow one another.
    pub parts: u32,
    pub status: Message,
    pub lit: bool,
}

pub(super) fn card(index: &Index<'_>, node: &NodeView, rack: &RackView, lit: &Lit) -> NodeCard {
    let groups = groups_on(index, node);
    let look = match node.stage {
        NodeStage::Launching | NodeStage::Booting | NodeStage::Registering | NodeStage::GpuStack => NodeLook::Booting,
        NodeStage::Draining => NodeLook::Draining,
        NodeStage::Failed => NodeLook::Failed,
        NodeStage::Ready | NodeStage::Released => NodeLook::Ready,
    };
    let kind = Message::MapNodeType { gpus: node.gpus.into(), gpu: node.gpu_label.into() };
    let price = Message::MapPrice { price: Arg::MoneyPerHour(node.price_per_hour) };
    let head = NodeHead {
        id: node.id,
        name: node.name.clone(),
        look,
        domain: node.own_nvlink_domain.then(|| nvlink_message(node.nvlink_gb_s)),
        reviewed: reviewed(index, node),
        leaving: node.leaving || node.moving_to.is_some(),
        movable: super::drop::can_carry(index.snapshot, node.id).is_ok(),
        label: node_label(node, rack, &kind, &price),
        share: node.share_label.as_deref().map(Rc::from),
        kind,
        price,
    };
    NodeCard {
        id: node.id,
        head: Rc::new(head),
        cells: Rc::new(node.cells.iter().map(|c| cell(index, node, c, lit)).collect()),
        parts: node.parts_per_gpu.max(1),
        status: status(index, node, &groups),
        lit: lit.nodes.contains(&node.id),
    }
}

fn node_label(node: &NodeView, rack: &RackView, kind: &Message, price: &Message) -> Message {
    let (name, kind, price) = (node.name.clone().into(), kind.clone().into(), price.clone().into());
    let place = place_message(rack).into();
    match &node.share_label {
        Some(share) => Message::MapNodeLabelShare { name, kind, share: share.clone().into(), place, price },
        None => Message::MapNodeLabel { name, kind, place, price },
    }
}

pub(super) fn cell(index: &Index<'_>, node: &NodeView, cell: &Cell, lit: &Lit) -> CellCard {
    let look = match (node.stage, cell.state) {
        (NodeStage::Failed, _) => CellLook::Failed,
        (_, GpuUse::Booting) => CellLook::Booting,
        (_, GpuUse::Draining) => CellLook::Draining,
        (_, GpuUse::Held) => CellLook::Held,
        (_, GpuUse::Loading) => CellLook::Loading,
        (_, GpuUse::Training) => CellLook::Training,
        (_, GpuUse::ServingBusy) => CellLook::Busy,
        (_, GpuUse::ServingIdle) => CellLook::Idle,
        (_, GpuUse::Empty) => CellLook::Free,
    };
    let group = cell.group.and_then(|g| index.groups.get(&g));
    let badge = group.and_then(|g| g.badge);
    CellCard {
        look,
        done: cell.progress.map_or(0, |p| (p.clamp(0.0, 1.0) * 20.0) as u8 * 5),
        rank: badge.and(cell.rank),
        badge,
        group: cell.group,
        group_name: group.map(|g| Rc::from(g.name.as_str())),
        lit: cell.group.is_some_and(|g| lit.groups.contains(&g)),
    }
}

/// The groups with a pod on the node, each once, in the order of its cells.
pub(super) fn groups_on<'a>(index: &Index<'a>, node: &NodeView) -> Vec<&'a GroupView> {
    let mut out: Vec<&GroupView> = Vec::new();
    for group in node.cells.iter().filter_map(|c| c.group) {
        if let Some(g) = index.groups.get(&group)
            && !out.iter().any(|o| o.id == group)
        {
            out.push(g);
        }
    }
    out
}

fn reviewed(index: &Index<'_>, node: &NodeView) -> bool {
    let layer = &index.snapshot.nodes_layer;
    layer.evicting.is_some_and(|(id, _)| id == node.id)
        || layer.next_consolidatable.is_some_and(|(id, _)| id == node.id)
}

fn status(index: &Index<'_>, node: &NodeView, groups: &[&GroupView]) -> Message {
    let now = index.snapshot.now;
    let left = |stage: Message| match node.stage_until {
        Some(until) if until > now => {
            Message::MapStageLeft { stage: stage.into(), left: whole_seconds(until.since(now)) }
        }
        _ => stage,
    };
    match node.stage {
        NodeStage::Launching => left(Message::MapStageLaunching),
        NodeStage::Booting => left(Message::MapStageBooting),
        NodeStage::Registering => left(Message::MapStageRegistering),
        NodeStage::GpuStack => left(Message::MapStageGpuStack),
        NodeStage::Failed => Message::MapFailed,
        NodeStage::Draining => draining(index, node),
        NodeStage::Ready | NodeStage::Released if node.leaving || node.moving_to.is_some() => draining(index, node),
        NodeStage::Ready | NodeStage::Released => working(index, groups).unwrap_or_else(|| empty(index, node)),
    }
}

fn draining(index: &Index<'_>, node: &NodeView) -> Message {
    let in_flight = Arg::from(node.in_flight);
    let target = node.moving_to.and_then(|id| index.snapshot.racks.iter().find(|r| r.id == id));
    let evicting = index.snapshot.nodes_layer.evicting.is_some_and(|(id, _)| id == node.id);
    match target {
        Some(rack) => Message::MapDrainingMove { in_flight, place: place_message(rack).into() },
        None if evicting => Message::MapEvicting { in_flight },
        None if node.leaving => Message::MapDrainingRelease { in_flight },
        None => Message::MapDraining { in_flight },
    }
}

/// The most telling of the groups: one that holds, then one that loads, then those that serve.
fn working(index: &Index<'_>, groups: &[&GroupView]) -> Option<Message> {
    let now = index.snapshot.now;
    if let Some((g, since)) = groups.iter().find_map(|g| g.held_since.map(|t| (g, t))) {
        return Some(Message::MapHeld {
            badge: badge_arg(g),
            bound: g.pods_bound.into(),
            total: g.pods_total.into(),
            waited: passed_seconds(now.since(since)),
        });
    }
    let loading = groups.iter().find_map(|g| {
        let stage = match g.stage {
            GroupStage::Image => Message::MapGroupImage,
            GroupStage::Weights => Message::MapGroupWeights,
            GroupStage::WarmUp => Message::MapGroupWarmUp,
            GroupStage::Pending | GroupStage::Serving | GroupStage::Draining | GroupStage::Gone => return None,
        };
        Some(Message::MapLoading { group: group_name(g).into(), stage: stage.into(), done: stage_done(g, now) })
    });
    if loading.is_some() {
        return loading;
    }
    let serving: Vec<&&GroupView> = groups.iter().filter(|g| g.stage == GroupStage::Serving).collect();
    if serving.is_empty() {
        return groups.first().map(|g| match g.stage {
            GroupStage::Draining => Message::MapDraining { in_flight: g.running.into() },
            _ => Message::MapIncomplete {
                group: group_name(g).into(),
                bound: g.pods_bound.into(),
                total: g.pods_total.into(),
            },
        });
    }
    let mut names: Vec<String> = Vec::new();
    for g in &serving {
        // Several replicas of one service are named once, by the service.
        let service = index.service(g).map(|s| s.name.clone());
        let alone = serving.iter().filter(|o| o.service == g.service).count() == 1;
        let name = if alone { group_name(g) } else { service.unwrap_or_else(|| group_name(g)) };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let kv = serving.iter().map(|g| g.kv_usage).fold(0.0f32, f32::max);
    Some(Message::MapServing { names: names.into(), kv: Arg::Percent((f64::from(kv) * 100.0).round() / 100.0) })
}

fn stage_done(group: &GroupView, now: crate::sim::time::Time) -> Arg {
    let passed = now.since(group.stage_since).0 as f64;
    let share = match group.stage_until {
        Some(until) => passed / (until.since(group.stage_since).0.max(1) as f64),
        None => 0.0,
    };
    Arg::Percent((share.clamp(0.0, 1.0) * 100.0).floor() / 100.0)
}

fn empty(index: &Index<'_>, node: &NodeView) -> Message {
    let now = index.snapshot.now;
    let Some(since) = node.empty_since else {
        return Message::MapReady;
    };
    let span = passed_seconds(now.since(since));
    match index.snapshot.nodes_layer.next_consolidatable {
        Some((id, at)) if id == node.id && at > now => {
            Message::MapEmptyUntil { span, left: whole_seconds(at.since(now)) }
        }
        _ if now.since(since) == Span::ZERO => Message::MapReady,
        _ => Message::MapEmptyFor { span },
    }
}

/// NVLink bandwidth as vendors count it: both directions added up.
pub(super) fn nvlink_message(one_way_gb_s: u32) -> Message {
    let both = one_way_gb_s.saturating_mul(2);
    if both >= 1000 {
        Message::MapNvlinkTb { tb: Arg::Float(f64::from(both) / 1000.0, 1) }
    } else {
        Message::MapNvlinkGb { gb: both.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;
    use crate::view::map::map_view;

    fn card_of(s: &crate::sim::snapshot::Snapshot, name: &str) -> NodeCard {
        let view = map_view(s, &Lit::default());
        view.racks
            .iter()
            .flat_map(|r| &r.nodes)
            .find(|n| n.head.name == name)
            .map(|n| (**n).clone())
            .expect("in fixture")
    }
    fn words(m: &Message) -> String {
        render(&Lang::english(), m)
    }

    #[test]
    fn each_node_says_in_one_line_what_it_is_doing() {
        let s = fixture::trap();
        for (name, line) in [
            ("gb-a1", "A 7/8 · 3 min 42 s"),
            ("gb-a3", "chat-8b · KV 71 %"),
            ("gb-b1", "chat-8b-8 · weights 62 %"),
            ("hgx-1", "Karpenter evicts · 11 in flight"),
            ("hgx-2", "driver, device plugin · 14 s left"),
            ("l40-1", "rag-14b · KV 34 %"),
        ] {
            assert_eq!(words(&card_of(&s, name).status), line, "{name}");
        }
    }

    #[test]
    fn an_empty_node_counts_since_its_last_pod_and_says_when_karpenter_may_take_it() {
        let mut s = fixture::trap();
        let at = s.now;
        let node = &mut s.nodes[0];
        node.cells.iter_mut().for_each(|c| *c = fixture::free_cell());
        node.empty_since = Some(at - Span::from_secs(130));
        let id = node.id;
        assert_eq!(words(&card_of(&s, "gb-a1").status), "empty for 2 min 10 s");
        s.nodes_layer.next_consolidatable = Some((id, at + Span::from_secs(170)));
        assert_eq!(words(&card_of(&s, "gb-a1").status), "empty for 2 min 10 s · may go in 2 min 50 s");
    }

    #[test]
    fn held_cells_carry_rank_and_badge_and_loading_moves_in_steps() {
        let s = fixture::trap();
        let a1 = card_of(&s, "gb-a1");
        assert!(a1.cells.iter().all(|c| c.look == CellLook::Held && c.badge == Some('A')));
        assert_eq!(a1.cells.iter().map(|c| c.rank).collect::<Vec<_>>(), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(
            words(&cell_label(&a1.cells[3], 3, a1.parts, "gb-a1")),
            "GPU 3 of gb-a1, held, waiting for partners, pod 3 of A (llama-70b-0)"
        );
        assert_eq!(card_of(&s, "gb-b1").cells[3].done, 60);
    }

    #[test]
    fn a_failed_node_shows_failed_cells_whatever_they_held() {
        let mut s = fixture::trap();
        s.nodes[0].stage = NodeStage::Failed;
        let card = card_of(&s, "gb-a1");
        assert!(card.cells.iter().all(|c| c.look == CellLook::Failed));
        assert_eq!(words(&card.status), "failed");
    }

    #[test]
    fn a_node_with_divided_gpus_says_how_and_numbers_the_parts_of_each() {
        let s = fixture::shared();
        let mig = card_of(&s, "mig-1");
        assert_eq!((mig.parts, mig.cells.len()), (7, 14));
        assert_eq!(words(&mig.head.label), "mig-1, 2 × A100, MIG-1g.10gb, rack 1, $5.00/h");
        assert_eq!(mig.head.share.as_deref(), Some("MIG-1g.10gb"));
        let label = |i: usize| words(&cell_label(&mig.cells[i], i, mig.parts, "mig-1"));
        assert!(label(6).starts_with("GPU 0, part 7 of 7, of mig-1") && label(7).starts_with("GPU 1, part 1 of 7,"));
        assert_eq!(card_of(&s, "mps-1").head.share.as_deref(), Some("MPS-3"));
        assert_eq!(card_of(&s, "gb-a1").head.share, None);
    }

    #[test]
    fn bandwidth_counts_both_directions() {
        assert_eq!(words(&nvlink_message(900)), "1.8 TB/s per GPU");
        assert_eq!(words(&nvlink_message(450)), "900 GB/s per GPU");
    }
}
