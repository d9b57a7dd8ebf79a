//! CRDs that leave a release stay in the cluster, and every custom resource with them.
//!
//! helm deletes what a release no longer holds. It leaves an object where it is if the live one says `keep` (when
//! upgrading) or if the stored manifest does (when uninstalling), so both are brought to say so beforehand.

use serde_json::{Value, json};
use slipway_orchestrator::ports::probes::ReleaseAt;

use super::api::{Api, Trouble};
use super::definition::PATH;
use super::fault::Fault;
use super::object::{is_kept, read_all};
use super::render::{documents, is_crd};
use super::revisions;

const POLICY: &str = "helm.sh/resource-policy";

/// Takes the CRDs of a release out of helm's reach. The names of those it held.
pub(crate) async fn crds(api: &Api, release: &ReleaseAt) -> Result<Vec<String>, Fault> {
    let mut names = Vec::new();
    for record in revisions::list(api, release).await? {
        let manifest = revisions::manifest(api, release, &record).await?;
        if !manifest.contains("CustomResourceDefinition") {
            continue;
        }
        let objects = read_all(&manifest).map_err(|why| {
            Fault::Failed(format!("the manifest of {} cannot be read: {why}", record.secret))
        })?;
        let crds: Vec<&Value> = objects.iter().filter(|object| is_crd(object)).collect();
        names.extend(crds.iter().filter_map(|crd| Some(crd.pointer("/metadata/name")?.as_str()?.to_owned())));
        if crds.iter().all(|crd| is_kept(crd)) {
            continue;
        }
        // First those that live: whatever happens in between, helm finds one of the two.
        for name in &names {
            mark(api, name).await?;
        }
        revisions::rewrite(api, release, &record, |stored| {
            let Some(text) = stored.get("manifest").and_then(Value::as_str) else { return false };
            stored["manifest"] = kept(text).into();
            true
        })
        .await?;
    }
    names.sort();
    names.dedup();
    for name in &names {
        mark(api, name).await?;
    }
    Ok(names)
}

async fn mark(api: &Api, name: &str) -> Result<(), Fault> {
    let patch = json!({"metadata": {"annotations": {POLICY: "keep"}}});
    match api.merge(&format!("{PATH}/{name}?fieldManager=slipway"), &patch).await {
        Ok(_) => Ok(()),
        Err(Trouble::Refused(status)) if status.code == 404 => Ok(()),
        Err(trouble) => Err(trouble.into()),
    }
}

/// A manifest whose CRDs say `keep`; everything else stays to the letter.
fn kept(manifest: &str) -> String {
    let mut text = String::new();
    for (source, document) in documents(manifest) {
        let changed = slipway_manifests::read(&document).ok().and_then(|mut all| {
            let mut value = all.pop().filter(|_| all.is_empty())?.value;
            keep(&mut value).then(|| value.to_string() + "\n")
        });
        text.push_str(&format!("---\n# Source: {source}\n{}", changed.unwrap_or(document)));
    }
    text
}

fn keep(value: &mut Value) -> bool {
    if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
        return items.iter_mut().fold(false, |changed, item| keep(item) | changed);
    }
    if !is_crd(value) || is_kept(value) {
        return false;
    }
    value["metadata"]["annotations"][POLICY] = "keep".into();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_definitions_are_changed() {
        let manifest = "---
# Source: c/templates/a.yaml
kind: ConfigMap # a comment
apiVersion: v1
metadata: {name: a}
---
# Source: c/templates/b.yaml
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: boats.sea.dev
  annotations:
";
        let text = kept(manifest);
        assert!(text.contains("kind: ConfigMap # a comment"));
        let all = read_all(&text).unwrap();
        assert!(is_kept(&all[1]) && !is_kept(&all[0]));
        assert_eq!(kept(&text), text);
    }
}
