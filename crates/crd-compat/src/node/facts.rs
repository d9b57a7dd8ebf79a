//! What must hold at one place, with every fragment taken together.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{Condition, Kinds, Node};
use crate::domain::number::same;

/// One end of a range of numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bound {
    pub(crate) value: f64,
    pub(crate) exclusive: bool,
}

/// How many characters, items or fields there may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
}

impl Span {
    fn narrow(&mut self, fragment: &Map<String, Value>, min: &str, max: &str) {
        if let Some(min) = fragment.get(min).and_then(Value::as_u64) {
            self.min = self.min.max(min);
        }
        if let Some(max) = fragment.get(max).and_then(Value::as_u64) {
            self.max = Some(self.max.map_or(max, |old| old.min(max)));
        }
    }

    pub(crate) fn contains(self, count: u64) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.max.is_some_and(|max| max < self.min)
    }
}

/// One entry of `x-kubernetes-validations`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rule<'a> {
    pub(crate) rule: &'a str,
    pub(crate) raw: &'a Map<String, Value>,
}

impl Rule<'_> {
    /// Whether a refusal is in the words of this rule.
    pub(crate) fn says(&self, refusal: &str) -> bool {
        let said = |key: &str| {
            self.raw.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
        };
        let own = said("message").is_some_and(|message| refusal.contains(message));
        // What an expression says is not known beforehand, and a duplicate says nothing at all.
        own || refusal.contains(self.rule.trim())
            || said("messageExpression").is_some()
            || said("reason") == Some("FieldValueDuplicate")
    }

    /// Whether it runs on creates, with `oldSelf` as an optional.
    pub(crate) fn optional_old_self(&self) -> bool {
        self.raw.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or_default()
    }
}

/// What must hold at one place, with every fragment taken together.
#[derive(Debug, Clone)]
pub(crate) struct Facts<'a> {
    pub(crate) kinds: Kinds,
    pub(crate) nullable: bool,
    pub(crate) allowed: Option<Vec<&'a Value>>,
    pub(crate) lower: Option<Bound>,
    pub(crate) upper: Option<Bound>,
    pub(crate) multiples: Vec<f64>,
    pub(crate) length: Span,
    pub(crate) items: Span,
    pub(crate) fields: Span,
    pub(crate) patterns: BTreeSet<&'a str>,
    pub(crate) formats: BTreeSet<&'a str>,
    pub(crate) unique: bool,
    pub(crate) required: BTreeSet<&'a str>,
    pub(crate) conditions: Vec<Condition<'a>>,
    pub(crate) rules: Vec<Rule<'a>>,
}

impl<'a> Facts<'a> {
    pub(crate) fn of(node: &Node<'a>) -> Facts<'a> {
        let mut facts = Facts {
            kinds: Kinds::ALL,
            nullable: node.flag("nullable"),
            allowed: None,
            lower: None,
            upper: None,
            multiples: Vec::new(),
            length: Span::default(),
            items: Span::default(),
            fields: Span::default(),
            patterns: BTreeSet::new(),
            formats: BTreeSet::new(),
            unique: false,
            required: BTreeSet::new(),
            conditions: Vec::new(),
            rules: Vec::new(),
        };
        for fragment in node.fragments() {
            facts.take(fragment);
        }
        if node.flag("x-kubernetes-embedded-resource") {
            facts.kinds = facts.kinds.and(Kinds::OBJECT);
        }
        facts
    }

    fn take(&mut self, fragment: &'a Map<String, Value>) {
        if let Some(word) = fragment.get("type").and_then(Value::as_str) {
            self.kinds = self.kinds.and(Kinds::of_type(word));
        }
        if fragment.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true) {
            self.kinds = self.kinds.and(Kinds::INTEGER.union(Kinds::STRING));
        }
        let kinds = Condition::collect(fragment, &mut self.conditions);
        self.kinds = self.kinds.and(kinds);
        self.length.narrow(fragment, "minLength", "maxLength");
        self.items.narrow(fragment, "minItems", "maxItems");
        self.fields.narrow(fragment, "minProperties", "maxProperties");
        self.take_enum(fragment);
        self.take_bounds(fragment);
        self.patterns.extend(fragment.get("pattern").and_then(Value::as_str));
        self.formats.extend(fragment.get("format").and_then(Value::as_str));
        self.multiples
            .extend(fragment.get("multipleOf").and_then(Value::as_f64).filter(|factor| *factor > 0.0));
        self.unique |= fragment.get("uniqueItems").and_then(Value::as_bool).unwrap_or_default();
        self.required.extend(strings(fragment.get("required")));
        let rules = fragment.get("x-kubernetes-validations").and_then(Value::as_array);
        self.rules.extend(
            rules
                .into_iter()
                .flatten()
                .filter_map(Value::as_object)
                .map(|raw| Rule { rule: raw.get("rule").and_then(Value::as_str).unwrap_or_default(), raw }),
        );
    }

    fn take_enum(&mut self, fragment: &'a Map<String, Value>) {
        // An empty list allows everything, as it does to the API server.
        let listed = fragment.get("enum").and_then(Value::as_array).filter(|values| !values.is_empty());
        let Some(listed) = listed else { return };
        match &mut self.allowed {
            None => {
                let mut unique: Vec<&Value> = Vec::with_capacity(listed.len());
                let few = listed.len() <= 64;
                for value in listed {
                    if !few || !unique.contains(&value) {
                        unique.push(value);
                    }
                }
                self.allowed = Some(unique);
            }
            Some(allowed) => allowed.retain(|value| listed.contains(value)),
        }
    }

    fn take_bounds(&mut self, fragment: &Map<String, Value>) {
        let bound = |key: &str, exclusive: &str| {
            Some(Bound {
                value: fragment.get(key)?.as_f64()?,
                exclusive: fragment.get(exclusive).and_then(Value::as_bool).unwrap_or_default(),
            })
        };
        if let Some(bound) = bound("minimum", "exclusiveMinimum") {
            let tighter = self.lower.is_none_or(|old| {
                bound.value > old.value || (same(bound.value, old.value) && bound.exclusive)
            });
            if tighter {
                self.lower = Some(bound);
            }
        }
        if let Some(bound) = bound("maximum", "exclusiveMaximum") {
            let tighter = self.upper.is_none_or(|old| {
                bound.value < old.value || (same(bound.value, old.value) && bound.exclusive)
            });
            if tighter {
                self.upper = Some(bound);
            }
        }
    }

    /// Whether a value is among those `enum` lists; a null is a matter of `nullable`.
    pub(crate) fn lists(&self, value: &Value) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.contains(&value))
    }
}

/// The strings of a JSON list.
pub(crate) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_fragment_narrows() {
        let schema = json!({
            "type": "integer", "minimum": 1, "maximum": 9, "enum": [1, 2, 3, 2],
            "allOf": [
                {"minimum": 1, "exclusiveMinimum": true},
                {"maximum": 9, "exclusiveMaximum": true},
                {"enum": [2, 3, 4]},
                {"minimum": 0, "maximum": 20},
            ],
        });
        let facts = Node::of(&schema).facts();
        assert_eq!(facts.lower, Some(Bound { value: 1.0, exclusive: true }));
        assert_eq!(facts.upper, Some(Bound { value: 9.0, exclusive: true }));
        assert_eq!(facts.allowed, Some(vec![&json!(2), &json!(3)]));
        assert!(facts.lists(&json!(2)) && !facts.lists(&json!(1)));
    }

    #[test]
    fn an_empty_enum_allows_everything() {
        let schema = json!({"type": "string", "enum": []});
        assert!(Node::of(&schema).facts().allowed.is_none());
    }

    #[test]
    fn a_span_knows_what_fits() {
        let span = Span { min: 1, max: Some(3) };
        assert!(span.contains(1) && span.contains(3) && !span.contains(0) && !span.contains(4));
        assert!(Span { min: 2, max: Some(1) }.is_empty());
        assert!(Span { min: 2, max: None }.contains(1000));
    }

    #[test]
    fn an_embedded_resource_is_an_object() {
        let schema =
            json!({"x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true});
        assert_eq!(Node::of(&schema).facts().kinds, Kinds::OBJECT);
    }
}
