//! Two releases beside each other, and the handover from one to the other.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use serde_json::json;
use slipway_domain::profile::{Colour, Handover, Profile};
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::Beside;
use slipway_orchestrator::ports::probes::ReleaseAt;
use slipway_testkit::charts::Chart;
use slipway_testkit::{ControlPlane, Program, until};

use crate::dock::{CRD, Dock, definition, released};

/// The definition of boats, converted by the release.
fn crd() -> String {
    let mut crd = definition(&["sails"]);
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "sea", "name": "{{ .Release.Name }}"}}}});
    crd.to_string()
}

async fn converter(dock: &Dock) -> String {
    let crd = dock.crds().get(CRD).await.unwrap();
    let service = crd.data.pointer("/spec/conversion/webhook/clientConfig/service/name");
    service.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

fn boats(version: &str) -> Chart {
    slipway_testkit::charts::ChartBuilder::new("boats", version)
        .template("crd.yaml", &crd())
        .template(
            "deployment.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: '{{ .Release.Name }}'}}\n  template:\n    metadata: {labels: {app: '{{ .Release.Name }}'}}\n    spec: {containers: [{name: boats, image: 'example.com/boats:{{ .Chart.Version }}'}]}\n",
        )
        .template(
            "webhook.yaml",
            "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: '{{ .Release.Name }}'}\nwebhooks:\n- name: boats.sea.dev\n  sideEffects: None\n  admissionReviewVersions: [v1]\n  rules: [{apiGroups: [sea.dev], apiVersions: [v1], operations: [CREATE], resources: [boats]}]\n  clientConfig: {service: {name: '{{ .Release.Name }}', namespace: sea}}\n",
        )
        .build()
        .unwrap()
}

/// The pods and the webhooks that a colour has.
async fn at_work(dock: &Dock, name: &str) -> Option<(i32, i32, usize)> {
    let live = Api::<Deployment>::namespaced(dock.client.clone(), "sea").get_opt(name).await.unwrap()?;
    let ready = live.status.and_then(|status| status.ready_replicas).unwrap_or_default();
    let registrations = dock.of("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", None);
    let registration = registrations.get_opt(name).await.unwrap()?;
    let webhooks = registration.data["webhooks"].as_array().map_or(0, Vec::len);
    Some((live.spec.replicas.unwrap(), ready, webhooks))
}

const WORKS: Option<(i32, i32, usize)> = Some((2, 2, 1));
const RESTS: Option<(i32, i32, usize)> = Some((0, 0, 0));

/// What a Deployment says of its pods comes a moment after they are gone.
async fn rests(dock: &Dock, name: &str) {
    let rests = async || (at_work(dock, name).await == RESTS).then_some(());
    until(&format!("{name} to rest"), Duration::from_mins(1), rests).await.unwrap();
}

#[tokio::test]
async fn one_hands_over_to_the_other_and_back_whoever_helm_is() {
    for (program, handover) in [
        (Program::Helm3, Handover::Cold),
        (Program::Helm4, Handover::Standby),
        (Program::Helm4, Handover::Cold),
    ] {
        let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
        let dock = Dock::on(program, plane).await;
        dock.install(&boats("1.0.0")).await;
        let mut subject = dock.subject(&boats("2.0.0"));
        subject.profile.handover = handover;
        let green = ReleaseAt { namespace: "sea".to_owned(), name: "fleet-green".to_owned() };
        subject.placement.beside = Some(Beside { release: green, colour: Colour::Green });
        let snapshot = dock.snapshot(&subject).await;
        let outcome = dock.act(&subject, StepKind::Crds, Some(&snapshot)).await;
        assert_eq!(outcome, Outcome::Done(Found::Nothing));
        assert_eq!(released(&dock.act(&subject, StepKind::Release, None).await), "sea/fleet-green.v1");
        assert_eq!(converter(&dock).await, "fleet", "green does not work yet");
        let begins = at_work(&dock, "fleet-green").await.unwrap();
        assert_eq!((begins.0, begins.2), (if handover == Handover::Cold { 0 } else { 2 }, 0));
        assert_eq!(at_work(&dock, "fleet").await.unwrap().2, 1, "blue still answers");

        // Twice equals once.
        for _ in 0..2 {
            let outcome = dock.act(&subject, StepKind::Switch, Some(&snapshot)).await;
            match (handover, &outcome) {
                (Handover::Standby, Outcome::Done(Found::Nothing)) => {}
                (Handover::Cold, Outcome::Done(Found::Noted(text))) => {
                    assert!(text.contains("nothing was reconciled for"), "{text}");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(at_work(&dock, "fleet-green").await, WORKS, "{program:?} {handover:?}");
            rests(&dock, "fleet").await;
            assert_eq!(converter(&dock).await, "fleet-green");
        }
        let outcome = dock.act(&subject, StepKind::SwitchBack, Some(&snapshot)).await;
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        assert_eq!(at_work(&dock, "fleet").await, WORKS);
        rests(&dock, "fleet-green").await;
        assert_eq!(converter(&dock).await, "fleet");

        dock.act(&subject, StepKind::Switch, Some(&snapshot)).await;
        // In place, what helm writes next is in nobody's way.
        let mut alone = subject.clone();
        alone.placement.release = alone.placement.beside.take().unwrap().release;
        alone.rollout = uuid::Uuid::new_v4().into();
        assert_eq!(released(&dock.act(&alone, StepKind::Release, None).await), "sea/fleet-green.v2");
        assert_eq!(at_work(&dock, "fleet-green").await.map(|it| (it.0, it.2)), Some((2, 1)));

        let outcome = dock.act(&subject, StepKind::RetireBlue, Some(&snapshot)).await;
        assert_eq!(outcome, Outcome::Done(Found::Nothing));
        assert_eq!(at_work(&dock, "fleet").await, None);
        // Blue is installed again from what was kept, and takes over.
        let outcome = dock.act(&subject, StepKind::Restore, Some(&snapshot)).await;
        assert_eq!(released(&outcome), "sea/fleet.v1", "{program:?} {handover:?}");
        assert_eq!(at_work(&dock, "fleet").await.map(|it| (it.0, it.2)), Some((2, 1)));
        assert_eq!(converter(&dock).await, "fleet");
        rests(&dock, "fleet-green").await;
        for _ in 0..2 {
            let outcome = dock.act(&subject, StepKind::RemoveGreen, Some(&snapshot)).await;
            assert_eq!(outcome, Outcome::Done(Found::Nothing));
        }
        assert_eq!(at_work(&dock, "fleet-green").await, None);
        assert!(dock.fleet.standing(&alone).await.unwrap().revision.is_none());
    }
}

#[tokio::test]
async fn a_switch_is_not_done_before_the_new_colour_leads() {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let dock = Dock::on(Program::Helm4, plane).await;
    dock.install(&boats("1.0.0")).await;
    let mut subject = dock.subject(&boats("2.0.0"));
    subject.profile = Profile::parse(&json!({"handover": "standby", "lease": {"name": "boats"},
        "colouredValues": {"group": "$(colour)"}}))
    .unwrap();
    let green = ReleaseAt { namespace: "sea".to_owned(), name: "fleet-green".to_owned() };
    subject.placement.beside = Some(Beside { release: green, colour: Colour::Green });
    let snapshot = dock.snapshot(&subject).await;
    released(&dock.act(&subject, StepKind::Release, Some(&snapshot)).await);
    let leases = dock.of("coordination.k8s.io", "v1", "Lease", Some("sea"));
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "boats"},
        "spec": {"holderIdentity": "fleet-x_1", "leaseDurationSeconds": 15}});
    leases.create(&PostParams::default(), &serde_json::from_value(lease).unwrap()).await.unwrap();
    let mut act = Dock::step(&subject, StepKind::Switch, Some(&snapshot));
    act.deadline = act.now + jiff::SignedDuration::from_secs(40);
    let outcome = dock.fleet.act(&act).await.outcome;
    let Outcome::Failed { reason } = &outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("Lease sea/boats") && reason.contains("fleet-x_1 holds it"), "{reason}");
    let preferred = leases.get("boats").await.unwrap();
    assert_eq!(preferred.metadata.annotations.unwrap()["slipway.dev/preferred-group"], "green");

    // As soon as a pod of green holds it, the same switch is done.
    let pods = dock.of("", "v1", "Pod", Some("sea"));
    let pods = pods.list(&ListParams::default().labels("app=fleet-green")).await.unwrap();
    let holder = format!("{}_2", pods.items[0].metadata.name.as_deref().unwrap());
    let take = Patch::Merge(json!({"spec": {"holderIdentity": holder}}));
    leases.patch("boats", &PatchParams::default(), &take).await.unwrap();
    act.now = jiff::Timestamp::now();
    act.deadline = act.now + jiff::SignedDuration::from_mins(1);
    assert_eq!(dock.fleet.act(&act).await.outcome, Outcome::Done(Found::Nothing));
    // In place, pods without a group must not wait for one that is preferred.
    let mut alone = subject.clone();
    alone.placement.release = alone.placement.beside.take().unwrap().release;
    alone.rollout = uuid::Uuid::new_v4().into();
    released(&dock.act(&alone, StepKind::Release, None).await);
    let annotations = leases.get("boats").await.unwrap().metadata.annotations.unwrap_or_default();
    assert_eq!(annotations.get("slipway.dev/preferred-group"), None);
}

#[tokio::test]
async fn images_are_asked_for_before_a_cold_switch_by_pods_that_run_nothing() {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let dock = Dock::on(Program::Helm4, plane).await;
    dock.install(&boats("1.0.0")).await;
    let mut subject = dock.subject(&boats("2.0.0"));
    let green = ReleaseAt { namespace: "sea".to_owned(), name: "fleet-green".to_owned() };
    subject.placement.beside = Some(Beside { release: green, colour: Colour::Green });
    let snapshot = dock.snapshot(&subject).await;
    let pods = Api::<Pod>::namespaced(dock.client.clone(), "sea");
    let seen = pods.watch(&WatchParams::default(), "0").await.unwrap();
    released(&dock.act(&subject, StepKind::Release, Some(&snapshot)).await);
    let asked = tokio::time::timeout(Duration::from_mins(1), async {
        let mut seen = std::pin::pin!(seen);
        loop {
            if let Some(Ok(WatchEvent::Added(pod))) = seen.next().await
                && pod.metadata.name.as_deref().is_some_and(|name| name.starts_with("slipway-pull-"))
            {
                return pod;
            }
        }
    });
    let asked = asked.await.expect("a pod asks for the image").spec.unwrap();
    assert_eq!(asked.containers[0].image.as_deref(), Some("example.com/boats:2.0.0"));
    assert_eq!(asked.containers[0].command.as_ref().unwrap(), &["/slipway-only-pulls-this-image"]);
    assert_eq!(asked.automount_service_account_token, Some(false));
    assert!(asked.node_name.is_some(), "where blue runs");
    until("the pod to be gone again", Duration::from_mins(1), async || {
        let list =
            pods.list(&ListParams::default().labels("app.kubernetes.io/managed-by=slipway")).await.ok()?;
        list.items.is_empty().then_some(())
    })
    .await
    .unwrap();
}
