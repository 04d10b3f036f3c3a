//! The three layer cards: nodes, placement, replicas; under them the serving card. Each has the switch of its controller, the
//! settings that matter under it, and what the controller will do next.

use super::setting::Setting;
use super::text::{fresh_id, hidden, say, words};
use crate::i18n::Lang;
use crate::session::Message;
use crate::sim::command::Command;
use crate::sim::param::{Kind, Layer, Param, Policy};
use crate::sim::snapshot::Snapshot;
use crate::view::{cards, serving, words as word};
use std::rc::Rc;
use web_sys::Element;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct Props {
    pub snapshot: Rc<Snapshot>,
    pub lang: Lang,
    pub on_message: Callback<Message>,
    /// Leaves out what an embed has no room for: help and the formula line.
    #[prop_or_default]
    pub compact: bool,
}

/// The cards, from hardware up.
#[component]
pub fn LayerCards(props: &Props) -> Html {
    let prefix = use_memo((), |()| AttrValue::from(format!("lab{}", fresh_id())));
    let card = |layer| card(props, &prefix, layer);
    html! {
        <div class={classes!("layers", props.compact.then_some("compact"))}>
            { for cards::LAYERS.into_iter().map(card) }
            if !props.compact { { serving_card(props, &prefix) } }
        </div>
    }
}

fn layer_id(layer: Layer) -> &'static str {
    match layer {
        Layer::Nodes => "nodes",
        Layer::Placement => "placement",
        Layer::Replicas => "replicas",
        Layer::Serving => "serving",
    }
}

fn card(props: &Props, prefix: &AttrValue, layer: Layer) -> Html {
    let Props { snapshot, lang, on_message, compact } = props;
    let policy = &snapshot.policy;
    let (title, question) = cards::title(layer);
    let (tone, verdict) = cards::verdict(layer, snapshot);
    let id = layer_id(layer);
    let title_id = format!("{prefix}-{id}");
    let formula = (layer == Layer::Replicas && !compact).then(|| cards::replicas_formula(snapshot)).flatten();
    let rows = cards::settings(layer, policy).into_iter().filter(|_| cards::acts(layer, snapshot)).map(|param| {
        html! { <Setting key={param.id()} {param} policy={policy.clone()} lang={*lang} {prefix} {on_message} /> }
    });
    html! {
        <section class="layer-card" aria-labelledby={title_id.clone()} data-testid={format!("card-{id}")}>
            <header class="layer-head">
                <h2 id={title_id}>{ say(lang, &title) }</h2>
                <p>{ say(lang, &question) }</p>
            </header>
            if cards::acts(layer, snapshot) {
                { switch(props, prefix, cards::switch(layer)) }
            }
            <div class="settings">
                if layer == Layer::Placement {
                    { facts(policy, lang) }
                }
                { for rows }
            </div>
            <p class={classes!("verdict", word::tone_class(tone))} data-testid={format!("verdict-{id}")}>
                <span class="glyph" aria-hidden="true">{ word::tone_glyph(tone) }</span>
                <span>
                    if let Some(tone) = word::tone_word(tone) {
                        { hidden(lang, &tone) }
                    }
                    { say(lang, &verdict) }
                </span>
            </p>
            if let Some(formula) = formula {
                <p class="formula-line" title={words(lang, &crate::i18n::Message::CardLineTitle)} data-testid="formula-replicas">
                    { say(lang, &formula) }
                </p>
            }
            if !compact {
                { help(layer, policy, lang) }
            }
        </section>
    }
}

/// One line until it is opened: how requests fare, and what differs from the defaults.
fn serving_card(props: &Props, prefix: &AttrValue) -> Html {
    let Props { snapshot, lang, on_message, .. } = props;
    let policy = &snapshot.policy;
    let (title, question) = cards::title(Layer::Serving);
    let (tone, verdict) = serving::verdict(snapshot);
    let groups = serving::groups(snapshot).map(|(id, title, params)| {
        let title_id = format!("{prefix}-serving-{id}");
        let rows = params.into_iter().map(|param| {
            let differs = serving::differs(param, policy);
            html! {
                <div key={param.id()} class={classes!("serving-row", differs.then_some("differs"))}>
                    if differs { { hidden(lang, &crate::i18n::Message::ServingChangedRow) } }
                    <Setting {param} policy={policy.clone()} lang={*lang} {prefix} {on_message} />
                </div>
            }
        });
        html! {
            <section key={id} class="serving-group" aria-labelledby={title_id.clone()} data-testid={format!("serving-{id}")}>
                <h3 id={title_id}>{ say(lang, &title) }</h3>
                <div class="settings">{ for rows }</div>
            </section>
        }
    });
    // The card is the last of its column: opened there, little of it would be seen.
    let ontoggle = Callback::from(|event: Event| {
        let card = event.target_dyn_into::<Element>().filter(|e| e.has_attribute("open"));
        // The help inside is a fold of its own.
        if let Some(card) = card.filter(|e| e.matches(".serving-card").unwrap_or(false)) {
            card.scroll_into_view_with_bool(true);
        }
    });
    html! {
        <details class="layer-card serving-card" data-testid="card-serving" {ontoggle}>
            <summary>
                <h2>{ say(lang, &title) }</h2>
                <span class="serving-question">{ say(lang, &question) }</span>
                <span class={classes!("serving-verdict", word::tone_class(tone))} data-testid="verdict-serving">
                    <span class="glyph" aria-hidden="true">{ word::tone_glyph(tone) }</span>
                    <span>
                        if let Some(tone) = word::tone_word(tone) { { hidden(lang, &tone) } }
                        { say(lang, &verdict) }
                    </span>
                </span>
                if let Some((count, list)) = serving::changed(policy) {
                    <span class="serving-changed" data-testid="serving-changed">
                        { hidden(lang, &count) }
                        { say(lang, &list) }
                    </span>
                }
            </summary>
            { for groups }
            <details class="serving-help">
                <summary>{ say(lang, &crate::i18n::Message::CardHelp) }</summary>
                <dl>{ help_rows(serving::groups(snapshot).flat_map(|(_, _, params)| params), lang) }</dl>
            </details>
        </details>
    }
}

/// The switch: native radio buttons, so that arrow keys and screen readers work as usual.
fn switch(props: &Props, prefix: &AttrValue, param: Param) -> Html {
    let Kind::Choice(ids) = param.kind() else {
        return html! {};
    };
    let lang = &props.lang;
    let short = param.id().rsplit('.').next().unwrap_or_default();
    let chosen = props.snapshot.policy.get(param);
    let items = ids.iter().enumerate().map(|(i, id)| {
        let value = i as i64;
        let on_message = props.on_message.clone();
        let onchange = move |_: Event| on_message.emit(Message::Do(Command::Set { param, value }));
        html! {
            <label key={*id} class={classes!("switch-item", (value == chosen).then_some("chosen"))} data-testid={format!("switch-{short}-{id}")}>
                <input type="radio" name={format!("{prefix}-{short}")} value={*id} checked={value == chosen} {onchange} />
                <span>{ say(lang, &word::choice(param, value)) }</span>
            </label>
        }
    });
    html! {
        <fieldset class="switch">
            <legend class="visually-hidden">{ words(lang, &word::param(param).0) }</legend>
            { for items }
        </fieldset>
    }
}

fn facts(policy: &Policy, lang: &Lang) -> Html {
    let rows = cards::placement_facts(policy).into_iter().map(|(label, value)| {
        html! { <div class="fact"><dt>{ say(lang, &label) }</dt><dd>{ say(lang, &value) }</dd></div> }
    });
    html! { <dl class="facts">{ for rows }</dl> }
}

/// Help that needs no hover: the texts of the switch and of each row.
fn help(layer: Layer, policy: &Policy, lang: &Lang) -> Html {
    let params = std::iter::once(cards::switch(layer)).chain(cards::settings(layer, policy));
    html! {
        <details class="layer-help">
            <summary>{ say(lang, &crate::i18n::Message::CardHelp) }</summary>
            <dl>{ help_rows(params, lang) }</dl>
        </details>
    }
}

fn help_rows(params: impl Iterator<Item = Param>, lang: &Lang) -> Html {
    let row = |param: Param| {
        let (label, help) = word::param(param);
        html! { <div key={param.id()}><dt>{ say(lang, &label) }</dt><dd>{ say(lang, &help) }</dd></div> }
    };
    html! { <>{ for params.map(row) }</> }
}
