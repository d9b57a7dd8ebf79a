//! A kind of its own, its rules, and a harbour (a control plane) that calls them.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, CustomResource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_runtime::webhook::{
    Certificates, Conversions, Denial, Injection, Mutate, Registration, Review, RunningWebhooks, Schedule,
    SelfSigned, Target, Validate, Verdict, WebhookOptions, WebhookServer, WebhookSet,
};
use slipway_testkit::{ControlPlane, until};

/// Long enough for a busy machine, and only ever reached by a failing test.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The name of both webhook configurations.
pub(crate) const NAME: &str = "boats";

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.test", version = "v1", kind = "Boat", namespaced, schema = "disabled")]
pub(crate) struct BoatSpec {
    pub(crate) crew: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) colour: Option<String>,
}

/// The version before: the crew were sailors.
pub(crate) mod v1beta1 {
    use super::{CustomResource, Deserialize, Serialize};

    #[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.test", version = "v1beta1", kind = "Boat", namespaced, schema = "disabled")]
    pub(crate) struct BoatSpec {
        pub(crate) sailors: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub(crate) colour: Option<String>,
    }
}

struct Seaworthy;

impl Validate<Boat> for Seaworthy {
    async fn validate(&self, review: &Review<Boat>) -> Verdict {
        let mut verdict = Verdict::new();
        if let Some(boat) = &review.object {
            if boat.spec.crew < 1 {
                verdict.deny("spec.crew", "must be at least 1");
            }
            if boat.spec.crew > 9 {
                verdict.warn(format!("a crew of {} is large", boat.spec.crew));
            }
        }
        verdict
    }
}

struct Paint;

impl Validate<Boat> for Paint {
    async fn validate(&self, review: &Review<Boat>) -> Verdict {
        let mut verdict = Verdict::new();
        if review.object.as_ref().is_some_and(|boat| boat.spec.colour.as_deref() == Some("black")) {
            verdict.deny("spec.colour", "must not be black, which is for pirates");
        }
        verdict
    }
}

struct Defaults;

impl Mutate<Boat> for Defaults {
    async fn mutate(&self, _: &Review<Boat>, boat: &mut Boat) -> Result<(), Denial> {
        boat.spec.colour.get_or_insert_with(|| "white".to_owned());
        Ok(())
    }
}

/// All that is served for boats.
pub(crate) fn set() -> WebhookSet {
    let conversions = Conversions::hub::<Boat>().typed(
        |old: v1beta1::Boat| {
            let spec = BoatSpec { crew: old.spec.sailors, colour: old.spec.colour };
            Ok::<_, String>(Boat { metadata: old.metadata, spec })
        },
        |new: Boat| {
            if new.spec.crew > 100 {
                return Err(format!("no boat of old had a crew of {}", new.spec.crew));
            }
            let spec = v1beta1::BoatSpec { sailors: new.spec.crew, colour: new.spec.colour };
            Ok(v1beta1::Boat { metadata: new.metadata, spec })
        },
    );
    WebhookSet::new()
        .validate::<Boat>("seaworthy", Seaworthy)
        .validate::<Boat>("paint", Paint)
        .register(Registration::mutating::<Boat>("defaults", Defaults).with_finalizer("example.test/mooring"))
        .convert(conversions)
}

/// The definition of boats; its versions are converted there, if anywhere.
pub(crate) fn definition(target: Option<&Target>) -> Value {
    let schema = |field: &str| {
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {field: {"type": "integer"}, "colour": {"type": "string"}},
        }}}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.example.test"},
        "spec": {
            "group": "example.test", "scope": "Namespaced",
            "names": {"plural": "boats", "singular": "boat", "kind": "Boat", "listKind": "BoatList"},
            "conversion": target.map_or_else(|| json!({"strategy": "None"}), |target| json!(target.conversion())),
            "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": schema("crew")},
                {"name": "v1beta1", "served": true, "storage": false, "schema": schema("sailors")},
            ],
        },
    })
}

/// An API for objects of any shape.
pub(crate) fn api(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// Boats of a version.
pub(crate) fn boats(client: &Client, version: &str) -> Api<DynamicObject> {
    api(client, "example.test", version, "Boat", Some("default"))
}

/// A boat as people write it.
pub(crate) fn boat(version: &str, name: &str, spec: &Value) -> DynamicObject {
    let object = json!({
        "apiVersion": format!("example.test/{version}"), "kind": "Boat",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

/// The bundle a registration carries now, PEM.
pub(crate) async fn carried(client: &Client, kind: &str, name: &str) -> Option<String> {
    let group = match kind {
        "CustomResourceDefinition" => "apiextensions.k8s.io",
        _ => "admissionregistration.k8s.io",
    };
    let object = api(client, group, "v1", kind, None).get_opt(name).await.unwrap()?;
    let bundle = match kind {
        "CustomResourceDefinition" => object.data.pointer("/spec/conversion/webhook/clientConfig/caBundle"),
        _ => object.data.pointer("/webhooks/0/clientConfig/caBundle"),
    };
    let bytes: k8s_openapi::ByteString = serde_json::from_value(bundle?.clone()).unwrap();
    String::from_utf8(bytes.0).ok()
}

/// Where a server is called.
pub(crate) fn target(server: &RunningWebhooks) -> Target {
    Target::Url(format!("https://{}", server.local_addr()))
}

/// An address of ours that the system chooses.
pub(crate) fn anywhere() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Starts a replica that shares its authority in Secret `default/boats`.
pub(crate) async fn replica(client: &Client, schedule: Schedule) -> RunningWebhooks {
    let settings = SelfSigned {
        addresses: vec![Ipv4Addr::LOCALHOST.into()],
        schedule,
        ..SelfSigned::for_service("default", "boats", NAME)
    };
    let injection = Injection {
        validating: vec![NAME.to_owned()],
        mutating: vec![NAME.to_owned()],
        crds: vec!["boats.example.test".to_owned()],
    };
    let certificates = Certificates::self_signed(client.clone(), settings).unwrap();
    let options = WebhookOptions::new(anywhere(), certificates).injection(client.clone(), injection);
    WebhookServer::start(set(), options).await.unwrap()
}

pub(crate) async fn until_ready(server: &RunningWebhooks) {
    until("the webhooks to be ready", PATIENCE, async || server.ready().then_some(())).await.unwrap();
}

/// Defines boats and waits until they can be made.
pub(crate) async fn define(client: &Client, target: Option<&Target>) {
    let definition: DynamicObject = serde_json::from_value(definition(target)).unwrap();
    api(client, "apiextensions.k8s.io", "v1", "CustomResourceDefinition", None)
        .create(&PostParams::default(), &definition)
        .await
        .unwrap();
    until("boats to be known", PATIENCE, async || {
        boats(client, "v1").list(&kube::api::ListParams::default()).await.ok()
    })
    .await
    .unwrap();
}

/// The Secret of the authority.
pub(crate) async fn secret(client: &Client) -> Secret {
    Api::<Secret>::namespaced(client.clone(), "default").get(NAME).await.unwrap()
}

/// A control plane that calls one replica for everything about boats.
pub(crate) struct Harbour {
    pub(crate) client: Client,
    pub(crate) server: RunningWebhooks,
    _plane: ControlPlane,
}

impl Harbour {
    pub(crate) async fn open() -> Self {
        let plane = ControlPlane::start().await.unwrap();
        let client = plane.client().await.unwrap();
        let server = replica(&client, Schedule::default()).await;
        until_ready(&server).await;
        let target = target(&server);
        define(&client, Some(&target)).await;
        let bundle = server.bundle().unwrap();
        let configurations = set().configurations(NAME, &target).with_bundle(&bundle);
        configurations.apply(&client, "boats").await.unwrap();
        let harbour = Self { client, server, _plane: plane };
        harbour.until_called().await;
        harbour
    }

    /// API servers see registrations a moment after they are written.
    async fn until_called(&self) {
        let dry_run = PostParams { dry_run: true, ..PostParams::default() };
        let probe = boat("v1", "probe", &json!({"crew": 1}));
        until("webhooks to be called", PATIENCE, async || {
            let made = boats(&self.client, "v1").create(&dry_run, &probe).await.ok()?;
            let refused =
                boats(&self.client, "v1").create(&dry_run, &boat("v1", "probe", &json!({"crew": 0}))).await;
            (made.metadata.finalizers.is_some() && refused.is_err()).then_some(())
        })
        .await
        .unwrap();
        until("the definition to carry the bundle", PATIENCE, async || {
            let bundle = carried(&self.client, "CustomResourceDefinition", "boats.example.test").await;
            (bundle == self.server.bundle()).then_some(())
        })
        .await
        .unwrap();
    }
}
