//! The palette, the launch buttons and the spike form.

use super::icons::{MOON, PLAY, grip_dots, icon};
use super::pointer::Lift;
use super::say;
use crate::i18n::{Lang, Message};
use crate::session;
use crate::sim::command::Command;
use crate::sim::time::Span;
use crate::view::map::{Act, By, Carried, LaunchButton, PaletteCard, SPIKE_MAX, SpikeDefaults};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct ToolsProps {
    pub palette: Rc<Vec<PaletteCard>>,
    pub launches: Rc<Vec<LaunchButton>>,
    pub spike: Option<Rc<SpikeDefaults>>,
    /// The palette item that is being placed.
    pub carried: Option<u32>,
    pub lang: Lang,
    pub act: Callback<Act>,
    pub send: Callback<session::Message>,
    pub lift: Callback<Lift>,
}

#[component]
pub fn Tools(props: &ToolsProps) -> Html {
    let ToolsProps { lang, send, .. } = props;
    let spiking = use_state_eq(|| false);
    let toggle = {
        let spiking = spiking.clone();
        Callback::from(move |_: MouseEvent| spiking.set(!*spiking))
    };
    let opener = use_node_ref();
    let close = {
        let (spiking, opener) = (spiking.clone(), opener.clone());
        use_callback((), move |(), ()| {
            spiking.set(false);
            // What had the focus goes with the form.
            if let Some(button) = opener.cast::<HtmlElement>() {
                _ = button.focus();
            }
        })
    };
    let on_opener_key = {
        let (close, open) = (close.clone(), *spiking);
        Callback::from(move |event: KeyboardEvent| {
            if open && event.key() == "Escape" {
                event.prevent_default();
                event.stop_propagation();
                close.emit(());
            }
        })
    };
    html! {
        <section class="map-tools" aria-label={say(lang, &Message::MapTools)} data-testid="tools">
            <div class="palette">{ for props.palette.iter().map(|item| palette_item(props, item)) }</div>
            <div class="loads">
                { for props.launches.iter().map(|launch| {
                    let service = launch.service;
                    let onclick = send.reform(move |_: MouseEvent| session::Message::Do(Command::LaunchGang { service }));
                    html! {
                        <button key={launch.name.clone()} type="button" class="tool" {onclick}
                            data-testid={format!("launch-{}", launch.name)}>{ icon(PLAY) }{ say(lang, &launch.label) }</button>
                    }
                }) }
                if props.spike.is_some() {
                    <button ref={opener} type="button" class="tool" data-testid="spike" onclick={toggle} onkeydown={on_opener_key}
                        aria-expanded={spiking.to_string()}>{ icon(MOON) }{ say(lang, &Message::MapSpike) }</button>
                }
            </div>
            if *spiking {
                if let Some(defaults) = &props.spike {
                    <SpikeForm defaults={defaults.clone()} lang={*lang} send={send.clone()} {close} />
                }
            }
        </section>
    }
}

fn palette_item(props: &ToolsProps, item: &PaletteCard) -> Html {
    let lang = &props.lang;
    let what = Carried::Palette(item.index);
    let onclick = props.act.reform(move |_: MouseEvent| Act::Carry(what, By::Pick));
    let lift = props.lift.clone();
    // A mouse may take it anywhere; a finger only by the grip, so that the page still scrolls.
    let onpointerdown = Callback::from(move |event: PointerEvent| {
        let on_grip = event
            .target()
            .and_then(|t| t.dyn_into::<Element>().ok())
            .is_some_and(|e| e.closest(".grip").ok().flatten().is_some());
        if event.pointer_type() == "mouse" || on_grip {
            lift.emit(Lift { event, what });
        }
    });
    html! {
        <button key={item.index} type="button" class="tool item" {onclick} {onpointerdown}
            data-testid={format!("palette-{}", item.instance)} data-item={item.index.to_string()}
            aria-pressed={(props.carried == Some(item.index)).to_string()}>
            <span class="visually-hidden">{ say(lang, &Message::MapItemBuy) }</span>
            <span class="grip" aria-hidden="true">{ grip_dots() }</span>
            <span class="item-words"><b>{ say(lang, &item.name) }</b><span>{ say(lang, &item.detail) }</span></span>
        </button>
    }
}

#[derive(Properties, PartialEq)]
struct SpikeFormProps {
    defaults: Rc<SpikeDefaults>,
    lang: Lang,
    send: Callback<session::Message>,
    close: Callback<()>,
}

#[component]
fn SpikeForm(props: &SpikeFormProps) -> Html {
    let SpikeFormProps { defaults, lang, send, close } = props;
    let (service, requests, minutes, tokens) = (use_node_ref(), use_node_ref(), use_node_ref(), use_node_ref());
    let bad = use_state_eq(|| false);
    let onsubmit = {
        let (service, requests, minutes, tokens) = (service.clone(), requests.clone(), minutes.clone(), tokens.clone());
        let (defaults, send, close, bad) = (defaults.clone(), send.clone(), close.clone(), bad.clone());
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            let chosen = service.cast::<HtmlSelectElement>().map(|s| s.selected_index()).unwrap_or(0);
            let target = usize::try_from(chosen).ok().and_then(|i| defaults.services.get(i));
            match (target, number(&requests), number(&minutes), number(&tokens)) {
                (Some((service, ..)), Some(requests), Some(minutes), Some(long_prompt_tokens)) => {
                    let over = Span::from_mins(u64::from(minutes));
                    let command = Command::InjectSpike { service: *service, requests, over, long_prompt_tokens };
                    bad.set(false);
                    send.emit(session::Message::Do(command));
                    close.emit(());
                }
                _ => bad.set(true),
            }
        })
    };
    let cancel = close.reform(|_: MouseEvent| ());
    let onkeydown = {
        let close = close.clone();
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" {
                event.prevent_default();
                event.stop_propagation();
                close.emit(());
            }
        })
    };
    let field = |label: &Message, name: &'static str, node: &NodeRef, value: u32| {
        html! {
            <label>{ say(lang, label) }
                <input ref={node.clone()} name={name} type="number" inputmode="numeric" min="0" step="1"
                    max={SPIKE_MAX.to_string()} value={value.to_string()} data-testid={format!("spike-{name}")} />
            </label>
        }
    };
    html! {
        <form class="spike-form" {onsubmit} {onkeydown} novalidate=true aria-label={say(lang, &Message::MapSpikeTitle)} data-testid="spike-form">
            <label>{ say(lang, &Message::MapSpikeService) }
                <select ref={service} name="service" data-testid="spike-service">
                    { for defaults.services.iter().enumerate().map(|(i, (id, name, _))| html! {
                        <option key={id.0} value={id.0.to_string()} selected={i == defaults.chosen}>{ name }</option>
                    }) }
                </select>
            </label>
            { field(&Message::MapSpikeRequests, "requests", &requests, defaults.requests) }
            { field(&Message::MapSpikeMinutes, "minutes", &minutes, defaults.minutes) }
            { field(&Message::MapSpikeTokens, "tokens", &tokens, defaults.long_prompt_tokens) }
            if *bad { <p class="bad" role="alert">{ say(lang, &Message::MapSpikeBounds { max: SPIKE_MAX.into() }) }</p> }
            <div class="form-buttons">
                <button type="submit" class="tool primary" data-testid="spike-send">{ say(lang, &Message::MapSpikeSend) }</button>
                <button type="button" class="tool" data-testid="spike-cancel" onclick={cancel}>{ say(lang, &Message::MapCancel) }</button>
            </div>
        </form>
    }
}

/// A whole number within the form's bounds.
fn number(node: &NodeRef) -> Option<u32> {
    let text = node.cast::<HtmlInputElement>()?.value();
    text.trim().parse::<u32>().ok().filter(|n| *n <= SPIKE_MAX)
}
