//! From the launch call to a GPU that a pod can ask for: how long each stage of a node's start takes.
//!
//! The stages follow the operand order of the NVIDIA GPU Operator: a node is Ready, and takes CPU
//! pods, before the device plugin advertises `nvidia.com/gpu`. Durations are triangular; the
//! figures come from public issue reports of the EKS AMI, the Karpenter AWS provider, the device
//! plugin and the GPU Operator. Uniform draws are passed in, so a node's times depend only on its
//! own draws.

use crate::sim::time::Span;
use serde::{Deserialize, Serialize};

/// How the GPU driver gets onto the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverMode {
    /// The machine image has the driver; only toolkit and device plugin remain.
    #[default]
    InImage,
    /// The GPU Operator installs a driver container built for this kernel.
    Precompiled,
    /// The GPU Operator compiles the driver on the node.
    Compiled,
}

/// A stage of a node's start, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    /// From the launch call to a running instance.
    Launching,
    /// From a running instance to a registered kubelet (longer on GPU machines).
    Booting,
    /// From registration to Ready: CNI and kube-proxy. CPU pods start at its end.
    Registering,
    /// The driver container; zero when the image has the driver.
    Driver,
    /// The container toolkit.
    Toolkit,
    /// The device plugin. `nvidia.com/gpu` becomes allocatable at its end.
    DevicePlugin,
    /// The DCGM exporter: GPU metrics start at its end. Nothing waits for it.
    DcgmExporter,
}

/// Number of stages.
pub const STAGES: usize = 7;
/// Number of uniform draws that [`stage_times`] needs: launch, boot, extra GPU boot, registration,
/// GPU chain, DCGM exporter.
pub const DRAWS: usize = 6;

/// A triangular distribution in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Triangular {
    pub min_s: f64,
    pub mode_s: f64,
    pub max_s: f64,
}

impl Triangular {
    const fn new(min_s: f64, mode_s: f64, max_s: f64) -> Self {
        Triangular { min_s, mode_s, max_s }
    }

    /// The value at probability `u` (inverse distribution function). `u` is clamped to 0..=1 and
    /// NaN counts as 0. Needs nothing but `sqrt`, which is the same everywhere.
    pub fn quantile(self, u: f64) -> f64 {
        let u = if u > 0.0 { u.min(1.0) } else { 0.0 };
        let (a, c, b) = (self.min_s, self.mode_s, self.max_s);
        if b <= a {
            return a;
        }
        if u * (b - a) < c - a {
            a + (u * (b - a) * (c - a)).sqrt()
        } else {
            b - ((1.0 - u) * (b - a) * (b - c)).sqrt()
        }
    }

    fn towards(self, other: Triangular, share: f64) -> Triangular {
        let mix = |x: f64, y: f64| x + (y - x) * share;
        Triangular::new(mix(self.min_s, other.min_s), mix(self.mode_s, other.mode_s), mix(self.max_s, other.max_s))
    }
}

const LAUNCH: Triangular = Triangular::new(5.0, 12.0, 30.0);
const BOOT: Triangular = Triangular::new(20.0, 30.0, 60.0);
const REGISTER: Triangular = Triangular::new(10.0, 15.0, 60.0);
const EXTRA_BOOT_1_GPU: Triangular = Triangular::new(15.0, 30.0, 60.0);
const EXTRA_BOOT_8_GPU: Triangular = Triangular::new(60.0, 120.0, 300.0);
const DCGM: Triangular = Triangular::new(10.0, 20.0, 60.0);

/// Extra boot time of a machine with GPUs. There are figures for 1 and for 8 GPUs; counts between
/// are interpolated linearly, counts above 8 take the value of 8.
pub fn extra_boot(gpu_count: u32) -> Triangular {
    let share = f64::from(gpu_count.clamp(1, 8) - 1) / 7.0;
    EXTRA_BOOT_1_GPU.towards(EXTRA_BOOT_8_GPU, share)
}

/// The whole GPU chain: driver, toolkit and device plugin together.
pub fn gpu_chain(mode: DriverMode) -> Triangular {
    match mode {
        DriverMode::InImage => Triangular::new(20.0, 45.0, 90.0),
        DriverMode::Precompiled => Triangular::new(60.0, 110.0, 180.0),
        DriverMode::Compiled => Triangular::new(180.0, 240.0, 420.0),
    }
}

/// The length of each stage, in order. `u` are uniform draws in 0..1.
///
/// Reports time the GPU chain as a whole, so one draw gives the chain and it is divided: toolkit
/// and device plugin have equal parts, and the driver has what its mode adds to an image that
/// already contains it. Without GPUs the four GPU stages are zero.
pub fn stage_times(gpu_count: u32, mode: DriverMode, u: [f64; DRAWS]) -> [(Stage, Span); STAGES] {
    let [launch, boot, extra, register, chain, dcgm] = u;
    let mut boot_s = BOOT.quantile(boot);
    let (mut driver, mut toolkit, mut plugin, mut exporter) = (Span::ZERO, Span::ZERO, Span::ZERO, Span::ZERO);
    if gpu_count > 0 {
        boot_s += extra_boot(gpu_count).quantile(extra);
        let all = gpu_chain(mode);
        let driver_share = 1.0 - gpu_chain(DriverMode::InImage).mode_s / all.mode_s;
        let total = Span::from_secs_f64(all.quantile(chain));
        driver = Span::from_secs_f64(total.secs_f64() * driver_share);
        toolkit = Span((total - driver).0 / 2);
        plugin = total - driver - toolkit;
        exporter = Span::from_secs_f64(DCGM.quantile(dcgm));
    }
    [
        (Stage::Launching, Span::from_secs_f64(LAUNCH.quantile(launch))),
        (Stage::Booting, Span::from_secs_f64(boot_s)),
        (Stage::Registering, Span::from_secs_f64(REGISTER.quantile(register))),
        (Stage::Driver, driver),
        (Stage::Toolkit, toolkit),
        (Stage::DevicePlugin, plugin),
        (Stage::DcgmExporter, exporter),
    ]
}

/// Time from the launch call to the end of `stage`.
pub fn end_of(stage: Stage, times: &[(Stage, Span); STAGES]) -> Span {
    times.iter().filter(|(s, _)| *s <= stage).fold(Span::ZERO, |sum, (_, t)| sum + *t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantile_meets_the_corners_and_the_mode() {
        let t = Triangular::new(180.0, 240.0, 420.0);
        assert_eq!(t.quantile(0.0), 180.0);
        assert_eq!(t.quantile(1.0), 420.0);
        assert_eq!(t.quantile(60.0 / 240.0), 240.0);
        assert_eq!(t.quantile(f64::NAN), 180.0);
    }

    #[test]
    fn eight_gpus_boot_longer_and_four_lie_between() {
        assert_eq!(extra_boot(1).mode_s, 30.0);
        assert_eq!(extra_boot(8).mode_s, 120.0);
        assert_eq!(extra_boot(72), extra_boot(8));
        let four = extra_boot(4).mode_s;
        assert!(30.0 < four && four < 120.0);
    }

    #[test]
    fn typical_totals_match_the_reports() {
        let at_mode = |n, mode| {
            let q = |t: Triangular| (t.mode_s - t.min_s) / (t.max_s - t.min_s);
            let u = [q(LAUNCH), q(BOOT), q(extra_boot(n)), q(REGISTER), q(gpu_chain(mode)), q(DCGM)];
            end_of(Stage::DevicePlugin, &stage_times(n, mode, u)).secs_f64().round()
        };
        assert_eq!(at_mode(1, DriverMode::InImage), 132.0);
        assert_eq!(at_mode(1, DriverMode::Compiled), 327.0);
        assert_eq!(at_mode(8, DriverMode::Compiled), 417.0);
    }

    #[test]
    fn no_driver_stage_when_the_image_has_it() {
        let times = stage_times(8, DriverMode::InImage, [0.5; DRAWS]);
        assert_eq!(times[3], (Stage::Driver, Span::ZERO));
        assert_eq!(times[4].1 + times[5].1, Span::from_secs_f64(gpu_chain(DriverMode::InImage).quantile(0.5)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn node_is_ready_before_its_gpus(n in 1u32..16, u in proptest::array::uniform6(0.0..1.0f64), mode in 0..3) {
            let mode = [DriverMode::InImage, DriverMode::Precompiled, DriverMode::Compiled][mode as usize];
            let times = stage_times(n, mode, u);
            prop_assert!(end_of(Stage::Registering, &times) < end_of(Stage::DevicePlugin, &times));
            let cpu = stage_times(0, mode, u);
            prop_assert_eq!(end_of(Stage::Registering, &cpu), end_of(Stage::DcgmExporter, &cpu));
        }

        #[test]
        fn quantile_rises_and_stays_inside(u in 0.0..1.0f64, v in 0.0..1.0f64) {
            let t = extra_boot(8);
            let (lo, hi) = if u < v { (u, v) } else { (v, u) };
            prop_assert!(t.quantile(lo) <= t.quantile(hi));
            prop_assert!((t.min_s..=t.max_s).contains(&t.quantile(u)));
        }
    }
}
