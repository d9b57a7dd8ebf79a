//! Sets of JSON kinds.

use serde_json::Value;

/// A set of JSON kinds. A number is an integer or has a fraction: `integer` is a part of `number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const STRING: Kinds = Kinds(1);
    pub(crate) const INTEGER: Kinds = Kinds(2);
    pub(crate) const FRACTION: Kinds = Kinds(4);
    pub(crate) const BOOLEAN: Kinds = Kinds(8);
    pub(crate) const OBJECT: Kinds = Kinds(16);
    pub(crate) const ARRAY: Kinds = Kinds(32);
    pub(crate) const ALL: Kinds = Kinds(63);

    /// What the `type` keyword allows; an unknown word may mean anything.
    pub(crate) fn of_type(word: &str) -> Kinds {
        match word {
            "string" => Kinds::STRING,
            "integer" => Kinds::INTEGER,
            "number" => Kinds::INTEGER.union(Kinds::FRACTION),
            "boolean" => Kinds::BOOLEAN,
            "object" => Kinds::OBJECT,
            "array" => Kinds::ARRAY,
            _ => Kinds::ALL,
        }
    }

    pub(crate) const fn union(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(crate) const fn and(self, other: Kinds) -> Kinds {
        Kinds(self.0 & other.0)
    }

    pub(crate) const fn without(self, other: Kinds) -> Kinds {
        Kinds(self.0 & !other.0)
    }

    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether any of `other` is in the set.
    pub(crate) const fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// Each kind of the set on its own, the simplest values first.
    pub(crate) fn each(self) -> impl Iterator<Item = Kinds> {
        [Kinds::STRING, Kinds::INTEGER, Kinds::BOOLEAN, Kinds::FRACTION, Kinds::OBJECT, Kinds::ARRAY]
            .into_iter()
            .filter(move |kind| self.has(*kind))
    }
}

/// The kind of a value; null is of none.
pub(crate) fn kind_of_value(value: &Value) -> Option<Kinds> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => Kinds::BOOLEAN,
        Value::Number(number) => {
            let whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
            if whole { Kinds::INTEGER } else { Kinds::FRACTION }
        }
        Value::String(_) => Kinds::STRING,
        Value::Array(_) => Kinds::ARRAY,
        Value::Object(_) => Kinds::OBJECT,
    })
}
