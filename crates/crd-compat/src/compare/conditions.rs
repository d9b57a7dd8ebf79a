//! `anyOf`, `oneOf` and `not`.

use serde_json::Value;

use super::draft::{Draft, Effect, Probe};
use super::fields::cannot_hold;
use super::walk::{Mode, Walk};
use crate::finding::Severity;
use crate::node::{Condition, Facts, Node};
use crate::rules;

/// Pairs of branches that are compared before giving up.
const MAX_PAIRS: usize = 400;

impl<'a> Walk<'a> {
    pub(super) fn conditions(
        &mut self,
        old: &Node<'a>,
        new: &Node<'a>,
        before: &Facts<'a>,
        after: &Facts<'a>,
    ) {
        if before.conditions == after.conditions {
            return;
        }
        let mut gone: Vec<&Condition<'a>> = before.conditions.iter().collect();
        let mut fresh: Vec<&Condition<'a>> = Vec::new();
        for condition in &after.conditions {
            match gone.iter().position(|other| *other == condition) {
                Some(index) => drop(gone.remove(index)),
                None => fresh.push(condition),
            }
        }
        for condition in fresh {
            let replaced = gone.iter().position(|other| other.keyword() == condition.keyword());
            let replaced =
                replaced.or(if gone.is_empty() { None } else { Some(0) }).map(|index| gone.remove(index));
            let (rule, what) = match replaced {
                Some(_) => (&rules::CONDITION_CHANGED, format!("must meet another {}", condition.keyword())),
                None => (&rules::CONDITION_ADDED, format!("must now meet {}", describe(condition))),
            };
            let draft = Draft::new(rule, what)
                .values(replaced.map(Condition::to_value), Some(condition.to_value()))
                .follows("what does not meet it is refused")
                .effect(Effect::Refused);
            let draft = if self.implied(old, new, before, condition) {
                draft.harmless("whatever was allowed meets it")
            } else if let Some(allowed) = &before.allowed {
                draft.probe(Probe::Exactly(allowed.iter().map(|value| (*value).clone()).collect()))
            } else {
                let unproven = if replaced.is_some() { Severity::Risky } else { Severity::Breaking };
                let mut fields = mentioned(condition);
                if let Some(replaced) = replaced {
                    fields.extend(mentioned(replaced));
                }
                fields.sort_unstable();
                fields.dedup();
                draft.probe(Probe::Combinations(fields)).unproven(unproven)
            };
            self.push(draft);
        }
        for condition in gone {
            let draft = Draft::new(
                &rules::CONDITION_REMOVED,
                format!("need not meet {} any more", describe(condition)),
            )
            .values(Some(condition.to_value()), None)
            .follows("what was written stays valid");
            if self.mode == Mode::Structure {
                self.push(draft);
            }
        }
    }

    /// Whether everything the old schema allows meets the condition, as far as can be shown.
    fn implied(&self, old: &Node<'a>, new: &Node<'a>, before: &Facts<'a>, condition: &Condition<'a>) -> bool {
        let weaker = |old: &Node<'a>, new: &'a Value| Walk::is_weaker(old, &Node::of(new), self.depth());
        match condition {
            Condition::AnyOf(branches) => {
                // The place itself, without its conditions, may already fit one branch.
                if branches.len() <= 16 && branches.iter().any(|branch| weaker(old, branch)) {
                    return true;
                }
                before.conditions.iter().any(|known| {
                    !matches!(known, Condition::Not(_))
                        && known.branches().len() * branches.len() <= MAX_PAIRS
                        && known.branches().iter().all(|was| {
                            let was = old.and(was);
                            branches.iter().any(|is| weaker(&was, is))
                        })
                })
            }
            Condition::Not(refused)
                if self.mode == Mode::Structure
                    && !self.path.steps().is_empty()
                    && Node::of(refused)
                        .facts()
                        .required
                        .iter()
                        .any(|field| cannot_hold(self, old, new, field)) =>
            {
                true
            }
            Condition::Not(refused) => before.conditions.iter().any(|known| match known {
                Condition::Not(was) => Walk::is_weaker(&Node::of(refused), &Node::of(was), self.depth()),
                _ => false,
            }),
            Condition::OneOf(branches) => before.conditions.iter().any(|known| match known {
                Condition::OneOf(was) => same_branches(was, branches, self.depth()),
                _ => false,
            }),
        }
    }
}

/// Whether two choices consist of branches that mean the same.
fn same_branches(was: &[&Value], is: &[&Value], depth: usize) -> bool {
    if was.len() != is.len() || was.len() * is.len() > MAX_PAIRS {
        return false;
    }
    let mut left: Vec<&Value> = is.to_vec();
    was.iter().all(|was| {
        let was = Node::of(was);
        let found = left.iter().position(|is| {
            let is = Node::of(is);
            Walk::is_weaker(&was, &is, depth) && Walk::is_weaker(&is, &was, depth)
        });
        found.map(|index| left.swap_remove(index)).is_some()
    })
}

fn describe(condition: &Condition<'_>) -> String {
    match condition {
        Condition::AnyOf(branches) => format!("at least one of {} conditions", branches.len()),
        Condition::OneOf(branches) => format!("exactly one of {} conditions", branches.len()),
        Condition::Not(_) => "one condition less (not)".to_owned(),
    }
}

/// The fields a condition speaks of.
fn mentioned<'a>(condition: &Condition<'a>) -> Vec<&'a str> {
    let mut fields = Vec::new();
    let mut left: Vec<&'a Value> = condition.branches().to_vec();
    while let Some(schema) = left.pop() {
        if fields.len() > 64 {
            break;
        }
        fields.extend(crate::node::strings(schema.get("required")));
        let named = schema.get("properties").and_then(Value::as_object);
        fields.extend(named.into_iter().flat_map(|named| named.keys().map(String::as_str)));
        for key in ["allOf", "anyOf", "oneOf"] {
            left.extend(schema.get(key).and_then(Value::as_array).into_iter().flatten());
        }
        left.extend(schema.get("not"));
    }
    fields
}
