//! From names to indices and catalogue entries. Every contradiction is collected with its place.

use super::raw::{RawAct, RawLinks, RawScenario, RawService};
use super::tasks::Task;
use super::{Scenario, clip, serving};
use crate::problem::Problem;
use crate::sim::catalog::{self, Dtype, Instance};
use crate::sim::cluster::rack::NVL72_TRAYS;
use crate::sim::cluster::rules::{RackFacts, can_place};
use crate::sim::command::{Command, Stamped};
use crate::sim::id::{GroupId, NodeId, RackId, ServiceId};
use crate::sim::limits;
use crate::sim::param::{Param, Policy};
use crate::sim::setup::{LinkSetup, NodeSetup, PoolSetup, RackSetup, ServiceSetup, Setup};
use crate::sim::snapshot::RackKind;
use crate::sim::time::{Span, Time};
use crate::sim::traffic::Pattern;
use crate::sim::units::DAY_US;

/// Racks, nodes and services of one scenario.
const NODES_PER_RACK: u32 = 8;
const SERVICES_MAX: usize = 32;
const RACKS_MAX: usize = 64;
const REPLICAS_MAX: u32 = 512;

#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.0.push(Problem::new(place, what));
    }
}

/// # Errors
/// Everything that contradicts itself or names what does not exist.
pub fn resolve(raw: RawScenario) -> Result<Scenario, Vec<Problem>> {
    let mut problems = Problems::default();
    let p = &mut problems;
    sizes(&raw, p);
    let racks = racks(&raw);
    let nodes = nodes(&raw, &racks, p);
    let services: Vec<ServiceSetup> =
        raw.services.iter().enumerate().filter_map(|(i, s)| service(i, s, &raw, p)).collect();
    let policy = policy(&raw, p);
    let script = script(&raw, p);
    let palette = instances(&raw.palette, "palette", p);
    let pool = PoolSetup {
        name: raw.pool.name.clone().unwrap_or_else(|| "gpu".to_owned()),
        instances: instances(&raw.pool.instances, "pool.instances", p),
        gpus_max: raw.pool.gpus_max,
    };
    tasks_name_services(&raw, p);
    let links = links(&raw.links, p);
    if services.len() == raw.services.len() {
        serving::check_references(&services, &nodes, p);
    }
    let mut zones: Vec<String> = racks.iter().map(|r| r.zone.clone()).collect();
    zones.sort();
    zones.dedup();
    if !problems.0.is_empty() {
        return Err(problems.0);
    }
    let setup = Setup {
        id: raw.id.clone(),
        seed: raw.seed,
        day_start: raw.start,
        weekday: raw.weekday,
        end: Time::ZERO + raw.length,
        racks,
        nodes,
        services,
        palette,
        pool,
        policy,
        script,
        driver: raw.driver,
        zones,
        links,
    };
    let tasks = raw.tasks.into_iter().map(|t| Task { id: t.id, check: t.check }).collect();
    Ok(Scenario { id: raw.id, setup, tasks })
}

fn sizes(raw: &RawScenario, p: &mut Problems) {
    let mut bound = |place: &str, n: usize, min: usize, max: usize| {
        if n < min || n > max {
            p.add(place, format!("must have from {min} to {max} entries, has {n}"));
        }
    };
    bound("racks", raw.racks.len(), 1, RACKS_MAX);
    bound("nodes", raw.nodes.len(), 0, limits::NODES_MAX as usize);
    bound("services", raw.services.len(), 1, SERVICES_MAX);
    if raw.length == Span::ZERO || raw.length > Span::from_secs(limits::END_MAX_S) {
        p.add("length", format!("must be above 0 and at most {} hours", limits::END_MAX_S / 3600));
    }
    for (what, names) in [
        ("racks", raw.racks.iter().map(|r| &r.name).collect::<Vec<_>>()),
        ("nodes", raw.nodes.iter().map(|n| &n.name).collect()),
        ("services", raw.services.iter().map(|s| &s.name).collect()),
    ] {
        for (i, name) in names.iter().enumerate() {
            if name.is_empty() || name.len() > 40 {
                p.add(format!("{what}[{i}].name"), "must have from 1 to 40 characters");
            }
            if names[..i].contains(name) {
                p.add(format!("{what}[{i}].name"), format!("`{}` is there twice", clip(name)));
            }
        }
    }
}

fn racks(raw: &RawScenario) -> Vec<RackSetup> {
    let rack = raw.racks.iter().map(|r| RackSetup {
        name: r.name.clone(),
        zone: r.zone.clone(),
        block: r.block.clone(),
        kind: r.kind,
        slots: r.slots.unwrap_or(if r.kind == RackKind::Nvl72 { NVL72_TRAYS } else { NODES_PER_RACK }).min(NVL72_TRAYS),
    });
    rack.collect()
}

fn instance(name: &str, place: &str, p: &mut Problems) -> Option<&'static Instance> {
    let found = catalog::instance(name);
    let Some(instance) = found else {
        let known = catalog::servable_instances().map(|i| i.name);
        let hint = crate::yaml::suggest(name, known).map(|s| format!("; did you mean `{s}`?")).unwrap_or_default();
        p.add(place, format!("no instance type `{}` in the catalogue{hint}", clip(name)));
        return None;
    };
    if catalog::gpu(instance.gpu).is_none() {
        p.add(place, format!("`{name}`: its GPU `{}` has no performance figures", instance.gpu));
        return None;
    }
    Some(instance)
}

fn instances(names: &[String], place: &str, p: &mut Problems) -> Vec<&'static Instance> {
    let found = names.iter().enumerate().filter_map(|(i, n)| instance(n, &format!("{place}[{i}]"), p));
    found.collect()
}

fn nodes(raw: &RawScenario, racks: &[RackSetup], p: &mut Problems) -> Vec<NodeSetup> {
    let mut used = vec![0u32; racks.len()];
    let mut nodes = Vec::new();
    for (i, n) in raw.nodes.iter().enumerate() {
        let place = format!("nodes[{i}] ({})", clip(&n.name));
        let Some(instance) = instance(&n.instance, &place, p) else { continue };
        let Some(rack) = racks.iter().position(|r| r.name == n.rack) else {
            p.add(place, format!("no rack `{}`", clip(&n.rack)));
            continue;
        };
        let r = &racks[rack];
        let facts = RackFacts { kind: r.kind, zone: &r.zone, slots: r.slots, slots_used: used[rack] };
        if let Err(why) = can_place(instance, facts, None) {
            p.add(place, format!("cannot stand in rack `{}`: {why}", r.name));
            continue;
        }
        used[rack] += 1;
        let rack = RackId::from_index(rack);
        let share = n.sharing.as_ref().and_then(|s| serving::share(s, catalog::gpu(instance.gpu), &place, p));
        nodes.push(NodeSetup { name: n.name.clone(), instance, rack, managed: n.managed, share });
    }
    nodes
}

fn service(index: usize, s: &RawService, raw: &RawScenario, p: &mut Problems) -> Option<ServiceSetup> {
    let place = format!("services[{index}] ({})", clip(&s.name));
    let at = |field: &str| format!("{place}.{field}");
    let before = p.0.len();
    let model = catalog::model(&s.model);
    if model.is_none() {
        let hint = crate::yaml::suggest(&s.model, catalog::offered_models().map(|m| m.id));
        let hint = hint.map(|m| format!("; did you mean `{m}`?")).unwrap_or_default();
        p.add(at("model"), format!("no model `{}` in the catalogue{hint}", clip(&s.model)));
    }
    let gpu = s.gpu.as_deref().map(|id| (id, catalog::gpu(id)));
    if let Some((id, None)) = gpu {
        p.add(at("gpu"), format!("no GPU `{}` in the catalogue", clip(id)));
    }
    if !(1..=64).contains(&s.workers) || !(1..=8).contains(&s.gpus_per_worker) {
        p.add(at("workers"), "from 1 to 64 workers of 1 to 8 GPUs");
    }
    let mut placed = Vec::new();
    for (name, count) in &s.placed {
        match raw.nodes.iter().position(|n| n.name == *name) {
            Some(node) if *count <= 64 => placed.extend(std::iter::repeat_n(node as u32, *count as usize)),
            Some(_) => p.add(at("placed"), format!("`{name}`: at most 64 replicas on a node")),
            None => p.add(at("placed"), format!("no node `{}`", clip(name))),
        }
    }
    let replicas = s.replicas.unwrap_or(placed.len() as u32);
    if replicas > REPLICAS_MAX || (replicas as usize) < placed.len() {
        p.add(at("replicas"), format!("from {} (those placed) to {REPLICAS_MAX}, is {replicas}", placed.len()));
    }
    for problem in s.traffic.problems() {
        p.add(at(&format!("traffic.{}", problem.path)), problem.message);
    }
    let trace = "a trace is given with --trace or dropped on the page, not named in the file";
    if matches!(s.traffic.pattern, Pattern::Trace(_)) {
        p.add(at("traffic.pattern"), trace);
    }
    if s.traffic.lengths_of.is_some() {
        p.add(at("traffic.lengths_of"), trace);
    }
    if s.client_timeout == Span::ZERO {
        p.add(at("client_timeout"), "must be above 0");
    }
    let model = model?;
    if s.max_model_len.is_some_and(|n| n == 0 || n > model.context_length) {
        p.add(at("max_model_len"), format!("from 1 to the model's context of {} tokens", model.context_length));
    }
    let engine = serving::engine_flags(&s.engine, s.workers * s.gpus_per_worker, &at("engine"), p);
    let role = serving::role(&s.role, &raw.services, &at("role"), p);
    let share = s.sharing.as_ref().and_then(|share| serving::share(share, gpu.and_then(|(_, g)| g), &at("sharing"), p));
    let tenants = serving::tenants(&s.tenants, &at("tenants"), p);
    let backends = serving::backends(&s.backends, &raw.services, &at("backends"), p);
    let fallback = s.fallback.as_deref().and_then(|name| serving::find(name, &raw.services, &at("fallback"), p));
    if p.0.len() > before {
        return None;
    }
    let bf16_or_only = if model.fp8_only { Dtype::Fp8 } else { Dtype::Bf16 };
    Some(ServiceSetup {
        name: s.name.clone(),
        model,
        weight_dtype: s.weights.unwrap_or(bf16_or_only),
        kv_dtype: s.kv.unwrap_or(Dtype::Bf16),
        workers: s.workers,
        gpus_per_worker: s.gpus_per_worker,
        gpu: gpu.and_then(|(_, g)| g),
        cpu_m: s.cpu_m,
        mem_mib: s.mem_mib,
        replicas,
        placed,
        scaled: s.scaled,
        launchable: s.launchable,
        max_model_len: s.max_model_len,
        max_num_seqs: s.max_num_seqs,
        engine,
        role,
        share,
        tenants,
        backends,
        fallback,
        priority: s.priority,
        grace: s.grace,
        slo_ttft: s.slo.ttft,
        slo_tpot: s.slo.tpot,
        client_timeout: s.client_timeout,
        traffic: s.traffic.clone(),
        trace: None,
        image_cached: s.image_cached,
    })
}

/// A task about a service that is not there could never be done.
fn tasks_name_services(raw: &RawScenario, p: &mut Problems) {
    for (i, task) in raw.tasks.iter().enumerate() {
        for name in task.check.services().iter().filter(|n| !raw.services.iter().any(|s| s.name == **n)) {
            p.add(format!("tasks[{i}] ({})", clip(&task.id)), format!("no service `{}`", clip(name)));
        }
    }
}

fn links(raw: &RawLinks, p: &mut Problems) -> LinkSetup {
    let usual = LinkSetup::default();
    let mut rate = |key: &str, given: Option<f64>, usual: f64| {
        let Some(gb_s) = given else { return usual };
        if !(gb_s > 0.0 && gb_s <= 10_000.0) {
            p.add(format!("links.{key}"), format!("must be above 0 and at most 10000 GB/s, is {gb_s}"));
        }
        gb_s * 1e9
    };
    LinkSetup {
        registry_bytes_per_s: rate("registry_gb_s", raw.registry_gb_s, usual.registry_bytes_per_s),
        object_store_bytes_per_s: rate("object_store_gb_s", raw.object_store_gb_s, usual.object_store_bytes_per_s),
        files_bytes_per_s: rate("files_gb_s", raw.files_gb_s, usual.files_bytes_per_s),
    }
}

fn policy(raw: &RawScenario, p: &mut Problems) -> Policy {
    let mut policy = Policy::default();
    // The maximum first: a minimum is checked against it.
    let mut values: Vec<(Param, i64, String)> = Vec::new();
    for (section, entries) in &raw.policy {
        for (key, text) in entries {
            let id = format!("{section}.{key}");
            let Some(param) = Param::from_id(&id) else {
                let hint = crate::yaml::suggest(&id, Param::ALL.iter().map(|q| q.id()));
                let hint = hint.map(|q| format!("; did you mean `{q}`?")).unwrap_or_default();
                p.add(format!("policy.{id}"), format!("unknown parameter{hint}"));
                continue;
            };
            match param.parse(text) {
                Ok(value) => values.push((param, value, id)),
                Err(error) => p.add(format!("policy.{id}"), error.to_string()),
            }
        }
    }
    if values.len() < raw.policy.values().map(|section| section.len()).sum() {
        return policy; // what contradicts a bad value is no news
    }
    values.sort_by_key(|(param, _, _)| *param != Param::MaxReplicas);
    for (param, value, id) in values {
        if let Err(error) = policy.set(param, value) {
            p.add(format!("policy.{id}"), error.to_string());
        }
    }
    policy
}

/// The first replica of a service: those that run at the start are made first, service by service.
fn crash_target(raw: &RawScenario, name: &str) -> Option<GroupId> {
    let mut before = 0;
    for s in &raw.services {
        let here: u32 = s.replicas.unwrap_or_else(|| s.placed.values().sum());
        if s.name == name {
            return (here > 0).then_some(GroupId(before));
        }
        before += here;
    }
    None
}

fn script(raw: &RawScenario, p: &mut Problems) -> Vec<Stamped> {
    let service = |name: &str| raw.services.iter().position(|s| s.name == name).map(ServiceId::from_index);
    let mut script = Vec::new();
    for (i, step) in raw.script.iter().enumerate() {
        let place = format!("script[{i}]");
        let after = (step.at.0 + DAY_US - raw.start.0) % DAY_US;
        let at = Time(after);
        let mut push = |command| script.push(Stamped { at, command });
        match &step.act {
            RawAct::Launch(name) => match service(name) {
                Some(service) => push(Command::LaunchGang { service }),
                None => p.add(place, format!("no service `{}`", clip(name))),
            },
            RawAct::Spike(spike) => match service(&spike.service) {
                Some(service) => push(Command::InjectSpike {
                    service,
                    requests: spike.requests,
                    over: spike.over,
                    long_prompt_tokens: spike.long_prompt_tokens,
                }),
                None => p.add(place, format!("no service `{}`", clip(&spike.service))),
            },
            RawAct::Crash(name) => match crash_target(raw, name) {
                Some(group) => push(Command::CrashReplica { group }),
                None => p.add(place, format!("no service `{}` with a replica at the start", clip(name))),
            },
            RawAct::Release(name) => match raw.nodes.iter().position(|n| n.name == *name) {
                Some(node) => push(Command::ReleaseNode { node: NodeId::from_index(node) }),
                None => p.add(place, format!("no node `{}`", clip(name))),
            },
            RawAct::Set(values) => {
                for (id, text) in values {
                    match Param::from_id(id).map(|q| (q, q.parse(text))) {
                        Some((param, Ok(value))) => push(Command::Set { param, value }),
                        Some((_, Err(error))) => p.add(place.clone(), error.to_string()),
                        None => p.add(place.clone(), format!("unknown parameter `{}`", clip(id))),
                    }
                }
            }
        }
    }
    script.sort_by_key(|s| s.at);
    script
}
