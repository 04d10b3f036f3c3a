//! The pending tray: one row per group and reason.

use super::words::{passed_seconds, pending_wait_message};
use super::{Index, badge_arg};
use crate::i18n::Message;
use crate::sim::id::GroupId;
use crate::sim::snapshot::PendingView;
use crate::sim::wait::WaitReason;

/// Rows that the tray shows; more are counted.
const ROWS: usize = 6;

/// The picture of a wait reason: what kind of thing is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitIcon {
    /// Quota, turn.
    Queue,
    /// Partners, topology.
    Link,
    Gpu,
    /// Selector, overhead.
    Tag,
    Cloud,
    /// Node boot, device plugin.
    Power,
    /// Image, weights.
    Download,
    Flame,
}

pub fn wait_icon(reason: WaitReason) -> WaitIcon {
    match reason {
        WaitReason::Quota | WaitReason::Turn => WaitIcon::Queue,
        WaitReason::GangPartners | WaitReason::Topology => WaitIcon::Link,
        WaitReason::FreeGpu => WaitIcon::Gpu,
        WaitReason::TaintOrSelector | WaitReason::NodeOverhead => WaitIcon::Tag,
        WaitReason::CloudCapacity => WaitIcon::Cloud,
        WaitReason::NodeBoot | WaitReason::DevicePlugin => WaitIcon::Power,
        WaitReason::Image | WaitReason::Weights => WaitIcon::Download,
        WaitReason::WarmUp => WaitIcon::Flame,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PendingRow {
    pub group: GroupId,
    pub name: String,
    /// `pod 7 of A`; `None` for a group of one pod.
    pub pods: Option<Message>,
    pub reason: WaitReason,
    pub words: Message,
    pub waited: Message,
}

/// The rows, and how many more there are.
pub(super) fn rows(index: &Index<'_>) -> (Vec<PendingRow>, usize) {
    let s = index.snapshot;
    let mut sets: Vec<Vec<&PendingView>> = Vec::new();
    for p in &s.pending {
        match sets.iter_mut().find(|set| set[0].group == p.group && set[0].wait.reason == p.wait.reason) {
            Some(set) => set.push(p),
            None => sets.push(vec![p]),
        }
    }
    let more = sets.len().saturating_sub(ROWS);
    sets.truncate(ROWS);
    (sets.iter().map(|set| row(index, set)).collect(), more)
}

fn row(index: &Index<'_>, set: &[&PendingView]) -> PendingRow {
    let now = index.snapshot.now;
    let first = set[0];
    let pods = index.groups.get(&first.group).filter(|g| g.pods_total > 1).map(|g| {
        let low = set.iter().map(|p| p.rank).min().unwrap_or(0);
        let high = set.iter().map(|p| p.rank).max().unwrap_or(0);
        let badge = badge_arg(g);
        if low == high {
            Message::MapPodOf { rank: low.into(), badge }
        } else {
            Message::MapPodsOf { first: low.into(), last: high.into(), badge }
        }
    });
    let since = set.iter().map(|p| p.wait.since).min().unwrap_or(now);
    PendingRow {
        group: first.group,
        name: first.group_name.clone(),
        pods,
        reason: first.wait.reason,
        words: pending_wait_message(first, now),
        waited: Message::MapWaited { span: passed_seconds(now.since(since)) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;

    #[test]
    fn a_waiting_pod_is_one_line_with_reason_number_and_age() {
        let s = fixture::trap();
        let (rows, more) = rows(&Index::new(&s));
        let en = Lang::english();
        assert_eq!((rows.len(), more), (1, 0));
        assert_eq!(rows[0].name, "llama-70b-0");
        assert_eq!(rows[0].pods.as_ref().map(|m| render(&en, m)).as_deref(), Some("pod 7 of A"));
        assert_eq!(render(&en, &rows[0].words), "waits for 1 free GB200");
        assert_eq!(render(&en, &rows[0].waited), "for 3 min 42 s");
    }

    #[test]
    fn pods_of_one_gang_with_one_reason_share_a_row_and_long_lists_are_counted() {
        let mut s = fixture::trap();
        let mut pod = s.pending[0].clone();
        pod.rank = 6;
        s.pending.push(pod.clone());
        let (first, _) = rows(&Index::new(&s));
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].pods.as_ref().map(|m| render(&Lang::english(), m)).as_deref(), Some("pods 6 to 7 of A"));
        for i in 0..9 {
            pod.group = GroupId(100 + i);
            s.pending.push(pod.clone());
        }
        let (many, more) = rows(&Index::new(&s));
        assert_eq!((many.len(), more), (ROWS, 4));
    }
}
