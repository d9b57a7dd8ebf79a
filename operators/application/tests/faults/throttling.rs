//! The API server has too much to do, and takes no more from the operator.

use std::net::Ipv4Addr;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::flowcontrol::v1::{FlowSchema, PriorityLevelConfiguration};
use kube::api::{Api, DeleteParams, PostParams};
use kube::{Client, Config};
use serde_json::json;
use slipway_testkit::{ControlPlane, until};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::account::{ACCOUNT, account, rules};
use crate::fleet::{Fleet, names, operator, unattended};
use crate::running::{PATIENCE, Running, alone, config};
use crate::world::World;

/// The one request at a time that the API server takes from the operator's account, held by a webhook that
/// does not answer.
struct Seat {
    request: JoinHandle<kube::Result<ConfigMap>>,
    _webhook: (TcpListener, TcpStream),
}

/// Has the API server take one request at a time from the operator's account, and refuse the rest.
async fn narrow(client: &Client) -> Api<FlowSchema> {
    let level: PriorityLevelConfiguration = serde_json::from_value(json!({
        "metadata": {"name": "narrow"},
        "spec": {"type": "Limited", "limited": {
            "nominalConcurrencyShares": 0, "borrowingLimitPercent": 0,
            "limitResponse": {"type": "Reject"},
        }},
    }))
    .unwrap();
    let flow: FlowSchema = serde_json::from_value(json!({
        "metadata": {"name": "narrow"},
        "spec": {
            "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 2,
            "rules": [{
                "subjects": [{
                    "kind": "ServiceAccount", "serviceAccount": {"name": ACCOUNT, "namespace": "default"},
                }],
                "resourceRules": [{
                    "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"],
                    "clusterScope": true, "namespaces": ["*"],
                }],
            }],
        },
    }))
    .unwrap();
    let levels = Api::<PriorityLevelConfiguration>::all(client.clone());
    let flows = Api::<FlowSchema>::all(client.clone());
    levels.create(&PostParams::default(), &level).await.unwrap();
    flows.create(&PostParams::default(), &flow).await.unwrap();
    until("the rule to be in force", PATIENCE, || async {
        let conditions = flows.get("narrow").await.ok()?.status?.conditions?;
        let dangling = conditions.iter().find(|known| known.type_ == "Dangling")?;
        (dangling.status.as_deref() == Some("False")).then_some(())
    })
    .await
    .unwrap();
    flows
}

impl Seat {
    async fn take(admin: &Client, user: Config) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let silent: ValidatingWebhookConfiguration = serde_json::from_value(json!({
            "metadata": {"name": "silent"},
            "webhooks": [{
                "name": "silent.example.test", "failurePolicy": "Ignore", "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 30,
                "clientConfig": {"url": format!("https://{}/", listener.local_addr().unwrap())},
                "objectSelector": {"matchLabels": {"seat": "taken"}},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                    "operations": ["CREATE"],
                }],
            }],
        }))
        .unwrap();
        let webhooks = Api::<ValidatingWebhookConfiguration>::all(admin.clone());
        webhooks.create(&PostParams::default(), &silent).await.unwrap();
        let maps = Api::<ConfigMap>::namespaced(Client::try_from(user).unwrap(), "default");
        // The API server calls the webhook from some moment on.
        for number in 0.. {
            let name = format!("seat-{number}");
            let map = json!({"metadata": {"name": name, "labels": {"seat": "taken"}}});
            let (maps, map) = (maps.clone(), serde_json::from_value(map).unwrap());
            let mut request = tokio::spawn(async move { maps.create(&PostParams::default(), &map).await });
            tokio::select! {
                call = listener.accept() => {
                    return Self { request, _webhook: (listener, call.unwrap().0) };
                }
                made = &mut request => drop(made.unwrap().unwrap()),
            }
        }
        unreachable!("the webhook is called at last")
    }
}

fn refused(running: &Running) -> f64 {
    running.scrape().value("rest_client_requests_total", &[("code", "429")]).unwrap_or_default()
}

#[tokio::test]
async fn an_api_server_that_takes_nothing_more_is_given_time_and_asked_again() {
    let plane = ControlPlane::builder().nodes(2).start().await.unwrap();
    let mut running = unattended(plane).await;
    let user = account(&running.client, config(&running.plane).await, &rules()).await;
    running.operator = Some(operator(user.clone(), alone()).await);
    let mut fleet = Fleet::default();
    fleet.create(&running, names(0..6)).await;
    let before = fleet.settled(&running).await.uids();

    let flows = narrow(&running.client).await;
    let seat = Seat::take(&running.client, user).await;
    fleet.create(&running, names(6..12)).await;
    for name in names(0..6) {
        fleet.change(&running, &name, "nginx:2", 2).await;
    }
    until("the operator to be refused", PATIENCE, || async { (refused(&running) >= 24.0).then_some(()) })
        .await
        .unwrap();
    let world = World::look(&running.client, "default").await.unwrap();
    assert_eq!(world.children.len(), 6 * 4, "nothing got through");
    assert!(!seat.request.is_finished());
    flows.delete("narrow", &DeleteParams::default()).await.unwrap();
    seat.request.abort();

    let after = fleet.settled(&running).await.uids();
    assert_eq!(after.len(), 12 * 4);
    for (child, uid) in before {
        assert_eq!(after[&child], uid, "{child:?} was made anew");
    }
    // Each of the eight workers comes back a second after a refusal, as it is told to, and not before.
    assert!(refused(&running) <= 24.0 + 8.0 * 20.0, "{} refusals", refused(&running));
}
