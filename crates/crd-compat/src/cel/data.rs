//! The resource as CEL sees it: JSON typed by its schema.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value as Json;

use super::escape;
use super::value::{Eval, EvalError, Items, List, ListKind, Map, Val};
use crate::admit::format::{is_date, parse_duration};
use crate::admit::number::Num;
use crate::schema::{ListType, Schema, SchemaType};

/// The fields every resource has, whatever its schema says.
static RESOURCE: LazyLock<Schema> = LazyLock::new(|| {
    let text = Schema { type_: Some(SchemaType::String), ..Schema::default() };
    let names = ["generateName", "name"].map(|name| (name.to_owned(), text.clone()));
    let metadata = Schema {
        type_: Some(SchemaType::Object),
        properties: names.into_iter().collect(),
        ..Schema::default()
    };
    let fields = [("apiVersion", text.clone()), ("kind", text), ("metadata", metadata)];
    Schema {
        type_: Some(SchemaType::Object),
        properties: fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect(),
        ..Schema::default()
    }
});

/// A list of the resource and the schema of its items.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataList<'a> {
    pub(super) items: &'a [Json],
    pub(super) schema: &'a Schema,
}

impl<'a> DataList<'a> {
    pub(super) fn get(&self, index: usize) -> Option<Eval<Val<'a>>> {
        Some(typed(self.items.get(index)?, self.schema, false))
    }
}

/// An object of the resource and its schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataMap<'a> {
    pub(super) map: &'a serde_json::Map<String, Json>,
    pub(super) schema: &'a Schema,
    /// Whether type and metadata are fields even though the schema does not give them.
    resource: bool,
}

impl<'a> DataMap<'a> {
    /// Whether this is an object with fields, not a map with keys.
    fn has_fields(&self) -> bool {
        self.resource || !self.schema.properties.is_empty()
    }

    /// The schema of the value behind a key; `None` when CEL cannot see it.
    pub(super) fn schema_of(&self, key: &str) -> Option<&'a Schema> {
        if self.resource
            && let Some(field) = RESOURCE.properties.get(key)
        {
            return Some(field);
        }
        if self.has_fields() || self.schema.embedded_resource {
            return self.schema.properties.get(key);
        }
        self.schema.value_schema()
    }

    pub(super) fn find(&self, key: &str) -> Eval<Option<Val<'a>>> {
        let written = if self.has_fields() { escape::unescape(key) } else { Some(Cow::Borrowed(key)) };
        let Some(key) = written else { return Ok(None) };
        match (self.map.get(key.as_ref()), self.schema_of(&key)) {
            // A field that is null is the same as one that is absent; a key of a map is not.
            (Some(Json::Null), _) if self.has_fields() => Ok(None),
            (Some(value), Some(schema)) => typed(value, schema, false).map(Some),
            _ => Ok(None),
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let visible = self.map.keys().filter(|key| self.schema_of(key).is_some());
        visible.map(|key| {
            let written = if self.has_fields() { escape::escape(key) } else { None };
            written.map_or_else(|| key.clone(), Cow::into_owned)
        })
    }
}

/// A value of the resource with the type its schema gives it. `root` is true for the resource itself.
pub(super) fn typed<'a>(value: &'a Json, schema: &'a Schema, root: bool) -> Eval<Val<'a>> {
    if value.is_null() {
        return if schema.nullable {
            Ok(Val::Null)
        } else {
            EvalError::failed("invalid data, got null for schema with nullable=false")
        };
    }
    if schema.int_or_string {
        return match value {
            Json::String(text) => Ok(Val::text(text.as_str())),
            Json::Number(number) if number.is_i64() => Ok(Val::Int(number.as_i64().unwrap_or_default())),
            _ => mismatch("XIntOrString value to be either a string or integer"),
        };
    }
    match schema.type_ {
        Some(SchemaType::Object) => match value {
            Json::Object(map) => {
                let resource = (root || schema.embedded_resource) && !has_resource_fields(schema);
                Ok(Val::Map(Map::Data(DataMap { map, schema, resource })))
            }
            _ => mismatch("a map for the provided schema with type=object"),
        },
        Some(SchemaType::Array) => list(value, schema),
        Some(SchemaType::String) => match value {
            Json::String(text) => typed_text(text, schema.format.as_deref().unwrap_or_default()),
            _ => mismatch("string"),
        },
        Some(SchemaType::Number) => match value {
            Json::Number(number) => Ok(Val::Double(Num::of(number).as_f64())),
            _ => mismatch("float"),
        },
        Some(SchemaType::Integer) => match value {
            Json::Number(number) if number.is_i64() => Ok(Val::Int(number.as_i64().unwrap_or_default())),
            _ => mismatch("int"),
        },
        Some(SchemaType::Boolean) => {
            value.as_bool().map_or_else(|| mismatch("bool"), |value| Ok(Val::Bool(value)))
        }
        None if schema.preserve_unknown_fields => Ok(Val::Preserved(value)),
        None => mismatch("a typed value"),
    }
}

fn mismatch<T>(expected: &str) -> Eval<T> {
    EvalError::failed(format!("invalid data, expected {expected}"))
}

fn list<'a>(value: &'a Json, schema: &'a Schema) -> Eval<Val<'a>> {
    let Json::Array(items) = value else {
        return mismatch("an array for the provided schema with type=array");
    };
    let Some(item_schema) = schema.items.as_deref() else {
        return EvalError::failed("invalid array type, expected Items with a non-empty Schema");
    };
    let kind = match schema.list_type {
        Some(ListType::Set) => ListKind::Set,
        Some(ListType::Map) => ListKind::Map(&schema.list_map_keys),
        Some(ListType::Atomic) | None => ListKind::Plain,
    };
    Ok(Val::List(List { items: Items::Data(DataList { items, schema: item_schema }), kind }))
}

fn typed_text<'a>(text: &str, format: &str) -> Eval<Val<'a>> {
    match format {
        "duration" => match parse_duration(text) {
            Some(nanoseconds) => Ok(Val::Duration(nanoseconds)),
            None => EvalError::failed(format!("Invalid duration {text}")),
        },
        "date" if is_date(text) => timestamp(&format!("{text}T00:00:00Z"), text),
        "date" => EvalError::failed(format!("Invalid date formatted string {text}")),
        "date-time" if text.is_empty() => Ok(Val::Timestamp(jiff::Timestamp::UNIX_EPOCH)),
        "date-time" => timestamp(text, text),
        "byte" => {
            // The API server decodes with the URL alphabet, whatever the format check allowed.
            let engine = GeneralPurpose::new(&base64::alphabet::URL_SAFE, GeneralPurposeConfig::new());
            match engine.decode(text) {
                Ok(bytes) => Ok(Val::Bytes(bytes.into())),
                Err(_) => EvalError::failed(format!("Invalid byte formatted string {text}")),
            }
        }
        _ => Ok(Val::text(text)),
    }
}

fn timestamp<'a>(rfc3339: &str, text: &str) -> Eval<Val<'a>> {
    match super::library::time::parse_rfc3339(rfc3339)
        .or_else(|| super::library::time::parse_rfc3339(&format!("{rfc3339}Z")))
    {
        Some(time) => Ok(Val::Timestamp(time)),
        None => EvalError::failed(format!("Invalid date-time formatted string {text}")),
    }
}

/// Whether a schema gives type and metadata itself, completely enough for the API server to use it.
fn has_resource_fields(schema: &Schema) -> bool {
    let is = |schema: Option<&Schema>, type_| schema.is_some_and(|schema| schema.type_ == Some(type_));
    let metadata = schema.properties.get("metadata");
    is(schema.properties.get("kind"), SchemaType::String)
        && is(schema.properties.get("apiVersion"), SchemaType::String)
        && is(metadata, SchemaType::Object)
        && metadata.is_some_and(|metadata| {
            is(metadata.properties.get("name"), SchemaType::String)
                && is(metadata.properties.get("generateName"), SchemaType::String)
        })
}
