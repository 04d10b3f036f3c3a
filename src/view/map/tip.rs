//! What a cell says when it is pointed at, focused or tapped.

use super::node::{CellCard, cell_label};
use super::{Cursor, Index, group_name};
use crate::i18n::Message;
use crate::sim::id::{GroupId, NodeId};
use crate::sim::snapshot::{GroupView, Snapshot};
use crate::view::replica;

/// A heading and a few lines.
#[derive(Debug, Clone, PartialEq)]
pub struct Tip {
    pub title: Message,
    pub lines: Vec<Message>,
}

/// The tip of a GPU or a part of one; `None` if it is not there.
pub fn cell_tip(snapshot: &Snapshot, node: NodeId, cell: u32) -> Option<Tip> {
    let n = snapshot.nodes.iter().find(|n| n.id == node)?;
    let at = n.cells.get(cell as usize)?;
    let index = Index::new(snapshot);
    let card: CellCard = super::node::cell(&index, n, at, &super::Lit::default());
    let place = cell_label(&card, cell as usize, n.parts_per_gpu, &n.name);
    Some(match at.group.and_then(|g| index.groups.get(&g)) {
        Some(group) => {
            let mut lines = group_lines(group, snapshot);
            lines.insert(0, place);
            Tip { title: Message::MapMenuOf { name: group_name(group).into() }, lines }
        }
        None => Tip { title: place, lines: Vec::new() },
    })
}

/// The tip of the cell under the map's cursor.
pub fn cursor_tip(snapshot: &Snapshot, cursor: Option<Cursor>) -> Option<Tip> {
    match cursor {
        Some(Cursor::Cell(node, cell)) => cell_tip(snapshot, node, cell),
        _ => None,
    }
}

/// The state of a replica, for its menu.
pub fn group_state(snapshot: &Snapshot, group: GroupId) -> Vec<Message> {
    snapshot.groups.iter().find(|g| g.id == group).map(|g| group_lines(g, snapshot)).unwrap_or_default()
}

fn group_lines(group: &GroupView, snapshot: &Snapshot) -> Vec<Message> {
    replica::state(group, snapshot.now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::i18n::{Lang, render};
    use crate::view::fixture;

    fn words(m: &Message) -> String {
        render(&Lang::english(), m)
    }

    #[test]
    fn a_cell_of_a_replica_names_it_its_place_and_its_state() {
        let s = fixture::trap();
        let tip = cell_tip(&s, fixture::node(&s, "gb-a1"), 3).unwrap();
        assert_eq!(words(&tip.title), "A llama-70b-0");
        assert!(words(&tip.lines[0]).starts_with("GPU 3 of gb-a1, held"));
        assert!(tip.lines.len() > 1);
        assert_eq!(tip.lines[1..], group_state(&s, GroupId(0)));
    }

    #[test]
    fn a_free_cell_says_only_that_and_one_that_is_not_there_nothing() {
        let s = fixture::trap();
        let node = fixture::node(&s, "l40-1");
        let tip = cell_tip(&s, node, 3).unwrap();
        assert_eq!((words(&tip.title).as_str(), tip.lines.len()), ("GPU 3 of l40-1, free", 0));
        assert_eq!(cell_tip(&s, node, 4), None);
        assert_eq!(cursor_tip(&s, Some(Cursor::Node(node))), None);
    }

    #[test]
    fn a_part_of_a_gpu_says_which() {
        let s = fixture::shared();
        let tip = cell_tip(&s, fixture::node(&s, "mig-1"), 8).unwrap();
        assert_eq!(words(&tip.lines[0]), "GPU 1, part 2 of 7, of mig-1, serving, embed-0-8");
        let free = cell_tip(&s, fixture::node(&s, "mps-1"), 2).unwrap();
        assert_eq!(words(&free.title), "GPU 0, part 3 of 3, of mps-1, free");
    }
}
