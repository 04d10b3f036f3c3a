//! The address: the query part is read once, the fragment is read and replaced.

use crate::view::query;
use wasm_bindgen::JsValue;
use web_sys::{Location, UrlSearchParams};

fn location() -> Option<Location> {
    web_sys::window().map(|w| w.location())
}

/// Keys of the table with their values, as far as the address has them.
pub fn query_pairs() -> Vec<(String, String)> {
    let search = location().and_then(|l| l.search().ok()).unwrap_or_default();
    let Ok(params) = UrlSearchParams::new_with_str(&search) else {
        return Vec::new();
    };
    query::KEYS.iter().filter_map(|k| params.get(k.name).map(|v| (k.name.to_owned(), v))).collect()
}

/// The fragment without `#`.
pub fn fragment() -> String {
    let hash = location().and_then(|l| l.hash().ok()).unwrap_or_default();
    hash.strip_prefix('#').unwrap_or(&hash).to_owned()
}

/// Replaces the fragment and leaves the history alone. A sandboxed frame may refuse; nothing is
/// lost then but the address.
pub fn replace_fragment(fragment: &str) {
    if let Some(history) = web_sys::window().and_then(|w| w.history().ok()) {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("#{fragment}")));
    }
}

/// Address of the page without query and fragment.
pub fn page() -> String {
    let Some(location) = location() else {
        return String::new();
    };
    let origin = location.origin().unwrap_or_default();
    format!("{origin}{}", location.pathname().unwrap_or_default())
}
