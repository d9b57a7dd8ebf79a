//! Several controllers and several Leases in one process.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use slipway_runtime::controller::{Context, ControllerSpec, Outcome, Reconcile};
use slipway_runtime::error::Error;
use slipway_runtime::leader::{LeaderElection, Leadership};

use crate::scripted::{Scripted, Turns};
use crate::workshop::{Gadget, Workshop};

struct Counted(Turns);

impl Reconcile<Gadget> for Counted {
    async fn reconcile(&self, _: Arc<Gadget>, context: Context<Gadget>) -> Result<Outcome, Error> {
        self.0.count(&context.key().name);
        Ok(Outcome::done())
    }
}

#[tokio::test]
async fn a_controller_with_a_lease_of_its_own_works_only_while_that_is_its() {
    let workshop = Workshop::new("leases").await;
    let leases = workshop.of::<Lease>();
    let now = MicroTime(Timestamp::now());
    let held = Lease {
        metadata: ObjectMeta { name: Some("gadgets".to_owned()), ..ObjectMeta::default() },
        spec: Some(LeaseSpec {
            holder_identity: Some("somebody else".to_owned()),
            lease_duration_seconds: Some(3600),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(1),
            ..LeaseSpec::default()
        }),
    };
    leases.create(&PostParams::default(), &held).await.unwrap();

    let (widgets, gadgets) = (Turns::default(), Turns::default());
    let mut settings = workshop.settings();
    settings.leader_election = true;
    let operator = workshop
        .runtime(settings)
        .leader_election(LeaderElection::named("workshop"))
        .controller(ControllerSpec::new(Scripted::content(&widgets)))
        .controller(
            ControllerSpec::new(Counted(gadgets.clone()))
                .leader_election(LeaderElection::named("gadgets").identity("this one")),
        )
        .start()
        .await
        .unwrap();
    workshop.put("widget", json!({"size": 1})).await;
    workshop.put_kind::<Gadget>(json!({"name": "gadget"}), json!({"size": 1})).await;
    widgets.reach("widget", 1).await;
    let leads = || -> Vec<bool> { operator.leaderships().iter().map(Leadership::is_leader).collect() };
    assert_eq!(leads(), [true, false]);
    assert_eq!(gadgets.of("gadget"), 0, "it belongs to somebody else");

    let release = Patch::Merge(json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}));
    leases.patch("gadgets", &PatchParams::default(), &release).await.unwrap();
    gadgets.reach("gadget", 1).await;
    assert_eq!(leads(), [true, true]);

    operator.stop().await;
    for name in ["workshop", "gadgets"] {
        let holder = leases.get(name).await.unwrap().spec.and_then(|spec| spec.holder_identity);
        assert_eq!(holder.unwrap_or_default(), "", "the Lease {name} is released at the end");
    }
}
