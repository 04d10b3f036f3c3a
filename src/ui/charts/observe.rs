//! How large an element is and whether it can be seen.

use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, IntersectionObserver, IntersectionObserverEntry, ResizeObserver, ResizeObserverEntry};
use yew::{NodeRef, hook, use_effect_with, use_state_eq};

/// Size in CSS pixels, and whether any part is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Seen {
    pub width: f64,
    pub height: f64,
    pub visible: bool,
}

type Entries = Closure<dyn FnMut(js_sys::Array)>;

struct Observers {
    size: Option<ResizeObserver>,
    sight: Option<IntersectionObserver>,
    _callbacks: (Entries, Entries),
}

impl Drop for Observers {
    fn drop(&mut self) {
        if let Some(size) = &self.size {
            size.disconnect();
        }
        if let Some(sight) = &self.sight {
            sight.disconnect();
        }
    }
}

fn observe(element: &Element, changed: impl Fn(Seen) + 'static) -> Observers {
    let seen = Rc::new(RefCell::new(Seen { visible: true, ..Seen::default() }));
    let changed = Rc::new(changed);
    let on_size: Entries = {
        let (seen, changed) = (seen.clone(), changed.clone());
        Closure::new(move |entries: js_sys::Array| {
            if let Ok(entry) = entries.get(0).dyn_into::<ResizeObserverEntry>() {
                let rect = entry.content_rect();
                let now = Seen { width: rect.width(), height: rect.height(), ..*seen.borrow() };
                *seen.borrow_mut() = now;
                changed(now);
            }
        })
    };
    let on_sight: Entries = Closure::new(move |entries: js_sys::Array| {
        let last = entries.get(entries.length().saturating_sub(1));
        if let Ok(entry) = last.dyn_into::<IntersectionObserverEntry>() {
            let now = Seen { visible: entry.is_intersecting(), ..*seen.borrow() };
            *seen.borrow_mut() = now;
            changed(now);
        }
    });
    let size = ResizeObserver::new(on_size.as_ref().unchecked_ref()).ok();
    let sight = IntersectionObserver::new(on_sight.as_ref().unchecked_ref()).ok();
    if let Some(size) = &size {
        size.observe(element);
    }
    if let Some(sight) = &sight {
        sight.observe(element);
    }
    Observers { size, sight, _callbacks: (on_size, on_sight) }
}

/// Watches the element behind a reference for as long as the component lives.
#[hook]
pub fn use_seen(node: &NodeRef) -> Seen {
    let seen = use_state_eq(Seen::default);
    let setter = seen.setter();
    let node = node.clone();
    use_effect_with((), move |()| {
        let observers = node.cast::<Element>().map(|e| observe(&e, move |s| setter.set(s)));
        move || drop(observers)
    });
    *seen
}
