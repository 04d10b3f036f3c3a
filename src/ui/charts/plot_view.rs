//! One chart on the page.

use super::Plots;
use super::draw::{Inks, draw};
use super::observe::{Seen, use_seen};
use super::signal_bar::{Bar, Hidden, signal_bar};
use crate::i18n::{Arg, Lang, Message as Text};
use crate::sim::id::ServiceId;
use crate::sim::snapshot::{GpuUse, Snapshot};
use crate::sim::time::Time;
use crate::ui::say;
use crate::ui::text;
use crate::view::charts::{
    Chart, Dash, Hatch, Ink, LedgerNow, Line, Plot, band, end_value, label_value, present_states, summary, table,
    tenths,
};
use crate::view::time::{clock, hour_minute, ticks};
use plotters::drawing::IntoDrawingArea;
use plotters::style::RGBColor;
use plotters_canvas::CanvasBackend;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, Element, Event, HtmlCanvasElement, HtmlElement, PointerEvent};
use yew::{
    Callback, Html, Properties, TargetCast, classes, function_component, html, use_effect_with, use_mut_ref,
    use_node_ref, use_state_eq,
};

#[derive(Clone, PartialEq, Properties)]
pub struct PlotViewProps {
    pub lang: Lang,
    pub plots: Plots,
    /// Which of `plots`.
    pub index: usize,
    pub snapshot: Rc<Snapshot>,
    pub colours: u32,
    pub pointed: Option<Time>,
    pub on_point: Callback<Option<Time>>,
    /// Signals that are not drawn.
    pub hidden: Hidden,
    pub on_hidden: Callback<Hidden>,
    pub on_service: Callback<ServiceId>,
    /// Without what can be set, as in an embed.
    pub bare: bool,
}

/// Narrowest room for a tick of the time axis, in CSS pixels.
const TICK_PX: f64 = 64.0;
/// Room that a label at a line's end needs beside the cursor.
const LABEL_PX: f64 = 64.0;
/// From here on labels bear their value too; below, the sentence has it.
const WIDE_PX: f64 = 300.0;
/// Lowest distance of two labels at line ends.
const LABEL_LINE_PX: f64 = 15.0;

#[function_component(PlotView)]
pub fn plot_view(props: &PlotViewProps) -> Html {
    let canvas = use_node_ref();
    let seen = use_seen(&canvas);
    let as_table = use_state_eq(|| false);
    let inks = use_mut_ref(|| (0, Inks::new()));
    {
        let (canvas, inks, index) = (canvas.clone(), inks.clone(), props.index);
        let drawn = (props.plots.clone(), seen, props.colours, props.hidden.clone());
        use_effect_with(drawn, move |(plots, seen, colours, hidden)| {
            let canvas = canvas.cast::<HtmlCanvasElement>();
            if let (Some(canvas), Some(plot)) = (canvas, plots.0.get(index)) {
                // Asking for colours makes the browser compute styles: once per change of them.
                let mut known = inks.borrow_mut();
                if known.0 != *colours || known.1.is_empty() {
                    *known = (*colours, read_inks(&canvas));
                }
                paint(&canvas, plot, *seen, &known.1, hidden);
            }
        });
    }
    let (legend_open, legend_button) = (use_state_eq(|| false), use_node_ref());
    let Some(plot) = props.plots.0.get(props.index) else {
        return Html::default();
    };
    let lang = props.lang;
    let bar = (plot.chart == Chart::Signals && !props.bare).then(|| Bar {
        lang,
        plot,
        snapshot: &props.snapshot,
        at: props.pointed.unwrap_or(Time::MAX),
        hidden: props.hidden.clone(),
        on_hidden: props.on_hidden.clone(),
        on_service: props.on_service.clone(),
        open: legend_open.clone(),
        button: legend_button.clone(),
    });
    let id = plot.chart.id();
    let sentence = say(&lang, &summary(plot, &props.snapshot));
    let ontoggle = {
        let as_table = as_table.clone();
        Callback::from(move |event: Event| {
            as_table.set(event.target_unchecked_into::<Element>().has_attribute("open"));
        })
    };
    html! {
        <section class={classes!("chart", id)} data-testid={format!("chart-{id}")} aria-labelledby={format!("chart-title-{id}")}>
            <header>
                <h2 id={format!("chart-title-{id}")}>{ say(&lang, &plot.chart.title()) }</h2>
                <span class="unit muted">{ say(&lang, &plot.chart.unit()) }</span>
            </header>
            <details {ontoggle}>
                <summary title={say(&lang, &Text::ShowTable)}>
                    <span aria-hidden="true">{ "▦" }</span>
                    <span class="visually-hidden">{ say(&lang, &Text::ShowTable) }</span>
                </summary>
                if *as_table { { as_rows(&lang, plot, &props.snapshot) } }
            </details>
            <div class="chart-body" dir="ltr">
                { y_labels(&lang, plot) }
                <div class="plot">
                    <canvas ref={canvas} role="img" aria-label={sentence.clone()} />
                    { over(props, plot, seen) }
                </div>
                { x_labels(plot, &props.snapshot, seen) }
            </div>
            { for bar.as_ref().map(signal_bar) }
            <p class="sentence" title={sentence.clone()}>
                { match props.pointed { Some(at) => pointed_values(props, plot, at), None => html! { { sentence } } } }
            </p>
        </section>
    }
}

fn share(plot: &Plot, at: Time) -> f64 {
    (at.0 as f64 / plot.until.0.max(1) as f64).clamp(0.0, 1.0)
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn y_labels(lang: &Lang, plot: &Plot) -> Html {
    let one = |axis: crate::view::charts::Axis, tick: f64| {
        let text = say(lang, &Text::Word { word: axis.tick_label(tick) });
        html! { <span style={format!("bottom:{}", percent(axis.height(tick)))}>{ text }</span> }
    };
    html! {
        <>
            <div class="y-labels" aria-hidden="true">{ for plot.axis.ticks().map(|t| one(plot.axis, t)) }</div>
            if let Some(second) = plot.second {
                <div class="y-labels second" aria-hidden="true">{ for second.ticks().into_iter().skip(1).map(|t| one(second, t)) }</div>
            }
        </>
    }
}

fn x_labels(plot: &Plot, snapshot: &Snapshot, seen: Seen) -> Html {
    let most = ((seen.width / TICK_PX) as usize).clamp(1, 6);
    let tick = |at: Time| {
        let x = share(plot, at);
        // At an edge a label stands inside.
        let edge = if x < 0.08 {
            "first"
        } else if x > 0.92 {
            "last"
        } else {
            ""
        };
        html! { <span class={edge} style={format!("left:{}", percent(x))}>{ hour_minute(snapshot.day_start, at) }</span> }
    };
    html! {
        <div class="x-labels" aria-hidden="true">{ for ticks(snapshot.day_start, plot.until, most).into_iter().map(tick) }</div>
    }
}

/// Cursors and labels over the canvas.
fn over(props: &PlotViewProps, plot: &Plot, seen: Seen) -> Html {
    let now = share(plot, props.snapshot.now);
    let until = plot.until;
    let on_point = props.on_point.clone();
    let onpointermove = Callback::from(move |event: PointerEvent| {
        let element: HtmlElement =
            event.current_target().map(JsCast::unchecked_into).unwrap_or_else(|| event.target_unchecked_into());
        let rect = element.get_bounding_client_rect();
        if rect.width() > 0.0 {
            let x = (f64::from(event.client_x()) - rect.left()) / rect.width();
            on_point.emit(Some(Time((x.clamp(0.0, 1.0) * until.0 as f64) as u64)));
        }
    });
    let onpointerleave = props.on_point.reform(|_: PointerEvent| None);
    html! {
        <div class="over" {onpointermove} {onpointerleave}>
            <i class="cursor now" style={format!("left:{}", percent(now))} />
            if let Some(at) = props.pointed {
                <i class="cursor pointed" style={format!("left:{}", percent(share(plot, at.min(props.snapshot.now))))} />
            }
            <div aria-hidden="true">
                { end_labels(props, plot, seen, now) }
                if let Some((value, label)) = &plot.limit {
                    <span class="limit" style={format!("bottom:{}", percent(plot.axis.height(*value)))}>{ say(&props.lang, label) }</span>
                }
            </div>
        </div>
    }
}

/// Labels where the lines end, pushed apart so that none covers another.
fn end_labels(props: &PlotViewProps, plot: &Plot, seen: Seen, now: f64) -> Html {
    let lang = props.lang;
    let height_px = seen.height.max(1.0);
    let wide = seen.width >= WIDE_PX;
    let mut labels: Vec<(f64, Html)> = Vec::new();
    if plot.chart == Chart::Ledger {
        labels = ledger_labels(&lang, plot, &props.snapshot);
    } else {
        let drawn = |l: &&Line| l.labelled && l.of.is_none_or(|t| !props.hidden.contains(&t));
        let lines: Vec<&Line> = plot.lines.iter().filter(drawn).filter(|l| l.last().is_some()).collect();
        // Where not all have room, the one that matters has it.
        let crowded = lines.len() > (height_px / LABEL_LINE_PX) as usize;
        for line in lines.into_iter().filter(|l| !crowded || l.strong) {
            let axis = if line.second { plot.second.unwrap_or(plot.axis) } else { plot.axis };
            let y = axis.height(line.on_axis(line.last().unwrap_or(0.0)));
            let value = say(&lang, &Text::Word { word: end_value(line, &props.snapshot) });
            let value = wide.then(|| html! { <b>{ value }</b> });
            labels.push((y, html! { <>{ swatch(line.ink, line.dash) }{ say(&lang, &line.label) }{ value }</> }));
        }
    }
    let heights: Vec<f64> = labels.iter().map(|(y, _)| *y * height_px).collect();
    let places = apart(&heights, LABEL_LINE_PX, height_px);
    // To the right of the present while there is room, else to its left.
    let after = (1.0 - now) * seen.width >= LABEL_PX;
    let max = if after { 1.0 - now } else { now };
    let side = if after { format!("left:{}", percent(now)) } else { format!("right:{}", percent(1.0 - now)) };
    let place = |((_, label), bottom): ((f64, Html), f64)| {
        let style = format!("{side};bottom:{bottom:.1}px;max-width:{}", percent(max));
        html! { <span class={classes!("end-label", (!after).then_some("before"))} {style}>{ label }</span> }
    };
    labels.into_iter().zip(places).map(place).collect()
}

/// Bottom edges for labels that want to stand around given heights, at least `gap` apart.
fn apart(wanted: &[f64], gap: f64, height: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = vec![0.0; wanted.len()];
    let mut floor = 0.0;
    for i in &order {
        places[*i] = (wanted[*i] - gap / 2.0).max(floor);
        floor = places[*i] + gap;
    }
    let mut ceiling = (height - gap).max(gap * (wanted.len() as f64 - 1.0));
    for i in order.iter().rev() {
        places[*i] = places[*i].min(ceiling);
        ceiling = places[*i] - gap;
    }
    places
}

/// "working" at the middle of the bottom bands, "unused" at the middle of those above, as they are
/// at this instant.
fn ledger_labels(lang: &Lang, plot: &Plot, snapshot: &Snapshot) -> Vec<(f64, Html)> {
    let now = LedgerNow::of(snapshot);
    let (works, rests) = present_states(snapshot);
    let label = |text: Text, gpus: u64, states: &[GpuUse]| {
        let n = say(lang, &Text::Word { word: tenths(gpus) });
        html! { <>{ band_swatch(states) }<span>{ say(lang, &text) }{ " " }<b>{ n }</b></span></> }
    };
    if now.paid() == 0 || plot.lines.iter().all(|l| l.points.is_empty()) {
        return Vec::new();
    }
    let (working, unused) = (now.working as f64 / 10.0, now.unused as f64 / 10.0);
    vec![
        (plot.axis.height(working / 2.0), label(Text::LedgerWorking, now.working, &works)),
        (plot.axis.height(working + unused / 2.0), label(Text::LedgerForNothing, now.unused, &rests)),
    ]
}

/// A mark that looks as the bands of these states do, side by side.
fn band_swatch(states: &[GpuUse]) -> Html {
    const WIDTH: f64 = 16.0;
    let width = WIDTH / states.len().max(1) as f64;
    let part = |(i, state): (usize, &GpuUse)| {
        let (_, ink, hatch) = band(*state);
        let (x, ink) = (i as f64 * width, format!("var({})", ink.token()));
        let edge = (hatch != Hatch::None)
            .then(|| html! { <path d={format!("M{x:.2} .5h{width:.2}")} stroke={ink.clone()} /> });
        let strokes = (hatch == Hatch::Rising).then(|| {
            let count = (width / 4.0).floor().max(1.0);
            let stroke = |n: usize| format!("M{:.2} 0v10", x + width * (n as f64 + 0.5) / count);
            let path: String = (0..count as usize).map(stroke).collect();
            html! { <path d={path} stroke={ink.clone()} stroke-width="1.5" /> }
        });
        html! {
            <>
                <rect x={format!("{x:.2}")} y="0" width={format!("{width:.2}")} height="10" fill={ink.clone()}
                    fill-opacity={hatch.strength().to_string()} />
                { edge }{ strokes }
            </>
        }
    };
    html! {
        <svg class="line-swatch" viewBox="0 0 16 10" width="16" height="10" aria-hidden="true">
            { for states.iter().enumerate().map(part) }
        </svg>
    }
}

pub(super) fn swatch(ink: Ink, dash: Dash) -> Html {
    let pattern = match dash {
        Dash::Solid => "",
        Dash::Dashed => "7 4",
        Dash::Dotted => "2 3",
        Dash::Long => "12 4",
    };
    html! {
        <svg class="line-swatch" viewBox="0 0 16 6" width="16" height="6" aria-hidden="true">
            <path d="M0 3h16" stroke={format!("var({})", ink.token())} stroke-width="2.5" stroke-dasharray={pattern} />
        </svg>
    }
}

fn pointed_values(props: &PlotViewProps, plot: &Plot, at: Time) -> Html {
    let lang = props.lang;
    let at = at.min(props.snapshot.now);
    let when = say(&lang, &Text::Word { word: clock(props.snapshot.day_start, at) });
    let value = |line: &Line| {
        let value = label_value(line, at);
        let empty = plot.chart == Chart::Ledger && value == Arg::Int(0);
        if empty {
            return Html::default();
        }
        html! { <>{ " · " }<span class="nowrap">{ say(&lang, &line.label) }{ " " }<b>{ say(&lang, &Text::Word { word: value }) }</b></span></> }
    };
    let drawn = plot.lines.iter().filter(|l| l.of.is_none_or(|t| !props.hidden.contains(&t)));
    html! { <><span class="nowrap">{ when }</span>{ for drawn.map(value) }</> }
}

fn as_rows(lang: &Lang, plot: &Plot, snapshot: &Snapshot) -> Html {
    let word = |arg: Arg| say(lang, &Text::Word { word: arg });
    let head = plot.lines.iter().map(|l| html! { <th scope="col">{ say(lang, &l.label) }</th> });
    let rows = table(plot).into_iter().map(|(at, values)| {
        let cells = values.into_iter().map(|v| html! { <td>{ word(v) }</td> });
        html! { <tr><th scope="row">{ word(clock(snapshot.day_start, at)) }</th>{ for cells }</tr> }
    });
    let caption = Text::TableCaption { chart: plot.chart.title().into() };
    html! {
        <div class="table-scroll" tabindex="0" role="region" aria-label={say(lang, &caption)}>
            <table>
                <caption class="visually-hidden">{ text::words(lang, &caption) }</caption>
                <thead><tr><th scope="col">{ say(lang, &Text::TableTime) }</th>{ for head }</tr></thead>
                <tbody>{ for rows }</tbody>
            </table>
        </div>
    }
}

/// Draws at the device's own resolution. Nothing is drawn where nobody looks.
fn paint(canvas: &HtmlCanvasElement, plot: &Plot, seen: Seen, inks: &Inks, hidden: &Hidden) {
    if !seen.visible || seen.width < 1.0 || seen.height < 1.0 {
        return;
    }
    let scale = web_sys::window().map_or(1.0, |w| w.device_pixel_ratio()).clamp(1.0, 4.0);
    let size = |css: f64| (css * scale).round().max(1.0) as u32;
    let (width, height) = (size(seen.width), size(seen.height));
    if (canvas.width(), canvas.height()) != (width, height) {
        canvas.set_width(width);
        canvas.set_height(height);
    } else if let Ok(Some(context)) = canvas.get_context("2d")
        && let Ok(context) = context.dyn_into::<CanvasRenderingContext2d>()
    {
        context.clear_rect(0.0, 0.0, f64::from(width), f64::from(height));
    }
    if let Some(backend) = CanvasBackend::with_canvas_object(canvas.clone()) {
        // A chart that cannot be drawn still has its sentence and table.
        let _ = draw(&backend.into_drawing_area(), plot, inks, scale, |l| l.of.is_none_or(|t| !hidden.contains(&t)));
    }
}

/// The colours of the style sheet, as they hold for this element.
fn read_inks(element: &Element) -> Inks {
    let style = web_sys::window().and_then(|w| w.get_computed_style(element).ok().flatten());
    let colour = |ink: Ink| {
        let value = style.as_ref()?.get_property_value(ink.token()).ok()?;
        Some((ink, hex(value.trim())?))
    };
    Ink::ALL.into_iter().filter_map(colour).collect()
}

fn hex(text: &str) -> Option<RGBColor> {
    let digits = text.strip_prefix('#').filter(|d| d.len() == 6)?;
    let value = u32::from_str_radix(digits, 16).ok()?;
    let byte = |shift: u32| (value >> shift & 0xff) as u8;
    Some(RGBColor(byte(16), byte(8), byte(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_pushed_apart_and_stay_inside() {
        let places = apart(&[95.0, 96.0, 20.0, 100.0], 15.0, 100.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|w| w[1] - w[0] >= 15.0 - 1e-9), "{places:?}");
        assert!(sorted[0] >= 0.0 && sorted[3] <= 85.0, "{places:?}");
    }

    #[test]
    fn colours_are_read_as_tokens_write_them() {
        assert_eq!(hex("#E8B330"), Some(RGBColor(0xe8, 0xb3, 0x30)));
        assert_eq!(hex("red"), None);
    }
}
