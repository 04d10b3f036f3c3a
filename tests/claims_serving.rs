//! What the experiments about the serving engine and the gateway claim, over twenty seeds. A claim
//! that the simulation does not bear out is mended in the text, never in the numbers.

mod lab;

use lab::{SEEDS, finish, met, service, start, watch};
use seven_of_eight::sim::command::Command;
use seven_of_eight::sim::snapshot::Snapshot;
use seven_of_eight::sim::time::Time;

/// Replicas wanted in the quiet morning, on the plateau, and in the quiet hour after it.
fn wanted_by_load(seed: u64, target: &str) -> [u32; 3] {
    let mut run = start("memory-never-down", seed, &[("hpa.target_percent", target)]);
    let at_minute = |run: &mut seven_of_eight::session::Run, minute: u64| {
        run.advance(Time::from_secs(minute * 60), usize::MAX);
        run.world().snapshot().services[0].replicas_wanted
    };
    [at_minute(&mut run, 5), at_minute(&mut run, 34), at_minute(&mut run, 64)]
}

#[test]
fn memory_never_down_the_signal_does_not_know_the_load() {
    for seed in SEEDS {
        for target in ["70", "80"] {
            assert_eq!(
                wanted_by_load(seed, target)[1..],
                [14, 14],
                "seed {seed}, target {target}: runs to the maximum"
            );
        }
        for target in ["90", "100"] {
            assert_eq!(wanted_by_load(seed, target), [8, 8, 8], "seed {seed}, target {target}: nothing moves");
        }
        let [_, plateau, after] = wanted_by_load(seed, "120");
        assert!(plateau < 8 && plateau > 1, "seed {seed}: shrinks to a floor, {plateau}");
        assert_eq!(plateau, after, "seed {seed}: and stays there, whatever the load");
    }
}

fn drained(seed: u64, set: &[(&str, &str)]) -> Snapshot {
    finish("graceful-drain", seed, set)
}

#[test]
fn graceful_drain_a_long_grace_loses_nothing_and_a_short_one_cuts_long_answers() {
    for seed in SEEDS {
        let short = drained(seed, &[]).requests;
        let long = drained(seed, &[("drain.grace", "180s"), ("drain.shutdown_timeout", "175s")]).requests;
        let none = drained(seed, &[("drain.shutdown_timeout", "0s")]).requests;
        println!("seed {seed}: 30 s {}, 180 s {}, timeout 0 {}", short.lost, long.lost, none.lost);
        assert!(short.lost >= 5, "seed {seed}: {} cut off", short.lost);
        assert_eq!(long.lost + long.failed, 0, "seed {seed}");
        assert!(none.lost > short.lost, "seed {seed}: {} against {}", none.lost, short.lost);
    }
}

#[test]
fn graceful_drain_without_pre_stop_requests_reach_a_server_that_refuses() {
    for seed in SEEDS {
        let without = drained(seed, &[("drain.pre_stop", "0s"), ("drain.endpoint_delay", "10s")]).requests;
        let with = drained(seed, &[("drain.pre_stop", "15s"), ("drain.endpoint_delay", "10s")]).requests;
        println!("seed {seed}: {} failed, {} with the hook", without.failed, with.failed);
        assert!(without.failed > 0, "seed {seed}");
        assert_eq!(with.failed, 0, "seed {seed}");
    }
}

#[test]
fn shed_load_limits_save_what_can_be_served() {
    for seed in SEEDS {
        let all = |set: &[(&str, &str)]| met(&service(&finish("shed-load", seed, set), "chat-14b").requests);
        let nothing = all(&[]);
        let limit = all(&[("gateway.queue_limit", "5")]);
        let deadline = all(&[("gateway.deadline_drop", "on")]);
        println!("seed {seed}: nothing {nothing:.3}, limit {limit:.3}, deadline {deadline:.3}");
        assert!(limit > nothing + 0.05, "seed {seed}: queue limit");
        assert!(deadline > nothing + 0.05, "seed {seed}: deadline");
    }
}

#[test]
fn shed_load_short_answers_come_in_time_and_are_not_what_was_asked_for() {
    for seed in SEEDS {
        let r = service(&finish("shed-load", seed, &[("gateway.output_cap", "200")]), "chat-14b").requests;
        assert!(r.late + r.timed_out < r.offered / 50, "seed {seed}: {r:?}");
        assert!(r.degraded > r.offered / 2 && r.degraded <= r.cut, "seed {seed}: {r:?}");
    }
}

#[test]
fn shed_load_the_lower_class_goes_first() {
    for seed in SEEDS {
        let s = finish("shed-load", seed, &[("gateway.queue_limit", "5"), ("engine.scheduling", "priority")]);
        let tenants = &service(&s, "chat-14b").tenants;
        let (paid, free) = (met(&tenants[0].requests), met(&tenants[1].requests));
        println!("seed {seed}: paid {paid:.3}, free {free:.3}");
        assert!(paid > free + 0.1, "seed {seed}: {paid} against {free}");
    }
}

#[test]
fn shed_load_the_fallback_answers_and_retries_come_back_as_load() {
    for seed in SEEDS {
        let limit = ("gateway.queue_limit", "5");
        let without = finish("shed-load", seed, &[limit]).requests;
        let fallback = finish("shed-load", seed, &[limit, ("gateway.fallback", "on")]).requests;
        assert!(fallback.degraded > 100, "seed {seed}: {}", fallback.degraded);
        assert!(fallback.rejected < without.rejected / 4, "seed {seed}: {} rejected", fallback.rejected);
        let retries = finish("shed-load", seed, &[limit, ("gateway.retries", "3")]).requests;
        println!(
            "seed {seed}: {} degraded; {} retries, met {:.3} against {:.3}",
            fallback.degraded,
            retries.retries,
            met(&retries),
            met(&without)
        );
        assert!(retries.retries > without.rejected, "seed {seed}: {} further attempts", retries.retries);
    }
}

#[test]
fn prefill_decode_apart_keeps_the_pace_of_long_prompts() {
    for seed in SEEDS {
        let s = finish("prefill-decode", seed, &[]);
        let (whole, apart) = (service(&s, "whole-32b").requests, service(&s, "prefill-32b").requests);
        println!("seed {seed}: whole {:.3}, apart {:.3}", met(&whole), met(&apart));
        assert!(met(&apart) > met(&whole), "seed {seed}");
    }
}

/// The most replicas wanted of prefill and decode, the share of prefill's requests that met their
/// targets, and GPU-minutes in use, with an HPA and a burst of long prompts.
fn scaled_roles(seed: u64, roles: &str) -> (u32, u32, f64, f64) {
    let mut run = start("prefill-decode", seed, &[("replicas.scaler", "hpa"), ("engine.roles", roles)]);
    run.advance(Time::from_secs(300), usize::MAX);
    let prefill = service(&run.world().snapshot(), "prefill-32b").id;
    let over = seven_of_eight::sim::time::Span::from_mins(10);
    let spike = Command::InjectSpike { service: prefill, requests: 5000, over, long_prompt_tokens: 0 };
    run.act(&spike).expect("allowed");
    let (mut most_prefill, mut most_decode) = (0, 0);
    let end = run.end();
    watch(&mut run, end, |s| {
        most_prefill = most_prefill.max(service(s, "prefill-32b").replicas_wanted);
        most_decode = most_decode.max(service(s, "decode-32b").replicas_wanted);
    });
    let s = run.world().snapshot();
    let serving: f64 = [5, 6].iter().map(|i| s.ledger.gpu_time[*i as usize].mins_f64()).sum();
    (most_prefill, most_decode, met(&service(&s, "prefill-32b").requests), serving)
}

#[test]
fn prefill_decode_the_queue_hardly_sees_the_decode_side() {
    for seed in SEEDS {
        let apart = scaled_roles(seed, "separate");
        let together = scaled_roles(seed, "together");
        println!("seed {seed}: apart {apart:?}, together {together:?}");
        assert!(apart.0 == 4 && apart.1 < apart.0, "seed {seed}: prompts queue, answers only slow down");
        assert_eq!(together.0, together.1, "seed {seed}");
        assert!(together.3 > apart.3 + 10.0, "seed {seed}: GPU-minutes {} against {}", together.3, apart.3);
        // More decode replicas than the queue asks for are not wasted: answers come faster.
        assert!(together.2 > apart.2, "seed {seed}: served {} against {}", together.2, apart.2);
    }
}

#[test]
fn mig_or_slices_neighbours_matter_but_on_mig() {
    for seed in SEEDS {
        let mut run = start("mig-or-slices", seed, &[]);
        let mut slowest = [0.0f32; 3];
        watch(&mut run, Time::from_secs(1_140), |s| {
            for (i, name) in ["mig-a", "turns-a", "mps-a"].iter().enumerate() {
                let id = service(s, name).id;
                let group = s.groups.iter().find(|g| g.service == id).expect("its replica");
                slowest[i] = slowest[i].max(group.slowdown);
            }
        });
        let s = run.world().snapshot();
        let late = |name: &str| 1.0 - met(&service(&s, name).requests);
        println!(
            "seed {seed}: slowest {slowest:?}; late {:.3} {:.3} {:.3}",
            late("mig-a"),
            late("turns-a"),
            late("mps-a")
        );
        assert!(late("mig-a") < 0.05 && late("mps-a") < 0.05, "seed {seed}: the burst is not felt");
        assert!(late("turns-a") > 0.3, "seed {seed}: it is felt by who takes turns: {}", late("turns-a"));
        assert!(late("mps-c") < late("turns-c").min(late("mig-c")), "seed {seed}: overlapping serves the burst best");
        assert_eq!(slowest[0], 1.0, "seed {seed}: a slice has no neighbours");
        assert!(slowest[1] > 3.0, "seed {seed}: three that take turns");
        assert!(slowest[2] > 1.4 && slowest[2] < slowest[1], "seed {seed}: kernels overlap, {}", slowest[2]);
    }
}

#[test]
fn mig_or_slices_one_fault_takes_all_down_under_mps_only() {
    for seed in SEEDS {
        let mut run = start("mig-or-slices", seed, &[]);
        run.advance(Time::from_secs(1_201), usize::MAX);
        let s = run.world().snapshot();
        let ready = |kind: &str| {
            ["a", "b", "c"].iter().filter(|m| service(&s, &format!("{kind}-{m}")).replicas_ready == 1).count()
        };
        assert_eq!((ready("mig"), ready("turns"), ready("mps")), (2, 2, 0), "seed {seed}");
    }
}
