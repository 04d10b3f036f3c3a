//! The score with its formula and factors, and the two accounts that it rests on.

use super::text::{formula, say, words};
use crate::i18n::{Arg, Lang, Message};
use crate::sim::snapshot::Snapshot;
use crate::view::score;
use crate::view::words::minutes;
use std::rc::Rc;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct Props {
    pub snapshot: Rc<Snapshot>,
    pub lang: Lang,
}

/// Score, G, E, what was missed and wasted, and the accounts in a fold.
#[component]
pub fn ScorePanel(props: &Props) -> Html {
    let Props { snapshot, lang } = props;
    let text = |word: Arg| words(lang, &Message::Word { word });
    let line = |label: Message, help: Option<Message>, value: Arg, id: &'static str| {
        html! {
            <div title={help.map(|h| words(lang, &h))}>
                <dt>{ say(lang, &label) }</dt>
                <dd data-testid={id}>{ text(value) }</dd>
            </div>
        }
    };
    let s = &snapshot.score;
    html! {
        <section class="score" aria-labelledby="score-title" data-testid="score-panel">
            <header class="score-head">
                <h2 id="score-title">{ say(lang, &Message::ScoreTitle) }</h2>
                <span class="score-formula">{ formula(&words(lang, &Message::ScoreFormula)) }</span>
                <strong class="score-number" data-testid="score">{ text(Arg::Float(s.total, 0)) }</strong>
            </header>
            <dl class="score-lines">
                { line(Message::ScoreG, Some(Message::ScoreHelpG), Arg::Float(s.g, 2), "score-g") }
                { line(Message::ScoreE, Some(Message::ScoreHelpE), Arg::Float(s.e, 2), "score-e") }
                { line(Message::ScoreUnmet, None, score::unmet(snapshot).into(), "score-unmet") }
                { line(Message::ScoreIdle, None, minutes(score::idle_gpu_time(snapshot)), "score-idle") }
                { line(Message::ScoreBill, None, snapshot.ledger.bill.into(), "score-bill") }
            </dl>
            <details class="score-details" data-testid="score-details">
                <summary>{ say(lang, &Message::ScoreDetails) }</summary>
                <p>{ say(lang, &Message::ScoreHelpG) }</p>
                <p>{ say(lang, &Message::ScoreHelpE) }</p>
                { outcomes(snapshot, lang) }
                { ledger(snapshot, lang) }
            </details>
        </section>
    }
}

fn outcomes(snapshot: &Snapshot, lang: &Lang) -> Html {
    let text = |word: Arg| words(lang, &Message::Word { word });
    // Without a fallback there is nothing to say of it.
    let said = score::outcomes(snapshot).into_iter().filter(|row| row.id != "degraded" || row.count > 0);
    let rows = said.map(|row| {
        html! {
            <tr key={row.id} data-testid={format!("outcome-{}", row.id)}>
                <th scope="row">{ say(lang, &row.label) }<span class="explain">{ say(lang, &row.help) }</span></th>
                <td>{ text(row.count.into()) }</td>
                <td>{ for row.share.map(text) }</td>
            </tr>
        }
    });
    html! {
        <table class="score-table">
            <caption>{ say(lang, &Message::ScoreRequests) }</caption>
            <thead><tr>
                <th scope="col">{ say(lang, &Message::ScoreOutcome) }</th>
                <th scope="col">{ say(lang, &Message::ScoreCount) }</th>
                <th scope="col">{ say(lang, &Message::ScoreShare) }</th>
            </tr></thead>
            <tbody>{ for rows }</tbody>
            <tfoot><tr data-testid="outcome-offered">
                <th scope="row">{ say(lang, &Message::ScoreOffered) }</th>
                <td>{ text(snapshot.requests.offered.into()) }</td>
                <td>{ for score::share(snapshot.requests.offered, snapshot.requests.offered).map(text) }</td>
            </tr></tfoot>
        </table>
    }
}

fn ledger(snapshot: &Snapshot, lang: &Lang) -> Html {
    let text = |word: Arg| words(lang, &Message::Word { word });
    let row = |row: score::LedgerRow| {
        let swatch =
            row.state.map(|s| html! { <i class={classes!("swatch", score::state_class(s))} aria-hidden="true"></i> });
        html! {
            <tr data-testid={row.state.map_or("ledger-bill".to_owned(), |s| format!("ledger-{}", &score::state_class(s)[4..]))}>
                <th scope="row">
                    { for swatch }{ say(lang, &row.label) }
                    if let Some(help) = row.help {
                        <span class="explain">{ say(lang, &help) }</span>
                    }
                </th>
                <td>{ text(row.gpu_minutes) }</td>
                <td>{ text(row.cost) }</td>
                <td>{ text(row.gpus_now.into()) }</td>
            </tr>
        }
    };
    let (sum, states): (Vec<_>, Vec<_>) = score::ledger(snapshot).into_iter().partition(|r| r.state.is_none());
    html! {
        <table class="score-table">
            <caption>{ say(lang, &Message::ScoreLedger) }</caption>
            <thead><tr>
                <th scope="col">{ say(lang, &Message::ScoreState) }</th>
                <th scope="col">{ say(lang, &Message::ScoreGpuMinutes) }</th>
                <th scope="col">{ say(lang, &Message::ScoreMoney) }</th>
                <th scope="col">{ say(lang, &Message::ScoreNow) }</th>
            </tr></thead>
            <tbody>{ for states.into_iter().map(row) }</tbody>
            <tfoot>{ for sum.into_iter().map(row) }</tfoot>
        </table>
    }
}
