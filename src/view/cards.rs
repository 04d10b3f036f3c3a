//! The three layer cards: which settings matter now, and one sentence for each layer that says
//! what its controller will do next, or why it does nothing.

use super::hpa::{Reading, TOLERANCE};
use super::names::Names;
use super::words::{choice, gpu_minutes, node_stage, then, wait, whole_seconds};
use crate::i18n::{Arg, Message};
use crate::sim::decision::Tone;
use crate::sim::metrics::Scaling;
use crate::sim::money::Microusd;
use crate::sim::param::{Layer, Param, ParamError, Policy};
use crate::sim::snapshot::{GroupStage, GroupView, HpaLimit, HpaView, NodeStage, ServiceView, Snapshot};
use crate::sim::time::{Span, Time};
use crate::view::words::target_param;

/// The layers in the order of the cards, from hardware up.
pub const LAYERS: [Layer; 3] = [Layer::Nodes, Layer::Placement, Layer::Replicas];

/// The groups of the serving card, by the first part of their parameters' ids.
pub const SERVING_GROUPS: [&str; 5] = ["gateway", "engine", "start", "drain", "metrics"];

/// The parameter that names a layer's controller: the card's switch.
pub fn switch(layer: Layer) -> Param {
    match layer {
        Layer::Nodes => Param::Provisioner,
        Layer::Placement => Param::Scheduler,
        Layer::Replicas => Param::Scaler,
        Layer::Serving => Param::Routing,
    }
}

/// A card's title, and the question that its layer answers.
pub fn title(layer: Layer) -> (Message, Message) {
    match layer {
        Layer::Nodes => (Message::CardNodes, Message::CardNodesWho),
        Layer::Placement => (Message::CardPlacement, Message::CardPlacementWho),
        Layer::Replicas => (Message::CardReplicas, Message::CardReplicasWho),
        Layer::Serving => (Message::CardServing, Message::CardServingWho),
    }
}

/// Whether a parameter changes anything under the chosen controllers and signal.
pub fn matters(param: Param, policy: &Policy) -> bool {
    let hpa = policy.choice(Param::Scaler) == "hpa";
    match param {
        Param::Provisioner | Param::Scheduler | Param::Scaler => true,
        Param::Consolidation | Param::ConsolidateAfter => policy.choice(Param::Provisioner) == "karpenter",
        Param::Topology => policy.choice(Param::Scheduler) == "kai",
        Param::Signal | Param::MinReplicas | Param::MaxReplicas | Param::StabilizationDown => hpa,
        Param::TargetPercent | Param::TargetWaiting | Param::TargetKv => {
            hpa && param == target_param(policy.get(Param::Signal))
        }
        Param::ManualReplicas => !hpa,
        _ => true,
    }
}

/// Whether a layer has anything to act on: replicas only of services that are scaled.
pub fn acts(layer: Layer, snapshot: &Snapshot) -> bool {
    layer != Layer::Replicas || scaled(snapshot).is_some()
}

/// The rows of a card below its switch, in the order of the parameter table.
pub fn settings(layer: Layer, policy: &Policy) -> Vec<Param> {
    let all = Param::ALL.iter().copied();
    all.filter(|p| p.layer() == layer && *p != switch(layer) && matters(*p, policy)).collect()
}

/// What the chosen scheduler does by itself: a label and its value.
pub fn placement_facts(policy: &Policy) -> Vec<(Message, Message)> {
    if policy.choice(Param::Scheduler) == "kai" {
        vec![(Message::CardGang, Message::CardGangAllOrNothing)]
    } else {
        vec![(Message::CardGang, Message::CardGangPodByPod), (Message::ParamTopology, Message::CardTopologyIgnored)]
    }
}

/// The value that one press of a stepper leads to, inside the parameter's range.
pub fn stepped(param: Param, value: i64, up: bool) -> i64 {
    use crate::sim::param::Kind;
    const SECONDS: [i64; 16] = [0, 5, 15, 30, 60, 120, 180, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
    let (next, min, max) = match param.kind() {
        Kind::Choice(ids) => (value + if up { 1 } else { -1 }, 0, ids.len() as i64 - 1),
        Kind::Count { min, max } => (value + if up { 1 } else { -1 }, min, max),
        Kind::Limit { max } => {
            // 0, 1, 2, 5, 10, 20, 50 and so on.
            let steps = (0..8).flat_map(|power| [1, 2, 5].map(|n| n * 10_i64.pow(power)));
            let next =
                if up { steps.clone().find(|n| *n > value) } else { steps.clone().rfind(|n| *n < value).or(Some(0)) };
            (next.unwrap_or(value), 0, max)
        }
        Kind::Percent { min, max } => {
            let next = if up { (value / 5 + 1) * 5 } else { (value - 1).div_euclid(5) * 5 };
            (next, min, max)
        }
        Kind::Seconds { min, max } => {
            let next = if up {
                SECONDS.into_iter().find(|s| *s > value)
            } else {
                SECONDS.into_iter().rev().find(|s| *s < value)
            };
            (next.unwrap_or(value), min, max)
        }
    };
    next.clamp(min, max)
}

/// The text of a value in an input: seconds in the largest whole unit (`5m`), others bare.
pub fn input_text(param: Param, value: i64) -> String {
    use crate::sim::param::Kind;
    match param.kind() {
        Kind::Seconds { .. } if value > 0 && value % 3600 == 0 => format!("{}h", value / 3600),
        Kind::Seconds { .. } if value > 0 && value % 60 == 0 => format!("{}m", value / 60),
        Kind::Seconds { .. } => format!("{value}s"),
        _ => value.to_string(),
    }
}

/// Reads an input and checks it against the whole policy.
///
/// # Errors
/// The rule that it broke; [`words::param_error`](super::words::param_error) says it.
pub fn read_input(param: Param, text: &str, policy: &Policy) -> Result<i64, ParamError> {
    let value = param.parse(text)?;
    policy.clone().set(param, value)?;
    Ok(value)
}

/// The verdict of any layer.
pub fn verdict(layer: Layer, snapshot: &Snapshot) -> (Tone, Message) {
    match layer {
        Layer::Nodes => nodes_verdict(snapshot),
        Layer::Placement => placement_verdict(snapshot),
        Layer::Replicas => replicas_verdict(snapshot),
        Layer::Serving => super::serving::verdict(snapshot),
    }
}

fn in_time(snapshot: &Snapshot, at: Time) -> Arg {
    whole_seconds(at.since(snapshot.now)).into()
}

/// What the node layer does next.
pub fn nodes_verdict(snapshot: &Snapshot) -> (Tone, Message) {
    let names = Names::of(snapshot);
    let layer = &snapshot.nodes_layer;
    if let Some((node, in_flight)) = layer.evicting {
        let node = names.node(node);
        return match in_flight {
            0 => (Tone::Neutral, Message::CardEvictingIdle { node }),
            n => (Tone::Bad, Message::CardEvicting { node, in_flight: n.into() }),
        };
    }
    let pods = snapshot.pending.len();
    let reason = snapshot.pending.first().map(|p| Arg::from(wait(p.wait.reason)));
    let fixed = snapshot.policy.choice(Param::Provisioner) == "fixed";
    if layer.nodes_booting > 0 {
        return (Tone::Neutral, booting(snapshot, &names));
    }
    match reason {
        Some(reason) if fixed => {
            return (Tone::Bad, Message::CardFixedPending { pods: pods.into(), reason });
        }
        Some(reason) => {
            return (Tone::Neutral, Message::CardBuying { pods: pods.into(), reason });
        }
        None if fixed => return (Tone::Neutral, Message::CardFixed),
        None => {}
    }
    let is_empty = |id| snapshot.nodes.iter().any(|n| n.id == id && n.empty_since.is_some());
    let only_empty = snapshot.policy.choice(Param::Consolidation) == "WhenEmpty";
    let next = layer.next_consolidatable.filter(|(node, _)| !only_empty || is_empty(*node));
    if let Some((node, at)) = next {
        let empty = is_empty(node);
        let (node, remaining) = (names.node(node), in_time(snapshot, at));
        return (
            Tone::Neutral,
            match (empty, at > snapshot.now) {
                (true, true) => Message::CardRemoveEmpty { node, remaining },
                (true, false) => Message::CardRemoveEmptyNow { node },
                (false, true) => Message::CardReviewBusy { node, remaining },
                (false, false) => Message::CardReviewBusyNow { node },
            },
        );
    }
    let quiet =
        Message::CardNodesQuiet { nodes: layer.nodes_paid.into(), price: Arg::MoneyPerHour(layer.price_per_hour) };
    match layer.next_review.filter(|at| *at > snapshot.now) {
        Some(at) => (Tone::Neutral, then(quiet, Message::CardNextReview { remaining: in_time(snapshot, at) })),
        None => (Tone::Neutral, quiet),
    }
}

fn booting(snapshot: &Snapshot, names: &Names) -> Message {
    let n = Arg::from(snapshot.nodes_layer.nodes_booting);
    let boots = snapshot.nodes.iter().filter(|node| node.stage < NodeStage::Ready);
    match boots.filter_map(|node| node.stage_until.map(|until| (until, node.id, node.stage))).min() {
        Some((until, node, stage)) => Message::CardBootingReady {
            n,
            node: names.node(node),
            stage: node_stage(stage).into(),
            remaining: in_time(snapshot, until),
        },
        None => Message::CardBooting { n },
    }
}

/// What the placement layer does next, or which group it holds up.
pub fn placement_verdict(snapshot: &Snapshot) -> (Tone, Message) {
    let held: Vec<&GroupView> = snapshot.groups.iter().filter(|g| g.held_since.is_some()).collect();
    if let [one] = held[..] {
        let message = Message::CardHeld {
            bound: one.pods_bound.into(),
            total: one.pods_total.into(),
            gpu_minutes: gpu_minutes(one.held_gpu_time).into(),
            cost: one.held_cost.into(),
        };
        return (Tone::Bad, message);
    }
    if !held.is_empty() {
        let time = held.iter().fold(Span::ZERO, |sum, g| sum + g.held_gpu_time);
        let cost = held.iter().fold(Microusd(0), |sum, g| sum + g.held_cost);
        let message = Message::CardHeldMany {
            gangs: held.len().into(),
            pods: held.iter().map(|g| g.pods_bound).sum::<u32>().into(),
            gpu_minutes: gpu_minutes(time).into(),
            cost: cost.into(),
        };
        return (Tone::Bad, message);
    }
    let waits = |g: &&GroupView| g.stage == GroupStage::Pending && g.pods_bound < g.pods_total;
    let gang = snapshot.groups.iter().filter(waits).find(|g| g.pods_total > 1);
    if let Some((gang, why)) = gang.and_then(|g| g.wait.map(|w| (g, w))) {
        let (group, reason, total) = (gang.name.clone().into(), wait(why.reason).into(), gang.pods_total.into());
        let message = if gang.pods_bound == 0 && snapshot.policy.choice(Param::Scheduler) == "kai" {
            Message::CardGangWaits { group, reason, total }
        } else {
            Message::CardGroupWaits { group, reason, total, bound: gang.pods_bound.into() }
        };
        return (Tone::Neutral, with_missing(message, why.gpus_missing));
    }
    match snapshot.pending.first() {
        Some(first) => {
            let message = Message::CardPodsWait {
                pods: snapshot.pending.len().into(),
                group: first.group_name.clone().into(),
                reason: wait(first.wait.reason).into(),
            };
            (Tone::Neutral, with_missing(message, first.wait.gpus_missing))
        }
        None => (Tone::Good, Message::CardAllPlaced),
    }
}

fn with_missing(message: Message, gpus: u32) -> Message {
    if gpus == 0 { message } else { then(message, Message::CardMissing { n: gpus.into() }) }
}

/// The service that layer 3 scales.
pub fn scaled(snapshot: &Snapshot) -> Option<&ServiceView> {
    snapshot.services.iter().find(|s| s.scaled)
}

/// What the replica layer does next, or what holds it back.
pub fn replicas_verdict(snapshot: &Snapshot) -> (Tone, Message) {
    let Some(service) = scaled(snapshot) else {
        return (Tone::Neutral, Message::CardNoService);
    };
    if snapshot.policy.choice(Param::Scaler) == "manual" {
        let (n, ready) = (service.replicas_wanted.into(), service.replicas_ready.into());
        return (Tone::Neutral, Message::CardManual { n, ready });
    }
    let Some(hpa) = &service.hpa else {
        return (Tone::Neutral, Message::CardHpaWaiting);
    };
    let signal = snapshot.policy.get(Param::Signal);
    let Some(reading) = Reading::of(signal, hpa, service) else {
        return (
            if service.waiting > 0 { Tone::Bad } else { Tone::Neutral },
            Message::CardHpaNoMetric { signal: choice(Param::Signal, signal).into() },
        );
    };
    let (tone, message) = hpa_verdict(snapshot, service, hpa, &reading);
    (tone, then(message, Message::CardNextSync { remaining: in_time(snapshot, hpa.next_sync) }))
}

/// The most that a signal can read, in thousandths of its unit; `None` without a bound.
fn most_milli(signal: i64) -> Option<i64> {
    Scaling::of(signal).most_milli
}

fn hpa_verdict(snapshot: &Snapshot, service: &ServiceView, hpa: &HpaView, reading: &Reading) -> (Tone, Message) {
    let overloaded = service.waiting > 0;
    // Limits act on what the window has left of the wish.
    let (n, raw, wish) = (Arg::from(hpa.desired), Arg::from(hpa.raw_desired), Arg::from(hpa.stabilized));
    let formula = Arg::from(reading.formula());
    match hpa.limit {
        HpaLimit::Tolerance => within_tolerance(service, hpa, reading),
        HpaLimit::Max => (Tone::Bad, Message::CardHpaMax { raw: wish, n }),
        HpaLimit::Min => (Tone::Neutral, Message::CardHpaMin { raw: wish, n }),
        HpaLimit::Stabilization => {
            let window =
                crate::view::words::value(Param::StabilizationDown, snapshot.policy.get(Param::StabilizationDown));
            (Tone::Neutral, Message::CardHpaWindow { raw, n: hpa.stabilized.into(), window })
        }
        HpaLimit::Rate => (Tone::Neutral, Message::CardHpaRate { raw: wish, n }),
        HpaLimit::MissingPods => (Tone::Neutral, Message::CardHpaMissing { n }),
        HpaLimit::NoMetric => {
            let signal = choice(Param::Signal, reading.signal).into();
            (Tone::Bad, Message::CardHpaNoMetric { signal })
        }
        HpaLimit::None if hpa.desired > service.replicas_ready => {
            let ready = service.replicas_ready.into();
            let message = if hpa.desired == hpa.current {
                Message::CardHpaKeepsStarting { n, formula, ready }
            } else {
                Message::CardHpaWantsStarting { n, formula, ready }
            };
            (Tone::Good, message)
        }
        HpaLimit::None if hpa.desired != hpa.current => (Tone::Good, Message::CardHpaWants { n, formula }),
        HpaLimit::None => (if overloaded { Tone::Bad } else { Tone::Neutral }, Message::CardHpaKeeps { n, formula }),
    }
}

/// Inside the band: either by chance, or because the signal's largest value is inside it too.
fn within_tolerance(service: &ServiceView, hpa: &HpaView, reading: &Reading) -> (Tone, Message) {
    let tone = if service.waiting > 0 { Tone::Bad } else { Tone::Neutral };
    let tolerance = Arg::Percent(TOLERANCE);
    let blind = most_milli(reading.signal)
        .filter(|most| *most as f64 <= reading.target_milli as f64 * (1.0 + TOLERANCE) + 1e-9);
    if let Some(most) = blind {
        let message = Message::CardHpaBlind {
            value: reading.value(),
            in_flight: (service.running + service.waiting).into(),
            most: super::words::signal_value(reading.signal, most),
            target: reading.target(),
            tolerance,
        };
        return (tone, message);
    }
    let message = Message::CardHpaWithin {
        signal: choice(Param::Signal, reading.signal).into(),
        value: reading.value(),
        target: reading.target(),
        ratio: Arg::Float(reading.ratio(), 2),
        tolerance,
        n: hpa.desired.into(),
    };
    (tone, message)
}

/// The formula of the last sync with its numbers, step by step; `None` without a reading.
pub fn replicas_formula(snapshot: &Snapshot) -> Option<Message> {
    if snapshot.policy.choice(Param::Scaler) != "hpa" {
        return None;
    }
    let service = scaled(snapshot)?;
    let hpa = service.hpa.as_ref()?;
    let reading = Reading::of(snapshot.policy.get(Param::Signal), hpa, service)?;
    let (value, target, ratio) = (reading.value(), reading.target(), Arg::Float(reading.ratio(), 2));
    let mut steps = vec![Message::CardLineValue { value, target, ratio }];
    if hpa.inside_tolerance {
        let (low, high) = (Arg::Float(1.0 - TOLERANCE, 1), Arg::Float(1.0 + TOLERANCE, 1));
        steps.push(Message::CardLineTolerance { low, high });
    } else {
        let raw = hpa.raw_desired.into();
        steps.push(match reading.factor() {
            None => Message::CardLineRaw { raw },
            Some(n) => {
                let (count, product) = (n.into(), Arg::Float(reading.product(n), 2));
                if n == reading.ready {
                    Message::CardLineReady { ready: count, product, raw }
                } else {
                    Message::CardLineCount { count, product, raw }
                }
            }
        });
    }
    if hpa.stabilized != hpa.raw_desired {
        steps.push(Message::CardLineStabilized { n: hpa.stabilized.into() });
    }
    steps.push(Message::CardLineLimits {
        min: snapshot.policy.get(Param::MinReplicas).into(),
        max: snapshot.policy.get(Param::MaxReplicas).into(),
    });
    steps.push(Message::CardLineFinal { n: hpa.desired.into() });
    steps.into_iter().reduce(|first, next| Message::CardLine { first: first.into(), next: next.into() })
}
