//! The API server answers, and refuses.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;
use slipway_application_operator::crd::Phase;
use slipway_testkit::{ControlPlane, free_port, until};

use crate::account::{account, grant, rules};
use crate::fleet::{Fleet, names, operator, unattended};
use crate::running::{PATIENCE, Running, alone, config};

async fn plane() -> Running {
    unattended(ControlPlane::builder().nodes(2).start().await.unwrap()).await
}

/// Waits for the Application to have failed, and gives reason and message of its condition `Ready`.
async fn failure(running: &Running, name: &str) -> (String, String) {
    let app = running
        .app(name, "the failure", |app| {
            app.status.as_ref().is_some_and(|status| status.phase == Some(Phase::Failed))
        })
        .await;
    let conditions = app.status.unwrap().conditions;
    let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready").unwrap();
    (ready.reason.unwrap(), ready.message.unwrap())
}

/// Waits for an Event about an Application, and gives its note.
async fn told(running: &Running, name: &str, reason: &str) -> String {
    let events: Api<Event> = running.of();
    until(&format!("an Event {reason} about {name}"), PATIENCE, || async {
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = events.into_iter().find(|event| {
            event.reason.as_deref() == Some(reason)
                && event.regarding.as_ref().and_then(|about| about.name.as_deref()) == Some(name)
        });
        about.and_then(|event| event.note)
    })
    .await
    .unwrap()
}

fn retries(running: &Running) -> f64 {
    running.scrape().value("workqueue_retries_total", &[]).unwrap_or_default()
}

#[tokio::test]
async fn a_webhook_that_is_down_is_told_and_waited_for_with_patience() {
    let mut running = plane().await;
    let down: ValidatingWebhookConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "down"},
        "webhooks": [{
            "name": "down.example.test", "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": format!("https://127.0.0.1:{}/", free_port())},
            "rules": [{
                "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
                "operations": ["CREATE"],
            }],
        }],
    }))
    .unwrap();
    let webhooks = Api::<ValidatingWebhookConfiguration>::all(running.client.clone());
    webhooks.create(&PostParams::default(), &down).await.unwrap();
    let probe: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "probe"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]},
        }},
    }))
    .unwrap();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    until("the webhook to be called", PATIENCE, || async {
        running.of::<Deployment>().create(&dry, &probe).await.is_err().then_some(())
    })
    .await
    .unwrap();

    running.operator = Some(operator(config(&running.plane).await, alone()).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..10)).await;
    for name in names(0..10) {
        let (reason, message) = failure(&running, &name).await;
        assert_eq!(reason, "ReconciliationFailed");
        assert!(message.contains(&format!("creating Deployment default/{name}")), "{message}");
        assert!(message.contains("failed calling webhook \"down.example.test\""), "{message}");
        // The rest goes on meanwhile.
        running.child::<ConfigMap>(&format!("{name}-config"), "the ConfigMap", |_| true).await;
        running.child::<Service>(&name, "the Service", |_| true).await;
    }
    until("some more attempts", PATIENCE, || async { (retries(&running) >= 20.0).then_some(()) })
        .await
        .unwrap();
    let attempts = [("verb", "create"), ("resource", "deployments")];
    let attempts = running.scrape().value("rest_client_requests_total", &attempts).unwrap_or_default();
    // The first turn, what news of its own cut short, and five waits that double: not one per moment.
    assert!(attempts <= 10.0 * 8.0, "{attempts} attempts");
    webhooks.delete("down", &DeleteParams::default()).await.unwrap();

    let world = fleet.settled(&running).await;
    assert_eq!(world.children.len(), 10 * 4);
}

#[tokio::test]
async fn a_missing_permission_is_told_as_the_rule_to_add_and_the_rest_goes_on() {
    let mut running = plane().await;
    let mut fewer = rules();
    fewer.retain(|rule| rule["resources"] != json!(["configmaps", "services"]));
    let some = ["get", "list", "watch", "patch", "delete"];
    fewer.push(json!({"apiGroups": [""], "resources": ["configmaps", "services"], "verbs": some}));
    fewer.push(json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}));
    let user = account(&running.client, config(&running.plane).await, &fewer).await;
    running.operator = Some(operator(user, alone()).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..10)).await;

    let rule = r#"{apiGroups: [""], resources: ["services"], verbs: ["create"]} in namespace "default""#;
    for name in names(0..10) {
        let (reason, message) = failure(&running, &name).await;
        assert_eq!(reason, "Forbidden");
        assert!(message.contains(rule), "{message}");
        running.child::<Deployment>(&name, "the Deployment", |_| true).await;
        running.child::<ConfigMap>(&format!("{name}-config"), "the ConfigMap", |_| true).await;
    }
    let note = told(&running, "web-00", "Forbidden").await;
    assert!(note.contains(rule), "{note}");
    let errors = [("category", "forbidden")];
    let errors = running.scrape().value("controller_reconcile_errors_by_category_total", &errors);
    assert!(errors.is_some_and(|errors| errors >= 10.0), "{errors:?}");

    grant(&running.client, &rules()).await;
    let world = fleet.settled(&running).await;
    assert_eq!(world.children.len(), 10 * 4);
}
