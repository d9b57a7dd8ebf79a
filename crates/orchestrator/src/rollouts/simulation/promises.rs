//! What the rows of rollouts promise, whoever keeps them. PostgreSQL and its twin in memory go through the same
//! cases, so that what holds in the simulation holds for servers.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::rollout::{
    ActKey, Command, Found, Observation, Outcome, Report, Revision, Seen, Status, Step, StepKind,
};
use slipway_orchestrator::Changeset;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::ports::StoreError;
use slipway_orchestrator::ports::store::{Claim, Recorded, Rollout, RolloutWrite, StepRow};

/// A kind of work that nobody does by himself.
const KIND: &str = "promise";
const LEASE: Duration = Duration::from_secs(3);
const LONG: Duration = Duration::from_mins(10);

/// Whoever keeps rows, with one rollout that begins; `dev` is among its clusters.
pub(crate) trait Keeper {
    async fn time(&self) -> Timestamp;
    /// So much time passes.
    async fn pass(&self, span: Duration);
    async fn commit(&self, changes: Changeset) -> Result<(), StoreError>;
    async fn rollout(&self) -> Rollout;
    async fn recorded(&self) -> Recorded;
    async fn step(&self, key: &ActKey) -> Option<StepRow>;
    async fn claim(&self, kind: &'static str, lease: Duration) -> Vec<Claim>;
    async fn keep(&self, claim: &Claim, lease: Duration) -> bool;
    async fn release(&self, claim: &Claim, after: Duration);
}

/// All of them, each with rows of its own.
pub(crate) async fn hold<K: Keeper>(fresh: impl AsyncFn() -> K) {
    of_two_decisions_the_second_is_stale(&fresh().await).await;
    a_step_is_intended_once(&fresh().await).await;
    only_a_newer_claim_begins_a_step_again(&fresh().await).await;
    the_first_word_about_a_step_stands(&fresh().await).await;
    only_what_is_open_is_reported(&fresh().await).await;
    an_older_look_changes_nothing(&fresh().await).await;
    commands_count_and_need_the_present_version(&fresh().await).await;
    who_lost_a_claim_writes_nothing(&fresh().await).await;
    what_is_made_due_anew_is_not_forgotten(&fresh().await).await;
}

fn key(kind: StepKind, attempt: u32) -> ActKey {
    ActKey { cluster: "dev".parse().unwrap(), kind, attempt }
}

fn work() -> Work {
    Work { kind: KIND, key: "one".to_owned() }
}

fn released(number: u32) -> Outcome {
    Outcome::Done(Found::Released(Revision(format!("boats.v{number}"))))
}

fn decide(rollout: Rollout) -> RolloutWrite {
    RolloutWrite::Decide { rollout: Box::new(rollout), news: Vec::new() }
}

async fn write(rows: &impl Keeper, write: RolloutWrite) -> Result<(), StoreError> {
    rows.commit(Changeset::new().write(write)).await
}

async fn intend(rows: &impl Keeper, key: &ActKey) -> Result<(), StoreError> {
    let (rollout, deadline) = (rows.rollout().await.id, rows.time().await + SignedDuration::from_mins(5));
    write(rows, RolloutWrite::Intend { rollout, key: key.clone(), deadline }).await
}

async fn begin(rows: &impl Keeper, key: &ActKey, epoch: i64) -> Result<(), StoreError> {
    let rollout = rows.rollout().await.id;
    write(rows, RolloutWrite::BeginStep { rollout, key: key.clone(), epoch }).await
}

async fn end(rows: &impl Keeper, key: &ActKey, outcome: Outcome) -> Result<(), StoreError> {
    let rollout = rows.rollout().await.id;
    write(rows, RolloutWrite::EndStep { rollout, key: key.clone(), outcome: Box::new(outcome) }).await
}

#[track_caller]
fn is_stale(outcome: &Result<(), StoreError>) {
    assert!(matches!(outcome, Err(StoreError::Stale { .. })), "{outcome:?}");
}

async fn of_two_decisions_the_second_is_stale(rows: &impl Keeper) {
    let first = rows.rollout().await;
    let mut changed = first.clone();
    changed.state.status = Status::Deploying;
    write(rows, decide(changed)).await.unwrap();
    let kept = rows.rollout().await;
    assert_eq!((kept.state.status, kept.version), (Status::Deploying, first.version + 1));
    is_stale(&write(rows, decide(first)).await);
    assert_eq!(rows.rollout().await, kept);
}

async fn a_step_is_intended_once(rows: &impl Keeper) {
    let key = key(StepKind::Release, 1);
    intend(rows, &key).await.unwrap();
    let step = rows.step(&key).await.unwrap();
    assert_eq!((step.begun, step.begun_at, step.outcome, step.ended_at), (None, None, None, None));
    let again = intend(rows, &key).await;
    assert!(matches!(again, Err(StoreError::Taken { .. })), "{again:?}");
    // All or nothing: what comes with it is not written either.
    let before = rows.rollout().await;
    let mut changed = before.clone();
    changed.state.status = Status::Deploying;
    let deadline = rows.time().await + SignedDuration::from_mins(5);
    let intent = RolloutWrite::Intend { rollout: before.id, key, deadline };
    assert!(rows.commit(Changeset::new().write(decide(changed)).write(intent)).await.is_err());
    assert_eq!(rows.rollout().await, before);
}

async fn only_a_newer_claim_begins_a_step_again(rows: &impl Keeper) {
    let key = key(StepKind::Release, 1);
    is_stale(&begin(rows, &key, 7).await);
    intend(rows, &key).await.unwrap();
    begin(rows, &key, 7).await.unwrap();
    let first = rows.step(&key).await.unwrap();
    rows.pass(Duration::from_millis(20)).await;
    begin(rows, &key, 7).await.unwrap();
    begin(rows, &key, 9).await.unwrap();
    is_stale(&begin(rows, &key, 8).await);
    let last = rows.step(&key).await.unwrap();
    assert_eq!((last.begun, last.begun_at), (Some(9), first.begun_at));
    end(rows, &key, released(2)).await.unwrap();
    is_stale(&begin(rows, &key, 10).await);
}

async fn the_first_word_about_a_step_stands(rows: &impl Keeper) {
    let key = key(StepKind::Release, 1);
    is_stale(&end(rows, &key, released(2)).await);
    intend(rows, &key).await.unwrap();
    begin(rows, &key, 7).await.unwrap();
    end(rows, &key, released(2)).await.unwrap();
    let first = rows.step(&key).await.unwrap();
    rows.pass(Duration::from_millis(20)).await;
    end(rows, &key, Outcome::Lost { reason: "late".to_owned() }).await.unwrap();
    assert_eq!(rows.step(&key).await.unwrap(), first);
    assert_eq!(first.outcome, Some(released(2)));
}

async fn only_what_is_open_is_reported(rows: &impl Keeper) {
    let (old, open) = (key(StepKind::Release, 1), key(StepKind::Release, 2));
    for key in [&old, &open] {
        intend(rows, key).await.unwrap();
        end(rows, key, released(key.attempt)).await.unwrap();
    }
    assert_eq!(rows.recorded().await.reports, []);
    let mut rollout = rows.rollout().await;
    let now = rows.time().await;
    let step = Step { kind: open.kind, attempt: open.attempt, since: now, deadline: now };
    rollout.state.clusters.get_mut(&open.cluster).unwrap().step = Some(step);
    write(rows, decide(rollout)).await.unwrap();
    assert_eq!(rows.recorded().await.reports, [Report { key: open, outcome: released(2) }]);
}

async fn an_older_look_changes_nothing(rows: &impl Keeper) {
    let (rollout, start) = (rows.rollout().await.id, rows.time().await);
    let cluster = key(StepKind::Release, 1).cluster;
    let look = |seconds, text: &str| Observation {
        at: start + SignedDuration::from_secs(seconds),
        revision: None,
        health: Seen::Passed,
        text: text.to_owned(),
    };
    for (seconds, text) in [(5, "first"), (3, "late"), (5, "same"), (4, "late, too")] {
        let observation = look(seconds, text);
        let cluster = cluster.clone();
        write(rows, RolloutWrite::Observe { rollout, cluster, observation }).await.unwrap();
    }
    assert_eq!(rows.recorded().await.observations[&cluster].text, "same");
}

async fn commands_count_and_need_the_present_version(rows: &impl Keeper) {
    let rollout = rows.rollout().await;
    let command = |version| RolloutWrite::Command {
        rollout: rollout.id,
        version,
        by: "bob".to_owned(),
        command: Box::new(Command::Promote),
    };
    is_stale(&write(rows, command(rollout.version + 1)).await);
    write(rows, command(rollout.version)).await.unwrap();
    write(rows, command(rollout.version)).await.unwrap();
    assert_eq!(rows.rollout().await.version, rollout.version, "a decision under way is not undone");
    let numbers = |recorded: Recorded| recorded.commands.iter().map(|one| one.number).collect::<Vec<_>>();
    assert_eq!(numbers(rows.recorded().await), [1, 2]);
    let mut followed = rollout.clone();
    followed.state.commands = 1;
    write(rows, decide(followed)).await.unwrap();
    assert_eq!(numbers(rows.recorded().await), [2]);
}

async fn who_lost_a_claim_writes_nothing(rows: &impl Keeper) {
    let (now, long) = (rows.time().await, SignedDuration::from_hours(1));
    let later = Work { kind: KIND, key: "later".to_owned() };
    rows.commit(Changeset::new().due(work(), now).due(later, now + long)).await.unwrap();
    let first = rows.claim(KIND, LEASE).await;
    assert_eq!(first.iter().map(|claim| claim.work.clone()).collect::<Vec<_>>(), [work()]);
    assert_eq!(rows.claim(KIND, LEASE).await, [], "it is held");
    assert!(rows.keep(&first[0], LEASE).await);
    rows.pass(LEASE + Duration::from_millis(100)).await;
    let second = rows.claim(KIND, LONG).await;
    assert!(second[0].epoch > first[0].epoch);
    assert!(!rows.keep(&first[0], LEASE).await, "another one has it");
    let before = rows.rollout().await;
    let mut changed = before.clone();
    changed.state.status = Status::Deploying;
    let lost = Changeset::new().fenced(first[0].fence()).write(decide(changed.clone()));
    let lost = rows.commit(lost).await;
    assert!(matches!(lost, Err(StoreError::Fenced)), "{lost:?}");
    assert_eq!(rows.rollout().await, before);
    rows.release(&first[0], Duration::ZERO).await;
    assert_eq!(rows.claim(KIND, LEASE).await, [], "whoever lost it gives nothing back");
    rows.commit(Changeset::new().fenced(second[0].fence()).write(decide(changed))).await.unwrap();
    rows.release(&second[0], LONG).await;
    assert_eq!(rows.claim(KIND, LEASE).await, [], "it is due later");
    let over = rows.commit(Changeset::new().fenced(second[0].fence())).await;
    assert!(matches!(over, Err(StoreError::Fenced)), "a claim that was given back holds nothing: {over:?}");
}

async fn what_is_made_due_anew_is_not_forgotten(rows: &impl Keeper) {
    let now = rows.time().await;
    rows.commit(Changeset::new().due(work(), now)).await.unwrap();
    let claim = rows.claim(KIND, LONG).await.remove(0);
    rows.commit(Changeset::new().due(work(), now)).await.unwrap();
    assert_eq!(rows.claim(KIND, LONG).await, [], "one at a time");
    // It ends, and is there still.
    rows.commit(Changeset::new().fenced(claim.fence()).finish(work())).await.unwrap();
    rows.release(&claim, LONG).await;
    let claim = rows.claim(KIND, LONG).await.remove(0);
    rows.commit(Changeset::new().fenced(claim.fence()).finish(work())).await.unwrap();
    assert_eq!(rows.claim(KIND, LONG).await, [], "nobody wanted it again");
    // What is ended in so many words is gone, whoever wanted it.
    rows.commit(Changeset::new().due(work(), now)).await.unwrap();
    let claim = rows.claim(KIND, LONG).await.remove(0);
    rows.commit(Changeset::new().due(work(), now)).await.unwrap();
    rows.commit(Changeset::new().fenced(claim.fence()).end(work())).await.unwrap();
    assert_eq!(rows.claim(KIND, LONG).await, []);
}
