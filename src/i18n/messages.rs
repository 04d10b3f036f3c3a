//! The list of all messages. One line here, one line in each language table.

use super::Arg;

macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident),+ $(,)? })? ),+ $(,)?) => {
        /// One text of the page with its values.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Message { $($(#[$doc])* $name $({ $($field: Arg),+ })?),+ }

        /// A message without its values: what a language table is asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key { $($name),+ }

        impl Message {
            pub fn key(&self) -> Key {
                match self { $(Message::$name $({ $($field: _),+ })? => Key::$name),+ }
            }
            /// The values by placeholder name.
            pub fn args(&self) -> Vec<(&'static str, Arg)> {
                match self { $(Message::$name $({ $($field),+ })? => vec![$($((stringify!($field), $field.clone())),+)?]),+ }
            }
        }

        impl Key {
            pub const ALL: &'static [Key] = &[$(Key::$name),+];
            /// The placeholder names that a table's text may use.
            pub fn fields(self) -> &'static [&'static str] {
                match self { $(Key::$name => &[$($(stringify!($field)),+)?]),+ }
            }
        }
    };
}

catalogue! {
    // --- Page and shell (header, transport, charts, dialogs, embed, errors) ---
    LabName,
    LabTitle,
    Experiments,
    ProblemScenario,
    ProblemLink,
    ProblemLinkValues,
    ProblemTrace,

    // --- Map (racks, nodes, cells, tools, pending tray, drag and refusals) ---
    MapTitle,
    MapSummary { nodes, gpus, domains, free },
    MapSummaryWaits { group, bound, total },
    MapKeysHint,
    MapLegend,
    MapStateBusy,
    MapStateIdle,
    MapStateHeld,
    MapStateTraining,
    MapStateLoading,
    MapStateDraining,
    MapStateBooting,
    MapStateFree,
    MapStateFailed,
    MapStateMissing,
    MapDomain { name },
    MapFreeOf { free, total },
    MapPlaceDomain { name },
    MapPlaceRack { name },
    MapRackIn { block, zone },
    MapRackInBlock { block },
    MapRackLabel { place, block, zone, free, total },
    MapNvlinkTb { tb },
    MapNvlinkGb { gb },
    MapNvlinkHelp,
    MapOwnDomain,
    MapNoNvlink,
    MapRackEmpty,
    MapNodeType { gpus, gpu },
    MapPrice { price },
    MapNodeLabel { name, kind, place, status, price },
    MapStageLaunching,
    MapStageBooting,
    MapStageRegistering,
    MapStageGpuStack,
    MapStageLeft { stage, left },
    MapFailed,
    MapDraining { in_flight },
    MapDrainingMove { in_flight, place },
    MapDrainingRelease { in_flight },
    MapEvicting { in_flight },
    MapHeld { badge, bound, total, waited },
    MapLoading { group, stage, done },
    MapServing { names, kv },
    MapIncomplete { group, bound, total },
    MapEmptyFor { span },
    MapEmptyUntil { span, left },
    MapReady,
    MapGroupImage,
    MapGroupWeights,
    MapGroupWarmUp,
    MapCell { gpu, node, state },
    MapCellGroup { gpu, node, state, group },
    MapCellRank { gpu, node, state, rank, badge, group },
    MapTrap { held, total, minutes, cost, missing },
    MapWhy,
    MapWhatCouldHelp,
    MapFixAddNode { item, price },
    MapFixKai,
    MapFixTopology,
    MapFixDelete { group },
    MapMissing { rank, badge },
    MapFabric,
    MapFabricOf { network, gpu, gbit },
    MapFabricLaw,
    MapBridge { group, places },
    MapBridgeCost { cost },
    MapBridgeUncounted,
    MapPending,
    MapPendingNone,
    MapPodOf { rank, badge },
    MapPodsOf { first, last, badge },
    MapWaited { span },
    MapWhyNot,
    MapWhyNotOf { group },
    MapPendingMore { count },
    MapTools,
    MapItemTray { gpu },
    MapItemHgx { gpu },
    MapItemServer { gpu },
    MapItemDetail { gpus, price },
    MapItemLabel { item, gpus, price },
    MapLaunchGang { service, gpus },
    MapLaunchReplica { service, gpus },
    MapSpike,
    MapSpikeTitle,
    MapSpikeService,
    MapSpikeRequests,
    MapSpikeMinutes,
    MapSpikeTokens,
    MapSpikeSend,
    MapSpikeBounds { max },
    MapCancel,
    MapMenuOf { name },
    MapMove,
    MapRelease,
    MapDeleteGroup { group },
    MapWhyGroup { group },
    MapGroupMenu { group },
    MapBuyHere { item, price },
    MapPlacingNode { name },
    MapPlacingItem { item },
    MapDrainsFirst,
    MapPlacingKeys,
    MapDropTray,
    MapDropNode,
    MapRoomGpus { count },
    MapRoomNodes { count },
    MapMoveHere,
    MapAddHere,
    MapMoveHereLabel { name, place },
    MapAddHereLabel { item, place },
    RefusedNoSuchNode,
    RefusedNoSuchRack,
    RefusedNoSuchGroup,
    RefusedNoSuchService,
    RefusedNoSuchItem,
    RefusedSamePlace,
    RefusedTray,
    RefusedHgx,
    RefusedPcie,
    RefusedFull { slots },
    RefusedZone,
    RefusedBooting,
    RefusedLeaving,
    RefusedGroupLeaving,
    RefusedNotLaunchable,
    RefusedContext { asked, limit },
    RefusedParamUnknown { id },
    RefusedParamChoice { id, choices, given },
    RefusedParamRange { id, min, max, given },
    RefusedMinAboveMax { min, max },
    RefusedTooMany { limit },
    WaitQuota,
    WaitQuotaGpus { gpus },
    WaitTurn,
    WaitPartners,
    WaitPartnersGpus { gpus },
    WaitTopology,
    WaitTopologyGpus { gpus },
    WaitFreeGpu,
    WaitFreeGpus { gpus },
    WaitFreeGpusOf { gpus, kind },
    WaitSelector,
    WaitSelectorOf { kind },
    WaitOverhead,
    WaitCloud,
    WaitNodeBoot,
    WaitDevicePlugin,
    WaitImage,
    WaitWeights,
    WaitWarmUp,
    WaitLeft { wait, left },

    // --- Layers, why-log, waits, score, tasks ---
    WhyTitle,

    // --- Scenario texts (titles, stories, tasks, hints) ---
    ScenarioSandbox,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, template};

    #[test]
    fn every_table_uses_only_the_values_that_its_message_carries() {
        for lang in Lang::offered() {
            for key in Key::ALL {
                let text = lang.template(*key);
                assert!(!text.trim().is_empty(), "{}: {key:?} is empty", lang.tag);
                for name in template::placeholders(&text) {
                    assert!(key.fields().contains(&name.as_str()), "{}: {key:?} has no value `{name}`", lang.tag);
                }
            }
        }
    }
}
