//! Tree -> typed values: a `serde::Deserializer` over [`Node`] that says where it refuses.
//!
//! Scalars follow the YAML 1.2 core schema, read by the wanted type: text that is not quoted may
//! be null, a bool, an integer or a float; where text is wanted, `5` is the text "5". Numbers that
//! are not finite are refused. An enum is plain text (`queue_depth`) or a map of one key
//! (`{poisson: {per_second: 4}}`); a variant with fields may be plain text if all have defaults.

use super::node::{Key, Node, Problem, Value, clip};
use super::{parse, suggest};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use std::fmt;

/// Reads one document into `T`.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    from_node(&parse(text)?)
}

/// Reads a tree into `T`.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T, Problem> {
    T::deserialize(node)
}

impl serde::de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Problem { line: 0, column: 0, path: String::new(), message: message.to_string(), placed: false }
    }

    fn invalid_type(found: Unexpected, expected: &dyn Expected) -> Self {
        Problem::custom(format!("expected {expected}, found {}", clip(&found.to_string())))
    }

    fn invalid_value(found: Unexpected, expected: &dyn Expected) -> Self {
        Problem::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Problem::custom(unknown("key", field, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Problem::custom(format!("`{}`: {}", clip(variant), unknown("choice", variant, expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Problem::custom(format!("the key `{field}` is missing"))
    }
}

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    if let Some(near) = suggest(word, known.iter().copied()) {
        return format!("unknown {what}; did you mean `{near}`?");
    }
    match known {
        [] => format!("unknown {what}; none is accepted here"),
        _ => format!("unknown {what}; accepted are: {}", known.join(", ")),
    }
}

/// A number as the core schema reads it.
enum Number {
    Integer(i128),
    Float(f64),
}

fn number(text: &str) -> Option<Number> {
    if let Some(integer) = integer(text) {
        return Some(Number::Integer(integer));
    }
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(body, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Some(Number::Float(f64::INFINITY));
    }
    // Rust also reads "inf", "nan" and "infinity", which are text here.
    let shaped = body.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && body.contains(|c: char| c.is_ascii_digit())
        && body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if shaped { text.parse().ok().map(Number::Float) } else { None }
}

fn integer(text: &str) -> Option<i128> {
    let radix = |digits: &str, radix: u32| {
        let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        if plain { i128::from_str_radix(digits, radix).ok() } else { None }
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return radix(digits, 8);
    }
    match text.strip_prefix('-') {
        Some(digits) => radix(digits, 10).map(|n| -n),
        None => radix(text.strip_prefix('+').unwrap_or(text), 10),
    }
}

impl<'de> Node {
    fn here(&self, problem: Problem) -> Problem {
        problem.at(self.line, self.column)
    }

    fn expected(&self, what: impl fmt::Display) -> Problem {
        self.here(Problem::custom(format!("expected {what}, found {}", self.describe())))
    }

    fn plain(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain: true } => Some(text),
            _ => None,
        }
    }

    fn read_integer(&self, min: i128, max: i128) -> Result<i128, Problem> {
        match self.plain().and_then(number) {
            Some(Number::Integer(n)) if (min..=max).contains(&n) => Ok(n),
            _ => Err(self.expected(format_args!("a whole number from {min} to {max}"))),
        }
    }

    fn read_float(&self) -> Result<f64, Problem> {
        let value = match self.plain().and_then(number) {
            Some(Number::Integer(n)) => n as f64,
            Some(Number::Float(x)) => x,
            None => return Err(self.expected("a number")),
        };
        if value.is_finite() { Ok(value) } else { Err(self.expected("a finite number")) }
    }

    fn read_bool(&self) -> Option<bool> {
        match self.plain()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    fn read_text(&self) -> Result<&str, Problem> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Ok(text),
            _ => Err(self.expected("text")),
        }
    }

    fn visit_list<V: Visitor<'de>>(items: &[Node], visitor: V) -> Result<V::Value, Problem> {
        let mut list = List { items, next: 0 };
        let value = visitor.visit_seq(&mut list)?;
        if list.next < items.len() {
            let message = format!("expected {} elements, found {}", list.next, items.len());
            let extra = &items[list.next];
            return Err(extra.here(Problem::custom(message)).below_index(list.next));
        }
        Ok(value)
    }

    fn visit_map<V: Visitor<'de>>(entries: &[(Key, Node)], visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_map(Map { entries, next: 0 })
    }
}

macro_rules! integers {
    ($($method:ident $visit:ident $type:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            let n = self.read_integer(i128::from($type::MIN), i128::from($type::MAX))?;
            // In range by the line above.
            visitor.$visit(n as $type).map_err(|e: Problem| self.here(e))
        }
    )*};
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let read = match &self.value {
            Value::List(items) => Node::visit_list(items, visitor),
            Value::Map(entries) => Node::visit_map(entries, visitor),
            Value::Scalar { text, plain: false } => visitor.visit_str(text),
            Value::Scalar { .. } if self.is_null() => visitor.visit_unit(),
            Value::Scalar { text, .. } => match (self.read_bool(), number(text)) {
                (Some(value), _) => visitor.visit_bool(value),
                (_, Some(Number::Integer(n))) => match (u64::try_from(n), i64::try_from(n)) {
                    (Ok(n), _) => visitor.visit_u64(n),
                    (_, Ok(n)) => visitor.visit_i64(n),
                    _ => Err(Problem::custom(format!("the number `{}` is too large", clip(text)))),
                },
                (_, Some(Number::Float(_))) => visitor.visit_f64(self.read_float()?),
                (None, None) => visitor.visit_str(text),
            },
        };
        read.map_err(|e| self.here(e))
    }

    integers! {
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_f64(self.read_float()?).map_err(|e: Problem| self.here(e))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.read_bool() {
            Some(value) => visitor.visit_bool(value).map_err(|e: Problem| self.here(e)),
            None => Err(self.expected("true or false")),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_str(self.read_text()?).map_err(|e: Problem| self.here(e))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let read = if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) };
        read.map_err(|e: Problem| self.here(e))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.is_null() { visitor.visit_unit() } else { Err(self.expected("nothing")) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self).map_err(|e: Problem| self.here(e))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.value {
            Value::List(items) => Node::visit_list(items, visitor).map_err(|e| self.here(e)),
            _ => Err(self.expected("a list")),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match &self.value {
            Value::Map(entries) => Node::visit_map(entries, visitor).map_err(|e| self.here(e)),
            _ => Err(self.expected("a map")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        match &self.value {
            Value::Map(entries) => Node::visit_map(entries, visitor).map_err(|e| self.here(e)),
            _ => Err(self.expected(format_args!("a map with {}", fields.join(", ")))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let (text, place, content) = match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => (text, (self.line, self.column), None),
            Value::Map(entries) if entries.len() == 1 => {
                let (key, node) = &entries[0];
                (&key.text, (key.line, key.column), Some(node))
            }
            _ => return Err(self.expected(format_args!("one of {}", variants.join(", ")))),
        };
        visitor.visit_enum(Choice { text, place, content }).map_err(|e| self.here(e))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf i128 u128 }
}

struct List<'n> {
    items: &'n [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut List<'_> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.items.get(self.next) else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(node).map(Some).map_err(|e| node.here(e).below_index(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

struct Map<'n> {
    entries: &'n [(Key, Node)],
    next: usize,
}

impl<'de> MapAccess<'de> for Map<'_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        let Some((key, _)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        // Through a node, so that maps with numbers or enums as keys can be read too.
        let node =
            Node { line: key.line, column: key.column, value: Value::Scalar { text: key.text.clone(), plain: true } };
        seed.deserialize(&node).map(Some).map_err(|e| node.here(e).below_key(&key.text))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Problem> {
        let Some((key, node)) = self.entries.get(self.next) else {
            return Err(Problem::custom("a value was asked for after the last key"));
        };
        self.next += 1;
        seed.deserialize(node).map_err(|e| node.here(e).below_key(&key.text))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len() - self.next)
    }
}

/// An enum's variant: plain text, or the key of a one-key map.
struct Choice<'n> {
    text: &'n str,
    place: (u32, u32),
    content: Option<&'n Node>,
}

impl<'de, 'n> EnumAccess<'de> for Choice<'n> {
    type Error = Problem;
    type Variant = Choice<'n>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Choice<'n>), Problem> {
        let variant =
            seed.deserialize(self.text.into_deserializer()).map_err(|e: Problem| e.at(self.place.0, self.place.1))?;
        Ok((variant, self))
    }
}

impl<'n> Choice<'n> {
    /// Runs `read` on the content; plain text stands for an empty map.
    fn with_content<T>(&self, read: impl FnOnce(&Node) -> Result<T, Problem>) -> Result<T, Problem> {
        match self.content {
            Some(node) => read(node).map_err(|e| node.here(e).below_key(self.text)),
            None => {
                let mut empty = Node::empty_map();
                (empty.line, empty.column) = self.place;
                read(&empty).map_err(|e| empty.here(e).below_key(self.text))
            }
        }
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.content {
            None => Ok(()),
            Some(node) if node.is_null() || node.value == Value::Map(Vec::new()) => Ok(()),
            Some(node) => Err(node.expected("nothing").below_key(self.text)),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        self.with_content(|node| seed.deserialize(node))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Problem> {
        self.with_content(|node| node.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Problem> {
        self.with_content(|node| node.deserialize_struct("", fields, visitor))
    }
}
