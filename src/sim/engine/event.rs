//! What a replica reports. Instants are exact: they are the ends of engine steps, rounded once to
//! whole microseconds, and may lie before the instant of the call that returns them.

use crate::sim::id::RequestId;
use crate::sim::time::Time;
use serde::Serialize;

/// One thing that happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum EngineEvent {
    /// Left the waiting queue; its first chunk, or its first decode where the KV came from outside,
    /// runs in the step that starts now. Happens again after each preemption.
    Admitted { req: RequestId, at: Time },
    /// The first output token exists. A decode engine reports it at admission: the token came with
    /// the KV.
    FirstToken { req: RequestId, at: Time },
    /// The last output token exists; its blocks are free.
    Finished {
        req: RequestId,
        at: Time,
        submitted_at: Time,
        first_token_at: Time,
        prompt_tokens: u32,
        output_tokens: u32,
        /// How often it was preempted and recomputed.
        preemptions: u32,
    },
    /// Lost its blocks to other requests; back in the waiting queue, under FCFS at its head.
    Preempted { req: RequestId, at: Time },
    /// Never entered the queue.
    Refused { req: RequestId, at: Time, reason: RefuseReason },
    /// [`Work::PrefillOnly`](super::Work::PrefillOnly): the prompt's KV is complete. Its blocks are
    /// held until [`Replica::release_kv`](super::Replica::release_kv).
    Prefilled { req: RequestId, at: Time, submitted_at: Time, prompt_tokens: u32 },
}

impl EngineEvent {
    pub fn at(&self) -> Time {
        match *self {
            EngineEvent::Admitted { at, .. }
            | EngineEvent::FirstToken { at, .. }
            | EngineEvent::Finished { at, .. }
            | EngineEvent::Preempted { at, .. }
            | EngineEvent::Refused { at, .. }
            | EngineEvent::Prefilled { at, .. } => at,
        }
    }

    pub fn req(&self) -> RequestId {
        match *self {
            EngineEvent::Admitted { req, .. }
            | EngineEvent::FirstToken { req, .. }
            | EngineEvent::Finished { req, .. }
            | EngineEvent::Preempted { req, .. }
            | EngineEvent::Refused { req, .. }
            | EngineEvent::Prefilled { req, .. } => req,
        }
    }
}

/// Why the API server answers 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum RefuseReason {
    /// The prompt is empty or no output was asked for.
    Empty,
    /// Prompt plus output is longer than `max_model_len`.
    ExceedsMaxModelLen { tokens: u64, max_model_len: u32 },
    /// Fits `max_model_len` but not the usable blocks, so that it could never finish. (vLLM would
    /// let it wait for ever; only possible when the cache holds barely one longest request.)
    ExceedsKvCache { blocks: u64, usable_blocks: u32 },
}
