//! What of a release is not as it was released any more.

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_domain::operator::Drifted;
use slipway_domain::profile::DriftCare;
use slipway_domain::rollout::StepKind;
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::Subject;
use slipway_testkit::charts::Chart;

use crate::dock::{BOTH, Dock, chart, released};

const WORKLOAD: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: boats}
spec:
  replicas: 2
  selector: {matchLabels: {app: boats}}
  template:
    metadata: {labels: {app: boats}}
    spec:
      containers:
      - {name: boats, image: 'example.com/boats:1', args: ['--key=treasure'], resources: {requests: {cpu: 1000m}}}
---
apiVersion: v1
kind: Service
metadata: {name: boats}
spec: {selector: {app: boats}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: treasure}
stringData: {place: island}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: once, image: 'example.com/once:1'}]}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: boats}
webhooks:
- name: boats.sea.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: boats, namespace: sea}}
  rules: [{apiGroups: [sea.dev], apiVersions: [v1], resources: [boats], operations: [CREATE]}]
";

fn boats() -> Chart {
    chart("1.0.0").template("workload.yaml", WORKLOAD).build().unwrap()
}

async fn seen(dock: &Dock, subject: &Subject) -> Vec<String> {
    let drifted = dock.fleet.drift(subject).await.unwrap().expect("it is deployed");
    let mut told: Vec<String> = drifted
        .into_iter()
        .map(|Drifted { object, gone, fields }| {
            format!(
                "{object}{}{}",
                if gone { " gone" } else { "" },
                fields.iter().map(|field| format!(" {field}")).collect::<String>()
            )
        })
        .collect();
    told.sort();
    told
}

async fn patch(dock: &Dock, (group, kind, name): (&str, &str, &str), patch: Value) {
    let namespace = if kind.ends_with("Configuration") { None } else { Some("sea") };
    let how = PatchParams { field_manager: Some("somebody".to_owned()), ..PatchParams::default() };
    dock.of(group, "v1", kind, namespace).patch(name, &how, &Patch::Strategic(patch)).await.unwrap();
}

#[tokio::test]
async fn what_people_change_is_seen_and_what_others_own_by_design_is_not() {
    for helm in BOTH {
        let dock = Dock::open(helm).await;
        let mut subject = dock.subject(&boats());
        released(&dock.act(&subject, StepKind::Release, None).await);
        let nothing: [&str; 0] = [];
        assert_eq!(seen(&dock, &subject).await, nothing, "as it was released, with {helm:?}");

        let deployment = ("apps", "Deployment", "boats");
        let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "boats"}, "spec": {"maxReplicas": 9,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "boats"}}});
        let scalers = dock.of("autoscaling", "v2", "HorizontalPodAutoscaler", Some("sea"));
        scalers.create(&PostParams::default(), &serde_json::from_value(scaler).unwrap()).await.unwrap();
        patch(&dock, deployment, json!({"spec": {"replicas": 5}})).await;
        patch(&dock, deployment, json!({"metadata": {"annotations": {"somebody.dev/note": "x"}}})).await;
        let bundle = json!({"webhooks": [{"name": "boats.sea.dev", "clientConfig": {"caBundle": "Y2E="}}]});
        patch(&dock, ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "boats"), bundle)
            .await;
        dock.of("batch", "v1", "Job", Some("sea")).delete("once", &DeleteParams::background()).await.unwrap();
        assert_eq!(seen(&dock, &subject).await, nothing, "others own that by design, with {helm:?}");

        scalers.delete("boats", &DeleteParams::default()).await.unwrap();
        let container = json!({"name": "boats", "image": "example.com/boats:2", "args": ["--key=other"]});
        patch(&dock, deployment, json!({"spec": {"template": {"spec": {"containers": [container]}}}})).await;
        patch(&dock, ("", "Secret", "treasure"), json!({"stringData": {"place": "ship"}})).await;
        dock.of("", "v1", "Service", Some("sea")).delete("boats", &DeleteParams::default()).await.unwrap();
        let told = seen(&dock, &subject).await;
        assert_eq!(
            told,
            [
                "Deployment sea/boats spec.replicas: 5 → 2 spec.template.spec.containers[boats].args[0] \
                 spec.template.spec.containers[boats].image: example.com/boats:2 → example.com/boats:1",
                "Secret sea/treasure data.place",
                "Service sea/boats gone",
            ],
            "with {helm:?}"
        );
        subject.profile.drift = DriftCare {
            mend: false,
            ignore: vec!["Deployment spec".to_owned(), "Secret data.place".to_owned(), "Service".to_owned()],
        };
        assert_eq!(seen(&dock, &subject).await, nothing, "the profile says so");

        // Released once more, all of it is as it was.
        let again = dock.subject(&boats());
        released(&dock.act(&again, StepKind::Release, None).await);
        assert_eq!(seen(&dock, &again).await, nothing, "mended, with {helm:?}");
        dock.install(&boats()).await;
        let told = seen(&dock, &again).await;
        assert_eq!(told, ["release fleet revision 3 was made by somebody with helm"], "with {helm:?}");
    }
}
