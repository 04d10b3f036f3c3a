//! Models: shapes from which weight bytes, KV bytes and step times follow.
//!
//! Source: the published `config.json` of each model (copies in ai-dynamo/aiconfigurator and
//! inference-sim/inference-sim); DeepSeek LLM 67B from its paper (95 layers, GQA). Biases and norms
//! (below 0.1 %) are ignored. DeepSeek-V3 is without its multi-token-prediction block and FP8 block
//! scales; R1 has the same shapes. Models with `offered: false` exist only so that measurements
//! made with them can be compared.

/// Number format of weights or of the KV cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    Bf16,
    Fp8,
}

impl Dtype {
    /// Bytes per value.
    pub fn bytes(self) -> u64 {
        match self {
            Dtype::Bf16 => 2,
            Dtype::Fp8 => 1,
        }
    }
}

/// Mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moe {
    /// Routed experts per MoE layer.
    pub experts: u32,
    /// Routed experts that each token visits.
    pub experts_per_token: u32,
    /// Experts that every token visits.
    pub shared_experts: u32,
    pub moe_layers: u32,
    pub dense_layers: u32,
    /// Parameters of one routed expert in one layer.
    pub expert_params: u64,
    /// Width of one expert's hidden layer.
    pub expert_ffn: u32,
    /// Attention, shared experts and router per layer, dense first layers averaged in.
    pub non_expert_params_per_layer: u64,
}

/// One model. Parameters are counts, not billions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    pub id: &'static str,
    pub name: &'static str,
    pub hf_id: &'static str,
    /// Shown to learners; the others serve comparisons with measurements.
    pub offered: bool,
    pub layers: u32,
    pub hidden: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head_dim: u32,
    /// Width of the dense FFN (of one expert in Mixtral).
    pub ffn: u32,
    pub vocab: u32,
    /// Every matrix inside the layers: attention and FFN or all experts.
    pub linear_params: u64,
    pub embedding_params: u64,
    /// 0 when the head is tied to the embedding.
    pub lm_head_params: u64,
    pub moe: Option<Moe>,
    /// Multi-head latent attention: values kept per token and layer, held whole by every GPU.
    pub mla_values_per_token: Option<u32>,
    /// Published only in FP8.
    pub fp8_only: bool,
    /// Native `max_position_embeddings`.
    pub context_length: u32,
}

impl Model {
    /// Bytes of all weights. FP8 checkpoints keep embedding and LM head in BF16.
    pub fn weight_bytes(&self, dtype: Dtype) -> u64 {
        self.linear_params * dtype.bytes() + (self.embedding_params + self.lm_head_params) * Dtype::Bf16.bytes()
    }

    /// KV-cache bytes of one token, summed over the GPUs of a replica whose KV is split (for MLA:
    /// on each GPU).
    pub fn kv_bytes_per_token(&self, dtype: Dtype) -> u64 {
        let values = match self.mla_values_per_token {
            Some(values) => u64::from(values),
            None => 2 * u64::from(self.kv_heads) * u64::from(self.head_dim),
        };
        u64::from(self.layers) * values * dtype.bytes()
    }

    /// All parameters.
    pub fn params(&self) -> u64 {
        self.linear_params + self.embedding_params + self.lm_head_params
    }

    /// Whether vLLM accepts this tensor-parallel size: it must divide the attention heads.
    pub fn allows_tp(&self, tp: u32) -> bool {
        tp > 0 && self.heads.is_multiple_of(tp)
    }

    /// Tensor-parallel sizes that are powers of two, divide the heads and do not exceed `tp_max`.
    pub fn tp_sizes(&self, tp_max: u32) -> impl Iterator<Item = u32> + '_ {
        (0..16).map(|exponent| 1 << exponent).filter(move |&tp| tp <= tp_max && self.allows_tp(tp))
    }
}

/// Every model, in the order of the lists shown to learners.
pub const MODELS: &[Model] = &[
    Model {
        id: "llama-3.1-8b",
        name: "Llama 3.1 8B Instruct",
        hf_id: "meta-llama/Llama-3.1-8B-Instruct",
        offered: true,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        ffn: 14_336,
        vocab: 128_256,
        linear_params: 6_979_321_856,
        embedding_params: 525_336_576,
        lm_head_params: 525_336_576,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 131_072,
    },
    Model {
        id: "qwen2.5-14b",
        name: "Qwen2.5 14B Instruct",
        hf_id: "Qwen/Qwen2.5-14B-Instruct",
        offered: true,
        layers: 48,
        hidden: 5120,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        ffn: 13_824,
        vocab: 152_064,
        linear_params: 13_212_057_600,
        embedding_params: 778_567_680,
        lm_head_params: 778_567_680,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 32_768,
    },
    Model {
        id: "qwen2.5-14b-1m",
        name: "Qwen2.5 14B Instruct 1M",
        hf_id: "Qwen/Qwen2.5-14B-Instruct-1M",
        offered: true,
        layers: 48,
        hidden: 5120,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        ffn: 13_824,
        vocab: 152_064,
        linear_params: 13_212_057_600,
        embedding_params: 778_567_680,
        lm_head_params: 778_567_680,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 1_010_000,
    },
    Model {
        id: "qwen3-14b",
        name: "Qwen3 14B",
        hf_id: "Qwen/Qwen3-14B",
        offered: true,
        layers: 40,
        hidden: 5120,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        ffn: 17_408,
        vocab: 151_936,
        linear_params: 13_212_057_600,
        embedding_params: 777_912_320,
        lm_head_params: 777_912_320,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 40_960,
    },
    Model {
        id: "qwen3-32b",
        name: "Qwen3 32B",
        hf_id: "Qwen/Qwen3-32B",
        offered: true,
        layers: 64,
        hidden: 5120,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        ffn: 25_600,
        vocab: 151_936,
        linear_params: 31_205_621_760,
        embedding_params: 777_912_320,
        lm_head_params: 777_912_320,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 40_960,
    },
    Model {
        id: "qwen2.5-32b",
        name: "Qwen2.5 32B Instruct",
        hf_id: "Qwen/Qwen2.5-32B-Instruct",
        offered: true,
        layers: 64,
        hidden: 5120,
        heads: 40,
        kv_heads: 8,
        head_dim: 128,
        ffn: 27_648,
        vocab: 152_064,
        linear_params: 31_205_621_760,
        embedding_params: 778_567_680,
        lm_head_params: 778_567_680,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 32_768,
    },
    Model {
        id: "llama-3.3-70b",
        name: "Llama 3.3 70B Instruct",
        hf_id: "meta-llama/Llama-3.3-70B-Instruct",
        offered: true,
        layers: 80,
        hidden: 8192,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        ffn: 28_672,
        vocab: 128_256,
        linear_params: 68_451_041_280,
        embedding_params: 1_050_673_152,
        lm_head_params: 1_050_673_152,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 131_072,
    },
    Model {
        id: "mixtral-8x7b",
        name: "Mixtral 8x7B Instruct",
        hf_id: "mistralai/Mixtral-8x7B-Instruct-v0.1",
        offered: true,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        ffn: 14_336,
        vocab: 32_000,
        linear_params: 46_440_382_464,
        embedding_params: 131_072_000,
        lm_head_params: 131_072_000,
        moe: Some(Moe {
            experts: 8,
            experts_per_token: 2,
            shared_experts: 0,
            moe_layers: 32,
            dense_layers: 0,
            expert_params: 176_160_768,
            expert_ffn: 14336,
            non_expert_params_per_layer: 41_975_808,
        }),
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 32_768,
    },
    Model {
        id: "deepseek-llm-67b",
        name: "DeepSeek LLM 67B (Nov 2023, dense)",
        hf_id: "deepseek-ai/deepseek-llm-67b-chat",
        offered: true,
        layers: 95,
        hidden: 8192,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        ffn: 22_016,
        vocab: 102_400,
        linear_params: 65_745_715_200,
        embedding_params: 838_860_800,
        lm_head_params: 838_860_800,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 4096,
    },
    Model {
        id: "deepseek-v3",
        name: "DeepSeek-V3 (R1 has the same shapes)",
        hf_id: "deepseek-ai/DeepSeek-V3",
        offered: true,
        layers: 61,
        hidden: 7168,
        heads: 128,
        kv_heads: 128,
        head_dim: 128,
        ffn: 18_432,
        vocab: 129_280,
        linear_params: 669_172_039_680,
        embedding_params: 926_679_040,
        lm_head_params: 926_679_040,
        moe: Some(Moe {
            experts: 256,
            experts_per_token: 8,
            shared_experts: 1,
            moe_layers: 58,
            dense_layers: 3,
            expert_params: 44_040_192,
            expert_ffn: 2048,
            non_expert_params_per_layer: 250_217_522,
        }),
        mla_values_per_token: Some(576),
        fp8_only: true,
        context_length: 163_840,
    },
    Model {
        id: "qwen2.5-7b",
        name: "Qwen2.5 7B Instruct",
        hf_id: "Qwen/Qwen2.5-7B-Instruct",
        offered: false,
        layers: 28,
        hidden: 3584,
        heads: 28,
        kv_heads: 4,
        head_dim: 128,
        ffn: 18_944,
        vocab: 152_064,
        linear_params: 6_525_288_448,
        embedding_params: 544_997_376,
        lm_head_params: 544_997_376,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 32_768,
    },
    Model {
        id: "llama-3.2-3b",
        name: "Llama 3.2 3B Instruct",
        hf_id: "meta-llama/Llama-3.2-3B-Instruct",
        offered: false,
        layers: 28,
        hidden: 3072,
        heads: 24,
        kv_heads: 8,
        head_dim: 128,
        ffn: 8192,
        vocab: 128_256,
        linear_params: 2_818_572_288,
        embedding_params: 394_002_432,
        lm_head_params: 0,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 131_072,
    },
    Model {
        id: "llama-2-7b",
        name: "Llama 2 7B",
        hf_id: "meta-llama/Llama-2-7b-hf",
        offered: false,
        layers: 32,
        hidden: 4096,
        heads: 32,
        kv_heads: 32,
        head_dim: 128,
        ffn: 11_008,
        vocab: 32_000,
        linear_params: 6_476_005_376,
        embedding_params: 131_072_000,
        lm_head_params: 131_072_000,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 4096,
    },
    Model {
        id: "llama-2-70b",
        name: "Llama 2 70B",
        hf_id: "meta-llama/Llama-2-70b-hf",
        offered: false,
        layers: 80,
        hidden: 8192,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        ffn: 28_672,
        vocab: 32_000,
        linear_params: 68_451_041_280,
        embedding_params: 262_144_000,
        lm_head_params: 262_144_000,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 4096,
    },
    Model {
        id: "yi-9b",
        name: "Yi 9B",
        hf_id: "01-ai/Yi-9B",
        offered: false,
        layers: 48,
        hidden: 4096,
        heads: 32,
        kv_heads: 4,
        head_dim: 128,
        ffn: 11_008,
        vocab: 64_000,
        linear_params: 8_304_721_920,
        embedding_params: 262_144_000,
        lm_head_params: 262_144_000,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 4096,
    },
    Model {
        id: "yi-34b",
        name: "Yi 34B",
        hf_id: "01-ai/Yi-34B",
        offered: false,
        layers: 60,
        hidden: 7168,
        heads: 56,
        kv_heads: 8,
        head_dim: 128,
        ffn: 20_480,
        vocab: 64_000,
        linear_params: 33_470_545_920,
        embedding_params: 458_752_000,
        lm_head_params: 458_752_000,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 4096,
    },
    Model {
        id: "mistral-nemo-12b",
        name: "Mistral Nemo 12B",
        hf_id: "mistralai/Mistral-Nemo-Instruct-2407",
        offered: false,
        layers: 40,
        hidden: 5120,
        heads: 32,
        kv_heads: 8,
        head_dim: 128,
        ffn: 14_336,
        vocab: 131_072,
        linear_params: 10_905_190_400,
        embedding_params: 671_088_640,
        lm_head_params: 671_088_640,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 131_072,
    },
    Model {
        id: "codellama-34b",
        name: "Code Llama 34B",
        hf_id: "codellama/CodeLlama-34b-Instruct-hf",
        offered: false,
        layers: 48,
        hidden: 8192,
        heads: 64,
        kv_heads: 8,
        head_dim: 128,
        ffn: 22_016,
        vocab: 32_000,
        linear_params: 33_218_887_680,
        embedding_params: 262_144_000,
        lm_head_params: 262_144_000,
        moe: None,
        mla_values_per_token: None,
        fp8_only: false,
        context_length: 16_384,
    },
];
