//! Media queries that the page reacts to.

use gloo::events::EventListener;
use yew::Callback;

pub const DARK: &str = "(prefers-color-scheme: dark)";
/// Below it the page is one column with tabs.
pub const NARROW: &str = "(max-width: 639.98px)";

pub fn matches(query: &str) -> bool {
    let list = web_sys::window().and_then(|w| w.match_media(query).ok().flatten());
    list.is_some_and(|l| l.matches())
}

/// Reports each change of a query until it is dropped.
pub fn watch(query: &str, changed: Callback<()>) -> Option<EventListener> {
    let list = web_sys::window()?.match_media(query).ok()??;
    Some(EventListener::new(&list, "change", move |_| changed.emit(())))
}
