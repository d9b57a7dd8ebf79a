//! The rights that a plan needs and that Slipway's account on the cluster does not have.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use serde_json::{Value, json};

use super::super::api::{Api, Trouble};

/// So many questions are asked at once.
const AT_ONCE: usize = 8;

/// Something that has to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Right {
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) verb: &'static str,
    /// Where; everywhere for what has no namespace.
    pub(super) namespace: Option<String>,
}

/// The rights that are missing.
pub(super) async fn missing(api: &Api, rights: &BTreeSet<Right>) -> Result<BTreeSet<Right>, Trouble> {
    // An account that may do a thing to everything need not be asked about each.
    let mut verbs: Vec<&'static str> = rights.iter().map(|right| right.verb).collect();
    verbs.sort_unstable();
    verbs.dedup();
    let anything = verbs.into_iter().map(|verb| Right {
        group: "*".to_owned(),
        resource: "*".to_owned(),
        verb,
        namespace: None,
    });
    let mut free = BTreeSet::new();
    for (right, allowed) in asked(api, anything).await? {
        if allowed {
            free.insert(right.verb);
        }
    }
    let doubtful: Vec<Right> = rights.iter().filter(|right| !free.contains(right.verb)).cloned().collect();
    let answers = asked(api, doubtful.into_iter()).await?;
    Ok(answers.into_iter().filter(|(_, allowed)| !allowed).map(|(right, _)| right).collect())
}

async fn asked(api: &Api, rights: impl Iterator<Item = Right>) -> Result<Vec<(Right, bool)>, Trouble> {
    let asks: Vec<_> = rights.map(|right| ask(api, right)).collect();
    let answers: Vec<Result<(Right, bool), Trouble>> =
        futures::stream::iter(asks).buffered(AT_ONCE).collect().await;
    answers.into_iter().collect()
}

async fn ask(api: &Api, right: Right) -> Result<(Right, bool), Trouble> {
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"group": right.group, "resource": right.resource, "verb": right.verb,
            "namespace": right.namespace}}});
    let answer = api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review).await?;
    let allowed = answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or_default();
    Ok((right, allowed))
}

/// The rules that give the missing rights, as they stand in a role.
pub(super) fn rules(missing: &BTreeSet<Right>) -> Vec<String> {
    // The verbs of each resource, then the resources with the same verbs together.
    let mut verbs: BTreeMap<(&Option<String>, &str, &str), Vec<&str>> = BTreeMap::new();
    for right in missing {
        verbs.entry((&right.namespace, &right.group, &right.resource)).or_default().push(right.verb);
    }
    let mut resources: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for ((namespace, group, resource), verbs) in verbs {
        resources.entry((namespace, group, verbs)).or_default().push(resource);
    }
    resources
        .into_iter()
        .map(|((namespace, group, verbs), resources)| {
            let place = namespace.as_ref().map_or_else(String::new, |namespace| format!(" in {namespace}"));
            let list = |words: &[&str]| Value::from(words).to_string().replace(',', ", ");
            format!(
                "{{apiGroups: {}, resources: {}, verbs: {}}}{place}",
                list(&[group]),
                list(&resources),
                list(&verbs)
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rights_become_rules() {
        let right = |group: &str, resource: &str, verb, namespace: Option<&str>| Right {
            group: group.into(),
            resource: resource.into(),
            verb,
            namespace: namespace.map(str::to_owned),
        };
        let missing = BTreeSet::from([
            right("apps", "deployments", "create", Some("sea")),
            right("apps", "deployments", "patch", Some("sea")),
            right("apps", "daemonsets", "create", Some("sea")),
            right("apps", "daemonsets", "patch", Some("sea")),
            right("", "secrets", "list", Some("sea")),
            right("rbac.authorization.k8s.io", "clusterroles", "patch", None),
        ]);
        assert_eq!(
            rules(&missing),
            [
                "{apiGroups: [\"rbac.authorization.k8s.io\"], resources: [\"clusterroles\"], verbs: [\"patch\"]}",
                "{apiGroups: [\"\"], resources: [\"secrets\"], verbs: [\"list\"]} in sea",
                "{apiGroups: [\"apps\"], resources: [\"daemonsets\", \"deployments\"], verbs: [\"create\", \"patch\"]} in sea",
            ]
        );
    }
}
