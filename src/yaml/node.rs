//! The tree that text becomes, and the problem that points into it.

use std::fmt;

/// A YAML value with the place where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// 1-based; 0 if the node does not come from a file (an override).
    pub line: u32,
    /// 1-based, in characters; 0 if the node does not come from a file.
    pub column: u32,
    pub value: Value,
}

/// What a node holds. Scalars stay text: what `5` means depends on the type that reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `plain` is true for text without quotes, the only kind that can be a number, a bool or null.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    /// In file order; keys are unique.
    Map(Vec<(Key, Node)>),
}

/// A key of a map with the place where it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    pub text: String,
    pub line: u32,
    pub column: u32,
}

impl Node {
    /// An empty map that stands at no place.
    pub fn empty_map() -> Node {
        Node { line: 0, column: 0, value: Value::Map(Vec::new()) }
    }

    /// The scalar's text; nothing for lists and maps.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// True for a plain `null`, `~` or nothing at all.
    pub fn is_null(&self) -> bool {
        match &self.value {
            Value::Scalar { text, plain } => *plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"),
            _ => false,
        }
    }

    /// The value of `key`, if this is a map that has it.
    pub fn key(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|(k, _)| k.text == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// In words, for messages: what this node is.
    pub(super) fn describe(&self) -> String {
        match &self.value {
            Value::Map(_) => "a map".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Scalar { .. } if self.is_null() => "nothing".to_owned(),
            Value::Scalar { text, plain: true } => format!("`{}`", clip(text)),
            Value::Scalar { text, plain: false } => format!("the text \"{}\"", clip(text)),
        }
    }
}

/// Shortens foreign text for a message and makes control characters visible.
pub(super) fn clip(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == CHARS_MAX {
            out.push('…');
            break;
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// 1-based; 0 if the value does not come from a file.
    pub line: u32,
    /// 1-based, in characters; 0 if the value does not come from a file.
    pub column: u32,
    /// From the root, like `services[0].hpa.target`; empty at the root and for syntax errors.
    pub path: String,
    pub message: String,
    /// Set once a node has been named; the outer nodes only add to the path.
    pub(super) placed: bool,
}

impl Problem {
    pub fn new(line: u32, column: u32, path: &str, message: impl Into<String>) -> Problem {
        Problem { line, column, path: path.to_owned(), message: message.into(), placed: true }
    }

    /// Names the place, unless a deeper node did.
    pub(super) fn at(mut self, line: u32, column: u32) -> Problem {
        if !self.placed {
            (self.line, self.column, self.placed) = (line, column, true);
        }
        self
    }

    pub(super) fn below_key(mut self, key: &str) -> Problem {
        let key = quote_segment(key);
        self.path = match self.path.chars().next() {
            None => key,
            Some('[') => format!("{key}{}", self.path),
            Some(_) => format!("{key}.{}", self.path),
        };
        self
    }

    pub(super) fn below_index(mut self, index: usize) -> Problem {
        self.path = match self.path.chars().next() {
            None | Some('[') => format!("[{index}]{}", self.path),
            Some(_) => format!("[{index}].{}", self.path),
        };
        self
    }
}

/// Keys like `nvidia.com/gpu` are quoted in paths, so that a path can be read back.
pub(super) fn quote_segment(key: &str) -> String {
    let bare = !key.is_empty() && !key.chars().any(|c| matches!(c, '.' | '[' | ']' | '"') || c.is_whitespace());
    if bare { key.to_owned() } else { format!("\"{}\"", clip(key)) }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}
