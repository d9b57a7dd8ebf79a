//! Label selectors: equality, inequality and existence.

use serde_json::Value;

/// Whether an object's labels match; nothing if the selector is of a sort that is not understood here.
pub(super) fn matches(selector: &str, object: &Value) -> Option<bool> {
    if selector.contains('(') {
        return None;
    }
    let labels = &object["metadata"]["labels"];
    let label = |name: &str| labels.get(name.trim()).and_then(Value::as_str);
    let parts = selector.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut all = true;
    for part in parts {
        all &= if let Some((name, value)) = part.split_once("!=") {
            label(name) != Some(value.trim())
        } else if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            label(name) == Some(value.trim())
        } else if let Some(name) = part.strip_prefix('!') {
            label(name).is_none()
        } else {
            label(part).is_some()
        };
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_compared_as_kubernetes_does() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "front"}}});
        for (selector, expected) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app=web,tier=back", false),
            ("app!=db", true),
            ("app!=web", false),
            ("other!=x", true),
            ("app", true),
            ("other", false),
            ("!other", true),
            ("!app", false),
        ] {
            assert_eq!(matches(selector, &object), Some(expected), "{selector}");
        }
        assert_eq!(matches("app in (web, db)", &object), None);
    }
}
