//! The stalegangeviction action: a gang below its minimum holds its GPUs for a grace period
//! only, then loses all of them, preemptible or not.

use super::session::Session;
use super::{KaiDecision, KaiMemory};
use crate::sim::placement::view::TaskState;
use crate::sim::time::Time;

/// Evicts gangs whose grace is over; starts and stops the clocks of the others.
pub fn evict(session: &Session, mut memory: KaiMemory, now: Time, decisions: &mut Vec<KaiDecision>) -> KaiMemory {
    let mut stale_since = std::mem::take(&mut memory.stale_since);
    for job in &session.jobs {
        let group = &session.view.groups[job.group];
        let active = job.active + job.releasing;
        let stale = !job.succeeded && active > 0 && active < group.min_member;
        if !stale {
            continue;
        }
        let since = stale_since.remove(&group.id).unwrap_or(now);
        memory.stale_since.insert(group.id, since);
        let Some(grace) = session.settings.stale_grace else {
            continue;
        };
        let stale_for = now.since(since);
        if stale_for < grace {
            continue;
        }
        let bound = group.tasks.iter().filter(|t| matches!(t.state, TaskState::Bound(_)));
        let pods: Vec<_> = bound.map(|t| t.pod).collect();
        if !pods.is_empty() {
            decisions.push(KaiDecision::StaleEvicted { group: group.id, pods, stale_for });
        }
    }
    memory
}
