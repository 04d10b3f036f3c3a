//! The polite live region: milestones and notices, at most one message in two seconds while time runs.

use crate::i18n::{Lang, Message};
use crate::session::Model;
use crate::ui::{say, shell::now_ms};
use crate::view::{announce, names::Names};
use yew::AttrValue;

/// Shortest pause between two announcements of a running lab.
const EVERY_MS: f64 = 2_000.0;

/// Decisions of one frame that are looked at.
const LOOKED_AT_MAX: usize = 50;

#[derive(Default)]
pub struct Talk {
    said: Option<Message>,
    waiting: Option<Message>,
    said_at_ms: f64,
    /// Decisions up to this id were heard.
    heard: Option<u64>,
}

impl Talk {
    /// Takes the newest milestone since the last call; older ones that were not said are dropped.
    pub fn hear(&mut self, model: &Model) {
        let newest = model.run.decisions().next_back().map(|d| d.id);
        if let (Some(heard), Some(newest)) = (self.heard, newest)
            && newest > heard
            && let Some(message) = milestone(model, heard)
        {
            self.waiting = Some(message);
        }
        self.heard = newest.or(Some(0));
        let running = model.playing || model.is_jumping();
        if self.waiting.is_some()
            && (!running || now_ms() - self.said_at_ms >= EVERY_MS)
            && let Some(message) = self.waiting.take()
        {
            self.say_now(message);
        }
    }

    pub fn say_now(&mut self, message: Message) {
        self.said = Some(message);
        self.said_at_ms = now_ms();
    }

    pub fn text(&self, lang: &Lang) -> AttrValue {
        self.said.as_ref().map_or(AttrValue::default(), |m| say(lang, m))
    }
}

/// The newest decision after `heard` that is worth saying.
fn milestone(model: &Model, heard: u64) -> Option<Message> {
    let names = Names::of(&model.snapshot);
    let fresh = model.run.decisions().rev().take_while(|d| d.id > heard).take(LOOKED_AT_MAX);
    let mut found = fresh.filter_map(|d| announce::milestone(d, &names));
    found.next()
}
