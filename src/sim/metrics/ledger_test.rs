//! The two accounts agree to the last part of a GPU-microsecond, whatever is switched when.

use super::*;
use proptest::prelude::*;

const NODE: NodeId = NodeId(0);

fn at(s: u64) -> Time {
    Time::from_secs(s)
}

#[test]
fn time_and_money_by_state_are_exact() {
    let mut ledger = Ledger::default();
    let price = Microusd::from_usd(98.32);
    ledger.grant(at(0), NODE, 8, price).unwrap();
    for gpu in 0..8 {
        ledger.switch(at(600), NODE, gpu, GpuState::Empty).unwrap();
    }
    ledger.switch(at(900), NODE, 3, GpuState::ServingBusy).unwrap();
    let totals = ledger.totals(at(3600));
    assert_eq!(totals.time(GpuState::Booting).gpu_us(), 8 * 600_000_000);
    assert_eq!(totals.time(GpuState::ServingBusy).gpu_us(), 2_700_000_000);
    assert_eq!(totals.time_sum().gpu_us(), 8 * 3_600_000_000);
    assert_eq!(totals.cost(GpuState::ServingBusy).microusd(), Microusd(98_320_000 / 8 * 3 / 4));
    assert_eq!(ledger.bill(at(3600)).cost().microusd(), price);
    assert_eq!(ledger.check(at(3600)), Ok(()));
}

#[test]
fn a_price_that_does_not_divide_by_the_gpus_still_sums() {
    let mut ledger = Ledger::default();
    ledger.grant(at(0), NODE, 7, Microusd(1_000_001)).unwrap();
    ledger.switch(Time(1), NODE, 6, GpuState::Held).unwrap();
    ledger.switch(Time(3_599_999_999), NODE, 2, GpuState::Training).unwrap();
    assert_eq!(ledger.check(at(3600)), Ok(()));
    assert_eq!(ledger.totals(at(3600)).cost_sum().microusd(), Microusd(1_000_001));
}

#[test]
fn slices_of_a_gpu_share_its_time() {
    let mut ledger = Ledger::default();
    ledger.grant(at(0), NODE, 1, Microusd::from_usd(7.0)).unwrap();
    let busy_and_idle = [(GpuState::ServingBusy, 3), (GpuState::ServingIdle, 4)];
    ledger.divide(at(0), NODE, 0, &busy_and_idle).unwrap();
    ledger.switch_slice(at(700), NODE, 0, 1, GpuState::Empty).unwrap();
    let totals = ledger.totals(at(1400));
    assert_eq!(totals.time(GpuState::ServingBusy).gpu_us(), 600_000_000);
    assert_eq!(totals.time(GpuState::ServingIdle).gpu_us(), 400_000_000);
    assert_eq!(totals.time(GpuState::Empty).gpu_us(), 400_000_000);
    assert_eq!(ledger.parts_by_state().iter().sum::<u64>(), PARTS_PER_GPU);
    assert_eq!(ledger.check(at(1400)), Ok(()));
}

#[test]
fn nodes_without_gpus_are_billed_apart() {
    let mut ledger = Ledger::default();
    ledger.grant(at(0), NODE, 0, Microusd::from_usd(0.5)).unwrap();
    let bill = ledger.bill(at(7200));
    assert_eq!((bill.cpu_cost.microusd(), bill.gpu_time), (Microusd(1_000_000), GpuTime(0)));
    assert_eq!(ledger.check(at(7200)), Ok(()));
    assert_eq!(ledger.totals(at(7200)), Totals::default());
}

#[test]
fn wrong_calls_are_refused_and_change_no_account() {
    let mut ledger = Ledger::default();
    ledger.grant(at(0), NODE, 4, Microusd(1)).unwrap();
    let before = ledger.clone();
    assert_eq!(ledger.grant(at(0), NODE, 4, Microusd(1)), Err(LedgerError::AlreadyGranted(NODE)));
    assert_eq!(ledger.grant(at(0), NodeId(1), 17, Microusd(1)), Err(LedgerError::GpuCountNotSupported { gpus: 17 }));
    let gpu = 4;
    assert_eq!(ledger.switch(at(0), NODE, gpu, GpuState::Held), Err(LedgerError::UnknownGpu { node: NODE, gpu }));
    let bad = Err(LedgerError::BadSlices { node: NODE, gpu: 0 });
    assert_eq!(ledger.divide(at(0), NODE, 0, &[]), bad);
    assert_eq!(ledger.divide(at(0), NODE, 0, &[(GpuState::Held, 0)]), bad);
    assert_eq!(ledger.release(at(0), NodeId(9)), Err(LedgerError::UnknownNode(NodeId(9))));
    assert_eq!(ledger, before);
}

#[test]
fn a_missed_switch_is_found_by_the_check() {
    let mut ledger = Ledger::default();
    ledger.grant(at(0), NODE, 2, Microusd(100)).unwrap();
    ledger.nodes.get_mut(&NODE).unwrap().meters[1].since = at(5);
    let found = ledger.check(at(10)).unwrap_err();
    assert_eq!((found.node, found.billed.0.gpu_us()), (Some(NODE), 20_000_000));
    assert_eq!(found.metered.0.gpu_us(), 15_000_000);
}

/// One call with its time step, some of them wrong or going back in time.
#[derive(Debug, Clone)]
enum Call {
    Grant(u32, u32, u64),
    Switch(u32, u32, usize),
    Slice(u32, u32, u32, usize),
    Divide(u32, u32, Vec<(usize, u32)>),
    Release(u32),
}

fn call() -> impl Strategy<Value = Call> {
    let sizes = prop_oneof![Just(0u32), Just(1), Just(4), Just(7), Just(8), Just(72)];
    prop_oneof![
        2 => (0u32..5, sizes, 0u64..200_000_000).prop_map(|(n, g, p)| Call::Grant(n, g, p)),
        6 => (0u32..5, 0u32..8, 0usize..8).prop_map(|(n, g, s)| Call::Switch(n, g, s)),
        2 => (0u32..5, 0u32..8, 0u32..4, 0usize..8).prop_map(|(n, g, i, s)| Call::Slice(n, g, i, s)),
        1 => (0u32..5, 0u32..8, proptest::collection::vec((0usize..8, 0u32..12), 0..9))
            .prop_map(|(n, g, s)| Call::Divide(n, g, s)),
        1 => (0u32..5).prop_map(Call::Release),
    ]
}

fn apply(ledger: &mut Ledger, now: Time, call: &Call) -> bool {
    let state = |i: &usize| GpuState::ALL[*i];
    match call {
        Call::Grant(node, gpus, price) => ledger.grant(now, NodeId(*node), *gpus, Microusd(*price)).is_ok(),
        Call::Switch(node, gpu, s) => ledger.switch(now, NodeId(*node), *gpu, state(s)).is_ok(),
        Call::Slice(node, gpu, slice, s) => ledger.switch_slice(now, NodeId(*node), *gpu, *slice, state(s)).is_ok(),
        Call::Divide(node, gpu, slices) => {
            let slices: Vec<(GpuState, u32)> = slices.iter().map(|(s, w)| (state(s), *w)).collect();
            ledger.divide(now, NodeId(*node), *gpu, &slices).is_ok()
        }
        Call::Release(node) => ledger.release(now, NodeId(*node)).is_ok(),
    }
}

proptest! {
    #[test]
    fn states_sum_to_the_bill_exactly(
        calls in proptest::collection::vec((0u64..4_000_000_000, any::<bool>(), call()), 1..120),
        ahead in 0u64..1_000_000_000,
    ) {
        let mut ledger = Ledger::default();
        let mut now = Time::ZERO;
        for (step, back, call) in &calls {
            now += Span(*step);
            let when = if *back { now - Span(step / 2 + 7) } else { now };
            apply(&mut ledger, when, call);
            prop_assert_eq!(ledger.check(when), Ok(()));
        }
        let before = ledger.clone();
        let end = now + Span(ahead);
        prop_assert_eq!(ledger.check(end), Ok(()));
        let (totals, bill) = (ledger.totals(end), ledger.bill(end));
        prop_assert_eq!(totals.time_sum(), bill.gpu_time);
        prop_assert_eq!(totals.cost_sum(), bill.gpu_cost);
        prop_assert_eq!(ledger, before);
    }

    #[test]
    fn whole_gpus_give_whole_gpu_microseconds(
        switches in proptest::collection::vec((0u64..1_000_000_000, 0u32..8, 0usize..8), 0..60), ahead in 0u64..1_000_000_000,
    ) {
        let mut ledger = Ledger::default();
        ledger.grant(Time::ZERO, NODE, 8, Microusd(31_313_131)).unwrap();
        let mut now = Time::ZERO;
        for (step, gpu, state) in switches {
            now += Span(step);
            ledger.switch(now, NODE, gpu, GpuState::ALL[state]).unwrap();
        }
        let end = now + Span(ahead);
        let totals = ledger.totals(end);
        let by_state: u128 = GpuState::ALL.iter().map(|s| totals.time(*s).gpu_us()).sum();
        prop_assert_eq!(by_state, 8 * u128::from(end.0));
    }
}
