//! What a helm release consists of, from the manifest that helm keeps in the cluster.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::Value;
use slipway_domain::health::WebhookKind;
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::call::{Call, Fault, quoted};
use crate::releases::decode;

/// A workload of a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkloadRef {
    /// `Deployment`, `StatefulSet` or `DaemonSet`.
    pub kind: String,
    /// Where.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What of a release counts for its health.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// Its workloads.
    pub workloads: BTreeSet<WorkloadRef>,
    /// Its services, by namespace and name.
    pub services: BTreeSet<(String, String)>,
    /// Its webhook registrations.
    pub registrations: BTreeSet<(Registration, String)>,
    /// The CRDs among its templates.
    pub crds: BTreeSet<String>,
    /// Where it is installed.
    pub namespaces: BTreeSet<String>,
}

/// Which kind of webhook registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registration {
    /// `ValidatingWebhookConfiguration`.
    Validating,
    /// `MutatingWebhookConfiguration`.
    Mutating,
}

impl From<Registration> for WebhookKind {
    fn from(registration: Registration) -> Self {
        match registration {
            Registration::Validating => Self::Validating,
            Registration::Mutating => Self::Mutating,
        }
    }
}

impl Subject {
    /// From a manifest; what names no namespace is in that of the release.
    pub fn of_manifest(manifest: &str, namespace: &str) -> Result<Self, String> {
        let documents = slipway_manifests::read(manifest).map_err(|error| error.to_string())?;
        Ok(Self::of_objects(documents.iter().map(|document| &document.value), namespace))
    }

    /// From objects; what names no namespace is in that of the release.
    pub fn of_objects<'a>(objects: impl IntoIterator<Item = &'a Value>, namespace: &str) -> Self {
        let mut subject = Self::default();
        subject.namespaces.insert(namespace.to_owned());
        for object in objects {
            subject.add(object, namespace);
        }
        subject
    }

    fn add(&mut self, object: &Value, namespace: &str) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let Some(kind) = text("/kind") else { return };
        if kind == "List" {
            let items = object.pointer("/items").and_then(Value::as_array);
            items.into_iter().flatten().for_each(|item| self.add(item, namespace));
        }
        let Some(name) = text("/metadata/name") else { return };
        let namespace = text("/metadata/namespace").unwrap_or(namespace).to_owned();
        let name = name.to_owned();
        match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" => {
                self.workloads.insert(WorkloadRef { kind: kind.to_owned(), namespace, name });
            }
            "Service" => {
                self.services.insert((namespace, name));
            }
            "ValidatingWebhookConfiguration" => {
                self.registrations.insert((Registration::Validating, name));
            }
            "MutatingWebhookConfiguration" => {
                self.registrations.insert((Registration::Mutating, name));
            }
            "CustomResourceDefinition" => {
                self.crds.insert(name);
            }
            _ => {}
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.workloads.extend(other.workloads.iter().cloned());
        self.services.extend(other.services.iter().cloned());
        self.registrations.extend(other.registrations.iter().cloned());
        self.crds.extend(other.crds.iter().cloned());
        self.namespaces.extend(other.namespaces.iter().cloned());
    }
}

/// A revision of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    number: u64,
    secret: String,
    /// Of its Secret: a release that was removed and installed anew counts its revisions anew, too.
    pub(super) uid: String,
}

#[derive(Deserialize)]
struct List {
    // A list of names and labels alone says null where it has none.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: std::collections::BTreeMap<String, String>,
}

/// The revision that is deployed, or the newest if none is: found without reading any manifest.
pub(super) async fn newest(call: &Call, release: &ReleaseAt) -> Result<Revision, Fault> {
    let selector = quoted(&format!("owner=helm,name={}", release.name));
    let path = format!("/api/v1/namespaces/{}/secrets?labelSelector={selector}", release.namespace);
    let list: List = call.metadata(&path).await?;
    let mut revisions: Vec<(bool, Revision)> = list
        .items
        .unwrap_or_default()
        .into_iter()
        .filter_map(|Item { metadata }| {
            let number = metadata.labels.get("version")?.parse().ok()?;
            let deployed = metadata.labels.get("status").is_some_and(|status| status == "deployed");
            Some((deployed, Revision { number, secret: metadata.name, uid: metadata.uid }))
        })
        .collect();
    revisions.sort_by_key(|(deployed, revision)| (*deployed, revision.number));
    revisions.pop().map(|(_, revision)| revision).ok_or_else(|| {
        Fault::Strange(format!(
            "there is no helm release {} in namespace {}",
            release.name, release.namespace
        ))
    })
}

/// Reads a revision.
pub(super) async fn read(call: &Call, release: &ReleaseAt, revision: &Revision) -> Result<Subject, Fault> {
    #[derive(Deserialize)]
    struct Secret {
        data: std::collections::BTreeMap<String, ByteString>,
    }
    #[derive(Deserialize)]
    struct Stored {
        #[serde(default)]
        manifest: String,
    }
    let strange = |what: &str| {
        Fault::Strange(format!("helm release {} in {}: {what}", release.name, release.namespace))
    };
    let path = format!("/api/v1/namespaces/{}/secrets/{}", release.namespace, revision.secret);
    let secret: Secret = call.get(&path).await?;
    let outer = secret.data.get("release").ok_or_else(|| strange("its Secret holds no release"))?;
    let stored: Stored = decode::release(&outer.0).map_err(|why| strange(&why))?;
    Subject::of_manifest(&stored.manifest, &release.namespace)
        .map_err(|error| strange(&format!("its manifest cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_tells_what_counts() {
        let manifest = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
---
apiVersion: v1
kind: Service
metadata: {name: webhook, namespace: elsewhere}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: boats}
---
apiVersion: v1
kind: List
items:
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: boats.sea.dev}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored}
";
        let subject = Subject::of_manifest(manifest, "boats").unwrap();
        assert_eq!(
            subject.workloads.into_iter().collect::<Vec<_>>(),
            [WorkloadRef { kind: "Deployment".into(), namespace: "boats".into(), name: "operator".into() }]
        );
        assert!(subject.services.contains(&("elsewhere".into(), "webhook".into())));
        assert!(subject.registrations.contains(&(Registration::Validating, "boats".into())));
        assert!(subject.crds.contains("boats.sea.dev"));
        assert!(Subject::of_manifest("a: [", "boats").is_err());
    }
}
