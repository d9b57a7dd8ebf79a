//! Everything that Applications of a namespace consist of, held against what it should be.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use slipway_application_operator::children::Children;
use slipway_application_operator::crd::{Application, ApplicationStatus, MANAGED_BY, MANAGER, Phase};
use slipway_application_operator::status::{self, Report};
use slipway_runtime::apply::differences;
use slipway_testkit::until;

/// What is there.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) apps: Vec<Application>,
    deployments: Vec<Deployment>,
    /// Every child by kind and name, as JSON.
    pub(crate) children: BTreeMap<(String, String), Value>,
}

async fn list<K>(client: &Client, namespace: &str) -> kube::Result<Vec<K>>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api = Api::<K>::namespaced(client.clone(), namespace);
    Ok(api.list(&ListParams::default()).await?.items)
}

impl World {
    pub(crate) async fn look(client: &Client, namespace: &str) -> kube::Result<Self> {
        let apps = list::<Application>(client, namespace).await?;
        let deployments = list::<Deployment>(client, namespace).await?;
        let mut children = BTreeMap::new();
        gather(&mut children, deployments.clone());
        gather(&mut children, list::<Service>(client, namespace).await?);
        gather(&mut children, list::<ConfigMap>(client, namespace).await?);
        gather(&mut children, list::<PodDisruptionBudget>(client, namespace).await?);
        Ok(Self { apps, deployments, children })
    }

    /// Waits until everything is as it should be, and gives it.
    pub(crate) async fn settled(client: &Client, namespace: &str, patience: Duration) -> Self {
        let complaint = Mutex::new(None);
        let settled = until("everything to be as it should be", patience, || async {
            let world = Self::look(client, namespace).await.ok()?;
            let found = world.complaint();
            let settled = found.is_none();
            *complaint.lock().unwrap() = found;
            settled.then_some(world)
        })
        .await;
        match settled {
            Ok(world) => world,
            Err(error) => panic!("{error}: {:?}", complaint.into_inner()),
        }
    }

    /// What is not as it should be, if anything.
    pub(crate) fn complaint(&self) -> Option<String> {
        let mut wanted = 0;
        for app in &self.apps {
            let name = app.name_any();
            if app.metadata.deletion_timestamp.is_some() {
                return Some(format!("{name} is still there"));
            }
            let children = Children::of(app).unwrap();
            let expected = [
                self.checked(app, Some(&children.deployment)),
                self.checked(app, Some(&children.service)),
                self.checked(app, children.config_map.as_ref()),
                self.checked(app, children.budget.as_ref()),
            ];
            for check in expected {
                match check {
                    Ok(here) => wanted += usize::from(here),
                    Err(complaint) => return Some(format!("{name}: {complaint}; it says {:?}", app.status)),
                }
            }
            if let Some(complaint) = self.status_complaint(app) {
                return Some(format!("{name}: {complaint}"));
            }
        }
        (self.children.len() != wanted).then(|| {
            let names: Vec<_> = self.children.keys().collect();
            format!("{wanted} children are wanted, and there are {names:?}")
        })
    }

    /// Whether a child is there, and as it should be.
    fn checked<K>(&self, app: &Application, wanted: Option<&K>) -> Result<bool, String>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let kind = K::kind(&()).into_owned();
        let Some(wanted) = wanted else { return Ok(false) };
        let wanted = serde_json::to_value(wanted).unwrap();
        let name = wanted["metadata"]["name"].as_str().unwrap().to_owned();
        let Some(live) = self.children.get(&(kind.clone(), name)) else {
            return Err(format!("its {kind} is missing"));
        };
        if live["metadata"]["deletionTimestamp"].is_string() {
            return Err(format!("its {kind} is being deleted"));
        }
        if live["metadata"]["ownerReferences"][0]["uid"].as_str() != app.uid().as_deref() {
            return Err(format!("its {kind} is not its own"));
        }
        if let Some(difference) = differences(&wanted, live).first() {
            return Err(format!("its {kind}: {difference}"));
        }
        if kind == "ConfigMap" {
            // What somebody added is theirs; what was wanted once and is no more is not.
            let mut data = live["data"].clone();
            data.as_object_mut().unwrap().retain(|_, value| value != "somebody");
            if wanted["data"] != data {
                return Err(format!("its ConfigMap holds {data} instead of {}", wanted["data"]));
            }
        }
        Ok(true)
    }

    fn status_complaint(&self, app: &Application) -> Option<String> {
        let name = app.name_any();
        let deployment = self.deployments.iter().find(|deployment| deployment.name_any() == name);
        let expected = undated(status::of(app, deployment.map(Report::from).as_ref()));
        let shown = undated(app.status.clone().unwrap_or_default());
        if shown != expected {
            return Some(format!("it says {shown:?} instead of {expected:?}"));
        }
        let runs = shown.phase == Some(Phase::Running) && shown.ready_replicas == Some(app.spec.replicas);
        (!runs).then(|| format!("it does not run: {shown:?}"))
    }

    /// Everything without what Kubernetes itself moves: versions, books and the children's own status.
    pub(crate) fn snapshot(&self) -> Value {
        let apps: Vec<Value> = self.apps.iter().map(|app| bare(serde_json::to_value(app).unwrap())).collect();
        let children: Vec<Value> = self
            .children
            .values()
            .map(|child| {
                let mut child = bare(child.clone());
                child.as_object_mut().unwrap().remove("status");
                // The Deployment controller counts its revisions here.
                if let Some(notes) = child["metadata"]["annotations"].as_object_mut() {
                    notes.remove("deployment.kubernetes.io/revision");
                }
                child
            })
            .collect();
        json!({"apps": apps, "children": children})
    }

    /// The uid of every child, by kind and name.
    pub(crate) fn uids(&self) -> BTreeMap<(String, String), String> {
        let uid = |child: &Value| child["metadata"]["uid"].as_str().unwrap().to_owned();
        self.children.iter().map(|(key, child)| (key.clone(), uid(child))).collect()
    }
}

fn gather<K>(children: &mut BTreeMap<(String, String), Value>, found: Vec<K>)
where
    K: Resource<DynamicType = ()> + Serialize,
{
    for object in found {
        // Kubernetes has objects of its own among them.
        if object.owner_references().is_empty()
            && object.labels().get(MANAGED_BY).is_none_or(|by| by != MANAGER)
        {
            continue;
        }
        let key = (K::kind(&()).into_owned(), object.name_any());
        children.insert(key, serde_json::to_value(object).unwrap());
    }
}

fn bare(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    object
}

fn undated(mut status: ApplicationStatus) -> ApplicationStatus {
    for condition in &mut status.conditions {
        condition.last_transition_time = None;
    }
    status
}
