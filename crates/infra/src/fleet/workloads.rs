//! The workloads of a release: where they are, how many pods they want, and whether those of an older version
//! are gone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::{Api, Trouble, quoted};
use super::definition::MANAGER;
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

/// A label that no node has: a `DaemonSet` that asks for it runs nowhere.
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
        match api.merge(&format!("{}?fieldManager={MANAGER}", self.path()), &patch).await {
            Ok(_) => let_go(api, &self.path()).await.map(|()| true),
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
        Ok(self.pods(api, live).await?.into_iter().filter(|(_, current)| !current).count())
    }

    /// Its pods by name, those that are ending included.
    pub(crate) async fn pod_names(&self, api: &Api) -> Result<Vec<String>, Fault> {
        let Some(live) = api.find(&self.path()).await? else { return Ok(Vec::new()) };
        Ok(self.pods(api, &live).await?.into_iter().map(|(name, _)| name).collect())
    }

    /// Its pods, those that are ending included: for each whether it is of the newest specification.
    async fn pods(&self, api: &Api, live: &Value) -> Result<Vec<(String, bool)>, Fault> {
        let labels = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
        let selector: Vec<String> = labels
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
            .collect();
        let Some(uid) =
            live.pointer("/metadata/uid").and_then(Value::as_str).filter(|_| !selector.is_empty())
        else {
            return Ok(Vec::new());
        };
        let selector = quoted(&selector.join(","));
        // What pods belong to: the workload itself, or the sets that it makes of each specification.
        let mut owners = BTreeMap::from([(uid.to_owned(), true)]);
        if self.kind == Kind::Deployment {
            let sets =
                format!("/apis/apps/v1/namespaces/{}/replicasets?labelSelector={selector}", self.namespace);
            for set in api.list_metadata(&sets).await? {
                if owner(&set) == Some(uid)
                    && let Some(own) = set.pointer("/metadata/uid").and_then(Value::as_str)
                {
                    owners.insert(own.to_owned(), annotation(&set) == annotation(live));
                }
            }
        }
        let pods = format!("/api/v1/namespaces/{}/pods?labelSelector={selector}", self.namespace);
        let pods = api.list_metadata(&pods).await?;
        let name = |pod: &Value| pod.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
        Ok(pods.iter().filter_map(|pod| Some((name(pod)?, *owners.get(owner(pod)?)?))).collect())
    }

    /// Whether none of its pods is left, those that are ending included.
    pub(crate) async fn is_empty(&self, api: &Api) -> Result<bool, Fault> {
        let Some(live) = api.find(&self.path()).await? else { return Ok(true) };
        Ok(self.pods(api, &live).await?.is_empty())
    }

    /// Whether all pods that it wants are ready, and of its newest specification.
    pub(crate) async fn is_ready(&self, api: &Api) -> Result<bool, Fault> {
        if self.missing(api).await?.is_some() {
            return Ok(false);
        }
        let Some(live) = api.find(&self.path()).await? else { return Ok(false) };
        let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64);
        let (ready, wanted) = match self.kind {
            Kind::DaemonSet => (number("/status/numberReady"), number("/status/desiredNumberScheduled")),
            _ => (number("/status/readyReplicas"), Some(number("/spec/replicas").unwrap_or(1))),
        };
        Ok(ready.unwrap_or_default() >= wanted.unwrap_or_default())
    }
}

/// Lets go of the fields that Slipway wrote into an object of a release: they stay as they are, and helm 4 finds
/// nobody in its way when it writes them next.
pub(crate) async fn let_go(api: &Api, path: &str) -> Result<(), Trouble> {
    for _ in 0..5 {
        let Some(live) = api.find(path).await? else { return Ok(()) };
        let fields = live.pointer("/metadata/managedFields").and_then(Value::as_array);
        let fields = fields.cloned().unwrap_or_default();
        let rest: Vec<&Value> = fields
            .iter()
            .filter(|entry| entry.get("manager").and_then(Value::as_str) != Some(MANAGER))
            .collect();
        // An empty list would mean that somebody else has to own everything.
        if rest.len() == fields.len() || rest.is_empty() {
            return Ok(());
        }
        let patch = json!([
            {"op": "test", "path": "/metadata/resourceVersion", "value": live.pointer("/metadata/resourceVersion")},
            {"op": "replace", "path": "/metadata/managedFields", "value": rest},
        ]);
        match api.json_patch(path, &patch).await {
            Err(Trouble::Refused(status)) if matches!(status.code, 409 | 422) => {}
            other => return other.map(drop),
        }
    }
    Ok(())
}

fn owner(object: &Value) -> Option<&str> {
    object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str)
}

fn annotation(object: &Value) -> Option<&str> {
    super::object::annotation(object, "deployment.kubernetes.io/revision")
}
