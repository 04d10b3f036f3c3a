//! Moving bytes between GPUs: all-reduce of tensor parallelism and point-to-point transfers of
//! pipeline stages and KV caches.
//!
//! Shapes and constants: fits to the communication tables of ai-dynamo/aiconfigurator (NVLink and
//! PCIe boxes) and to the network profiles of microsoft/vidur (two nodes over InfiniBand).

use super::spec::Fabric;
use crate::sim::catalog::Gpu;
use crate::sim::catalog::gpus::AllReduce;
use serde::Serialize;

/// A box of PCIe GPUs as measured on L40S; four of them without peer-to-peer.
const PCIE_BOX: &[AllReduce] =
    &[AllReduce { gpus: 2, t0_us: 6.0, gb_per_s: 19.0 }, AllReduce { gpus: 4, t0_us: 12.0, gb_per_s: 3.4 }];

/// Latency across nodes, and what is added while the message grows to `RAMP_BYTES`.
const ACROSS_T0_US: f64 = 65.0;
const ACROSS_RAMP_US: f64 = 90.0;
const RAMP_BYTES: f64 = 131_072.0;
/// Share of the NIC that a ring across two nodes reaches.
const ACROSS_EFFICIENCY: f64 = 0.5;

/// Time of one all-reduce: `fixed + ramp * min(1, bytes / 128 KiB) + bytes * us_per_byte`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct AllReduceCost {
    fixed_us: f64,
    ramp_us: f64,
    us_per_byte: f64,
}

impl AllReduceCost {
    /// Among `gpus` GPUs over `fabric`; free for a single GPU. Sizes between the measured ones take
    /// the next larger row, sizes beyond take the largest.
    pub fn new(gpu: &Gpu, gpus: u32, fabric: Fabric) -> AllReduceCost {
        if gpus <= 1 {
            return AllReduceCost::default();
        }
        let rows = match fabric {
            Fabric::AcrossNodes { nic_gb_s } => {
                return AllReduceCost {
                    fixed_us: ACROSS_T0_US,
                    ramp_us: ACROSS_RAMP_US,
                    us_per_byte: 1.0 / (ACROSS_EFFICIENCY * nic_gb_s.max(0.01) * 1e3),
                };
            }
            Fabric::Pcie if gpu.has_nvlink() => PCIE_BOX,
            Fabric::InDomain | Fabric::Pcie => gpu.efficiency.all_reduce,
        };
        match rows.iter().find(|row| row.gpus >= gpus).or(rows.last()) {
            Some(row) => AllReduceCost { fixed_us: row.t0_us, ramp_us: 0.0, us_per_byte: 1.0 / (row.gb_per_s * 1e3) },
            None => AllReduceCost::default(),
        }
    }

    /// One operation over `bytes`, microseconds.
    pub fn us(&self, bytes: f64) -> f64 {
        self.fixed_us + self.ramp_us * (bytes / RAMP_BYTES).min(1.0) + bytes * self.us_per_byte
    }
}

/// One transfer between two GPUs: latency and 1e9 bytes per second.
///
/// NVLink reaches 0.77 of its peak, InfiniBand 0.72; PCIe is taken as InfiniBand's share of the
/// slot's peak.
pub fn link(gpu: &Gpu, fabric: Fabric) -> (f64, f64) {
    match fabric {
        Fabric::InDomain if gpu.has_nvlink() => (7.0, 0.77 * gpu.nvlink_gb_s_per_direction),
        Fabric::InDomain | Fabric::Pcie => (7.0, 0.72 * gpu.pcie_gb_s_per_direction),
        Fabric::AcrossNodes { nic_gb_s } => (17.0, 0.72 * nic_gb_s.max(0.01)),
    }
}

/// Time of one transfer of `bytes` from GPU to GPU, microseconds.
pub fn transfer_us(gpu: &Gpu, fabric: Fabric, bytes: f64) -> f64 {
    let (fixed_us, gb_per_s) = link(gpu, fabric);
    fixed_us + bytes / (gb_per_s * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog;

    fn h100() -> &'static Gpu {
        catalog::gpu("h100-sxm").unwrap()
    }

    #[test]
    fn a_single_gpu_reduces_for_free() {
        assert_eq!(AllReduceCost::new(h100(), 1, Fabric::InDomain).us(1e6), 0.0);
    }

    #[test]
    fn crossing_nodes_costs_twenty_times_the_domain_for_a_decode_step() {
        let bytes = 8.0 * 8192.0 * 2.0;
        let inside = AllReduceCost::new(h100(), 8, Fabric::InDomain).us(bytes) * 160.0;
        let across = AllReduceCost::new(h100(), 8, Fabric::AcrossNodes { nic_gb_s: 25.0 }).us(bytes) * 160.0;
        assert!((inside / 1e3 - 1.0).abs() < 0.3, "{inside}");
        assert!((across / 1e3 - 26.0).abs() < 1.0, "{across}");
    }

    #[test]
    fn a_missing_size_takes_the_next_larger_row() {
        let three = AllReduceCost::new(h100(), 3, Fabric::InDomain);
        assert_eq!(three, AllReduceCost::new(h100(), 4, Fabric::InDomain));
        let sixteen = AllReduceCost::new(h100(), 16, Fabric::InDomain);
        assert_eq!(sixteen, AllReduceCost::new(h100(), 8, Fabric::InDomain));
    }
}
