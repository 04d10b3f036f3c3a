//! The cluster map on the page. [`crate::view::map`] says what is shown and what an act does;
//! here browser events become acts, and the focus and the carried picture follow the state.

mod float;
mod icons;
mod menu;
mod node;
mod pointer;
mod rack;
mod tip;
mod tools;
mod trays;

use self::menu::Menu;
use self::pointer::{Lift, Pointer};
use self::rack::{Drop, RackBox};
use self::tip::{TipBox, Tips, use_tips};
use self::tools::Tools;
use self::trays::{Fabric, Legend, Pending};
use crate::i18n::{Lang, Message, plain, render};
use crate::session::{self, Selection};
use crate::sim::id::{GroupId, NodeId, RackId};
use crate::sim::snapshot::Snapshot;
use crate::view::map::{
    Act, By, Carried, Cursor, Focus, Key, Lit, MapState, MapView, MenuOf, Mode, RackCard, act, cell_tip, cursor_tip,
    drop_check, group_state, item_message, map_view, menu_items, menu_title, reconcile, refusal_message,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

/// A message in words, without marks of emphasis.
fn say(lang: &Lang, message: &Message) -> String {
    plain(&render(lang, message))
}

#[derive(Properties, PartialEq, Clone)]
pub struct ClusterMapProps {
    pub snapshot: Rc<Snapshot>,
    pub lang: Lang,
    pub selection: Selection,
    /// What hovering the why-log lights.
    pub highlight: (Vec<NodeId>, Vec<GroupId>),
    pub on_message: Callback<session::Message>,
    /// In an embed: tighter, tools folded away.
    #[prop_or_default]
    pub compact: bool,
}

/// What the handlers need of the latest frame; they are made once.
struct Core {
    state: MapState,
    snapshot: Rc<Snapshot>,
    on_message: Callback<session::Message>,
    /// Where each node stood in the last frame.
    stood: BTreeMap<NodeId, RackId>,
    /// Calls for the focus that were answered.
    focus_answered: u32,
}

thread_local! {
    /// Maps made so far: their element ids must differ where two stand side by side.
    static MAPS: Cell<u32> = const { Cell::new(0) };
}

fn perform(core: &RefCell<Core>, what: Act) {
    let (messages, on_message) = {
        let mut c = core.borrow_mut();
        let (state, messages) = act(&c.state, &c.snapshot, what);
        c.state = state;
        (messages, c.on_message.clone())
    };
    messages.into_iter().for_each(|m| on_message.emit(m));
}

#[component]
pub fn ClusterMap(props: &ClusterMapProps) -> Html {
    let root = use_node_ref();
    let pointer = use_memo((), |()| Pointer::new(root.clone()));
    let core = use_mut_ref(|| Core {
        state: MapState::default(),
        snapshot: props.snapshot.clone(),
        on_message: props.on_message.clone(),
        stood: BTreeMap::new(),
        focus_answered: 0,
    });
    let map = use_memo((), |()| MAPS.with(|n| n.replace(n.get() + 1)));
    let redraw = use_force_update();
    let (state, arrivals) = {
        let mut c = core.borrow_mut();
        c.snapshot = props.snapshot.clone();
        c.on_message = props.on_message.clone();
        c.state = reconcile(&c.state, &props.snapshot);
        let arrivals = arrivals(&c.stood, &props.snapshot);
        c.stood = props.snapshot.nodes.iter().map(|n| (n.id, n.rack)).collect();
        (c.state, arrivals)
    };
    let act = {
        let (core, pointer) = (core.clone(), pointer.clone());
        use_callback((), move |what: Act, ()| {
            let by_click = matches!(what, Act::OpenMenu(_) | Act::Carry(_, By::Pick));
            if !(by_click && pointer.swallows_click()) {
                perform(&core, what);
                redraw.force_update();
            }
        })
    };
    let send = {
        let core = core.clone();
        use_callback((), move |message: session::Message, ()| {
            let on_message = core.borrow().on_message.clone();
            on_message.emit(message);
        })
    };
    let lift = {
        let pointer = pointer.clone();
        use_callback((), move |lift: Lift, ()| pointer.down(&lift))
    };
    use_follow_focus(&root, &core, &state);
    {
        let pointer = pointer.clone();
        use_effect_with(matches!(state.mode, Mode::Place { by: By::Pointer, .. }), move |_| pointer.place_ghost());
    }

    let tips = use_tips();
    let lang = props.lang;
    let lit = Lit::new(&props.selection, &props.highlight);
    let view = map_view(&props.snapshot, &lit);
    let class = classes!(
        "map",
        props.compact.then_some("compact"),
        view.dense.then_some("dense"),
        matches!(state.mode, Mode::Place { .. }).then_some("placing"),
        matches!(state.mode, Mode::Place { by: By::Pointer, .. }).then_some("carrying"),
    );
    let racks: Rc<[RackId]> = props.snapshot.racks.iter().map(|r| r.id).collect();
    let on_move = {
        let (pointer, act, racks) = (pointer.clone(), act.clone(), racks.clone());
        move |e: PointerEvent| pointer.moved(&e, &racks, &act)
    };
    let on_over = {
        let tips = tips.clone();
        Callback::from(move |e: PointerEvent| {
            if let Some(target) = e.target().and_then(|t| t.dyn_into::<Element>().ok()) {
                tips.pointer_over(&target, (e.client_x(), e.client_y()));
            }
        })
    };
    let on_leave = {
        let tips = tips.clone();
        Callback::from(move |_: PointerEvent| tips.pointer_left())
    };
    let on_up = {
        let (pointer, act) = (pointer.clone(), act.clone());
        move |e: PointerEvent| pointer.up(&e, &racks, &act)
    };
    let on_lost = {
        let (pointer, act) = (pointer.clone(), act.clone());
        Callback::from(move |e: PointerEvent| pointer.lost(&e, &act))
    };
    let tools = html! {
        <Tools palette={view.palette.clone()} launches={view.launches.clone()} spike={view.spike.clone()}
            carried={match state.mode { Mode::Place { what: Carried::Palette(i), .. } => Some(i), _ => None }}
            {lang} act={act.clone()} send={send.clone()} lift={lift.clone()} />
    };
    html! {
        <section {class} ref={root} aria-label={say(&lang, &Message::MapTitle)} data-testid="map"
            onpointermove={on_move} onpointerup={on_up} onpointercancel={on_lost.clone()}
            onlostpointercapture={on_lost} onpointerover={on_over} onpointerleave={on_leave}>
            <h2 class="visually-hidden">{ say(&lang, &Message::MapTitle) }</h2>
            <p class="visually-hidden" data-testid="map-summary">
                { view.summary.iter().map(|m| say(&lang, m) + ". ").collect::<String>() }
                { say(&lang, &Message::MapKeysHint) }
            </p>
            <Legend items={view.legend.clone()} {lang} />
            { board(*map, props, &view, &state, arrivals, &act, &send, &lift, &tips) }
            { tip::about(*map, cursor_tip(&props.snapshot, state.cursor).as_ref(), &lang) }
            <Fabric fabric={view.fabric.clone()} {lang} send={send.clone()} />
            <Pending rows={view.pending.clone()} more={view.pending_more} {lang} send={send.clone()} />
            if props.compact {
                <details class="map-fold"><summary>{ say(&lang, &Message::MapTools) }</summary>{ tools }</details>
            } else {
                { tools }
            }
            { open_menu(props, &state, &act) }
            { open_tip(props, &state, &tips) }
            { ghost(props, &state, &pointer) }
        </section>
    }
}

/// Nodes that stand in another rack than a frame ago, or are new. None at the first frame.
fn arrivals(stood: &BTreeMap<NodeId, RackId>, snapshot: &Snapshot) -> Vec<(RackId, NodeId)> {
    if stood.is_empty() {
        return Vec::new();
    }
    let came = snapshot.nodes.iter().filter(|n| stood.get(&n.id) != Some(&n.rack));
    came.map(|n| (n.rack, n.id)).collect()
}

/// The racks, with the keys of the walk.
#[expect(clippy::too_many_arguments, reason = "the parts of one component, split to be read")]
fn board(
    map: u32,
    props: &ClusterMapProps,
    view: &MapView,
    state: &MapState,
    arrivals: Vec<(RackId, NodeId)>,
    act: &Callback<Act>,
    send: &Callback<session::Message>,
    lift: &Callback<Lift>,
    tips: &Tips,
) -> Html {
    let on_key = {
        let (act, tips) = (act.clone(), tips.clone());
        Callback::from(move |event: KeyboardEvent| {
            if event.ctrl_key() || event.alt_key() || event.meta_key() {
                return;
            }
            if event.key() == "Escape" {
                tips.dismiss();
            }
            if let Some(key) = Key::from_dom(&event.key()) {
                event.prevent_default();
                event.stop_propagation();
                act.emit(Act::Key(key));
            }
        })
    };
    let on_focus = {
        let (act, tips) = (act.clone(), tips.clone());
        Callback::from(move |event: FocusEvent| {
            let target = event.target().and_then(|t| t.dyn_into::<Element>().ok());
            tips.focus(target.as_ref());
            if let Some(focused) = target.as_ref().and_then(focused) {
                act.emit(focused);
            }
        })
    };
    let on_blur = {
        let tips = tips.clone();
        Callback::from(move |_: FocusEvent| tips.focus(None))
    };
    let menu = match state.mode {
        Mode::Menu(of) => Some(of),
        _ => None,
    };
    let lifted = match state.mode {
        Mode::Place { what: Carried::Node(id), .. } => Some(id),
        _ => None,
    };
    let rack_of = |id: NodeId| props.snapshot.nodes.iter().find(|n| n.id == id).map(|n| n.rack);
    let cursor_rack = match state.cursor {
        Some(Cursor::Rack(id)) => Some(id),
        Some(Cursor::Node(id) | Cursor::Cell(id, _)) => rack_of(id),
        None => None,
    };
    let menu_rack = match menu {
        Some(MenuOf::Rack(id)) => Some(id),
        Some(MenuOf::Node(id) | MenuOf::Group { node: id, .. }) => rack_of(id),
        None => None,
    };
    let lifted_rack = lifted.and_then(rack_of);
    html! {
        <div class="map-board" onkeydown={on_key} onfocusin={on_focus} onfocusout={on_blur}>
            { placing_bar(props, state, act) }
            <div class="map-floor">
                { for view.racks.iter().map(|card| {
                    let here = |rack: Option<RackId>| rack == Some(card.id);
                    let came: Vec<NodeId> =
                        arrivals.iter().filter(|(r, _)| *r == card.id).map(|(_, n)| *n).collect();
                    html! {
                        <RackBox key={card.id.0} card={card.clone()} lang={props.lang} map={map}
                            cursor={state.cursor.filter(|_| here(cursor_rack))} menu={menu.filter(|_| here(menu_rack))}
                            lifted={lifted.filter(|_| here(lifted_rack))} drop={drop_of(props, state, card)}
                            arrivals={Rc::new(came)} act={act.clone()} send={send.clone()} lift={lift.clone()} />
                    }
                }) }
            </div>
        </div>
    }
}

/// What the carried thing is called.
fn carried_name(snapshot: &Snapshot, what: Carried) -> Option<Message> {
    match what {
        Carried::Node(id) => {
            let node = snapshot.nodes.iter().find(|n| n.id == id)?;
            Some(Message::MapMenuOf { name: node.name.clone().into() })
        }
        Carried::Palette(i) => snapshot.palette.get(i as usize).map(item_message),
    }
}

fn drop_of(props: &ClusterMapProps, state: &MapState, card: &RackCard) -> Drop {
    let Mode::Place { what, by, over } = state.mode else {
        return Drop::Nothing;
    };
    let over = over == Some(card.id);
    let Some(name) = carried_name(&props.snapshot, what) else {
        return Drop::Nothing;
    };
    match drop_check(&props.snapshot, what, card.id) {
        Err(why) => Drop::Refused { by, why: refusal_message(&why), over },
        Ok(()) => {
            let place = card.place.clone().into();
            let buys = matches!(what, Carried::Palette(_));
            let label = if buys {
                Message::MapAddHereLabel { item: name.into(), place }
            } else {
                Message::MapMoveHereLabel { name: name.into(), place }
            };
            Drop::Fits { by, over, label, buys }
        }
    }
}

/// Whether what is carried must be drained before it can go.
fn is_occupied(snapshot: &Snapshot, what: Carried) -> bool {
    let Carried::Node(id) = what else { return false };
    let node = snapshot.nodes.iter().find(|n| n.id == id);
    node.is_some_and(|n| n.cells.iter().any(|c| c.pod.is_some()))
}

/// Says what was picked and how to stop.
fn placing_bar(props: &ClusterMapProps, state: &MapState, act: &Callback<Act>) -> Html {
    let Mode::Place { what, by: By::Pick, .. } = state.mode else {
        return html! {};
    };
    let Some(name) = carried_name(&props.snapshot, what) else {
        return html! {};
    };
    let lang = &props.lang;
    let words = match what {
        Carried::Node(_) => Message::MapPlacingNode { name: name.into() },
        Carried::Palette(_) => Message::MapPlacingItem { item: name.into() },
    };
    let cancel = act.reform(|_: MouseEvent| Act::PutBack);
    html! {
        <div class="map-placing" data-testid="placing">
            <strong>{ say(lang, &words) }</strong>
            if is_occupied(&props.snapshot, what) { <span>{ say(lang, &Message::MapDrainsFirst) }</span> }
            <span class="keys">{ say(lang, &Message::MapPlacingKeys) }</span>
            <button type="button" class="small" data-testid="place-cancel" onclick={cancel}>
                { say(lang, &Message::MapCancel) }
            </button>
        </div>
    }
}

fn open_menu(props: &ClusterMapProps, state: &MapState, act: &Callback<Act>) -> Html {
    let Mode::Menu(of) = state.mode else { return html! {} };
    let Some(title) = menu_title(&props.snapshot, of) else {
        return html! {};
    };
    let about = match of {
        MenuOf::Group { group, .. } => group_state(&props.snapshot, group),
        MenuOf::Rack(_) | MenuOf::Node(_) => Vec::new(),
    };
    let anchor = match of {
        MenuOf::Rack(id) => format!("r{}", id.0),
        MenuOf::Node(id) => format!("n{}", id.0),
        MenuOf::Group { node, cell, .. } => format!("c{}.{cell}", node.0),
    };
    html! {
        <Menu {title} {about} items={menu_items(&props.snapshot, of)} lang={props.lang} {anchor} act={act.clone()} />
    }
}

/// The tip of the cell that pointer or focus came to last. None while a menu is
/// open, which says the same, or something is carried.
fn open_tip(props: &ClusterMapProps, state: &MapState, tips: &Tips) -> Html {
    if state.mode != Mode::Walk {
        return html! {};
    }
    let cursor = match state.cursor {
        Some(Cursor::Cell(node, cell)) => Some((node, cell)),
        _ => None,
    };
    let tip = tips.shown(cursor).and_then(|at| Some((at, cell_tip(&props.snapshot, at.0, at.1)?)));
    match tip {
        Some((at, tip)) => html! { <TipBox {tip} {at} lang={props.lang} /> },
        None => html! {},
    }
}

fn ghost(props: &ClusterMapProps, state: &MapState, pointer: &Pointer) -> Html {
    let Mode::Place { what, by: By::Pointer, .. } = state.mode else {
        return html! {};
    };
    let name = carried_name(&props.snapshot, what);
    html! {
        <div class="map-ghost" ref={pointer.ghost.clone()} aria-hidden="true">
            { icons::grip_dots() }
            <span>{ name.map(|n| say(&props.lang, &n)) }</span>
            if is_occupied(&props.snapshot, what) { <small>{ say(&props.lang, &Message::MapDrainsFirst) }</small> }
        </div>
    }
}

/// The act of a focus that the browser moved.
fn focused(target: &Element) -> Option<Act> {
    if let Some(drop) = target.get_attribute("data-drop") {
        return drop.parse().ok().map(|id| Act::FocusedTarget(RackId(id)));
    }
    let at = target.get_attribute("data-at")?;
    let rest = at.get(1..)?;
    let cursor = match at.as_bytes().first()? {
        b'r' => Cursor::Rack(RackId(rest.parse().ok()?)),
        b'n' => Cursor::Node(NodeId(rest.parse().ok()?)),
        b'c' => {
            let (node, cell) = rest.split_once('.')?;
            Cursor::Cell(NodeId(node.parse().ok()?), cell.parse().ok()?)
        }
        _ => return None,
    };
    Some(Act::Focused(cursor))
}

fn selector(focus: Focus) -> String {
    match focus {
        Focus::Cursor(Cursor::Rack(id)) => format!("[data-at=\"r{}\"]", id.0),
        Focus::Cursor(Cursor::Node(id)) => format!("[data-at=\"n{}\"]", id.0),
        Focus::Cursor(Cursor::Cell(id, i)) => format!("[data-at=\"c{}.{i}\"]", id.0),
        Focus::Menu => ".map-menu [role=menuitem]".to_owned(),
        Focus::Target(id) => format!("[data-drop=\"{}\"]", id.0),
        Focus::Palette(i) => format!("[data-item=\"{i}\"]"),
        Focus::Cancel => ".map-placing button".to_owned(),
    }
}

fn has_focus(root: &NodeRef) -> bool {
    let active = gloo::utils::document().active_element();
    root.get().is_some_and(|r| active.is_some_and(|a| r.contains(Some(&a))))
}

/// Keeps the focus where the state has it: when the state calls for it, and when the element
/// that had it was redrawn elsewhere (a node that moved to another rack).
#[hook]
fn use_follow_focus(root: &NodeRef, core: &Rc<RefCell<Core>>, state: &MapState) {
    let (root, core, state) = (root.clone(), core.clone(), *state);
    let was_inside = has_focus(&root);
    use_effect(move || {
        let called = {
            let mut c = core.borrow_mut();
            let called = c.focus_answered != state.focus_calls;
            c.focus_answered = state.focus_calls;
            called
        };
        if called || (was_inside && !has_focus(&root)) {
            let element = root.cast::<Element>();
            let target = state.focus().zip(element).and_then(|(f, e)| e.query_selector(&selector(f)).ok().flatten());
            if let Some(target) = target.and_then(|t| t.dyn_into::<HtmlElement>().ok()) {
                _ = target.focus();
            }
        }
    });
}
