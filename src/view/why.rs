//! The why-log's sentences: one for each verdict, made from its reason code and numbers.

use super::hpa::sync_sentence;
use super::map::refusal_message;
use super::names::Names;
use super::words::{comma, gpu_minutes, param, then, value, who, whole_seconds};
use crate::i18n::{Arg, Message};
use crate::sim::command::Command;
use crate::sim::decision::{Decision, KeptBecause, NodeCounts, TurnedAway, Verdict, Who};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::snapshot::NodeStage;

/// Nodes named in one sentence before the rest becomes a count.
const NODES_NAMED: usize = 4;

/// Which decisions the log shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    #[default]
    All,
    Nodes,
    Placement,
    Replicas,
    Requests,
    You,
}

impl Filter {
    pub const ALL: [Filter; 6] =
        [Filter::All, Filter::Nodes, Filter::Placement, Filter::Replicas, Filter::Requests, Filter::You];

    /// Stable id for the page.
    pub fn id(self) -> &'static str {
        match self {
            Filter::All => "all",
            Filter::Nodes => "nodes",
            Filter::Placement => "placement",
            Filter::Replicas => "replicas",
            Filter::Requests => "requests",
            Filter::You => "you",
        }
    }

    pub fn from_id(id: &str) -> Option<Filter> {
        Filter::ALL.into_iter().find(|f| f.id() == id)
    }

    pub fn label(self) -> Message {
        match self {
            Filter::All => Message::WhyFilterAll,
            Filter::Nodes => Message::WhyFilterNodes,
            Filter::Placement => Message::WhyFilterPlacement,
            Filter::Replicas => Message::WhyFilterReplicas,
            Filter::Requests => Message::WhyFilterRequests,
            Filter::You => Message::WhyFilterYou,
        }
    }

    /// Whether a decision of this controller is shown.
    pub fn shows(self, who: Who) -> bool {
        let kind = match who {
            Who::Karpenter | Who::Cloud => Filter::Nodes,
            Who::KubeScheduler | Who::Kai => Filter::Placement,
            Who::Hpa | Who::Kubelet | Who::Engine => Filter::Replicas,
            Who::Traffic | Who::Gateway => Filter::Requests,
            Who::You | Who::Script => Filter::You,
        };
        self == Filter::All || self == kind
    }
}

/// The sentence of a decision.
pub fn sentence(decision: &Decision, names: &Names) -> Message {
    use Verdict::*;
    let verdict = &decision.verdict;
    let sentence = match verdict {
        Did(command) => Some(did(command, names)),
        Refused { command, why } => {
            Some(Message::RefusedAct { act: asked(command, names).into(), why: refusal_message(why).into() })
        }
        PodsBound { .. }
        | PodUnschedulable { .. }
        | GangPlaced { .. }
        | GangDeferred { .. }
        | StaleEvicted { .. }
        | GangComplete { .. } => placement(verdict, names),
        HpaSync { .. } => sync_sentence(verdict, names),
        ReplicasSet { .. }
        | ReplicaReady { .. }
        | DrainStarted { .. }
        | DrainEnded { .. }
        | EngineRefused { .. }
        | EngineCrashed { .. } => replicas(verdict, names),
        ReadyClaimed { .. } | ReadyTooEarly { .. } | SpareLoaded { .. } | SparePromoted { .. } => {
            starts(verdict, names)
        }
        NodeBought { .. } | NoNodeFits { .. } | PoolLimit { .. } | NodeReached { .. } | NodeReleased { .. } => {
            nodes(verdict, names)
        }
        ConsolidationPlanned { .. }
        | ConsolidationEvicts { .. }
        | ConsolidationDropped { .. }
        | ConsolidationKept { .. } => consolidation(verdict, names),
        PromptRefused { .. }
        | SpikeBegan { .. }
        | LongPromptAnswered { .. }
        | LongPromptLost { .. }
        | TurnedAway { .. } => requests(verdict, names),
    };
    sentence.unwrap_or_else(|| who(decision.who))
}

/// A command that was carried out.
fn did(command: &Command, names: &Names) -> Message {
    match command {
        Command::BuyNode { palette, rack } => {
            Message::DidBuyNode { instance: names.palette(*palette), rack: names.rack(*rack) }
        }
        Command::MoveNode { node, rack } => Message::DidMoveNode { node: names.node(*node), rack: names.rack(*rack) },
        Command::ReleaseNode { node } => Message::DidReleaseNode { node: names.node(*node) },
        Command::LaunchGang { service } => Message::DidLaunchGang { service: names.service(*service) },
        Command::DeleteGroup { group } => Message::DidDeleteGroup { group: names.group(*group) },
        Command::CrashReplica { group } => Message::DidCrash { group: names.group(*group) },
        Command::InjectSpike { service, requests, over, long_prompt_tokens } => {
            let (service, over) = (names.service(*service), Arg::from(*over));
            let (requests, tokens) = (*requests, *long_prompt_tokens);
            match (requests, tokens) {
                (n, 0) => Message::DidSpike { service, requests: n.into(), over },
                (0, tokens) => Message::DidLongPrompt { service, tokens: tokens.into() },
                (n, tokens) => Message::DidSpikeLong { service, requests: n.into(), over, tokens: tokens.into() },
            }
        }
        Command::Set { param: p, value: v } => Message::DidSet { param: param(*p).0.into(), value: value(*p, *v) },
    }
}

/// A command that was refused, as what was asked for.
fn asked(command: &Command, names: &Names) -> Message {
    match command {
        Command::BuyNode { palette, rack } => {
            Message::ActBuyNode { instance: names.palette(*palette), rack: names.rack(*rack) }
        }
        Command::MoveNode { node, rack } => Message::ActMoveNode { node: names.node(*node), rack: names.rack(*rack) },
        Command::ReleaseNode { node } => Message::ActReleaseNode { node: names.node(*node) },
        Command::LaunchGang { service } => Message::ActLaunchGang { service: names.service(*service) },
        Command::DeleteGroup { group } => Message::ActDeleteGroup { group: names.group(*group) },
        Command::CrashReplica { group } => Message::ActCrash { group: names.group(*group) },
        Command::InjectSpike { service, .. } => Message::ActSpike { service: names.service(*service) },
        Command::Set { param: p, .. } => Message::ActSet { param: param(*p).0.into() },
    }
}

fn placement(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::PodsBound { group, placed, total, min_member, nodes } => {
            pods_bound(*group, (*placed, *total, *min_member), nodes, names)
        }
        Verdict::PodUnschedulable { rank, group, counts, bound, total, .. } => {
            let pod = match total {
                0 | 1 => names.group(*group),
                _ => Message::PodOfGroup { rank: (*rank).into(), group: names.group(*group) }.into(),
            };
            let first = match counts_phrase(counts) {
                Some(reasons) => Message::WhyPodNoNode { pod, nodes: counts.nodes.into(), reasons: reasons.into() },
                None => Message::WhyPodNoNodeAtAll { pod },
            };
            match (bound, names.gpus_per_pod(*group)) {
                (0, _) => first,
                (n, Some(each)) => then(first, Message::HoldGpusPaid { n: (n * each).into() }),
                (n, None) => then(first, Message::HoldPodsPaid { n: (*n).into() }),
            }
        }
        Verdict::GangPlaced { group, total, domains, nodes } => {
            let (group, total, nodes) = (names.group(*group), (*total).into(), names.nodes(nodes, NODES_NAMED));
            match domains {
                0 => Message::WhyGangPlaced { group, total, nodes },
                1 => Message::WhyGangPlacedOneDomain { group, total, nodes },
                n => Message::WhyGangPlacedDomains { group, total, nodes, domains: (*n).into() },
            }
        }
        Verdict::GangDeferred { group, fit, need, missing, best_domain } => {
            let first =
                Message::WhyGangDeferred { group: names.group(*group), fit: (*fit).into(), need: (*need).into() };
            match (missing, best_domain) {
                (0, _) => first,
                (n, None) => then(first, Message::WhyGangDeferredMissing { n: (*n).into() }),
                (n, Some(free)) => then(first, Message::WhyGangDeferredDomain { n: (*n).into(), free: (*free).into() }),
            }
        }
        Verdict::StaleEvicted { group, held } => {
            Message::WhyStaleEvicted { group: names.group(*group), held: (*held).into() }
        }
        Verdict::GangComplete { group, gpu_time, .. } if gpu_time.0 == 0 => {
            Message::WhyGangCompleteAtOnce { group: names.group(*group) }
        }
        Verdict::GangComplete { group, held, gpu_time, cost } => Message::WhyGangComplete {
            group: names.group(*group),
            held: (*held).into(),
            gpu_minutes: gpu_minutes(*gpu_time).into(),
            cost: (*cost).into(),
        },
        _ => return None,
    })
}

fn pods_bound(group: GroupId, counts: (u32, u32, u32), nodes: &[NodeId], names: &Names) -> Message {
    let (placed, total, min) = counts;
    let name = names.group(group);
    if placed < min {
        let missing = min - placed;
        let tail = match names.gpus_per_pod(group) {
            Some(each) => Message::HoldGpusNow { n: (placed * each).into(), missing: (missing * each).into() },
            None => Message::HoldPodsNow { n: placed.into(), missing: missing.into() },
        };
        return Message::WhyPodsHeld {
            group: name,
            placed: placed.into(),
            total: total.into(),
            nodes: names.nodes(nodes, NODES_NAMED),
            tail: tail.into(),
        };
    }
    match nodes {
        [node] if total == 1 => Message::WhyPodPlaced { group: name, node: names.node(*node) },
        _ if placed < total => Message::WhyPodsEnough {
            group: name,
            placed: placed.into(),
            total: total.into(),
            min: min.into(),
            nodes: names.nodes(nodes, NODES_NAMED),
        },
        _ => Message::WhyPodsAll { group: name, total: total.into(), nodes: names.nodes(nodes, NODES_NAMED) },
    }
}

/// `5 without enough free GPUs, 3 excluded by nodeSelector`; `None` without nodes.
fn counts_phrase(counts: &NodeCounts) -> Option<Message> {
    if counts.nodes == 0 {
        return None;
    }
    let named = counts.no_free_gpu + counts.selector + counts.taint + counts.not_ready + counts.cpu_or_memory;
    let n = Arg::from;
    let all = [
        (counts.no_free_gpu, Message::CountNoFreeGpu { n: n(counts.no_free_gpu) }),
        (counts.selector, Message::CountSelector { n: n(counts.selector) }),
        (counts.taint, Message::CountTaint { n: n(counts.taint) }),
        (counts.cpu_or_memory, Message::CountCpuOrMemory { n: n(counts.cpu_or_memory) }),
        (counts.not_ready, Message::CountNotReady { n: n(counts.not_ready) }),
        (counts.nodes.saturating_sub(named), Message::CountOther { n: n(counts.nodes.saturating_sub(named)) }),
    ];
    comma(all.into_iter().filter(|(count, _)| *count > 0).map(|(_, phrase)| phrase))
}

fn replicas(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::ReplicasSet { service, from, to } => {
            Message::WhyReplicasSet { service: names.service(*service), from: (*from).into(), to: (*to).into() }
        }
        Verdict::ReplicaReady { group, pending, image, weights, warm_up } => Message::WhyReplicaReady {
            group: names.group(*group),
            total: (*pending + *image + *weights + *warm_up).into(),
            pending: (*pending).into(),
            image: (*image).into(),
            weights: (*weights).into(),
            warm_up: (*warm_up).into(),
        },
        Verdict::DrainStarted { group, in_flight: 0, .. } => Message::WhyDrainIdle { group: names.group(*group) },
        Verdict::DrainStarted { group, in_flight, grace } => Message::WhyDrainStarted {
            group: names.group(*group),
            in_flight: (*in_flight).into(),
            grace: (*grace).into(),
        },
        Verdict::DrainEnded { group, finished: 0, lost: 0 } => {
            Message::WhyDrainEndedIdle { group: names.group(*group) }
        }
        Verdict::DrainEnded { group, finished, lost: 0 } => {
            Message::WhyDrainEnded { group: names.group(*group), finished: (*finished).into() }
        }
        Verdict::DrainEnded { group, finished, lost } => {
            let (finished, lost) = ((*finished).into(), (*lost).into());
            Message::WhyDrainLost { group: names.group(*group), finished, lost }
        }
        Verdict::EngineRefused { group, short_gib_tenths } => Message::WhyEngineRefused {
            group: names.group(*group),
            short_gib: Arg::Float(f64::from(*short_gib_tenths) / 10.0, 1),
        },
        Verdict::EngineCrashed { group, with, lost } => {
            let (group, lost) = (names.group(*group), Arg::from(*lost));
            match *with {
                0 => Message::WhyCrashed { group, lost },
                n => Message::WhyCrashedTogether { group, lost, with: n.into() },
            }
        }
        _ => return None,
    })
}

fn starts(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::ReadyClaimed { group, after } => {
            Message::WhyReadyClaimed { group: names.group(*group), after: (*after).into() }
        }
        Verdict::ReadyTooEarly { group, early, failed: 0, .. } => {
            Message::WhyReadyTooEarlyUnused { group: names.group(*group), early: (*early).into() }
        }
        Verdict::ReadyTooEarly { group, early, failed, .. } => {
            Message::WhyReadyTooEarly { group: names.group(*group), early: (*early).into(), failed: (*failed).into() }
        }
        Verdict::SpareLoaded { group } => Message::WhySpareLoaded { group: names.group(*group) },
        Verdict::SparePromoted { group } => Message::WhySparePromoted { group: names.group(*group) },
        _ => return None,
    })
}

fn nodes(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::NodeBought { node, instance, pods, price_per_hour, ready_in } => Message::WhyNodeBought {
            node: names.node(*node),
            instance: (*instance).into(),
            pods: (*pods).into(),
            price: Arg::MoneyPerHour(*price_per_hour),
            ready_in: (*ready_in).into(),
        },
        Verdict::NoNodeFits { group, .. } => Message::WhyNoNodeFits { group: names.group(*group) },
        Verdict::PoolLimit { group, .. } => Message::WhyPoolLimit { group: names.group(*group) },
        Verdict::NodeReached { node, stage, took } => {
            let (node, took) = (names.node(*node), Arg::from(*took));
            match stage {
                NodeStage::Launching => Message::WhyNodeLaunching { node },
                NodeStage::Booting => Message::WhyNodeBooting { node, took },
                NodeStage::Registering => Message::WhyNodeRegistering { node, took },
                NodeStage::GpuStack => Message::WhyNodeGpuStack { node, took },
                NodeStage::Ready => Message::WhyNodeReady { node, took },
                NodeStage::Draining => Message::WhyNodeDraining { node },
                NodeStage::Failed => Message::WhyNodeFailed { node },
                NodeStage::Released => Message::WhyNodeGone { node },
            }
        }
        Verdict::NodeReleased { node, paid } => {
            Message::WhyNodeReleased { node: names.node(*node), paid: (*paid).into() }
        }
        _ => return None,
    })
}

fn consolidation(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::ConsolidationPlanned { nodes, empty, pods, replacement, saves_per_hour } => {
            let (nodes, saves) = (names.nodes(nodes, NODES_NAMED), Arg::MoneyPerHour(*saves_per_hour));
            match (empty, replacement) {
                (_, Some(replacement)) => {
                    Message::WhyPlanReplace { nodes, pods: (*pods).into(), replacement: (*replacement).into(), saves }
                }
                (true, None) => Message::WhyPlanEmpty { nodes, saves },
                (false, None) => Message::WhyPlanMove { nodes, pods: (*pods).into(), saves },
            }
        }
        Verdict::ConsolidationEvicts { node, pods, in_flight, grace, saves_per_hour } => {
            let (node, saves) = (names.node(*node), Arg::MoneyPerHour(*saves_per_hour));
            match (pods, in_flight) {
                (0, _) => Message::WhyRemovesEmpty { node, saves },
                (n, 0) => Message::WhyEvictsIdle { node, pods: (*n).into(), saves },
                (n, m) => Message::WhyEvicts {
                    node,
                    pods: (*n).into(),
                    in_flight: (*m).into(),
                    grace: (*grace).into(),
                    saves,
                },
            }
        }
        Verdict::ConsolidationDropped { nodes } => Message::WhyPlanDropped { nodes: names.nodes(nodes, NODES_NAMED) },
        Verdict::ConsolidationKept { node, why } => {
            let node = names.node(*node);
            match why {
                KeptBecause::NotConsolidatable { remaining } => {
                    Message::WhyKeptAfter { node, remaining: whole_seconds(*remaining).into() }
                }
                KeptBecause::NotEmpty => Message::WhyKeptNotEmpty { node },
                KeptBecause::PodsDoNotFit => Message::WhyKeptDoNotFit { node },
                KeptBecause::NotCheaper => Message::WhyKeptNotCheaper { node },
                KeptBecause::Budget => Message::WhyKeptBudget { node },
                KeptBecause::DoNotDisrupt => Message::WhyKeptDoNotDisrupt { node },
                KeptBecause::Pdb => Message::WhyKeptPdb { node },
            }
        }
        _ => return None,
    })
}

fn requests(verdict: &Verdict, names: &Names) -> Option<Message> {
    Some(match verdict {
        Verdict::PromptRefused { service, tokens, limit } => Message::WhyPromptRefused {
            service: names.service(*service),
            tokens: (*tokens).into(),
            limit: (*limit).into(),
        },
        Verdict::SpikeBegan { service, requests, over, long_prompt_tokens } => {
            let (service, over) = (names.service(*service), Arg::from(*over));
            match (*requests, *long_prompt_tokens) {
                (n, 0) => Message::WhySpike { service, requests: n.into(), over },
                (0, tokens) => Message::WhyLongPrompt { service, tokens: tokens.into() },
                (n, tokens) => Message::WhySpikeLong { service, requests: n.into(), over, tokens: tokens.into() },
            }
        }
        Verdict::LongPromptAnswered { service, tokens, after } => Message::WhyLongAnswered {
            service: names.service(*service),
            tokens: (*tokens).into(),
            after: (*after).into(),
        },
        Verdict::TurnedAway { service, why, found, limit, fallback } => {
            let (service, found, limit) = (names.service(*service), Arg::from(*found), Arg::from(*limit));
            let sentence = match why {
                TurnedAway::QueueLimit => Message::WhyQueueLimit { service, found, limit },
                TurnedAway::Deadline => Message::WhyDeadline { service, found, limit },
                TurnedAway::ContextCap => Message::WhyContextCap { service, found, limit },
            };
            match fallback {
                None => sentence,
                Some(to) => then(sentence, Message::WhyFallback { service: names.service(*to) }),
            }
        }
        Verdict::LongPromptLost { service, tokens, after } => {
            Message::WhyLongLost { service: names.service(*service), tokens: (*tokens).into(), after: (*after).into() }
        }
        _ => return None,
    })
}
