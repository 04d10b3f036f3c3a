//! The menu of a rack, node or replica: the way that works for everybody.

use super::float::{float, follow};
use super::say;
use crate::i18n::{Lang, Message};
use crate::view::map::{Act, MenuItem};
use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct MenuProps {
    pub title: Message,
    /// What there is to know of it.
    pub about: Vec<Message>,
    pub items: Vec<MenuItem>,
    pub lang: Lang,
    /// `data-at` of the thing that it belongs to.
    pub anchor: String,
    pub act: Callback<Act>,
}

#[component]
pub fn Menu(props: &MenuProps) -> Html {
    let MenuProps { title, about, items, lang, anchor, act } = props;
    let me = use_node_ref();
    {
        let me = me.clone();
        // Its size changes with the number of its lines.
        use_effect_with((anchor.clone(), about.len(), items.len()), move |(anchor, ..)| {
            place(&me, anchor);
            let anchor = anchor.clone();
            let following = follow(move || place(&me, &anchor));
            move || drop(following)
        });
    }
    {
        // A press anywhere else closes it.
        let me = me.clone();
        use_effect_with(act.clone(), move |act| {
            let act = act.clone();
            let listener = EventListener::new(&gloo::utils::document(), "pointerdown", move |event| {
                let target = event.target().and_then(|t| t.dyn_into::<web_sys::Node>().ok());
                let inside = me.get().is_some_and(|m| m.contains(target.as_ref()));
                if !inside {
                    act.emit(Act::Dismiss);
                }
            });
            move || drop(listener)
        });
    }
    let on_key = {
        let (me, act) = (me.clone(), act.clone());
        Callback::from(move |event: KeyboardEvent| {
            let Some(menu) = me.cast::<Element>() else { return };
            match event.key().as_str() {
                "ArrowDown" => walk(&menu, 1),
                "ArrowUp" => walk(&menu, -1),
                "Home" => walk_to(&menu, 0),
                "End" => walk_to(&menu, -1),
                "Escape" => act.emit(Act::CloseMenu),
                // Tab leaves from the thing that the menu belongs to.
                "Tab" => {
                    act.emit(Act::CloseMenu);
                    event.stop_propagation();
                    return;
                }
                _ => return,
            }
            event.prevent_default();
            event.stop_propagation();
        })
    };
    html! {
        <div class="map-menu" ref={me} popover="manual" role="menu" aria-label={say(lang, title)} onkeydown={on_key}
            data-testid="map-menu">
            <p class="menu-title" role="presentation">{ say(lang, title) }</p>
            if !about.is_empty() {
                <p class="menu-about" role="presentation">
                    { for about.iter().map(|line| html! { <span>{ say(lang, line) }</span> }) }
                </p>
            }
            { for items.iter().map(|item| entry(item, lang, act)) }
        </div>
    }
}

fn entry(item: &MenuItem, lang: &Lang, act: &Callback<Act>) -> Html {
    let does = item.does.clone();
    let refused = item.refused.is_some();
    let act = act.clone();
    let onclick = Callback::from(move |_: MouseEvent| {
        if !refused {
            act.emit(Act::Choose(does.clone()));
        }
    });
    html! {
        <button key={item.id.clone()} type="button" role="menuitem" tabindex="-1" class="menu-item" {onclick}
            aria-disabled={refused.then_some("true")} data-testid={format!("menu-{}", item.id)}>
            { say(lang, &item.label) }
            if let Some(why) = &item.refused { <small>{ say(lang, why) }</small> }
        </button>
    }
}

fn items_of(menu: &Element) -> Vec<HtmlElement> {
    let mut out = Vec::new();
    let mut child = menu.first_element_child();
    while let Some(e) = child {
        child = e.next_element_sibling();
        if e.get_attribute("role").as_deref() == Some("menuitem")
            && let Ok(item) = e.dyn_into::<HtmlElement>()
        {
            out.push(item);
        }
    }
    out
}

/// Moves the focus by one item and goes round.
fn walk(menu: &Element, by: i32) {
    let items = items_of(menu);
    let active = gloo::utils::document().active_element();
    let at = items.iter().position(|i| active.as_ref().is_some_and(|a| a == i.unchecked_ref::<Element>()));
    let n = items.len() as i32;
    if n > 0 {
        let next = at.map_or(0, |i| (i as i32 + by).rem_euclid(n));
        _ = items[next as usize].focus();
    }
}

/// To the item at this index; -1 is the last.
fn walk_to(menu: &Element, index: i32) {
    let items = items_of(menu);
    let item = if index < 0 { items.last() } else { items.get(index as usize) };
    if let Some(item) = item {
        _ = item.focus();
    }
}

/// Puts the menu beside its anchor.
fn place(me: &NodeRef, anchor: &str) {
    let Some(menu) = me.cast::<HtmlElement>() else { return };
    let Some(root) = menu.closest(".map").ok().flatten() else {
        return;
    };
    if let Some(anchor) = root.query_selector(&format!("[data-at=\"{anchor}\"]")).ok().flatten() {
        let from = anchor.get_bounding_client_rect();
        float(&menu, from.left(), &from);
    }
}
