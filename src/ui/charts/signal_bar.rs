//! Under the chart of signals: which service the charts show, and the legend, in which each signal
//! can be hidden and shown.

use super::plot_view::swatch;
use crate::i18n::{Arg, Lang, Message as Text};
use crate::sim::id::ServiceId;
use crate::sim::series_view::ServiceTrack;
use crate::sim::snapshot::Snapshot;
use crate::sim::time::Time;
use crate::ui::say;
use crate::view::charts::{LegendRow, Plot, chart_service, legend, metric_name};
use std::collections::BTreeSet;
use std::rc::Rc;
use web_sys::{HtmlElement, HtmlSelectElement, KeyboardEvent, MouseEvent};
use yew::{Callback, Html, NodeRef, TargetCast, UseStateHandle, classes, html};

/// Signals that are not drawn.
pub type Hidden = Rc<BTreeSet<ServiceTrack>>;

/// What the bar needs.
pub struct Bar<'a> {
    pub lang: Lang,
    pub plot: &'a Plot,
    pub snapshot: &'a Snapshot,
    /// The pointed time, or the end of all lines.
    pub at: Time,
    pub hidden: Hidden,
    pub on_hidden: Callback<Hidden>,
    pub on_service: Callback<ServiceId>,
    /// Whether the legend is open.
    pub open: UseStateHandle<bool>,
    /// The button that opens it, to which the focus returns.
    pub button: NodeRef,
}

/// The bar.
pub fn signal_bar(bar: &Bar<'_>) -> Html {
    let (lang, open, button) = (bar.lang, bar.open.clone(), bar.button.clone());
    let rows = legend(bar.plot, bar.at);
    let shown = rows.iter().filter(|r| !bar.hidden.contains(&r.track)).count();
    let toggle = {
        let open = open.clone();
        Callback::from(move |_: MouseEvent| open.set(!*open))
    };
    let on_key = {
        let (open, button) = (open.clone(), button.clone());
        Callback::from(move |event: KeyboardEvent| {
            if event.key() == "Escape" && *open {
                event.prevent_default();
                event.stop_propagation();
                open.set(false);
                if let Some(button) = button.cast::<HtmlElement>() {
                    _ = button.focus();
                }
            }
        })
    };
    let label = Text::LegendButton { shown: shown.into(), total: rows.len().into() };
    html! {
        <div class="signal-bar">
            { service_picker(bar) }
            <div class="legend-box" onkeydown={on_key}>
                <button ref={button} type="button" class="legend-button" aria-expanded={open.to_string()} onclick={toggle}
                    data-testid="legend-button">
                    { say(&lang, &label) }<span aria-hidden="true">{ if *open { " ▴" } else { " ▾" } }</span>
                </button>
                if *open { { panel(bar, &rows) } }
            </div>
        </div>
    }
}

/// Nothing to pick from with one service.
fn service_picker(bar: &Bar<'_>) -> Html {
    let services = &bar.snapshot.services;
    if services.len() < 2 {
        return Html::default();
    }
    let ids: Vec<ServiceId> = services.iter().map(|s| s.id).collect();
    let on_service = bar.on_service.clone();
    let onchange = Callback::from(move |event: yew::Event| {
        let select: HtmlSelectElement = event.target_unchecked_into();
        if let Some(id) = usize::try_from(select.selected_index()).ok().and_then(|i| ids.get(i)) {
            on_service.emit(*id);
        }
    });
    let options = services.iter().map(|s| {
        html! { <option key={s.id.0} value={s.id.0.to_string()} selected={bar.plot.service == Some(s.id)}>{ &s.name }</option> }
    });
    html! {
        <select class="chart-service" aria-label={say(&bar.lang, &Text::ChartServiceLabel)} {onchange} data-testid="chart-service">
            { for options }
        </select>
    }
}

fn panel(bar: &Bar<'_>, rows: &[LegendRow]) -> Html {
    let lang = bar.lang;
    let service = chart_service(bar.snapshot, bar.plot.service);
    let name = service.map_or(Arg::Text(Box::new(Text::NoValue)), |s| s.name.clone().into());
    let show_all = {
        let on_hidden = bar.on_hidden.clone();
        Callback::from(move |_: MouseEvent| on_hidden.emit(Hidden::default()))
    };
    html! {
        <div class="legend-panel" role="group" aria-label={say(&lang, &Text::LegendTitle { service: name })} data-testid="legend">
            <p class="legend-help">{ say(&lang, &Text::LegendHelp) }</p>
            <ul>{ for rows.iter().map(|row| legend_row(bar, row)) }</ul>
            <button type="button" class="legend-all" onclick={show_all} aria-disabled={bar.hidden.is_empty().to_string()}>
                { say(&lang, &Text::LegendAll) }
            </button>
        </div>
    }
}

fn legend_row(bar: &Bar<'_>, row: &LegendRow) -> Html {
    let lang = bar.lang;
    let (track, shown) = (row.track, !bar.hidden.contains(&row.track));
    let (hidden, on_hidden) = (bar.hidden.clone(), bar.on_hidden.clone());
    let onclick = Callback::from(move |_: MouseEvent| {
        let mut next = BTreeSet::clone(&hidden);
        if !next.remove(&track) {
            next.insert(track);
        }
        on_hidden.emit(Rc::new(next));
    });
    let value = Text::Word { word: row.value.clone() };
    html! {
        <li key={track.index()}>
            <button type="button" class={classes!("legend-row", (!shown).then_some("off"), row.read.then_some("read"))}
                aria-pressed={shown.to_string()} title={metric_name(track)} {onclick}>
                { swatch(row.ink, row.dash) }
                <span class="legend-name">
                    { say(&lang, &row.label) }
                    if row.read { <em>{ say(&lang, &Text::LegendRead) }</em> }
                </span>
                <span class="legend-value">{ say(&lang, &value) }</span>
            </button>
        </li>
    }
}
