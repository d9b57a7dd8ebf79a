//! Values for the chart, from files and from the command line.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

/// Lays one over the other: maps by key, everything else as a whole.
pub(super) fn lay(under: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(value)) => lay(inner, value),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Sets `path=value`; a value that reads as JSON's true, false, null or number is one, unless text is meant.
pub(super) fn set(values: &mut Map<String, Value>, written: &str, text: bool) -> anyhow::Result<()> {
    let (path, value) =
        written.split_once('=').with_context(|| format!("{written:?} sets nothing; write path=value"))?;
    let value = match serde_json::from_str::<Value>(value) {
        Ok(read @ (Value::Bool(_) | Value::Null | Value::Number(_))) if !text => read,
        _ => Value::String(value.to_owned()),
    };
    let mut keys = keys(path);
    let Some(last) = keys.pop() else { bail!("{written:?} names no path") };
    if keys.iter().chain([&last]).any(|key| key.is_empty() || key.contains('[') || key.contains('{')) {
        bail!("{path:?} is no path of keys; put lists into a file and give it with -f");
    }
    let mut place = values;
    for key in keys {
        let inner = place.entry(key).or_insert_with(|| Value::Object(Map::new()));
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        let Some(inner) = inner.as_object_mut() else { bail!("{path:?} cannot be set") };
        place = inner;
    }
    place.insert(last, value);
    Ok(())
}

/// The keys of a path; a dot inside one is written `\.`.
fn keys(path: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut signs = path.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '.' => keys.push(String::new()),
            '\\' => keys.last_mut().into_iter().for_each(|key| key.extend(signs.next())),
            _ => keys.last_mut().into_iter().for_each(|key| key.push(sign)),
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(written: &[&str]) -> Value {
        let mut values = Map::new();
        for one in written {
            set(&mut values, one, false).unwrap();
        }
        Value::Object(values)
    }

    #[test]
    fn values_are_set_by_path() {
        let set = values(&[
            "image.tag=1.2",
            "image.tag=v1.2",
            "replicas=3",
            "debug=true",
            "name=",
            r"labels.app\.kubernetes\.io/part=x=y",
        ]);
        assert_eq!(
            set,
            json!({"image": {"tag": "v1.2"}, "replicas": 3, "debug": true, "name": "",
                "labels": {"app.kubernetes.io/part": "x=y"}})
        );
        let mut text = Map::new();
        super::set(&mut text, "tag=12", true).unwrap();
        assert_eq!(Value::Object(text), json!({"tag": "12"}));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for bad in ["image", "=x", "a[0]=x", "a..b=x"] {
            assert!(super::set(&mut Map::new(), bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn maps_are_laid_over_each_other_and_lists_replace() {
        let (mut under, over) =
            (json!({"a": {"b": 1, "c": [1]}, "d": 1}), json!({"a": {"b": 2, "c": [2]}, "e": 3}));
        lay(under.as_object_mut().unwrap(), over.as_object().unwrap().clone());
        assert_eq!(under, json!({"a": {"b": 2, "c": [2]}, "d": 1, "e": 3}));
    }
}
