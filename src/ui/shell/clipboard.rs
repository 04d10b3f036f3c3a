//! The clipboard, which a browser may not have or may refuse.

use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use yew::Callback;

/// Copies a text and reports whether it worked.
pub fn copy(text: String, done: Callback<bool>) {
    let Some(navigator) = web_sys::window().map(|w| w.navigator()) else {
        return done.emit(false);
    };
    // Pages that are not served securely have no clipboard object at all.
    let missing = js_sys::Reflect::get(&navigator, &JsValue::from_str("clipboard")).map_or(true, |c| !c.is_object());
    if missing {
        return done.emit(false);
    }
    let written = navigator.clipboard().write_text(&text);
    wasm_bindgen_futures::spawn_local(async move { done.emit(JsFuture::from(written).await.is_ok()) });
}
