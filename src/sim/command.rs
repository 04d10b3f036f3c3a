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
    /// Crash the engine of a replica, as a GPU fault does; its container starts again.
    CrashReplica { group: GroupId },
}

/// A command with its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    pub at: Time,
    pub command: Command,
}

/// Why a command was refused. A refused command changes nothing and is not logged. The texts here
/// are for the command line; the page has its own in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    #[error("there is no such node")]
    NoSuchNode,
    #[error("there is no such rack")]
    NoSuchRack,
    #[error("there is no such replica")]
    NoSuchGroup,
    #[error("there is no such service")]
    NoSuchService,
    #[error("the palette has no such entry")]
    NoSuchPaletteItem,
    #[error("it is there already")]
    SamePlace,
    #[error("a GB200 tray needs the NVLink switches of an NVL72 rack")]
    TrayNeedsNvl72,
    #[error("the NVLink of an HGX board ends at its chassis, so it cannot join another NVLink domain")]
    HgxIsItsOwnDomain,
    #[error("a PCIe card has no NVLink")]
    PcieHasNoNvlink,
    #[error("all {slots} slots are taken")]
    RackFull { slots: u32 },
    #[error("hardware does not travel between availability zones")]
    OtherZone,
    #[error("the node has not finished booting")]
    NodeBooting,
    #[error("the node is leaving or moving already")]
    NodeLeaving,
    #[error("the replica is stopping already")]
    GroupLeaving,
    #[error("this service is not launched by hand")]
    NotLaunchable,
    #[error("{asked} tokens are more than the context of {limit}")]
    ContextLimit { asked: u32, limit: u32 },
    #[error(transparent)]
    Param(super::param::ParamError),
    #[error("at most {limit}")]
    TooMany { limit: u32 },
    /// The clock stands at the end of the run: nothing would come of it.
    #[error("the run is over")]
    RunOver,
    #[error("its engine is not running")]
    NotServing,
}
