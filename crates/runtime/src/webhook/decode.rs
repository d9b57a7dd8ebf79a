//! Objects as authors' types, and why one is not.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::verdict::Denial;

/// The object as a `K`, or the field that keeps it from being one.
pub(crate) fn decode<K: DeserializeOwned>(raw: &Value) -> Result<K, Denial> {
    serde_path_to_error::deserialize(raw).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { path };
        Denial::new(field, format!("cannot be read: {}", error.into_inner()))
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_field_at_fault_is_named() {
        let raw = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": 7}]}});
        let denial = decode::<Pod>(&raw).unwrap_err();
        assert_eq!(denial.field, "spec.containers[0].name");
    }
}
