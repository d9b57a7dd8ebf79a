//! Custom resources.

use futures::StreamExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_domain::health::{Baseline, FurtherRule, Look, Memory, Observation, Tally, Verdict, Weight};
use slipway_infra::kubernetes::probes::Subject;
use slipway_orchestrator::ports::probes::Freshness;
use slipway_testkit::ControlPlane;

use super::sea::{
    CRD, after, boat, boats, install_crd, judged, judged_against, launch, look, reasons, status, target,
};

fn tally(seen: &Observation) -> &Tally {
    let Look::Seen(tallies) = &seen.resources else { panic!("{:?}", seen.resources) };
    &tallies[0]
}

#[tokio::test]
async fn objects_that_lag_or_are_not_ready_are_seen_after_five_minutes() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    install_crd(&client, None).await;
    let (subject, mut boats_target) = (Subject::default(), target(&[CRD]));
    launch(&client, "ark", &status(1, "True")).await;
    launch(&client, "sieve", &status(1, "False")).await;
    launch(&client, "late", &status(1, "True")).await;
    let patch = json!({"spec": {"sails": 2}});
    boats(&client).patch("late", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    boats(&client).create(&PostParams::default(), &boat("silent")).await.unwrap();

    let seen = look(&client, &subject, &boats_target, after(0)).await;
    assert_eq!((tally(&seen).objects, tally(&seen).in_work, tally(&seen).sick().count()), (4, 3, 0));

    let seen = look(&client, &subject, &boats_target, after(6)).await;
    let health = judged(&seen, &boats_target);
    assert_eq!(health.reconciliation.verdict, Verdict::Degraded);
    let text = reasons(&health).join("\n");
    assert!(text.contains("1 object of kind Boat lag behind for over 5 minutes: default/late"), "{text}");
    assert!(text.contains("2 of 4 objects of kind Boat (50 %) are not Ready"), "{text}");
    let examples = &health.reconciliation.kinds[0].examples;
    assert!(
        examples.iter().any(|line| line == "default/sieve: not Ready for 6 min: as told"),
        "{examples:?}"
    );
    assert!(examples.iter().any(|line| line == "default/silent: no status after 6 min"), "{examples:?}");

    // Against a baseline of this, only what is new counts.
    let baseline = Baseline::of(&seen, &Memory::default(), &boats_target.rules.limits);
    let health = judged_against(&seen, &boats_target, Some(&baseline));
    assert_eq!((health.reconciliation.verdict, health.reconciliation.stale), (Verdict::Healthy, 0));
    launch(&client, "leak", &status(1, "False")).await;
    let seen = look(&client, &subject, &boats_target, after(6)).await;
    let health = judged_against(&seen, &boats_target, Some(&baseline));
    assert_eq!((health.reconciliation.verdict, health.reconciliation.stale), (Verdict::Degraded, 1));

    // Another condition may be the one that counts, and further rules add to it.
    boats_target.rules.conditions = vec![(CRD.to_owned(), "Afloat".to_owned())];
    let rule = |object: Option<&str>| FurtherRule {
        name: "the flagship sails".into(),
        api_version: "sea.dev/v1".into(),
        kind: "Boat".into(),
        namespace: Some("default".into()),
        object: object.map(str::to_owned),
        condition: "Ready".into(),
        weight: Weight::Failing,
    };
    boats_target.rules.further = vec![rule(Some("sieve")), rule(Some("ark")), rule(Some("nobody"))];
    let seen = look(&client, &subject, &boats_target, after(6)).await;
    assert!(tally(&seen).sick().all(|sick| sick.name != "default/sieve"), "it has no condition Afloat");
    let broken: Vec<&Look<Vec<String>>> = seen.rules.iter().map(|rule| &rule.broken).collect();
    assert_eq!(*broken[0], Look::Seen(vec!["Boat sieve: Ready is False".into()]));
    assert_eq!(*broken[1], Look::Seen(vec![]));
    assert_eq!(*broken[2], Look::Seen(vec!["there is no Boat nobody".into()]));

    let none = look(&client, &subject, &target(&["ships.sea.dev"]), after(0)).await;
    assert_eq!(none.resources, Look::Unseen("there is no CRD ships.sea.dev".into()));
}

#[tokio::test]
async fn a_thousand_objects_are_counted_page_by_page() {
    let plane = ControlPlane::start().await.unwrap();
    let client = plane.client().await.unwrap();
    install_crd(&client, None).await;
    let fleet = boats(&client);
    futures::stream::iter(0..1_000)
        .for_each_concurrent(16, |number| {
            let fleet = &fleet;
            async move {
                let mut one = boat(&format!("boat-{number}"));
                // Statuses are a subresource: a boat without one is silent.
                one.data["padding"] = json!("x".repeat(500));
                fleet.create(&PostParams::default(), &one).await.unwrap();
            }
        })
        .await;
    let ready = json!({"status": status(1, "True")});
    fleet.patch_status("boat-7", &PatchParams::default(), &Patch::Merge(&ready)).await.unwrap();
    let (subject, boats_target) = (Subject::default(), target(&[CRD]));
    let seen = look(&client, &subject, &boats_target, after(6)).await;
    assert_eq!((tally(&seen).objects, tally(&seen).speaking, tally(&seen).sick().count()), (1_000, 1, 999));
    let mut remembered = after(6);
    remembered.freshness = Freshness::Remembered;
    let seen = look(&client, &subject, &boats_target, remembered).await;
    assert_eq!(tally(&seen).objects, 1_000);
}
