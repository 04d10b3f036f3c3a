//! What views are given besides the snapshot, made anew only when it changes.

use crate::session::Model;
use crate::session::Run;
use crate::share::Origin;
use crate::sim::decision::Decision;
use crate::sim::id::ServiceId;
use crate::sim::series_view::{Point, ServiceTrack, Track};
use crate::sim::time::Time;
use crate::ui::shell::now_ms;
use crate::view::charts::{Chart, Plot, Source, plot};
use crate::view::time::{Mark, mark, thin, window_end};
use std::rc::Rc;

/// Decisions that the why-log is given.
const DECISIONS_SHOWN: usize = 300;
/// Points that a chart line has at most.
const POINTS_MAX: usize = 240;
/// While time runs, charts are built anew at most this often.
const CHARTS_EVERY_MS: f64 = 100.0;

/// Caches of one page.
#[derive(Default)]
pub struct Look {
    pub decisions: Rc<Vec<Decision>>,
    pub marks: Rc<Vec<Mark>>,
    pub plots: Rc<Vec<Plot>>,
    /// The service that was picked for the charts.
    pub service: Option<ServiceId>,
    /// Counts changes of language and colours.
    pub colours: u32,
    /// The readable fragment of the run that the page opened with.
    pub opened_as: String,
    log_key: Option<LogKey>,
    charts_key: Option<ChartsKey>,
    charts_built_ms: f64,
}

/// Equal keys mean an equal log: records are only added at the end or folded near it.
#[derive(PartialEq)]
struct LogKey {
    first: Option<u64>,
    length: usize,
    last: Vec<(u64, u32, Time)>,
    commands: usize,
    scenario: String,
}

/// Records near the end that may still be folded into.
const FOLDED_WITHIN: usize = 24;

#[derive(PartialEq)]
struct ChartsKey {
    now: Time,
    until: Time,
    commands: usize,
    scenario: String,
    seed: u64,
    service: Option<ServiceId>,
}

struct Tracks<'a>(&'a Run);

impl Source for Tracks<'_> {
    fn points(&self, track: Track, until: Time) -> Vec<Point> {
        self.0.series(track, Time::ZERO, until, POINTS_MAX)
    }
    fn full(&self, service: ServiceId, track: ServiceTrack) -> Option<f64> {
        self.0.full_range(service, track)
    }
}

impl Look {
    pub fn refresh(&mut self, model: &Model) {
        if self.opened_as.is_empty()
            && let Origin::Library(id) = &model.origin
        {
            self.opened_as = format!("s={id}");
        }
        self.refresh_log(model);
        self.refresh_charts(model);
    }

    fn refresh_log(&mut self, model: &Model) {
        let run = &model.run;
        let all = run.decisions();
        let key = LogKey {
            first: run.decisions().next().map(|d| d.id),
            length: all.len(),
            last: run.decisions().rev().take(FOLDED_WITHIN).map(|d| (d.id, d.times, d.last_at)).collect(),
            commands: model.run.log().len(),
            scenario: model.scenario.clone(),
        };
        if self.log_key.as_ref() == Some(&key) {
            return;
        }
        let same_run = self.log_key.as_ref().is_some_and(|k| k.scenario == key.scenario);
        let skip = all.len().saturating_sub(DECISIONS_SHOWN);
        self.decisions = Rc::new(all.skip(skip).cloned().collect());
        // What lies ahead of a rewound present stays marked until the run forks.
        let (now, seen_until) = (model.run.now(), model.run.seen_until());
        let mut marks: Vec<Mark> = run.decisions().filter_map(mark).collect();
        if same_run {
            marks.extend(self.marks.iter().filter(|m| m.at > now && m.at <= seen_until));
        }
        self.marks = Rc::new(thin(&marks, model.run.end()));
        self.log_key = Some(key);
    }

    fn refresh_charts(&mut self, model: &Model) {
        let until = window_end(model.run.seen_until());
        // Ids of another scenario mean other services.
        if self.charts_key.as_ref().is_some_and(|k| k.scenario != model.scenario) {
            self.service = None;
        }
        let key = ChartsKey {
            now: model.run.now(),
            until,
            commands: model.run.log().len(),
            scenario: model.scenario.clone(),
            seed: model.run.setup().seed,
            service: self.service,
        };
        let running = model.playing || model.is_jumping();
        let same_service = self.charts_key.as_ref().is_some_and(|k| k.service == self.service);
        let early =
            running && same_service && now_ms() - self.charts_built_ms < CHARTS_EVERY_MS && !self.plots.is_empty();
        if early || self.charts_key.as_ref() == Some(&key) {
            return;
        }
        let source = Tracks(&model.run);
        let one = |c: &Chart| plot(*c, &model.snapshot, self.service, until, &source);
        self.plots = Rc::new(Chart::ALL.iter().map(one).collect());
        self.charts_key = Some(key);
        self.charts_built_ms = now_ms();
    }
}
