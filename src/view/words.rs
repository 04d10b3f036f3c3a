//! Words for the closed lists of the simulation: who decides, what a pod waits for, stages,
//! parameters with their choices, signals, and amounts with units.
//!
//! One function per list, each an exhaustive match: a new entry does not compile without a word.

use crate::i18n::{Arg, Message};
use crate::sim::decision::{Tone, Who};
use crate::sim::metrics::Scaling;
use crate::sim::param::{Kind, Param, ParamError};
use crate::sim::snapshot::{GpuUse, GroupStage, NodeStage};
use crate::sim::time::Span;
use crate::sim::wait::WaitReason;

/// The name of whoever decided.
pub fn who(who: Who) -> Message {
    match who {
        Who::You => Message::WhoYou,
        Who::Script => Message::WhoScript,
        Who::Traffic => Message::WhoTraffic,
        Who::KubeScheduler => Message::WhoKubeScheduler,
        Who::Kai => Message::WhoKai,
        Who::Hpa => Message::WhoHpa,
        Who::Karpenter => Message::WhoKarpenter,
        Who::Cloud => Message::WhoCloud,
        Who::Kubelet => Message::WhoKubelet,
        Who::Engine => Message::WhoEngine,
        Who::Gateway => Message::WhoGateway,
    }
}

/// Class of the style sheet for a tone.
pub fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "tone-good",
        Tone::Bad => "tone-bad",
        Tone::Neutral => "tone-neutral",
    }
}

/// Sign that says the same as the colour.
pub fn tone_glyph(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✓",
        Tone::Bad => "!",
        Tone::Neutral => "·",
    }
}

/// The word that says the same as the colour, for screen readers; neutral has none.
pub fn tone_word(tone: Tone) -> Option<Message> {
    match tone {
        Tone::Good => Some(Message::ToneGood),
        Tone::Bad => Some(Message::ToneBad),
        Tone::Neutral => None,
    }
}

/// What is waited for; reads on after "waits for".
pub fn wait(reason: WaitReason) -> Message {
    match reason {
        WaitReason::Quota => Message::WaitsForQuota,
        WaitReason::Turn => Message::WaitsForTurn,
        WaitReason::GangPartners => Message::WaitsForGangPartners,
        WaitReason::Topology => Message::WaitsForTopology,
        WaitReason::FreeGpu => Message::WaitsForFreeGpu,
        WaitReason::TaintOrSelector => Message::WaitsForTaintOrSelector,
        WaitReason::NodeOverhead => Message::WaitsForNodeOverhead,
        WaitReason::CloudCapacity => Message::WaitsForCloudCapacity,
        WaitReason::NodeBoot => Message::WaitsForNodeBoot,
        WaitReason::DevicePlugin => Message::WaitsForDevicePlugin,
        WaitReason::Image => Message::WaitsForImage,
        WaitReason::Weights => Message::WaitsForWeights,
        WaitReason::WarmUp => Message::WaitsForWarmUp,
    }
}

pub fn node_stage(stage: NodeStage) -> Message {
    match stage {
        NodeStage::Launching => Message::StageLaunching,
        NodeStage::Booting => Message::StageBooting,
        NodeStage::Registering => Message::StageRegistering,
        NodeStage::GpuStack => Message::StageGpuStack,
        NodeStage::Ready => Message::StageReady,
        NodeStage::Draining => Message::StageDraining,
        NodeStage::Failed => Message::StageFailed,
        NodeStage::Released => Message::StageReleased,
    }
}

pub fn group_stage(stage: GroupStage) -> Message {
    match stage {
        GroupStage::Pending => Message::StagePending,
        GroupStage::Image => Message::StageImage,
        GroupStage::Weights => Message::StageWeights,
        GroupStage::WarmUp => Message::StageWarmUp,
        GroupStage::Serving => Message::StageServing,
        GroupStage::Draining => Message::StageDraining,
        GroupStage::Gone => Message::StageGone,
    }
}

/// A ledger state: its name, and what it means.
pub fn gpu_use(state: GpuUse) -> (Message, Message) {
    match state {
        GpuUse::Booting => (Message::LedgerBooting, Message::LedgerHelpBooting),
        GpuUse::Draining => (Message::LedgerDraining, Message::LedgerHelpDraining),
        GpuUse::Held => (Message::LedgerHeld, Message::LedgerHelpHeld),
        GpuUse::Loading => (Message::LedgerLoading, Message::LedgerHelpLoading),
        GpuUse::Training => (Message::LedgerTraining, Message::LedgerHelpTraining),
        GpuUse::ServingBusy => (Message::LedgerServingBusy, Message::LedgerHelpServingBusy),
        GpuUse::ServingIdle => (Message::LedgerServingIdle, Message::LedgerHelpServingIdle),
        GpuUse::Empty => (Message::LedgerEmpty, Message::LedgerHelpEmpty),
    }
}

/// A parameter: its label, and what it does.
pub fn param(param: Param) -> (Message, Message) {
    match param {
        Param::Provisioner => (Message::ParamProvisioner, Message::HelpProvisioner),
        Param::Consolidation => (Message::ParamConsolidation, Message::HelpConsolidation),
        Param::ConsolidateAfter => (Message::ParamConsolidateAfter, Message::HelpConsolidateAfter),
        Param::Scheduler => (Message::ParamScheduler, Message::HelpScheduler),
        Param::Topology => (Message::ParamTopology, Message::HelpTopology),
        Param::Scaler => (Message::ParamScaler, Message::HelpScaler),
        Param::Signal => (Message::ParamSignal, Message::HelpSignal),
        Param::TargetPercent => (Message::ParamTarget, Message::HelpTargetPercent),
        Param::TargetWaiting => (Message::ParamTarget, Message::HelpTargetWaiting),
        Param::TargetKv => (Message::ParamTarget, Message::HelpTargetKv),
        Param::MinReplicas => (Message::ParamMin, Message::HelpMin),
        Param::MaxReplicas => (Message::ParamMax, Message::HelpMax),
        Param::StabilizationDown => (Message::ParamStabilizationDown, Message::HelpStabilizationDown),
        Param::ManualReplicas => (Message::ParamManual, Message::HelpManual),
        Param::Routing => (Message::ParamRouting, Message::HelpRouting),
        Param::QueueLimit => (Message::ParamQueueLimit, Message::HelpQueueLimit),
        Param::DeadlineDrop => (Message::ParamDeadlineDrop, Message::HelpDeadlineDrop),
        Param::ContextCap => (Message::ParamContextCap, Message::HelpContextCap),
        Param::OutputCap => (Message::ParamOutputCap, Message::HelpOutputCap),
        Param::Fallback => (Message::ParamFallback, Message::HelpFallback),
        Param::Retries => (Message::ParamRetries, Message::HelpRetries),
        Param::Scheduling => (Message::ParamScheduling, Message::HelpScheduling),
        Param::WeightsFrom => (Message::ParamWeightsFrom, Message::HelpWeightsFrom),
        Param::NodeCache => (Message::ParamNodeCache, Message::HelpNodeCache),
        Param::Restore => (Message::ParamRestore, Message::HelpRestore),
        Param::Readiness => (Message::ParamReadiness, Message::HelpReadiness),
        Param::WarmReplicas => (Message::ParamWarmReplicas, Message::HelpWarmReplicas),
        Param::Grace => (Message::ParamGrace, Message::HelpGrace),
        Param::PreStop => (Message::ParamPreStop, Message::HelpPreStop),
        Param::EndpointDelay => (Message::ParamEndpointDelay, Message::HelpEndpointDelay),
        Param::ShutdownTimeout => (Message::ParamShutdownTimeout, Message::HelpShutdownTimeout),
        Param::Scrape => (Message::ParamScrape, Message::HelpScrape),
        Param::DcgmCollect => (Message::ParamDcgmCollect, Message::HelpDcgmCollect),
        Param::Roles => (Message::ParamRoles, Message::HelpRoles),
    }
}

/// The word for one choice of a parameter.
pub fn choice(param: Param, index: i64) -> Message {
    match (param, index) {
        (Param::Provisioner, 0) => Message::ChoiceFixed,
        (Param::Provisioner, 1) => Message::ChoiceKarpenter,
        (Param::Consolidation, 0) => Message::ChoiceEmptyOrUnderutilized,
        (Param::Consolidation, 1) => Message::ChoiceWhenEmpty,
        (Param::Scheduler, 0) => Message::ChoiceKubeScheduler,
        (Param::Scheduler, 1) => Message::ChoiceKai,
        (Param::Topology, 0) => Message::ChoiceTopologyIgnored,
        (Param::Topology, 1) => Message::ChoiceTopologyPreferred,
        (Param::Topology, 2) => Message::ChoiceTopologyRequired,
        (Param::Scaler, 0) => Message::ChoiceHpa,
        (Param::Scaler, 1) => Message::ChoiceManual,
        (Param::Signal, 0) => Message::SignalGpuUtilization,
        (Param::Signal, 1) => Message::SignalGpuMemory,
        (Param::Signal, 2) => Message::SignalQueueDepth,
        (Param::Signal, 3) => Message::SignalKvUsage,
        (Param::Routing, 0) => Message::ChoiceRoutingLeastLoaded,
        (Param::Routing, 1) => Message::ChoiceRoutingRoundRobin,
        (Param::Routing, 2) => Message::ChoiceRoutingKvAware,
        (Param::DeadlineDrop, 0) => Message::ChoiceOff,
        (Param::DeadlineDrop, 1) => Message::ChoiceOn,
        (Param::Fallback, 0) => Message::ChoiceOff,
        (Param::Fallback, 1) => Message::ChoiceOn,
        (Param::Scheduling, 0) => Message::ChoiceSchedulingFcfs,
        (Param::Scheduling, 1) => Message::ChoiceSchedulingPriority,
        (Param::WeightsFrom, 0) => Message::ChoiceWeightsFromObjectStore,
        (Param::WeightsFrom, 1) => Message::ChoiceWeightsFromStreamer,
        (Param::WeightsFrom, 2) => Message::ChoiceWeightsFromFiles,
        (Param::WeightsFrom, 3) => Message::ChoiceWeightsFromBlockVolume,
        (Param::NodeCache, 0) => Message::ChoiceOn,
        (Param::NodeCache, 1) => Message::ChoiceOff,
        (Param::Restore, 0) => Message::ChoiceOff,
        (Param::Restore, 1) => Message::ChoiceOn,
        (Param::Readiness, 0) => Message::ChoiceReadinessEngine,
        (Param::Readiness, 1) => Message::ChoiceReadinessContainer,
        (Param::Roles, 0) => Message::ChoiceRolesSeparate,
        (Param::Roles, 1) => Message::ChoiceRolesTogether,
        (_, n) => Message::ChoiceUnknown { n: n.into() },
    }
}

/// A parameter's value with its unit.
pub fn value(param: Param, value: i64) -> Arg {
    match param.kind() {
        Kind::Choice(_) => choice(param, value).into(),
        Kind::Limit { .. } if value == 0 => Message::ValueNoLimit.into(),
        Kind::Count { .. } | Kind::Limit { .. } => Arg::Int(value),
        Kind::Percent { .. } => Arg::Percent(value as f64 / 100.0),
        Kind::Seconds { .. } => Arg::Span(Span::from_secs(value.max(0) as u64)),
    }
}

/// The rule that a refused value broke.
pub fn param_error(param: Param, error: &ParamError) -> Message {
    match error {
        ParamError::MinAboveMax { min, max } => Message::ParamMinAboveMax { min: (*min).into(), max: (*max).into() },
        ParamError::Range { min, max, given, .. } => {
            let (given, min, max) = (given.clone().into(), value(param, *min), value(param, *max));
            match param.kind() {
                Kind::Limit { max } => Message::ParamOutOfRange { given, min: Arg::Int(0), max: max.into() },
                Kind::Seconds { .. } => Message::ParamOutOfRangeSpan { given, min, max },
                _ => Message::ParamOutOfRange { given, min, max },
            }
        }
        ParamError::Choice { given, .. } | ParamError::Unknown(given) => {
            Message::ParamNotAChoice { given: given.clone().into() }
        }
    }
}

/// The parameter that holds the target of a signal (by index of [`Param::Signal`]).
pub fn target_param(signal: i64) -> Param {
    Scaling::of(signal).target
}

/// A value of a signal in thousandths of the metric's own unit: percent points for the two GPU
/// signals (as DCGM exports them), requests per pod, and a share of 1 for the KV cache (as vLLM
/// exports it).
pub fn signal_value(signal: i64, milli: i64) -> Arg {
    match target_param(signal) {
        Param::TargetKv if milli % 10 == 0 => Arg::Percent(milli as f64 / 1_000.0),
        Param::TargetKv => Arg::PercentTenths(milli as f64 / 1_000.0),
        Param::TargetWaiting if milli % 1000 == 0 => Arg::Int(milli / 1000),
        Param::TargetWaiting => Arg::Float(milli as f64 / 1000.0, 1),
        _ if milli % 1000 == 0 => Arg::Percent(milli as f64 / 100_000.0),
        _ => Arg::PercentTenths(milli as f64 / 100_000.0),
    }
}

/// GPU time as GPU-minutes: whole from ten on, with one decimal below.
pub fn gpu_minutes(time: Span) -> Message {
    Message::GpuMinutes { n: minutes(time) }
}

/// Minutes as a bare number.
pub fn minutes(time: Span) -> Arg {
    let minutes = time.mins_f64();
    if time == Span::ZERO { Arg::Int(0) } else { Arg::Float(minutes, if minutes < 9.95 { 1 } else { 0 }) }
}

/// Rounded up to whole seconds: a countdown that ends at 0, without flickering decimals.
pub fn whole_seconds(span: Span) -> Span {
    Span::from_secs(span.0.div_ceil(1_000_000))
}

/// Two sentences, one after the other.
pub fn then(first: Message, next: Message) -> Message {
    Message::Then { first: first.into(), next: next.into() }
}

/// A list of phrases with commas; `None` if there is none.
pub fn comma(phrases: impl IntoIterator<Item = Message>) -> Option<Message> {
    phrases.into_iter().reduce(|first, next| Message::Comma { first: first.into(), next: next.into() })
}
