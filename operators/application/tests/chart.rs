//! The chart, rendered and installed by helm 3 and helm 4.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::path::{Path, PathBuf};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use slipway_application_operator::policy::{Preset, Profile};
use slipway_testkit::{ControlPlane, Part, Program, scratch};

const HELMS: [Program; 2] = [Program::Helm3, Program::Helm4];
const DEFINITION: &str = "applications.cloudnative.elide.dev";

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../charts/application-operator")
}

async fn helm(program: Program, plane: Option<&ControlPlane>, arguments: &[&str]) -> anyhow::Result<String> {
    let home = scratch("helm")?;
    let mut part = Part::builder("helm", program.find()?).args(arguments);
    for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        part = part.env(variable, home.path());
    }
    if let Some(plane) = plane {
        part = part.env("KUBECONFIG", plane.kubeconfig_file());
    }
    part.run().await
}

/// The chart's objects, in an order of their own.
async fn rendered(program: Program, settings: &[&str]) -> anyhow::Result<Vec<Value>> {
    let chart = chart();
    let mut arguments = vec!["template", "blue", chart.to_str().unwrap(), "--namespace", "harbour"];
    arguments.extend(["--kube-version", "1.33.0"]);
    arguments.extend(settings.iter().flat_map(|setting| ["--set", *setting]));
    let text = helm(program, None, &arguments).await?;
    let mut objects: Vec<Value> = serde_saphyr::from_multiple(&text)?;
    objects.retain(|object| !object.is_null());
    objects.sort_by_key(|object| {
        ["/kind", "/metadata/namespace", "/metadata/name"].map(|path| text_at(object, path))
    });
    Ok(objects)
}

fn text_at(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn names(objects: &[&Value]) -> Vec<String> {
    objects.iter().map(|object| text_at(object, "/metadata/name")).collect()
}

/// Every variation that renders something else.
const VARIATIONS: [&[&str]; 7] = [
    &[],
    &["watchNamespaces={a,b}", "serveEvents=true", "crds.atStart=safe"],
    &["webhooks.enabled=false", "leaderElection.enabled=false", "replicaCount=1"],
    &["webhooks.certificates.source=cert-manager", "serviceMonitor.enabled=true"],
    &[
        "webhooks.certificates.source=files",
        "webhooks.certificates.secretName=tls",
        "networkPolicy.enabled=false",
    ],
    &[
        "crds.install=false",
        "group=green",
        "standby=true",
        "webhooks.register=false",
        "leaderElection.namespace=shared",
    ],
    &[
        "policy.preset=strict",
        "policy.allowedRegistries={quay.io}",
        "serviceAccount.create=false",
        "serviceAccount.name=own",
    ],
];

#[tokio::test]
async fn both_helms_find_nothing_to_complain_about_and_render_the_same() {
    let chart = chart();
    for program in HELMS {
        helm(program, None, &["lint", "--strict", chart.to_str().unwrap()]).await.unwrap();
    }
    for variation in VARIATIONS {
        let [three, four] =
            [rendered(HELMS[0], variation).await.unwrap(), rendered(HELMS[1], variation).await.unwrap()];
        assert!(!three.is_empty());
        assert_eq!(three, four, "{variation:?}");
    }
}

#[tokio::test]
async fn permissions_are_spelled_out_and_bound_to_names_where_they_can_be() {
    for variation in VARIATIONS {
        let objects = rendered(Program::Helm4, variation).await.unwrap();
        for role in of_kind(&objects, "ClusterRole").into_iter().chain(of_kind(&objects, "Role")) {
            for rule in role["rules"].as_array().into_iter().flatten() {
                let text = rule.to_string();
                assert!(!text.contains('*'), "{text}");
                let resources = rule["resources"].to_string();
                let named = rule.get("resourceNames").is_some();
                let verbs = rule["verbs"].to_string();
                let shared = ["secrets", "leases", "webhookconfigurations", "customresourcedefinitions"];
                if shared.iter().any(|resource| resources.contains(resource)) && verbs != r#"["create"]"# {
                    assert!(named, "{text}");
                }
                assert!(!resources.contains("pods") && !resources.contains("nodes"), "{text}");
            }
        }
        let cluster_role = of_kind(&objects, "ClusterRole")[0].to_string();
        let watches = |names: &str| variation.iter().any(|setting| setting.starts_with(names));
        assert_eq!(cluster_role.contains("deployments"), !watches("watchNamespaces"), "{variation:?}");
        assert_eq!(cluster_role.contains("tokenreviews"), watches("serveEvents"), "{variation:?}");
    }
}

#[tokio::test]
async fn pods_have_no_more_power_than_they_need() {
    let objects = rendered(Program::Helm4, &[]).await.unwrap();
    let deployment = of_kind(&objects, "Deployment")[0];
    assert_eq!(deployment["spec"]["replicas"], 3);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["runAsUser"], 65532);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    assert_eq!(pod["terminationGracePeriodSeconds"], 30);
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "slipway.dev/application-operator:0.1.0");
    assert_eq!(
        container["securityContext"],
        json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}})
    );
    assert_eq!(
        container["resources"],
        json!({"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}})
    );
    for object in &objects {
        assert!(!object.to_string().contains("caBundle"), "{object}");
    }
}

#[tokio::test]
async fn a_value_that_does_not_exist_is_refused_by_name() {
    for program in HELMS {
        for (setting, word) in [
            ("replicas=2", "replicas"),
            ("policy.allowedRegistry={x}", "allowedRegistry"),
            ("webhooks.failurePolicy=Maybe", "failurePolicy"),
            ("webhooks.certificates.source=files", "webhooks.certificates.secretName is needed"),
        ] {
            let error = rendered(program, &[setting]).await.unwrap_err().to_string();
            assert!(error.contains(word), "{setting}: {error}");
        }
    }
}

#[tokio::test]
async fn the_policy_of_the_values_is_one_that_the_operator_reads() {
    let config = async |settings: &[&str]| -> Value {
        let objects = rendered(Program::Helm4, settings).await.unwrap();
        let maps = of_kind(&objects, "ConfigMap");
        serde_saphyr::from_str(&text_at(maps[0], "/data/config.yaml")).unwrap()
    };
    let default = config(&[]).await;
    let profile: Profile = serde_json::from_value(default["application"]["policy"].clone()).unwrap();
    assert_eq!(profile, Profile::default());
    let strict = config(&["policy.preset=strict", "policy.maxReplicas=7"]).await;
    let profile: Profile = serde_json::from_value(strict["application"]["policy"].clone()).unwrap();
    assert_eq!(profile, Profile { max_replicas: 7, ..Profile::preset(Preset::Strict) });
}

#[tokio::test]
async fn two_releases_in_two_namespaces_do_not_meet() {
    let chart = chart();
    let cluster = [
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ];
    let named = async |namespace: &str| -> Vec<String> {
        let arguments = [
            "template",
            "blue",
            chart.to_str().unwrap(),
            "--namespace",
            namespace,
            "--kube-version",
            "1.33.0",
        ];
        let text = helm(Program::Helm4, None, &arguments).await.unwrap();
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        cluster.iter().flat_map(|kind| names(&of_kind(&objects, kind))).collect()
    };
    let (one, two) = (named("harbour").await, named("bay").await);
    assert_eq!((one.len(), two.len()), (4, 4));
    assert!(one.iter().all(|name| !two.contains(name)), "{one:?} {two:?}");
}

#[tokio::test]
async fn plain_manifests_are_the_chart_with_its_defaults() {
    let chart = chart();
    let arguments = [
        "template",
        "application-operator",
        chart.to_str().unwrap(),
        "--namespace",
        "elide-system",
        "--kube-version",
        "1.33.0",
    ];
    let now = helm(Program::Helm4, None, &arguments).await.unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/application-operator.yaml");
    let written = std::fs::read_to_string(path).unwrap();
    assert!(written.ends_with(&now), "out of date; run: cargo xtask generate");
}

#[tokio::test]
async fn an_upgrade_keeps_the_certificates_and_an_uninstall_keeps_the_definition() {
    slipway_testkit::init();
    let chart = chart();
    let chart = chart.to_str().unwrap();
    for program in HELMS {
        let plane = ControlPlane::start().await.unwrap();
        let client = plane.client().await.unwrap();
        let run = async |arguments: &[&str]| helm(program, Some(&plane), arguments).await.unwrap();
        run(&["install", "blue", chart, "--namespace", "harbour", "--create-namespace"]).await;

        let pem = slipway_testkit::certificates::Authority::new("test").unwrap().certificate().to_owned();
        let bundle = serde_json::to_value(k8s_openapi::ByteString(pem.into_bytes())).unwrap();
        let webhooks = Api::<ValidatingWebhookConfiguration>::all(client.clone());
        let definitions = Api::<CustomResourceDefinition>::all(client.clone());
        let registration = "harbour-blue-application-operator";
        let patch: json_patch::Patch = serde_json::from_value(json!([
            {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": bundle},
        ]))
        .unwrap();
        webhooks.patch(registration, &PatchParams::default(), &Patch::Json::<()>(patch)).await.unwrap();
        let patch: json_patch::Patch = serde_json::from_value(json!([
            {"op": "add", "path": "/spec/conversion/webhook/clientConfig/caBundle", "value": bundle},
        ]))
        .unwrap();
        definitions.patch(DEFINITION, &PatchParams::default(), &Patch::Json::<()>(patch)).await.unwrap();

        run(&["upgrade", "blue", chart, "--namespace", "harbour", "--set", "webhooks.timeoutSeconds=5"])
            .await;
        let webhook = serde_json::to_value(webhooks.get(registration).await.unwrap()).unwrap();
        assert_eq!(webhook["webhooks"][0]["timeoutSeconds"], 5);
        assert_eq!(webhook["webhooks"][0]["clientConfig"]["caBundle"], bundle);
        let definition = serde_json::to_value(definitions.get(DEFINITION).await.unwrap()).unwrap();
        assert_eq!(definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"], bundle);

        run(&["uninstall", "blue", "--namespace", "harbour"]).await;
        assert!(webhooks.get_opt(registration).await.unwrap().is_none());
        assert!(definitions.get_opt(DEFINITION).await.unwrap().is_some());
    }
}
