//! Text -> tree: events of `saphyr-parser` into [`Node`]s, with limits on size, depth and count.
//!
//! Left out on purpose, each with a message: anchors, aliases, merge keys and tags (a file says
//! what it says, once), keys that are not plain text, and keys that appear twice.

use super::node::{Key, Node, Problem, Value, clip};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::collections::BTreeSet;

/// Bytes of text. The largest scenario or pasted manifest is a few tens of KiB.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Nesting of lists and maps.
pub const DEPTH_MAX: usize = 32;
/// Values and keys together, over all documents of a text.
pub const NODES_MAX: usize = 20_000;

/// Reads exactly one document. An empty text is a null node.
pub fn parse(text: &str) -> Result<Node, Problem> {
    let mut documents = parse_all(text)?;
    match documents.len() {
        0 => Ok(Node { line: 1, column: 1, value: Value::Scalar { text: String::new(), plain: true } }),
        1 => Ok(documents.remove(0)),
        _ => {
            let second = &documents[1];
            Err(Problem::new(second.line, second.column, "", "a second document starts here; one is expected"))
        }
    }
}

/// Reads any number of documents separated by `---`.
pub fn parse_all(text: &str) -> Result<Vec<Node>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > TEXT_BYTES_MAX {
        return Err(Problem::new(
            1,
            1,
            "",
            format!("the text is {} bytes long; the limit is {TEXT_BYTES_MAX}", text.len()),
        ));
    }
    // The scanner takes NUL for the end of the text and would drop the rest without a word.
    if let Some(at) = text.find('\0') {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        return Err(Problem::new(
            count(before.matches('\n').count() + 1),
            count(before[line_start..].chars().count() + 1),
            "",
            "a NUL character is not text",
        ));
    }
    let mut builder = Builder::default();
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|e| {
            let place = e.marker();
            Problem::new(count(place.line()), count(place.col() + 1), "", format!("not YAML: {}", e.info()))
        })?;
        builder.take(event, span)?;
    }
    Ok(builder.documents)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A collection that is still open.
struct Frame {
    line: u32,
    column: u32,
    open: Open,
}

enum Open {
    List(Vec<Node>),
    Map { entries: Vec<(Key, Node)>, seen: BTreeSet<String>, key: Option<Key> },
}

#[derive(Default)]
struct Builder {
    documents: Vec<Node>,
    stack: Vec<Frame>,
    nodes: usize,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let (line, column) = (count(span.start.line()), count(span.start.col() + 1));
        let refuse = |message: String| Err(Problem::new(line, column, "", message));
        match event {
            Event::Alias(_) => return refuse("aliases (`*name`) are not accepted: write the value out".to_owned()),
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _)
                if anchor > 0 =>
            {
                return refuse("anchors (`&name`) are not accepted: write the value out".to_owned());
            }
            Event::Scalar(_, _, _, Some(tag))
            | Event::SequenceStart(_, Some(tag))
            | Event::MappingStart(_, Some(tag)) => {
                return refuse(format!("tags (`{}`) are not accepted", clip(&tag.to_string())));
            }
            _ => {}
        }
        match event {
            Event::Scalar(text, style, ..) => {
                self.count_node(line, column)?;
                self.scalar(text.into_owned(), style == ScalarStyle::Plain, line, column)
            }
            Event::SequenceStart(..) => self.open(Open::List(Vec::new()), line, column),
            Event::MappingStart(..) => {
                self.open(Open::Map { entries: Vec::new(), seen: BTreeSet::new(), key: None }, line, column)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => Ok(()),
        }
    }

    fn count_node(&mut self, line: u32, column: u32) -> Result<(), Problem> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Problem::new(line, column, "", format!("more than {NODES_MAX} values and keys")));
        }
        Ok(())
    }

    fn open(&mut self, open: Open, line: u32, column: u32) -> Result<(), Problem> {
        self.count_node(line, column)?;
        if let Some(Frame { open: Open::Map { key: None, .. }, .. }) = self.stack.last() {
            return Err(Problem::new(line, column, "", "a key must be text, not a list or a map"));
        }
        if self.stack.len() == DEPTH_MAX {
            return Err(Problem::new(line, column, "", format!("nested more than {DEPTH_MAX} deep")));
        }
        self.stack.push(Frame { line, column, open });
        Ok(())
    }

    fn scalar(&mut self, text: String, plain: bool, line: u32, column: u32) -> Result<(), Problem> {
        if let Some(Frame { open: Open::Map { key: key @ None, seen, .. }, .. }) = self.stack.last_mut() {
            if plain && text == "<<" {
                return Err(Problem::new(line, column, "", "merge keys (`<<`) are not accepted: write the keys out"));
            }
            if text.is_empty() {
                return Err(Problem::new(line, column, "", "a key is empty"));
            }
            if !seen.insert(text.clone()) {
                return Err(Problem::new(line, column, "", format!("the key `{}` appears twice", clip(&text))));
            }
            *key = Some(Key { text, line, column });
            return Ok(());
        }
        self.put(Node { line, column, value: Value::Scalar { text, plain } });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Problem> {
        if let Some(Frame { line, column, open }) = self.stack.pop() {
            let value = match open {
                Open::List(items) => Value::List(items),
                Open::Map { entries, .. } => Value::Map(entries),
            };
            self.put(Node { line, column, value });
        }
        Ok(())
    }

    fn put(&mut self, node: Node) {
        match self.stack.last_mut().map(|frame| &mut frame.open) {
            None => self.documents.push(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                if let Some(key) = key.take() {
                    entries.push((key, node));
                }
            }
        }
    }
}
