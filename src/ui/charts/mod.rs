//! The charts: marks on a canvas of device pixels, every word in HTML over it, a sentence and a
//! table for each. One time axis and one cursor for all.

mod draw;
mod observe;
mod plot_view;
mod signal_bar;

use crate::i18n::{Lang, Message as Text};
use crate::sim::id::ServiceId;
use crate::sim::snapshot::Snapshot;
use crate::sim::time::Time;
use crate::ui::say;
use crate::view::charts::{Chart, Plot};
use plot_view::PlotView;
use signal_bar::Hidden;
use std::rc::Rc;
use yew::{Callback, Html, Properties, function_component, html, use_state_eq};

/// Charts that are compared by identity: they are made anew exactly when a point, the scenario or
/// the axis changed. Whoever compares holds them, so that no other list takes their address.
#[derive(Clone)]
pub struct Plots(pub Rc<Vec<Plot>>);

impl PartialEq for Plots {
    fn eq(&self, other: &Plots) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Clone, PartialEq, Properties)]
pub struct ChartsProps {
    pub lang: Lang,
    pub plots: Plots,
    pub snapshot: Rc<Snapshot>,
    /// Changes with the colours.
    pub colours: u32,
    /// Another service is to be shown.
    pub on_service: Callback<ServiceId>,
    /// Only this one, as in an embed.
    #[prop_or_default]
    pub only: Option<Chart>,
}

#[function_component(Charts)]
pub fn charts(props: &ChartsProps) -> Html {
    // The pointer's time is shared, so that all charts show values of the same moment.
    let pointed = use_state_eq(|| None::<Time>);
    let on_point = {
        let pointed = pointed.clone();
        Callback::from(move |at: Option<Time>| pointed.set(at))
    };
    let hidden = use_state_eq(Hidden::default);
    let on_hidden = {
        let hidden = hidden.clone();
        Callback::from(move |next: Hidden| hidden.set(next))
    };
    let one = |i: usize| {
        html! {
            <PlotView lang={props.lang} plots={props.plots.clone()} index={i} snapshot={props.snapshot.clone()}
                colours={props.colours} pointed={*pointed} on_point={on_point.clone()}
                hidden={(*hidden).clone()} on_hidden={on_hidden.clone()} on_service={props.on_service.clone()}
                bare={props.only.is_some()} />
        }
    };
    let shown = (0..props.plots.0.len()).filter(|i| props.only.is_none_or(|c| props.plots.0[*i].chart == c));
    html! {
        <section class="charts" aria-label={say(&props.lang, &Text::ChartsLabel)}>{ for shown.map(one) }</section>
    }
}
