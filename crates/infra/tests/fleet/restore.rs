//! Going back.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, PostParams};
use serde_json::json;
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_testkit::charts::ChartBuilder;

use crate::dock::{BOTH, Dock, chart, layer, released};

fn deployment(environment: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: boats}}\nspec:\n  replicas: 2\n  selector: {{matchLabels: {{app: boats}}}}\n  template:\n    metadata: {{labels: {{app: boats}}}}\n    spec:\n      containers:\n      - name: boats\n        image: example.com/boats:{{{{ .Chart.Version }}}}\n        env: [{environment}]\n"
    )
}

fn good() -> ChartBuilder {
    chart("1.0.0")
        .template("deployment.yaml", &deployment("{name: A, value: a}"))
        .template("NOTES.txt", "Old notes")
        .template("hook.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: post-upgrade}}\n")
}

#[tokio::test]
async fn what_a_failed_version_brought_goes_and_the_last_good_one_comes_back() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        dock.install(&good().build().unwrap()).await;
        // The last object is one that no API server takes.
        let bad = chart("2.0.0")
            .template("deployment.yaml", &deployment("{name: A, value: b}, {name: B, value: b}"))
            .template("added.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added}\n")
            .template("ingress.yaml", "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: bad}\nspec: {rules: [{host: 'NOT A HOST'}]}\n")
            .build()
            .unwrap();
        let mut subject = dock.subject(&bad);
        subject.layers = vec![layer(&json!({"sails": 9}))];
        let snapshot = dock.snapshot(&subject).await;
        assert_eq!(snapshot.replicas.get("Deployment sea/boats"), Some(&2));
        let kept = snapshot.release.as_ref().unwrap();
        assert_eq!(
            (kept.version.as_str(), kept.revision, kept.notes.as_deref()),
            ("1.0.0", 1, Some("Old notes"))
        );
        let failed = dock.act(&subject, StepKind::Release, None).await;
        assert!(
            matches!(&failed, Outcome::Failed { reason } if reason.contains("host")),
            "{program:?} {failed:?}"
        );
        assert!(dock.map("added").await.is_some(), "it was half there");
        // Asked again, it says the same, and does nothing.
        assert!(matches!(dock.act(&subject, StepKind::Release, None).await, Outcome::Failed { .. }));

        // No archive is needed to go back.
        subject.archive.bytes.clear();
        let outcome = dock.act(&subject, StepKind::Restore, Some(&snapshot)).await;
        assert_eq!(released(&outcome), "sea/fleet.v3", "{program:?}");
        assert!(dock.map("added").await.is_none(), "{program:?}: what it added is gone");
        assert_eq!(dock.map("config").await.unwrap()["chart"], "1.0.0");
        let live = Api::<Deployment>::namespaced(dock.client.clone(), "sea").get("boats").await.unwrap();
        let container = &live.spec.template.spec.as_ref().unwrap().containers[0];
        assert_eq!(container.image.as_deref(), Some("example.com/boats:1.0.0"));
        let names: Vec<_> =
            container.env.iter().flatten().map(|it| (it.name.as_str(), it.value.as_deref())).collect();
        assert_eq!(names, [("A", Some("a"))], "{program:?}");
        let record = dock.record(3).await;
        assert_eq!(record["chart"]["metadata"]["version"], "1.0.0");
        assert_eq!(record["info"]["notes"], "Old notes");
        assert_eq!(record["hooks"].as_array().map(Vec::len), Some(1), "hooks are kept for later");
        assert!(dock.map("hook").await.is_none(), "and were not run");
        assert_eq!(released(&dock.act(&subject, StepKind::Restore, Some(&snapshot)).await), "sea/fleet.v3");
        let deployed: Vec<_> =
            dock.revisions().await.into_iter().filter(|(_, status)| status == "deployed").collect();
        assert_eq!(deployed, [(3, "deployed".to_owned())]);
    }
}

#[tokio::test]
async fn a_version_that_came_is_taken_back_and_one_that_never_came_needs_nothing() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        dock.install(&good().build().unwrap()).await;
        let next = chart("2.0.0")
            .template("added.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: added}\n");
        let subject = dock.subject(&next.build().unwrap());
        let snapshot = dock.snapshot(&subject).await;
        assert_eq!(released(&dock.act(&subject, StepKind::Restore, Some(&snapshot)).await), "sea/fleet.v1");
        assert_eq!(released(&dock.act(&subject, StepKind::Release, None).await), "sea/fleet.v2");
        let deployments = Api::<Deployment>::namespaced(dock.client.clone(), "sea");
        assert!(
            deployments
                .get_opt("boats")
                .await
                .unwrap()
                .is_none_or(|it| it.metadata.deletion_timestamp.is_some())
        );
        let mut act = Dock::step(&subject, StepKind::Restore, Some(&snapshot));
        act.key.attempt = 2;
        let outcome = slipway_orchestrator::ports::Fleet::act(&*dock.fleet, &act).await.outcome;
        assert_eq!(released(&outcome), "sea/fleet.v3");
        assert!(dock.map("added").await.is_none());
        assert!(deployments.get_opt("boats").await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_first_install_is_brought_to_rest_and_says_what_it_left() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        let first = good()
            .template("webhook.yaml", "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: boats}\nwebhooks:\n- name: boats.sea.dev\n  sideEffects: None\n  admissionReviewVersions: [v1]\n  rules: [{apiGroups: [sea.dev], apiVersions: [v1], operations: [CREATE], resources: [boats]}]\n  clientConfig: {service: {name: boats, namespace: sea}}\n")
            .build()
            .unwrap();
        let mut subject = dock.subject(&first);
        subject.placement.installed = false;
        let snapshot = dock.snapshot(&subject).await;
        assert!(snapshot.release.is_none());
        assert_eq!(released(&dock.act(&subject, StepKind::Release, None).await), "sea/fleet.v1");
        let outcome = dock.act(&subject, StepKind::Restore, Some(&snapshot)).await;
        let Outcome::Done(Found::Noted(text)) = outcome else { panic!("{outcome:?}") };
        assert!(text.contains("Deployment sea/boats scaled to nothing"), "{text}");
        assert!(
            text.contains("ValidatingWebhookConfiguration boats removed") && text.contains("sea/fleet"),
            "{text}"
        );
        let live = Api::<Deployment>::namespaced(dock.client.clone(), "sea").get("boats").await.unwrap();
        assert_eq!(live.spec.replicas, Some(0));
        // Nothing stands in the way of whoever writes boats now.
        let services = dock.of("", "v1", "ConfigMap", Some("sea"));
        let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe"}});
        services.create(&PostParams::default(), &serde_json::from_value(probe).unwrap()).await.unwrap();
    }
}
