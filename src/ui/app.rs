//! The page's one stateful component: it holds the model, carries out effects and runs frames.
//!
//! Frames are asked for only while time runs or a jump is being computed. Each spends a bounded
//! part of itself on events, so that the page answers at any speed.

mod look;
mod open;
mod panels;
mod talk;

pub use open::AppProps;

use super::shell::files::{Progress, Reading};
use super::shell::{self, address, clipboard, keyboard, media, page, panic, storage};
use crate::session::{self, Effect, Message, Model, Notice};
use crate::sim::id::ServiceId;
use crate::sim::time::Span;
use gloo::events::EventListener;
use gloo::render::AnimationFrame;
use gloo::timers::callback::Timeout;
use look::Look;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use talk::Talk;
use web_sys::File;
use yew::{Component, Context, Html};

/// Events between two looks at the clock.
const SLICE_EVENTS: usize = 500;
/// Part of a frame that events may take.
const FRAME_BUDGET_MS: f64 = 8.0;
/// The same during a jump, when the way is not worth watching, and how often it is drawn then.
const JUMP_SLICE_EVENTS: usize = 5_000;
const JUMP_BUDGET_MS: f64 = 120.0;
const JUMP_DRAWN_EVERY_MS: f64 = 500.0;
/// With more nodes than this in view a frame takes longer to draw than to simulate, so that
/// playing is drawn at most this often.
const MANY_NODES: usize = 24;
const MANY_DRAWN_EVERY_MS: f64 = 100.0;
/// The address follows a change after this pause.
const ADDRESS_AFTER_MS: u32 = 500;

/// Views of the narrow layout, one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    Map,
    Layers,
    Why,
    Charts,
    Tasks,
}

pub enum Msg {
    Session(Message),
    Keyed(keyboard::Keyed),
    /// An animation frame, with its time in milliseconds.
    Frame(f64),
    ShowTab(Tab),
    /// Another service is to be shown in the charts.
    ChartService(ServiceId),
    SingleKeys(bool),
    File(File),
    Reading(Option<Progress>),
    CancelReading,
    Dragging(bool),
    Copied(bool),
    /// The learner pressed Start in an embed.
    Begin,
    /// The system's colours or the width class changed, or the page was hidden.
    Surroundings,
    AddressDue,
    HashChanged,
}

pub struct App {
    model: Rc<RefCell<Model>>,
    look: Look,
    talk: Talk,
    tab: Tab,
    single_keys: Rc<Cell<bool>>,
    /// How far a trace is read.
    reading: Option<Progress>,
    reader: Option<Reading>,
    dragging: bool,
    /// Whether the clipboard took the last link, once it has answered.
    copied: Option<bool>,
    begun: bool,
    narrow: bool,
    frame: Option<AnimationFrame>,
    last_frame_ms: Option<f64>,
    /// When the page was last drawn by a frame.
    drawn_ms: f64,
    /// A later change replaces the timer, which drops the earlier one.
    address: Option<Timeout>,
    /// The fragment that the page wrote itself last.
    written: String,
    _listeners: Vec<EventListener>,
}

impl Component for App {
    type Message = Msg;
    type Properties = AppProps;

    fn create(ctx: &Context<Self>) -> Self {
        let props = ctx.props();
        let model = props.model.clone();
        let single_keys = Rc::new(Cell::new(storage::load("single-keys").as_deref() != Some("off")));
        let mut app = App {
            look: Look::default(),
            talk: Talk::default(),
            tab: Tab::Map,
            reading: None,
            reader: None,
            dragging: false,
            copied: None,
            begun: !props.options.embed,
            narrow: media::matches(media::NARROW),
            frame: None,
            last_frame_ms: None,
            drawn_ms: 0.0,
            address: None,
            written: address::fragment(),
            _listeners: listeners(ctx, &single_keys),
            single_keys,
            model,
        };
        app.dress(ctx);
        app.after_change(ctx);
        app
    }

    fn update(&mut self, ctx: &Context<Self>, msg: Msg) -> bool {
        match msg {
            Msg::Session(message) => self.session(ctx, message),
            Msg::Keyed(message) => {
                let dialog = self.model.borrow().dialog.is_some();
                if dialog {
                    return false;
                }
                let message = message(self.model.borrow().run.now());
                self.session(ctx, message);
            }
            Msg::Frame(ms) => return self.frame(ctx, ms),
            Msg::ShowTab(tab) => self.tab = tab,
            Msg::ChartService(service) => {
                self.look.service = Some(service);
                self.after_change(ctx);
            }
            Msg::SingleKeys(on) => {
                self.single_keys.set(on);
                storage::store("single-keys", if on { "on" } else { "off" });
            }
            Msg::File(file) => {
                let lang = self.model.borrow().lang;
                let (progress, done) = (ctx.link().callback(Msg::Reading), ctx.link().callback(Msg::Session));
                self.dragging = false;
                self.cancel_reading();
                self.reader = Some(shell::files::read(file, lang, progress, done));
            }
            Msg::CancelReading => self.cancel_reading(),
            Msg::Reading(progress) => self.reading = progress,
            Msg::Dragging(on) => {
                let changed = self.dragging != on;
                self.dragging = on;
                return changed;
            }
            Msg::Copied(worked) => {
                self.copied = Some(worked);
                if worked && self.model.borrow().dialog.is_none() {
                    self.session(ctx, Message::Notify(Notice::LinkCopied));
                }
            }
            Msg::Begin => {
                self.begun = true;
                if !self.model.borrow().playing {
                    self.session(ctx, Message::TogglePlay);
                }
            }
            Msg::Surroundings => {
                self.narrow = media::matches(media::NARROW);
                self.dress(ctx);
                if page::hidden() {
                    self.session(ctx, Message::Pause);
                }
            }
            Msg::AddressDue => {
                self.write_address();
                return false;
            }
            Msg::HashChanged => {
                let fragment = address::fragment();
                if fragment.is_empty() || fragment == self.written {
                    return false;
                }
                self.written.clone_from(&fragment);
                self.session(ctx, Message::OpenLink(fragment));
            }
        }
        true
    }

    fn view(&self, ctx: &Context<Self>) -> Html {
        self.draw(ctx)
    }
}

impl App {
    /// A newer file takes the place of the one that is being read, too.
    fn cancel_reading(&mut self) {
        self.reading = None;
        if let Some(reader) = self.reader.take() {
            reader.cancel();
        }
    }

    fn session(&mut self, ctx: &Context<Self>, message: Message) {
        let (was_playing, lang, theme) = {
            let m = self.model.borrow();
            (m.playing, m.lang, m.theme)
        };
        if matches!(message, Message::Share) {
            self.copied = None;
        }
        let effects = session::update(&mut self.model.borrow_mut(), message);
        for effect in effects {
            self.carry_out(ctx, effect);
        }
        let (playing, same_look) = {
            let m = self.model.borrow();
            (m.playing, m.lang == lang && m.theme == theme)
        };
        if playing && !was_playing {
            self.begun = true;
            self.last_frame_ms = None;
        }
        if !same_look {
            self.dress(ctx);
        }
        self.after_change(ctx);
    }

    fn carry_out(&mut self, ctx: &Context<Self>, effect: Effect) {
        match effect {
            Effect::CopyText(fragment) => {
                let link = format!("{}#{fragment}", address::page());
                clipboard::copy(link, ctx.link().callback(Msg::Copied));
            }
            Effect::ReplaceFragment(fragment) => self.put_address(ctx.props().options.embed, fragment),
            Effect::Store { key, value } => {
                if !storage::store(key, &value) {
                    self.model.borrow_mut().notice = Some(Notice::NotKept);
                }
            }
            Effect::Announce(message) => self.talk.say_now(message),
        }
    }

    /// Everything that follows from a changed model: what views are given, what is said, whether a
    /// frame is needed.
    fn after_change(&mut self, ctx: &Context<Self>) {
        let embed = ctx.props().options.embed;
        let model = self.model.borrow();
        self.look.refresh(&model);
        self.talk.hear(&model);
        panic::remember_if_changed(&model);
        if model.playing || model.is_jumping() {
            drop(model);
            self.ask_for_frame(ctx);
            self.address = None;
        } else if !embed {
            let link = ctx.link().clone();
            self.address = Some(Timeout::new(ADDRESS_AFTER_MS, move || link.send_message(Msg::AddressDue)));
        }
    }

    /// Simulates for a part of a frame. True if the page has to be drawn.
    fn frame(&mut self, ctx: &Context<Self>, ms: f64) -> bool {
        self.frame = None;
        let passed_ms = self.last_frame_ms.map_or(0.0, |last| (ms - last).max(0.0));
        self.last_frame_ms = Some(ms);
        {
            let mut model = self.model.borrow_mut();
            let jumping = model.is_jumping();
            if model.begin_frame(Span::from_secs_f64(passed_ms / 1e3)) {
                let (budget_ms, events) =
                    if jumping { (JUMP_BUDGET_MS, JUMP_SLICE_EVENTS) } else { (FRAME_BUDGET_MS, SLICE_EVENTS) };
                let until = shell::now_ms() + budget_ms;
                while !model.slice(events) && shell::now_ms() < until {}
                let every_ms = match model.snapshot.nodes.len() {
                    _ if model.is_jumping() => JUMP_DRAWN_EVERY_MS,
                    MANY_NODES.. if model.playing => MANY_DRAWN_EVERY_MS,
                    _ => 0.0,
                };
                if ms - self.drawn_ms < every_ms {
                    drop(model);
                    self.ask_for_frame(ctx);
                    return false;
                }
                self.drawn_ms = ms;
                model.end_frame();
            }
        }
        self.after_change(ctx);
        true
    }

    fn ask_for_frame(&mut self, ctx: &Context<Self>) {
        if self.frame.is_none() {
            let link = ctx.link().clone();
            let ask = gloo::render::request_animation_frame(move |ms| link.send_message(Msg::Frame(ms)));
            self.frame = Some(ask);
        }
    }

    fn dress(&mut self, ctx: &Context<Self>) {
        let model = self.model.borrow();
        page::dress(&model.lang, model.theme, ctx.props().options.reduce_motion);
        self.look.colours += 1;
    }

    fn put_address(&mut self, embed: bool, fragment: String) {
        if !embed && fragment != self.written {
            address::replace_fragment(&fragment);
            self.written = fragment;
        }
    }

    /// The address follows the run, so that a reload or a copied address opens it: the scenario's
    /// name while nothing was done, the whole run afterwards. An untouched page keeps its address.
    fn write_address(&mut self) {
        let fragment = {
            let model = self.model.borrow();
            if model.playing || model.is_jumping() || model.trace.is_some() {
                return;
            }
            match (&model.origin, model.run.log().is_empty()) {
                (crate::share::Origin::Library(id), true) => {
                    let seed = model.run.setup().seed;
                    let library_seed = crate::scenario::library(id).and_then(Result::ok).map(|s| s.setup.seed);
                    if library_seed == Some(seed) { format!("s={id}") } else { format!("s={id}&seed={seed}") }
                }
                _ => session::link(&model).0,
            }
        };
        let untouched = self.written.is_empty() && fragment == self.look.opened_as;
        if !untouched {
            self.put_address(false, fragment);
        }
    }
}

fn listeners(ctx: &Context<App>, single_keys: &Rc<Cell<bool>>) -> Vec<EventListener> {
    let link = ctx.link();
    let mut all = keyboard::listen(single_keys.clone(), link.callback(Msg::Keyed));
    for query in [media::DARK, media::NARROW] {
        all.extend(media::watch(query, link.callback(|()| Msg::Surroundings)));
    }
    if let Some(document) = page::document() {
        let changed = link.callback(|()| Msg::Surroundings);
        all.push(EventListener::new(&document, "visibilitychange", move |_| changed.emit(())));
        all.extend(shell::files::listen_for_drops(&document, link.callback(Msg::File), link.callback(Msg::Dragging)));
    }
    if let Some(window) = web_sys::window() {
        let changed = link.callback(|()| Msg::HashChanged);
        all.push(EventListener::new(&window, "hashchange", move |_| changed.emit(())));
    }
    all
}
