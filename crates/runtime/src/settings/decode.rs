//! Types from the file's values, with the path and line of whatever does not fit.

use std::cell::RefCell;
use std::fmt;
use std::path::Path;

use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::document::{Node, Value};
use super::error::{SettingsError, UnknownKey};
use super::suggest::closest;

/// Why a value does not fit.
#[derive(Debug)]
pub(super) struct DecodeError {
    place: Option<(String, u64)>,
    reason: String,
    /// The key that nothing knows, with those that are known.
    unknown: Option<(String, &'static [&'static str])>,
}

impl DecodeError {
    fn at(mut self, path: &str, line: u64) -> Self {
        self.place.get_or_insert_with(|| (path.to_owned(), line));
        self
    }

    pub(super) fn into_settings(self, file: &Path) -> SettingsError {
        let (key, line) = self.place.unwrap_or_default();
        SettingsError::Value { path: file.to_owned(), line, key, reason: self.reason }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(reason: T) -> Self {
        Self { place: None, reason: reason.to_string(), unknown: None }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { unknown: Some((field.to_owned(), expected)), ..Self::custom("unknown key") }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {}, found {}", wanted(expected), said(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format_args!("expected {}, found {}", wanted(expected), said(found)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("{field} is missing"))
    }
}

/// What is expected, in words of those who write the file.
fn wanted(expected: &dyn de::Expected) -> String {
    let expected = expected.to_string();
    let words = match expected.as_str() {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" => "text",
        "socket address" => "an address with a port, such as 0.0.0.0:3000",
        "a sequence" => "a list",
        "a map" => "keys with values",
        "unit" => "nothing",
        _ => return expected,
    };
    words.to_owned()
}

fn said(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Unit | Unexpected::Option => "nothing".to_owned(),
        Unexpected::Str(text) => format!("\"{text}\""),
        Unexpected::Map => "keys with values".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        other => other.to_string(),
    }
}

/// Decodes a value below a path. Keys that nothing takes are added to `unknown`; `also` is a name that may
/// be meant beside the type's own.
pub(super) fn decode<T: DeserializeOwned>(
    node: &Node,
    path: &str,
    also: Option<&str>,
    unknown: &mut Vec<UnknownKey>,
) -> Result<T, DecodeError> {
    let context = Context { also, unknown: RefCell::new(Vec::new()) };
    let decoded = T::deserialize(Reader { node, path: path.to_owned(), context: &context, siblings: &[] });
    unknown.append(&mut context.unknown.into_inner());
    decoded
}

struct Context<'a> {
    also: Option<&'a str>,
    unknown: RefCell<Vec<UnknownKey>>,
}

impl Context<'_> {
    fn unknown(&self, path: &str, line: u64, siblings: &[&'static str]) {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
        let also = self.also.filter(|_| parent.is_empty());
        let suggestion = closest(key, siblings.iter().copied().chain(also)).map(str::to_owned);
        let known = UnknownKey { path: path.to_owned(), line, suggestion };
        let mut unknown = self.unknown.borrow_mut();
        if !unknown.contains(&known) {
            unknown.push(known);
        }
    }
}

struct Reader<'a> {
    node: &'a Node,
    path: String,
    context: &'a Context<'a>,
    /// The keys that its parent knows.
    siblings: &'static [&'static str],
}

impl<'a> Reader<'a> {
    fn child(&self, node: &'a Node, step: &str, siblings: &'static [&'static str]) -> Reader<'a> {
        let path = if self.path.is_empty() || step.starts_with('[') {
            format!("{}{step}", self.path)
        } else {
            format!("{}.{step}", self.path)
        };
        Reader { node, path, context: self.context, siblings }
    }

    fn keys<'de, V: Visitor<'de>>(
        self,
        entries: &'a [(String, Node)],
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Keys { reader: &self, rest: entries, fields, value: None })
    }

    fn any<'de, V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Signed(value) => visitor.visit_i64(*value),
            Value::Unsigned(value) => visitor.visit_u64(*value),
            Value::Float(value) => visitor.visit_f64(*value),
            Value::Text(value) => visitor.visit_str(value),
            Value::List(values) => visitor.visit_seq(List { reader: &self, rest: values, index: 0 }),
            Value::Map(entries) => self.keys(entries, fields, visitor),
        }
    }

    /// Says where an error belongs, unless it was said further in.
    fn place<T>(
        node: &Node,
        path: &str,
        decode: impl FnOnce() -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        decode().map_err(|error| error.at(path, node.line))
    }
}

impl<'de> de::Deserializer<'de> for Reader<'_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let (node, path) = (self.node, self.path.clone());
        Self::place(node, &path, || self.any(&[], visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.value == Value::Null { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let (node, path) = (self.node, self.path.clone());
        Self::place(node, &path, || match &node.value {
            // An empty section is one with nothing in it.
            Value::Null => self.keys(&[], fields, visitor),
            Value::Map(_) => self.any(fields, visitor),
            _ => self.any(fields, ExpectingKeys(visitor)),
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let (node, path) = (self.node, self.path.clone());
        Self::place(node, &path, || match &node.value {
            Value::Text(name) if variants.contains(&name.as_str()) => {
                visitor.visit_enum(IntoDeserializer::<DecodeError>::into_deserializer(name.as_str()))
            }
            Value::Map(entries) if entries.len() == 1 => match entries.first() {
                Some((name, value)) => {
                    visitor.visit_enum(Variant { name, value: self.child(value, name, &[]) })
                }
                None => Err(de::Error::custom("expected a value")),
            },
            other => {
                let found = match other {
                    Value::Text(text) => format!("\"{text}\""),
                    Value::Null => "nothing".to_owned(),
                    Value::Bool(value) => value.to_string(),
                    Value::Signed(value) => value.to_string(),
                    Value::Unsigned(value) => value.to_string(),
                    Value::Float(value) => value.to_string(),
                    Value::List(_) => "a list".to_owned(),
                    Value::Map(_) => "keys with values".to_owned(),
                };
                Err(de::Error::custom(format_args!("expected one of {}, found {found}", variants.join(", "))))
            }
        })
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.context.unknown(&self.path, self.node.line, self.siblings);
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier
    }
}

/// Says "expected keys with values" where a struct's own name would mean nothing to the reader.
struct ExpectingKeys<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for ExpectingKeys<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("keys with values")
    }
}

struct List<'r, 'a> {
    reader: &'r Reader<'a>,
    rest: &'a [Node],
    index: usize,
}

impl<'de> de::SeqAccess<'de> for List<'_, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((node, rest)) = self.rest.split_first() else { return Ok(None) };
        let child = self.reader.child(node, &format!("[{}]", self.index), &[]);
        self.rest = rest;
        self.index += 1;
        let path = child.path.clone();
        Reader::place(node, &path, || seed.deserialize(child)).map(Some)
    }
}

struct Keys<'r, 'a> {
    reader: &'r Reader<'a>,
    rest: &'a [(String, Node)],
    fields: &'static [&'static str],
    value: Option<(&'a str, &'a Node)>,
}

impl<'de> de::MapAccess<'de> for Keys<'_, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some(((key, node), rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        self.value = Some((key, node));
        let child = self.reader.child(node, key, self.fields);
        let deserializer: StrDeserializer<'_, DecodeError> = key.as_str().into_deserializer();
        match seed.deserialize(deserializer) {
            Ok(key) => Ok(Some(key)),
            Err(error) => {
                // A type that denies unknown keys says so here.
                if let Some((_, known)) = &error.unknown {
                    self.reader.context.unknown(&child.path, node.line, known);
                }
                Err(error.at(&child.path, node.line))
            }
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DecodeError> {
        let Some((key, node)) = self.value.take() else {
            return Err(de::Error::custom("a value was asked for before its key"));
        };
        let child = self.reader.child(node, key, self.fields);
        let path = child.path.clone();
        Reader::place(node, &path, || seed.deserialize(child))
    }
}

struct Variant<'a> {
    name: &'a str,
    value: Reader<'a>,
}

impl<'de, 'a> de::EnumAccess<'de> for Variant<'a> {
    type Error = DecodeError;
    type Variant = Reader<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Reader<'a>), DecodeError> {
        let name: StringDeserializer<DecodeError> = self.name.to_owned().into_deserializer();
        Ok((seed.deserialize(name)?, self.value))
    }
}

impl<'de> de::VariantAccess<'de> for Reader<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        de::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DecodeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, DecodeError> {
        de::Deserializer::deserialize_any(self, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        de::Deserializer::deserialize_struct(self, "", fields, visitor)
    }
}
