//! What a node's local NVMe disk keeps between starts: weights, checkpoints, compile artefacts.
//!
//! Bounded by the disk; what was used longest ago goes first. Container images are on the node's
//! own list: the kubelet collects them by other rules. Reads that find the file still in memory
//! (page cache, about 7 GB/s) are not told apart from reads of the disk.

use crate::sim::catalog::{Dtype, Instance};
use serde::Serialize;

/// Compile artefacts of one model (Triton and Inductor caches): hundreds of megabytes, assumed.
const COMPILED_BYTES: u64 = 500_000_000;

/// A thing that the next start on the node can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kept {
    /// Weights of a model in one format, whatever service serves them.
    Weights { model: &'static str, dtype: Dtype },
    /// A checkpoint of a warm replica: it fits the same GPU and number of ranks only.
    Checkpoint { model: &'static str, dtype: Dtype, gpu: &'static str, gpus: u32 },
    /// torch.compile's artefacts, which depend on the GPU and the number of ranks.
    Compiled { model: &'static str, dtype: Dtype, gpu: &'static str, gpus: u32 },
}

/// A local disk.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disk {
    bytes: u64,
    /// Longest unused first.
    kept: Vec<(Kept, u64)>,
}

impl Disk {
    /// The empty disk of a machine; one without NVMe keeps nothing.
    pub fn of(instance: &Instance) -> Disk {
        Disk { bytes: u64::from(instance.local_nvme_gib.unwrap_or(0)) << 30, kept: Vec::new() }
    }

    pub fn holds(&self, what: Kept) -> bool {
        self.kept.iter().any(|(k, _)| *k == what)
    }

    /// Writes something, or notes that it was used; older things make room. Weights and
    /// checkpoints have `bytes`, compile artefacts their own size.
    pub fn keep(&mut self, what: Kept, bytes: u64) {
        let bytes = if matches!(what, Kept::Compiled { .. }) { COMPILED_BYTES } else { bytes };
        if bytes > self.bytes {
            return;
        }
        self.kept.retain(|(k, _)| *k != what);
        self.kept.push((what, bytes));
        while self.kept.iter().map(|(_, b)| b).sum::<u64>() > self.bytes {
            self.kept.remove(0);
        }
    }

    pub fn clear(&mut self) {
        self.kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::catalog;

    #[test]
    fn what_was_used_longest_ago_makes_room() {
        let mut disk = Disk::of(catalog::instance("g6e.xlarge").unwrap()); // 233 GiB
        let weights = |model| Kept::Weights { model, dtype: Dtype::Bf16 };
        disk.keep(weights("a"), 100 << 30);
        disk.keep(weights("b"), 100 << 30);
        disk.keep(weights("a"), 100 << 30);
        disk.keep(weights("c"), 100 << 30);
        assert!(disk.holds(weights("a")) && !disk.holds(weights("b")) && disk.holds(weights("c")));
        disk.keep(weights("d"), 300 << 30);
        assert!(!disk.holds(weights("d")) && disk.holds(weights("a")));
    }
}
