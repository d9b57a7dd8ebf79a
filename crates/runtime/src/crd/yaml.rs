//! Definitions as YAML.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use super::generate::CrdgenError;

/// Definitions as YAML documents, in the order given.
pub fn print_yaml(crds: &[CustomResourceDefinition]) -> Result<String, CrdgenError> {
    let mut out = String::new();
    for crd in crds {
        let mut value = serde_json::to_value(crd).map_err(CrdgenError::Json)?;
        whole_numbers(&mut value);
        out.push_str("---\n");
        out.push_str(&serde_saphyr::to_string(&value).map_err(CrdgenError::Yaml)?);
        if !out.ends_with('\n') {
            out.push('\n');
        }
    }
    Ok(out)
}

/// Bounds are floating point numbers in the Kubernetes types; `minimum: 0.0` reads worse than `minimum: 0`.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 9e15);
            if number.is_f64()
                && let Some(whole) = whole.and_then(|float| format!("{float}").parse::<i64>().ok())
            {
                *value = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
