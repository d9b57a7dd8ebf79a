//! Which requests a webhook is for.

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;

use super::review::Operation;

/// Whether a webhook is for objects in namespaces, for those of the cluster, or for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Both.
    #[default]
    Any,
    /// Objects in a namespace.
    Namespaced,
    /// Objects of the whole cluster.
    Cluster,
}

impl Scope {
    fn as_str(self) -> &'static str {
        match self {
            Self::Any => "*",
            Self::Namespaced => "Namespaced",
            Self::Cluster => "Cluster",
        }
    }
}

/// Which requests a webhook is for: a request matches when each part does. `*` stands for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    pub(crate) group: String,
    pub(crate) versions: Vec<String>,
    pub(crate) resources: Vec<String>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) scope: Scope,
}

/// What a request is about, as far as rules look at it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: Option<&'a str>,
    pub(crate) operation: Operation,
    pub(crate) namespaced: bool,
}

impl Rules {
    /// Creations and changes of one resource, such as `applications`.
    pub fn new(group: impl Into<String>, version: impl Into<String>, resource: impl Into<String>) -> Self {
        Self {
            group: group.into(),
            versions: vec![version.into()],
            resources: vec![resource.into()],
            operations: vec![Operation::Create, Operation::Update],
            scope: Scope::Any,
        }
    }

    /// Creations and changes of objects of this type.
    pub fn of<K: kube::Resource<DynamicType = ()>>() -> Self {
        Self::new(K::group(&()), K::version(&()), K::plural(&()))
    }

    /// For these operations instead.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// For these versions instead; `*` for all.
    #[must_use]
    pub fn versions(mut self, versions: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.versions = versions.into_iter().map(Into::into).collect();
        self
    }

    /// For these subresources too, such as `status`; `*` for all of them.
    #[must_use]
    pub fn subresources(mut self, subresources: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let bare = self.resources.first().cloned().unwrap_or_default();
        for subresource in subresources {
            self.resources.push(format!("{bare}/{}", subresource.as_ref()));
        }
        self
    }

    /// For objects of this scope only.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub(crate) fn matches(&self, subject: Subject<'_>) -> bool {
        fits(&self.group, subject.group)
            && self.versions.iter().any(|version| fits(version, subject.version))
            && self.resources.iter().any(|resource| fits_resource(resource, subject))
            && self.operations.contains(&subject.operation)
            && match self.scope {
                Scope::Any => true,
                Scope::Namespaced => subject.namespaced,
                Scope::Cluster => !subject.namespaced,
            }
    }

    pub(crate) fn to_kubernetes(&self) -> RuleWithOperations {
        RuleWithOperations {
            api_groups: Some(vec![self.group.clone()]),
            api_versions: Some(self.versions.clone()),
            resources: Some(self.resources.clone()),
            operations: Some(self.operations.iter().map(|operation| operation.as_str().to_owned()).collect()),
            scope: Some(self.scope.as_str().to_owned()),
        }
    }
}

fn fits(pattern: &str, value: &str) -> bool {
    pattern == "*" || pattern == value
}

/// As the API server reads it: `pods` is the resource alone, `pods/*` the resource and all of its
/// subresources, `*/scale` that subresource of everything, `*` every resource alone, `*/*` all.
fn fits_resource(pattern: &str, subject: Subject<'_>) -> bool {
    let (resource, subresource) = pattern.split_once('/').unwrap_or((pattern, ""));
    fits(resource, subject.resource) && fits(subresource, subject.subresource.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = Subject {
        group: "example.test",
        version: "v1",
        resource: "boats",
        subresource: None,
        operation: Operation::Create,
        namespaced: true,
    };

    fn boats() -> Rules {
        Rules::new("example.test", "v1", "boats")
    }

    #[test]
    fn a_request_matches_when_every_part_does() {
        let status = Subject { subresource: Some("status"), ..SUBJECT };
        let scale = Subject { subresource: Some("scale"), ..SUBJECT };
        let delete = Subject { operation: Operation::Delete, ..SUBJECT };
        let cluster = Subject { namespaced: false, ..SUBJECT };
        let later = Subject { version: "v2", ..SUBJECT };
        let table: Vec<(&str, Rules, Subject<'_>, bool)> = vec![
            ("its own", boats(), SUBJECT, true),
            ("another group", Rules::new("other.test", "v1", "boats"), SUBJECT, false),
            ("the core group is not every group", Rules::new("", "v1", "boats"), SUBJECT, false),
            ("any group", Rules::new("*", "v1", "boats"), SUBJECT, true),
            ("another version", boats(), later, false),
            ("one of its versions", boats().versions(["v1", "v2"]), later, true),
            ("any version", boats().versions(["*"]), later, true),
            ("another resource", Rules::new("example.test", "v1", "ships"), SUBJECT, false),
            ("any resource", Rules::new("example.test", "v1", "*"), SUBJECT, true),
            ("any resource is no subresource", Rules::new("example.test", "v1", "*"), status, false),
            ("really all", Rules::new("example.test", "v1", "*/*"), status, true),
            ("really all, alone", Rules::new("example.test", "v1", "*/*"), SUBJECT, true),
            ("a subresource not asked for", boats(), status, false),
            ("a subresource asked for", boats().subresources(["status"]), status, true),
            ("beside the resource itself", boats().subresources(["status"]), SUBJECT, true),
            ("another subresource", boats().subresources(["status"]), scale, false),
            ("all subresources", boats().subresources(["*"]), scale, true),
            ("all, as API servers read it", Rules::new("example.test", "v1", "boats/*"), SUBJECT, true),
            ("that subresource of everything", Rules::new("example.test", "v1", "*/scale"), scale, true),
            ("an operation not asked for", boats(), delete, false),
            ("an operation asked for", boats().operations([Operation::Delete]), delete, true),
            ("namespaced only", boats().scope(Scope::Namespaced), cluster, false),
            ("cluster only", boats().scope(Scope::Cluster), cluster, true),
            ("cluster only, in a namespace", boats().scope(Scope::Cluster), SUBJECT, false),
        ];
        for (what, rules, subject, expected) in table {
            assert_eq!(rules.matches(subject), expected, "{what}");
        }
    }
}
