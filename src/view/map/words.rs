//! Refusals, wait reasons and places in words.

use crate::i18n::{Arg, Message};
use crate::sim::command::Refusal;
use crate::sim::param::ParamError;
use crate::sim::snapshot::{PendingView, RackKind, RackView};
use crate::sim::time::Time;
use crate::sim::wait::{Wait, WaitReason};

/// Why a command or a drop is refused, as half a sentence that can follow a name or a colon.
pub fn refusal_message(refusal: &Refusal) -> Message {
    use Message as M;
    match refusal {
        Refusal::NoSuchNode => M::RefusedNoSuchNode,
        Refusal::NoSuchRack => M::RefusedNoSuchRack,
        Refusal::NoSuchGroup => M::RefusedNoSuchGroup,
        Refusal::NoSuchService => M::RefusedNoSuchService,
        Refusal::NoSuchPaletteItem => M::RefusedNoSuchItem,
        Refusal::SamePlace => M::RefusedSamePlace,
        Refusal::TrayNeedsNvl72 => M::RefusedTray,
        Refusal::HgxIsItsOwnDomain => M::RefusedHgx,
        Refusal::PcieHasNoNvlink => M::RefusedPcie,
        Refusal::RackFull { slots } => M::RefusedFull { slots: (*slots).into() },
        Refusal::OtherZone => M::RefusedZone,
        Refusal::NodeBooting => M::RefusedBooting,
        Refusal::NodeLeaving => M::RefusedLeaving,
        Refusal::GroupLeaving => M::RefusedGroupLeaving,
        Refusal::NotLaunchable => M::RefusedNotLaunchable,
        Refusal::ContextLimit { asked, limit } => M::RefusedContext { asked: (*asked).into(), limit: (*limit).into() },
        Refusal::Param(error) => param_message(error),
        Refusal::RunOver => M::RefusedRunOver,
        Refusal::NotServing => M::RefusedNotServing,
        Refusal::TooMany { limit } => M::RefusedTooMany { limit: (*limit).into() },
    }
}

fn param_message(error: &ParamError) -> Message {
    use Message as M;
    match error {
        ParamError::Unknown(id) => M::RefusedParamUnknown { id: id.clone().into() },
        ParamError::Choice { id, choices, given } => M::RefusedParamChoice {
            id: id.clone().into(),
            choices: choices.clone().into(),
            given: given.clone().into(),
        },
        ParamError::Range { id, min, max, given, .. } => M::RefusedParamRange {
            id: id.clone().into(),
            min: (*min).into(),
            max: (*max).into(),
            given: given.clone().into(),
        },
        ParamError::MinAboveMax { min, max } => M::RefusedMinAboveMax { min: (*min).into(), max: (*max).into() },
    }
}

/// What a pod waits for, with the GPUs that would free it and, where its end is known, the time
/// that is left. How long it has waited is said beside it.
pub fn wait_message(wait: &Wait, now: Time) -> Message {
    with_time_left(reason_message(wait), wait, now)
}

/// As [`wait_message`], naming the kind of GPU that the pod's selector asks for.
pub(super) fn pending_wait_message(pending: &PendingView, now: Time) -> Message {
    let words = match (pending.wait.reason, &pending.selector) {
        (WaitReason::FreeGpu, Some(kind)) if pending.wait.gpus_missing > 0 => {
            Message::MapWaitFreeGpusOf { gpus: pending.wait.gpus_missing.into(), kind: kind.clone().into() }
        }
        (WaitReason::TaintOrSelector, Some(kind)) => Message::MapWaitSelectorOf { kind: kind.clone().into() },
        _ => reason_message(&pending.wait),
    };
    with_time_left(words, &pending.wait, now)
}

fn with_time_left(words: Message, wait: &Wait, now: Time) -> Message {
    match wait.until {
        Some(until) if until > now => {
            Message::MapWaitLeft { wait: words.into(), left: whole_seconds(until.since(now)) }
        }
        _ => words,
    }
}

fn reason_message(wait: &Wait) -> Message {
    use Message as M;
    let gpus = || Arg::from(wait.gpus_missing);
    let known = wait.gpus_missing > 0;
    match wait.reason {
        WaitReason::Quota if known => M::MapWaitQuotaGpus { gpus: gpus() },
        WaitReason::Quota => M::MapWaitQuota,
        WaitReason::Turn => M::MapWaitTurn,
        WaitReason::GangPartners if known => M::MapWaitPartnersGpus { gpus: gpus() },
        WaitReason::GangPartners => M::MapWaitPartners,
        WaitReason::Topology if known => M::MapWaitTopologyGpus { gpus: gpus() },
        WaitReason::Topology => M::MapWaitTopology,
        WaitReason::FreeGpu if known => M::MapWaitFreeGpus { gpus: gpus() },
        WaitReason::FreeGpu => M::MapWaitFreeGpu,
        WaitReason::TaintOrSelector => M::MapWaitSelector,
        WaitReason::NodeOverhead => M::MapWaitOverhead,
        WaitReason::CloudCapacity => M::MapWaitCloud,
        WaitReason::NodeBoot => M::MapWaitNodeBoot,
        WaitReason::DevicePlugin => M::MapWaitDevicePlugin,
        WaitReason::Image => M::MapWaitImage,
        WaitReason::Weights => M::MapWaitWeights,
        WaitReason::WarmUp => M::MapWaitWarmUp,
    }
}

/// A span in whole seconds, rounded up: a countdown ends at one, not at `0.3 s`.
pub(super) fn whole_seconds(span: crate::sim::time::Span) -> Arg {
    Arg::Span(crate::sim::time::Span::from_secs(span.0.div_ceil(1_000_000)))
}

/// A span in whole seconds, rounded down: what has passed.
pub(super) fn passed_seconds(span: crate::sim::time::Span) -> Arg {
    Arg::Span(crate::sim::time::Span::from_secs(span.0 / 1_000_000))
}

/// Where something is, in the middle of a sentence: `domain A`, `rack 3`.
pub fn place_message(rack: &RackView) -> Message {
    let name = Arg::Name(rack.name.clone());
    match rack.kind {
        RackKind::Nvl72 => Message::MapPlaceDomain { name },
        RackKind::Network => Message::MapPlaceRack { name },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::sim::time::Span;
    use std::collections::BTreeSet;

    fn wait(reason: WaitReason) -> Wait {
        Wait { reason, since: Time::ZERO, gpus_missing: 0, until: None }
    }

    #[test]
    fn every_wait_reason_has_words_of_its_own() {
        let words: BTreeSet<String> =
            WaitReason::ALL.iter().map(|r| render(&Lang::english(), &wait_message(&wait(*r), Time::ZERO))).collect();
        assert_eq!(words.len(), WaitReason::ALL.len());
    }

    #[test]
    fn a_wait_says_the_gpus_that_would_free_it_and_the_time_left() {
        let en = Lang::english();
        let w = Wait { gpus_missing: 1, ..wait(WaitReason::FreeGpu) };
        assert_eq!(render(&en, &wait_message(&w, Time::ZERO)), "waits for 1 free GPU");
        let w = Wait { until: Some(Time::from_secs(52)), ..wait(WaitReason::NodeBoot) };
        let now = Time(Span::from_millis(13_400).0);
        assert_eq!(render(&en, &wait_message(&w, now)), "its node is booting · 39 s left");
        assert_eq!(render(&en, &wait_message(&w, Time::from_secs(60))), "its node is booting");
    }

    #[test]
    fn a_pending_pod_names_the_gpu_of_its_selector() {
        let p = PendingView {
            pod: crate::sim::id::PodId(7),
            group: crate::sim::id::GroupId(0),
            group_name: "llama-70b-0".into(),
            rank: 7,
            gpus: 1,
            selector: Some("GB200".into()),
            wait: Wait { gpus_missing: 1, ..wait(WaitReason::FreeGpu) },
        };
        assert_eq!(render(&Lang::english(), &pending_wait_message(&p, Time::ZERO)), "waits for 1 free GB200");
    }
}
