//! How the page opens: fragment, then query, then stored preference, then default.

use crate::i18n::{self, Lang, Message as Text};
use crate::problem::Problem;
use crate::session::{self, Message, Model, Notice, Theme};
use crate::sim::time::Time;
use crate::sim::units::DAY_US;
use crate::ui::shell::{address, page, storage};
use crate::view::query::{self, Options};
use std::cell::RefCell;
use std::rc::Rc;
use yew::Properties;

#[derive(Clone, Properties)]
pub struct AppProps {
    pub model: Rc<RefCell<Model>>,
    pub options: Options,
}

impl PartialEq for AppProps {
    fn eq(&self, other: &AppProps) -> bool {
        Rc::ptr_eq(&self.model, &other.model)
    }
}

impl AppProps {
    /// # Errors
    /// If the library is broken.
    pub fn open() -> Result<AppProps, Problem> {
        let (options, bad) = query::read(address::query_pairs());
        let lang = options.lang.unwrap_or_else(preferred_lang);
        let stored_theme = || storage::load("theme").and_then(|t| query::theme(&t));
        let theme = options.theme.or_else(stored_theme).unwrap_or(Theme::Auto);
        let mut model = Model::new(lang, theme)?;
        open_run(&mut model, &options);
        if !bad.is_empty() {
            let problems = bad.iter().map(|b| b.problem(&lang)).collect();
            session::update(&mut model, Message::ShowProblems { title: Text::ProblemQuery, problems });
        } else if !options.embed && !storage::available() {
            session::update(&mut model, Message::Notify(Notice::NotKept));
        }
        Ok(AppProps { model: Rc::new(RefCell::new(model)), options })
    }
}

fn preferred_lang() -> Lang {
    let stored = storage::load("lang").and_then(|tag| Lang::from_tag(&tag));
    stored.unwrap_or_else(|| i18n::detect(page::languages().iter().map(String::as_str)))
}

fn open_run(model: &mut Model, options: &Options) {
    let fragment = address::fragment();
    if let Some(id) = &options.scenario {
        session::update(model, Message::OpenScenario { id: id.clone(), seed: None });
    }
    if let Some(speed) = options.speed {
        session::update(model, Message::SetSpeed(speed));
    }
    if !fragment.is_empty() {
        // A fragment wins; a damaged one leaves the scenario behind the report.
        session::update(model, Message::OpenLink(fragment));
    } else if let Some(clock) = options.at {
        let day_start = model.run.setup().day_start;
        let at = Time((clock.0 + DAY_US - day_start.0 % DAY_US) % DAY_US);
        session::update(model, Message::Seek(at));
    }
}
