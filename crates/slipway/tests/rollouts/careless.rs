//! An operator on a real node that makes nothing easy: no leader election, a definition made at run time, and a
//! controller that writes Deployments and Secrets all the time.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::Api;
use serde_json::{Value, json};
use slipway_contract::deployments::DeploymentStatus as Status;
use slipway_testkit::charts::{Chart, ChartBuilder};
use slipway_testkit::guardian::guardian;
use slipway_testkit::{Image, RealCluster, skipped, until};

use crate::operator::group;
use crate::program::LONG;
use crate::scene::{Scene, direct};

const OPERATOR: &str = "porter";
const IMAGE: &str = "localhost/slipway/porter:1";
const WRITERS: &str = "porter.example.com/writers";

const CONTROLLER: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: '{{ .Release.Name }}'}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: '{{ .Release.Name }}'}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: '{{ .Release.Name }}', namespace: '{{ .Release.Namespace }}'}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: '{{ .Release.Name }}'}
spec:
  replicas: 1
  # Two at once would fight: there is no leader election.
  strategy: {type: Recreate}
  selector: {matchLabels: {app: '{{ .Release.Name }}'}}
  template:
    metadata: {labels: {app: '{{ .Release.Name }}'}}
    spec:
      serviceAccountName: '{{ .Release.Name }}'
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: {{ .Values.image }}
        env:
        - {name: PORTER_GROUP, value: porter.example.com}
        - {name: PORTER_VERSION, value: '{{ .Chart.Version }}'}
        {{- if .Values.crash }}
        - {name: PORTER_CRASH, value: 'yes'}
        {{- end }}
";

fn chart(version: &str, crash: bool) -> Chart {
    let values = format!("image: {IMAGE}\ncrash: {crash}\n");
    ChartBuilder::new(OPERATOR, version).values(&values).template("all.yaml", CONTROLLER).build().unwrap()
}

/// Who wrote what belongs to a parcel, once it is there: the Secret and the Deployment, each with its uid.
async fn written(scene: &Scene, parcel: &str, wanted: &str) -> [String; 2] {
    let name = format!("parcel-{parcel}");
    let client = &scene.cluster("real").client;
    let secrets = Api::<Secret>::namespaced(client.clone(), "default");
    let deployments = Api::<Deployment>::namespaced(client.clone(), "default");
    until(&format!("{name} to be written by {wanted}"), LONG, async || {
        let (secret, deployment) =
            (secrets.get_opt(&name).await.ok()??, deployments.get_opt(&name).await.ok()??);
        let writers = [secret.annotations().get(WRITERS)?, deployment.annotations().get(WRITERS)?];
        for seen in writers {
            // A writer that comes again after another one was there at the same time.
            assert!(wanted.starts_with(seen.as_str()), "{name} was written by {seen}, and not by {wanted}");
        }
        (writers == [wanted, wanted]).then(|| [secret.uid().unwrap(), deployment.uid().unwrap()])
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_without_leader_election_is_handed_over_and_a_crash_loop_is_taken_back() {
    if let Err(reason) = RealCluster::allowed() {
        return skipped(&reason);
    }
    let program = guardian().unwrap().with_file_name("porter");
    if !program.is_file() {
        return skipped("the program of its pods is not built; cargo build -p slipway-testkit builds it");
    }
    let cluster = RealCluster::start("real").await.unwrap();
    cluster.load_image(&Image::from_binary(IMAGE, &program).unwrap()).await.unwrap();
    let scene = Scene::on_real(vec![("real", cluster)]).await;
    for (version, crash) in [("1.0.0", false), ("1.1.0", false), ("1.2.0", true)] {
        scene.repository.add(&chart(version, crash));
    }
    scene.register_with(OPERATOR, None, vec![format!("parcels.{}", group(OPERATOR))]).await;
    scene.rolls_out(OPERATOR, "1.0.0", &["real"], &direct(), Status::Completed).await;
    let cluster = scene.cluster("real");
    cluster.parcel(OPERATOR, "one").await;
    cluster.parcel(OPERATOR, "two").await;
    let parcels = cluster.parcels(OPERATOR).await;
    let made = written(&scene, "one", "1.0.0").await;
    written(&scene, "two", "1.0.0").await;

    // Nothing is ever written by both: the second begins when the first is gone.
    let colours: Value = json!({"strategy": "BlueGreen", "blueGreenConfig": {"blueNamespace": OPERATOR,
        "greenNamespace": OPERATOR, "validationPeriod": "PT1S", "switchMonitoringPeriod": "PT5S"}});
    scene.rolls_out(OPERATOR, "1.1.0", &["real"], &colours, Status::Completed).await;
    assert_eq!(written(&scene, "one", "1.0.0,1.1.0").await, made);
    written(&scene, "two", "1.0.0,1.1.0").await;
    assert_eq!(cluster.standing(OPERATOR).await.works.len(), 1);

    // A container that starts again and again is ready for moments; a soak is longer than that.
    let canary = json!({"strategy": "Canary",
        "canaryConfig": {"evaluationPeriod": "PT5M", "healthCheckInterval": "PT2S"}});
    let end = scene.rolls_out(OPERATOR, "1.2.0", &["real"], &canary, Status::RolledBack).await;
    let reason = end.rollback_reason.unwrap();
    // Between two starts a pod that crashes is one that is not ready.
    let told = ["CrashLoopBackOff", "restart", "pods ready"].iter().any(|word| reason.contains(word));
    assert!(told && reason.contains("cluster real"), "{reason}");
    cluster.parcel(OPERATOR, "three").await;
    written(&scene, "three", "1.1.0").await;
    assert_eq!(written(&scene, "one", "1.0.0,1.1.0").await, made, "what it wrote before is there");
    let there = cluster.parcels(OPERATOR).await;
    assert!(parcels.iter().all(|(uid, parcel)| there.get(uid) == Some(parcel)), "{there:?}");
    scene.close().await;
}
