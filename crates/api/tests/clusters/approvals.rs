//! Approvals as people and programs see them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_contract::approvals::{
    ApprovalStatus, ApprovalStatusFilter, ApprovalType, ApprovalsQuery, ApproveRequest, BreakGlassRequest,
    RejectRequest,
};
use slipway_domain::access::Role;
use slipway_domain::approval::{Facts, PlanHash, Starter};
use slipway_domain::id::RolloutId;
use slipway_orchestrator::approvals::Ask;
use uuid::Uuid;

use crate::server::person;
use crate::{Served, keys, refused};

/// A rollout to production asks; the id of the approval.
async fn asked(served: &Served, rollout: u128) -> String {
    let starter = person(Role::Operator);
    let ask = Ask {
        facts: Facts {
            rollout: RolloutId(Uuid::from_u128(rollout)),
            operator: "cert-manager".parse().unwrap(),
            target_version: "v1.14.0".parse().unwrap(),
            plan: PlanHash::new("sha256:abc"),
            production: BTreeMap::from([("prod-eu".parse().unwrap(), None)]),
            breaking_crds: Vec::new(),
        },
        starter: Starter::of(&starter),
        emergency: None,
    };
    served.manager.request_approvals(&starter, &ask).await.unwrap().remove(0).id.to_string()
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}

#[tokio::test]
async fn what_waits_is_listed_shown_and_decided_once() {
    let served = Served::start().await;
    let id = asked(&served, 7).await;
    let (owner, admin) = (served.client(Role::EnvironmentOwner), served.client(Role::Admin));
    let list = owner.approvals(&ApprovalsQuery::default()).await.unwrap();
    assert_eq!((list.page.total, list.approvals[0].can_decide), (1, true));
    let listed = value(&list.approvals[0]);
    for key in [
        "approvalId",
        "type",
        "deploymentId",
        "operatorName",
        "targetVersion",
        "environment",
        "status",
        "initiatedBy",
        "createdAt",
    ] {
        assert!(keys(&listed).contains(&key), "{key}");
    }
    assert_eq!(listed["type"], "ProductionDeployment");
    assert_eq!(listed["waitsFor"], "an owner of Production");

    let seen = ApproveRequest { plan_hash: Some("sha256:other".to_owned()), ..ApproveRequest::default() };
    let other = refused(owner.approve(&id, &seen).await.unwrap_err());
    assert_eq!((other.0, other.1.as_str()), (409, "CONFLICT"), "{}", other.2);
    let yes = ApproveRequest { notes: Some("looks good".to_owned()), ..ApproveRequest::default() };
    let reply = owner.approve(&id, &yes).await.unwrap();
    assert_eq!(keys(&value(&reply)), ["approvalId", "approvedAt", "approvedBy", "status"]);
    assert_eq!((reply.status, reply.approved_by.as_str()), (ApprovalStatus::Approved, "EnvironmentOwner"));
    let twice = refused(admin.approve(&id, &yes).await.unwrap_err());
    assert_eq!(twice.0, 409);
    assert!(twice.2.contains("Approved already by EnvironmentOwner"), "{}", twice.2);

    let shown = admin.approval(&id).await.unwrap();
    assert_eq!(shown.decisions[0].notes.as_deref(), Some("looks good"));
    assert_eq!((shown.can_decide, shown.waits_for), (false, None));
    let approved = ApprovalsQuery {
        status: Some(ApprovalStatusFilter::Approved),
        kind: Some(ApprovalType::ProductionDeployment),
        operator_name: Some("cert-manager".to_owned()),
        ..ApprovalsQuery::default()
    };
    assert_eq!(admin.approvals(&approved).await.unwrap().page.total, 1);
    assert_eq!(admin.approvals(&ApprovalsQuery::default()).await.unwrap().page.total, 0);
}

#[tokio::test]
async fn a_no_and_an_emergency_say_who_and_why() {
    let served = Served::start().await;
    let (first, second) = (asked(&served, 7).await, asked(&served, 8).await);
    let (owner, admin) = (served.client(Role::EnvironmentOwner), served.client(Role::Admin));
    let why = |reason: &str| RejectRequest { reason: reason.to_owned(), plan_hash: None };
    let nothing = refused(owner.reject(&first, &why(" ")).await.unwrap_err());
    assert_eq!((nothing.0, nothing.1.as_str()), (400, "VALIDATION_ERROR"));
    let reply = owner.reject(&first, &why("not on a Friday")).await.unwrap();
    assert_eq!(keys(&value(&reply)), ["approvalId", "reason", "rejectedAt", "rejectedBy", "status"]);
    assert_eq!((reply.status, reply.reason.as_str()), (ApprovalStatus::Rejected, "not on a Friday"));

    let fire = BreakGlassRequest { reason: "certificates run out".to_owned() };
    let denied = refused(owner.break_glass(&second, &fire).await.unwrap_err());
    assert_eq!((denied.0, denied.1.as_str()), (403, "FORBIDDEN"));
    let reply = admin.break_glass(&second, &fire).await.unwrap();
    assert_eq!((reply.status, reply.bypassed_by.as_str()), (ApprovalStatus::Bypassed, "Admin"));
}

#[tokio::test]
async fn what_is_wrong_has_its_code_and_the_figures_count_what_happened() {
    let served = Served::start().await;
    let id = asked(&served, 7).await;
    let admin = served.client(Role::Admin);
    let viewer =
        refused(served.client(Role::Viewer).approvals(&ApprovalsQuery::default()).await.unwrap_err());
    assert_eq!((viewer.0, viewer.1.as_str()), (403, "FORBIDDEN"));
    for nobody in ["nonsense", &Uuid::nil().to_string()] {
        let gone = refused(admin.approval(nobody).await.unwrap_err());
        assert_eq!((gone.0, gone.1.as_str()), (404, "NOT_FOUND"), "{nobody}");
    }
    let odd = ApprovalsQuery { limit: Some(0), ..ApprovalsQuery::default() };
    assert_eq!(refused(admin.approvals(&odd).await.unwrap_err()).0, 400);
    let figures = served.figures().await;
    for line in [
        "approvals_pending 1",
        "approvals_requested_total{type=\"ProductionDeployment\"} 1",
        "notifications_waiting 0",
        "operators_count 0",
    ] {
        assert!(figures.lines().any(|known| known == line), "{line} is not in:\n{figures}");
    }
    admin.approve(&id, &ApproveRequest::default()).await.unwrap();
    let figures = served.figures().await;
    let ended = "approvals_ended_total{type=\"ProductionDeployment\",status=\"Approved\"} 1";
    for line in ["approvals_pending 0", ended] {
        assert!(figures.lines().any(|known| known == line), "{line} is not in:\n{figures}");
    }
    assert_eq!(json!(served.client(Role::Admin).approval(&id).await.unwrap().status), json!("Approved"));
}
