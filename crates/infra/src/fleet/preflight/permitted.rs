//! Whether the cluster would take every manifest, and whether we may bring it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use slipway_domain::preflight::{CheckKind, Finding, Level};

use super::super::api::{Api, Trouble};
use super::super::kinds::Kind;
use super::items::{Item, Leaving, Tried};
use super::refusal::Said;
use super::rights::{Right, missing, rules};

/// What a plan needs to be allowed beside its manifests.
pub(super) struct Needs<'a> {
    pub(super) items: &'a [Item],
    pub(super) leaving: &'a [Leaving],
    /// Hooks, by their kinds and namespaces.
    pub(super) hooks: &'a [(Kind, Option<String>)],
    /// Whether there are CRDs to be applied.
    pub(super) crds: bool,
    /// The namespace of the release.
    pub(super) namespace: &'a str,
    /// Whether it has to be made.
    pub(super) makes_namespace: bool,
    /// The names of the operator's own webhooks.
    pub(super) own_webhooks: &'a BTreeSet<String>,
}

impl Needs<'_> {
    fn rights(&self) -> BTreeSet<Right> {
        let mut rights = BTreeSet::new();
        let mut add = |group: &str, resource: &str, namespace: Option<&str>, verbs: &[&'static str]| {
            for &verb in verbs {
                rights.insert(Right {
                    group: group.to_owned(),
                    resource: resource.to_owned(),
                    verb,
                    namespace: namespace.map(str::to_owned),
                });
            }
        };
        for item in self.items {
            if let Some(Kind { group, plural, .. }) = &item.kind {
                let verbs: &[&str] = if item.live.is_some() {
                    &["get", "patch", "update"]
                } else {
                    &["get", "create", "patch"]
                };
                add(group, plural, item.it.namespace.as_deref(), verbs);
            }
        }
        for leaving in self.leaving {
            add(
                &leaving.kind.group,
                &leaving.kind.plural,
                leaving.it.namespace.as_deref(),
                &["get", "delete"],
            );
        }
        for (kind, namespace) in self.hooks {
            add(&kind.group, &kind.plural, namespace.as_deref(), &["get", "create", "delete", "watch"]);
        }
        if self.crds {
            let verbs = &["get", "create", "patch"];
            add("apiextensions.k8s.io", "customresourcedefinitions", None, verbs);
        }
        if self.makes_namespace {
            add("", "namespaces", None, &["get", "create"]);
        }
        // Where helm keeps its releases.
        add("", "secrets", Some(self.namespace), &["get", "list", "create", "update", "delete"]);
        rights
    }

    /// What was found.
    pub(super) async fn findings(&self, api: &Api) -> Result<Vec<Finding>, Trouble> {
        let mut found = Vec::new();
        let finding = |level, text: String| Finding::new(CheckKind::Permitted, level, text);
        let missing = missing(api, &self.rights()).await?;
        let mut grants = Vec::new();
        let mut untried: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for item in self.items {
            let name = item.it.to_string();
            match &item.tried {
                Tried::Taken(_) => {}
                Tried::Untried(why) => untried.entry(why).or_default().push(name),
                Tried::Refused(Said::Escalation(_)) => grants.push(name),
                Tried::Refused(Said::NotPermitted) => {
                    // Named below, unless only the attempt itself was refused.
                    if missing.is_empty() {
                        let text = format!("the cluster does not let us change {name}");
                        found.push(finding(Level::Refused, text));
                    }
                }
                Tried::Refused(Said::WebhookDown { webhook, why }) => {
                    let own = self.own_webhooks.contains(webhook);
                    let (level, words) = if own {
                        (Level::Warning, "the operator's own webhook")
                    } else {
                        (Level::Refused, "webhook")
                    };
                    found.push(
                        finding(level, format!("{words} \"{webhook}\" cannot be called: {why}"))
                            .about([name]),
                    );
                }
                Tried::Refused(Said::No(why)) => {
                    found.push(finding(Level::Refused, format!("the cluster would refuse {name}: {why}")));
                }
                Tried::Refused(Said::NoDryRun(webhook)) => {
                    untried.entry(webhook).or_default().push(name);
                }
            }
        }
        if !missing.is_empty() {
            let text = "our account on the cluster lacks rights; renew its role with slipway cluster add, or give \
                        it these rules";
            found.push(finding(Level::Refused, text.to_owned()).about(rules(&missing)));
        }
        if !grants.is_empty() {
            let text = "these give rights that our account does not have itself; it needs the verbs bind and \
                        escalate: {apiGroups: [\"rbac.authorization.k8s.io\"], resources: [\"clusterroles\", \
                        \"roles\"], verbs: [\"bind\", \"escalate\"]}";
            found.push(finding(Level::Refused, text.to_owned()).about(grants));
        }
        for (why, objects) in untried {
            found.push(finding(Level::Unknown, format!("not tried: {why}")).about(objects));
        }
        if found.is_empty() {
            found.push(finding(Level::Passed, "the cluster would take every object".to_owned()));
        }
        Ok(found)
    }
}

/// The names of the webhooks that manifests register.
pub(super) fn webhooks<'a>(manifests: impl Iterator<Item = &'a Value>) -> BTreeSet<String> {
    manifests
        .filter(|manifest| {
            let kind = manifest.get("kind").and_then(Value::as_str).unwrap_or_default();
            kind.ends_with("WebhookConfiguration")
        })
        .filter_map(|manifest| manifest.get("webhooks")?.as_array())
        .flatten()
        .filter_map(|webhook| webhook.get("name")?.as_str().map(str::to_owned))
        .collect()
}
