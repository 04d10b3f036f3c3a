//! The why-log: one row per decision, newest first, with a filter and the Inspect panel.
//!
//! Hovering or focusing a row selects its decision, so that the map lights what it touched;
//! leaving restores the selection from before. A click or Enter keeps it.

use super::inspect::{Inspect, inspected};
use super::text::{hidden, say, words};
use crate::i18n::{Arg, Lang, Message as Text};
use crate::session::{Message, Selection};
use crate::sim::decision::{Decision, Who};
use crate::sim::snapshot::Snapshot;
use crate::sim::time::{Span, Time};
use crate::view::names::Names;
use crate::view::why::{Filter, sentence};
use crate::view::words as word;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

/// Rows drawn at first, and by each press of **Show older**.
const ROWS: usize = 80;

#[derive(Properties, PartialEq)]
pub struct Props {
    /// Newest last; the last few hundred.
    pub decisions: Rc<Vec<Decision>>,
    pub snapshot: Rc<Snapshot>,
    pub lang: Lang,
    pub selection: Selection,
    pub on_message: Callback<Message>,
}

/// What the person does with rows; kept apart from drawing.
#[derive(Clone)]
struct Rows {
    /// The row under pointer or focus.
    lit: UseStateHandle<Option<u64>>,
    /// The selection from before, to be restored.
    before: UseStateHandle<Selection>,
    selection: Selection,
    on_message: Callback<Message>,
}

impl Rows {
    fn enter(&self, id: u64) {
        if self.lit.is_none() {
            self.before.set(self.selection.clone());
        }
        if *self.lit != Some(id) {
            self.lit.set(Some(id));
            self.on_message.emit(Message::Select(Selection::Decision(id)));
        }
    }

    fn leave(&self) {
        let Some(id) = *self.lit else { return };
        self.lit.set(None);
        if self.selection == Selection::Decision(id) {
            self.on_message.emit(Message::Select((*self.before).clone()));
        }
    }

    fn pin(&self, id: u64) {
        let kept = self.kept() == &Selection::Decision(id);
        self.before.set(if kept { Selection::Nothing } else { Selection::Decision(id) });
        self.lit.set(Some(id));
        self.on_message.emit(Message::Select(Selection::Decision(id)));
    }

    /// What stays selected when pointer and focus leave.
    fn kept(&self) -> &Selection {
        if self.lit.is_some() { &self.before } else { &self.selection }
    }
}

/// The row that an event happened in.
fn row_of(target: Option<web_sys::EventTarget>) -> Option<(HtmlElement, u64)> {
    let row: HtmlElement = target?.dyn_into::<Element>().ok()?.closest(".why-row").ok()??.dyn_into().ok()?;
    let id = row.get_attribute("data-id")?.parse().ok()?;
    Some((row, id))
}

fn focus(element: Option<Element>) {
    if let Some(element) = element.and_then(|e| e.dyn_into::<HtmlElement>().ok()) {
        // Focus can only fail on elements that left the page.
        let _ = element.focus();
    }
}

fn on_key(e: &KeyboardEvent, rows: &Rows) {
    let Some((row, id)) = row_of(e.target()) else { return };
    let inside_row = e.target().and_then(|t| t.dyn_into::<Element>().ok()).is_some_and(|t| t == *row.as_ref());
    match e.key().as_str() {
        "ArrowDown" => focus(row.next_element_sibling()),
        "ArrowUp" => focus(row.previous_element_sibling()),
        "Home" => focus(row.parent_element().and_then(|list| list.first_element_child())),
        "End" => focus(row.parent_element().and_then(|list| list.last_element_child())),
        "Enter" | " " if inside_row => rows.pin(id),
        _ => return,
    }
    e.prevent_default();
    e.stop_propagation();
}

/// The names of everything seen so far.
#[hook]
fn use_names(snapshot: &Snapshot) -> Rc<Names> {
    let memory = use_mut_ref(Rc::<Names>::default);
    let mut names = memory.borrow_mut();
    if names.lacks(snapshot) {
        Rc::make_mut(&mut names).remember(snapshot);
    }
    names.clone()
}

/// Log, filter and Inspect panel.
#[component]
pub fn WhyLog(props: &Props) -> Html {
    let Props { decisions, snapshot, lang, selection, on_message } = props;
    let names = use_names(snapshot);
    let filter = use_state(Filter::default);
    let only = use_state(|| false);
    let most = use_state(|| ROWS);
    let active = use_state(|| None::<u64>);
    let rows = Rows {
        lit: use_state(|| None),
        before: use_state(Selection::default),
        selection: selection.clone(),
        on_message: on_message.clone(),
    };
    let kept = rows.kept().clone();
    let thing = inspected(&kept, snapshot, &names).map(|i| i.name);
    let about = |d: &Decision| touches(d, &kept);
    let mut shown: Vec<&Decision> =
        decisions.iter().filter(|d| filter.shows(d.who) && (thing.is_none() || !*only || about(d))).collect();
    // A folded record carries the numbers of its last time, so that is its place in the log.
    shown.sort_by_key(|d| std::cmp::Reverse((d.last_at, d.id)));
    let tab_stop = active.filter(|id| shown.iter().take(*most).any(|d| d.id == *id)).or(shown.first().map(|d| d.id));
    let list = shown.iter().take(*most).map(|d| {
        let cause = d.caused_by.and_then(|id| decisions.iter().find(|c| c.id == id));
        html! {
            <Row key={d.id} decision={(*d).clone()} names={names.clone()} lang={*lang} day_start={snapshot.day_start}
                cause={cause.map(|c| (c.id, c.who, c.at))} lit={*rows.lit == Some(d.id) || (!matches!(kept, Selection::Nothing) && about(d))}
                pinned={kept == Selection::Decision(d.id)} tab_stop={tab_stop == Some(d.id)} />
        }
    });
    let onmouseover = {
        let rows = rows.clone();
        move |e: MouseEvent| {
            if let Some((_, id)) = row_of(e.target()) {
                rows.enter(id);
            }
        }
    };
    let onmouseleave = {
        let rows = rows.clone();
        move |_: MouseEvent| rows.leave()
    };
    let onfocusin = {
        let (rows, active) = (rows.clone(), active.clone());
        move |e: FocusEvent| {
            if let Some((_, id)) = row_of(e.target()) {
                active.set(Some(id));
                rows.enter(id);
            }
        }
    };
    let onfocusout = {
        let rows = rows.clone();
        move |e: FocusEvent| {
            if row_of(e.related_target()).is_none() {
                rows.leave();
            }
        }
    };
    let onclick = {
        let rows = rows.clone();
        move |e: MouseEvent| {
            let cause =
                e.target().and_then(|t| t.dyn_into::<Element>().ok()).and_then(|t| t.get_attribute("data-cause"));
            match (cause.and_then(|c| c.parse().ok()), row_of(e.target())) {
                (Some(cause), _) => rows.pin(cause),
                (None, Some((_, id))) => rows.pin(id),
                (None, None) => {}
            }
        }
    };
    let onkeydown = {
        let rows = rows.clone();
        move |e: KeyboardEvent| on_key(&e, &rows)
    };
    let older = shown.len().saturating_sub(*most);
    let onolder = {
        let most = most.clone();
        move |_: MouseEvent| most.set(*most + ROWS)
    };
    let none = match (decisions.is_empty(), snapshot.now > Time::ZERO) {
        (true, false) => Text::WhyNothingYet,
        (true, true) => Text::WhyNoneYet,
        (false, _) => Text::WhyNothingHere,
    };
    html! {
        <section class="why" aria-labelledby="why-title" data-testid="why">
            <header class="why-top">
                <h2 id="why-title">{ say(lang, &Text::WhyTitle) }</h2>
                <span class="why-order">{ say(lang, &Text::WhyNewestFirst) }</span>
                { filter_box(&filter, lang) }
            </header>
            <Inspect selection={kept.clone()} snapshot={snapshot.clone()} names={names.clone()} lang={*lang} />
            if let Some(name) = thing {
                { only_box(&only, name, lang) }
            }
            <p id="why-keys" class="visually-hidden">{ words(lang, &Text::WhyKeys) }</p>
            if shown.is_empty() {
                <p class="why-none">{ say(lang, &none) }</p>
            }
            <ol class="why-rows" aria-labelledby="why-title" aria-describedby="why-keys"
                {onmouseover} {onmouseleave} {onfocusin} {onfocusout} {onclick} {onkeydown}>
                { for list }
            </ol>
            if older > 0 {
                <button type="button" class="why-older" onclick={onolder}>{ say(lang, &Text::WhyOlder { n: older.min(ROWS).into() }) }</button>
            }
        </section>
    }
}

fn touches(decision: &Decision, selection: &Selection) -> bool {
    match selection {
        Selection::Node(id) => decision.touches().0.contains(id),
        Selection::Group(id) => decision.touches().1.contains(id),
        Selection::Decision(id) => decision.id == *id,
        Selection::Nothing => false,
    }
}

fn filter_box(filter: &UseStateHandle<Filter>, lang: &Lang) -> Html {
    let chosen = **filter;
    let filter = filter.clone();
    let onchange = move |e: Event| {
        let select: HtmlSelectElement = e.target_unchecked_into();
        filter.set(Filter::from_id(&select.value()).unwrap_or_default());
    };
    let options = Filter::ALL.into_iter().map(|f| {
        html! { <option key={f.id()} value={f.id()} selected={f == chosen}>{ words(lang, &f.label()) }</option> }
    });
    html! {
        <label class="why-filter">
            <span>{ say(lang, &Text::WhyFilter) }</span>
            <select data-testid="why-filter" {onchange}>{ for options }</select>
        </label>
    }
}

fn only_box(only: &UseStateHandle<bool>, name: String, lang: &Lang) -> Html {
    let checked = **only;
    let only = only.clone();
    let onchange = move |e: Event| {
        let input: HtmlInputElement = e.target_unchecked_into();
        only.set(input.checked());
    };
    html! {
        <label class="why-only">
            <input type="checkbox" {checked} {onchange} data-testid="why-only" />
            <span>{ say(lang, &Text::WhyOnlyAbout { name: name.into() }) }</span>
        </label>
    }
}

#[derive(Properties, PartialEq)]
struct RowProps {
    decision: Decision,
    names: Rc<Names>,
    lang: Lang,
    day_start: Span,
    cause: Option<(u64, Who, Time)>,
    lit: bool,
    pinned: bool,
    tab_stop: bool,
}

/// One decision. Its properties hold no callbacks, so that unchanged rows are not drawn again.
#[component]
fn Row(props: &RowProps) -> Html {
    let RowProps { decision: d, names, lang, day_start, cause, lit, pinned, tab_stop } = props;
    let clock = |at: Time| Arg::Clock(day_start.0.saturating_add(at.0));
    let text = |arg: Arg| words(lang, &Text::Word { word: arg });
    let repeats = (d.times > 1).then(|| {
        let long = Text::WhyTimesLong { n: d.times.into(), until: clock(d.last_at) };
        html! {
            <span class="why-times" title={words(lang, &long)}>
                <span aria-hidden="true">{ say(lang, &Text::WhyTimes { n: d.times.into() }) }</span>
                { hidden(lang, &long) }
            </span>
        }
    });
    let cause = cause.map(|(id, by, at)| {
        let label = Text::WhyCause { who: word::who(by).into(), at: clock(at) };
        html! {
            <button type="button" class="why-cause" data-cause={id.to_string()} tabindex={if *tab_stop { "0" } else { "-1" }}>
                { say(lang, &label) }
            </button>
        }
    });
    let class = classes!("why-row", word::tone_class(d.tone), lit.then_some("lit"), pinned.then_some("pinned"));
    html! {
        <li {class} data-id={d.id.to_string()} data-testid="why-row" tabindex={if *tab_stop { "0" } else { "-1" }}
            aria-current={pinned.then_some("true")}>
            <p class="why-head">
                <span class="glyph" aria-hidden="true">{ word::tone_glyph(d.tone) }</span>
                <span class="why-time">{ text(clock(d.last_at)) }</span>
                { " " }
                <span class="why-who">{ say(lang, &word::who(d.who)) }</span>
                { " " }
                { for repeats }
            </p>
            <p class="why-text">
                if let Some(tone) = word::tone_word(d.tone) {
                    { hidden(lang, &tone) }
                }
                { say(lang, &sentence(d, names)) }
            </p>
            { for cause }
        </li>
    }
}
