//! The step that runs helm.

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use slipway_domain::rollout::{Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;

use crate::dock::{BOTH, Dock, chart, layer, released};

async fn attempts(dock: &Dock) -> usize {
    let secrets = Api::<Secret>::namespaced(dock.client.clone(), "slipway-system");
    let list = secrets.list(&ListParams::default()).await.unwrap();
    let names = list.items.iter().filter_map(|secret| secret.metadata.name.as_deref());
    names.filter(|name| name.starts_with("slipway-attempt-")).count()
}

#[tokio::test]
async fn what_was_rendered_is_applied_once_however_often_it_is_asked_for() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        let namespace = serde_json::from_value(json!({"metadata": {"name": "sea"}})).unwrap();
        Api::<Namespace>::all(dock.client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
        let secret = json!({"metadata": {"name": "keys"}, "stringData": {"password": "hunter2"}});
        Api::<Secret>::namespaced(dock.client.clone(), "sea")
            .create(&PostParams::default(), &serde_json::from_value(secret).unwrap())
            .await
            .unwrap();
        let chart = chart("1.0.0")
            .template(
                "more.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata:\n  braces: '{{ \"{{\" }} .Values.x {{ \"}}\" }}'\n  uid: {{ (lookup \"v1\" \"Namespace\" \"\" \"sea\").metadata.uid | quote }}\n  kubernetes: {{ .Capabilities.KubeVersion.Version }}\n  apps: {{ .Capabilities.APIVersions.Has \"apps/v1/Deployment\" | quote }}\n  revision: {{ .Release.Revision | quote }}\n  random: {{ randAlphaNum 12 }}\n  password: {{ .Values.password }}\n",
            )
            .template("NOTES.txt", "Sail {{ .Release.Name }}!")
            .template(
                "hook.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-install}\n",
            )
            .build()
            .unwrap();
        let mut subject = dock.subject(&chart);
        subject.placement.installed = false;
        let reference = json!({"$secret": {"name": "keys", "key": "password"}});
        subject.layers =
            vec![layer(&json!({"sails": 2})), layer(&json!({"sails": 3, "password": reference}))];
        // What was judged is what is applied, random values aside.
        let digest = dock.fleet.preflight(&subject, jiff::Timestamp::now()).await.unwrap().digest;
        let mut act = Dock::step(&subject, StepKind::Release, None);
        act.digest = Some("sha256:another".to_owned());
        let changed = dock.fleet.act(&act).await.outcome;
        assert!(
            matches!(&changed, Outcome::Hiccup { reason } if reason.contains("the plan changed")),
            "{changed:?}"
        );
        act.digest = Some(digest);
        assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v1");
        assert_eq!(attempts(&dock).await, 0, "the credential of the attempt is gone");

        let more = dock.map("more").await.unwrap();
        let sea = Api::<Namespace>::all(dock.client.clone()).get("sea").await.unwrap();
        assert_eq!(more["braces"], "{{ .Values.x }}");
        assert_eq!(Some(&more["uid"]), sea.metadata.uid.as_ref());
        assert_eq!((more["apps"].as_str(), more["revision"].as_str()), ("true", "1"));
        assert_eq!(more["password"], "hunter2");
        assert!(more["kubernetes"].starts_with("v1."), "{more:?}");
        assert_eq!(dock.map("config").await.unwrap()["sails"], "3");
        assert!(dock.map("hook").await.is_some(), "hooks run");
        let record = dock.record(1).await;
        assert_eq!(record["config"], json!({"sails": 3, "password": reference}), "secrets stay references");
        assert_eq!(record["info"]["notes"], "Sail fleet!");
        let metadata = &record["chart"]["metadata"];
        assert_eq!(
            (&metadata["name"], &metadata["version"], &metadata["appVersion"]),
            (&json!("boats"), &json!("1.0.0"), &json!("7"))
        );
        assert!(record["info"]["description"].as_str().unwrap().contains("dock/Release/1"), "{record:?}");

        // Once more, as another server would: nothing is done twice.
        for resumed in [false, true] {
            act.resumed = resumed;
            assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v1");
        }
        assert_eq!(dock.map("more").await.unwrap()["random"], more["random"]);
        // Another attempt is another revision.
        act.key.attempt = 2;
        act.resumed = false;
        assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v2");
        assert_eq!(dock.map("more").await.unwrap()["revision"], "2");
        assert_eq!(dock.revisions().await, [(1, "superseded".to_owned()), (2, "deployed".to_owned())]);
    }
}

#[tokio::test]
async fn a_certificate_that_another_tool_injected_survives() {
    const BUNDLE: &str = "/webhooks/0/clientConfig/caBundle";
    for program in BOTH {
        let dock = Dock::open(program).await;
        let config: Value = serde_json::from_str(&dock.plane.kubeconfig()).unwrap();
        let real = config.pointer("/clusters/0/cluster/certificate-authority-data").unwrap().clone();
        let webhooks = |version: &str, bundle: &str| {
            chart(version)
                .template(
                    "webhook.yaml",
                    &format!("apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{name: boats}}\nwebhooks:\n- name: boats.sea.dev\n  sideEffects: None\n  admissionReviewVersions: [v1]\n  timeoutSeconds: {}\n  failurePolicy: Ignore\n  rules: [{{apiGroups: [sea.dev], apiVersions: [v1], operations: [CREATE], resources: [boats]}}]\n  clientConfig:\n    service: {{name: boats, namespace: sea}}\n{bundle}", version.len()),
                )
                .build()
                .unwrap()
        };
        // By hand, with a placeholder; then somebody injects the real one.
        dock.install(&webhooks("1.0.0", "    caBundle: Cg==\n")).await;
        let registrations =
            dock.of("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", None);
        let patch = json!({"webhooks": [{"name": "boats.sea.dev", "clientConfig": {"caBundle": real}}]});
        let how = PatchParams { field_manager: Some("cainjector".to_owned()), ..PatchParams::default() };
        registrations.patch("boats", &how, &Patch::Strategic(patch)).await.unwrap();
        for (version, bundle) in
            [("1.1.10", "    caBundle: Cg==\n"), ("1.1.100", ""), ("1.1.1000", "    caBundle: Cg==\n")]
        {
            let subject = dock.subject(&webhooks(version, bundle));
            released(&dock.act(&subject, StepKind::Release, None).await);
            let live = serde_json::to_value(registrations.get("boats").await.unwrap()).unwrap();
            assert_eq!(live.pointer(BUNDLE), Some(&real), "{program:?} {version}");
            assert_eq!(live["webhooks"][0]["timeoutSeconds"], version.len());
        }
    }
}
