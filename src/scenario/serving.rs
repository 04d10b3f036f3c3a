//! Resolves what a service says about its engine and its gateway: flags, roles, shared GPUs,
//! tenants, backends. Called by `resolve`, which knows the rest of the file.

use super::clip;
use super::raw::{RawEngine, RawRole, RawService, RawShare, RawTenant};
use super::resolve::Problems;
use crate::sim::catalog::Gpu;
use crate::sim::id::ServiceId;
use crate::sim::setup::{EngineFlags, NodeSetup, Role, ServiceSetup, Share, Tenant};
use crate::sim::traffic::Pattern;
use std::collections::BTreeMap;

/// Pods that may share a GPU by turns or by MPS (MPS itself allows 48 clients; so many parts share
/// a GPU's account evenly).
const PODS_PER_GPU: std::ops::RangeInclusive<u32> = 2..=8;
const TENANTS_MAX: usize = 8;
const WEIGHT_MAX: u32 = 10_000;

/// A service by name.
pub(super) fn find(name: &str, services: &[RawService], place: &str, p: &mut Problems) -> Option<ServiceId> {
    let found = services.iter().position(|s| s.name == name).map(ServiceId::from_index);
    if found.is_none() {
        let hint = crate::yaml::suggest(name, services.iter().map(|s| s.name.as_str()));
        let hint = hint.map(|s| format!("; did you mean `{s}`?")).unwrap_or_default();
        p.add(place, format!("no service `{}`{hint}", clip(name)));
    }
    found
}

/// How GPUs of this kind are divided.
pub(super) fn share(raw: &RawShare, gpu: Option<&'static Gpu>, place: &str, p: &mut Problems) -> Option<Share> {
    let mut parts = |n: u32| {
        if !PODS_PER_GPU.contains(&n) {
            p.add(place, format!("from {} to {} pods per GPU, is {n}", PODS_PER_GPU.start(), PODS_PER_GPU.end()));
        }
        n
    };
    match raw {
        RawShare::TimeSlicing(n) => Some(Share::TimeSlicing(parts(*n))),
        RawShare::Mps(n) => Some(Share::Mps(parts(*n))),
        RawShare::Vgpu(n) => Some(Share::Vgpu(parts(*n))),
        RawShare::Mig(name) => {
            let Some(gpu) = gpu else {
                p.add(place, "a MIG profile needs a GPU to belong to: set `gpu`");
                return None;
            };
            let profile = gpu.mig.iter().find(|m| m.name == *name);
            if profile.is_none() {
                let known: Vec<&str> = gpu.mig.iter().map(|m| m.name).collect();
                let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                p.add(place, format!("`{}` has no MIG profile `{}`: {known}", gpu.id, clip(name)));
            }
            profile.map(Share::Mig)
        }
    }
}

/// Flags of the server; `gpus` of one replica.
pub(super) fn engine_flags(raw: &RawEngine, gpus: u32, place: &str, p: &mut Problems) -> EngineFlags {
    if let Some(share) = raw.gpu_memory_utilization
        && !(share > 0.0 && share <= 1.0)
    {
        p.add(format!("{place}.gpu_memory_utilization"), format!("must be above 0 and at most 1, is {share}"));
    }
    if let Some(tokens) = raw.max_num_batched_tokens
        && !(1..=1_000_000).contains(&tokens)
    {
        p.add(format!("{place}.max_num_batched_tokens"), format!("from 1 to 1000000, is {tokens}"));
    }
    if let Some(stages) = raw.pipeline
        && (stages == 0 || !gpus.is_multiple_of(stages))
    {
        p.add(format!("{place}.pipeline"), format!("{stages} stages do not divide the {gpus} GPUs of a replica"));
    }
    EngineFlags {
        gpu_memory_utilization: raw.gpu_memory_utilization,
        max_num_batched_tokens: raw.max_num_batched_tokens,
        pipeline: raw.pipeline,
        host: raw.host,
    }
}

pub(super) fn role(raw: &RawRole, services: &[RawService], place: &str, p: &mut Problems) -> Role {
    match raw {
        RawRole::Monolithic => Role::Monolithic,
        RawRole::Decode => Role::Decode,
        RawRole::Prefill(name) => {
            find(name, services, place, p).map_or(Role::Monolithic, |decode| Role::Prefill { decode })
        }
    }
}

pub(super) fn tenants(raw: &[RawTenant], place: &str, p: &mut Problems) -> Vec<Tenant> {
    if raw.len() > TENANTS_MAX {
        p.add(place, format!("at most {TENANTS_MAX} tenants"));
    }
    for (i, t) in raw.iter().enumerate() {
        if !(1..=WEIGHT_MAX).contains(&t.weight) {
            p.add(format!("{place}[{i}].weight"), format!("from 1 to {WEIGHT_MAX}, is {}", t.weight));
        }
    }
    let tenant = |t: &RawTenant| Tenant { name: t.name.clone(), weight: t.weight, priority: t.priority };
    raw.iter().map(tenant).collect()
}

pub(super) fn backends(
    raw: &BTreeMap<String, u32>,
    services: &[RawService],
    place: &str,
    p: &mut Problems,
) -> Vec<(ServiceId, u32)> {
    let mut backends = Vec::new();
    for (name, weight) in raw {
        if !(1..=WEIGHT_MAX).contains(weight) {
            p.add(format!("{place}.{name}"), format!("a weight from 1 to {WEIGHT_MAX}, is {weight}"));
        }
        if let Some(service) = find(name, services, place, p) {
            backends.push((service, *weight));
        }
    }
    backends
}

/// What only the whole list of services shows.
pub(super) fn check_references(services: &[ServiceSetup], nodes: &[NodeSetup], p: &mut Problems) {
    for (i, s) in services.iter().enumerate() {
        let place = format!("services[{i}] ({})", clip(&s.name));
        let name = |id: ServiceId| services[id.index()].name.as_str();
        if let Role::Prefill { decode } = s.role {
            let d = &services[decode.index()];
            if d.role != Role::Decode {
                p.add(format!("{place}.role"), format!("`{}` is not a decode service", d.name));
            }
            if d.model.id != s.model.id || d.kv_dtype != s.kv_dtype {
                let what = "must have the same model and KV format: the KV cache goes from one to the other";
                p.add(format!("{place}.role"), format!("`{}` {what}", d.name));
            }
        }
        for (backend, _) in &s.backends {
            let b = &services[backend.index()];
            if b.role == Role::Decode {
                p.add(format!("{place}.backends"), format!("`{}` only decodes", b.name));
            }
            if backend.index() != i && b.backends.iter().any(|(other, _)| other != backend) {
                let what = "sends its requests on itself: name the last service of the chain";
                p.add(format!("{place}.backends"), format!("`{}` {what}", b.name));
            }
        }
        if let Some(fallback) = s.fallback
            && (fallback.index() == i || services[fallback.index()].role == Role::Decode)
        {
            p.add(format!("{place}.fallback"), format!("`{}` cannot answer for it", name(fallback)));
        }
        if s.role == Role::Decode {
            let fed =
                services.iter().any(|other| matches!(other.role, Role::Prefill { decode } if decode.index() == i));
            if !fed {
                p.add(
                    format!("{place}.role"),
                    "no service has the role `{prefill: …}` with this one as its decode side",
                );
            }
            if !matches!(s.traffic.pattern, Pattern::Silent) || !s.traffic.spikes.is_empty() {
                p.add(format!("{place}.traffic"), "a decode service gets its requests from prefill, not from clients");
            }
        }
        if s.max_num_seqs == Some(0) {
            p.add(format!("{place}.max_num_seqs"), "must be at least 1");
        }
        for node in s.placed.iter().filter_map(|n| nodes.get(*n as usize)).filter(|n| n.share != s.share) {
            let (node, own) = (&node.name, s.share.map_or("whole GPUs".to_owned(), |share| share.label()));
            p.add(format!("{place}.placed"), format!("node `{node}` does not divide its GPUs in this way ({own})"));
        }
        if s.share.is_some() && s.gpu.is_none() {
            p.add(format!("{place}.sharing"), "a part of a GPU is asked for by its product label: set `gpu`");
        }
        if s.share.is_some() && s.gpus() != 1 {
            p.add(format!("{place}.sharing"), "a part of a GPU is one pod's: workers and gpus_per_worker must be 1");
        }
    }
}
