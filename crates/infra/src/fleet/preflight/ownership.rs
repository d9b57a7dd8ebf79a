//! Whose the objects are that would be changed.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_domain::operator::Manager;
use slipway_domain::preflight::{CheckKind, Finding, Level};
use slipway_orchestrator::ports::fleet::Subject;

use super::super::crds::is_of;
use super::super::definition::release_of;
use super::super::site::made;
use super::installed::Installed;
use super::items::Item;
use crate::releases::manager::{Mark, of_value};

/// What tools are called.
fn words(manager: Manager) -> &'static str {
    match manager {
        Manager::Helm => "helm",
        Manager::Slipway => "Slipway",
        Manager::ArgoCd => "Argo CD",
        Manager::Flux => "Flux",
        Manager::Olm => "OLM",
    }
}

fn called(mark: &Mark) -> String {
    match &mark.reference {
        Some(reference) => format!("{} ({reference})", words(mark.manager)),
        None => words(mark.manager).to_owned(),
    }
}

/// What was found about owners. `crds` are those that are there, of those that would be applied.
pub(super) fn findings(
    subject: &Subject,
    installed: Option<&Installed>,
    items: &[Item],
    crds: &[Value],
) -> Vec<Finding> {
    let mut found = Vec::new();
    let refused = |text: String| Finding::new(CheckKind::Ownership, Level::Refused, text);
    let there = items.iter().filter_map(|item| Some((item.it.to_string(), item.live.as_ref()?))).chain(
        crds.iter().map(|crd| (format!("CustomResourceDefinition {}", super::super::crds::name(crd)), crd)),
    );
    let mut managed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (name, live) in there {
        if let Some(mark) = of_value(live) {
            managed.entry(called(&mark)).or_default().push(name.clone());
        }
        if let Some(release) = release_of(live)
            && !is_of(&subject.placement, release)
        {
            let (namespace, release) = release;
            others.entry((namespace.to_owned(), release.to_owned())).or_default().push(name);
        }
    }
    if let Some(mark) = installed.and_then(|installed| installed.mark.as_ref()) {
        managed.entry(called(mark)).or_default();
    }
    for (manager, objects) in managed {
        let text = format!(
            "{manager} manages it and would take every change back; it is not touched until it is handed over: \
             have {manager} give it up first"
        );
        found.push(refused(text).about(objects));
    }
    for ((namespace, release), objects) in others {
        let text = format!("the release {release} in {namespace} owns what would be changed");
        found.push(refused(text).about(objects));
    }
    let release = made(subject);
    let nobodys: Vec<String> = items
        .iter()
        .filter(|item| item.stored.is_none())
        .filter(|item| item.live.as_ref().is_some_and(|live| release_of(live).is_none()))
        .map(|item| item.it.to_string())
        .collect();
    if !nobodys.is_empty() {
        let text = format!(
            "these are there already and belong to no release, so helm does not take them; remove them, or give \
             them to the release with the label app.kubernetes.io/managed-by=Helm and the annotations \
             meta.helm.sh/release-name={} and meta.helm.sh/release-namespace={}",
            release.name, release.namespace
        );
        found.push(refused(text).about(nobodys));
    }
    if found.is_empty() {
        found.push(Finding::new(
            CheckKind::Ownership,
            Level::Passed,
            "nobody else owns what would be changed",
        ));
    }
    found
}
