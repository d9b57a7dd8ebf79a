//! What is there before a cluster is touched. Changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use slipway_crd_compat::crd::Crd;
use slipway_domain::rollout::{Before, Found, Outcome};
use slipway_orchestrator::ports::fleet::{Act, Acted, KeptRelease, Snapshot};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::Api;
use super::custom::{Pages, kept, readable, text};
use super::definition::PATH;
use super::fault::Fault;
use super::kinds::Kind;
use super::object::{ObjectRef, read_all};
use super::render::is_crd;
use super::reread;
use super::revisions::{self, Record};
use super::site::Site;
use super::workloads::Workload;

/// Does the step.
pub(super) async fn take(site: &Site, act: &Act) -> Result<Acted, Fault> {
    let api = Api::of_act(site.client.clone(), act);
    let release = &act.subject.placement.release;
    let mut snapshot = Snapshot::default();
    let mut before = Before { version: None, revision: None };
    let mut names: BTreeSet<String> = act.subject.crds.iter().cloned().collect();
    if let Some((record, stored)) = good(&api, release).await? {
        let kept = kept_release(&record, &stored);
        let objects = read_all(&kept.manifest).map_err(|why| {
            Fault::Failed(format!("the manifest of {} cannot be read: {why}", record.secret))
        })?;
        names.extend(objects.iter().filter(|it| is_crd(it)).filter_map(|it| Some(ObjectRef::of(it)?.name)));
        for workload in Workload::of(&objects, &release.namespace) {
            if let Some(replicas) = workload.replicas(&api).await? {
                snapshot.replicas.insert(workload.to_string(), replicas);
            }
        }
        snapshot.webhooks = registrations(&api, &objects).await?;
        before = Before { version: kept.version.parse().ok(), revision: Some(record.revision(release)) };
        snapshot.release = Some(kept);
    }
    // Others of the same groups may be changed by the operator itself, at run time.
    let known: Vec<String> = names.iter().cloned().collect();
    let groups = reread::groups(&known);
    for item in api.list_metadata(PATH).await? {
        let name = text(&item, "name").unwrap_or_default();
        if name.split_once('.').is_some_and(|(_, group)| groups.contains(group)) {
            names.insert(name.to_owned());
        }
    }
    for name in names {
        let Some(live) = api.find(&format!("{PATH}/{name}")).await? else { continue };
        let stored = live.pointer("/status/storedVersions").cloned().unwrap_or_default();
        snapshot.stored_versions.insert(name.clone(), serde_json::from_value(stored).unwrap_or_default());
        if let Ok(crd) = Crd::from_value(live.clone()) {
            snapshot.objects.insert(name.clone(), objects(&api, &crd).await?);
        }
        snapshot.crds.insert(name, bare(live));
    }
    let outcome = Outcome::Done(Found::Kept(before));
    Ok(Acted { snapshot: Some(snapshot), ..Acted::from(outcome) })
}

/// The last known good revision: the newest that was deployed.
async fn good(api: &Api, release: &ReleaseAt) -> Result<Option<(Record, Value)>, Fault> {
    let records = revisions::list(api, release).await?;
    let deployed = records.iter().rev().find(|record| record.status == "deployed");
    let Some(record) = deployed.or_else(|| records.iter().rev().find(|it| it.status == "superseded")) else {
        return Ok(None);
    };
    let stored = revisions::read(api, release, record).await?;
    Ok(Some((record.clone(), stored)))
}

fn kept_release(record: &Record, stored: &Value) -> KeptRelease {
    let text = |pointer: &str| stored.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    KeptRelease {
        revision: record.number,
        chart: text("/chart/metadata/name").unwrap_or_default(),
        version: text("/chart/metadata/version").unwrap_or_default(),
        app_version: text("/chart/metadata/appVersion"),
        manifest: text("/manifest").unwrap_or_default(),
        hooks: stored.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default(),
        notes: text("/info/notes").filter(|notes| !notes.is_empty()),
        values: stored.get("config").and_then(Value::as_object).cloned().unwrap_or_default(),
    }
}

/// The live webhook registrations among objects.
async fn registrations(api: &Api, objects: &[Value]) -> Result<Vec<Value>, Fault> {
    let mut found = Vec::new();
    for object in objects.iter().filter_map(ObjectRef::of) {
        let Some(path) = registration(&object) else { continue };
        if let Some(live) = api.find(&path).await? {
            found.push(bare(live));
        }
    }
    Ok(found)
}

/// Where a webhook registration is; nothing for every other object.
pub(crate) fn registration(object: &ObjectRef) -> Option<String> {
    let plural = match object.kind.as_str() {
        "ValidatingWebhookConfiguration" => "validatingwebhookconfigurations",
        "MutatingWebhookConfiguration" => "mutatingwebhookconfigurations",
        _ => return None,
    };
    Some(format!("/apis/admissionregistration.k8s.io/v1/{plural}/{}", object.name))
}

async fn objects(api: &Api, crd: &Crd) -> Result<BTreeMap<String, String>, Fault> {
    let mut found = BTreeMap::new();
    let Some(version) = readable(crd) else { return Ok(found) };
    let kind = Kind::of_crd(crd, &version);
    let mut pages = Pages::of(api, &kind);
    while let Some(page) = pages.next().await? {
        for object in &page {
            if let Some(uid) = text(object, "uid") {
                found.insert(uid.to_owned(), kept(crd, object));
            }
        }
    }
    Ok(found)
}

/// An object without what the server fills in and what others inject.
fn bare(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"]
        {
            metadata.remove(key);
        }
    }
    without_bundles(&mut object);
    object
}

fn without_bundles(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_config =
                |fields: &Map<String, Value>| fields.contains_key("url") || fields.contains_key("service");
            if is_config(fields) {
                fields.remove("caBundle");
            }
            fields.values_mut().for_each(without_bundles);
        }
        Value::Array(items) => items.iter_mut().for_each(without_bundles),
        _ => {}
    }
}
