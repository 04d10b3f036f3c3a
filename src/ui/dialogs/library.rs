//! The experiments, each with its question.

use super::DialogProps;
use crate::i18n::Message as Text;
use crate::scenario;
use crate::session::Message;
use crate::ui::say;
use crate::view::scenario_texts;
use yew::{Html, classes, html};

pub fn library(props: &DialogProps) -> Html {
    let lang = props.lang;
    let entry = |id: &'static str| {
        let Some(texts) = scenario_texts(id) else {
            return Html::default();
        };
        let open = props.on_message.reform(move |_| Message::OpenScenario { id: id.to_owned(), seed: None });
        let now = props.scenario == id;
        html! {
            <li class={classes!(now.then_some("now"))}>
                <div>
                    <h3>{ say(&lang, &texts.title) }
                        if now { <span class="muted">{ " · " }{ say(&lang, &Text::OpenNow) }</span> }
                    </h3>
                    <p id={format!("question-{id}")}>{ say(&lang, &texts.question) }</p>
                </div>
                <button class="button" data-testid={format!("open-{id}")} aria-describedby={format!("question-{id}")} onclick={open}>
                    { say(&lang, &Text::OpenExperiment) }
                    <span class="visually-hidden">{ " " }{ say(&lang, &texts.title) }</span>
                </button>
            </li>
        }
    };
    html! { <ul class="library-list">{ for scenario::LIBRARY.iter().map(|(id, _)| entry(id)) }</ul> }
}
