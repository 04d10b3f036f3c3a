//! The scheduling cases' schema (`sched-cases/1`), shared by the areas that use it.

use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
pub struct Run {
    pub actions: Vec<String>,
    pub cycles: u32,
    pub stable_cycles: u32,
    pub deliver: bool,
    pub stale_grace_s: f64,
}

#[derive(Deserialize)]
pub struct Node {
    pub name: String,
    pub gpus: u32,
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
pub struct Queue {
    pub name: String,
    pub parent: Option<String>,
    pub deserved: f64,
    pub limit: f64,
    pub weight: f64,
    pub priority: i32,
}

#[derive(Deserialize)]
pub struct Topology {
    pub required: Option<String>,
    pub preferred: Option<String>,
}

#[derive(Deserialize)]
pub struct Task {
    pub name: String,
    pub gpus: f64,
    pub state: String,
    #[serde(default)]
    pub node: Option<String>,
    #[serde(default)]
    pub device: Option<String>,
    #[serde(default)]
    pub order: Option<i32>,
}

#[derive(Deserialize)]
pub struct Job {
    pub name: String,
    pub queue: Option<String>,
    pub priority: i32,
    pub preemptible: bool,
    pub min: u32,
    pub tasks: Vec<Task>,
    #[serde(default)]
    pub topology: Option<Topology>,
    #[serde(default)]
    pub deleted: Option<bool>,
    #[serde(default)]
    pub stale_for_s: Option<f64>,
}

#[derive(Deserialize)]
pub struct TaskExpect {
    pub task: String,
    pub state: String,
    #[serde(default)]
    pub node: Option<String>,
}

#[derive(Deserialize)]
pub struct JobExpect {
    pub job: String,
    pub running: u32,
    pub pending: u32,
}

#[derive(Deserialize)]
pub struct ClusterExpect {
    pub complete: bool,
    pub tasks: Vec<TaskExpect>,
    #[serde(default)]
    pub queue_gpus: Option<BTreeMap<String, f64>>,
    #[serde(default)]
    pub jobs: Option<Vec<JobExpect>>,
}

#[derive(Deserialize)]
pub struct Cluster {
    pub run: Run,
    pub placement: String,
    pub levels: Vec<String>,
    pub nodes: Vec<Node>,
    pub queues: Vec<Queue>,
    pub jobs: Vec<Job>,
    #[serde(default)]
    pub arrival: Option<Vec<String>>,
    pub expect: ClusterExpect,
}

/// Reads a case's body; the error says what is wrong with it.
pub fn parse<T: serde::de::DeserializeOwned>(case: &serde_json::Value) -> Result<T, String> {
    serde_json::from_value(case.clone()).map_err(|e| format!("case does not parse: {e}"))
}
