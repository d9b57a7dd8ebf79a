//! `anyOf`, `oneOf` and `not`, freed from the order they were written in.

use serde_json::{Map, Value};

use super::Kinds;

/// A condition a value must meet that no single keyword can say.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition<'a> {
    /// At least one of them.
    AnyOf(Vec<&'a Value>),
    /// Exactly one of them.
    OneOf(Vec<&'a Value>),
    /// Not this one.
    Not(&'a Value),
}

impl<'a> Condition<'a> {
    /// The conditions of one fragment, and the kinds that `anyOf: [{type: …}, …]` boils down to.
    pub(crate) fn collect(fragment: &'a Map<String, Value>, into: &mut Vec<Condition<'a>>) -> Kinds {
        let mut kinds = Kinds::ALL;
        for (key, exactly_one) in [("anyOf", false), ("oneOf", true)] {
            let Some(branches) = fragment.get(key).and_then(Value::as_array) else { continue };
            // A choice of one is a fragment of the place itself.
            if branches.len() < 2 {
                continue;
            }
            if let Some(allowed) = only_types(branches, exactly_one) {
                kinds = kinds.and(allowed);
                continue;
            }
            if !exactly_one && branches.iter().any(|branch| branch.as_object().is_some_and(Map::is_empty)) {
                continue;
            }
            let mut branches: Vec<&Value> = branches.iter().collect();
            branches.sort_by_cached_key(|branch| canonical(branch));
            if exactly_one {
                into.push(Condition::OneOf(branches));
            } else {
                branches.dedup();
                into.push(Condition::AnyOf(branches));
            }
        }
        if let Some(not) = fragment.get("not").filter(|not| !not.is_null()) {
            into.push(Condition::Not(not));
        }
        kinds
    }

    /// The keyword it is written with.
    pub(crate) fn keyword(&self) -> &'static str {
        match self {
            Condition::AnyOf(_) => "anyOf",
            Condition::OneOf(_) => "oneOf",
            Condition::Not(_) => "not",
        }
    }

    /// The schemas it is made of.
    pub(crate) fn branches(&self) -> &[&'a Value] {
        match self {
            Condition::AnyOf(branches) | Condition::OneOf(branches) => branches,
            Condition::Not(branch) => std::slice::from_ref(branch),
        }
    }

    /// The condition as JSON, for reports.
    pub(crate) fn to_value(&self) -> Value {
        let inner = match self {
            Condition::Not(branch) => (*branch).clone(),
            _ => Value::Array(self.branches().iter().map(|branch| (*branch).clone()).collect()),
        };
        Value::Object(Map::from_iter([(self.keyword().to_owned(), inner)]))
    }
}

/// What a choice between bare types allows, if that is all it is. Exactly one of `integer` and `number`
/// is not a matter of kinds alone.
fn only_types(branches: &[Value], exactly_one: bool) -> Option<Kinds> {
    let mut allowed = Kinds::STRING.and(Kinds::INTEGER);
    for branch in branches {
        let map = branch.as_object().filter(|map| map.len() == 1)?;
        let kinds = Kinds::of_type(map.get("type")?.as_str()?);
        if exactly_one && allowed.has(kinds) {
            return None;
        }
        allowed = allowed.union(kinds);
    }
    Some(allowed)
}

/// A text that is equal for schemas that differ only in the order of keys and sets.
fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (key, value) in entries {
                out.push_str(key);
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn collect(schema: &Value) -> (Vec<Condition<'_>>, Kinds) {
        let mut conditions = Vec::new();
        let kinds = Condition::collect(schema.as_object().unwrap(), &mut conditions);
        (conditions, kinds)
    }

    #[test]
    fn the_order_of_branches_does_not_matter() {
        let one = json!({"anyOf": [{"required": ["a"]}, {"required": ["b"], "maxProperties": 1}]});
        let other = json!({"anyOf": [{"maxProperties": 1, "required": ["b"]}, {"required": ["a"]}]});
        assert_eq!(collect(&one).0, collect(&other).0);
    }

    #[test]
    fn a_choice_of_types_is_a_matter_of_kinds() {
        let schema = json!({"anyOf": [{"type": "integer"}, {"type": "string"}]});
        let (conditions, kinds) = collect(&schema);
        assert!(conditions.is_empty());
        assert_eq!(kinds, Kinds::INTEGER.union(Kinds::STRING));
    }

    #[test]
    fn exactly_one_of_integer_and_number_is_more_than_kinds() {
        let schema = json!({"oneOf": [{"type": "integer"}, {"type": "number"}]});
        assert_eq!(collect(&schema).0.len(), 1);
    }

    #[test]
    fn a_choice_with_a_way_out_is_none() {
        let schema = json!({"anyOf": [{"required": ["a"]}, {}]});
        assert!(collect(&schema).0.is_empty());
    }

    #[test]
    fn a_condition_is_reported_as_it_is_written() {
        let schema = json!({"not": {"required": ["a"]}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        let (conditions, _) = collect(&schema);
        let written: Vec<_> = conditions.iter().map(Condition::to_value).collect();
        assert_eq!(
            written,
            vec![
                json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                json!({"not": {"required": ["a"]}})
            ]
        );
    }
}
