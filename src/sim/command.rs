//! What a learner, a scenario script or a host can do. Only commands change the world; the
//! stamped log of them is save file, share link, undo stack and evidence.

use super::id::{GroupId, NodeId, RackId, ServiceId};
use super::param::Param;
use super::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// One act. Instances and services are named by index into the scenario's lists, so that a
/// log stays compact; variants are only ever appended, because links carry their index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Buy a node of the palette entry and put it into a rack.
    BuyNode { palette: u32, rack: RackId },
    /// Move a node to another rack; an occupied node is drained first.
    MoveNode { node: NodeId, rack: RackId },
    /// Drain a node and give it back.
    ReleaseNode { node: NodeId },
    /// Add one replica of a launchable service (the 70B gang).
    LaunchGang { service: ServiceId },
    /// Delete a replica or gang; its requests drain.
    DeleteGroup { group: GroupId },
    /// Add arrivals to a service: `requests` spread over `over`, and one long prompt.
    InjectSpike { service: ServiceId, requests: u32, over: Span, long_prompt_tokens: u32 },
    /// Change a policy parameter.
    Set { param: Param, value: i64 },
}

/// A command with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    pub at: Time,
    pub command: Command,
}

/// Why a command was refused. A refused command changes nothing and is not logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// The thing it names does not exist (any more).
    NoSuchNode,
    NoSuchRack,
    NoSuchGroup,
    NoSuchService,
    NoSuchPaletteItem,
    /// It is there already.
    SamePlace,
    /// A GB200 tray needs the NVLink switches of an NVL72 rack.
    TrayNeedsNvl72,
    /// An HGX baseboard's NVLink ends at its chassis; it cannot join another NVLink domain.
    HgxIsItsOwnDomain,
    /// A PCIe card has no NVLink.
    PcieHasNoNvlink,
    /// No slot is left: how many it holds.
    RackFull { slots: u32 },
    /// Hardware does not travel between availability zones.
    OtherZone,
    /// The node has not finished booting.
    NodeBooting,
    /// The node is already leaving or moving.
    NodeLeaving,
    /// The group is already going away.
    GroupLeaving,
    /// A service that **Launch** does not add to.
    NotLaunchable,
    /// The prompt is longer than the model's context.
    ContextLimit { asked: u32, limit: u32 },
    /// A parameter out of range, or contradicting another.
    Param(super::param::ParamError),
    /// A bound of the lab: what and how much.
    TooMany { limit: u32 },
}
