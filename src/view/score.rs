//! The score with its two factors, requests by outcome, and paid GPU time by ledger state. Both
//! tables sum: outcomes to the offered requests, states to the bill.

use super::words::{gpu_use, minutes};
use crate::i18n::{Arg, Message};
use crate::sim::snapshot::{GpuCount, GpuUse, Snapshot};
use crate::sim::time::Span;

/// Requests of one outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeRow {
    /// Stable id for the page.
    pub id: &'static str,
    pub label: Message,
    pub help: Message,
    pub count: u64,
    /// Share of the offered requests; `None` if none were offered.
    pub share: Option<Arg>,
}

/// Every outcome, in the order of the accounts. The counts sum to `offered`.
pub fn outcomes(snapshot: &Snapshot) -> Vec<OutcomeRow> {
    let r = &snapshot.requests;
    let row = |id, label, help, count: u64| OutcomeRow { id, label, help, count, share: share(count, r.offered) };
    vec![
        row("met", Message::ScoreMet, Message::ScoreHelpMet, r.met),
        row("late", Message::ScoreLate, Message::ScoreHelpLate, r.late),
        row("timed-out", Message::ScoreTimedOut, Message::ScoreHelpTimedOut, r.timed_out),
        row("rejected", Message::ScoreRejected, Message::ScoreHelpRejected, r.rejected),
        row("failed", Message::ScoreFailed, Message::ScoreHelpFailed, r.failed),
        row("lost", Message::ScoreLost, Message::ScoreHelpLost, r.lost),
        row("degraded", Message::ScoreDegraded, Message::ScoreHelpDegraded, r.degraded),
        row("unfinished", Message::ScoreUnfinished, Message::ScoreHelpUnfinished, r.unfinished),
    ]
}

/// A part as a percentage; `None` of nothing. What is neither nothing nor all is never written as
/// 0 % or 100 %: close to them it has one decimal.
pub fn share(part: u64, whole: u64) -> Option<Arg> {
    if whole == 0 {
        return None;
    }
    let share = part as f64 / whole as f64;
    let near_an_end = part > 0 && part < whole && !(0.01..=0.99).contains(&share);
    Some(if near_an_end { Arg::PercentTenths(share.clamp(0.001, 0.999)) } else { Arg::Percent(share) })
}

/// Requests that ended and did not meet the SLO.
pub fn unmet(snapshot: &Snapshot) -> u64 {
    let r = &snapshot.requests;
    r.late + r.timed_out + r.rejected + r.failed + r.lost + r.degraded
}

/// GPU time of one ledger state, or the bill.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRow {
    /// `None` for the sum.
    pub state: Option<GpuUse>,
    pub label: Message,
    pub help: Option<Message>,
    pub gpu_minutes: Arg,
    pub cost: Arg,
    pub gpus_now: GpuCount,
}

/// The eight states in the ledger's order, then the bill.
pub fn ledger(snapshot: &Snapshot) -> Vec<LedgerRow> {
    let l = &snapshot.ledger;
    let mut rows: Vec<LedgerRow> = GpuUse::ALL
        .iter()
        .enumerate()
        .map(|(i, state)| {
            let (label, help) = gpu_use(*state);
            LedgerRow {
                state: Some(*state),
                label,
                help: Some(help),
                gpu_minutes: minutes(l.gpu_time[i]),
                cost: l.cost[i].into(),
                gpus_now: l.gpus_now[i],
            }
        })
        .collect();
    rows.push(LedgerRow {
        state: None,
        label: Message::ScoreSum,
        help: None,
        gpu_minutes: minutes(l.bill_gpu_time),
        cost: l.bill.into(),
        gpus_now: l.gpus_now.iter().copied().sum(),
    });
    rows
}

/// Paid GPU time in states that do no work: all but training and serving busy.
pub fn idle_gpu_time(snapshot: &Snapshot) -> Span {
    let states = GpuUse::ALL.iter().zip(snapshot.ledger.gpu_time);
    let idle = states.filter(|(s, _)| !matches!(s, GpuUse::Training | GpuUse::ServingBusy));
    idle.fold(Span::ZERO, |sum, (_, time)| sum + time)
}

/// The class of the style sheet that gives a state its colour.
pub fn state_class(state: GpuUse) -> &'static str {
    match state {
        GpuUse::Booting => "use-booting",
        GpuUse::Draining => "use-draining",
        GpuUse::Held => "use-held",
        GpuUse::Loading => "use-loading",
        GpuUse::Training => "use-training",
        GpuUse::ServingBusy => "use-busy",
        GpuUse::ServingIdle => "use-idle",
        GpuUse::Empty => "use-empty",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};

    #[test]
    fn only_nothing_is_0_percent_and_only_all_is_100() {
        let said = |part, whole| share(part, whole).map(|word| render(&Lang::english(), &Message::Word { word }));
        assert_eq!(said(0, 0), None);
        for (part, whole, text) in [
            (0, 99_903, "0 %"),
            (99_903, 99_903, "100 %"),
            (99_556, 99_903, "99.7 %"),
            (297, 99_903, "0.3 %"),
            (1, 99_903, "0.1 %"),
            (99_902, 99_903, "99.9 %"),
            (50, 100, "50 %"),
            (1, 100, "1 %"),
            (989, 1_000, "99 %"),
        ] {
            assert_eq!(said(part, whole).as_deref(), Some(text), "{part} of {whole}");
        }
    }
}
