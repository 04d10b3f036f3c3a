//! The document around the lab.

use crate::i18n::{Direction, Lang, Message, plain, render};
use crate::session::Theme;
use web_sys::{Document, Element};

pub fn document() -> Option<Document> {
    web_sys::window().and_then(|w| w.document())
}

/// The element that the lab is mounted in.
pub fn root() -> Option<Element> {
    document().and_then(|d| d.get_element_by_id("lab"))
}

/// Whether nobody sees the page.
pub fn hidden() -> bool {
    document().is_some_and(|d| d.hidden())
}

/// Writes into the status line of the start page.
pub fn write_status(text: &str) {
    if let Some(status) = document().and_then(|d| d.get_element_by_id("start-status")) {
        status.set_text_content(Some(text));
    }
}

/// Whether a theme is dark now.
pub fn is_dark(theme: Theme) -> bool {
    match theme {
        Theme::Auto => super::media::matches(super::media::DARK),
        Theme::Light => false,
        Theme::Dark => true,
    }
}

/// Language, direction, colours and motion, as attributes that the style sheets look at.
pub fn dress(lang: &Lang, theme: Theme, reduce_motion: bool) {
    let Some(document) = document() else { return };
    document.set_title(&plain(&render(lang, &Message::LabTitle)));
    let Some(html) = document.document_element() else {
        return;
    };
    // Pseudo-languages are private-use tags, which must begin with `x-` and are then valid.
    let direction = match lang.direction {
        Direction::LeftToRight => "ltr",
        Direction::RightToLeft => "rtl",
    };
    let motion = if reduce_motion { "reduce" } else { "auto" };
    let theme = if is_dark(theme) { "dark" } else { "light" };
    for (name, value) in [("lang", lang.tag), ("dir", direction), ("data-theme", theme), ("data-motion", motion)] {
        // Only an invalid name can fail.
        let _ = html.set_attribute(name, value);
    }
}

/// Languages that the reader prefers, best first.
pub fn languages() -> Vec<String> {
    let Some(navigator) = web_sys::window().map(|w| w.navigator()) else {
        return Vec::new();
    };
    navigator.languages().iter().filter_map(|v| v.as_string()).collect()
}
