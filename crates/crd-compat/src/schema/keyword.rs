//! Types of single schema keywords.

use super::Schema;

/// The value of `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemaType {
    /// `array`
    Array,
    /// `boolean`
    Boolean,
    /// `integer`
    Integer,
    /// `number`
    Number,
    /// `object`
    Object,
    /// `string`
    String,
}

impl SchemaType {
    /// The word as written in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            SchemaType::Array => "array",
            SchemaType::Boolean => "boolean",
            SchemaType::Integer => "integer",
            SchemaType::Number => "number",
            SchemaType::Object => "object",
            SchemaType::String => "string",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<SchemaType> {
        Some(match word {
            "array" => SchemaType::Array,
            "boolean" => SchemaType::Boolean,
            "integer" => SchemaType::Integer,
            "number" => SchemaType::Number,
            "object" => SchemaType::Object,
            "string" => SchemaType::String,
            _ => return None,
        })
    }
}

/// The value of `additionalProperties`.
#[derive(Debug, Clone, PartialEq)]
pub enum AdditionalProperties {
    /// Any value (`true`) or, nominally, none (`false`).
    Allowed(bool),
    /// Values of this schema.
    Schema(Box<Schema>),
}

/// The value of `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListType {
    /// Replaced as a whole.
    Atomic,
    /// Values are unique.
    Set,
    /// Items are unique by their keys.
    Map,
}

impl ListType {
    /// The word as written in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            ListType::Atomic => "atomic",
            ListType::Set => "set",
            ListType::Map => "map",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<ListType> {
        Some(match word {
            "atomic" => ListType::Atomic,
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => return None,
        })
    }
}

/// The value of `x-kubernetes-map-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MapType {
    /// Keys are merged one by one.
    Granular,
    /// Replaced as a whole.
    Atomic,
}

impl MapType {
    /// The word as written in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            MapType::Granular => "granular",
            MapType::Atomic => "atomic",
        }
    }

    pub(super) fn from_word(word: &str) -> Option<MapType> {
        Some(match word {
            "granular" => MapType::Granular,
            "atomic" => MapType::Atomic,
            _ => return None,
        })
    }
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValidationRule {
    /// The CEL expression that must hold.
    pub rule: String,
    /// What the API server says when it does not.
    pub message: Option<String>,
    /// A CEL expression that gives the message instead.
    pub message_expression: Option<String>,
    /// The machine-readable reason, such as `FieldValueInvalid`.
    pub reason: Option<String>,
    /// The field the failure is reported at, relative to the node that carries the rule.
    pub field_path: Option<String>,
    /// Whether the rule runs on creates too, with `oldSelf` as an optional.
    pub optional_old_self: bool,
}
