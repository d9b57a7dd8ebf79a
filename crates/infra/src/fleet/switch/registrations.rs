//! Webhook registrations of one of two releases: put in force, and taken out of it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fleet::api::Api;
use crate::fleet::colours::WEBHOOKS;
use crate::fleet::definition::MANAGER;
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
const PAUSE: Duration = Duration::from_millis(250);

/// The registrations of a release, each with what its manifest says.
pub(super) struct Registrations(Vec<(String, Value)>);

impl Registrations {
    pub(super) fn of(objects: &[Value]) -> Self {
        let all = objects.iter().filter_map(|it| Some((registration(&ObjectRef::of(it)?)?, it.clone())));
        Self(all.collect())
    }

    /// Puts them in force. At first they fail open, until whoever injects certificates did so: nobody is turned
    /// away for want of one.
    pub(super) async fn put(&self, api: &Api) -> Result<(), Fault> {
        for (path, _) in &self.0 {
            let Some(live) = api.find(path).await? else { continue };
            let Some(noted) = annotation(&live, WEBHOOKS) else { continue };
            let wanted: Vec<Value> = serde_json::from_str(noted).map_err(|_| {
                Fault::Failed(format!("the annotation {WEBHOOKS} of {path} is no list of webhooks"))
            })?;
            let injected = INJECTED.iter().any(|key| annotation(&live, key).is_some());
            if injected {
                self.inject(api, path, &wanted).await?;
            }
            let there = api.find(path).await?.unwrap_or_default();
            let webhooks: Vec<Value> = wanted.iter().map(|webhook| with_bundle(webhook, &there)).collect();
            write(api, path, &webhooks, None).await?;
        }
        Ok(())
    }

    async fn inject(&self, api: &Api, path: &str, wanted: &[Value]) -> Result<(), Fault> {
        let mut open = wanted.to_vec();
        for webhook in &mut open {
            webhook["failurePolicy"] = "Ignore".into();
        }
        let noted = Value::from(wanted.to_vec()).to_string();
        write(api, path, &open, Some(&noted)).await?;
        loop {
            let live = api.find(path).await?.unwrap_or_default();
            if wanted.iter().all(|webhook| bundle(&live, webhook).is_some()) {
                return Ok(());
            }
            if api.left() < 4 * PAUSE {
                return Err(Fault::Failed(format!("nobody injected a certificate into {path}")));
            }
            tokio::time::sleep(PAUSE).await;
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
            let noted = Value::from(webhooks).to_string();
            write(api, path, &[], Some(&noted)).await?;
        }
        Ok(())
    }
}

async fn write(api: &Api, path: &str, webhooks: &[Value], noted: Option<&str>) -> Result<(), Fault> {
    let patch = json!({"metadata": {"annotations": {WEBHOOKS: noted}}, "webhooks": webhooks});
    api.merge(&format!("{path}?fieldManager={MANAGER}"), &patch).await?;
    Ok(let_go(api, path).await?)
}

fn bundle<'a>(live: &'a Value, webhook: &Value) -> Option<&'a Value> {
    let all = live.get("webhooks").and_then(Value::as_array);
    let same = all.into_iter().flatten().find(|other| other.get("name") == webhook.get("name"))?;
    same.pointer("/clientConfig/caBundle")
}

/// A webhook with the certificate that is there, where it has none of its own.
fn with_bundle(webhook: &Value, live: &Value) -> Value {
    let mut webhook = webhook.clone();
    if let Some(there) = bundle(live, &webhook).cloned() {
        webhook["clientConfig"]["caBundle"] = there;
    }
    webhook
}
