//! Opening: library scenarios, links, scenario files, traces. Whatever is wrong is shown with its
//! place, and the run that the person had goes on.

use super::model::{Dialog, Effect, Model, Notice, Problem};
use super::run::Run;
use crate::i18n::Message as Text;
use crate::scenario::{self, Scenario, TraceChoice};
use crate::share::{self, Origin};
use crate::sim::command::Stamped;
use crate::sim::setup::Setup;
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

/// Asks how a trace is to be used; the run goes on behind the question.
pub(super) fn offer_trace(model: &mut Model, name: String, trace: Arc<Trace>) -> Vec<Effect> {
    let choice = TraceChoice::of(&trace, model.run.world().setup());
    model.playing = false;
    model.dialog = Some(Dialog::Trace { name, trace, choice });
    Vec::new()
}

/// Restarts the scenario with a trace as the traffic of a service.
pub(super) fn trace(model: &mut Model, name: String, trace: Arc<Trace>, choice: TraceChoice) -> Vec<Effect> {
    let mut setup = own_setup(model);
    let (requests, hash) = (trace.rows().len(), trace.rows_hash());
    let length = Span((trace.span().0 as f64 / choice.speed) as u64);
    if let Err(problem) = scenario::use_trace(&mut setup, &name, trace, choice) {
        return refuse(model, Text::ProblemTrace, vec![problem]);
    }
    let service = setup.services.get(choice.service.index()).map(|s| s.name.clone()).unwrap_or_default();
    match Run::new(Arc::new(setup), Vec::new()) {
        Ok(run) => {
            model.dialog = None;
            model.tasks.clear();
            model.replace_run(run);
            model.trace = Some((name.clone(), hash));
            let lengths_only = choice.lengths_only;
            model.notice = Some(Notice::TraceLoaded { name, requests, length, service, lengths_only });
            Vec::new()
        }
        Err(error) => refuse(model, Text::ProblemTrace, vec![Problem { place: name, what: error.to_string() }]),
    }
}

/// The scenario as it was opened: a trace that drives the run now must not drive a second service
/// after the next one was chosen.
fn own_setup(model: &Model) -> Setup {
    let present = model.run.world().setup();
    let own = match &model.origin {
        Origin::Library(id) => scenario::library(id).and_then(Result::ok),
        Origin::File { text, .. } => scenario::read(text, &[]).ok(),
    };
    // Parameters and seed may have come with a link.
    let keep = |own: Scenario| Setup { seed: present.seed, policy: present.policy.clone(), ..own.setup };
    own.map_or_else(|| present.clone(), keep)
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
