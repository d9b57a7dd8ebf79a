//! The replica counts and selector that the scale subresource points to.

use serde_json::Value;

use super::Findings;

/// Where the scale subresource finds its values.
#[derive(Debug)]
pub(super) struct ScalePaths {
    spec_replicas: String,
    status_replicas: String,
    selector: Option<String>,
}

impl ScalePaths {
    pub(super) fn of(scale: &Value) -> ScalePaths {
        let text = |key: &str| scale.get(key).and_then(Value::as_str).map(str::to_owned);
        ScalePaths {
            spec_replicas: text("specReplicasPath").unwrap_or_default(),
            status_replicas: text("statusReplicasPath").unwrap_or_default(),
            selector: text("labelSelectorPath"),
        }
    }

    pub(super) fn check_spec(&self, object: &Value, out: &mut Findings) {
        check_replicas(object, &self.spec_replicas, out);
    }

    pub(super) fn check_status(&self, object: &Value, out: &mut Findings) {
        check_replicas(object, &self.status_replicas, out);
        if let Some(selector) = &self.selector {
            match find(object, selector) {
                Ok(None | Some(Value::String(_))) => {}
                Ok(Some(other)) => {
                    out.violate_at(selector, "scale", format!("Invalid value: {other}: must be a string"));
                }
                Err(problem) => out.violate_at(selector, "scale", problem),
            }
        }
    }
}

fn check_replicas(object: &Value, path: &str, out: &mut Findings) {
    match find(object, path) {
        Ok(None) => {}
        Ok(Some(value)) => match value.as_i64() {
            None => out.violate_at(path, "scale", format!("Invalid value: {value}: must be an integer")),
            Some(count) if count < 0 => {
                out.violate_at(
                    path,
                    "scale",
                    format!("Invalid value: {count}: should be a non-negative integer"),
                );
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let message = format!("Invalid value: {count}: should be less than or equal to {}", i32::MAX);
                out.violate_at(path, "scale", message);
            }
            Some(_) => {}
        },
        Err(problem) => out.violate_at(path, "scale", problem),
    }
}

/// The value at a path such as `.spec.replicas`; an error when something on the way is not an object.
fn find<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut here = object;
    for key in path.strip_prefix('.').unwrap_or(path).split('.') {
        match here {
            Value::Object(map) => match map.get(key) {
                Some(next) => here = next,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(format!("Invalid value: {} is not an object", crate::crd::kind_of(other))),
        }
    }
    Ok(Some(here))
}
