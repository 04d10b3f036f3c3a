//! Decision records: who decided what, when, from which numbers, by which rule, and what
//! limited it. Typed values, never sentences: `view` makes the words.

use super::command::{Command, Refusal};
use super::id::{GroupId, NodeId, PodId, ServiceId};
use super::money::Microusd;
use super::param::Param;
use super::snapshot::{HpaLimit, NodeStage};
use super::time::{Span, Time};
use serde::Serialize;

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Who {
    /// The learner.
    You,
    /// The scenario's own script.
    Script,
    Traffic,
    KubeScheduler,
    Kai,
    Hpa,
    Karpenter,
    /// The cloud provider: grants, refusals, bring-up.
    Cloud,
    Kubelet,
    Engine,
    Gateway,
}

/// How the log colours a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Tone {
    Good,
    Bad,
    Neutral,
}

/// Why a node could not take a pod: the filters of kube-scheduler, counted over nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct NodeCounts {
    pub nodes: u32,
    pub no_free_gpu: u32,
    pub selector: u32,
    pub taint: u32,
    /// Node not Ready, or its GPUs are not advertised yet.
    pub not_ready: u32,
    pub cpu_or_memory: u32,
}

/// What was decided, with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum Verdict {
    /// A command was carried out.
    Did(Command),
    /// A command was refused.
    Refused {
        command: Command,
        why: Refusal,
    },
    /// kube-scheduler placed some pods of a group, one by one; `placed` of `total` hold GPUs.
    PodsBound {
        group: GroupId,
        placed: u32,
        total: u32,
        min_member: u32,
        nodes: Vec<NodeId>,
    },
    /// kube-scheduler found no node for a pod; `bound` others of its group hold GPUs.
    PodUnschedulable {
        pod: PodId,
        rank: u32,
        group: GroupId,
        counts: NodeCounts,
        bound: u32,
        total: u32,
    },
    /// KAI placed a whole gang in one statement.
    GangPlaced {
        group: GroupId,
        total: u32,
        domains: u32,
        nodes: Vec<NodeId>,
    },
    /// KAI holds a gang back: `fit` of `need` would fit. `best_domain` GPUs are free in the
    /// best domain of the required level, where a level was required.
    GangDeferred {
        group: GroupId,
        fit: u32,
        need: u32,
        missing: u32,
        best_domain: Option<u32>,
    },
    /// KAI gave up a gang that stayed below its minimum.
    StaleEvicted {
        group: GroupId,
        held: Span,
    },
    /// All members are there; the group stopped holding GPUs idle.
    GangComplete {
        group: GroupId,
        held: Span,
        gpu_time: Span,
        cost: Microusd,
    },
    /// One HPA sync: the numbers of the formula in order.
    HpaSync {
        service: ServiceId,
        signal: Param,
        signal_choice: i64,
        value_milli: Option<i64>,
        target_milli: i64,
        current: u32,
        ready: u32,
        raw_desired: u32,
        stabilized: u32,
        desired: u32,
        limit: HpaLimit,
        waiting: u32,
    },
    /// Replicas were changed by hand or by script.
    ReplicasSet {
        service: ServiceId,
        from: u32,
        to: u32,
    },
    /// Karpenter buys a node for `pods` pending pods.
    NodeBought {
        node: NodeId,
        instance: &'static str,
        pods: u32,
        price_per_hour: Microusd,
        ready_in: Span,
    },
    /// Karpenter found no instance type for a pod.
    NoNodeFits {
        pod: PodId,
        group: GroupId,
    },
    /// Karpenter found nothing to buy because a pool's limit is reached.
    PoolLimit {
        pod: PodId,
        group: GroupId,
    },
    /// A node reached a stage of its bring-up.
    NodeReached {
        node: NodeId,
        stage: NodeStage,
        took: Span,
    },
    /// Consolidation chose nodes to remove or replace; it acts after the validation delay.
    ConsolidationPlanned {
        nodes: Vec<NodeId>,
        empty: bool,
        pods: u32,
        replacement: Option<&'static str>,
        saves_per_hour: Microusd,
    },
    /// Consolidation evicts: requests in flight get `grace` to finish.
    ConsolidationEvicts {
        node: NodeId,
        pods: u32,
        in_flight: u32,
        grace: Span,
        saves_per_hour: Microusd,
    },
    /// The plan no longer held at validation.
    ConsolidationDropped {
        nodes: Vec<NodeId>,
    },
    /// Nothing to consolidate; what kept the best candidate.
    ConsolidationKept {
        node: NodeId,
        why: KeptBecause,
    },
    NodeReleased {
        node: NodeId,
        paid: Microusd,
    },
    /// A replica began to stop.
    DrainStarted {
        group: GroupId,
        in_flight: u32,
        grace: Span,
    },
    /// A replica stopped; `lost` requests were cut off.
    DrainEnded {
        group: GroupId,
        finished: u32,
        lost: u32,
    },
    /// A replica serves; how long each stage took.
    ReplicaReady {
        group: GroupId,
        pending: Span,
        image: Span,
        weights: Span,
        warm_up: Span,
    },
    /// The engine refuses to start: the weights or the context do not fit.
    EngineRefused {
        group: GroupId,
        short_gib_tenths: u32,
    },
    /// The engine refuses a prompt beyond its context limit.
    PromptRefused {
        service: ServiceId,
        tokens: u32,
        limit: u32,
    },
    /// An announced spike began.
    SpikeBegan {
        service: ServiceId,
        requests: u32,
        over: Span,
        long_prompt_tokens: u32,
    },
    /// The long prompt's answer began, or its client gave up.
    LongPromptAnswered {
        service: ServiceId,
        tokens: u32,
        after: Span,
    },
    LongPromptLost {
        service: ServiceId,
        tokens: u32,
        after: Span,
    },
    /// The gateway turned a request away: `found` waiting requests (or prompt tokens) against
    /// `limit`. It goes to `fallback` if there is one.
    TurnedAway {
        service: ServiceId,
        why: TurnedAway,
        found: u32,
        limit: u32,
        fallback: Option<ServiceId>,
    },
    /// An engine crashed; `with` other replicas on its GPUs went with it.
    EngineCrashed {
        group: GroupId,
        with: u32,
        lost: u32,
    },
    /// A probe of the container alone says ready: the endpoints have a replica whose engine does
    /// not answer yet; `after` its pods were created.
    ReadyClaimed {
        group: GroupId,
        after: Span,
    },
    /// The engine of such a replica answers, `early` after it was claimed ready at `claimed`;
    /// `failed` requests were refused in between.
    ReadyTooEarly {
        group: GroupId,
        claimed: Time,
        early: Span,
        failed: u32,
    },
    /// A warm spare is loaded and stands by.
    SpareLoaded {
        group: GroupId,
    },
    /// A warm spare was taken into service.
    SparePromoted {
        group: GroupId,
    },
}

/// Which of the gateway's limits turned a request away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum TurnedAway {
    /// Too many requests wait: 429.
    QueueLimit,
    /// It would wait longer than its TTFT target.
    Deadline,
    /// The prompt is longer than the gateway lets in.
    ContextCap,
}

/// Why consolidation left its best candidate alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum KeptBecause {
    /// `consolidateAfter` has not passed: what remains.
    NotConsolidatable {
        remaining: Span,
    },
    /// It has pods and the policy is WhenEmpty.
    NotEmpty,
    PodsDoNotFit,
    NotCheaper,
    Budget,
    DoNotDisrupt,
    Pdb,
}

/// A decision, as logged. Equal decisions in a row fold into one record.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// Running number, from 0.
    pub id: u64,
    pub at: Time,
    pub who: Who,
    pub verdict: Verdict,
    pub tone: Tone,
    /// How many equal ones this record stands for, and the time of the last.
    pub times: u32,
    pub last_at: Time,
    /// The decision that led to this one.
    pub caused_by: Option<u64>,
}

impl Decision {
    /// Nodes and groups that hovering the record lights.
    pub fn touches(&self) -> (Vec<NodeId>, Vec<GroupId>) {
        match &self.verdict {
            Verdict::Did(c) | Verdict::Refused { command: c, .. } => match c {
                Command::MoveNode { node, .. } | Command::ReleaseNode { node } => (vec![*node], vec![]),
                Command::DeleteGroup { group } => (vec![], vec![*group]),
                _ => (vec![], vec![]),
            },
            Verdict::PodsBound { group, nodes, .. } | Verdict::GangPlaced { group, nodes, .. } => {
                (nodes.clone(), vec![*group])
            }
            Verdict::PodUnschedulable { group, .. }
            | Verdict::GangDeferred { group, .. }
            | Verdict::StaleEvicted { group, .. }
            | Verdict::GangComplete { group, .. }
            | Verdict::DrainStarted { group, .. }
            | Verdict::DrainEnded { group, .. }
            | Verdict::ReplicaReady { group, .. }
            | Verdict::EngineRefused { group, .. }
            | Verdict::EngineCrashed { group, .. }
            | Verdict::NoNodeFits { group, .. }
            | Verdict::PoolLimit { group, .. }
            | Verdict::ReadyClaimed { group, .. }
            | Verdict::ReadyTooEarly { group, .. }
            | Verdict::SpareLoaded { group }
            | Verdict::SparePromoted { group } => (vec![], vec![*group]),
            Verdict::NodeBought { node, .. }
            | Verdict::NodeReached { node, .. }
            | Verdict::ConsolidationEvicts { node, .. }
            | Verdict::ConsolidationKept { node, .. }
            | Verdict::NodeReleased { node, .. } => (vec![*node], vec![]),
            Verdict::ConsolidationPlanned { nodes, .. } | Verdict::ConsolidationDropped { nodes } => {
                (nodes.clone(), vec![])
            }
            Verdict::HpaSync { .. }
            | Verdict::ReplicasSet { .. }
            | Verdict::PromptRefused { .. }
            | Verdict::SpikeBegan { .. }
            | Verdict::LongPromptAnswered { .. }
            | Verdict::LongPromptLost { .. }
            | Verdict::TurnedAway { .. } => (vec![], vec![]),
        }
    }

    /// The service that the record is about, if it names one.
    pub fn service(&self) -> Option<ServiceId> {
        match &self.verdict {
            Verdict::HpaSync { service, .. }
            | Verdict::ReplicasSet { service, .. }
            | Verdict::PromptRefused { service, .. }
            | Verdict::SpikeBegan { service, .. }
            | Verdict::LongPromptAnswered { service, .. }
            | Verdict::LongPromptLost { service, .. }
            | Verdict::TurnedAway { service, .. } => Some(*service),
            _ => None,
        }
    }

    /// Whether **step** stops here: something on the page changed, or a choice was refused.
    pub fn is_milestone(&self) -> bool {
        match &self.verdict {
            Verdict::ConsolidationKept { .. } => false,
            _ => self.times == 1,
        }
    }
}
