//! What Slipway makes for itself in a cluster: a ServiceAccount, what it may do, and why.
//!
//! `docs/reference/cluster-access.md` is written from [`RULES`]; a test holds the two together.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Namespace, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

/// Where the ServiceAccount lives.
pub const NAMESPACE: &str = "slipway-system";

/// What the ServiceAccount, the role and the binding are called.
pub const NAME: &str = "slipway-manager";

/// The label that says whose an object is.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "slipway");

/// A rule of the role, and why it is there.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The groups of the interface.
    pub groups: &'static [&'static str],
    /// The resources.
    pub resources: &'static [&'static str],
    /// Paths that are no resources.
    pub paths: &'static [&'static str],
    /// What may be done.
    pub verbs: &'static [&'static str],
    /// Why.
    pub reason: &'static str,
}

/// All that the account may do.
pub const RULES: &[Rule] = &[
    Rule {
        groups: &["*"],
        resources: &["*"],
        paths: &[],
        verbs: &["get", "list", "watch"],
        reason: "See what is there: nodes and pods for health, helm's releases (Secrets) for adoption and \
                 versions, CRDs and custom resources for compatibility, anything a chart holds for the \
                 difference that a plan shows.",
    },
    Rule {
        groups: &["*"],
        resources: &["*"],
        paths: &[],
        verbs: &["create", "update", "patch", "delete", "deletecollection"],
        reason: "Install and upgrade operators with helm. A chart may hold any kind, kinds that the \
                 operator's own CRDs define included, so the kinds cannot be listed beforehand. It also \
                 covers dry-runs through webhooks, which are checked like real writes, and the renewal of \
                 the account's own token.",
    },
    Rule {
        groups: &["rbac.authorization.k8s.io"],
        resources: &["clusterroles", "roles"],
        paths: &[],
        verbs: &["bind", "escalate"],
        reason: "Charts give operators roles with rights that this account does not have by name; \
                 Kubernetes refuses that without these verbs. Whoever holds the account's token can \
                 therefore give themselves every right: guard it like an administrator's.",
    },
    Rule {
        groups: &[],
        resources: &[],
        paths: &["/version", "/readyz", "/livez"],
        verbs: &["get"],
        reason: "Check the API server's health every minute.",
    },
];

fn words(words: &[&str]) -> Option<Vec<String>> {
    (!words.is_empty()).then(|| words.iter().map(|word| (*word).to_owned()).collect())
}

fn ours(name: &str) -> ObjectMeta {
    let (key, value) = MANAGED_BY;
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
        ..ObjectMeta::default()
    }
}

/// Whether Slipway made an object.
pub fn is_ours(metadata: &ObjectMeta) -> bool {
    let (key, value) = MANAGED_BY;
    metadata.labels.as_ref().and_then(|labels| labels.get(key)).is_some_and(|there| there == value)
}

/// The namespace.
pub(super) fn namespace() -> Namespace {
    Namespace { metadata: ours(NAMESPACE), ..Namespace::default() }
}

/// The role with all rules.
pub(super) fn cluster_role() -> ClusterRole {
    let rule = |rule: &Rule| PolicyRule {
        api_groups: words(rule.groups),
        resources: words(rule.resources),
        non_resource_urls: words(rule.paths),
        verbs: rule.verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    ClusterRole {
        metadata: ours(NAME),
        rules: Some(RULES.iter().map(rule).collect()),
        ..ClusterRole::default()
    }
}

/// The binding of a role to the account.
pub(super) fn binding(role: &str) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: ours(NAME),
        role_ref: RoleRef {
            api_group: Some("rbac.authorization.k8s.io".to_owned()),
            kind: "ClusterRole".to_owned(),
            name: role.to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "ServiceAccount".to_owned(),
            name: NAME.to_owned(),
            namespace: Some(NAMESPACE.to_owned()),
            ..Subject::default()
        }]),
    }
}

/// The account, owned by its binding.
pub(super) fn account(owner: &OwnerReference) -> ServiceAccount {
    ServiceAccount {
        metadata: ObjectMeta { owner_references: Some(vec![owner.clone()]), ..ours(NAME) },
        // Pods have no business with it.
        automount_service_account_token: Some(false),
        ..ServiceAccount::default()
    }
}

/// An empty Secret that tokens are bound to: deleting it revokes them.
pub(super) fn token_secret(namespace: &str) -> Secret {
    let mut metadata = ours(NAME);
    metadata.name = None;
    metadata.generate_name = Some(format!("{NAME}-token-"));
    metadata.namespace = Some(namespace.to_owned());
    Secret { metadata, type_: Some("slipway.dev/token-binding".to_owned()), ..Secret::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_every_rule_and_why() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cluster-access.md");
        let document = std::fs::read_to_string(path).unwrap();
        for rule in RULES {
            let row = format!("| {} | {} |", rule.verbs.join(", "), rule.reason);
            assert!(document.contains(&row), "{row}");
        }
        let rows = document.lines().filter(|line| line.starts_with("| `") && line.contains(" | ")).count();
        assert!(rows >= RULES.len());
        for name in [NAMESPACE, NAME, MANAGED_BY.0] {
            assert!(document.contains(name), "{name}");
        }
    }

    #[test]
    fn nobody_is_impersonated() {
        let verbs: Vec<_> = RULES.iter().flat_map(|rule| rule.verbs).collect();
        assert!(!verbs.iter().any(|verb| ["*", "impersonate", "approve", "sign"].contains(verb)));
    }
}
