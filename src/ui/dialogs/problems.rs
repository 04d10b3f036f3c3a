//! What was wrong with something from outside: where, and what.

use crate::i18n::{Lang, Message as Text};
use crate::problem::Problem;
use crate::ui::say;
use yew::{Html, html};

pub fn problems(lang: &Lang, problems: &[Problem]) -> Html {
    let row = |p: &Problem| html! { <tr><th scope="row">{ p.place.clone() }</th><td>{ p.what.clone() }</td></tr> };
    html! {
        <div class="table-scroll problems" role="alert">
            <table>
                <thead><tr>
                    <th scope="col">{ say(lang, &Text::ProblemPlace) }</th>
                    <th scope="col">{ say(lang, &Text::ProblemWhat) }</th>
                </tr></thead>
                <tbody>{ for problems.iter().map(row) }</tbody>
            </table>
        </div>
    }
}
