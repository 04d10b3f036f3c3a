//! The list of keys, from the table that also drives them.

use super::DialogProps;
use crate::i18n::Message as Text;
use crate::ui::say;
use crate::view::actions;
use web_sys::{Event, HtmlInputElement};
use yew::{Callback, Html, TargetCast, html};

pub fn keys(props: &DialogProps) -> Html {
    let lang = props.lang;
    let row = |action: actions::Action| {
        let keys = action.combo.keys().into_iter().map(|k| html! { <kbd>{ k }</kbd> });
        let off = !action.combo.ctrl && !props.single_keys;
        html! {
            <div class={off.then_some("off")}><dt>{ for keys }</dt><dd>{ say(&lang, &action.label) }</dd></div>
        }
    };
    let on_single_keys = props.on_single_keys.clone();
    let onchange = Callback::from(move |event: Event| {
        on_single_keys.emit(event.target_unchecked_into::<HtmlInputElement>().checked());
    });
    html! {
        <>
            <p class="muted">{ say(&lang, &Text::KeysNote) }</p>
            <dl class="keys-list">{ for actions::all().into_iter().map(row) }</dl>
            <label class="check">
                <input type="checkbox" data-testid="single-keys" checked={props.single_keys} {onchange} />
                { say(&lang, &Text::KeysSingle) }
            </label>
        </>
    }
}
