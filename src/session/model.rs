//! Model, messages, effects.

use super::run::Run;
use crate::i18n;
pub use crate::problem::Problem;
use crate::scenario::{self, Task, TraceChoice};
use crate::share::Origin;
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
#[allow(clippy::large_enum_variant, reason = "one dialog at a time")]
pub enum Dialog {
    Library,
    /// The link, ready to be copied by hand if the clipboard is refused.
    Share {
        link: String,
        state_hash: String,
    },
    Keys,
    /// What a trace holds, and how it is to be used.
    Trace {
        name: String,
        trace: Arc<Trace>,
        /// What the form starts with.
        choice: TraceChoice,
    },
    /// What was wrong with a link, trace or scenario file; the run goes on behind it.
    Problems {
        title: i18n::Message,
        problems: Vec<Problem>,
    },
}

/// A short line that needs no answer, shown until the next act.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A command was refused; nothing changed.
    Refused {
        command: Command,
        why: Refusal,
    },
    /// The future that was recorded after this moment is gone: the run forked here.
    Forked {
        at: Time,
        commands_dropped: usize,
    },
    LinkCopied,
    /// The link's run came out differently: it was made with another engine, or tampered with.
    OtherResult,
    TraceLoaded {
        name: String,
        requests: usize,
        /// At the chosen speed.
        length: Span,
        service: String,
        lengths_only: bool,
    },
    /// Storage is blocked: preferences are not kept.
    NotKept,
}

/// What the person did, or what the shell reports.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Open a library scenario afresh.
    OpenScenario {
        id: String,
        seed: Option<u64>,
    },
    /// Open a whole URL fragment (without `#`).
    OpenLink(String),
    /// A scenario file that was dropped or chosen.
    OpenFile {
        name: String,
        text: String,
    },
    /// A request trace that was read: asks how it is to be used.
    LoadTrace {
        name: String,
        trace: Arc<Trace>,
    },
    /// The learner has chosen: restarts the scenario with the trace.
    UseTrace {
        name: String,
        trace: Arc<Trace>,
        choice: TraceChoice,
    },
    /// A file was dropped that could not be read.
    ShowProblems {
        title: i18n::Message,
        problems: Vec<Problem>,
    },
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
    /// The shell reports something (link copied, storage blocked).
    Notify(Notice),
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
    Store {
        key: &'static str,
        value: String,
    },
    /// Say this in the polite live region.
    Announce(i18n::Message),
}

/// The whole state of the page.
#[derive(Clone)]
pub struct Model {
    pub run: Run,
    pub snapshot: Rc<Snapshot>,
    /// Id of the library scenario that the run came from, or the name of a file.
    pub scenario: String,
    /// Where the run came from, for links.
    pub origin: Origin,
    /// State hash that an opened link promises at its time.
    pub(super) promised: Option<(Time, u64)>,
    /// Tasks of the scenario, and when each was first done; rewinding does not undo them.
    pub tasks: Vec<(Task, Option<Time>)>,
    /// Name and hash of the trace that drives a service, if one does. Tasks are about the scenario's
    /// own traffic, so there are none then.
    pub trace: Option<(String, u64)>,
    pub playing: bool,
    pub speed: Speed,
    pub selection: Selection,
    pub dialog: Option<Dialog>,
    pub notice: Option<Notice>,
    pub theme: Theme,
    pub lang: i18n::Lang,
    /// Grows whenever the snapshot was taken anew: a cheap equality for views.
    pub version: u64,
    /// Where the present frame wants to get to, in µs (finer than one frame's step may be).
    target_us: f64,
    /// A jump (seek, link) still has events to run.
    jumping: Option<Time>,
}

/// Open tasks are looked at this often, in simulated time.
const TASKS_EVERY: Span = Span::from_secs(5);

/// Longest stretch of wall clock that one frame makes up for: a tab that slept does not race.
const FRAME_MAX_US: u64 = 100_000;

impl Model {
    /// A model with the first scenario of the library.
    ///
    /// # Errors
    /// If the library itself is broken; tests see that it is not.
    pub fn new(lang: i18n::Lang, theme: Theme) -> Result<Model, Problem> {
        let id = scenario::LIBRARY[0].0;
        let broken = |p: Vec<Problem>| p.into_iter().next().unwrap_or_else(|| Problem::new(id, "cannot be read"));
        let first = scenario::library(id).ok_or_else(|| Problem::new(id, "is missing"))?.map_err(broken)?;
        let tasks = first.tasks.into_iter().map(|t| (t, None)).collect();
        let run = Run::new(Arc::new(first.setup), Vec::new()).map_err(|e| Problem::new(id, e.to_string()))?;
        let snapshot = Rc::new(run.world().snapshot());
        let target_us = run.now().0 as f64;
        Ok(Model {
            run,
            snapshot,
            scenario: id.to_owned(),
            origin: Origin::Library(id.to_owned()),
            promised: None,
            tasks,
            trace: None,
            playing: false,
            speed: Speed(60),
            selection: Selection::Nothing,
            dialog: None,
            notice: None,
            theme,
            lang,
            version: 0,
            target_us,
            jumping: None,
        })
    }

    /// A frame began: `wall` has passed since the last one. Returns whether there is work.
    pub fn begin_frame(&mut self, wall: Span) -> bool {
        if self.jumping.is_some() {
            return true;
        }
        if !self.playing {
            return false;
        }
        let step_us = wall.0.min(FRAME_MAX_US) as f64 * f64::from(self.speed.0);
        // When the machine cannot keep up, simulated time falls behind instead of piling up.
        let ahead_us = (self.target_us - self.run.now().0 as f64).max(0.0);
        self.target_us = self.run.now().0 as f64 + step_us + ahead_us.min(step_us);
        true
    }

    /// Runs at most `events_max` events of the frame. True when the frame's time is reached: the
    /// shell calls this until it is, or until its own time budget is spent.
    pub fn slice(&mut self, events_max: usize) -> bool {
        let goal = self.jumping.unwrap_or(Time(self.target_us as u64));
        let done = self.advance_looking(goal, events_max);
        if done && self.jumping.take().is_some() {
            self.hold_here();
            self.check_promise();
        }
        if self.run.now() >= self.run.end() {
            self.playing = false;
            return true;
        }
        done
    }

    /// Advances, and looks at the open tasks every [`TASKS_EVERY`] on the way: whether one is done
    /// must not depend on which moments were drawn.
    fn advance_looking(&mut self, goal: Time, events_max: usize) -> bool {
        let mut left = events_max;
        while self.tasks.iter().any(|(_, done)| done.is_none()) {
            let look = Time((self.run.now().0 / TASKS_EVERY.0 + 1) * TASKS_EVERY.0);
            if look > goal.min(self.run.end()) {
                break;
            }
            let did = self.run.advance(look, left);
            left -= did.events.min(left);
            if !did.reached {
                return false;
            }
            let snapshot = self.run.world().snapshot();
            self.check_tasks(&snapshot);
        }
        self.run.advance(goal, left).reached
    }

    fn check_tasks(&mut self, snapshot: &Snapshot) {
        for (task, done) in &mut self.tasks {
            if done.is_none() && task.check.holds(snapshot) {
                *done = Some(snapshot.now);
            }
        }
    }

    /// The frame ends: takes the snapshot that is drawn.
    pub fn end_frame(&mut self) {
        self.refresh();
    }

    /// Goes the rest of a jump at once: what comes next must meet its goal.
    pub(super) fn finish_jump(&mut self) {
        if self.jumping.is_some() {
            self.slice(usize::MAX);
        }
    }

    /// Where a jump that is still running leads.
    pub fn jump_target(&self) -> Option<Time> {
        self.jumping
    }

    /// Whether a jump is still running.
    pub fn is_jumping(&self) -> bool {
        self.jumping.is_some()
    }

    /// Whether a link's run came out as its sender saw it.
    fn check_promise(&mut self) {
        if let Some((at, hash)) = self.promised.take()
            && at == self.run.now()
            && hash != self.run.world().state_hash()
        {
            self.notice = Some(Notice::OtherResult);
        }
    }

    pub(super) fn refresh(&mut self) {
        self.snapshot = Rc::new(self.run.world().snapshot());
        self.check_tasks(&self.snapshot.clone());
        self.version += 1;
    }

    pub(super) fn jump_to(&mut self, at: Time) {
        let at = at.min(self.run.end());
        self.run.seek(at, 0);
        self.jumping = Some(at);
    }

    /// Forgets what frames still wanted: playing goes on from where the world stands.
    pub(super) fn hold_here(&mut self) {
        self.target_us = self.run.now().0 as f64;
    }

    pub(super) fn replace_run(&mut self, run: Run) {
        self.run = run;
        self.promised = None;
        for (_, done) in &mut self.tasks {
            *done = None;
        }
        self.playing = false;
        self.jumping = None;
        self.selection = Selection::Nothing;
        self.notice = None;
        self.hold_here();
        self.refresh();
    }
}
