//! Carrying a node or a palette item: which racks take it, and which rack is under the pointer.

use crate::i18n::Message;
use crate::sim::catalog;
use crate::sim::cluster::rules::{RackFacts, can_place};
use crate::sim::command::{Command, Refusal};
use crate::sim::id::{NodeId, RackId};
use crate::sim::snapshot::{NodeStage, RackKind, RackView, Snapshot};

/// GPUs of one tray of an NVL72 rack.
const GPUS_PER_TRAY: u32 = 4;

/// What is carried to a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    Node(NodeId),
    /// Index into the snapshot's palette.
    Palette(u32),
}

/// Whether `rack` takes what is carried. The hardware rule is the world's own
/// ([`can_place`]); the rest mirrors the world's checks of the node's state.
///
/// # Errors
/// The reason that the map shows on the rack.
pub fn drop_check(snapshot: &Snapshot, what: Carried, rack: RackId) -> Result<(), Refusal> {
    let to = snapshot.racks.iter().find(|r| r.id == rack).ok_or(Refusal::NoSuchRack)?;
    let (instance, from_zone) = match what {
        Carried::Palette(index) => {
            let item = snapshot.palette.get(index as usize).ok_or(Refusal::NoSuchPaletteItem)?;
            (item.instance, None)
        }
        Carried::Node(id) => {
            let node = snapshot.nodes.iter().find(|n| n.id == id && n.stage != NodeStage::Released);
            let node = node.ok_or(Refusal::NoSuchNode)?;
            can_carry(snapshot, id)?;
            if node.rack == rack {
                return Err(Refusal::SamePlace);
            }
            let zone = snapshot.racks.iter().find(|r| r.id == node.rack).map(|r| r.zone.as_str());
            (node.instance, zone)
        }
    };
    let instance = catalog::instance(instance).ok_or(Refusal::NoSuchPaletteItem)?;
    can_place(instance, facts(to), from_zone)
}

/// Whether a node can be picked up at all.
///
/// # Errors
/// The node is gone, has not finished booting, or is already on its way.
pub(super) fn can_carry(snapshot: &Snapshot, id: NodeId) -> Result<(), Refusal> {
    let node = snapshot.nodes.iter().find(|n| n.id == id).ok_or(Refusal::NoSuchNode)?;
    match node.stage {
        NodeStage::Released => Err(Refusal::NoSuchNode),
        NodeStage::Launching | NodeStage::Booting | NodeStage::Registering | NodeStage::GpuStack => {
            Err(Refusal::NodeBooting)
        }
        NodeStage::Draining => Err(Refusal::NodeLeaving),
        NodeStage::Ready | NodeStage::Failed if node.leaving || node.moving_to.is_some() => Err(Refusal::NodeLeaving),
        NodeStage::Ready | NodeStage::Failed => Ok(()),
    }
}

/// The rack in the rule's terms: slots are nodes there, GPUs in an NVL72 rack's snapshot.
fn facts(rack: &RackView) -> RackFacts<'_> {
    let per_slot = match rack.kind {
        RackKind::Nvl72 => GPUS_PER_TRAY,
        RackKind::Network => 1,
    };
    RackFacts {
        kind: rack.kind,
        zone: &rack.zone,
        slots: rack.slots_total / per_slot,
        slots_used: rack.slots_used.div_ceil(per_slot),
    }
}

/// The one command of a drop.
pub fn drop_command(what: Carried, rack: RackId) -> Command {
    match what {
        Carried::Node(node) => Command::MoveNode { node, rack },
        Carried::Palette(palette) => Command::BuyNode { palette, rack },
    }
}

/// How much more a rack takes.
pub fn room_message(rack: &RackView) -> Message {
    let count = rack.slots_total.saturating_sub(rack.slots_used).into();
    match rack.kind {
        RackKind::Nvl72 => Message::MapRoomGpus { count },
        RackKind::Network => Message::MapRoomNodes { count },
    }
}

/// A box on the page, in the pointer's coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// The rack under the pointer.
pub fn hit_test(rects: &[(RackId, Rect)], x: f64, y: f64) -> Option<RackId> {
    let inside = |r: &Rect| x >= r.left && x < r.left + r.width && y >= r.top && y < r.top + r.height;
    rects.iter().find(|(_, r)| inside(r)).map(|(id, _)| *id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::fixture::{self, node, rack};

    #[test]
    fn a_tray_goes_to_another_domain_and_never_to_a_network_rack() {
        let s = fixture::trap();
        let tray = Carried::Node(node(&s, "gb-b1"));
        assert_eq!(drop_check(&s, tray, rack(&s, "A")), Ok(()));
        assert_eq!(drop_check(&s, tray, rack(&s, "B")), Err(Refusal::SamePlace));
        assert_eq!(drop_check(&s, tray, rack(&s, "rack 3")), Err(Refusal::TrayNeedsNvl72));
    }

    #[test]
    fn hgx_and_pcie_nodes_stay_out_of_nvl72_racks_for_their_own_reasons() {
        let s = fixture::trap();
        let (hgx, pcie) = (Carried::Palette(1), Carried::Palette(2));
        assert_eq!(drop_check(&s, hgx, rack(&s, "A")), Err(Refusal::HgxIsItsOwnDomain));
        assert_eq!(drop_check(&s, pcie, rack(&s, "A")), Err(Refusal::PcieHasNoNvlink));
        assert_eq!(drop_check(&s, hgx, rack(&s, "rack 3")), Ok(()));
        assert_eq!(drop_check(&s, Carried::Node(node(&s, "l40-1")), rack(&s, "A")), Err(Refusal::PcieHasNoNvlink));
    }

    #[test]
    fn full_racks_other_zones_and_nodes_on_their_way_are_refused() {
        let mut s = fixture::trap();
        let a = rack(&s, "A");
        let tray = Carried::Palette(0);
        s.racks[a.index()].slots_used = 72;
        assert_eq!(drop_check(&s, tray, a), Err(Refusal::RackFull { slots: 18 }));
        s.racks[a.index()].slots_used = 12;
        s.racks[a.index()].zone = "us-east-1b".into();
        assert_eq!(drop_check(&s, Carried::Node(node(&s, "gb-b1")), a), Err(Refusal::OtherZone));
        assert_eq!(drop_check(&s, tray, a), Ok(()));
        let net = rack(&s, "rack 3");
        assert_eq!(drop_check(&s, Carried::Node(node(&s, "hgx-1")), net), Err(Refusal::NodeLeaving));
        assert_eq!(drop_check(&s, Carried::Node(node(&s, "hgx-2")), net), Err(Refusal::NodeBooting));
        assert_eq!(drop_check(&s, Carried::Node(NodeId(999)), net), Err(Refusal::NoSuchNode));
        assert_eq!(drop_check(&s, Carried::Palette(99), net), Err(Refusal::NoSuchPaletteItem));
        assert_eq!(drop_check(&s, tray, RackId(99)), Err(Refusal::NoSuchRack));
    }

    #[test]
    fn the_pointer_hits_the_rack_that_it_is_over() {
        let r = |left, top| Rect { left, top, width: 100.0, height: 50.0 };
        let rects = [(RackId(0), r(0.0, 0.0)), (RackId(1), r(110.0, 0.0))];
        assert_eq!(hit_test(&rects, 99.9, 10.0), Some(RackId(0)));
        assert_eq!(hit_test(&rects, 105.0, 10.0), None);
        assert_eq!(hit_test(&rects, 110.0, 49.0), Some(RackId(1)));
    }
}
