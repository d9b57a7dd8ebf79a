//! What changing a live definition would do.

use std::fmt::Write;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use slipway_crd_compat::compare;
use slipway_crd_compat::crd::Crd;
use slipway_crd_compat::finding::{Finding, Severity};
use slipway_crd_compat::live::{LiveOptions, LiveReport, Standing, check_objects};
use slipway_crd_compat::options::{KubernetesVersion, Options};
use slipway_crd_compat::report::Report;
use tracing::warn;

use super::InstallError;

/// Objects read at once.
const PAGE: u32 = 500;

/// Objects named in a message; all are counted.
const NAMED: usize = 5;

/// What changing a live definition would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgment {
    /// Every difference, judged.
    pub report: Report,
    /// What becomes of the objects that exist; none when nobody looked.
    pub objects: Option<LiveReport>,
}

/// Versions that objects are stored in and that the new definition no longer has.
pub(super) fn dropped_stored_versions(
    live: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
) -> Vec<String> {
    let stored = live.status.as_ref().and_then(|status| status.stored_versions.clone()).unwrap_or_default();
    let kept = |name: &String| new.spec.versions.iter().any(|version| version.name == *name);
    stored.into_iter().filter(|name| !kept(name)).collect()
}

impl Judgment {
    /// Compares two definitions, and what is stored under the old one with the new one.
    pub(super) async fn of(
        client: &Client,
        live: &CustomResourceDefinition,
        new: &CustomResourceDefinition,
        look: bool,
    ) -> Result<Judgment, InstallError> {
        let name = new.name_any();
        let (old, new) = (parsed(&name, live)?, parsed(&name, new)?);
        let mut options = Options::at(Timestamp::now());
        if let Ok(info) = client.apiserver_version().await
            && let Ok(version) = format!("{}.{}", info.major, info.minor).parse::<KubernetesVersion>()
        {
            options = options.with_kubernetes(version);
        }
        let report = compare(&old, &new, &options);
        let breaking = report.severity() == Severity::Breaking;
        // Reading every object is worth it only when there is something to say about them.
        let objects = if look && breaking { read_objects(client, live).await } else { None };
        let objects = objects.map(|found| {
            let keep = LiveOptions::default();
            check_objects(&new, &found, &keep)
        });
        Ok(Judgment { report, objects })
    }

    /// Whether something that worked would be refused, lost, or gone.
    pub fn breaks(&self) -> bool {
        self.report.severity() == Severity::Breaking
    }

    fn breaking(&self) -> impl Iterator<Item = &Finding> {
        self.report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Breaking && finding.counts())
    }

    /// What breaks, one line for each finding, and which objects it hits.
    pub fn summary(&self) -> String {
        let mut text = format!("the change of {} breaks what is there:", self.report.name);
        for finding in self.breaking() {
            let version = finding.version.as_ref().map(|version| format!("{version} ")).unwrap_or_default();
            let Finding { id, path, message, remedy, .. } = finding;
            let _ = write!(text, "\n  {id} at {version}{path}: {message}; {remedy}");
        }
        if let Some(objects) = &self.objects {
            let hit = |object: &&slipway_crd_compat::live::LiveObject| object.standing != Standing::Fine;
            let names: Vec<String> =
                objects.objects.iter().filter(hit).take(NAMED).map(|object| object.id.to_string()).collect();
            let count = objects.checked - objects.fine;
            let of = objects.checked;
            if count > 0 {
                let more = if count > names.len() { ", …" } else { "" };
                let _ = write!(
                    text,
                    "\n  {count} of {of} objects would be refused or lose fields: {}{more}",
                    names.join(", ")
                );
            } else {
                let _ = write!(text, "\n  none of the {of} objects that exist now would be refused");
            }
        }
        text
    }
}

fn parsed(name: &str, crd: &CustomResourceDefinition) -> Result<Crd, InstallError> {
    let value =
        serde_json::to_value(crd).map_err(|source| InstallError::Json { name: name.to_owned(), source })?;
    Crd::from_value(value).map_err(|source| InstallError::Shape { name: name.to_owned(), source })
}

/// Every object of the kind; none when they may not be read, which is not a reason to stop.
async fn read_objects(client: &Client, crd: &CustomResourceDefinition) -> Option<Vec<Value>> {
    let version = crd.spec.versions.iter().find(|version| version.storage && version.served);
    let version = version.or_else(|| crd.spec.versions.iter().find(|version| version.served))?;
    let resource = ApiResource {
        group: crd.spec.group.clone(),
        version: version.name.clone(),
        api_version: format!("{}/{}", crd.spec.group, version.name),
        kind: crd.spec.names.kind.clone(),
        plural: crd.spec.names.plural.clone(),
    };
    let api = Api::<DynamicObject>::all_with(client.clone(), &resource);
    let mut parameters = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = match api.list(&parameters).await {
            Ok(page) => page,
            Err(error) => {
                warn!(
                    kind = crd.spec.names.kind,
                    error = &error as &dyn std::error::Error,
                    "objects were not read; the change is judged without them"
                );
                return None;
            }
        };
        for mut object in page.items {
            object.types.get_or_insert_with(|| kube::core::TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            });
            found.extend(serde_json::to_value(object).ok());
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Some(found),
        }
    }
}
