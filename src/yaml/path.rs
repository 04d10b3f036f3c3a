//! Paths into a tree: `services.chat.hpa.target`, `services[0].labels."nvidia.com/gpu"`.
//!
//! A segment is a key, a list index (bare or in brackets), or, in a list of maps, the `name:` of
//! an element. A key with dots or blanks stands in double quotes.

use super::node::{Key, Node, Problem, Value, clip, quote_segment};
use super::{DEPTH_MAX, parse, suggest};

impl Node {
    /// Replaces the value at `path` by `value`, itself read as YAML (`70`, `null`, `[1, 2]`,
    /// `{poisson: {per_second: 4}}`).
    ///
    /// A missing last key is created: the typed reader then refuses it if it is unknown. Anything
    /// else that is missing is a problem whose `path` ends at the segment that was not found.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), Problem> {
        let segments = split(path)?;
        let mut value = parse(value).map_err(|p| {
            let message = format!("the value `{}` cannot be read: {}", clip(value), p.message);
            Problem::new(0, 0, path, message)
        })?;
        value.forget_place();
        let mut node = self;
        for (i, segment) in segments.iter().enumerate() {
            let last = i + 1 == segments.len();
            node = node.step_into(segment, last).map_err(|message| {
                let problem = Problem::new(0, 0, "", message);
                segments[..=i].iter().rev().fold(problem, |p, s| s.prefix(p))
            })?;
        }
        *node = value;
        Ok(())
    }

    /// The node at `path`, if it is there.
    pub fn find(&self, path: &str) -> Option<&Node> {
        split(path).ok()?.iter().try_fold(self, |node, segment| node.look_up(segment))
    }

    /// A problem with the value at `path`, placed at the deepest node on the way that exists: for
    /// rules that are checked after the typed value has been read.
    pub fn problem_at(&self, path: &str, message: impl Into<String>) -> Problem {
        let mut node = self;
        for segment in split(path).unwrap_or_default() {
            match node.look_up(&segment) {
                Some(next) => node = next,
                None => break,
            }
        }
        Problem::new(node.line, node.column, path, message)
    }

    fn forget_place(&mut self) {
        (self.line, self.column) = (0, 0);
        match &mut self.value {
            Value::Scalar { .. } => {}
            Value::List(items) => items.iter_mut().for_each(Node::forget_place),
            Value::Map(entries) => entries.iter_mut().for_each(|(key, node)| {
                (key.line, key.column) = (0, 0);
                node.forget_place();
            }),
        }
    }

    fn look_up(&self, segment: &Segment) -> Option<&Node> {
        match &self.value {
            Value::Map(_) => self.key(&segment.text),
            Value::List(items) => items.get(list_position(items, segment)?),
            Value::Scalar { .. } => None,
        }
    }

    fn step_into(&mut self, segment: &Segment, create: bool) -> Result<&mut Node, String> {
        if create && self.is_null() {
            self.value = Value::Map(Vec::new());
        }
        let (what, empty) = (self.describe(), self.is_null());
        match &mut self.value {
            Value::Scalar { .. } if empty => Err(format!("no key `{}`: the value is empty", clip(&segment.text))),
            Value::Scalar { .. } => Err(format!("there is nothing below {what}")),
            Value::List(items) => match list_position(items, segment) {
                Some(position) => Ok(&mut items[position]),
                None => Err(missing_element(items, segment)),
            },
            Value::Map(entries) => {
                let position = match entries.iter().position(|(k, _)| k.text == segment.text) {
                    Some(position) => position,
                    None if create && !segment.index => {
                        let key = Key { text: segment.text.clone(), line: 0, column: 0 };
                        entries.push((key, Node::empty_map()));
                        entries.len() - 1
                    }
                    None => {
                        return Err(missing("key", &segment.text, entries.iter().map(|(k, _)| k.text.as_str())));
                    }
                };
                Ok(&mut entries[position].1)
            }
        }
    }
}

/// An element's own `name:` wins over its index, so that a name may be a number.
fn list_position(items: &[Node], segment: &Segment) -> Option<usize> {
    let by_name = || items.iter().position(|item| item.key("name").and_then(Node::text) == Some(&segment.text));
    let by_index = || segment.text.parse::<usize>().ok().filter(|i| *i < items.len());
    if segment.index { by_index() } else { by_name().or_else(by_index) }
}

fn missing_element(items: &[Node], segment: &Segment) -> String {
    if segment.text.parse::<usize>().is_ok() {
        return format!("no element {}; the list has {}", segment.text, items.len());
    }
    missing("element named", &segment.text, items.iter().filter_map(|i| i.key("name").and_then(Node::text)))
}

fn missing<'a>(what: &str, text: &str, known: impl Iterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 12;
    let known: Vec<&str> = known.collect();
    let mut message = format!("no {what} `{}`", clip(text));
    if let Some(near) = suggest(text, known.iter().copied()) {
        message += &format!("; did you mean `{near}`?");
    } else if !known.is_empty() {
        let shown: Vec<String> = known.iter().take(SHOWN_MAX).map(|k| clip(k)).collect();
        let more = if known.len() > SHOWN_MAX { ", …" } else { "" };
        message += &format!("; there are: {}{more}", shown.join(", "));
    }
    message
}

#[derive(Debug, PartialEq)]
struct Segment {
    text: String,
    /// Written in brackets: an index and nothing else.
    index: bool,
}

impl Segment {
    fn prefix(&self, problem: Problem) -> Problem {
        match self.text.parse() {
            Ok(index) if self.index => problem.below_index(index),
            _ => problem.below_key(&self.text),
        }
    }
}

fn split(path: &str) -> Result<Vec<Segment>, Problem> {
    let refuse = |message: &str| Problem::new(0, 0, "", format!("the path {}: {message}", quote_segment(path)));
    let mut segments = Vec::new();
    let mut rest = path;
    loop {
        let (segment, after) = if let Some(inner) = rest.strip_prefix('[') {
            let (digits, after) = inner.split_once(']').ok_or_else(|| refuse("`[` without `]`"))?;
            if digits.is_empty() || digits.len() > 9 || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse("an index in brackets must be a whole number"));
            }
            (Segment { text: digits.to_owned(), index: true }, after)
        } else if let Some(inner) = rest.strip_prefix('"') {
            let (text, after) = inner.split_once('"').ok_or_else(|| refuse("a quote is not closed"))?;
            (Segment { text: text.to_owned(), index: false }, after)
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            (Segment { text: rest[..end].to_owned(), index: false }, &rest[end..])
        };
        if segment.text.is_empty() {
            return Err(refuse("a segment is empty"));
        }
        segments.push(segment);
        if segments.len() > DEPTH_MAX {
            return Err(refuse("too many segments"));
        }
        if after.is_empty() {
            return Ok(segments);
        }
        rest = match after.strip_prefix('.') {
            Some(rest) => rest,
            None if after.starts_with('[') => after,
            None => return Err(refuse("a `.` is missing after a quoted key or an index")),
        };
    }
}
