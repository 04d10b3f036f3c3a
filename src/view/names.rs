//! The names that sentences use, kept also for things that have gone.
//!
//! A decision names nodes, groups and services by id. The snapshot only lists what exists now, so
//! whoever shows decisions keeps a [`Names`] and lets it [`remember`](Names::remember) each
//! snapshot. What was never seen gets a name made from its id.

use crate::i18n::{Arg, Message};
use crate::sim::id::{GroupId, NodeId, RackId, ServiceId};
use crate::sim::snapshot::{RackKind, Snapshot};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq)]
struct ServiceName {
    name: String,
    /// GPUs of one pod; `None` while unknown or not whole.
    gpus_per_pod: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupName {
    name: String,
    service: ServiceId,
}

/// Names by id, of one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    nodes: BTreeMap<NodeId, String>,
    groups: BTreeMap<GroupId, GroupName>,
    services: BTreeMap<ServiceId, ServiceName>,
    racks: BTreeMap<RackId, (String, RackKind)>,
    palette: Vec<&'static str>,
}

impl Names {
    /// The names of one snapshot.
    pub fn of(snapshot: &Snapshot) -> Names {
        let mut names = Names::default();
        names.remember(snapshot);
        names
    }

    /// Whether [`remember`](Names::remember) would change something; cheap enough for each frame.
    pub fn lacks(&self, snapshot: &Snapshot) -> bool {
        snapshot.gone_nodes.iter().any(|(id, name)| self.nodes.get(id) != Some(name))
            || snapshot.gone_groups.iter().any(|(id, name, _)| self.groups.get(id).is_none_or(|g| g.name != *name))
            || snapshot.nodes.iter().any(|n| self.nodes.get(&n.id) != Some(&n.name))
            || snapshot.groups.iter().any(|g| self.groups.get(&g.id).is_none_or(|known| known.name != g.name))
            || snapshot.services.iter().any(|s| self.services.get(&s.id).is_none_or(|known| known.name != s.name))
            || snapshot.racks.iter().any(|r| self.racks.get(&r.id).is_none_or(|known| known.0 != r.name))
            || !snapshot.palette.iter().map(|p| p.instance).eq(self.palette.iter().copied())
    }

    /// Adds the names of a snapshot to those already known. A present name replaces an old one:
    /// after a fork of the run an id can stand for another thing.
    pub fn remember(&mut self, snapshot: &Snapshot) {
        for (id, name) in &snapshot.gone_nodes {
            self.nodes.insert(*id, name.clone());
        }
        for (id, name, service) in &snapshot.gone_groups {
            self.groups.insert(*id, GroupName { name: name.clone(), service: *service });
        }
        for n in &snapshot.nodes {
            self.nodes.insert(n.id, n.name.clone());
        }
        for g in &snapshot.groups {
            self.groups.insert(g.id, GroupName { name: g.name.clone(), service: g.service });
        }
        for s in &snapshot.services {
            let whole = s.workers > 0 && s.gpus_per_replica.is_multiple_of(s.workers);
            let gpus_per_pod = whole.then(|| s.gpus_per_replica / s.workers);
            self.services.insert(s.id, ServiceName { name: s.name.clone(), gpus_per_pod });
        }
        for r in &snapshot.racks {
            self.racks.insert(r.id, (r.name.clone(), r.kind));
        }
        self.palette = snapshot.palette.iter().map(|p| p.instance).collect();
    }

    pub fn node(&self, id: NodeId) -> Arg {
        match self.nodes.get(&id) {
            Some(name) => name.clone().into(),
            None => Message::UnknownNode { n: id.0.to_string().into() }.into(),
        }
    }

    /// Several nodes; at most `most` by name, the rest as a count.
    pub fn nodes(&self, ids: &[NodeId], most: usize) -> Arg {
        let shown = if ids.len() > most { most.saturating_sub(1) } else { ids.len() };
        let (named, rest) = ids.split_at(shown.max(1).min(ids.len()));
        let mut list: Option<Message> = None;
        for id in named {
            let name = self.node(*id);
            list = Some(match list {
                None => Message::Word { word: name },
                Some(first) => Message::Comma { first: first.into(), next: name },
            });
        }
        match (list, rest.len()) {
            (None, _) => Message::NodeCount { n: 0_u32.into() }.into(),
            (Some(list), 0) => list.into(),
            (Some(list), n) => Message::AndMore { first: list.into(), n: n.into() }.into(),
        }
    }

    pub fn group(&self, id: GroupId) -> Arg {
        match self.groups.get(&id) {
            Some(group) => group.name.clone().into(),
            None => Message::UnknownGroup { n: id.0.to_string().into() }.into(),
        }
    }

    /// GPUs of one pod of the group, if known.
    pub fn gpus_per_pod(&self, id: GroupId) -> Option<u32> {
        self.groups.get(&id).and_then(|g| self.services.get(&g.service)).and_then(|s| s.gpus_per_pod)
    }

    pub fn service(&self, id: ServiceId) -> Arg {
        match self.services.get(&id) {
            Some(service) => service.name.clone().into(),
            None => Message::UnknownService { n: id.0.to_string().into() }.into(),
        }
    }

    /// `NVLink domain A`, or the plain name of a network rack.
    pub fn rack(&self, id: RackId) -> Arg {
        match self.racks.get(&id) {
            Some((name, RackKind::Nvl72)) => Message::NvlinkDomainName { name: name.clone().into() }.into(),
            Some((name, RackKind::Network)) => name.clone().into(),
            None => Message::UnknownRack { n: id.0.to_string().into() }.into(),
        }
    }

    /// Instance type of a palette entry.
    pub fn palette(&self, index: u32) -> Arg {
        match self.palette.get(index as usize) {
            Some(instance) => (*instance).into(),
            None => Message::UnknownInstance { n: index.to_string().into() }.into(),
        }
    }
}
