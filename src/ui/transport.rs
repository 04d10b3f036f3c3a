//! Time: back to the start, decision by decision, play, speed, and the scrubber with its marks.

use super::say;
use crate::i18n::{Lang, Message as Text};
use crate::session::{Message, Speed};
use crate::sim::time::{Span, Time};
use crate::view::time::{Mark, MarkKind, clock};
use std::rc::Rc;
use web_sys::{Event, HtmlInputElement, HtmlSelectElement, InputEvent};
use yew::{AttrValue, Callback, Html, Properties, TargetCast, classes, function_component, html};

#[derive(Clone, PartialEq, Properties)]
pub struct TransportProps {
    pub lang: Lang,
    pub now: Time,
    pub seen_until: Time,
    pub day_start: Span,
    pub end: Time,
    pub playing: bool,
    /// Where a jump leads that is being computed.
    pub jump_target: Option<Time>,
    pub speed: Speed,
    pub marks: Rc<Vec<Mark>>,
    pub on_message: Callback<Message>,
}

#[function_component(Transport)]
pub fn transport(props: &TransportProps) -> Html {
    let lang = props.lang;
    let button = |id: &'static str, glyph: Html, name: Text, message: Message| {
        let name = say(&lang, &name);
        html! {
            <button class={classes!("icon-button", id)} data-testid={id} title={name.clone()} aria-label={name}
                onclick={props.on_message.reform(move |_| message.clone())}>{ glyph }</button>
        }
    };
    let play = if props.playing { Text::Pause } else { Text::Play };
    html! {
        <section class="transport" aria-label={say(&lang, &Text::TransportLabel)} aria-busy={props.jump_target.is_some().to_string()}>
            <div class="transport-buttons">
                { button("rewind", icon("M5 4v16M19 5 9 12l10 7z"), Text::ToStart, Message::Rewind) }
                { button("step-back", icon("M7 5v14M17 6l-7 6 7 6"), Text::StepBackward, Message::StepBack) }
                { button("play", icon(if props.playing { "M7 5h3v14H7zM14 5h3v14h-3z" } else { "M7 4l13 8-13 8z" }), play, Message::TogglePlay) }
                { button("step", icon("M17 5v14M7 6l7 6-7 6"), Text::StepOn, Message::Step) }
            </div>
            <output class="clock" data-testid="clock" aria-live="off">{ written(props, props.now) }</output>
            { speed(props) }
            { scrubber(props) }
            <span class="end muted" title={say(&lang, &Text::EndLabel { clock: clock(props.day_start, props.end) })}>
                { written(props, props.end) }
            </span>
        </section>
    }
}

fn icon(path: &'static str) -> Html {
    html! {
        <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" focusable="false"><path d={path} /></svg>
    }
}

fn written(props: &TransportProps, at: Time) -> AttrValue {
    say(&props.lang, &Text::Word { word: clock(props.day_start, at) })
}

fn speed(props: &TransportProps) -> Html {
    let on_message = props.on_message.clone();
    let onchange = Callback::from(move |event: Event| {
        let select: HtmlSelectElement = event.target_unchecked_into();
        if let Ok(times) = select.value().parse() {
            on_message.emit(Message::SetSpeed(Speed(times)));
        }
    });
    let option = |s: Speed| {
        let name = say(&props.lang, &Text::SpeedTimes { n: s.0.into() });
        html! { <option value={s.0.to_string()} selected={s == props.speed}>{ name }</option> }
    };
    html! {
        <select class="speed" data-testid="speed" aria-label={say(&props.lang, &Text::SpeedLabel)} {onchange}>
            { for Speed::ALL.into_iter().map(option) }
        </select>
    }
}

/// The scrubber counts whole seconds, so that arrow keys move by one.
fn scrubber(props: &TransportProps) -> Html {
    let end_s = (props.end.0 / 1_000_000).max(1);
    let share = |t: Time| 100.0 * t.0 as f64 / props.end.0.max(1) as f64;
    let on_message = props.on_message.clone();
    let oninput = Callback::from(move |event: InputEvent| {
        let input: HtmlInputElement = event.target_unchecked_into();
        on_message.emit(Message::Seek(Time::from_secs(input.value_as_number().max(0.0) as u64)));
    });
    let text = match props.jump_target {
        Some(target) => Text::RunningTo { clock: clock(props.day_start, target) },
        None => Text::Word { word: clock(props.day_start, props.now) },
    };
    // The thumb stays where it was put while the way there is computed.
    let shown_s = props.jump_target.unwrap_or(props.now).0 / 1_000_000;
    let mark = |m: &Mark| {
        let kind = match m.kind {
            MarkKind::You => "you",
            MarkKind::Bad => "bad",
            MarkKind::Good => "good",
        };
        html! { <i class={kind} style={format!("inset-inline-start:{:.2}%", share(m.at))} /> }
    };
    html! {
        <div class="scrubber" style={format!("--now:{:.3}%;--seen:{:.3}%", share(props.now), share(props.seen_until))}>
            <div class="track" aria-hidden="true"><b class="seen" /><b class="done" />
                { for props.marks.iter().map(mark) }
            </div>
            <input type="range" data-testid="scrubber" min="0" max={end_s.to_string()} step="1"
                value={shown_s.to_string()} {oninput}
                aria-label={say(&props.lang, &Text::ScrubberLabel)} aria-valuetext={say(&props.lang, &text)} />
        </div>
    }
}
