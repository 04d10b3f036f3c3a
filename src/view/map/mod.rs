//! The cluster map as values: racks, node cards, cells, the pending tray, the tools, and what a
//! key, a click or a drop does. Built from a [`Snapshot`] once per frame; `ui::map` draws it.
//!
//! Pure: words are [`Message`](crate::i18n::Message)s, clicks become
//! [`session::Message`](crate::session::Message)s. Every card compares by value, so that the page
//! redraws only what changed.

mod drop;
mod fabric;
mod interact;
mod menu;
mod node;
mod pending;
mod rack;
mod tip;
mod tools;
mod walk;
mod words;

pub use drop::{Carried, Rect, drop_check, drop_command, hit_test, room_message};
pub use fabric::{Bridge, FabricView};
pub use interact::{Act, By, Focus, MapState, Mode, act, reconcile};
pub use menu::{MenuDoes, MenuItem, MenuOf, menu_items, menu_title};
pub use node::{CellCard, CellLook, NodeCard, NodeHead, NodeLook, cell_label, look_word};
pub use pending::{PendingRow, WaitIcon, wait_icon};
pub use rack::{Fix, RackCard, TrapCard};
pub use tip::{Tip, cell_tip, cursor_tip, group_state};
pub use tools::{LaunchButton, PaletteCard, SPIKE_MAX, SpikeDefaults, item_message};
pub use walk::{Cursor, Key};
pub use words::{place_message, refusal_message, wait_message};

use crate::i18n::{Arg, Message};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::snapshot::{GpuCount, GpuUse, GroupView, NodeStage, RackKind, ServiceView, Snapshot};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Nodes from which the map is drawn small.
const DENSE_NODES: usize = 24;

/// A row of the legend: a state that is there, or that can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegendItem {
    pub look: CellLook,
    /// GPUs in this state now.
    pub gpus: GpuCount,
}

/// Everything that the map shows.
#[derive(Debug, Clone, PartialEq)]
pub struct MapView {
    /// Whole messages of the summary, in order.
    pub summary: Vec<Message>,
    pub legend: Vec<LegendItem>,
    pub racks: Vec<Rc<RackCard>>,
    pub fabric: Rc<FabricView>,
    pub pending: Rc<Vec<PendingRow>>,
    /// Rows of the pending tray that were left out.
    pub pending_more: usize,
    pub palette: Rc<Vec<PaletteCard>>,
    pub launches: Rc<Vec<LaunchButton>>,
    pub spike: Option<Rc<SpikeDefaults>>,
    pub dense: bool,
}

/// The snapshot with its things found by id.
pub(crate) struct Index<'a> {
    pub snapshot: &'a Snapshot,
    pub groups: BTreeMap<GroupId, &'a GroupView>,
}

impl<'a> Index<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Index<'a> {
        Index { snapshot, groups: snapshot.groups.iter().map(|g| (g.id, g)).collect() }
    }

    pub fn service(&self, group: &GroupView) -> Option<&'a ServiceView> {
        self.snapshot.services.iter().find(|s| s.id == group.service)
    }

    /// GPUs of one pod of the group.
    pub fn gpus_per_pod(&self, group: &GroupView) -> u32 {
        self.service(group).map_or(1, |s| s.gpus_per_replica / s.workers.max(1)).max(1)
    }
}

/// What is lit: the selection together with what hovering the log highlights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lit {
    pub nodes: BTreeSet<NodeId>,
    pub groups: BTreeSet<GroupId>,
}

impl Lit {
    pub fn new(selection: &crate::session::Selection, highlight: &(Vec<NodeId>, Vec<GroupId>)) -> Lit {
        use crate::session::Selection;
        let mut lit =
            Lit { nodes: highlight.0.iter().copied().collect(), groups: highlight.1.iter().copied().collect() };
        match selection {
            Selection::Node(n) => _ = lit.nodes.insert(*n),
            Selection::Group(g) => _ = lit.groups.insert(*g),
            Selection::Nothing | Selection::Decision(_) => {}
        }
        lit
    }
}

/// Builds the map of one instant.
pub fn map_view(snapshot: &Snapshot, lit: &Lit) -> MapView {
    let index = Index::new(snapshot);
    let (pending, pending_more) = pending::rows(&index);
    MapView {
        summary: summary(&index),
        legend: legend(snapshot),
        racks: rack::cards(&index, lit).into_iter().map(Rc::new).collect(),
        fabric: Rc::new(fabric::view(&index)),
        pending: Rc::new(pending),
        pending_more,
        palette: Rc::new(tools::palette(snapshot)),
        launches: Rc::new(tools::launches(snapshot)),
        spike: tools::spike(snapshot).map(Rc::new),
        dense: snapshot.nodes.iter().filter(|n| n.stage != NodeStage::Released).count() >= DENSE_NODES,
    }
}

fn summary(index: &Index<'_>) -> Vec<Message> {
    let s = index.snapshot;
    let nodes = s.nodes.iter().filter(|n| n.stage != NodeStage::Released);
    let (mut count, mut gpus, mut own) = (0usize, 0u32, 0usize);
    for n in nodes {
        count += 1;
        gpus += n.gpus;
        own += usize::from(n.own_nvlink_domain);
    }
    let domains = own + s.racks.iter().filter(|r| r.kind == RackKind::Nvl72).count();
    let free: u32 = s.racks.iter().map(|r| r.gpus_free).sum();
    let mut out = vec![Message::MapSummary {
        nodes: count.into(),
        gpus: gpus.into(),
        domains: domains.into(),
        free: free.into(),
    }];
    out.extend(s.groups.iter().filter(|g| g.held_since.is_some()).map(|g| Message::MapSummaryWaits {
        group: group_name(g).into(),
        bound: g.pods_bound.into(),
        total: g.pods_total.into(),
    }));
    out
}

fn legend(snapshot: &Snapshot) -> Vec<LegendItem> {
    use CellLook as L;
    let now = |u: GpuUse| snapshot.ledger.gpus_now.get(u as usize).copied().unwrap_or_default();
    let failed = snapshot.nodes.iter().filter(|n| n.stage == NodeStage::Failed);
    let failed: GpuCount = failed.map(|n| GpuCount::whole(n.gpus)).sum();
    let rows = [
        (L::Busy, now(GpuUse::ServingBusy), true),
        (L::Idle, now(GpuUse::ServingIdle), true),
        (L::Held, now(GpuUse::Held), true),
        (L::Training, now(GpuUse::Training), false),
        (L::Loading, now(GpuUse::Loading), true),
        (L::Draining, now(GpuUse::Draining), true),
        (L::Booting, now(GpuUse::Booting).less(failed), true),
        (L::Free, now(GpuUse::Empty), true),
        (L::Failed, failed, false),
    ];
    rows.into_iter()
        .filter(|(_, gpus, always)| *always || !gpus.is_zero())
        .map(|(look, gpus, _)| LegendItem { look, gpus })
        .collect()
}

/// Badge and name of a gang (`A llama-70b-0`), or the name alone.
pub(crate) fn group_name(group: &GroupView) -> String {
    match group.badge {
        Some(badge) => format!("{badge} {}", group.name),
        None => group.name.clone(),
    }
}

/// A badge as a value of a message.
pub(crate) fn badge_arg(group: &GroupView) -> Arg {
    Arg::Name(group.badge.map_or_else(|| group.name.clone(), String::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;

    #[test]
    fn the_summary_counts_nodes_gpus_and_domains_and_names_the_gang_that_waits() {
        let s = fixture::trap();
        let view = map_view(&s, &Lit::default());
        let en = Lang::english();
        let words: Vec<String> = view.summary.iter().map(|m| render(&en, m)).collect();
        assert_eq!(
            words,
            ["Cluster: 9 nodes, 44 GPUs, 4 NVLink domains, 7 free", "A llama-70b-0 waits: 7 of 8 pods hold GPUs"]
        );
    }

    #[test]
    fn the_legend_leaves_out_training_unless_a_gpu_trains() {
        let mut s = fixture::trap();
        let looks = |s: &Snapshot| map_view(s, &Lit::default()).legend.iter().map(|l| l.look).collect::<Vec<_>>();
        assert!(!looks(&s).contains(&CellLook::Training));
        assert!(looks(&s).contains(&CellLook::Loading));
        s.ledger.gpus_now[GpuUse::Training as usize] = GpuCount::whole(4);
        assert!(looks(&s).contains(&CellLook::Training));
    }

    #[test]
    fn the_same_snapshot_gives_equal_cards_so_that_nothing_is_redrawn() {
        let s = fixture::trap();
        assert_eq!(map_view(&s, &Lit::default()), map_view(&s.clone(), &Lit::default()));
    }
}
