//! The tip at a cell: what is there and how it fares. It comes by pointer and by focus, stays while
//! the pointer is on it, and goes with Escape. What it says of the cell under the cursor is in the
//! page all the time, so that screen readers find it when the focus arrives.

use super::float::{float, follow};
use super::say;
use crate::i18n::Lang;
use crate::sim::id::NodeId;
use crate::view::map::Tip;
use gloo::timers::callback::Timeout;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

/// The pointer may take so long from the cell to the tip.
const LINGER_MS: u32 = 250;

/// A cell by node and place.
pub type At = (NodeId, u32);

/// Who calls for the tip.
#[derive(Clone)]
pub struct Tips {
    /// The cell under the pointer.
    hovered: UseStateHandle<Option<At>>,
    /// Whether the focus is on a cell.
    focused: UseStateHandle<bool>,
    /// The focus came to its cell after the pointer came to its own.
    focus_is_later: UseStateHandle<bool>,
    /// Where the pointer was last, in CSS pixels of the window.
    pointer: Rc<Cell<Option<(i32, i32)>>>,
    leaving: Rc<RefCell<Option<Timeout>>>,
}

#[hook]
pub fn use_tips() -> Tips {
    Tips {
        hovered: use_state_eq(|| None),
        focused: use_state_eq(|| false),
        focus_is_later: use_state_eq(|| false),
        pointer: use_memo((), |()| Cell::new(None)),
        leaving: use_mut_ref(|| None),
    }
}

impl Tips {
    /// The pointer is over this element, at this place of the window.
    pub fn pointer_over(&self, target: &Element, place: (i32, i32)) {
        // What comes under a pointer that rests was scrolled or drawn there: nobody pointed at it.
        let rests = self.pointer.replace(Some(place)) == Some(place);
        let within = |selector: &str| target.closest(selector).ok().flatten();
        if within(".map-tip").is_some() {
            self.leaving.borrow_mut().take();
            return;
        }
        match within("[data-at]").and_then(|e| e.get_attribute("data-at")).as_deref().and_then(cell_of) {
            Some(at) => {
                self.leaving.borrow_mut().take();
                self.hovered.set(Some(at));
                if !rests {
                    self.focus_is_later.set(false);
                }
            }
            None => self.pointer_left(),
        }
    }

    pub fn pointer_left(&self) {
        if self.hovered.is_some() && self.leaving.borrow().is_none() {
            let (hovered, leaving) = (self.hovered.clone(), self.leaving.clone());
            let end = Timeout::new(LINGER_MS, move || {
                hovered.set(None);
                leaving.borrow_mut().take();
            });
            *self.leaving.borrow_mut() = Some(end);
        }
    }

    /// The focus went to this element of the map.
    pub fn focus(&self, target: Option<&Element>) {
        let on_cell = target.and_then(|e| e.get_attribute("data-at")).as_deref().and_then(cell_of).is_some();
        self.focused.set(on_cell);
        if on_cell {
            self.focus_is_later.set(true);
        }
    }

    /// The cell whose tip is shown, where the cursor is on `cursor`: of pointer and focus the later.
    pub fn shown(&self, cursor: Option<At>) -> Option<At> {
        let focused = cursor.filter(|_| *self.focused);
        if *self.focus_is_later { focused.or(*self.hovered) } else { self.hovered.or(focused) }
    }

    /// Escape.
    pub fn dismiss(&self) {
        self.leaving.borrow_mut().take();
        self.hovered.set(None);
        self.focused.set(false);
    }
}

/// The cell of a `data-at`.
fn cell_of(at: &str) -> Option<At> {
    let (node, cell) = at.strip_prefix('c')?.split_once('.')?;
    Some((NodeId(node.parse().ok()?), cell.parse().ok()?))
}

/// Id of the text about the cell under the cursor.
pub fn about_id(map: u32) -> String {
    format!("map{map}-about")
}

/// The text about the cell under the cursor, for screen readers. Its name is read already.
pub fn about(map: u32, tip: Option<&Tip>, lang: &Lang) -> Html {
    let words = tip.map(|t| t.lines.iter().skip(1).map(|l| say(lang, l)).collect::<Vec<_>>().join(". "));
    html! { <p id={about_id(map)} class="visually-hidden">{ words }</p> }
}

#[derive(Properties, PartialEq)]
pub struct TipProps {
    pub tip: Tip,
    pub at: At,
    pub lang: Lang,
}

/// The tip itself. Readers have its words at the cell.
#[component]
pub fn TipBox(props: &TipProps) -> Html {
    let TipProps { tip, at, lang } = props;
    let me = use_node_ref();
    {
        let me = me.clone();
        // Its size changes with its words.
        use_effect_with((*at, tip.clone()), move |(at, _)| place(&me, *at));
    }
    {
        let me = me.clone();
        use_effect_with(*at, move |at| {
            let at = *at;
            let following = follow(move || place(&me, at));
            move || drop(following)
        });
    }
    html! {
        <div class="map-tip" ref={me} popover="manual" aria-hidden="true" data-testid="map-tip">
            <b>{ say(lang, &tip.title) }</b>
            { for tip.lines.iter().map(|l| html! { <span>{ say(lang, l) }</span> }) }
        </div>
    }
}

/// Puts the tip under its node, or above it where there is no room.
fn place(me: &NodeRef, (node, cell): At) {
    let Some(tip) = me.cast::<HtmlElement>() else { return };
    let Some(root) = tip.closest(".map").ok().flatten() else { return };
    let found = root.query_selector(&format!("[data-at=\"c{}.{cell}\"]", node.0)).ok().flatten();
    let Some(cell) = found else { return };
    let card = cell.closest(".node").ok().flatten().unwrap_or_else(|| cell.clone());
    float(&tip, cell.get_bounding_client_rect().left(), &card.get_bounding_client_rect());
}
