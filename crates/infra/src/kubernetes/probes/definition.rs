//! The CRDs of an operator, as far as reading its objects needs them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::WebhookClientConfig;
use serde::Deserialize;

use super::call::{Call, Fault, base};

/// A CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// `certificates.cert-manager.io`.
    pub(super) name: String,
    pub(super) group: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// The version that objects are stored in.
    pub(super) storage: String,
    /// Other versions that are served.
    pub(super) others: Vec<String>,
    /// Whether a webhook converts between them.
    pub(super) converts: bool,
    /// The Service that it is reached by, where it is.
    pub(super) converter: Option<Converter>,
}

/// A Service that converts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Converter {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) port: i32,
    /// The authorities that its certificate has to come from, PEM.
    pub(super) authorities: Vec<u8>,
}

impl Definition {
    /// Where its objects of all namespaces are, at a version.
    pub(super) fn path(&self, version: &str) -> String {
        format!("{}/{}", base(&self.group, version), self.plural)
    }

    /// Where one of them is, at a version.
    pub(super) fn path_of(&self, version: &str, namespace: Option<&str>, name: &str) -> String {
        let base = base(&self.group, version);
        match namespace {
            Some(namespace) => format!("{base}/namespaces/{namespace}/{}/{name}", self.plural),
            None => format!("{base}/{}/{name}", self.plural),
        }
    }
}

#[derive(Deserialize)]
struct Crd {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    scope: String,
    names: Names,
    versions: Vec<Version>,
    conversion: Option<Conversion>,
}

#[derive(Deserialize)]
struct Names {
    kind: String,
    plural: String,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    served: bool,
    storage: bool,
}

#[derive(Deserialize)]
struct Conversion {
    strategy: String,
    webhook: Option<Webhook>,
}

#[derive(Deserialize)]
struct Webhook {
    #[serde(rename = "clientConfig")]
    client_config: Option<WebhookClientConfig>,
}

fn converter(conversion: Option<&Conversion>) -> Option<Converter> {
    let config =
        conversion.filter(|it| it.strategy == "Webhook")?.webhook.as_ref()?.client_config.as_ref()?;
    let service = config.service.as_ref()?;
    Some(Converter {
        namespace: service.namespace.clone(),
        name: service.name.clone(),
        port: service.port.unwrap_or(443),
        authorities: config.ca_bundle.as_ref().map(|bundle| bundle.0.clone()).unwrap_or_default(),
    })
}

/// Reads CRDs by name. Those that are not there are left out: an operator may bring some only with a
/// setting. Any other fault is handed back beside what could be read.
pub(super) async fn read(call: &Call, names: &[String]) -> (Vec<Definition>, Option<Fault>) {
    let reads = names.iter().map(|name| async move {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        call.get::<Crd>(&path).await.map(|crd| definition(name, crd))
    });
    let mut definitions = Vec::new();
    let mut fault = None;
    for read in futures::future::join_all(reads).await {
        match read {
            Ok(definition) => definitions.extend(definition),
            Err(absent) if absent.is_absence() => {}
            Err(other) => fault = Some(other),
        }
    }
    (definitions, fault)
}

fn definition(name: &str, crd: Crd) -> Option<Definition> {
    let storage = crd.spec.versions.iter().find(|version| version.storage)?;
    // The stored version need not be served; any served one will do then.
    let readable =
        if storage.served { storage } else { crd.spec.versions.iter().find(|version| version.served)? };
    let others = crd.spec.versions.iter().filter(|version| version.served && version.name != readable.name);
    Some(Definition {
        name: name.to_owned(),
        group: crd.spec.group,
        kind: crd.spec.names.kind,
        plural: crd.spec.names.plural,
        namespaced: crd.spec.scope == "Namespaced",
        storage: readable.name.clone(),
        others: others.map(|version| version.name.clone()).collect(),
        converter: converter(crd.spec.conversion.as_ref()),
        converts: crd.spec.conversion.is_some_and(|conversion| conversion.strategy == "Webhook"),
    })
}
