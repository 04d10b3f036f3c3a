//! Small pictures: GPU cells and line icons. All are decoration; words stand beside them.

use crate::view::map::{CellCard, CellLook, WaitIcon};
use yew::prelude::*;

/// A line icon on a 16 × 16 grid.
pub fn icon(path: &'static str) -> Html {
    html! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d={path} /></svg>
    }
}

/// Two linked rings: an NVLink domain.
pub const RINGS: &str = "M8 5.2a3.6 3.6 0 1 0 0 5.6M8 10.8a3.6 3.6 0 1 0 0-5.6";
pub const LOCK: &str = "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5";
pub const LEAVE: &str = "M9 3H3v10h6M7 8h7M11.5 5.5 14 8l-2.5 2.5";
pub const BROOM: &str = "M13 2 8.5 7.5M5 7l4.5 4L7 14H3.5L2 10.5zM5 14l1-2.5";
pub const WARN: &str = "M8 2.2 14.6 13.6H1.4zM8 6.5v3.4M8 11.6v.6";
pub const PLUS: &str = "M8 3v10M3 8h10";
pub const PLAY: &str = "M5 3.5v9L12 8z";
pub const MOON: &str = "M12.5 10A5.5 5.5 0 0 1 6 3.5a5.5 5.5 0 1 0 6.5 6.5z";
const QUEUE: &str = "M3 4h10M3 8h7M3 12h4";
const GPU: &str = "M4 4h8v8H4zM6 1.5V4M10 1.5V4M6 12v2.5M10 12v2.5";
const TAG: &str = "M2.5 2.5H8l5.5 5.5L8 13.5 2.5 8zM5.2 5.2v.1";
const CLOUD: &str = "M4.5 12a2.7 2.7 0 0 1 .2-5.4 3.6 3.6 0 0 1 6.9.8A2.4 2.4 0 0 1 11.5 12z";
const POWER: &str = "M8 2v5.5M4.7 4.2a5 5 0 1 0 6.6 0";
const DOWNLOAD: &str = "M8 2v8M4.8 7 8 10.2 11.2 7M3 13.5h10";
const FLAME: &str =
    "M8 1.8c.4 2.6 3.8 4 3.8 7.4a3.8 3.8 0 0 1-7.6 0c0-1.6.8-2.6 1.7-3.4.2 1.2.7 1.8 1.4 2 .3-2-.2-3.8.7-6z";

pub fn wait_path(icon: WaitIcon) -> &'static str {
    match icon {
        WaitIcon::Queue => QUEUE,
        WaitIcon::Link => RINGS,
        WaitIcon::Gpu => GPU,
        WaitIcon::Tag => TAG,
        WaitIcon::Cloud => CLOUD,
        WaitIcon::Power => POWER,
        WaitIcon::Download => DOWNLOAD,
        WaitIcon::Flame => FLAME,
    }
}

/// The six dots that a node is carried by.
pub fn grip_dots() -> Html {
    html! {
        <svg class="dots" viewBox="0 0 10 16" aria-hidden="true" focusable="false">
            { for [(3, 3), (7, 3), (3, 8), (7, 8), (3, 13), (7, 13)].map(|(x, y)| html! {
                <circle cx={x.to_string()} cy={y.to_string()} r="1.3" />
            }) }
        </svg>
    }
}

/// The mark inside a cell, by look: pattern or glyph.
fn mark(look: CellLook, done: u8, numbered: bool) -> Html {
    match look {
        CellLook::Free => html! {},
        CellLook::Busy if numbered => html! {},
        CellLook::Busy => html! { <path class="glyph" d="M9.5 7.5v9l7.5-4.5z" /> },
        CellLook::Idle if numbered => html! {},
        CellLook::Idle => html! { <path class="glyph" d="M8.5 8h2.6v8H8.5zM12.9 8h2.6v8h-2.6z" /> },
        CellLook::Training => {
            html! { <path class="glyph" d="M7 16.5v-4h2.4v4zM10.8 16.5v-6.5h2.4v6.5zM14.6 16.5V7.5H17v9z" /> }
        }
        CellLook::Loading => html! {
            <>
                <rect class="load" x="2.5" y="2.5" height="19" rx="3" width={(f32::from(done) * 0.19).to_string()} />
                if !numbered {
                    <path class="halo" d="M12 6.5v9M8.5 12.2l3.5 3.5 3.5-3.5" />
                    <path class="arrow" d="M12 6.5v9M8.5 12.2l3.5 3.5 3.5-3.5" />
                }
            </>
        },
        CellLook::Held => html! {
            <>
                <path class="stripes" d="M3 9 9 3M3 15.5 15.5 3M4 21 21 4M8.5 21.5l13-13M15 21.5l6.5-6.5" />
                if !numbered {
                    <path class="plate" d="M6 6h12v12H6z" />
                    <path class="lock" d="M8 11.5h8V17H8zM9.5 11.5V10a2.5 2.5 0 0 1 5 0v1.5" />
                }
            </>
        },
        CellLook::Draining if numbered => html! {},
        CellLook::Draining => html! { <path class="arrow" d="M7 12h9.5M13 8.5l3.5 3.5-3.5 3.5" /> },
        CellLook::Booting => html! {
            <path class="spots" d="M7.5 8.5h.01M12 8.5h.01M16.5 8.5h.01M7.5 15.5h.01M12 15.5h.01M16.5 15.5h.01" />
        },
        CellLook::Failed => html! { <path class="cross" d="M7.5 7.5l9 9M16.5 7.5l-9 9" /> },
        CellLook::Missing => html! { <text class="ask" x="12" y="16.8" text-anchor="middle">{ "?" }</text> },
    }
}

/// Dashes of a gang's outline: six kinds, so that neighbours differ without colour.
const OUTLINES: [&str; 6] = ["none", "5 2", "2 2", "8 2 2 2", "11 3", "2 4"];

/// A GPU cell. The classes carry colour; pattern, glyph and rank are drawn here.
pub fn cell_picture(cell: &CellCard) -> Html {
    let notch = "M5.5 2h10.5l6 6v10.5a3.5 3.5 0 0 1-3.5 3.5h-13A3.5 3.5 0 0 1 2 18.5v-13A3.5 3.5 0 0 1 5.5 2z";
    let rank = cell.rank.filter(|_| cell.look != CellLook::Missing);
    html! {
        <svg class={classes!("cell-picture", cell.look.id())} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
            if cell.look == CellLook::Training {
                <path class="box" d={notch} />
            } else {
                <rect class="box" x="2" y="2" width="20" height="20" rx="3.5" />
            }
            { mark(cell.look, cell.done, rank.is_some()) }
            if let Some(outline) = cell.outline() {
                <rect class="gang" x="0.75" y="0.75" width="22.5" height="22.5" rx="5"
                    stroke-dasharray={OUTLINES[usize::from(outline) % OUTLINES.len()]} />
            }
            if let Some(rank) = rank {
                <rect class="plate" x={if rank > 9 { "4.5" } else { "6.5" }} y="5.5" rx="3" height="13"
                    width={if rank > 9 { "15" } else { "11" }} />
                <text class="rank" x="12" y="16" text-anchor="middle">{ rank }</text>
            }
        </svg>
    }
}

/// A cell for the legend, without a pod.
pub fn sample(look: CellLook) -> Html {
    cell_picture(&CellCard { look, done: 60, rank: None, badge: None, group: None, group_name: None, lit: false })
}
