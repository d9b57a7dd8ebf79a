//! Values worth trying at the place of a difference.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::embed::Leaf;
use super::rule;
use super::sample::Sampler;
use crate::compare::draft::{Draft, Probe};
use crate::node::{Kinds, Node};
use crate::path::Step;

/// Values worth trying, the likeliest first.
pub(super) fn of(sampler: Sampler, root: &Node<'_>, draft: &Draft<'_>) -> Vec<Leaf> {
    let node = resolve(root, draft.path.steps());
    let values = match &draft.probe {
        Probe::Nothing => Vec::new(),
        Probe::Absent => return vec![Leaf::Absent],
        Probe::Values(values) => {
            let mut values = values.clone();
            values.extend(any(sampler, &node));
            values
        }
        Probe::Exactly(values) => values.clone(),
        Probe::Kinds(kinds) => kinds.each().filter_map(|kind| sampler.kind(&node, kind)).collect(),
        Probe::Any => any(sampler, &node),
        Probe::UnknownField => unknown_field(sampler, &node).into_iter().collect(),
        Probe::Items(count) => sampler.list(&node, *count, 30).into_iter().collect(),
        Probe::Duplicates => duplicates(sampler, &node),
        Probe::Fields(count) => fields(sampler, &node, *count).into_iter().collect(),
        Probe::Combinations(names) => combinations(sampler, &node, names),
        Probe::Rule(rule) => rule::candidates(sampler, &node, rule.rule),
    };
    values.into_iter().map(Leaf::Value).collect()
}

/// The place the steps lead to, as the old schema has it.
fn resolve<'a>(root: &Node<'a>, steps: &[Step<'_>]) -> Node<'a> {
    let mut node = root.clone();
    for step in steps {
        node = match node.step(*step) {
            Some(next) => next,
            // Beneath what nobody described, anything goes.
            None => node.step(Step::Values).unwrap_or_else(Node::anything),
        };
    }
    node
}

/// A few different values of every kind.
pub(super) fn any(sampler: Sampler, node: &Node<'_>) -> Vec<Value> {
    let facts = node.facts();
    let mut values: Vec<Value> = (0..3).filter_map(|index| sampler.nth(node, index, 30)).collect();
    values.extend(facts.kinds.each().filter_map(|kind| sampler.kind(node, kind)));
    if let Some(allowed) = &facts.allowed {
        values.extend(allowed.iter().skip(3).take(16).map(|value| (*value).clone()));
    }
    let mut seen: Vec<Value> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

fn base(sampler: Sampler, node: &Node<'_>, without: &BTreeSet<&str>) -> Option<Map<String, Value>> {
    let node = sampler.chosen(node);
    let facts = node.facts();
    facts.kinds.has(Kinds::OBJECT).then(|| sampler.object(&node, &facts, without, 0, 30)).flatten()
}

fn unknown_field(sampler: Sampler, node: &Node<'_>) -> Option<Value> {
    let mut object = base(sampler, node, &BTreeSet::new())?;
    let value = match node.step(Step::Values) {
        Some(values) => sampler.value(&values)?,
        None => Value::from("kept"),
    };
    object.insert("unknown".into(), value);
    Some(Value::Object(object))
}

fn duplicates(sampler: Sampler, node: &Node<'_>) -> Vec<Value> {
    let items = node.step(Step::Items).unwrap_or_else(Node::anything);
    let mut lists = Vec::new();
    let Some(item) = sampler.value(&items) else { return lists };
    let least = usize::try_from(node.facts().items.min).unwrap_or(2).clamp(2, 1000);
    lists.push(Value::Array(vec![item.clone(); least]));
    // Items that differ in one field only may be the same to the new keys.
    for name in items.properties().into_iter().flat_map(|named| named.keys()) {
        let Some(field) = items.step(Step::Field(name)) else { continue };
        for index in [0, 1] {
            let (Some(value), Value::Object(mut other)) = (sampler.nth(&field, index, 30), item.clone())
            else {
                continue;
            };
            other.insert(name.clone(), value);
            lists.push(Value::Array(vec![item.clone(), Value::Object(other)]));
        }
    }
    lists
}

fn fields(sampler: Sampler, node: &Node<'_>, count: u64) -> Option<Value> {
    let mut object = base(sampler, node, &BTreeSet::new())?;
    sampler.fill(&sampler.chosen(node), &mut object, count, &BTreeSet::new(), 30);
    Some(Value::Object(object))
}

/// Objects with every combination of the fields, or as many as is reasonable; for what is no object, a
/// few different values.
fn combinations(sampler: Sampler, node: &Node<'_>, names: &[&str]) -> Vec<Value> {
    let mut out = Vec::new();
    let plain = Node::clone(node);
    let bare = base(sampler, &plain, &names.iter().copied().collect());
    let required = base(sampler, &plain, &BTreeSet::new());
    let few: Vec<&str> = names.iter().copied().take(6).collect();
    for start in [bare, required].into_iter().flatten() {
        for mask in 0..1_u32 << few.len() {
            let chosen =
                few.iter().enumerate().filter(|(index, _)| mask >> index & 1 == 1).map(|(_, name)| *name);
            for index in [0, 1] {
                let mut object = start.clone();
                for name in chosen.clone() {
                    let value = node
                        .step(Step::Field(name))
                        .and_then(|child| sampler.nth(&child, index, 30).or_else(|| sampler.value(&child)));
                    if let Some(value) = value {
                        object.insert(name.to_owned(), value);
                    }
                }
                let object = Value::Object(object);
                if !out.contains(&object) {
                    out.push(object);
                }
            }
        }
    }
    out.extend(any(sampler, node));
    out
}
