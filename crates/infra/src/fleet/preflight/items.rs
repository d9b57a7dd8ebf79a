//! Every object that a plan is about: as it is written, as it was written, as it is, and whether the cluster
//! would take it.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use serde_json::Value;
use slipway_crd_compat::admit::{Validator, Verdict};
use slipway_crd_compat::crd::Crd;

use super::super::api::{Api, Apply, Trouble};
use super::super::definition::HELM;
use super::super::kinds::{Kind, Kinds};
use super::super::object::{ObjectRef, group_and_version};
use super::refusal::{Said, said};

/// So many objects are asked for at once.
const AT_ONCE: usize = 8;

/// An object that would be applied.
pub(in crate::fleet) struct Item {
    pub(in crate::fleet) it: ObjectRef,
    /// As it would be applied.
    pub(in crate::fleet) manifest: Value,
    /// As the last revision has it.
    pub(in crate::fleet) stored: Option<Value>,
    /// As it is.
    pub(in crate::fleet) live: Option<Value>,
    /// Where it is; nothing where the cluster does not know the kind.
    pub(in crate::fleet) kind: Option<Kind>,
    /// Whether the cluster would take it.
    pub(in crate::fleet) tried: Tried,
}

/// Whether a cluster would take an object.
pub(in crate::fleet) enum Tried {
    /// It would, and this would come of it.
    Taken(Value),
    /// It would not.
    Refused(Said),
    /// It could not be tried, and why.
    Untried(String),
}

/// An object that would go.
pub(in crate::fleet) struct Leaving {
    pub(in crate::fleet) it: ObjectRef,
    pub(in crate::fleet) stored: Value,
    pub(in crate::fleet) live: Value,
    pub(in crate::fleet) kind: Kind,
}

/// What is known before objects are looked at.
pub(in crate::fleet) struct Ground<'a> {
    pub(in crate::fleet) api: &'a Api,
    pub(in crate::fleet) kinds: &'a Kinds,
    /// The namespace of the release.
    pub(in crate::fleet) namespace: &'a str,
    /// The CRDs that come with the version, by group and kind.
    pub(in crate::fleet) crds: &'a BTreeMap<(String, String), Crd>,
    /// The namespaces that are there, of those that were looked at.
    pub(in crate::fleet) namespaces: &'a BTreeSet<String>,
}

impl Ground<'_> {
    /// Which object a manifest is, and where such objects are.
    pub(in crate::fleet) async fn place(
        &self,
        manifest: &Value,
    ) -> Result<Option<(ObjectRef, Option<Kind>)>, Trouble> {
        let Some(mut it) = ObjectRef::of(manifest) else { return Ok(None) };
        let version = manifest.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let kind = self.kinds.find(self.api, version, &it.kind).await?;
        let coming = || self.crds.get(&(it.group.clone(), it.kind.clone()));
        let namespaced = match &kind {
            Some(kind) => kind.namespaced,
            None => coming().is_none_or(|crd| crd.scope() == "Namespaced"),
        };
        if !namespaced {
            it.namespace = None;
        } else if it.namespace.is_none() {
            it.namespace = Some(self.namespace.to_owned());
        }
        Ok(Some((it, kind)))
    }

    /// Looks at all objects of a plan.
    pub(in crate::fleet) async fn items(
        &self,
        manifests: &[Value],
        stored: &[Value],
    ) -> Result<Vec<Item>, Trouble> {
        let mut before = BTreeMap::new();
        for manifest in stored {
            if let Some((it, _)) = self.place(manifest).await? {
                before.insert(it, manifest.clone());
            }
        }
        let looks: Vec<_> = manifests.iter().map(|manifest| self.item(manifest, &before)).collect();
        let items: Vec<Result<Option<Item>, Trouble>> =
            futures::stream::iter(looks).buffered(AT_ONCE).collect().await;
        let mut all = Vec::new();
        for item in items {
            all.extend(item?);
        }
        Ok(all)
    }

    async fn item(
        &self,
        manifest: &Value,
        before: &BTreeMap<ObjectRef, Value>,
    ) -> Result<Option<Item>, Trouble> {
        let Some((it, kind)) = self.place(manifest).await? else { return Ok(None) };
        let stored = before.get(&it).cloned();
        let live = match &kind {
            Some(kind) => match self.api.find(&kind.path(it.namespace.as_deref(), &it.name)).await {
                // Rights are told together, later.
                Err(trouble) if trouble.code() == Some(403) => None,
                other => other?,
            },
            None => None,
        };
        let tried = self.tried(manifest, &it, kind.as_ref()).await?;
        Ok(Some(Item { it, manifest: manifest.clone(), stored, live, kind, tried }))
    }

    async fn tried(&self, manifest: &Value, it: &ObjectRef, kind: Option<&Kind>) -> Result<Tried, Trouble> {
        // A definition that comes with the version decides, not the one that is there.
        if let Some(crd) = self.crds.get(&(it.group.clone(), it.kind.clone())) {
            return Ok(under(crd, manifest));
        }
        let Some(kind) = kind else {
            let version = manifest.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            let text = format!("the cluster knows no {} of {version}", it.kind);
            return Ok(Tried::Refused(Said::No(text)));
        };
        if let Some(namespace) = &it.namespace
            && !self.namespaces.contains(namespace)
        {
            return Ok(Tried::Untried(format!("the namespace {namespace} is not there yet")));
        }
        let mut body = manifest.clone();
        if let Some(namespace) = &it.namespace {
            body["metadata"]["namespace"] = namespace.as_str().into();
        }
        let how = Apply { manager: HELM, force: true, dry_run: true };
        match self.api.apply(&kind.path(it.namespace.as_deref(), &it.name), &body, how).await {
            Ok(taken) => Ok(Tried::Taken(taken)),
            Err(Trouble::Refused(status)) => Ok(match said(&status) {
                Said::NoDryRun(webhook) => {
                    Tried::Untried(format!("webhook \"{webhook}\" has side effects and is not tried"))
                }
                said => Tried::Refused(said),
            }),
            Err(trouble) => Err(trouble),
        }
    }

    /// The objects of the last revision that would go, with what they are now.
    pub(in crate::fleet) async fn leaving(
        &self,
        items: &[Item],
        stored: &[Value],
    ) -> Result<Vec<Leaving>, Trouble> {
        let staying: BTreeSet<&ObjectRef> = items.iter().map(|item| &item.it).collect();
        let mut leaving = Vec::new();
        for manifest in stored {
            let Some((it, Some(kind))) = self.place(manifest).await? else { continue };
            let comes =
                it.kind == "CustomResourceDefinition" && self.crds.values().any(|crd| crd.name() == it.name);
            if staying.contains(&it) || comes {
                continue;
            }
            if let Some(live) = self.api.find(&kind.path(it.namespace.as_deref(), &it.name)).await? {
                leaving.push(Leaving { it, stored: manifest.clone(), live, kind });
            }
        }
        Ok(leaving)
    }
}

/// What the definition that comes with the version says of an object.
fn under(crd: &Crd, manifest: &Value) -> Tried {
    let version = manifest.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let (_, version) = group_and_version(version);
    let validator = match Validator::new(crd, version) {
        Ok(validator) => validator,
        Err(error) => return Tried::Refused(Said::No(error.to_string())),
    };
    match validator.create(manifest).verdict {
        Verdict::Rejected(violations) => {
            let texts =
                violations.iter().map(|violation| format!("{}: {}", violation.path, violation.message));
            Tried::Refused(Said::No(texts.collect::<Vec<_>>().join(", ")))
        }
        Verdict::Accepted | Verdict::Unknown(_) => {
            Tried::Untried("its definition comes with this version".to_owned())
        }
    }
}
