//! Pods.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;
use slipway_domain::health::{Check, Look, Observation, Verdict, WorkloadSeen};
use slipway_infra::kubernetes::probes::{Subject, WorkloadRef};
use slipway_testkit::kwok::{BEHAVIOUR, Behaviour};
use slipway_testkit::{ControlPlane, until};

use super::sea::{MINUTE, after, judged, look, reasons, target};

fn deployment(name: &str, behaviour: Option<Behaviour>) -> Deployment {
    let annotations = behaviour.map(|behaviour| json!({BEHAVIOUR: behaviour.annotation()}));
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": annotations},
                "spec": {"containers": [{"name": "manager", "image": "example.test/any",
                    "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}}}]}
            }
        }
    }))
    .unwrap()
}

fn release_of(name: &str) -> Subject {
    let workload = WorkloadRef { kind: "Deployment".into(), namespace: "default".into(), name: name.into() };
    Subject { workloads: BTreeSet::from([workload]), ..Subject::default() }
}

async fn create(client: &Client, deployment: &Deployment) {
    let api = Api::<Deployment>::namespaced(client.clone(), "default");
    api.create(&PostParams::default(), deployment).await.unwrap();
}

fn workload(seen: &Observation) -> &WorkloadSeen {
    let Look::Seen(workloads) = &seen.workloads else { panic!("{:?}", seen.workloads) };
    &workloads[0]
}

#[tokio::test]
async fn pods_are_seen_through_the_release_and_judged_by_what_they_do() {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let client = plane.client().await.unwrap();
    let boats = target(&[]);
    create(&client, &deployment("well", None)).await;
    create(&client, &deployment("crashing", Some(Behaviour::CrashLoop))).await;
    create(&client, &deployment("unready", Some(Behaviour::Unready))).await;
    create(&client, &deployment("vanishing", Some(Behaviour::Vanish))).await;

    let seen = until("both pods to be ready", MINUTE, async || {
        let seen = look(&client, &release_of("well"), &boats, after(0)).await;
        (workload(&seen).ready() == 2).then_some(seen)
    })
    .await
    .unwrap();
    let health = judged(&seen, &boats);
    assert_eq!((health.verdict, health.pods.ready, health.pods.expected), (Verdict::Healthy, 2, 2));
    assert_eq!(workload(&seen).pods[0].containers[0].limit.cpu_millis, Some(500));

    // A pod with the same labels that is nobody's is not the operator's.
    let stray = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "stray", "labels": {"app": "well"}},
        "spec": {"containers": [{"name": "main", "image": "example.test/any"}]}});
    let pods = Api::<k8s_openapi::api::core::v1::Pod>::namespaced(client.clone(), "default");
    pods.create(&PostParams::default(), &serde_json::from_value(stray).unwrap()).await.unwrap();
    let seen = look(&client, &release_of("well"), &boats, after(0)).await;
    assert_eq!(workload(&seen).pods.len(), 2);

    let crashing = until("the crash loop", MINUTE, async || {
        let seen = look(&client, &release_of("crashing"), &boats, after(3)).await;
        let looping = workload(&seen).pods.iter().flat_map(|pod| &pod.containers);
        (looping.filter(|container| container.waiting.is_some()).count() == 2).then_some(seen)
    })
    .await
    .unwrap();
    let health = judged(&crashing, &boats);
    assert_eq!(
        (health.verdict, health.check(), health.pods.crash_looping),
        (Verdict::Unhealthy, Check::Failed, 2)
    );
    assert!(
        reasons(&health)[0].contains("container manager is in CrashLoopBackOff after 5 restarts"),
        "{health:?}"
    );
    let mut early = after(0);
    early.at =
        workload(&crashing).pods.iter().map(|pod| pod.created).min().unwrap() + Duration::from_secs(30);
    let young = look(&client, &release_of("crashing"), &boats, early).await;
    assert_eq!(judged(&young, &boats).check(), Check::Undecided, "it may still come right");

    let unready = look(&client, &release_of("unready"), &boats, after(3)).await;
    let health = judged(&unready, &boats);
    assert_eq!(health.verdict, Verdict::Unhealthy);
    assert!(reasons(&health)[0].contains("default/unready has 0 of 2 pods ready"), "{:?}", reasons(&health));

    let vanishing = until("a pod to vanish", MINUTE, async || {
        let seen = look(&client, &release_of("vanishing"), &boats, after(0)).await;
        (workload(&seen).ready() < 2).then_some(seen)
    })
    .await
    .unwrap();
    assert_eq!(judged(&vanishing, &boats).verdict, Verdict::Degraded);

    let gone = look(&client, &release_of("never-made"), &boats, after(0)).await;
    assert!(reasons(&judged(&gone, &boats))[0].contains("never-made of its release is not there"));
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_unknown_with_the_reason() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let boats = target(&["boats.sea.dev"]);
    plane.kill("kube-apiserver").await.unwrap();
    let seen = look(&client, &release_of("well"), &boats, after(0)).await;
    let health = judged(&seen, &boats);
    assert_eq!((health.verdict, health.check()), (Verdict::Unknown, Check::Undecided));
    for reason in &health.reasons {
        assert!(reason.text.contains("cluster harbour does not answer: "), "{reason:?}");
    }
}
