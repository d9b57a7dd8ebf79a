//! Validation of a value against a schema, as the API server's validator does it, quirks included.

use serde_json::{Map, Value};

use super::format::Format;
use super::number::{self, Num};
use super::path::FieldPath;
use super::{Findings, numeric};
use crate::schema::{AdditionalProperties, Schema, SchemaType};

/// Checks `value` against every keyword of `schema` and below.
pub(super) fn check(value: &Value, schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    let format = Format::of(schema);
    if value.is_null() {
        // Null meets only the type and the enum; the enum never has it.
        if !schema.nullable && (schema.type_.is_some() || schema.int_or_string) {
            mismatch(path, &wanted(schema), "null", out);
        }
        check_enum(value, schema, path, out);
        return;
    }
    check_type(value, schema, format, path, out);
    check_junctors(value, schema, path, out);
    match value {
        Value::String(text) => {
            check_text(text, schema, path, out);
            if let Some(format) = format
                && !format.accepts(text)
            {
                mismatch_format(path, schema.format.as_deref().unwrap_or_default(), text, out);
            }
        }
        Value::Number(value) => numeric::check(Num::of(value), schema, format, path, out),
        Value::Array(items) => check_items(items, schema, path, out),
        Value::Bool(_) | Value::Object(_) | Value::Null => {}
    }
    check_enum(value, schema, path, out);
    if let Value::Object(object) = value {
        check_object(object, schema, path, out);
    }
}

fn wanted(schema: &Schema) -> String {
    if schema.int_or_string {
        return "integer,string".to_owned();
    }
    schema.type_.map(SchemaType::as_str).unwrap_or_default().to_owned()
}

fn check_type(value: &Value, schema: &Schema, format: Option<Format>, path: &FieldPath, out: &mut Findings) {
    let has = |wanted: SchemaType| {
        if schema.int_or_string {
            matches!(wanted, SchemaType::Integer | SchemaType::String)
        } else {
            schema.type_ == Some(wanted)
        }
    };
    let typed = schema.int_or_string || schema.type_.is_some();
    if !typed && format.is_none() {
        return;
    }
    let (found, fits) = match value {
        Value::Null => return,
        Value::Bool(_) => ("boolean", has(SchemaType::Boolean)),
        Value::String(_) => ("string", has(SchemaType::String)),
        Value::Array(_) => ("array", has(SchemaType::Array)),
        Value::Object(_) => ("object", has(SchemaType::Object)),
        Value::Number(value) => match Num::of(value) {
            Num::Int(_) => ("integer", has(SchemaType::Integer) || has(SchemaType::Number)),
            Num::Float(float) => (
                "number",
                has(SchemaType::Number) || (has(SchemaType::Integer) && number::is_integral(float)),
            ),
        },
    };
    // The server looks no further at a string or a list once a non-numeric type has a format.
    let numeric = has(SchemaType::Integer) || has(SchemaType::Number);
    let passed_over = format.is_some() && !numeric && (value.is_string() || value.is_array());
    if !fits && !passed_over {
        let wanted = if typed { wanted(schema) } else { schema.format.clone().unwrap_or_default() };
        mismatch(path, &wanted, found, out);
    }
}

fn check_enum(value: &Value, schema: &Schema, path: &FieldPath, out: &mut Findings) {
    let Some(allowed) = schema.enum_.as_deref().filter(|allowed| !allowed.is_empty()) else { return };
    if allowed.iter().any(|allowed| same_after_conversion(value, &number::stored(allowed))) {
        return;
    }
    let supported: Vec<String> = allowed
        .iter()
        .map(|allowed| match allowed {
            Value::String(text) => format!("{text:?}"),
            other => format!("{:?}", other.to_string()),
        })
        .collect();
    let message = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
    out.violate(path, "enum", message);
}

/// Go compares after converting the value to the type of the allowed one: a float is cut to an integer,
/// and an integer read as the character of that number.
fn same_after_conversion(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (Num::of(value), Num::of(allowed)) {
            (Num::Int(value), Num::Int(allowed)) => value == allowed,
            (Num::Float(value), Num::Int(allowed)) => number::to_int(value) == allowed,
            (value, Num::Float(allowed)) => value.as_f64().total_cmp(&allowed).is_eq(),
        },
        (Value::Number(value), Value::String(allowed)) => match Num::of(value) {
            Num::Int(code) => {
                let character = u32::try_from(code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                allowed.chars().eq([character])
            }
            Num::Float(_) => false,
        },
        _ => same(value, allowed),
    }
}

/// Equal, integers and floats being different.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Num::of(a) == Num::of(b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn check_text(text: &str, schema: &Schema, path: &FieldPath, out: &mut Findings) {
    let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    // The first of these that fails hides the others.
    if let Some(limit) = schema.max_length.filter(|limit| length() > *limit) {
        out.violate(path, "maxLength", format!("Too long: may not be more than {limit} bytes"));
    } else if let Some(limit) = schema.min_length.filter(|limit| length() < *limit) {
        let message =
            format!("Invalid value: {text:?}: {path} in body should be at least {limit} chars long");
        out.violate(path, "minLength", message);
    } else if let Some(pattern) = schema.pattern.as_deref().filter(|pattern| !pattern.as_str().is_empty()) {
        match pattern.is_match(text) {
            Ok(true) => {}
            Ok(false) => {
                let message =
                    format!("Invalid value: {text:?}: {path} in body should match '{}'", pattern.as_str());
                out.violate(path, "pattern", message);
            }
            Err(reason) => out.unsure(path, reason),
        }
    }
}

fn check_items(items: &[Value], schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    if let Some(schema) = schema.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            let mark = path.push_index(index);
            check(item, schema, path, out);
            path.cut(mark);
        }
    }
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    if let Some(limit) = schema.min_items.filter(|limit| size < *limit) {
        let message = format!("Invalid value: {size}: {path} in body should have at least {limit} items");
        out.violate(path, "minItems", message);
    }
    if let Some(limit) = schema.max_items.filter(|limit| size > *limit) {
        out.violate(path, "maxItems", format!("Too many: {size}: must have at most {limit} items"));
    }
    if schema.unique_items
        && items
            .iter()
            .enumerate()
            .any(|(index, item)| items.iter().take(index).any(|other| same(item, other)))
    {
        let message = format!("Invalid value: {path} in body shouldn't contain duplicates");
        out.violate(path, "uniqueItems", message);
    }
}

fn check_object(object: &Map<String, Value>, schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    let size = i64::try_from(object.len()).unwrap_or(i64::MAX);
    if let Some(limit) = schema.min_properties.filter(|limit| size < *limit) {
        let message =
            format!("Invalid value: {size}: {path} in body should have at least {limit} properties");
        out.violate(path, "minProperties", message);
    }
    if let Some(limit) = schema.max_properties.filter(|limit| size > *limit) {
        out.violate(path, "maxProperties", format!("Too many: {size}: must have at most {limit} items"));
    }
    for (key, value) in object {
        let mark = path.push_key(key);
        match (schema.properties.get(key), &schema.additional_properties) {
            (Some(property), _) => check(value, property, path, out),
            (None, Some(AdditionalProperties::Schema(schema))) => check(value, schema, path, out),
            (None, Some(AdditionalProperties::Allowed(false))) => {
                out.violate(path, "additionalProperties", "Invalid value: is a forbidden property");
            }
            (None, Some(AdditionalProperties::Allowed(true)) | None) => {}
        }
        path.cut(mark);
    }
    for name in schema.required.iter().filter(|name| !object.contains_key(*name)) {
        out.violate_at(path.child(name), "required", "Required value");
    }
}

/// Whether an alternative holds.
enum Holds {
    Yes,
    No(Findings),
    Unsure(Findings),
}

fn holds(value: &Value, schema: &Schema, path: &mut FieldPath) -> Holds {
    let mut found = Findings::default();
    check(value, schema, path, &mut found);
    if !found.violations.is_empty() {
        Holds::No(found)
    } else if found.unknown.is_empty() {
        Holds::Yes
    } else {
        Holds::Unsure(found)
    }
}

fn check_junctors(value: &Value, schema: &Schema, path: &mut FieldPath, out: &mut Findings) {
    if !schema.any_of.is_empty() {
        check_any_of(value, &schema.any_of, path, out);
    }
    if !schema.one_of.is_empty() {
        check_one_of(value, &schema.one_of, path, out);
    }
    if !schema.all_of.is_empty() {
        let before = out.violations.len();
        for schema in &schema.all_of {
            check(value, schema, path, out);
        }
        if out.violations.len() > before {
            let message =
                format!("Invalid value: \"\": {:?} must validate all the schemas (allOf)", path.as_str());
            out.violate(path, "allOf", message);
        }
    }
    if let Some(schema) = schema.not.as_deref() {
        match holds(value, schema, path) {
            Holds::No(_) => {}
            Holds::Yes => {
                let message =
                    format!("Invalid value: \"\": {:?} must not validate the schema (not)", path.as_str());
                out.violate(path, "not", message);
            }
            Holds::Unsure(found) => out.unknown.extend(found.unknown),
        }
    }
}

fn check_any_of(value: &Value, schemas: &[Schema], path: &mut FieldPath, out: &mut Findings) {
    let mut closest: Option<Findings> = None;
    let mut unsure = Vec::new();
    for schema in schemas {
        match holds(value, schema, path) {
            Holds::Yes => return,
            Holds::No(found) => closest = Some(nearer(closest, found)),
            Holds::Unsure(found) => unsure.extend(found.unknown),
        }
    }
    if unsure.is_empty() {
        let message =
            format!("Invalid value: \"\": {:?} must validate at least one schema (anyOf)", path.as_str());
        out.violate(path, "anyOf", message);
        out.violations.extend(closest.map(|found| found.violations).unwrap_or_default());
    } else {
        out.unknown.extend(unsure);
    }
}

fn check_one_of(value: &Value, schemas: &[Schema], path: &mut FieldPath, out: &mut Findings) {
    let mut valid = 0_usize;
    let mut closest: Option<Findings> = None;
    let mut unsure = Vec::new();
    for schema in schemas {
        match holds(value, schema, path) {
            Holds::Yes => valid += 1,
            Holds::No(found) => closest = Some(nearer(closest, found)),
            Holds::Unsure(found) => unsure.extend(found.unknown),
        }
    }
    if valid < 2 && !unsure.is_empty() {
        out.unknown.extend(unsure);
        return;
    }
    let told = match valid {
        1 => return,
        0 => "Found none valid".to_owned(),
        many => format!("Found {many} valid alternatives"),
    };
    let message = format!(
        "Invalid value: \"\": {:?} must validate one and only one schema (oneOf). {told}",
        path.as_str()
    );
    out.violate(path, "oneOf", message);
    if valid == 0 {
        out.violations.extend(closest.map(|found| found.violations).unwrap_or_default());
    }
}

/// Of two failures, the one with less wrong: it is what the writer most likely meant.
fn nearer(closest: Option<Findings>, found: Findings) -> Findings {
    match closest {
        Some(closest) if closest.violations.len() <= found.violations.len() => closest,
        _ => found,
    }
}

fn mismatch(path: &FieldPath, wanted: &str, found: &str, out: &mut Findings) {
    let message = format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
    out.violate(path, "type", message);
}

fn mismatch_format(path: &FieldPath, wanted: &str, found: &str, out: &mut Findings) {
    let message = format!("Invalid value: {found:?}: {path} in body must be of type {wanted}: {found:?}");
    out.violate(path, "format", message);
}
