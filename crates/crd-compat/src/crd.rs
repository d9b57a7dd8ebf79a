//! A custom resource definition as it was written.
//!
//! The raw JSON is kept whole, so that nothing a newer Kubernetes knows is lost on the way through. What
//! the API server needs to be there and of the right type is checked once, when the value comes in; the
//! accessors then cannot fail.

use serde_json::{Map, Value};
use thiserror::Error;

use crate::schema::SchemaError;

mod shape;
#[cfg(test)]
mod tests;

pub(crate) use shape::kind_of;

/// Why a document cannot be used as a custom resource definition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CrdError {
    /// The document is something else.
    #[error("not a CustomResourceDefinition: {0}")]
    NotACrd(String),
    /// The definition is written for an API version that Kubernetes 1.22 removed.
    #[error(
        "apiVersion {0} is no longer served by Kubernetes (removed in 1.22); write the CRD as apiextensions.k8s.io/v1"
    )]
    OldApiVersion(String),
    /// A field that must be there is missing or has the wrong type.
    #[error("{path}: {problem}")]
    Shape {
        /// Where, from the root of the document.
        path: String,
        /// What is wrong there.
        problem: String,
    },
    /// The definition has no version of that name.
    #[error("{crd} has no version {version}")]
    NoSuchVersion {
        /// Name of the definition.
        crd: String,
        /// The version asked for.
        version: String,
    },
    /// The schema of a version is not one the API server understands.
    #[error("schema of {crd} version {version}")]
    Schema {
        /// Name of the definition.
        crd: String,
        /// The version the schema belongs to.
        version: String,
        /// What is wrong with the schema.
        source: SchemaError,
    },
}

/// A custom resource definition: raw JSON whose shape has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Crd {
    value: Value,
}

impl Crd {
    /// Checks the shape of `value` and takes it as a definition.
    pub fn from_value(value: Value) -> Result<Crd, CrdError> {
        shape::check(&value)?;
        Ok(Crd { value })
    }

    /// The definition as it was given.
    pub fn raw(&self) -> &Value {
        &self.value
    }

    /// `metadata.name`: plural and group.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `spec.group`.
    pub fn group(&self) -> &str {
        self.text("/spec/group")
    }

    /// `spec.names.kind`.
    pub fn kind(&self) -> &str {
        self.text("/spec/names/kind")
    }

    /// `spec.names.plural`.
    pub fn plural(&self) -> &str {
        self.text("/spec/names/plural")
    }

    /// `spec.scope`: `Namespaced` or `Cluster`.
    pub fn scope(&self) -> &str {
        self.text("/spec/scope")
    }

    /// Every version, in the order written.
    pub fn versions(&self) -> Vec<CrdVersion<'_>> {
        self.version_maps().map(|raw| CrdVersion { raw }).collect()
    }

    /// The version of that name.
    pub fn version(&self, name: &str) -> Option<CrdVersion<'_>> {
        self.version_maps().map(|raw| CrdVersion { raw }).find(|version| version.name() == name)
    }

    /// The version objects are stored in.
    pub fn storage_version(&self) -> Option<CrdVersion<'_>> {
        self.version_maps().map(|raw| CrdVersion { raw }).find(CrdVersion::storage)
    }

    /// `status.storedVersions`: versions in which objects may still lie in etcd.
    pub fn stored_versions(&self) -> Vec<&str> {
        self.value
            .pointer("/status/storedVersions")
            .and_then(Value::as_array)
            .map(|versions| versions.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    /// `spec.preserveUnknownFields`: true only in definitions that were converted from v1beta1.
    pub fn preserve_unknown_fields(&self) -> bool {
        self.value.pointer("/spec/preserveUnknownFields").and_then(Value::as_bool).unwrap_or_default()
    }

    fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    fn version_maps(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.value
            .pointer("/spec/versions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_object)
    }
}

/// One entry of `spec.versions`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CrdVersion<'a> {
    raw: &'a Map<String, Value>,
}

impl<'a> CrdVersion<'a> {
    /// Name of the version, such as `v1beta1`.
    pub fn name(&self) -> &'a str {
        self.raw.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the API server answers for this version.
    pub fn served(&self) -> bool {
        self.flag("served")
    }

    /// Whether objects are stored in this version.
    pub fn storage(&self) -> bool {
        self.flag("storage")
    }

    /// Whether clients get a warning when they use this version.
    pub fn deprecated(&self) -> bool {
        self.flag("deprecated")
    }

    /// The warning clients get instead of the default one.
    pub fn deprecation_warning(&self) -> Option<&'a str> {
        self.raw.get("deprecationWarning").and_then(Value::as_str)
    }

    /// `schema.openAPIV3Schema`.
    pub fn schema(&self) -> Option<&'a Value> {
        self.raw.get("schema")?.get("openAPIV3Schema").filter(|schema| !schema.is_null())
    }

    /// Whether status is written through its own subresource.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// The scale subresource.
    pub fn scale(&self) -> Option<&'a Value> {
        self.subresource("scale")
    }

    /// `additionalPrinterColumns`, empty when none are given.
    pub fn printer_columns(&self) -> &'a [Value] {
        self.list("additionalPrinterColumns")
    }

    /// `selectableFields`, empty when none are given.
    pub fn selectable_fields(&self) -> &'a [Value] {
        self.list("selectableFields")
    }

    /// The version entry as it was written.
    pub fn raw(&self) -> &'a Map<String, Value> {
        self.raw
    }

    fn flag(self, key: &str) -> bool {
        self.raw.get(key).and_then(Value::as_bool).unwrap_or_default()
    }

    fn list(self, key: &str) -> &'a [Value] {
        self.raw.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn subresource(self, key: &str) -> Option<&'a Value> {
        self.raw.get("subresources")?.get(key).filter(|value| !value.is_null())
    }
}
