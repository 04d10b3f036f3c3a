//! What hardware cannot do: where a node may stand. One rule for the world and for the map.

use super::node::is_tray;
use crate::sim::catalog::Instance;
use crate::sim::command::Refusal;
use crate::sim::snapshot::RackKind;

/// What the rule needs to know of a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RackFacts<'a> {
    pub kind: RackKind,
    pub zone: &'a str,
    pub slots: u32,
    pub slots_used: u32,
}

/// Whether a machine of this type may be put into a rack; `from_zone` is where it stands now.
///
/// # Errors
/// The reason that the map shows on a refused target.
pub fn can_place(instance: &Instance, rack: RackFacts<'_>, from_zone: Option<&str>) -> Result<(), Refusal> {
    if from_zone.is_some_and(|z| z != rack.zone) {
        return Err(Refusal::OtherZone);
    }
    match (rack.kind, is_tray(instance)) {
        (RackKind::Nvl72, true) | (RackKind::Network, false) => {}
        (RackKind::Network, true) => return Err(Refusal::TrayNeedsNvl72),
        (RackKind::Nvl72, false) if instance.nvlink_domain_gpus > 1 => return Err(Refusal::HgxIsItsOwnDomain),
        (RackKind::Nvl72, false) => return Err(Refusal::PcieHasNoNvlink),
    }
    if rack.slots_used >= rack.slots {
        return Err(Refusal::RackFull { slots: rack.slots });
    }
    Ok(())
}
