//! Properties of shared links: nothing is lost, nobody goes too fast, sharing is fair.

use super::*;
use proptest::prelude::*;

/// `(start in µs, bytes, limit in bytes/s, node, through the shared link)`.
type Load = (u64, u64, f64, u32, bool);

const NIC: f64 = 1.25e9;
const SHARED: f64 = 2e9;

fn path(node: u32, shared: bool) -> Vec<(Link, f64)> {
    let mut path = vec![(Link::Nic(NodeId(node)), NIC)];
    if shared {
        path.push((Link::ObjectStore, SHARED));
    }
    path
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let load = (0u64..20_000_000, 0u64..40_000_000_000, 1e7..5e9, 0u32..3, any::<bool>());
    prop::collection::vec(load, 1..24).prop_map(|mut loads| {
        loads.sort_by_key(|l| l.0);
        loads
    })
}

/// Plays loads to the end, calling `look` after each start and end; the time at which each is over.
fn play(loads: &[Load], mut look: impl FnMut(&Links, Time)) -> Vec<Time> {
    let mut links = Links::default();
    let mut ends = vec![Time::ZERO; loads.len()];
    let mut order = Vec::new();
    let mut next = 0;
    loop {
        let start = loads.get(next).map(|l| Time(l.0));
        let end = links.next_end();
        match (start, end) {
            (Some(start), end) if end.is_none_or(|e| start < e) => {
                let (_, bytes, limit, node, shared) = loads[next];
                order.push((links.start(start, bytes, limit, &path(node, shared)), next));
                next += 1;
                look(&links, start);
            }
            (_, Some(end)) => {
                let over = links.finish(end);
                assert!(!over.is_empty(), "the next end ends something");
                for id in over {
                    ends[order.iter().find(|(f, _)| *f == id).unwrap().1] = end;
                }
                look(&links, end);
            }
            _ => return ends,
        }
    }
}

proptest! {
    #[test]
    fn bytes_are_conserved_and_nobody_exceeds_its_limit_or_a_link(loads in loads()) {
        // Rates are constant between looks, so their integral is what was moved.
        let mut rates: Vec<(FlowId, f64)> = Vec::new();
        let mut moved: BTreeMap<FlowId, f64> = BTreeMap::new();
        let mut last = Time::ZERO;
        play(&loads, |links, now| {
            for (id, rate) in &rates {
                *moved.entry(*id).or_default() += rate / 1e6 * now.since(last).0 as f64;
            }
            last = now;
            rates = links.ids().map(|id| (id, links.rate(id).unwrap())).collect();
            let mut on: BTreeMap<Link, f64> = BTreeMap::new();
            for (id, rate) in &rates {
                let (_, _, limit, node, shared) = loads[id.0 as usize];
                assert!(*rate <= limit * (1.0 + 1e-12));
                for (link, _) in path(node, shared) {
                    *on.entry(link).or_default() += rate;
                }
            }
            for (link, sum) in on {
                let capacity = if link == Link::ObjectStore { SHARED } else { NIC };
                assert!(sum <= capacity * (1.0 + 1e-9), "{link:?}: {sum}");
            }
        });
        for (i, load) in loads.iter().enumerate() {
            let moved = moved.get(&FlowId(i as u64)).copied().unwrap_or(0.0);
            // An end is rounded up by less than a microsecond at the flow's rate.
            let slack = load.2.min(NIC) / 1e6 + 1.0;
            prop_assert!((moved - load.1 as f64).abs() <= slack, "{i}: {moved} of {}", load.1);
        }
    }

    #[test]
    fn n_equal_loaders_take_n_times_as_long(n in 1usize..40, bytes in 1_000_000u64..50_000_000_000) {
        let alone = play(&[(0, bytes, 9e9, 0, false)], |_, _| {})[0];
        let all = play(&vec![(0, bytes, 9e9, 0, false); n], |_, _| {});
        prop_assert!(all.iter().all(|t| *t == all[0]), "equal loaders end together");
        let expected = alone.0 as f64 * n as f64;
        prop_assert!((all[0].0 as f64 - expected).abs() <= n as f64 + 1.0, "{} against {expected}", all[0].0);
    }

    #[test]
    fn the_order_of_equal_starts_does_not_matter(loads in loads(), at in 0u64..1000, turn in 0usize..24) {
        let together: Vec<Load> = loads.iter().map(|l| (at, l.1, l.2, l.3, l.4)).collect();
        let mut turned = together.clone();
        let turn = turn % together.len();
        turned.rotate_left(turn);
        let mut ends = play(&turned, |_, _| {});
        ends.rotate_right(turn);
        prop_assert_eq!(play(&together, |_, _| {}), ends);
    }

    #[test]
    fn reading_changes_nothing(loads in loads(), looks in prop::collection::vec(0u64..1_000_000, 1..8)) {
        let quiet = play(&loads, |_, _| {});
        let read = play(&loads, |links, now| {
            let before = links.clone();
            for ahead in &looks {
                for id in links.ids() {
                    let _ = (links.left(id, now + Span(*ahead)), links.held(id), links.ends(id));
                }
            }
            assert_eq!(before, *links);
        });
        prop_assert_eq!(quiet, read);
    }

    /// Two loaders on a link: the one that starts later ends as the formula says.
    #[test]
    fn a_second_loader_halves_the_rate_while_it_is_there(late_us in 1u64..10_000_000) {
        let bytes = 12_500_000_000; // 10 s alone at 1.25 GB/s
        let ends = play(&[(0, bytes, 9e9, 0, false), (late_us, bytes, 9e9, 0, false)], |_, _| {});
        prop_assert!(ends[0].0.abs_diff(20_000_000 - late_us) <= 2, "{:?}", ends);
        prop_assert!(ends[1].0.abs_diff(20_000_000) <= 3, "{:?}", ends);
    }
}

#[test]
fn what_holds_a_flow_is_its_client_or_the_tightest_link() {
    let mut links = Links::default();
    let slow = links.start(Time::ZERO, 1_000_000_000, 1e6, &path(0, true));
    assert_eq!(links.held(slow), Some(Held::Client));
    let fast = links.start(Time::ZERO, 1_000_000_000, 9e9, &path(1, true));
    assert_eq!(links.held(fast), Some(Held::Link { link: Link::ObjectStore, flows: 2 }));
    assert_eq!(links.stop(Time::from_secs(1), slow), Some(1_000_000));
    assert_eq!(links.finish(Time::from_secs(2)), vec![fast]);
    assert_eq!(links.next_end(), None);
    assert_eq!((links.ends(fast), links.left(fast, Time::from_secs(2))), (None, None));
}

#[test]
fn a_stopped_link_never_ends_a_flow_and_an_empty_flow_ends_at_once() {
    let mut links = Links::default();
    let still = links.start(Time::ZERO, 1, 0.0, &path(0, false));
    assert_eq!((links.next_end(), links.ends(still)), (None, None));
    let empty = links.start(Time::from_secs(3), 0, 1e9, &path(0, false));
    assert_eq!(links.next_end(), Some(Time::from_secs(3)));
    assert_eq!(links.finish(Time::from_secs(3)), vec![empty]);
}
