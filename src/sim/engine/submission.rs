//! What is asked of a replica: a request, which part of it this engine does, and how the waiting
//! queue is ordered.

use crate::sim::id::RequestId;
use serde::{Deserialize, Serialize};

/// Which part of a request an engine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Prompt and output.
    #[default]
    Whole,
    /// Prefill engine of a disaggregated service: computes the prompt, reports
    /// [`Prefilled`](super::EngineEvent::Prefilled), gives up its seat, and holds the prompt's
    /// blocks until [`Replica::release_kv`](super::Replica::release_kv). The token that it samples
    /// is counted where it is delivered: by the decode engine.
    PrefillOnly,
    /// Decode engine of a disaggregated service: the prompt's KV and the first output token arrive
    /// from outside, so admission takes a seat and blocks and no prompt is computed. When it is
    /// preempted its KV is gone, and it recomputes prompt and output locally like any other.
    DecodeOnly,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submission {
    pub req: RequestId,
    /// Tokens to compute and to hold in the KV cache.
    pub prompt_tokens: u32,
    /// Tokens to generate; a [`Work::PrefillOnly`] engine ignores it, but for zero.
    pub output_tokens: u32,
    /// Matters under [`Scheduling::Priority`]; a larger number is more important, as in a
    /// Kubernetes PriorityClass. (In vLLM's own `priority` field the smaller number goes first.)
    pub priority: i32,
    pub work: Work,
}

impl Submission {
    /// The whole request, of priority 0.
    pub fn whole(req: RequestId, prompt_tokens: u32, output_tokens: u32) -> Submission {
        Submission { req, prompt_tokens, output_tokens, priority: 0, work: Work::Whole }
    }
}

/// vLLM's `--scheduling-policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// First come, first served. Whoever is preempted returns to the head of the queue, and the
    /// last admitted request is preempted first.
    #[default]
    Fcfs,
    /// The waiting queue is ordered by (priority, arrival), the most important and then the
    /// earliest first; a preempted request is queued by the same key. When a running request needs
    /// a block and none is free, the least important running request gives way, among equals the
    /// latest arrival, be it scheduled in this step already or the needy one itself. A waiting
    /// request never displaces a running one, however important it is, and the first that does not
    /// fit still ends the admission loop. (vLLM v1, `core/sched/scheduler.py` and
    /// `request_queue.py`.)
    ///
    /// One detail differs: when the needy request is itself the least important, vLLM leaves the
    /// running requests behind it in its list without a token for that one step.
    Priority,
}
