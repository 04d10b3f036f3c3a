//! Mouse and touch gestures as WebDriver actions: the browser sees them as a device's own.

use std::time::Duration;

use anyhow::{Context, Result};
use fantoccini::actions::{InputSource, MouseActions, PointerAction, TouchActions};
use serde_json::{Value, json};

use crate::page::Page;

/// Moves between press and release. Several, because a drag starts only past a threshold and
/// targets react to being passed over.
const STEPS: u8 = 8;
const STEP_TIME: Duration = Duration::from_millis(16);

/// Primary button.
const BUTTON: u64 = 0;

/// A place in the viewport, in CSS pixels.
pub type Point = (f64, f64);

impl Page {
    /// Middle of the first element that matches, scrolled into view.
    pub async fn middle(&self, css: &str) -> Result<Point> {
        self.find(css).await?;
        let expression = format!(
            "((e) => {{ e.scrollIntoView({{ block: 'nearest', inline: 'nearest', behavior: 'instant' }});
                const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})
             (document.querySelector({}))",
            json!(css)
        );
        let place = self.js(&expression).await?;
        let coordinate = |index: usize| place[index].as_f64().map(f64::round);
        coordinate(0).zip(coordinate(1)).with_context(|| format!("place of {css}"))
    }

    /// Moves the mouse there without pressing.
    pub async fn hover(&self, css: &str) -> Result<()> {
        let to = self.middle(css).await?;
        let actions = MouseActions::new("mouse".to_owned()).then(move_to(to, STEP_TIME));
        self.client.perform_actions(actions).await.with_context(|| format!("hover over {css}"))
    }

    /// Drags with the mouse from the middle of one element to the middle of another.
    pub async fn drag(&self, from: &str, to: &str) -> Result<()> {
        let path = path(self.middle(from).await?, self.middle(to).await?);
        self.drag_along(&path).await.with_context(|| format!("drag {from} to {to}"))
    }

    /// Drags with the mouse through these places; pressed at the first, released at the last.
    pub async fn drag_along(&self, path: &[Point]) -> Result<()> {
        let mut mouse = MouseActions::new("mouse".to_owned());
        for action in gesture(path) {
            mouse = mouse.then(action);
        }
        Ok(self.client.perform_actions(mouse).await?)
    }

    /// Drags with one finger.
    pub async fn touch_drag(&self, from: &str, to: &str) -> Result<()> {
        let path = path(self.middle(from).await?, self.middle(to).await?);
        self.touch_along(&path).await.with_context(|| format!("touch-drag {from} to {to}"))
    }

    /// Drags one finger through these places.
    pub async fn touch_along(&self, path: &[Point]) -> Result<()> {
        let mut finger = TouchActions::new("finger".to_owned());
        for action in gesture(path) {
            finger = finger.then(action);
        }
        Ok(self.client.perform_actions(finger).await?)
    }

    /// Taps with one finger.
    pub async fn tap(&self, css: &str) -> Result<()> {
        let place = self.middle(css).await?;
        self.touch_along(&[place]).await.with_context(|| format!("tap {css}"))
    }

    /// Whether the page is wider than the viewport: it must never scroll sideways.
    pub async fn scrolls_sideways(&self) -> Result<bool> {
        let wider = self.js("document.documentElement.scrollWidth > document.documentElement.clientWidth").await?;
        Ok(wider == Value::Bool(true))
    }
}

fn move_to((x, y): Point, duration: Duration) -> PointerAction {
    PointerAction::MoveTo { duration: Some(duration), x, y }
}

fn gesture(path: &[Point]) -> Vec<PointerAction> {
    let mut actions = Vec::new();
    for (index, &place) in path.iter().enumerate() {
        actions.push(move_to(place, if index == 0 { Duration::ZERO } else { STEP_TIME }));
        if index == 0 {
            actions.push(PointerAction::Down { button: BUTTON });
        }
    }
    actions.push(PointerAction::Up { button: BUTTON });
    actions
}

fn path(from: Point, to: Point) -> Vec<Point> {
    let between = |a: f64, b: f64, step: u8| (a + (b - a) * f64::from(step) / f64::from(STEPS)).round();
    (0..=STEPS).map(|step| (between(from.0, to.0, step), between(from.1, to.1, step))).collect()
}
