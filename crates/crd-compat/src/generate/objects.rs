//! Random objects that mostly fit a schema.

use serde_json::{Map, Value, json};

use super::Random;

const TEXTS: [&str; 12] =
    ["a", "b", "abc", "A1", "zz9", "", "0", "Ab", "abcdefgh", "10.0.0.1", "2024-01-01", "é"];
const NUMBERS: [i64; 12] = [0, 1, 2, 3, 4, 5, 8, 10, 19, 20, -1, 3_000_000_000];

/// The object of that index.
pub(super) fn object(random: &mut Random, schema: &Value, index: usize) -> Value {
    let mut object = json!({
        "apiVersion": "generated.example.com/v1",
        "kind": "Sample",
        "metadata": {"name": format!("sample-{index}")},
    });
    let fields = schema["properties"].as_object();
    for (name, field) in fields.into_iter().flatten() {
        if required(schema, name) || !random.one_in(5) {
            object[name] = value(random, field);
        }
    }
    object
}

fn required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|list| list.iter().any(|field| field == name))
}

fn value(random: &mut Random, schema: &Value) -> Value {
    if schema["nullable"] == json!(true) && random.one_in(4) {
        return Value::Null;
    }
    if let Some(listed) = schema["enum"].as_array()
        && !random.one_in(20)
    {
        return random.pick(listed).cloned().unwrap_or_default();
    }
    match schema["type"].as_str() {
        Some("object") => Value::Object(fields(random, schema)),
        Some("array") => list(random, schema),
        Some("boolean") => json!(random.one_in(2)),
        Some("number") if random.one_in(2) => json!(0.5),
        Some("integer" | "number") => json!(integer(random, schema)),
        Some("string") => json!(text(random, schema)),
        _ if random.one_in(2) => json!(integer(random, schema)),
        _ => json!(text(random, schema)),
    }
}

fn fields(random: &mut Random, schema: &Value) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if required(schema, name) || random.one_in(2) {
            object.insert(name.clone(), value(random, field));
        }
    }
    if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
        for index in 0..random.below(4) {
            object.insert(format!("key{index}"), value(random, inner));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == json!(true) && random.one_in(2) {
        let unknown = [json!("kept"), json!(1), json!({"deep": [true]})];
        let name = format!("new{}", random.below(3));
        object.insert(name, random.pick(&unknown).cloned().unwrap_or_default());
    }
    object
}

fn list(random: &mut Random, schema: &Value) -> Value {
    let least = usize::try_from(schema["minItems"].as_u64().unwrap_or_default()).unwrap_or_default();
    let count = least + random.below(4);
    let mut items: Vec<Value> = Vec::new();
    for index in 0..count {
        let mut item = value(random, &schema["items"]);
        if schema.get("x-kubernetes-list-map-keys").is_some() && !random.one_in(10) {
            item["name"] = json!(format!("item{index}"));
        }
        if schema.get("x-kubernetes-list-type").is_none() || !items.contains(&item) {
            items.push(item);
        }
    }
    Value::Array(items)
}

fn integer(random: &mut Random, schema: &Value) -> i64 {
    let fits = |number: i64| {
        schema["minimum"].as_i64().is_none_or(|least| number >= least)
            && schema["maximum"].as_i64().is_none_or(|most| number <= most)
            && schema["multipleOf"].as_i64().is_none_or(|factor| number % factor == 0)
    };
    for _ in 0..8 {
        let number = random.pick(&NUMBERS).copied().unwrap_or_default();
        if fits(number) {
            return number;
        }
    }
    schema["minimum"].as_i64().unwrap_or_default()
}

fn text(random: &mut Random, schema: &Value) -> &'static str {
    let format = schema["format"].as_str().unwrap_or_default();
    match format {
        "ipv4" => return "10.0.0.1",
        "date" => return "2024-01-01",
        "uuid" => return "00000000-0000-4000-8000-000000000000",
        _ => {}
    }
    let fits = |text: &str| {
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        schema["minLength"].as_u64().is_none_or(|least| length >= least)
            && schema["maxLength"].as_u64().is_none_or(|most| length <= most)
            && schema["pattern"]
                .as_str()
                .is_none_or(|pattern| crate::schema::Pattern::new(pattern).is_match(text).unwrap_or(true))
    };
    for _ in 0..8 {
        let text = random.pick(&TEXTS).copied().unwrap_or_default();
        if fits(text) {
            return text;
        }
    }
    "a"
}
