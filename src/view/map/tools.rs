//! The palette of nodes that can be bought, and the buttons that load the cluster.

use crate::i18n::{Arg, Message};
use crate::sim::catalog;
use crate::sim::id::ServiceId;
use crate::sim::snapshot::{PaletteItem, RackKind, Snapshot};

/// Largest number that the spike form takes: requests, and tokens of the long prompt.
pub const SPIKE_MAX: u32 = 2_000_000;

#[derive(Debug, Clone, PartialEq)]
pub struct PaletteCard {
    pub index: u32,
    pub instance: &'static str,
    pub name: Message,
    pub detail: Message,
}

/// A palette item by what it is: `GB200 tray`, `HGX H100`, `L40S server`.
pub fn item_message(item: &PaletteItem) -> Message {
    let gpu = Arg::from(item.gpu_label);
    let nvlink = catalog::instance(item.instance).is_some_and(catalog::Instance::has_nvlink);
    match item.kind {
        RackKind::Nvl72 => Message::MapItemTray { gpu },
        RackKind::Network if nvlink => Message::MapItemHgx { gpu },
        RackKind::Network => Message::MapItemServer { gpu },
    }
}

pub(super) fn palette(snapshot: &Snapshot) -> Vec<PaletteCard> {
    let items = snapshot.palette.iter().enumerate();
    items
        .map(|(i, item)| {
            let name = item_message(item);
            let (gpus, price) = (Arg::from(item.gpus), Arg::MoneyPerHour(item.price_per_hour));
            PaletteCard {
                index: i as u32,
                instance: item.instance,
                detail: Message::MapItemDetail { gpus, price },
                name,
            }
        })
        .collect()
}

/// **Launch** for one service.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchButton {
    pub service: ServiceId,
    pub name: String,
    pub label: Message,
}

pub(super) fn launches(snapshot: &Snapshot) -> Vec<LaunchButton> {
    let services = snapshot.services.iter().filter(|s| s.launchable);
    services
        .map(|s| {
            let (service, gpus) = (s.name.clone().into(), s.gpus_per_replica.into());
            LaunchButton {
                service: s.id,
                name: s.name.clone(),
                label: if s.workers > 1 {
                    Message::MapLaunchGang { service, gpus }
                } else {
                    Message::MapLaunchReplica { service, gpus }
                },
            }
        })
        .collect()
}

/// What the spike form starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct SpikeDefaults {
    /// Services that can be hit, with the longest prompt of each in tokens.
    pub services: Vec<(ServiceId, String, u32)>,
    /// Index of the service that is chosen at first.
    pub chosen: usize,
    pub requests: u32,
    pub minutes: u32,
    pub long_prompt_tokens: u32,
}

/// The 2 a.m. spike: 240 requests in a minute and a prompt of a million tokens, at the service
/// with the longest context; the scaled one among equals.
pub(super) fn spike(snapshot: &Snapshot) -> Option<SpikeDefaults> {
    let services: Vec<_> = snapshot.services.iter().map(|s| (s.id, s.name.clone(), s.context_limit)).collect();
    let best = snapshot.services.iter().enumerate().max_by_key(|(i, s)| (s.context_limit, s.scaled, usize::MAX - i));
    let (chosen, _) = best?;
    Some(SpikeDefaults { services, chosen, requests: 240, minutes: 1, long_prompt_tokens: 1_000_000 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;

    #[test]
    fn palette_items_are_named_by_their_hardware() {
        let words: Vec<String> = palette(&fixture::trap()).iter().map(|p| render(&Lang::english(), &p.name)).collect();
        assert_eq!(words, ["GB200 tray", "HGX H100", "L40S server"]);
    }

    #[test]
    fn only_launchable_services_have_a_button() {
        let buttons = launches(&fixture::trap());
        assert_eq!(buttons.len(), 1);
        assert_eq!(render(&Lang::english(), &buttons[0].label), "Launch llama-70b gang");
    }

    #[test]
    fn the_spike_starts_at_the_service_with_the_longest_context() {
        let s = fixture::trap();
        let form = spike(&s).expect("there are services");
        assert_eq!(form.services[form.chosen].1, "long-14b");
        assert_eq!((form.requests, form.minutes, form.long_prompt_tokens), (240, 1, 1_000_000));
    }
}
