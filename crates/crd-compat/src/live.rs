//! Live custom resources under another version of their CRD.
//!
//! Each object, as it was read from a cluster, is judged as if it were created again: that is what GitOps
//! tools, restores and every new user do. Its status is judged as the controller writes it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::admit::{Admission, Validator, Verdict, Violation};
use crate::crd::{Crd, CrdError};

#[cfg(test)]
mod tests;

/// How to judge live objects.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LiveOptions {
    /// Keep at most this many objects in the report; all are counted.
    pub keep: Option<usize>,
}

/// Which object it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId {
    /// Namespace; none for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// What tells this object from an earlier one of the same name.
    pub uid: Option<String>,
}

impl ObjectId {
    fn of(object: &Value) -> ObjectId {
        let text = |key: &str| {
            object.pointer(&format!("/metadata/{key}")).and_then(Value::as_str).map(str::to_owned)
        };
        ObjectId { namespace: text("namespace"), name: text("name").unwrap_or_default(), uid: text("uid") }
    }
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// How an object fares, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is refused.
    Rejected,
    /// Whether it is refused cannot be said here.
    Unknown,
    /// It is accepted, and loses fields.
    Pruned,
    /// It is accepted whole.
    Fine,
}

/// What becomes of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveObject {
    /// Which object it is.
    pub id: ObjectId,
    /// The version it was judged under.
    pub version: String,
    /// How it fares.
    pub standing: Standing,
    /// Why a create is refused.
    pub violations: Vec<Violation>,
    /// Why the controller's next write of this status is refused.
    pub status_violations: Vec<Violation>,
    /// Fields that are lost.
    pub pruned: Vec<String>,
    /// Why it cannot be said whether the object is refused.
    pub unknown: Vec<String>,
}

/// What becomes of all objects.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveReport {
    /// Objects looked at.
    pub checked: usize,
    /// Objects accepted whole.
    pub fine: usize,
    /// Objects accepted with loss.
    pub pruned: usize,
    /// Objects refused.
    pub rejected: usize,
    /// Objects about which nothing certain can be said.
    pub unknown: usize,
    /// Every object that is not fine, in the order given.
    pub objects: Vec<LiveObject>,
}

/// Judges objects, as read from a cluster at some version, under `new`.
///
/// An object is judged at its own version where `new` still has it, else at the version `new` stores.
pub fn check_objects<'a>(
    new: &Crd,
    objects: impl IntoIterator<Item = &'a Value>,
    options: &LiveOptions,
) -> LiveReport {
    let mut judges = Judges { crd: new, validators: BTreeMap::new() };
    let mut report = LiveReport::default();
    for object in objects {
        let found = judges.judge(object);
        report.checked += 1;
        *match found.standing {
            Standing::Fine => &mut report.fine,
            Standing::Pruned => &mut report.pruned,
            Standing::Rejected => &mut report.rejected,
            Standing::Unknown => &mut report.unknown,
        } += 1;
        if found.standing != Standing::Fine && options.keep.is_none_or(|keep| report.objects.len() < keep) {
            report.objects.push(found);
        }
    }
    report
}

/// Judges objects, as they are under the new CRD, under the old one: what going back would refuse or lose.
pub fn check_return<'a>(
    old: &Crd,
    objects: impl IntoIterator<Item = &'a Value>,
    options: &LiveOptions,
) -> LiveReport {
    check_objects(old, objects, options)
}

/// Validators by version, made when first needed.
struct Judges<'c> {
    crd: &'c Crd,
    validators: BTreeMap<String, Result<Validator, CrdError>>,
}

impl Judges<'_> {
    fn judge(&mut self, object: &Value) -> LiveObject {
        let id = ObjectId::of(object);
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
        if group != self.crd.group() || text("kind") != self.crd.kind() {
            let reason = format!("{} {} is not of {}", text("apiVersion"), text("kind"), self.crd.name());
            return unjudged(id, version, reason);
        }
        let same = self.crd.version(version).map(|found| found.name());
        let Some(target) = same.or_else(|| self.crd.storage_version().map(|found| found.name())) else {
            return unjudged(id, version, format!("{} stores no version", self.crd.name()));
        };
        if target != version && self.converts_by_webhook() {
            let reason =
                format!("a webhook converts {version} to {target}; what it returns is not known here");
            return unjudged(id, target, reason);
        }
        let crd = self.crd;
        let validator =
            self.validators.entry(target.to_owned()).or_insert_with(|| Validator::new(crd, target));
        match validator {
            Ok(validator) => judged(id, target, &at_version(object, group, target), validator),
            Err(error) => {
                let cause =
                    std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
                unjudged(id, target, format!("{error}{cause}"))
            }
        }
    }

    fn converts_by_webhook(&self) -> bool {
        self.crd.raw().pointer("/spec/conversion/strategy").and_then(Value::as_str) == Some("Webhook")
    }
}

/// Conversion without a webhook changes the version and nothing else.
fn at_version(object: &Value, group: &str, version: &str) -> Value {
    let mut object = object.clone();
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".to_owned(), Value::String(format!("{group}/{version}")));
    }
    object
}

fn unjudged(id: ObjectId, version: &str, reason: String) -> LiveObject {
    LiveObject {
        id,
        version: version.to_owned(),
        standing: Standing::Unknown,
        violations: Vec::new(),
        status_violations: Vec::new(),
        pruned: Vec::new(),
        unknown: vec![reason],
    }
}

fn judged(id: ObjectId, version: &str, object: &Value, validator: &Validator) -> LiveObject {
    let Admission { verdict, pruned, .. } = validator.create(object);
    // Without a subresource, the create has judged the status already.
    let status =
        if validator.has_status() { validator.update_status(object).verdict } else { Verdict::Accepted };
    let mut found = LiveObject { pruned, unknown: Vec::new(), ..unjudged(id, version, String::new()) };
    match verdict {
        Verdict::Accepted => {}
        Verdict::Rejected(violations) => found.violations = violations,
        Verdict::Unknown(reasons) => found.unknown = reasons,
    }
    match status {
        Verdict::Accepted => {}
        // What a create is refused for already is not told twice.
        Verdict::Rejected(violations) => {
            found.status_violations =
                violations.into_iter().filter(|violation| !found.violations.contains(violation)).collect();
        }
        Verdict::Unknown(reasons) => {
            found.unknown.extend(
                reasons.into_iter().filter(|reason| !found.unknown.contains(reason)).collect::<Vec<_>>(),
            );
        }
    }
    found.standing = if !found.violations.is_empty() || !found.status_violations.is_empty() {
        Standing::Rejected
    } else if !found.unknown.is_empty() {
        Standing::Unknown
    } else if !found.pruned.is_empty() {
        Standing::Pruned
    } else {
        Standing::Fine
    };
    found
}
