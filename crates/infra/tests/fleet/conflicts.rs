//! Fields that somebody else wrote: what an autoscaler says stays, what people changed is told and set back, and
//! neither line of helm trips over them.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::{Value, json};
use slipway_domain::preflight::{CheckKind, Level};
use slipway_domain::rollout::StepKind;
use slipway_orchestrator::ports::Fleet as _;
use slipway_testkit::charts::Chart;

use crate::dock::{BOTH, Dock, chart, released};

const SCALER: &str = "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: boats}
spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: boats}}
";

fn boats(version: &str) -> Chart {
    let deployment = |name: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: 2\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: main, image: 'example.com/boats:{version}', env: [{{name: A, value: a}}]}}]}}\n"
        )
    };
    chart(version)
        .template("boats.yaml", &deployment("boats"))
        .template("rafts.yaml", &deployment("rafts"))
        .template("scaler.yaml", SCALER)
        .build()
        .unwrap()
}

async fn write(dock: &Dock, name: &str, manager: &str, scale: bool, patch: &Value) {
    let deployments = Api::<Deployment>::namespaced(dock.client.clone(), "sea");
    let how = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    if scale {
        deployments.patch_scale(name, &how, &Patch::Merge(patch)).await.unwrap();
    } else {
        deployments.patch(name, &how, &Patch::Strategic(patch)).await.unwrap();
    }
}

async fn live(dock: &Dock, name: &str) -> (i32, String, String) {
    let live = Api::<Deployment>::namespaced(dock.client.clone(), "sea").get(name).await.unwrap();
    let container = &live.spec.template.spec.as_ref().unwrap().containers[0];
    let variable = container.env.as_ref().unwrap()[0].value.clone().unwrap_or_default();
    (live.spec.replicas.unwrap(), container.image.clone().unwrap_or_default(), variable)
}

#[tokio::test]
async fn an_autoscaler_keeps_its_number_and_what_people_changed_is_told_and_set_back() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        dock.install(&boats("1.0.0")).await;
        let subject = dock.subject(&boats("1.1.0"));
        let digest = async || {
            let report = dock.fleet.preflight(&subject, jiff::Timestamp::now()).await.unwrap();
            assert_eq!(report.refusals().count(), 0, "{:?}", report.findings);
            report
        };
        let before = digest().await.digest;
        let snapshot = dock.snapshot(&subject).await;
        // As the autoscaler's controller does it, and as people do.
        write(&dock, "boats", "kube-controller-manager", true, &json!({"spec": {"replicas": 7}})).await;
        let edited = json!({"spec": {"replicas": 5, "template": {"spec": {"containers":
            [{"name": "main", "env": [{"name": "A", "value": "mine"}]}]}}}});
        write(&dock, "rafts", "kubectl-edit", false, &edited).await;
        let report = digest().await;
        assert_eq!(report.digest, before, "how many pods there are is no part of a plan");
        let drift: Vec<_> = report
            .findings
            .iter()
            .filter(|found| found.check == CheckKind::Difference && found.text.contains("wrote fields"))
            .collect();
        assert_eq!(drift.len(), 1, "{drift:?}");
        assert_eq!(drift[0].level, Level::Warning);
        assert!(drift[0].text.starts_with("kubectl-edit "), "{drift:?}");
        let fields = drift[0].objects.join("\n");
        assert!(fields.contains("Deployment sea/rafts spec.replicas"), "{fields}");
        assert!(fields.contains("env[name=\"A\"].value") && !fields.contains("sea/boats"), "{fields}");

        let mut act = Dock::step(&subject, StepKind::Release, Some(&snapshot));
        act.digest = Some(before);
        assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v2", "{program:?}");
        let image = |version: &str| format!("example.com/boats:{version}");
        assert_eq!(live(&dock, "boats").await, (7, image("1.1.0"), "a".to_owned()), "{program:?}");
        assert_eq!(live(&dock, "rafts").await, (2, image("1.1.0"), "a".to_owned()), "{program:?}");

        // Going back leaves the autoscaler's number alone, too.
        write(&dock, "boats", "kube-controller-manager", true, &json!({"spec": {"replicas": 4}})).await;
        write(&dock, "rafts", "kubectl-edit", false, &edited).await;
        let outcome = dock.act(&subject, StepKind::Restore, Some(&snapshot)).await;
        assert_eq!(released(&outcome), "sea/fleet.v3", "{program:?}");
        assert_eq!(live(&dock, "boats").await, (4, image("1.0.0"), "a".to_owned()), "{program:?}");
        assert_eq!(live(&dock, "rafts").await, (2, image("1.0.0"), "a".to_owned()), "{program:?}");
    }
}
