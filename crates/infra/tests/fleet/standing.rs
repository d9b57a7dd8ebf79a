//! Which revision runs, and whether all of it arrived.

use slipway_domain::rollout::StepKind;
use slipway_orchestrator::ports::Fleet as _;
use slipway_testkit::{ControlPlane, until};

use crate::dock::{BOTH, Dock, MINUTE, chart, released};

#[tokio::test]
async fn a_revision_arrived_once_no_pod_of_an_older_one_is_left() {
    let plane = ControlPlane::builder().nodes(1).start().await.unwrap();
    let dock = Dock::on(BOTH[1], plane).await;
    let with = |version: &str| {
        chart(version)
            .template(
                "deployment.yaml",
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: boats}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: boats}}\n  template:\n    metadata: {labels: {app: boats}}\n    spec: {containers: [{name: boats, image: 'example.com/boats:{{ .Chart.Version }}'}]}\n",
            )
            .build()
            .unwrap()
    };
    let subject = dock.subject(&with("1.0.0"));
    let nothing = dock.fleet.standing(&subject).await.unwrap();
    assert_eq!((nothing.revision, nothing.arrived.is_err()), (None, true));
    for (version, revision) in [("1.0.0", "sea/fleet.v1"), ("1.1.0", "sea/fleet.v2")] {
        let subject = dock.subject(&with(version));
        assert_eq!(released(&dock.act(&subject, StepKind::Release, None).await), revision);
        let missing = std::sync::Mutex::new(Vec::new());
        until("the revision to arrive", MINUTE, async || {
            let standing = dock.fleet.standing(&subject).await.unwrap();
            assert_eq!(standing.revision.unwrap().0, revision);
            match standing.arrived {
                Ok(()) => Some(()),
                Err(text) => {
                    missing.lock().unwrap().push(text);
                    None
                }
            }
        })
        .await
        .unwrap();
        let missing = missing.into_inner().unwrap();
        let pods =
            dock.of("", "v1", "Pod", Some("sea")).list(&kube::api::ListParams::default()).await.unwrap();
        for pod in &pods.items {
            assert_eq!(
                pod.data["spec"]["containers"][0]["image"],
                format!("example.com/boats:{version}"),
                "{missing:?}"
            );
        }
        assert_eq!(pods.items.len(), 2);
    }
}
