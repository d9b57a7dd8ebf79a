//! What people read.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use slipway_domain::access::{Actor, ActorKind, Environment, Role};
use slipway_domain::approval::{
    Answer, Approval, Approver, Facts, Level, Note, PlanHash, Rules, Starter, break_glass, decide, expire,
    lapse, required as needed,
};
use slipway_domain::id::{ApprovalId, ClusterId, OperatorId, RolloutId, UserId};
use uuid::Uuid;

use super::{Alert, AlertState, Notice, decided, required};

const URL: &str = "https://slipway.example";

fn now() -> Timestamp {
    "2026-11-15T15:00:00Z".parse().unwrap()
}

fn person(number: u128, name: &str, role: Role) -> Actor {
    Actor {
        kind: ActorKind::User { id: UserId(Uuid::from_u128(number)) },
        name: name.to_owned(),
        role: Some(role),
        environments: vec![Environment::Production],
        source: None,
        trace_id: None,
    }
}

fn note(text: &str) -> Note {
    text.parse().unwrap()
}

fn approval() -> Approval {
    let facts = Facts {
        rollout: RolloutId(Uuid::from_u128(0x7f3a)),
        operator: "cert-manager".parse().unwrap(),
        target_version: "1.14.0".parse().unwrap(),
        plan: PlanHash::new("sha256:0123456789abcdef0123456789abcdef"),
        production: BTreeMap::from([
            ("prod-eu".parse().unwrap(), Some("v1.13.2".parse().unwrap())),
            ("prod-us".parse().unwrap(), None),
        ]),
        breaking_crds: Vec::new(),
    };
    let mut requirement = needed(&facts, &Rules::default()).remove(0);
    requirement.levels.push(Level { by: vec![Approver::Admin], quorum: 2 });
    let starter = Starter::of(&person(1, "bob", Role::Operator));
    requirement.ask(ApprovalId(Uuid::from_u128(0x51c2)), starter, now())
}

fn letter(notice: &Notice) -> String {
    format!("Key: {}\nSubject: {}\n\n{}", notice.key, notice.subject, notice.text)
}

fn ended(approval: &Approval) -> String {
    letter(&decided(approval, URL).unwrap())
}

fn yes(approval: &Approval, actor: &Actor, words: Option<&str>) -> Approval {
    let answer = Answer::Approve { note: words.map(note) };
    decide(approval, actor, answer, None, now() + SignedDuration::from_mins(8)).unwrap()
}

#[test]
fn whoever_has_to_decide_has_the_facts_and_knows_how() {
    insta::assert_snapshot!("required", letter(&required(&approval(), URL)));
    let second = yes(&approval(), &person(2, "ada", Role::EnvironmentOwner), None);
    insta::assert_snapshot!("required_second_level", letter(&required(&second, URL)));
    assert!(decided(&second, URL).is_none());
}

#[test]
fn whoever_started_it_learns_how_it_ended() {
    let first = yes(&approval(), &person(2, "ada", Role::EnvironmentOwner), Some("tried on staging"));
    let second = yes(&first, &person(3, "eve", Role::Admin), None);
    let approved = yes(&second, &person(4, "kim", Role::Admin), Some("go\nbut watch the webhook"));
    insta::assert_snapshot!("approved", ended(&approved));
    let no = Answer::Reject { reason: note("not on a Friday") };
    let rejected = decide(&first, &person(3, "eve", Role::Admin), no, None, now()).unwrap();
    insta::assert_snapshot!("rejected", ended(&rejected));
    insta::assert_snapshot!("expired", ended(&expire(&approval(), approval().expires_at).unwrap()));
    insta::assert_snapshot!("lapsed", ended(&lapse(&approved, "the plan changed", now()).unwrap()));
}

#[test]
fn an_emergency_is_loud() {
    let admin = person(3, "eve", Role::Admin);
    let bypassed = break_glass(&approval(), &admin, note("certificates run out tonight"), now()).unwrap();
    insta::assert_snapshot!("bypassed", ended(&bypassed));
}

#[test]
fn programs_get_the_facts() {
    let first = yes(&approval(), &person(2, "ada", Role::EnvironmentOwner), Some("tried on staging"));
    assert_eq!(
        required(&first, URL).facts,
        json!({
            "approvalId": "00000000-0000-0000-0000-0000000051c2",
            "type": "ProductionDeployment",
            "deploymentId": "00000000-0000-0000-0000-000000007f3a",
            "operatorName": "cert-manager",
            "targetVersion": "1.14.0",
            "environment": "Production",
            "planHash": "sha256:0123456789abcdef0123456789abcdef",
            "status": "Pending",
            "because": "it goes to production: prod-eu, prod-us",
            "initiatedBy": "bob",
            "createdAt": "2026-11-15T15:00:00Z",
            "expiresAt": "2026-11-16T15:00:00Z",
            "decisions": [{
                "by": "ada",
                "verdict": "Approved",
                "level": 1,
                "notes": "tried on staging",
                "at": "2026-11-15T15:08:00Z",
            }],
            "link": "https://slipway.example/approvals/00000000-0000-0000-0000-0000000051c2",
        })
    );
}

fn alert(state: AlertState) -> Alert {
    Alert {
        cluster: ClusterId(Uuid::from_u128(5)),
        cluster_name: "prod-eu".to_owned(),
        environment: Environment::Production,
        operator: OperatorId(Uuid::from_u128(6)),
        operator_name: "cert-manager".to_owned(),
        began_at: now(),
        state,
    }
}

#[test]
fn an_episode_is_told_when_it_begins_and_when_it_ends() {
    let findings = vec![
        "webhook validate.cert-manager.io refuses connections (connection refused, 3 checks in 90 s)"
            .to_owned(),
        "pod cert-manager-7d9 restarts again and again (CrashLoopBackOff)".to_owned(),
    ];
    let failing = alert(AlertState::Unhealthy { findings, checks: 3 });
    let well = alert(AlertState::Recovered { at: now() + SignedDuration::from_mins(42) });
    insta::assert_snapshot!("unhealthy", letter(&failing.notice(URL)));
    insta::assert_snapshot!("recovered", letter(&well.notice(URL)));
}

#[test]
fn an_episode_has_one_key_however_often_it_is_noticed() {
    let one = alert(AlertState::Unhealthy { findings: vec!["a".to_owned()], checks: 3 });
    let again = alert(AlertState::Unhealthy { findings: vec!["b".to_owned()], checks: 9 });
    assert_eq!(one.key(), again.key());
    let well = alert(AlertState::Recovered { at: now() });
    assert_ne!(one.key(), well.key());
    let next = Alert { began_at: now() + SignedDuration::from_mins(1), ..one.clone() };
    assert_ne!(one.key(), next.key());
    let elsewhere = Alert { cluster: ClusterId(Uuid::from_u128(9)), ..one.clone() };
    assert_ne!(one.key(), elsewhere.key());
}
