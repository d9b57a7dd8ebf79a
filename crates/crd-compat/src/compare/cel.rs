//! CEL rules: added and changed ones refuse something unless they can be shown to be weaker.

use serde_json::{Map, Value};

use super::draft::{Draft, Effect, Probe};
use super::fields::cannot_hold;
use super::implication::Expression;
use super::walk::Walk;
use crate::node::{Facts, Node, Rule};
use crate::rules;

impl<'a> Walk<'a> {
    pub(super) fn cel(&mut self, old: &Node<'a>, new: &Node<'a>, before: &Facts<'a>, after: &Facts<'a>) {
        if before.rules == after.rules {
            return;
        }
        let parsed: Vec<Expression> = before.rules.iter().map(|rule| Expression::parse(rule.rule)).collect();
        let mut gone: Vec<(&Rule<'a>, &Expression)> = before.rules.iter().zip(&parsed).collect();
        let mut fresh = Vec::new();
        for rule in &after.rules {
            let expression = Expression::parse(rule.rule);
            let same = gone.iter().position(|(other, known)| {
                **known == expression && other.optional_old_self() == rule.optional_old_self()
            });
            match same {
                Some(index) => {
                    let (other, _) = gone.remove(index);
                    self.messages(other, rule);
                }
                None => fresh.push((rule, expression)),
            }
        }
        for (rule, expression) in fresh {
            let alike = gone
                .iter()
                .enumerate()
                .max_by_key(|(_, (other, _))| common_prefix(other.rule, rule.rule))
                .map(|(index, _)| index);
            let replaced = alike.map(|index| gone.remove(index));
            let draft = match replaced {
                Some((other, _)) => Draft::new(
                    &rules::CEL_RULE_CHANGED,
                    format!("must now satisfy {} instead of {}", rule.rule.trim(), other.rule.trim()),
                )
                .values(Some(Value::from(other.rule)), Some(Value::from(rule.rule))),
                None => Draft::new(&rules::CEL_RULE_ADDED, format!("must now satisfy {}", rule.rule.trim()))
                    .values(None, Some(Value::from(rule.rule))),
            };
            let draft = draft.follows(match rule.raw.get("message").and_then(Value::as_str) {
                Some(message) => format!("anything else is refused: {message}"),
                None => "anything else is refused".to_owned(),
            });
            let transition = expression.mentions("oldSelf") && !rule.optional_old_self();
            let draft = if parsed.iter().any(|known| known.implies(&expression)) || expression.is_true() {
                draft.harmless("it holds whenever the old rules did")
            } else if expression.without(&|field| cannot_hold(self, old, new, field)) == Some(true) {
                draft.harmless("it speaks of fields that no object has yet")
            } else if transition {
                draft.effect(Effect::RefusedOnUpdate)
            } else {
                draft.effect(Effect::Refused).probe(Probe::Rule(*rule))
            };
            self.push(draft);
        }
        for (rule, _) in gone {
            let draft = Draft::new(
                &rules::CEL_RULE_REMOVED,
                format!("need not satisfy {} any more", rule.rule.trim()),
            )
            .values(Some(Value::from(rule.rule)), None)
            .follows("what was written stays valid");
            self.push(draft);
        }
    }

    /// The same rule, in other words.
    fn messages(&mut self, old: &Rule<'a>, new: &Rule<'a>) {
        let said = |rule: &Rule<'a>| -> Map<String, Value> {
            rule.raw
                .iter()
                .filter(|(key, _)| *key != "rule")
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let (was, is) = (said(old), said(new));
        if was == is {
            return;
        }
        let known = |map: &Map<String, Value>| {
            map.keys().all(|key| {
                matches!(
                    key.as_str(),
                    "message" | "messageExpression" | "reason" | "fieldPath" | "optionalOldSelf"
                )
            })
        };
        let draft = if known(&was) && known(&is) {
            Draft::new(&rules::CEL_MESSAGE_CHANGED, format!("explains {} differently", new.rule.trim()))
                .follows("the same objects are refused")
        } else {
            Draft::new(
                &rules::UNRECOGNISED_DIFFERENCE,
                format!("has another setting of the rule {}", new.rule.trim()),
            )
            .follows("this setting is not known here, so its effect cannot be judged")
            .effect(Effect::Unknown)
        };
        self.push(draft.values(Some(Value::Object(was)), Some(Value::Object(is))));
    }
}

fn common_prefix(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}
