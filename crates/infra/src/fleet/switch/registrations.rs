//! Webhook registrations of one of two releases: put in force, and taken out of it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fleet::api::{Api, quoted};
use crate::fleet::colours::WEBHOOKS;
use crate::fleet::definition::{self, MANAGER};
use crate::fleet::fault::Fault;
use crate::fleet::object::{ObjectRef, annotation};
use crate::fleet::snapshot::registration;
use crate::fleet::workloads::let_go;

/// Annotations by which another tool is asked to inject a certificate.
const INJECTED: &[&str] = &[
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
];
const BUNDLE: &str = "/clientConfig/caBundle";
/// API servers hear of registrations, and nodes of endpoints, a moment after they were written; until then they call
/// whom they know.
pub(super) const HEARD: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(250);

/// The registrations of a release, each with what its manifest says.
pub(super) struct Registrations(Vec<(String, Value)>);

impl Registrations {
    pub(super) fn of(objects: &[Value]) -> Self {
        let all = objects.iter().filter_map(|it| Some((registration(&ObjectRef::of(it)?)?, it.clone())));
        Self(all.collect())
    }

    /// Whether somebody puts certificates into them: they have some that no manifest gave them.
    pub(super) async fn are_injected(&self, api: &Api) -> Result<bool, Fault> {
        for (path, manifest) in &self.0 {
            let Some(live) = api.find(path).await? else { continue };
            let noted = annotation(&live, WEBHOOKS).and_then(|text| serde_json::from_str::<Value>(text).ok());
            let webhooks = noted.as_ref().or_else(|| live.get("webhooks")).and_then(Value::as_array);
            let is_injected = |webhook: &Value| {
                webhook.pointer(BUNDLE).is_some()
                    && bundle(manifest, webhook).is_none_or(|text| !is_real(text))
            };
            if webhooks.into_iter().flatten().any(is_injected) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What they call, each with the certificate that it has to show.
    pub(super) async fn bundles(&self, api: &Api) -> Result<Vec<(Value, Value)>, Fault> {
        let mut found = Vec::new();
        for (path, _) in &self.0 {
            let live = api.find(path).await?.unwrap_or_default();
            for webhook in live.get("webhooks").and_then(Value::as_array).into_iter().flatten() {
                if let (Some(called), Some(bundle)) = (webhook.get("clientConfig"), webhook.pointer(BUNDLE)) {
                    found.push((called.clone(), bundle.clone()));
                }
            }
        }
        Ok(found)
    }

    /// Puts them in force. `injected` says that somebody puts certificates into them, though nothing asks for it
    /// by name. Where others answer meanwhile (`gently`) they fail open at first, until certificates are there and
    /// every node has heard of the pods behind their Services: nobody is turned away for want of either.
    pub(super) async fn put(&self, api: &Api, injected: bool, gently: bool) -> Result<(), Fault> {
        let mut all = Vec::new();
        for (path, _) in &self.0 {
            let Some(live) = api.find(path).await? else { continue };
            let Some(noted) = annotation(&live, WEBHOOKS) else { continue };
            let wanted: Vec<Value> = serde_json::from_str(noted).map_err(|_| {
                Fault::Failed(format!("the annotation {WEBHOOKS} of {path} is no list of webhooks"))
            })?;
            let asks = INJECTED.iter().any(|key| annotation(&live, key).is_some());
            let lacks = |webhook: &Value| {
                webhook.pointer("/clientConfig/service").is_some()
                    && webhook.pointer(BUNDLE).is_none_or(|text| !is_real(text))
            };
            let waits = asks || (injected && wanted.iter().any(lacks));
            if waits || gently {
                open(api, path, &wanted).await?;
            }
            all.push((path, wanted, waits));
        }
        for (path, wanted, waits) in &all {
            if *waits {
                Self::injected(api, path, wanted).await?;
            }
            for webhook in wanted {
                while gently && !leads_somewhere(api, webhook).await? {
                    pause(api, &format!("no pod that is ready is behind the Services of {path}")).await?;
                }
            }
        }
        if gently && !all.is_empty() {
            tokio::time::sleep(HEARD.min(api.left())).await;
        }
        for (path, wanted, _) in &all {
            let there = api.find(path).await?.unwrap_or_default();
            let webhooks: Vec<Value> = wanted.iter().map(|webhook| with_bundle(webhook, &there)).collect();
            write(api, path, &webhooks, None).await?;
        }
        Ok(())
    }

    /// Waits until every webhook of a registration has a certificate.
    async fn injected(api: &Api, path: &str, wanted: &[Value]) -> Result<(), Fault> {
        loop {
            let live = api.find(path).await?.unwrap_or_default();
            if wanted.iter().all(|webhook| bundle(&live, webhook).is_some_and(is_real)) {
                return Ok(());
            }
            pause(api, &format!("nobody injected a certificate into {path}")).await?;
        }
    }

    /// Takes them out of force; what they were is noted on them.
    pub(super) async fn clear(&self, api: &Api) -> Result<(), Fault> {
        for (path, _) in &self.0 {
            let Some(live) = api.find(path).await? else { continue };
            let webhooks = live.get("webhooks").and_then(Value::as_array).cloned().unwrap_or_default();
            if webhooks.is_empty() {
                continue;
            }
            // Those that were only half put in force are noted as they are meant.
            let noted = annotation(&live, WEBHOOKS).map(str::to_owned);
            let noted = noted.unwrap_or_else(|| Value::from(webhooks).to_string());
            write(api, path, &[], Some(&noted)).await?;
        }
        Ok(())
    }
}

/// Registers webhooks without whom requests pass; what they are to become stays noted.
async fn open(api: &Api, path: &str, wanted: &[Value]) -> Result<(), Fault> {
    let mut open = wanted.to_vec();
    for webhook in &mut open {
        webhook["failurePolicy"] = "Ignore".into();
        // One that is none would look as if it had been injected.
        if let Some(config) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut)
            && config.get("caBundle").is_some_and(|text| !is_real(text))
        {
            config.remove("caBundle");
        }
    }
    let noted = Value::from(wanted.to_vec()).to_string();
    write(api, path, &open, Some(&noted)).await
}

/// Whether the Service of a webhook has an endpoint; one that is not there, or has no pods of its own, is not
/// waited for.
async fn leads_somewhere(api: &Api, webhook: &Value) -> Result<bool, Fault> {
    let text = |key: &str| webhook.pointer(&format!("/clientConfig/service/{key}")).and_then(Value::as_str);
    let (Some(namespace), Some(name)) = (text("namespace"), text("name")) else { return Ok(true) };
    let service = api.find(&format!("/api/v1/namespaces/{namespace}/services/{name}")).await?;
    if service.is_none_or(|service| service.pointer("/spec/selector").is_none()) {
        return Ok(true);
    }
    let selector = quoted(&format!("kubernetes.io/service-name={name}"));
    let slices =
        format!("/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?labelSelector={selector}");
    let slices = api.get(&slices).await?;
    let endpoints = slices.get("items").and_then(Value::as_array).into_iter().flatten();
    let mut endpoints = endpoints.filter_map(|slice| slice.get("endpoints")?.as_array()).flatten();
    Ok(endpoints
        .any(|endpoint| endpoint.pointer("/conditions/ready").and_then(Value::as_bool) != Some(false)))
}

async fn pause(api: &Api, what: &str) -> Result<(), Fault> {
    if api.left() < 4 * PAUSE {
        return Err(Fault::Failed(what.to_owned()));
    }
    tokio::time::sleep(PAUSE).await;
    Ok(())
}

async fn write(api: &Api, path: &str, webhooks: &[Value], noted: Option<&str>) -> Result<(), Fault> {
    let patch = json!({"metadata": {"annotations": {WEBHOOKS: noted}}, "webhooks": webhooks});
    api.merge(&format!("{path}?fieldManager={MANAGER}"), &patch).await?;
    Ok(let_go(api, path).await?)
}

fn bundle<'a>(live: &'a Value, webhook: &Value) -> Option<&'a Value> {
    let all = live.get("webhooks").and_then(Value::as_array);
    let same = all.into_iter().flatten().find(|other| other.get("name") == webhook.get("name"))?;
    same.pointer(BUNDLE)
}

fn is_real(bundle: &Value) -> bool {
    bundle.as_str().is_some_and(definition::is_real)
}

/// A webhook with the certificate that is there, where it has none of its own.
fn with_bundle(webhook: &Value, live: &Value) -> Value {
    let mut webhook = webhook.clone();
    if let Some(there) = bundle(live, &webhook).cloned() {
        webhook["clientConfig"]["caBundle"] = there;
    }
    webhook
}
