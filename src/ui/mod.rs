//! (being built)
//! The page: Yew components that draw snapshots and send messages. It decides nothing about
//! the world. `shell` is the only part that touches clock, storage, clipboard and files.

mod app;
mod charts;
mod dialogs;
mod embed;
mod header;
pub mod inspect;
pub mod layers;
pub mod map;
mod notice;
pub mod score;
pub mod setting;
mod shell;
pub mod tasks;
pub mod text;
mod transport;
pub mod why;

use crate::i18n::{Lang, Message, plain, render};
use yew::AttrValue;

/// A message as plain text, for labels and attributes.
pub(crate) fn say(lang: &Lang, message: &Message) -> AttrValue {
    AttrValue::from(plain(&render(lang, message)))
}

/// Mounts the page.
pub fn start() {
    shell::panic::install();
    let Some(root) = shell::page::root() else { return };
    match app::AppProps::open() {
        Ok(props) => {
            yew::Renderer::<app::App>::with_root_and_props(root, props).render();
        }
        Err(problem) => shell::page::write_status(&problem.to_string()),
    }
}
