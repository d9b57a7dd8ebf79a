//! The clusters of the local fleet: with real nodes where the machine allows it, else with kwok's.

use std::time::{Duration, Instant};

use anyhow::Context;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use slipway_testkit::image::Image;
use slipway_testkit::{ControlPlane, RealCluster, until};

const PATIENCE: Duration = Duration::from_mins(2);

enum Kind {
    /// Pods really run.
    Real(Box<RealCluster>),
    /// Pods are only said to run.
    Kwok(Box<ControlPlane>),
}

/// One cluster of the fleet.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) nodes: usize,
    pub(crate) ready_in: Duration,
    pub(crate) kubeconfig: String,
    pub(crate) server: String,
    kind: Kind,
    client: Client,
}

impl Member {
    /// Starts a cluster, with a real node if `real`.
    pub(crate) async fn start(name: String, real: bool) -> anyhow::Result<Self> {
        let started = Instant::now();
        let kind = if real {
            Kind::Real(Box::new(RealCluster::start(&name).await?))
        } else {
            Kind::Kwok(Box::new(ControlPlane::builder().nodes(3).start().await?))
        };
        let (kubeconfig, server, client) = match &kind {
            Kind::Real(cluster) => {
                (cluster.kubeconfig(), format!("https://{}:6443", cluster.address()), cluster.client().await?)
            }
            Kind::Kwok(plane) => {
                (plane.kubeconfig().to_owned(), plane.server().to_owned(), plane.client().await?)
            }
        };
        let ready_in = started.elapsed();
        let version = client.apiserver_version().await.context("asking for the version")?.git_version;
        let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default()).await?.items.len();
        Ok(Self { name, version, nodes, ready_in, kubeconfig, server, kind, client })
    }

    /// What its nodes are, in words.
    pub(crate) fn nodes_in_words(&self) -> String {
        let kind = if self.is_real() { "real" } else { "kwok" };
        format!("{} {kind} node{}", self.nodes, if self.nodes == 1 { "" } else { "s" })
    }

    pub(crate) fn is_real(&self) -> bool {
        matches!(self.kind, Kind::Real(_))
    }

    /// Gives its node an image; kwok needs none.
    pub(crate) async fn load(&self, image: &Image) -> anyhow::Result<()> {
        match &self.kind {
            Kind::Real(cluster) => cluster.load_image(image).await,
            Kind::Kwok(_) => Ok(()),
        }
    }

    /// Runs two pods behind a Service, and says what was seen.
    pub(crate) async fn check(&self, image: Option<&Image>) -> anyhow::Result<String> {
        let reference = match (&self.kind, image) {
            (Kind::Real(cluster), Some(image)) => {
                cluster.load_image(image).await?;
                image.reference().to_owned()
            }
            _ => "example.test/probe".to_owned(),
        };
        let started = Instant::now();
        let deployments = Api::<Deployment>::namespaced(self.client.clone(), "default");
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": {"name": "probe"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": {"app": "probe"}},
                "template": {
                    "metadata": {"labels": {"app": "probe"}},
                    "spec": {"terminationGracePeriodSeconds": 1, "containers": [{
                        "name": "probe", "image": reference, "imagePullPolicy": "IfNotPresent",
                        "ports": [{"containerPort": 8080}],
                        "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1}
                    }]}
                }
            }
        }))?;
        deployments.create(&PostParams::default(), &deployment).await.context("making a Deployment")?;
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": "probe"},
            "spec": {"selector": {"app": "probe"}, "ports": [{"port": 80, "targetPort": 8080}]}
        }))?;
        let services = Api::<Service>::namespaced(self.client.clone(), "default");
        services.create(&PostParams::default(), &service).await.context("making a Service")?;
        until("two pods to be Ready", PATIENCE, async || {
            let status = deployments.get("probe").await.ok()?.status?;
            (status.ready_replicas == Some(2)).then_some(())
        })
        .await?;
        let ready = format!("2 pods Ready in {:.1} s", started.elapsed().as_secs_f64());
        if !self.is_real() {
            return Ok(ready);
        }
        let path = "/api/v1/namespaces/default/services/probe:80/proxy/";
        let said = until("the Service to answer", PATIENCE, async || {
            let request = kube::client::Body::empty();
            let request = http::Request::get(path).body(request).ok()?;
            let response =
                self.client.send(request).await.ok().filter(|reply| reply.status().is_success())?;
            let body = response.into_body().collect_bytes().await.ok()?;
            Some(String::from_utf8_lossy(&body).trim().to_owned())
        })
        .await?;
        Ok(format!("{ready}, and their Service answers: {}", said.lines().next().unwrap_or_default()))
    }

    /// Ends it and waits until it is gone.
    pub(crate) async fn stop(self) {
        match self.kind {
            Kind::Real(cluster) => cluster.stop().await,
            Kind::Kwok(plane) => drop(plane),
        }
    }
}
