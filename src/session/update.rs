//! What each message does.

use super::model::{Dialog, Effect, Message, Model, Notice, Problem, Selection, Speed, Theme};
use super::open;
use crate::i18n::{self, Lang};
use crate::share::{self, Shared};
use crate::sim::command::Command;
use crate::sim::time::Time;

/// Events that a single message may run at once; longer ways are made by frames.
const EVENTS_AT_ONCE: usize = 200_000;

/// Changes the model and says what the shell must do.
pub fn update(model: &mut Model, message: Message) -> Vec<Effect> {
    match message {
        Message::OpenScenario { id, seed } => open::scenario(model, &id, seed),
        Message::OpenLink(fragment) => open::link(model, &fragment),
        Message::OpenFile { name, text } => open::file(model, &name, &text),
        Message::LoadTrace { name, trace } => open::offer_trace(model, name, trace),
        Message::UseTrace { name, trace, choice } => open::trace(model, name, trace, choice),
        Message::ShowProblems { title, problems } => show(model, Dialog::Problems { title, problems }),
        Message::TogglePlay => toggle_play(model),
        Message::Pause => {
            model.playing = false;
            Vec::new()
        }
        Message::SetSpeed(speed) => set_speed(model, speed),
        Message::Faster => set_speed(model, neighbour(model.speed, 1)),
        Message::Slower => set_speed(model, neighbour(model.speed, -1)),
        Message::Step => moved(model, |m| m.run.step(EVENTS_AT_ONCE)),
        Message::StepBack => moved(model, |m| m.run.step_back(EVENTS_AT_ONCE)),
        Message::Seek(at) => seek(model, at),
        Message::Rewind => seek(model, Time::ZERO),
        Message::Do(command) => act(model, command),
        Message::Undo => moved(model, |m| {
            m.run.undo(usize::MAX);
        }),
        Message::Redo => moved(model, |m| {
            m.run.redo(usize::MAX);
        }),
        Message::Select(selection) => select(model, selection),
        Message::Open(dialog) => show(model, dialog),
        Message::Share => share_link(model),
        Message::CloseDialog => {
            model.dialog = None;
            Vec::new()
        }
        Message::DismissNotice => {
            model.notice = None;
            Vec::new()
        }
        Message::Notify(notice) => {
            model.notice = Some(notice);
            Vec::new()
        }
        Message::CycleTheme => cycle_theme(model),
        Message::SetLang(tag) => set_lang(model, &tag),
    }
}

fn toggle_play(model: &mut Model) -> Vec<Effect> {
    let at_end = model.run.now() >= model.run.end();
    model.playing = !model.playing && !at_end;
    model.hold_here();
    model.notice = None;
    Vec::new()
}

fn set_speed(model: &mut Model, speed: Speed) -> Vec<Effect> {
    model.speed = speed;
    model.hold_here();
    Vec::new()
}

fn neighbour(speed: Speed, by: isize) -> Speed {
    let at = Speed::ALL.iter().position(|s| *s == speed).unwrap_or(2);
    let at = at.saturating_add_signed(by).min(Speed::ALL.len() - 1);
    Speed::ALL[at]
}

/// A move in time by hand: play stops, so that the person sees where they are.
fn moved(model: &mut Model, go: impl FnOnce(&mut Model)) -> Vec<Effect> {
    model.finish_jump();
    model.playing = false;
    model.notice = None;
    go(model);
    model.hold_here();
    model.refresh();
    Vec::new()
}

fn seek(model: &mut Model, at: Time) -> Vec<Effect> {
    model.notice = None;
    model.jump_to(at);
    model.refresh();
    Vec::new()
}

fn act(model: &mut Model, command: Command) -> Vec<Effect> {
    model.finish_jump();
    match model.run.act(&command) {
        Ok(dropped) => {
            let forked = Notice::Forked { at: model.run.now(), commands_dropped: dropped };
            model.notice = (dropped > 0).then_some(forked);
        }
        Err(why) => model.notice = Some(Notice::Refused { command, why }),
    }
    model.hold_here();
    model.refresh();
    Vec::new()
}

fn select(model: &mut Model, selection: Selection) -> Vec<Effect> {
    model.selection = selection;
    Vec::new()
}

fn show(model: &mut Model, dialog: Dialog) -> Vec<Effect> {
    model.playing = false;
    model.dialog = Some(dialog);
    Vec::new()
}

/// The fragment (without `#`) that opens the run where it stands, and the state hash it promises.
pub fn link(model: &Model) -> (String, u64) {
    let hash = model.run.world().state_hash();
    let link = share::link(&Shared {
        engine: share::ENGINE,
        origin: model.origin.clone(),
        seed: model.run.world().setup().seed,
        log: model.run.log().to_vec(),
        at: model.run.now(),
        state_hash: hash,
        trace: model.trace.clone(),
    });
    (link, hash)
}

fn share_link(model: &mut Model) -> Vec<Effect> {
    model.finish_jump();
    if let Some((name, _)) = &model.trace {
        let what = i18n::Message::ProblemShareTrace { name: name.clone().into() };
        let problem = Problem::new(name.clone(), i18n::render(&model.lang, &what));
        return show(model, Dialog::Problems { title: i18n::Message::ProblemShare, problems: vec![problem] });
    }
    let (link, hash) = link(model);
    let state_hash = format!("{hash:016x}");
    let copy = Effect::CopyText(link.clone());
    let fragment = Effect::ReplaceFragment(link.clone());
    let mut effects = show(model, Dialog::Share { link, state_hash });
    effects.extend([fragment, copy]);
    effects
}

fn cycle_theme(model: &mut Model) -> Vec<Effect> {
    model.theme = match model.theme {
        Theme::Auto => Theme::Light,
        Theme::Light => Theme::Dark,
        Theme::Dark => Theme::Auto,
    };
    let value = match model.theme {
        Theme::Auto => "auto",
        Theme::Light => "light",
        Theme::Dark => "dark",
    };
    vec![Effect::Store { key: "theme", value: value.to_owned() }]
}

fn set_lang(model: &mut Model, tag: &str) -> Vec<Effect> {
    let Some(lang) = Lang::from_tag(tag) else { return Vec::new() };
    model.lang = lang;
    vec![Effect::Store { key: "lang", value: tag.to_owned() }, Effect::Announce(i18n::Message::LabTitle)]
}
