//! English.

use super::messages::Key;

/// The English template of a key.
pub fn text(key: Key) -> &'static str {
    match key {
        // --- Page and shell ---
        Key::LabName => "Seven of Eight",
        Key::LabTitle => "Seven of Eight, a GPU autoscaling lab",
        Key::Experiments => "Experiments",
        Key::ProblemScenario => "This experiment cannot be opened",
        Key::ProblemLink => "This link cannot be opened",
        Key::ProblemLinkValues => "Some values of the link were not used",
        Key::ProblemShare => "This run cannot be shared as a link",
        Key::ProblemShareTrace => {
            "It is driven by the trace {name}, which a link cannot carry. Give the file along: open the experiment and drop the trace on the page."
        }
        Key::ProblemTrace => "This trace cannot be used",
        Key::ProblemFile => "This file cannot be used",
        Key::ProblemQuery => "Some values of the address were not used",
        Key::QueryBadValue => "“{value}” is not one of: {allowed}. Used instead: {used}",
        Key::SeedNumber => "seed {seed}",
        Key::Undo => "Undo",
        Key::Redo => "Redo",
        Key::LibraryButton => "Library",
        Key::LoadButton => "Load…",
        Key::LoadHelp => "Load a request trace (.csv, .jsonl) or an experiment (.yaml)",
        Key::ShareButton => "Share",
        Key::LanguageLabel => "Language",
        Key::LanguageName => "English",
        Key::ThemeAuto => "Colours: as the system",
        Key::ThemeLight => "Colours: light",
        Key::ThemeDark => "Colours: dark",
        Key::TransportLabel => "Time",
        Key::Play => "Play",
        Key::Pause => "Pause",
        Key::PlayOrPause => "Play or pause",
        Key::StepOn => "To the next decision",
        Key::StepBackward => "To the previous decision",
        Key::ToStart => "Back to the start",
        Key::SecondBack => "One second back",
        Key::SecondOn => "One second on",
        Key::Slower => "Slower",
        Key::Faster => "Faster",
        Key::SpeedLabel => "Speed",
        Key::SpeedTimes => "{n} ×",
        Key::ScrubberLabel => "Position in the run",
        Key::EndLabel => "The run ends at {clock}",
        Key::RunningTo => "Computing up to {clock}…",
        Key::TabsLabel => "Views",
        Key::TabMap => "Map",
        Key::TabLayers => "Layers",
        Key::TabWhy => "Why",
        Key::TabCharts => "Charts",
        Key::TabTasks => "Tasks",
        Key::ChartsLabel => "Charts",
        Key::ChartQueue => "Queue and arrivals",
        Key::ChartSignals => "What each signal sees",
        Key::ChartReplicas => "Replicas",
        Key::ChartTtft => "P99 time to first token",
        Key::ChartLedger => "GPU ledger",
        Key::UnitQueue => "requests · per second",
        Key::UnitShare => "% of its range",
        Key::UnitReplicas => "replicas",
        Key::UnitSeconds => "seconds",
        Key::UnitGpus => "paid GPUs",
        Key::LineWaiting => "waiting",
        Key::LineArrivals => "arriving",
        Key::LineRawDesired => "raw wish",
        Key::LineDesired => "after limits",
        Key::LineReady => "ready",
        Key::LineTtftP99 => "P99",
        Key::LineSlo => "SLO {limit}",
        Key::LedgerWorking => "working",
        Key::LedgerForNothing => "unused",
        Key::PerSecond => "{n}/s",
        Key::SumNothing => "Nothing is measured yet.",
        Key::SumNoSample => "no sample",
        Key::SumQueue => {
            "{waiting, plural, one {# request waits} other {# requests wait}}, {arrivals} per second arrive."
        }
        Key::SumReplicas => "{service}: wished {raw}, after limits {desired}, ready {ready}.",
        Key::SumTtftMet => "{service}: {p99}, within the SLO of {slo}.",
        Key::SumTtftMissed => "{service}: {p99}, over the SLO of {slo}.",
        Key::SumTtftNone => "No first token in the last minute.",
        Key::SumLedger => "{working} of {paid} paid GPUs work, {nothing} are paid for nothing.",
        Key::ShowTable => "Show as table",
        Key::TableTime => "Time",
        Key::TableCaption => "{chart}, as a table",
        Key::NoValue => "none",
        Key::Close => "Close",
        Key::OpenExperiment => "Open",
        Key::OpenNow => "open now",
        Key::ShareTitle => "Share this run",
        Key::ShareLink => "Link",
        Key::ShareHash => "State hash",
        Key::ShareHashHelp => {
            "Whoever opens the link computes the same run. The lab compares this number and says if it came out differently."
        }
        Key::ShareFits => "{n} characters: fits into mail and course systems.",
        Key::ShareLong => "{n} characters: some mail and course systems cut links of more than 2,000.",
        Key::ShareTooLong => {
            "{n} characters: many programs refuse a link of this length, and the lab reads at most 16,384."
        }
        Key::Copy => "Copy link",
        Key::CopyByHand => "The browser refused the clipboard. The link is selected: copy it by hand.",
        Key::KeysTitle => "Keys",
        Key::KeysNote => "They work while the focus is in the lab and not in a text field.",
        Key::KeysSingle => "Use the keys that are a single character",
        Key::KeysShow => "Show the keys",
        Key::ProblemPlace => "Where",
        Key::ProblemWhat => "What",
        Key::FileKinds => "the lab reads .csv and .jsonl (a request trace), .yaml and .yml (an experiment)",
        Key::FileTooLarge => "the file has {size} MB, at most {limit} MB are read",
        Key::FileUnreadable => "the browser could not read the file, or it is not text",
        Key::FileMore => "and {n} more",
        Key::OwnScenario => "An experiment of your own.",
        Key::DropHere => "Drop a request trace (.csv, .jsonl) or an experiment (.yaml)",
        Key::NoticeRefused => "Refused: {why}",
        Key::NoticeForked => {
            "You changed the past at {at}: {n, plural, one {# later command is} other {# later commands are}} dropped."
        }
        Key::NoticeCopied => "Link copied.",
        Key::NoticeOtherResult => {
            "This run came out differently from the one that was shared: the link was made by another engine, or changed."
        }
        Key::NoticeTrace => "{name}: {n, plural, one {# request} other {# requests}} in {length} now drive {service}.",
        Key::NoticeNotKept => "Preferences are not kept here: the browser blocks storage.",
        Key::Dismiss => "Dismiss",
        Key::EmbedStart => "Start",
        Key::EmbedOpenFull => "Open full lab",
        Key::EmbedNothing => "Nothing has been decided yet.",
        Key::PanicTitle => "The lab has stopped",
        Key::PanicText => {
            "An error in the program ended it. The report below holds the run; nothing was sent anywhere."
        }
        Key::PanicVersion => "version {version}",
        Key::PanicRun => "{scenario}, seed {seed}",
        Key::PanicReport => "Report",
        Key::PanicCopy => "Copy report",
        Key::PanicCopied => "Copied",
        Key::PanicRestart => "Restart",

        // --- Map ---
        Key::MapTitle => "Cluster",
        Key::MapSummary => {
            "Cluster: {nodes, plural, one {# node} other {# nodes}}, {gpus, plural, one {# GPU} other {# GPUs}}, {domains, plural, one {# NVLink domain} other {# NVLink domains}}, {free} free"
        }
        Key::MapSummaryWaits => "{group} waits: {bound} of {total} pods hold GPUs",
        Key::MapKeysHint => "Use the arrow keys to walk racks, nodes and GPUs; Enter opens the menu, M moves a node",
        Key::MapLegend => "What the cells mean",
        Key::MapStateBusy => "serving",
        Key::MapStateIdle => "serving, idle",
        Key::MapStateHeld => "held, waiting for partners",
        Key::MapStateTraining => "training",
        Key::MapStateLoading => "loading",
        Key::MapStateDraining => "draining",
        Key::MapStateBooting => "booting",
        Key::MapStateFree => "free",
        Key::MapStateFailed => "failed",
        Key::MapStateMissing => "missing member",
        Key::MapDomain => "NVLink domain {name}",
        Key::MapFreeOf => "{free} of {total} free",
        Key::MapPlaceDomain => "domain {name}",
        Key::MapPlaceRack => "{name}",
        Key::MapRackIn => "{block} · {zone}",
        Key::MapRackInBlock => "{block}",
        Key::MapRackLabel => "{place}, {block}, {zone}, {free} of {total, plural, one {# GPU} other {# GPUs}} free",
        Key::MapNvlinkTb => "{tb} TB/s per GPU",
        Key::MapNvlinkGb => "{gb} GB/s per GPU",
        Key::MapNvlinkHelp => "NVLink, both directions added up",
        Key::MapOwnDomain => "NVLink domain of its own",
        Key::MapNoNvlink => "no NVLink",
        Key::MapRackEmpty => "empty",
        Key::MapNodeType => "{gpus} × {gpu}",
        Key::MapPrice => "{price}",
        Key::MapNodeLabel => "{name}, {kind}, {place}, {price}",
        Key::MapStageLaunching => "asked for",
        Key::MapStageBooting => "booting",
        Key::MapStageRegistering => "joining the cluster",
        Key::MapStageGpuStack => "driver, device plugin",
        Key::MapStageLeft => "{stage} · {left} left",
        Key::MapFailed => "failed",
        Key::MapDraining => "draining · {in_flight} in flight",
        Key::MapDrainingMove => "moving to {place} · {in_flight} in flight",
        Key::MapDrainingRelease => "leaving · {in_flight} in flight",
        Key::MapEvicting => "Karpenter evicts · {in_flight} in flight",
        Key::MapHeld => "{badge} {bound}/{total} · {waited}",
        Key::MapLoading => "{group} · {stage} {done}",
        Key::MapServing => "{names} · KV {kv}",
        Key::MapIncomplete => "{group} · {bound} of {total} bound",
        Key::MapEmptyFor => "empty for {span}",
        Key::MapEmptyUntil => "empty for {span} · may go in {left}",
        Key::MapReady => "ready",
        Key::MapGroupImage => "image",
        Key::MapGroupWeights => "weights",
        Key::MapGroupWarmUp => "warm-up",
        Key::MapCell => "GPU {gpu} of {node}, {state}",
        Key::MapCellGroup => "GPU {gpu} of {node}, {state}, {group}",
        Key::MapCellRank => "GPU {gpu} of {node}, {state}, pod {rank} of {badge} ({group})",
        Key::MapTrap => {
            "{held} of {total} GPUs held, {minutes, plural, one {# GPU-minute} other {# GPU-minutes}} and {cost} so far, waiting for {missing}"
        }
        Key::MapWhy => "Why",
        Key::MapWhatCouldHelp => "What could help",
        Key::MapFixAddNode => "Add a {item} here · {price}",
        Key::MapFixKai => "Switch placement to KAI: all pods or none",
        Key::MapFixTopology => "Let the gang span domains: topology preferred",
        Key::MapFixDelete => "Delete {group} and free its GPUs",
        Key::MapMissing => "pod {rank} of {badge} is missing",
        Key::MapFabric => "Between the domains",
        Key::MapFabricOf => "{network} · {gpu} {gbit} Gbit/s per GPU",
        Key::MapFabricLaw => "A tensor-parallel group that crosses it pays for it in each decode step",
        Key::MapBridge => "{group} spans {places}",
        Key::MapBridgeCost => "{cost} of all-reduce per decode step",
        Key::MapBridgeUncounted => "all-reduce over the network in each decode step",
        Key::MapPending => "Pending",
        Key::MapPendingNone => "No pod waits",
        Key::MapPodOf => "pod {rank} of {badge}",
        Key::MapPodsOf => "pods {first} to {last} of {badge}",
        Key::MapWaited => "for {span}",
        Key::MapWhyNot => "Why not?",
        Key::MapWhyNotOf => "Why not? {group}",
        Key::MapPendingMore => "and {count} more",
        Key::MapTools => "Tools",
        Key::MapItemTray => "{gpu} tray",
        Key::MapItemHgx => "HGX {gpu}",
        Key::MapItemServer => "{gpu} server",
        Key::MapItemDetail => "{gpus, plural, one {# GPU} other {# GPUs}} · {price}",
        Key::MapItemBuy => "Buy a node:",
        Key::MapLaunchGang => "Launch {service} gang",
        Key::MapLaunchReplica => "Launch {service} · {gpus, plural, one {# GPU} other {# GPUs}}",
        Key::MapSpike => "2 a.m. spike",
        Key::MapSpikeTitle => "Send a burst of requests",
        Key::MapSpikeService => "Service",
        Key::MapSpikeRequests => "Requests",
        Key::MapSpikeMinutes => "Spread over, minutes",
        Key::MapSpikeTokens => "One long prompt, tokens (0 for none)",
        Key::MapSpikeSend => "Send",
        Key::MapSpikeBounds => "Give whole numbers from 0 to {max}",
        Key::MapCancel => "Cancel",
        Key::MapMenuOf => "{name}",
        Key::MapMove => "Move…",
        Key::MapRelease => "Release node",
        Key::MapDeleteGroup => "Delete replica {group}",
        Key::MapWhyGroup => "Why: {group}",
        Key::MapGroupMenu => "{group}…",
        Key::MapBuyHere => "Add {item} · {price}",
        Key::MapPlacingNode => "Moving {name}: choose a rack",
        Key::MapPlacingItem => "Adding {item}: choose a rack",
        Key::MapDrainsFirst => "Its pods are drained first",
        Key::MapPlacingKeys => "Use the arrow keys for the next rack; Enter drops, Esc cancels",
        Key::MapDropTray => "drop a tray here",
        Key::MapDropNode => "drop the node here",
        Key::MapRoomGpus => "room for {count, plural, one {# GPU} other {# GPUs}}",
        Key::MapRoomNodes => "room for {count, plural, one {# node} other {# nodes}}",
        Key::MapMoveHere => "Move here",
        Key::MapAddHere => "Add here",
        Key::MapMoveHereLabel => "Move {name} to {place}",
        Key::MapAddHereLabel => "Add {item} to {place}",
        Key::RefusedNoSuchNode => "that node does not exist any more",
        Key::RefusedNoSuchRack => "that rack does not exist",
        Key::RefusedNoSuchGroup => "that replica does not exist any more",
        Key::RefusedNoSuchService => "that service does not exist",
        Key::RefusedNoSuchItem => "that kind of node is not on offer here",
        Key::RefusedSamePlace => "it is here already",
        Key::RefusedTray => "a tray needs the NVLink switches of an NVL72 rack",
        Key::RefusedHgx => "an HGX board is its own NVLink domain: its links end at the chassis",
        Key::RefusedPcie => "a PCIe card has no NVLink",
        Key::RefusedFull => "full: it holds {slots, plural, one {# node} other {# nodes}}",
        Key::RefusedZone => "hardware does not travel between zones",
        Key::RefusedBooting => "the node is still booting",
        Key::RefusedLeaving => "the node is already leaving",
        Key::RefusedGroupLeaving => "the replica is already going away",
        Key::RefusedNotLaunchable => "the scaler owns the replicas of this service",
        Key::RefusedContext => "a prompt of {asked} tokens is longer than the context of {limit}",
        Key::RefusedParamUnknown => "unknown setting {id}",
        Key::RefusedParamChoice => "{id} takes one of {choices}, not {given}",
        Key::RefusedParamRange => "{id} takes a whole number from {min} to {max}, not {given}",
        Key::RefusedMinAboveMax => "the minimum of {min} replicas is above the maximum of {max}",
        Key::RefusedNotServing => "its engine is not running",
        Key::RefusedRunOver => "the run is over: rewind to act",
        Key::RefusedTooMany => "the lab stops at {limit}",
        Key::MapWaitQuota => "over its queue's quota",
        Key::MapWaitQuotaGpus => "{gpus, plural, one {# GPU} other {# GPUs}} over its queue's quota",
        Key::MapWaitTurn => "waits for its turn or for victims to leave",
        Key::MapWaitPartners => "holds its GPUs, waits for partners",
        Key::MapWaitPartnersGpus => {
            "holds its GPUs, {gpus, plural, one {# partner GPU} other {# partner GPUs}} missing"
        }
        Key::MapWaitTopology => "not enough free GPUs inside one domain",
        Key::MapWaitTopologyGpus => "{gpus, plural, one {# free GPU} other {# free GPUs}} short inside one domain",
        Key::MapWaitFreeGpu => "waits for a free GPU",
        Key::MapWaitFreeGpus => "waits for {gpus, plural, one {# free GPU} other {# free GPUs}}",
        Key::MapWaitFreeGpusOf => "waits for {gpus} free {kind}",
        Key::MapWaitSelector => "GPUs are free only where its selector or tolerations exclude it",
        Key::MapWaitSelectorOf => "GPUs are free, but not {kind}: its nodeSelector excludes them",
        Key::MapWaitOverhead => "CPU or memory of the nodes is taken",
        Key::MapWaitCloud => "the cloud has no such machine now",
        Key::MapWaitNodeBoot => "its node is booting",
        Key::MapWaitDevicePlugin => "its node does not advertise GPUs yet",
        Key::MapWaitImage => "pulls the image",
        Key::MapWaitWeights => "loads the weights",
        Key::MapWaitWarmUp => "warms up",
        Key::MapWaitLeft => "{wait} · {left} left",

        // --- Layers, why-log, waits, score, tasks ---
        // Shared phrases
        Key::Then => "{first} {next}",
        Key::Comma => "{first}, {next}",
        Key::AndMore => "{first} and {n, plural, one {# more} other {# more}}",
        Key::Word => "{word}",
        Key::GpuCount => "{n, plural, one {# GPU} other {# GPUs}}",
        Key::PodCount => "{n, plural, one {# pod} other {# pods}}",
        Key::RequestCount => "{n, plural, one {# request} other {# requests}}",
        Key::NodeCount => "{n, plural, one {# node} other {# nodes}}",
        Key::GpuMinutes => "{n} GPU-minutes",
        Key::NvlinkDomainName => "NVLink domain {name}",
        Key::UnknownNode => "node #{n}",
        Key::UnknownGroup => "group #{n}",
        Key::UnknownService => "service #{n}",
        Key::UnknownRack => "rack #{n}",
        Key::UnknownInstance => "palette entry #{n}",
        Key::RequestsWait => "{n, plural, one {# request waits.} other {# requests wait.}}",
        // Who decided, and the tone of it
        Key::WhoYou => "you",
        Key::WhoScript => "scenario",
        Key::WhoTraffic => "traffic",
        Key::WhoKubeScheduler => "kube-scheduler",
        Key::WhoKai => "KAI Scheduler",
        Key::WhoHpa => "HPA",
        Key::WhoKarpenter => "Karpenter",
        Key::WhoCloud => "cloud",
        Key::WhoKubelet => "kubelet",
        Key::WhoEngine => "engine",
        Key::WhoGateway => "gateway",
        Key::ToneGood => "Good:",
        Key::ToneBad => "Problem:",
        // Why-log: frame
        Key::WhyTitle => "Why",
        Key::WhyNewestFirst => "newest first",
        Key::WhyFilter => "Decisions of",
        Key::WhyFilterAll => "everyone",
        Key::WhyFilterNodes => "nodes",
        Key::WhyFilterPlacement => "placement",
        Key::WhyFilterReplicas => "replicas",
        Key::WhyFilterRequests => "traffic",
        Key::WhyFilterYou => "you",
        Key::WhyOnlyAbout => "Only decisions about {name}",
        Key::WhyNothingYet => "No decision yet. Press play.",
        Key::WhyNothingHere => "No decision of this kind so far.",
        Key::WhyTimes => "× {n}",
        Key::WhyTimesLong => "{n, plural, one {# time} other {# times}}, last at {until}",
        Key::WhyOlder => "Show {n, plural, one {# older decision} other {# older decisions}}",
        Key::WhyCause => "Caused by: {who}, {at}",
        Key::WhyKeys => "Up and down arrows walk the decisions; Enter keeps one lit on the map.",
        // Why-log: acts of people and scripts
        Key::DidBuyNode => {
            "Bought one {instance} for {rack}. It costs money once the cloud grants it; its GPUs can be used once it is ready."
        }
        Key::DidMoveNode => "{node} moves to {rack}. If pods run on it, it is drained first.",
        Key::DidReleaseNode => "{node} is drained and then given back.",
        Key::DidLaunchGang => "Launched one more replica of **{service}**.",
        Key::DidDeleteGroup => {
            "Deleted {group}; one replica fewer is wanted. Its requests get the grace period to finish."
        }
        Key::DidSpike => {
            "Added {requests, plural, one {# request} other {# requests}} to {service}, spread over {over}."
        }
        Key::DidSpikeLong => {
            "Added {requests, plural, one {# request} other {# requests}} to {service}, spread over {over}, and one prompt of {tokens} tokens."
        }
        Key::DidLongPrompt => "Added one prompt of {tokens} tokens to {service}.",
        Key::DidSet => "{param} is now **{value}**.",
        Key::RefusedAct => "{act} is refused: {why}.",
        Key::ActBuyNode => "Buying one {instance} for {rack}",
        Key::ActMoveNode => "Moving {node} to {rack}",
        Key::ActReleaseNode => "Releasing {node}",
        Key::ActLaunchGang => "Launching one replica of {service}",
        Key::DidCrash => "You crashed the engine of {group}.",
        Key::ActCrash => "Crashing {group}",
        Key::MapCrashGroup => "Crash the engine of {group}",
        Key::ActDeleteGroup => "Deleting {group}",
        Key::ActSpike => "Adding requests to {service}",
        Key::ActSet => "Changing {param}",
        // Why-log: placement
        Key::WhyPodsHeld => "Placed **{placed} of {total}** pods of {group} one by one, on {nodes}. {tail}",
        Key::HoldGpusNow => "**{n, plural, one {# GPU now waits} other {# GPUs now wait}} for {missing}.**",
        Key::HoldPodsNow => {
            "**The GPUs of {n, plural, one {# pod now wait} other {# pods now wait}} for {missing, plural, one {# more pod} other {# more pods}}.**"
        }
        Key::WhyPodsEnough => {
            "Placed {placed} of {total} pods of {group} one by one, on {nodes}; {min} are enough to start."
        }
        Key::WhyPodsAll => "Placed all {total} pods of {group} one by one, on {nodes}.",
        Key::WhyPodPlaced => "Placed {group} on {node}.",
        Key::WhyPodNoNode => "{pod}: 0 of {nodes, plural, one {# node fits} other {# nodes fit}}: {reasons}.",
        Key::WhyPodNoNodeAtAll => "{pod}: the cluster has no node.",
        Key::HoldGpusPaid => "**{n, plural, one {# GPU is} other {# GPUs are}} held and paid for.**",
        Key::HoldPodsPaid => "**The GPUs of {n, plural, one {# pod} other {# pods}} are held and paid for.**",
        Key::PodOfGroup => "Pod {rank} of {group}",
        Key::CountNoFreeGpu => "{n} without enough free GPUs",
        Key::CountSelector => "{n} excluded by nodeSelector",
        Key::CountTaint => "{n} with a taint that it does not tolerate",
        Key::CountNotReady => "{n} not ready",
        Key::CountCpuOrMemory => "{n} short of CPU or memory",
        Key::CountOther => "{n} for other reasons",
        Key::WhyGangPlaced => "Placed all **{total} of {total}** pods of {group} at once, on {nodes}.",
        Key::WhyGangPlacedOneDomain => {
            "Placed all **{total} of {total}** pods of {group} at once, inside one NVLink domain: {nodes}."
        }
        Key::WhyGangPlacedDomains => {
            "Placed all **{total} of {total}** pods of {group} at once, over {domains} NVLink domains: {nodes}. Its ranks talk over the slower network."
        }
        Key::WhyGangDeferred => "{group} deferred: {fit} of {need} pods would fit, **nothing is held**.",
        Key::WhyGangDeferredMissing => "{n, plural, one {# more GPU} other {# more GPUs}} would start it.",
        Key::WhyGangDeferredDomain => {
            "{n, plural, one {# more GPU} other {# more GPUs}} in one NVLink domain would start it; the best domain has {free} free."
        }
        Key::WhyStaleEvicted => "Gave {group} up: it stayed below its minimum for {held}. Its GPUs are free again.",
        Key::WhyGangComplete => {
            "{group} is complete. Its first GPUs waited {held}: **{gpu_minutes}, {cost}** paid for nothing."
        }
        Key::WhyGangCompleteAtOnce => "{group} is complete. No GPU waited for it.",
        // Why-log: replicas
        Key::HpaFormula => "{value} / {target} × {ready} = {product} → {raw}",
        Key::HpaFormulaShort => "{value} / {target} = {ratio} → {raw}",
        Key::HpaWithin => {
            "{service}: {signal} {value} of target {target} is a ratio of {ratio}, **inside the {tolerance} tolerance**: stays at {n}."
        }
        Key::HpaNoMetric => "{service}: **no sample** of {signal}, so the HPA does nothing: stays at {n}.",
        Key::HpaSteady => "{service}: {signal} {formula}: stays at {n}.",
        Key::HpaUp => "{service}: {signal} {formula}: **up from {from} to {to}**.",
        Key::HpaDown => "{service}: {signal} {formula}: **down from {from} to {to}**.",
        Key::HpaHeldByMax => "The maximum is {n}.",
        Key::HpaHeldByMin => "The minimum is {n}.",
        Key::HpaHeldByWindow => "The scale-down window keeps its highest wish, {n}.",
        Key::HpaHeldByRate => "The scaling rate allows {n} for now.",
        Key::HpaHeldByMissing => "Pods without a sample are counted against the change.",
        Key::WhyReplicasSet => "{service}: replicas set from {from} to **{to}**.",
        Key::WhyReplicaReady => {
            "{group} answers, {total} after it was asked for: placement {pending}, image {image}, weights {weights}, warm-up {warm_up}."
        }
        Key::WhyDrainStarted => {
            "{group} stops and its endpoint is being removed. {in_flight, plural, one {# request in flight gets} other {# requests in flight get}} {grace} to finish."
        }
        Key::WhyDrainIdle => "{group} stops and its endpoint is being removed. No request is in flight.",
        Key::WhyDrainEnded => {
            "{group} stopped: {finished, plural, one {# request} other {# requests}} finished, none was cut off."
        }
        Key::WhyDrainEndedIdle => "{group} stopped. No request was cut off.",
        Key::WhyDrainLost => {
            "{group} stopped: {finished, plural, one {# request} other {# requests}} finished, **{lost, plural, one {# was} other {# were}} cut off**."
        }
        Key::WhyEngineRefused => "{group} cannot start: weights and KV cache need **{short_gib} GiB more** GPU memory.",
        // Why-log: nodes
        Key::WhyNodeBought => {
            "For {pods, plural, one {# waiting pod} other {# waiting pods}}: {instance} is the cheapest type that fits, {price}. {node} is ready in about {ready_in}."
        }
        Key::WhyNoNodeFits => "A pod of {group} waits, but **no instance type** of the NodePool fits it: buys nothing.",
        Key::WhyPoolLimit => "A pod of {group} waits, but the **NodePool's limit** is reached: buys nothing.",
        Key::WhyNodeLaunching => "{node}: asked the cloud for it.",
        Key::WhyNodeBooting => "{node} was granted after {took} and boots. It costs money from now on.",
        Key::WhyNodeRegistering => "{node} joined the cluster after {took} of boot.",
        Key::WhyNodeGpuStack => {
            "{node} is Ready after {took}, but **no GPU can be used yet**: driver, toolkit and device plugin start."
        }
        Key::WhyNodeReady => "{node}: its GPUs can be used after {took} of GPU set-up.",
        Key::WhyNodeDraining => "{node} takes no new pods; its pods leave.",
        Key::WhyNodeFailed => "{node} failed. Its pods are lost.",
        Key::WhyNodeGone => "{node} is gone.",
        Key::WhyPlanEmpty => "Plans to remove {nodes}: no pod runs there. Saves {saves}.",
        Key::WhyPlanMove => {
            "Plans to remove {nodes}: {pods, plural, one {its # pod fits} other {its # pods fit}} on other nodes. Saves {saves}."
        }
        Key::WhyPlanReplace => {
            "Plans to replace {nodes} by one {replacement} for {pods, plural, one {its # pod} other {its # pods}}. Saves {saves}."
        }
        Key::WhyEvicts => {
            "Evicts {pods, plural, one {# pod} other {# pods}} from {node} to save {saves}. **{in_flight, plural, one {# request in flight gets} other {# requests in flight get}}** {grace} to finish."
        }
        Key::WhyEvictsIdle => {
            "Evicts {pods, plural, one {# pod} other {# pods}} from {node} to save {saves}. No request is in flight."
        }
        Key::WhyRemovesEmpty => "Removes {node}: it is empty. Saves {saves}.",
        Key::WhyPlanDropped => "Dropped the plan for {nodes}: a second look found that it no longer held.",
        Key::WhyKeptAfter => "Keeps {node}: consolidateAfter has {remaining} to go.",
        Key::WhyKeptNotEmpty => "Keeps {node}: pods run on it, and the policy is WhenEmpty.",
        Key::WhyKeptDoNotFit => "Keeps {node}: its pods fit nowhere else.",
        Key::WhyKeptNotCheaper => "Keeps {node}: nothing cheaper would hold its pods.",
        Key::WhyKeptBudget => "Keeps {node}: the disruption budget is used up.",
        Key::WhyKeptDoNotDisrupt => "Keeps {node}: a pod is marked do-not-disrupt.",
        Key::WhyKeptPdb => "Keeps {node}: a PodDisruptionBudget allows no eviction.",
        Key::WhyNodeReleased => "{node} is given back. It cost {paid} in all.",
        // Why-log: requests
        Key::WhyQueueLimit => {
            "The gateway answers 429 for {service}: **{found} requests wait**, the limit for this client is {limit}."
        }
        Key::WhyDeadline => {
            "The gateway turns a request for {service} away: behind **{found} waiting requests** it would miss its target, which leaves room for {limit}."
        }
        Key::WhyContextCap => {
            "The gateway refuses a prompt of **{found} tokens** for {service}: it lets in at most {limit}."
        }
        Key::WhyFallback => "It goes to {service} instead.",
        Key::WhyCrashed => {
            "The engine of {group} crashed: **{lost, plural, one {# request was} other {# requests were}} cut off**. Its container starts again."
        }
        Key::WhyCrashedTogether => {
            "The engine of {group} crashed, and **{with, plural, one {# replica} other {# replicas}} on the same GPU with it**: {lost, plural, one {# request was} other {# requests were}} cut off. Under MPS one fault ends the server of all."
        }
        Key::WhyPromptRefused => {
            "Refused a prompt of {tokens} tokens: the context limit of {service} is {limit} tokens."
        }
        Key::WhySpike => "Spike on {service}: {requests, plural, one {# request} other {# requests}} over {over}.",
        Key::WhySpikeLong => {
            "Spike on {service}: {requests, plural, one {# request} other {# requests}} over {over}, and **one prompt of {tokens} tokens**."
        }
        Key::WhyLongPrompt => "{service}: **one prompt of {tokens} tokens** arrives.",
        Key::WhyLongAnswered => "{service}: the prompt of {tokens} tokens got its first token after **{after}**.",
        Key::WhyLongLost => {
            "{service}: the prompt of {tokens} tokens got no answer. **Its client gave up after {after}.**"
        }
        // Waits (after "waits for")
        Key::WaitsForQuota => "quota",
        Key::WaitsForTurn => "its turn, or for victims to leave",
        Key::WaitsForGangPartners => "the rest of its gang",
        Key::WaitsForTopology => "enough free GPUs in one domain",
        Key::WaitsForFreeGpu => "a free GPU",
        Key::WaitsForTaintOrSelector => "a node that its selector and tolerations allow",
        Key::WaitsForNodeOverhead => "CPU or memory beside the DaemonSets",
        Key::WaitsForCloudCapacity => "cloud capacity",
        Key::WaitsForNodeBoot => "a node to boot",
        Key::WaitsForDevicePlugin => "the device plugin",
        Key::WaitsForImage => "the container image",
        Key::WaitsForWeights => "model weights",
        Key::WaitsForWarmUp => "the engine to warm up",
        // Layer cards: titles and settings
        Key::CardNodes => "1 · Nodes",
        Key::CardNodesWho => "who buys hardware",
        Key::CardPlacement => "2 · Placement",
        Key::CardPlacementWho => "who gets a GPU",
        Key::CardReplicas => "3 · Replicas",
        Key::CardReplicasWho => "who adds copies",
        Key::CardHelp => "What do these settings do?",
        Key::CardRange => "{min} to {max}",
        Key::CardLess => "{param}: less",
        Key::CardMore => "{param}: more",
        Key::CardGang => "Gang",
        Key::CardGangPodByPod => "pod by pod",
        Key::CardGangAllOrNothing => "all or nothing",
        Key::CardTopologyIgnored => "ignored",
        Key::CardUnitWaiting => "waiting per pod",
        Key::CardUnitPercent => "in %",
        Key::ParamProvisioner => "Node provisioning",
        Key::ParamConsolidation => "Consolidation",
        Key::ParamConsolidateAfter => "consolidateAfter",
        Key::ParamScheduler => "Scheduler",
        Key::ParamTopology => "Topology",
        Key::ParamScaler => "Scaling",
        Key::ParamSignal => "Signal",
        Key::ParamTarget => "Target",
        Key::ParamMin => "Minimum",
        Key::ParamMax => "Maximum",
        Key::ParamStabilizationDown => "Scale-down window",
        Key::ParamManual => "Replicas",
        Key::HelpProvisioner => {
            "Fixed: the cluster keeps the nodes that it has. Karpenter: buys the cheapest node that fits pending pods and removes nodes that it no longer needs."
        }
        Key::HelpConsolidation => {
            "WhenEmpty removes only nodes without pods. WhenEmptyOrUnderutilized also evicts running pods when they fit on fewer or cheaper nodes."
        }
        Key::HelpConsolidateAfter => {
            "How long pods must neither come nor go on a node before Karpenter may remove it. 0 s is the default of Karpenter."
        }
        Key::HelpScheduler => {
            "kube-scheduler places pod by pod and can leave part of a gang holding GPUs. KAI places a whole gang at once, or none of it."
        }
        Key::HelpTopology => {
            "Whether KAI keeps a gang inside one NVLink domain: ignored, preferred if there is room, or required."
        }
        Key::HelpScaler => "HPA follows a signal. Manual keeps the number that you set.",
        Key::HelpSignal => "What the HPA reads every 15 s, averaged over the pods.",
        Key::HelpTargetPercent => {
            "The value of the signal that the HPA steers to. Replicas = value / target × ready replicas, rounded up."
        }
        Key::HelpTargetWaiting => "Waiting requests per pod that the HPA steers to.",
        Key::HelpTargetKv => "KV-cache usage, averaged over the pods, that the HPA steers to.",
        Key::HelpMin => "minReplicas: the HPA never goes below this.",
        Key::HelpMax => "maxReplicas: the HPA never goes above this.",
        Key::HelpStabilizationDown => "Before it scales down, the HPA takes the highest wish of this long a time.",
        Key::HelpManual => "How many replicas to keep. Nothing changes it but you.",
        Key::ChoiceFixed => "Fixed",
        Key::ChoiceKarpenter => "Karpenter",
        Key::ChoiceEmptyOrUnderutilized => "WhenEmptyOrUnderutilized",
        Key::ChoiceWhenEmpty => "WhenEmpty",
        Key::ChoiceKubeScheduler => "kube-scheduler",
        Key::ChoiceKai => "KAI",
        Key::ChoiceTopologyIgnored => "ignored",
        Key::ChoiceTopologyPreferred => "preferred",
        Key::ChoiceTopologyRequired => "required",
        Key::ChoiceHpa => "HPA",
        Key::ChoiceManual => "Manual",
        Key::SignalGpuUtilization => "GPU utilization",
        Key::SignalGpuMemory => "GPU memory",
        Key::SignalQueueDepth => "waiting requests per pod",
        Key::SignalKvUsage => "KV-cache usage",
        Key::ParamRouting => "Routing",
        Key::HelpRouting => {
            "Which replica gets a request: the one with the fewest in flight, each in turn, or the best by queue and KV cache."
        }
        Key::ParamQueueLimit => "Queue limit",
        Key::HelpQueueLimit => {
            "With more requests waiting per ready replica, the gateway answers 429. With tenants, lower classes meet the limit earlier."
        }
        Key::ParamDeadlineDrop => "Drop late",
        Key::HelpDeadlineDrop => {
            "Turns a request away at once if it would wait longer than its time-to-first-token target."
        }
        Key::ParamContextCap => "Prompt cap",
        Key::HelpContextCap => "The gateway refuses longer prompts.",
        Key::ParamOutputCap => "Answer cap",
        Key::HelpOutputCap => "max_tokens: longer answers are cut, and count as degraded.",
        Key::ParamFallback => "Fallback",
        Key::HelpFallback => {
            "What would be turned away goes to the smaller model that the service names, and counts as degraded."
        }
        Key::ParamRetries => "Client retries",
        Key::HelpRetries => {
            "How often a client tries again after a 429, an error or a cut connection, with a pause that doubles from half a second."
        }
        Key::ParamScheduling => "Engine queue",
        Key::HelpScheduling => {
            "In which order a replica admits waiting requests: first come, first served, or by the tenant’s priority."
        }
        Key::ParamWeightsFrom => "Weights from",
        Key::HelpWeightsFrom => {
            "Where a replica reads its weights if its node does not have them. All readers share the link."
        }
        Key::ParamNodeCache => "NVMe cache",
        Key::HelpNodeCache => "A node keeps the weights that it has read, and the compiled kernels, on its own disk.",
        Key::ParamRestore => "Checkpoint restore",
        Key::HelpRestore => {
            "A replica is restored from a checkpoint of a warm process: no start, no compilation, no graph capture."
        }
        Key::ParamReadiness => "Readiness probe",
        Key::HelpReadiness => {
            "“/health” answers when the engine can serve. A probe of the container alone says ready too early, and the first requests fail."
        }
        Key::ParamWarmReplicas => "Warm spares",
        Key::HelpWarmReplicas => {
            "Replicas of the scaled service that are kept loaded but get no requests. Scaling up takes one of them at once."
        }
        Key::ParamGrace => "Grace period",
        Key::HelpGrace => "terminationGracePeriodSeconds: after it the pod is killed. The preStop hook counts.",
        Key::ParamPreStop => "preStop",
        Key::HelpPreStop => "How long the hook holds back SIGTERM while the endpoint is removed.",
        Key::ParamEndpointDelay => "Endpoint removal",
        Key::HelpEndpointDelay => "Until then the gateway still sends requests to a pod that is being deleted.",
        Key::ParamShutdownTimeout => "Shutdown timeout",
        Key::HelpShutdownTimeout => {
            "How long the engine finishes running requests after SIGTERM. 0 s cuts all of them off, as vLLM does by default."
        }
        Key::ParamScrape => "Scrape interval",
        Key::HelpScrape => "How often Prometheus reads the exporters and the engines.",
        Key::ParamRoles => "Scaling of roles",
        Key::HelpRoles => {
            "Prefill and decode replicas scaled each by its own readings, or decode always as many as prefill."
        }
        Key::ChoiceRolesSeparate => "each by itself",
        Key::ChoiceRolesTogether => "together",
        Key::ParamDcgmCollect => "DCGM interval",
        Key::HelpDcgmCollect => "How often the DCGM exporter measures the GPUs.",
        Key::ChoiceRoutingLeastLoaded => "fewest in flight",
        Key::ChoiceRoutingRoundRobin => "in turn",
        Key::ChoiceRoutingKvAware => "queue and KV cache",
        Key::ChoiceOff => "off",
        Key::ChoiceOn => "on",
        Key::ChoiceSchedulingFcfs => "first come",
        Key::ChoiceSchedulingPriority => "by priority",
        Key::ChoiceWeightsFromObjectStore => "object store",
        Key::ChoiceWeightsFromStreamer => "object store, streamed",
        Key::ChoiceWeightsFromFiles => "NFS",
        Key::ChoiceWeightsFromBlockVolume => "network volume",
        Key::ChoiceReadinessEngine => "/health",
        Key::ChoiceReadinessContainer => "container runs",
        Key::ValueNoLimit => "none",
        Key::CardServing => "Serving",
        Key::CardServingWho => "how are requests answered?",
        Key::CardUnitTokens => "tokens",
        Key::CardUnitPerReplica => "waiting per replica",
        Key::CardUnitTries => "tries",
        Key::ChoiceUnknown => "choice {n}",
        Key::ParamOutOfRange => "“{given}” is refused: a whole number from {min} to {max}.",
        Key::ParamOutOfRangeSpan => "“{given}” is refused: a time from {min} to {max}, such as 30s, 5m or 1h.",
        Key::ParamMinAboveMax => "Refused: the minimum ({min}) may not be above the maximum ({max}).",
        Key::ParamNotAChoice => "“{given}” is refused: not one of the choices.",
        // Layer cards: verdicts
        Key::CardFixed => "Buys nothing: provisioning is fixed.",
        Key::CardFixedPending => {
            "Buys nothing: provisioning is fixed. {pods, plural, one {# pod waits} other {# pods wait}} for {reason}."
        }
        Key::CardEvicting => {
            "{node} is being evicted **while it answers {in_flight, plural, one {# request} other {# requests}}**."
        }
        Key::CardEvictingIdle => "{node} is being evicted. No request is in flight.",
        Key::CardBooting => "{n, plural, one {# node boots} other {# nodes boot}}.",
        Key::CardBootingReady => {
            "{n, plural, one {# node boots} other {# nodes boot}}. {node}: {stage}, {remaining} to go."
        }
        Key::CardRemoveEmpty => "{node} will be removed in {remaining} if it stays empty.",
        Key::CardRemoveEmptyNow => "{node} is empty and may be removed at the next review.",
        Key::CardReviewBusy => "{node} may be emptied in {remaining}, if its pods then fit elsewhere for less.",
        Key::CardReviewBusyNow => "{node} may be emptied at the next review, if its pods fit elsewhere for less.",
        Key::CardBuying => {
            "{pods, plural, one {# pod waits} other {# pods wait}} for {reason}. Karpenter looks for a node that fits."
        }
        Key::CardNodesQuiet => {
            "Nothing to buy, nothing to remove: {nodes, plural, one {# node} other {# nodes}}, {price}."
        }
        Key::CardNextReview => "Next review in {remaining}.",
        Key::CardHeld => "**{bound} of {total} pods hold GPUs and wait.** Burnt so far: {gpu_minutes}, {cost}.",
        Key::CardHeldMany => {
            "**{gangs} gangs hold the GPUs of {pods} pods and wait.** Burnt so far: {gpu_minutes}, {cost}."
        }
        Key::CardGroupWaits => "{group} waits for {reason}. {bound} of {total} pods have a node.",
        Key::CardGangWaits => "{group} waits for {reason}. **Nothing is held**: it gets {total} of {total} or none.",
        Key::CardPodsWait => {
            "{pods, plural, one {# pod waits} other {# pods wait}}, the first is of {group}. It waits for {reason}."
        }
        Key::CardMissing => "{n, plural, one {# more GPU} other {# more GPUs}} would end the wait.",
        Key::CardAllPlaced => "Every pod has its GPUs.",
        Key::CardManual => "Stays at {n} until you change it. {ready} of {n} answer.",
        Key::CardNoService => "No service is scaled here.",
        Key::CardHpaWaiting => "The HPA has not read its signal yet.",
        Key::CardHpaNoMetric => "**Does nothing: there is no sample** of {signal}.",
        Key::CardHpaBlind => {
            "Reads {value} at {in_flight, plural, one {# request} other {# requests}}. **Will never scale up:** even {most} / {target} is inside the {tolerance} tolerance."
        }
        Key::CardHpaWithin => {
            "{signal} {value} / {target} = {ratio} is **inside the {tolerance} tolerance**: stays at {n}."
        }
        Key::CardHpaWants => "Wants **{n}** ({formula}).",
        Key::CardHpaWantsStarting => "Wants **{n}** ({formula}), {ready} answer so far.",
        Key::CardHpaMax => "Wants {raw}, **held at the maximum of {n}**.",
        Key::CardHpaMin => "Wants {raw}, held at the minimum of {n}.",
        Key::CardHpaWindow => "Wants {raw}, keeps {n}: the highest wish of the last {window} counts.",
        Key::CardHpaRate => "Wants {raw}; the scaling rate allows {n} for now.",
        Key::CardHpaMissing => "Stays at {n}: pods without a sample are counted against the change.",
        Key::CardHpaKeepsStarting => "Keeps **{n}** ({formula}), {ready} answer so far.",
        Key::CardHpaKeeps => "Keeps {n} ({formula}).",
        Key::CardNextSync => "Next sync in {remaining}.",
        Key::CardLineValue => "{value} / {target} = {ratio}",
        Key::CardLineReady => "× {ready} ready = {product} → wish {raw}",
        Key::CardLineCount => "× {count} replicas = {product} → wish {raw}",
        Key::CardLineRaw => "→ wish {raw}",
        Key::CardLineTolerance => "tolerance {low} to {high}: no change",
        Key::CardLineStabilized => "after the window {n}",
        Key::CardLineLimits => "limits {min} to {max}",
        Key::CardLineFinal => "result **{n}**",
        Key::CardLine => "{first} · {next}",
        Key::CardLineTitle => "The formula with its numbers",
        // Inspect
        Key::InspectTitle => "Inspect",
        Key::InspectStage => "Stage",
        Key::InspectStageUntil => "{stage}, {remaining} to go",
        Key::InspectHardware => "Hardware",
        Key::InspectHardwareValue => "{gpus} × {gpu}, {instance}",
        Key::InspectPlace => "Place",
        Key::InspectPrice => "Price",
        Key::InspectGpus => "GPUs",
        Key::InspectGpusValue => "{n} {state}",
        Key::InspectInFlight => "Requests in flight",
        Key::InspectEmptyFor => "Empty for",
        Key::InspectOwner => "Bought by",
        Key::InspectOwnerOther => "the scenario or you",
        Key::InspectLeaving => "Then",
        Key::InspectGivenBack => "given back",
        Key::InspectMovesTo => "moves to {rack}",
        Key::InspectService => "Service",
        Key::InspectPods => "Pods placed",
        Key::InspectPodsValue => "{bound} of {total}, starts with {min}",
        Key::InspectRunning => "Running requests",
        Key::InspectWaiting => "Waiting requests",
        Key::InspectKv => "KV cache in use",
        Key::InspectWaitsFor => "Waits for",
        Key::InspectWaitValue => "{reason}, {waited} so far",
        Key::InspectHeld => "Held idle for",
        Key::InspectBurnt => "Burnt while held",
        Key::InspectBurntValue => "{gpu_minutes}, {cost}",
        Key::InspectDomains => "NVLink",
        Key::InspectDomainsOne => "inside one domain",
        Key::InspectDomainsMany => "spans domains",
        Key::InspectDomainsCost => "spans domains: {all_reduce} of all-reduce in every decode step",
        Key::InspectNodes => "Nodes",
        Key::StageLaunching => "asked for",
        Key::StageBooting => "booting",
        Key::StageRegistering => "joining the cluster",
        Key::StageGpuStack => "driver and device plugin start",
        Key::StageReady => "ready",
        Key::StageDraining => "draining",
        Key::StageFailed => "failed",
        Key::StageReleased => "given back",
        Key::StagePending => "not fully placed",
        Key::StageImage => "pulling the image",
        Key::StageWeights => "loading weights",
        Key::StageWarmUp => "warming up",
        Key::StageServing => "serving",
        Key::StageGone => "gone",
        // Score
        Key::ScoreTitle => "Score",
        Key::ScoreFormula => "100 · G^0.7 · E^0.3",
        Key::ScoreG => "G, requests within SLO",
        Key::ScoreE => "E, useful GPU time",
        Key::ScoreHelpG => {
            "G: the share of offered requests that met both SLO targets, time to first token and time per output token."
        }
        Key::ScoreHelpE => {
            "E: the GPU time that full replicas would have needed for those requests, over all the GPU time that was paid for."
        }
        Key::ScoreUnmet => "Requests not met",
        Key::ScoreIdle => "GPU-minutes paid for nothing",
        Key::ScoreBill => "Bill",
        Key::ScoreDetails => "Where requests and money went",
        Key::ScoreRequests => "Requests by outcome",
        Key::ScoreOutcome => "Outcome",
        Key::ScoreCount => "Requests",
        Key::ScoreShare => "Share",
        Key::ScoreMet => "met the SLO",
        Key::ScoreLate => "late",
        Key::ScoreTimedOut => "timed out",
        Key::ScoreRejected => "rejected",
        Key::ScoreFailed => "failed",
        Key::ScoreDegraded => "degraded",
        Key::ScoreHelpDegraded => "Answered by the fallback model, or cut by the answer cap.",
        Key::ScoreLost => "cut off",
        Key::ScoreUnfinished => "unfinished",
        Key::ScoreOffered => "offered",
        Key::ScoreHelpMet => "Answered within both targets.",
        Key::ScoreHelpLate => "Answered, but over a target.",
        Key::ScoreHelpTimedOut => "The client gave up before the answer.",
        Key::ScoreHelpRejected => "Turned away: queue full or prompt too long.",
        Key::ScoreHelpFailed => "Answered with an error by a pod that was not ready.",
        Key::ScoreHelpLost => "Cut off when its replica stopped or crashed.",
        Key::ScoreHelpUnfinished => "Still waiting or running.",
        Key::ScoreLedger => "Paid GPU time by what the GPU did",
        Key::ScoreState => "State",
        Key::ScoreGpuMinutes => "GPU-minutes",
        Key::ScoreMoney => "Cost",
        Key::ScoreNow => "GPUs now",
        Key::ScoreSum => "Bill",
        Key::LedgerBooting => "booting",
        Key::LedgerDraining => "draining",
        Key::LedgerHeld => "held, waiting for partners",
        Key::LedgerLoading => "loading",
        Key::LedgerTraining => "training",
        Key::LedgerServingBusy => "serving, busy",
        Key::LedgerServingIdle => "serving, idle",
        Key::LedgerEmpty => "empty",
        Key::LedgerHelpBooting => "Paid for, but no GPU can be used yet.",
        Key::LedgerHelpDraining => "Its pods finish and leave.",
        Key::LedgerHelpHeld => "Bound to a gang that is too small to start.",
        Key::LedgerHelpLoading => "Image, weights and warm-up.",
        Key::LedgerHelpTraining => "Training work.",
        Key::LedgerHelpServingBusy => "A replica with at least one running request.",
        Key::LedgerHelpServingIdle => "A replica without a request.",
        Key::LedgerHelpEmpty => "No pod.",
        // Tasks
        Key::TasksTitle => "Tasks",
        Key::TasksDone => "{n} of {total} done",
        Key::TaskPassed => "Done:",
        Key::TaskOpen => "Open:",
        Key::TaskHintFirst => "Show a hint",
        Key::TaskHintNext => "Next hint",
        Key::TaskHint => "Hint {n} of {total}",
        // Announcements and the summary for screen readers
        Key::SayCluster => {
            "Cluster: {nodes, plural, one {# node} other {# nodes}}, {gpus, plural, one {# GPU} other {# GPUs}}, {domains, plural, one {# NVLink domain} other {# NVLink domains}}."
        }
        Key::SayGangs => "{n, plural, one {# gang waits} other {# gangs wait}}: {list}.",
        Key::SayGang => "{group}, {bound} of {total} GPUs",
        Key::SayPods => "{n, plural, one {# pod waits} other {# pods wait}} for {reason}.",
        Key::SayNothingWaits => "No pod waits.",
        Key::SayAt => "At {clock}.",
        Key::SayPaused => "Paused at {clock}.",
        Key::SayRunning => "Running, {clock}.",
        Key::SayMilestone => "{who}: {sentence}",

        // --- Scenario texts ---
        Key::ScenarioSandbox => "Sandbox",
        Key::SandboxQuestion => "What do you want to know?",
        Key::SandboxStory => {
            "Three kinds of GPU servers and three services; Karpenter may buy more. Change a switch, add a spike, launch the 70B model, and read why each controller did what it did."
        }
        Key::SandboxHintOne => "Start with one question and one switch, and keep everything else as it is.",
        Key::SandboxHintTwo => {
            "Go back with the scrubber and act differently: the traffic stays the same, so the two runs can be compared."
        }
        Key::SandboxHintThree => {
            "A request trace (.csv, .jsonl) dropped on the page becomes the traffic of a service of your choice."
        }
        Key::TrapTitle => "The 7-of-8 trap",
        Key::TrapQuestion => {
            "A 70B model needs eight GPUs and seven are free. What does the cluster do with the seven?"
        }
        Key::TrapStory => {
            "At 01:58:30 somebody launches llama-70b: eight pods with one GB200 each, useless below eight. Seven GB200 are free; the three free L40S do not count. Press play and watch what the seven cost."
        }
        Key::TrapTaskSee => "See seven GPUs held by a gang that cannot start",
        Key::TrapTaskStart => "Start it with less than 2 GPU-minutes held",
        Key::TrapTaskDomain => "Start it inside one NVLink domain",
        Key::TrapHintOne => {
            "kube-scheduler looks at one pod at a time. It cannot know that seven of them are worth nothing without the eighth."
        }
        Key::TrapHintTwo => {
            "There are two ways: an eighth GPU where the pods may run, or a scheduler that places all of them or none."
        }
        Key::TrapHintThree => {
            "Go back to before 01:58:30, switch placement to KAI, then add a GB200 tray to rack A. The gang starts only when all eight fit, and holds nothing until then."
        }
        Key::MemoryTitle => "Memory never comes down",
        Key::MemoryQuestion => "An HPA watches GPU memory. What does it see when the load rises and falls?",
        Key::MemoryStory => {
            "chat-14b gets one request a second, then eight, then one again. The HPA reads GPU memory with a target of 80 %. vLLM takes 92 % of each GPU at its start, whether anybody asks or not."
        }
        Key::MemoryTaskMax => "See the HPA go to its maximum",
        Key::MemoryTaskFloor => "With another target, see it shrink and stay at a floor",
        Key::MemoryHintOne => "Look at “What each signal sees”: does the memory line move when the requests come?",
        Key::MemoryHintTwo => {
            "93 % over a target of 80 % is more than 1.1, so the HPA asks for more, and for more again, because each new replica also shows 93 %."
        }
        Key::MemoryHintThree => {
            "Between 85 % and 103 % nothing ever happens. With a target of 120 % the HPA shrinks until rounding up gives the same number again, and then stays there under any load."
        }
        Key::DrainTitle => "Stopping without cutting off",
        Key::DrainQuestion => "Replicas are taken away while long answers are being streamed. Who finishes?",
        Key::DrainStory => {
            "Five replicas of writer-14b stream answers of about 2,000 tokens, which take one to two minutes. At 10:05 and at 10:15 two replicas are taken away. The pods have 30 s of grace: 5 s for preStop, the rest to finish."
        }
        Key::DrainTaskCut => "See at least five answers cut off",
        Key::DrainTaskNone => "Get through both without losing one",
        Key::DrainHintOne => {
            "Open “Serving” and look at the group for stopping replicas. Which of the four times ends the answers?"
        }
        Key::DrainHintTwo => {
            "The endpoint is removed, preStop runs, SIGTERM comes, the engine finishes for as long as its shutdown timeout says, and the grace period ends everything."
        }
        Key::DrainHintThree => {
            "Go back to the start. A grace period of 180 s with a shutdown timeout of 165 s lets the longest answers end. With a timeout of 0 s, vLLM’s own default, every answer in flight is lost."
        }
        Key::ShedTitle => "Degrade or scale?",
        Key::ShedQuestion => {
            "Twice the load that the GPUs can take, and no GPU to add. What is the best that can be done?"
        }
        Key::ShedStory => {
            "Two replicas of chat-14b serve 1.5 requests a second. From 14:05 to 14:15 it is six. There is no free GPU for them, but an 8B model beside them has time. A third of the clients pay."
        }
        Key::ShedTaskCollapse => "See 60 requests wait for chat-14b",
        Key::ShedTaskPaying => "Give 90 % of the paying clients’ requests an answer within the targets",
        Key::ShedHintOne => "A queue that can only grow makes everybody late. Whom does it help to wait?",
        Key::ShedHintTwo => {
            "Open “Serving”: a queue limit, a cap on answers, the fallback and the order of the engine’s queue each help someone, at someone’s cost."
        }
        Key::ShedHintThree => {
            "Before 14:05 set a queue limit of 5 per replica, let the engine order by priority and switch the fallback on. Then try a limit of 20: the line is shorter than without, and nearly everybody in it is late."
        }
        Key::RolesTitle => "Prefill and decode apart",
        Key::RolesQuestion => "Does it pay to compute prompts and answers on different GPUs?",
        Key::RolesStory => {
            "Qwen3 32B on eight H100 twice, with the same load of long prompts. whole-32b does everything in four replicas. prefill-32b has two replicas that compute prompts and hands their KV cache over NVLink to the two replicas of decode-32b. The target per output token is 25 ms."
        }
        Key::RolesTaskBoth => "Let both answer 500 requests",
        Key::RolesTaskPrompts => "At 09:25, have 90 % of the requests to prefill-32b within their targets",
        Key::RolesHintOne => {
            "In whole-32b a long prompt shares its steps with everybody who is being answered. What does that do to the time per token?"
        }
        Key::RolesHintTwo => {
            "The two roles fill up in different ways: prompts queue for prefill, while decode only slows down as its batch grows. A signal that counts waiting requests hardly moves the decode pool."
        }
        Key::RolesHintThree => {
            "Switch scaling to HPA and inject a spike of some thousand requests into prefill-32b. Then go back and let both roles scale together (“Serving”, engine): more requests meet their targets, for more GPU time."
        }
        Key::SharingTitle => "Slices, turns or overlap",
        Key::SharingQuestion => {
            "Three small models share one GPU. Who feels the neighbour’s burst, and who falls with him?"
        }
        Key::SharingStory => {
            "Three H100, each with three 8B models: as MIG slices, taking turns, and under MPS. At 11:10 the third model of each GPU gets a burst. At 11:20 the second of each crashes."
        }
        Key::SharingTaskNeighbour => "See a neighbour make turns-a three times slower",
        Key::SharingTaskFall => "See all three models of the MPS GPU down at once",
        Key::SharingHintOne => {
            "Point at the replicas of turns-1 and mps-1 during the burst: how many times as long do their steps take? Those of mig-1 say nothing of the kind."
        }
        Key::SharingHintTwo => {
            "Of models that take turns, each takes 1.11 times as long per busy one: 3.3 times with three. Under MPS kernels overlap until the memory bus is full. A MIG slice is slow by itself and never slower."
        }
        Key::SharingHintThree => {
            "MPS answers fastest here, and one fault ends the server that all its clients share. MIG isolates both, and pays for it all the time."
        }
        Key::SignalTitle => "The lying signal",
        Key::SignalQuestion => "An HPA watches GPU utilization. Does it see that requests wait?",
        Key::SignalStory => {
            "From 09:00 the requests to chat-14b grow from one to eight a second. Two replicas serve them and fourteen GPUs stand by. The HPA reads GPU utilization, the share of time in which a GPU did anything at all, with a target of 95 %."
        }
        Key::SignalTaskSee => "See the HPA keep its replicas while 50 requests wait",
        Key::SignalTaskCatchUp => "From 09:30 on, have 90 % of all requests answered within their targets",
        Key::SignalHintOne => "Compare the lines of “What each signal sees”: which one moves when the queue grows?",
        Key::SignalHintTwo => {
            "A GPU that decodes one request is as busy as one that decodes forty. At most 100 % over a target of 95 % is 1.05, and that is inside the tolerance of 10 %."
        }
        Key::SignalHintThree => {
            "Set the signal to queue depth and watch the wish. A lower target for GPU utilization also scales up, but never comes down while anything is running."
        }

        // --- Request traces ---
        Key::TraceReading => "Reading {name}: {share}, {n, plural, one {# request} other {# requests}}",
        Key::TraceTooLarge => "the file has {size} MB, at most {limit} MB are read: keep its first lines",
        Key::TraceCancelReading => "Cancel",
        Key::TraceTitle => "Use a request trace",
        Key::TraceReadLabel => "What was read",
        Key::TraceFormatLabel => "Format",
        Key::TraceRequestsLabel => "Requests",
        Key::TraceSpanLabel => "From first to last",
        Key::TraceRateLabel => "Mean rate",
        Key::TraceRate => "{rate} per second",
        Key::TraceBusiestLabel => "Busiest minute",
        Key::TraceBusiest => "{n, plural, one {# request} other {# requests}}, {times} × the mean",
        Key::TraceBusiestOnly => "{n, plural, one {# request} other {# requests}}",
        Key::TracePromptLabel => "Prompt tokens",
        Key::TraceOutputLabel => "Answer tokens",
        Key::TraceTokens => "p50 {p50}, p99 {p99}, mean {mean}, longest {max}",
        Key::TraceNotesLabel => "Worth knowing",
        Key::TraceNoteFailed => {
            "{n, plural, one {# request failed} other {# requests failed}} (no answer tokens; first on line {line}) and {n, plural, one {is} other {are}} left out: how long the answer would have been is unknown."
        }
        Key::TraceNoteEmpty => {
            "{n, plural, one {# row has} other {# rows have}} neither prompt nor answer (first on line {line}) and {n, plural, one {is} other {are}} left out."
        }
        Key::TraceNoteZero => {
            "{n, plural, one {# request has} other {# requests have}} 0 tokens of prompt or answer (first on line {line}); 0 counts as 1."
        }
        Key::TraceNoteGap => {
            "{n, plural, one {Once} other {# times}} no request came for more than a day, {gap} at the longest; the first time before line {line}. Keep only the lines on one side of it if that is not meant."
        }
        Key::TraceNoteLong => {
            "The trace is {span} long and a run at most 14 days. What comes later is seen only at a higher speed."
        }
        Key::TraceNoteInstant => "All requests have the same time: they come at once.",
        Key::TraceNotePrefixes => {
            "The prefix blocks (hash_ids) are not used: the lab does not model prefix caching, so every prompt is computed whole."
        }
        Key::TraceNoteGrid => {
            "The time stamps are on a grid of {grid}, with many requests on one stamp. Played as written they would be bursts that never were, so they are spread until the next stamp, at random but every time alike."
        }
        Key::TraceNoteGridKept => {
            "The time stamps are on a grid of {grid}, with many requests on one stamp. They are played as written: as bursts that may never have been."
        }
        Key::TraceServiceLabel => "Service whose traffic it replaces",
        Key::TraceService => "{service} (up to {limit} tokens)",
        Key::TraceUseLabel => "What is used",
        Key::TraceUseAll => "Times and lengths, as recorded",
        Key::TraceUseLengths => "Lengths only; the service keeps its own arrivals",
        Key::TraceSpeedLabel => "Speed (2 plays an hour in half an hour)",
        Key::TraceSpeedRule => "A number from {min} to {max}",
        Key::TraceRepeatLabel => "Start again at the end",
        Key::TraceSpreadLabel => "Spread requests that have the same time stamp",
        Key::TraceLongLabel => "Requests that are too long",
        Key::TraceLongReject => "Send them; the engine refuses them",
        Key::TraceLongCut => "Cut them: the prompt first, the answer only if it must be",
        Key::TraceFits => "All requests fit into the {limit} tokens of {service}.",
        Key::TraceTooLong => {
            "{n, plural, one {# request} other {# requests}} ({share}) {n, plural, one {is} other {are}} longer than the {limit} tokens of {service}: its engine refuses {n, plural, one {it} other {them}}."
        }
        Key::TraceTooLongCut => {
            "{n, plural, one {# request} other {# requests}} ({share}) {n, plural, one {is} other {are}} longer than the {limit} tokens of {service} and {n, plural, one {is} other {are}} cut to fit."
        }
        Key::TraceReach => {
            "{n} of {total} requests come within the run’s {length}; at this speed the trace lasts {played}."
        }
        Key::TraceRepeats => "In the run’s {length} the trace is played {laps} times; at this speed it lasts {played}.",
        Key::TraceRestart => {
            "The run starts anew. Story and tasks of the experiment are about its own traffic and go away until it is opened again."
        }
        Key::TraceUseButton => "Use this trace",
        Key::TraceKeepButton => "Keep the present traffic",
        Key::TraceStory => {
            "The trace {name} drives this run. The story and the tasks of this experiment are about its own traffic: open it from the library to have them back."
        }
        Key::NoticeTraceLengths => {
            "{service} now draws its lengths from {name} ({n, plural, one {# request} other {# requests}}); it keeps its own arrivals."
        }
        // --- How replicas start ---
        Key::WhyReadyClaimed => {
            "{group} counts as ready {after} after it was asked for, because its container runs. **No engine answers yet**, and it gets requests."
        }
        Key::WhyReadyTooEarly => {
            "{group} was declared ready {early} too early. {failed, plural, one {# request that was sent to it failed.} other {# requests that were sent to it failed.}}"
        }
        Key::WhyReadyTooEarlyUnused => "{group} was declared ready {early} too early. No request was sent to it.",
        Key::WhySpareLoaded => "{group} is a warm spare: it stands by, loaded, and gets no requests.",
        Key::WhySparePromoted => "{group} stood by, loaded, and answers from now on. A new spare starts in its place.",
        Key::ColdTitle => "Where the minutes go",
        Key::ColdQuestion => "Four replicas are asked for at once, on nodes that have nothing. When do they answer?",
        Key::ColdStory => {
            "At 02:10 the first requests of the night arrive, and four replicas of chat-14b start on four nodes that have neither its image nor its 30 GB of weights. Press play and read in the log what each part took. The switches under “Start” change one part each; the bucket with the weights is behind 20 Gbit/s, which the four share."
        }
        Key::ColdTaskSee => "See all four replicas answer",
        Key::ColdTaskAtOnce => "Have four replicas that answer by 02:12",
        Key::ColdTaskNight => "From 02:35 on, have 90 % of all requests answered within their targets",
        Key::ColdHintOne => "The largest part is not the weights. Which one is it, and what would have made it short?",
        Key::ColdHintTwo => {
            "Four readers share the bucket’s link and the file server. A faster client helps one reader; four fill the link with any client. Ask for four more on the same nodes and compare: image, weights and compiled kernels are there."
        }
        Key::ColdHintThree => {
            "An image that is pulled after 02:10 is not there by 02:12, whatever the weights do. Go back to the start and keep four warm spares: they load in the ten minutes before, are paid for, and are taken over in an instant."
        }
        Key::EarlyTitle => "Ready too early",
        Key::EarlyQuestion => {
            "A pod is Ready as soon as its container runs. Who answers the requests until the engine does?"
        }
        Key::EarlyStory => {
            "From 09:05 the requests to chat-14b grow from two to eight a second, and the HPA adds replicas. Their readiness probe asks only whether the container runs, so the gateway sends to them at once, while their engines still read weights and compile for about a minute."
        }
        Key::EarlyTaskSee => "See 20 requests fail on replicas that are not up",
        Key::EarlyTaskNone => "Scale up to three replicas or more without one failed request by 09:20",
        Key::EarlyHintOne => {
            "Which replica has the fewest requests in flight? One that refuses each of them at once. The gateway takes that for the idle one."
        }
        Key::EarlyHintTwo => {
            "While requests fail they do not wait: the queue is empty, and the HPA, which reads the queue, sees no reason to add more replicas."
        }
        Key::EarlyHintThree => {
            "Go back to 09:00 and let the probe ask the engine. None fails then, but they wait for the new replicas and many are late: the right probe makes no replica faster. Warm spares do."
        }
        // --- Signals of one service, over one another ---
        Key::SigGpuUtilization => "GPU utilization",
        Key::SigSmActive => "SM active",
        Key::SigTensorActive => "tensor active",
        Key::SigDramActive => "DRAM active",
        Key::SigFbUsed => "memory used",
        Key::SigPower => "power",
        Key::SigRunning => "running per replica",
        Key::SigWaiting => "waiting per replica",
        Key::SigKvUsage => "KV cache",
        Key::SigTtftP95 => "first token p95",
        Key::SigTtftP99 => "first token p99",
        Key::SigTpotP95 => "time per token p95",
        Key::SigTokens => "output tokens",
        Key::ValueMib => "{n} MiB",
        Key::ValueSeconds => "{n} s",
        Key::ValueWatts => "{n} W",
        Key::ValueTokensPerSecond => "{n} tokens/s",
        Key::SumSignalsNow => {
            "{service}: GPU utilization {gpu}, tensor cores active {tensor}, {waiting} waiting per replica, KV cache {kv}."
        }
        Key::LegendButton => "{shown} of {total} signals",
        Key::LegendTitle => "Signals of {service}",
        Key::LegendHelp => "Each line is a share of its own range. Press a signal to hide or show it.",
        Key::LegendAll => "Show all",
        Key::LegendRead => "read by the HPA",
        Key::LegendOf => "{value} of {full}",
        Key::ChartServiceLabel => "Service in the charts",
        // --- State of a replica: tip, menu, pinned details ---
        Key::ReplicaStageSince => "{stage} for {since}",
        Key::ReplicaStageUntil => "{stage} for {since}, {remaining} to go",
        Key::ReplicaWaits => "waits for {reason}, {since} so far",
        Key::ReplicaSeats => "{running} of {seats} seats run",
        Key::ReplicaRunning => "{running} run",
        Key::ReplicaWaiting => "{waiting} wait",
        Key::ReplicaKv => "KV cache {kv}",
        Key::ReplicaSlowdown => "steps take {times} times as long: others use its GPU too",
        Key::ReplicaSpare => "warm spare: loaded, gets no requests",
        Key::ReplicaEarly => "gets requests already, though its engine is not up",
        Key::ReplicaPrefill => "prefill: reads prompts",
        Key::ReplicaDecode => "decode: writes answers",
        Key::ReplicaTokens => "{tokens} tokens/s",
        Key::InspectRole => "Role",
        Key::InspectNote => "Note",
        Key::InspectSlowdown => "Neighbours",
        Key::InspectSlowdownValue => "steps take {times} times as long",
        Key::InspectTokens => "Output",
        Key::InspectShare => "GPUs divided",
        Key::MapGpuPart => "{gpu}, part {part} of {parts},",
        Key::MapNodeLabelShare => "{name}, {kind}, {share}, {place}, {price}",
        // --- The serving card ---
        Key::GroupGateway => "Gateway",
        Key::GroupEngine => "Engine",
        Key::GroupStart => "Start",
        Key::GroupDrain => "Drain",
        Key::GroupMetrics => "Metrics",
        Key::ServingChanged => "{n, plural, one {# setting differs} other {# settings differ}} from the defaults:",
        Key::ServingChange => "{param} {value}",
        Key::ServingChangedRow => "differs from the default",
        Key::ServingNothing => "No request has come yet.",
        Key::ServingAll => "All let in, none waits.",
        Key::ServingWait => "{n, plural, one {**# request waits**} other {**# requests wait**}}.",
        Key::ServingTurnedAwayBy => "Requests turned away: {n} ({limits}).",
        Key::ServingDegraded => "{n} degraded.",
        Key::ServingRetried => "{n, plural, one {# retry} other {# retries}} by clients.",
        Key::ServingCut => "{n, plural, one {# answer} other {# answers}} cut at {cap} tokens.",
        Key::ServingCutShort => "{n, plural, one {# answer} other {# answers}} cut.",
        Key::ServingLost => "{n} cut off.",
        Key::ServingFailed => "{n} failed.",
        Key::ServingLimit => "{param} {value}",
        Key::ServingTooLong => "longer than the engine takes",
        Key::ServingLate => "{n} answered late.",
        Key::ServingGaveUp => "{n, plural, one {# client} other {# clients}} gave up.",
        Key::WhyNoneYet => "No decision yet.",
    }
}
