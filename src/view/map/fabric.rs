//! The network under the racks: what joins the domains, and which gangs cross it.

use super::words::place_message;
use super::{Index, badge_arg, group_name};
use crate::i18n::{Arg, Message};
use crate::sim::catalog::{self, Provider};
use crate::sim::id::GroupId;
use crate::sim::snapshot::{NodeStage, RackKind};

/// A gang that crosses domains.
#[derive(Debug, Clone, PartialEq)]
pub struct Bridge {
    pub group: GroupId,
    /// `A` or the group's name.
    pub badge: Arg,
    /// Who spans what.
    pub text: Message,
    /// What it pays in each decode step.
    pub cost: Message,
    /// The places that it joins, in reading order.
    pub places: Vec<Message>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FabricView {
    /// One per GPU type: network and bandwidth of one GPU.
    pub networks: Vec<Message>,
    pub bridges: Vec<Bridge>,
}

pub(super) fn view(index: &Index<'_>) -> FabricView {
    FabricView { networks: networks(index), bridges: bridges(index) }
}

fn networks(index: &Index<'_>) -> Vec<Message> {
    let mut seen: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for node in index.snapshot.nodes.iter().filter(|n| n.stage != NodeStage::Released) {
        if seen.contains(&node.instance) {
            continue;
        }
        seen.push(node.instance);
        let Some(instance) = catalog::instance(node.instance) else {
            continue;
        };
        let Some(gb_s) = instance.nic_gb_s_per_gpu() else {
            continue;
        };
        let message = Message::MapFabricOf {
            network: network_name(node.provider, instance.fabric_gbit_s.is_some()).into(),
            gpu: node.gpu_label.into(),
            gbit: Arg::Float(gb_s * 8.0, 0),
        };
        if !out.contains(&message) {
            out.push(message);
        }
    }
    out
}

/// Product name of the network for GPU traffic; plain Ethernet where the machine has none.
fn network_name(provider: Provider, fabric: bool) -> &'static str {
    match (provider, fabric) {
        (_, false) => "Ethernet",
        (Provider::Aws, true) => "EFA",
        (Provider::Gcp, true) => "GPUDirect",
        (Provider::Azure, true) => "InfiniBand",
    }
}

fn bridges(index: &Index<'_>) -> Vec<Bridge> {
    let s = index.snapshot;
    let crossing = s.groups.iter().filter(|g| g.crosses_domains);
    crossing
        .map(|g| {
            let mut names: Vec<String> = Vec::new();
            let mut places: Vec<Message> = Vec::new();
            for node in s.nodes.iter().filter(|n| g.nodes.contains(&n.id)) {
                // A domain is an NVL72 rack, or else the node itself.
                let rack = s.racks.iter().find(|r| r.id == node.rack && r.kind == RackKind::Nvl72);
                let place =
                    rack.map_or_else(|| Message::MapPlaceRack { name: node.name.clone().into() }, place_message);
                if !places.contains(&place) {
                    names.push(rack.map_or_else(|| node.name.clone(), |r| r.name.clone()));
                    places.push(place);
                }
            }
            Bridge {
                group: g.id,
                badge: badge_arg(g),
                text: Message::MapBridge { group: group_name(g).into(), places: names.into() },
                cost: match g.all_reduce_per_step {
                    Some(span) => Message::MapBridgeCost { cost: Arg::Span(span) },
                    None => Message::MapBridgeUncounted,
                },
                places,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::sim::time::Span;
    use crate::view::fixture;

    #[test]
    fn the_network_is_named_once_per_gpu_type_with_the_share_of_one_gpu() {
        let s = fixture::trap();
        let words: Vec<String> = view(&Index::new(&s)).networks.iter().map(|m| render(&Lang::english(), m)).collect();
        assert_eq!(words[0], "EFA · GB200 400 Gbit/s per GPU");
        assert_eq!(words.len(), 3);
    }

    #[test]
    fn a_gang_over_two_domains_is_a_bridge_with_its_cost_per_step() {
        let mut s = fixture::trap();
        let b1 = fixture::node(&s, "gb-b1");
        let gang = &mut s.groups[0];
        gang.crosses_domains = true;
        gang.all_reduce_per_step = Some(Span::from_millis(26));
        gang.nodes.push(b1);
        let view = view(&Index::new(&s));
        let bridge = &view.bridges[0];
        assert_eq!(render(&Lang::english(), &bridge.text), "A llama-70b-0 spans A, B");
        assert_eq!(render(&Lang::english(), &bridge.cost), "26 ms of all-reduce per decode step");
        assert_eq!(bridge.places.len(), 2);
    }
}
