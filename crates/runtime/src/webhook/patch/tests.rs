use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn fields_the_type_does_not_know_stay() {
    let raw = json!({"spec": {"image": "a", "future": {"deep": [1]}}, "extra": true});
    let before = json!({"spec": {"image": "a"}});
    let after = json!({"spec": {"image": "b", "strategy": "Recreate"}});
    assert_eq!(
        carry_over(&raw, &before, &after),
        json!({"spec": {"image": "b", "strategy": "Recreate", "future": {"deep": [1]}}, "extra": true})
    );
}

#[test]
fn defaults_that_only_the_type_writes_are_not_sent() {
    let raw = json!({"spec": {"image": "a"}});
    let before = json!({"spec": {"image": "a", "strategy": "RollingUpdate"}, "status": null});
    let after = json!({"spec": {"image": "b", "strategy": "RollingUpdate"}, "status": null});
    assert_eq!(carry_over(&raw, &before, &after), json!({"spec": {"image": "b"}}));
}

#[test]
fn what_is_removed_is_removed() {
    let raw = json!({"labels": {"a": "1", "b": "2"}});
    assert_eq!(
        carry_over(&raw, &json!({"labels": {"a": "1", "b": "2"}}), &json!({"labels": {"b": "2"}})),
        json!({"labels": {"b": "2"}})
    );
}

#[test]
fn unknown_fields_of_list_elements_move_with_their_element() {
    let raw = json!([{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "c", "x": 3}]);
    let before = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
    let after = json!([{"name": "sidecar"}, {"name": "c"}, {"name": "b", "image": "new"}]);
    assert_eq!(
        carry_over(&raw, &before, &after),
        json!([{"name": "sidecar"}, {"name": "c", "x": 3}, {"name": "b", "image": "new", "x": 2}])
    );
}

#[test]
fn a_finalizer_is_added_once() {
    let mut object = json!({"metadata": {"name": "a", "finalizers": null}});
    add_finalizer(&mut object, "example.test/f");
    add_finalizer(&mut object, "example.test/f");
    assert_eq!(object["metadata"]["finalizers"], json!(["example.test/f"]));
}

/// Any JSON with the keys of a type (`k…`), which also names list elements.
fn known() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..5_i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(prop_oneof!["k[a-d]", Just("name".to_owned())], inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The same with fields that the type does not know (`u…`) in every object.
fn with_unknown(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut map: Map<String, Value> =
                map.iter().map(|(key, value)| (key.clone(), with_unknown(value))).collect();
            map.insert("unknown".into(), json!({"kept": true}));
            Value::Object(map)
        }
        Value::Array(items) => Value::Array(items.iter().map(with_unknown).collect()),
        other => other.clone(),
    }
}

fn without_unknown(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, _)| *key != "unknown")
                .map(|(key, value)| (key.clone(), without_unknown(value)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(without_unknown).collect()),
        other => other.clone(),
    }
}

/// Objects that are still objects at the same place must not have lost what nobody knew.
fn unknown_kept(raw: &Value, result: &Value) -> bool {
    match (raw, result) {
        (Value::Object(raw), Value::Object(result)) => {
            result.contains_key("unknown")
                && raw
                    .iter()
                    .filter(|(key, _)| *key != "unknown")
                    .all(|(key, raw)| result.get(key).is_none_or(|result| unknown_kept(raw, result)))
        }
        // Elements may be others than before; the table tests above say what moves where.
        _ => true,
    }
}

proptest! {
    #[test]
    fn the_patch_makes_the_authors_object_and_loses_nothing_else(before in known(), after in known()) {
        let (before, after) = (json!({"spec": before}), json!({"spec": after}));
        let raw = with_unknown(&before);
        let result = carry_over(&raw, &before, &after);
        prop_assert_eq!(without_unknown(&result), after.clone());
        prop_assert!(unknown_kept(&raw, &result), "{} became {}", raw, result);
        let mut patched = raw.clone();
        if let Some(patch) = between(&raw, &result) {
            json_patch::patch(&mut patched, &patch).unwrap();
        } else {
            prop_assert_eq!(&before, &after);
        }
        prop_assert_eq!(patched, result);
    }

    #[test]
    fn no_change_is_no_patch(before in known()) {
        let raw = with_unknown(&before);
        prop_assert_eq!(between(&raw, &carry_over(&raw, &before, &before)), None);
    }
}
