//! People who have to agree: they say yes, no, nothing, or yes to a plan that is another one meanwhile.

use serde_json::{Value, json};
use slipway_client::Client;
use slipway_contract::approvals::{ApprovalStatus, ApproveRequest, RejectRequest};
use slipway_contract::deployments::{
    CancelRequest, ClusterRolloutStatus as Cluster, DeploymentApproval, DeploymentDetailReply,
    DeploymentStatus as Status, PauseRequest, PhaseName,
};
use slipway_testkit::until;

use crate::operator::chart;
use crate::person::Person;
use crate::program::LONG;
use crate::scene::{Scene, direct, statuses};

const OPERATOR: &str = "asked";

/// Those that somebody has to decide about.
fn open(detail: &DeploymentDetailReply) -> Vec<&DeploymentApproval> {
    detail.approvals.iter().filter(|one| one.status == ApprovalStatus::Pending).collect()
}

struct World {
    scene: Scene,
    /// Another admin than the one who starts everything.
    ada: Person,
}

impl World {
    async fn start() -> Self {
        let scene = Scene::with_approvals(&[("dev", "development"), ("prod", "production")]).await;
        let made = scene.admin.json(&["user", "add", "ada", "--role", "Admin"]).await;
        let password = made["oneTimePassword"].as_str().unwrap_or_else(|| panic!("no password in {made}"));
        let ada = Person::new();
        let url = scene.url();
        let login = ["login", "--server", &url, "--username", "ada", "--password-stdin"];
        ada.typing(&format!("{password}\na long password of her own\n"), &login).await;
        Self { scene, ada }
    }

    fn ada(&self) -> Client {
        self.scene.client_of(&self.ada.token())
    }

    /// A rollout that waits for people, and that nothing was changed for.
    async fn asks(&self, version: &str, more: &Value) -> (String, DeploymentDetailReply) {
        let id = self.scene.begin(OPERATOR, version, &["dev", "prod"], more).await;
        let detail = self.scene.reaches(&id, "somebody being asked", |now| !open(now).is_empty()).await;
        assert_eq!(detail.phase.name, PhaseName::Consent);
        assert!(statuses(&detail).values().all(|one| *one == Cluster::Pending), "{detail:#?}");
        let wait = detail.why.waits_for.as_ref().unwrap();
        assert!(wait.what.contains("appro") && wait.until.is_some(), "{wait:?}");
        (id, detail)
    }

    async fn approve(&self, detail: &DeploymentDetailReply) {
        for approval in open(detail) {
            self.ada().approve(&approval.approval_id.to_string(), &ApproveRequest::default()).await.unwrap();
        }
    }

    /// Says yes to whatever is asked until it is over; what lapses meanwhile is asked about anew.
    async fn agrees(&self, id: &str) -> DeploymentDetailReply {
        let agreed = until("a rollout that everybody agrees to to end", LONG, async || {
            let now = self.scene.now(id).await;
            for approval in open(&now) {
                let _ =
                    self.ada().approve(&approval.approval_id.to_string(), &ApproveRequest::default()).await;
            }
            now.deployment.status.is_end().then_some(now)
        });
        agreed.await.unwrap()
    }

    async fn reject(&self, detail: &DeploymentDetailReply, reason: &str) {
        let first = open(detail)[0].approval_id.to_string();
        self.ada()
            .reject(&first, &RejectRequest { reason: reason.to_owned(), plan_hash: None })
            .await
            .unwrap();
    }

    async fn stands(&self, dev: &str, prod: &str) {
        let found: Vec<String> = self.scene.versions(OPERATOR).await.into_values().collect();
        assert_eq!(found, [dev, prod]);
    }
}

/// A yes lets it begin, and nothing else does; nobody says yes to their own.
async fn granted(world: &World) {
    let (id, asked) = world.asks("1.0.0", &direct()).await;
    let own = world.scene.client_of(&world.scene.admin.token());
    let approval = open(&asked)[0].approval_id.to_string();
    assert!(own.approve(&approval, &ApproveRequest::default()).await.is_err(), "four eyes");
    world.approve(&asked).await;
    let end = world.scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "{end:#?}");
    world.stands("1.0.0", "1.0.0").await;
}

/// A no ends it before anything was changed.
async fn rejected(world: &World) {
    let (id, asked) = world.asks("1.1.0", &direct()).await;
    world.reject(&asked, "not on a Friday").await;
    let end = world.scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Cancelled, "{end:#?}");
    assert!(end.error_message.unwrap().contains("not on a Friday"));
    world.stands("1.0.0", "1.0.0").await;
}

/// While people are asked it can be held and ended.
async fn held_and_ended(world: &World) {
    let (id, asked) = world.asks("1.1.0", &direct()).await;
    let client = world.scene.client();
    client.pause_deployment(&id, &PauseRequest { reason: Some("lunch".to_owned()) }).await.unwrap();
    world.approve(&asked).await;
    let held = world.scene.reaches(&id, "everybody having agreed", |now| open(now).is_empty()).await;
    assert!(held.deployment.paused.is_some() && held.why.waits_for.unwrap().what.contains("lunch"));
    assert_eq!(held.phase.name, PhaseName::Consent);
    client.cancel_deployment(&id, &CancelRequest::default()).await.unwrap();
    assert_eq!(world.scene.ends(&id).await.deployment.status, Status::Cancelled);
    world.stands("1.0.0", "1.0.0").await;
}

/// What was agreed to is not what would be done any more: people are asked again before the first change.
async fn changed_before(world: &World) {
    let (id, asked) = world.asks("1.1.0", &direct()).await;
    world.scene.cluster("prod").weather("stormy").await;
    world.approve(&asked).await;
    let again = world
        .scene
        .reaches(&id, "being asked again", |now| now.plan_hash != asked.plan_hash && !open(now).is_empty())
        .await;
    assert!(statuses(&again).values().all(|one| *one == Cluster::Pending), "{again:#?}");
    world.stands("1.0.0", "1.0.0").await;
    let end = world.agrees(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "{end:#?}");
    world.stands("1.1.0", "1.1.0").await;
}

/// The same in the middle: what was done stays, the rest waits; a no holds it, and it can go on with a yes.
async fn changed_amid(world: &World) {
    let settings = json!({"strategy": "Canary", "pauseBefore": ["Production"],
        "canaryConfig": {"stages": [50, 100], "evaluationPeriod": "PT1S", "healthCheckInterval": "PT1S"}});
    let (id, asked) = world.asks("1.2.0", &settings).await;
    world.approve(&asked).await;
    let waits = |now: &DeploymentDetailReply| {
        now.why.waits_for.as_ref().is_some_and(|wait| wait.unblock.as_deref() == Some("promote"))
    };
    world.scene.reaches(&id, "production waiting for a promotion", waits).await;
    world.stands("1.2.0", "1.1.0").await;
    world.scene.cluster("prod").weather("foggy").await;
    world.scene.client().promote_deployment(&id).await.unwrap();
    let again = world.scene.reaches(&id, "being asked again", |now| !open(now).is_empty()).await;
    assert_eq!(statuses(&again)["prod"], Cluster::Pending, "{again:#?}");
    world.reject(&again, "not in this fog").await;
    let held = world.scene.reaches(&id, "it being held", |now| now.deployment.paused.is_some()).await;
    assert!(held.deployment.paused.as_ref().unwrap().reason.contains("not in this fog"), "{held:#?}");
    world.stands("1.2.0", "1.1.0").await;
    world.scene.client().resume_deployment(&id).await.unwrap();
    let end = world.agrees(&id).await;
    assert_eq!(end.deployment.status, Status::Completed, "{end:#?}");
    world.stands("1.2.0", "1.2.0").await;
}

/// Nobody says anything.
async fn expired(world: &World) {
    let rule = json!({"apiVersion": "slipway.dev/v1", "kind": "ApprovalRule", "metadata": {"name": "hurry"},
        "spec": {"type": "ProductionDeployment", "operators": ["late"], "expiresAfter": "PT1M",
            "levels": [{"by": ["Admin"]}]}});
    world.scene.apply(vec![rule]).await;
    world.scene.operator(&[chart("late", "1.0.0").build().unwrap()]).await;
    let id = world.scene.begin("late", "1.0.0", &["prod"], &direct()).await;
    let end = world.scene.ends(&id).await;
    assert_eq!(end.deployment.status, Status::Cancelled, "{end:#?}");
    assert!(end.error_message.unwrap().contains("nobody approved in time"));
    assert!(world.scene.cluster("prod").revisions("late", "late").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_decide_before_production_is_changed() {
    let world = World::start().await;
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    world.scene.operator(&versions.map(|version| chart(OPERATOR, version).build().unwrap())).await;
    let asked = async {
        granted(&world).await;
        rejected(&world).await;
        held_and_ended(&world).await;
        changed_before(&world).await;
        changed_amid(&world).await;
    };
    tokio::join!(asked, expired(&world));
    world.scene.close().await;
}
