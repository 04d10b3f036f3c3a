//! The serving card: gateway, engine, start, drain and metrics of every service. Its verdict says
//! how requests fare and which limit turns them away; what differs from the defaults comes with it.

use super::cards::SERVING_GROUPS;
use super::words::{comma, param, then, value};
use crate::i18n::Message;
use crate::sim::decision::Tone;
use crate::sim::param::{Layer, Param, Policy};
use crate::sim::snapshot::{ReplicaRole, Snapshot};

/// The groups of the card that have settings which act on something here: id, title, settings.
pub fn groups(snapshot: &Snapshot) -> impl Iterator<Item = (&'static str, Message, Vec<Param>)> {
    let here = |id| params(id).into_iter().filter(|p| acts(*p, snapshot)).collect::<Vec<_>>();
    let groups = SERVING_GROUPS.into_iter().map(move |id| (id, group_title(id), here(id)));
    groups.filter(|(_, _, params)| !params.is_empty())
}

/// Whether some service of the experiment heeds a setting.
fn acts(param: Param, snapshot: &Snapshot) -> bool {
    let mut services = snapshot.services.iter();
    match param {
        Param::Fallback => services.any(|s| s.has_fallback),
        Param::Scheduling => services.any(|s| s.tenants.len() > 1),
        Param::Roles => services.any(|s| s.role == ReplicaRole::Prefill),
        Param::WarmReplicas => services.any(|s| s.scaled),
        _ => true,
    }
}

fn group_title(id: &str) -> Message {
    match id {
        "engine" => Message::GroupEngine,
        "start" => Message::GroupStart,
        "drain" => Message::GroupDrain,
        "metrics" => Message::GroupMetrics,
        _ => Message::GroupGateway,
    }
}

fn params(group: &str) -> Vec<Param> {
    let serving = Param::ALL.iter().copied().filter(|p| p.layer() == Layer::Serving);
    serving.filter(|p| p.id().split('.').next() == Some(group)).collect()
}

/// Whether a setting of the card differs from its default.
pub fn differs(param: Param, policy: &Policy) -> bool {
    param.layer() == Layer::Serving && policy.get(param) != param.default_value()
}

/// The settings that differ from their defaults, in words; `None` if none does.
pub fn changed(policy: &Policy) -> Option<(Message, Message)> {
    let changed: Vec<Param> = Param::ALL.iter().copied().filter(|p| differs(*p, policy)).collect();
    let list = comma(
        changed.iter().map(|p| Message::ServingChange { param: param(*p).0.into(), value: value(*p, policy.get(*p)) }),
    )?;
    Some((Message::ServingChanged { n: changed.len().into() }, list))
}

/// How the requests of all services fare.
pub fn verdict(snapshot: &Snapshot) -> (Tone, Message) {
    let r = &snapshot.requests;
    let waiting: u32 = snapshot.services.iter().map(|s| s.waiting).sum();
    if r.offered == 0 {
        return (Tone::Neutral, Message::ServingNothing);
    }
    let mut said = Vec::new();
    if waiting > 0 {
        said.push(Message::ServingWait { n: waiting.into() });
    }
    if r.rejected > 0 {
        let limits = limits(&snapshot.policy).unwrap_or(Message::ServingTooLong);
        said.push(Message::ServingTurnedAwayBy { n: r.rejected.into(), limits: limits.into() });
    }
    if r.failed > 0 {
        said.push(Message::ServingFailed { n: r.failed.into() });
    }
    if r.lost > 0 {
        said.push(Message::ServingLost { n: r.lost.into() });
    }
    let bad = !said.is_empty();
    if r.late > 0 {
        said.push(Message::ServingLate { n: r.late.into() });
    }
    if r.timed_out > 0 {
        said.push(Message::ServingGaveUp { n: r.timed_out.into() });
    }
    if r.degraded > 0 {
        said.push(Message::ServingDegraded { n: r.degraded.into() });
    }
    if r.retries > 0 {
        said.push(Message::ServingRetried { n: r.retries.into() });
    }
    if r.cut > 0 {
        let cap = snapshot.policy.get(Param::OutputCap);
        said.push(match cap {
            0 => Message::ServingCutShort { n: r.cut.into() },
            cap => Message::ServingCut { n: r.cut.into(), cap: cap.into() },
        });
    }
    let tone = match (bad, said.is_empty()) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Good,
        (false, false) => Tone::Neutral,
    };
    (tone, said.into_iter().reduce(then).unwrap_or(Message::ServingAll))
}

/// The limits of the gateway that are in force: one of them turned a request away.
fn limits(policy: &Policy) -> Option<Message> {
    let set = [Param::QueueLimit, Param::DeadlineDrop, Param::ContextCap];
    let set = set.into_iter().filter(|p| policy.get(*p) != 0);
    comma(set.map(|p| Message::ServingLimit { param: param(p).0.into(), value: value(p, policy.get(p)) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, plain, render};
    use crate::sim::snapshot::{RequestTotals, TenantView};
    use crate::view::fixture;

    fn said(s: &Snapshot) -> (Tone, String) {
        let (tone, message) = verdict(s);
        (tone, plain(&render(&Lang::english(), &message)))
    }

    #[test]
    fn every_setting_of_the_card_is_in_exactly_one_group() {
        let mut s = fixture::trap();
        s.services[0].has_fallback = true;
        s.services[0].scaled = true;
        s.services[0].role = ReplicaRole::Prefill;
        let tenant = |name: &str| TenantView { name: name.into(), priority: 0, requests: RequestTotals::default() };
        s.services[0].tenants = vec![tenant("paid"), tenant("free")];
        let mut shown: Vec<Param> = groups(&s).flat_map(|(_, _, params)| params).collect();
        let count = shown.len();
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), count);
        let all = Param::ALL.iter().filter(|p| p.layer() == Layer::Serving).count();
        assert_eq!(count, all);
        assert_eq!(groups(&s).count(), SERVING_GROUPS.len());
    }

    #[test]
    fn what_no_service_heeds_is_not_offered() {
        let mut s = fixture::trap();
        for service in &mut s.services {
            service.scaled = false;
        }
        let shown: Vec<Param> = groups(&s).flat_map(|(_, _, params)| params).collect();
        for idle in [Param::Fallback, Param::Scheduling, Param::Roles, Param::WarmReplicas] {
            assert!(!shown.contains(&idle), "{}", idle.id());
        }
        assert!(shown.contains(&Param::QueueLimit));
        assert!(groups(&s).all(|(id, _, _)| id != "engine"), "no title without a setting");
    }

    #[test]
    fn only_what_differs_from_the_defaults_is_listed() {
        let mut policy = Policy::default();
        assert_eq!(changed(&policy), None);
        policy.set(Param::QueueLimit, 20).unwrap();
        policy.set(Param::Scrape, 60).unwrap();
        // A setting of another card is not this card's business.
        policy.set(Param::MaxReplicas, 4).unwrap();
        let (count, list) = changed(&policy).unwrap();
        let en = Lang::english();
        assert_eq!(render(&en, &count), "2 settings differ from the defaults:");
        assert_eq!(render(&en, &list), "Queue limit 20, Scrape interval 1 min");
    }

    #[test]
    fn the_verdict_counts_and_names_the_limit() {
        let mut s = fixture::trap();
        assert_eq!(said(&s), (Tone::Neutral, "No request has come yet.".into()));
        s.requests.offered = 900;
        assert_eq!(said(&s), (Tone::Good, "All let in, none waits.".into()));
        s.services[1].waiting = 40;
        s.services[2].waiting = 2;
        s.requests.rejected = 31;
        s.policy.set(Param::QueueLimit, 20).unwrap();
        assert_eq!(said(&s), (Tone::Bad, "42 requests wait. Requests turned away: 31 (Queue limit 20).".into()));
        s.policy.set(Param::QueueLimit, 0).unwrap();
        assert!(said(&s).1.ends_with("Requests turned away: 31 (longer than the engine takes)."));
        s.policy.set(Param::DeadlineDrop, 1).unwrap();
        s.policy.set(Param::ContextCap, 8000).unwrap();
        assert!(said(&s).1.ends_with("Requests turned away: 31 (Drop late on, Prompt cap 8,000)."), "{}", said(&s).1);
    }

    #[test]
    fn what_is_done_on_purpose_is_said_without_alarm() {
        let mut s = fixture::trap();
        s.requests.offered = 900;
        (s.requests.degraded, s.requests.retries, s.requests.cut) = (5, 1, 2);
        s.policy.set(Param::OutputCap, 256).unwrap();
        assert_eq!(said(&s), (Tone::Neutral, "5 degraded. 1 retry by clients. 2 answers cut at 256 tokens.".into()));
        s.requests.lost = 3;
        assert_eq!(said(&s).0, Tone::Bad);
    }

    #[test]
    fn late_answers_and_lost_patience_are_no_success() {
        let mut s = fixture::trap();
        s.requests.offered = 900;
        s.requests.late = 50;
        assert_eq!(said(&s), (Tone::Neutral, "50 answered late.".into()));
        s.requests.timed_out = 1;
        assert_eq!(said(&s), (Tone::Neutral, "50 answered late. 1 client gave up.".into()));
        s.requests.lost = 2;
        assert_eq!(said(&s), (Tone::Bad, "2 cut off. 50 answered late. 1 client gave up.".into()));
    }
}
