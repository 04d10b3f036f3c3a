//! The bar on top: where the learner is, undo and redo, library, file, share, language, colours.

use super::{say, shell};
use crate::i18n::{Lang, Message as Text};
use crate::session::{Dialog, Message, Theme};
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlInputElement, HtmlSelectElement};
use yew::{AttrValue, Callback, Html, Properties, TargetCast, classes, function_component, html};

#[derive(Clone, PartialEq, Properties)]
pub struct HeaderProps {
    pub lang: Lang,
    pub title: AttrValue,
    pub seed: u64,
    pub can_undo: bool,
    pub can_redo: bool,
    pub theme: Theme,
    pub on_message: Callback<Message>,
    pub on_file: Callback<web_sys::File>,
}

#[function_component(Header)]
pub fn header(props: &HeaderProps) -> Html {
    let lang = props.lang;
    let send = |message: Message| props.on_message.reform(move |_| message.clone());
    let seed = Text::SeedNumber { seed: props.seed.to_string().into() };
    html! {
        <header class="bar">
            <p class="brand">
                { brand_cells() }
                <span class="brand-name">{ say(&lang, &Text::LabName) }</span>
            </p>
            <div class="crumbs">
                <button class="crumb" onclick={send(Message::Open(Dialog::Library))}>{ say(&lang, &Text::Experiments) }</button>
                <span class="muted" aria-hidden="true">{ "/" }</span>
                <h1>{ props.title.clone() }</h1>
                <span class="muted nowrap">{ "· " }{ say(&lang, &seed) }</span>
            </div>
            <div class="bar-buttons">
                { command("undo", "↶", say(&lang, &Text::Undo), !props.can_undo, send(Message::Undo)) }
                { command("redo", "↷", say(&lang, &Text::Redo), !props.can_redo, send(Message::Redo)) }
                <button class="button" data-testid="library" onclick={send(Message::Open(Dialog::Library))}>
                    { say(&lang, &Text::LibraryButton) }
                </button>
                { load(props) }
                <button class="button primary" data-testid="share" onclick={send(Message::Share)}>
                    { say(&lang, &Text::ShareButton) }
                </button>
                { languages(props) }
                { theme(props) }
            </div>
        </header>
    }
}

/// Seven cells that are there and the one that is missing.
pub(super) fn brand_cells() -> Html {
    html! {
        <span class="brand-cells" aria-hidden="true">
            { for (0..7).map(|_| html! { <i /> }) }
            <i class="missing" />
        </span>
    }
}

/// A button that stays reachable when it can do nothing, so that people learn that it exists.
fn command(id: &'static str, glyph: &'static str, name: AttrValue, off: bool, act: Callback<yew::MouseEvent>) -> Html {
    let act = if off { Callback::noop() } else { act };
    html! {
        <button class={classes!("button", format!("button-{id}"))} data-testid={id} title={name.clone()} aria-label={name.clone()}
            aria-disabled={off.to_string()} onclick={act}>
            <span aria-hidden="true">{ glyph }</span>
            <span class="button-word" aria-hidden="true">{ name }</span>
        </button>
    }
}

fn load(props: &HeaderProps) -> Html {
    let on_file = props.on_file.clone();
    let onchange = Callback::from(move |event: Event| {
        let Some(input) = event.target().and_then(|t| t.dyn_into::<HtmlInputElement>().ok()) else {
            return;
        };
        if let Some(file) = input.files().and_then(|f| f.get(0)) {
            on_file.emit(file);
        }
        // So that choosing the same file again is a change.
        input.set_value("");
    });
    html! {
        <label class="button file" title={say(&props.lang, &Text::LoadHelp)}>
            <input class="sr-only" type="file" accept=".csv,.jsonl,.ndjson,.json,.yaml,.yml" data-testid="load" {onchange}
                aria-label={say(&props.lang, &Text::LoadHelp)} />
            <span aria-hidden="true">{ say(&props.lang, &Text::LoadButton) }</span>
        </label>
    }
}

fn languages(props: &HeaderProps) -> Html {
    let on_message = props.on_message.clone();
    let onchange = Callback::from(move |event: Event| {
        let select: HtmlSelectElement = event.target_unchecked_into();
        on_message.emit(Message::SetLang(select.value()));
    });
    let mut offered = Lang::offered();
    // A pseudo-language that the address asked for is shown, so that the control tells the truth.
    if !offered.contains(&props.lang) {
        offered.push(props.lang);
    }
    let option = |l: Lang| {
        let pseudo = l.tag.starts_with("x-");
        let name = if pseudo { AttrValue::from(l.tag) } else { say(&l, &Text::LanguageName) };
        html! { <option value={l.tag} lang={l.tag} selected={l == props.lang}>{ name }</option> }
    };
    html! {
        <select class="button" data-testid="lang" aria-label={say(&props.lang, &Text::LanguageLabel)} {onchange}>
            { for offered.into_iter().map(option) }
        </select>
    }
}

fn theme(props: &HeaderProps) -> Html {
    let text = match props.theme {
        Theme::Auto => Text::ThemeAuto,
        Theme::Light => Text::ThemeLight,
        Theme::Dark => Text::ThemeDark,
    };
    let name = say(&props.lang, &text);
    let glyph = if shell::page::is_dark(props.theme) { "◑" } else { "◐" };
    html! {
        <button class="button" data-testid="theme" title={name.clone()} aria-label={name}
            onclick={props.on_message.reform(|_| Message::CycleTheme)}>
            <span aria-hidden="true">{ glyph }</span>
        </button>
    }
}
