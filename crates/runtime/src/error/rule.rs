//! The RBAC rule that a refusal of the API server asks for.

use std::fmt;

/// One rule of a `Role` or `ClusterRole`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    group: String,
    resource: String,
    verb: String,
    namespace: Option<String>,
}

impl Rule {
    /// The rule that is missing, from the API server's words.
    pub fn of(message: &str) -> Option<Self> {
        let (_, rest) = message.split_once(" cannot ")?;
        let (verb, rest) = rest.split_once(" resource ")?;
        let (resource, rest) = quoted(rest)?;
        let (_, rest) = rest.split_once("in API group ")?;
        let (group, rest) = quoted(rest)?;
        let namespace = rest.split_once("in the namespace ").and_then(|(_, rest)| quoted(rest));
        Some(Self {
            group: group.to_owned(),
            resource: resource.to_owned(),
            verb: verb.trim().to_owned(),
            namespace: namespace.map(|(namespace, _)| namespace.to_owned()),
        })
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, verb, .. } = self;
        write!(f, "{{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}")?;
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace:?}"),
            None => write!(f, " cluster-wide"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_wide_refusal_with_a_subresource_gives_its_rule() {
        let rule = Rule::of(
            "applications.cloudnative.elide.dev \"web\" is forbidden: User \"x\" cannot patch resource \
             \"applications/status\" in API group \"cloudnative.elide.dev\" at the cluster scope",
        );
        assert_eq!(
            rule.map(|rule| rule.to_string()).as_deref(),
            Some(
                "{apiGroups: [\"cloudnative.elide.dev\"], resources: [\"applications/status\"], \
                 verbs: [\"patch\"]} cluster-wide"
            )
        );
    }

    #[test]
    fn other_refusals_ask_for_no_rule() {
        assert_eq!(Rule::of("pods \"a\" is forbidden: exceeded quota"), None);
    }
}
