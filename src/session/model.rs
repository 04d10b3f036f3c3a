//! Model, messages, effects, and the pure `update` between them.

use super::run::Run;
use crate::i18n;
use crate::sim::command::{Command, Refusal};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::snapshot::Snapshot;
use crate::sim::time::{Span, Time};
use crate::sim::traffic::Trace;
use std::rc::Rc;
use std::sync::Arc;

/// Simulated seconds per second of the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(pub u32);

impl Speed {
    pub const ALL: [Speed; 5] = [Speed(1), Speed(10), Speed(60), Speed(600), Speed(3600)];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// What the system says.
    Auto,
    Light,
    Dark,
}

/// What the person has picked on the map or in the log; it lights the same things everywhere.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Selection {
    #[default]
    Nothing,
    Node(NodeId),
    Group(GroupId),
    /// A record of the why-log, by its id.
    Decision(u64),
}

/// What is open over the page.
#[derive(Debug, Clone, PartialEq)]
pub enum Dialog {
    Library,
    /// The link, ready to be copied by hand if the clipboard is refused.
    Share {
        link: String,
        state_hash: String,
    },
    Keys,
    /// What was wrong with a link, trace or scenario file; the run goes on behind it.
    Problems {
        title: i18n::Message,
        problems: Vec<Problem>,
    },
}

/// One thing wrong with input: where, what, and what was used instead.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// `line 12`, `hpa.target_percent`, `x1`: a place that the person can find.
    pub place: String,
    pub what: String,
}

/// A short line that needs no answer, shown until the next act.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A command was refused; nothing changed.
    Refused { command: Command, why: Refusal },
    /// The future that was recorded after this moment is gone: the run forked here.
    Forked { at: Time, commands_dropped: usize },
    LinkCopied,
    TraceLoaded { name: String, requests: usize, length: Span },
    /// Storage is blocked: preferences are not kept.
    NotKept,
}

/// What the person did, or what the shell reports.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Open a library scenario afresh.
    OpenScenario { id: String, seed: Option<u64> },
    /// Open a whole URL fragment (without `#`).
    OpenLink(String),
    /// A scenario file that was dropped or chosen.
    OpenFile { name: String, text: String },
    /// A request trace that was read; it replaces the traffic of the scaled service.
    LoadTrace { name: String, trace: Arc<Trace> },
    /// A file was dropped that could not be read.
    ShowProblems { title: i18n::Message, problems: Vec<Problem> },
    TogglePlay,
    Pause,
    SetSpeed(Speed),
    Faster,
    Slower,
    /// To the next decision that changes something on the page.
    Step,
    /// To just before the previous one.
    StepBack,
    Seek(Time),
    Rewind,
    /// A command of the learner, stamped with the present time.
    Do(Command),
    Undo,
    Redo,
    Select(Selection),
    Open(Dialog),
    Share,
    CloseDialog,
    DismissNotice,
    CycleTheme,
    SetLang(String),
}

/// What the shell must do after an update.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    CopyText(String),
    /// Put this fragment (without `#`) into the address, replacing the entry.
    ReplaceFragment(String),
    /// Keep a preference (`theme`, `lang`) if storage is there.
    Store { key: &'static str, value: String },
    /// Say this in the polite live region.
    Announce(i18n::Message),
}

/// The whole state of the page that is not the simulation's.
#[derive(Clone)]
pub struct Model {
    pub run: Run,
    pub snapshot: Rc<Snapshot>,
    pub playing: bool,
    pub speed: Speed,
    pub selection: Selection,
    pub dialog: Option<Dialog>,
    pub notice: Option<Notice>,
    pub theme: Theme,
    pub lang: i18n::Lang,
    /// Where the present frame wants to get to.
    target: Time,
}
