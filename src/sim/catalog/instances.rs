//! Cloud instance types with GPUs, as sold, with a dated price snapshot.
//!
//! Sources. AWS: Karpenter documentation "Instance Types" (karpenter-provider-aws, August 2026;
//! allocatable = AL2023 with default kubelet settings) and its on-demand price table of 20 July
//! 2026. Google Cloud: accelerator-optimized machine family, karpenter-provider-gcp price table of
//! 3 August 2026 (prices are of the whole machine; spot discounts are of that day). Azure: ND and
//! NC size series, karpenter-provider-azure price table of 18 June 2026. `p6e-gb200.36xlarge` is
//! an assumption of the lab (sold by the whole rack, no public on-demand price). An approximate
//! price says so; `None` means that no price is listed. The GPUs `h100-nvl` and `a100-pcie-80gb`
//! have no efficiency figures, so [`super::gpu`] does not know them and no replica can be built on
//! them.

use crate::sim::money::Microusd;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    Aws,
    Gcp,
    Azure,
}

/// What is left for pods after system reservations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocatable {
    pub cpu_m: u32,
    pub mem_mib: u32,
    pub pods: u32,
    /// Elastic Fabric Adapter devices.
    pub efa: u32,
}

/// On-demand price, Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    pub microusd_per_hour: Microusd,
    /// Empty when unknown.
    pub region: &'static str,
    /// Day of the snapshot, ISO 8601; empty when unknown.
    pub date: &'static str,
    pub approximate: bool,
}

/// One instance type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    pub name: &'static str,
    pub provider: Provider,
    /// GPU id, see [`super::gpu`].
    pub gpu: &'static str,
    pub gpu_count: u32,
    pub vcpu: u32,
    /// Memory of the machine before reservations, GiB.
    pub memory_gib: u32,
    /// GPUs that reach each other over NVLink: 1 without NVLink, more than `gpu_count` where
    /// several machines share a domain.
    pub nvlink_domain_gpus: u32,
    /// Inter-node bandwidth of the whole machine for GPU traffic, Gbit/s; `None`: none or unknown.
    pub fabric_gbit_s: Option<f64>,
    /// All network of the machine, Gbit/s (on AWS the fabric is part of it).
    pub network_gbit_s: Option<f64>,
    pub local_nvme_gib: Option<u32>,
    /// Known for AWS only.
    pub allocatable: Option<Allocatable>,
    pub price: Option<Price>,
    /// `1 - spot / on-demand` in the same table; `None` when unknown.
    pub spot_discount: Option<f64>,
}

impl Instance {
    pub fn has_nvlink(&self) -> bool {
        self.nvlink_domain_gpus > 1
    }

    /// Inter-node bandwidth of one GPU, one direction, 1e9 bytes per second: its share of the
    /// fabric, or of the plain network where there is no fabric.
    pub fn nic_gb_s_per_gpu(&self) -> Option<f64> {
        let gbit_s = self.fabric_gbit_s.or(self.network_gbit_s)?;
        Some(gbit_s / 8.0 / f64::from(self.gpu_count.max(1)))
    }
}

// A table with one row per instance; formatted by hand, because a struct literal per row would
// be eight hundred lines.
macro_rules! instances {
    ($(
        $name:literal $provider:ident, $gpu:literal x $gpus:literal, $vcpu:literal vcpu, $mem:literal gib,
        nvlink $domain:literal, fabric $fabric:expr, network $network:expr, nvme $nvme:expr,
        allocatable $alloc:expr, price $price:expr, spot_discount $spot:expr;
    )*) => {
        /// Every instance type, in the order of the lists shown to learners.
        pub const INSTANCES: &[Instance] = &[$(Instance {
            name: $name,
            provider: Provider::$provider,
            gpu: $gpu,
            gpu_count: $gpus,
            vcpu: $vcpu,
            memory_gib: $mem,
            nvlink_domain_gpus: $domain,
            fabric_gbit_s: $fabric,
            network_gbit_s: $network,
            local_nvme_gib: $nvme,
            allocatable: $alloc,
            price: $price,
            spot_discount: $spot,
        }),*];
    };
}

const fn alloc(cpu_m: u32, mem_mib: u32, pods: u32, efa: u32) -> Option<Allocatable> {
    Some(Allocatable { cpu_m, mem_mib, pods, efa })
}

const fn listed(microusd: u64, region: &'static str, date: &'static str) -> Option<Price> {
    Some(Price { microusd_per_hour: Microusd(microusd), region, date, approximate: false })
}

const fn approximate(microusd: u64, region: &'static str) -> Option<Price> {
    Some(Price { microusd_per_hour: Microusd(microusd), region, date: "", approximate: true })
}

instances! {
    "p5.4xlarge" Aws, "h100-sxm" x 1, 16 vcpu, 256 gib,
        nvlink 1, fabric Some(100.0), network Some(100.0), nvme Some(3539),
        allocatable alloc(15_890, 240_830, 118, 1), price listed(6_880_000, "us-east-1", "2026-07-20"), spot_discount None;
    "p5.48xlarge" Aws, "h100-sxm" x 8, 192 vcpu, 2048 gib,
        nvlink 8, fabric Some(3200.0), network Some(3200.0), nvme Some(28_312),
        allocatable alloc(191_450, 1_938_410, 100, 32), price listed(55_040_000, "us-east-1", "2026-07-20"), spot_discount None;
    "p5e.48xlarge" Aws, "h200-sxm" x 8, 192 vcpu, 2048 gib,
        nvlink 8, fabric Some(3200.0), network Some(3200.0), nvme Some(28_312),
        allocatable alloc(191_450, 1_938_410, 100, 32), price None, spot_discount None;
    "p5en.48xlarge" Aws, "h200-sxm" x 8, 192 vcpu, 2048 gib,
        nvlink 8, fabric Some(3200.0), network Some(3200.0), nvme Some(28_312),
        allocatable alloc(191_450, 1_937_332, 198, 16), price listed(63_296_000, "us-east-1", "2026-07-20"), spot_discount None;
    "p4d.24xlarge" Aws, "a100-sxm-40gb" x 8, 96 vcpu, 1152 gib,
        nvlink 8, fabric Some(400.0), network Some(400.0), nvme Some(7451),
        allocatable alloc(95_690, 1_082_712, 737, 4), price listed(21_957_642, "us-east-1", "2026-07-20"), spot_discount None;
    "p4de.24xlarge" Aws, "a100-sxm-80gb" x 8, 96 vcpu, 1152 gib,
        nvlink 8, fabric Some(400.0), network Some(400.0), nvme Some(7451),
        allocatable alloc(95_690, 1_082_712, 737, 4), price listed(27_447_050, "us-east-1", "2026-07-20"), spot_discount None;
    "p6-b200.48xlarge" Aws, "b200-sxm" x 8, 192 vcpu, 2048 gib,
        nvlink 8, fabric Some(3200.0), network Some(3200.0), nvme Some(28_312),
        allocatable alloc(191_450, 1_937_332, 198, 8), price listed(113_932_800, "us-east-1", "2026-07-20"), spot_discount None;
    "g6e.xlarge" Aws, "l40s" x 1, 4 vcpu, 32 gib,
        nvlink 1, fabric None, network Some(2.5), nvme Some(233),
        allocatable alloc(3920, 29_317, 58, 0), price listed(1_861_000, "us-east-1", "2026-07-20"), spot_discount None;
    "g6e.2xlarge" Aws, "l40s" x 1, 8 vcpu, 64 gib,
        nvlink 1, fabric None, network Some(5.0), nvme Some(419),
        allocatable alloc(7910, 59_627, 58, 0), price listed(2_242_080, "us-east-1", "2026-07-20"), spot_discount None;
    "g6e.12xlarge" Aws, "l40s" x 4, 48 vcpu, 384 gib,
        nvlink 1, fabric Some(100.0), network Some(100.0), nvme Some(3539),
        allocatable alloc(47_810, 360_157, 292, 1), price listed(10_492_640, "us-east-1", "2026-07-20"), spot_discount None;
    "g6e.24xlarge" Aws, "l40s" x 4, 96 vcpu, 768 gib,
        nvlink 1, fabric Some(200.0), network Some(200.0), nvme Some(3539),
        allocatable alloc(95_690, 721_682, 492, 2), price listed(15_065_590, "us-east-1", "2026-07-20"), spot_discount None;
    "g6e.48xlarge" Aws, "l40s" x 8, 192 vcpu, 1536 gib,
        nvlink 1, fabric Some(400.0), network Some(400.0), nvme Some(7078),
        allocatable alloc(191_450, 1_449_132, 492, 4), price listed(30_131_180, "us-east-1", "2026-07-20"), spot_discount None;
    "g6.xlarge" Aws, "l4" x 1, 4 vcpu, 16 gib,
        nvlink 1, fabric None, network Some(2.5), nvme Some(233),
        allocatable alloc(3920, 14_162, 58, 0), price listed(804_800, "us-east-1", "2026-07-20"), spot_discount None;
    "g6.12xlarge" Aws, "l4" x 4, 48 vcpu, 192 gib,
        nvlink 1, fabric Some(40.0), network Some(40.0), nvme Some(3502),
        allocatable alloc(47_810, 178_933, 234, 1), price listed(4_601_600, "us-east-1", "2026-07-20"), spot_discount None;
    "g6.48xlarge" Aws, "l4" x 8, 192 vcpu, 768 gib,
        nvlink 1, fabric Some(100.0), network Some(100.0), nvme Some(7004),
        allocatable alloc(191_450, 718_987, 737, 1), price listed(13_350_400, "us-east-1", "2026-07-20"), spot_discount None;
    "g5.xlarge" Aws, "a10g" x 1, 4 vcpu, 16 gib,
        nvlink 1, fabric None, network Some(2.5), nvme Some(233),
        allocatable alloc(3920, 14_162, 58, 0), price listed(1_006_000, "us-east-1", "2026-07-20"), spot_discount None;
    "g5.12xlarge" Aws, "a10g" x 4, 48 vcpu, 192 gib,
        nvlink 1, fabric Some(40.0), network Some(40.0), nvme Some(3539),
        allocatable alloc(47_810, 173_400, 737, 1), price listed(5_672_000, "us-east-1", "2026-07-20"), spot_discount None;
    "g5.48xlarge" Aws, "a10g" x 8, 192 vcpu, 768 gib,
        nvlink 1, fabric Some(100.0), network Some(100.0), nvme Some(7078),
        allocatable alloc(191_450, 723_299, 345, 1), price listed(16_288_000, "us-east-1", "2026-07-20"), spot_discount None;
    "a3-highgpu-1g" Gcp, "h100-sxm" x 1, 26 vcpu, 234 gib,
        nvlink 1, fabric None, network None, nvme Some(750),
        allocatable None, price listed(11_061_200, "us-central1", "2026-08-03"), spot_discount Some(0.43);
    "a3-highgpu-8g" Gcp, "h100-sxm" x 8, 208 vcpu, 1872 gib,
        nvlink 8, fabric Some(800.0), network Some(1000.0), nvme Some(6000),
        allocatable None, price listed(88_490_000, "us-central1", "2026-08-03"), spot_discount Some(0.43);
    "a3-megagpu-8g" Gcp, "h100-sxm" x 8, 208 vcpu, 1872 gib,
        nvlink 8, fabric Some(1600.0), network Some(1800.0), nvme Some(6000),
        allocatable None, price listed(92_937_600, "us-east4", "2026-08-03"), spot_discount Some(0.75);
    "a3-ultragpu-8g" Gcp, "h200-sxm" x 8, 224 vcpu, 2952 gib,
        nvlink 8, fabric Some(3200.0), network Some(3600.0), nvme Some(12_000),
        allocatable None, price approximate(84_810_000, "us-central1"), spot_discount None;
    "a2-highgpu-8g" Gcp, "a100-sxm-40gb" x 8, 96 vcpu, 680 gib,
        nvlink 8, fabric None, network Some(100.0), nvme Some(0),
        allocatable None, price listed(29_387_100, "us-central1", "2026-08-03"), spot_discount Some(0.48);
    "a2-ultragpu-1g" Gcp, "a100-sxm-80gb" x 1, 12 vcpu, 170 gib,
        nvlink 1, fabric None, network Some(24.0), nvme Some(375),
        allocatable None, price listed(5_068_800, "us-central1", "2026-08-03"), spot_discount Some(0.46);
    "a2-ultragpu-8g" Gcp, "a100-sxm-80gb" x 8, 96 vcpu, 1360 gib,
        nvlink 8, fabric None, network Some(100.0), nvme Some(3000),
        allocatable None, price listed(40_550_400, "us-central1", "2026-08-03"), spot_discount Some(0.46);
    "g2-standard-4" Gcp, "l4" x 1, 4 vcpu, 16 gib,
        nvlink 1, fabric None, network Some(10.0), nvme Some(375),
        allocatable None, price listed(706_800, "us-central1", "2026-08-03"), spot_discount Some(0.44);
    "g2-standard-12" Gcp, "l4" x 1, 12 vcpu, 48 gib,
        nvlink 1, fabric None, network Some(16.0), nvme Some(375),
        allocatable None, price listed(1_000_400, "us-central1", "2026-08-03"), spot_discount Some(0.44);
    "g2-standard-24" Gcp, "l4" x 2, 24 vcpu, 96 gib,
        nvlink 1, fabric None, network Some(32.0), nvme Some(750),
        allocatable None, price listed(2_000_800, "us-central1", "2026-08-03"), spot_discount Some(0.44);
    "g2-standard-48" Gcp, "l4" x 4, 48 vcpu, 192 gib,
        nvlink 1, fabric None, network Some(50.0), nvme Some(1500),
        allocatable None, price listed(4_001_700, "us-central1", "2026-08-03"), spot_discount Some(0.44);
    "g2-standard-96" Gcp, "l4" x 8, 96 vcpu, 384 gib,
        nvlink 1, fabric None, network Some(100.0), nvme Some(3000),
        allocatable None, price listed(8_003_300, "us-central1", "2026-08-03"), spot_discount Some(0.44);
    "Standard_ND96isr_H100_v5" Azure, "h100-sxm" x 8, 96 vcpu, 1900 gib,
        nvlink 8, fabric Some(3200.0), network Some(80.0), nvme Some(28_672),
        allocatable None, price listed(98_320_000, "eastus", "2026-06-18"), spot_discount None;
    "Standard_ND96isr_H200_v5" Azure, "h200-sxm" x 8, 96 vcpu, 1850 gib,
        nvlink 8, fabric Some(3200.0), network Some(80.0), nvme Some(28_672),
        allocatable None, price listed(84_800_000, "eastus2", "2026-06-18"), spot_discount None;
    "Standard_ND96amsr_A100_v4" Azure, "a100-sxm-80gb" x 8, 96 vcpu, 1900 gib,
        nvlink 8, fabric Some(1600.0), network Some(24.0), nvme Some(6400),
        allocatable None, price listed(32_770_000, "eastus", "2026-06-18"), spot_discount None;
    "Standard_ND96asr_v4" Azure, "a100-sxm-40gb" x 8, 96 vcpu, 900 gib,
        nvlink 8, fabric Some(1600.0), network Some(24.0), nvme Some(6000),
        allocatable None, price listed(27_197_000, "eastus", "2026-06-18"), spot_discount None;
    "Standard_NC40ads_H100_v5" Azure, "h100-nvl" x 1, 40 vcpu, 320 gib,
        nvlink 1, fabric None, network Some(40.0), nvme Some(3576),
        allocatable None, price listed(6_980_000, "eastus", "2026-06-18"), spot_discount None;
    "Standard_NC80adis_H100_v5" Azure, "h100-nvl" x 2, 80 vcpu, 640 gib,
        nvlink 2, fabric None, network Some(80.0), nvme Some(7152),
        allocatable None, price listed(13_960_000, "eastus", "2026-06-18"), spot_discount None;
    "Standard_NC24ads_A100_v4" Azure, "a100-pcie-80gb" x 1, 24 vcpu, 220 gib,
        nvlink 1, fabric None, network None, nvme None,
        allocatable None, price listed(3_673_000, "eastus", "2026-06-18"), spot_discount None;
    "p6e-gb200.36xlarge" Aws, "gb200" x 4, 144 vcpu, 960 gib,
        nvlink 72, fabric Some(1600.0), network Some(1600.0), nvme Some(22_500),
        allocatable alloc(143_000, 900_000, 110, 4), price approximate(42_000_000, ""), spot_discount None;
}
