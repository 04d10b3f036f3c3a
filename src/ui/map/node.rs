//! A node's card and its cells. Each redraws only when its own values change.

use super::icons::{BROOM, LEAVE, LOCK, RINGS, cell_picture, grip_dots, icon};
use super::pointer::Lift;
use super::say;
use super::tip::about_id;
use crate::i18n::{Lang, Message};
use crate::sim::id::NodeId;
use crate::view::map::{Act, Carried, CellCard, MenuOf, NodeCard, NodeHead, NodeLook, cell_label};
use std::rc::Rc;
use yew::prelude::*;

/// Which part of a node is the map's tab stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    No,
    Name,
    Cell(u32),
}

#[derive(Properties, PartialEq)]
pub struct NodeBoxProps {
    pub card: Rc<NodeCard>,
    pub lang: Lang,
    /// Which map of the page, for ids.
    pub map: u32,
    pub stop: Stop,
    /// It is being carried.
    pub lifted: bool,
    /// Its menu is open.
    pub open: bool,
    /// It came to this rack just now.
    pub arrived: bool,
    pub act: Callback<Act>,
    pub lift: Callback<Lift>,
}

/// The card. What changes in most frames is its status line alone, so head and cells are
/// components of their own and stay as they are.
#[component]
pub fn NodeBox(props: &NodeBoxProps) -> Html {
    let NodeBoxProps { card, lang, map, .. } = props;
    // The mark of arrival belongs to the element's birth, or the next frame would end the motion.
    let arrived = *use_memo((), |()| props.arrived);
    let (id, head) = (card.id, &card.head);
    let on_click = {
        let act = props.act.clone();
        use_callback((id, act), |_: MouseEvent, (id, act)| act.emit(Act::OpenMenu(MenuOf::Node(*id))))
    };
    let look = match head.look {
        NodeLook::Ready => "ready",
        NodeLook::Booting => "booting",
        NodeLook::Draining => "draining",
        NodeLook::Failed => "failed",
    };
    let class = classes!(
        "node",
        look,
        head.domain.is_some().then_some("own-domain"),
        card.lit.then_some("lit"),
        head.leaving.then_some("leaving"),
        props.lifted.then_some("lifted"),
        arrived.then_some("arrived"),
    );
    html! {
        <div {class} data-testid={format!("node-{}", head.name)} onclick={on_click}>
            <Head head={head.clone()} lang={*lang} status={status_id(*map, id)} stop={props.stop == Stop::Name}
                open={props.open} act={props.act.clone()} lift={props.lift.clone()} />
            <Cells cells={card.cells.clone()} node={id} name={head.name.clone()} lang={*lang}
                stop={match props.stop { Stop::Cell(i) => Some(i), Stop::No | Stop::Name => None }}
                parts={card.parts} about={about_id(*map)} act={props.act.clone()} />
            <div class="node-status" id={status_id(*map, id)}>
                if head.look == NodeLook::Draining { { icon(LEAVE) } }
                <span>{ say(lang, &card.status) }</span>
            </div>
        </div>
    }
}

fn status_id(map: u32, node: NodeId) -> String {
    format!("map{map}-node{}", node.0)
}

#[derive(Properties, PartialEq)]
struct HeadProps {
    head: Rc<NodeHead>,
    lang: Lang,
    /// Id of the status line, which describes the node.
    status: String,
    /// It is the map's tab stop.
    stop: bool,
    open: bool,
    act: Callback<Act>,
    lift: Callback<Lift>,
}

#[component]
fn Head(props: &HeadProps) -> Html {
    let HeadProps { head, lang, .. } = props;
    let id = head.id;
    let on_grip = {
        let lift = props.lift.clone();
        use_callback((id, lift, head.movable), |event: PointerEvent, (id, lift, movable)| {
            if *movable {
                lift.emit(Lift { event, what: Carried::Node(*id) });
            }
        })
    };
    html! {
        <>
            <div class="node-head">
                <span class={classes!("grip", (!head.movable).then_some("stuck"))} aria-hidden="true"
                    data-testid={format!("grip-{}", head.name)} onpointerdown={on_grip}>{ grip_dots() }</span>
                <button class="node-name" type="button" data-at={format!("n{}", id.0)}
                    tabindex={if props.stop { "0" } else { "-1" }} aria-describedby={props.status.clone()}
                    aria-haspopup="menu" aria-expanded={props.open.to_string()} aria-label={say(lang, &head.label)}>
                    <span aria-hidden="true">{ &head.name }</span>
                </button>
                if head.look == NodeLook::Draining || head.leaving { { icon(LOCK) } }
                if head.reviewed { { icon(BROOM) } }
                if let Some(bandwidth) = &head.domain {
                    <span class="node-domain" title={say(lang, &Message::MapNvlinkHelp)}>
                        { icon(RINGS) }<span>{ say(lang, bandwidth) }</span>
                    </span>
                }
            </div>
            <div class="node-kind">
                <span>{ say(lang, &head.kind) }</span><span class="node-price">{ say(lang, &head.price) }</span>
            </div>
            if let Some(share) = &head.share { <div class="node-share">{ share.to_string() }</div> }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct CellsProps {
    cells: Rc<Vec<CellCard>>,
    node: NodeId,
    name: String,
    lang: Lang,
    stop: Option<u32>,
    /// Cells of one GPU.
    parts: u32,
    /// Id of the text about the cell under the cursor.
    about: String,
    act: Callback<Act>,
}

#[component]
fn Cells(props: &CellsProps) -> Html {
    let cell = |(i, cell): (usize, &CellCard)| {
        let at = i as u32;
        let node = props.node;
        let of = match cell.group {
            Some(group) => MenuOf::Group { group, node, cell: at },
            None => MenuOf::Node(node),
        };
        let act = props.act.clone();
        let onclick = Callback::from(move |event: MouseEvent| {
            event.stop_propagation();
            act.emit(Act::OpenMenu(of));
        });
        let stop = props.stop == Some(at);
        html! {
            <button key={i} type="button" class={classes!("cell", cell.lit.then_some("lit"))} {onclick}
                data-at={format!("c{}.{at}", node.0)} tabindex={if stop { "0" } else { "-1" }}
                aria-describedby={stop.then(|| props.about.clone())}
                aria-haspopup="menu" aria-label={say(&props.lang, &cell_label(cell, i, props.parts, &props.name))}>
                { cell_picture(cell) }
            </button>
        }
    };
    let mut cells = props.cells.iter().enumerate().map(cell);
    if props.parts < 2 {
        return html! { <div class="cells">{ for cells }</div> };
    }
    // The parts of a GPU stand in its box, at most four in a row.
    let parts = props.parts as usize;
    let gpus = props.cells.len().div_ceil(parts);
    let gpu = |i: usize| {
        let own: Vec<Html> = cells.by_ref().take(parts).collect();
        html! { <div key={i} class="gpu" style={format!("--parts:{}", parts.min(4))}>{ own }</div> }
    };
    html! { <div class="cells divided">{ for (0..gpus).map(gpu) }</div> }
}
