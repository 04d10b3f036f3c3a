//! Walking the map by keys: left and right among things of one kind, down into a rack or node,
//! up out of it.

use crate::sim::id::{NodeId, RackId};
use crate::sim::snapshot::{NodeStage, NodeView, Snapshot};

/// Where the roving focus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cursor {
    Rack(RackId),
    Node(NodeId),
    /// A GPU of a node, by its index.
    Cell(NodeId, u32),
}

/// The keys that the map knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Left,
    Right,
    Up,
    Down,
    Home,
    End,
    /// `Enter` on a drop target; elsewhere the button's own click does it.
    Drop,
    /// `M`.
    Move,
    Escape,
}

impl Key {
    /// The key of a `KeyboardEvent.key`; `None` for those that the map leaves alone.
    pub fn from_dom(key: &str) -> Option<Key> {
        Some(match key {
            "ArrowLeft" => Key::Left,
            "ArrowRight" => Key::Right,
            "ArrowUp" => Key::Up,
            "ArrowDown" => Key::Down,
            "Home" => Key::Home,
            "End" => Key::End,
            "m" | "M" => Key::Move,
            "Escape" => Key::Escape,
            _ => return None,
        })
    }
}

/// Nodes in reading order: by rack, as the map draws them.
fn nodes_in_order(snapshot: &Snapshot) -> Vec<&NodeView> {
    let alive = |n: &&NodeView| n.stage != NodeStage::Released;
    snapshot.racks.iter().flat_map(|r| snapshot.nodes.iter().filter(alive).filter(|n| n.rack == r.id)).collect()
}

/// Where the tab stop is before anything was walked to.
pub(super) fn start(snapshot: &Snapshot) -> Option<Cursor> {
    snapshot.racks.first().map(|r| Cursor::Rack(r.id))
}

/// The cursor if what it stands on is still there, else the nearest thing around it.
pub(super) fn settle(snapshot: &Snapshot, cursor: Option<Cursor>) -> Option<Cursor> {
    let node = |id: NodeId| snapshot.nodes.iter().find(|n| n.id == id && n.stage != NodeStage::Released);
    match cursor {
        Some(Cursor::Rack(id)) if snapshot.racks.iter().any(|r| r.id == id) => cursor,
        Some(Cursor::Node(id)) if node(id).is_some() => cursor,
        Some(Cursor::Cell(id, i)) => match node(id) {
            Some(n) if (i as usize) < n.cells.len() => cursor,
            Some(_) => Some(Cursor::Node(id)),
            None => left_rack(snapshot, id),
        },
        Some(Cursor::Node(id)) => left_rack(snapshot, id),
        _ => start(snapshot),
    }
}

/// The rack of a node that was given back.
fn left_rack(snapshot: &Snapshot, id: NodeId) -> Option<Cursor> {
    let rack = snapshot.nodes.iter().find(|n| n.id == id).map(|n| n.rack);
    let rack = rack.filter(|id| snapshot.racks.iter().any(|r| r.id == *id));
    rack.map(Cursor::Rack).or_else(|| start(snapshot))
}

/// Where a key leads; `None` if it leads nowhere.
pub(super) fn step(snapshot: &Snapshot, cursor: Cursor, key: Key) -> Option<Cursor> {
    match cursor {
        Cursor::Rack(id) => {
            let racks: Vec<Cursor> = snapshot.racks.iter().map(|r| Cursor::Rack(r.id)).collect();
            match key {
                Key::Down => {
                    let first = snapshot.nodes.iter().find(|n| n.rack == id && n.stage != NodeStage::Released);
                    first.map(|n| Cursor::Node(n.id))
                }
                Key::Up => None,
                _ => sideways(&racks, cursor, key),
            }
        }
        Cursor::Node(id) => {
            let node = snapshot.nodes.iter().find(|n| n.id == id)?;
            let nodes: Vec<Cursor> = nodes_in_order(snapshot).iter().map(|n| Cursor::Node(n.id)).collect();
            match key {
                Key::Up => Some(Cursor::Rack(node.rack)),
                Key::Down if !node.cells.is_empty() => Some(Cursor::Cell(id, 0)),
                Key::Down => None,
                _ => sideways(&nodes, cursor, key),
            }
        }
        Cursor::Cell(id, _) => match key {
            Key::Up => Some(Cursor::Node(id)),
            Key::Down => None,
            _ => {
                let cells = |n: &&NodeView| {
                    let id = n.id;
                    (0..n.cells.len() as u32).map(move |i| Cursor::Cell(id, i)).collect::<Vec<_>>()
                };
                let all: Vec<Cursor> = nodes_in_order(snapshot).iter().flat_map(cells).collect();
                sideways(&all, cursor, key)
            }
        },
    }
}

fn sideways(order: &[Cursor], at: Cursor, key: Key) -> Option<Cursor> {
    let i = order.iter().position(|c| *c == at)?;
    match key {
        Key::Left => i.checked_sub(1).map(|j| order[j]),
        Key::Right => order.get(i + 1).copied(),
        Key::Home => order.first().copied(),
        Key::End => order.last().copied(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::fixture::{self, node, rack};

    #[test]
    fn down_goes_into_a_rack_and_a_node_and_up_comes_out_again() {
        let s = fixture::trap();
        let a = Cursor::Rack(rack(&s, "A"));
        let a1 = node(&s, "gb-a1");
        assert_eq!(step(&s, a, Key::Down), Some(Cursor::Node(a1)));
        assert_eq!(step(&s, Cursor::Node(a1), Key::Down), Some(Cursor::Cell(a1, 0)));
        assert_eq!(step(&s, Cursor::Cell(a1, 0), Key::Down), None);
        assert_eq!(step(&s, Cursor::Cell(a1, 3), Key::Up), Some(Cursor::Node(a1)));
        assert_eq!(step(&s, Cursor::Node(a1), Key::Up), Some(a));
        assert_eq!(step(&s, a, Key::Up), None);
    }

    #[test]
    fn sideways_walks_on_into_the_next_rack_or_node_and_stops_at_the_ends() {
        let s = fixture::trap();
        let (a3, b1) = (node(&s, "gb-a3"), node(&s, "gb-b1"));
        assert_eq!(step(&s, Cursor::Node(a3), Key::Right), Some(Cursor::Node(b1)));
        assert_eq!(step(&s, Cursor::Cell(a3, 3), Key::Right), Some(Cursor::Cell(b1, 0)));
        assert_eq!(step(&s, Cursor::Cell(b1, 0), Key::Left), Some(Cursor::Cell(a3, 3)));
        assert_eq!(step(&s, Cursor::Rack(rack(&s, "A")), Key::Left), None);
        assert_eq!(step(&s, Cursor::Rack(rack(&s, "A")), Key::End), Some(Cursor::Rack(rack(&s, "rack 3"))));
        assert_eq!(step(&s, Cursor::Node(b1), Key::Home), Some(Cursor::Node(node(&s, "gb-a1"))));
    }

    #[test]
    fn a_cursor_on_a_released_node_settles_on_its_rack() {
        let mut s = fixture::trap();
        let b1 = node(&s, "gb-b1");
        s.nodes[b1.index()].stage = NodeStage::Released;
        assert_eq!(settle(&s, Some(Cursor::Cell(b1, 2))), Some(Cursor::Rack(rack(&s, "B"))));
        assert_eq!(settle(&s, Some(Cursor::Node(NodeId(77)))), Some(Cursor::Rack(rack(&s, "A"))));
        assert_eq!(settle(&s, None), Some(Cursor::Rack(rack(&s, "A"))));
        let a1 = node(&s, "gb-a1");
        assert_eq!(settle(&s, Some(Cursor::Cell(a1, 9))), Some(Cursor::Node(a1)));
    }
}
