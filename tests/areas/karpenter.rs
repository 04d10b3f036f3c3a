//! Karpenter cases: builds a view from a case, asks the public functions, compares what is expected.

#[path = "karpenter_case.rs"]
mod case;

use super::{Outcome, same};
use case::{Built, Case, Expect, ExpectedNode, seconds, time};
use seven_of_eight::sim::id::{NodeId, PodId};
use seven_of_eight::sim::nodes::karpenter::{
    BatchWindow, Command, DisruptionMemory, NewNode, Reason, VALIDATION_WAIT, balanced, budgets, disrupt, lifecycle,
    provision, validate,
};
use std::collections::{BTreeMap, BTreeSet};

type Check = Result<(), String>;

pub fn check(_file: &str, json: &serde_json::Value) -> Outcome {
    let case: Case = match serde_json::from_value(json.clone()) {
        Ok(case) => case,
        Err(e) => return Outcome::Fail(format!("cannot read the case: {e}")),
    };
    let result = match case.ask.as_str() {
        "batch_end" => batch_end(&case),
        "provision" => Built::new(&case).and_then(|b| provisioned(&b, &case)),
        "disrupt" => Built::new(&case).and_then(|b| disrupted(&b, &case)),
        "disrupt_validate" => Built::new(&case).and_then(|b| validated(b, &case)),
        "allowed_disruptions" => Built::new(&case).and_then(|b| allowed(&b, &case)),
        "consolidatable" => Built::new(&case).and_then(|b| consolidatable(&b, &case)),
        "balanced_score" => balanced_score(&case),
        "claim_liveness" => liveness(&case),
        "claim_initialized" => Built::new(&case).and_then(|b| initialized(&b, &case)),
        "expired" => Built::new(&case).and_then(|b| expired(&b, &case)),
        "drain_order" => Built::new(&case).and_then(|b| drain_order(&b, &case)),
        "force_delete" => Built::new(&case).and_then(|b| force_delete(&b, &case)),
        other => return Outcome::NotBuilt(other.to_owned()),
    };
    match result {
        Ok(()) => Outcome::Pass,
        Err(why) => Outcome::Fail(why),
    }
}

fn given<T: PartialEq + std::fmt::Debug>(what: &str, expected: &Option<T>, actual: T) -> Check {
    match expected {
        Some(expected) => same(what, expected, &actual),
        None => Ok(()),
    }
}

fn set(names: &[String]) -> BTreeSet<String> {
    names.iter().cloned().collect()
}

fn batch_end(case: &Case) -> Check {
    let mut batch = BatchWindow::default();
    let settings = case.settings.build();
    let mut names: Vec<String> = Vec::new();
    let mut end = None;
    for event in case.events.iter().filter(|e| e.kind == "pod_pending") {
        let pod = event.pod.as_ref().ok_or("event without pod")?;
        if end.is_some_and(|end| time(event.at_s) > end) {
            break;
        }
        let index = names.iter().position(|n| *n == pod.name).unwrap_or_else(|| {
            names.push(pod.name.clone());
            names.len() - 1
        });
        end = Some(batch.seen(PodId::from_index(index), &settings, time(event.at_s)));
    }
    let pods: BTreeSet<String> = batch.close().iter().map(|p| names[p.index()].clone()).collect();
    given("batch_end_s", &case.expect.batch_end_s.map(time), end.unwrap_or(time(0.0)))?;
    given("batch_pods", &case.expect.batch_pods.as_deref().map(set), pods)
}

fn matches(built: &Built, expected: &ExpectedNode, node: &NewNode) -> Check {
    let type_name = |index: &usize| built.view.types[*index].name.clone();
    let pods: BTreeSet<String> = node.pods.iter().map(|p| built.pod_name(*p)).collect();
    let options: BTreeSet<String> = node.options.iter().map(type_name).collect();
    given("pool", &expected.pool, built.view.pools[node.pool].name.clone())?;
    given("pods", &expected.pods.as_deref().map(set), pods)?;
    given("options", &expected.options.as_deref().map(set), options)?;
    given("launch", &expected.launch, type_name(&node.launch.instance_type))?;
    given("zone", &expected.zone, node.launch.zone.clone())?;
    let capacity_type = node.launch.capacity_type.label().to_owned();
    given("capacity_type", &expected.capacity_type, capacity_type)
}

/// Every expected node is found among the actual ones, each actual one used once.
fn new_nodes(built: &Built, expected: &[ExpectedNode], actual: &[NewNode]) -> Check {
    let mut left: Vec<&NewNode> = actual.iter().collect();
    for want in expected {
        let results: Vec<Check> = left.iter().map(|node| matches(built, want, node)).collect();
        match results.iter().position(Result::is_ok) {
            Some(index) => {
                left.remove(index);
            }
            None => return Err(format!("no new node matches {want:?}: {results:?}")),
        }
    }
    Ok(())
}

fn provisioned(built: &Built, case: &Case) -> Check {
    let plan = provision(&built.view, &built.settings, built.now);
    let expect = &case.expect;
    let launches: Vec<String> =
        plan.new_nodes.iter().map(|n| built.view.types[n.launch.instance_type].name.clone()).collect();
    let unschedulable: BTreeSet<String> = plan.unschedulable.iter().map(|u| built.pod_name(u.pod)).collect();
    given("unschedulable", &expect.unschedulable.as_deref().map(set), unschedulable.clone())
        .map_err(|e| format!("{e}; {:?}", plan.unschedulable))?;
    given("unschedulable_count", &expect.unschedulable_count, unschedulable.len())?;
    given("new_node_count", &expect.new_node_count, plan.new_nodes.len())?;
    new_nodes(built, expect.new_nodes.as_deref().unwrap_or_default(), &plan.new_nodes)?;
    if let Some(all) = &expect.all_launch
        && let Some(other) = launches.iter().find(|l| *l != all)
    {
        return Err(format!("all_launch: expected {all}, actual {other}"));
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for launch in launches {
        *counts.entry(launch).or_default() += 1;
    }
    given("launch_counts", &expect.launch_counts, counts)?;
    let on_existing: BTreeMap<String, String> =
        plan.on_existing.iter().map(|(pod, node)| (built.pod_name(*pod), built.node_name(*node))).collect();
    given("on_existing", &expect.on_existing, on_existing)
}

fn compare_command(built: &Built, expect: &Expect, command: Option<&Command>) -> Check {
    let action = match command {
        None => "none",
        Some(c) if c.replacements.is_empty() => "delete",
        Some(_) => "replace",
    };
    given("action", &expect.action, action.to_owned())?;
    let Some(command) = command else { return Ok(()) };
    given("reason", &expect.reason, format!("{:?}", command.reason))?;
    let names: BTreeSet<String> = command.nodes.iter().map(|n| built.node_name(*n)).collect();
    given("nodes", &expect.nodes.as_deref().map(set), names)?;
    given("node_count", &expect.node_count, command.nodes.len())?;
    given("replacement_count", &expect.replacement_count, command.replacements.len())?;
    let mut per_pool: BTreeMap<String, usize> = BTreeMap::new();
    for node in &command.nodes {
        let pool = built.view.node(*node).and_then(|n| n.pool).ok_or("node without pool")?;
        *per_pool.entry(built.view.pools[pool].name.clone()).or_default() += 1;
    }
    given("per_pool", &expect.per_pool, per_pool)?;
    new_nodes(built, expect.replacements.as_deref().unwrap_or_default(), &command.replacements)
}

fn disrupted(built: &Built, case: &Case) -> Check {
    let (decision, _) = disrupt(&built.view, &built.settings, &DisruptionMemory::default(), built.now);
    compare_command(built, &case.expect, decision.command.as_ref())
        .map_err(|e| format!("{e}; kept {:?}", decision.kept))
}

fn validated(mut built: Built, case: &Case) -> Check {
    let (decision, _) = disrupt(&built.view, &built.settings, &DisruptionMemory::default(), built.now);
    let Some(command) = decision.command else {
        return compare_command(&built, &case.expect, None);
    };
    if !command.needs_validation() {
        return compare_command(&built, &case.expect, Some(&command));
    }
    let end = built.now + VALIDATION_WAIT;
    for event in case.events.iter().filter(|e| time(e.at_s) <= end) {
        built.apply(event)?;
    }
    let result = validate(&built.view, &built.settings, &command, end);
    compare_command(&built, &case.expect, result.as_ref().ok()).map_err(|e| format!("{e}; {result:?}"))
}

fn allowed(built: &Built, case: &Case) -> Check {
    let expected = case.expect.allowed.as_ref().ok_or("no `allowed`")?;
    let now_s = i64::try_from(built.now.0 / 1_000_000).map_err(|e| e.to_string())?;
    for (pool_name, by_reason) in expected {
        let pool = built.pool_index(pool_name)?;
        for (reason_name, expected) in by_reason {
            let reason = match reason_name.as_str() {
                "Empty" => Reason::Empty,
                "Drifted" => Reason::Drifted,
                "Underutilized" => Reason::Underutilized,
                other => return Err(format!("unknown reason {other}")),
            };
            let actual = match case.pool_node_count {
                Some(count) => {
                    let unix_s = built.view.unix_at_zero_s + now_s;
                    budgets::allowed_of(&built.view.pools[pool], count, reason, unix_s)
                }
                None => budgets::allowed(&built.view, pool, reason, built.now),
            };
            same(&format!("{pool_name} {reason_name}"), *expected, actual.map_or(-1, i64::from))?;
        }
    }
    Ok(())
}

fn consolidatable(built: &Built, case: &Case) -> Check {
    let mut actual = BTreeMap::new();
    for node in &built.view.nodes {
        let pool = &built.view.pools[node.pool.ok_or("unmanaged node")?];
        let is = lifecycle::is_consolidatable(pool, node, built.now);
        actual.insert(built.node_name(node.id), is);
    }
    given("consolidatable", &case.expect.consolidatable, actual)
}

fn balanced_score(case: &Case) -> Check {
    let b = case.balanced.as_ref().ok_or("no `balanced`")?;
    let result = balanced::score(b.savings, b.disruption, b.total_cost, b.total_disruption, b.k);
    let digits = |x: f64| (x * 10_000.0).round() / 10_000.0;
    given("score", &case.expect.score.map(digits), digits(result.score))?;
    given("approved", &case.expect.approved, result.approved)
}

fn liveness(case: &Case) -> Check {
    let claim = case.node_claim.as_ref().ok_or("no `node_claim`")?;
    let result = lifecycle::given_up(
        time(claim.created_s),
        claim.launched_at_s.map(time),
        claim.registered_at_s.map(time),
        time(case.now_s),
    );
    given("deleted", &case.expect.deleted, result.is_some())?;
    let name = result.map(|r| match r {
        lifecycle::GivenUp::LaunchTimeout => "launch_timeout".to_owned(),
        lifecycle::GivenUp::RegistrationTimeout => "registration_timeout".to_owned(),
    });
    same("delete_reason", case.expect.delete_reason.clone(), name)
}

fn initialized(built: &Built, case: &Case) -> Check {
    let claim = case.node_claim.as_ref().ok_or("no `node_claim`")?;
    let node = built.view.nodes.first().ok_or("no node")?;
    let requested = claim.requests.as_ref().map(|r| r.build(0)).unwrap_or_default();
    let actual = lifecycle::is_initialized(&built.view, node, &requested);
    given("initialized", &case.expect.initialized, actual)
}

fn expired(built: &Built, case: &Case) -> Check {
    let name = |node: &NodeId| built.node_name(*node);
    let actual: BTreeSet<String> = lifecycle::expired(&built.view, built.now).iter().map(name).collect();
    given("expired", &case.expect.expired.as_deref().map(set), actual)
}

fn drain_order(built: &Built, case: &Case) -> Check {
    let node = built.view.nodes.first().ok_or("no node")?;
    let actual: Vec<BTreeSet<String>> =
        lifecycle::drain_groups(node).iter().map(|group| group.iter().map(|p| built.pod_name(*p)).collect()).collect();
    let expected = case.expect.drain_groups.as_ref();
    given("drain_groups", &expected.map(|groups| groups.iter().map(|g| set(g)).collect()), actual)
}

fn force_delete(built: &Built, case: &Case) -> Check {
    let node = built.view.nodes.first().ok_or("no node")?;
    let deleted_at = case.nodes.first().and_then(|n| n.deleted_at_s).ok_or("no `deleted_at_s`")?;
    let actual = lifecycle::force_delete_at(node, time(deleted_at));
    let expected = case.expect.force_delete_at_s.as_ref().ok_or("no `force_delete_at_s`")?;
    for (pod, at_s) in expected {
        let found = actual.iter().find(|(id, _)| built.pod_name(**id) == *pod).map(|(_, at)| *at);
        same(pod, Some(time(0.0) + seconds(*at_s)), found)?;
    }
    Ok(())
}
