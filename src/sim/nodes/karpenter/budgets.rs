//! Disruption budgets: how many nodes of a pool may go at once, per reason.
//!
//! Expiration, interruption and manual deletion are not bound by budgets and do not ask here.

use super::cron::Cron;
use super::pool::{AllowedNodes, Budget, Pool, Reason};
use super::types::View;
use crate::sim::time::Time;

impl Budget {
    /// Active now? `None` if schedule and duration make no sense together.
    fn is_active(&self, unix_s: i64) -> Option<bool> {
        match (&self.schedule, self.duration) {
            (None, None) => Some(true),
            (Some(schedule), Some(duration)) => {
                let seconds = i64::try_from(duration.0 / 1_000_000).ok()?;
                Some(Cron::parse(schedule)?.started_within(unix_s, seconds))
            }
            _ => None,
        }
    }

    fn allows(&self, nodes: u32) -> u32 {
        match self.nodes {
            AllowedNodes::Count(n) => n,
            AllowedNodes::Percent(percent) => {
                let rounded_up = (u64::from(percent) * u64::from(nodes)).div_ceil(100);
                u32::try_from(rounded_up).unwrap_or(u32::MAX)
            }
            AllowedNodes::Invalid(_) => 0,
        }
    }
}

/// The smallest active budget of the pool for this reason, with percentages of `nodes`; `None` is
/// unlimited. A budget that cannot be understood allows none.
pub fn allowed_of(pool: &Pool, nodes: u32, reason: Reason, unix_s: i64) -> Option<u32> {
    pool.budgets
        .iter()
        .filter(|b| b.reasons.is_empty() || b.reasons.contains(&reason))
        .filter_map(|b| match b.is_active(unix_s) {
            Some(true) => Some(b.allows(nodes)),
            Some(false) => None,
            None => Some(0),
        })
        .min()
}

/// How many more nodes of the pool may be disrupted now; `None` is unlimited.
///
/// Percentages are of the initialised nodes that the cloud is not yet terminating; those of them
/// that are not ready or are being deleted for any reason use the budget.
pub fn allowed(view: &View, pool: usize, reason: Reason, now: Time) -> Option<u32> {
    let counted = || view.nodes.iter().filter(|n| n.pool == Some(pool) && n.initialized && !n.instance_terminating);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let used = counted().filter(|n| !n.ready || n.deleting).count();
    let seconds = i64::try_from(now.0 / 1_000_000).unwrap_or(i64::MAX);
    let unix_s = view.unix_at_zero_s.saturating_add(seconds);
    let most = allowed_of(view.pools.get(pool)?, count(counted().count()), reason, unix_s)?;
    Some(most.saturating_sub(count(used)))
}

/// The budgets of all pools for one reason, spent as nodes are picked.
pub(super) struct Purse(Vec<Option<u32>>);

impl Purse {
    pub fn new(view: &View, reason: Reason, now: Time) -> Self {
        Purse((0..view.pools.len()).map(|p| allowed(view, p, reason, now)).collect())
    }
    pub fn has_room(&self, pool: usize) -> bool {
        self.0[pool] != Some(0)
    }
    /// Takes one; false if there is none.
    pub fn take(&mut self, pool: usize) -> bool {
        match &mut self.0[pool] {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }
}
