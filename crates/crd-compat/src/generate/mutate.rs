//! Random changes of a schema, of the kinds authors make.

use serde_json::{Value, json};

use super::Random;
use super::schemas;

/// Changes one place; says how, or `None` when the change did not fit the place.
pub(super) fn mutate(random: &mut Random, root: &mut Value) -> Option<&'static str> {
    let mut pointers = Vec::new();
    places(root, "", &mut pointers);
    let pointer = random.pick(&pointers)?.clone();
    let key_of_map = is_map_key(root, &pointer);
    let node = root.pointer_mut(&pointer)?;
    let word = node["type"].as_str().unwrap_or_default().to_owned();
    if random.one_in(12) {
        node["description"] = json!(format!("edition {}", random.below(1000)));
        return Some("description");
    }
    match word.as_str() {
        "object" if node.get("properties").is_some() => object(random, node),
        "object" => size(random, node, "maxProperties", "minProperties"),
        "array" => list(random, node),
        // The keys that tell items apart are strings, whatever else changes.
        _ if key_of_map => string(random, node),
        "string" if !random.one_in(4) => string(random, node),
        "integer" | "number" if !random.one_in(4) => number(random, node),
        _ => Some(retype(random, node)),
    }
}

/// Every place below `spec` and `status`.
fn places(node: &Value, at: &str, into: &mut Vec<String>) {
    if !at.is_empty() {
        into.push(at.to_owned());
    }
    if let Some(fields) = node.get("properties").and_then(Value::as_object) {
        for (name, field) in fields {
            places(field, &format!("{at}/properties/{name}"), into);
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = node.get(key).filter(|inner| inner.is_object()) {
            places(inner, &format!("{at}/{key}"), into);
        }
    }
}

fn is_map_key(root: &Value, pointer: &str) -> bool {
    let Some(list) = pointer.strip_suffix("/items/properties/name") else { return false };
    root.pointer(list).is_some_and(|list| list.get("x-kubernetes-list-map-keys").is_some())
}

fn object(random: &mut Random, node: &mut Value) -> Option<&'static str> {
    let names: Vec<String> = node["properties"].as_object()?.keys().cloned().collect();
    let name = random.pick(&names)?.clone();
    let root_like = names.iter().any(|name| name == "spec");
    let demanded =
        node["required"].as_array().is_some_and(|list| list.iter().any(|field| *field == json!(name)));
    let in_conditions = ["oneOf", "anyOf"].iter().any(|key| node.get(*key).is_some());
    match random.below(8) {
        0 if !demanded && !in_conditions && !root_like => {
            node["properties"].as_object_mut()?.remove(&name);
            Some("field removed")
        }
        1 => {
            let field = schemas::any(random, 1);
            let fresh = format!("new{}", random.below(3));
            node["properties"][fresh] = field;
            Some("field added")
        }
        2 if !demanded => {
            let mut required = node["required"].as_array().cloned().unwrap_or_default();
            required.push(json!(name));
            node["required"] = json!(required);
            Some("required added")
        }
        3 if demanded => {
            let required = node["required"].as_array()?.iter().filter(|field| **field != json!(name));
            node["required"] = json!(required.collect::<Vec<_>>());
            Some("required removed")
        }
        4 => {
            let key = "x-kubernetes-preserve-unknown-fields";
            let object = node.as_object_mut()?;
            if object.remove(key).is_none() {
                object.insert(key.into(), json!(true));
            }
            Some("unknown fields")
        }
        5 if names.len() >= 2 && !in_conditions => {
            let key = random.pick(&["oneOf", "anyOf"])?;
            node[*key] = json!([{"required": [names[0]]}, {"required": [names[1]]}]);
            Some("condition added")
        }
        6 if in_conditions => {
            let object = node.as_object_mut()?;
            object.remove("oneOf");
            object.remove("anyOf");
            Some("condition removed")
        }
        7 if node["properties"][&name]["type"] == json!("integer") => {
            let limit = random.below(9);
            node["x-kubernetes-validations"] =
                json!([{"rule": format!("!has(self.{name}) || self.{name} <= {limit}")}]);
            Some("rule")
        }
        _ => None,
    }
}

fn list(random: &mut Random, node: &mut Value) -> Option<&'static str> {
    if random.one_in(3) && schemas::scalar(&node["items"]) {
        let object = node.as_object_mut()?;
        if object.remove("x-kubernetes-list-type").is_none() {
            object.insert("x-kubernetes-list-type".into(), json!("set"));
        }
        return Some("list type");
    }
    size(random, node, "maxItems", "minItems")
}

fn size(random: &mut Random, node: &mut Value, most: &str, least: &str) -> Option<&'static str> {
    match random.below(3) {
        0 => {
            node[most] = json!(1 + random.below(5));
            Some("size")
        }
        1 => {
            node[least] = json!(random.below(3));
            Some("size")
        }
        _ => {
            let object = node.as_object_mut()?;
            object.remove(most).or_else(|| object.remove(least)).map(|_| "size")
        }
    }
}

fn string(random: &mut Random, node: &mut Value) -> Option<&'static str> {
    match random.below(7) {
        0 => {
            node["pattern"] = json!(random.pick(&schemas::PATTERNS));
            Some("pattern")
        }
        1 => node.as_object_mut()?.remove("pattern").map(|_| "pattern removed"),
        2 => {
            node["maxLength"] = json!(1 + random.below(8));
            Some("length")
        }
        3 => {
            node["minLength"] = json!(random.below(4));
            Some("length")
        }
        4 if node["nullable"] != json!(true) => {
            node["enum"] = json!(schemas::some_words(random));
            Some("enum")
        }
        5 => node.as_object_mut()?.remove("enum").map(|_| "enum lifted"),
        6 => nullable(node),
        _ => None,
    }
}

fn number(random: &mut Random, node: &mut Value) -> Option<&'static str> {
    match random.below(6) {
        0 => {
            node["minimum"] = json!(random.below(6));
            Some("minimum")
        }
        1 => {
            node["maximum"] = json!(random.below(20));
            Some("maximum")
        }
        2 => {
            // The same limit, in the other words.
            node["allOf"] = json!([{"maximum": random.below(20)}]);
            Some("allOf")
        }
        3 => {
            node["multipleOf"] = json!(random.pick(&[1, 2, 4, 5, 10]));
            Some("multipleOf")
        }
        4 if node["type"] == json!("integer") => {
            node["format"] = json!("int32");
            Some("format")
        }
        5 => nullable(node),
        _ => None,
    }
}

fn nullable(node: &mut Value) -> Option<&'static str> {
    if node.get("enum").is_some() {
        return None;
    }
    let object = node.as_object_mut()?;
    if object.remove("nullable").is_none() {
        object.insert("nullable".into(), json!(true));
    }
    Some("nullable")
}

fn retype(random: &mut Random, node: &mut Value) -> &'static str {
    *node = match random.below(4) {
        0 => schemas::string(random),
        1 => schemas::integer(random),
        2 => json!({"type": "number"}),
        _ => json!({"x-kubernetes-int-or-string": true}),
    };
    "type"
}
