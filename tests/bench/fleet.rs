//! Scenario files for measuring: one service on so many eight-GPU nodes, under a steady load.

use std::fmt::Write;

/// What is measured.
pub struct Fleet {
    pub nodes: u32,
    /// Replicas of one service, spread over the nodes in order.
    pub replicas: u32,
    pub gpus_per_replica: u32,
    pub per_second: u32,
    pub hours: u32,
}

/// A hundred replicas of an 8B model at four requests a second each: about eight run on each.
#[allow(dead_code, reason = "each measurement takes its own")]
pub const STEADY: Fleet = Fleet { nodes: 13, replicas: 100, gpus_per_replica: 1, per_second: 400, hours: 24 };

/// A day of a hundred requests a second on 128 nodes: 8.6 million requests.
#[allow(dead_code, reason = "each measurement takes its own")]
pub const DAY: Fleet = Fleet { nodes: 128, replicas: 128, gpus_per_replica: 8, per_second: 100, hours: 24 };

impl Fleet {
    /// The file.
    pub fn yaml(&self) -> String {
        let per_node = 8 / self.gpus_per_replica;
        let mut text = format!("id: fleet\nstart: \"00:00\"\nlength: {}h\nracks:\n", self.hours);
        for rack in 0..self.nodes.div_ceil(8) {
            let _ = writeln!(text, "  - {{name: r{rack}, zone: a, block: b, kind: Network}}");
        }
        text.push_str("nodes:\n");
        for node in 0..self.nodes {
            let _ = writeln!(text, "  - {{name: h{node}, instance: p5.48xlarge, rack: r{}}}", node / 8);
        }
        let placed = (0..self.nodes).map(|n| (n, self.replicas.saturating_sub(n * per_node).min(per_node)));
        let placed: Vec<String> = placed.filter(|p| p.1 > 0).map(|(n, count)| format!("h{n}: {count}")).collect();
        let _ = write!(
            text,
            "services:\n  - name: chat\n    model: llama-3.1-8b\n    gpu: h100-sxm\n    gpus_per_worker: {}\n    \
             placed: {{{}}}\n    image_cached: true\n    max_model_len: 32768\n    slo: {{ttft: 2s, tpot: 50ms}}\n    \
             traffic: {{pattern: {{poisson: {{per_second: {}}}}}}}\npolicy:\n  replicas: {{scaler: manual}}\n",
            self.gpus_per_replica,
            placed.join(", "),
            self.per_second
        );
        text
    }
}
