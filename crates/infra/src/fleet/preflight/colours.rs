//! Whether two colours can stand beside each other: what has the same name in both cannot.

use std::collections::BTreeSet;

use serde_json::Value;
use slipway_domain::preflight::{CheckKind, Finding, Level};
use slipway_domain::profile::Handover;
use slipway_orchestrator::ports::fleet::Subject;

use super::super::api::{Api, Trouble};
use super::super::conversion;
use super::super::crds::{name, path};
use super::super::definition::release_of;
use super::installed::Installed;
use super::items::Item;

/// What was found, where there are to be two colours.
pub(super) async fn findings(
    api: &Api,
    subject: &Subject,
    installed: Option<&Installed>,
    items: &[Item],
    crds: &[Value],
) -> Result<Vec<Finding>, Trouble> {
    if subject.placement.beside.is_none() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let finding = |level, text: &str| Finding::new(CheckKind::Colours, level, text);
    let first = &subject.placement.release;
    let shared: Vec<String> = items
        .iter()
        .filter(|item| {
            let release = item.live.as_ref().and_then(release_of);
            release == Some((first.namespace.as_str(), first.name.as_str()))
        })
        .map(|item| item.it.to_string())
        .collect();
    if !shared.is_empty() {
        let text = "both colours would have these under one name, so they cannot stand beside each other; name \
                    values in the profile's colouredValues that make the names differ, or take another strategy";
        found.push(finding(Level::Refused, text).about(shared));
    }
    let injected = match installed {
        Some(installed) => injected(api, installed, &first.namespace).await?,
        None => Vec::new(),
    };
    if !injected.is_empty() {
        let (level, text) = if subject.profile.coloured_values.is_empty() {
            (
                Level::Refused,
                "the operator registers these webhooks itself, and both colours would fight over them; name values \
                 in the profile's colouredValues that keep them apart, or take another strategy",
            )
        } else {
            (
                Level::Warning,
                "the operator registers these webhooks itself; the profile's colouredValues have to keep them apart",
            )
        };
        found.push(finding(level, text).about(injected));
    }
    let mut unconverted = Vec::new();
    for crd in crds {
        if let Some(live) = api.find(&path(name(crd))).await?
            && conversion::is_new(crd, &live)
        {
            unconverted.push(format!("CustomResourceDefinition {}", name(crd)));
        }
    }
    if !unconverted.is_empty() {
        let text = "the new version converts these by a webhook, which nobody answers before the switch; take another \
                    strategy for this version";
        found.push(finding(Level::Refused, text).about(unconverted));
    }
    let apart =
        subject.placement.beside.as_ref().is_some_and(|beside| beside.release.namespace != first.namespace);
    if let (true, Handover::Standby, Some(lease)) = (apart, subject.profile.handover, &subject.profile.lease)
        && lease.namespace.is_none()
    {
        let text = format!(
            "both colours have to elect their leader on one Lease, and each would look for {} in its own namespace; \
             name a namespace in the profile's lease, and values in colouredValues that make both use it, or let \
             both colours be in one namespace",
            lease.name
        );
        found.push(finding(Level::Refused, &text));
    }
    if found.is_empty() {
        found.push(finding(Level::Passed, "both colours can stand beside each other"));
    }
    Ok(found)
}

/// The webhook registrations that point to the release and that helm did not make.
async fn injected(api: &Api, installed: &Installed, namespace: &str) -> Result<Vec<String>, Trouble> {
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let of_kind = |kind: &'static str| installed.objects.iter().filter(move |object| object["kind"] == kind);
    let services: BTreeSet<(String, String)> = of_kind("Service")
        .filter_map(|service| {
            let place = text(service, "/metadata/namespace").unwrap_or_else(|| namespace.to_owned());
            Some((place, text(service, "/metadata/name")?))
        })
        .collect();
    let mut found = Vec::new();
    for (kind, plural) in [
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ] {
        let made: BTreeSet<String> = of_kind(kind).filter_map(|it| text(it, "/metadata/name")).collect();
        let list = api.get(&format!("/apis/admissionregistration.k8s.io/v1/{plural}")).await?;
        for registration in list.get("items").and_then(Value::as_array).into_iter().flatten() {
            let Some(name) = text(registration, "/metadata/name").filter(|name| !made.contains(name)) else {
                continue;
            };
            let webhooks = registration.get("webhooks").and_then(Value::as_array).into_iter().flatten();
            let calls_it = |webhook: &Value| {
                let service = |key: &str| text(webhook, &format!("/clientConfig/service/{key}"));
                service("namespace").zip(service("name")).is_some_and(|service| services.contains(&service))
            };
            if webhooks.into_iter().any(calls_it) {
                found.push(format!("{kind} {name}"));
            }
        }
    }
    Ok(found)
}
