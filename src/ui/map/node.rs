//! A node's card and its cells. Each redraws only when its own values change.

use super::icons::{BROOM, LEAVE, LOCK, RINGS, cell_picture, grip_dots, icon};
use super::pointer::Lift;
use super::say;
use crate::i18n::{Lang, Message};
use crate::sim::id::NodeId;
use crate::view::map::{Act, Carried, CellCard, MenuOf, NodeCard, NodeLook, cell_label};
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

#[component]
pub fn NodeBox(props: &NodeBoxProps) -> Html {
    let NodeBoxProps { card, lang, .. } = props;
    // The mark of arrival belongs to the element's birth, or the next frame would end the motion.
    let arrived = *use_memo((), |()| props.arrived);
    let id = card.id;
    let on_click = {
        let act = props.act.clone();
        use_callback((id, act), |_: MouseEvent, (id, act)| act.emit(Act::OpenMenu(MenuOf::Node(*id))))
    };
    let on_grip = {
        let lift = props.lift.clone();
        use_callback((id, lift, card.movable), |event: PointerEvent, (id, lift, movable)| {
            if *movable {
                lift.emit(Lift { event, what: Carried::Node(*id) });
            }
        })
    };
    let look = match card.look {
        NodeLook::Ready => "ready",
        NodeLook::Booting => "booting",
        NodeLook::Draining => "draining",
        NodeLook::Failed => "failed",
    };
    let class = classes!(
        "node",
        look,
        card.domain.is_some().then_some("own-domain"),
        card.lit.then_some("lit"),
        card.leaving.then_some("leaving"),
        props.lifted.then_some("lifted"),
        arrived.then_some("arrived"),
    );
    html! {
        <div {class} data-testid={format!("node-{}", card.name)} onclick={on_click}>
            <div class="node-head">
                <span class={classes!("grip", (!card.movable).then_some("stuck"))} aria-hidden="true"
                    data-testid={format!("grip-{}", card.name)} onpointerdown={on_grip}>{ grip_dots() }</span>
                <button class="node-name" type="button" data-at={format!("n{}", id.0)}
                    tabindex={if props.stop == Stop::Name { "0" } else { "-1" }}
                    aria-haspopup="menu" aria-expanded={props.open.to_string()} aria-label={say(lang, &card.label)}>
                    <span aria-hidden="true">{ &card.name }</span>
                </button>
                if card.look == NodeLook::Draining || card.leaving { { icon(LOCK) } }
                if card.reviewed { { icon(BROOM) } }
                if let Some(bandwidth) = &card.domain {
                    <span class="node-domain" title={say(lang, &Message::MapNvlinkHelp)}>
                        { icon(RINGS) }<span>{ say(lang, bandwidth) }</span>
                    </span>
                }
            </div>
            <div class="node-kind">
                <span>{ say(lang, &card.kind) }</span><span class="node-price">{ say(lang, &card.price) }</span>
            </div>
            <Cells cells={card.cells.clone()} node={id} name={card.name.clone()} lang={*lang}
                stop={match props.stop { Stop::Cell(i) => Some(i), Stop::No | Stop::Name => None }}
                act={props.act.clone()} />
            <div class="node-status">
                if card.look == NodeLook::Draining { { icon(LEAVE) } }
                <span>{ say(lang, &card.status) }</span>
            </div>
        </div>
    }
}

#[derive(Properties, PartialEq)]
struct CellsProps {
    cells: Rc<Vec<CellCard>>,
    node: NodeId,
    name: String,
    lang: Lang,
    stop: Option<u32>,
    act: Callback<Act>,
}

#[component]
fn Cells(props: &CellsProps) -> Html {
    let cells = props.cells.iter().enumerate().map(|(i, cell)| {
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
        html! {
            <button key={i} type="button" class={classes!("cell", cell.lit.then_some("lit"))} {onclick}
                data-at={format!("c{}.{at}", node.0)} tabindex={if props.stop == Some(at) { "0" } else { "-1" }}
                aria-haspopup="menu" aria-label={say(&props.lang, &cell_label(cell, i, &props.name))}>
                { cell_picture(cell) }
            </button>
        }
    });
    html! { <div class="cells">{ for cells }</div> }
}
