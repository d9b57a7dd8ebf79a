//! Webhooks and conversions, asked through the API server.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};
use slipway_domain::health::{
    CertificateState, ConversionSeen, Limits, Look, Observation, WebhookAnswer, WebhookSeen,
};
use slipway_infra::kubernetes::probes::{Registration, Subject};
use slipway_orchestrator::ports::probes::Target;
use slipway_testkit::{ControlPlane, until};

use super::sea::{
    CRD, MINUTE, after, boat, boats, install_crd, judged, launch, look, reasons, status, target,
};
use super::server::Server;

fn hook(name: &str, client: &Value, operations: &[&str]) -> Value {
    json!({"name": name, "clientConfig": client, "sideEffects": "None", "failurePolicy": "Fail",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
        "rules": [{"apiGroups": ["sea.dev"], "apiVersions": ["v1"], "resources": ["boats"], "operations": operations}]})
}

async fn register(client: &Client, name: &str, hooks: &[Value]) {
    let configuration: ValidatingWebhookConfiguration =
        serde_json::from_value(json!({"metadata": {"name": name}, "webhooks": hooks})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &configuration).await.unwrap();
}

fn release(registrations: &[(Registration, &str)]) -> Subject {
    let registrations = registrations.iter().map(|(kind, name)| (*kind, (*name).to_owned()));
    Subject {
        registrations: registrations.collect::<BTreeSet<_>>(),
        namespaces: BTreeSet::from(["default".to_owned()]),
        ..Subject::default()
    }
}

fn hooks(seen: &Observation) -> &[WebhookSeen] {
    let Look::Seen(hooks) = &seen.webhooks else { panic!("{:?}", seen.webhooks) };
    hooks
}

fn of<'a>(seen: &'a Observation, name: &str) -> &'a WebhookSeen {
    hooks(seen).iter().find(|hook| hook.name == name).unwrap_or_else(|| panic!("{name}: {:?}", hooks(seen)))
}

/// Looks until the API server knows of a webhook: registrations take a moment to count.
async fn look_until(
    client: &Client,
    subject: &Subject,
    target: &Target,
    what: &str,
    wanted: impl Fn(&Observation) -> bool,
) -> Observation {
    until(what, MINUTE, async || {
        let seen = look(client, subject, target, after(0)).await;
        wanted(&seen).then_some(seen)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_webhook_that_answers_refuses_delays_or_is_down_is_told_apart() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    install_crd(&client, None).await;
    launch(&client, "ark", &status(1, "True")).await;
    let server = Server::start(-1, 300).await;
    let other = Server::start(-1, 300).await;
    let mut risky = hook("risky.sea.dev", &other.client_config("admit"), &["UPDATE"]);
    risky["failurePolicy"] = json!("Ignore");
    register(
        &client,
        "boats",
        &[
            hook("update.sea.dev", &server.client_config("admit"), &["UPDATE"]),
            hook("create.sea.dev", &server.client_config("admit"), &["CREATE"]),
            hook("delete.sea.dev", &server.client_config("admit"), &["DELETE"]),
            risky,
        ],
    )
    .await;
    // Somebody else's webhook on the same objects is not the operator's.
    register(&client, "theirs", &[hook("theirs.other.dev", &other.client_config("admit"), &["UPDATE"])])
        .await;
    let (subject, boats_target) = (release(&[(Registration::Validating, "boats")]), target(&[CRD]));

    let seen = look_until(&client, &subject, &boats_target, "the webhook to be called", |_| {
        server.state.calls.load(Ordering::SeqCst) >= 4
    })
    .await;
    assert_eq!(hooks(&seen).len(), 4);
    assert_eq!(of(&seen, "update.sea.dev").answer, WebhookAnswer::Answered);
    assert_eq!(of(&seen, "create.sea.dev").answer, WebhookAnswer::Answered);
    assert!(of(&seen, "update.sea.dev").latency.is_some_and(|latency| latency < Duration::from_secs(5)));
    let WebhookAnswer::NotAsked { why } = &of(&seen, "delete.sea.dev").answer else { panic!("{seen:?}") };
    assert_eq!(why, "there is no object that it looks at");
    assert!(matches!(of(&seen, "risky.sea.dev").answer, WebhookAnswer::NotAsked { .. }));
    let certificate = of(&seen, "update.sea.dev").certificate.as_ref().unwrap();
    assert_eq!(certificate.state(seen.at, &Limits::default()), CertificateState::Good);
    // Nothing came of asking.
    let fleet = boats(&client).list(&kube::api::ListParams::default()).await.unwrap().items;
    assert_eq!(fleet.iter().map(super::sea::name).collect::<Vec<_>>(), ["ark"]);
    assert_eq!(fleet[0].metadata.generation, Some(1));

    server.state.refusing.store(1, Ordering::SeqCst);
    let seen = look(&client, &subject, &boats_target, after(0)).await;
    assert_eq!(of(&seen, "update.sea.dev").answer, WebhookAnswer::Answered, "a no is an answer");
    server.state.refusing.store(0, Ordering::SeqCst);

    server.state.delay_ms.store(1200, Ordering::SeqCst);
    let seen = look(&client, &subject, &boats_target, after(0)).await;
    let health = judged(&seen, &boats_target);
    assert!(reasons(&health).iter().any(|text| text.contains("ms is too slow")), "{:?}", reasons(&health));

    server.stop().await;
    let seen = look(&client, &subject, &boats_target, after(0)).await;
    let WebhookAnswer::Failed { message } = &of(&seen, "update.sea.dev").answer else { panic!("{seen:?}") };
    assert!(message.contains("connection refused"), "{message}");
    let health = judged(&seen, &boats_target);
    assert!(
        reasons(&health)[0].starts_with("webhook \"update.sea.dev\" cannot be called: Post "),
        "{:?}",
        reasons(&health)
    );
    assert_eq!(health.webhooks.reachable(), Some(false));
    other.stop().await;
}

#[tokio::test]
async fn certificates_that_end_are_seen_and_a_sample_is_asked_about_where_there_is_no_object() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    install_crd(&client, None).await;
    let ending = Server::start(-95, 5).await;
    let expired = Server::start(-95, -5).await;
    register(&client, "ending", &[hook("ending.sea.dev", &ending.client_config("admit"), &["CREATE"])]).await;
    let (subject, mut boats_target) = (release(&[(Registration::Validating, "ending")]), target(&[CRD]));

    // There is no boat yet, and no sample: nothing can be asked.
    let seen = look(&client, &subject, &boats_target, after(0)).await;
    let WebhookAnswer::NotAsked { why } = &of(&seen, "ending.sea.dev").answer else { panic!("{seen:?}") };
    assert_eq!(why, "there is no object that it looks at");

    boats_target.rules.sample = Some(serde_json::to_value(boat("sample")).unwrap());
    let seen = look_until(&client, &subject, &boats_target, "the sample to be asked about", |_| {
        ending.state.calls.load(Ordering::SeqCst) > 0
    })
    .await;
    assert_eq!(of(&seen, "ending.sea.dev").answer, WebhookAnswer::Answered);
    assert!(
        boats(&client).list(&kube::api::ListParams::default()).await.unwrap().items.is_empty(),
        "it was a dry run"
    );
    let health = judged(&seen, &boats_target);
    let text = reasons(&health).join("\n");
    assert!(
        text.contains("webhook \"ending.sea.dev\": the CA bundle it is registered with ends in "),
        "{text}"
    );

    // One that is over is refused by the API server, and seen to be over.
    register(&client, "expired", &[hook("expired.sea.dev", &expired.client_config("admit"), &["CREATE"])])
        .await;
    let subject = release(&[(Registration::Validating, "expired")]);
    let seen = look_until(&client, &subject, &boats_target, "the expired certificate to matter", |seen| {
        matches!(of(seen, "expired.sea.dev").answer, WebhookAnswer::Failed { .. })
    })
    .await;
    let text = reasons(&judged(&seen, &boats_target)).join("\n");
    assert!(text.contains("certificate has expired or is not yet valid"), "{text}");
    assert!(text.contains("expired 5 days ago"), "{text}");
    ending.stop().await;
    expired.stop().await;
}

#[tokio::test]
async fn a_conversion_webhook_that_is_down_is_seen() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    let server = Server::start(-1, 300).await;
    let conversion = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": server.client_config("convert"), "conversionReviewVersions": ["v1"]}});
    install_crd(&client, Some(conversion)).await;
    let (subject, boats_target) = (Subject::default(), target(&[CRD]));
    let read = |answer| vec![ConversionSeen { crd: CRD.into(), version: "v1beta1".into(), answer }];

    let seen = look(&client, &subject, &boats_target, after(0)).await;
    let why = "there is no object to convert".to_owned();
    assert_eq!(seen.conversions, read(WebhookAnswer::NotAsked { why }));

    launch(&client, "ark", &status(1, "True")).await;
    let seen = look(&client, &subject, &boats_target, after(0)).await;
    assert_eq!(seen.conversions, read(WebhookAnswer::Answered));
    assert!(server.state.calls.load(Ordering::SeqCst) > 0);

    server.stop().await;
    let seen = until("the conversion to fail", MINUTE, async || {
        let seen = look(&client, &subject, &boats_target, after(0)).await;
        matches!(seen.conversions[0].answer, WebhookAnswer::Failed { .. }).then_some(seen)
    })
    .await
    .unwrap();
    let health = judged(&seen, &boats_target);
    let text = reasons(&health).join("\n");
    assert!(text.contains("boats.sea.dev cannot be read as v1beta1: Post "), "{text}");
    assert!(matches!(seen.resources, Look::Seen(_)), "at the stored version they can still be read");
}
