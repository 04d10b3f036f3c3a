//! What is shown when the program fails: a card in plain DOM with all that is needed to report it
//! or to start again. Its buttons are worked by `start.js`, because the program is dead by then.

use crate::i18n::{Lang, Message, plain, render};
use crate::session::Model;
use std::cell::RefCell;
use web_sys::{Document, Element, HtmlTextAreaElement};

/// The run, as the card tells it; kept up to date because nothing can be asked after the failure.
struct Last {
    lang: Lang,
    scenario: String,
    seed: u64,
    /// Scenario, seed and commands as JSON.
    record: String,
}

thread_local! {
    static SEEN: RefCell<(String, usize)> = const { RefCell::new((String::new(), usize::MAX)) };
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// Commands that the card shows at most, the newest ones.
const COMMANDS_SHOWN: usize = 500;

/// Remembers the run if another one was opened or the number of commands changed.
pub fn remember_if_changed(model: &Model) {
    let changed = SEEN.with(|seen| {
        let mut seen = seen.borrow_mut();
        let changed = seen.0 != model.scenario || seen.1 != model.run.log().len();
        if changed {
            *seen = (model.scenario.clone(), model.run.log().len());
        }
        changed
    });
    if changed {
        remember(model);
    }
}

fn remember(model: &Model) {
    let seed = model.run.setup().seed;
    let log = model.run.log();
    let commands: Vec<_> = log.iter().skip(log.len().saturating_sub(COMMANDS_SHOWN)).collect();
    let record = serde_json::json!({
        "engine": crate::share::ENGINE,
        "scenario": model.scenario,
        "seed": seed,
        "commands_total": log.len(),
        "commands": commands,
    });
    let last = Last { lang: model.lang, scenario: model.scenario.clone(), seed, record: record.to_string() };
    LAST.with(|l| *l.borrow_mut() = Some(last));
}

pub fn install() {
    yew::set_custom_panic_hook(Box::new(|info| {
        let what = info.to_string();
        web_sys::console::error_1(&what.clone().into());
        // A second failure in here must not hide the first: each step that fails is left out.
        let last = LAST.with(|l| l.try_borrow_mut().ok().and_then(|mut l| l.take()));
        show(&what, last.as_ref());
    }));
}

fn show(what: &str, last: Option<&Last>) -> Option<()> {
    let document = super::page::document()?;
    let root = super::page::root()?;
    let lang = last.map_or(Lang::english(), |l| l.lang);
    let text = |m: &Message| plain(&render(&lang, m));
    let card = element(&document, "main", "panic-card", "")?;
    let _ = card.set_attribute("role", "alert");
    let _ = card.set_attribute("data-testid", "panic");
    let version = Message::PanicVersion { version: env!("CARGO_PKG_VERSION").into() };
    card.append_child(&*element(&document, "h1", "", &text(&Message::PanicTitle))?).ok()?;
    card.append_child(&*element(&document, "p", "", &text(&Message::PanicText))?).ok()?;
    card.append_child(&*element(&document, "p", "muted", &text(&version))?).ok()?;
    if let Some(last) = last {
        let run = Message::PanicRun { scenario: last.scenario.clone().into(), seed: last.seed.to_string().into() };
        card.append_child(&*element(&document, "p", "muted", &text(&run))?).ok()?;
    }
    let report = format!("{what}\n{}\n{}", text(&version), last.map_or("", |l| &l.record));
    card.append_child(&*report_field(&document, &text(&Message::PanicReport), &report)?).ok()?;
    let copy = element(&document, "button", "button", &text(&Message::PanicCopy))?;
    let _ = copy.set_attribute("data-recover-copy", &text(&Message::PanicCopied));
    let restart = element(&document, "button", "button primary", &text(&Message::PanicRestart))?;
    let scenario = last.map_or("", |l| l.scenario.as_str());
    let known = crate::scenario::LIBRARY.iter().any(|(id, _)| *id == scenario);
    let _ = restart.set_attribute("data-recover-restart", if known { scenario } else { "" });
    let row = element(&document, "p", "panic-row", "")?;
    row.append_child(&copy).ok()?;
    row.append_child(&restart).ok()?;
    card.append_child(&row).ok()?;
    root.set_inner_html("");
    root.append_child(&card).ok()?;
    Some(())
}

fn report_field(document: &Document, label: &str, report: &str) -> Option<Element> {
    use wasm_bindgen::JsCast;
    let field = element(document, "label", "panic-report", label)?;
    let area: HtmlTextAreaElement = document.create_element("textarea").ok()?.dyn_into().ok()?;
    area.set_read_only(true);
    area.set_rows(8);
    area.set_value(report);
    field.append_child(&area).ok()?;
    Some(field)
}

fn element(document: &Document, tag: &str, class: &str, text: &str) -> Option<Element> {
    let element = document.create_element(tag).ok()?;
    element.set_class_name(class);
    element.set_text_content(Some(text));
    Some(element)
}
