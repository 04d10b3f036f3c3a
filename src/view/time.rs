//! Simulated time as the page writes it: times of day, ticks of the shared axis, marks of the
//! scrubber.

use crate::i18n::Arg;
use crate::sim::decision::{Decision, Tone, Who};
use crate::sim::time::{Span, Time};

/// The time of day of an instant of the run.
pub fn clock(day_start: Span, at: Time) -> Arg {
    Arg::Clock(day_start.0.saturating_add(at.0))
}

/// `HH:MM`, for ticks. Written alike in every language of the lab.
pub fn hour_minute(day_start: Span, at: Time) -> String {
    let minutes = day_start.0.saturating_add(at.0) / 60_000_000;
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

/// Shortest stretch of time that the charts show.
const WINDOW_MIN: u64 = Span::from_mins(6).0;
/// The present stands at most so far to the right, in percent: beyond it the lines' names have room.
const PRESENT_AT_MOST: u64 = 54;

/// End of the stretch that the charts show. It begins with the run and grows by halves, so that
/// the axis rarely changes.
pub fn window_end(seen_until: Time) -> Time {
    let need = seen_until.0.saturating_mul(100) / PRESENT_AT_MOST;
    let mut length = WINDOW_MIN;
    while length < need && length < u64::MAX / 2 {
        length += length / 2;
    }
    Time(length)
}

const TICK_STEPS_MIN: [u64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080];

/// Ticks on round times of day, at most `most` of them.
pub fn ticks(day_start: Span, until: Time, most: usize) -> Vec<Time> {
    let fits = |step: &&u64| until.0 / (**step * 60_000_000) <= most as u64;
    let step = TICK_STEPS_MIN.iter().find(fits).copied().unwrap_or(40_320) * 60_000_000;
    let first = day_start.0.next_multiple_of(step) - day_start.0;
    (0..).map(|k| Time(first + k * step)).take_while(|t| *t <= until).take(most.max(1)).collect()
}

/// What a mark of the scrubber stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    You,
    Bad,
    Good,
}

/// A decision that is worth finding again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub at: Time,
    pub kind: MarkKind,
}

/// Marks that the scrubber shows at most.
pub const MARKS_MAX: usize = 200;

/// The mark of a decision, if it is a milestone that somebody may look for.
pub fn mark(decision: &Decision) -> Option<Mark> {
    let kind = match (decision.who, decision.tone) {
        (Who::You, _) => MarkKind::You,
        (_, Tone::Bad) => MarkKind::Bad,
        (_, Tone::Good) => MarkKind::Good,
        _ => return None,
    };
    decision.is_milestone().then_some(Mark { at: decision.at, kind })
}

/// Thins marks (in order of time) to [`MARKS_MAX`]: of those that would stand on the same spot, a
/// command outlives a bad turn and a bad turn a good one.
pub fn thin(marks: &[Mark], end: Time) -> Vec<Mark> {
    let spot = |m: &Mark| (u128::from(m.at.0) * MARKS_MAX as u128 / u128::from(end.0.max(1))) as u64;
    let mut kept: Vec<Mark> = Vec::new();
    for m in marks {
        match kept.last_mut() {
            Some(last) if spot(last) == spot(m) => {
                if m.kind < last.kind {
                    *last = *m;
                }
            }
            _ => kept.push(*m),
        }
    }
    kept.truncate(MARKS_MAX);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_leaves_room_beside_the_present_and_wastes_less_than_two_thirds() {
        assert_eq!(window_end(Time::ZERO), Time::from_secs(360));
        for s in [200, 1_000, 5_520, 86_400, 1_209_600] {
            let share = s as f64 * 1e6 / window_end(Time::from_secs(s)).0 as f64;
            assert!((0.35..=0.54).contains(&share), "{s}: {share}");
        }
        assert!(window_end(Time::MAX) > Time::ZERO);
    }

    #[test]
    fn ticks_stand_on_round_times_of_day() {
        let start = Span::from_mins(118);
        let ticks = ticks(start, Time::from_secs(600), 4);
        assert_eq!(ticks.iter().map(|t| hour_minute(start, *t)).collect::<Vec<_>>(), ["02:00", "02:05"]);
        for minutes in [1, 7, 60, 92, 240, 1_440, 20_160] {
            assert!(super::ticks(start, Time::from_secs(minutes * 60), 4).len() <= 4);
        }
    }

    #[test]
    fn thinning_keeps_the_command_among_crowded_marks() {
        let mut marks: Vec<Mark> = (0..5_000).map(|s| Mark { at: Time::from_secs(s), kind: MarkKind::Good }).collect();
        marks[2_503].kind = MarkKind::You;
        let kept = thin(&marks, Time::from_secs(5_000));
        assert!(kept.len() <= MARKS_MAX);
        assert!(kept.contains(&marks[2_503]));
    }
}
