//! What a request trace holds, and the form that says how it is to be used.

use super::DialogProps;
use crate::i18n::{Lang, Message as Text};
use crate::scenario::TraceChoice;
use crate::session::Message;
use crate::sim::id::ServiceId;
use crate::sim::traffic::Trace;
use crate::ui::say;
use crate::view::trace::{self, Driven};
use std::sync::Arc;
use web_sys::{Event, HtmlInputElement, HtmlSelectElement, InputEvent};
use yew::{
    Callback, Html, Properties, SubmitEvent, TargetCast, UseStateHandle, function_component, html, use_memo, use_state,
};

#[derive(Clone, PartialEq, Properties)]
pub struct TraceProps {
    pub dialog: DialogProps,
    /// The file's name.
    pub name: String,
    pub trace: Arc<Trace>,
    /// What the form starts with.
    pub choice: TraceChoice,
}

#[function_component(TraceForm)]
pub fn trace_form(props: &TraceProps) -> Html {
    let TraceProps { dialog, name, trace, choice: first } = props;
    let lang = dialog.lang;
    let choice = use_state(|| *first);
    let speed = use_state(|| "1".to_owned());
    // Lengths alone have no speed.
    let read_speed = if choice.lengths_only { Some(choice.speed) } else { trace::read_speed(&speed) };
    let hash = trace.rows_hash();
    let facts = {
        let trace = trace.clone();
        use_memo(hash, move |_| trace::facts(&trace, &trace.summary()))
    };
    let service = dialog.services.iter().find(|s| s.id == choice.service).cloned();
    let too_long = {
        let trace = trace.clone();
        use_memo((hash, service.as_ref().map(|s| s.limit)), move |(_, limit)| {
            limit.map(|limit| trace.longer_than(limit))
        })
    };
    let played = TraceChoice { speed: read_speed.unwrap_or(choice.speed), ..*choice };
    let onsubmit = {
        let (name, trace, on_message) = (name.clone(), trace.clone(), dialog.on_message.clone());
        Callback::from(move |event: SubmitEvent| {
            event.prevent_default();
            if read_speed.is_some() {
                on_message.emit(Message::UseTrace { name: name.clone(), trace: trace.clone(), choice: played });
            }
        })
    };
    let fact = |(label, value): &(Text, Text)| {
        html! { <tr><th scope="row">{ say(&lang, label) }</th><td>{ say(&lang, value) }</td></tr> }
    };
    let mut remarks = trace::notes(trace, choice.spread && !choice.lengths_only);
    if let (Some(service), Some(too_long)) = (&service, *too_long) {
        remarks.push(trace::fit(trace, too_long, service, &choice));
    }
    if read_speed.is_some() {
        remarks.extend(trace::reach(trace, &played, dialog.run_length));
    }
    let long = too_long.is_some_and(|n| n > 0);
    html! {
        <form {onsubmit} data-testid="trace-form">
            <p><code>{ name.chars().take(60).collect::<String>() }</code></p>
            <table aria-label={say(&lang, &Text::TraceReadLabel)} data-testid="trace-facts"><tbody>{ for facts.iter().map(fact) }</tbody></table>
            { fields(&lang, &dialog.services, &choice, &speed, read_speed.is_none(), long) }
            <h3 class="trace-heading">{ say(&lang, &Text::TraceNotesLabel) }</h3>
            <ul class="trace-notes" data-testid="trace-notes" aria-live="polite">
                { for remarks.iter().map(|r| html! { <li>{ say(&lang, r) }</li> }) }
                <li>{ say(&lang, &Text::TraceRestart) }</li>
            </ul>
            <p class="row">
                <button type="submit" class="button primary" data-testid="trace-use" aria-disabled={read_speed.is_none().to_string()}>
                    { say(&lang, &Text::TraceUseButton) }
                </button>
                <button type="button" class="button" data-testid="trace-keep" onclick={dialog.on_message.reform(|_| Message::CloseDialog)}>
                    { say(&lang, &Text::TraceKeepButton) }
                </button>
            </p>
        </form>
    }
}

fn fields(
    lang: &Lang,
    services: &[Driven],
    choice: &UseStateHandle<TraceChoice>,
    speed: &UseStateHandle<String>,
    bad_speed: bool,
    long: bool,
) -> Html {
    let as_recorded = !choice.lengths_only;
    let option = |s: &Driven| {
        let text = Text::TraceService { service: s.name.as_str().into(), limit: s.limit.into() };
        html! { <option value={s.id.index().to_string()} selected={s.id == choice.service}>{ say(lang, &text) }</option> }
    };
    let on_service = picked(choice, |choice, value| {
        if let Ok(index) = value.parse() {
            choice.service = ServiceId::from_index(index);
        }
    });
    let on_use = picked(choice, |choice, value| choice.lengths_only = value == "lengths");
    let on_long = picked(choice, |choice, value| choice.cut = value == "cut");
    let oninput = {
        let speed = speed.clone();
        Callback::from(move |event: InputEvent| {
            let input: HtmlInputElement = event.target_unchecked_into();
            speed.set(input.value());
        })
    };
    html! {
        <div class="trace-fields">
            <label class="field">{ say(lang, &Text::TraceServiceLabel) }
                <select class="button" data-testid="trace-service" onchange={on_service}>{ for services.iter().map(option) }</select>
            </label>
            <label class="field">{ say(lang, &Text::TraceUseLabel) }
                <select class="button" data-testid="trace-what" onchange={on_use}>
                    <option value="all" selected={as_recorded}>{ say(lang, &Text::TraceUseAll) }</option>
                    <option value="lengths" selected={!as_recorded}>{ say(lang, &Text::TraceUseLengths) }</option>
                </select>
            </label>
            if long {
                <label class="field">{ say(lang, &Text::TraceLongLabel) }
                    <select class="button" data-testid="trace-long" onchange={on_long}>
                        <option value="refuse" selected={!choice.cut}>{ say(lang, &Text::TraceLongReject) }</option>
                        <option value="cut" selected={choice.cut}>{ say(lang, &Text::TraceLongCut) }</option>
                    </select>
                </label>
            }
            if as_recorded {
                <label class="field">{ say(lang, &Text::TraceSpeedLabel) }
                    <input class="button" type="text" inputmode="decimal" autocomplete="off" size="8" data-testid="trace-speed"
                        value={(**speed).clone()} aria-invalid={bad_speed.to_string()} aria-describedby="trace-speed-rule" {oninput} />
                    <span id="trace-speed-rule" class={if bad_speed { "setting-error" } else { "muted" }} role={bad_speed.then_some("alert")}>
                        { say(lang, &trace::speed_rule()) }
                    </span>
                </label>
                { tick(lang, "trace-repeat", &Text::TraceRepeatLabel, choice, |c| &mut c.repeat) }
                { tick(lang, "trace-spread", &Text::TraceSpreadLabel, choice, |c| &mut c.spread) }
            }
        </div>
    }
}

/// Changes the choice by the value of a list.
fn picked(choice: &UseStateHandle<TraceChoice>, change: fn(&mut TraceChoice, &str)) -> Callback<Event> {
    let choice = choice.clone();
    Callback::from(move |event: Event| {
        let select: HtmlSelectElement = event.target_unchecked_into();
        let mut next = *choice;
        change(&mut next, &select.value());
        choice.set(next);
    })
}

/// A box that sets one part of the choice.
fn tick(
    lang: &Lang,
    id: &'static str,
    text: &Text,
    choice: &UseStateHandle<TraceChoice>,
    part: fn(&mut TraceChoice) -> &mut bool,
) -> Html {
    let mut now = **choice;
    let checked = *part(&mut now);
    let onchange = {
        let choice = choice.clone();
        Callback::from(move |event: Event| {
            let input: HtmlInputElement = event.target_unchecked_into();
            let mut next = *choice;
            *part(&mut next) = input.checked();
            choice.set(next);
        })
    };
    html! {
        <label class="check"><input type="checkbox" data-testid={id} {checked} {onchange} />{ say(lang, text) }</label>
    }
}
