//! A short line above the page that needs no answer.

use super::say;
use crate::i18n::{Lang, Message as Text};
use crate::session::{Message, Notice};
use crate::sim::time::Span;
use crate::ui::shell::files::Progress;
use crate::view::map::refusal_message;
use crate::view::time::clock;
use yew::{Callback, Html, Properties, classes, function_component, html};

#[derive(Clone, PartialEq, Properties)]
pub struct NoticeProps {
    pub lang: Lang,
    pub notice: Option<Notice>,
    /// How far a trace is read, while it is.
    pub reading: Option<Progress>,
    pub day_start: Span,
    pub on_message: Callback<Message>,
    pub on_cancel: Callback<()>,
}

fn words(notice: &Notice, day_start: Span) -> Text {
    match notice {
        Notice::Refused { why, .. } => Text::NoticeRefused { why: refusal_message(why).into() },
        Notice::Forked { at, commands_dropped } => {
            Text::NoticeForked { at: clock(day_start, *at), n: (*commands_dropped).into() }
        }
        Notice::LinkCopied => Text::NoticeCopied,
        Notice::OtherResult => Text::NoticeOtherResult,
        Notice::TraceLoaded { name, requests, length, service, lengths_only } => {
            let name = name.chars().take(60).collect::<String>().into();
            let (n, service) = ((*requests).into(), service.as_str().into());
            if *lengths_only {
                Text::NoticeTraceLengths { name, n, service }
            } else {
                Text::NoticeTrace { name, n, length: (*length).into(), service }
            }
        }
        Notice::NotKept => Text::NoticeNotKept,
    }
}

/// The region stays in the page, so that screen readers hear what comes into it.
#[function_component(NoticeBar)]
pub fn notice_bar(props: &NoticeProps) -> Html {
    let lang = props.lang;
    let bad = matches!(props.notice, Some(Notice::Refused { .. } | Notice::OtherResult));
    let text = props.notice.as_ref().map(|n| words(n, props.day_start));
    let dismiss = say(&lang, &Text::Dismiss);
    html! {
        <div class="notice-place">
            // Outside of the live region: a reader need not hear every step, and asks when it wants to.
            if let Some(Progress { share, text }) = &props.reading {
                <div class="notice reading" data-testid="reading">
                    <p id="reading-text">{ say(&lang, text) }</p>
                    <progress value={share.to_string()} max="1" aria-labelledby="reading-text" />
                    <button class="button" data-testid="cancel-reading" onclick={props.on_cancel.reform(|_| ())}>
                        { say(&lang, &Text::TraceCancelReading) }
                    </button>
                </div>
            }
            <div role="status">
                if let Some(text) = text {
                    <div class={classes!("notice", bad.then_some("bad"))} data-testid="notice">
                        <p>{ say(&lang, &text) }</p>
                        <button class="icon-button" title={dismiss.clone()} aria-label={dismiss}
                            onclick={props.on_message.reform(|_| Message::DismissNotice)}>{ "✕" }</button>
                    </div>
                }
            </div>
        </div>
    }
}
