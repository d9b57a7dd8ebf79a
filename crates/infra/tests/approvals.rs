//! Approvals on a real PostgreSQL, and the mails they cause on a real SMTP server.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "approvals/clock.rs"]
mod clock;
#[path = "approvals/programs.rs"]
mod programs;
#[path = "approvals/scene.rs"]
mod scene;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use slipway_domain::access::Environment;
use slipway_domain::approval::{
    ApprovalKind, ApprovalStatus, Approver, Facts, Level, PlanHash, Requirement, Starter,
};
use slipway_domain::audit::AuditResult;
use slipway_domain::id::{ApprovalId, RolloutId};
use slipway_infra::workers::Runner;
use slipway_orchestrator::approvals::{
    APPROVALS_EXPIRY, ApprovalExpiry, Approve, Ask, BreakGlass, Emergency, Reject, Wanted,
};
use slipway_orchestrator::outbox::OutboxSender;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::Store as _;
use slipway_orchestrator::ports::store::{
    ApprovalFilter, ApprovalRows as _, ApprovalWrite, AuditFilter, AuditRows as _, EventRows as _,
    WorkRows as _,
};
use slipway_orchestrator::workers::{Next, Worker as _};
use slipway_orchestrator::{Changeset, Code};
use slipway_testkit::until;
use uuid::Uuid;

use scene::{Scene, now, scene};

const LONG: Duration = Duration::from_mins(1);
const ALL: Window = Window { limit: 100, offset: 0 };

fn facts(plan: &str) -> Facts {
    Facts {
        rollout: RolloutId(Uuid::from_u128(7)),
        operator: "cert-manager".parse().unwrap(),
        target_version: "v1.14.0".parse().unwrap(),
        plan: PlanHash::new(plan),
        production: BTreeMap::from([("prod-eu".parse().unwrap(), None)]),
        breaking_crds: Vec::new(),
    }
}

fn ask(scene: &Scene, plan: &str) -> Ask {
    Ask { facts: facts(plan), starter: Starter::of(&scene.bob), emergency: None }
}

fn yes() -> Approve {
    Approve::default()
}

/// An approval with levels of its own.
async fn asked(scene: &Scene, levels: Vec<Level>) -> ApprovalId {
    let requirement = Requirement {
        kind: ApprovalKind::ProductionDeployment,
        subject: slipway_domain::approval::Subject {
            rollout: RolloutId(Uuid::new_v4()),
            operator: "cert-manager".parse().unwrap(),
            target_version: "v1.14.0".parse().unwrap(),
            environment: Environment::Production,
            plan: PlanHash::new("plan"),
        },
        because: "it goes to production: prod-eu".to_owned(),
        levels,
        four_eyes: true,
        expires_after: SignedDuration::from_hours(24),
    };
    let approval = requirement.ask(ApprovalId(Uuid::new_v4()), Starter::of(&scene.bob), now());
    let id = approval.id;
    scene.store().commit(Changeset::new().write(ApprovalWrite::Ask(Box::new(approval)))).await.unwrap();
    id
}

#[tokio::test]
async fn the_same_plan_is_asked_once_by_however_many_servers() {
    let scene = scene().await;
    let other = scene.another("two").await;
    let wanted = ask(&scene, "plan a");
    let mut answers = Vec::new();
    for _ in 0..5 {
        let (one, two) = tokio::join!(
            scene.manager.request_approvals(&scene.bob, &wanted),
            other.request_approvals(&scene.bob, &wanted)
        );
        answers.extend([one.unwrap(), two.unwrap()]);
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(answers[0].len(), 1);
    assert_eq!(scene.subjects().await, ["Approval Required: Deploy cert-manager v1.14.0 to Production"]);
    let entries = scene.store().audit(&AuditFilter::default(), ALL).await.unwrap().items;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!(entries[0].action, "approval.request");
}

#[tokio::test]
async fn another_plan_ends_what_was_approved_and_asks_anew() {
    let scene = scene().await;
    let first = scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan a")).await.unwrap().remove(0);
    scene.manager.approve(&scene.owner, first.id, yes()).await.unwrap();
    let second = scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan b")).await.unwrap().remove(0);
    assert_ne!(first.id, second.id);
    let first = scene.manager.approval(&scene.owner, first.id).await.unwrap();
    assert_eq!(first.status, ApprovalStatus::Lapsed);
    assert_eq!(first.decisions.len(), 1, "what was decided stays in the history");
    let third = scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan a")).await.unwrap().remove(0);
    assert!(third.id != first.id && third.status == ApprovalStatus::Pending);
    scene.manager.lapse_approvals(&scene.bob, RolloutId(Uuid::from_u128(7)), "cancelled").await.unwrap();
    assert!(scene.store().pending_approvals().await.unwrap().is_empty());
}

#[tokio::test]
async fn two_who_decide_at_once_are_both_counted_and_a_third_is_one_too_many() {
    let scene = scene().await;
    let other = scene.another("two").await;
    let both = || vec![Level { by: vec![Approver::EnvironmentOwner], quorum: 2 }];
    for _ in 0..8 {
        let id = asked(&scene, both()).await;
        let (one, two) = tokio::join!(
            scene.manager.approve(&scene.owner, id, yes()),
            other.approve(&scene.admin, id, yes())
        );
        let mut ended = [one.unwrap().status, two.unwrap().status];
        ended.sort_unstable();
        assert_eq!(ended, [ApprovalStatus::Pending, ApprovalStatus::Approved]);
        let kept = scene.store().approval(id).await.unwrap().unwrap();
        assert_eq!((kept.status, kept.decisions.len(), kept.version), (ApprovalStatus::Approved, 2, 3));
    }
    let id = asked(&scene, both()).await;
    let (one, two, three) = tokio::join!(
        scene.manager.approve(&scene.owner, id, yes()),
        other.approve(&scene.admin, id, yes()),
        other.approve(&scene.chief, id, yes()),
    );
    let refused: Vec<_> = [one, two, three].into_iter().filter_map(Result::err).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].code, Code::Conflict, "{refused:?}");
    let events = scene.store().events_after(0, 100).await.unwrap();
    let approved = events.iter().filter(|record| record.event.subject == id.to_string());
    assert_eq!(approved.filter(|record| record.event.kind == "approved").count(), 1);
}

#[tokio::test]
async fn every_refusal_has_its_code_and_those_about_people_are_in_the_audit() {
    let scene = scene().await;
    let id = asked(&scene, vec![Level::one_of([Approver::EnvironmentOwner])]).await;
    let manager = &scene.manager;
    let refusal = async |actor, input| manager.approve(actor, id, input).await.unwrap_err();
    assert_eq!(refusal(&scene.viewer, yes()).await.code, Code::Forbidden);
    assert_eq!(refusal(&scene.bob, yes()).await.code, Code::Forbidden);
    let elsewhere = refusal(&scene.staging_owner, yes()).await;
    assert_eq!(
        (elsewhere.code, elsewhere.to_string()),
        (Code::Forbidden, "stan may not decide this; it takes an owner of Production".to_owned())
    );
    let other_plan = Approve { plan: Some("another".to_owned()), ..yes() };
    assert_eq!(refusal(&scene.owner, other_plan).await.code, Code::Conflict);
    let odd = Approve { notes: Some("\u{0}".to_owned()), ..yes() };
    assert_eq!(refusal(&scene.owner, odd).await.code, Code::ValidationError);
    let nothing = manager.reject(&scene.owner, id, Reject::default()).await.unwrap_err();
    assert_eq!(nothing.to_string(), "reason is empty");
    let glass = BreakGlass { reason: "fire".to_owned() };
    let glass = manager.break_glass(&scene.owner, id, glass).await.unwrap_err();
    assert_eq!(glass.code, Code::Forbidden);
    let unknown = manager.approve(&scene.owner, ApprovalId(Uuid::nil()), yes()).await.unwrap_err();
    assert_eq!(unknown.code, Code::NotFound);

    let rejected =
        manager.reject(&scene.owner, id, Reject { reason: "no".to_owned(), plan: None }).await.unwrap();
    assert_eq!(rejected.status, ApprovalStatus::Rejected);
    assert_eq!(refusal(&scene.admin, yes()).await.code, Code::Conflict);

    let late = asked(&scene, vec![Level::one_of([Approver::EnvironmentOwner])]).await;
    scene.clock.set(now() + SignedDuration::from_hours(24));
    assert_eq!(manager.approve(&scene.owner, late, yes()).await.unwrap_err().code, Code::Conflict);

    let denied = AuditFilter { result: Some(AuditResult::Denied), ..AuditFilter::default() };
    let denied = scene.store().audit(&denied, ALL).await.unwrap().items;
    let names: BTreeSet<&str> = denied.iter().map(|entry| entry.actor.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["bob", "olga", "stan", "vic"]), "{denied:?}");
}

#[tokio::test]
async fn owners_see_all_that_waits_and_what_is_theirs_to_decide() {
    let scene = scene().await;
    let id = asked(&scene, vec![Level::one_of([Approver::EnvironmentOwner])]).await;
    let for_admins = asked(&scene, vec![Level::one_of([Approver::Admin])]).await;
    let seen = async |actor, mine| {
        let wanted = Wanted { filter: ApprovalFilter::default(), mine };
        let page = scene.manager.approvals(actor, &wanted, ALL).await.unwrap();
        page.items.into_iter().map(|approval| approval.id).collect::<BTreeSet<_>>()
    };
    let both = BTreeSet::from([id, for_admins]);
    assert_eq!(seen(&scene.staging_owner, false).await, both);
    assert_eq!(seen(&scene.staging_owner, true).await, BTreeSet::new());
    assert_eq!(seen(&scene.owner, true).await, BTreeSet::from([id]));
    assert_eq!(seen(&scene.admin, true).await, both);
    scene.manager.approve(&scene.owner, id, yes()).await.unwrap();
    assert_eq!(seen(&scene.admin, true).await, BTreeSet::from([for_admins]));
    let pending = ApprovalFilter { status: Some(ApprovalStatus::Pending), ..ApprovalFilter::default() };
    let page = scene.store().approvals(&pending, Window { limit: 1, offset: 0 }).await.unwrap();
    assert_eq!((page.total, page.items[0].id), (1, for_admins));
    assert_eq!(
        scene.manager.approvals(&scene.viewer, &Wanted::default(), ALL).await.unwrap_err().code,
        Code::Forbidden
    );
}

#[tokio::test]
async fn nobody_deciding_in_time_ends_it_and_whoever_started_it_is_told() {
    let scene = scene().await;
    let asked = scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan")).await.unwrap().remove(0);
    let worker = ApprovalExpiry::new(scene.manager.clone());
    // The clock of the test is behind the database's by years, so the work is due there already.
    let claim = scene.store().claim(APPROVALS_EXPIRY, 8, LONG).await.unwrap().remove(0);
    assert_eq!(worker.work(&claim).await.unwrap(), Next::After(Duration::from_hours(24)));
    scene.clock.set(asked.expires_at);
    assert_eq!(worker.work(&claim).await.unwrap(), Next::Ended);
    assert_eq!(scene.store().approval(asked.id).await.unwrap().unwrap().status, ApprovalStatus::Expired);
    assert_eq!(scene.store().next_due(APPROVALS_EXPIRY).await.unwrap(), None);
    let told = scene.outbox().await;
    let expired = told.iter().find(|(subject, _)| subject.starts_with("Expired:")).unwrap();
    assert_eq!(expired.1, "bob@slipway.test");
}

#[tokio::test]
async fn an_emergency_goes_past_approvals_and_everybody_who_answers_is_told() {
    let scene = scene().await;
    let emergency = Emergency { by: scene.admin.clone(), reason: "certificates run out".parse().unwrap() };
    let wanted = Ask { emergency: Some(emergency), ..ask(&scene, "plan") };
    let approvals = scene.manager.request_approvals(&scene.bob, &wanted).await.unwrap();
    assert!(approvals.iter().all(|approval| approval.covers(&PlanHash::new("plan"))));
    let told: BTreeSet<String> = scene.outbox().await.into_iter().map(|(_, address)| address).collect();
    let addresses = ["ann@slipway.test", "bob@slipway.test", "cleo@slipway.test", "olga@slipway.test"];
    assert_eq!(told, addresses.map(str::to_owned).into());
    let entries = scene.store().audit(&AuditFilter::default(), ALL).await.unwrap().items;
    assert!(
        entries.iter().any(|entry| entry.actor == "ann"
            && entry.action == "approval.breakGlass"
            && entry.message.starts_with("EMERGENCY: ann went past")),
        "{entries:?}"
    );
    let id = asked(&scene, vec![Level::one_of([Approver::Admin])]).await;
    let glass = BreakGlass { reason: "again".to_owned() };
    let bypassed = scene.manager.break_glass(&scene.admin, id, glass).await.unwrap();
    assert_eq!(bypassed.status, ApprovalStatus::Bypassed);
}

#[tokio::test]
async fn a_mail_with_the_facts_reaches_those_who_decide_and_nobody_else() {
    let scene = scene().await;
    let running = scene.run(Runner::new(scene.stored.store.clone()).with(scene.sender(&scene.manager)));
    let approval =
        scene.manager.request_approvals(&scene.bob, &ask(&scene, "sha256:abc")).await.unwrap().remove(0);
    let mail = scene.smtp.wait_for(|mail| mail.subject.starts_with("Approval Required"), LONG).await.unwrap();
    assert_eq!(mail.to, ["olga@slipway.test"], "the owner, not the one who was disabled or of staging");
    assert_eq!(mail.subject, "Approval Required: Deploy cert-manager v1.14.0 to Production");
    for fact in ["bob", "it goes to production: prod-eu", &approval.id.to_string(), "an owner of Production"]
    {
        assert!(mail.text.contains(fact), "{fact} is not in:\n{}", mail.text);
    }
    assert!(mail.text.contains(&format!("https://slipway.test/approvals/{}", approval.id)));
    scene.manager.approve(&scene.owner, approval.id, yes()).await.unwrap();
    let mail = scene.smtp.wait_for(|mail| mail.subject.starts_with("Approved:"), LONG).await.unwrap();
    assert_eq!(mail.to, ["bob@slipway.test"]);
    running.stop().await;
}

#[tokio::test]
async fn two_servers_send_each_message_once() {
    let scene = scene().await;
    let second = scene.stored.another("two").await;
    let other = scene.manager_on(&second);
    let one = scene.run(Runner::new(scene.stored.store.clone()).with(scene.sender(&scene.manager)));
    let two = scene.run(Runner::new(second).with(scene.sender(&other)));
    for number in 0..40 {
        let mut wanted = ask(&scene, "plan");
        wanted.facts.rollout = RolloutId(Uuid::from_u128(1_000 + number));
        let manager = if number % 2 == 0 { &scene.manager } else { &other };
        manager.request_approvals(&scene.bob, &wanted).await.unwrap();
    }
    scene.sent(40).await;
    one.stop().await;
    two.stop().await;
    let ids: BTreeSet<String> =
        scene.smtp.mails().iter().map(|mail| mail.header("message-id").unwrap().to_owned()).collect();
    assert_eq!((scene.smtp.mails().len(), ids.len()), (40, 40));
}

#[tokio::test]
async fn a_sender_that_is_killed_loses_nothing() {
    let scene = scene().await;
    scene.smtp.stall();
    // Long enough for a loaded machine to keep it alive.
    let lease = Duration::from_secs(3);
    let sender = |manager| Arc::new(OutboxSender::new(manager).with_lease(lease));
    let dying = scene.run(Runner::new(scene.stored.store.clone()).with(sender(scene.manager.clone())));
    scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan")).await.unwrap();
    until("the first server to send", LONG, async || scene.claimed_by().await.map(drop)).await.unwrap();
    dying.kill();
    scene.smtp.resume();
    let second = scene.stored.another("two").await;
    let running = scene.run(Runner::new(second.clone()).with(sender(scene.manager_on(&second))));
    scene.sent(1).await;
    running.stop().await;
    assert_eq!(scene.smtp.mails().len(), 1);
}

#[tokio::test]
async fn a_mail_that_is_refused_for_now_is_tried_again_and_one_for_good_is_given_up_loudly() {
    let scene = scene().await;
    let sender = OutboxSender::new(scene.manager.clone());
    scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan")).await.unwrap();
    let claim = scene.store().claim("outbox", 1, LONG).await.unwrap().remove(0);
    scene.smtp.refuse_next(451);
    assert_eq!(sender.work(&claim).await.unwrap(), Next::After(Duration::from_secs(5)));
    scene.smtp.refuse_next(451);
    assert_eq!(sender.work(&claim).await.unwrap(), Next::After(Duration::from_secs(10)));
    scene.smtp.refuse_next(550);
    assert_eq!(sender.work(&claim).await.unwrap(), Next::Ended);
    assert_eq!(scene.smtp.mails().len(), 0);
    let entries = scene.store().audit(&AuditFilter::default(), ALL).await.unwrap().items;
    let given_up = entries.iter().find(|entry| entry.action == "notice.giveUp").unwrap();
    assert!(given_up.message.contains("olga@slipway.test after 3 tries"), "{}", given_up.message);
    assert!(scene.store().claim("outbox", 1, LONG).await.unwrap().is_empty());
}

#[tokio::test]
async fn whoever_lost_the_claim_does_not_send() {
    let scene = scene().await;
    let sender = OutboxSender::new(scene.manager.clone());
    scene.manager.request_approvals(&scene.bob, &ask(&scene, "plan")).await.unwrap();
    let lost = scene.store().claim("outbox", 1, Duration::ZERO).await.unwrap().remove(0);
    let second = scene.stored.another("two").await;
    let taken =
        until("the claim to end", LONG, async || second.claim("outbox", 1, LONG).await.unwrap().pop());
    let taken = taken.await.unwrap();
    assert_eq!(sender.work(&lost).await.unwrap(), Next::Ended);
    assert_eq!(scene.smtp.mails().len(), 0);
    assert_eq!(OutboxSender::new(scene.manager_on(&second)).work(&taken).await.unwrap(), Next::Ended);
    assert_eq!(scene.smtp.mails().len(), 1);
}

#[tokio::test]
async fn where_a_person_is_named_only_that_person_decides() {
    let scene = scene().await;
    let id = asked(&scene, vec![Level::one_of([Approver::Person("cleo".to_owned())])]).await;
    assert!(scene.manager.approve(&scene.admin, id, yes()).await.is_err());
    assert!(scene.manager.approve(&scene.chief, id, yes()).await.is_ok());
}
