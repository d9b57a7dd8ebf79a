//! One definition of several versions.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use kube::CustomResourceExt;
use kube::core::Rule;
use thiserror::Error;

use super::check::{Problem, check};
use super::conversion::Conversion;
use super::schema::{self, Nulls};

/// Puts the versions of one kind together.
///
/// ```
/// use kube::CustomResource;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use slipway_runtime::crd::MultiVersion;
///
/// #[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
/// #[kube(group = "example.com", version = "v1", kind = "Widget", namespaced)]
/// pub struct WidgetSpec {
///     size: u8,
/// }
///
/// let crd = MultiVersion::stored::<Widget>().label("example.com/team", "widgets").build()?;
/// assert_eq!(crd.metadata.name.as_deref(), Some("widgets.example.com"));
/// # Ok::<(), slipway_runtime::crd::BuildError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MultiVersion {
    stored: CustomResourceDefinition,
    others: Vec<CustomResourceDefinition>,
    conversion: Conversion,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    rules: Vec<(String, String, Rule)>,
    nulls: Nulls,
}

/// A definition that could not be put together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the definition of {name} is not usable: {}", list(problems))]
pub struct BuildError {
    /// Name of the definition.
    pub name: String,
    /// Everything that is wrong with it.
    pub problems: Vec<Problem>,
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl MultiVersion {
    /// Starts with the version that objects are stored in; it is served as well.
    pub fn stored<K: CustomResourceExt>() -> MultiVersion {
        MultiVersion {
            stored: K::crd(),
            others: Vec::new(),
            conversion: Conversion::None,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            rules: Vec::new(),
            nulls: Nulls::Kept,
        }
    }

    /// Adds a version that is served beside it.
    #[must_use]
    pub fn served<K: CustomResourceExt>(self) -> MultiVersion {
        self.with::<K>(|_| {})
    }

    /// Adds a version that is served with a warning to whoever uses it.
    #[must_use]
    pub fn deprecated<K: CustomResourceExt>(self, warning: &str) -> MultiVersion {
        self.with::<K>(|version| {
            version.deprecated = Some(true);
            version.deprecation_warning = Some(warning.to_owned());
        })
    }

    /// Adds a version that is no longer served: objects may still be stored in it.
    #[must_use]
    pub fn unserved<K: CustomResourceExt>(self) -> MultiVersion {
        self.with::<K>(|version| version.served = false)
    }

    fn with<K: CustomResourceExt>(
        mut self,
        change: impl Fn(&mut CustomResourceDefinitionVersion),
    ) -> MultiVersion {
        let mut crd = K::crd();
        for version in &mut crd.spec.versions {
            version.storage = false;
            change(version);
        }
        self.others.push(crd);
        self
    }

    /// Says how objects go from one version to another.
    #[must_use]
    pub fn conversion(mut self, conversion: Conversion) -> MultiVersion {
        self.conversion = conversion;
        self
    }

    /// Adds a label to the definition.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> MultiVersion {
        self.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds an annotation to the definition.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> MultiVersion {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Adds a CEL rule to the field at `path` (`spec.image`; the object itself when it is empty) of `version`.
    #[must_use]
    pub fn rule(mut self, version: &str, path: &str, rule: impl Into<Rule>) -> MultiVersion {
        self.rules.push((version.to_owned(), path.to_owned(), rule.into()));
        self
    }

    /// Keeps `null` out of optional fields: the API server takes it out, and the field is absent.
    ///
    /// The derive allows `null` wherever a field is an `Option`, and a `null` that is kept stands in the way
    /// of a default. Reading an `Option`, the two are the same.
    #[must_use]
    pub fn absent_not_null(mut self) -> MultiVersion {
        self.nulls = Nulls::Dropped;
        self
    }

    /// The definition, or everything that is wrong with it.
    pub fn build(self) -> Result<CustomResourceDefinition, BuildError> {
        let MultiVersion { stored: mut crd, others, conversion, labels, annotations, rules, nulls } = self;
        let mut problems = Vec::new();
        for version in &mut crd.spec.versions {
            version.served = true;
            version.storage = true;
        }
        for other in others {
            differences(&crd, &other, &mut problems);
            crd.spec.versions.extend(other.spec.versions);
        }
        crd.spec.conversion = Some(conversion.to_spec());
        crd.metadata.labels.get_or_insert_default().extend(labels);
        crd.metadata.annotations.get_or_insert_default().extend(annotations);
        // An empty map is written as `{}`, which says nothing.
        crd.metadata.labels.take_if(|labels| labels.is_empty());
        crd.metadata.annotations.take_if(|annotations| annotations.is_empty());
        for (version, path, rule) in &rules {
            if let Err(problem) = schema::add_rule(&mut crd, version, path, rule) {
                problems.push(problem);
            }
        }
        schema::mend_with(&mut crd, nulls);
        problems.extend(check(&crd));
        let name = crd.metadata.name.clone().unwrap_or_default();
        if problems.is_empty() { Ok(crd) } else { Err(BuildError { name, problems }) }
    }
}

/// What versions of one kind must have in common.
fn differences(
    stored: &CustomResourceDefinition,
    other: &CustomResourceDefinition,
    problems: &mut Vec<Problem>,
) {
    let version = other.spec.versions.first().map(|version| version.name.as_str()).unwrap_or_default();
    let pairs = [
        ("spec.group", &stored.spec.group, &other.spec.group),
        ("spec.names.kind", &stored.spec.names.kind, &other.spec.names.kind),
        ("spec.names.plural", &stored.spec.names.plural, &other.spec.names.plural),
        ("spec.scope", &stored.spec.scope, &other.spec.scope),
    ];
    for (field, here, there) in pairs {
        if here != there {
            let message = format!("version {version} has {there:?} where the stored one has {here:?}");
            problems.push(Problem::new(field, message));
        }
    }
}
