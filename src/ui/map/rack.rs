//! A rack: its heading, nodes, the trap banner, and what it says while something is carried.

use super::icons::{PLUS, RINGS, WARN, cell_picture, icon};
use super::node::{NodeBox, Stop};
use super::pointer::Lift;
use super::say;
use crate::i18n::{Lang, Message};
use crate::session::{self, Selection};
use crate::sim::id::NodeId;
use crate::sim::snapshot::RackKind;
use crate::view::map::{Act, By, Cursor, MenuOf, RackCard, TrapCard};
use std::rc::Rc;
use yew::prelude::*;

/// What a rack says while something is carried.
#[derive(Debug, Clone, PartialEq)]
pub enum Drop {
    Nothing,
    /// It takes it; `over` while the pointer or focus is on it.
    Fits {
        by: By,
        over: bool,
        /// The button in words: what goes where.
        label: Message,
        buys: bool,
    },
    Refused {
        by: By,
        why: Message,
        over: bool,
    },
}

#[derive(Properties, PartialEq)]
pub struct RackBoxProps {
    pub card: Rc<RackCard>,
    pub lang: Lang,
    /// Tells the maps of one page apart, for ids.
    pub map: u32,
    /// The tab stop, if it is in this rack.
    pub cursor: Option<Cursor>,
    /// The open menu, if it belongs here.
    pub menu: Option<MenuOf>,
    /// The node of this rack that is being carried.
    pub lifted: Option<NodeId>,
    pub drop: Drop,
    /// Nodes that came just now.
    pub arrivals: Rc<Vec<NodeId>>,
    pub act: Callback<Act>,
    pub send: Callback<session::Message>,
    pub lift: Callback<Lift>,
}

/// Columns that a rack asks for: its nodes, and room to drop one more.
fn width(card: &RackCard) -> usize {
    let nodes = card.nodes.len() + usize::from(!card.missing.is_empty());
    nodes.clamp(1, 6)
}

#[component]
pub fn RackBox(props: &RackBoxProps) -> Html {
    let RackBoxProps { card, lang, drop, .. } = props;
    let drop_class = match drop {
        Drop::Nothing => None,
        Drop::Fits { over: false, .. } => Some("fits"),
        Drop::Fits { over: true, .. } => Some("fits over"),
        Drop::Refused { over: false, .. } => Some("refused"),
        Drop::Refused { over: true, .. } => Some("refused over"),
    };
    let class = classes!(
        "rack",
        match card.kind {
            RackKind::Nvl72 => "rack-nvl",
            RackKind::Network => "rack-net",
        },
        format!("w{}", width(card)),
        card.trapped.then_some("trapped"),
        drop_class.map(|c| classes!(c.split(' ').collect::<Vec<_>>())),
    );
    let open_menu = {
        let of = MenuOf::Rack(card.id);
        props.act.reform(move |_: MouseEvent| Act::OpenMenu(of))
    };
    let stop = |id: NodeId| match props.cursor {
        Some(Cursor::Node(at)) if at == id => Stop::Name,
        Some(Cursor::Cell(at, i)) if at == id => Stop::Cell(i),
        _ => Stop::No,
    };
    let open = |id: NodeId| match props.menu {
        Some(MenuOf::Node(node) | MenuOf::Group { node, .. }) => node == id,
        _ => false,
    };
    html! {
        <section {class} data-rack={card.id.0.to_string()} data-testid={format!("rack-{}", card.slug)}
            aria-label={say(lang, &card.label)}>
            <header class="rack-head">
                <h3>
                    <button type="button" class="rack-name" data-at={format!("r{}", card.id.0)} onclick={open_menu}
                        tabindex={if props.cursor == Some(Cursor::Rack(card.id)) { "0" } else { "-1" }}
                        aria-haspopup="menu" aria-expanded={(props.menu == Some(MenuOf::Rack(card.id))).to_string()}>
                        if card.kind == RackKind::Nvl72 { { icon(RINGS) } }
                        <span>{ say(lang, &card.title) }</span>
                        if let Some(free) = &card.free { <span class="rack-free">{ say(lang, free) }</span> }
                    </button>
                </h3>
                <span class="rack-where">{ say(lang, &card.whereabouts) }</span>
                if let Some(bandwidth) = &card.bandwidth {
                    <span class="rack-bandwidth" title={say(lang, &Message::MapNvlinkHelp)}>{ say(lang, bandwidth) }</span>
                }
            </header>
            if let Some(trap) = &card.trap {
                <Trap trap={trap.clone()} lang={*lang} send={props.send.clone()} />
            }
            <div class="rack-nodes">
                // A list of its own: it stays wholly keyed, so that a card in the hand is never made anew.
                <div class="rack-cards">
                    { for card.nodes.iter().map(|n| html! {
                        <NodeBox key={n.id.0} card={n.clone()} lang={*lang} map={props.map} stop={stop(n.id)} open={open(n.id)}
                            lifted={props.lifted == Some(n.id)} arrived={props.arrivals.contains(&n.id)}
                            act={props.act.clone()} lift={props.lift.clone()} />
                    }) }
                </div>
                { missing(props) }
                { place(props) }
            </div>
            if card.nodes.is_empty() && *drop == Drop::Nothing {
                <p class="rack-empty">{ say(lang, &Message::MapRackEmpty) }{ " · " }{ say(lang, &card.room) }</p>
            }
        </section>
    }
}

/// The places of members that have no GPU, beside their partners.
fn missing(props: &RackBoxProps) -> Html {
    if props.card.missing.is_empty() {
        return html! {};
    }
    let words: Vec<String> = props
        .card
        .missing
        .iter()
        .filter_map(|cell| {
            let badge = cell.badge?.to_string();
            Some(say(&props.lang, &Message::MapMissing { rank: cell.rank?.into(), badge: badge.into() }))
        })
        .collect();
    html! {
        <div class="absent" data-testid="missing">
            <div class="cells" aria-hidden="true">
                { for props.card.missing.iter().map(|c| html! {
                    <span class={classes!("cell", c.lit.then_some("lit"))}>{ cell_picture(c) }</span>
                }) }
            </div>
            <p>{ words.join(", ") }</p>
        </div>
    }
}

/// The answer of the rack to what is carried: room, or the reason against it.
fn place(props: &RackBoxProps) -> Html {
    let (card, lang) = (&props.card, &props.lang);
    match &props.drop {
        Drop::Nothing => html! {},
        Drop::Refused { why, by, .. } => html! {
            <p class={classes!("refusal", (*by == By::Pointer).then_some("floats"))} data-testid={format!("refused-{}", card.slug)}>{ say(lang, why) }</p>
        },
        Drop::Fits { by: By::Pointer, .. } => {
            let words = match card.kind {
                RackKind::Nvl72 => Message::MapDropTray,
                RackKind::Network => Message::MapDropNode,
            };
            html! {
                <div class="drop floats">
                    <strong>{ say(lang, &words) }</strong>
                    <span>{ say(lang, &card.room) }</span>
                </div>
            }
        }
        Drop::Fits { by: By::Pick, label, buys, .. } => {
            let id = card.id;
            let onclick = props.act.reform(move |_: MouseEvent| Act::DropOn(id));
            html! {
                <button type="button" class="drop" data-drop={id.0.to_string()} {onclick}
                    data-testid={format!("drop-{}", card.slug)}>
                    <span class="visually-hidden">{ say(lang, label) }</span>
                    <strong>{ icon(PLUS) }{ say(lang, if *buys { &Message::MapAddHere } else { &Message::MapMoveHere }) }</strong>
                    <span>{ say(lang, &card.room) }</span>
                </button>
            }
        }
    }
}

#[derive(Properties, PartialEq)]
struct TrapProps {
    trap: Rc<TrapCard>,
    lang: Lang,
    send: Callback<session::Message>,
}

#[component]
fn Trap(props: &TrapProps) -> Html {
    let TrapProps { trap, lang, send } = props;
    let helping = use_state_eq(|| false);
    let group = trap.group;
    let why = send.reform(move |_: MouseEvent| session::Message::Select(Selection::Group(group)));
    let toggle = {
        let helping = helping.clone();
        Callback::from(move |_: MouseEvent| helping.set(!*helping))
    };
    html! {
        <div class="trap" data-testid="trap">
            { icon(WARN) }
            <p>{ say(lang, &trap.text) }</p>
            <div class="trap-buttons">
                <button type="button" class="small" data-testid="trap-why" onclick={why}>{ say(lang, &Message::MapWhy) }</button>
                <button type="button" class="small" data-testid="trap-help" onclick={toggle}
                    aria-expanded={helping.to_string()}>{ say(lang, &Message::MapWhatCouldHelp) }</button>
            </div>
            if *helping {
                <ul class="fixes">
                    { for trap.fixes.iter().map(|fix| {
                        let command = fix.command.clone();
                        let onclick = send.reform(move |_: MouseEvent| session::Message::Do(command.clone()));
                        html! {
                            <li key={fix.id}>
                                <button type="button" class="small" data-testid={format!("fix-{}", fix.id)} {onclick}>
                                    { say(lang, &fix.label) }
                                </button>
                            </li>
                        }
                    }) }
                </ul>
            }
        </div>
    }
}
