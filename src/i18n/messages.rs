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
    ProblemFile,
    ProblemQuery,
    QueryBadValue { value, allowed, used },
    SeedNumber { seed },
    Undo,
    Redo,
    LibraryButton,
    LoadButton,
    LoadHelp,
    ShareButton,
    LanguageLabel,
    LanguageName,
    ThemeAuto,
    ThemeLight,
    ThemeDark,
    // Transport
    TransportLabel,
    Play,
    Pause,
    PlayOrPause,
    StepOn,
    StepBackward,
    ToStart,
    SecondBack,
    SecondOn,
    Slower,
    Faster,
    SpeedLabel,
    SpeedTimes { n },
    ScrubberLabel,
    EndLabel { clock },
    RunningTo { clock },
    // Tabs of the narrow layout, names of regions
    TabsLabel,
    TabMap,
    TabLayers,
    TabWhy,
    TabCharts,
    TabTasks,
    // Charts
    ChartsLabel,
    ChartQueue,
    ChartSignals,
    ChartReplicas,
    ChartTtft,
    ChartLedger,
    UnitQueue,
    UnitShare,
    UnitReplicas,
    UnitSeconds,
    UnitGpus,
    LineWaiting,
    LineArrivals,
    LineGpuUtilization,
    LineGpuMemory,
    LineQueueShare,
    LineKvUsage,
    LineRawDesired,
    LineDesired,
    LineReady,
    LineTtftP99,
    LineSlo { limit },
    LedgerWorking,
    LedgerForNothing,
    LedgerBooting,
    LedgerDraining,
    LedgerHeld,
    LedgerLoading,
    LedgerTraining,
    LedgerServingBusy,
    LedgerServingIdle,
    LedgerEmpty,
    PerSecond { n },
    SumNothing,
    SumNoSample,
    SumQueue { waiting, arrivals },
    SumSignals { gpu, memory, queue, kv },
    SumReplicas { raw, desired, ready },
    SumTtftMet { p99, slo },
    SumTtftMissed { p99, slo },
    SumTtftNone,
    SumLedger { working, paid, nothing },
    ShowTable,
    TableTime,
    TableCaption { chart },
    NoValue,
    // Dialogs
    Close,
    OpenExperiment,
    OpenNow,
    ShareTitle,
    ShareLink,
    ShareHash,
    ShareHashHelp,
    ShareFits { n },
    ShareLong { n },
    ShareTooLong { n },
    Copy,
    CopyByHand,
    KeysTitle,
    KeysNote,
    KeysSingle,
    KeysShow,
    ProblemPlace,
    ProblemWhat,
    // Files
    FileKinds,
    FileTooLarge { size, limit },
    FileUnreadable,
    FileReading { name, n },
    FileMore { n },
    DropHere,
    // Notices
    NoticeRefused { why },
    NoticeForked { at, n },
    NoticeCopied,
    NoticeOtherResult,
    NoticeTrace { name, n, length },
    NoticeNotKept,
    Dismiss,
    // Embed
    EmbedStart,
    EmbedOpenFull,
    EmbedNothing,
    // The page that replaces the lab after a failure
    PanicTitle,
    PanicText,
    PanicVersion { version },
    PanicRun { scenario, seed },
    PanicReport,
    PanicCopy,
    PanicCopied,
    PanicRestart,

    // --- Map (racks, nodes, cells, tools, pending tray, drag and refusals) ---
    MapTitle,

    // --- Layers, why-log, waits, score, tasks ---
    WhyTitle,

    // --- Scenario texts (titles, stories, tasks, hints) ---
    ScenarioSandbox,
    SandboxQuestion,
    SandboxStory,
    SandboxHintOne,
    SandboxHintTwo,
    SandboxHintThree,
    TrapTitle,
    TrapQuestion,
    TrapStory,
    TrapTaskSee,
    TrapTaskStart,
    TrapTaskDomain,
    TrapHintOne,
    TrapHintTwo,
    TrapHintThree,
    SignalTitle,
    SignalQuestion,
    SignalStory,
    SignalTaskSee,
    SignalTaskCatchUp,
    SignalHintOne,
    SignalHintTwo,
    SignalHintThree,
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
