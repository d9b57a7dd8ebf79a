//! What must hold of every approval, whatever people try.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::access::{ActorKind, Role};
use crate::id::{TokenId, UserId};

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn person(number: u128, role: Role, environments: &[Environment]) -> Actor {
    Actor {
        kind: ActorKind::User { id: UserId(Uuid::from_u128(number)) },
        name: format!("person-{number}"),
        role: Some(role),
        environments: environments.to_vec(),
        source: None,
        trace_id: None,
    }
}

fn admin(number: u128) -> Actor {
    person(number, Role::Admin, &[])
}

fn owner(number: u128) -> Actor {
    person(number, Role::EnvironmentOwner, &[Environment::Production])
}

fn note(text: &str) -> Note {
    text.parse().unwrap()
}

fn yes() -> Answer {
    Answer::Approve { note: None }
}

fn facts() -> Facts {
    Facts {
        rollout: RolloutId(Uuid::from_u128(7)),
        operator: "cert-manager".parse().unwrap(),
        target_version: "v1.14.0".parse().unwrap(),
        plan: PlanHash::new("sha256:0123456789abcdef"),
        production: BTreeMap::from([("prod-eu".parse().unwrap(), None)]),
        breaking_crds: Vec::new(),
    }
}

fn approval(levels: Vec<Level>, starter: &Actor) -> Approval {
    let mut requirement = required(&facts(), &Rules::default()).remove(0);
    requirement.levels = levels;
    requirement.ask(ApprovalId(Uuid::from_u128(1)), Starter::of(starter), now())
}

fn owned() -> Approval {
    approval(vec![Level::one_of([Approver::EnvironmentOwner])], &admin(1))
}

fn refusal(approval: &Approval, actor: &Actor, answer: Answer) -> String {
    decide(approval, actor, answer, None, now()).unwrap_err().to_string()
}

#[test]
fn one_owner_is_enough_by_default() {
    let approval = owned();
    assert_eq!(approval.waits_for().as_deref(), Some("an owner of Production"));
    let plan = approval.subject.plan.clone();
    assert!(!approval.covers(&plan));
    let approved =
        decide(&approval, &owner(2), Answer::Approve { note: Some(note("go")) }, Some(&plan), now());
    let approved = approved.unwrap();
    assert_eq!((approved.status, approved.ended_at), (ApprovalStatus::Approved, Some(now())));
    assert_eq!(approved.decisions[0].note, Some(note("go")));
    assert!(approved.covers(&plan) && !approved.covers(&PlanHash::new("another")));
    assert_eq!(
        refusal(&approved, &admin(3), yes()),
        "this approval is Approved already by person-2; there is nothing left to decide"
    );
}

#[test]
fn one_no_ends_it() {
    let rejected =
        decide(&owned(), &admin(2), Answer::Reject { reason: note("on Monday") }, None, now()).unwrap();
    assert_eq!(rejected.status, ApprovalStatus::Rejected);
    assert_eq!(
        refusal(&rejected, &admin(3), yes()),
        "this approval is Rejected already by person-2; there is nothing left to decide"
    );
}

#[test]
fn the_starter_cannot_approve_but_can_take_it_back() {
    let approval = owned();
    assert_eq!(
        refusal(&approval, &admin(1), yes()),
        "person-1 started this deployment and cannot approve it; it takes an owner of Production"
    );
    assert!(decide(&approval, &admin(1), Answer::Reject { reason: note("a mistake") }, None, now()).is_ok());
    let lenient = Approval { four_eyes: false, ..approval };
    assert!(decide(&lenient, &admin(1), yes(), None, now()).is_ok());
}

#[test]
fn whoever_is_not_listed_is_told_who_is() {
    let approval = owned();
    let elsewhere = person(2, Role::EnvironmentOwner, &[Environment::Staging]);
    assert_eq!(
        refusal(&approval, &elsewhere, yes()),
        "person-2 may not decide this; it takes an owner of Production"
    );
    // Being named in a rule does not make up for a role that decides nothing.
    let named = Level::one_of([Approver::Person("person-2".to_owned())]);
    let approval = super::tests::approval(vec![named], &admin(1));
    assert!(decide(&approval, &person(2, Role::Operator, &[]), yes(), None, now()).is_err());
    assert!(decide(&approval, &owner(2), yes(), None, now()).is_ok());
    assert!(decide(&approval, &admin(3), yes(), None, now()).unwrap_err().is_about_the_person());
}

#[test]
fn a_machine_does_not_decide() {
    let mut machine = admin(2);
    machine.kind = ActorKind::Token { id: TokenId(Uuid::from_u128(2)) };
    assert_eq!(
        refusal(&owned(), &machine, yes()),
        "person-2 is not a person; approvals are decided by people who logged in"
    );
    assert!(break_glass(&owned(), &Actor::system("rollouts"), note("fire"), now()).is_err());
}

#[test]
fn nothing_counts_from_the_moment_of_expiry() {
    let approval = owned();
    let last = approval.expires_at - SignedDuration::from_nanos(1);
    assert!(decide(&approval, &owner(2), yes(), None, last).is_ok());
    assert!(expire(&approval, last).is_none());
    let late = decide(&approval, &owner(2), yes(), None, approval.expires_at).unwrap_err();
    assert_eq!(
        late.to_string(),
        "this approval expired at 2027-01-16T08:00:00Z; start the deployment again to ask anew"
    );
    let expired = expire(&approval, approval.expires_at).unwrap();
    assert_eq!(expired.status, ApprovalStatus::Expired);
    assert!(expire(&expired, approval.expires_at).is_none());
    assert_eq!(decide(&expired, &owner(2), yes(), None, now()).unwrap_err(), late);
}

#[test]
fn a_decision_on_another_plan_does_not_count() {
    let seen = PlanHash::new("sha256:fedcba9876543210");
    assert_eq!(
        decide(&owned(), &owner(2), yes(), Some(&seen), now()).unwrap_err().to_string(),
        "you looked at plan fedcba987654, but this approval is about plan 0123456789ab; \
         look again before you decide"
    );
}

#[test]
fn a_change_of_plan_ends_what_waits_and_what_was_given() {
    let approval = owned();
    let given = decide(&approval, &owner(2), yes(), None, now()).unwrap();
    for before in [&approval, &given] {
        let lapsed = lapse(before, "the plan changed", now()).unwrap();
        assert!(!lapsed.covers(&approval.subject.plan));
        assert_eq!(
            refusal(&lapsed, &owner(3), yes()),
            "this approval lapsed: the plan changed; decide on the one that took its place"
        );
        assert!(lapse(&lapsed, "again", now()).is_none());
    }
}

#[test]
fn levels_decide_in_their_order() {
    let levels =
        vec![Level::one_of([Approver::EnvironmentOwner]), Level { by: vec![Approver::Admin], quorum: 2 }];
    let approval = approval(levels, &admin(1));
    let first = decide(&approval, &owner(2), yes(), None, now()).unwrap();
    assert_eq!((first.status, first.open_level()), (ApprovalStatus::Pending, Some(1)));
    assert_eq!(
        refusal(&first, &owner(2), yes()),
        "person-2 decided at 2027-01-15T08:00:00Z already; each person decides once, \
         so it still takes 2 people, each an admin"
    );
    assert_eq!(
        refusal(&first, &owner(3), yes()),
        "person-3 may not decide this; it takes 2 people, each an admin"
    );
    let second = decide(&first, &admin(4), yes(), None, now()).unwrap();
    assert_eq!(second.status, ApprovalStatus::Pending);
    assert_eq!(decide(&second, &admin(5), yes(), None, now()).unwrap().status, ApprovalStatus::Approved);
}

#[test]
fn whoever_comes_later_waits_for_those_before() {
    let by = |name: &str| Level::one_of([Approver::Person(name.to_owned())]);
    let approval = approval(vec![by("person-2"), by("person-3")], &admin(1));
    assert_eq!(
        refusal(&approval, &owner(3), yes()),
        "it is not person-3's turn yet; first it takes person-2"
    );
}

#[test]
fn an_admin_goes_past_it_in_an_emergency_and_says_why() {
    let approval = owned();
    assert!(break_glass(&approval, &owner(2), note("fire"), now()).is_err());
    let bypassed = break_glass(&approval, &admin(1), note("fire"), now()).unwrap();
    assert_eq!(
        (bypassed.status, bypassed.decisions[0].verdict),
        (ApprovalStatus::Bypassed, Verdict::Bypassed)
    );
    assert!(bypassed.covers(&approval.subject.plan));
    assert!(break_glass(&approval, &admin(1), note("fire"), approval.expires_at).is_err());
}

#[test]
fn only_what_touches_production_is_asked() {
    let kinds = |facts: &Facts, rules: &Rules| -> Vec<(ApprovalKind, String)> {
        required(facts, rules).into_iter().map(|needed| (needed.kind, needed.because)).collect()
    };
    let rules = Rules::default();
    let mut facts = facts();
    let production = (ApprovalKind::ProductionDeployment, "it goes to production: prod-eu".to_owned());
    assert_eq!(kinds(&facts, &rules), std::slice::from_ref(&production));
    facts.production.insert("prod-eu".parse().unwrap(), Some("1.14.0".parse().unwrap()));
    assert_eq!(kinds(&facts, &rules), std::slice::from_ref(&production), "the same version is no upgrade");
    facts.production.insert("prod-eu".parse().unwrap(), Some("v1.13.2".parse().unwrap()));
    facts.breaking_crds = (1..=7).map(|number| format!("crd{number}")).collect();
    let upgrade = (ApprovalKind::OperatorVersionUpgrade, "it runs in production, as v1.13.2".to_owned());
    let breaking = (
        ApprovalKind::BreakingCrdChange,
        "its schemas break what is in production: crd1, crd2, crd3, crd4, crd5 and 2 more CRDs".to_owned(),
    );
    assert_eq!(kinds(&facts, &rules), [production, upgrade.clone(), breaking.clone()]);
    let mut relaxed = rules.clone();
    relaxed.production_deployment.required = false;
    assert_eq!(kinds(&facts, &relaxed), [upgrade, breaking]);
    facts.production.clear();
    assert_eq!(kinds(&facts, &rules), []);
}

fn levels() -> impl Strategy<Value = Vec<Level>> {
    let approver = prop_oneof![
        Just(Approver::EnvironmentOwner),
        Just(Approver::Admin),
        (1_u128..8).prop_map(|number| Approver::Person(format!("person-{number}"))),
    ];
    let level = (prop::collection::vec(approver, 1..3), 0_u32..4);
    prop::collection::vec(level.prop_map(|(by, quorum)| Level { by, quorum }), 1..4)
}

fn somebody() -> impl Strategy<Value = Actor> {
    // A role belongs to a person: the same number is always the same person.
    (1_u128..8).prop_map(|number| match number % 4 {
        0 => person(number, Role::Operator, &[]),
        1 => admin(number),
        2 => person(number, Role::EnvironmentOwner, &[Environment::Staging]),
        _ => owner(number),
    })
}

proptest! {
    #[test]
    fn nothing_is_approved_without_a_quorum_of_different_people_in_every_level(
        levels in levels(),
        starter in somebody(),
        answers in prop::collection::vec((somebody(), prop::bool::weighted(0.95), 0_i64..30), 0..25),
    ) {
        let mut approval = approval(levels, &starter);
        let mut everybody = BTreeMap::new();
        for (actor, approves, hours) in answers {
            let answer = if approves { yes() } else { Answer::Reject { reason: note("no") } };
            let at = now() + SignedDuration::from_hours(hours);
            everybody.insert(actor.subject().unwrap(), actor.clone());
            let before = approval.clone();
            if let Ok(next) = decide(&approval, &actor, answer, None, at) {
                prop_assert_eq!(before.status, ApprovalStatus::Pending);
                prop_assert!(at < before.expires_at);
                prop_assert_eq!(next.decisions.len(), before.decisions.len() + 1);
                prop_assert_eq!(next.last_decision().unwrap().level, before.open_level().unwrap());
                approval = next;
            }
        }
        let people: BTreeSet<_> = approval.decisions.iter().map(|decision| decision.person).collect();
        prop_assert_eq!(people.len(), approval.decisions.len(), "somebody decided twice");
        let in_order = approval.decisions.windows(2).all(|pair| pair[0].level <= pair[1].level);
        prop_assert!(in_order, "a later level decided before an earlier one");
        for decision in approval.decisions.iter().filter(|decision| decision.verdict == Verdict::Approved) {
            prop_assert!(decision.person != starter.subject().unwrap(), "the starter approved");
            let level = &approval.levels[decision.level];
            prop_assert!(level.admits(&everybody[&decision.person], Environment::Production));
        }
        let full = (0..approval.levels.len())
            .all(|index| approval.agreed(index) >= approval.levels[index].quorum.max(1) as usize);
        let rejected = approval.decisions.iter().any(|decision| decision.verdict == Verdict::Rejected);
        let expected = match (rejected, full) {
            (true, _) => ApprovalStatus::Rejected,
            (false, true) => ApprovalStatus::Approved,
            (false, false) => ApprovalStatus::Pending,
        };
        prop_assert_eq!(approval.status, expected);
    }
}
