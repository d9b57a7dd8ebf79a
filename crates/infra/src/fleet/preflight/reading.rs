//! Looking where not everything may be read: the report then says what is missing, as rules of a role.

use std::collections::BTreeSet;

use jiff::Timestamp;
use slipway_domain::preflight::{CheckKind, Finding, Level, Preflight, Return};
use slipway_orchestrator::ports::fleet::Subject;

use super::super::api::Api;
use super::super::fault::Fault;
use super::super::site::{Site, made};
use super::rights::{Right, missing, rules};

const READ: &[&str] = &["get", "list"];
const VERBS: [&str; 8] = ["get", "list", "watch", "create", "patch", "update", "delete", "deletecollection"];

/// Looks. Changes nothing.
pub(crate) async fn look(site: &Site, subject: &Subject, now: Timestamp) -> Result<Preflight, Fault> {
    let reason = match super::all(site, subject, now).await {
        Err(Fault::Failed(reason)) if reason.contains(" is forbidden: ") => reason,
        other => return other,
    };
    let api =
        Api::new(site.client.clone(), subject.cluster.as_str(), std::time::Instant::now() + super::PATIENCE);
    let mut wanted = reads(subject);
    wanted.extend(refused(&reason));
    let missing = missing(&api, &wanted).await?;
    let mut report = Preflight {
        at: now,
        from: None,
        to: subject.version.clone(),
        findings: Vec::new(),
        changes: Vec::new(),
        crds: Vec::new(),
        going_back: Return::Reversible,
        values: Vec::new(),
        digest: String::new(),
    };
    report.findings.push(told(&missing, &reason));
    Ok(report)
}

/// The rights without which nothing can be told of an operator.
pub(super) fn reads(subject: &Subject) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    let mut add = |group: &str, resource: &str, namespace: Option<&str>| {
        for &verb in READ {
            let (group, resource) = (group.to_owned(), resource.to_owned());
            rights.insert(Right { group, resource, verb, namespace: namespace.map(str::to_owned) });
        }
    };
    add("", "namespaces", None);
    add("apiextensions.k8s.io", "customresourcedefinitions", None);
    for resource in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        add("admissionregistration.k8s.io", resource, None);
    }
    for crd in &subject.crds {
        if let Some((plural, group)) = crd.split_once('.') {
            add(group, plural, None);
        }
    }
    for namespace in [&subject.placement.release.namespace, &made(subject).namespace] {
        for resource in ["secrets", "pods", "services"] {
            add("", resource, Some(namespace));
        }
        for resource in ["deployments", "statefulsets", "daemonsets", "replicasets"] {
            add("apps", resource, Some(namespace));
        }
        add("autoscaling", "horizontalpodautoscalers", Some(namespace));
        add("discovery.k8s.io", "endpointslices", Some(namespace));
    }
    rights
}

/// The right that a refusal names: `… cannot list resource "secrets" in API group "" in the namespace "sea"`.
fn refused(reason: &str) -> Option<Right> {
    let (_, rest) = reason.split_once(" cannot ")?;
    let (verb, rest) = rest.split_once(" resource \"")?;
    let (resource, rest) = rest.split_once("\" in API group \"")?;
    let (group, rest) = rest.split_once('"')?;
    let namespace =
        rest.split_once("in the namespace \"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
    let verb = VERBS.into_iter().find(|known| *known == verb)?;
    Some(Right {
        group: group.to_owned(),
        resource: resource.to_owned(),
        verb,
        namespace: namespace.map(str::to_owned),
    })
}

fn told(missing: &BTreeSet<Right>, reason: &str) -> Finding {
    let finding = |text: String| Finding::new(CheckKind::Permitted, Level::Refused, text);
    if missing.is_empty() {
        return finding(format!("something may not be read: {reason}"));
    }
    let text = "our account on the cluster may not read what has to be looked at; renew its role with slipway cluster \
                add, or give it these rules, and more may be told";
    finding(text.to_owned()).about(rules(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_right_that_is_missing() {
        let right = refused(
            "secrets is forbidden: User \"x\" cannot list resource \"secrets\" in API group \"\" in the namespace \"sea\"",
        );
        let expected = Right {
            group: String::new(),
            resource: "secrets".to_owned(),
            verb: "list",
            namespace: Some("sea".to_owned()),
        };
        assert_eq!(right, Some(expected));
        let right = refused(
            "boats.sea.dev is forbidden: User \"x\" cannot get resource \"boats\" in API group \"sea.dev\" at the cluster scope",
        );
        assert_eq!(right.map(|right| (right.group, right.namespace)), Some(("sea.dev".to_owned(), None)));
        assert_eq!(refused("pods \"a\" is forbidden: exceeded quota"), None);
    }
}
