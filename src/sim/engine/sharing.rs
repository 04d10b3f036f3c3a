//! Sharing one GPU between pods: how much slower each becomes while its neighbours are busy.
//!
//! Factors: the GPU-sharing measurements of nebuly-ai/nos (a small vision model on one A100).
//! An LLM on a MIG slice needs none of this: it follows the step-time model with the slice's share
//! of bandwidth and compute (`EngineSpec::mig`), and neighbours have no effect.

use serde::{Deserialize, Serialize};

/// Loss to context switches when pods take turns.
const TIME_SLICE: f64 = 1.11;
/// What each further busy pod costs under MPS.
const MPS_STEP: f64 = 0.43;
/// A model that cannot fill the GPU loses less on a slice than the slice's share says.
const UNFILLED: f64 = 0.557;

/// How pods share the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Pods take turns; memory is not split.
    TimeSlicing,
    /// Kernels of several processes overlap; one crash can take all down.
    Mps,
    /// A hardware slice with this many of the seven compute slices.
    Mig { compute_slices: u32 },
}

/// Latency relative to a whole GPU of one's own, for a small model that cannot fill it, while
/// `busy_pods` pods (itself included) are busy. Idle pods cost nothing.
pub fn small_model_slowdown(sharing: Sharing, busy_pods: u32) -> f64 {
    let pods = f64::from(busy_pods.max(1));
    match sharing {
        Sharing::TimeSlicing if busy_pods <= 1 => 1.0,
        Sharing::TimeSlicing => TIME_SLICE * pods,
        Sharing::Mps => 1.0 + MPS_STEP * (pods - 1.0),
        Sharing::Mig { compute_slices } => (UNFILLED * 7.0 / f64::from(compute_slices.max(1))).max(1.0),
    }
}

/// The same for decoding LLMs under MPS, which are bound by bandwidth: at least the sum of what
/// the pods' `DRAM_ACTIVE` (0 to 1) would be alone.
pub fn mps_decode_slowdown(busy_pods: u32, dram_active_sum: f64) -> f64 {
    small_model_slowdown(Sharing::Mps, busy_pods).max(dram_active_sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_nobody_is_slowed_but_on_a_slice() {
        assert_eq!(small_model_slowdown(Sharing::TimeSlicing, 1), 1.0);
        assert_eq!(small_model_slowdown(Sharing::Mps, 1), 1.0);
        assert!(small_model_slowdown(Sharing::Mig { compute_slices: 1 }, 1) > 3.0);
        assert_eq!(small_model_slowdown(Sharing::Mig { compute_slices: 7 }, 1), 1.0);
    }

    #[test]
    fn two_saturated_decoders_share_the_bandwidth() {
        assert_eq!(mps_decode_slowdown(2, 1.8), 1.8);
        assert_eq!(mps_decode_slowdown(2, 0.4), 1.43);
    }
}
