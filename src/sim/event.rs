//! Everything that can happen by itself, in one closed list.

use super::id::{GroupId, NodeId, PodId, RequestId, ServiceId};
use serde::Serialize;

/// A due thing. `generation` makes an event stale when its subject has moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Event {
    /// The scenario's own command of this index.
    Script(u32),
    /// The next request of a service's traffic.
    Arrival(ServiceId),
    /// The oldest client of a service gives up.
    ClientTimeout(ServiceId),
    /// A pod's image is on its node.
    ImagePulled { pod: PodId },
    /// A replica's loading stage ends.
    StageEnd { group: GroupId, generation: u32 },
    /// A draining replica gets SIGTERM, or its time is up.
    GraceEnd { group: GroupId, generation: u32 },
    /// A node's bring-up stage ends.
    NodeStageEnd { node: NodeId, generation: u32 },
    /// kube-scheduler looks at its active queue.
    KubeCycle,
    /// KAI takes a snapshot.
    KaiCycle,
    /// DCGM's sample window opens.
    DcgmWindow,
    /// Exporters are scraped.
    Scrape,
    /// The HPA of a service syncs.
    HpaSync(ServiceId),
    /// Karpenter's batching window closes.
    BatchClose,
    /// Karpenter's disruption loop looks for candidates.
    DisruptionDue,
    /// A consolidation command is validated.
    ConsolidationValidate,
    /// The charts take a point.
    Sample,
    /// The endpoint of a stopping replica is removed everywhere.
    EndpointGone { group: GroupId, generation: u32 },
    /// A client's pause before its next attempt is over.
    Retry { request: RequestId, serial: u64 },
    /// A prompt's KV cache has reached its decode replica.
    KvArrived { request: RequestId, serial: u64 },
    /// The next flow over shared links is over.
    LinkEnd { generation: u32 },
    /// An image that was pulled is unpacked on its node.
    ImageUnpacked { node: NodeId, service: ServiceId, generation: u32 },
}
