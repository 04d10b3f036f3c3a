//! What a disruption pass says: the command, or why each node stays.

use super::plan::{NewNode, Refusal};
use super::pool::Reason;
use crate::sim::id::{NodeId, PodId};
use crate::sim::money::Microusd;
use crate::sim::time::{Span, Time};

/// Which method of the disruption loop found the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub enum Method {
    Emptiness,
    Drift,
    MultiNode,
    SingleNode,
}

/// Where a pod of a removed node would go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Destination {
    Existing(NodeId),
    /// Index in [`Command::replacements`].
    Replacement(usize),
}

/// A pod that has to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Landing {
    pub pod: PodId,
    pub to: Destination,
}

/// Nodes to remove, and what must be up before. With replacements, the nodes are deleted only when
/// all replacements are initialised; a failed replacement rolls the command back.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Command {
    pub method: Method,
    pub reason: Reason,
    pub nodes: Vec<NodeId>,
    pub landings: Vec<Landing>,
    pub replacements: Vec<NewNode>,
    /// Price of the removed nodes, per hour.
    pub price_before: Microusd,
    /// Price of the replacements as they would be launched, per hour.
    pub price_after: Microusd,
    /// When it was computed. Emptiness and consolidation are validated `VALIDATION_WAIT` later.
    pub decided_at: Time,
}

impl Command {
    /// Saved per hour, in micro-dollars; negative when a drifted node is replaced by a dearer one.
    pub fn savings_microusd_per_hour(&self) -> i64 {
        let signed = |m: Microusd| i64::try_from(m.0).unwrap_or(i64::MAX);
        signed(self.price_before).saturating_sub(signed(self.price_after))
    }
    /// Drift is carried out at once, the other methods wait.
    pub fn needs_validation(&self) -> bool {
        self.method != Method::Drift
    }
}

/// Why a node was not disrupted.
#[derive(Debug, Clone, PartialEq)]
pub enum KeptReason {
    NotInitialized,
    /// Already being deleted or part of a command.
    Deleting,
    /// A pending pod was planned onto it.
    Nominated {
        remaining: Span,
    },
    /// `do-not-disrupt` on the pod, or on the node itself (`None`).
    DoNotDisrupt {
        pod: Option<PodId>,
    },
    /// A budget of the pod allows no eviction, or two budgets select it.
    Pdb {
        pod: PodId,
    },
    /// The pool has a fixed number of nodes.
    StaticPool,
    /// `consolidateAfter: Never`.
    ConsolidationOff,
    /// `consolidateAfter` is not over; `None` if the node's clock has not started.
    NotConsolidatable {
        remaining: Option<Span>,
    },
    /// Policy WhenEmpty and there are pods that would have to move.
    NotEmpty {
        pods: usize,
    },
    /// The pool's budget for this reason is used up.
    Budget {
        reason: Reason,
    },
    /// This pod would have no place.
    PodsDoNotFit {
        pod: PodId,
        why: Refusal,
    },
    /// This pod would land on a node that is still starting.
    OnlyOnStartingNode {
        pod: PodId,
        node: NodeId,
    },
    /// More than one new node would be needed.
    NeedsNodes {
        count: usize,
    },
    /// The cheapest type that fits costs, in its dearest zone, as much as now or more.
    NotCheaper {
        now: Microusd,
        cheapest: Option<Microusd>,
    },
    /// A spot node would be replaced by a spot node, which the feature gate forbids.
    SpotToSpotOff,
    /// Spot to spot needs 15 cheaper types.
    TooFewSpotTypes {
        found: usize,
    },
    /// Fewer types are cheaper than a `minValues` asks for.
    MinValues {
        key: String,
    },
    /// Balanced: savings do not justify the disruption. Score in thousandths; at least 500 is needed.
    NotWorthIt {
        score_milli: u64,
    },
    /// Nothing has changed since a pass that found nothing.
    Unchanged,
}

/// A node that stays, with the reason of the method that came furthest.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    pub node: NodeId,
    pub reason: KeptReason,
}

/// The outcome of one disruption pass.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    pub command: Option<Command>,
    /// Managed nodes that stay, best candidate (highest price per disruption) first. A node that
    /// was not examined because a command was found before is not listed.
    pub kept: Vec<Kept>,
}

impl Decision {
    /// Why the best candidate was kept; `None` if there is a command or no managed node.
    pub fn best_kept(&self) -> Option<&Kept> {
        match self.command {
            Some(_) => None,
            None => self.kept.first(),
        }
    }
}

/// Why a command was dropped after the wait.
#[derive(Debug, Clone, PartialEq)]
pub enum Invalid {
    /// A node is no candidate any more.
    Candidate(Kept),
    /// The node is gone.
    NodeGone(NodeId),
    /// The simulation now asks for another number of new nodes.
    NewNodeCount { expected: usize, now: usize },
    /// The chosen types are no longer all possible.
    TypesChanged,
}
