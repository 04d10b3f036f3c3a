//! The batching window: how long Karpenter collects pending pods before one scheduling pass.

use super::types::Settings;
use crate::sim::id::PodId;
use crate::sim::time::Time;
use std::collections::BTreeSet;

/// An open or empty batch. Feed it every trigger of a provisionable pod (they are repeated about
/// every 10 s while the pod waits) and run a pass at [`BatchWindow::closes_at`].
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct BatchWindow {
    /// Time of the first trigger and of the last one by a new pod.
    open: Option<(Time, Time)>,
    pods: BTreeSet<PodId>,
}

impl BatchWindow {
    /// A provisionable pod is seen. The first one opens the window; every further *new* pod
    /// restarts the idle time, the same pod again does not. Returns when the window closes now.
    pub fn seen(&mut self, pod: PodId, settings: &Settings, now: Time) -> Time {
        let is_new = self.pods.insert(pod);
        self.open = match self.open {
            None => Some((now, now)),
            Some((first, _)) if is_new => Some((first, now)),
            unchanged => unchanged,
        };
        self.closes_at(settings).unwrap_or(now)
    }

    /// Idle time after the last new pod, or the maximum after the first, whichever is earlier;
    /// `None` while no pod is waiting.
    pub fn closes_at(&self, settings: &Settings) -> Option<Time> {
        self.open.map(|(first, last)| (last + settings.batch_idle).min(first + settings.batch_max))
    }

    /// Empties the window and returns its pods.
    pub fn close(&mut self) -> BTreeSet<PodId> {
        self.open = None;
        std::mem::take(&mut self.pods)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_pod_restarts_the_idle_time_and_a_known_one_does_not() {
        let settings = Settings::default();
        let mut batch = BatchWindow::default();
        assert_eq!(batch.closes_at(&settings), None);
        assert_eq!(batch.seen(PodId(1), &settings, Time(0)), Time(1_000_000));
        assert_eq!(batch.seen(PodId(1), &settings, Time(900_000)), Time(1_000_000));
        assert_eq!(batch.seen(PodId(2), &settings, Time(900_000)), Time(1_900_000));
        assert_eq!(batch.close().len(), 2);
        assert_eq!(batch.closes_at(&settings), None);
    }

    #[test]
    fn the_maximum_cuts_a_steady_stream() {
        let settings = Settings::default();
        let mut batch = BatchWindow::default();
        let mut closes = Time::ZERO;
        for i in 0..20 {
            closes = batch.seen(PodId(i), &settings, Time(u64::from(i) * 500_000));
        }
        assert_eq!(closes, Time::from_secs(10));
    }
}
