//! What a key, a click or a drop does to the map. The page translates browser events into
//! [`Act`]s, keeps a [`MapState`], and moves the focus where [`MapState::focus`] says.

use super::drop::{Carried, can_carry, drop_check, drop_command};
use super::menu::{MenuDoes, MenuOf, menu_items};
use super::walk::{self, Cursor, Key};
use crate::session::{self, Selection};
use crate::sim::command::Refusal;
use crate::sim::id::RackId;
use crate::sim::snapshot::{NodeStage, Snapshot};

/// How a thing is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Held by the pointer; `over` is the rack under it.
    Pointer,
    /// Picked, then a target is picked, by clicks or keys.
    Pick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    #[default]
    Walk,
    Menu(MenuOf),
    Place {
        what: Carried,
        by: By,
        /// The rack under the pointer, or the one whose button has the focus.
        over: Option<RackId>,
    },
}

/// The state of the map that is not the simulation's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MapState {
    pub cursor: Option<Cursor>,
    pub mode: Mode,
    /// The palette item that was picked up last and put down: the focus goes back to it.
    pub back_to: Option<u32>,
    /// Goes up whenever the focus must move to [`MapState::focus`].
    pub focus_calls: u32,
}

/// What has the focus while it is in the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    Cursor(Cursor),
    /// The first item of the open menu.
    Menu,
    /// The drop button of a rack.
    Target(RackId),
    Palette(u32),
    /// The cancel button, when no rack takes what is carried.
    Cancel,
}

/// What the person did.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    Key(Key),
    /// The browser moved the focus (Tab, a click, a reader).
    Focused(Cursor),
    FocusedTarget(RackId),
    OpenMenu(MenuOf),
    CloseMenu,
    /// A click or the focus went elsewhere: the menu closes and does not take the focus back.
    Dismiss,
    Choose(MenuDoes),
    /// Pick a thing up.
    Carry(Carried, By),
    /// The pointer is over this rack, or over none.
    Over(Option<RackId>),
    /// Let go over a rack.
    DropOn(RackId),
    /// Let go elsewhere, Escape, lost capture, blur.
    PutBack,
}

impl MapState {
    /// Where the focus belongs.
    pub fn focus(&self) -> Option<Focus> {
        match self.mode {
            Mode::Walk => self.back_to.map(Focus::Palette).or_else(|| self.cursor.map(Focus::Cursor)),
            Mode::Menu(_) => Some(Focus::Menu),
            Mode::Place { by: By::Pointer, .. } => None,
            Mode::Place { over: Some(rack), .. } => Some(Focus::Target(rack)),
            Mode::Place { over: None, .. } => Some(Focus::Cancel),
        }
    }

    fn call_focus(mut self) -> MapState {
        self.focus_calls = self.focus_calls.wrapping_add(1);
        self
    }
}

/// The racks that take what is carried, in reading order.
fn targets(snapshot: &Snapshot, what: Carried) -> Vec<RackId> {
    snapshot.racks.iter().map(|r| r.id).filter(|r| drop_check(snapshot, what, *r).is_ok()).collect()
}

/// The state with everything that the world has taken away let go of.
pub fn reconcile(state: &MapState, snapshot: &Snapshot) -> MapState {
    let mut out = *state;
    out.cursor = walk::settle(snapshot, state.cursor);
    let alive = |id| snapshot.nodes.iter().any(|n| n.id == id && n.stage != NodeStage::Released);
    out.mode = match state.mode {
        Mode::Menu(MenuOf::Node(id) | MenuOf::Group { node: id, .. }) if !alive(id) => Mode::Walk,
        Mode::Menu(MenuOf::Group { group, node, .. }) if !snapshot.groups.iter().any(|g| g.id == group) => {
            Mode::Menu(MenuOf::Node(node))
        }
        Mode::Menu(MenuOf::Rack(id)) if !snapshot.racks.iter().any(|r| r.id == id) => Mode::Walk,
        Mode::Place { what: Carried::Node(id), .. } if can_carry(snapshot, id).is_err() => Mode::Walk,
        Mode::Place { what: Carried::Palette(i), .. } if snapshot.palette.len() <= i as usize => Mode::Walk,
        mode => mode,
    };
    out
}

/// Carries an act out: the next state, and what the page sends.
pub fn act(state: &MapState, snapshot: &Snapshot, act: Act) -> (MapState, Vec<session::Message>) {
    let now = reconcile(state, snapshot);
    match act {
        Act::Key(key) => on_key(now, snapshot, key),
        Act::Focused(cursor) => (MapState { cursor: Some(cursor), back_to: None, ..now }, Vec::new()),
        Act::FocusedTarget(rack) => match now.mode {
            Mode::Place { what, by, .. } => {
                (MapState { mode: Mode::Place { what, by, over: Some(rack) }, ..now }, vec![])
            }
            _ => (now, Vec::new()),
        },
        Act::OpenMenu(of) => open_menu(now, of),
        Act::CloseMenu => match now.mode {
            Mode::Menu(_) => (MapState { mode: Mode::Walk, ..now }.call_focus(), Vec::new()),
            _ => (now, Vec::new()),
        },
        Act::Dismiss => match now.mode {
            Mode::Menu(_) => (MapState { mode: Mode::Walk, ..now }, Vec::new()),
            _ => (now, Vec::new()),
        },
        Act::Choose(does) => choose(now, snapshot, does),
        Act::Carry(what, by) => (carry(now, snapshot, what, by), Vec::new()),
        Act::Over(over) => match now.mode {
            Mode::Place { what, by: By::Pointer, .. } => {
                (MapState { mode: Mode::Place { what, by: By::Pointer, over }, ..now }, Vec::new())
            }
            _ => (now, Vec::new()),
        },
        Act::DropOn(rack) => drop_on(now, snapshot, rack),
        Act::PutBack => match now.mode {
            Mode::Place { by, .. } => {
                let back = MapState { mode: Mode::Walk, ..now };
                (if by == By::Pick { back.call_focus() } else { back }, Vec::new())
            }
            _ => (now, Vec::new()),
        },
    }
}

fn open_menu(now: MapState, of: MenuOf) -> (MapState, Vec<session::Message>) {
    let (cursor, select) = match of {
        MenuOf::Rack(id) => (Cursor::Rack(id), None),
        MenuOf::Node(id) => (Cursor::Node(id), Some(Selection::Node(id))),
        MenuOf::Group { group, node, cell } => (Cursor::Cell(node, cell), Some(Selection::Group(group))),
    };
    let state = MapState { cursor: Some(cursor), mode: Mode::Menu(of), back_to: None, ..now }.call_focus();
    (state, select.map(session::Message::Select).into_iter().collect())
}

/// The menu shut, and the focus back where it was opened.
fn closed(now: MapState) -> MapState {
    MapState { mode: Mode::Walk, ..now }.call_focus()
}

fn choose(now: MapState, snapshot: &Snapshot, does: MenuDoes) -> (MapState, Vec<session::Message>) {
    // The menu may have changed since it was drawn: a refused item does nothing.
    if let Mode::Menu(of) = now.mode
        && menu_items(snapshot, of).iter().any(|i| i.does == does && i.refused.is_some())
    {
        return (now, Vec::new());
    }
    match does {
        MenuDoes::Do(command) => (closed(now), vec![session::Message::Do(command)]),
        MenuDoes::Select(selection) => (closed(now), vec![session::Message::Select(selection)]),
        MenuDoes::Place(what) => (carry(now, snapshot, what, By::Pick), Vec::new()),
        MenuDoes::Open(of) => open_menu(now, of),
    }
}

fn carry(now: MapState, snapshot: &Snapshot, what: Carried, by: By) -> MapState {
    let cursor = match what {
        Carried::Node(id) => Some(Cursor::Node(id)),
        Carried::Palette(_) => now.cursor,
    };
    let over = match by {
        By::Pointer => None,
        By::Pick => targets(snapshot, what).first().copied(),
    };
    let back_to = match (what, by) {
        (Carried::Palette(i), By::Pick) => Some(i),
        _ => None,
    };
    let state = MapState { cursor, mode: Mode::Place { what, by, over }, back_to, ..now };
    if by == By::Pick { state.call_focus() } else { state }
}

fn drop_on(now: MapState, snapshot: &Snapshot, rack: RackId) -> (MapState, Vec<session::Message>) {
    let Mode::Place { what, by, .. } = now.mode else {
        return (now, Vec::new());
    };
    let done = MapState { mode: Mode::Walk, ..now };
    let done = if by == By::Pick { done.call_focus() } else { done };
    match drop_check(snapshot, what, rack) {
        // Letting go where it was lifted is a change of mind.
        Err(Refusal::SamePlace) => (done, Vec::new()),
        // The world refuses the rest itself, and says why.
        Ok(()) | Err(_) => (done, vec![session::Message::Do(drop_command(what, rack))]),
    }
}

fn on_key(now: MapState, snapshot: &Snapshot, key: Key) -> (MapState, Vec<session::Message>) {
    match now.mode {
        Mode::Walk => match (key, now.cursor) {
            (Key::Move, Some(Cursor::Node(id) | Cursor::Cell(id, _))) => match can_carry(snapshot, id) {
                Ok(()) => (carry(now, snapshot, Carried::Node(id), By::Pick), Vec::new()),
                // The menu shows the item with its reason.
                Err(_) => open_menu(now, MenuOf::Node(id)),
            },
            (Key::Escape, _) => (now, vec![session::Message::Select(Selection::Nothing)]),
            (_, Some(cursor)) => match walk::step(snapshot, cursor, key) {
                Some(next) => (MapState { cursor: Some(next), ..now }.call_focus(), Vec::new()),
                None => (now, Vec::new()),
            },
            (_, None) => (now, Vec::new()),
        },
        Mode::Menu(_) => match key {
            Key::Escape => (MapState { mode: Mode::Walk, ..now }.call_focus(), Vec::new()),
            _ => (now, Vec::new()),
        },
        Mode::Place { what, by, over } => match key {
            Key::Escape => act(&now, snapshot, Act::PutBack),
            Key::Drop => over.map_or((now, Vec::new()), |rack| drop_on(now, snapshot, rack)),
            _ if by == By::Pick => {
                let over = next_target(&targets(snapshot, what), over, key);
                (MapState { mode: Mode::Place { what, by, over }, ..now }.call_focus(), Vec::new())
            }
            _ => (now, Vec::new()),
        },
    }
}

/// Arrows visit valid racks only and go round.
fn next_target(targets: &[RackId], over: Option<RackId>, key: Key) -> Option<RackId> {
    let n = targets.len();
    let at = over.and_then(|r| targets.iter().position(|t| *t == r));
    let next = match (key, at) {
        (Key::Home, _) => 0,
        (Key::End, _) => n.checked_sub(1)?,
        (Key::Right | Key::Down, Some(i)) => (i + 1) % n,
        (Key::Left | Key::Up, Some(i)) => (i + n - 1) % n,
        (Key::Right | Key::Down | Key::Left | Key::Up, None) => 0,
        _ => return over,
    };
    targets.get(next).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::command::Command;
    use crate::sim::id::NodeId;
    use crate::view::fixture::{self, node, rack};

    fn run(s: &Snapshot, acts: impl IntoIterator<Item = Act>) -> (MapState, Vec<session::Message>) {
        let mut state = MapState::default();
        let mut sent = Vec::new();
        for a in acts {
            let (next, messages) = act(&state, s, a);
            state = next;
            sent.extend(messages);
        }
        (state, sent)
    }

    #[test]
    fn m_visits_valid_racks_only_and_enter_drops_by_one_command() {
        let mut s = fixture::trap();
        let spare = fixture::add_rack(&mut s, "C");
        let b1 = node(&s, "gb-b1");
        let (state, sent) = run(&s, [Act::Focused(Cursor::Node(b1)), Act::Key(Key::Move)]);
        assert_eq!(state.focus(), Some(Focus::Target(rack(&s, "A"))));
        assert!(sent.is_empty(), "nothing changes before the drop");
        let (state, _) = act(&state, &s, Act::Key(Key::Right));
        assert_eq!(state.focus(), Some(Focus::Target(spare)));
        let (state, _) = act(&state, &s, Act::Key(Key::Right));
        assert_eq!(state.focus(), Some(Focus::Target(rack(&s, "A"))), "goes round");
        let (state, sent) = act(&state, &s, Act::Key(Key::Drop));
        assert_eq!(sent, [session::Message::Do(Command::MoveNode { node: b1, rack: rack(&s, "A") })]);
        assert_eq!(state.focus(), Some(Focus::Cursor(Cursor::Node(b1))));
    }

    #[test]
    fn escape_puts_it_back_and_gives_the_focus_back_to_the_node() {
        let s = fixture::trap();
        let b1 = node(&s, "gb-b1");
        let (state, sent) = run(&s, [Act::Focused(Cursor::Node(b1)), Act::Key(Key::Move), Act::Key(Key::Escape)]);
        assert_eq!((state.mode, state.focus()), (Mode::Walk, Some(Focus::Cursor(Cursor::Node(b1)))));
        assert!(sent.is_empty());
    }

    #[test]
    fn a_pointer_drop_is_one_command_and_a_refused_one_is_left_to_the_world() {
        let s = fixture::trap();
        let b1 = node(&s, "gb-b1");
        let lift = Act::Carry(Carried::Node(b1), By::Pointer);
        let (_, sent) = run(&s, [lift.clone(), Act::Over(Some(rack(&s, "A"))), Act::DropOn(rack(&s, "A"))]);
        assert_eq!(sent, [session::Message::Do(Command::MoveNode { node: b1, rack: rack(&s, "A") })]);
        let (state, sent) = run(&s, [lift.clone(), Act::DropOn(rack(&s, "rack 3"))]);
        assert_eq!(sent.len(), 1);
        assert_eq!(state.mode, Mode::Walk);
        let (_, sent) = run(&s, [lift.clone(), Act::DropOn(rack(&s, "B"))]);
        assert!(sent.is_empty(), "dropped where it was");
        let (state, sent) = run(&s, [lift, Act::PutBack]);
        assert!(sent.is_empty() && state.mode == Mode::Walk);
    }

    #[test]
    fn by_clicks_a_palette_item_is_placed_with_two() {
        let s = fixture::trap();
        let (state, _) = run(&s, [Act::Carry(Carried::Palette(0), By::Pick)]);
        assert!(matches!(state.mode, Mode::Place { .. }));
        let (state, sent) = act(&state, &s, Act::DropOn(rack(&s, "B")));
        assert_eq!(state.focus(), Some(Focus::Palette(0)), "the focus goes back to the palette");
        assert_eq!(sent, [session::Message::Do(Command::BuyNode { palette: 0, rack: rack(&s, "B") })]);
    }

    #[test]
    fn opening_a_menu_selects_its_thing_and_choosing_sends_once() {
        let s = fixture::trap();
        let a1 = node(&s, "gb-a1");
        let (state, sent) = run(&s, [Act::OpenMenu(MenuOf::Node(a1))]);
        assert_eq!(sent, [session::Message::Select(Selection::Node(a1))]);
        assert_eq!(state.focus(), Some(Focus::Menu));
        let release = MenuDoes::Do(Command::ReleaseNode { node: a1 });
        let (state, sent) = act(&state, &s, Act::Choose(release));
        assert_eq!(sent, [session::Message::Do(Command::ReleaseNode { node: a1 })]);
        assert_eq!(state.focus(), Some(Focus::Cursor(Cursor::Node(a1))));
    }

    #[test]
    fn a_refused_menu_item_does_nothing() {
        let s = fixture::trap();
        let booting = node(&s, "hgx-2");
        let place = MenuDoes::Place(Carried::Node(booting));
        let (state, _) = run(&s, [Act::OpenMenu(MenuOf::Node(booting)), Act::Choose(place)]);
        assert_eq!(state.mode, Mode::Menu(MenuOf::Node(booting)));
        let (state, _) = run(&s, [Act::Focused(Cursor::Node(booting)), Act::Key(Key::Move)]);
        assert_eq!(state.mode, Mode::Menu(MenuOf::Node(booting)), "M shows the reason in the menu");
    }

    #[test]
    fn what_the_world_takes_away_is_let_go_of() {
        let mut s = fixture::trap();
        let b1 = node(&s, "gb-b1");
        let (state, _) = run(&s, [Act::Focused(Cursor::Node(b1)), Act::Key(Key::Move)]);
        s.nodes[b1.index()].stage = NodeStage::Released;
        let after = reconcile(&state, &s);
        assert_eq!((after.mode, after.cursor), (Mode::Walk, Some(Cursor::Rack(rack(&s, "B")))));
        let (_, sent) = act(&state, &s, Act::DropOn(rack(&s, "A")));
        assert!(sent.is_empty());
        let gone = MapState { mode: Mode::Menu(MenuOf::Node(NodeId(99))), ..MapState::default() };
        assert_eq!(reconcile(&gone, &s).mode, Mode::Walk);
    }

    #[test]
    fn with_no_valid_rack_the_focus_is_on_cancel() {
        let mut s = fixture::trap();
        s.racks.iter_mut().for_each(|r| r.slots_used = r.slots_total);
        let (state, _) = run(&s, [Act::Carry(Carried::Palette(0), By::Pick)]);
        assert_eq!(state.focus(), Some(Focus::Cancel));
        let (state, sent) = act(&state, &s, Act::Key(Key::Drop));
        assert!(sent.is_empty() && matches!(state.mode, Mode::Place { .. }));
    }
}
