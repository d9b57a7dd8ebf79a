//! What of helm values is secret: by the name it has. Secrets come by reference, and are never shown.

use serde_json::{Map, Value};

use crate::problem::Problems;

/// The key of a value that stands for a key of a Secret of the target cluster.
pub const SECRET_REFERENCE: &str = "$secret";

/// What names of secrets hold.
const SECRET: &[&str] =
    &["password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "privatekey", "credential"];

/// What names of things about secrets end in.
const ABOUT: &[&str] = &["name", "ref", "path", "namespace", "enabled", "mount", "file", "class"];

/// And begin with: charts call the name of a Secret that is there already `existingSecret`.
const THERE: &str = "existing";

/// Whether a path leads to something that is called like a secret: its last name, or the name of the item
/// before it, as of an environment variable.
pub fn is_secret_name(path: &str) -> bool {
    let words = path.rsplit(['.', '[']).map(|part| part.trim_end_matches(']').to_lowercase());
    let mut words = words.take(2);
    let is_secret = |word: &str| {
        SECRET.iter().any(|name| word.contains(name))
            && !ABOUT.iter().any(|end| word.ends_with(end))
            && !word.starts_with(THERE)
    };
    match (words.next(), words.next()) {
        (Some(last), Some(before)) if last == "value" => is_secret(&before),
        (Some(last), _) => is_secret(&last),
        _ => false,
    }
}

/// Whether a value stands for a key of a Secret.
pub fn is_reference(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| fields.contains_key(SECRET_REFERENCE))
}

/// Checks values that people can read later: references that name nothing, and secrets in plain text, except
/// at paths that are said to be none.
pub fn check_secrets(values: &Map<String, Value>, not_secret: &[String]) -> Problems {
    let mut problems = Problems::new();
    for (key, value) in values {
        look(key, value, not_secret, &mut problems);
    }
    problems
}

fn look(path: &str, value: &Value, not_secret: &[String], problems: &mut Problems) {
    match value {
        Value::Object(fields) if is_reference(value) => {
            let inner = fields.get(SECRET_REFERENCE);
            let text = |key| inner.and_then(|inner| inner.get(key)).and_then(Value::as_str);
            if fields.len() != 1 || text("name").is_none() || text("key").is_none() {
                problems
                    .add(path, "is no reference to a Secret: write {\"$secret\": {\"name\": …, \"key\": …}}");
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                look(&format!("{path}.{key}"), value, not_secret, problems);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(&place(path, index, item), item, not_secret, problems);
            }
        }
        Value::String(text)
            if !text.is_empty() && is_secret_name(path) && !not_secret.iter().any(|one| one == path) =>
        {
            problems.add(
                path,
                "is called like a secret and is written in plain text; refer to one as {\"$secret\": {\"name\": …, \"key\": …}}, or name the path in notSecret",
            );
        }
        _ => {}
    }
}

/// Where an item of a list is: by its name where it has one, as environment variables do.
pub fn place(path: &str, index: usize, item: &Value) -> String {
    match item.get("name").and_then(Value::as_str) {
        Some(name) => format!("{path}[{name}]"),
        None => format!("{path}[{index}]"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        for path in ["auth.password", "env[API_TOKEN].value", "clientSecret"] {
            assert!(is_secret_name(path), "{path}");
        }
        for path in
            ["imagePullSecrets[0].name", "tls.secretName", "serviceAccountTokenPath", "auth.existingSecret"]
        {
            assert!(!is_secret_name(path), "{path}");
        }
    }

    #[test]
    fn plain_secrets_and_broken_references_are_named_and_their_values_are_not() {
        let values = json!({
            "auth": {"password": "hunter2", "token": "", "apiKey": {"$secret": {"name": "auth", "key": "api"}}},
            "env": [{"name": "API_TOKEN", "value": "hunter2"}, {"name": "PLACE", "value": "sea"}],
            "db": {"$secret": {"name": "db"}},
            "tokenLifetime": "1h",
            "automountToken": true,
        });
        let values = values.as_object().unwrap();
        let problems = check_secrets(values, &["tokenLifetime".to_owned()]);
        let mut paths: Vec<&str> = problems.iter().map(|problem| problem.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["auth.password", "db", "env[API_TOKEN].value"]);
        assert!(!problems.to_string().contains("hunter2"));
    }
}
