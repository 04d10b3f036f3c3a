//! What floats over the page: menu and tip. They belong to the map, whose panel scrolls and clips,
//! so the browser draws them in its top layer and they are placed in the window.

use gloo::events::{EventListener, EventListenerOptions};
use web_sys::{DomRect, HtmlElement};

/// Space kept between a floating box and the edges of the window, in CSS pixels.
const EDGE_PX: f64 = 8.0;
/// Space between it and the thing that it belongs to.
const GAP_PX: f64 = 4.0;

/// Lifts an element with the attribute `popover` over everything, and puts it under `beside` or
/// above it where there is no room, with its left edge at `left`, inside the window. The style
/// sheet makes a sheet at the bottom of it where the window is small.
pub fn float(element: &HtmlElement, left: f64, beside: &DomRect) {
    // Refused where it is open already; a browser without popovers draws it inside the map's panel.
    _ = element.show_popover();
    let size = element.get_bounding_client_rect();
    let (width, height) = window_size();
    let left = left.min(width - size.width() - EDGE_PX).max(EDGE_PX);
    let (below, above) = (beside.bottom() + GAP_PX, beside.top() - GAP_PX - size.height());
    let top = if below + size.height() <= height - EDGE_PX || above < EDGE_PX { below } else { above };
    let top = top.min(height - size.height() - EDGE_PX).max(EDGE_PX);
    let style = element.style();
    _ = style.set_property("left", &format!("{left:.0}px"));
    _ = style.set_property("top", &format!("{top:.0}px"));
}

/// Calls `place` whenever something scrolls or the window changes its size, until it is dropped.
pub fn follow(place: impl Fn() + Clone + 'static) -> [EventListener; 2] {
    let window = gloo::utils::window();
    let on_scroll = place.clone();
    // Scrolling does not bubble; on the way down the window hears of it.
    let options = EventListenerOptions::run_in_capture_phase();
    [
        EventListener::new_with_options(&window, "scroll", options, move |_| on_scroll()),
        EventListener::new(&window, "resize", move |_| place()),
    ]
}

fn window_size() -> (f64, f64) {
    let Some(window) = web_sys::window() else { return (f64::MAX, f64::MAX) };
    let px = |size: Result<wasm_bindgen::JsValue, _>| size.ok().and_then(|s| s.as_f64()).unwrap_or(f64::MAX);
    (px(window.inner_width()), px(window.inner_height()))
}
