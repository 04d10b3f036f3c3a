//! The numbers of the selected node or group.

use super::text::say;
use crate::i18n::{Lang, Message};
use crate::session::Selection;
use crate::sim::snapshot::Snapshot;
use crate::view::inspect::{self, Inspected};
use crate::view::names::Names;
use std::rc::Rc;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct Props {
    pub selection: Selection,
    pub snapshot: Rc<Snapshot>,
    pub names: Rc<Names>,
    pub lang: Lang,
}

/// What is selected, if it still exists.
pub fn inspected(selection: &Selection, snapshot: &Snapshot, names: &Names) -> Option<Inspected> {
    match selection {
        Selection::Node(id) => snapshot.nodes.iter().find(|n| n.id == *id).map(|n| inspect::node(n, snapshot, names)),
        Selection::Group(id) => {
            snapshot.groups.iter().find(|g| g.id == *id).map(|g| inspect::group(g, snapshot, names))
        }
        Selection::Nothing | Selection::Decision(_) => None,
    }
}

/// The panel; nothing is drawn while nothing is selected.
#[component]
pub fn Inspect(props: &Props) -> Html {
    let Some(Inspected { name, rows }) = inspected(&props.selection, &props.snapshot, &props.names) else {
        return html! {};
    };
    let lang = &props.lang;
    let rows = rows.iter().map(|(label, value)| {
        html! { <div><dt>{ say(lang, label) }</dt><dd>{ say(lang, value) }</dd></div> }
    });
    html! {
        <section class="inspect" data-testid="inspect">
            <h3>{ say(lang, &Message::InspectTitle) }{ " " }<span class="name">{ name }</span></h3>
            <dl>{ for rows }</dl>
        </section>
    }
}
