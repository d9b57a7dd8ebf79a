//! Definitions on a real API server: made of types, installed, judged.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Client, CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_runtime::crd::{
    Conversion, Crdgen, CrdgenError, InstallError, Installed, Installer, MultiVersion, Policy, WebhookClient,
    check, install,
};
use slipway_testkit::{ControlPlane, until};

const NAME: &str = "widgets.example.com";
const MINUTE: Duration = Duration::from_mins(1);

/// Everything that the derive describes in a way an API server does not take, or takes for something else.
#[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.com", version = "v1", kind = "Widget", namespaced, status = "WidgetStatus")]
#[serde(rename_all = "camelCase")]
struct WidgetSpec {
    tiny: u8,
    small: Option<u16>,
    large: Option<u32>,
    huge: Option<u64>,
    colour: Option<Colour>,
    /// An optional object, with a description of its own.
    frame: Option<Frame>,
    anything: Option<Value>,
    things: Option<BTreeMap<String, Value>>,
    list: Option<Vec<Value>>,
}

#[derive(JsonSchema, Clone, Debug, Serialize, Deserialize)]
enum Colour {
    /// As the sea.
    Blue,
    Red,
}

/// What holds it.
#[derive(JsonSchema, Clone, Debug, Serialize, Deserialize)]
struct Frame {
    width: i8,
}

#[derive(JsonSchema, Clone, Debug, Default, Serialize, Deserialize)]
struct WidgetStatus {
    seen: Option<usize>,
}

/// An older version of the same kind.
mod old {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
    #[kube(group = "example.com", version = "v1alpha1", kind = "Widget", namespaced)]
    pub(super) struct WidgetSpec {
        tiny: u8,
    }
}

/// Another kind, given for the same one by mistake.
mod strange {
    use super::{CustomResource, Deserialize, JsonSchema, Serialize};

    #[derive(CustomResource, JsonSchema, Clone, Debug, Serialize, Deserialize)]
    #[kube(group = "example.org", version = "v1", kind = "Gadget")]
    pub(super) struct GadgetSpec {
        tiny: u8,
    }
}

fn widgets() -> CustomResourceDefinition {
    MultiVersion::stored::<Widget>().build().unwrap()
}

/// The definition after a change of its schema.
fn changed(change: impl Fn(&mut Value)) -> CustomResourceDefinition {
    let mut value = serde_json::to_value(widgets()).unwrap();
    change(value.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap());
    serde_json::from_value(value).unwrap()
}

fn narrower() -> CustomResourceDefinition {
    changed(|spec| spec["properties"]["tiny"]["maximum"] = json!(9))
}

fn wider() -> CustomResourceDefinition {
    changed(|spec| spec["properties"]["extra"] = json!({"type": "string"}))
}

async fn plane() -> (ControlPlane, Client) {
    slipway_testkit::init();
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    (plane, client)
}

/// A client of a user that may do nothing yet.
async fn client_of_nobody(plane: &ControlPlane) -> Client {
    let kubeconfig = kube::config::Kubeconfig::from_yaml(plane.kubeconfig()).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    config.auth_info.impersonate = Some("nobody".to_owned());
    Client::try_from(config).unwrap()
}

async fn create(client: &Client, name: &str, spec: Value) -> Result<DynamicObject, String> {
    let widget: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec,
    }))
    .unwrap();
    let api = Api::<DynamicObject>::namespaced_with(client.clone(), "default", &Widget::api_resource());
    until("the API server to serve widgets", MINUTE, async || {
        match api.create(&PostParams::default(), &widget).await {
            Err(kube::Error::Api(status)) if status.code == 404 => None,
            answer => Some(answer.map_err(|error| error.to_string())),
        }
    })
    .await
    .unwrap()
}

async fn live(client: &Client) -> CustomResourceDefinition {
    Api::<CustomResourceDefinition>::all(client.clone()).get(NAME).await.unwrap()
}

#[tokio::test]
async fn a_definition_made_of_types_is_taken_without_a_warning() {
    let (_plane, client) = plane().await;
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict";
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&widgets()).unwrap().into())
        .unwrap();
    let answer = client.send(request).await.unwrap();
    let warnings: Vec<_> = answer.headers().get_all("warning").iter().collect();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(answer.status().is_success(), "{}", answer.status());

    // What the types hold goes in and comes out whole.
    let spec = json!({
        "tiny": 255, "small": 65535, "large": 4_294_967_295_u32, "huge": 9_007_199_254_740_993_i64,
        "colour": "Blue", "frame": null, "anything": {"a": [1, {"b": null}]}, "things": {"x": {"y": 1}, "z": 2},
        "list": [{"a": 1}, "b"],
    });
    let stored = create(&client, "whole", spec.clone()).await.unwrap();
    assert_eq!(stored.data["spec"], spec);
    let colourless = create(&client, "colourless", json!({"tiny": 1, "colour": null})).await.unwrap();
    assert_eq!(colourless.data["spec"], json!({"tiny": 1}));
    let typed: Widget = serde_json::from_value(serde_json::to_value(&stored).unwrap()).unwrap();
    assert_eq!(typed.spec.tiny, 255);
    // What they do not hold is refused.
    for (spec, field) in [
        (json!({"tiny": 256}), "spec.tiny"),
        (json!({"tiny": -1}), "spec.tiny"),
        (json!({"tiny": 1, "large": 4_294_967_296_i64}), "spec.large"),
        (json!({"tiny": 1, "huge": -1}), "spec.huge"),
        (json!({"tiny": 1, "colour": "Green"}), "spec.colour"),
        (json!({"tiny": 1, "frame": {"width": 128}}), "spec.frame.width"),
    ] {
        let error = create(&client, "wrong", spec).await.unwrap_err();
        assert!(error.contains(field), "{error}");
    }
}

#[tokio::test]
async fn an_optional_field_can_be_absent_instead_of_null() {
    let (_plane, client) = plane().await;
    let crd = MultiVersion::stored::<Widget>().absent_not_null().build().unwrap();
    assert!(!serde_json::to_string(&crd).unwrap().contains("nullable"));
    install(client.clone(), &crd, Policy::Safe).await.unwrap();
    let stored = create(&client, "null", json!({"tiny": 1, "small": null, "frame": null})).await.unwrap();
    assert_eq!(stored.data["spec"], json!({"tiny": 1}));
}

#[tokio::test]
async fn a_definition_is_installed_once_and_upgraded_when_that_breaks_nothing() {
    let (_plane, client) = plane().await;
    assert_eq!(install(client.clone(), &widgets(), Policy::Never).await.unwrap(), Installed::Skipped);
    let absent = Api::<CustomResourceDefinition>::all(client.clone()).get_opt(NAME).await.unwrap();
    assert!(absent.is_none(), "never means never");

    assert_eq!(install(client.clone(), &widgets(), Policy::Safe).await.unwrap(), Installed::Created);
    create(&client, "first", json!({"tiny": 1})).await.unwrap();
    let version = live(&client).await.metadata.resource_version;
    assert_eq!(install(client.clone(), &widgets(), Policy::Safe).await.unwrap(), Installed::Unchanged);
    assert_eq!(live(&client).await.metadata.resource_version, version);

    let installed = install(client.clone(), &wider(), Policy::Safe).await.unwrap();
    let Installed::Updated(report) = installed else { panic!("{installed:?}") };
    assert!(report.findings.iter().all(|finding| finding.path.contains("extra")), "{report:?}");
}

#[tokio::test]
async fn a_breaking_change_is_refused_with_what_it_breaks_and_made_when_forced() {
    let (_plane, client) = plane().await;
    install(client.clone(), &widgets(), Policy::Safe).await.unwrap();
    create(&client, "small", json!({"tiny": 1})).await.unwrap();
    create(&client, "big", json!({"tiny": 200})).await.unwrap();

    let text = install(client.clone(), &narrower(), Policy::Safe).await.unwrap_err().to_string();
    for words in [
        "maximum-tightened at v1 .spec.tiny",
        "1 of 2 objects would be refused or lose fields: default/big",
        "It was not applied",
    ] {
        assert!(text.contains(words), "{words:?} is not in: {text}");
    }
    create(&client, "bigger", json!({"tiny": 201})).await.unwrap();

    let forced = install(client.clone(), &narrower(), Policy::Force).await.unwrap();
    assert!(matches!(forced, Installed::Updated(_)), "{forced:?}");
    until("the narrower schema to hold", MINUTE, async || {
        create(&client, "biggest", json!({"tiny": 202}))
            .await
            .err()
            .filter(|error| error.contains("spec.tiny"))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_version_that_objects_are_stored_in_is_never_dropped() {
    let (_plane, client) = plane().await;
    let older = MultiVersion::stored::<old::Widget>().build().unwrap();
    install(client.clone(), &older, Policy::Safe).await.unwrap();
    let error = install(client.clone(), &widgets(), Policy::Force).await.unwrap_err();
    let InstallError::StoredVersionDropped { versions, .. } = &error else { panic!("{error:?}") };
    assert_eq!(versions, &["v1alpha1"]);
}

#[tokio::test]
async fn installers_that_start_at_once_agree() {
    let (_plane, client) = plane().await;
    let crd = widgets();
    for one in futures::future::join_all((0..6).map(|_| install(client.clone(), &crd, Policy::Safe))).await {
        let one = one.unwrap();
        assert!(matches!(one, Installed::Created | Installed::Unchanged | Installed::Updated(_)), "{one:?}");
    }
    let crd = wider();
    for one in futures::future::join_all((0..6).map(|_| install(client.clone(), &crd, Policy::Safe))).await {
        let one = one.unwrap();
        assert!(matches!(one, Installed::Updated(_) | Installed::Unchanged), "{one:?}");
    }
}

#[tokio::test]
async fn certificates_that_are_there_stay() {
    let (_plane, client) = plane().await;
    let place = || WebhookClient::service("system", "webhook", "/convert");
    let with = |crd: CustomResourceDefinition, webhook: WebhookClient| {
        let mut crd = crd;
        crd.spec.conversion = Some(Conversion::Webhook(webhook).to_spec());
        crd
    };
    let pem = |name: &str| {
        slipway_testkit::certificates::Authority::new(name).unwrap().certificate().to_owned().into_bytes()
    };
    let bundle_of = async || {
        let value = serde_json::to_value(live(&client).await).unwrap();
        value.pointer("/spec/conversion/webhook/clientConfig/caBundle").cloned()
    };
    let stays = async |who: &str| {
        let there = bundle_of().await;
        assert!(there.is_some());
        for (crd, policy) in [(wider(), Policy::Safe), (widgets(), Policy::Force)] {
            install(client.clone(), &with(crd, place()), policy).await.unwrap();
            assert_eq!(bundle_of().await, there, "{who}, {policy:?}");
        }
    };
    install(client.clone(), &with(widgets(), place().ca_bundle(pem("first"))), Policy::Safe).await.unwrap();
    stays("written by an earlier install").await;
    let bundle = json!({"spec": {"conversion": {"webhook": {"clientConfig": {
        "caBundle": k8s_openapi::ByteString(pem("second")),
    }}}}});
    let parameters = PatchParams { field_manager: Some("cert-manager".to_owned()), ..PatchParams::default() };
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    api.patch(NAME, &parameters, &Patch::Merge(&bundle)).await.unwrap();
    stays("written by another").await;
}

#[tokio::test]
async fn fields_of_another_manager_are_left_to_it_and_it_is_named() {
    let (_plane, client) = plane().await;
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut first = widgets();
    first.spec.names.short_names = Some(vec!["wid".to_owned()]);
    api.patch(NAME, &PatchParams::apply("helm"), &Patch::Apply(&first)).await.unwrap();
    let mut next = widgets();
    next.spec.names.short_names = Some(vec!["wid".to_owned(), "wd".to_owned()]);
    let error = install(client.clone(), &next, Policy::Safe).await.unwrap_err();
    assert!(matches!(&error, InstallError::Managed { .. }), "{error:?}");
    assert!(error.to_string().contains("helm"), "{error}");
    install(client.clone(), &next, Policy::Force).await.unwrap();
    assert_eq!(live(&client).await.spec.names.short_names, next.spec.names.short_names);
}

#[tokio::test]
async fn a_missing_permission_is_reported_as_the_rule_that_is_enough() {
    let (plane, client) = plane().await;
    let nobody = client_of_nobody(&plane).await;
    let error = install(nobody.clone(), &widgets(), Policy::Safe).await.unwrap_err();
    let InstallError::Forbidden { rule, .. } = &error else { panic!("{error:?}") };
    assert!(error.to_string().contains(NAME), "{error}");

    let rules: Value = serde_saphyr::from_str(rule).unwrap();
    let role: ClusterRole =
        serde_json::from_value(json!({"metadata": {"name": "installer"}, "rules": rules})).unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "installer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    }))
    .unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &role).await.unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &binding).await.unwrap();
    let installed = until("the rule to be enough", MINUTE, async || {
        match install(nobody.clone(), &widgets(), Policy::Safe).await {
            Err(InstallError::Forbidden { .. }) => None,
            answer => Some(answer),
        }
    });
    assert_eq!(installed.await.unwrap().unwrap(), Installed::Created);
    // Objects may not be read with it; the change is judged by the definitions alone.
    let error = install(nobody, &narrower(), Policy::Safe).await.unwrap_err();
    assert!(error.to_string().contains("maximum-tightened"), "{error}");
}

#[tokio::test]
async fn a_kind_whose_names_are_taken_is_reported() {
    let (_plane, client) = plane().await;
    install(client.clone(), &widgets(), Policy::Safe).await.unwrap();
    let mut other = serde_json::to_value(widgets()).unwrap();
    other["metadata"]["name"] = json!("gizmos.example.com");
    other["spec"]["names"] = json!({"kind": "Widget", "plural": "gizmos", "singular": "gizmo"});
    let other: CustomResourceDefinition = serde_json::from_value(other).unwrap();
    let error = Installer::new(client, Policy::Safe).deadline(MINUTE).run(&other).await.unwrap_err();
    assert!(matches!(&error, InstallError::NamesTaken { .. }), "{error:?}");
    assert!(error.to_string().contains("Widget"), "{error}");
}

#[test]
fn versions_that_do_not_belong_together_are_refused_by_field() {
    let error = MultiVersion::stored::<Widget>()
        .served::<old::Widget>()
        .served::<strange::Gadget>()
        .rule("v1", "spec.no.such", "true")
        .rule("v9", "spec", "true")
        .build()
        .unwrap_err();
    let fields: Vec<&str> = error.problems.iter().map(|problem| problem.field.as_str()).collect();
    let expected = [
        "spec.group",
        "spec.names.kind",
        "spec.names.plural",
        "spec.scope",
        "v1 spec.no.such",
        "v9 spec",
        "spec.versions[2].name",
    ];
    assert_eq!(fields, expected, "{error}");
}

#[test]
fn versions_are_served_warned_about_or_kept_as_told() {
    let crd = MultiVersion::stored::<Widget>()
        .deprecated::<old::Widget>("use v1")
        .annotation("example.com/owner", "us")
        .rule("v1", "spec.tiny", ("self != 13", "13 brings bad luck"))
        .build()
        .unwrap();
    let [one, alpha] = crd.spec.versions.as_slice() else { panic!("{:?}", crd.spec.versions) };
    assert_eq!((one.name.as_str(), one.served, one.storage), ("v1", true, true));
    assert_eq!((alpha.name.as_str(), alpha.served, alpha.storage), ("v1alpha1", true, false));
    assert_eq!(alpha.deprecation_warning.as_deref(), Some("use v1"));
    assert!(serde_json::to_string(&crd).unwrap().contains("13 brings bad luck"));
    let unserved = MultiVersion::stored::<Widget>().unserved::<old::Widget>().build().unwrap();
    assert!(!unserved.spec.versions[1].served);
}

#[test]
fn what_a_definition_must_have_is_checked_before_anybody_is_asked() {
    let mut crd = widgets();
    crd.spec.group = "nodots".to_owned();
    crd.spec.names.kind = "widget".to_owned();
    crd.spec.names.plural = "Widgets".to_owned();
    crd.spec.versions[0].storage = false;
    let fields: Vec<String> = check(&crd).into_iter().map(|problem| problem.field).collect();
    assert_eq!(
        fields,
        ["spec.group", "spec.names.kind", "spec.names.plural", "metadata.name", "spec.versions"]
    );
    crd.spec.versions.clear();
    let problems = check(&crd);
    assert_eq!(problems.last().unwrap().to_string(), "spec.versions: there is none; give at least one");
    let mut crd = widgets();
    crd.spec.versions.push(crd.spec.versions[0].clone());
    crd.spec.versions[1].name = "v2".to_owned();
    assert_eq!(check(&crd)[0].to_string(), "spec.versions: v1 and v2 are stored; exactly one must be");
}

#[test]
fn definitions_are_written_to_a_file_and_compared_with_it() {
    let directory = slipway_testkit::scratch("crdgen").unwrap();
    let path = directory.path().join("widgets.yaml");
    let write = Crdgen { output: Some(path.clone()), check: false };
    let compare = Crdgen { check: true, ..write.clone() };
    assert!(matches!(compare.run(&[widgets()]), Err(CrdgenError::Stale { .. })));
    write.run(&[widgets(), wider()]).unwrap();
    compare.run(&[widgets(), wider()]).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let back: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&text).unwrap();
    assert_eq!(back, [widgets(), wider()]);
    assert!(text.contains("maximum: 255\n"), "{text}");
    let error = compare.run(&[narrower()]).unwrap_err().to_string();
    assert!(error.ends_with("widgets.yaml is out of date; write it again without --check"), "{error}");
}
