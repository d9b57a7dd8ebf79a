//! Documents that hold a given value at a given place, and otherwise as little as possible.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sample::{Sampler, key};
use crate::node::{Kinds, Node};
use crate::path::Step;

/// What stands at the place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Leaf {
    /// This value.
    Value(Value),
    /// Nothing: the field is left out.
    Absent,
}

/// The smallest document that has `leaf` where the steps lead.
pub(super) fn embed(sampler: Sampler, node: &Node<'_>, steps: &[Step<'_>], leaf: &Leaf) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return match leaf {
            Leaf::Value(value) => Some(value.clone()),
            Leaf::Absent => None,
        };
    };
    let node = &sampler.chosen(node);
    let facts = node.facts();
    match step {
        Step::Field(name) => {
            let without = BTreeSet::from([*name]);
            if !facts.kinds.has(Kinds::OBJECT) {
                return None;
            }
            let mut object = sampler.object(node, &facts, &without, 0, 30)?;
            // What is required only because of the branch taken may have to make room.
            object.remove(*name);
            if rest.is_empty() && *leaf == Leaf::Absent {
                return Some(Value::Object(object));
            }
            let child = node.step(*step).or_else(|| node.step(Step::Values)).unwrap_or_else(Node::anything);
            object.insert((*name).to_owned(), embed(sampler, &child, rest, leaf)?);
            Some(Value::Object(object))
        }
        Step::Values => {
            let mut object = sampler.object(node, &facts, &BTreeSet::new(), 0, 30)?;
            let child = node.step(Step::Values).unwrap_or_else(Node::anything);
            let inner = embed(sampler, &child, rest, leaf)?;
            object.insert(key(0), inner);
            Some(Value::Object(object))
        }
        Step::Items => {
            let items = node.step(Step::Items).unwrap_or_else(Node::anything);
            let mut list = vec![embed(sampler, &items, rest, leaf)?];
            for index in 1..usize::try_from(facts.items.min.min(1000)).ok()? {
                list.push(sampler.item(node, &items, index, 30)?);
            }
            Some(Value::Array(list))
        }
    }
}
