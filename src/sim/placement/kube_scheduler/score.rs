//! Node scores of the default scheduler's profile, in its integer arithmetic
//! (NodeResourcesFit, NodeResourcesBalancedAllocation, TaintToleration).

use serde::{Deserialize, Serialize};

/// A resource that NodeResourcesFit may weigh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    Cpu,
    Memory,
    /// The extended resource `nvidia.com/gpu`.
    Gpu,
}

impl Resource {
    /// Extended resources are left out for pods that do not ask for them.
    fn is_extended(self) -> bool {
        self == Resource::Gpu
    }
}

/// `scoringStrategy.type` of NodeResourcesFit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScoringStrategy {
    /// Spread: prefers the node with the largest free share.
    LeastAllocated,
    /// Pack: prefers the node with the smallest free share.
    MostAllocated,
}

/// A resource of one node as the score sees it; any unit, the same in all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    pub resource: Resource,
    pub weight: i64,
    pub capacity: i64,
    /// What the node's pods request, without the new pod.
    pub used: i64,
    /// What the new pod requests.
    pub request: i64,
}

/// Score of NodeResourcesFit, 0 to 100: the weighted mean of the resources' scores, each step
/// rounded down. A resource the node lacks, or an extended one the pod does not ask for, is left
/// out of the mean.
pub fn fit_score(strategy: ScoringStrategy, usages: impl IntoIterator<Item = Usage>) -> i64 {
    let (mut sum, mut weights) = (0, 0);
    for usage in usages {
        if usage.capacity <= 0 || (usage.resource.is_extended() && usage.request == 0) {
            continue;
        }
        let requested = usage.used + usage.request;
        let score = match strategy {
            ScoringStrategy::LeastAllocated if requested > usage.capacity => 0,
            ScoringStrategy::LeastAllocated => (usage.capacity - requested) * 100 / usage.capacity,
            ScoringStrategy::MostAllocated => requested.min(usage.capacity) * 100 / usage.capacity,
        };
        sum += score * usage.weight;
        weights += usage.weight;
    }
    if weights == 0 { 0 } else { sum / weights }
}

/// Score of NodeResourcesBalancedAllocation, 0 to 100, over CPU and memory: 100 when both are
/// used to the same share.
pub fn balanced_score(cpu: Usage, memory: Usage) -> i64 {
    let share = |u: Usage| {
        if u.capacity <= 0 {
            return 0.0;
        }
        ((u.used + u.request) as f64 / u.capacity as f64).min(1.0)
    };
    let spread = (share(cpu) - share(memory)).abs() / 2.0;
    ((1.0 - spread) * 100.0) as i64
}

/// Score of TaintToleration, 0 to 100: fewer untolerated PreferNoSchedule taints are better,
/// relative to the node with the most.
pub fn taint_score(disliked: u32, disliked_max: u32) -> i64 {
    if disliked_max == 0 {
        return 100;
    }
    100 - 100 * i64::from(disliked) / i64::from(disliked_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(resource: Resource, capacity: i64, used: i64, request: i64) -> Usage {
        Usage { resource, weight: 1, capacity, used, request }
    }

    #[test]
    fn gpu_is_scored_only_for_pods_that_ask_for_it() {
        let cpu = usage(Resource::Cpu, 64, 32, 0);
        let asked = [cpu, usage(Resource::Gpu, 8, 7, 1)];
        let not_asked = [cpu, usage(Resource::Gpu, 8, 7, 0)];
        assert_eq!(fit_score(ScoringStrategy::MostAllocated, asked), 75);
        assert_eq!(fit_score(ScoringStrategy::MostAllocated, not_asked), 50);
    }

    #[test]
    fn overcommitted_node_scores_zero_when_spreading_and_full_when_packing() {
        let over = [usage(Resource::Cpu, 10, 9, 4)];
        assert_eq!(fit_score(ScoringStrategy::LeastAllocated, over), 0);
        assert_eq!(fit_score(ScoringStrategy::MostAllocated, over), 100);
    }

    #[test]
    fn balance_prefers_equal_shares() {
        let cpu = usage(Resource::Cpu, 100, 40, 10);
        assert_eq!(balanced_score(cpu, usage(Resource::Memory, 200, 90, 10)), 100);
        assert_eq!(balanced_score(cpu, usage(Resource::Memory, 200, 0, 0)), 75);
    }
}
