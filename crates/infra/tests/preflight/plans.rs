//! What would be made, changed and deleted, and whether the chart and its values fit.

use serde_json::{Value, json};
use slipway_domain::preflight::{CheckKind, Fate, Level};
use slipway_domain::profile::{Upgrade, UpgradePath};
use slipway_domain::rollout::{Found, Outcome};
use slipway_orchestrator::ports::fleet::Layer;

use crate::harbour::{Harbour, chart, definition, layer, refusals, told};

const CLAIM: &str = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hold}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
";

const SECRET: &str = "apiVersion: v1
kind: Secret
metadata: {name: treasure}
stringData: {place: \"{{ .Values.place }}\"}
";

#[tokio::test]
async fn a_plan_that_deletes_what_people_keep_is_refused_unless_it_is_named() {
    let harbour = Harbour::open().await;
    let boats = definition(&json!({"sails": {"type": "integer"}}));
    let first = chart("1.0.0", None)
        .template("claim.yaml", CLAIM)
        .template("crd.yaml", &boats.to_string())
        .build()
        .unwrap();
    harbour.install(&first, "fleet", "sea").await;
    let mut subject = harbour.subject(&chart("1.1.0", None).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Difference, Level::Refused);
    assert_eq!(refused.len(), 1, "{refused:?}");
    for name in ["PersistentVolumeClaim sea/hold", "CustomResourceDefinition boats.sea.dev"] {
        assert!(refused[0].contains(name), "{refused:?}");
        let deleted =
            report.changes.iter().any(|change| change.fate == Fate::Deleted && change.object == name);
        assert!(deleted, "{:?}", report.changes);
    }

    subject.may_delete = vec!["PersistentVolumeClaim sea/hold".to_owned()];
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Difference, Level::Refused);
    assert!(
        refused.len() == 1 && !refused[0].contains("hold") && refused[0].contains("boats"),
        "{refused:?}"
    );

    subject.may_delete.push("CustomResourceDefinition boats.sea.dev".to_owned());
    assert_eq!(refusals(&harbour.preflight(&subject).await), Vec::<String>::new());

    // What helm must keep does not go.
    subject.may_delete.clear();
    let keep = json!({"metadata": {"annotations": {"helm.sh/resource-policy": "keep"}}});
    let patch = kube::api::Patch::Merge(&keep);
    harbour.crds().patch(crate::harbour::CRD, &kube::api::PatchParams::default(), &patch).await.unwrap();
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Difference, Level::Refused);
    assert!(refused.len() == 1 && !refused[0].contains("boats"), "{refused:?}");
}

#[tokio::test]
async fn a_custom_resource_is_kept_like_what_people_made() {
    let harbour = Harbour::open().await;
    harbour.define(&definition(&json!({"sails": {"type": "integer"}})), "somebody").await;
    let boat = "apiVersion: sea.dev/v1\nkind: Boat\nmetadata: {name: flagship}\nspec: {sails: 3}\n";
    harbour.install(&chart("1.0.0", None).template("boat.yaml", boat).build().unwrap(), "fleet", "sea").await;
    let subject = harbour.subject(&chart("1.1.0", None).build().unwrap(), "1.1.0");
    let refused = refusals(&harbour.preflight(&subject).await);
    assert!(refused.len() == 1 && refused[0].ends_with(": Boat sea/flagship"), "{refused:?}");
}

#[tokio::test]
async fn a_plan_shows_each_field_that_changes_and_no_secret() {
    let harbour = Harbour::open().await;
    let first = chart("1.0.0", None).template("secret.yaml", SECRET).values("sails: 1\nplace: cave\n");
    harbour.install(&first.clone().build().unwrap(), "fleet", "sea").await;
    let mut subject = harbour.subject(&first.build().unwrap(), "1.0.0");
    let before = harbour.preflight(&subject).await;
    assert_eq!(before.changes, []);
    assert_eq!(before.from.as_ref().map(ToString::to_string).as_deref(), Some("1.0.0"));

    subject.layers = vec![layer(json!({"sails": 2, "place": "under the palm"}))];
    let report = harbour.preflight(&subject).await;
    let told: Vec<(Fate, &str, Vec<&str>)> = report
        .changes
        .iter()
        .map(|change| {
            (change.fate, change.object.as_str(), change.fields.iter().map(String::as_str).collect())
        })
        .collect();
    assert!(
        told.contains(&(Fate::Changed, "ConfigMap sea/fleet-config", vec!["data.sails: 1 → 2"])),
        "{told:?}"
    );
    assert!(told.contains(&(Fate::Changed, "Secret sea/treasure", vec!["data.place"])), "{told:?}");
    assert!(!format!("{:?}", report.changes).contains("palm"));
    assert_ne!(before.digest, report.digest);
    assert_eq!(report.digest, harbour.preflight(&subject).await.digest, "the same plan");
    let Outcome::Done(Found::Fits { digest, .. }) = report.outcome() else { panic!("{report:?}") };
    assert_eq!(digest, report.digest);
}

#[tokio::test]
async fn values_that_do_not_fit_are_told_all_at_once() {
    let harbour = Harbour::open().await;
    let schema =
        r#"{"type": "object", "properties": {"sails": {"type": "integer"}, "name": {"type": "string"}}}"#;
    let chart = chart("1.0.0", None).values_schema(schema).build().unwrap();
    let mut subject = harbour.subject(&chart, "1.0.0");
    subject.placement.installed = false;
    subject.layers = vec![layer(json!({"sails": "many", "name": 3}))];
    let refused = told(&harbour.preflight(&subject).await, CheckKind::Values, Level::Refused);
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("sails: ") && refused[0].contains("name: "), "{refused:?}");
    assert!(!refused[0].contains("many"), "{refused:?}");
    let kept = |source, document: &str, values: Value| Layer {
        source,
        document: Some(document.to_owned()),
        ..layer(values)
    };
    subject.layers = vec![
        kept("environment", "boats-development", json!({"sails": "many", "name": "a"})),
        kept("cluster", "harbour", json!({"name": 3})),
    ];
    let refused = told(&harbour.preflight(&subject).await, CheckKind::Values, Level::Refused);
    for part in ["(from environment (Values boats-development))", "(from cluster (Values harbour))"] {
        assert!(refused[0].contains(part), "{refused:?}");
    }
    subject.layers.clear();
    let report = harbour.preflight(&subject).await;
    assert_eq!(told(&report, CheckKind::Values, Level::Passed).len(), 1, "{report:?}");
    // The namespace is made with the release, so nothing can be tried in it yet.
    assert_eq!(refusals(&report), Vec::<String>::new());
    let unknown = told(&report, CheckKind::Permitted, Level::Unknown);
    assert!(unknown.len() == 1 && unknown[0].contains("sea is not there yet"), "{unknown:?}");
}

#[tokio::test]
async fn a_chart_that_does_not_fit_the_cluster_is_refused_with_the_reason() {
    let harbour = Harbour::open().await;
    let old = chart("1.0.0", None).kube_version("<1.20.0").build().unwrap();
    let refused = told(
        &harbour.preflight(&harbour.subject(&old, "1.0.0")).await,
        CheckKind::Kubernetes,
        Level::Refused,
    );
    assert!(refused.len() == 1 && refused[0].contains("1.20.0"), "{refused:?}");
    let broken = chart("1.0.0", None).template("x.yaml", "{{ fail \"no anchor\" }}").build().unwrap();
    let refused = told(
        &harbour.preflight(&harbour.subject(&broken, "1.0.0")).await,
        CheckKind::Renders,
        Level::Refused,
    );
    assert!(refused.len() == 1 && refused[0].contains("no anchor"), "{refused:?}");

    harbour.install(&chart("1.0.0", None).build().unwrap(), "fleet", "sea").await;
    let mut subject = harbour.subject(&chart("1.2.0", None).build().unwrap(), "1.2.0");
    subject.profile.upgrade = Upgrade { path: UpgradePath::NoSkippedMinor, one_way: Vec::new() };
    let refused = told(&harbour.preflight(&subject).await, CheckKind::UpgradePath, Level::Refused);
    assert!(refused.len() == 1 && refused[0].contains("go to 1.1 first"), "{refused:?}");
}

#[tokio::test]
async fn what_the_cluster_would_refuse_is_told_before() {
    let harbour = Harbour::open().await;
    let service = |port: u32| {
        let text = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: quay}}\nspec: {{ports: [{{port: {port}}}], selector: {{a: b}}}}\n"
        );
        chart("1.0.0", None).template("service.yaml", &text).build().unwrap()
    };
    harbour.install(&service(80), "fleet", "sea").await;
    let report = harbour.preflight(&harbour.subject(&service(70000), "1.0.0")).await;
    let refused = told(&report, CheckKind::Permitted, Level::Refused);
    assert!(
        refused.len() == 1 && refused[0].contains("Service sea/quay") && refused[0].contains("70000"),
        "{refused:?}"
    );
}
