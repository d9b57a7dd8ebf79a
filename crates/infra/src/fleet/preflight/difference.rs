//! What differs between an object as it is and as it would be, field by field.

use serde_json::{Map, Value};

use super::super::object::ObjectRef;
use super::hidden::Hidden;

/// How many fields of one object are told.
const MOST: usize = 50;

/// How much of a value is shown.
const LONGEST: usize = 80;

/// What the server, controllers and helm itself write.
const NOT_TOLD: &[&str] = &[
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.uid",
    "metadata.generation",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.annotations.meta.helm.sh/release-name",
    "metadata.annotations.meta.helm.sh/release-namespace",
    "metadata.annotations.deployment.kubernetes.io/revision",
    "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    "metadata.labels.app.kubernetes.io/managed-by",
    "status",
];

/// The fields that differ, as `path: old → new`; where a value must not be shown, the path alone.
pub(in crate::fleet) fn fields(
    it: &ObjectRef,
    before: &Value,
    after: &Value,
    hidden: &Hidden,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut walk = Walk { secret: it.is_secret(), hidden, found: &mut found };
    walk.value("", Some(before), Some(after));
    if found.len() > MOST {
        let more = found.len() - MOST;
        found.truncate(MOST);
        found.push(format!("and {more} more"));
    }
    found
}

struct Walk<'a> {
    secret: bool,
    hidden: &'a Hidden,
    found: &'a mut Vec<String>,
}

impl Walk<'_> {
    fn value(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        if NOT_TOLD.contains(&path) || path.ends_with(".caBundle") {
            return;
        }
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => self.objects(path, before, after),
            (Some(Value::Array(before)), Some(Value::Array(after))) => self.arrays(path, before, after),
            (Some(Value::Object(gone)), None) if !gone.is_empty() => self.objects(path, gone, &Map::new()),
            (None, Some(Value::Object(new))) if !new.is_empty() => self.objects(path, &Map::new(), new),
            (before, after) if same(before, after) => {}
            (before, after) => self.leaf(path, before, after),
        }
    }

    fn objects(&mut self, path: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            self.value(&path, before.get(key), after.get(key));
        }
    }

    fn arrays(&mut self, path: &str, before: &[Value], after: &[Value]) {
        if let (Some(old), Some(new)) = (by_name(before), by_name(after)) {
            let mut names: Vec<&str> = old.iter().chain(&new).map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let find =
                    |items: &[(&str, _)]| items.iter().find(|(key, _)| *key == name).map(|(_, item)| *item);
                self.value(&format!("{path}[{name}]"), find(&old), find(&new));
            }
            return;
        }
        for index in 0..before.len().max(after.len()) {
            self.value(&format!("{path}[{index}]"), before.get(index), after.get(index));
        }
    }

    fn leaf(&mut self, path: &str, before: Option<&Value>, after: Option<&Value>) {
        let secret = self.secret && (path.starts_with("data") || path.starts_with("stringData"));
        let told = [before, after].into_iter().flatten();
        if secret || told.map(ToString::to_string).any(|text| self.hidden.conceals(path, &text)) {
            self.found.push(path.to_owned());
            return;
        }
        self.found.push(format!("{path}: {} → {}", shown(before), shown(after)));
    }
}

/// Nothing, `null` and emptiness mean the same to an API server.
fn same(before: Option<&Value>, after: Option<&Value>) -> bool {
    let is_nothing = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    };
    before == after || (is_nothing(before) && is_nothing(after))
}

/// The items by their names, where all have one and no two the same.
fn by_name(items: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let named: Option<Vec<(&str, &Value)>> =
        items.iter().map(|item| Some((item.get("name")?.as_str()?, item))).collect();
    let named = named?;
    let mut names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    (names.len() == named.len()).then_some(named)
}

fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None | Some(Value::Null) => return "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let cut: String = line.chars().take(LONGEST).collect();
    format!("{cut}…")
}

/// An object as it would be where the cluster could not be asked: what the manifest says, over what is there.
pub(in crate::fleet) fn overlaid(live: &Value, manifest: &Value) -> Value {
    match (live, manifest) {
        (Value::Object(live), Value::Object(manifest)) => {
            let mut fields = live.clone();
            for (key, value) in manifest {
                let value = live.get(key).map_or_else(|| value.clone(), |there| overlaid(there, value));
                fields.insert(key.clone(), value);
            }
            Value::Object(fields)
        }
        (Value::Array(live), Value::Array(manifest)) if live.len() == manifest.len() => {
            Value::Array(live.iter().zip(manifest).map(|(live, manifest)| overlaid(live, manifest)).collect())
        }
        (_, manifest) => manifest.clone(),
    }
}

/// Takes out of an object what the last revision said and the next one does not.
pub(in crate::fleet) fn without_removed(object: &mut Value, stored: &Value, manifest: &Value) {
    match (object, stored) {
        (Value::Object(object), Value::Object(stored)) => {
            for (key, was) in stored {
                match (manifest.get(key), object.get_mut(key)) {
                    (Some(is), Some(there)) => without_removed(there, was, is),
                    // What others put beside it stays.
                    (None, Some(there @ Value::Object(_))) if was.is_object() => {
                        without_removed(there, was, &Value::Null);
                    }
                    (None, Some(_)) => {
                        object.remove(key);
                    }
                    (_, None) => {}
                }
            }
        }
        (Value::Array(object), Value::Array(stored)) => {
            let is = manifest.as_array().map(Vec::as_slice).unwrap_or_default();
            let (Some(stored), Some(is)) = (by_name(stored), by_name(is)) else { return };
            let find = |items: &[(&str, &Value)], name: &str| {
                items.iter().find(|(key, _)| *key == name).map(|(_, item)| (*item).clone())
            };
            object.retain_mut(|item| {
                let Some(name) = item.get("name").and_then(Value::as_str).map(str::to_owned) else {
                    return true;
                };
                match (find(&stored, &name), find(&is, &name)) {
                    (Some(was), Some(is)) => {
                        without_removed(item, &was, &is);
                        true
                    }
                    (Some(_), None) => false,
                    (None, _) => true,
                }
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn it(kind: &str) -> ObjectRef {
        ObjectRef { group: String::new(), kind: kind.into(), namespace: None, name: "a".into() }
    }

    fn told(kind: &str, before: &Value, after: &Value) -> Vec<String> {
        fields(&it(kind), before, after, &Hidden::default())
    }

    #[test]
    fn fields_are_told_one_by_one() {
        let before = json!({"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}, "status": {"x": 1},
            "spec": {"replicas": 2, "containers": [{"name": "a", "image": "x:1"}, {"name": "b", "image": "y"}]}});
        let after = json!({"metadata": {"resourceVersion": "2", "labels": {}}, "spec": {"replicas": 3, "new": {"deep": true},
            "containers": [{"name": "b", "image": "y"}, {"name": "a", "image": "x:2"}]}});
        assert_eq!(
            told("Deployment", &before, &after),
            [
                "metadata.labels.a: b → nothing",
                "spec.containers[a].image: x:1 → x:2",
                "spec.new.deep: nothing → true",
                "spec.replicas: 2 → 3"
            ]
        );
        assert!(told("Deployment", &before, &before).is_empty());
        assert!(told("X", &json!({"a": {}}), &json!({"b": []})).is_empty());
    }

    #[test]
    fn secrets_are_told_by_their_paths() {
        let secret = |value: &str| json!({"data": {"key": value}, "type": "Opaque"});
        assert_eq!(told("Secret", &secret("YQ=="), &secret("Yg==")), ["data.key"]);
        let env = |value: &str| json!({"env": [{"name": "DB_PASSWORD", "value": value}]});
        assert_eq!(told("Pod", &env("hunter2"), &env("hunter3")), ["env[DB_PASSWORD].value"]);
    }

    #[test]
    fn what_the_last_revision_said_goes_and_what_others_added_stays() {
        let stored = json!({"data": {"a": 1, "b": 2}, "gone": {"x": 1}});
        let manifest = json!({"data": {"a": 1}});
        let mut live = json!({"data": {"a": 1, "b": 2, "c": 3}, "gone": {"x": 1, "y": 2}});
        without_removed(&mut live, &stored, &manifest);
        assert_eq!(live, json!({"data": {"a": 1, "c": 3}, "gone": {"y": 2}}));
        let env = |names: &[&str]| {
            let items: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"env": items})
        };
        let mut live = env(&["a", "b", "injected"]);
        without_removed(&mut live, &env(&["a", "b"]), &env(&["a"]));
        assert_eq!(live, env(&["a", "injected"]));
        let live = json!({"spec": {"replicas": 1, "filled": true, "list": [{"a": 1, "b": 2}]}});
        let manifest = json!({"spec": {"replicas": 2, "list": [{"a": 3}]}});
        let expected = json!({"spec": {"replicas": 2, "filled": true, "list": [{"a": 3, "b": 2}]}});
        assert_eq!(overlaid(&live, &manifest), expected);
    }
}
