//! The catalogue: GPUs, models and cloud instance types as typed constant tables.
//!
//! Facts only, no state and no I/O. The scenario names entries by id; the engine, the schedulers
//! and the price meters read them. Ids are stable: they occur in scenario files and share links.

pub mod gpus;
pub mod instances;
pub mod models;

pub use gpus::{GPUS, Gpu, MigProfile};
pub use instances::{Allocatable, INSTANCES, Instance, Provider};
pub use models::{Dtype, MODELS, Model};

/// The GPU type with this id.
pub fn gpu(id: &str) -> Option<&'static Gpu> {
    GPUS.iter().find(|g| g.id == id)
}

/// The model with this id, offered to learners or not.
pub fn model(id: &str) -> Option<&'static Model> {
    MODELS.iter().find(|m| m.id == id)
}

/// The instance type with this name.
pub fn instance(name: &str) -> Option<&'static Instance> {
    INSTANCES.iter().find(|i| i.name == name)
}

/// The models that learners can choose.
pub fn offered_models() -> impl Iterator<Item = &'static Model> {
    MODELS.iter().filter(|m| m.offered)
}

/// The instance types whose GPU has efficiency figures, so that replicas can run on them.
pub fn servable_instances() -> impl Iterator<Item = &'static Instance> {
    INSTANCES.iter().filter(|i| gpu(i.gpu).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_are_unique() {
        assert_eq!(GPUS.iter().map(|g| g.id).collect::<BTreeSet<_>>().len(), GPUS.len());
        assert_eq!(MODELS.iter().map(|m| m.id).collect::<BTreeSet<_>>().len(), MODELS.len());
        assert_eq!(INSTANCES.iter().map(|i| i.name).collect::<BTreeSet<_>>().len(), INSTANCES.len());
    }

    #[test]
    fn only_two_gpu_types_of_the_price_tables_lack_efficiency_figures() {
        let unknown: BTreeSet<_> = INSTANCES.iter().map(|i| i.gpu).filter(|id| gpu(id).is_none()).collect();
        assert_eq!(unknown.into_iter().collect::<Vec<_>>(), ["a100-pcie-80gb", "h100-nvl"]);
    }

    #[test]
    fn parameter_counts_follow_from_the_shapes() {
        for m in MODELS.iter().filter(|m| m.moe.is_none()) {
            let (d, dh, f) = (u64::from(m.hidden), u64::from(m.head_dim), u64::from(m.ffn));
            let attention = d * dh * u64::from(m.heads + 2 * m.kv_heads) + u64::from(m.heads) * dh * d;
            assert_eq!(m.linear_params, u64::from(m.layers) * (attention + 3 * d * f), "{}", m.id);
            assert_eq!(m.embedding_params, u64::from(m.vocab) * d, "{}", m.id);
        }
        let billions = |id: &str| model(id).map_or(0.0, |m| m.params() as f64 / 1e9);
        for (id, want) in [
            ("llama-3.1-8b", 8.03),
            ("qwen2.5-14b", 14.77),
            ("qwen3-32b", 32.76),
            ("llama-3.3-70b", 70.55),
            ("mixtral-8x7b", 46.70),
            ("deepseek-v3", 671.03),
        ] {
            assert!((billions(id) - want).abs() < 0.006, "{id}: {}", billions(id));
        }
    }

    #[test]
    fn mig_slices_never_exceed_the_gpu() {
        for profile in GPUS.iter().flat_map(|g| g.mig) {
            assert!(profile.compute_slices * profile.instances_max <= 7, "{}", profile.name);
            assert!(profile.memory_slices * profile.instances_max <= 8, "{}", profile.name);
        }
    }

    #[test]
    fn nvlink_of_an_instance_agrees_with_its_gpu() {
        for i in servable_instances() {
            let domain = gpu(i.gpu).map_or(1, |g| g.nvlink_domain_gpus);
            assert!(i.nvlink_domain_gpus <= domain, "{}", i.name);
            assert_eq!(i.has_nvlink(), domain > 1 && i.gpu_count > 1, "{}", i.name);
        }
    }

    #[test]
    fn tensor_parallel_sizes_divide_the_heads() {
        let sizes = |id: &str| model(id).map(|m| m.tp_sizes(8).collect::<Vec<_>>());
        assert_eq!(sizes("llama-3.3-70b"), Some(vec![1, 2, 4, 8]));
        assert_eq!(sizes("qwen2.5-7b"), Some(vec![1, 2, 4]), "28 heads");
    }

    #[test]
    fn the_fabric_is_shared_by_the_gpus_of_a_machine() {
        assert_eq!(instance("p5.48xlarge").and_then(Instance::nic_gb_s_per_gpu), Some(50.0));
        assert_eq!(instance("a3-highgpu-1g").and_then(Instance::nic_gb_s_per_gpu), None);
    }
}
