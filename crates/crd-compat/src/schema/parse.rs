//! From JSON to [`Schema`]: what the API server refuses to decode is refused here.

use serde_json::{Map, Value};

use super::{
    AdditionalProperties, ListType, MAX_DEPTH, MapType, Pattern, Properties, Schema, SchemaError, SchemaType,
    ValidationRule,
};
use crate::crd::kind_of;

type Parsed<T> = Result<T, SchemaError>;

pub(super) fn schema(value: &Value, depth: usize) -> Parsed<Schema> {
    let Value::Object(map) = value else { return Err(mismatch("an object", value)) };
    if depth > MAX_DEPTH {
        return Err(wrong(format!("is nested deeper than {MAX_DEPTH} schemas")));
    }
    let mut schema = Schema::default();
    for (key, value) in map {
        keyword(&mut schema, key, value, depth).map_err(|error| inside(key, error))?;
    }
    Ok(schema)
}

fn keyword(schema: &mut Schema, key: &str, value: &Value, depth: usize) -> Parsed<()> {
    // To Go, a null is the same as the keyword not being there.
    if value.is_null() {
        return Ok(());
    }
    match key {
        "type" => schema.type_ = word(value, SchemaType::from_word)?,
        "format" => schema.format = text(value)?,
        "nullable" => schema.nullable = flag(value)?,
        "title" => schema.title = text(value)?,
        "description" => schema.description = text(value)?,
        "properties" => schema.properties = properties(value, depth)?,
        "required" => schema.required = strings(value)?,
        "items" => schema.items = Some(Box::new(items(value, depth)?)),
        "additionalProperties" => schema.additional_properties = Some(additional_properties(value, depth)?),
        "enum" => schema.enum_ = Some(array(value)?.clone()),
        "default" => schema.default = Some(value.clone()),
        "minimum" => schema.minimum = number(value)?,
        "exclusiveMinimum" => schema.exclusive_minimum = flag(value)?,
        "maximum" => schema.maximum = number(value)?,
        "exclusiveMaximum" => schema.exclusive_maximum = flag(value)?,
        "multipleOf" => schema.multiple_of = number(value)?,
        "minLength" => schema.min_length = integer(value)?,
        "maxLength" => schema.max_length = integer(value)?,
        "minItems" => schema.min_items = integer(value)?,
        "maxItems" => schema.max_items = integer(value)?,
        "minProperties" => schema.min_properties = integer(value)?,
        "maxProperties" => schema.max_properties = integer(value)?,
        "pattern" => schema.pattern = text(value)?.map(|source| Box::new(Pattern::new(source))),
        "uniqueItems" => schema.unique_items = flag(value)?,
        "allOf" => schema.all_of = schemas(value, depth)?,
        "anyOf" => schema.any_of = schemas(value, depth)?,
        "oneOf" => schema.one_of = schemas(value, depth)?,
        "not" => schema.not = Some(Box::new(self::schema(value, depth + 1)?)),
        "x-kubernetes-preserve-unknown-fields" => {
            schema.preserve_unknown_fields = flag(value)?;
            if !schema.preserve_unknown_fields {
                return Err(wrong("must be true or left out"));
            }
        }
        "x-kubernetes-embedded-resource" => schema.embedded_resource = flag(value)?,
        "x-kubernetes-int-or-string" => schema.int_or_string = flag(value)?,
        "x-kubernetes-list-type" => schema.list_type = word(value, ListType::from_word)?,
        "x-kubernetes-list-map-keys" => schema.list_map_keys = strings(value)?,
        "x-kubernetes-map-type" => schema.map_type = word(value, MapType::from_word)?,
        "x-kubernetes-validations" => schema.validations = rules(value)?,
        _ => {
            schema.extra.insert(key.to_owned(), value.clone());
        }
    }
    Ok(())
}

fn properties(value: &Value, depth: usize) -> Parsed<Properties> {
    object(value)?
        .iter()
        .map(|(name, value)| match schema(value, depth + 1) {
            Ok(schema) => Ok((name.clone(), schema)),
            Err(error) => Err(inside(name, error)),
        })
        .collect()
}

fn items(value: &Value, depth: usize) -> Parsed<Schema> {
    if value.is_array() {
        return Err(wrong("must be a schema; the API server does not accept a list of them"));
    }
    schema(value, depth + 1)
}

fn additional_properties(value: &Value, depth: usize) -> Parsed<AdditionalProperties> {
    match value {
        Value::Bool(allowed) => Ok(AdditionalProperties::Allowed(*allowed)),
        Value::Object(_) => {
            schema(value, depth + 1).map(|schema| AdditionalProperties::Schema(Box::new(schema)))
        }
        other => Err(mismatch("a boolean or a schema", other)),
    }
}

fn schemas(value: &Value, depth: usize) -> Parsed<Vec<Schema>> {
    each(value, |value| schema(value, depth + 1))
}

fn rules(value: &Value) -> Parsed<Vec<ValidationRule>> {
    each(value, |value| {
        let mut rule = ValidationRule::default();
        for (key, value) in object(value)? {
            let within = |error| inside(key, error);
            match (key.as_str(), value) {
                (_, Value::Null) => {}
                ("rule", value) => rule.rule = text(value).map_err(within)?.unwrap_or_default(),
                ("message", value) => rule.message = text(value).map_err(within)?,
                ("messageExpression", value) => rule.message_expression = text(value).map_err(within)?,
                ("reason", value) => rule.reason = text(value).map_err(within)?,
                ("fieldPath", value) => rule.field_path = text(value).map_err(within)?,
                ("optionalOldSelf", value) => rule.optional_old_self = flag(value).map_err(within)?,
                _ => {}
            }
        }
        Ok(rule)
    })
}

fn strings(value: &Value) -> Parsed<Vec<String>> {
    each(value, |value| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(mismatch("a string", other)),
    })
}

fn each<T>(value: &Value, one: impl Fn(&Value) -> Parsed<T>) -> Parsed<Vec<T>> {
    array(value)?
        .iter()
        .enumerate()
        .map(|(index, value)| one(value).map_err(|error| inside(&format!("[{index}]"), error)))
        .collect()
}

fn object(value: &Value) -> Parsed<&Map<String, Value>> {
    value.as_object().ok_or_else(|| mismatch("an object", value))
}

fn array(value: &Value) -> Parsed<&Vec<Value>> {
    value.as_array().ok_or_else(|| mismatch("an array", value))
}

fn text(value: &Value) -> Parsed<Option<String>> {
    match value {
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(mismatch("a string", other)),
    }
}

fn word<T>(value: &Value, known: fn(&str) -> Option<T>) -> Parsed<Option<T>> {
    match value {
        Value::String(word) if word.is_empty() => Ok(None),
        Value::String(word) => match known(word) {
            Some(known) => Ok(Some(known)),
            None => Err(wrong(format!("{word:?} is not supported by the API server"))),
        },
        other => Err(mismatch("a string", other)),
    }
}

fn flag(value: &Value) -> Parsed<bool> {
    value.as_bool().ok_or_else(|| mismatch("a boolean", value))
}

fn number(value: &Value) -> Parsed<Option<f64>> {
    value.as_f64().map(Some).ok_or_else(|| mismatch("a number", value))
}

fn integer(value: &Value) -> Parsed<Option<i64>> {
    match value {
        Value::Number(number) => {
            number.as_i64().map(Some).ok_or_else(|| wrong(format!("must be an integer, not {number}")))
        }
        other => Err(mismatch("an integer", other)),
    }
}

fn wrong(problem: impl Into<String>) -> SchemaError {
    SchemaError { path: ".".to_owned(), problem: problem.into() }
}

fn mismatch(expected: &str, found: &Value) -> SchemaError {
    wrong(format!("must be {expected}, not {}", kind_of(found)))
}

/// The same error, seen from one step further out.
fn inside(step: &str, mut error: SchemaError) -> SchemaError {
    error.path = match error.path.as_str() {
        "." => step.to_owned(),
        rest if rest.starts_with('[') => format!("{step}{rest}"),
        rest => format!("{step}.{rest}"),
    };
    error
}
