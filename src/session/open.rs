//! Opening: library scenarios, links, scenario files, traces. Whatever is wrong is shown with its
//! place, and the run that the person had goes on.

use super::model::{Dialog, Effect, Model, Notice, Problem};
use super::run::Run;
use crate::i18n::Message as Text;
use crate::scenario::{self, Scenario};
use crate::share::{self, Origin};
use crate::sim::command::Stamped;
use crate::sim::time::Span;
use crate::sim::traffic::Trace;
use std::sync::Arc;

pub(super) fn scenario(model: &mut Model, id: &str, seed: Option<u64>) -> Vec<Effect> {
    match scenario::library(id) {
        Some(Ok(mut scenario)) => {
            if let Some(seed) = seed {
                scenario.setup.seed = seed;
            }
            start(model, scenario, Vec::new(), id, Origin::Library(id.to_owned()))
        }
        Some(Err(problems)) => refuse(model, Text::ProblemScenario, problems),
        None => {
            let ids: Vec<&str> = scenario::LIBRARY.iter().map(|(id, _)| *id).collect();
            let what = format!("no experiment `{}`; there are: {}", clip(id), ids.join(", "));
            refuse(model, Text::ProblemScenario, vec![Problem { place: "scenario".into(), what }])
        }
    }
}

/// A URL fragment: a whole run (`x1=…`) or a library scenario with changes (`s=…&hpa.signal=…`).
pub(super) fn link(model: &mut Model, fragment: &str) -> Vec<Effect> {
    match share::open(fragment) {
        Ok(opened) => {
            let (id, at, trouble) = (opened.scenario_id, opened.at, opened.ignored);
            let origin = match opened.text {
                Some(text) => Origin::File { name: id.clone(), text },
                None => Origin::Library(id.clone()),
            };
            let mut effects = start(model, opened.scenario, opened.log, &id, origin);
            model.promised = opened.state_hash.map(|hash| (at, hash));
            model.jump_to(at);
            if !trouble.is_empty() {
                effects.extend(refuse(model, Text::ProblemLinkValues, trouble));
            }
            effects
        }
        Err(problems) => refuse(model, Text::ProblemLink, problems),
    }
}

pub(super) fn file(model: &mut Model, name: &str, text: &str) -> Vec<Effect> {
    match scenario::read(text, &[]) {
        Ok(scenario) => {
            let origin = Origin::File { name: name.to_owned(), text: text.to_owned() };
            start(model, scenario, Vec::new(), name, origin)
        }
        Err(problems) => refuse(model, Text::ProblemScenario, problems),
    }
}

/// Restarts the scenario with a trace as the traffic of its scaled service.
pub(super) fn trace(model: &mut Model, name: String, trace: Arc<Trace>) -> Vec<Effect> {
    let mut setup = model.run.world().setup().clone();
    let (requests, hash) = (trace.rows().len(), trace.rows_hash());
    let length = Span(trace.rows().last().map_or(0, |r| r.offset_us));
    if let Err(problem) = scenario::use_trace(&mut setup, &name, trace) {
        return refuse(model, Text::ProblemTrace, vec![problem]);
    }
    match Run::new(Arc::new(setup), Vec::new()) {
        Ok(run) => {
            model.replace_run(run);
            model.trace = Some((name.clone(), hash));
            model.notice = Some(Notice::TraceLoaded { name, requests, length });
            Vec::new()
        }
        Err(error) => refuse(model, Text::ProblemTrace, vec![Problem { place: name, what: error.to_string() }]),
    }
}

fn start(model: &mut Model, scenario: Scenario, log: Vec<Stamped>, id: &str, origin: Origin) -> Vec<Effect> {
    match Run::new(Arc::new(scenario.setup), log) {
        Ok(run) => {
            model.tasks = scenario.tasks.into_iter().map(|t| (t, None)).collect();
            model.scenario = id.to_owned();
            model.origin = origin;
            model.trace = None;
            model.dialog = None;
            model.replace_run(run);
            Vec::new()
        }
        Err(error) => refuse(model, Text::ProblemScenario, vec![Problem::new(id, error.to_string())]),
    }
}

fn refuse(model: &mut Model, title: Text, problems: Vec<Problem>) -> Vec<Effect> {
    model.playing = false;
    model.dialog = Some(Dialog::Problems { title, problems });
    Vec::new()
}

fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}
