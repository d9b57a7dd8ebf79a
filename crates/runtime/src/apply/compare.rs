//! Whether a live object says everything that is wanted of it.
//!
//! Others may add to it: defaults, sidecars, status. Only what is wanted is looked at.

use std::fmt;

use serde_json::{Map, Value};

/// A place where a live object does not say what is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Where, such as `spec.template.spec.containers[web].image`.
    pub path: String,
    /// What is wanted.
    pub wanted: Value,
    /// What is there; nothing if the place is empty.
    pub found: Option<Value>,
    /// The same place in the live object as a JSON Pointer; nothing for an item that a list lacks.
    pub(super) pointer: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.found {
            Some(found) => write!(f, "{} is {} instead of {}", self.path, short(found), short(&self.wanted)),
            None => write!(f, "{} is missing", self.path),
        }
    }
}

/// A value that fits into a sentence.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The places where `live` does not say what is wanted; none if it says all of it.
pub fn differences(wanted: &Value, live: &Value) -> Vec<Difference> {
    let mut comparison = Comparison { path: Vec::new(), pointer: Vec::new(), found: Vec::new() };
    comparison.values("", wanted, Some(live));
    comparison.found
}

struct Comparison {
    path: Vec<String>,
    /// The places on the way in the live object; nothing for an item that is not there.
    pointer: Vec<Option<String>>,
    found: Vec<Difference>,
}

impl Comparison {
    fn values(&mut self, field: &str, wanted: &Value, live: Option<&Value>) {
        match (wanted, live) {
            // The API server drops what is empty.
            (wanted, None | Some(Value::Null)) if is_empty(wanted) => {}
            // In a list it does not say what each item is.
            (_, None) if self.path.len() == 1 && ["apiVersion", "kind"].contains(&field) => {}
            (Value::Object(wanted), Some(Value::Object(live))) => self.objects(wanted, live),
            (Value::Array(wanted), Some(Value::Array(live))) => self.lists(field, wanted, live),
            (wanted, Some(live)) if self.scalars(wanted, live) => {}
            (wanted, live) => self.differs(wanted, live),
        }
    }

    fn differs(&mut self, wanted: &Value, found: Option<&Value>) {
        self.found.push(Difference {
            path: self.path.concat(),
            wanted: wanted.clone(),
            found: found.cloned(),
            pointer: self.pointer.iter().map(Option::as_deref).collect(),
        });
    }

    fn objects(&mut self, wanted: &Map<String, Value>, live: &Map<String, Value>) {
        for (name, wanted) in wanted {
            let dot = if self.path.is_empty() { "" } else { "." };
            self.path.push(format!("{dot}{name}"));
            self.pointer.push(Some(format!("/{}", name.replace('~', "~0").replace('/', "~1"))));
            self.values(name, wanted, live.get(name));
            self.pointer.pop();
            self.path.pop();
        }
    }

    fn lists(&mut self, field: &str, wanted: &[Value], live: &[Value]) {
        if let Some(key) = merge_key(field, wanted) {
            for item in wanted {
                let name = &item[key];
                let place = live.iter().position(|live| live[key] == *name && same_protocol(item, live));
                let shown = name.as_str().map_or_else(|| name.to_string(), ToOwned::to_owned);
                self.item(&shown, item, live, place);
            }
        } else if field == "finalizers" {
            for item in wanted {
                let place = live.iter().position(|live| live == item);
                self.item(&item.to_string(), item, live, place);
            }
        } else if wanted.len() == live.len() {
            for (index, wanted) in wanted.iter().enumerate() {
                self.item(&index.to_string(), wanted, live, Some(index));
            }
        } else {
            self.differs(&Value::from(wanted.to_vec()), Some(&Value::from(live.to_vec())));
        }
    }

    fn item(&mut self, name: &str, wanted: &Value, live: &[Value], place: Option<usize>) {
        self.path.push(format!("[{name}]"));
        self.pointer.push(place.map(|index| format!("/{index}")));
        match place.and_then(|index| live.get(index)) {
            None => self.differs(wanted, None),
            found => self.values("", wanted, found),
        }
        self.pointer.pop();
        self.path.pop();
    }

    fn scalars(&self, wanted: &Value, live: &Value) -> bool {
        match (wanted, live) {
            (Value::Number(wanted), Value::Number(live)) => wanted.as_f64() == live.as_f64(),
            (Value::String(wanted), Value::String(live)) => {
                wanted == live || (self.at_quantity() && same_quantity(wanted, live))
            }
            (wanted, live) => wanted == live,
        }
    }

    /// Whether the value is an amount, which the API server writes in its own way.
    fn at_quantity(&self) -> bool {
        let parents = ["requests", "limits", "hard", "capacity", "min", "max", "default", "defaultRequest"];
        let parent = self.path.len().checked_sub(2).map(|index| self.path[index].trim_start_matches('.'));
        let own = self.path.last().map(|own| own.trim_start_matches('.'));
        parent.is_some_and(|parent| parents.contains(&parent))
            || own.is_some_and(|own| ["sizeLimit", "averageValue", "divisor"].contains(&own))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(is_empty),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Lists that the API server replaces as a whole, although their items have names.
const WHOLE: [&str; 5] = ["tolerations", "matchExpressions", "matchFields", "args", "command"];
/// What names an item of a list, in the order in which it is tried.
const KEYS: [&str; 9] =
    ["name", "uid", "containerPort", "port", "mountPath", "devicePath", "ip", "type", "topologyKey"];

/// What names the items of a list that the API server merges by name.
fn merge_key(field: &str, wanted: &[Value]) -> Option<&'static str> {
    if WHOLE.contains(&field) || wanted.is_empty() {
        return None;
    }
    let keys = if field == "ports" { &KEYS[2..4] } else { &KEYS[..] };
    keys.iter().copied().find(|key| wanted.iter().all(|item| item.get(key).is_some()))
}

/// Ports are named by number and protocol.
fn same_protocol(wanted: &Value, live: &Value) -> bool {
    fn protocol(port: &Value) -> &str {
        port["protocol"].as_str().unwrap_or("TCP")
    }
    protocol(wanted) == protocol(live)
}

fn same_quantity(wanted: &str, live: &str) -> bool {
    matches!((amount(wanted), amount(live)), (Some(wanted), Some(live)) if (wanted - live).abs() <= wanted.abs() * 1e-12)
}

/// The number that an amount such as `500m` or `1Gi` stands for.
fn amount(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 16] = [
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("Ti", 1_099_511_627_776.0),
        ("Pi", 1_125_899_906_842_624.0),
        ("Ei", 1_152_921_504_606_846_976.0),
        ("n", 1e-9),
        ("u", 1e-6),
        ("m", 1e-3),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("P", 1e15),
        ("E", 1e18),
        ("", 1.0),
    ];
    UNITS.iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?;
        number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number * factor)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(wanted: &Value, live: &Value) -> Option<String> {
        differences(wanted, live).first().map(ToString::to_string)
    }

    #[test]
    fn what_others_add_is_no_difference() {
        let wanted =
            json!({"spec": {"containers": [{"name": "web", "image": "a:1", "env": []}], "labels": {}}});
        let live = json!({
            "spec": {
                "containers": [{"name": "sidecar", "image": "s"}, {"name": "web", "image": "a:1", "tty": false}],
                "restartPolicy": "Always",
            },
            "status": {},
        });
        assert_eq!(told(&wanted, &live), None);
    }

    #[test]
    fn an_item_of_a_list_need_not_say_what_it_is() {
        let wanted = json!({"apiVersion": "v1", "kind": "Service", "spec": {"kind": "a"}});
        assert_eq!(told(&wanted, &json!({"spec": {"kind": "a"}})), None);
        assert_eq!(told(&wanted, &json!({"spec": {}})).unwrap(), "spec.kind is missing");
    }

    #[test]
    fn a_changed_and_a_missing_value_are_named_by_their_place() {
        let wanted = json!({"spec": {"replicas": 3, "containers": [{"name": "web", "image": "a:1"}]}});
        let changed = json!({"spec": {"replicas": 3, "containers": [{"name": "web", "image": "b:2"}]}});
        let missing = json!({"spec": {"replicas": 3, "containers": []}});
        assert_eq!(
            told(&wanted, &changed).unwrap(),
            "spec.containers[web].image is \"b:2\" instead of \"a:1\""
        );
        assert_eq!(told(&wanted, &missing).unwrap(), "spec.containers[web] is missing");
    }

    #[test]
    fn lists_without_names_must_be_the_same() {
        assert!(told(&json!({"args": ["a"]}), &json!({"args": ["a", "b"]})).is_some());
        assert!(
            told(
                &json!({"tolerations": [{"key": "a"}]}),
                &json!({"tolerations": [{"key": "a"}, {"key": "b"}]})
            )
            .is_some()
        );
        assert_eq!(told(&json!({"finalizers": ["a"]}), &json!({"finalizers": ["b", "a"]})), None);
    }

    #[test]
    fn ports_are_told_apart_by_protocol() {
        let wanted = json!({"ports": [{"port": 53, "protocol": "UDP", "name": "dns"}]});
        let live = json!({"ports": [{"port": 53, "protocol": "TCP", "name": "dns-tcp"}, {"port": 53, "protocol": "UDP", "name": "dns"}]});
        assert_eq!(told(&wanted, &live), None);
    }

    #[test]
    fn amounts_are_compared_by_what_they_stand_for_and_other_texts_are_not() {
        let limits = |cpu: &str| json!({"resources": {"limits": {"cpu": cpu}}});
        assert_eq!(told(&limits("0.5"), &limits("500m")), None);
        assert_eq!(told(&limits("1024Mi"), &limits("1Gi")), None);
        assert!(told(&limits("0.5"), &limits("600m")).is_some());
        assert!(told(&json!({"data": {"a": "1"}}), &json!({"data": {"a": "1.0"}})).is_some());
    }

    #[test]
    fn a_long_value_is_cut_in_the_sentence() {
        let text = told(&json!({"a": "x".repeat(500)}), &json!({"a": "ä".repeat(500)})).unwrap();
        assert!(text.len() < 300, "{text}");
    }
}
