//! Tasks and their automatic checks: predicates over a snapshot.

use crate::sim::snapshot::{GroupStage, RequestTotals, Snapshot};
use crate::sim::time::{Span, Time};
use crate::sim::units::span;
use serde::Deserialize;

/// One task of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    pub id: String,
    pub check: Check,
}

/// When a task counts as done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Check {
    /// A gang below its minimum holds at least so many GPUs.
    HeldGpus { at_least: u32 },
    /// A replica of the service serves and burnt less than this while it waited for partners.
    Started {
        service: String,
        #[serde(with = "span")]
        held_below: Span,
    },
    /// A replica of the service serves, all its GPUs in one NVLink domain.
    OneDomain { service: String },
    /// The HPA keeps its replicas (inside its tolerance) while at least so many requests wait.
    KeptWhileWaiting { at_least: u32 },
    /// At least so many replicas of the service are ready and no request waits.
    CaughtUp { service: String, replicas: u32 },
    /// At or after this time since the start, at least so many percent of the offered requests met
    /// their SLO.
    MetShare {
        percent: u32,
        #[serde(with = "span")]
        from: Span,
    },
    /// Consolidation is emptying a node that answers requests.
    EvictedWhileServing,
    /// So many replicas of the service are wanted.
    ReplicasWanted { service: String, at_least: u32 },
    /// At or after this time, the HPA asks for fewer than `below` replicas and more than `above`.
    ShrunkToFloor {
        service: String,
        below: u32,
        above: u32,
        #[serde(with = "span")]
        from: Span,
    },
    /// At least so many requests were cut off or answered by a pod that stops.
    CutOff { at_least: u64 },
    /// At or after this time, no request was cut off or failed.
    NoneLost {
        #[serde(with = "span")]
        from: Span,
    },
    /// At least so many requests of the service wait.
    Waiting { service: String, at_least: u32 },
    /// At or after this time, so many percent of a tenant's requests met their targets.
    TenantShare {
        service: String,
        tenant: String,
        percent: u32,
        #[serde(with = "span")]
        from: Span,
    },
    /// At least so many requests of the service's clients were answered.
    Answered { service: String, at_least: u64 },
    /// The same as `met_share` for the clients of one service.
    MetShareOf {
        service: String,
        percent: u32,
        #[serde(with = "span")]
        from: Span,
    },
    /// Neighbours on its GPU make a replica of the service so many times slower.
    Slowed { service: String, times: u32 },
    /// No replica of these services serves.
    AllDown { services: Vec<String> },
    /// At least so many replicas of the service answer at a time not after this since the start.
    ReadyBy {
        service: String,
        replicas: u32,
        #[serde(with = "span")]
        by: Span,
    },
    /// At least so many requests were answered with an error by a pod that was not ready.
    Failed { at_least: u32 },
    /// At or after this time since the start, the service has at least so many replicas that
    /// answer, and no request was ever answered with an error.
    NoneFailed {
        service: String,
        replicas: u32,
        #[serde(with = "span")]
        from: Span,
    },
}

/// Whether so many percent of the offered requests met their targets.
fn met_share(r: &RequestTotals, percent: u32) -> bool {
    r.offered > 0 && r.met * 100 >= u64::from(percent) * r.offered
}

impl Check {
    /// The services that the check is about.
    pub fn services(&self) -> Vec<&str> {
        match self {
            Check::Started { service, .. }
            | Check::OneDomain { service }
            | Check::CaughtUp { service, .. }
            | Check::ReplicasWanted { service, .. }
            | Check::ShrunkToFloor { service, .. }
            | Check::Waiting { service, .. }
            | Check::TenantShare { service, .. }
            | Check::Answered { service, .. }
            | Check::MetShareOf { service, .. }
            | Check::Slowed { service, .. }
            | Check::ReadyBy { service, .. }
            | Check::NoneFailed { service, .. } => vec![service],
            Check::AllDown { services } => services.iter().map(String::as_str).collect(),
            Check::HeldGpus { .. }
            | Check::KeptWhileWaiting { .. }
            | Check::MetShare { .. }
            | Check::EvictedWhileServing
            | Check::CutOff { .. }
            | Check::NoneLost { .. }
            | Check::Failed { .. } => Vec::new(),
        }
    }

    /// Whether the condition holds now. A name of a service that does not exist never holds.
    pub fn holds(&self, s: &Snapshot) -> bool {
        let service = |name: &str| s.services.iter().find(|v| v.name == name);
        let serving = |name: &str| {
            let id = service(name).map(|v| v.id);
            s.groups.iter().filter(move |g| Some(g.service) == id && g.stage == GroupStage::Serving)
        };
        let answering = |name: &str| serving(name).filter(|g| !g.standby).count();
        match self {
            Check::HeldGpus { at_least } => s.groups.iter().any(|g| {
                let per_pod = s.services.get(g.service.index()).map_or(1, |v| v.gpus_per_replica / v.workers.max(1));
                g.held_since.is_some() && g.pods_bound * per_pod >= *at_least
            }),
            Check::Started { service, held_below } => serving(service).any(|g| g.held_gpu_time < *held_below),
            Check::OneDomain { service } => serving(service).any(|g| !g.crosses_domains),
            Check::KeptWhileWaiting { at_least } => {
                s.services.iter().any(|v| v.waiting >= *at_least && v.hpa.as_ref().is_some_and(|h| h.inside_tolerance))
            }
            Check::CaughtUp { service: name, replicas } => {
                service(name).is_some_and(|v| v.replicas_ready >= *replicas && v.waiting == 0)
            }
            Check::MetShare { percent, from } => {
                s.now.since(Time::ZERO) >= *from && s.score.g * 100.0 >= f64::from(*percent)
            }
            Check::ReplicasWanted { service: name, at_least } => {
                service(name).is_some_and(|v| v.replicas_wanted >= *at_least)
            }
            Check::ShrunkToFloor { service: name, below, above, from } => {
                s.now.since(Time::ZERO) >= *from
                    && service(name).is_some_and(|v| v.replicas_wanted < *below && v.replicas_wanted > *above)
            }
            Check::CutOff { at_least } => s.requests.lost + s.requests.failed >= *at_least,
            Check::NoneLost { from } => {
                s.now.since(Time::ZERO) >= *from && s.requests.lost == 0 && s.requests.failed == 0
            }
            Check::Waiting { service: name, at_least } => service(name).is_some_and(|v| v.waiting >= *at_least),
            Check::TenantShare { service: name, tenant, percent, from } => {
                s.now.since(Time::ZERO) >= *from
                    && service(name)
                        .and_then(|v| v.tenants.iter().find(|t| t.name == *tenant))
                        .is_some_and(|t| met_share(&t.requests, *percent))
            }
            Check::Answered { service: name, at_least } => {
                service(name).is_some_and(|v| v.requests.met + v.requests.late + v.requests.degraded >= *at_least)
            }
            Check::MetShareOf { service: name, percent, from } => {
                s.now.since(Time::ZERO) >= *from && service(name).is_some_and(|v| met_share(&v.requests, *percent))
            }
            Check::Slowed { service, times } => serving(service).any(|g| f64::from(g.slowdown) >= f64::from(*times)),
            Check::AllDown { services } => services.iter().all(|name| serving(name).next().is_none()),
            Check::ReadyBy { service, replicas, by } => {
                s.now.since(Time::ZERO) <= *by && answering(service) >= *replicas as usize
            }
            Check::Failed { at_least } => s.requests.failed >= u64::from(*at_least),
            Check::NoneFailed { service, replicas, from } => {
                s.now.since(Time::ZERO) >= *from && s.requests.failed == 0 && answering(service) >= *replicas as usize
            }
            Check::EvictedWhileServing => s.nodes_layer.evicting.is_some_and(|(_, in_flight)| in_flight > 0),
        }
    }
}
