//! The configuration file: YAML with the line of everything.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::Spanned;

use super::decode;
use super::error::SettingsError;
use super::flags::Flags;

/// Nobody writes so much by hand.
const LARGEST: u64 = 1 << 20;

/// A value and where it is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) line: u64,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_none<E: de::Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Signed(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Unsigned(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut nodes = Vec::new();
                while let Some(Spanned { value, referenced, .. }) = list.next_element::<Spanned<Value>>()? {
                    nodes.push(Node { line: referenced.line(), value });
                }
                Ok(Value::List(nodes))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut nodes = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let Spanned { value, referenced, .. } = map.next_value::<Spanned<Value>>()?;
                    // A map begins in the line after its key, where nobody looks for the key.
                    let line =
                        if key.referenced.line() > 0 { key.referenced.line() } else { referenced.line() };
                    nodes.push((key.value, Node { line, value }));
                }
                Ok(Value::Map(nodes))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

/// A file's keys, and its section of the operator's own.
#[derive(Debug)]
pub(super) struct File<Extra> {
    pub(super) flags: Flags,
    pub(super) extra: Extra,
}

/// The file's text.
pub(super) fn text(path: &Path) -> Result<String, SettingsError> {
    let read = || -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LARGEST {
            return Err(io::Error::other("the file is larger than 1 MiB"));
        }
        Ok(text)
    };
    read().map_err(|source| SettingsError::Read { path: path.to_owned(), source })
}

impl<Extra: DeserializeOwned + Default> File<Extra> {
    pub(super) fn empty() -> Self {
        Self { flags: Flags::default(), extra: Extra::default() }
    }

    pub(super) fn parse(path: &Path, text: &str, section: Option<&str>) -> Result<Self, SettingsError> {
        let read = serde_saphyr::from_str::<Option<Spanned<Value>>>(text);
        let root = read.map_err(|error| SettingsError::Syntax {
            path: path.to_owned(),
            line: error.location().map_or(1, |location| location.line()),
            reason: plain(&error),
        })?;
        let root = root.map_or(Node { line: 1, value: Value::Null }, |root| Node {
            line: root.referenced.line(),
            value: root.value,
        });
        let mut entries = match root.value {
            Value::Null => return Ok(Self::empty()),
            Value::Map(entries) => entries,
            _ => {
                return Err(SettingsError::Syntax {
                    path: path.to_owned(),
                    line: root.line,
                    reason: "expected keys with values, such as `logLevel: debug`".to_owned(),
                });
            }
        };
        let own = section.and_then(|section| entries.iter().position(|(key, _)| key == section));
        let own = own.map(|index| entries.remove(index));
        let mut unknown = Vec::new();
        let root = Node { line: root.line, value: Value::Map(entries) };
        let flags = decode::decode(&root, "", section, &mut unknown);
        let extra = match &own {
            Some((key, node)) if node.value != Value::Null => decode::decode(node, key, None, &mut unknown),
            _ => Ok(Extra::default()),
        };
        // All unknown keys at once; a wrong value is likely to be the smaller matter.
        if !unknown.is_empty() {
            unknown.sort_by_key(|key| key.line);
            return Err(SettingsError::Unknown { path: path.to_owned(), keys: unknown });
        }
        Ok(Self {
            flags: flags.map_err(|error| error.into_settings(path))?,
            extra: extra.map_err(|error| error.into_settings(path))?,
        })
    }
}

/// The reason without the excerpt and the place, which are said apart, and without advice for programmers.
fn plain(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let first = text.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let ends = [" at line ", ", set DuplicateKeyPolicy", "; use from_str_multiple"];
    let end = ends.iter().filter_map(|end| first.find(end)).min().unwrap_or(first.len());
    first[..end].to_owned()
}
