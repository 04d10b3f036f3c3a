//! Words of the library scenarios: which catalogue entries belong to which scenario and task.

use super::charts::Chart;
use crate::i18n::Message;

/// What a scenario says.
#[derive(Debug, Clone, PartialEq)]
pub struct Texts {
    pub title: Message,
    /// One line for the library.
    pub question: Message,
    pub story: Message,
    /// By task id of the scenario file.
    pub tasks: Vec<(&'static str, Message)>,
    /// In three steps, from a nudge to the way.
    pub hints: Vec<Message>,
    /// The chart that an embed shows.
    pub chart: Chart,
}

/// The texts of a library scenario; `None` for a file of the learner's own.
pub fn scenario_texts(id: &str) -> Option<Texts> {
    Some(match id {
        "seven-of-eight" => Texts {
            title: Message::TrapTitle,
            question: Message::TrapQuestion,
            story: Message::TrapStory,
            tasks: vec![
                ("see-the-trap", Message::TrapTaskSee),
                ("start-cheaply", Message::TrapTaskStart),
                ("one-domain", Message::TrapTaskDomain),
            ],
            hints: vec![Message::TrapHintOne, Message::TrapHintTwo, Message::TrapHintThree],
            chart: Chart::Ledger,
        },
        "lying-signal" => Texts {
            title: Message::SignalTitle,
            question: Message::SignalQuestion,
            story: Message::SignalStory,
            tasks: vec![("see-the-lie", Message::SignalTaskSee), ("serve-the-plateau", Message::SignalTaskCatchUp)],
            hints: vec![Message::SignalHintOne, Message::SignalHintTwo, Message::SignalHintThree],
            chart: Chart::Signals,
        },
        "memory-never-down" => Texts {
            title: Message::MemoryTitle,
            question: Message::MemoryQuestion,
            story: Message::MemoryStory,
            tasks: vec![("see-the-maximum", Message::MemoryTaskMax), ("see-the-floor", Message::MemoryTaskFloor)],
            hints: vec![Message::MemoryHintOne, Message::MemoryHintTwo, Message::MemoryHintThree],
            chart: Chart::Signals,
        },
        "graceful-drain" => Texts {
            title: Message::DrainTitle,
            question: Message::DrainQuestion,
            story: Message::DrainStory,
            tasks: vec![("see-the-cut", Message::DrainTaskCut), ("lose-none", Message::DrainTaskNone)],
            hints: vec![Message::DrainHintOne, Message::DrainHintTwo, Message::DrainHintThree],
            chart: Chart::Queue,
        },
        "shed-load" => Texts {
            title: Message::ShedTitle,
            question: Message::ShedQuestion,
            story: Message::ShedStory,
            tasks: vec![("see-the-collapse", Message::ShedTaskCollapse), ("keep-the-paying", Message::ShedTaskPaying)],
            hints: vec![Message::ShedHintOne, Message::ShedHintTwo, Message::ShedHintThree],
            chart: Chart::Queue,
        },
        "prefill-decode" => Texts {
            title: Message::RolesTitle,
            question: Message::RolesQuestion,
            story: Message::RolesStory,
            tasks: vec![("see-both", Message::RolesTaskBoth), ("scale-the-prompts", Message::RolesTaskPrompts)],
            hints: vec![Message::RolesHintOne, Message::RolesHintTwo, Message::RolesHintThree],
            chart: Chart::Signals,
        },
        "mig-or-slices" => Texts {
            title: Message::SharingTitle,
            question: Message::SharingQuestion,
            story: Message::SharingStory,
            tasks: vec![
                ("see-the-neighbour", Message::SharingTaskNeighbour),
                ("see-them-fall", Message::SharingTaskFall),
            ],
            hints: vec![Message::SharingHintOne, Message::SharingHintTwo, Message::SharingHintThree],
            chart: Chart::Queue,
        },
        "cold-start" => Texts {
            title: Message::ColdTitle,
            question: Message::ColdQuestion,
            story: Message::ColdStory,
            tasks: vec![
                ("see-the-minutes", Message::ColdTaskSee),
                ("ready-at-once", Message::ColdTaskAtOnce),
                ("serve-the-night", Message::ColdTaskNight),
            ],
            hints: vec![Message::ColdHintOne, Message::ColdHintTwo, Message::ColdHintThree],
            chart: Chart::Ledger,
        },
        "ready-too-early" => Texts {
            title: Message::EarlyTitle,
            question: Message::EarlyQuestion,
            story: Message::EarlyStory,
            tasks: vec![("see-it-fail", Message::EarlyTaskSee), ("let-none-fail", Message::EarlyTaskNone)],
            hints: vec![Message::EarlyHintOne, Message::EarlyHintTwo, Message::EarlyHintThree],
            chart: Chart::Replicas,
        },
        "sandbox" => Texts {
            title: Message::ScenarioSandbox,
            question: Message::SandboxQuestion,
            story: Message::SandboxStory,
            tasks: Vec::new(),
            hints: vec![Message::SandboxHintOne, Message::SandboxHintTwo, Message::SandboxHintThree],
            chart: Chart::Queue,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    #[test]
    fn every_library_scenario_and_each_of_its_tasks_has_words() {
        for (id, _) in scenario::LIBRARY {
            let texts = scenario_texts(id).unwrap_or_else(|| panic!("{id} has no texts"));
            let file = scenario::library(id).unwrap().unwrap();
            let named: Vec<&str> = texts.tasks.iter().map(|(id, _)| *id).collect();
            let there: Vec<&str> = file.tasks.iter().map(|t| t.id.as_str()).collect();
            assert_eq!(named, there, "{id}");
        }
    }
}
