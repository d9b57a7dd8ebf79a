//! One place of a schema: everything that must hold for a value there.
//!
//! `allOf` says the same as writing its members side by side, so a place is a conjunction of fragments:
//! the schema written there, and what the `allOf` of it and of its ancestors add. Comparing conjunctions
//! makes moving a keyword into an `allOf` the non-event it is.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::path::Step;
use crate::schema::MAX_DEPTH;

mod condition;
mod facts;
mod kinds;

pub(crate) use condition::Condition;
pub(crate) use facts::{Bound, Facts, Rule, Span, strings};
pub(crate) use kinds::{Kinds, kind_of_value};

/// Fragments of one place; beyond this many, a hostile schema is at work.
const MAX_FRAGMENTS: usize = 256;

pub(crate) static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

/// One place of a schema.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    core: &'a Map<String, Value>,
    overlays: Vec<&'a Map<String, Value>>,
}

impl<'a> Node<'a> {
    /// The place a schema describes; what is no schema says nothing.
    pub(crate) fn of(schema: &'a Value) -> Node<'a> {
        schema.as_object().map_or_else(Node::anything, Node::of_map)
    }

    /// A place at which nothing is said.
    pub(crate) fn anything() -> Node<'a> {
        Node { core: &EMPTY, overlays: Vec::new() }
    }

    fn of_map(core: &'a Map<String, Value>) -> Node<'a> {
        let mut node = Node { core, overlays: Vec::new() };
        node.collect(core, 0);
        node
    }

    /// The same place, with one more fragment that must hold.
    pub(crate) fn and(&self, fragment: &'a Value) -> Node<'a> {
        let mut node = self.clone();
        if let Some(map) = fragment.as_object() {
            node.overlay(map, 0);
        }
        node
    }

    fn overlay(&mut self, map: &'a Map<String, Value>, depth: usize) {
        if self.overlays.len() < MAX_FRAGMENTS {
            self.overlays.push(map);
            self.collect(map, depth + 1);
        }
    }

    /// Takes in what must hold because of `map`'s junctors: every `allOf`, and a choice of one.
    fn collect(&mut self, map: &'a Map<String, Value>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        for (key, all) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
            let Some(branches) = map.get(key).and_then(Value::as_array) else { continue };
            if all || branches.len() == 1 {
                for branch in branches.iter().filter_map(Value::as_object) {
                    self.overlay(branch, depth);
                }
            }
        }
    }

    /// The schema written at this place.
    pub(crate) fn core(&self) -> &'a Map<String, Value> {
        self.core
    }

    /// Every fragment, the schema itself first.
    pub(crate) fn fragments(&self) -> impl Iterator<Item = &'a Map<String, Value>> {
        std::iter::once(self.core).chain(self.overlays.iter().copied())
    }

    /// Whether anything besides the schema itself must hold.
    pub(crate) fn has_overlays(&self) -> bool {
        !self.overlays.is_empty()
    }

    /// Whether the same must hold besides the schemas themselves.
    pub(crate) fn same_overlays(&self, other: &Node<'_>) -> bool {
        self.overlays.iter().eq(other.overlays.iter())
    }

    /// The place one step further in, if any fragment speaks of it.
    pub(crate) fn step(&self, step: Step<'_>) -> Option<Node<'a>> {
        let mut found: Option<Node<'a>> = None;
        for fragment in self.fragments() {
            let inner = match step {
                Step::Field(name) => fragment.get("properties").and_then(|all| all.get(name)),
                Step::Items => fragment.get("items"),
                Step::Values => fragment.get("additionalProperties").filter(|value| value.is_object()),
            };
            let Some(inner) = inner.and_then(Value::as_object) else { continue };
            match &mut found {
                None => found = Some(Node::of_map(inner)),
                Some(node) => node.overlay(inner, 0),
            }
        }
        found
    }

    /// The properties the schema itself names; overlays may add rules for them, never new ones.
    pub(crate) fn properties(&self) -> Option<&'a Map<String, Value>> {
        self.core.get("properties").and_then(Value::as_object)
    }

    /// Every field any fragment names.
    pub(crate) fn field_names(&self) -> Vec<&'a str> {
        let mut names: Vec<&'a str> = Vec::new();
        for fragment in self.fragments() {
            let fields = fragment.get("properties").and_then(Value::as_object);
            let fresh = fields.into_iter().flat_map(|fields| fields.keys().map(String::as_str));
            if names.is_empty() {
                names.extend(fresh);
            } else {
                let known: HashSet<&str> = names.iter().copied().collect();
                names.extend(fresh.filter(|name| !known.contains(name)));
            }
        }
        names
    }

    /// A flag of the schema itself.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.core.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    /// Whether fields the schema does not name are kept.
    pub(crate) fn preserves_unknown(&self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    /// The default, if any; an explicit null is none.
    pub(crate) fn default(&self) -> Option<&'a Value> {
        self.core.get("default").filter(|value| !value.is_null())
    }

    /// What must hold here besides the structure.
    pub(crate) fn facts(&self) -> Facts<'a> {
        Facts::of(self)
    }

    /// The type as people call it.
    pub(crate) fn type_name(&self) -> &'a str {
        if self.flag("x-kubernetes-int-or-string") {
            return "int-or-string";
        }
        self.core.get("type").and_then(Value::as_str).unwrap_or("anything")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_of_reaches_into_properties() {
        let schema = json!({
            "type": "object",
            "properties": {"a": {"type": "integer", "minimum": 1}},
            "allOf": [{"properties": {"a": {"maximum": 5}}}, {"allOf": [{"required": ["a"]}]}],
        });
        let node = Node::of(&schema);
        assert!(node.facts().required.contains("a"));
        let a = node.step(Step::Field("a")).unwrap().facts();
        assert_eq!(a.lower.map(|bound| bound.value), Some(1.0));
        assert_eq!(a.upper.map(|bound| bound.value), Some(5.0));
        assert!(node.step(Step::Field("b")).is_none());
    }

    #[test]
    fn every_fragment_may_name_fields() {
        let schema = json!({"properties": {"a": {}}, "allOf": [{"properties": {"b": {}, "a": {}}}, {"properties": {"c": {}}}]});
        assert_eq!(Node::of(&schema).field_names(), ["a", "b", "c"]);
    }

    #[test]
    fn a_choice_of_one_is_no_choice() {
        let schema = json!({"type": "string", "anyOf": [{"maxLength": 3}]});
        let facts = Node::of(&schema).facts();
        assert_eq!(facts.length.max, Some(3));
        assert!(facts.conditions.is_empty());
    }

    #[test]
    fn what_is_no_schema_says_nothing() {
        let text = json!("text");
        assert!(Node::of(&text).facts().kinds == Kinds::ALL);
        assert_eq!(Node::of(&text).type_name(), "anything");
    }
}
