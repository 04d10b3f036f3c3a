//! Making a recorded trace the traffic of a service.

use super::clip;
use crate::problem::Problem;
use crate::sim::id::ServiceId;
use crate::sim::setup::{ServiceSetup, Setup};
use crate::sim::time::Span;
use crate::sim::traffic::{Pattern, Source, Trace, TraceFormat, TraceLengths, TraceUse};
use std::sync::Arc;

/// How a trace is used. [`TraceChoice::of`] gives the defaults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceChoice {
    /// Whose traffic it replaces.
    pub service: ServiceId,
    /// 2 plays an hour in half an hour.
    pub speed: f64,
    /// Starts again at the end.
    pub repeat: bool,
    /// Spreads requests with equal time stamps over the time to the next stamp.
    pub spread: bool,
    /// Cuts requests that are longer than the service's context, which its engine would refuse.
    pub cut: bool,
    /// The service keeps the times of its own pattern; only the lengths are the trace's.
    pub lengths_only: bool,
}

impl TraceChoice {
    /// As recorded, for the scaled service (the first one if none is); stamps on a coarse grid are
    /// spread.
    pub fn of(trace: &Trace, setup: &Setup) -> TraceChoice {
        let service = setup.services.iter().position(|s| s.scaled).unwrap_or(0);
        TraceChoice {
            service: ServiceId::from_index(service),
            speed: 1.0,
            repeat: false,
            spread: trace.format().and_then(TraceFormat::grid).is_some(),
            cut: false,
            lengths_only: false,
        }
    }
}

/// Longest prompt and answer together that the service's engine takes.
pub fn context_limit(service: &ServiceSetup) -> u32 {
    service.max_model_len.unwrap_or(service.model.context_length)
}

/// Makes a trace the traffic of a service, or the source of its lengths.
///
/// # Errors
/// If there is no such service, or the trace cannot be used like that.
pub fn use_trace(setup: &mut Setup, name: &str, trace: Arc<Trace>, choice: TraceChoice) -> Result<(), Problem> {
    let (seed, clock) = (setup.seed, setup.clock_at_start());
    let service = setup.services.get_mut(choice.service.index());
    let service = service.ok_or_else(|| Problem::new("services", "no service to drive"))?;
    let cut_to = choice.cut.then(|| context_limit(service));
    let rows_hash = Some(trace.rows_hash_text());
    if choice.lengths_only {
        if matches!(service.traffic.pattern, Pattern::Silent | Pattern::Trace(_)) {
            let what = format!("`{}` has no arrival pattern of its own that could be kept", service.name);
            return Err(Problem::new(clip(name), what));
        }
        service.traffic.lengths_of = Some(TraceLengths { name: name.to_owned(), rows_hash, cut_to });
    } else {
        let grid = trace.format().and_then(TraceFormat::grid).unwrap_or(Span::from_secs(1));
        service.traffic.pattern = Pattern::Trace(TraceUse {
            name: name.to_owned(),
            rows_hash,
            speed: choice.speed,
            repeat: choice.repeat,
            spread: choice.spread.then_some(grid),
            cut_to,
        });
        service.traffic.spikes.clear();
    }
    service.trace = Some(trace);
    let tried = Source::new(&service.traffic, seed, "trial", clock, service.trace.clone());
    match tried.map_err(|problems| problems.into_iter().next()) {
        Err(Some(problem)) => Err(Problem::new(problem.path, problem.message)),
        Err(None) | Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use crate::sim::traffic::TraceReader;

    #[test]
    fn the_week_begins_on_the_scenarios_weekday_monday_if_it_names_none() {
        let text = scenario::library_text("lying-signal").unwrap();
        let clock = |overrides: &[(String, String)]| scenario::read(text, overrides).unwrap().setup.clock_at_start();
        let five_to_nine = Span::from_mins(8 * 60 + 55);
        assert_eq!(clock(&[]), five_to_nine);
        let saturday = [("weekday".to_owned(), "saturday".to_owned())];
        assert_eq!(clock(&saturday), Span::from_mins(5 * 24 * 60) + five_to_nine);
        let wrong = [("weekday".to_owned(), "caturday".to_owned())];
        let problems = scenario::read(text, &wrong).unwrap_err();
        assert!(problems[0].to_string().contains("saturday"), "{}", problems[0]);
    }

    #[test]
    fn coarse_stamps_are_spread_unless_the_person_says_otherwise() {
        let setup = scenario::library("sandbox").unwrap().unwrap().setup;
        let spread = |text: &str| {
            let mut reader = TraceReader::new();
            reader.push(text.as_bytes());
            TraceChoice::of(&reader.finish().unwrap(), &setup).spread
        };
        assert!(spread("{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1}\n"));
        assert!(spread("Timestamp,Request tokens,Response tokens\n5,1,1\n"));
        assert!(!spread("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,1,1\n"));
    }

    #[test]
    fn a_scenario_file_cannot_name_a_trace() {
        let text = scenario::library_text("lying-signal").unwrap();
        let with = |path: &str, value: &str| {
            let path = format!("services.chat-14b.traffic.{path}");
            scenario::read(text, &[(path, value.to_owned())]).unwrap_err()[0].to_string()
        };
        assert!(with("pattern", "{trace: {name: t}}").contains("dropped on the page"));
        assert!(with("lengths_of", "{name: t}").contains("dropped on the page"));
    }
}
