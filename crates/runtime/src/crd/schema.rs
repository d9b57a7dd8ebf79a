//! Schemas as an API server wants them.
//!
//! What the derive makes of Rust types is almost, but not quite, a structural schema: widths of integers
//! that Kubernetes has no format for, `null` as an alternative, values of any shape. Each of these is
//! accepted with a warning, refused, or means something else than the type does.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps, ValidationRule,
};
use kube::core::Rule;
use serde_json::{Map, Value, json};

use super::check::Problem;

/// What becomes of `null` in optional fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// It is allowed, as the derive has it.
    Kept,
    /// The API server takes it out: the field is absent instead.
    Dropped,
}

/// Makes the schemas of a definition such that an API server takes them for what the types mean.
pub fn mend(crd: &mut CustomResourceDefinition) {
    mend_with(crd, Nulls::Kept);
}

pub(super) fn mend_with(crd: &mut CustomResourceDefinition, nulls: Nulls) {
    for version in &mut crd.spec.versions {
        let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        let Ok(mut value) = serde_json::to_value(&*schema) else { continue };
        schema_value(&mut value, nulls);
        if let Ok(mended) = serde_json::from_value(value) {
            *schema = mended;
        }
    }
}

/// Mends one schema and all beneath it.
fn schema_value(value: &mut Value, nulls: Nulls) {
    let Some(schema) = value.as_object_mut() else { return };
    null_as_alternative(schema);
    integer_format(schema);
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    nullable_enum(schema);
    for keyword in ["properties", "patternProperties"] {
        let Some(Value::Object(properties)) = schema.get_mut(keyword) else { continue };
        for property in properties.values_mut() {
            any_value(property);
            schema_value(property, nulls);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        let Some(inner) = schema.get_mut(keyword) else { continue };
        // `true` keeps the entries of a map and prunes what is in them.
        if *inner == Value::Bool(true) {
            *inner = json!({});
        }
        if inner.is_object() {
            any_value(inner);
            schema_value(inner, nulls);
        }
    }
    if nulls == Nulls::Dropped {
        drop_nulls(schema);
    }
}

/// `anyOf: [X, null]` is how an optional value is described; an API server wants `X` with `nullable`.
fn null_as_alternative(schema: &mut Map<String, Value>) {
    for keyword in ["anyOf", "oneOf"] {
        let Some(Value::Array(alternatives)) = schema.get(keyword) else { continue };
        let (nulls, others): (Vec<&Value>, Vec<&Value>) =
            alternatives.iter().partition(|alternative| is_null(alternative));
        let ([_], [Value::Object(only)]) = (nulls.as_slice(), others.as_slice()) else { continue };
        let only = only.clone();
        schema.remove(keyword);
        for (key, inner) in only {
            schema.entry(key).or_insert(inner);
        }
        schema.insert("nullable".to_owned(), Value::Bool(true));
    }
}

fn is_null(schema: &Value) -> bool {
    let null = |key: &str| schema.get(key).is_some();
    schema.get("type") == Some(&json!("null"))
        || (schema.get("enum") == Some(&json!([null])) && !null("properties"))
}

/// An API server judges `null` by `enum` as well and never finds it there, even if it is listed. A field that
/// is not nullable has its `null` taken out instead, which is what an `Option` means by it.
fn nullable_enum(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
        schema.remove("nullable");
    }
}

/// Kubernetes knows `int32` and `int64`. Other widths become bounds, which are what they mean.
fn integer_format(schema: &mut Map<String, Value>) {
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let (width, low, high): (&str, Option<i64>, Option<i64>) = match format {
        "int8" => ("int32", Some(i64::from(i8::MIN)), Some(i64::from(i8::MAX))),
        "int16" => ("int32", Some(i64::from(i16::MIN)), Some(i64::from(i16::MAX))),
        "uint8" => ("int32", Some(0), Some(i64::from(u8::MAX))),
        "uint16" => ("int32", Some(0), Some(i64::from(u16::MAX))),
        "uint32" => ("int64", Some(0), Some(i64::from(u32::MAX))),
        "uint" | "uint64" | "uint128" => ("int64", Some(0), None),
        "int" | "int128" => ("int64", None, None),
        _ => return,
    };
    schema.insert("format".to_owned(), width.into());
    // Bounds that the author gave are narrower, or they would not have been given.
    if let Some(low) = low {
        schema.entry("minimum").or_insert_with(|| low.into());
    }
    if let Some(high) = high {
        schema.entry("maximum").or_insert_with(|| high.into());
    }
}

/// A schema that says nothing stands for any value; an API server wants that said, and prunes otherwise.
fn any_value(value: &mut Value) {
    let Some(schema) = value.as_object_mut() else { return };
    let silent = ["description", "title", "nullable", "default", "example"];
    let says_nothing = schema.keys().all(|key| silent.contains(&key.as_str()));
    if says_nothing {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), Value::Bool(true));
    }
}

fn drop_nulls(schema: &mut Map<String, Value>) {
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        .unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        // A required field that is an `Option` has no other way to say that there is nothing.
        let Some(property) = property.as_object_mut().filter(|_| !required.contains(name)) else { continue };
        property.remove("nullable");
    }
}

/// Adds a rule to the field at `path` of a version.
pub(super) fn add_rule(
    crd: &mut CustomResourceDefinition,
    version: &str,
    path: &str,
    rule: &Rule,
) -> Result<(), Problem> {
    let wrong = |message: String| Problem::new(format!("{version} {path}"), message);
    let found = crd.spec.versions.iter_mut().find(|found| found.name == version);
    let root = found
        .ok_or_else(|| wrong(format!("a rule is for version {version}, which is not given")))?
        .schema
        .get_or_insert_with(CustomResourceValidation::default)
        .open_api_v3_schema
        .get_or_insert_default();
    let mut place: &mut JSONSchemaProps = root;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        place =
            place.properties.as_mut().and_then(|properties| properties.get_mut(name)).ok_or_else(|| {
                wrong(format!("a rule is for a field that does not exist: there is no {name}"))
            })?;
    }
    let rule = serde_json::to_value(rule).and_then(serde_json::from_value::<ValidationRule>);
    let rule = rule.map_err(|error| wrong(format!("a rule cannot be written: {error}")))?;
    place.x_kubernetes_validations.get_or_insert_default().push(rule);
    Ok(())
}
