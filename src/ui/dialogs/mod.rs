//! What opens over the page, in one native `<dialog>`: the browser keeps the focus inside and
//! gives it back.

mod keys;
mod library;
mod problems;
mod share;
mod trace;

use super::say;
use crate::i18n::{Lang, Message as Text};
use crate::session::{Dialog, Message};
use crate::sim::time::Span;
use crate::view::trace::Driven;
use wasm_bindgen::JsCast;
use web_sys::{Event, HtmlDialogElement};
use yew::{Callback, Html, MouseEvent, Properties, classes, function_component, html, use_effect_with, use_node_ref};

#[derive(Clone, PartialEq, Properties)]
pub struct DialogProps {
    pub lang: Lang,
    pub dialog: Option<Dialog>,
    /// Id of the open scenario.
    pub scenario: String,
    /// Address before the `#` of a link.
    pub page: String,
    /// Whether the clipboard took the link, once it has answered.
    pub copied: Option<bool>,
    pub single_keys: bool,
    /// What a trace could drive, and how long the run is; only while a trace is asked about.
    pub services: Vec<Driven>,
    pub run_length: Span,
    pub on_message: Callback<Message>,
    pub on_single_keys: Callback<bool>,
    pub on_copy: Callback<String>,
}

#[function_component(Dialogs)]
pub fn dialogs(props: &DialogProps) -> Html {
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with(props.dialog.is_some(), move |open| {
            if let Some(dialog) = node.cast::<HtmlDialogElement>() {
                match (*open, dialog.open()) {
                    // It fails only on an element that is not in the page.
                    (true, false) => drop(dialog.show_modal()),
                    (false, true) => dialog.close(),
                    _ => {}
                }
            }
        });
    }
    // Escape, the button and a click beside it all end here.
    let onclose = props.on_message.reform(|_: Event| Message::CloseDialog);
    let onclick = {
        let on_message = props.on_message.clone();
        Callback::from(move |event: MouseEvent| {
            let beside = event.target().is_some_and(|t| t.dyn_ref::<HtmlDialogElement>().is_some());
            if beside {
                on_message.emit(Message::CloseDialog);
            }
        })
    };
    let lang = props.lang;
    let (class, title, body) = match &props.dialog {
        None => ("", None, Html::default()),
        Some(Dialog::Library) => ("library", Some(Text::Experiments), library::library(props)),
        Some(Dialog::Share { link, state_hash }) => (
            "share",
            Some(Text::ShareTitle),
            html! { <share::Share dialog={props.clone()} link={link.clone()} state_hash={state_hash.clone()} /> },
        ),
        Some(Dialog::Keys) => ("keys", Some(Text::KeysTitle), keys::keys(props)),
        Some(Dialog::Trace { name, trace, choice }) => (
            "trace",
            Some(Text::TraceTitle),
            // Another file is another form.
            html! { <trace::TraceForm key={trace.rows_hash_text()} dialog={props.clone()} name={name.clone()} trace={trace.clone()} choice={*choice} /> },
        ),
        Some(Dialog::Problems { title, problems }) => {
            ("problems", Some(title.clone()), problems::problems(&lang, problems))
        }
    };
    let close = say(&lang, &Text::Close);
    html! {
        <dialog ref={node} class={classes!("dialog", class)} data-testid="dialog" aria-labelledby="dialog-title" {onclose} {onclick}>
            if let Some(title) = title {
                <div class="dialog-inside">
                    <header>
                        <h2 id="dialog-title">{ say(&lang, &title) }</h2>
                        <button class="icon-button" data-testid="dialog-close" title={close.clone()} aria-label={close}
                            onclick={props.on_message.reform(|_| Message::CloseDialog)}>{ "✕" }</button>
                    </header>
                    { body }
                </div>
            }
        </dialog>
    }
}
