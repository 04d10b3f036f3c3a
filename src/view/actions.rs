//! The table of keys: one entry per action, from which come the keyboard handler and the list
//! that people read.

use crate::i18n::Message as Text;
use crate::session::{Dialog, Message};
use crate::sim::time::{Span, Time};

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combo {
    /// As `KeyboardEvent.key` names it, letters in lower case.
    pub key: &'static str,
    /// Control, or Command on a Mac.
    pub ctrl: bool,
    /// Looked at only with `ctrl`: the character itself says it otherwise.
    pub shift: bool,
}

const fn plain(key: &'static str) -> Combo {
    Combo { key, ctrl: false, shift: false }
}

const fn ctrl(key: &'static str, shift: bool) -> Combo {
    Combo { key, ctrl: true, shift }
}

/// What a key does.
#[derive(Debug, Clone)]
pub struct Action {
    pub combo: Combo,
    pub label: Text,
    /// The message, given the present time of the run.
    pub message: fn(Time) -> Message,
}

const SECOND: Span = Span::from_secs(1);

/// Every key of the page. The map has its own, which it explains itself.
pub fn all() -> Vec<Action> {
    let action = |combo, label, message| Action { combo, label, message };
    vec![
        action(plain("k"), Text::PlayOrPause, |_| Message::TogglePlay),
        action(plain("j"), Text::StepBackward, |_| Message::StepBack),
        action(plain("l"), Text::StepOn, |_| Message::Step),
        action(plain(","), Text::SecondBack, |now| Message::Seek(now - SECOND)),
        action(plain("."), Text::SecondOn, |now| Message::Seek(now + SECOND)),
        action(plain("["), Text::Slower, |_| Message::Slower),
        action(plain("]"), Text::Faster, |_| Message::Faster),
        action(ctrl("z", false), Text::Undo, |_| Message::Undo),
        action(ctrl("z", true), Text::Redo, |_| Message::Redo),
        action(plain("?"), Text::KeysShow, |_| Message::Open(Dialog::Keys)),
    ]
}

/// A key press, as the browser tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    pub key: String,
    pub ctrl: bool,
    pub shift: bool,
}

/// The action of a key press. `single_keys` says whether keys of one character are on.
pub fn find(press: &Press, single_keys: bool) -> Option<Action> {
    let key = press.key.to_lowercase();
    all().into_iter().find(|a| {
        let modifiers = a.combo.ctrl == press.ctrl && (!a.combo.ctrl || a.combo.shift == press.shift);
        a.combo.key == key && modifiers && (a.combo.ctrl || single_keys)
    })
}

impl Combo {
    /// The keys to show in `<kbd>`s.
    pub fn keys(&self) -> Vec<String> {
        let mut keys = Vec::new();
        if self.ctrl {
            keys.push("Ctrl".to_owned());
        }
        if self.shift {
            keys.push("Shift".to_owned());
        }
        keys.push(self.key.to_uppercase());
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(key: &str, ctrl: bool, shift: bool) -> Press {
        Press { key: key.to_owned(), ctrl, shift }
    }

    #[test]
    fn each_key_finds_its_own_action() {
        let all = all();
        for (i, a) in all.iter().enumerate() {
            assert!(all.iter().skip(i + 1).all(|b| b.combo != a.combo), "{:?} twice", a.combo);
            let found = find(&press(a.combo.key, a.combo.ctrl, a.combo.shift), true);
            assert_eq!(found.map(|f| f.combo), Some(a.combo));
        }
    }

    #[test]
    fn capital_letters_and_shifted_signs_work_and_browser_keys_are_left_alone() {
        assert_eq!(find(&press("K", false, true), true).map(|a| (a.message)(Time::ZERO)), Some(Message::TogglePlay));
        assert!(find(&press("?", false, true), true).is_some());
        assert!(find(&press("l", true, false), true).is_none());
        assert!(find(&press("Tab", false, false), true).is_none());
    }

    #[test]
    fn single_keys_can_be_switched_off() {
        assert!(find(&press("k", false, false), false).is_none());
        assert_eq!(find(&press("z", true, false), false).map(|a| (a.message)(Time::ZERO)), Some(Message::Undo));
    }
}
