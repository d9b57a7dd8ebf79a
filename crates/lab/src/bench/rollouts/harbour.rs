//! Control planes with an operator installed by helm, and the released server that knows them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};
use slipway_testkit::{ControlPlane, Fleet};

use super::super::helm;
use super::super::server::Server;

/// The operator, its chart, its release and its namespace.
pub(super) const OPERATOR: &str = "courier";
/// What is installed before, and how many versions follow it.
const VERSIONS: u32 = 12;
const PATIENCE: Duration = Duration::from_mins(8);
/// Each caller may ask only so often in a minute, and whoever waits asks all the time.
const CALLERS: usize = 120;

/// The control planes and their server.
pub(super) struct Harbour {
    pub(super) server: Server,
    planes: Vec<ControlPlane>,
    spare: ControlPlane,
    repository: ChartRepository,
}

impl Harbour {
    /// So many planes, and one more that has nothing.
    pub(super) async fn start(program: &Path, planes: usize) -> anyhow::Result<Self> {
        let fleet = Fleet::start(planes, 1).await?;
        let spare = ControlPlane::start().await?;
        let repository = ChartRepository::start().await?;
        for minor in 0..=VERSIONS {
            repository.add(&chart(&version(minor))?);
        }
        let first = chart(&version(0))?;
        let installing = fleet.clusters.iter().map(|plane| helm::install(plane, OPERATOR, &first));
        futures::stream::iter(installing).buffer_unordered(3).try_collect::<Vec<()>>().await?;
        let server = Server::start(program, CALLERS).await?;
        let harbour = Self { server, planes: fleet.clusters, spare, repository };
        for number in 0..planes {
            harbour.register(number, number).await?;
        }
        let operator = json!({
            "name": OPERATOR, "namespace": OPERATOR, "chartRepository": harbour.repository.url(),
            "chartName": OPERATOR,
        });
        harbour.server.post("operators", &operator).await?;
        harbour.until_installed(planes).await?;
        Ok(harbour)
    }

    pub(super) fn planes(&self) -> usize {
        self.planes.len()
    }

    /// Registers a plane under the name with a number; several may be the same plane.
    pub(super) async fn register(&self, number: usize, plane: usize) -> anyhow::Result<()> {
        self.add(number, &self.planes[plane], number != plane).await
    }

    /// Registers the plane that has nothing, and kills its API server.
    pub(super) async fn register_dead(&self, number: usize) -> anyhow::Result<()> {
        self.add(number, &self.spare, false).await?;
        self.spare.kill("kube-apiserver").await
    }

    async fn add(&self, number: usize, plane: &ControlPlane, again: bool) -> anyhow::Result<()> {
        let body = json!({
            "name": name(number), "environment": "Staging", "kubeconfig": BASE64.encode(plane.kubeconfig()),
            "allowDuplicate": again,
        });
        self.server.post("clusters", &body).await.map(drop)
    }

    /// Waits until the server found the operator on so many clusters.
    pub(super) async fn until_installed(&self, clusters: usize) -> anyhow::Result<()> {
        let path = format!("operators/{OPERATOR}");
        let began = Instant::now();
        loop {
            let seen = self.server.read(&path).await?;
            let found = seen["deployedClusters"].as_array().map_or(0, Vec::len);
            if found >= clusters {
                return Ok(());
            }
            ensure!(
                began.elapsed() < PATIENCE,
                "the server found {OPERATOR} on {found} of {clusters} clusters\n{}",
                self.server.last_words()
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Begins a deployment; its id, and how long the request took.
    pub(super) async fn deploy(&self, request: &Value) -> anyhow::Result<(String, Duration)> {
        let (begun, took) = self.server.post("deployments", request).await?;
        let id = begun["deploymentId"].as_str().context("a deployment without an id")?;
        Ok((id.to_owned(), took))
    }

    /// Waits until a deployment has a status; another end fails the measurement.
    pub(super) async fn until_status(&self, id: &str, wanted: &str) -> anyhow::Result<Value> {
        const ENDS: [&str; 4] = ["Completed", "RolledBack", "Failed", "Cancelled"];
        let began = Instant::now();
        loop {
            let seen = self.server.read(&format!("deployments/{id}")).await?;
            let status = seen["status"].as_str().unwrap_or_default();
            if status == wanted {
                return Ok(seen);
            }
            // What was completed is taken back a moment after somebody asked for it.
            let elsewhere = ENDS.contains(&status) && !(wanted == "RolledBack" && status == "Completed");
            if elsewhere || began.elapsed() > PATIENCE {
                bail!(
                    "deployment {id} is {status}, and not {wanted}: {}\n{}",
                    seen["why"],
                    seen["errorMessage"]
                );
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}

/// The name with a number.
pub(super) fn name(number: usize) -> String {
    format!("cluster-{number:03}")
}

/// The version with a number; 0 is there from the beginning.
pub(super) fn version(number: u32) -> String {
    format!("1.{number}.0")
}

fn chart(version: &str) -> anyhow::Result<Chart> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "parcels.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "parcels", "singular": "parcel", "kind": "Parcel", "listKind": "ParcelList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"to": {"type": "string"}}}},
            }}}],
        },
    });
    let rights = "apiVersion: v1
kind: ServiceAccount
metadata: {name: '{{ .Release.Name }}'}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: '{{ .Release.Name }}'}
rules: [{apiGroups: [example.com], resources: [parcels, parcels/status], verbs: ['*']}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: '{{ .Release.Name }}'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '{{ .Release.Name }}'}
subjects: [{kind: ServiceAccount, name: '{{ .Release.Name }}', namespace: '{{ .Release.Namespace }}'}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data: {version: '{{ .Chart.Version }}'}
";
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}', labels: {app.kubernetes.io/instance: '{{ .Release.Name }}'}}
spec:
  replicas: 2
  selector: {matchLabels: {app: courier}}
  template:
    metadata: {labels: {app: courier}}
    spec:
      serviceAccountName: '{{ .Release.Name }}'
      containers: [{name: main, image: 'example.test/courier:{{ .Chart.Version }}'}]
";
    ChartBuilder::new(OPERATOR, version)
        .crd("parcels.yaml", &definition.to_string())
        .template("rights.yaml", rights)
        .template("deployment.yaml", deployment)
        .build()
}
