//! The schema of a CRD version, parsed once into typed keywords.
//!
//! A schema is owned and independent of the JSON it came from. Keywords the API server does not know stay
//! in [`Schema::extra`], so that a comparison can still see them.

use serde_json::{Map, Value};
use thiserror::Error;

mod keyword;
mod parse;
mod pattern;
mod properties;
#[cfg(test)]
mod tests;

pub use keyword::{AdditionalProperties, ListType, MapType, SchemaType, ValidationRule};
pub use pattern::Pattern;
pub(crate) use pattern::compile as compile_pattern;
pub use properties::Properties;

/// How deep schemas may nest: far more than any real one, little enough that recursion stays safe.
pub const MAX_DEPTH: usize = 100;

/// Why a schema cannot be used: the API server refuses such a definition too.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct SchemaError {
    /// Where in the schema, such as `properties.spec.minLength`; `.` is the schema itself.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

/// One node of a structural schema.
#[allow(clippy::struct_excessive_bools, reason = "one field per keyword, and these keywords are booleans")]
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// `type`.
    pub type_: Option<SchemaType>,
    /// `format`, as written, whether the API server checks it or not.
    pub format: Option<String>,
    /// `nullable`.
    pub nullable: bool,
    /// `title`.
    pub title: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `properties`, by name.
    pub properties: Properties,
    /// `required`, in the order written.
    pub required: Vec<String>,
    /// `items`.
    pub items: Option<Box<Schema>>,
    /// `additionalProperties`.
    pub additional_properties: Option<AdditionalProperties>,
    /// `enum`; `None` and an empty list both allow every value.
    pub enum_: Option<Vec<Value>>,
    /// `default`; an explicit null is no default.
    pub default: Option<Value>,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `minLength`.
    pub min_length: Option<i64>,
    /// `maxLength`.
    pub max_length: Option<i64>,
    /// `minItems`.
    pub min_items: Option<i64>,
    /// `maxItems`.
    pub max_items: Option<i64>,
    /// `minProperties`.
    pub min_properties: Option<i64>,
    /// `maxProperties`.
    pub max_properties: Option<i64>,
    /// `pattern`, compiled when first needed.
    pub pattern: Option<Box<Pattern>>,
    /// `uniqueItems`.
    pub unique_items: bool,
    /// `allOf`.
    pub all_of: Vec<Schema>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// `oneOf`.
    pub one_of: Vec<Schema>,
    /// `not`.
    pub not: Option<Box<Schema>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-list-type`.
    pub list_type: Option<ListType>,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: Vec<String>,
    /// `x-kubernetes-map-type`.
    pub map_type: Option<MapType>,
    /// `x-kubernetes-validations`.
    pub validations: Vec<ValidationRule>,
    /// Keywords not named above, as written.
    pub extra: Map<String, Value>,
}

impl Schema {
    /// Parses an `openAPIV3Schema`.
    pub fn parse(value: &Value) -> Result<Schema, SchemaError> {
        parse::schema(value, 0)
    }

    /// The schema of the values behind keys that `properties` does not name.
    pub fn value_schema(&self) -> Option<&Schema> {
        match &self.additional_properties {
            Some(AdditionalProperties::Schema(schema)) => Some(schema),
            _ => None,
        }
    }
}
