//! What stands around the racks: legend, fabric, pending tray.

use super::icons::{RINGS, icon, sample, wait_path};
use super::say;
use crate::i18n::{Arg, Lang, Message};
use crate::session::{self, Selection};
use crate::view::map::{FabricView, LegendItem, PendingRow, look_word, wait_icon};
use std::rc::Rc;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct LegendProps {
    pub items: Vec<LegendItem>,
    pub lang: Lang,
}

#[component]
pub fn Legend(props: &LegendProps) -> Html {
    let lang = &props.lang;
    html! {
        <ul class="map-legend" aria-label={say(lang, &Message::MapLegend)}>
            { for props.items.iter().map(|item| html! {
                <li key={item.look.id()}>
                    { sample(item.look) }
                    <span>{ say(lang, &look_word(item.look)) }</span>
                    <b>{ say(lang, &Message::Word { word: item.gpus.into() }) }</b>
                </li>
            }) }
        </ul>
    }
}

#[derive(Properties, PartialEq)]
pub struct FabricProps {
    pub fabric: Rc<FabricView>,
    pub lang: Lang,
    pub send: Callback<session::Message>,
}

#[component]
pub fn Fabric(props: &FabricProps) -> Html {
    let FabricProps { fabric, lang, send } = props;
    if fabric.networks.is_empty() && fabric.bridges.is_empty() {
        return html! {};
    }
    html! {
        <section class={classes!("map-fabric", (!fabric.bridges.is_empty()).then_some("crossed"))}
            aria-label={say(lang, &Message::MapFabric)}>
            <div class="wire" aria-hidden="true"></div>
            <p>
                <strong>{ say(lang, &Message::MapFabric) }</strong>
                { for fabric.networks.iter().map(|n| html! { <span class="network">{ say(lang, n) }</span> }) }
                if fabric.bridges.is_empty() { <span class="law">{ say(lang, &Message::MapFabricLaw) }</span> }
            </p>
            { for fabric.bridges.iter().map(|bridge| {
                let group = bridge.group;
                let onclick = send.reform(move |_: MouseEvent| session::Message::Select(Selection::Group(group)));
                let badge = match &bridge.badge { Arg::Name(name) => name.clone(), _ => String::new() };
                html! {
                    <button key={group.0} type="button" class="bridge" data-testid="bridge" {onclick}>
                        <span class="visually-hidden">{ say(lang, &bridge.text) }{ ": " }</span>
                        { for bridge.places.iter().enumerate().map(|(i, place)| html! {
                            <>
                                if i > 0 { <span class="span"><b>{ &badge }</b></span> }
                                <span class="end">{ icon(RINGS) }{ say(lang, place) }</span>
                            </>
                        }) }
                        <span class="cost">{ say(lang, &bridge.cost) }</span>
                    </button>
                }
            }) }
        </section>
    }
}

#[derive(Properties, PartialEq)]
pub struct PendingProps {
    pub rows: Rc<Vec<PendingRow>>,
    pub more: usize,
    pub lang: Lang,
    pub send: Callback<session::Message>,
}

#[component]
pub fn Pending(props: &PendingProps) -> Html {
    let PendingProps { rows, more, lang, send } = props;
    html! {
        <section class="map-pending" aria-label={say(lang, &Message::MapPending)} data-testid="pending">
            <h3>{ say(lang, &Message::MapPending) }</h3>
            if rows.is_empty() {
                <p class="none">{ say(lang, &Message::MapPendingNone) }</p>
            } else {
                <ul>
                    { for rows.iter().map(|row| pending_row(row, lang, send)) }
                </ul>
                if *more > 0 {
                    <p class="more">{ say(lang, &Message::MapPendingMore { count: (*more).into() }) }</p>
                }
            }
        </section>
    }
}

fn pending_row(row: &PendingRow, lang: &Lang, send: &Callback<session::Message>) -> Html {
    let group = row.group;
    let onclick = send.reform(move |_: MouseEvent| session::Message::Select(Selection::Group(group)));
    html! {
        <li key={format!("{}-{:?}", group.0, row.reason)} data-testid={format!("pending-{}", row.name)}>
            <span class="who">
                <b>{ &row.name }</b>
                if let Some(pods) = &row.pods { <span>{ say(lang, pods) }</span> }
            </span>
            <span class="chip">{ icon(wait_path(wait_icon(row.reason))) }{ say(lang, &row.words) }</span>
            <span class="age">{ say(lang, &row.waited) }</span>
            <button type="button" class="link" data-testid={format!("why-{}", row.name)} {onclick}
                aria-label={say(lang, &Message::MapWhyNotOf { group: row.name.clone().into() })}>
                { say(lang, &Message::MapWhyNot) }
            </button>
        </li>
    }
}
