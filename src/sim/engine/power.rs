//! Power draw of one GPU from its activity (`DCGM_FI_DEV_POWER_USAGE`).

use crate::sim::catalog::Gpu;

/// Share of the TDP that a GPU with an engine's context and weights in its memory draws while no
/// kernel runs. Its clocks stay up; a GPU that nobody has opened draws about half of that.
const IDLE_SHARE: f64 = 0.15;
/// What full memory traffic and full tensor cores add, as shares of what is left up to the TDP.
const DRAM_SHARE: f64 = 0.5;
const TENSOR_SHARE: f64 = 0.8;

/// Watts while the memory bus and the tensor cores are busy for these shares of the time, 0 to 1:
/// differences of [`Reading`](super::Reading)'s totals over a window.
///
/// `idle + (TDP - idle) * min(1, 0.5 dram + 0.8 tensor)`: a rough rule of thumb, not a fit. TDP is
/// NVIDIA's, from the catalogue.
pub fn power_watts(gpu: &Gpu, dram_active: f64, tensor_active: f64) -> f64 {
    let tdp_w = f64::from(gpu.tdp_w);
    let idle_w = IDLE_SHARE * tdp_w;
    let load = DRAM_SHARE * dram_active.max(0.0) + TENSOR_SHARE * tensor_active.max(0.0);
    idle_w + (tdp_w - idle_w) * load.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog;

    #[test]
    fn power_lies_between_idle_and_tdp_and_rises_with_either_activity() {
        let gpu = catalog::gpu("h100-sxm").unwrap();
        assert_eq!(power_watts(gpu, 0.0, 0.0), 105.0);
        assert_eq!(power_watts(gpu, 1.0, 1.0), 700.0);
        assert!((power_watts(gpu, 0.6, 0.05) - (105.0 + 595.0 * 0.34)).abs() < 1e-9);
        assert!(power_watts(gpu, 0.5, 0.1) < power_watts(gpu, 0.6, 0.1));
        assert!(power_watts(gpu, 0.5, 0.1) < power_watts(gpu, 0.5, 0.2));
        assert_eq!(power_watts(gpu, f64::NAN, 0.0), 105.0);
    }
}
