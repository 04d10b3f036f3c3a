//! Carrying by pointer: Pointer Events on the grip alone, capture after six pixels, our own hit
//! test. Cancel, lost capture, Escape and blur put it back; nothing is sent before `up`.

use crate::sim::id::RackId;
use crate::view::map::{Act, By, Carried, Rect, hit_test};
use gloo::events::{EventListener, EventListenerOptions};
use gloo::timers::callback::Timeout;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};
use yew::prelude::*;

/// Way that a pressed pointer goes before it carries, in CSS pixels.
const THRESHOLD_PX: f64 = 6.0;

/// Distance from the board's edge at which carrying scrolls it, and by how much, in CSS pixels.
const EDGE_PX: f64 = 28.0;
const SCROLL_STEP_PX: i32 = 12;

fn rect_of(element: &Element) -> Rect {
    let r = element.get_bounding_client_rect();
    Rect { left: r.left(), top: r.top(), width: r.width(), height: r.height() }
}

/// A pointer went down on a grip.
#[derive(Clone)]
pub struct Lift {
    pub event: PointerEvent,
    pub what: Carried,
}

struct Drag {
    pointer: i32,
    what: Carried,
    grip: Element,
    from: (f64, f64),
    at: (f64, f64),
    lifted: bool,
    over: Option<RackId>,
    /// While carrying only: Escape and blur of the window put it back.
    _guards: Vec<EventListener>,
}

/// The pointer of one map.
#[derive(Clone)]
pub struct Pointer {
    drag: Rc<RefCell<Option<Drag>>>,
    /// A drag ended in this turn of the event loop: the click that follows is no click.
    just_dragged: Rc<Cell<bool>>,
    root: NodeRef,
    pub ghost: NodeRef,
}

impl Pointer {
    pub fn new(root: NodeRef) -> Pointer {
        Pointer { drag: Rc::default(), just_dragged: Rc::default(), root, ghost: NodeRef::default() }
    }

    pub fn swallows_click(&self) -> bool {
        self.just_dragged.get()
    }

    pub fn down(&self, lift: &Lift) {
        let event = &lift.event;
        let grip = event.target().and_then(|t| t.dyn_into::<Element>().ok());
        let Some(grip) = grip.filter(|_| event.is_primary() && event.button() == 0) else {
            return;
        };
        let from = (f64::from(event.client_x()), f64::from(event.client_y()));
        *self.drag.borrow_mut() = Some(Drag {
            pointer: event.pointer_id(),
            what: lift.what,
            grip,
            from,
            at: from,
            lifted: false,
            over: None,
            _guards: Vec::new(),
        });
    }

    pub fn moved(&self, event: &PointerEvent, racks: &[RackId], act: &Callback<Act>) {
        let mut acts = Vec::new();
        {
            let mut slot = self.drag.borrow_mut();
            let Some(drag) = slot.as_mut().filter(|d| d.pointer == event.pointer_id()) else {
                return;
            };
            drag.at = (f64::from(event.client_x()), f64::from(event.client_y()));
            if !drag.lifted {
                let (dx, dy) = (drag.at.0 - drag.from.0, drag.at.1 - drag.from.1);
                if dx * dx + dy * dy < THRESHOLD_PX * THRESHOLD_PX {
                    return;
                }
                drag.lifted = true;
                // A pointer that is gone already cannot be captured; `up` will not come either.
                if drag.grip.set_pointer_capture(drag.pointer).is_err() {
                    *slot = None;
                    return;
                }
                drag._guards = self.guards(act);
                acts.push(Act::Carry(drag.what, By::Pointer));
            }
            self.scroll_at_edge(drag.at.1);
            let over = self.rack_at(racks, drag.at);
            if over != drag.over || !acts.is_empty() {
                drag.over = over;
                acts.push(Act::Over(over));
            }
        }
        self.place_ghost();
        acts.into_iter().for_each(|a| act.emit(a));
    }

    pub fn up(&self, event: &PointerEvent, racks: &[RackId], act: &Callback<Act>) {
        let ended = self.take(event.pointer_id());
        if ended.is_none_or(|d| !d.lifted) {
            return;
        }
        let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
        match self.rack_at(racks, (x, y)) {
            Some(rack) => act.emit(Act::DropOn(rack)),
            None => act.emit(Act::PutBack),
        }
    }

    /// `pointercancel` and `lostpointercapture`.
    pub fn lost(&self, event: &PointerEvent, act: &Callback<Act>) {
        if self.take(event.pointer_id()).is_some_and(|d| d.lifted) {
            act.emit(Act::PutBack);
        }
    }

    /// Ends a drag of this pointer.
    fn take(&self, pointer: i32) -> Option<Drag> {
        let mut slot = self.drag.borrow_mut();
        slot.as_ref().filter(|d| d.pointer == pointer)?;
        let drag = slot.take()?;
        if drag.lifted {
            self.swallow_next_click();
            // The capture may be lost already.
            _ = drag.grip.release_pointer_capture(drag.pointer);
        }
        Some(drag)
    }

    fn swallow_next_click(&self) {
        self.just_dragged.set(true);
        let flag = self.just_dragged.clone();
        Timeout::new(0, move || flag.set(false)).forget();
    }

    fn guards(&self, act: &Callback<Act>) -> Vec<EventListener> {
        let Some(window) = web_sys::window() else {
            return Vec::new();
        };
        let put_back = {
            let (me, act) = (self.clone(), act.clone());
            move || {
                let pointer = me.drag.borrow().as_ref().map(|d| d.pointer);
                if pointer.and_then(|p| me.take(p)).is_some() {
                    act.emit(Act::PutBack);
                }
            }
        };
        let on_blur = put_back.clone();
        let keys = EventListener::new_with_options(
            &window,
            "keydown",
            EventListenerOptions::run_in_capture_phase(),
            move |event| {
                if event.dyn_ref::<KeyboardEvent>().is_some_and(|e| e.key() == "Escape") {
                    event.stop_propagation();
                    // Dropping the guards inside one of them would free the running closure.
                    let put_back = put_back.clone();
                    Timeout::new(0, put_back).forget();
                }
            },
        );
        let blur = EventListener::new(&window, "blur", move |_| {
            let put_back = on_blur.clone();
            Timeout::new(0, put_back).forget();
        });
        vec![keys, blur]
    }

    /// The rack under the pointer. The board may scroll: what it hides takes nothing.
    fn rack_at(&self, racks: &[RackId], (x, y): (f64, f64)) -> Option<RackId> {
        let root = self.root.cast::<Element>()?;
        let frame = rect_of(&root.query_selector(".map-board").ok().flatten()?);
        hit_test(&[(RackId(0), frame)], x, y)?;
        let rect = |id: &RackId| {
            let selector = format!("[data-rack=\"{}\"]", id.0);
            Some((*id, rect_of(&root.query_selector(&selector).ok().flatten()?)))
        };
        hit_test(&racks.iter().filter_map(rect).collect::<Vec<_>>(), x, y)
    }

    /// Scrolls the board when the pointer carries something to its upper or lower edge.
    fn scroll_at_edge(&self, y: f64) {
        let Some(root) = self.root.cast::<Element>() else {
            return;
        };
        if let Ok(Some(board)) = root.query_selector(".map-board") {
            let frame = rect_of(&board);
            if y < frame.top + EDGE_PX {
                board.set_scroll_top(board.scroll_top() - SCROLL_STEP_PX);
            } else if y > frame.top + frame.height - EDGE_PX {
                board.set_scroll_top(board.scroll_top() + SCROLL_STEP_PX);
            }
        }
    }

    /// Puts the carried picture beside the pointer, in the map's own coordinates.
    pub fn place_ghost(&self) {
        let slot = self.drag.borrow();
        let (Some(drag), Some(root)) = (slot.as_ref(), self.root.cast::<Element>()) else {
            return;
        };
        let Some(ghost) = self.ghost.cast::<HtmlElement>() else {
            return;
        };
        let frame = root.get_bounding_client_rect();
        let (x, y) = (drag.at.0 - frame.left() + 12.0, drag.at.1 - frame.top() + 12.0);
        _ = ghost.style().set_property("transform", &format!("translate({x:.0}px, {y:.0}px)"));
    }
}
