//! Object metadata: how the API server decodes it, and what it checks.
//!
//! The metadata of an object does not follow the schema of its CRD. The API server decodes it into a fixed
//! structure and writes it back, which drops fields the structure does not have and empty values.

use serde_json::{Map, Value};

use super::names;
use super::path::FieldPath;
use super::{Findings, number};

/// What the API server decodes a metadata field into.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Boolean,
    Time,
    TextMap,
    TextList,
    List(&'static [Field]),
    Anything,
}

#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    shape: Shape,
    /// Whether an empty value is left out when written back.
    omit_empty: bool,
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, omit_empty: true }
}

const fn always(name: &'static str, shape: Shape) -> Field {
    Field { name, shape, omit_empty: false }
}

const OWNER_REFERENCE: &[Field] = &[
    always("apiVersion", Shape::Text),
    always("kind", Shape::Text),
    always("name", Shape::Text),
    always("uid", Shape::Text),
    optional("controller", Shape::Boolean),
    optional("blockOwnerDeletion", Shape::Boolean),
];

const MANAGED_FIELDS: &[Field] = &[
    optional("manager", Shape::Text),
    optional("operation", Shape::Text),
    optional("apiVersion", Shape::Text),
    optional("time", Shape::Time),
    optional("fieldsType", Shape::Text),
    optional("fieldsV1", Shape::Anything),
    optional("subresource", Shape::Text),
];

const OBJECT_META: &[Field] = &[
    optional("name", Shape::Text),
    optional("generateName", Shape::Text),
    optional("namespace", Shape::Text),
    optional("selfLink", Shape::Text),
    optional("uid", Shape::Text),
    optional("resourceVersion", Shape::Text),
    optional("generation", Shape::Integer),
    optional("creationTimestamp", Shape::Time),
    optional("deletionTimestamp", Shape::Time),
    optional("deletionGracePeriodSeconds", Shape::Integer),
    optional("labels", Shape::TextMap),
    optional("annotations", Shape::TextMap),
    optional("ownerReferences", Shape::List(OWNER_REFERENCE)),
    optional("finalizers", Shape::TextList),
    optional("managedFields", Shape::List(MANAGED_FIELDS)),
];

/// Metadata after decoding, and the fields it does not have.
pub(super) struct Coerced {
    pub(super) metadata: Value,
    pub(super) unknown: Vec<String>,
}

/// Decodes metadata as a request is decoded: what cannot be decoded is an error.
pub(super) fn coerce(metadata: &Value) -> Result<Coerced, String> {
    let mut unknown = Vec::new();
    let metadata = decode_fields(metadata, OBJECT_META, "metadata", &mut unknown)?;
    Ok(Coerced { metadata, unknown })
}

/// Decodes metadata as it is read from storage: fields that cannot be decoded are dropped.
pub(super) fn coerce_leniently(metadata: &Value) -> Option<Coerced> {
    if let Ok(coerced) = coerce(metadata) {
        return Some(coerced);
    }
    let mut unknown = Vec::new();
    let mut kept = Map::new();
    for (key, value) in metadata.as_object()? {
        let alone = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        if let Ok(Value::Object(decoded)) = decode_fields(&alone, OBJECT_META, "metadata", &mut unknown) {
            kept.extend(decoded);
        }
    }
    Some(Coerced { metadata: Value::Object(kept), unknown })
}

fn decode_fields(
    value: &Value,
    fields: &'static [Field],
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<Value, String> {
    let empty = Map::new();
    let map = match value {
        Value::Null => &empty,
        Value::Object(map) => map,
        other => return Err(format!("{path}: cannot decode {} as an object", crate::crd::kind_of(other))),
    };
    for key in map.keys() {
        if !fields.iter().any(|field| field.name == key) {
            unknown.push(format!("{path}.{key}"));
        }
    }
    let mut out = Map::new();
    for field in fields {
        let value = map.get(field.name).unwrap_or(&Value::Null);
        let decoded = decode(value, field.shape, &format!("{path}.{}", field.name), unknown)?;
        if !(field.omit_empty && is_empty(&decoded, field.shape)) {
            out.insert(field.name.to_owned(), decoded);
        }
    }
    Ok(Value::Object(out))
}

fn is_empty(value: &Value, shape: Shape) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty() && !matches!(shape, Shape::Anything),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Bool(_) => false,
    }
}

fn decode(value: &Value, shape: Shape, path: &str, unknown: &mut Vec<String>) -> Result<Value, String> {
    let mismatch = |what: &str| format!("{path}: cannot decode {} as {what}", crate::crd::kind_of(value));
    match (shape, value) {
        (Shape::Text, Value::Null) => Ok(Value::String(String::new())),
        (
            Shape::Integer | Shape::Boolean | Shape::Time | Shape::TextMap | Shape::TextList | Shape::List(_),
            Value::Null,
        )
        | (Shape::Text, Value::String(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Anything, _) => Ok(value.clone()),
        (Shape::Integer, Value::Number(_)) => match number::stored(value) {
            whole if whole.as_i64().is_some() => Ok(whole),
            _ => Err(mismatch("an integer")),
        },
        (Shape::Time, Value::String(text)) => match text.parse::<jiff::Timestamp>() {
            Ok(time) => Ok(Value::String(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())),
            Err(_) => Err(format!("{path}: cannot decode {text:?} as a time")),
        },
        (Shape::TextMap, Value::Object(map)) => map
            .iter()
            .map(|(key, value)| {
                decode(value, Shape::Text, &format!("{path}.{key}"), unknown)
                    .map(|value| (key.clone(), value))
            })
            .collect(),
        (Shape::TextList, Value::Array(items)) => {
            items.iter().map(|item| decode(item, Shape::Text, path, unknown)).collect()
        }
        (Shape::List(fields), Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(index, item)| decode_fields(item, fields, &format!("{path}[{index}]"), unknown))
            .collect(),
        (Shape::Text, _) => Err(mismatch("a string")),
        (Shape::Integer, _) => Err(mismatch("an integer")),
        (Shape::Boolean, _) => Err(mismatch("a boolean")),
        (Shape::Time, _) => Err(mismatch("a time")),
        (Shape::TextMap, _) => Err(mismatch("a map of strings")),
        (Shape::TextList | Shape::List(_), _) => Err(mismatch("a list")),
    }
}

/// What names of an object must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    /// A DNS subdomain, and there must be one: the object of a request.
    Subdomain,
    /// Anything that fits into a URL path: an embedded resource.
    PathSegment,
}

/// Gives an object without a name the one the API server makes up from `generateName`, and says whether it did.
pub(super) fn generate_name(object: &mut Map<String, Value>) -> bool {
    /// Names are kept within a label, and end in five random characters.
    const LONGEST_PREFIX: usize = 58;
    let Some(Value::Object(metadata)) = object.get_mut("metadata") else { return false };
    if metadata.contains_key("name") {
        return false;
    }
    let Some(prefix) = metadata.get("generateName").and_then(Value::as_str) else { return false };
    let end = (0..=prefix.len().min(LONGEST_PREFIX))
        .rev()
        .find(|end| prefix.is_char_boundary(*end))
        .unwrap_or_default();
    let name = format!("{}xxxxx", prefix.get(..end).unwrap_or_default());
    metadata.insert("name".to_owned(), Value::String(name));
    true
}

/// Checks decoded metadata.
pub(super) fn check(metadata: &Value, rule: NameRule, path: &mut FieldPath, out: &mut Findings) {
    let mark = path.push_key("metadata");
    check_name(metadata, rule, path, out);
    // Of the object itself, the API server sets the generation, and the request decides on the namespace.
    if rule == NameRule::PathSegment {
        if let Some(namespace) = text(metadata, "namespace") {
            report(path, "namespace", namespace, names::dns_label(namespace), out);
        }
        if metadata.get("generation").and_then(Value::as_i64).is_some_and(i64::is_negative) {
            let message = "Invalid value: must be greater than or equal to 0";
            out.violate_at(path.child("generation"), "metadata", message);
        }
    }
    for (key, value) in metadata.get("labels").and_then(Value::as_object).into_iter().flatten() {
        report(path, "labels", key, names::qualified_name(key), out);
        let value = value.as_str().unwrap_or_default();
        report(path, "labels", value, names::label_value(value), out);
    }
    check_annotations(metadata, path, out);
    check_owners(metadata, path, out);
    check_finalizers(metadata, path, out);
    path.cut(mark);
}

fn check_name(metadata: &Value, rule: NameRule, path: &FieldPath, out: &mut Findings) {
    let judge = |name: &str, prefix: bool| match rule {
        NameRule::Subdomain if prefix => names::dns_subdomain(&names::mask_trailing_dash(name)),
        NameRule::Subdomain => names::dns_subdomain(name),
        NameRule::PathSegment => names::path_segment(name, prefix),
    };
    if let Some(generate) = text(metadata, "generateName") {
        report(path, "generateName", generate, judge(generate, true), out);
    }
    match text(metadata, "name") {
        Some(name) => report(path, "name", name, judge(name, false), out),
        None if rule == NameRule::Subdomain => {
            let message = "Required value: name or generateName is required";
            out.violate_at(path.child("name"), "metadata", message);
        }
        None => {}
    }
}

fn check_annotations(metadata: &Value, path: &FieldPath, out: &mut Findings) {
    const LIMIT: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in metadata.get("annotations").and_then(Value::as_object).into_iter().flatten() {
        report(path, "annotations", key, names::qualified_name(&key.to_lowercase()), out);
        size += key.len() + value.as_str().map(str::len).unwrap_or_default();
    }
    if size > LIMIT {
        let message = format!("Too long: may not be more than {LIMIT} bytes");
        out.violate_at(path.child("annotations"), "metadata", message);
    }
}

fn check_owners(metadata: &Value, path: &FieldPath, out: &mut Findings) {
    let here = path.child("ownerReferences");
    let mut controllers = 0;
    for owner in metadata.get("ownerReferences").and_then(Value::as_array).into_iter().flatten() {
        let api_version = text(owner, "apiVersion").unwrap_or_default();
        if !api_version.contains('/') && api_version.is_empty() || api_version.ends_with('/') {
            let message = format!("Invalid value: {api_version:?}: version must not be empty");
            out.violate_at(format!("{here}.apiVersion"), "metadata", message);
        }
        for key in ["kind", "name", "uid"] {
            if text(owner, key).is_none() {
                out.violate_at(format!("{here}.{key}"), "metadata", "Invalid value: \"\": must not be empty");
            }
        }
        if api_version == "v1" && text(owner, "kind") == Some("Event") {
            out.violate_at(
                here.clone(),
                "metadata",
                "Invalid value: an Event is disallowed from being an owner",
            );
        }
        controllers += usize::from(owner.get("controller").and_then(Value::as_bool).unwrap_or_default());
    }
    if controllers > 1 {
        out.violate_at(here, "metadata", "Invalid value: only one reference can have controller set to true");
    }
}

fn check_finalizers(metadata: &Value, path: &FieldPath, out: &mut Findings) {
    let finalizers: Vec<&str> = metadata
        .get("finalizers")
        .and_then(Value::as_array)
        .map(|items| items.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for finalizer in &finalizers {
        report(path, "finalizers", finalizer, names::qualified_name(finalizer), out);
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let message = "Invalid value: finalizer orphan and foregroundDeletion cannot be both set";
        out.violate_at(path.child("finalizers"), "metadata", message);
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
}

fn report(path: &FieldPath, key: &str, value: &str, problems: Vec<&'static str>, out: &mut Findings) {
    for problem in problems {
        out.violate_at(path.child(key), "metadata", format!("Invalid value: {value:?}: {problem}"));
    }
}
