//! The experiment: title, story, tasks with their state, and hints one by one.

use super::text::{hidden, say, words};
use crate::i18n::{Lang, Message};
use web_sys::Element;
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub struct Props {
    pub title: Message,
    pub story: Message,
    /// Each task, and whether its check has passed.
    pub tasks: Vec<(Message, bool)>,
    pub hints: Vec<Message>,
    pub lang: Lang,
}

/// The task panel.
#[component]
pub fn TaskPanel(props: &Props) -> Html {
    let Props { title, story, tasks, hints, lang } = props;
    let shown = use_state(|| 0_usize);
    {
        let shown = shown.clone();
        use_effect_with(title.clone(), move |_| shown.set(0));
    }
    let panel = use_node_ref();
    {
        // A hint comes at the end, which may lie below the fold.
        let panel = panel.clone();
        use_effect_with(*shown, move |shown| {
            if let Some(panel) = panel.cast::<Element>().filter(|_| *shown > 0) {
                panel.set_scroll_top(panel.scroll_height());
            }
        });
    }
    let done = tasks.iter().filter(|(_, passed)| *passed).count();
    let list = tasks.iter().enumerate().map(|(i, (task, passed))| {
        let (glyph, state, word) =
            if *passed { ("✓", "passed", Message::TaskPassed) } else { ("○", "open", Message::TaskOpen) };
        html! {
            <li key={i} class={classes!("task", state)} data-testid={format!("task-{i}")} data-state={state}>
                <span class="glyph" aria-hidden="true">{ glyph }</span>
                <span>{ hidden(lang, &word) }{ say(lang, task) }</span>
            </li>
        }
    });
    let hint = hints.iter().take(*shown).enumerate().map(|(i, hint)| {
        let label = Message::TaskHint { n: (i + 1).into(), total: hints.len().into() };
        html! { <li key={i}><span class="hint-label">{ say(lang, &label) }</span>{ " " }{ say(lang, hint) }</li> }
    });
    let next = if *shown == 0 { Message::TaskHintFirst } else { Message::TaskHintNext };
    let onclick = {
        let shown = shown.clone();
        move |_: MouseEvent| shown.set(*shown + 1)
    };
    html! {
        <section class="tasks" ref={panel} aria-labelledby="tasks-title" data-testid="tasks">
            <h2 id="tasks-title">{ say(lang, title) }</h2>
            <p class="story">{ say(lang, story) }</p>
            if !tasks.is_empty() {
                <ul class="task-list" aria-label={words(lang, &Message::TasksTitle)}>{ for list }</ul>
                <p class="tasks-done" data-testid="tasks-done">{ say(lang, &Message::TasksDone { n: done.into(), total: tasks.len().into() }) }</p>
            }
            if !hints.is_empty() {
                <ol class="hint-list" aria-live="polite">{ for hint }</ol>
                if *shown < hints.len() {
                    <button type="button" class="hint-button" data-testid="hint" {onclick}>{ say(lang, &next) }</button>
                }
            }
        </section>
    }
}
