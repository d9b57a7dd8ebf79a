//! One cluster as a test sees and harms it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Node, Secret};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use slipway_testkit::{ControlPlane, RealCluster, until};

use crate::operator::group;

const MINUTE: Duration = Duration::from_mins(1);

/// The label of a namespace that says which versions its cluster refuses.
const REFUSES: &str = "refuses";

/// One cluster.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    kind: Kind,
}

/// What it runs on, for as long as it is kept.
pub(crate) enum Kind {
    /// A control plane with kwok nodes.
    Kwok(Box<ControlPlane>),
    /// A real node.
    Real(Box<RealCluster>),
}

impl Kind {
    /// An administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> String {
        match self {
            Self::Kwok(plane) => plane.kubeconfig().to_owned(),
            Self::Real(cluster) => cluster.kubeconfig(),
        }
    }
}

/// What an operator has in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The version of what is at work, by its release.
    pub(crate) works: BTreeMap<String, String>,
    /// Every release with its newest revision's status.
    pub(crate) releases: BTreeMap<String, String>,
}

impl Standing {
    /// One release at work, and none in between.
    pub(crate) fn version(&self) -> &str {
        assert_eq!(self.works.len(), 1, "exactly one is at work: {self:?}");
        assert!(self.releases.values().all(|status| status == "deployed"), "helm ended well: {self:?}");
        self.works.values().next().unwrap()
    }
}

impl Cluster {
    pub(crate) async fn on(kind: Kind) -> Self {
        let client = match &kind {
            Kind::Kwok(plane) => plane.client().await,
            Kind::Real(cluster) => cluster.client().await,
        };
        Self { client: client.unwrap(), kind }
    }

    /// The control plane, to be harmed.
    pub(crate) fn plane(&self) -> &ControlPlane {
        match &self.kind {
            Kind::Kwok(plane) => plane,
            Kind::Real(_) => panic!("a real cluster is not harmed"),
        }
    }

    fn namespaced<K>(&self, namespace: &str) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Objects of a kind that only this test knows.
    pub(crate) fn of(&self, group: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
            None => Api::all_with(self.client.clone(), &kind),
        }
    }

    /// Makes an object, or changes it to be so.
    pub(crate) async fn apply(&self, namespace: Option<&str>, object: &Value) {
        let version = object["apiVersion"].as_str().unwrap();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let api = self.of(group, object["kind"].as_str().unwrap(), namespace);
        let name = object["metadata"]["name"].as_str().unwrap();
        api.patch(name, &PatchParams::apply("somebody").force(), &Patch::Apply(object)).await.unwrap();
    }

    /// Sets what all charts here look up.
    pub(crate) async fn weather(&self, word: &str) {
        let weather = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "weather"},
            "data": {"weather": word}});
        self.apply(Some("default"), &weather).await;
    }

    /// Lets the cluster refuse versions from now on, which a dry run does not show.
    pub(crate) async fn police(&self) {
        let said = "namespaceObject.metadata.labels";
        let rule = format!(
            "!('{REFUSES}' in {said}) || object.spec.replicas == 0 || !{said}['{REFUSES}'].split('_').exists(v, \
             object.spec.template.spec.containers.exists(c, c.image.endsWith(':' + v)))"
        );
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "storm"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"], "resources": ["deployments"]}]},
                "matchConditions": [{"name": "real", "expression": "!has(request.dryRun) || !request.dryRun"}],
                "validations": [{"expression": rule, "message": "there is a storm"}],
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "storm"},
            "spec": {"policyName": "storm", "validationActions": ["Deny"]},
        });
        self.apply(None, &policy).await;
        self.apply(None, &binding).await;
        // It is in force a moment later.
        self.refuse("default", "0.0.0").await;
        let trial = json!({"metadata": {"name": "trial"}, "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "trial"}},
            "template": {"metadata": {"labels": {"app": "trial"}},
                "spec": {"containers": [{"name": "main", "image": "example.test/trial:0.0.0"}]}}}});
        let trial: Deployment = serde_json::from_value(trial).unwrap();
        let deployments = self.namespaced::<Deployment>("default");
        until("the policy to be in force", MINUTE, async || {
            let made = deployments.create(&PostParams::default(), &trial).await;
            let _ = deployments.delete("trial", &DeleteParams::default()).await;
            made.is_err_and(|error| error.to_string().contains("storm")).then_some(())
        })
        .await
        .unwrap();
    }

    /// Refuses these versions in a namespace; none where it is empty.
    pub(crate) async fn refuse(&self, namespace: &str, versions: &str) {
        let label = if versions.is_empty() { Value::Null } else { versions.into() };
        let patch = json!({"metadata": {"labels": {REFUSES: label}}});
        let namespaces = Api::<Namespace>::all(self.client.clone());
        namespaces.patch(namespace, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    /// Lets a hook go on that holds helm up.
    pub(crate) async fn release(&self, hold: &str) {
        let nodes = Api::<Node>::all(self.client.clone());
        let patch = json!({"metadata": {"labels": {format!("released-{hold}"): "yes"}}});
        for node in nodes.list(&ListParams::default()).await.unwrap() {
            nodes.patch(&node.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        }
    }

    /// Waits until helm is held up by this hook of a release.
    pub(crate) async fn until_held(&self, namespace: &str, release: &str, hold: &str) {
        let jobs = self.namespaced::<k8s_openapi::api::batch::v1::Job>(namespace);
        let name = format!("{release}-{hold}");
        until("helm to wait for its hook", crate::program::LONG, async || {
            jobs.get_opt(&name).await.ok().flatten().map(drop)
        })
        .await
        .unwrap();
    }

    /// The uid of a Job, where it is there.
    pub(crate) async fn job(&self, namespace: &str, name: &str) -> Option<String> {
        let jobs = self.namespaced::<k8s_openapi::api::batch::v1::Job>(namespace);
        jobs.get_opt(name).await.unwrap()?.uid()
    }

    /// Writes a parcel of an operator, and gives its uid.
    pub(crate) async fn parcel(&self, operator: &str, name: &str) -> String {
        let parcel = json!({"apiVersion": format!("{}/v1", group(operator)), "kind": "Parcel",
            "metadata": {"name": name}, "spec": {"to": name}});
        let parcel = serde_json::from_value(parcel).unwrap();
        let parcels = self.of(&group(operator), "Parcel", Some("default"));
        let made = until("parcels to be taken", MINUTE, async || {
            parcels.create(&PostParams::default(), &parcel).await.ok()
        });
        made.await.unwrap().uid().unwrap()
    }

    /// The parcels of an operator, by uid: name and spec.
    pub(crate) async fn parcels(&self, operator: &str) -> BTreeMap<String, (String, Value)> {
        let list = self.of(&group(operator), "Parcel", Some("default")).list(&ListParams::default()).await;
        let items = list.unwrap().items.into_iter();
        items.map(|it| (it.uid().unwrap(), (it.name_any(), it.data["spec"].clone()))).collect()
    }

    /// What an operator has here.
    pub(crate) async fn standing(&self, namespace: &str) -> Standing {
        let mut works = BTreeMap::new();
        for deployment in self.namespaced::<Deployment>(namespace).list(&ListParams::default()).await.unwrap()
        {
            let spec = &deployment.spec;
            if spec.replicas == Some(0) {
                continue;
            }
            let image = spec.template.spec.as_ref().unwrap().containers[0].image.clone().unwrap();
            let version = image.rsplit(':').next().unwrap().to_owned();
            works.insert(deployment.name_any(), version);
        }
        let mut newest: BTreeMap<String, (u32, String)> = BTreeMap::new();
        let secrets = self.namespaced::<Secret>(namespace);
        for secret in secrets.list(&ListParams::default().labels("owner=helm")).await.unwrap() {
            let labels = secret.labels();
            let number: u32 = labels["version"].parse().unwrap();
            let known = newest.entry(labels["name"].clone()).or_default();
            if number > known.0 {
                *known = (number, labels["status"].clone());
            }
            assert!(!labels["status"].starts_with("pending"), "nothing is left half-done: {labels:?}");
        }
        Standing { works, releases: newest.into_iter().map(|(name, (_, status))| (name, status)).collect() }
    }

    /// How many pods a Deployment wants.
    pub(crate) async fn replicas(&self, namespace: &str, name: &str) -> i32 {
        let deployment = self.namespaced::<Deployment>(namespace).get(name).await.unwrap();
        deployment.spec.replicas.unwrap()
    }

    /// The numbers and statuses of a release's revisions, the oldest first; those half-done too.
    pub(crate) async fn revisions(&self, namespace: &str, release: &str) -> Vec<(u32, String)> {
        let secrets = self.namespaced::<Secret>(namespace);
        let list = secrets.list(&ListParams::default().labels(&format!("owner=helm,name={release}"))).await;
        let mut found: Vec<(u32, String)> = list
            .unwrap()
            .iter()
            .map(|secret| (secret.labels()["version"].parse().unwrap(), secret.labels()["status"].clone()))
            .collect();
        found.sort();
        found
    }
}
