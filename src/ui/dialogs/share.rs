//! The link to the run as it stands, and the hash by which its reader knows that it came out alike.

use super::DialogProps;
use crate::i18n::Message as Text;
use crate::share::codec::{QUIET_CHARS_MAX, WARNED_CHARS_MAX};
use crate::ui::say;
use web_sys::HtmlTextAreaElement;
use yew::{Html, Properties, function_component, html, use_effect_with, use_node_ref};

#[derive(Clone, PartialEq, Properties)]
pub struct ShareProps {
    pub dialog: DialogProps,
    /// The fragment.
    pub link: String,
    pub state_hash: String,
}

#[function_component(Share)]
pub fn share(props: &ShareProps) -> Html {
    let DialogProps { lang, page, copied, on_copy, .. } = &props.dialog;
    let field = use_node_ref();
    {
        let field = field.clone();
        use_effect_with(*copied, move |copied| {
            if let (Some(false), Some(field)) = (*copied, field.cast::<HtmlTextAreaElement>()) {
                field.select();
            }
        });
    }
    let link = format!("{page}#{}", props.link);
    let n = link.len();
    let remark = if n <= QUIET_CHARS_MAX {
        Text::ShareFits { n: n.into() }
    } else if n <= WARNED_CHARS_MAX {
        Text::ShareLong { n: n.into() }
    } else {
        Text::ShareTooLong { n: n.into() }
    };
    let fragment = props.link.clone();
    html! {
        <>
            <label class="field">
                { say(lang, &Text::ShareLink) }
                <textarea ref={field} readonly=true rows="4" spellcheck="false" data-testid="share-link" value={link} />
            </label>
            <p class="muted">{ say(lang, &remark) }</p>
            <p class="row">
                <button class="button primary" data-testid="copy-link" onclick={on_copy.reform(move |_| fragment.clone())}>
                    { say(lang, &Text::Copy) }
                </button>
                <span role="status" data-testid="copied">
                    { match copied {
                        Some(true) => say(lang, &Text::NoticeCopied),
                        Some(false) => say(lang, &Text::CopyByHand),
                        None => yew::AttrValue::default(),
                    } }
                </span>
            </p>
            <dl class="hash">
                <dt>{ say(lang, &Text::ShareHash) }</dt>
                <dd><code data-testid="state-hash">{ props.state_hash.clone() }</code></dd>
            </dl>
            <p class="muted">{ say(lang, &Text::ShareHashHelp) }</p>
        </>
    }
}
