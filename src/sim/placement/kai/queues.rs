//! The queue tree of KAI: what each queue may use, what it uses, and who goes next
//! (KAI Scheduler, proportion plugin).

use super::fair_share::{Claim, fair_shares};
use super::{LimitedResource, QueueLimit};
use crate::sim::placement::view::{Amounts, QueueView, Quota, View};
use std::cmp::Ordering;

/// Amounts of GPUs, thousandths of cores and MiB, for sums over whole subtrees.
pub type Sums = [f64; 3];

const RESOURCES: [LimitedResource; 3] = [LimitedResource::Gpus, LimitedResource::Cpu, LimitedResource::Memory];
/// How a queue that uses a resource it has no share of ranks against others.
const NO_SHARE_PENALTY: f64 = 1000.0;

pub fn sums(a: Amounts) -> Sums {
    [f64::from(a.gpus), f64::from(a.cpu_m), f64::from(a.mem_mib)]
}

pub fn add(to: &mut Sums, what: Sums, sign: f64) {
    for (t, w) in to.iter_mut().zip(what) {
        *t += sign * w;
    }
}

/// One queue in the tree.
#[derive(Debug, Clone)]
pub struct Queue {
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    quotas: [Quota; 3],
    priority: i32,
    pub allocated: Sums,
    allocated_non_preemptible: Sums,
    request: Sums,
    pub fair_share: Sums,
}

/// All queues, in the order of the view.
#[derive(Debug, Default)]
pub struct Queues<'a> {
    views: &'a [QueueView],
    pub list: Vec<Queue>,
    pub roots: Vec<usize>,
    total: Sums,
}

impl<'a> Queues<'a> {
    /// Links the tree. A parent that does not exist, or that would close a circle, counts as none.
    pub fn new(view: &'a View) -> Queues<'a> {
        let views = view.queues.as_slice();
        let find = |name: &str| views.iter().position(|q| *q.name == *name);
        let mut list: Vec<Queue> = views
            .iter()
            .map(|q| Queue {
                parent: q.parent.as_deref().and_then(find),
                children: Vec::new(),
                quotas: [q.gpus, q.cpu_m, q.mem_mib],
                priority: q.priority,
                allocated: [0.0; 3],
                allocated_non_preemptible: [0.0; 3],
                request: [0.0; 3],
                fair_share: [0.0; 3],
            })
            .collect();
        for i in 0..list.len() {
            let mut at = list[i].parent;
            let mut steps = 0;
            while let Some(p) = at {
                steps += 1;
                if p == i || steps > list.len() {
                    list[i].parent = None;
                    break;
                }
                at = list[p].parent;
            }
        }
        for i in 0..list.len() {
            if let Some(p) = list[i].parent {
                list[p].children.push(i);
            }
        }
        let roots = (0..list.len()).filter(|i| list[*i].parent.is_none()).collect();
        Queues { views, list, roots, total: [0.0; 3] }
    }

    /// The leaf of that name.
    pub fn leaf(&self, name: &str) -> Option<usize> {
        let i = self.views.iter().position(|q| *q.name == *name)?;
        self.list[i].children.is_empty().then_some(i)
    }

    fn up(&self, leaf: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(leaf), |i| self.list[*i].parent)
    }

    /// Counts demand of running and pending pods, for the fair share.
    pub fn request(&mut self, leaf: usize, amount: Sums) {
        let mut at = Some(leaf);
        while let Some(i) = at {
            add(&mut self.list[i].request, amount, 1.0);
            at = self.list[i].parent;
        }
    }

    /// Takes an amount into use, or with `sign` -1 out of use, for the leaf and all above it.
    pub fn allocate(&mut self, leaf: usize, amount: Sums, preemptible: bool, sign: f64) {
        let mut at = Some(leaf);
        while let Some(i) = at {
            add(&mut self.list[i].allocated, amount, sign);
            if !preemptible {
                add(&mut self.list[i].allocated_non_preemptible, amount, sign);
            }
            at = self.list[i].parent;
        }
    }

    /// Divides `total` from the roots down.
    pub fn divide(&mut self, total: Sums) {
        self.total = total;
        let mut levels = vec![(total, self.roots.clone())];
        while let Some((total, queues)) = levels.pop() {
            for (r, total) in total.into_iter().enumerate() {
                let claims: Vec<Claim> = queues.iter().map(|i| self.claim(*i, r)).collect();
                let (shares, _) = fair_shares(total, &claims);
                for (i, share) in queues.iter().zip(shares) {
                    self.list[*i].fair_share[r] = share;
                }
            }
            for i in queues {
                let queue = &self.list[i];
                if !queue.children.is_empty() {
                    levels.push((queue.fair_share, queue.children.clone()));
                }
            }
        }
    }

    fn claim(&self, i: usize, resource: usize) -> Claim<'a> {
        let (queue, view) = (&self.list[i], &self.views[i]);
        Claim {
            deserved: queue.quotas[resource].deserved,
            limit: queue.quotas[resource].limit,
            weight: queue.quotas[resource].over_quota_weight,
            priority: queue.priority,
            request: queue.request[resource],
            created: view.created,
            name: &view.name,
        }
    }

    /// The hard checks at placement, for the leaf and every queue above it: the limit for
    /// everyone, the quota for what cannot be preempted.
    pub fn check(&self, leaf: usize, amount: Sums, preemptible: bool) -> Result<(), QueueLimit> {
        for (r, resource) in RESOURCES.into_iter().enumerate() {
            if amount[r] <= 0.0 {
                continue;
            }
            for i in self.up(leaf) {
                let queue = &self.list[i];
                let name = || self.views[i].name.clone();
                if let Some(limit) = queue.quotas[r].limit
                    && queue.allocated[r] + amount[r] > limit
                {
                    let used = queue.allocated[r];
                    return Err(QueueLimit::over_limit(name(), resource, used, amount[r], limit));
                }
                if !preemptible
                    && let Some(quota) = queue.quotas[r].deserved
                    && queue.allocated_non_preemptible[r] + amount[r] > quota
                {
                    let used = queue.allocated_non_preemptible[r];
                    return Err(QueueLimit::over_quota(name(), resource, used, amount[r], quota));
                }
            }
        }
        Ok(())
    }

    /// Which of two sibling queues goes first, each with what its next job asks for. `Less`: `a`.
    pub fn compare(&self, a: usize, a_next: Sums, b: usize, b_next: Sums) -> Ordering {
        let (qa, qb) = (&self.list[a], &self.list[b]);
        let with = |q: &Queue, next: Sums| {
            let mut sum = q.allocated;
            add(&mut sum, next, 1.0);
            sum
        };
        let (a_with, b_with) = (with(qa, a_next), with(qb, b_next));
        let false_first = |x: bool, y: bool| x.cmp(&y);
        false_first(qa.over_utilised(), qb.over_utilised())
            .then_with(|| false_first(!qa.within_quota(a_with), !qb.within_quota(b_with)))
            .then_with(|| qb.priority.cmp(&qa.priority))
            .then_with(|| false_first(qa.uses_without_share(a_with), qb.uses_without_share(b_with)))
            .then_with(|| {
                let (x, y) = (qa.dominant_share(a_with, self.total), qb.dominant_share(b_with, self.total));
                x.total_cmp(&y)
            })
            .then_with(|| {
                let x = qa.dominant_share(qa.allocated, self.total);
                x.total_cmp(&qb.dominant_share(qb.allocated, self.total))
            })
            .then_with(|| qa.compare_allocatable(qb))
            .then_with(|| {
                let key = |i: usize| (self.views[i].created, i);
                key(a).cmp(&key(b))
            })
    }
}

impl Queue {
    /// Above the fair share in every resource at once.
    fn over_utilised(&self) -> bool {
        (0..3).all(|r| self.allocated[r] > self.fair_share[r])
    }

    fn within_quota(&self, allocated: Sums) -> bool {
        (0..3).all(|r| self.quotas[r].deserved.is_none_or(|d| allocated[r] <= d))
    }

    /// The larger of quota and fair share, capped by the limit; infinite if nothing bounds it.
    fn allocatable_share(&self, r: usize) -> f64 {
        let share = self.quotas[r].deserved.map_or(f64::INFINITY, |d| d.max(self.fair_share[r]));
        self.quotas[r].limit.map_or(share, |limit| share.min(limit))
    }

    fn uses_without_share(&self, allocated: Sums) -> bool {
        (0..3).any(|r| self.allocatable_share(r) == 0.0 && allocated[r] > 0.0)
    }

    fn dominant_share(&self, allocated: Sums, total: Sums) -> f64 {
        let share = |r: usize| {
            let of = self.allocatable_share(r);
            let of = if of.is_finite() { of } else { total[r] };
            if of == 0.0 { allocated[r] * NO_SHARE_PENALTY } else { allocated[r] / of }
        };
        share(0).max(share(1)).max(share(2))
    }

    fn compare_allocatable(&self, other: &Queue) -> Ordering {
        let pairs = [0, 1, 2].map(|r| (self.allocatable_share(r), other.allocatable_share(r)));
        let less = pairs.iter().any(|(a, b)| a < b);
        let more = pairs.iter().any(|(a, b)| a > b);
        match (less, more) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }
}
