//! How one level of queues divides what its parent may use, per resource
//! (KAI Scheduler, proportion plugin, resource division).
//!
//! Past usage is not modelled: without usage data upstream's time-based term changes nothing.

use crate::sim::time::Time;
use std::cmp::Reverse;

/// One queue's claim on one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim<'a> {
    /// Guaranteed amount; `None` is unlimited.
    pub deserved: Option<f64>,
    /// Hard cap; `None` is unlimited.
    pub limit: Option<f64>,
    /// Weight above quota; 0 gets nothing above quota.
    pub weight: f64,
    pub priority: i32,
    /// All that its running and pending pods ask for.
    pub request: f64,
    pub created: Time,
    pub name: &'a str,
}

impl Claim<'_> {
    fn requestable(&self) -> f64 {
        self.limit.map_or(self.request, |limit| self.request.min(limit))
    }
}

/// The fair share of each queue, in the order given, and what nobody gets.
///
/// Every queue first gets its quota as far as it asks for it, even if that sums to more than
/// `total`. The rest goes to the highest priority first, by weight, in whole units; what
/// rounding left over follows one unit at a time, largest remainder first.
pub fn fair_shares(total: f64, claims: &[Claim]) -> (Vec<f64>, f64) {
    let mut shares: Vec<f64> = claims.iter().map(|c| c.deserved.unwrap_or(total).min(c.requestable())).collect();
    let mut left = total - shares.iter().sum::<f64>();
    if left <= 0.0 {
        return (shares, 0.0);
    }
    let mut priorities: Vec<i32> = claims.iter().map(|c| c.priority).collect();
    priorities.sort_by_key(|p| Reverse(*p));
    priorities.dedup();

    let mut remainders = vec![None; claims.len()];
    for priority in &priorities {
        let group: Vec<usize> = (0..claims.len()).filter(|i| claims[*i].priority == *priority).collect();
        left = divide_by_weight(left, claims, &group, &mut shares, &mut remainders);
    }
    for priority in &priorities {
        let mut group: Vec<(usize, f64)> = (0..claims.len())
            .filter(|i| claims[*i].priority == *priority)
            .filter_map(|i| remainders[i].map(|r| (i, r)))
            .collect();
        group.sort_by(|(a, ra), (b, rb)| {
            let by_age = (claims[*a].created, claims[*a].name).cmp(&(claims[*b].created, claims[*b].name));
            rb.total_cmp(ra).then(by_age)
        });
        for (i, _) in group {
            if left <= 0.0 {
                break;
            }
            let give = left.min(1.0);
            shares[i] += give;
            left -= give;
        }
    }
    (shares, left.max(0.0))
}

/// Rounds over the queues of one priority until no queue needs less than its share of a round.
fn divide_by_weight(
    mut left: f64,
    claims: &[Claim],
    group: &[usize],
    shares: &mut [f64],
    remainders: &mut [Option<f64>],
) -> f64 {
    loop {
        let round = left;
        let need = |i: usize, shares: &[f64]| claims[i].requestable() - shares[i];
        let unsatisfied = group.iter().filter(|i| need(**i, shares) > 0.0);
        let weights: f64 = unsatisfied.map(|i| claims[*i].weight).sum();
        if weights <= 0.0 || left <= 0.0 {
            return left;
        }
        let mut again = false;
        for &i in group {
            let needs = need(i, shares);
            if left <= 0.0 || needs <= 0.0 || claims[i].weight <= 0.0 {
                continue;
            }
            let share = round * (claims[i].weight / weights);
            let give = if needs <= share {
                remainders[i] = None;
                needs
            } else {
                let whole = share.floor();
                if share > whole {
                    remainders[i] = Some(share - whole);
                }
                whole
            };
            shares[i] += give;
            left -= give;
            again |= needs < share;
        }
        if !again {
            return left;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, deserved: f64, weight: f64, priority: i32, request: f64) -> Claim<'_> {
        Claim { deserved: Some(deserved), limit: None, weight, priority, request, created: Time::ZERO, name }
    }

    #[test]
    fn higher_priority_takes_all_it_can_use_before_lower_sees_any() {
        let claims = [claim("a", 1.0, 100.0, 1, 9.0), claim("b", 1.0, 1.0, 2, 5.0)];
        assert_eq!(fair_shares(8.0, &claims), (vec![3.0, 5.0], 0.0));
    }

    #[test]
    fn largest_remainder_gets_the_odd_unit() {
        let claims = [claim("a", 2.0, 1.0, 0, 10.0), claim("b", 2.0, 4.0, 0, 10.0)];
        assert_eq!(fair_shares(11.0, &claims), (vec![3.0, 8.0], 0.0));
    }

    #[test]
    fn unlimited_quota_takes_what_it_asks_for() {
        let mut all = claim("a", 0.0, 0.0, 0, 7.0);
        all.deserved = None;
        assert_eq!(fair_shares(5.0, &[all.clone()]), (vec![5.0], 0.0));
        all.limit = Some(3.0);
        assert_eq!(fair_shares(5.0, &[all]), (vec![3.0], 2.0));
    }

    mod properties {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn nothing_is_lost_and_nobody_gets_less_than_quota_or_more_than_asked(
                total in 0u32..200,
                queues in prop::collection::vec((0u32..60, 0u32..60, 0u32..4, 0i32..3, 0u32..100), 1..6),
            ) {
                let total = f64::from(total);
                let claims: Vec<Claim> = queues
                    .into_iter()
                    .map(|(deserved, limit, weight, priority, request)| Claim {
                        limit: (limit < 50).then_some(f64::from(limit)),
                        ..claim("q", f64::from(deserved), f64::from(weight), priority, f64::from(request))
                    })
                    .collect();
                let (shares, left) = fair_shares(total, &claims);
                let guaranteed = |c: &Claim| c.deserved.unwrap_or(total).min(c.requestable());
                let first: f64 = claims.iter().map(guaranteed).sum();
                let sum: f64 = shares.iter().sum();
                prop_assert!((sum + left - total.max(first)).abs() < 1e-9, "{shares:?} {left}");
                for (claim, share) in claims.iter().zip(&shares) {
                    prop_assert!(*share >= guaranteed(claim) && *share <= claim.requestable() + 1e-9);
                }
            }
        }
    }
}
