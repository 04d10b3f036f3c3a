//! The lab inside a lesson page: map, time, one chart and the last decision. It starts under a
//! still picture of itself, and never takes the focus or moves the page around it.

use super::say;
use crate::i18n::{Arg, Lang, Message as Text};
use crate::sim::decision::Decision;
use crate::sim::snapshot::Snapshot;
use crate::view::names::Names;
use crate::view::time::clock;
use crate::view::why::sentence;
use std::rc::Rc;
use web_sys::{HtmlAnchorElement, MouseEvent};
use yew::{Callback, Html, Properties, TargetCast, function_component, html};

#[derive(Clone, PartialEq, Properties)]
pub struct LastProps {
    pub lang: Lang,
    pub snapshot: Rc<Snapshot>,
    pub decisions: Rc<Vec<Decision>>,
    /// Makes the address of the full lab in the present state.
    pub full_lab: Callback<(), String>,
}

/// The last decision that changed something, and the way to the full lab.
#[function_component(LastDecision)]
pub fn last_decision(props: &LastProps) -> Html {
    let lang = props.lang;
    let said = match props.decisions.iter().rev().find(|d| d.is_milestone()) {
        Some(last) => {
            let sentence: Arg = sentence(last, &Names::of(&props.snapshot)).into();
            let at = Text::Word { word: clock(props.snapshot.day_start, last.at) };
            html! { <><span class="muted">{ say(&lang, &at) }</span>{ " " }{ say(&lang, &Text::Word { word: sentence }) }</> }
        }
        None => html! { <span class="muted">{ say(&lang, &Text::EmbedNothing) }</span> },
    };
    // The state goes into the address when the link is followed, not each frame.
    let full_lab = props.full_lab.clone();
    let fill = Callback::from(move |event: MouseEvent| {
        let link: HtmlAnchorElement = event.target_unchecked_into();
        link.set_href(&full_lab.emit(()));
    });
    html! {
        <footer class="embed-foot">
            <p class="last" data-testid="last-decision">{ said }</p>
            <a href="./" target="_blank" rel="noopener" data-testid="open-full" onclick={fill.clone()} onmousedown={fill}>
                { say(&lang, &Text::EmbedOpenFull) }
            </a>
        </footer>
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct StartProps {
    pub lang: Lang,
    pub title: Text,
    pub question: Option<Text>,
    pub on_start: Callback<()>,
}

/// What covers the still picture until the learner starts.
#[function_component(StartCover)]
pub fn start_cover(props: &StartProps) -> Html {
    let lang = props.lang;
    html! {
        <div class="start-cover">
            <div class="start-card">
                <h1>{ say(&lang, &props.title) }</h1>
                if let Some(question) = &props.question {
                    <p>{ say(&lang, question) }</p>
                }
                <button class="button primary" data-testid="start" onclick={props.on_start.reform(|_| ())}>
                    { say(&lang, &Text::EmbedStart) }
                </button>
            </div>
        </div>
    }
}
