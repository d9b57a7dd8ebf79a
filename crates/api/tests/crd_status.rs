//! Which cluster runs which schema, on a real control plane.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod served;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use served::{Server, actor, connections, server};
use slipway_contract::crds::{ClusterCrd, CrdStatusQuery};
use slipway_domain::access::{Environment, Role};
use slipway_infra::kubernetes::KubernetesCrds;
use slipway_infra::workers::Runner;
use slipway_orchestrator::Changeset;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::clusters::Registration;
use slipway_orchestrator::clusters::access::Secret;
use slipway_orchestrator::crds::{CRD_STATUS, CrdStatusWorker, EVERY_CLUSTER_SOON};
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::clusters::GivenAccess;
use slipway_orchestrator::ports::store::WorkRows as _;
use slipway_orchestrator::workers::{Next, Worker as _};
use slipway_testkit::{ControlPlane, until};

const NAME: &str = "widgets.example.com";

/// As people write it: much of it a server drops when it stores a definition.
#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn crd(size: Value) -> Value {
    let fields = json!({
        "size": size,
        "share": {
            "type": "number", "format": "", "minimum": 0.0, "maximum": 100.0, "exclusiveMaximum": false,
            "default": 1.0,
        },
        "wide": {"type": "integer", "format": "int64", "maximum": i64::MAX},
        "tags": {
            "type": "array", "maxItems": 3, "uniqueItems": false,
            "items": {"type": "string", "maxLength": 9, "pattern": "", "enum": ["a", ""]},
        },
        "rest": {
            "type": "object", "additionalProperties": {"type": "string", "title": ""},
            "x-kubernetes-validations": [{"rule": "self.size() < 9", "message": ""}],
        },
        "either": {
            "x-kubernetes-int-or-string": true, "x-kubernetes-embedded-resource": false,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        },
    });
    let schema = json!({
        "type": "object", "description": "", "title": "", "required": [], "nullable": false,
        "properties": {"spec": {"type": "object", "properties": fields}},
    });
    let column = json!({
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 0,
        "description": "", "format": "",
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "annotations": {"controller-gen.kubebuilder.io/version": "v0.16.0"}},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "preserveUnknownFields": false,
            "names": {"kind": "Widget", "plural": "widgets", "shortNames": [], "categories": []},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "deprecated": false, "selectableFields": [],
                "additionalPrinterColumns": [column], "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

async fn put(plane: &ControlPlane, definition: &Value) {
    let client = plane.client().await.unwrap();
    let path = format!(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}?fieldManager=test&force=true"
    );
    let request = http::Request::patch(path)
        .header("content-type", "application/apply-patch+yaml")
        .body(definition.to_string().into_bytes())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

async fn record(server: &Server, version: &str, definition: Value) {
    let (operator, version) = ("widgets".parse().unwrap(), version.parse().unwrap());
    let operators = actor(Some(Role::Operator));
    server.manager.record_crds(&operators, &operator, &version, vec![definition]).await.unwrap();
}

/// Has the cluster looked at now, and waits until it is told as expected.
async fn told(server: &Server, what: &str, right: impl Fn(&ClusterCrd) -> bool) -> ClusterCrd {
    let clusters = server.client(Role::Viewer).crd_status(NAME, &CrdStatusQuery::default()).await.unwrap();
    assert_eq!(clusters.clusters.len(), 1, "one cluster is registered");
    let id = server.manager.cluster(&actor(Some(Role::Viewer)), "prod-eu").await.unwrap().id;
    until(what, Duration::from_mins(1), async || {
        let work = Work { kind: CRD_STATUS, key: id.to_string() };
        let due = jiff::Timestamp::now() - Duration::from_mins(1);
        server.stored.store.commit(Changeset::new().due(work, due)).await.unwrap();
        let status = server.client(Role::Viewer).crd_status(NAME, &CrdStatusQuery::default()).await.unwrap();
        status.clusters.into_iter().next().filter(&right)
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_told_by_the_schema_it_runs() {
    let server = server().await;
    let plane = ControlPlane::start().await.unwrap();
    record(&server, "1.0.0", crd(json!({"type": "string"}))).await;
    record(&server, "1.1.0", crd(json!({"type": "string", "maxLength": 5}))).await;
    let registration = Registration {
        name: "prod-eu".to_owned(),
        description: None,
        environment: Environment::Production,
        labels: [("region".to_owned(), "eu".to_owned())].into(),
        access: Ok(GivenAccess::Kubeconfig(Secret::from(served::base64(plane.kubeconfig())))),
        duplicate: false,
    };
    let admin = actor(Some(Role::Admin));
    server.manager.register_cluster(&admin, registration).await.expect("the control plane is registered");
    let before = server.client(Role::Viewer).crd_status(NAME, &CrdStatusQuery::default()).await.unwrap();
    assert_eq!(before.operator_version, "1.1.0");
    assert_eq!(before.clusters[0].state, "Unknown");
    assert_eq!(before.clusters[0].message.as_deref(), Some("nobody has looked yet"));

    let live = Arc::new(KubernetesCrds::new(connections(&server.stored.store)));
    let worker = Arc::new(CrdStatusWorker::new(server.manager.clone(), live));
    server.manager.start_crd_status().await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let runner = Runner::new(server.stored.store.clone()).with(worker);
    let running = tokio::spawn(async move {
        runner
            .run(async {
                let _ = stopped.await;
            })
            .await;
    });

    let absent = told(&server, "the absence to be seen", |cluster| cluster.state == "Absent").await;
    assert!(absent.checked_at.is_some() && absent.runs.is_empty());

    put(&plane, &crd(json!({"type": "string", "maxLength": 5}))).await;
    let same = told(&server, "the schema to be seen", |cluster| cluster.state == "Same").await;
    assert_eq!(same.stored_versions, ["v1"]);
    assert_eq!(same.cluster_name, "prod-eu");

    put(&plane, &crd(json!({"type": "string"}))).await;
    let older = told(&server, "the older schema to be seen", |cluster| cluster.state == "Differs").await;
    assert_eq!(older.severity.as_deref(), Some("breaking"), "going on to the chart's refuses longer texts");
    assert!(older.differences[0].starts_with(".spec.size"), "{:?}", older.differences);

    put(&plane, &crd(json!({"type": "integer"}))).await;
    let edited = told(&server, "what somebody edited to be seen", |cluster| {
        cluster.differences.iter().any(|line| line.contains("integer"))
    })
    .await;
    assert!(edited.runs.is_empty(), "no version brings it");

    stop.send(()).unwrap();
    running.await.unwrap();

    // What became known after the last look is not said to be absent.
    let later = slipway_orchestrator::ports::Clock::now(&server.clock) + Duration::from_mins(1);
    server.clock.set(later);
    let mut other = crd(json!({"type": "string"}));
    other["metadata"]["name"] = json!("gadgets.example.com");
    other["spec"]["names"] = json!({"kind": "Gadget", "plural": "gadgets"});
    record(&server, "1.2.0", other).await;
    let query = CrdStatusQuery::default();
    let status = server.client(Role::Viewer).crd_status("gadgets.example.com", &query).await.unwrap();
    assert_eq!(status.clusters[0].state, "Unknown");
    assert_eq!(status.clusters[0].message.as_deref(), Some("nobody has looked yet"));

    // One piece of work, however many clusters there are, has all of them looked at.
    let store = &server.stored.store;
    let live = Arc::new(KubernetesCrds::new(connections(store)));
    let worker = CrdStatusWorker::new(server.manager.clone(), live);
    let past = jiff::Timestamp::now() - Duration::from_mins(1);
    let all = Work { kind: CRD_STATUS, key: EVERY_CLUSTER_SOON.to_owned() };
    store.commit(Changeset::new().due(all.clone(), past)).await.unwrap();
    let claims = store.claim(CRD_STATUS, 9, Duration::from_mins(1)).await.unwrap();
    let claim = claims.into_iter().find(|claim| claim.work == all).unwrap();
    server.clock.set(past);
    assert_eq!(worker.work(&claim).await.unwrap(), Next::Ended);
    let id = server.manager.cluster(&actor(Some(Role::Viewer)), "prod-eu").await.unwrap().id;
    let claims = store.claim(CRD_STATUS, 9, Duration::from_mins(1)).await.unwrap();
    assert_eq!(claims.iter().map(|claim| claim.work.key.clone()).collect::<Vec<_>>(), [id.to_string()]);
}
