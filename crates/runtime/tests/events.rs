//! Kubernetes Events on a real API server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ObjectReference, ServiceAccount};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config, Resource, ResourceExt};
use serde_json::json;
use slipway_runtime::events::{
    EventLog, EventQuery, EventType, Note, Recorder, SEVERITY_ANNOTATION, Severity,
};
use slipway_testkit::{ControlPlane, until};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};

const SOON: Duration = Duration::from_secs(30);

async fn config_map(client: &Client, namespace: &str, name: &str) -> ObjectReference {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap().object_ref(&())
}

async fn namespace(client: &Client, name: &str) {
    let api: Api<Namespace> = Api::all(client.clone());
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn events(client: &Client, namespace: &str, reason: &str) -> Vec<Event> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let all = api.list(&ListParams::default()).await.unwrap();
    all.into_iter().filter(|event| event.reason.as_deref() == Some(reason)).collect()
}

#[tokio::test]
async fn repeated_events_become_one_series_with_its_severity() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let object = config_map(&client, "default", "web").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let log = EventLog::new();
    let recorder = Recorder::builder(client.clone(), "application-controller")
        .instance("application-operator-0")
        .log(log.clone())
        .observed(Arc::new(move |kind, severity| told.lock().unwrap().push((kind, severity))))
        .start();
    for _ in 0..5 {
        recorder.publish(&object, Note::error("ApplyFailed", "the Deployment was refused").action("Apply"));
    }
    recorder.publish(&object, Note::error("ApplyFailed", "the Service was refused"));
    recorder.publish(&object, Note::info("Created", "ä".repeat(2000)));
    recorder.stop(SOON).await;

    let failed = events(&client, "default", "ApplyFailed").await;
    assert_eq!(failed.len(), 2, "one for each message: {failed:?}");
    let series = failed.iter().find(|event| event.series.is_some()).expect("a series");
    assert_eq!(series.series.as_ref().unwrap().count, 5);
    assert_eq!(series.note.as_deref(), Some("the Deployment was refused"));
    assert_eq!(series.type_.as_deref(), Some("Warning"));
    assert_eq!(series.action.as_deref(), Some("Apply"));
    assert_eq!(series.annotations()[SEVERITY_ANNOTATION], "Error");
    assert_eq!(series.reporting_controller.as_deref(), Some("application-controller"));
    assert_eq!(series.reporting_instance.as_deref(), Some("application-operator-0"));
    assert_eq!(series.regarding.as_ref().unwrap().uid, object.uid);

    let created = events(&client, "default", "Created").await;
    assert_eq!(created.len(), 1);
    assert_eq!(created[0].type_.as_deref(), Some("Normal"));
    assert!(created[0].note.as_ref().unwrap().len() <= 1024);

    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 7, "the metric counts each occurrence");
    assert_eq!(seen[0], (EventType::Warning, Severity::Error));
    assert_eq!(seen[6], (EventType::Normal, Severity::Info));
    assert_eq!(recorder.dropped(), 0);
    let logged = log.query(&EventQuery { name: Some("web".to_owned()), ..EventQuery::default() });
    assert_eq!(logged.len(), 2);
    assert_eq!((logged[1].kind, logged[1].count), (EventType::Error, 6));
}

#[tokio::test]
async fn a_series_whose_event_expired_begins_anew() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let object = config_map(&client, "default", "web").await;
    let recorder = Recorder::builder(client.clone(), "application-controller").start();
    recorder.publish(&object, Note::warning("Drifted", "replicas"));
    let first = until("the first event", SOON, || async {
        events(&client, "default", "Drifted").await.into_iter().next()
    });
    let first = first.await.unwrap();
    let api: Api<Event> = Api::namespaced(client.clone(), "default");
    api.delete(&first.name_any(), &DeleteParams::default()).await.unwrap();
    // The patch of the count finds nothing; from then on the event is written again.
    let second = until("a new event", Duration::from_mins(1), || async {
        recorder.publish(&object, Note::warning("Drifted", "replicas"));
        events(&client, "default", "Drifted").await.into_iter().next()
    });
    assert_ne!(second.await.unwrap().name_any(), first.name_any());
    recorder.stop(SOON).await;
}

#[tokio::test]
async fn events_of_cluster_objects_are_found_in_default() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    namespace(&client, "shop").await;
    let api: Api<Namespace> = Api::all(client.clone());
    let object = api.get("shop").await.unwrap().object_ref(&());
    let recorder = Recorder::builder(client.clone(), "application-controller").start();
    recorder.publish(&object, Note::new(Severity::Critical, "Quota", "nothing is left"));
    // Nobody waits for the end here: what was said is written though the recorder is gone.
    drop(recorder);
    let found = until("the event", SOON, || async {
        Some(events(&client, "default", "Quota").await).filter(|found| found.len() == 1)
    })
    .await
    .unwrap();
    assert_eq!(found[0].annotations()[SEVERITY_ANNOTATION], "Critical");
}

#[tokio::test]
async fn events_of_a_namespace_that_goes_or_is_gone_hold_nothing_up() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    namespace(&client, "going").await;
    let object = config_map(&client, "going", "held").await;
    let held: Api<ConfigMap> = Api::namespaced(client.clone(), "going");
    let finalizer = json!({"metadata": {"finalizers": ["slipway.dev/held"]}});
    held.patch("held", &PatchParams::default(), &Patch::Merge(&finalizer)).await.unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces.delete("going", &DeleteParams::default()).await.unwrap();

    let recorder = Recorder::builder(client.clone(), "application-controller").start();
    recorder.publish(&object, Note::info("Cleanup", "too late"));
    let gone = ObjectReference { namespace: Some("never-was".to_owned()), ..object };
    recorder.publish(&gone, Note::info("Cleanup", "far too late"));
    recorder.publish(&config_map(&client, "default", "web").await, Note::info("Created", "in time"));
    recorder.stop(SOON).await;
    assert_eq!(events(&client, "default", "Created").await.len(), 1);
    assert!(events(&client, "going", "Cleanup").await.is_empty());
    assert_eq!(log.warnings(), Vec::<String>::new());
}

#[tokio::test]
async fn without_permission_the_rule_is_said_once_and_the_work_goes_on() {
    let plane = ControlPlane::start().await.unwrap();
    let admin = plane.client().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), "default");
    let account = serde_json::from_value(json!({"metadata": {"name": "poor"}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request: TokenRequest = serde_json::from_value(json!({"spec": {"audiences": []}})).unwrap();
    let token = accounts.create_token_request("poor", &PostParams::default(), &request).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    config.auth_info = kube::config::AuthInfo {
        token: Some(token.status.unwrap().token.unwrap().into()),
        ..kube::config::AuthInfo::default()
    };
    let object = config_map(&admin, "default", "web").await;

    let log = Log::default();
    let _listening = tracing::subscriber::set_default(log.clone());
    let recorder = Recorder::builder(Client::try_from(config).unwrap(), "application-controller").start();
    for number in 0..3 {
        recorder.publish(&object, Note::info("Created", number.to_string()));
    }
    recorder.stop(SOON).await;
    let warnings = log.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains(
            "{apiGroups: [\"events.k8s.io\"], resources: [\"events\"], verbs: [\"create\", \"patch\"]}"
        ),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn when_nobody_takes_them_the_oldest_are_dropped_and_nobody_waits() {
    slipway_testkit::init();
    let nowhere = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let recorder = Recorder::builder(nowhere, "application-controller").capacity(2).start();
    let object = ObjectReference { uid: Some("u".to_owned()), ..ObjectReference::default() };
    for number in 0..10 {
        recorder.publish(&object, Note::info("Created", number.to_string()));
    }
    assert_eq!(recorder.dropped(), 8);
    recorder.stop(Duration::ZERO).await;
}

#[tokio::test]
async fn a_client_that_may_not_write_now_is_not_asked_again() {
    slipway_testkit::init();
    let nowhere = Client::try_from(Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
    let asked = Arc::new(Mutex::new(0));
    let asking = Arc::clone(&asked);
    let recorder = Recorder::builder(nowhere, "application-controller")
        .hopeless(move |_| {
            *asking.lock().unwrap() += 1;
            true
        })
        .start();
    let object = ObjectReference { uid: Some("u".to_owned()), ..ObjectReference::default() };
    recorder.publish(&object, Note::info("Created", "a"));
    recorder.publish(&object, Note::info("Created", "b"));
    recorder.stop(SOON).await;
    assert_eq!(*asked.lock().unwrap(), 2, "once for each event");
}

/// Keeps the warnings that are logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn warnings(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("slipway_runtime")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().unwrap().push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
