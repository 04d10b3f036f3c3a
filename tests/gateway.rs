//! What the gateway does with requests: routing, limits, caps, tenants, retries, backends, and the
//! hand-over from prefill to decode. Small worlds, one rule each.

use seven_of_eight::scenario;
use seven_of_eight::sim::id::ServiceId;
use seven_of_eight::sim::series_view::ServiceTrack;
use seven_of_eight::sim::snapshot::{RequestTotals, Snapshot};
use seven_of_eight::sim::time::Time;
use seven_of_eight::sim::world::World;
use std::sync::Arc;

const CHAT: &str = "model: qwen2.5-14b, weights: fp8, gpu: l40s, max_model_len: 16384";

/// A world on two L40S nodes of four GPUs each.
fn world(services: &[String], policy: &str) -> World {
    let text = format!(
        "id: gateway\nstart: \"09:00\"\nlength: 1h\n\
         racks: [{{name: r, zone: a, block: b, kind: Network}}]\n\
         nodes: [{{name: a, instance: g6e.12xlarge, rack: r}}, {{name: b, instance: g6e.12xlarge, rack: r}}]\n\
         services:\n{}policy: {{replicas: {{scaler: manual}}, {policy}}}\n",
        services.iter().map(|s| format!("  - {{{s}}}\n")).collect::<String>()
    );
    let scenario = scenario::read(&text, &[]).unwrap_or_else(|p| panic!("{p:?}"));
    World::new(Arc::new(scenario.setup)).expect("starts")
}

fn chat(name: &str, more: &str) -> String {
    format!("name: {name}, {CHAT}, {more}")
}

fn after(mut w: World, seconds: u64) -> Snapshot {
    w.advance(Time::from_secs(seconds), usize::MAX);
    assert_eq!(w.check_invariants(), Ok(()));
    w.snapshot()
}

fn of<'a>(s: &'a Snapshot, name: &str) -> &'a RequestTotals {
    &s.services.iter().find(|v| v.name == name).expect("the service").requests
}

fn load(per_second: f64) -> String {
    format!("traffic: {{pattern: {{poisson: {{per_second: {per_second}}}}}}}")
}

#[test]
fn a_canary_gets_its_weight_and_a_long_tail_name_the_pool_behind_it() {
    let services = [
        chat("chat", &format!("placed: {{a: 2}}, backends: {{chat: 90, canary: 10}}, {}", load(2.0))),
        chat("canary", "placed: {a: 1}"),
        chat("rare-1", &format!("replicas: 0, backends: {{pool: 1}}, {}", load(0.1))),
        chat("rare-2", &format!("replicas: 0, backends: {{pool: 1}}, {}", load(0.1))),
        chat("pool", "placed: {b: 1}"),
    ];
    let mut w = world(&services, "");
    w.advance(Time::from_secs(1200), usize::MAX);
    let share = w.snapshot().groups.iter().find(|g| g.name == "canary-0").expect("the canary").tokens_per_s;
    assert!(share.is_some());
    let s = after(w, 1800);
    assert_eq!(of(&s, "canary").offered, 0, "its requests belong to the clients of chat");
    for name in ["chat", "rare-1", "rare-2"] {
        let r = of(&s, name);
        assert!(r.offered > 100 && r.met > r.offered * 9 / 10, "{name}: {r:?}");
    }
}

#[test]
fn a_canary_of_a_tenth_gets_a_tenth_of_the_requests() {
    // The canary cannot take a prompt: what is rejected is its share.
    let services = [
        chat("chat", &format!("placed: {{a: 3}}, backends: {{chat: 90, canary: 10}}, {}", load(3.0))),
        "name: canary, model: qwen2.5-14b, weights: fp8, gpu: l40s, max_model_len: 16, placed: {a: 1}".to_owned(),
    ];
    let r = *of(&after(world(&services, ""), 1800), "chat");
    let share = r.rejected as f64 / r.offered as f64;
    assert!((share - 0.1).abs() < 0.015, "{share}");
}

#[test]
fn each_routing_spreads_the_load_over_all_replicas() {
    for routing in ["least_loaded", "round_robin", "kv_aware"] {
        let services = [chat("chat", &format!("placed: {{a: 4}}, {}", load(4.0)))];
        let mut w = world(&services, &format!("gateway: {{routing: {routing}}}"));
        let mut running = [0u32; 4];
        for minute in 1..=20 {
            w.advance(Time::from_secs(minute * 60), usize::MAX);
            for (i, g) in w.snapshot().groups.iter().enumerate() {
                running[i] += g.running;
            }
        }
        let (least, most) = (running.iter().min().copied().unwrap_or(0), running.iter().max().copied().unwrap_or(0));
        assert!(least * 3 > most, "{routing}: {running:?}");
        let r = *of(&after(w, 1200), "chat");
        assert!(r.met > r.offered * 9 / 10, "{routing}: {r:?}");
    }
}

#[test]
fn caps_refuse_long_prompts_and_cut_long_answers() {
    let lengths = "traffic: {pattern: {poisson: {per_second: 1}}, prompt_tokens: {uniform: {min: 1, max: 2000}}, \
                   output_tokens: {uniform: {min: 1, max: 400}}}";
    let services = [chat("chat", &format!("placed: {{a: 2}}, {lengths}"))];
    let r = *of(&after(world(&services, "gateway: {context_cap: 1000, output_cap: 100, retries: 3}"), 1800), "chat");
    let (refused, cut) = (r.rejected as f64 / r.offered as f64, r.cut as f64 / r.offered as f64);
    assert!((refused - 0.5).abs() < 0.05, "{r:?}");
    assert!((cut - 0.75).abs() < 0.05, "{r:?}");
    assert!(r.degraded > 0 && r.degraded <= r.cut, "a cut answer is not what was asked for: {r:?}");
    assert_eq!(r.retries, 0, "a prompt that is too long would be refused again");
}

#[test]
fn a_queue_limit_bounds_the_queue_and_retries_are_bounded_too() {
    let services = [chat("chat", &format!("placed: {{a: 1}}, max_num_seqs: 16, client_timeout: 2m, {}", load(4.0)))];
    let policy = "gateway: {queue_limit: 10, retries: 2}";
    let mut w = world(&services, policy);
    let mut longest = 0;
    for second in 1..=900 {
        w.advance(Time::from_secs(second), usize::MAX);
        longest = longest.max(w.snapshot().services[0].waiting);
    }
    assert!(longest <= 10, "{longest}");
    let r = *of(&after(w, 900), "chat");
    assert!(r.rejected > 100, "{r:?}");
    // Each rejected client has tried twice more; those that got in later, at most twice.
    assert!(r.retries >= 2 * r.rejected && r.retries <= 2 * r.offered, "{r:?}");
}

#[test]
fn the_deadline_turns_away_what_would_be_late_anyway() {
    let services = [chat("chat", &format!("placed: {{a: 1}}, max_num_seqs: 16, {}", load(4.0)))];
    let without = *of(&after(world(&services, ""), 900), "chat");
    let with = *of(&after(world(&services, "gateway: {deadline_drop: on}"), 900), "chat");
    assert!(with.rejected > 0 && with.met > 2 * without.met, "{with:?} against {without:?}");
}

#[test]
fn the_more_important_class_is_let_in_longer() {
    let tenants = "tenants: [{name: paid, priority: 1}, {name: free, priority: 0}]";
    let services = [chat("chat", &format!("placed: {{a: 1}}, max_num_seqs: 16, {tenants}, {}", load(4.0)))];
    let s = after(world(&services, "gateway: {queue_limit: 8}"), 900);
    let [paid, free] = &s.services[0].tenants[..] else { panic!("two tenants") };
    let rejected = |r: &RequestTotals| r.rejected as f64 / r.offered as f64;
    assert!(rejected(&paid.requests) + 0.2 < rejected(&free.requests), "{paid:?} {free:?}");
}

/// Prefill and decode on the named nodes, two GPUs each.
fn roles(prefill: &str, decode: &str, more: &str) -> Vec<String> {
    let traffic =
        "traffic: {pattern: {poisson: {per_second: 1}}, prompt_tokens: {fixed: 3000}, output_tokens: {fixed: 100}}";
    vec![
        chat("prefill", &format!("placed: {{{prefill}}}, role: {{prefill: decode}}, {traffic}")),
        chat("decode", &format!("placed: {{{decode}}}, role: decode{more}")),
    ]
}

#[test]
fn every_prompt_that_is_handed_over_is_answered() {
    let s = after(world(&roles("a: 2", "a: 2", ""), ""), 1800);
    let r = of(&s, "prefill");
    assert!(r.offered > 1500 && r.met + r.late + r.unfinished == r.offered, "{r:?}");
    assert_eq!(of(&s, "decode").offered, 0);
}

#[test]
fn without_a_decode_replica_prompts_wait_with_their_cache() {
    let mut services = roles("a: 2", "", "");
    services[1] = chat("decode", "replicas: 0, role: decode");
    let mut w = world(&services, "");
    w.advance(Time::from_secs(50), usize::MAX);
    assert_eq!(w.check_invariants(), Ok(()));
    let s = w.snapshot();
    assert_eq!(of(&s, "prefill").met + of(&s, "prefill").late, 0);
    let kv: f32 = s.groups.iter().map(|g| g.kv_usage).sum();
    assert!(kv > 0.3, "the caches of the computed prompts are kept: {kv}");
    // Clients give up after a minute, and their caches go with them.
    let s = after(w, 600);
    let r = of(&s, "prefill");
    assert!(r.timed_out > 300, "{r:?}");
}

#[test]
fn a_full_decode_side_holds_up_the_prefill_side() {
    let heavy =
        "traffic: {pattern: {poisson: {per_second: 3}}, prompt_tokens: {fixed: 6000}, output_tokens: {fixed: 1000}}";
    let services = [
        chat("prefill", &format!("placed: {{a: 2}}, role: {{prefill: decode}}, client_timeout: 10m, {heavy}")),
        chat("decode", "placed: {a: 1}, role: decode, max_num_seqs: 8"),
    ];
    let mut w = world(&services, "");
    w.advance(Time::from_secs(400), usize::MAX);
    assert_eq!(w.check_invariants(), Ok(()));
    let s = w.snapshot();
    let of_prefill = s.groups.iter().filter(|g| g.name.starts_with("prefill"));
    assert!(of_prefill.clone().all(|g| g.kv_usage > 0.9), "caches that nobody takes fill the prefill side");
    assert!(of_prefill.map(|g| g.waiting).sum::<u32>() > 0, "and prompts wait before it");
}

#[test]
fn servers_that_take_turns_share_the_memory_or_refuse_to_start() {
    let run = |utilization: f64| {
        let text = format!(
            "id: turns\nstart: \"09:00\"\nlength: 1h\nracks: [{{name: r, zone: a, block: b, kind: Network}}]\n\
             nodes: [{{name: a, instance: p5.4xlarge, rack: r, sharing: {{time_slicing: 2}}}}]\n\
             services:\n  - {{name: small, model: llama-3.1-8b, weights: fp8, gpu: h100-sxm, max_model_len: 4096, \
             sharing: {{time_slicing: 2}}, replicas: 2, engine: {{gpu_memory_utilization: {utilization}}}}}\n\
             policy: {{replicas: {{scaler: manual}}}}\n"
        );
        let scenario = scenario::read(&text, &[]).unwrap_or_else(|p| panic!("{p:?}"));
        let s = after(World::new(Arc::new(scenario.setup)).expect("starts"), 1500);
        s.services[0].replicas_ready
    };
    assert_eq!(run(0.45), 2);
    assert_eq!(run(0.9), 1, "the second finds too little free memory and exits");
}

/// A fault that was found by use: the memory of a slice was shown against that of the whole GPU.
#[test]
fn a_slices_memory_is_read_against_the_slice() {
    let scenario = scenario::library("mig-or-slices").expect("in the library").expect("readable");
    let w = World::new(Arc::new(scenario.setup)).expect("starts");
    let full = |service| w.full_range(ServiceId(service), ServiceTrack::FbUsed).expect("a replica");
    let (slice, whole) = (full(0), full(3));
    assert!((slice * 4.0 - whole).abs() < 1.0, "two of eight memory slices: {slice} of {whole} MiB");
}
