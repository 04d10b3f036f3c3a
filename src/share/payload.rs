//! What an `x1` link carries, as postcard.

use super::{ENGINE, Opened, library};
use crate::problem::Problem;
use crate::scenario;
use crate::sim::command::Stamped;
use crate::sim::limits::COMMANDS_MAX;
use crate::sim::time::Time;
use serde::{Deserialize, Serialize};

/// Where the scenario comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Origin {
    Library(String),
    /// A file: its name and its text.
    File {
        name: String,
        text: String,
    },
}

/// A run as a link carries it. Fields are only ever appended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shared {
    pub engine: u32,
    pub origin: Origin,
    pub seed: u64,
    pub log: Vec<Stamped>,
    pub at: Time,
    pub state_hash: u64,
    /// Content hash of the trace that drives the run. The rows are too many for a link.
    pub trace: Option<(String, u64)>,
}

pub fn encode(shared: &Shared) -> Vec<u8> {
    // Serializing plain data to memory does not fail.
    postcard::to_allocvec(shared).unwrap_or_default()
}

/// # Errors
/// What in the payload cannot be used.
pub fn open(bytes: &[u8]) -> Result<Opened, Vec<Problem>> {
    let one = |what: String| vec![Problem::new("link", what)];
    let shared: Shared = postcard::from_bytes(bytes).map_err(|e| one(format!("its content cannot be read ({e})")))?;
    if shared.engine > ENGINE {
        return Err(one(format!("it was made with engine {}, this page has engine {ENGINE}", shared.engine)));
    }
    if shared.log.len() > COMMANDS_MAX {
        return Err(one(format!("{} commands, at most {COMMANDS_MAX} are accepted", shared.log.len())));
    }
    if shared.log.windows(2).any(|w| w[0].at > w[1].at) {
        return Err(one("its commands are not in the order of time".to_owned()));
    }
    if let Some((name, _)) = &shared.trace {
        let name = scenario::clip(name);
        return Err(one(format!(
            "the run was driven by the trace `{name}`, which a link cannot carry: open the experiment and drop the trace on the page"
        )));
    }
    let (mut scenario, scenario_id, text) = match shared.origin {
        Origin::Library(id) => (library(&id)?, id, None),
        Origin::File { name, text } => (scenario::read(&text, &[])?, scenario::clip(&name), Some(text)),
    };
    scenario.setup.seed = shared.seed;
    let at = shared.at.min(scenario.setup.end);
    Ok(Opened {
        scenario,
        scenario_id,
        text,
        log: shared.log,
        at,
        state_hash: (shared.at == at).then_some(shared.state_hash),
        other_engine: (shared.engine != ENGINE).then_some(shared.engine),
        ignored: Vec::new(),
    })
}
