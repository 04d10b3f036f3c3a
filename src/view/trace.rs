//! What a person is told about a request trace before it is used: what was read, what is worth
//! knowing, and what will come of the choices.

use crate::i18n::{Arg, Message};
use crate::scenario::TraceChoice;
use crate::sim::id::ServiceId;
use crate::sim::snapshot::Snapshot;
use crate::sim::time::Span;
use crate::sim::traffic::trace::{Remark, Summary, Tokens, TraceNote};
use crate::sim::traffic::{SPEED_MAX, Trace};

/// A service that a trace could drive.
#[derive(Debug, Clone, PartialEq)]
pub struct Driven {
    pub id: ServiceId,
    pub name: String,
    /// Longest prompt and answer together that its engine takes.
    pub limit: u32,
}

/// All services, in their order.
pub fn driven(snapshot: &Snapshot) -> Vec<Driven> {
    let services = snapshot.services.iter();
    services.map(|s| Driven { id: s.id, name: s.name.clone(), limit: s.context_limit }).collect()
}

/// What was read: label and value.
pub fn facts(trace: &Trace, summary: &Summary) -> Vec<(Message, Message)> {
    let name = trace.format().map_or("-", |f| f.name());
    let minute_mean = summary.mean_per_second * 60.0;
    let busiest = if minute_mean > 0.0 && summary.span >= Span::from_mins(1) {
        let times = Arg::Float(f64::from(summary.busiest_minute) / minute_mean, 1);
        Message::TraceBusiest { n: summary.busiest_minute.into(), times }
    } else {
        Message::TraceBusiestOnly { n: summary.busiest_minute.into() }
    };
    vec![
        (Message::TraceFormatLabel, word(Arg::from(name))),
        (Message::TraceRequestsLabel, word(summary.requests.into())),
        (Message::TraceSpanLabel, word(summary.span.into())),
        (Message::TraceRateLabel, Message::TraceRate { rate: Arg::Float(summary.mean_per_second, 2) }),
        (Message::TraceBusiestLabel, busiest),
        (Message::TracePromptLabel, tokens(&summary.prompt)),
        (Message::TraceOutputLabel, tokens(&summary.output)),
    ]
}

fn word(word: Arg) -> Message {
    Message::Word { word }
}

fn tokens(t: &Tokens) -> Message {
    let whole = |x: f64| Arg::Float(x, 0);
    Message::TraceTokens { p50: whole(t.p50), p99: whole(t.p99), mean: whole(t.mean), max: t.max.into() }
}

/// What is worth knowing about it, with equal time stamps spread or not.
pub fn notes(trace: &Trace, spread: bool) -> Vec<Message> {
    let note = |note: &TraceNote| {
        let (n, line) = (Arg::from(note.rows), Arg::from(note.line));
        match note.remark {
            Remark::FailedLeftOut => Message::TraceNoteFailed { n, line },
            Remark::EmptyLeftOut => Message::TraceNoteEmpty { n, line },
            Remark::ZeroTokens => Message::TraceNoteZero { n, line },
            Remark::LongGap { gap } => Message::TraceNoteGap { n, line, gap: gap.into() },
            Remark::LongerThanAnyRun { span } => Message::TraceNoteLong { span: span.into() },
            Remark::OneInstant => Message::TraceNoteInstant,
            Remark::PrefixesIgnored => Message::TraceNotePrefixes,
        }
    };
    let mut all: Vec<Message> = trace.notes().iter().map(note).collect();
    if let Some(grid) = trace.format().and_then(|f| f.grid()) {
        let grid = grid.into();
        all.push(if spread { Message::TraceNoteGrid { grid } } else { Message::TraceNoteGridKept { grid } });
    }
    all
}

/// Requests that are too long for the service, in words.
pub fn fit(trace: &Trace, too_long: usize, service: &Driven, choice: &TraceChoice) -> Message {
    let (name, limit) = (Arg::from(service.name.as_str()), Arg::from(service.limit));
    if too_long == 0 {
        return Message::TraceFits { service: name, limit };
    }
    let share = Arg::PercentTenths(too_long as f64 / trace.rows().len().max(1) as f64);
    let n = Arg::from(too_long);
    if choice.cut {
        Message::TraceTooLongCut { n, share, service: name, limit }
    } else {
        Message::TraceTooLong { n, share, service: name, limit }
    }
}

/// How much of the trace the run will see; nothing to say when only lengths are used.
pub fn reach(trace: &Trace, choice: &TraceChoice, run: Span) -> Option<Message> {
    if choice.lengths_only {
        return None;
    }
    let played = Span((trace.lap_us() as f64 / choice.speed) as u64);
    let (length, played_arg) = (Arg::from(run), Arg::from(played));
    if choice.repeat && played < run {
        let laps = Arg::Float(run.0 as f64 / played.0.max(1) as f64, 1);
        return Some(Message::TraceRepeats { laps, length, played: played_arg });
    }
    let (n, total) = (trace.within(run, choice.speed), trace.rows().len());
    Some(Message::TraceReach { n: n.into(), total: total.into(), length, played: played_arg })
}

/// A speed as a person writes it; nothing if it is no number or outside the limits.
pub fn read_speed(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches(['x', '×']).trim_end();
    let speed: f64 = text.parse().ok()?;
    (1.0 / SPEED_MAX..=SPEED_MAX).contains(&speed).then_some(speed)
}

/// The rule that [`read_speed`] goes by.
pub fn speed_rule() -> Message {
    Message::TraceSpeedRule { min: Arg::Float(1.0 / SPEED_MAX, 3), max: Arg::Float(SPEED_MAX, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, plain, render};
    use crate::sim::traffic::TraceReader;

    fn say(message: &Message) -> String {
        plain(&render(&Lang::english(), message))
    }

    fn burst() -> Trace {
        let mut reader = TraceReader::new();
        reader.push(b"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n");
        reader.push(b"0,GPT-4,100,10,110,API log\n60,GPT-4,5000,0,5000,API log\n120,GPT-4,300,20,320,API log\n");
        reader.finish().unwrap()
    }

    const CHOICE: TraceChoice =
        TraceChoice { service: ServiceId(0), speed: 1.0, repeat: false, spread: true, cut: false, lengths_only: false };

    #[test]
    fn the_form_says_what_was_read_and_what_was_left_out() {
        let trace = burst();
        let facts: Vec<(String, String)> =
            facts(&trace, &trace.summary()).iter().map(|(l, v)| (say(l), say(v))).collect();
        let value = |label: &str| facts.iter().find(|(l, _)| l == label).map(|(_, v)| v.as_str()).unwrap();
        assert_eq!(value("Format"), "BurstGPT");
        assert_eq!(value("Requests"), "2");
        assert_eq!(value("Prompt tokens"), "p50 200, p99 298, mean 200, longest 300");
        let notes: Vec<String> = notes(&trace, true).iter().map(say).collect();
        assert!(notes[0].starts_with("1 request failed") && notes[0].contains("line 3"), "{notes:?}");
        assert!(notes[1].contains("1 s"), "{notes:?}");
    }

    #[test]
    fn too_long_requests_and_the_reach_are_counted() {
        let trace = burst();
        let service = Driven { id: ServiceId(0), name: "chat".into(), limit: 319 };
        let too_long = trace.longer_than(service.limit);
        assert!(say(&fit(&trace, too_long, &service, &CHOICE)).contains("engine refuses"));
        assert!(say(&fit(&trace, too_long, &service, &TraceChoice { cut: true, ..CHOICE })).contains("cut"));
        assert!(say(&fit(&trace, 0, &service, &CHOICE)).contains("319"));
        let reached = |choice, run| say(&reach(&trace, &choice, Span::from_secs(run)).unwrap());
        assert!(reached(CHOICE, 60).starts_with("1 of 2"));
        assert!(reached(TraceChoice { speed: 2.0, ..CHOICE }, 60).starts_with("2 of 2"));
        assert!(reached(TraceChoice { repeat: true, ..CHOICE }, 960).contains("4.0 times"));
        assert_eq!(reach(&trace, &TraceChoice { lengths_only: true, ..CHOICE }, Span::from_secs(60)), None);
    }

    #[test]
    fn speeds_outside_the_limits_are_not_taken() {
        assert_eq!((read_speed(" 2 "), read_speed("0.5x"), read_speed("1000")), (Some(2.0), Some(0.5), Some(1000.0)));
        for bad in ["", "0", "-1", "1001", "NaN", "inf", "fast", "1e-9"] {
            assert_eq!(read_speed(bad), None, "{bad}");
        }
    }
}
