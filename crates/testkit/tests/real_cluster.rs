//! A cluster with a real node does what Kubernetes does, and leaves nothing behind.
//!
//! Most tests share one cluster, each in a namespace of its own, since nothing they do reaches
//! further. Where the machine cannot run a real node, they say so and end.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what a test arranges either works or ends the test"
)]

#[path = "real_cluster/remains.rs"]
mod remains;
#[path = "real_cluster/room.rs"]
mod room;

use std::env;
use std::process::Stdio;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod, Secret};
use kube::Api;
use kube::api::{AttachParams, DeleteParams, ListParams, LogParams, PostParams};
use serde_json::json;
use slipway_testkit::certificates::Authority;
use slipway_testkit::real_cluster::RealClusterInfo;
use slipway_testkit::{RealCluster, until};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;
use tokio::spawn;

use remains::{Trace, host_directories, host_settings};
use room::{IMAGE, Room, possible, probe_image};

const SOON: Duration = Duration::from_mins(3);

#[tokio::test]
async fn a_pod_of_our_image_answers_through_its_service_and_its_dns_name() {
    let Some(room) = Room::enter("service").await else { return };
    room.serve("probe", json!({})).await;
    let address = room.service("probe", 80, 8080).await;
    let name = format!("probe.{}.svc.cluster.local", room.name);
    for (pod, url) in [
        ("by-address", format!("http://{address}/")),
        ("by-short-name", "http://probe/".to_owned()),
        ("by-name", format!("http://{name}/")),
    ] {
        assert_eq!(room.run(pod, &["get", &url]).await, "hello from probe\n", "{url}");
    }
    let path = format!("/api/v1/namespaces/{}/services/probe:80/proxy/", room.name);
    let request = axum::http::Request::get(path).body(Vec::new()).unwrap();
    assert_eq!(room.client.request_text(request).await.unwrap(), "hello from probe\n");
}

#[tokio::test]
async fn exec_logs_and_port_forward_reach_a_pod() {
    let Some(room) = Room::enter("reach").await else { return };
    room.serve("probe", json!({})).await;

    let command = ["probe", "get", "http://localhost:8080/healthz"];
    let attached = AttachParams::default().stderr(false);
    let mut process = room.pods().exec("probe", command, &attached).await.unwrap();
    let mut said = String::new();
    process.stdout().unwrap().read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "ok\n");

    let log = room.pods().logs("probe", &LogParams::default()).await.unwrap();
    assert_eq!(log, "probe: listening on port 8080\n");

    let mut forwarded = room.pods().portforward("probe", &[8080]).await.unwrap();
    let mut stream = forwarded.take_stream(8080).unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
    assert!(answer.ends_with("hello from probe\n"), "{answer}");
}

#[tokio::test]
async fn a_pod_whose_readiness_probe_fails_runs_but_is_not_ready() {
    let Some(room) = Room::enter("unready").await else { return };
    let readiness =
        |path| json!({"readinessProbe": {"periodSeconds": 1, "httpGet": {"path": path, "port": 8080}}});
    room.serve("well", readiness("/healthz")).await;

    room.start("unwell", &[], readiness("/no-such-page")).await;
    let events: Api<Event> = Api::namespaced(room.client.clone(), &room.name);
    let failures = ListParams::default().fields("involvedObject.name=unwell,reason=Unhealthy");
    // Before the program listens, the kubelet is refused; what counts is that it hears the 404.
    let wanted = "Readiness probe failed: HTTP probe failed with statuscode: 404";
    until("the kubelet to say that the pod is unhealthy", SOON, async || {
        let events = events.list(&failures).await.ok()?.items;
        events
            .iter()
            .any(|event| event.message.as_deref().is_some_and(|it| it.contains(wanted)))
            .then_some(())
    })
    .await
    .unwrap();
    let status = room.pods().get("unwell").await.unwrap().status.unwrap();
    assert_eq!(status.phase.as_deref(), Some("Running"));
    let ready = status.conditions.unwrap().into_iter().find(|it| it.type_ == "Ready").unwrap();
    assert_eq!((ready.status.as_str(), ready.reason.as_deref()), ("False", Some("ContainersNotReady")));
}

#[tokio::test]
async fn a_program_that_crashes_is_restarted_with_a_growing_pause() {
    let Some(room) = Room::enter("crash").await else { return };
    room.start("broken", &["crash"], json!({})).await;
    let status = until("the pod to back off", SOON, async || {
        let status = room.pods().get("broken").await.ok()?.status?.container_statuses?.into_iter().next()?;
        let waiting = status.state.as_ref()?.waiting.as_ref()?;
        (waiting.reason.as_deref() == Some("CrashLoopBackOff")).then_some(status)
    })
    .await
    .unwrap();
    assert_eq!(status.last_state.unwrap().terminated.unwrap().exit_code, 7);
}

#[tokio::test]
async fn an_admission_webhook_in_the_cluster_refuses_an_object_with_its_message() {
    let Some(room) = Room::enter("webhook").await else { return };
    let authority = Authority::new("webhook").unwrap();
    let pair = authority.server("webhook", &[&format!("webhook.{}.svc", room.name)]).unwrap();
    let files = json!({"tls.crt": pair.certificate, "tls.key": pair.key});
    room.create::<Secret>(json!({"metadata": {"name": "webhook"}, "stringData": files})).await;
    room.serve(
        "webhook",
        json!({
            "env": [
                {"name": "PROBE_TLS_CERT", "value": "/tls/tls.crt"},
                {"name": "PROBE_TLS_KEY", "value": "/tls/tls.key"},
            ],
            "volumeMounts": [{"name": "webhook", "mountPath": "/tls"}],
        }),
    )
    .await;
    room.service("webhook", 443, 8443).await;
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(room.client.clone());
    let configuration = json!({"metadata": {"name": room.name}, "webhooks": [{
        "name": "probe.slipway.test",
        "clientConfig": {
            "service": {"name": "webhook", "namespace": room.name, "path": "/validate"},
            "caBundle": base64(authority.certificate()),
        },
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": room.name}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }]});
    webhooks.create(&PostParams::default(), &serde_json::from_value(configuration).unwrap()).await.unwrap();

    let objects: Api<ConfigMap> = Api::namespaced(room.client.clone(), &room.name);
    let labelled = |name: &str, deny: &str| -> ConfigMap {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"deny": deny}}})).unwrap()
    };
    // The API server learns of webhooks a moment after they are created.
    let refusal = until("the webhook to be asked", SOON, async || {
        match objects.create(&PostParams::default(), &labelled("bad", "true")).await {
            Err(kube::Error::Api(status)) if status.message.contains("denied the request") => {
                Some(status.message.clone())
            }
            Ok(_) => objects.delete("bad", &DeleteParams::default()).await.map(|_| None).ok()?,
            Err(_) => None,
        }
    })
    .await
    .unwrap();
    assert_eq!(
        refusal,
        "admission webhook \"probe.slipway.test\" denied the request: \
         probe refuses bad: it carries deny=true; remove that to go on"
    );
    objects.create(&PostParams::default(), &labelled("good", "false")).await.unwrap();
}

#[tokio::test]
async fn clusters_side_by_side_touch_neither_each_other_nor_the_machine() {
    if !possible() {
        return;
    }
    let before = (host_settings(), host_directories());
    let (east, west) =
        tokio::try_join!(spawn(RealCluster::start("east")), spawn(RealCluster::start("west"))).unwrap();
    let (east, west) = (east.unwrap(), west.unwrap());
    let image = probe_image();
    tokio::try_join!(east.load_image(&image), west.load_image(&image)).unwrap();
    for cluster in [&east, &west] {
        let room = Room::of(cluster, "side").await;
        // The same names and addresses in both.
        room.serve("probe", json!({})).await;
        room.service("probe", 80, 8080).await;
        let answer = room.run("asking", &["get", "http://probe.side.svc.cluster.local/"]).await;
        assert_eq!(answer, "hello from probe\n");
        let pods: Api<Pod> = Api::all(room.client.clone());
        assert_eq!(
            pods.list(&ListParams::default()).await.unwrap().items.len(),
            3,
            "CoreDNS and two of ours"
        );
    }
    assert_eq!((host_settings(), host_directories()), before);

    let room = Room::of(&east, "after").await;
    let side: Api<Pod> = Api::namespaced(room.client.clone(), "side");
    let container =
        async || side.get("probe").await.unwrap().status.unwrap().container_statuses.unwrap().remove(0);
    let running = container().await;
    east.restart_kubelet().await.unwrap();
    room.serve("later", json!({})).await;
    assert_eq!(container().await.container_id, running.container_id, "a pod outlives a kubelet");

    let (east_trace, west_trace) = (Trace::of(east.info()), Trace::of(west.info()));
    assert!(!east_trace.remains().is_empty() && !west_trace.remains().is_empty());
    east.stop().await;
    assert_eq!(east_trace.remains(), Vec::<String>::new());
    Room::of(&west, "survivor").await.serve("probe", json!({})).await;
    west.stop().await;
    assert_eq!(west_trace.remains(), Vec::<String>::new());
    assert_eq!((host_settings(), host_directories()), before);
}

#[tokio::test]
async fn a_cluster_whose_owner_is_killed_leaves_nothing() {
    if !possible() {
        return;
    }
    let mut owner = Command::new(env!("CARGO_BIN_EXE_hold"))
        .arg("cluster")
        .env_remove("SLIPWAY_BROKER")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().expect("the owner says what it holds");
    let info: RealClusterInfo = serde_json::from_str(&line).unwrap();
    let room = Room::at(&info, "orphan").await;
    room.serve("probe", json!({})).await;
    let trace = Trace::of(&info);
    assert!(!trace.remains().is_empty());
    owner.kill().await.unwrap();
    let gone = until("everything to be gone", SOON, async || trace.remains().is_empty().then_some(())).await;
    assert!(gone.is_ok(), "left: {:?}", trace.remains());
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn the_probe_image_is_named_as_pods_name_it() {
    assert_eq!(probe_image().reference(), IMAGE);
}
