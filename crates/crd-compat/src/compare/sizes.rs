//! How many items and fields there may be, and how lists and maps merge.

use serde_json::Value;

use super::draft::{Draft, Effect, Probe};
use super::misplaced;
use super::walk::{Mode, Walk};
use crate::finding::Severity;
use crate::node::{Facts, Kinds, Node, Span};
use crate::path::Step;
use crate::rules;

impl<'a> Walk<'a> {
    pub(super) fn sizes(&mut self, old: &Node<'a>, new: &Node<'a>, before: &Facts<'a>, after: &Facts<'a>) {
        let shared = before.kinds.and(after.kinds);
        self.item_counts(old, before.items, after.items, shared.has(Kinds::ARRAY));
        self.field_counts(old, before, after, shared.has(Kinds::OBJECT));
        if !before.unique && after.unique {
            let draft = Draft::new(&rules::UNIQUE_ITEMS_ADDED, "may no longer hold an item twice")
                .follows("a list with duplicates is refused")
                .effect(Effect::Refused)
                .probe(Probe::Duplicates);
            self.push(draft);
        } else if before.unique && !after.unique {
            let draft = Draft::new(&rules::UNIQUE_ITEMS_REMOVED, "may now hold an item twice")
                .follows("what was written stays valid");
            self.push(draft);
        }
        if self.mode == Mode::Structure {
            misplaced::floor(self, old.core(), new.core());
        }
    }

    fn item_counts(&mut self, old: &Node<'a>, was: Span, is: Span, applies: bool) {
        let refused = |draft: Draft<'a>, count: u64| {
            draft.follows("any other list is refused").effect(Effect::Refused).probe(Probe::Items(count))
        };
        if was.min < is.min {
            let what = format!("must now have at least {}", count(is.min, "item", "items"));
            let draft = refused(Draft::new(&rules::MIN_ITEMS_TIGHTENED, what), was.min)
                .values((was.min > 0).then(|| Value::from(was.min)), Some(Value::from(is.min)));
            self.push(if applies { draft } else { draft.harmless("it applies to lists only") });
        } else if was.min > is.min {
            let what = format!("need only have {} now", count(is.min, "item", "items"));
            self.loosened(
                &rules::MIN_ITEMS_LOOSENED,
                what,
                Some(was.min),
                Some(is.min).filter(|min| *min > 0),
            );
        }
        match (was.max, is.max) {
            (before, Some(max)) if before.is_none_or(|before| before > max) => {
                let what = format!("may now have at most {}", count(max, "item", "items"));
                let draft = refused(Draft::new(&rules::MAX_ITEMS_TIGHTENED, what), was.min.max(max + 1))
                    .values(before.map(Value::from), Some(Value::from(max)));
                let draft = match distinct_items(old) {
                    _ if !applies => draft.harmless("it applies to lists only"),
                    Some(most) if most <= max => {
                        draft.harmless("there are no more different items than that")
                    }
                    _ => draft,
                };
                self.push(draft);
            }
            (Some(before), after) if after.is_none_or(|after| after > before) => {
                let what = after.map_or_else(
                    || "may now have any number of items".to_owned(),
                    |max| format!("may now have {}", count(max, "item", "items")),
                );
                self.loosened(&rules::MAX_ITEMS_LOOSENED, what, Some(before), after);
            }
            _ => {}
        }
    }

    fn field_counts(&mut self, old: &Node<'a>, before: &Facts<'a>, after: &Facts<'a>, applies: bool) {
        let (was, is) = (before.fields, after.fields);
        let refused = |draft: Draft<'a>, count: u64| {
            draft.follows("any other object is refused").effect(Effect::Refused).probe(Probe::Fields(count))
        };
        if was.min < is.min {
            let least = was.min.max(u64::try_from(before.required.len()).unwrap_or(u64::MAX));
            let what = format!("must now have at least {}", count(is.min, "field", "fields"));
            let draft = refused(Draft::new(&rules::MIN_PROPERTIES_TIGHTENED, what), least)
                .values((was.min > 0).then(|| Value::from(was.min)), Some(Value::from(is.min)));
            self.push(match () {
                () if !applies => draft.harmless("it applies to objects only"),
                () if least >= is.min => draft.harmless("that many fields were required already"),
                () => draft,
            });
        } else if was.min > is.min {
            let what = format!("need only have {} now", count(is.min, "field", "fields"));
            self.loosened(
                &rules::MIN_PROPERTIES_LOOSENED,
                what,
                Some(was.min),
                Some(is.min).filter(|min| *min > 0),
            );
        }
        match (was.max, is.max) {
            (limit, Some(max)) if limit.is_none_or(|limit| limit > max) => {
                let what = format!("may now have at most {}", count(max, "field", "fields"));
                let draft = refused(Draft::new(&rules::MAX_PROPERTIES_TIGHTENED, what), was.min.max(max + 1))
                    .values(limit.map(Value::from), Some(Value::from(max)));
                self.push(match most_fields(old) {
                    _ if !applies => draft.harmless("it applies to objects only"),
                    Some(most)
                        if most <= max && self.mode == Mode::Structure && !self.path.steps().is_empty() =>
                    {
                        draft.harmless("the schema never named more fields than that")
                    }
                    _ => draft,
                });
            }
            (Some(limit), after) if after.is_none_or(|after| after > limit) => {
                let what = after.map_or_else(
                    || "may now have any number of fields".to_owned(),
                    |max| format!("may now have {}", count(max, "field", "fields")),
                );
                self.loosened(&rules::MAX_PROPERTIES_LOOSENED, what, Some(limit), after);
            }
            _ => {}
        }
    }

    /// How server-side apply merges the value.
    pub(super) fn merging(&mut self, old: &Node<'a>, new: &Node<'a>, before: &Facts<'a>) {
        let word = |node: &Node<'a>, key: &str| node.core().get(key).and_then(Value::as_str);
        let key = "x-kubernetes-list-type";
        let (was, is) = (word(old, key).unwrap_or("atomic"), word(new, key).unwrap_or("atomic"));
        if was != is {
            let draft = Draft::new(
                &rules::LIST_TYPE_CHANGED,
                format!("was merged as {was} and is now merged as {is}"),
            )
            .values(Some(Value::from(was)), Some(Value::from(is)));
            let one_at_most = before.items.max.is_some_and(|max| max < 2);
            self.push(if is == "atomic" || before.unique || one_at_most {
                draft
                    .severity(Severity::Risky)
                    .follows("server-side apply treats it differently")
                    .effect(Effect::Reinterpreted)
            } else {
                draft
                    .follows("a list with duplicates is refused")
                    .effect(Effect::Refused)
                    .probe(Probe::Duplicates)
                    .unproven(Severity::Risky)
            });
        }
        let keys = |node: &Node<'a>| {
            let mut keys: Vec<&str> =
                crate::node::strings(node.core().get("x-kubernetes-list-map-keys")).collect();
            keys.sort_unstable();
            keys
        };
        let (keys_before, keys_after) = (keys(old), keys(new));
        if keys_before != keys_after && was == "map" && is == "map" {
            let what = format!(
                "tells items apart by {} instead of {}",
                keys_after.join(", "),
                keys_before.join(", ")
            );
            let draft = Draft::new(&rules::LIST_MAP_KEYS_CHANGED, what)
                .values(Some(Value::from(keys_before.clone())), Some(Value::from(keys_after.clone())));
            // With more keys, fewer items are the same.
            let finer = keys_before.iter().all(|key| keys_after.contains(key));
            self.push(if finer {
                draft
                    .severity(Severity::Risky)
                    .follows("server-side apply merges items differently")
                    .effect(Effect::Reinterpreted)
            } else {
                draft
                    .follows("items that differ by the old keys only are duplicates, and refused")
                    .effect(Effect::Refused)
                    .probe(Probe::Duplicates)
                    .unproven(Severity::Risky)
            });
        }
        let key = "x-kubernetes-map-type";
        let (was, is) = (word(old, key).unwrap_or("granular"), word(new, key).unwrap_or("granular"));
        if was != is {
            let draft = Draft::new(
                &rules::MAP_TYPE_CHANGED,
                format!("was merged as {was} and is now merged as {is}"),
            )
            .values(Some(Value::from(was)), Some(Value::from(is)))
            .follows("server-side apply treats it differently")
            .effect(Effect::Reinterpreted);
            self.push(draft);
        }
    }
}

/// How many items a list without duplicates can have, if there is a limit.
fn distinct_items(list: &Node<'_>) -> Option<u64> {
    let set = list.core().get("x-kubernetes-list-type").and_then(Value::as_str) == Some("set");
    if !set && !list.flag("uniqueItems") {
        return None;
    }
    let items = list.step(Step::Items)?.facts();
    let values = match &items.allowed {
        Some(allowed) => allowed.len(),
        None if items.kinds == Kinds::BOOLEAN => 2,
        None => return None,
    };
    u64::try_from(values).ok()
}

/// How many fields an object can have, if it drops those it does not name.
fn most_fields(object: &Node<'_>) -> Option<u64> {
    let open = object.preserves_unknown()
        || object.flag("x-kubernetes-embedded-resource")
        || object.core().contains_key("additionalProperties");
    let named = object.properties().map_or(0, serde_json::Map::len);
    if open { None } else { u64::try_from(named).ok() }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
