//! Keys of the table in `view::actions`. Listeners sit on the lab's root, and on the body for the
//! time when nothing has the focus; Tab and what the browser or a field needs pass by.

use crate::session;
use crate::sim::time::Time;
use crate::view::actions::{self, Press};
use gloo::events::{EventListener, EventListenerOptions};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlInputElement, KeyboardEvent};
use yew::Callback;

/// Makes a message of the run's present time.
pub type Keyed = fn(Time) -> session::Message;

/// Listens until the result is dropped.
pub fn listen(single_keys: Rc<Cell<bool>>, pressed: Callback<Keyed>) -> Vec<EventListener> {
    let mut listeners = Vec::new();
    let options = EventListenerOptions::enable_prevent_default();
    let Some(document) = super::page::document() else {
        return listeners;
    };
    if let Some(root) = super::page::root() {
        let (single_keys, pressed) = (single_keys.clone(), pressed.clone());
        let hear = move |event: &Event| handle(event, single_keys.get(), &pressed);
        listeners.push(EventListener::new_with_options(&root, "keydown", options, hear));
    }
    if let Some(body) = document.body() {
        let hear = move |event: &Event| {
            let on_body =
                event.target().and_then(|t| t.dyn_into::<Element>().ok()).is_some_and(|e| e.tag_name() == "BODY");
            if on_body {
                handle(event, single_keys.get(), &pressed);
            }
        };
        listeners.push(EventListener::new_with_options(&body, "keydown", options, hear));
    }
    listeners
}

fn handle(event: &Event, single_keys: bool, pressed: &Callback<Keyed>) {
    let Some(key) = event.dyn_ref::<KeyboardEvent>() else {
        return;
    };
    if event.default_prevented() || key.is_composing() || takes_text(event) || in_dialog(event) {
        return;
    }
    // On many keyboards `[` and `]` are typed with AltGr, which some systems report as Ctrl+Alt.
    let alt_gr = key.get_modifier_state("AltGraph");
    if key.alt_key() && !alt_gr {
        return;
    }
    let ctrl = (key.ctrl_key() || key.meta_key()) && !alt_gr;
    let press = Press { key: key.key(), ctrl, shift: key.shift_key() };
    if let Some(action) = actions::find(&press, single_keys) {
        event.prevent_default();
        pressed.emit(action.message);
    }
}

fn target(event: &Event) -> Option<Element> {
    event.target().and_then(|t| t.dyn_into::<Element>().ok())
}

/// Fields in which a letter is text, and lists that jump to it.
fn takes_text(event: &Event) -> bool {
    let Some(element) = target(event) else { return false };
    match element.tag_name().as_str() {
        "TEXTAREA" | "SELECT" => true,
        "INPUT" => element
            .dyn_ref::<HtmlInputElement>()
            .is_none_or(|input| !matches!(input.type_().as_str(), "range" | "checkbox" | "radio" | "button" | "file")),
        _ => false,
    }
}

fn in_dialog(event: &Event) -> bool {
    target(event).is_some_and(|e| matches!(e.closest("dialog"), Ok(Some(_))))
}
