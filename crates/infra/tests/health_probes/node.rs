//! An operator whose pods really run: its webhook is called through a Service, its certificate seen through the
//! API server, its crashes and log lines are those of the kubelet.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_domain::health::{CertificateState, Look, Observation, Verdict, WebhookAnswer, WebhookSeen};
use slipway_infra::kubernetes::probes::{Registration, Subject, WorkloadRef};
use slipway_orchestrator::ports::probes::Target;
use slipway_testkit::certificates::Authority;
use slipway_testkit::guardian::guardian;
use slipway_testkit::{Image, RealCluster, skipped, until};

use super::sea::{CRD, after, install_crd, judged, launch, look, reasons, status, target};

/// Pods have to start, and to crash a few times.
const LONG: Duration = Duration::from_mins(4);
const IMAGE: &str = "localhost/slipway/probe:1";

fn deployment(name: &str, container: &Value) -> Deployment {
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [container],
                    "volumes": [{"name": "tls", "secret": {"secretName": "tls"}}],
                },
            },
        },
    }))
    .unwrap()
}

fn workload(name: &str) -> WorkloadRef {
    WorkloadRef { kind: "Deployment".into(), namespace: "boats".into(), name: name.into() }
}

fn hook(seen: &Observation) -> Option<&WebhookSeen> {
    match &seen.webhooks {
        Look::Seen(hooks) => hooks.first(),
        Look::Unseen(_) => None,
    }
}

/// The Service leads nowhere, or elsewhere, while its pods stay: the API server is still answered over the
/// connections that it has, and the look is not taken in by that.
async fn a_way_that_is_lost_is_seen(client: &Client, subject: &Subject, boats: &Target) {
    let services = Api::<Service>::namespaced(client.clone(), "boats");
    let patch = async |spec: Value| {
        let patch = Patch::Merge(json!({"spec": spec}));
        services.patch("boats", &PatchParams::default(), &patch).await.unwrap();
    };
    let answered = async |what: &str, wanted: &dyn Fn(&WebhookAnswer) -> bool| {
        until(what, LONG, async || {
            let seen = look(client, subject, boats, after(0)).await;
            wanted(&hook(&seen)?.answer).then_some(())
        })
        .await
        .unwrap();
    };
    let well = json!({"selector": {"app": "boats"}, "ports": [{"port": 443, "targetPort": "webhooks"}]});
    let ways = [
        (json!({"selector": {"app": "nobody"}}), "no pod that is ready"),
        (json!({"ports": [{"port": 444, "targetPort": "webhooks"}]}), "has no port 443"),
        (json!({"ports": [{"port": 443, "targetPort": 8080}]}), "speaks no TLS on port 8080"),
        (json!({"ports": [{"port": 443, "targetPort": 8081}]}), "does not listen on port 8081"),
    ];
    for (way, why) in ways {
        patch(way).await;
        let failed = |answer: &WebhookAnswer| matches!(answer, WebhookAnswer::Failed { message } if message.contains(why));
        answered(why, &failed).await;
        patch(well.clone()).await;
        answered("the way to be there again", &|answer| *answer == WebhookAnswer::Answered).await;
    }
}

#[tokio::test]
async fn on_a_real_node_webhooks_certificates_and_crashes_are_seen_as_they_are() {
    if let Err(reason) = RealCluster::allowed() {
        return skipped(&reason);
    }
    let probe = guardian().unwrap().with_file_name("probe");
    if !probe.is_file() {
        return skipped("the program of its pods is not built; cargo build -p slipway-testkit builds it");
    }
    let cluster = RealCluster::start("health").await.unwrap();
    cluster.load_image(&Image::from_binary(IMAGE, &probe).unwrap()).await.unwrap();
    let client = cluster.info().client().await.unwrap();
    let post = PostParams::default();
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": "boats"}})).unwrap();
    Api::all(client.clone()).create(&post, &namespace).await.unwrap();
    let authority = Authority::new("boats").unwrap();
    let pair = authority.server("boats", &["boats.boats.svc"]).unwrap();
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"name": "tls"}, "stringData": {"tls.crt": pair.certificate, "tls.key": pair.key},
    }))
    .unwrap();
    Api::namespaced(client.clone(), "boats").create(&post, &secret).await.unwrap();
    let serving = json!({
        "name": "main", "image": IMAGE,
        "env": [
            {"name": "PROBE_TLS_CERT", "value": "/tls/tls.crt"}, {"name": "PROBE_TLS_KEY", "value": "/tls/tls.key"},
        ],
        "ports": [{"name": "webhooks", "containerPort": 8443}],
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
        "readinessProbe": {"periodSeconds": 1, "httpGet": {"path": "/healthz", "port": 8080}},
    });
    let deployments = Api::<Deployment>::namespaced(client.clone(), "boats");
    deployments.create(&post, &deployment("boats", &serving)).await.unwrap();
    let service: Service = serde_json::from_value(json!({
        "metadata": {"name": "boats"},
        "spec": {"selector": {"app": "boats"}, "ports": [{"port": 443, "targetPort": "webhooks"}]},
    }))
    .unwrap();
    Api::namespaced(client.clone(), "boats").create(&post, &service).await.unwrap();
    install_crd(&client, None).await;
    launch(&client, "ark", &status(1, "True")).await;
    let configuration: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "boats"},
        "webhooks": [{
            "name": "validate.sea.dev", "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "boats", "namespace": "boats", "path": "/validate"},
                "caBundle": BASE64.encode(authority.certificate()),
            },
            "rules": [{
                "apiGroups": ["sea.dev"], "apiVersions": ["v1"], "resources": ["boats"], "operations": ["*"],
            }],
        }],
    }))
    .unwrap();
    Api::all(client.clone()).create(&post, &configuration).await.unwrap();
    let mut subject = Subject {
        workloads: BTreeSet::from([workload("boats")]),
        services: BTreeSet::from([("boats".to_owned(), "boats".to_owned())]),
        registrations: BTreeSet::from([(Registration::Validating, "boats".to_owned())]),
        namespaces: BTreeSet::from(["boats".to_owned()]),
        ..Subject::default()
    };
    let boats = target(&[CRD]);
    let seen = until("all to be well", LONG, async || {
        let seen = look(&client, &subject, &boats, after(0)).await;
        (judged(&seen, &boats).verdict == Verdict::Healthy).then_some(seen)
    })
    .await
    .unwrap();
    let webhook = hook(&seen).unwrap();
    assert_eq!(webhook.answer, WebhookAnswer::Answered, "{webhook:?}");
    let certificate = webhook.certificate.as_ref().expect("it is seen through the API server");
    let health = judged(&seen, &boats);
    assert!(health.webhooks.certificate_expires_at().is_some_and(|end| end > Timestamp::now()));
    assert_eq!(certificate.of, "its certificate");
    let state = certificate.state(seen.at, &boats.rules.limits);
    assert_eq!(state, CertificateState::Good, "{certificate:?}");

    a_way_that_is_lost_is_seen(&client, &subject, &boats).await;

    // A part that crashes, and a webhook that nobody answers any more.
    let crashing = json!({"name": "main", "image": IMAGE, "args": ["crash"]});
    deployments.create(&post, &deployment("broken", &crashing)).await.unwrap();
    subject.workloads.insert(workload("broken"));
    let none = Patch::Merge(json!({"spec": {"replicas": 0}}));
    deployments.patch("boats", &PatchParams::default(), &none).await.unwrap();
    let last = std::sync::Mutex::new(String::new());
    let seen = until("both to be seen", LONG, async || {
        // As if the time that pods have to start were over.
        let seen = look(&client, &subject, &boats, after(3)).await;
        let gone = hook(&seen).is_some_and(|hook| matches!(hook.answer, WebhookAnswer::Failed { .. }));
        let health = judged(&seen, &boats);
        *last.lock().unwrap() = format!("{:?} {:?}", seen.workloads, hook(&seen));
        (gone && health.pods.crash_looping > 0).then_some(seen)
    })
    .await
    .unwrap_or_else(|error| panic!("{error}; the last look: {}", last.lock().unwrap()));
    let health = judged(&seen, &boats);
    assert_eq!(health.verdict, Verdict::Unhealthy);
    let told = reasons(&health).join("\n");
    assert!(told.contains("validate.sea.dev") && told.contains("CrashLoopBackOff"), "{told}");
}
