//! The smallest value a place allows.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::compare::texts::FORMAT_SAMPLES;
use crate::compare::values::may_hold;
use crate::domain::Search;
use crate::domain::number::{Numbers, to_value};
use crate::domain::text::{self, Wanted};
use crate::node::{Bound, Condition, Facts, Kinds, Node};
use crate::path::Step;

/// Values deeper than this are not built.
const MAX_DEPTH: usize = 40;

/// Items and fields one value may have.
const MAX_SIZE: u64 = 2000;

/// Builds values; `choice` decides which branch of an `anyOf` or `oneOf` they follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sampler {
    choice: usize,
}

impl Sampler {
    pub(crate) fn new(choice: usize) -> Sampler {
        Sampler { choice }
    }

    /// The smallest value a place allows.
    pub(crate) fn value(self, node: &Node<'_>) -> Option<Value> {
        self.nth(node, 0, MAX_DEPTH)
    }

    /// One of several values, different from those of lower `index`.
    pub(crate) fn nth(self, node: &Node<'_>, index: usize, depth: usize) -> Option<Value> {
        let node = &self.chosen(node);
        let facts = node.facts();
        if let Some(allowed) = &facts.allowed {
            let fitting: Vec<&&Value> = allowed.iter().filter(|value| may_hold(&facts, value)).collect();
            return fitting.get(index).map(|value| (**value).clone());
        }
        facts.kinds.each().find_map(|kind| self.of_kind(node, &facts, kind, index, depth))
    }

    /// The smallest value of one kind.
    pub(crate) fn kind(self, node: &Node<'_>, kind: Kinds) -> Option<Value> {
        let node = &self.chosen(node);
        let facts = node.facts();
        if let Some(allowed) = &facts.allowed {
            let kind_of = crate::node::kind_of_value;
            let found = allowed.iter().find(|value| kind_of(value) == Some(kind) && may_hold(&facts, value));
            return found.map(|value| (*value).clone());
        }
        self.of_kind(node, &facts, kind, 0, MAX_DEPTH)
    }

    /// The place with a branch of each of its conditions added.
    pub(crate) fn chosen<'n>(self, node: &Node<'n>) -> Node<'n> {
        let mut node = node.clone();
        let mut done = 0;
        for _ in 0..3 {
            let facts = node.facts();
            let open: Vec<&Condition<'n>> = facts.conditions.iter().skip(done).collect();
            if open.is_empty() {
                break;
            }
            done = facts.conditions.len();
            for condition in open {
                let branches = condition.branches();
                if !matches!(condition, Condition::Not(_))
                    && !branches.is_empty()
                    && let Some(branch) = branches.get(self.choice % branches.len())
                {
                    node = node.and(branch);
                }
            }
        }
        node
    }

    fn of_kind(
        self,
        node: &Node<'_>,
        facts: &Facts<'_>,
        kind: Kinds,
        index: usize,
        depth: usize,
    ) -> Option<Value> {
        if depth == 0 || !facts.kinds.has(kind) {
            return None;
        }
        match kind {
            Kinds::STRING => string(facts, index),
            Kinds::INTEGER => number(facts, index),
            Kinds::FRACTION => Numbers::of(facts).not_multiple_of(1.0).found().map(to_value),
            Kinds::BOOLEAN => [true, false].get(index).map(|value| Value::Bool(*value)),
            Kinds::OBJECT => self.object(node, facts, &BTreeSet::new(), index, depth - 1).map(Value::Object),
            _ => self.list(node, facts.items.min, depth - 1),
        }
    }

    /// An object with every required field, without those in `without`.
    pub(crate) fn object(
        self,
        node: &Node<'_>,
        facts: &Facts<'_>,
        without: &BTreeSet<&str>,
        index: usize,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        if node.flag("x-kubernetes-embedded-resource") {
            object.insert("apiVersion".into(), "v1".into());
            object.insert("kind".into(), "ConfigMap".into());
            object.insert("metadata".into(), serde_json::json!({"name": "a"}));
        }
        let mut varied = index;
        for name in &facts.required {
            if without.contains(name) || object.contains_key(*name) {
                continue;
            }
            let Some(child) = Sampler::known_field(node, name) else {
                // A field the old schema does not know, or prunes, cannot be supplied.
                continue;
            };
            let value = self.nth(&child, varied, depth).or_else(|| self.nth(&child, 0, depth))?;
            varied = 0;
            object.insert((*name).to_owned(), value);
        }
        self.fill(node, &mut object, facts.fields.min, without, depth);
        Some(object)
    }

    /// Adds optional fields until there are `least`.
    pub(crate) fn fill(
        self,
        node: &Node<'_>,
        object: &mut Map<String, Value>,
        least: u64,
        without: &BTreeSet<&str>,
        depth: usize,
    ) {
        let short = |object: &Map<String, Value>| u64::try_from(object.len()).is_ok_and(|len| len < least);
        let names = node.properties().into_iter().flat_map(|named| named.keys());
        for name in names.filter(|name| !without.contains(name.as_str())) {
            if !short(object) {
                return;
            }
            if !object.contains_key(name)
                && let Some(value) = node.step(Step::Field(name)).and_then(|child| self.nth(&child, 0, depth))
            {
                object.insert(name.clone(), value);
            }
        }
        let values = node.step(Step::Values);
        if values.is_none() && !node.preserves_unknown() {
            return;
        }
        for index in 0..least.min(MAX_SIZE) {
            if !short(object) {
                return;
            }
            let value =
                values.as_ref().map_or_else(|| Some(Value::from("a")), |values| self.nth(values, 0, depth));
            let Some(value) = value else { return };
            object.entry(key(index)).or_insert(value);
        }
    }

    /// A list of that many items, all different where they must be.
    pub(crate) fn list(self, node: &Node<'_>, count: u64, depth: usize) -> Option<Value> {
        if count > MAX_SIZE {
            return None;
        }
        let items = node.step(Step::Items);
        let mut list = Vec::new();
        for index in 0..usize::try_from(count).ok()? {
            list.push(match &items {
                Some(items) => self.item(node, items, index, depth)?,
                None => Value::from("a"),
            });
        }
        Some(Value::Array(list))
    }

    /// An item of a list, different from those of lower index where items must differ.
    pub(crate) fn item(self, list: &Node<'_>, items: &Node<'_>, index: usize, depth: usize) -> Option<Value> {
        let list_type = list.core().get("x-kubernetes-list-type").and_then(Value::as_str);
        match list_type {
            Some("map") if index > 0 => {
                let mut item = self.nth(items, 0, depth)?;
                let keys: Vec<&str> =
                    crate::node::strings(list.core().get("x-kubernetes-list-map-keys")).collect();
                let first = keys.first()?;
                let value = self.nth(&items.step(Step::Field(first))?, index, depth)?;
                item.as_object_mut()?.insert((*first).to_owned(), value);
                Some(item)
            }
            Some("set") => self.nth(items, index, depth),
            _ if list.flag("uniqueItems") => self.nth(items, index, depth),
            _ => self.nth(items, 0, depth),
        }
    }

    /// The schema of a field that the old definition keeps.
    fn known_field<'n>(node: &Node<'n>, name: &str) -> Option<Node<'n>> {
        let named = node.properties().is_some_and(|named| named.contains_key(name));
        if named {
            return node.step(Step::Field(name));
        }
        let open = node.preserves_unknown() || node.core().contains_key("additionalProperties");
        if open {
            node.step(Step::Field(name)).or_else(|| node.step(Step::Values)).or(Some(Node::anything()))
        } else {
            None
        }
    }
}

fn string(facts: &Facts<'_>, index: usize) -> Option<Value> {
    for format in &facts.formats {
        let plain = format.replace('-', "");
        if let Some((_, sample)) = FORMAT_SAMPLES.iter().find(|(known, _)| *known == plain)
            && index == 0
            && may_hold(facts, &Value::from(*sample))
        {
            return Some(Value::from(*sample));
        }
    }
    let with: Vec<&str> = facts.patterns.iter().copied().collect();
    if with.is_empty() {
        // Letters tell items apart while there are any, numbers after that.
        let least = usize::try_from(facts.length.min.max(1)).ok()?;
        let most = facts.length.max.map_or(usize::MAX, |max| usize::try_from(max).unwrap_or(usize::MAX));
        if most == 0 {
            return (index == 0).then(|| Value::from(""));
        }
        if least > 100_000 {
            return None;
        }
        let tail = spell(index);
        let text = format!("{}{tail}", "a".repeat(least.saturating_sub(tail.len())));
        return (text.len() <= most).then(|| Value::from(text));
    }
    let mut used: Vec<String> = Vec::new();
    for _ in 0..=index.min(8) {
        let pattern = format!("^(?:{})$", used.join("|"));
        let without = (!used.is_empty()).then_some(pattern.as_str());
        let found = text::find(&Wanted { with: with.clone(), without, length: facts.length }).found()?;
        used.push(regex_syntax::escape(&found));
        if used.len() > index {
            return Some(Value::from(found));
        }
    }
    None
}

fn number(facts: &Facts<'_>, index: usize) -> Option<Value> {
    let mut whole = facts.clone();
    whole.kinds = Kinds::INTEGER;
    let numbers = Numbers::of(&whole);
    let mut at = numbers.near_zero().found()?;
    for _ in 0..index {
        let bound = Bound { value: at, exclusive: false };
        at = match numbers.above(bound) {
            Search::Found(next) => next,
            _ => return None,
        };
    }
    Some(to_value(at))
}

/// `a`, `b`, … `z`, `ba`, `bb`, …
fn spell(index: usize) -> String {
    let mut letters = Vec::new();
    let mut left = index;
    loop {
        letters.push(char::from(b'a' + u8::try_from(left % 26).unwrap_or_default()));
        left /= 26;
        if left == 0 {
            break;
        }
    }
    letters.iter().rev().collect()
}

/// The name of an entry nobody named.
pub(crate) fn key(index: u64) -> String {
    spell(usize::try_from(index).unwrap_or_default())
}
