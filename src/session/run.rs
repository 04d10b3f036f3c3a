//! One run: the world, the whole command log, checkpoints to rewind to, and what lies ahead.
//!
//! Commands later than the present are kept until the person acts in the past: playing on then
//! meets them again. Acting drops them: the run forks.

use crate::sim::command::{Command, Refusal, Stamped};
use crate::sim::decision::Decision;
use crate::sim::id::ServiceId;
use crate::sim::series_view::{Point, ServiceTrack, Track};
use crate::sim::setup::Setup;
use crate::sim::time::{Span, Time};
use crate::sim::world::{StartError, World};
use std::collections::VecDeque;
use std::sync::Arc;

/// Distance of checkpoints; every second one goes when there are too many.
const CHECKPOINT_EVERY: Span = Span::from_mins(2);
const CHECKPOINTS_MAX: usize = 40;

/// A world with its history.
#[derive(Debug, Clone)]
pub struct Run {
    world: World,
    /// All commands, those ahead of the present included.
    log: Vec<Stamped>,
    /// How many of them the world has had.
    applied: usize,
    /// Commands that were undone, newest last.
    undone: Vec<Stamped>,
    checkpoints: VecDeque<Checkpoint>,
    spacing: Span,
    /// The latest time that was ever shown: the scrubber is filled up to here.
    seen_until: Time,
}

#[derive(Debug, Clone)]
struct Checkpoint {
    world: Arc<World>,
    /// Commands applied before it.
    applied: usize,
}

/// How an advance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advanced {
    pub events: usize,
    /// False if the budget of events ran out first.
    pub reached: bool,
}

impl Run {
    /// # Errors
    /// What in the scenario contradicts itself.
    pub fn new(setup: Arc<Setup>, log: Vec<Stamped>) -> Result<Run, StartError> {
        let world = World::new(setup)?;
        let first = Checkpoint { world: Arc::new(world.clone()), applied: 0 };
        Ok(Run {
            world,
            log,
            applied: 0,
            undone: Vec::new(),
            checkpoints: VecDeque::from([first]),
            spacing: CHECKPOINT_EVERY,
            seen_until: Time::ZERO,
        })
    }

    pub fn world(&self) -> &World {
        &self.world
    }
    /// The records of the why-log, oldest first.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = &Decision> + ExactSizeIterator {
        self.world.decisions()
    }
    /// Points of a chart's track in a range, at most so many.
    pub fn series(&self, track: Track, from: Time, to: Time, points_max: usize) -> Vec<Point> {
        self.world.series(track, from, to, points_max)
    }
    /// The value of a service's signal that fills its range; `None` without a bound.
    pub fn full_range(&self, service: ServiceId, track: ServiceTrack) -> Option<f64> {
        self.world.full_range(service, track)
    }
    /// What the run was built from.
    pub fn setup(&self) -> &Setup {
        self.world.setup()
    }
    pub fn now(&self) -> Time {
        self.world.now()
    }
    pub fn end(&self) -> Time {
        self.world.end()
    }
    pub fn seen_until(&self) -> Time {
        self.seen_until.max(self.now())
    }
    /// Commands up to the present.
    pub fn log(&self) -> &[Stamped] {
        &self.log[..self.applied]
    }
    /// Commands that playing on will meet.
    pub fn ahead(&self) -> &[Stamped] {
        &self.log[self.applied..]
    }

    /// Advances to `until`, applying logged commands at their times.
    pub fn advance(&mut self, until: Time, events_max: usize) -> Advanced {
        let until = until.min(self.end());
        let mut left = events_max;
        loop {
            let command_at = self.log.get(self.applied).map(|c| c.at).filter(|t| *t <= until);
            let checkpoint_at = self.next_checkpoint();
            let stop = command_at.unwrap_or(until).min(checkpoint_at);
            let did = self.world.advance(stop, left);
            left -= did.events;
            self.seen_until = self.seen_until.max(self.now());
            if !did.reached {
                return Advanced { events: events_max - left, reached: false };
            }
            if command_at == Some(stop) {
                self.apply_next();
            } else if stop == checkpoint_at && stop <= until {
                self.save();
            }
            if stop >= until && self.log.get(self.applied).is_none_or(|c| c.at > until) {
                return Advanced { events: events_max - left, reached: true };
            }
        }
    }

    /// Runs to the next decision that changes something on the page.
    pub fn step(&mut self, events_max: usize) {
        let until = self.log.get(self.applied).map_or(self.end(), |c| c.at.min(self.end()));
        let milestone = self.world.step(until, events_max);
        if !milestone && self.log.get(self.applied).is_some_and(|c| c.at <= self.now()) {
            self.apply_next();
        }
        self.seen_until = self.seen_until.max(self.now());
        if self.now() >= self.next_checkpoint() {
            self.save();
        }
    }

    fn apply_next(&mut self) {
        if let Some(stamped) = self.log.get(self.applied).cloned() {
            // A logged command was accepted once; in a forked past it may be refused, and the
            // why-log then says so.
            let _ = self.world.apply(&stamped.command);
            self.applied += 1;
        }
    }

    /// A command of the person, now. Whatever was ahead is dropped.
    ///
    /// # Errors
    /// Why it was refused; nothing is logged or dropped then.
    pub fn act(&mut self, command: &Command) -> Result<usize, Refusal> {
        if self.log.len() >= crate::sim::limits::COMMANDS_MAX {
            return Err(Refusal::TooMany { limit: crate::sim::limits::COMMANDS_MAX as u32 });
        }
        self.world.check(command)?;
        self.world.apply(command)?;
        let dropped = self.log.len() - self.applied;
        self.log.truncate(self.applied);
        self.log.push(Stamped { at: self.now(), command: command.clone() });
        self.applied += 1;
        self.undone.clear();
        self.forget_future();
        Ok(dropped)
    }

    /// Checkpoints and seen time after the present belong to a future that is gone.
    fn forget_future(&mut self) {
        let now = self.now();
        while self.checkpoints.back().is_some_and(|c| c.world.now() > now) {
            self.checkpoints.pop_back();
        }
        self.seen_until = now;
    }

    /// Goes to a time, earlier or later, and stays on the log.
    pub fn seek(&mut self, at: Time, events_max: usize) -> Advanced {
        if at < self.now() {
            self.restore(at);
        }
        self.advance(at, events_max)
    }

    /// Puts the nearest checkpoint at or before `at` in place.
    fn restore(&mut self, at: Time) {
        let found = self.checkpoints.iter().rev().find(|c| c.world.now() <= at).or(self.checkpoints.front());
        if let Some(checkpoint) = found.cloned() {
            self.world = World::clone(&checkpoint.world);
            self.applied = checkpoint.applied;
        }
    }

    /// Takes back the last command before or at the present, and plays up to the present without it.
    pub fn undo(&mut self, events_max: usize) -> Option<Stamped> {
        let now = self.now();
        let last = self.applied.checked_sub(1)?;
        let removed = self.log.remove(last);
        let at = removed.at;
        while self.checkpoints.len() > 1 && self.checkpoints.back().is_some_and(|c| c.applied > last) {
            self.checkpoints.pop_back();
        }
        self.undone.push(removed.clone());
        self.restore(at);
        self.advance(now, events_max);
        self.forget_future();
        Some(removed)
    }

    /// Puts the last undone command back at its time, and plays up to the present with it.
    pub fn redo(&mut self, events_max: usize) -> Option<Stamped> {
        let now = self.now();
        let command = self.undone.pop()?;
        let keep = std::mem::take(&mut self.undone);
        self.seek(command.at, events_max);
        let done = self.act(&command.command).is_ok();
        self.undone = keep;
        if self.now() < now {
            self.advance(now, events_max);
        }
        done.then_some(command)
    }

    pub fn can_undo(&self) -> bool {
        self.applied > 0
    }
    pub fn can_redo(&self) -> bool {
        !self.undone.is_empty()
    }

    /// To just before the last milestone that is earlier than the present.
    pub fn step_back(&mut self, events_max: usize) {
        let now = self.now();
        let earlier = self.world.decisions().rev().find(|d| d.is_milestone() && d.at < now).map(|d| d.at);
        self.seek(earlier.unwrap_or(Time::ZERO), events_max);
    }

    fn next_checkpoint(&self) -> Time {
        self.checkpoints.back().map_or(Time::ZERO, |c| c.world.now()) + self.spacing
    }

    fn save(&mut self) {
        let checkpoint = Checkpoint { world: Arc::new(self.world.clone()), applied: self.applied };
        self.checkpoints.push_back(checkpoint);
        if self.checkpoints.len() > CHECKPOINTS_MAX {
            let mut index = 0;
            self.checkpoints.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.spacing = Span(self.spacing.0 * 2);
        }
    }
}
