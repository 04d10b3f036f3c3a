//! GPUs: peak figures, usable memory, links and the efficiency factors that feed the step-time
//! model (`sim::engine::step`).
//!
//! Sources: peak figures from the system files of ai-dynamo/aiconfigurator (commit 095f58a) and
//! NVIDIA data sheets; usable memory from published vLLM logs; efficiency factors fitted to the
//! kernel measurements in aiconfigurator (H100, H200, L40S, B200, GB200: vLLM 0.24.0; A100:
//! vLLM 0.14.0) and to the profiles of microsoft/vidur (commit 7d47513). Rows marked
//! [`Confidence::Low`] (H100 PCIe, L4, A10G) are scaled from a relative, not fitted. Peaks are
//! dense: the "with sparsity" numbers of data sheets are never used.

/// How far the efficiency factors of a row can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// Fitted to kernel measurements on this part.
    High,
    /// Fitted in part, or copied from a very close relative.
    Medium,
    /// Scaled from another part.
    Low,
}

/// GPU generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

/// A MIG profile. Compute is a share of 7, memory and bandwidth are a share of 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MigProfile {
    pub name: &'static str,
    pub compute_slices: u32,
    pub memory_slices: u32,
    /// How many fit on one GPU when all are of this profile.
    pub instances_max: u32,
}

impl MigProfile {
    /// Share of the GPU's compute, 0 to 1.
    pub fn compute_fraction(&self) -> f64 {
        f64::from(self.compute_slices) / 7.0
    }
    /// Share of the GPU's memory and of its bandwidth, 0 to 1.
    pub fn memory_fraction(&self) -> f64 {
        f64::from(self.memory_slices) / 8.0
    }
}

/// Matrix multiplication: a soft maximum of weight reading and arithmetic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GemmEfficiency {
    /// Fraction of peak bandwidth while reading weights.
    pub weight: f64,
    /// Fixed time of one GEMM, microseconds.
    pub fixed_us: f64,
    /// Fraction of peak arithmetic.
    pub compute: f64,
    /// Exponent of the soft maximum.
    pub roofline_p: f64,
}

/// Attention of decoding requests over their KV cache.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodeAttentionEfficiency {
    /// Fixed time per layer, microseconds.
    pub layer_fixed_us: f64,
    /// Fraction of peak bandwidth while reading KV.
    pub kv: f64,
}

/// Attention of prompt chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefillAttentionEfficiency {
    /// Fixed time per layer, microseconds.
    pub layer_fixed_us: f64,
    /// Fraction of peak BF16 arithmetic for long prompts.
    pub compute: f64,
    /// Prompt length, in tokens, at which the efficiency is half of that.
    pub half_tokens: f64,
}

/// All-reduce among `gpus` GPUs of one box: `t0_us + bytes / gb_per_s`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllReduce {
    pub gpus: u32,
    pub t0_us: f64,
    pub gb_per_s: f64,
}

/// Every fitted factor of one GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Efficiency {
    pub gemm_bf16: GemmEfficiency,
    /// `None`: FP8 weights are not offered on this GPU.
    pub gemm_fp8: Option<GemmEfficiency>,
    pub decode_bf16: DecodeAttentionEfficiency,
    /// `None`: an FP8 KV cache is not offered on this GPU.
    pub decode_fp8: Option<DecodeAttentionEfficiency>,
    pub prefill: PrefillAttentionEfficiency,
    /// Small kernels, per layer, microseconds.
    pub layer_fixed_us: f64,
    /// Fraction of peak bandwidth of element-wise kernels.
    pub elementwise: f64,
    /// Rows by GPU count, ascending. Over NVLink where the part has it, else over PCIe.
    pub all_reduce: &'static [AllReduce],
    pub confidence: Confidence,
}

/// One GPU type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gpu {
    pub id: &'static str,
    pub name: &'static str,
    /// Value of the node label `nvidia.com/gpu.product`.
    pub product_label: &'static str,
    pub architecture: Architecture,
    /// The number on the box, 1e9 bytes.
    pub hbm_gb: u32,
    /// Total memory as CUDA reports it, 2^30 bytes.
    pub usable_gib: f64,
    /// Peak memory bandwidth, 1e9 bytes per second.
    pub bandwidth_gb_s: f64,
    /// Dense peak, 1e12 per second.
    pub bf16_tflops: f64,
    /// Dense peak, 1e12 per second; `None` on parts without FP8 tensor cores.
    pub fp8_tflops: Option<f64>,
    /// One direction, per GPU, 1e9 bytes per second; 0 without NVLink.
    pub nvlink_gb_s_per_direction: f64,
    /// GPUs that reach each other over NVLink; 1 without NVLink.
    pub nvlink_domain_gpus: u32,
    /// One direction, 1e9 bytes per second.
    pub pcie_gb_s_per_direction: f64,
    /// Network share of one GPU in a typical cloud, one direction, 1e9 bytes per second.
    pub internode_gb_s: f64,
    pub tdp_w: u32,
    /// Empty where MIG does not exist.
    pub mig: &'static [MigProfile],
    pub efficiency: Efficiency,
}

impl Gpu {
    pub fn has_nvlink(&self) -> bool {
        self.nvlink_gb_s_per_direction > 0.0
    }
}

const fn mig(name: &'static str, compute_slices: u32, memory_slices: u32, instances_max: u32) -> MigProfile {
    MigProfile { name, compute_slices, memory_slices, instances_max }
}

const fn gemm(weight: f64, fixed_us: f64, compute: f64, roofline_p: f64) -> GemmEfficiency {
    GemmEfficiency { weight, fixed_us, compute, roofline_p }
}

const fn decode(layer_fixed_us: f64, kv: f64) -> DecodeAttentionEfficiency {
    DecodeAttentionEfficiency { layer_fixed_us, kv }
}

const fn ring(gpus: u32, t0_us: f64, gb_per_s: f64) -> AllReduce {
    AllReduce { gpus, t0_us, gb_per_s }
}

const MIG_H100: &[MigProfile] = &[
    mig("1g.10gb", 1, 1, 7),
    mig("1g.20gb", 1, 2, 4),
    mig("2g.20gb", 2, 2, 3),
    mig("3g.40gb", 3, 4, 2),
    mig("4g.40gb", 4, 4, 1),
    mig("7g.80gb", 7, 8, 1),
];

const MIG_H200: &[MigProfile] = &[
    mig("1g.18gb", 1, 1, 7),
    mig("1g.35gb", 1, 2, 4),
    mig("2g.35gb", 2, 2, 3),
    mig("3g.71gb", 3, 4, 2),
    mig("4g.71gb", 4, 4, 1),
    mig("7g.141gb", 7, 8, 1),
];

const MIG_A100_40GB: &[MigProfile] = &[
    mig("1g.5gb", 1, 1, 7),
    mig("1g.10gb", 1, 2, 4),
    mig("2g.10gb", 2, 2, 3),
    mig("3g.20gb", 3, 4, 2),
    mig("4g.20gb", 4, 4, 1),
    mig("7g.40gb", 7, 8, 1),
];

const MIG_B200: &[MigProfile] = &[
    mig("1g.23gb", 1, 1, 7),
    mig("1g.45gb", 1, 2, 4),
    mig("2g.45gb", 2, 2, 3),
    mig("3g.90gb", 3, 4, 2),
    mig("4g.90gb", 4, 4, 1),
    mig("7g.180gb", 7, 8, 1),
];

const MIG_GB200: &[MigProfile] = &[
    mig("1g.23gb", 1, 1, 7),
    mig("1g.47gb", 1, 2, 4),
    mig("2g.47gb", 2, 2, 3),
    mig("3g.93gb", 3, 4, 2),
    mig("4g.93gb", 4, 4, 1),
    mig("7g.186gb", 7, 8, 1),
];

/// Every GPU type, in the order of the lists shown to learners.
pub const GPUS: &[Gpu] = &[
    Gpu {
        id: "h100-sxm",
        name: "NVIDIA H100 SXM5 80GB",
        product_label: "NVIDIA-H100-80GB-HBM3",
        architecture: Architecture::Hopper,
        hbm_gb: 80,
        usable_gib: 79.15,
        bandwidth_gb_s: 3350.0,
        bf16_tflops: 989.0,
        fp8_tflops: Some(1979.0),
        nvlink_gb_s_per_direction: 450.0,
        nvlink_domain_gpus: 8,
        pcie_gb_s_per_direction: 64.0,
        internode_gb_s: 50.0,
        tdp_w: 700,
        mig: MIG_H100,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.84, 3.8, 0.8, 3.5),
            gemm_fp8: Some(gemm(0.82, 6.6, 0.58, 2.2)),
            decode_bf16: decode(12.5, 0.9),
            decode_fp8: Some(decode(15.0, 0.78)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 14.0, compute: 0.67, half_tokens: 820.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 4.2, 222.0), ring(4, 4.8, 178.0), ring(8, 5.5, 193.0)],
            confidence: Confidence::High,
        },
    },
    Gpu {
        id: "h100-pcie",
        name: "NVIDIA H100 PCIe 80GB",
        product_label: "NVIDIA-H100-PCIe",
        architecture: Architecture::Hopper,
        hbm_gb: 80,
        usable_gib: 79.15,
        bandwidth_gb_s: 2000.0,
        bf16_tflops: 756.0,
        fp8_tflops: Some(1513.0),
        nvlink_gb_s_per_direction: 0.0,
        nvlink_domain_gpus: 1,
        pcie_gb_s_per_direction: 64.0,
        internode_gb_s: 50.0,
        tdp_w: 350,
        mig: MIG_H100,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.84, 3.8, 0.8, 3.5),
            gemm_fp8: Some(gemm(0.82, 6.6, 0.58, 2.2)),
            decode_bf16: decode(12.5, 0.9),
            decode_fp8: Some(decode(15.0, 0.78)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 14.0, compute: 0.67, half_tokens: 820.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 6.0, 19.0)],
            confidence: Confidence::Low,
        },
    },
    Gpu {
        id: "h200-sxm",
        name: "NVIDIA H200 SXM 141GB",
        product_label: "NVIDIA-H200",
        architecture: Architecture::Hopper,
        hbm_gb: 141,
        usable_gib: 139.81,
        bandwidth_gb_s: 4800.0,
        bf16_tflops: 989.0,
        fp8_tflops: Some(1979.0),
        nvlink_gb_s_per_direction: 450.0,
        nvlink_domain_gpus: 8,
        pcie_gb_s_per_direction: 64.0,
        internode_gb_s: 50.0,
        tdp_w: 700,
        mig: MIG_H200,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.82, 3.8, 0.8, 3.5),
            gemm_fp8: Some(gemm(0.82, 7.4, 0.57, 2.2)),
            decode_bf16: decode(12.9, 0.86),
            decode_fp8: Some(decode(15.0, 0.61)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 14.0, compute: 0.67, half_tokens: 820.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 4.4, 243.0), ring(4, 4.7, 188.0), ring(8, 5.5, 205.0)],
            confidence: Confidence::High,
        },
    },
    Gpu {
        id: "a100-sxm-80gb",
        name: "NVIDIA A100 SXM4 80GB",
        product_label: "NVIDIA-A100-SXM4-80GB",
        architecture: Architecture::Ampere,
        hbm_gb: 80,
        usable_gib: 79.2,
        bandwidth_gb_s: 2039.0,
        bf16_tflops: 312.0,
        fp8_tflops: None,
        nvlink_gb_s_per_direction: 300.0,
        nvlink_domain_gpus: 8,
        pcie_gb_s_per_direction: 32.0,
        internode_gb_s: 25.0,
        tdp_w: 400,
        mig: MIG_H100,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.77, 7.2, 0.8, 1.8),
            gemm_fp8: Some(gemm(0.7, 7.2, 0.64, 1.8)),
            decode_bf16: decode(20.0, 0.73),
            decode_fp8: None,
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 13.0, compute: 0.58, half_tokens: 630.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 5.0, 175.0), ring(4, 5.7, 103.0), ring(8, 6.6, 94.0)],
            confidence: Confidence::High,
        },
    },
    Gpu {
        id: "a100-sxm-40gb",
        name: "NVIDIA A100 SXM4 40GB",
        product_label: "NVIDIA-A100-SXM4-40GB",
        architecture: Architecture::Ampere,
        hbm_gb: 40,
        usable_gib: 39.49,
        bandwidth_gb_s: 1555.0,
        bf16_tflops: 312.0,
        fp8_tflops: None,
        nvlink_gb_s_per_direction: 300.0,
        nvlink_domain_gpus: 8,
        pcie_gb_s_per_direction: 32.0,
        internode_gb_s: 25.0,
        tdp_w: 400,
        mig: MIG_A100_40GB,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.77, 7.2, 0.8, 1.8),
            gemm_fp8: Some(gemm(0.7, 7.2, 0.64, 1.8)),
            decode_bf16: decode(20.0, 0.73),
            decode_fp8: None,
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 13.0, compute: 0.58, half_tokens: 630.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 5.0, 175.0), ring(4, 5.7, 103.0), ring(8, 6.6, 94.0)],
            confidence: Confidence::Medium,
        },
    },
    Gpu {
        id: "l40s",
        name: "NVIDIA L40S 48GB",
        product_label: "NVIDIA-L40S",
        architecture: Architecture::Ada,
        hbm_gb: 48,
        usable_gib: 44.39,
        bandwidth_gb_s: 864.0,
        bf16_tflops: 362.0,
        fp8_tflops: Some(733.0),
        nvlink_gb_s_per_direction: 0.0,
        nvlink_domain_gpus: 1,
        pcie_gb_s_per_direction: 32.0,
        internode_gb_s: 25.0,
        tdp_w: 350,
        mig: &[],
        efficiency: Efficiency {
            gemm_bf16: gemm(0.77, 0.5, 0.65, 2.2),
            gemm_fp8: Some(gemm(0.69, 0.5, 0.48, 2.1)),
            decode_bf16: decode(10.0, 0.8),
            decode_fp8: Some(decode(11.0, 0.77)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 8.0, compute: 0.53, half_tokens: 430.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 6.0, 19.0), ring(4, 12.0, 3.4)],
            confidence: Confidence::High,
        },
    },
    Gpu {
        id: "l4",
        name: "NVIDIA L4 24GB",
        product_label: "NVIDIA-L4",
        architecture: Architecture::Ada,
        hbm_gb: 24,
        usable_gib: 22.06,
        bandwidth_gb_s: 300.0,
        bf16_tflops: 121.0,
        fp8_tflops: Some(242.0),
        nvlink_gb_s_per_direction: 0.0,
        nvlink_domain_gpus: 1,
        pcie_gb_s_per_direction: 32.0,
        internode_gb_s: 25.0,
        tdp_w: 72,
        mig: &[],
        efficiency: Efficiency {
            gemm_bf16: gemm(0.8, 0.5, 0.5, 2.2),
            gemm_fp8: Some(gemm(0.72, 0.5, 0.4, 2.1)),
            decode_bf16: decode(10.0, 0.8),
            decode_fp8: Some(decode(11.0, 0.77)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 8.0, compute: 0.45, half_tokens: 430.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 6.0, 15.0)],
            confidence: Confidence::Low,
        },
    },
    Gpu {
        id: "a10g",
        name: "NVIDIA A10G 24GB",
        product_label: "NVIDIA-A10G",
        architecture: Architecture::Ampere,
        hbm_gb: 24,
        usable_gib: 22.07,
        bandwidth_gb_s: 600.0,
        bf16_tflops: 70.0,
        fp8_tflops: None,
        nvlink_gb_s_per_direction: 0.0,
        nvlink_domain_gpus: 1,
        pcie_gb_s_per_direction: 32.0,
        internode_gb_s: 12.5,
        tdp_w: 300,
        mig: &[],
        efficiency: Efficiency {
            gemm_bf16: gemm(0.8, 2.0, 0.75, 2.0),
            gemm_fp8: None,
            decode_bf16: decode(15.0, 0.75),
            decode_fp8: None,
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 10.0, compute: 0.55, half_tokens: 500.0 },
            layer_fixed_us: 8.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 8.0, 15.0)],
            confidence: Confidence::Low,
        },
    },
    Gpu {
        id: "b200-sxm",
        name: "NVIDIA B200 SXM 180GB",
        product_label: "NVIDIA-B200",
        architecture: Architecture::Blackwell,
        hbm_gb: 180,
        usable_gib: 178.3,
        bandwidth_gb_s: 8000.0,
        bf16_tflops: 2250.0,
        fp8_tflops: Some(4500.0),
        nvlink_gb_s_per_direction: 900.0,
        nvlink_domain_gpus: 8,
        pcie_gb_s_per_direction: 128.0,
        internode_gb_s: 50.0,
        tdp_w: 1000,
        mig: MIG_B200,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.8, 3.9, 0.72, 2.9),
            gemm_fp8: Some(gemm(0.69, 6.0, 0.43, 2.4)),
            decode_bf16: decode(9.0, 0.88),
            decode_fp8: Some(decode(10.0, 0.86)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 14.0, compute: 0.54, half_tokens: 1500.0 },
            layer_fixed_us: 2.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 7.0, 332.0), ring(4, 7.3, 276.0), ring(8, 8.2, 305.0)],
            confidence: Confidence::Medium,
        },
    },
    Gpu {
        id: "gb200",
        name: "NVIDIA GB200 (per GPU)",
        product_label: "NVIDIA-GB200",
        architecture: Architecture::Blackwell,
        hbm_gb: 186,
        usable_gib: 184.0,
        bandwidth_gb_s: 8000.0,
        bf16_tflops: 2500.0,
        fp8_tflops: Some(5000.0),
        nvlink_gb_s_per_direction: 900.0,
        nvlink_domain_gpus: 72,
        pcie_gb_s_per_direction: 128.0,
        internode_gb_s: 50.0,
        tdp_w: 1200,
        mig: MIG_GB200,
        efficiency: Efficiency {
            gemm_bf16: gemm(0.8, 3.6, 0.69, 2.9),
            gemm_fp8: Some(gemm(0.7, 6.0, 0.43, 2.4)),
            decode_bf16: decode(10.0, 0.9),
            decode_fp8: Some(decode(10.6, 0.88)),
            prefill: PrefillAttentionEfficiency { layer_fixed_us: 14.7, compute: 0.51, half_tokens: 1500.0 },
            layer_fixed_us: 2.0,
            elementwise: 0.6,
            all_reduce: &[ring(2, 5.1, 175.0), ring(4, 5.4, 232.0), ring(8, 8.2, 305.0)],
            confidence: Confidence::Medium,
        },
    },
];
