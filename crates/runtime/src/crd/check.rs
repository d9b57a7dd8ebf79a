//! What every definition must have before an API server is asked.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// Something that is wrong with a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl Problem {
    pub(super) fn new(field: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { field: field.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Everything that is wrong with a definition; nothing, when it can be given to an API server.
///
/// The API server checks more, and says so itself; these are the mistakes of whoever puts versions together.
pub fn check(crd: &CustomResourceDefinition) -> Vec<Problem> {
    let spec = &crd.spec;
    let mut problems = Vec::new();
    if !is_subdomain(&spec.group) || !spec.group.contains('.') {
        let message = format!("{:?} is no API group; write a domain such as example.com", spec.group);
        problems.push(Problem::new("spec.group", message));
    }
    if !spec.names.kind.starts_with(|first: char| first.is_ascii_uppercase())
        || !is_label(&spec.names.kind.to_ascii_lowercase())
    {
        let message = format!("{:?} is no kind; write a word such as Widget", spec.names.kind);
        problems.push(Problem::new("spec.names.kind", message));
    }
    if !is_label(&spec.names.plural) {
        let message = format!("{:?} is no plural; write a word such as widgets", spec.names.plural);
        problems.push(Problem::new("spec.names.plural", message));
    }
    let name = format!("{}.{}", spec.names.plural, spec.group);
    let given = crd.metadata.name.as_deref().unwrap_or_default();
    if given != name {
        problems.push(Problem::new("metadata.name", format!("is {given:?}; it must be {name:?}")));
    }
    versions(crd, &mut problems);
    problems
}

fn versions(crd: &CustomResourceDefinition, problems: &mut Vec<Problem>) {
    let versions = &crd.spec.versions;
    if versions.is_empty() {
        problems.push(Problem::new("spec.versions", "there is none; give at least one"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        if !is_label(&version.name) {
            let message = format!("{:?} is no version; write one such as v1 or v1beta1", version.name);
            problems.push(Problem::new(format!("spec.versions[{index}].name"), message));
        }
        if !seen.insert(&version.name) {
            let message = format!("{} is given twice", version.name);
            problems.push(Problem::new(format!("spec.versions[{index}].name"), message));
        }
        if version.schema.as_ref().is_none_or(|schema| schema.open_api_v3_schema.is_none()) {
            let message = format!("{} has none", version.name);
            problems.push(Problem::new(format!("spec.versions[{index}].schema"), message));
        }
    }
    if !versions.iter().any(|version| version.served) {
        problems.push(Problem::new("spec.versions", "none is served; objects could not be reached"));
    }
    let stored: Vec<&str> =
        versions.iter().filter(|version| version.storage).map(|version| version.name.as_str()).collect();
    match stored.as_slice() {
        [_] => {}
        [] => problems.push(Problem::new("spec.versions", "none is stored; exactly one must be")),
        several => {
            let message = format!("{} are stored; exactly one must be", several.join(" and "));
            problems.push(Problem::new("spec.versions", message));
        }
    }
}

/// Whether it is a DNS label: what API paths are made of.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}
