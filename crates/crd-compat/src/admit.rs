//! What an API server does with a custom resource under one version of a CRD.
//!
//! The steps and their order are those of kube-apiserver 1.36: decode metadata, prune unknown fields, drop
//! nulls, fill defaults, check metadata, schema, embedded resources and list types, and run CEL rules only
//! if nothing was found that could mislead them.

use serde_json::{Map, Value};

use crate::cel::Rules;
use crate::crd::{Crd, CrdError};
use crate::schema::Schema;

mod check;
mod default;
mod embedded;
pub(crate) mod format;
mod list_type;
mod metadata;
pub(crate) mod names;
pub(crate) mod number;
mod numeric;
pub(crate) mod path;
mod prune;
mod scale;
#[cfg(test)]
pub(crate) mod tests;
mod verdict;

pub(crate) use verdict::Findings;
pub use verdict::{Admission, Reading, Verdict, Violation};

use path::FieldPath;
use scale::ScalePaths;

/// Objects nested deeper than this are not looked at: walking them could exhaust the stack.
const MAX_OBJECT_DEPTH: usize = 300;

/// The judge of objects of one CRD version; built once, used for many objects.
#[derive(Debug)]
pub struct Validator {
    api_version: String,
    group: String,
    kind: String,
    schema: Schema,
    rules: Rules,
    keeps_unknown: bool,
    has_status: bool,
    scale: Option<ScalePaths>,
}

impl Validator {
    /// A judge for objects of `version`.
    pub fn new(crd: &Crd, version: &str) -> Result<Validator, CrdError> {
        let found = crd.version(version).ok_or_else(|| CrdError::NoSuchVersion {
            crd: crd.name().to_owned(),
            version: version.to_owned(),
        })?;
        let mut schema = match found.schema() {
            Some(schema) => Schema::parse(schema).map_err(|source| CrdError::Schema {
                crd: crd.name().to_owned(),
                version: version.to_owned(),
                source,
            })?,
            None => Schema::default(),
        };
        default::prepare(&mut schema);
        Ok(Validator {
            api_version: format!("{}/{version}", crd.group()),
            group: crd.group().to_owned(),
            kind: crd.kind().to_owned(),
            keeps_unknown: crd.preserve_unknown_fields(),
            has_status: found.has_status(),
            scale: found.scale().map(ScalePaths::of),
            rules: Rules::of(&schema),
            schema,
        })
    }

    /// The schema objects are judged by, its defaults as the API server prepares them.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether status is written through its own subresource.
    pub fn has_status(&self) -> bool {
        self.has_status
    }

    /// What a create of `object` does.
    ///
    /// The namespace and what the API server itself writes into metadata, such as a resource version, are
    /// not judged.
    pub fn create(&self, object: &Value) -> Admission {
        let mut out = Findings::default();
        let mut pruned = Vec::new();
        let Some(mut object) = self.decode(object, &mut pruned, &mut out) else {
            return finish(Value::Null, pruned, out);
        };
        if self.has_status {
            object.remove("status");
        }
        if !out.violations.is_empty() {
            return finish(Value::Object(object), pruned, out);
        }
        let generated = metadata::generate_name(&mut object);
        let mut object = Value::Object(object);
        let metadata = object.get("metadata").unwrap_or(&Value::Null);
        metadata::check(metadata, metadata::NameRule::Subdomain, &mut FieldPath::default(), &mut out);
        check::check(&object, &self.schema, &mut FieldPath::default(), &mut out);
        if let Some(scale) = &self.scale {
            scale.check_spec(&object, &mut out);
            scale.check_status(&object, &mut out);
        }
        if let Value::Object(map) = &object {
            embedded::check_fields(map, &self.schema, &mut FieldPath::default(), &mut out);
            list_type::check_object(map, &self.schema, &mut FieldPath::default(), &mut out);
        }
        if !out.misleads_rules() {
            self.rules.check(&object, &self.schema, &mut out);
        }
        if let Some(Value::Object(metadata)) = object.get_mut("metadata").filter(|_| generated) {
            metadata.remove("name");
        }
        finish(object, pruned, out)
    }

    /// What writing the status of `object` through the status subresource does, when the object had no
    /// status before: the rest of it is taken as stored, and is not judged again.
    pub fn update_status(&self, object: &Value) -> Admission {
        let mut out = Findings::default();
        let mut pruned = Vec::new();
        let Some(object) = self.decode(object, &mut pruned, &mut out) else {
            return finish(Value::Null, pruned, out);
        };
        let mut old = object.clone();
        let status = old.remove("status");
        let object = Value::Object(object);
        if let Some(status) = status.filter(|_| out.violations.is_empty()) {
            if let Some(schema) = self.schema.properties.get("status") {
                check::check(&status, schema, &mut FieldPath::new("status"), &mut out);
                list_type::check(&status, schema, &mut FieldPath::new("status"), &mut out);
            }
            if let Some(scale) = &self.scale {
                scale.check_status(&object, &mut out);
            }
            if !out.misleads_rules() {
                self.rules.check_status(&object, &Value::Object(old), &self.schema, &mut out);
            }
        }
        finish(object, pruned, out)
    }

    /// What a reader of this version sees of a stored object; null for one nested too deep to be read.
    pub fn read(&self, stored: &Value) -> Reading {
        let mut pruned = Vec::new();
        if is_too_deep(stored) {
            return Reading { object: Value::Null, pruned };
        }
        let Value::Object(object) = stored else { return Reading { object: stored.clone(), pruned } };
        let mut object = object.clone();
        if let Some(coerced) = object.get("metadata").and_then(metadata::coerce_leniently) {
            pruned.extend(coerced.unknown);
            object.insert("metadata".to_owned(), coerced.metadata);
        }
        if self.is_of_kind(&object) {
            object.insert("apiVersion".to_owned(), Value::String(self.api_version.clone()));
            self.prune(&mut object, &mut pruned);
            embedded::coerce_stored(&mut object, &self.schema, &mut pruned);
            default::fill_object(&mut object, &self.schema);
        }
        pruned.sort();
        Reading { object: Value::Object(object), pruned }
    }

    /// Decodes a request; `None` when it is no object, or one nested too deep to be looked at.
    fn decode(
        &self,
        object: &Value,
        pruned: &mut Vec<String>,
        out: &mut Findings,
    ) -> Option<Map<String, Value>> {
        let Value::Object(map) = object else {
            out.violate_at(
                "",
                "type",
                format!("Invalid value: must be an object, not {}", crate::crd::kind_of(object)),
            );
            return None;
        };
        if is_too_deep(object) {
            out.unknown.push(format!("the object is nested deeper than {MAX_OBJECT_DEPTH} levels"));
            return None;
        }
        let mut map = map.clone();
        for (key, expected) in [("kind", &self.kind), ("apiVersion", &self.api_version)] {
            match map.get(key) {
                Some(Value::String(found)) if found == expected => {}
                found => {
                    let found = found.unwrap_or(&Value::Null);
                    out.violate_at(key, "type", format!("Invalid value: {found}: must be {expected}"));
                }
            }
        }
        if let Some(metadata) = map.get("metadata") {
            match metadata::coerce(metadata) {
                Ok(coerced) => {
                    pruned.extend(coerced.unknown);
                    map.insert("metadata".to_owned(), coerced.metadata);
                }
                Err(problem) => out.violate_at("metadata", "metadata", format!("Invalid value: {problem}")),
            }
        }
        self.prune(&mut map, pruned);
        embedded::coerce(&mut map, &self.schema, pruned, out);
        default::fill_object(&mut map, &self.schema);
        pruned.sort();
        Some(map)
    }

    fn prune(&self, object: &mut Map<String, Value>, pruned: &mut Vec<String>) {
        if !self.keeps_unknown {
            prune::root(object, &self.schema, pruned);
            prune::nulls_in_object(object, &self.schema);
        }
    }

    fn is_of_kind(&self, object: &Map<String, Value>) -> bool {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split_once('/').map(|(group, _)| group).unwrap_or_default();
        group == self.group && text("kind") == self.kind
    }
}

fn finish(object: Value, pruned: Vec<String>, out: Findings) -> Admission {
    Admission { verdict: out.verdict(), object, pruned }
}

fn is_too_deep(value: &Value) -> bool {
    let mut level: Vec<&Value> = vec![value];
    for _ in 0..MAX_OBJECT_DEPTH {
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Object(map) => map.values().collect::<Vec<_>>(),
                Value::Array(items) => items.iter().collect(),
                _ => Vec::new(),
            })
            .collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}
