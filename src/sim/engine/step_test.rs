use super::super::memory::kv_capacity_tokens;
use super::super::spec::{EngineSettings, Fabric};
use super::*;
use crate::sim::catalog::{self, Dtype};

struct Row {
    model: &'static str,
    gpu: &'static str,
    tp: u32,
    weights: Dtype,
    kv: Dtype,
    decode_ms: [f64; 4],
    prefill_ms: [f64; 2],
    kv_tokens: u64,
}

#[rustfmt::skip]
fn published() -> Vec<Row> {
    use Dtype::{Bf16, Fp8};
    let row = |model, gpu, tp, weights, kv, decode_ms, prefill_ms, kv_tokens| Row {
        model, gpu, tp, weights, kv, decode_ms, prefill_ms, kv_tokens,
    };
    vec![
        row("llama-3.1-8b", "a10g", 1, Bf16, Bf16, [32.9, 35.2, 44.1, 90.4], [302., 2777.], 27_888),
        row("llama-3.1-8b", "l40s", 1, Bf16, Bf16, [23.7, 25.2, 30.4, 52.0], [77., 662.], 192_448),
        row("llama-3.1-8b", "a100-sxm-80gb", 1, Bf16, Bf16, [11.8, 12.6, 15.4, 28.6], [67., 598.], 449_104),
        row("llama-3.1-8b", "h100-sxm", 1, Bf16, Bf16, [6.8, 7.3, 8.7, 14.7], [23., 195.], 448_736),
        row("qwen2.5-14b", "l40s", 1, Bf16, Bf16, [43.6, 45.8, 53.5, 85.6], [143., 1230.], 59_744),
        row("qwen2.5-14b", "l40s", 1, Fp8, Bf16, [26.1, 28.3, 35.9, 67.9], [103., 925.], 126_928),
        row("qwen3-32b", "h100-sxm", 2, Bf16, Bf16, [14.6, 15.0, 16.7, 23.6], [57., 475.], 315_584),
        row("llama-3.3-70b", "a100-sxm-80gb", 4, Bf16, Bf16, [28.0, 28.8, 32.0, 48.9], [189., 1562.], 474_832),
        row("llama-3.3-70b", "h100-sxm", 2, Fp8, Bf16, [17.6, 18.3, 20.5, 30.8], [90., 734.], 230_704),
        row("llama-3.3-70b", "h100-sxm", 4, Fp8, Bf16, [11.3, 11.7, 13.3, 20.3], [59., 463.], 683_136),
        row("llama-3.3-70b", "h100-sxm", 8, Fp8, Bf16, [8.2, 8.5, 9.7, 14.8], [41., 307.], 1_588_000),
        row("llama-3.3-70b", "h200-sxm", 1, Fp8, Fp8, [22.5, 23.1, 25.3, 37.8], [142., 1214.], 371_376),
        row("mixtral-8x7b", "h100-sxm", 2, Bf16, Bf16, [7.3, 17.9, 20.5, 24.7], [38., 258.], 418_400),
        row("deepseek-v3", "h200-sxm", 8, Fp8, Bf16, [10.3, 14.5, 23.9, 35.1], [48., 251.], 692_064),
    ]
}

fn spec(row: &Row) -> EngineSpec {
    EngineSpec {
        weight_dtype: row.weights,
        kv_dtype: row.kv,
        ..EngineSpec::new(catalog::model(row.model).unwrap(), catalog::gpu(row.gpu).unwrap(), row.tp)
    }
}

fn prefill_ms(cost: &StepCost, prompt: u32, budget: u32) -> f64 {
    let (mut done, mut us) = (0, 0.0);
    while done < prompt {
        let chunk = (prompt - done).min(budget);
        let mut work = PrefillWork::default();
        cost.add_chunk(&mut work, chunk, done, done + chunk == prompt);
        us += cost.step_us(0.0, 0.0, &work);
        done += chunk;
    }
    us / 1e3
}

#[test]
fn steps_and_capacity_reproduce_the_worked_table() {
    for row in published() {
        let spec = spec(&row);
        let cost = StepCost::new(&spec, 256).unwrap();
        let name = format!("{} on {} x{}", row.model, row.gpu, row.tp);
        for (batch, want) in [1.0, 8.0, 32.0, 128.0].into_iter().zip(row.decode_ms) {
            let got = cost.step_us(batch, batch * 1000.0, &PrefillWork::default()) / 1e3;
            assert!((got - want).abs() <= 0.06 + 0.002 * want, "{name}, batch {batch}: {got} for {want}");
        }
        for (prompt, want) in [1024, 8192].into_iter().zip(row.prefill_ms) {
            let got = prefill_ms(&cost, prompt, 8192);
            assert!((got - want).abs() <= 0.6 + 0.01 * want, "{name}, prompt {prompt}: {got} for {want}");
        }
        let settings = EngineSettings { gpu_memory_utilization: 0.9, ..EngineSettings::defaults(spec.gpu) };
        let tokens = kv_capacity_tokens(&spec, &settings).unwrap();
        let off = (tokens as f64 - row.kv_tokens as f64).abs() / row.kv_tokens as f64;
        assert!(off < 0.005, "{name}: {tokens} KV tokens for {}", row.kv_tokens);
    }
}

fn llama70(tp: u32, pp: u32) -> EngineSpec {
    EngineSpec {
        pp,
        pp_fabric: Fabric::AcrossNodes { nic_gb_s: 50.0 },
        ..EngineSpec::new(catalog::model("llama-3.3-70b").unwrap(), catalog::gpu("h100-sxm").unwrap(), tp)
    }
}

#[test]
fn a_step_is_its_base_plus_slope_times_context() {
    let cost = StepCost::new(&llama70(4, 1), 64).unwrap();
    let mut work = PrefillWork::default();
    cost.add_chunk(&mut work, 512, 100, true);
    for (batch, context) in [(1_u32, 10.0), (40, 40_000.0), (90, 5e5)] {
        let whole = cost.step_us(f64::from(batch), context, &work);
        let parts = cost.mixed_base(batch, &work).time_us + cost.kv_us_per_token(batch) * context;
        assert!((whole - parts).abs() < 1e-6);
        let decode = cost.step_us(f64::from(batch), 0.0, &PrefillWork::default());
        assert_eq!(decode, cost.decode_base(batch).time_us, "inside and beyond the table");
    }
}

#[test]
fn limits_are_weights_over_bandwidth_and_operations_over_peak() {
    let spec = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), catalog::gpu("h100-sxm").unwrap(), 1);
    let cost = StepCost::new(&spec, 1).unwrap();
    let one = cost.step_us(1.0, 100.0, &PrefillWork::default());
    let weights = 15.0e9 / (0.84 * 3350e3);
    assert!(one > weights && one < 1.35 * weights, "{one} against {weights}");
    let big = prefill_ms(&cost, 8192, 8192) * 1e3;
    let compute = 2.0 * 6.98e9 * 8192.0 / (0.8 * 989e6);
    assert!(big > compute && big < 1.5 * compute, "{big} against {compute}");
}

#[test]
fn more_gpus_of_one_domain_never_slow_a_step_and_a_domain_border_does() {
    let none = PrefillWork::default();
    let us = |spec: EngineSpec| StepCost::new(&spec, 8).unwrap().step_us(8.0, 8000.0, &none);
    assert!(us(llama70(2, 1)) > us(llama70(4, 1)) && us(llama70(4, 1)) > us(llama70(8, 1)));
    let across = EngineSpec { tp_fabric: Fabric::AcrossNodes { nic_gb_s: 50.0 }, ..llama70(8, 1) };
    assert!(us(across) > 2.0 * us(llama70(8, 1)));
}

#[test]
fn pipeline_stages_raise_throughput_at_most_stage_fold() {
    let (flat, piped) = (StepCost::new(&llama70(4, 1), 256).unwrap(), StepCost::new(&llama70(4, 2), 256).unwrap());
    let none = PrefillWork::default();
    let one = [flat.step_us(1.0, 1e3, &none), piped.step_us(1.0, 1e3, &none)];
    assert!(one[1] > one[0], "a lone request gains nothing from stages");
    let many = [flat.step_us(128.0, 128e3, &none), piped.step_us(128.0, 128e3, &none)];
    assert!(many[1] < many[0] && many[1] > many[0] / 2.0, "{many:?}");
}

#[test]
fn a_mig_slice_is_slower_and_may_not_be_parallel() {
    let gpu = catalog::gpu("h100-sxm").unwrap();
    let whole = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), gpu, 1);
    let slice = EngineSpec { mig: gpu.mig.iter().find(|m| m.name == "3g.40gb"), ..whole };
    let none = PrefillWork::default();
    let us = |spec: &EngineSpec| StepCost::new(spec, 8).unwrap().linear_us(1.0) + none.attention_us;
    assert!(us(&slice) > 1.8 * us(&whole));
    let parallel = EngineSpec { tp: 2, ..slice };
    assert_eq!(StepCost::new(&parallel, 8).unwrap_err(), StartError::SliceCannotBeParallel { tp: 2 });
}

#[test]
fn formats_that_a_part_does_not_know_are_refused() {
    let a10g = catalog::gpu("a10g").unwrap();
    let base = EngineSpec::new(catalog::model("llama-3.1-8b").unwrap(), a10g, 1);
    let weights = EngineSpec { weight_dtype: Dtype::Fp8, ..base };
    assert!(matches!(StepCost::new(&weights, 8), Err(StartError::WeightFormat { .. })));
    let kv = EngineSpec { kv_dtype: Dtype::Fp8, ..base };
    assert!(matches!(StepCost::new(&kv, 8), Err(StartError::KvFormat { .. })));
    let tp = EngineSpec { tp: 3, ..base };
    assert!(matches!(StepCost::new(&tp, 8), Err(StartError::TpDoesNotDivideHeads { .. })));
}

fn limits(max_num_seqs: u32, max_num_batched_tokens: u32) -> EngineLimits {
    EngineLimits { max_num_seqs, max_num_batched_tokens, max_model_len: 8192, kv_blocks: 10_000 }
}

fn bits(base: StepBase) -> [u64; 4] {
    [base.time_us, base.dram_us, base.tensor_us, base.sm_us].map(f64::to_bits)
}

#[test]
fn tables_hold_the_values_of_the_formulas() {
    let moe = EngineSpec::new(catalog::model("mixtral-8x7b").unwrap(), catalog::gpu("h100-sxm").unwrap(), 2);
    for spec in [llama70(4, 1), llama70(4, 2), moe] {
        let (plain, tabulated) =
            (StepCost::new(&spec, 0).unwrap(), StepCost::for_limits(&spec, &limits(64, 2048)).unwrap());
        for batch in [0, 1, 7, 64, 65] {
            assert_eq!(bits(plain.decode_base(batch)), bits(tabulated.decode_base(batch)));
            for new in [1, 2, 333, 1984, 2048, 5000] {
                let mut work = PrefillWork::default();
                plain.add_chunk(&mut work, new, 77, true);
                assert_eq!(bits(plain.mixed_base(batch, &work)), bits(tabulated.mixed_base(batch, &work)));
            }
        }
    }
}

#[test]
fn replicas_of_one_spec_share_their_tables() {
    let mut costs = StepCosts::default();
    let first = costs.get(&llama70(4, 1), &limits(64, 2048)).unwrap();
    let again = costs.get(&llama70(4, 1), &limits(64, 2048)).unwrap();
    assert!(Arc::ptr_eq(&first.terms, &again.terms));
    assert!(!Arc::ptr_eq(&first.terms, &costs.get(&llama70(8, 1), &limits(64, 2048)).unwrap().terms));
    let impossible = EngineSpec { tp: 3, ..llama70(4, 1) };
    assert!(costs.get(&impossible, &limits(64, 2048)).is_err());
}

#[test]
fn no_activity_takes_longer_than_the_step() {
    for row in published() {
        let cost = StepCost::new(&spec(&row), 256).unwrap();
        for batch in [1, 8, 32, 128] {
            let base = cost.decode_base(batch);
            let context = f64::from(batch) * 1000.0;
            let step = base.time_us + cost.kv_us_per_token(batch) * context;
            let dram = base.dram_us + cost.kv_activity().peak_us_per_token * context;
            let sm = base.sm_us + cost.kv_activity().sm_us_per_token * context;
            assert!(base.tensor_us < dram && dram < sm && sm < step, "{}: {dram} {sm} {step}", row.model);
            assert!(sm > 0.75 * step, "{}: hosts keep a GPU waiting for less: {sm} of {step}", row.model);
        }
    }
}

#[test]
fn a_lone_request_keeps_one_pipeline_stage_of_two_active() {
    let cost = StepCost::new(&llama70(4, 2), 8).unwrap();
    let share = |batch| cost.decode_base(batch).sm_us / cost.decode_base(batch).time_us;
    assert!(share(1) < 0.5 && share(2) > 0.8, "{} {}", share(1), share(2));
}
