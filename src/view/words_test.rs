//! Sentences, verdicts, tables and announcements over the scene of the trap.

use super::names::Names;
use super::trap_fixture::{self as fixture, decision, hpa, sync, trap, usd};
use super::{announce, cards, inspect, score, why, words};
use crate::i18n::{Lang, Message, plain, render};
use crate::sim::decision::{Tone, Verdict, Who};
use crate::sim::id::{GroupId, NodeId};
use crate::sim::param::{Kind, Param};
use crate::sim::snapshot::{GpuUse, GroupStage, HpaLimit, Snapshot};
use crate::sim::time::{Span, Time};
use crate::sim::wait::WaitReason;
use std::collections::BTreeSet;

fn langs() -> Vec<Lang> {
    ["en", "x-long", "x-double", "x-rtl"].into_iter().filter_map(Lang::from_tag).collect()
}

fn english(message: &Message) -> String {
    render(&Lang::english(), message)
}

/// Renders in every language and checks that nothing of the template's grammar is left.
#[track_caller]
fn clean(message: &Message) {
    for lang in langs() {
        let text = render(&lang, message);
        assert!(!text.contains(['{', '}']), "{}: {text}", lang.tag);
        assert!(!text.contains("plural"), "{}: {text}", lang.tag);
        assert_eq!(text.matches("**").count() % 2, 0, "{}: {text}", lang.tag);
        assert!(!plain(&text).trim().is_empty(), "{message:?}");
    }
}

#[track_caller]
fn says(verdict: Verdict, expected: &str) {
    let names = Names::of(&trap());
    assert_eq!(english(&why::sentence(&decision(0, Who::Hpa, verdict, Tone::Neutral), &names)), expected);
}

#[test]
fn every_kind_of_verdict_has_a_clean_sentence_in_every_language() {
    let verdicts = fixture::verdicts();
    let kinds: BTreeSet<usize> = verdicts.iter().map(fixture::kind).collect();
    assert_eq!(kinds.len(), 33, "a kind of verdict has no sample: {kinds:?}");
    for names in [Names::of(&trap()), Names::default()] {
        for verdict in fixture::verdicts() {
            let d = decision(3, Who::Karpenter, verdict, Tone::Bad);
            let message = why::sentence(&d, &names);
            clean(&message);
            assert_ne!(message, words::who(Who::Karpenter), "{d:?} has no sentence");
            let text = english(&message);
            assert!(text.ends_with('.') || text.ends_with(".**"), "{text}");
            if let Some(spoken) = announce::milestone(&d, &names) {
                clean(&spoken);
            }
        }
    }
}

#[test]
fn the_trap_is_told_with_its_numbers() {
    let mut all = fixture::verdicts().into_iter();
    let bound = all.find(|v| matches!(v, Verdict::PodsBound { .. })).expect("a sample");
    says(bound, "Placed **7 of 8** pods of llama-70b one by one, on gb-a1, gb-a2. **7 GPUs now wait for 1.**");
    let pod = all.find(|v| matches!(v, Verdict::PodUnschedulable { .. })).expect("a sample");
    says(
        pod,
        "Pod 7 of llama-70b: 0 of 8 nodes fit: 5 without enough free GPUs, 3 excluded by nodeSelector. \
         **7 GPUs are held and paid for.**",
    );
    says(
        Verdict::GangDeferred { group: GroupId(0), fit: 7, need: 8, missing: 1, best_domain: Some(7) },
        "llama-70b deferred: 7 of 8 pods would fit, **nothing is held**. 1 more GPU in one NVLink domain would \
         start it; the best domain has 7 free.",
    );
}

#[test]
fn an_hpa_sync_shows_its_formula() {
    says(
        sync(Some(99_000), 95_000, (4, 4, 4, 4), HpaLimit::Tolerance, 412),
        "rag-14b: GPU utilization 99 % of target 95 % is a ratio of 1.04, **inside the 10 % tolerance**: stays at 4. \
         412 requests wait.",
    );
    says(
        sync(Some(99_000), 70_000, (4, 6, 6, 6), HpaLimit::None, 1),
        "rag-14b: GPU utilization 99 % / 70 % × 4 = 5.66 → 6: **up from 4 to 6**. 1 request waits.",
    );
    says(
        sync(Some(35_000), 70_000, (4, 2, 4, 4), HpaLimit::Stabilization, 0),
        "rag-14b: GPU utilization 35 % / 70 % × 4 = 2.00 → 2: stays at 4. The scale-down window keeps its highest \
         wish, 4.",
    );
}

#[test]
fn a_wish_that_ready_replicas_do_not_explain_shows_no_product() {
    says(
        sync(Some(99_000), 70_000, (4, 9, 9, 9), HpaLimit::None, 0),
        "rag-14b: GPU utilization 99 % / 70 % = 1.41 → 9: **up from 4 to 9**.",
    );
}

#[test]
fn a_limit_acts_on_what_the_window_left_of_the_wish() {
    says(
        sync(Some(54_000), 60_000, (14, 13, 19, 14), HpaLimit::Max, 0),
        "rag-14b: GPU utilization 54 % / 60 % × 14 = 12.60 → 13: stays at 14. The scale-down window keeps its \
         highest wish, 19. The maximum is 14.",
    );
    let s = with_hpa(hpa(Some(54_000), 60_000, 8, (8, 19, 8), HpaLimit::Max));
    let (_, text) = card(cards::replicas_verdict(&s));
    assert_eq!(text, "Wants 19, **held at the maximum of 8**. Next sync in 12 s.");
}

#[test]
fn replicas_that_start_are_told_from_a_new_wish() {
    let starting = with_hpa(hpa(Some(50_000), 60_000, 7, (6, 6, 6), HpaLimit::None));
    let (_, text) = card(cards::replicas_verdict(&starting));
    assert_eq!(text, "Wants **6** (50 % / 60 % × 7 = 5.83 → 6), 4 answer so far. Next sync in 12 s.");
    let kept = with_hpa(hpa(Some(59_000), 60_000, 6, (6, 6, 6), HpaLimit::None));
    let (_, text) = card(cards::replicas_verdict(&kept));
    assert_eq!(text, "Keeps **6** (59 % / 60 % × 6 = 5.90 → 6), 4 answer so far. Next sync in 12 s.");
}

#[test]
fn when_empty_never_announces_a_review_of_a_busy_node() {
    let mut s = trap();
    s.pending.clear();
    s.policy.set(Param::Provisioner, 1).expect("in range");
    s.policy.set(Param::Consolidation, 1).expect("in range");
    s.nodes_layer.next_consolidatable = Some((NodeId(2), s.now));
    assert_eq!(card(cards::nodes_verdict(&s)).1, "Nothing to buy, nothing to remove: 3 nodes, $116.00/h.");
}

#[test]
fn what_was_never_seen_is_named_by_its_id_and_counts_pods() {
    let names = Names::default();
    let verdict = Verdict::PodsBound { group: GroupId(9), placed: 7, total: 8, min_member: 8, nodes: vec![NodeId(4)] };
    assert_eq!(
        english(&why::sentence(&decision(0, Who::KubeScheduler, verdict, Tone::Bad), &names)),
        "Placed **7 of 8** pods of group #9 one by one, on node #4. **The GPUs of 7 pods now wait for 1 more pod.**"
    );
}

#[test]
fn names_outlive_their_things() {
    let mut snapshot = trap();
    let mut names = Names::of(&snapshot);
    snapshot.nodes.retain(|n| n.name != "hgx-1");
    assert!(!names.lacks(&snapshot));
    names.remember(&snapshot);
    assert_eq!(names.node(NodeId(2)), "hgx-1".into());
    snapshot.nodes[0].name = "other".into();
    assert!(names.lacks(&snapshot), "after a fork an id can name another thing");
}

#[test]
fn long_lists_of_nodes_end_in_a_count() {
    let names = Names::of(&trap());
    let ids: Vec<NodeId> = (0..6).map(NodeId).collect();
    let text = english(&Message::Word { word: names.nodes(&ids, 3) });
    assert_eq!(text, "gb-a1, gb-a2 and 4 more");
}

#[test]
fn every_parameter_and_choice_has_words() {
    for param in Param::ALL.iter().copied() {
        let (label, help) = words::param(param);
        clean(&label);
        clean(&help);
        if let Kind::Choice(ids) = param.kind() {
            for i in 0..ids.len() as i64 {
                let choice = words::choice(param, i);
                assert!(!matches!(choice, Message::ChoiceUnknown { .. }), "{} {i}", param.id());
            }
        }
    }
    for reason in WaitReason::ALL {
        clean(&words::wait(reason));
    }
}

#[test]
fn exactly_the_target_of_the_chosen_signal_is_shown() {
    for signal in 0..4 {
        let mut policy = trap().policy;
        policy.set(Param::Signal, signal).expect("in range");
        let rows = cards::settings(crate::sim::param::Layer::Replicas, &policy);
        let targets: Vec<_> = rows.iter().filter(|p| p.id().starts_with("hpa.target")).collect();
        assert_eq!(targets, [&words::target_param(signal)]);
        assert!(!rows.contains(&Param::ManualReplicas));
    }
    let mut policy = trap().policy;
    policy.set(Param::Scaler, 1).expect("in range");
    assert_eq!(cards::settings(crate::sim::param::Layer::Replicas, &policy), [Param::ManualReplicas]);
}

#[test]
fn steppers_stay_in_range_and_reach_both_ends() {
    for param in Param::ALL.iter().copied() {
        for up in [false, true] {
            let mut value = param.default_value();
            for _ in 0..2000 {
                value = param.check(cards::stepped(param, value, up)).expect("a step stays in range");
            }
            assert_eq!(cards::stepped(param, value, up), value, "{} {up}", param.id());
        }
    }
}

#[test]
fn inputs_read_back_what_they_show() {
    let policy = trap().policy;
    for (param, value) in [(Param::ConsolidateAfter, 0), (Param::ConsolidateAfter, 3600), (Param::MaxReplicas, 16)] {
        assert_eq!(cards::read_input(param, &cards::input_text(param, value), &policy), Ok(value));
    }
    assert_eq!(cards::input_text(Param::StabilizationDown, 90), "90s");
}

#[test]
fn a_refused_input_says_the_rule() {
    let policy = trap().policy;
    let rule = |param, text| {
        let error = cards::read_input(param, text, &policy).expect_err("is out of range");
        english(&words::param_error(param, &error))
    };
    assert_eq!(rule(Param::MaxReplicas, "99"), "“99” is refused: a whole number from 1 to 64.");
    assert_eq!(rule(Param::MinReplicas, "9"), "Refused: the minimum (9) may not be above the maximum (8).");
    assert_eq!(
        rule(Param::StabilizationDown, "2h"),
        "“7200” is refused: a time from 0 s to 1 h, such as 30s, 5m or 1h."
    );
    assert_eq!(rule(Param::TargetPercent, "a lot"), "“a lot” is refused: a whole number from 1 % to 200 %.");
}

fn card(verdict: (Tone, Message)) -> (Tone, String) {
    clean(&verdict.1);
    (verdict.0, english(&verdict.1))
}

#[test]
fn the_placement_card_counts_what_the_trap_burns() {
    let (tone, text) = card(cards::placement_verdict(&trap()));
    assert_eq!(tone, Tone::Bad);
    assert_eq!(text, "**7 of 8 pods hold GPUs and wait.** Burnt so far: 26 GPU-minutes, $4.55.");
}

#[test]
fn the_placement_card_sums_two_trapped_gangs() {
    let mut s = trap();
    let mut second = s.groups[0].clone();
    second.id = GroupId(2);
    s.groups.push(second);
    let (_, text) = card(cards::placement_verdict(&s));
    assert_eq!(text, "**2 gangs hold the GPUs of 14 pods and wait.** Burnt so far: 52 GPU-minutes, $9.10.");
}

#[test]
fn the_placement_card_of_kai_says_that_nothing_is_held() {
    let mut s = trap();
    s.policy.set(Param::Scheduler, 1).expect("in range");
    s.groups[0].held_since = None;
    s.groups[0].pods_bound = 0;
    let (tone, text) = card(cards::placement_verdict(&s));
    assert_eq!(tone, Tone::Neutral);
    assert_eq!(
        text,
        "llama-70b waits for a free GPU. **Nothing is held**: it gets 8 of 8 or none. 1 more GPU would end the wait."
    );
    s.groups[0].stage = GroupStage::Serving;
    s.pending.clear();
    assert_eq!(card(cards::placement_verdict(&s)), (Tone::Good, "Every pod has its GPUs.".into()));
}

fn with_hpa(view: crate::sim::snapshot::HpaView) -> Snapshot {
    let mut s = trap();
    s.services[1].hpa = Some(view);
    s
}

#[test]
fn the_replicas_card_says_that_a_target_of_95_percent_is_blind() {
    let (tone, text) = card(cards::replicas_verdict(&trap()));
    assert_eq!(tone, Tone::Bad);
    assert_eq!(
        text,
        "Reads 99 % at 476 requests. **Will never scale up:** even 100 % / 95 % is inside the 10 % tolerance. \
         Next sync in 12 s."
    );
}

#[test]
fn the_replicas_card_shows_wish_and_limits() {
    let up = with_hpa(hpa(Some(99_000), 70_000, 4, (6, 6, 6), HpaLimit::None));
    let (_, text) = card(cards::replicas_verdict(&up));
    assert_eq!(text, "Wants **6** (99 % / 70 % × 4 = 5.66 → 6), 4 answer so far. Next sync in 12 s.");
    let max = with_hpa(hpa(Some(99_000), 10_000, 4, (40, 40, 8), HpaLimit::Max));
    assert_eq!(
        card(cards::replicas_verdict(&max)),
        (Tone::Bad, "Wants 40, **held at the maximum of 8**. Next sync in 12 s.".into())
    );
    let window = with_hpa(hpa(Some(35_000), 70_000, 4, (2, 4, 4), HpaLimit::Stabilization));
    let (_, text) = card(cards::replicas_verdict(&window));
    assert_eq!(text, "Wants 2, keeps 4: the highest wish of the last 5 min counts. Next sync in 12 s.");
    let none = with_hpa(hpa(None, 70_000, 4, (4, 4, 4), HpaLimit::NoMetric));
    let (tone, text) = card(cards::replicas_verdict(&none));
    assert_eq!((tone, text.as_str()), (Tone::Bad, "**Does nothing: there is no sample** of GPU utilization."));
}

#[test]
fn a_ratio_inside_the_tolerance_is_not_called_blind_when_the_target_leaves_room() {
    let s = with_hpa(hpa(Some(72_000), 70_000, 4, (4, 4, 4), HpaLimit::Tolerance));
    let (_, text) = card(cards::replicas_verdict(&s));
    assert_eq!(
        text,
        "GPU utilization 72 % / 70 % = 1.03 is **inside the 10 % tolerance**: stays at 4. Next sync in 12 s."
    );
}

#[test]
fn the_formula_line_shows_each_step() {
    let line = |s: &Snapshot| english(&cards::replicas_formula(s).expect("an HPA with a reading"));
    assert_eq!(line(&trap()), "99 % / 95 % = 1.04 · tolerance 0.9 to 1.1: no change · limits 1 to 8 · result **4**");
    let window = with_hpa(hpa(Some(35_000), 70_000, 4, (2, 4, 4), HpaLimit::Stabilization));
    assert_eq!(
        line(&window),
        "35 % / 70 % = 0.50 · × 4 ready = 2.00 → wish 2 · after the window 4 · limits 1 to 8 · result **4**"
    );
}

#[test]
fn the_nodes_card_says_what_karpenter_will_do() {
    let mut s = trap();
    let (_, text) = card(cards::nodes_verdict(&s));
    assert_eq!(text, "Buys nothing: provisioning is fixed. 1 pod waits for a free GPU.");
    s.pending.clear();
    assert_eq!(card(cards::nodes_verdict(&s)).1, "Buys nothing: provisioning is fixed.");
    s.policy.set(Param::Provisioner, 1).expect("in range");
    s.nodes_layer.next_consolidatable = Some((NodeId(2), s.now + Span::from_secs(540)));
    assert_eq!(
        card(cards::nodes_verdict(&s)).1,
        "hgx-1 may be emptied in 9 min, if its pods then fit elsewhere for less."
    );
    s.nodes[2].empty_since = Some(Time::ZERO);
    assert_eq!(card(cards::nodes_verdict(&s)).1, "hgx-1 will be removed in 9 min if it stays empty.");
    s.nodes_layer.evicting = Some((NodeId(2), 11));
    assert_eq!(
        card(cards::nodes_verdict(&s)),
        (Tone::Bad, "hgx-1 is being evicted **while it answers 11 requests**.".into())
    );
}

#[test]
fn outcomes_sum_to_the_offered_requests_and_states_to_the_bill() {
    let s = trap();
    assert_eq!(score::outcomes(&s).iter().map(|r| r.count).sum::<u64>(), s.requests.offered);
    let rows = score::ledger(&s);
    assert_eq!(rows.len(), GpuUse::ALL.len() + 1);
    let bill = rows.last().expect("a sum");
    assert_eq!((bill.state, bill.cost.clone()), (None, usd(84.7).into()));
    assert_eq!(score::unmet(&s), 60 + 200 + 10 + 5 + 37);
    assert_eq!(score::idle_gpu_time(&s), Span::from_mins(484 - 300));
}

#[test]
fn the_summary_counts_cluster_and_waiting_gangs() {
    assert_eq!(
        english(&announce::summary(&trap())),
        "Cluster: 3 nodes, 16 GPUs, 2 NVLink domains. 1 gang waits: llama-70b, 7 of 8 GPUs. At 02:04:31."
    );
    let mut s = trap();
    s.groups[0].stage = GroupStage::Serving;
    assert_eq!(
        english(&announce::summary_with_state(&s, false)),
        "Cluster: 3 nodes, 16 GPUs, 2 NVLink domains. 1 pod waits for a free GPU. Paused at 02:04:31."
    );
}

#[test]
fn only_news_is_announced_and_only_once() {
    let names = Names::of(&trap());
    let stays = sync(Some(99_000), 95_000, (4, 4, 4, 4), HpaLimit::Tolerance, 412);
    assert_eq!(announce::milestone(&decision(0, Who::Hpa, stays, Tone::Neutral), &names), None);
    let up = sync(Some(99_000), 70_000, (4, 6, 6, 6), HpaLimit::None, 0);
    let mut up = decision(0, Who::Hpa, up, Tone::Good);
    let spoken = english(&announce::milestone(&up, &names).expect("a change"));
    assert!(spoken.starts_with("HPA: rag-14b"), "{spoken}");
    up.times = 2;
    assert_eq!(announce::milestone(&up, &names), None);
}

#[test]
fn inspect_shows_what_a_gang_burnt() {
    let s = trap();
    let names = Names::of(&s);
    let seen = inspect::group(&s.groups[0], &s, &names);
    let rows: Vec<String> = seen.rows.iter().map(|(l, v)| format!("{}: {}", english(l), english(v))).collect();
    assert!(rows.contains(&"Held idle for: 3 min 42 s".to_owned()), "{rows:?}");
    assert!(rows.contains(&"Burnt while held: 26 GPU-minutes, $4.55".to_owned()), "{rows:?}");
    for (label, value) in inspect::node(&s.nodes[0], &s, &names).rows {
        clean(&label);
        clean(&value);
    }
}
