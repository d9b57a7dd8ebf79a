//! The workloads of a release: where they are, how many pods they want, and whether those of an older version
//! are gone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::{Api, Trouble, quoted};
use super::fault::Fault;
use super::object::ObjectRef;

/// A workload that a release holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Workload {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

impl std::fmt::Display for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// A label that no node has: a DaemonSet that asks for it runs nowhere.
const NOWHERE: &str = "slipway.dev/nowhere";

impl Workload {
    /// Those among objects; what names no namespace is in that of the release.
    pub(crate) fn of(objects: &[Value], namespace: &str) -> Vec<Self> {
        let found = objects.iter().filter_map(|object| {
            let object = ObjectRef::of(object).filter(|object| object.group == "apps")?;
            let kind = match object.kind.as_str() {
                "Deployment" => Kind::Deployment,
                "StatefulSet" => Kind::StatefulSet,
                "DaemonSet" => Kind::DaemonSet,
                _ => return None,
            };
            let namespace = object.namespace.unwrap_or_else(|| namespace.to_owned());
            Some(Self { kind, namespace, name: object.name })
        });
        found.collect()
    }

    pub(crate) fn path(&self) -> String {
        let plural = match self.kind {
            Kind::Deployment => "deployments",
            Kind::StatefulSet => "statefulsets",
            Kind::DaemonSet => "daemonsets",
        };
        format!("/apis/apps/v1/namespaces/{}/{plural}/{}", self.namespace, self.name)
    }

    /// How many pods it wants; nothing for one that runs on every node, or that is not there.
    pub(crate) async fn replicas(&self, api: &Api) -> Result<Option<i32>, Trouble> {
        if self.kind == Kind::DaemonSet {
            return Ok(None);
        }
        let live = api.find(&self.path()).await?;
        Ok(live.map(|live| {
            let replicas = live.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1);
            i32::try_from(replicas).unwrap_or(i32::MAX)
        }))
    }

    /// Lets it want so many pods. Whether it is there. One that runs on every node runs on none with zero, and
    /// again where it did with any other number.
    pub(crate) async fn scale(&self, api: &Api, replicas: i32) -> Result<bool, Trouble> {
        let patch = match (self.kind, replicas) {
            (Kind::DaemonSet, 0) => {
                json!({"spec": {"template": {"spec": {"nodeSelector": {NOWHERE: "true"}}}}})
            }
            (Kind::DaemonSet, _) => {
                json!({"spec": {"template": {"spec": {"nodeSelector": {NOWHERE: Value::Null}}}}})
            }
            _ => json!({"spec": {"replicas": replicas}}),
        };
        match api.merge(&format!("{}?fieldManager=slipway", self.path()), &patch).await {
            Ok(_) => Ok(true),
            Err(trouble) if trouble.is_absence() => Ok(false),
            Err(trouble) => Err(trouble),
        }
    }

    /// What is missing until it runs as its newest specification says, and nothing older does.
    pub(crate) async fn missing(&self, api: &Api) -> Result<Option<String>, Fault> {
        let Some(live) = api.find(&self.path()).await? else {
            return Ok(Some(format!("{self} is not there")));
        };
        let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
        let status = |key: &str| number(&format!("/status/{key}")).unwrap_or_default();
        if status("observedGeneration") < number("/metadata/generation").unwrap_or_default() {
            return Ok(Some(format!("the controllers have not seen {self} yet")));
        }
        let on_delete = live.pointer("/spec/updateStrategy/type").and_then(Value::as_str) == Some("OnDelete");
        let (wanted, updated, all) = match self.kind {
            Kind::Deployment | Kind::StatefulSet => {
                (number("/spec/replicas").unwrap_or(1), status("updatedReplicas"), status("replicas"))
            }
            Kind::DaemonSet => {
                let wanted = status("desiredNumberScheduled");
                (wanted, status("updatedNumberScheduled"), status("currentNumberScheduled").max(wanted))
            }
        };
        if !on_delete && updated < wanted {
            return Ok(Some(format!("{self} has {updated} of {wanted} pods of this revision")));
        }
        if !on_delete && all > updated {
            return Ok(Some(format!("{self} has {} pods of an older revision", all - updated)));
        }
        let old = self.older_pods(api, &live).await?;
        Ok((old > 0).then(|| format!("{old} pods of an older revision of {self} have not ended yet")))
    }

    /// Pods of an older specification, those that are ending included: they may still hold the lease.
    async fn older_pods(&self, api: &Api, live: &Value) -> Result<usize, Fault> {
        if self.kind != Kind::Deployment {
            return Ok(0);
        }
        let labels = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        let selector: Vec<String> = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
            .collect();
        if selector.is_empty() {
            return Ok(0);
        }
        let selector = quoted(&selector.join(","));
        let sets =
            format!("/apis/apps/v1/namespaces/{}/replicasets?labelSelector={selector}", self.namespace);
        let uid = live.pointer("/metadata/uid");
        let mut current = BTreeMap::new();
        for set in api.list_metadata(&sets).await? {
            let owner = set.pointer("/metadata/ownerReferences/0/uid");
            if owner.is_some() && owner == uid {
                let revision = annotation(&set).map(str::to_owned);
                let set_uid = set.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
                current.insert(set_uid.to_owned(), revision.as_deref() == annotation(live));
            }
        }
        let pods = format!("/api/v1/namespaces/{}/pods?labelSelector={selector}", self.namespace);
        let pods = api.list_metadata(&pods).await?;
        let old = pods.iter().filter(|pod| {
            let owner = pod.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str);
            owner.and_then(|owner| current.get(owner)) == Some(&false)
        });
        Ok(old.count())
    }
}

fn annotation(object: &Value) -> Option<&str> {
    super::object::annotation(object, "deployment.kubernetes.io/revision")
}
