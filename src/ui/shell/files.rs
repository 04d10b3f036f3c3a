//! Files that are chosen or dropped: read in pieces with a breath between them, so that the page
//! stays alive and can cancel, and refused with a reason when they are too large or of another kind.

use super::now_ms;
use crate::i18n::{Arg, Lang, Message as Text, plain, render};
use crate::problem::Problem;
use crate::session::Message;
use crate::sim::traffic::{Trace, TraceReader};
use gloo::events::{EventListener, EventListenerOptions};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, Document, DragEvent, Event, File};
use yew::Callback;

/// Largest trace: what fits into the rows of a trace in every known format.
const TRACE_BYTES_MAX: f64 = 128.0 * 1024.0 * 1024.0;
/// Largest scenario: what a link could carry.
const SCENARIO_BYTES_MAX: f64 = 256.0 * 1024.0;
/// A piece takes a few milliseconds.
const PIECE_BYTES: f64 = 512.0 * 1024.0;
/// The page gets its turn after this long.
const BREATH_MS: f64 = 10.0;
/// Progress is shown this often.
const PROGRESS_MS: f64 = 100.0;
const MIB: f64 = 1024.0 * 1024.0;

/// A file that is being read; dropping the handle lets it go on.
#[derive(Clone)]
pub struct Reading(Rc<Cell<bool>>);

impl Reading {
    /// Ends it at the next piece; nothing more is heard of it.
    pub fn cancel(&self) {
        self.0.set(true);
    }
}

/// How far a trace is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// From 0 to 1.
    pub share: f64,
    pub text: Text,
}

/// Reads a file and says what came of it. `progress` hears how far a trace is, and `None` at the end.
pub fn read(file: File, lang: Lang, progress: Callback<Option<Progress>>, done: Callback<Message>) -> Reading {
    let reading = Reading(Rc::new(Cell::new(false)));
    let cancelled = reading.0.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let name = file.name();
        let message = match extension(&name).as_str() {
            "csv" | "jsonl" | "ndjson" | "json" => trace(&file, &name, lang, &progress, &cancelled).await,
            "yaml" | "yml" => scenario(&file, &name, lang).await,
            _ => refusal(Text::ProblemFile, vec![problem(&name, lang, &Text::FileKinds)]),
        };
        if !cancelled.get() {
            progress.emit(None);
            done.emit(message);
        }
    });
    reading
}

fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or(String::new(), |(_, e)| e.to_lowercase())
}

fn refusal(title: Text, problems: Vec<Problem>) -> Message {
    Message::ShowProblems { title, problems }
}

fn problem(name: &str, lang: Lang, what: &Text) -> Problem {
    let short: String = name.chars().take(60).collect();
    Problem::new(short, plain(&render(&lang, what)))
}

/// Size and limit in MB, if the file is too large.
fn too_large(file: &File, limit: f64) -> Option<(Arg, Arg)> {
    (file.size() > limit).then(|| (Arg::Float(file.size() / MIB, 2), Arg::Float(limit / MIB, 2)))
}

async fn trace(
    file: &File,
    name: &str,
    lang: Lang,
    progress: &Callback<Option<Progress>>,
    cancelled: &Cell<bool>,
) -> Message {
    if let Some((size, limit)) = too_large(file, TRACE_BYTES_MAX) {
        return refusal(Text::ProblemTrace, vec![problem(name, lang, &Text::TraceTooLarge { size, limit })]);
    }
    match pieces(file, name, progress, cancelled).await {
        None => refusal(Text::ProblemTrace, vec![problem(name, lang, &Text::FileUnreadable)]),
        Some(reader) => match reader.finish() {
            Ok(trace) => Message::LoadTrace { name: name.to_owned(), trace: Arc::<Trace>::new(trace) },
            Err(found) => {
                let lines = found.first.iter().map(|p| {
                    Problem::new(
                        format!("line {}, {}", p.line, p.field),
                        format!("expected {}, found {}", p.expected, p.found),
                    )
                });
                let mut problems: Vec<Problem> = lines.collect();
                let more = found.count.saturating_sub(problems.len() as u64);
                if more > 0 {
                    problems.push(problem(name, lang, &Text::FileMore { n: more.into() }));
                }
                refusal(Text::ProblemTrace, problems)
            }
        },
    }
}

/// Pushes the file into a reader; `None` if the browser could not read it. Stops early when
/// cancelled: what was read until then is of no use to anybody.
async fn pieces(
    file: &File,
    name: &str,
    progress: &Callback<Option<Progress>>,
    cancelled: &Cell<bool>,
) -> Option<TraceReader> {
    let mut reader = TraceReader::new();
    let (mut from, size) = (0.0, file.size());
    let (mut breathed_ms, mut shown_ms) = (now_ms(), f64::NEG_INFINITY);
    while from < size && !cancelled.get() {
        let to = f64::min(from + PIECE_BYTES, size);
        let bytes = bytes(&file.slice_with_f64_and_f64(from, to).ok()?).await?;
        if cancelled.get() {
            break;
        }
        let at = reader.push(&bytes);
        from = to;
        if now_ms() - shown_ms >= PROGRESS_MS {
            shown_ms = now_ms();
            let share = from / size;
            let short: String = name.chars().take(60).collect();
            let text = Text::TraceReading { name: short.into(), share: Arg::Percent(share), n: at.rows.into() };
            progress.emit(Some(Progress { share, text }));
        }
        if !at.wants_more {
            break;
        }
        if now_ms() - breathed_ms >= BREATH_MS {
            breathe().await;
            breathed_ms = now_ms();
        }
    }
    Some(reader)
}

/// Lets the page draw and hear its events.
async fn breathe() {
    let turn = js_sys::Promise::new(&mut |resolve, _| {
        // Without a timer the promise would never settle; then reading just goes on.
        let set = web_sys::window().map(|w| w.set_timeout_with_callback(&resolve));
        if !matches!(set, Some(Ok(_))) {
            let _ = resolve.call0(&wasm_bindgen::JsValue::NULL);
        }
    });
    let _ = JsFuture::from(turn).await;
}

async fn scenario(file: &File, name: &str, lang: Lang) -> Message {
    let refuse = |what: &Text| refusal(Text::ProblemScenario, vec![problem(name, lang, what)]);
    if let Some((size, limit)) = too_large(file, SCENARIO_BYTES_MAX) {
        return refuse(&Text::FileTooLarge { size, limit });
    }
    match bytes(file).await.and_then(|b| String::from_utf8(b).ok()) {
        Some(text) => Message::OpenFile { name: name.to_owned(), text },
        None => refuse(&Text::FileUnreadable),
    }
}

async fn bytes(blob: &Blob) -> Option<Vec<u8>> {
    let buffer = JsFuture::from(blob.array_buffer()).await.ok()?;
    Some(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Takes files that are dropped anywhere on the page, instead of letting the browser open them.
pub fn listen_for_drops(document: &Document, dropped: Callback<File>, dragging: Callback<bool>) -> Vec<EventListener> {
    let options = EventListenerOptions::enable_prevent_default();
    let drag = |event: &Event| event.dyn_ref::<DragEvent>().and_then(DragEvent::data_transfer);
    let has_files = move |event: &Event| drag(event).is_some_and(|d| d.types().iter().any(|t| t == "Files"));
    let (over, leave) = (dragging.clone(), dragging.clone());
    vec![
        EventListener::new_with_options(document, "dragover", options, move |event| {
            if has_files(event) {
                event.prevent_default();
                over.emit(true);
            }
        }),
        EventListener::new(document, "dragleave", move |event| {
            // Without a related target the pointer has left the window.
            if event.dyn_ref::<DragEvent>().is_some_and(|d| d.related_target().is_none()) {
                leave.emit(false);
            }
        }),
        EventListener::new_with_options(document, "drop", options, move |event| {
            if !has_files(event) {
                return;
            }
            event.prevent_default();
            dragging.emit(false);
            if let Some(file) = drag(event).and_then(|d| d.files()).and_then(|f| f.get(0)) {
                dropped.emit(file);
            }
        }),
    ]
}
