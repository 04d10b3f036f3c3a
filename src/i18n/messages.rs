//! The list of all messages. One line here, one line in each language table.

use super::Arg;

macro_rules! catalogue {
    ($($(#[$doc:meta])* $name:ident $({ $($field:ident),+ $(,)? })? ),+ $(,)?) => {
        /// One text of the page with its values.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Message { $($(#[$doc])* $name $({ $($field: Arg),+ })?),+ }

        /// A message without its values: what a language table is asked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key { $($name),+ }

        impl Message {
            pub fn key(&self) -> Key {
                match self { $(Message::$name $({ $($field: _),+ })? => Key::$name),+ }
            }
            /// The values by placeholder name.
            pub fn args(&self) -> Vec<(&'static str, Arg)> {
                match self { $(Message::$name $({ $($field),+ })? => vec![$($((stringify!($field), $field.clone())),+)?]),+ }
            }
        }

        impl Key {
            pub const ALL: &'static [Key] = &[$(Key::$name),+];
            /// The placeholder names that a table's text may use.
            pub fn fields(self) -> &'static [&'static str] {
                match self { $(Key::$name => &[$($(stringify!($field)),+)?]),+ }
            }
        }
    };
}

catalogue! {
    // --- Page and shell (header, transport, charts, dialogs, embed, errors) ---
    LabName,
    LabTitle,
    Experiments,
    ProblemScenario,
    ProblemLink,
    ProblemLinkValues,
    ProblemTrace,

    // --- Map (racks, nodes, cells, tools, pending tray, drag and refusals) ---
    MapTitle,

    // --- Layers, why-log, waits, score, tasks ---
    WhyTitle,

    // --- Scenario texts (titles, stories, tasks, hints) ---
    ScenarioSandbox,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, template};

    #[test]
    fn every_table_uses_only_the_values_that_its_message_carries() {
        for lang in Lang::offered() {
            for key in Key::ALL {
                let text = lang.template(*key);
                assert!(!text.trim().is_empty(), "{}: {key:?} is empty", lang.tag);
                for name in template::placeholders(&text) {
                    assert!(key.fields().contains(&name.as_str()), "{}: {key:?} has no value `{name}`", lang.tag);
                }
            }
        }
    }
}
