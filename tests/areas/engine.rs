//! Engine cases: one number each, within a tolerance. Prints the median and worst error per file and
//! per kind, and which case is the worst.

use super::Outcome;
use serde_json::Value;
use seven_of_eight::sim::catalog::{self, Dtype, Gpu, Model};
use seven_of_eight::sim::engine::collectives::{AllReduceCost, transfer_us};
use seven_of_eight::sim::engine::memory::{self, EngineLimits};
use seven_of_eight::sim::engine::{
    EngineEvent, EngineSettings, EngineSpec, Fabric, HostProfile, PrefillWork, Replica, StepCost, Submission,
    cold_start, queueing,
    sharing::{Sharing, small_model_slowdown},
};
use seven_of_eight::sim::id::RequestId;
use seven_of_eight::sim::rng::Stream;
use seven_of_eight::sim::time::Time;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Time that the API server adds to the first token.
const FRONT_END_MS: f64 = 15.0;
const GIB: f64 = 1_073_741_824.0;

/// Relative error and id of each case.
type Rows = Vec<(f64, String)>;

/// Errors by file, and by kind and metric; printed when the area is done.
#[derive(Default)]
pub struct Errors {
    files: RefCell<BTreeMap<String, Rows>>,
    kinds: RefCell<BTreeMap<String, Rows>>,
}

impl Errors {
    /// `file` is the stem of the case's file.
    pub fn check(&self, file: &str, case: &Value) -> Outcome {
        let kind = text(case, "kind");
        let given = &case["given"];
        let metric = text(case, "metric");
        let answer = match kind {
            "linear_time" | "decode_attention" | "prefill_attention" | "moe_layer" | "decode_step" => step(kind, given),
            "all_reduce" => all_reduce(given),
            "p2p_transfer" => p2p(given),
            "kv_capacity" => kv_capacity(given),
            "weight_memory" => weight_gib(given),
            "kv_bytes" => model(given).map(|m| m.kv_bytes_per_token(dtype(given, "kv_dtype")) as f64),
            "closed_loop" => closed_loop(given, metric),
            "offline_throughput" => offline(given),
            "startup_stage" => startup(given),
            "gpu_sharing" => sharing(given),
            "queueing" => queue(given, metric),
            other => return Outcome::NotBuilt(other.to_owned()),
        };
        let Some(actual) = answer else {
            return Outcome::NotBuilt(format!("{kind}/{metric}"));
        };
        let (Some(expected), Some(tolerance)) = (case["value"].as_f64(), case["tolerance_ratio"].as_f64()) else {
            return Outcome::Fail("no value or tolerance".to_owned());
        };
        let off = (actual - expected).abs();
        let row = (off / expected.abs().max(1e-300), text(case, "id").to_owned());
        self.files.borrow_mut().entry(file.to_owned()).or_default().push(row.clone());
        self.kinds.borrow_mut().entry(format!("{kind} {metric}")).or_default().push(row);
        if off <= tolerance * expected.abs() {
            Outcome::Pass
        } else {
            Outcome::Fail(format!("{metric}: expected {expected} within {tolerance}, actual {actual}"))
        }
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        for (prefix, group) in [("", &self.files), ("engine: ", &self.kinds)] {
            for (name, rows) in group.borrow_mut().iter_mut() {
                rows.sort_by(|a, b| a.0.total_cmp(&b.0));
                let median = (rows[(rows.len() - 1) / 2].0 + rows[rows.len() / 2].0) / 2.0 * 100.0;
                let (worst, id) = &rows[rows.len() - 1];
                let worst = worst * 100.0;
                println!("{prefix}{name}: {} cases, median {median:.1} %, worst {worst:.1} % ({id})", rows.len());
            }
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> Option<f64> {
    value[key].as_f64()
}

fn count(value: &Value, key: &str) -> Option<u32> {
    value[key].as_u64().and_then(|n| u32::try_from(n).ok())
}

fn model(given: &Value) -> Option<&'static Model> {
    catalog::model(text(given, "model"))
}

fn gpu(given: &Value) -> Option<&'static Gpu> {
    catalog::gpu(text(given, "gpu"))
}

fn dtype(given: &Value, key: &str) -> Dtype {
    if text(given, key) == "fp8" { Dtype::Fp8 } else { Dtype::Bf16 }
}

fn spec(given: &Value) -> Option<EngineSpec> {
    let model = model(given)?;
    let weight_dtype = if model.fp8_only { Dtype::Fp8 } else { dtype(given, "weight_dtype") };
    let host = match (text(given, "engine"), text(given, "host_profile")) {
        ("trtllm", _) => HostProfile::Lean,
        (_, "sync") => HostProfile::Sync,
        _ => HostProfile::Async,
    };
    Some(EngineSpec {
        weight_dtype,
        kv_dtype: dtype(given, "kv_dtype"),
        host,
        ..EngineSpec::new(model, gpu(given)?, count(given, "tp").unwrap_or(1))
    })
}

fn step(kind: &str, given: &Value) -> Option<f64> {
    let cost = StepCost::new(&spec(given)?, 16).ok()?;
    let us = match kind {
        "linear_time" => cost.linear_us(number(given, "tokens")?),
        "moe_layer" => cost.moe_layer_us(number(given, "tokens")?)?,
        "prefill_attention" => cost.prefill_attention_us(number(given, "new_tokens")?, number(given, "prior_tokens")?),
        _ => {
            let batch = number(given, "batch")?;
            let context = batch * number(given, "context_tokens_each")?;
            match kind {
                "decode_attention" => cost.decode_attention_us(batch, context),
                _ => cost.step_us(batch, context, &PrefillWork::default()),
            }
        }
    };
    Some(us / 1e3)
}

fn fabric(given: &Value, gpu: &Gpu) -> Fabric {
    match text(given, "scope") {
        "two_nodes" => Fabric::AcrossNodes { nic_gb_s: gpu.internode_gb_s },
        _ => Fabric::InDomain,
    }
}

fn all_reduce(given: &Value) -> Option<f64> {
    let gpu = gpu(given)?;
    Some(AllReduceCost::new(gpu, count(given, "gpus")?, fabric(given, gpu)).us(number(given, "bytes")?))
}

fn p2p(given: &Value) -> Option<f64> {
    let gpu = gpu(given)?;
    Some(transfer_us(gpu, fabric(given, gpu), number(given, "bytes")?))
}

fn settings(given: &Value, gpu: &Gpu) -> EngineSettings {
    let defaults = EngineSettings::defaults(gpu);
    EngineSettings {
        gpu_memory_utilization: number(given, "gpu_memory_utilization").unwrap_or(defaults.gpu_memory_utilization),
        max_num_batched_tokens: count(given, "max_num_batched_tokens").unwrap_or(defaults.max_num_batched_tokens),
        max_num_seqs: count(given, "max_num_seqs").unwrap_or(defaults.max_num_seqs),
        counts_cuda_graph_memory: given["counts_cuda_graph_memory"].as_bool().unwrap_or(true),
        max_model_len: None,
    }
}

fn kv_capacity(given: &Value) -> Option<f64> {
    let spec = spec(given)?;
    Some(memory::kv_capacity_tokens(&spec, &settings(given, spec.gpu)).ok()? as f64)
}

fn weight_gib(given: &Value) -> Option<f64> {
    Some(model(given)?.weight_bytes(dtype(given, "weight_dtype")) as f64 / GIB)
}

fn startup(given: &Value) -> Option<f64> {
    match text(given, "stage") {
        "torch_compile" => Some(cold_start::torch_compile_s(count(given, "layers")?, text(given, "cache") == "warm")),
        "weights_read" => {
            let bytes = model(given)?.weight_bytes(dtype(given, "weight_dtype")) as f64;
            Some(cold_start::weights_read_s(bytes, number(given, "bandwidth_gib_s")? * GIB))
        }
        _ => None,
    }
}

fn sharing(given: &Value) -> Option<f64> {
    let sharing = match text(given, "mode") {
        "time_slicing" => Sharing::TimeSlicing,
        "mps" => Sharing::Mps,
        "mig" => Sharing::Mig { compute_slices: text(given, "profile").split_once('g')?.0.parse().ok()? },
        _ => return None,
    };
    Some(small_model_slowdown(sharing, count(given, "busy_pods")?))
}

/// An engine that holds requests of up to `tokens` tokens.
fn replica(given: &Value, tokens: u32) -> Option<Replica> {
    let spec = spec(given)?;
    let settings = EngineSettings { max_model_len: Some(tokens), ..settings(given, spec.gpu) };
    let limits = memory::start(&spec, &settings).ok()?;
    Some(Replica::new(StepCost::new(&spec, limits.max_num_seqs).ok()?, limits))
}

/// Each client sends its next request when the last one is answered.
fn closed_loop(given: &Value, metric: &str) -> Option<f64> {
    let range = |low: &str, high: &str| Some((count(given, low)?, count(given, high)?));
    let (inputs, outputs) =
        (range("input_tokens_min", "input_tokens_max")?, range("output_tokens_min", "output_tokens_max")?);
    let mut replica = replica(given, inputs.1 + outputs.1)?;
    let requests = count(given, "requests")?;
    let mut stream = Stream::new(8, "lengths");
    let mut draw = |(low, high): (u32, u32)| low + (stream.uniform() * f64::from(high - low + 1)) as u32;
    let (mut sent, mut now) = (0, Time::ZERO);
    let (mut ttft_us, mut tpot_us, mut tokens) = (0.0, 0.0, 0.0);
    let mut events = Vec::new();
    let mut free_clients = count(given, "concurrency")?;
    loop {
        while free_clients > 0 && sent < requests {
            replica.submit(now, Submission::whole(RequestId(sent), draw(inputs), draw(outputs)), &mut events);
            free_clients -= 1;
            sent += 1;
        }
        for event in events.drain(..) {
            if let EngineEvent::Finished { at, submitted_at, first_token_at, output_tokens, .. } = event {
                free_clients += 1;
                ttft_us += first_token_at.since(submitted_at).0 as f64;
                tpot_us += at.since(first_token_at).0 as f64 / f64::from(output_tokens - 1);
                tokens += f64::from(output_tokens);
            }
        }
        if free_clients > 0 && sent < requests {
            continue;
        }
        let Some(due) = replica.next_due() else { break };
        now = due;
        replica.advance(now, &mut events);
    }
    let n = f64::from(requests);
    match metric {
        "ttft_ms_mean" => Some(ttft_us / n / 1e3 + FRONT_END_MS),
        "tpot_ms_mean" => Some(tpot_us / n / 1e3),
        "output_tokens_per_s" => Some(tokens / now.secs_f64()),
        _ => None,
    }
}

fn offline(given: &Value) -> Option<f64> {
    const REQUESTS: u32 = 6000;
    let (input, output) = (count(given, "input_tokens")?, count(given, "output_tokens")?);
    let mut replica = replica(given, input + output)?;
    let mut events = Vec::new();
    for i in 0..REQUESTS {
        replica.submit(Time::ZERO, Submission::whole(RequestId(i), input, output), &mut events);
    }
    let mut end = Time::ZERO;
    while let Some(due) = replica.next_due() {
        end = due;
        replica.advance(end, &mut events);
        events.clear();
    }
    Some(f64::from(REQUESTS * output) / end.secs_f64())
}

/// One queue: gaps and services as multiples of their means, and what is measured.
struct Queue {
    arrival_per_s: f64,
    service_s: f64,
    arrival_scv: f64,
    service_scv: f64,
    seats: u32,
    /// All running requests share the server equally, instead of one server per seat.
    shared: bool,
    /// Whoever finds no free seat is turned away.
    loss: bool,
}

#[derive(Default)]
struct Measured {
    arrivals: f64,
    /// Finished ones.
    requests: f64,
    wait_s: f64,
    sojourn_s: f64,
    found_no_seat: f64,
    samples: f64,
    in_system: f64,
    /// Load of the draws themselves: service asked for per server and time.
    load: f64,
}

fn gamma(stream: &mut Stream, scv: f64) -> f64 {
    match scv {
        0.0 => 1.0,
        1.0 => stream.exponential(1.0),
        scv => stream.gamma(1.0 / scv, scv),
    }
}

/// The replica with an artificial step time is that queue: a fixed step makes each seat a server
/// whose service is the output length; a step that grows with the batch shares one server.
fn measure(queue: &Queue, seed: u64, requests: u32) -> Measured {
    const STEP_US: f64 = 100.0;
    const SAMPLE_US: u64 = 100_000;
    let cost = if queue.shared {
        StepCost::synthetic(0.0, STEP_US, 0.0, 1024)
    } else {
        StepCost::synthetic(STEP_US, 0.0, 0.0, queue.seats)
    };
    let limits = EngineLimits {
        max_num_seqs: queue.seats,
        max_num_batched_tokens: queue.seats + 1_000_000,
        max_model_len: u32::MAX,
        kv_blocks: u32::MAX,
    };
    let mut replica = Replica::new(cost, limits);
    let (mut gaps, mut services) = (Stream::new(seed, "arrivals"), Stream::new(seed, "services"));
    let (mut now_us, mut next_sample, mut service_us) = (0.0, 0, 0.0);
    let mut measured = Measured::default();
    let mut submitted = Vec::with_capacity(requests as usize);
    let mut events = Vec::new();
    for i in 0..requests {
        now_us += gamma(&mut gaps, queue.arrival_scv) * 1e6 / queue.arrival_per_s;
        let now = Time(now_us as u64);
        let tokens = (gamma(&mut services, queue.service_scv) * queue.service_s * 1e6 / STEP_US).round().max(1.0);
        service_us += tokens * STEP_US;
        while next_sample < now.0 {
            replica.advance(Time(next_sample), &mut events);
            measured.samples += 1.0;
            measured.in_system += f64::from(replica.running() + replica.waiting());
            next_sample += SAMPLE_US;
        }
        replica.advance(now, &mut events);
        let no_seat = replica.running() >= queue.seats;
        measured.arrivals += 1.0;
        measured.found_no_seat += f64::from(u8::from(no_seat));
        submitted.push(now);
        if no_seat && queue.loss {
            continue;
        }
        replica.submit(now, Submission::whole(RequestId(i), 1, tokens as u32), &mut events);
        book(&mut events, &submitted, &mut measured);
    }
    while let Some(due) = replica.next_due() {
        replica.advance(due, &mut events);
        book(&mut events, &submitted, &mut measured);
    }
    measured.load = service_us / now_us / if queue.shared { 1.0 } else { f64::from(queue.seats) };
    measured
}

fn book(events: &mut Vec<EngineEvent>, submitted: &[Time], measured: &mut Measured) {
    for event in events.drain(..) {
        let since = event.at().since(submitted[event.req().index()]).secs_f64();
        match event {
            EngineEvent::Admitted { .. } => measured.wait_s += since,
            EngineEvent::Finished { .. } => {
                measured.requests += 1.0;
                measured.sojourn_s += since;
            }
            _ => {}
        }
    }
}

fn queue(given: &Value, metric: &str) -> Option<f64> {
    let arrival_per_s = number(given, "arrival_per_s")?;
    let service_per_s = number(given, "service_per_s").unwrap_or(1.0);
    let seats = count(given, "servers").unwrap_or(1);
    let scv = (number(given, "arrival_scv").unwrap_or(1.0), number(given, "service_scv").unwrap_or(1.0));
    if metric == "allen_cunneen_wait_s" {
        return Some(queueing::allen_cunneen_wait(seats, arrival_per_s, service_per_s, scv));
    }
    let base = Queue {
        arrival_per_s,
        service_s: 1.0 / service_per_s,
        arrival_scv: scv.0,
        service_scv: scv.1,
        seats,
        shared: false,
        loss: false,
    };
    let queue = match text(given, "model") {
        "M/M/1" | "M/M/c" | "G/G/c" => base,
        "M/M/c/c" => Queue { loss: true, ..base },
        "M/D/1" => Queue { service_scv: 0.0, ..base },
        "M/G/1-PS" => Queue { service_s: number(given, "mean_service_s")?, seats: 1000, shared: true, ..base },
        "little" => {
            let service_s = number(given, "mean_time_in_system_s")?;
            Queue { service_s, service_scv: 0.0, seats: 1000, ..base }
        }
        _ => return None,
    };
    let runs: Vec<Measured> = (1..=RUNS).map(|seed| measure(&queue, seed, requests_per_run(seats))).collect();
    let load = arrival_per_s * queue.service_s / if queue.shared { 1.0 } else { f64::from(queue.seats) };
    let mean = |value: fn(&Measured) -> f64| controlled_mean(&runs, load, value);
    match metric {
        "mean_wait_s" => Some(mean(|m| m.wait_s / m.requests)),
        "mean_sojourn_s" => Some(mean(|m| m.sojourn_s / m.requests)),
        "probability_of_waiting" | "loss_probability" | "blocking_probability" => {
            Some(mean(|m| m.found_no_seat / m.arrivals))
        }
        "mean_number_in_system" => Some(mean(|m| m.in_system / m.samples)),
        _ => None,
    }
}

const RUNS: u64 = 40;

/// More servers at the same load: waiting is rarer, and slower to even out per request.
fn requests_per_run(servers: u32) -> u32 {
    if servers >= 8 { 24_000 } else { 8_000 }
}

/// Mean over the runs, with the load that each run happened to draw as control variate: most of the
/// scatter of a busy queue is the scatter of its load.
fn controlled_mean(runs: &[Measured], load: f64, value: fn(&Measured) -> f64) -> f64 {
    let n = runs.len() as f64;
    let (mean_value, mean_load) =
        (runs.iter().map(value).sum::<f64>() / n, runs.iter().map(|m| m.load).sum::<f64>() / n);
    let covariance: f64 = runs.iter().map(|m| (value(m) - mean_value) * (m.load - mean_load)).sum();
    let variance: f64 = runs.iter().map(|m| (m.load - mean_load) * (m.load - mean_load)).sum();
    let slope = if variance > 0.0 { covariance / variance } else { 0.0 };
    mean_value - slope * (mean_load - load)
}
