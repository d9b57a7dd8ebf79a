//! CRDs that a release holds among its templates: whatever becomes of the release, no custom resource is lost.

use kube::api::ListParams;
use slipway_domain::rollout::{Found, Outcome, StepKind};
use slipway_orchestrator::ports::Fleet as _;
use slipway_orchestrator::ports::fleet::Removal;
use slipway_testkit::charts::Chart;

use crate::dock::{BOTH, CRD, Dock, chart, definition, released};

fn with_crd(version: &str, fields: &[&str]) -> Chart {
    chart(version).template("crd.yaml", &definition(fields).to_string()).build().unwrap()
}

async fn uids(dock: &Dock) -> Vec<String> {
    let mut uids: Vec<String> = dock
        .boats()
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .iter()
        .filter_map(kube::ResourceExt::uid)
        .collect();
    uids.sort();
    uids
}

#[tokio::test]
async fn not_one_custom_resource_is_lost_going_forth_back_and_away() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        // Adopted: somebody installed it with helm, twice.
        dock.install(&with_crd("0.9.0", &["sails"])).await;
        dock.install(&with_crd("1.0.0", &["sails"])).await;
        let mut boats = Vec::new();
        for name in ["one", "two", "three"] {
            boats.push(dock.launch(name).await);
        }
        boats.sort();
        let subject = dock.subject(&with_crd("1.1.0", &["sails", "keels"]));
        let snapshot = dock.snapshot(&subject).await;
        assert_eq!(snapshot.objects[CRD].keys().cloned().collect::<Vec<_>>(), boats);
        assert_eq!(snapshot.stored_versions[CRD], ["v1"]);
        let digest = dock.fleet.preflight(&subject, jiff::Timestamp::now()).await.unwrap().digest;
        let mut act = Dock::step(&subject, StepKind::Crds, Some(&snapshot));
        act.digest = Some(digest.clone());
        assert_eq!(dock.fleet.act(&act).await.outcome, Outcome::Done(Found::Nothing), "{program:?}");
        let mut act = Dock::step(&subject, StepKind::Release, Some(&snapshot));
        act.digest = Some(digest);
        assert_eq!(released(&dock.fleet.act(&act).await.outcome), "sea/fleet.v3", "{program:?}");
        assert_eq!(uids(&dock).await, boats, "{program:?}: forth");
        let record = dock.record(3).await;
        assert!(!record["manifest"].as_str().unwrap().contains("CustomResourceDefinition"));
        for number in [1, 2] {
            let record = dock.record(number).await;
            assert!(record["manifest"].as_str().unwrap().contains("helm.sh/resource-policy"), "{number}");
        }

        assert_eq!(released(&dock.act(&subject, StepKind::Restore, Some(&snapshot)).await), "sea/fleet.v4");
        assert_eq!(uids(&dock).await, boats, "{program:?}: back");
        let outcome = dock.act(&subject, StepKind::ReturnCrds, Some(&snapshot)).await;
        assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
        assert_eq!(uids(&dock).await, boats, "{program:?}: back, with the old definition");

        let left = dock.fleet.uninstall(&subject, Removal::default()).await.unwrap();
        assert_eq!(left, [format!("CustomResourceDefinition {CRD} and its custom resources")]);
        assert_eq!(uids(&dock).await, boats, "{program:?}: away");
        assert!(dock.map("config").await.is_none());
        assert_eq!(dock.revisions().await, []);
        assert_eq!(
            dock.fleet.uninstall(&subject, Removal::default()).await.unwrap(),
            left,
            "twice equals once"
        );
        assert!(dock.fleet.uninstall(&subject, Removal { with_crds: true }).await.unwrap().is_empty());
        assert!(dock.crds().get_opt(CRD).await.unwrap().is_none());
    }
}

#[tokio::test]
async fn a_release_that_helm_made_alone_is_uninstalled_and_its_custom_resources_stay() {
    for program in BOTH {
        let dock = Dock::open(program).await;
        dock.install(&with_crd("1.0.0", &["sails"])).await;
        let boat = dock.launch("one").await;
        let subject = dock.subject(&with_crd("1.0.0", &["sails"]));
        dock.fleet.uninstall(&subject, Removal::default()).await.unwrap();
        assert_eq!(uids(&dock).await, [boat], "{program:?}");
        assert!(dock.map("config").await.is_none());
    }
}
