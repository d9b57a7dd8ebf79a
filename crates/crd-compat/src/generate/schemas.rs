//! Random structural schemas.

use serde_json::{Map, Value, json};

use super::Random;

const NAMES: [&str; 8] = ["size", "mode", "name", "ports", "labels", "limits", "policy", "target"];
pub(super) const PATTERNS: [&str; 6] = ["^[a-z]+$", "^[a-z0-9]*$", "^[A-Za-z]", "[0-9]", "^a|b$", "^.{1,4}$"];
const WORDS: [&str; 6] = ["a", "b", "abc", "A1", "zz9", ""];

/// A schema with `spec` and `status`.
pub(super) fn root(random: &mut Random) -> Value {
    let mut properties = Map::new();
    properties.insert("spec".into(), object(random, 3));
    if random.one_in(2) {
        properties.insert("status".into(), object(random, 2));
    }
    let mut root = json!({"type": "object", "properties": properties});
    if random.one_in(3) {
        root["required"] = json!(["spec"]);
    }
    root
}

/// A schema of any type.
pub(super) fn any(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 6 } else { 10 };
    match random.below(kinds) {
        0 | 1 => string(random),
        2 => integer(random),
        3 => json!({"type": "boolean"}),
        4 => number(random),
        5 => json!({"x-kubernetes-int-or-string": true}),
        6 | 7 => object(random, depth - 1),
        8 => list(random, depth - 1),
        _ => map(random, depth - 1),
    }
}

pub(super) fn string(random: &mut Random) -> Value {
    let mut schema = json!({"type": "string"});
    match random.below(6) {
        0 => schema["enum"] = json!(some_words(random)),
        1 => schema["pattern"] = json!(random.pick(&PATTERNS)),
        2 => schema["maxLength"] = json!(1 + random.below(6)),
        3 => schema["minLength"] = json!(random.below(3)),
        4 => schema["format"] = json!(random.pick(&["ipv4", "date", "uuid", "made-up"])),
        _ => {}
    }
    if random.one_in(6) {
        schema["maxLength"] = json!(4 + random.below(6));
    }
    nullable(random, &mut schema);
    schema
}

pub(super) fn some_words(random: &mut Random) -> Vec<&'static str> {
    let start = random.below(WORDS.len());
    let count = 1 + random.below(3);
    WORDS.iter().cycle().skip(start).take(count).copied().collect()
}

pub(super) fn integer(random: &mut Random) -> Value {
    let mut schema = json!({"type": "integer"});
    match random.below(6) {
        0 => schema["minimum"] = json!(random.below(5)),
        1 => schema["maximum"] = json!(random.below(20)),
        2 => {
            schema["minimum"] = json!(0);
            schema["exclusiveMinimum"] = json!(true);
        }
        3 => schema["format"] = json!(random.pick(&["int32", "int64"])),
        4 => schema["multipleOf"] = json!(random.pick(&[2, 5])),
        _ => {}
    }
    nullable(random, &mut schema);
    schema
}

fn number(random: &mut Random) -> Value {
    let mut schema = json!({"type": "number"});
    if random.one_in(2) {
        schema["maximum"] = json!(random.below(10));
    }
    schema
}

pub(super) fn object(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    for _ in 0..=random.below(4) {
        let name = random.pick(&NAMES).copied().unwrap_or("size");
        let schema = any(random, depth);
        properties.insert(name.to_owned(), schema);
    }
    let names: Vec<String> = properties.keys().cloned().collect();
    let mut schema = json!({"type": "object", "properties": properties});
    let required: Vec<&String> = names.iter().filter(|_| random.one_in(4)).collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if random.one_in(8) {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if names.len() >= 2 && random.one_in(6) {
        let key = random.pick(&["oneOf", "anyOf"]).copied().unwrap_or("anyOf");
        schema[key] = json!([{"required": [names[0]]}, {"required": [names[1]]}]);
    }
    schema
}

fn list(random: &mut Random, depth: usize) -> Value {
    if random.one_in(3) {
        let mut item = object(random, depth);
        item["properties"]["name"] = json!({"type": "string"});
        item["required"] = json!(["name"]);
        for key in ["oneOf", "anyOf"] {
            item.as_object_mut().map(|item| item.remove(key));
        }
        return json!({
            "type": "array", "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        });
    }
    let mut schema = json!({"type": "array", "items": any(random, depth)});
    match random.below(4) {
        0 => schema["maxItems"] = json!(1 + random.below(4)),
        1 => schema["minItems"] = json!(random.below(3)),
        2 if scalar(&schema["items"]) => schema["x-kubernetes-list-type"] = json!("set"),
        _ => {}
    }
    schema
}

/// Whether a list of such items can be a set.
pub(super) fn scalar(schema: &Value) -> bool {
    let word = schema["type"].as_str().unwrap_or_default();
    matches!(word, "string" | "integer" | "boolean") && schema["nullable"] != json!(true)
}

fn map(random: &mut Random, depth: usize) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": any(random, depth)});
    if random.one_in(4) {
        schema["maxProperties"] = json!(1 + random.below(3));
    }
    schema
}

fn nullable(random: &mut Random, schema: &mut Value) {
    if schema.get("enum").is_none() && random.one_in(8) {
        schema["nullable"] = json!(true);
    }
}

/// A definition of about `fields` fields.
pub(super) fn large(fields: usize, changed: bool) -> Value {
    let mut random = Random::new(42);
    // What changes is drawn from elsewhere, so that both editions have the same fields.
    let mut edits = Random::new(43);
    let mut left = fields;
    let mut groups = Map::new();
    let mut index = 0;
    while left > 0 {
        let size = left.min(60);
        groups.insert(format!("group{index}"), group(&mut random, &mut edits, size, 3, changed));
        left -= size;
        index += 1;
    }
    let schema = json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": groups}},
    });
    super::definition(&schema)
}

fn group(random: &mut Random, edits: &mut Random, size: usize, depth: usize, changed: bool) -> Value {
    let mut properties = Map::new();
    let mut left = size;
    while left > 0 {
        let name = format!("field{}", properties.len());
        let (schema, used) = if depth > 0 && left > 8 && random.one_in(3) {
            let inner = left / 2;
            let inside = group(random, edits, inner, depth - 1, changed);
            let schema = if random.one_in(2) { json!({"type": "array", "items": inside}) } else { inside };
            (schema, inner)
        } else {
            (string(random), 1)
        };
        let mut schema = schema;
        let edition = if changed { "second" } else { "first" };
        schema["description"] = json!(format!(
            "{name} says what becomes of the part it belongs to, as the {edition} edition of the manual has it. \
             It is long because descriptions of real definitions are long, and because they make up most of \
             what has to be read; more about it: https://example.com/{edition}/{name}"
        ));
        if changed && edits.one_in(50) && schema["type"] == json!("string") {
            schema["maxLength"] = json!(3);
        }
        properties.insert(name, schema);
        left -= used;
    }
    json!({"type": "object", "properties": properties})
}
