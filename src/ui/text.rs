//! Text of the catalogue as HTML: `**strong**` marks become `<strong>`.

use crate::i18n::{Lang, Message, plain, render};
use std::sync::atomic::{AtomicU32, Ordering};
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct RichProps {
    /// A rendered message, with its marks of emphasis.
    pub text: AttrValue,
}

/// A rendered message with its emphasis.
#[component]
pub fn Rich(props: &RichProps) -> Html {
    html! { <>{ rich(&props.text) }</> }
}

fn rich(text: &str) -> Html {
    // A percent sign stays on the line of its number.
    let text = text.replace(" %", "\u{a0}%");
    let parts = text.split("**").enumerate().filter(|(_, part)| !part.is_empty());
    parts
        .map(|(i, part)| {
            let part = part.to_owned();
            if i % 2 == 1 {
                html! { <strong>{ part }</strong> }
            } else {
                html! { part }
            }
        })
        .collect()
}

/// A message as HTML, with its emphasis.
pub fn say(lang: &Lang, message: &Message) -> Html {
    rich(&render(lang, message))
}

/// A message as plain text, for attributes.
pub fn words(lang: &Lang, message: &Message) -> String {
    plain(&render(lang, message))
}

/// A formula: `^` raises the number after it.
pub fn formula(text: &str) -> Html {
    let mut parts = text.split('^');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(part.len());
        let (power, tail) = part.split_at(end);
        html! { <><sup>{ power.to_owned() }</sup>{ tail.to_owned() }</> }
    });
    html! { <>{ first }{ for rest }</> }
}

/// Text that only screen readers get.
pub fn hidden(lang: &Lang, message: &Message) -> Html {
    html! { <span class="visually-hidden">{ words(lang, message) }{ " " }</span> }
}

/// A number that no other caller of this page gets, for `id` and `name` attributes.
pub fn fresh_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
