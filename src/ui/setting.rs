//! One row of a layer card: a choice, or a number with steppers, unit and range. What leaves the
//! range is refused in place, with the rule.

use super::text::{say, words};
use crate::i18n::{Arg, Lang, Message as Text};
use crate::session::Message;
use crate::sim::command::Command;
use crate::sim::param::{Kind, Param, Policy};
use crate::view::cards::{input_text, read_input, stepped};
use crate::view::words as word;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct Props {
    pub param: Param,
    pub policy: Policy,
    pub lang: Lang,
    /// Prefix that makes `id` attributes unique on the page.
    pub prefix: AttrValue,
    pub on_message: Callback<Message>,
}

/// A setting with its label, control and help.
#[component]
pub fn Setting(props: &Props) -> Html {
    let id = format!("{}-{}", props.prefix, props.param.id().replace('.', "-"));
    let (label, help) = word::param(props.param);
    let lang = &props.lang;
    let help_id = format!("{id}-help");
    let control = match props.param.kind() {
        Kind::Choice(ids) => choice(props, &id, &help_id, ids),
        _ => {
            html! { <Number param={props.param} policy={props.policy.clone()} lang={*lang} id={id.clone()} on_message={&props.on_message} /> }
        }
    };
    let range = match props.param.kind() {
        Kind::Choice(_) => None,
        Kind::Count { min, max } | Kind::Percent { min, max } | Kind::Seconds { min, max } => {
            let (min, max) = (word::value(props.param, min), word::value(props.param, max));
            Some(Text::CardRange { min, max })
        }
        Kind::Limit { max } => Some(Text::CardRange { min: Arg::Int(0), max: max.into() }),
    };
    html! {
        <div class="setting" title={words(lang, &help)}>
            <div class="setting-name">
                <label for={id}>{ say(lang, &label) }{ unit(props.param, lang) }</label>
                if let Some(range) = range {
                    <span class="setting-range">{ say(lang, &range) }</span>
                }
                <span id={help_id} class="visually-hidden">{ words(lang, &help) }</span>
            </div>
            { control }
        </div>
    }
}

fn send(on_message: &Callback<Message>, param: Param, value: i64) {
    on_message.emit(Message::Do(Command::Set { param, value }));
}

fn choice(props: &Props, id: &str, help_id: &str, ids: &'static [&'static str]) -> Html {
    let (param, value) = (props.param, props.policy.get(props.param));
    let on_message = props.on_message.clone();
    let onchange = Callback::from(move |e: Event| {
        let select: HtmlSelectElement = e.target_unchecked_into();
        if let Ok(value) = param.parse(&select.value()) {
            send(&on_message, param, value);
        }
    });
    let options = ids.iter().enumerate().map(|(i, choice)| {
        let i = i as i64;
        html! { <option key={*choice} value={*choice} selected={i == value}>{ words(&props.lang, &word::choice(param, i)) }</option> }
    });
    html! {
        <select id={id.to_owned()} class="setting-select" aria-describedby={help_id.to_owned()}
            data-testid={format!("param-{}", param.id())} {onchange}>
            { for options }
        </select>
    }
}

#[derive(Properties, PartialEq)]
struct NumberProps {
    param: Param,
    policy: Policy,
    lang: Lang,
    id: AttrValue,
    on_message: Callback<Message>,
}

#[component]
fn Number(props: &NumberProps) -> Html {
    let NumberProps { param, policy, lang, id, on_message } = props;
    let (param, value) = (*param, policy.get(*param));
    // What is typed and not yet taken, and the rule that it broke.
    let draft = use_state(|| None::<String>);
    let error = use_state(|| None::<Text>);
    {
        let (draft, error) = (draft.clone(), error.clone());
        use_effect_with(value, move |_| {
            draft.set(None);
            error.set(None);
        });
    }
    let take = {
        let (draft, error, policy, on_message) = (draft.clone(), error.clone(), policy.clone(), on_message.clone());
        move |text: String| match read_input(param, &text, &policy) {
            Ok(new) => {
                draft.set(None);
                error.set(None);
                if new != value {
                    send(&on_message, param, new);
                }
            }
            Err(rule) => {
                draft.set(Some(text));
                error.set(Some(word::param_error(param, &rule)));
            }
        }
    };
    let step = {
        let take = take.clone();
        move |up: bool| take(input_text(param, stepped(param, value, up)))
    };
    let button = |up: bool, sign: &'static str| {
        let (label, _) = word::param(param);
        let label = Arg::from(label);
        let name = if up { Text::CardMore { param: label } } else { Text::CardLess { param: label } };
        let step = step.clone();
        let at_end = stepped(param, value, up) == value;
        html! {
            <button type="button" class="stepper" tabindex="-1" aria-disabled={at_end.to_string()}
                aria-label={words(lang, &name)} onclick={move |_: MouseEvent| step(up)}>{ sign }</button>
        }
    };
    let oninput = {
        let draft = draft.clone();
        Callback::from(move |e: InputEvent| {
            let input: HtmlInputElement = e.target_unchecked_into();
            draft.set(Some(input.value()));
        })
    };
    let onchange = {
        let take = take.clone();
        Callback::from(move |e: Event| {
            let input: HtmlInputElement = e.target_unchecked_into();
            take(input.value());
        })
    };
    let onkeydown = {
        let (draft, error, step) = (draft.clone(), error.clone(), step.clone());
        Callback::from(move |e: KeyboardEvent| match e.key().as_str() {
            "ArrowUp" | "ArrowDown" => {
                e.prevent_default();
                e.stop_propagation();
                step(e.key() == "ArrowUp");
            }
            "Escape" if draft.is_some() || error.is_some() => {
                e.stop_propagation();
                draft.set(None);
                error.set(None);
            }
            _ => {}
        })
    };
    let (min, max) = match param.kind() {
        Kind::Choice(ids) => (0, ids.len() as i64 - 1),
        Kind::Count { min, max } | Kind::Percent { min, max } | Kind::Seconds { min, max } => (min, max),
        Kind::Limit { max } => (0, max),
    };
    let mode = if matches!(param.kind(), Kind::Seconds { .. }) { "text" } else { "numeric" };
    let shown = (*draft).clone().unwrap_or_else(|| input_text(param, value));
    let error_id = format!("{id}-error");
    let described = if error.is_some() { format!("{error_id} {id}-help") } else { format!("{id}-help") };
    html! {
        <>
            <div class="setting-number">
                { button(false, "−") }
                <input id={id.clone()} type="text" inputmode={mode} autocomplete="off" size="4" role="spinbutton"
                    aria-valuenow={value.to_string()} aria-valuemin={min.to_string()} aria-valuemax={max.to_string()}
                    aria-valuetext={words(lang, &Text::Word { word: word::value(param, value) })}
                    aria-invalid={error.is_some().to_string()} aria-describedby={described}
                    data-testid={format!("param-{}", param.id())} value={shown} {oninput} {onchange} {onkeydown} />
                { button(true, "+") }
            </div>
            if let Some(rule) = &*error {
                <p id={error_id} class="setting-error" role="alert" data-testid={format!("error-{}", param.id())}>{ say(lang, rule) }</p>
            }
        </>
    }
}

/// The unit of a bare number; lengths of time carry theirs in the input.
fn unit(param: Param, lang: &Lang) -> Html {
    let unit = match param {
        Param::TargetPercent | Param::TargetKv => Text::CardUnitPercent,
        Param::TargetWaiting => Text::CardUnitWaiting,
        Param::QueueLimit => Text::CardUnitPerReplica,
        Param::ContextCap | Param::OutputCap => Text::CardUnitTokens,
        Param::Retries => Text::CardUnitTries,
        _ => return html! {},
    };
    html! { <>{ " " }<span class="setting-unit">{ say(lang, &unit) }</span></> }
}
