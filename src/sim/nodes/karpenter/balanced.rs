//! The Balanced policy: a move must save a large enough share of the pool's cost for its share of
//! the pool's disruption.

/// The constant k of the rule; a score of 1/k passes.
pub const K: u32 = 2;

/// Score of a move, and whether it passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    pub score: f64,
    pub approved: bool,
}

/// (savings / pool cost) / (disruption / pool disruption), compared with 1/k. Costs in any one
/// unit. No savings or a pool without cost fails; a pool without disruption passes.
pub fn score(savings: f64, disruption: f64, pool_cost: f64, pool_disruption: f64, k: u32) -> Score {
    if pool_cost <= 0.0 || savings <= 0.0 {
        return Score { score: 0.0, approved: false };
    }
    if pool_disruption <= 0.0 || disruption <= 0.0 {
        return Score { score: f64::INFINITY, approved: true };
    }
    let score = (savings / pool_cost) / (disruption / pool_disruption);
    Score { score, approved: score >= 1.0 / f64::from(k.max(1)) }
}
