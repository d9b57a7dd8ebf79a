//! What is recorded while a rollout goes on.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use slipway_domain::id::RolloutId;
use slipway_domain::preflight::{Preflight, Return};
use slipway_domain::rollout::{
    ActKey, Command, Found, Measurement, Numbered, Observation, Outcome, Report, Revision, Seen, Status,
    StepKind,
};
use slipway_orchestrator::Changeset;
use slipway_orchestrator::changes::Work;
use slipway_orchestrator::ports::store::{
    Excerpt, Recorded, RolloutRows as _, RolloutWrite, Sealed, WorkRows as _,
};
use slipway_orchestrator::ports::{Store as _, StoreError};

use crate::scene::{begin, key, name, now, scene, under_way};

fn done(revision: &str) -> Outcome {
    Outcome::Done(Found::Released(Revision(revision.to_owned())))
}

fn observation(seconds: i64, health: Seen) -> Observation {
    let at = now() + SignedDuration::from_secs(seconds);
    Observation { at, revision: Some(Revision("boats.v7".into())), health, text: "seen".into() }
}

fn pause(id: RolloutId, version: i64) -> Changeset {
    let command = Command::Pause { reason: "lunch".into() };
    let write = RolloutWrite::Command { rollout: id, version, by: "bob".into(), command: Box::new(command) };
    Changeset::new().write(write)
}

#[tokio::test]
async fn of_two_who_decide_the_second_is_stale() {
    let scene = scene().await;
    let mut rollout = scene.rollout(&["dev"]);
    scene.begin(&rollout).await.unwrap();
    assert_eq!(scene.read(rollout.id).await, rollout);
    rollout.state.status = Status::Deploying;
    rollout.started_at = Some(now());
    scene.decide(&rollout, &["one", "two"]).await.unwrap();
    let kept = scene.read(rollout.id).await;
    rollout.version = 2;
    assert_eq!(kept, rollout);
    rollout.version = 1;
    let late = scene.decide(&rollout, &["never"]).await;
    assert!(matches!(late, Err(StoreError::Stale { .. })), "{late:?}");
    scene.decide(&kept, &["three"]).await.unwrap();
    let news = scene.store().rollout_news(rollout.id, 0, 10).await.unwrap();
    let told: Vec<(i64, &str)> = news.iter().map(|news| (news.number, news.text.as_str())).collect();
    assert_eq!(told, [(1, "one"), (2, "two"), (3, "three")]);
    let after: Vec<i64> =
        scene.store().rollout_news(rollout.id, 1, 1).await.unwrap().iter().map(|news| news.number).collect();
    assert_eq!(after, [2]);
}

#[tokio::test]
async fn what_is_read_about_one_cluster_is_all_of_it_and_nothing_of_the_others() {
    let scene = scene().await;
    let mut rollout = scene.rollout(&["dev", "prod-eu"]);
    under_way(&mut rollout, &key("dev", StepKind::Release, 1));
    under_way(&mut rollout, &key("prod-eu", StepKind::Snapshot, 1));
    scene.begin(&rollout).await.unwrap();
    for cluster in ["dev", "prod-eu"] {
        let read = scene.store().rollout_about(rollout.id, &name(cluster)).await.unwrap();
        assert_eq!(read, Excerpt::of(&rollout, &name(cluster)), "{cluster}");
        let read = read.unwrap();
        assert_eq!(read.state.clusters.keys().collect::<Vec<_>>(), [&name(cluster)]);
        assert_eq!(read.state.spec.targets.len(), 1);
        assert_eq!(read.placements.len(), 1);
    }
    assert_eq!(scene.store().rollout_about(rollout.id, &name("stage")).await.unwrap(), None);
    let nobody = RolloutId(uuid::Uuid::new_v4());
    assert_eq!(scene.store().rollout_about(nobody, &name("dev")).await.unwrap(), None);
}

#[tokio::test]
async fn a_step_is_intended_begun_and_ended_once() {
    let scene = scene().await;
    let mut rollout = scene.rollout(&["dev", "prod-eu"]);
    scene.begin(&rollout).await.unwrap();
    let (release, other) = (key("dev", StepKind::Release, 1), key("prod-eu", StepKind::Snapshot, 1));
    under_way(&mut rollout, &release);
    under_way(&mut rollout, &other);
    let deadline = now() + SignedDuration::from_mins(5);
    let intend = |key: &ActKey| RolloutWrite::Intend { rollout: rollout.id, key: key.clone(), deadline };
    let decided = Changeset::new()
        .write(RolloutWrite::Decide { rollout: Box::new(rollout.clone()), news: Vec::new() })
        .write(intend(&release))
        .write(intend(&other));
    scene.store().commit(decided).await.unwrap();
    let step = scene.store().step(rollout.id, &release).await.unwrap().unwrap();
    assert_eq!((step.key, step.deadline, step.begun, step.outcome), (release.clone(), deadline, None, None));
    assert_eq!(scene.store().recorded(rollout.id).await.unwrap(), Recorded::default());

    let begun = |epoch| RolloutWrite::BeginStep { rollout: rollout.id, key: release.clone(), epoch };
    scene.write(begun(7)).await.unwrap();
    let first = scene.store().step(rollout.id, &release).await.unwrap().unwrap();
    scene.write(begun(9)).await.unwrap();
    let second = scene.store().step(rollout.id, &release).await.unwrap().unwrap();
    assert_eq!((first.begun, second.begun, second.begun_at), (Some(7), Some(9), first.begun_at));
    let late = scene.write(begun(8)).await;
    assert!(matches!(late, Err(StoreError::Stale { .. })), "whoever lost the claim does not begin: {late:?}");

    let end = |key: &ActKey, outcome| RolloutWrite::EndStep {
        rollout: rollout.id,
        key: key.clone(),
        outcome: Box::new(outcome),
    };
    scene.write(end(&release, done("boats.v8"))).await.unwrap();
    scene.write(end(&release, Outcome::Failed { reason: "late".into() })).await.unwrap();
    let ended = scene.store().step(rollout.id, &release).await.unwrap().unwrap();
    assert_eq!(ended.outcome, Some(done("boats.v8")));
    assert!(ended.ended_at.is_some());
    assert!(matches!(scene.write(begun(10)).await, Err(StoreError::Stale { .. })), "it ended");
    let unknown = scene.write(end(&key("dev", StepKind::Release, 2), done("boats.v9"))).await;
    assert!(matches!(unknown, Err(StoreError::Stale { .. })), "nobody intended it: {unknown:?}");

    let report = Report { key: release.clone(), outcome: done("boats.v8") };
    assert_eq!(scene.store().recorded(rollout.id).await.unwrap().reports, [report]);
    // Once the state has taken it, it is history.
    rollout.version = 2;
    rollout.state.clusters.get_mut(&name("dev")).unwrap().step = None;
    scene.decide(&rollout, &[]).await.unwrap();
    assert_eq!(scene.store().recorded(rollout.id).await.unwrap().reports, []);
    let steps = scene.store().steps(rollout.id).await.unwrap();
    assert_eq!(steps.into_iter().map(|step| step.key).collect::<Vec<_>>(), [release.clone(), other]);
    assert!(scene.write(intend(&release)).await.is_err(), "an attempt is intended once");
}

#[tokio::test]
async fn the_latest_look_and_the_latest_answer_stand_whoever_is_slow() {
    let scene = scene().await;
    let rollout = scene.rollout(&["dev"]);
    scene.begin(&rollout).await.unwrap();
    let observe =
        |observation| RolloutWrite::Observe { rollout: rollout.id, cluster: name("dev"), observation };
    let measure = |seconds: i64, health| RolloutWrite::Measure {
        rollout: rollout.id,
        gate: "errors".into(),
        measurement: Measurement {
            at: now() + SignedDuration::from_secs(seconds),
            health,
            text: "0.2".into(),
        },
    };
    for (seconds, health) in [(1, Seen::Undecided), (5, Seen::Passed), (3, Seen::Failed)] {
        scene.write(observe(observation(seconds, health))).await.unwrap();
        scene.write(measure(seconds, health)).await.unwrap();
    }
    let recorded = scene.store().recorded(rollout.id).await.unwrap();
    assert_eq!(recorded.observations[&name("dev")], observation(5, Seen::Passed));
    assert_eq!(recorded.measurements["errors"].health, Seen::Passed);
}

#[tokio::test]
async fn what_clusters_say_is_kept_whatever_is_in_it() {
    let scene = scene().await;
    let mut rollout = scene.rollout(&["dev"]);
    scene.begin(&rollout).await.unwrap();
    let step = key("dev", StepKind::Release, 1);
    under_way(&mut rollout, &step);
    rollout.state.reason = Some("a\0b".into());
    scene.decide(&rollout, &["c\0d"]).await.unwrap();
    let intend = RolloutWrite::Intend { rollout: rollout.id, key: step.clone(), deadline: now() };
    scene.write(intend).await.unwrap();
    let outcome = Box::new(Outcome::Failed { reason: "helm said \0".into() });
    scene.write(RolloutWrite::EndStep { rollout: rollout.id, key: step, outcome }).await.unwrap();
    let odd = Observation { text: "\0".into(), ..observation(1, Seen::Failed) };
    let observe = RolloutWrite::Observe { rollout: rollout.id, cluster: name("dev"), observation: odd };
    scene.write(observe).await.unwrap();
    let recorded = scene.store().recorded(rollout.id).await.unwrap();
    assert_eq!(recorded.reports[0].outcome, Outcome::Failed { reason: "helm said ␀".into() });
    assert_eq!(recorded.observations[&name("dev")].text, "␀");
    assert_eq!(scene.read(rollout.id).await.state.reason.as_deref(), Some("a␀b"));
    assert_eq!(scene.store().rollout_news(rollout.id, 0, 9).await.unwrap()[0].text, "c␀d");
}

#[tokio::test]
async fn commands_are_numbered_without_gaps_and_leave_decisions_alone() {
    let scene = scene().await;
    let other = scene.stored.another("two").await;
    let rollout = scene.rollout(&["dev"]);
    scene.begin(&rollout).await.unwrap();
    let both = async || {
        for _ in 0..10 {
            let (one, two) =
                tokio::join!(scene.store().commit(pause(rollout.id, 1)), other.commit(pause(rollout.id, 1)));
            one.unwrap();
            two.unwrap();
        }
    };
    both().await;
    let wanted = scene.store().recorded(rollout.id).await.unwrap().commands;
    assert_eq!(wanted.iter().map(|command| command.number).collect::<Vec<_>>(), (1..=20).collect::<Vec<_>>());
    assert_eq!(
        wanted[0],
        Numbered { number: 1, by: "bob".into(), command: Command::Pause { reason: "lunch".into() } }
    );
    let mut decided = scene.read(rollout.id).await;
    assert_eq!(decided.version, 1, "a decision that was on its way still counts");
    decided.state.commands = 18;
    scene.decide(&decided, &[]).await.unwrap();
    let left = scene.store().recorded(rollout.id).await.unwrap().commands;
    assert_eq!(left.iter().map(|command| command.number).collect::<Vec<_>>(), [19, 20]);
    let late = scene.store().commit(pause(rollout.id, 1)).await;
    assert!(matches!(late, Err(StoreError::Stale { .. })), "{late:?}");
    scene.store().commit(pause(rollout.id, 2)).await.unwrap();
    assert_eq!(scene.store().recorded(rollout.id).await.unwrap().commands.last().unwrap().number, 21);
}

#[tokio::test]
async fn what_is_sealed_and_what_is_for_people_is_read_as_it_was_written() {
    let scene = scene().await;
    let rollout = scene.rollout(&["dev", "prod-eu"]);
    scene.begin(&rollout).await.unwrap();
    assert_eq!(scene.store().rollout_values(rollout.id).await.unwrap(), Some(Sealed(b"sealed".to_vec())));
    assert_eq!(scene.store().snapshot(rollout.id, &name("dev")).await.unwrap(), None);
    for bytes in [&b"first"[..], b"second"] {
        let snapshot = Sealed(bytes.to_vec());
        let keep =
            RolloutWrite::Keep { rollout: rollout.id, cluster: name("dev"), snapshot: snapshot.clone() };
        scene.write(keep).await.unwrap();
        assert_eq!(scene.store().snapshot(rollout.id, &name("dev")).await.unwrap(), Some(snapshot));
    }
    assert_eq!(scene.store().snapshot(rollout.id, &name("prod-eu")).await.unwrap(), None);
    let mut preflight = Preflight {
        at: now(),
        from: None,
        to: "1.2.0".parse().unwrap(),
        findings: Vec::new(),
        changes: Vec::new(),
        crds: Vec::new(),
        going_back: Return::OneWay,
        values: Vec::new(),
        digest: String::new(),
    };
    for digest in ["one", "two"] {
        preflight.digest = digest.to_owned();
        let write = RolloutWrite::Preflight {
            rollout: rollout.id,
            cluster: name("dev"),
            preflight: Box::new(preflight.clone()),
        };
        scene.write(write).await.unwrap();
    }
    let kept = scene.store().preflights(rollout.id).await.unwrap();
    assert_eq!(kept, [(name("dev"), preflight)].into());
}

/// A tick holds its work and then the row; a command holds the row and then makes the work due.
#[tokio::test]
async fn those_who_decide_and_those_who_command_never_wait_for_each_other() {
    let scene = scene().await;
    let other = scene.stored.another("two").await;
    let rollout = scene.rollout(&["dev"]);
    let work = Work { kind: "rollout", key: rollout.id.to_string() };
    let begin = Changeset::new().write(begin(&rollout)).due(work.clone(), Timestamp::UNIX_EPOCH);
    scene.store().commit(begin).await.unwrap();
    let claim = scene.store().claim("rollout", 1, Duration::from_mins(5)).await.unwrap().remove(0);
    let deciding = async {
        for _ in 0..50 {
            let rollout = Box::new(scene.read(rollout.id).await);
            let decided = Changeset::new()
                .fenced(claim.fence())
                .write(RolloutWrite::Decide { rollout, news: Vec::new() })
                .due(work.clone(), now());
            scene.store().commit(decided).await.unwrap();
        }
    };
    let commanding = async {
        let mut counted = 0;
        while counted < 50 {
            let version = other.rollout(rollout.id).await.unwrap().unwrap().version;
            match other.commit(pause(rollout.id, version).due(work.clone(), now())).await {
                Ok(()) | Err(StoreError::Stale { .. }) => counted += 1,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    tokio::join!(deciding, commanding);
}
