//! What preflight says of CRDs.

use serde_json::{Value, json};
use slipway_domain::preflight::{CheckKind, Fate, Level, Return};
use slipway_domain::settings::policy::{CrdPolicy, CrdWaiver};

use crate::harbour::{Harbour, chart, definition, refusals, told, versions};

fn sails(maximum: u32) -> Value {
    json!({"sails": {"type": "integer", "maximum": maximum}})
}

#[tokio::test]
async fn a_definition_that_breaks_live_objects_is_refused_by_their_names() {
    let harbour = Harbour::open().await;
    harbour
        .define(&definition(&json!({"sails": {"type": "integer"}, "colour": {"type": "string"}})), "slipway")
        .await;
    harbour.launch("small", &json!({"sails": 1})).await;
    harbour.launch("wide", &json!({"sails": 9})).await;
    harbour.launch("red", &json!({"sails": 1, "colour": "red"})).await;
    let subject = harbour.subject(&chart("1.1.0", Some(&definition(&sails(5)))).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Crds, Level::Refused);
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0].ends_with(": Boat default/wide") && refused[0].contains("spec.sails"), "{refused:?}");
    assert!(refused[1].ends_with(": Boat default/red") && refused[1].contains("colour"), "{refused:?}");
    assert!(!refused.concat().contains("small"), "{refused:?}");
    assert!(report.breaks_crds());
    assert_eq!(report.crds[0].fate, Some(Fate::Changed));
    assert_eq!(refusals(&report), refused, "nothing else stands in the way");
}

#[tokio::test]
async fn what_breaks_no_live_object_is_told_and_does_not_stand_in_the_way() {
    let harbour = Harbour::open().await;
    harbour.define(&definition(&sails(9)), "slipway").await;
    harbour.launch("small", &json!({"sails": 1})).await;
    let subject = harbour.subject(&chart("1.1.0", Some(&definition(&sails(5)))).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    assert_eq!(refusals(&report), Vec::<String>::new());
    assert!(report.breaks_crds());
    assert!(!told(&report, CheckKind::Crds, Level::Warning).is_empty(), "{report:?}");

    // The same definition changes nothing.
    let subject = harbour.subject(&chart("1.1.0", Some(&definition(&sails(9)))).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    assert!(!report.breaks_crds());
    assert_eq!(report.crds[0].fate, None);
    assert_eq!(report.going_back, Return::Reversible);
}

#[tokio::test]
async fn what_somebody_accepted_is_a_warning() {
    let harbour = Harbour::open().await;
    harbour.define(&definition(&sails(9)), "slipway").await;
    harbour.launch("wide", &json!({"sails": 9})).await;
    let chart = chart("1.1.0", Some(&definition(&sails(5)))).build().unwrap();
    let mut subject = harbour.subject(&chart, "1.1.0");
    let report = harbour.preflight(&subject).await;
    assert_eq!(told(&report, CheckKind::Crds, Level::Refused).len(), 1);
    let waiver = CrdWaiver {
        finding: "maximum-tightened".to_owned(),
        crd: None,
        path: "*".to_owned(),
        reason: "it is scrapped".to_owned(),
        who: "ann".to_owned(),
        expires: "2999-01-01T00:00:00Z".parse().unwrap(),
    };
    subject.crd_policy = CrdPolicy { waivers: vec![waiver], ..CrdPolicy::default() };
    let report = harbour.preflight(&subject).await;
    assert_eq!(refusals(&report), Vec::<String>::new());
    let warned = told(&report, CheckKind::Crds, Level::Warning);
    assert!(
        warned.iter().any(|text| text.contains("tolerated") && text.ends_with("Boat default/wide")),
        "{warned:?}"
    );
    assert!(!report.breaks_crds(), "{:?}", report.crds);
}

#[tokio::test]
async fn a_definition_that_another_holds_is_refused_beforehand() {
    let harbour = Harbour::open().await;
    harbour.define(&definition(&sails(9)), "harbour-master").await;
    let subject = harbour.subject(&chart("1.1.0", Some(&definition(&sails(19)))).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Ownership, Level::Refused);
    assert!(refused.len() == 1 && refused[0].contains("harbour-master"), "{refused:?}");
}

#[tokio::test]
async fn a_new_stored_version_makes_the_way_back_longer() {
    let harbour = Harbour::open().await;
    let spec = json!({"sails": {"type": "integer"}});
    harbour.define(&definition(&spec), "slipway").await;
    let next = versions(&[("v1", false, &spec), ("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.1.0", Some(&next)).build().unwrap(), "1.1.0");
    let report = harbour.preflight(&subject).await;
    assert_eq!(report.going_back, Return::AfterMigration, "{report:?}");
    assert!(told(&report, CheckKind::Return, Level::Warning)[0].contains("v2"), "{report:?}");
    assert_eq!(refusals(&report), Vec::<String>::new());

    // Leaving out a version that objects may be stored in is what the API server refuses.
    let gone = versions(&[("v2", true, &spec)]);
    let subject = harbour.subject(&chart("1.2.0", Some(&gone)).build().unwrap(), "1.2.0");
    let report = harbour.preflight(&subject).await;
    let refused = told(&report, CheckKind::Crds, Level::Refused);
    assert!(refused.iter().any(|text| text.contains("storedVersions")), "{refused:?}");
}
