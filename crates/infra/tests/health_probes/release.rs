//! A release that helm installed, found by its name.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kube::Client;
use slipway_domain::health::{Look, Verdict};
use slipway_domain::id::ClusterId;
use slipway_infra::kubernetes::probes::{Clients, KubeProbes};
use slipway_orchestrator::ports::Probes as _;
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_testkit::charts::ChartBuilder;
use slipway_testkit::{ControlPlane, Part, Program, scratch, until};

use super::sea::{MINUTE, after, judged, target};

struct One(Client);

#[async_trait]
impl Clients for One {
    async fn client(&self, _: ClusterId) -> Result<Client, String> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn what_helm_installed_is_looked_at_and_what_it_did_not_is_unknown() {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let client = plane.client().await.unwrap();
    let files = scratch("charts").unwrap();
    let deployment = "apiVersion: apps/v1
kind: Deployment
metadata: {name: \"{{ .Release.Name }}-{{ .Values.colour }}\"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: boats}}
  template:
    metadata: {labels: {app: boats}}
    spec: {containers: [{name: main, image: \"example.test/boats\"}]}
";
    let chart = ChartBuilder::new("boats", "1.0.0")
        .values("replicas: 2\ncolour: blue\n")
        .template("deployment.yaml", deployment)
        .build()
        .unwrap()
        .write_to(files.path())
        .unwrap();
    let helm = async |arguments: &[&str]| {
        Part::builder("helm", Program::Helm4.find().unwrap())
            .args(arguments)
            .env("KUBECONFIG", plane.kubeconfig_file())
            .env("HELM_CACHE_HOME", files.path())
            .env("HELM_CONFIG_HOME", files.path())
            .env("HELM_DATA_HOME", files.path())
            .run()
            .await
            .unwrap()
    };
    let chart = chart.to_str().unwrap();
    helm(&["install", "fleet", chart]).await;
    let probes = KubeProbes::new(Arc::new(One(client)));
    let mut boats = target(&[]);
    boats.releases = vec![ReleaseAt { namespace: "default".into(), name: "fleet".into() }];
    let healthy = async |pods: u32| {
        until("its pods to be ready", MINUTE, async || {
            let seen = probes.look(&boats, after(0)).await;
            let health = judged(&seen, &boats);
            (health.verdict == Verdict::Healthy && health.pods.expected == pods).then_some(())
        })
        .await
        .unwrap();
    };
    healthy(2).await;
    helm(&["upgrade", "fleet", chart, "--set", "replicas=3"]).await;
    healthy(3).await;
    // Installed anew it is another release, though it has the same name and counts from one again.
    helm(&["uninstall", "fleet", "--wait"]).await;
    helm(&["install", "fleet", chart, "--set", "colour=green"]).await;
    healthy(2).await;

    boats.releases[0].name = "nobody".into();
    let seen = probes.look(&boats, after(0)).await;
    let health = judged(&seen, &boats);
    assert_eq!(health.verdict, Verdict::Unknown);
    assert_eq!(
        health.headline(),
        Some("its pods could not be looked at: there is no helm release nobody in namespace default")
    );

    plane.kill("kube-apiserver").await.unwrap();
    let mut hurried = after(0);
    hurried.within = Duration::from_secs(5);
    let seen = probes.look(&boats, hurried).await;
    assert!(
        matches!(&seen.workloads, Look::Unseen(why) if why.starts_with("cluster harbour does not answer")),
        "{seen:?}"
    );
}
