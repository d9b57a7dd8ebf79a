//! Two colours beside each other.

use serde_json::{Value, json};
use slipway_domain::preflight::{CheckKind, Level};
use slipway_domain::profile::Colour;
use slipway_orchestrator::ports::fleet::Beside;
use slipway_orchestrator::ports::probes::ReleaseAt;

use crate::harbour::{Harbour, chart, definition, refusals, told};

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: \"{{ .Values.role }}\"}
rules: []
";

const SERVICE: &str = "apiVersion: v1
kind: Service
metadata: {name: \"{{ .Release.Name }}-hooks\"}
spec: {ports: [{port: 443}], selector: {a: b}}
";

fn green() -> Beside {
    let release = ReleaseAt { namespace: "sea".to_owned(), name: "fleet-green".to_owned() };
    Beside { release, colour: Colour::Green }
}

#[tokio::test]
async fn what_has_one_name_in_both_colours_is_named_until_values_make_it_differ() {
    let harbour = Harbour::open().await;
    let chart =
        chart("1.0.0", None).values("sails: 1\nrole: sailor\n").template("role.yaml", ROLE).build().unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let mut subject = harbour.subject(&chart, "1.0.0");
    subject.placement.beside = Some(green());
    let refused = refusals(&harbour.preflight(&subject).await);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(
        refused[0].contains("colouredValues") && refused[0].ends_with(": ClusterRole sailor"),
        "{refused:?}"
    );

    subject.profile.coloured_values.insert("role".to_owned(), json!("sailor-$(colour)"));
    let report = harbour.preflight(&subject).await;
    assert_eq!(refusals(&report), Vec::<String>::new());
    assert_eq!(told(&report, CheckKind::Colours, Level::Passed).len(), 1);
    assert!(
        report.changes.iter().any(|change| change.object == "ClusterRole sailor-green"),
        "{:?}",
        report.changes
    );
}

#[tokio::test]
async fn webhooks_that_an_operator_registers_itself_are_named() {
    let harbour = Harbour::open().await;
    let chart = chart("1.0.0", None).template("service.yaml", SERVICE).build().unwrap();
    harbour.install(&chart, "fleet", "sea").await;
    let registration = json!({"apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "self-made"},
        "webhooks": [{"name": "v.sea.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore",
            "clientConfig": {"service": {"namespace": "sea", "name": "fleet-hooks"}},
            "rules": [{"apiGroups": ["nowhere.dev"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["things"]}]}]});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(registration.to_string().into_bytes())
        .unwrap();
    harbour.client.request::<Value>(request).await.unwrap();
    let mut subject = harbour.subject(&chart, "1.0.0");
    assert_eq!(refusals(&harbour.preflight(&subject).await), Vec::<String>::new(), "one colour is fine");
    subject.placement.beside = Some(green());
    let refused = refusals(&harbour.preflight(&subject).await);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].ends_with(": ValidatingWebhookConfiguration self-made"), "{refused:?}");
}

#[tokio::test]
async fn conversion_that_nobody_would_answer_and_leases_that_differ_are_refused() {
    let harbour = Harbour::open().await;
    let plain = definition(&json!({"sails": {"type": "integer"}}));
    harbour.install(&chart("1.0.0", Some(&plain)).build().unwrap(), "fleet", "sea").await;
    let mut converted = plain.clone();
    converted["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "sea", "name": "fleet-green"}}}});
    let mut subject = harbour.subject(&chart("1.1.0", Some(&converted)).build().unwrap(), "1.1.0");
    subject.placement.beside = Some(green());
    let refused = refusals(&harbour.preflight(&subject).await);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].ends_with("CustomResourceDefinition boats.sea.dev"), "{refused:?}");

    let mut subject = harbour.subject(&chart("1.1.0", Some(&plain)).build().unwrap(), "1.1.0");
    let standby = json!({"handover": "standby", "lease": {"name": "boats"}});
    subject.profile = slipway_domain::profile::Profile::parse(&standby).unwrap();
    let elsewhere = ReleaseAt { namespace: "lake".to_owned(), name: "fleet".to_owned() };
    subject.placement.beside = Some(Beside { release: elsewhere, colour: Colour::Green });
    let refused = refusals(&harbour.preflight(&subject).await);
    assert!(refused.len() == 1 && refused[0].contains("one Lease"), "{refused:?}");
    subject.profile.lease.as_mut().unwrap().namespace = Some("sea".to_owned());
    assert_eq!(refusals(&harbour.preflight(&subject).await), Vec::<String>::new());
}
