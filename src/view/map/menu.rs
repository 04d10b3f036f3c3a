//! What the menu of a rack, a node or a replica offers.

use super::drop::{Carried, can_carry, drop_check};
use super::node::groups_on;
use super::words::{place_message, refusal_message};
use super::{Index, group_name, tools};
use crate::i18n::{Arg, Message};
use crate::session::Selection;
use crate::sim::command::{Command, Refusal};
use crate::sim::id::{GroupId, NodeId, RackId};
use crate::sim::snapshot::{GroupStage, GroupView, Snapshot};

/// What a menu belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MenuOf {
    Rack(RackId),
    Node(NodeId),
    /// A replica or gang, opened at one of its cells.
    Group {
        group: GroupId,
        node: NodeId,
        cell: u32,
    },
}

/// What choosing an item does.
#[derive(Debug, Clone, PartialEq)]
pub enum MenuDoes {
    Do(Command),
    Select(Selection),
    /// Look for a rack for it.
    Place(Carried),
    Open(MenuOf),
}

/// An item. A disabled one stays in reach, so that one learns that it exists and why not.
#[derive(Debug, Clone, PartialEq)]
pub struct MenuItem {
    /// For `data-testid`: `menu-<id>`.
    pub id: String,
    pub label: Message,
    /// Why it cannot be chosen now.
    pub refused: Option<Message>,
    pub does: MenuDoes,
}

impl MenuItem {
    fn new(id: impl Into<String>, label: Message, does: MenuDoes, check: Result<(), Refusal>) -> MenuItem {
        MenuItem { id: id.into(), label, refused: check.err().map(|r| refusal_message(&r)), does }
    }
}

fn send(command: Command) -> MenuDoes {
    MenuDoes::Do(command)
}

/// The name over the menu.
pub fn menu_title(snapshot: &Snapshot, of: MenuOf) -> Option<Message> {
    match of {
        MenuOf::Rack(id) => snapshot.racks.iter().find(|r| r.id == id).map(place_message),
        MenuOf::Node(id) => node_title(snapshot, id),
        MenuOf::Group { group, .. } => {
            let group = snapshot.groups.iter().find(|g| g.id == group)?;
            Some(Message::MapMenuOf { name: group_name(group).into() })
        }
    }
}

fn node_title(snapshot: &Snapshot, id: NodeId) -> Option<Message> {
    let node = snapshot.nodes.iter().find(|n| n.id == id)?;
    Some(Message::MapMenuOf { name: node.name.clone().into() })
}

/// The items, in order; empty if the thing is gone.
pub fn menu_items(snapshot: &Snapshot, of: MenuOf) -> Vec<MenuItem> {
    let index = Index::new(snapshot);
    match of {
        MenuOf::Rack(rack) => rack_items(&index, rack),
        MenuOf::Node(node) => {
            let mut items = node_items(snapshot, node);
            let view = snapshot.nodes.iter().find(|n| n.id == node);
            for group in view.map(|n| groups_on(&index, n)).unwrap_or_default() {
                let cell = view.and_then(|n| n.cells.iter().position(|c| c.group == Some(group.id))).unwrap_or(0);
                let of = MenuOf::Group { group: group.id, node, cell: cell as u32 };
                let label = Message::MapGroupMenu { group: group_name(group).into() };
                items.push(MenuItem::new(format!("group-{}", group.name), label, MenuDoes::Open(of), Ok(())));
            }
            items
        }
        MenuOf::Group { group, node, .. } => {
            let mut items = index.groups.get(&group).map_or_else(Vec::new, |g| group_items(g));
            items.extend(node_items(snapshot, node));
            items
        }
    }
}

fn rack_items(index: &Index<'_>, rack: RackId) -> Vec<MenuItem> {
    let s = index.snapshot;
    let mut items = Vec::new();
    let trapped = s.racks.iter().find(|r| r.id == rack).and_then(|r| r.trapped);
    if let Some(group) = trapped.and_then(|g| index.groups.get(&g)) {
        items.push(why_item(group));
    }
    for (i, item) in s.palette.iter().enumerate() {
        let carried = Carried::Palette(i as u32);
        let label = Message::MapBuyHere {
            item: tools::item_message(item).into(),
            price: Arg::MoneyPerHour(item.price_per_hour),
        };
        let does = send(Command::BuyNode { palette: i as u32, rack });
        items.push(MenuItem::new(format!("buy-{}", item.instance), label, does, drop_check(s, carried, rack)));
    }
    items
}

fn node_items(snapshot: &Snapshot, node: NodeId) -> Vec<MenuItem> {
    let Some(view) = snapshot.nodes.iter().find(|n| n.id == node) else {
        return Vec::new();
    };
    // A booting node can be given back, though not carried.
    let release = match can_carry(snapshot, node) {
        Err(Refusal::NodeBooting) if !view.leaving => Ok(()),
        other => other,
    };
    vec![
        MenuItem::new("move", Message::MapMove, MenuDoes::Place(Carried::Node(node)), can_carry(snapshot, node)),
        MenuItem::new("release", Message::MapRelease, send(Command::ReleaseNode { node }), release),
    ]
}

fn why_item(group: &GroupView) -> MenuItem {
    let label = Message::MapWhyGroup { group: group_name(group).into() };
    let does = MenuDoes::Select(Selection::Group(group.id));
    MenuItem::new("why", label, does, Ok(()))
}

fn group_items(group: &GroupView) -> Vec<MenuItem> {
    let leaving = matches!(group.stage, GroupStage::Draining | GroupStage::Gone);
    let check = if leaving { Err(Refusal::GroupLeaving) } else { Ok(()) };
    let label = Message::MapDeleteGroup { group: group_name(group).into() };
    let crash = if group.seats > 0 && !leaving { Ok(()) } else { Err(Refusal::NotServing) };
    let fault = Message::MapCrashGroup { group: group_name(group).into() };
    vec![
        why_item(group),
        MenuItem::new("delete", label, send(Command::DeleteGroup { group: group.id }), check),
        MenuItem::new("crash", fault, send(Command::CrashReplica { group: group.id }), crash),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture::{self, node, rack};

    fn ids(items: &[MenuItem]) -> Vec<&str> {
        items.iter().map(|i| i.id.as_str()).collect()
    }

    #[test]
    fn a_node_offers_move_release_and_its_replicas() {
        let s = fixture::trap();
        let items = menu_items(&s, MenuOf::Node(node(&s, "gb-a2")));
        assert_eq!(ids(&items), ["move", "release", "group-llama-70b-0", "group-chat-8b-0"]);
        assert!(items.iter().all(|i| i.refused.is_none()));
    }

    #[test]
    fn what_cannot_be_done_now_stays_in_the_menu_with_its_reason() {
        let s = fixture::trap();
        let items = menu_items(&s, MenuOf::Node(node(&s, "hgx-2")));
        let en = Lang::english();
        assert_eq!(items[0].refused.as_ref().map(|m| render(&en, m)).as_deref(), Some("the node is still booting"));
        assert_eq!(items[1].refused, None);
        let rack_menu = menu_items(&s, MenuOf::Rack(rack(&s, "A")));
        assert_eq!(ids(&rack_menu), ["why", "buy-p6e-gb200.36xlarge", "buy-p5.48xlarge", "buy-g6e.12xlarge"]);
        assert!(rack_menu[1].refused.is_none() && rack_menu[2].refused.is_some());
    }

    #[test]
    fn a_replica_is_deleted_by_one_command() {
        let s = fixture::trap();
        let group = s.groups[0].id;
        let items = menu_items(&s, MenuOf::Group { group, node: node(&s, "gb-a1"), cell: 0 });
        assert_eq!(ids(&items), ["why", "delete", "crash", "move", "release"]);
        assert_eq!(items[1].does, MenuDoes::Do(Command::DeleteGroup { group }));
    }
}
