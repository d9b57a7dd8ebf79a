//! The status of an object: what is written, and when nothing is.

use serde_json::{Map, Value};

use crate::conditions;

/// The status as it shall be: with the generation it is about and the times of its conditions.
pub(super) fn settled(old: Option<&Value>, mut new: Value, generation: i64, now: jiff::Timestamp) -> Value {
    if let Value::Object(fields) = &mut new {
        fields.insert("observedGeneration".to_owned(), Value::from(generation));
    }
    conditions::date(old, &mut new, now);
    new
}

/// The merge patch that makes `new` of `old`; nothing if they are the same.
pub(super) fn change(old: Option<&Value>, new: &Value) -> Option<Value> {
    let nothing = Value::Object(Map::new());
    let change = difference(old.unwrap_or(&nothing), new)?;
    Some(serde_json::json!({ "status": change }))
}

/// Whether two statuses differ in numbers and wording only, so that a moment more does no harm: an object
/// on its way goes through many counts, and each would be a write.
pub(super) fn is_wording(old: Option<&Value>, new: &Value) -> bool {
    let Some(old) = old else { return false };
    old.get("observedGeneration") == new.get("observedGeneration") && essence(old) == essence(new)
}

/// A status without its counts, and its conditions without their wording.
fn essence(status: &Value) -> Value {
    let mut status = status.clone();
    let Value::Object(fields) = &mut status else { return status };
    fields.retain(|_, value| !value.is_number() && !value.is_null());
    for condition in fields.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(condition) = condition {
            condition.retain(|name, _| name == "type" || name == "status");
        }
    }
    status
}

fn difference(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        return (!same(old, new)).then(|| new.clone());
    };
    let mut changes = Map::new();
    for (name, value) in after {
        // A null means that there is nothing, in a patch and in a status.
        match before.get(name) {
            Some(known) => {
                if let Some(change) = difference(known, value) {
                    changes.insert(name.clone(), change);
                }
            }
            None if value.is_null() => {}
            None => {
                changes.insert(name.clone(), value.clone());
            }
        }
    }
    for name in before.keys() {
        if !after.contains_key(name) {
            changes.insert(name.clone(), Value::Null);
        }
    }
    (!changes.is_empty()).then_some(Value::Object(changes))
}

fn same(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Number(old), Value::Number(new)) => old.as_f64() == new.as_f64(),
        (old, new) => old == new,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_status_that_says_the_same_is_not_written() {
        let now = jiff::Timestamp::now();
        let first = settled(
            None,
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            3,
            now,
        );
        let later = now.checked_add(jiff::SignedDuration::from_hours(1)).unwrap();
        let second = settled(
            Some(&first),
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "none": null}),
            3,
            later,
        );
        assert_eq!(change(Some(&first), &second), None);
        assert!(change(None, &first).is_some());
    }

    #[test]
    fn only_what_differs_is_written_and_what_is_gone_is_removed() {
        let old = json!({"phase": "Pending", "replicas": 2, "gone": true});
        let new = json!({"phase": "Running", "replicas": 2});
        assert_eq!(change(Some(&old), &new), Some(json!({"status": {"phase": "Running", "gone": null}})));
    }

    #[test]
    fn counts_and_words_can_wait_and_turns_cannot() {
        let old = json!({"observedGeneration": 1, "phase": "Pending", "ready": 0, "conditions": [{"type": "Ready", "status": "False", "message": "0 of 2"}]});
        let mut counted = old.clone();
        counted["ready"] = json!(1);
        counted["replicas"] = json!(2);
        counted["conditions"][0]["message"] = json!("1 of 2");
        assert!(is_wording(Some(&old), &counted));
        for (pointer, value) in [
            ("/phase", json!("Running")),
            ("/observedGeneration", json!(2)),
            ("/conditions/0/status", json!("True")),
        ] {
            let mut turned = counted.clone();
            *turned.pointer_mut(pointer).unwrap() = value;
            assert!(!is_wording(Some(&old), &turned), "{pointer}");
        }
        assert!(!is_wording(None, &old));
    }

    fn status() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..5).prop_map(Value::from),
            "[ab]{0,2}".prop_map(Value::from)
        ];
        let tree = leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        proptest::collection::btree_map("[abc]", tree, 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        /// What the API server makes of the patch is the new status, and then there is nothing more to write.
        #[test]
        fn a_patch_leads_from_the_old_status_to_the_new(old in status(), new in status()) {
            let mut object = json!({"status": old});
            if let Some(patch) = change(Some(&old), &new) {
                json_patch::merge(&mut object, &patch);
            }
            prop_assert_eq!(&object["status"], &new);
            prop_assert_eq!(change(Some(&object["status"]), &new), None);
        }
    }
}
