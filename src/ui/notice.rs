//! A short line above the page that needs no answer.

use super::say;
use crate::i18n::{Lang, Message as Text};
use crate::session::{Message, Notice};
use crate::sim::time::Span;
use crate::view::map::refusal_message;
use crate::view::time::clock;
use yew::{Callback, Html, Properties, classes, function_component, html};

#[derive(Clone, PartialEq, Properties)]
pub struct NoticeProps {
    pub lang: Lang,
    pub notice: Option<Notice>,
    /// How far a file is read, while it is.
    pub reading: Option<Text>,
    pub day_start: Span,
    pub on_message: Callback<Message>,
}

fn words(notice: &Notice, day_start: Span) -> Text {
    match notice {
        Notice::Refused { why, .. } => Text::NoticeRefused { why: refusal_message(why).into() },
        Notice::Forked { at, commands_dropped } => {
            Text::NoticeForked { at: clock(day_start, *at), n: (*commands_dropped).into() }
        }
        Notice::LinkCopied => Text::NoticeCopied,
        Notice::OtherResult => Text::NoticeOtherResult,
        Notice::TraceLoaded { name, requests, length } => Text::NoticeTrace {
            name: name.chars().take(60).collect::<String>().into(),
            n: (*requests).into(),
            length: (*length).into(),
        },
        Notice::NotKept => Text::NoticeNotKept,
    }
}

/// The region stays in the page, so that screen readers hear what comes into it.
#[function_component(NoticeBar)]
pub fn notice_bar(props: &NoticeProps) -> Html {
    let lang = props.lang;
    let bad = matches!(props.notice, Some(Notice::Refused { .. } | Notice::OtherResult));
    let text = props.reading.clone().or_else(|| props.notice.as_ref().map(|n| words(n, props.day_start)));
    let dismiss = say(&lang, &Text::Dismiss);
    html! {
        <div class="notice-place" role="status">
            if let Some(text) = text {
                <div class={classes!("notice", bad.then_some("bad"))} data-testid="notice">
                    <p>{ say(&lang, &text) }</p>
                    if props.reading.is_none() {
                        <button class="icon-button" title={dismiss.clone()} aria-label={dismiss}
                            onclick={props.on_message.reform(|_| Message::DismissNotice)}>{ "✕" }</button>
                    }
                </div>
            }
        </div>
    }
}
