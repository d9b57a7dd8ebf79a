//! What an API server does with a custom resource under one version of a CRD.

use serde_json::Value;

use crate::crd::{Crd, CrdError};
use crate::schema::Schema;

/// What the API server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The object is stored.
    Accepted,
    /// The object is refused, for these reasons.
    Rejected(Vec<Violation>),
    /// The answer depends on something that cannot be evaluated here.
    Unknown(Vec<String>),
}

/// One reason for a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The field, as the API server prints it: `spec.foo[0].bar`.
    pub path: String,
    /// The schema keyword that was violated, such as `required` or `cel`.
    pub keyword: &'static str,
    /// What the API server says.
    pub message: String,
}

/// The outcome of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Admission {
    /// What the API server answers.
    pub verdict: Verdict,
    /// The object after pruning and defaulting.
    pub object: Value,
    /// Fields that were dropped because the schema does not know them.
    pub pruned: Vec<String>,
}

/// The outcome of a read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What the reader sees.
    pub object: Value,
    /// Fields of the stored object that the reader does not see.
    pub pruned: Vec<String>,
}

/// The judge of objects of one CRD version; built once, used for many objects.
#[derive(Debug)]
pub struct Validator {
    schema: Schema,
}

impl Validator {
    /// A judge for objects of `version`.
    pub fn new(crd: &Crd, version: &str) -> Result<Validator, CrdError> {
        let found = crd.version(version).ok_or_else(|| CrdError::NoSuchVersion {
            crd: crd.name().to_owned(),
            version: version.to_owned(),
        })?;
        let schema = match found.schema() {
            Some(schema) => Schema::parse(schema).map_err(|source| CrdError::Schema {
                crd: crd.name().to_owned(),
                version: version.to_owned(),
                source,
            })?,
            None => Schema::default(),
        };
        Ok(Validator { schema })
    }

    /// The schema objects are judged by.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// What a create of `object` does.
    pub fn create(&self, object: &Value) -> Admission {
        Admission { verdict: Verdict::Accepted, object: object.clone(), pruned: Vec::new() }
    }

    /// What writing `object` through the status subresource does: only its status is taken.
    pub fn update_status(&self, object: &Value) -> Admission {
        self.create(object)
    }

    /// What a reader sees of a stored object.
    pub fn read(&self, stored: &Value) -> Reading {
        Reading { object: stored.clone(), pruned: Vec::new() }
    }
}
