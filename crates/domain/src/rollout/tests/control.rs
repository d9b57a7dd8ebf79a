//! What people do to a rollout.

use super::super::simulation::start;
use super::super::{
    Command, Part, Phase, Refusal, Rolling, Runs, Settings, Stage, State, Status, Strategy, why,
};
use super::{DAY, canary, many, mins, name, stage, world};
use crate::id::RolloutId;

fn pause() -> Command {
    Command::Pause { reason: "lunch".to_owned() }
}

fn cancel() -> Command {
    Command::Cancel { reason: "wrong version".to_owned() }
}

fn back(clusters: Option<&[&str]>) -> Command {
    let clusters = clusters.map(|names| names.iter().map(|text| name(text)).collect());
    Command::RollBack { reason: "customers complain".to_owned(), clusters, down_migrate: false }
}

fn soaking(state: &State) -> bool {
    matches!(state.phase, Phase::Wave { part: Part::Soaking { .. }, .. })
}

#[test]
fn a_pause_at_any_phase_lets_running_clusters_finish_and_begins_nothing() {
    let phases: [fn(&State) -> bool; 4] = [
        |state| state.phase == Phase::Preflight,
        |state| stage(state, "prod-00") == Stage::Release,
        soaking,
        |state| matches!(state.phase, Phase::Wave { index: 1, .. }),
    ];
    for phase in phases {
        let mut world = world(canary(), many(12));
        world.until(phase);
        world.command(mins(0), pause());
        world.command(mins(0), pause());
        world.run(mins(90));
        let pause = world.state.paused.clone().unwrap();
        assert_eq!(pause.reason, "paused by ada: lunch");
        let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
        assert_eq!((said.since, said.unblock.as_deref()), (pause.since, Some("resume")));
        assert!(world.state.clusters.values().all(|cluster| !cluster.stage.is_moving()));
        assert!(!world.state.status.is_end());
        world.command(mins(1), Command::Resume);
        assert_eq!(world.run(DAY), Status::Completed);
    }
}

#[test]
fn what_hurts_is_taken_back_although_it_is_paused() {
    let mut world = world(canary(), many(3));
    world.until(soaking);
    world.command(mins(0), pause());
    world.sim("prod-00").bad_from = Some(world.now);
    assert_eq!(world.run(DAY), Status::RolledBack);
}

#[test]
fn cancel_leaves_out_what_waits_and_lets_finish_what_runs() {
    let mut planning = world(canary(), many(3));
    planning.until(|state| state.phase == Phase::Preflight);
    planning.command(mins(0), cancel());
    assert_eq!(planning.run(DAY), Status::Cancelled);
    assert!(!planning.state.touched());
    let mut running = world(canary(), many(3));
    running.until(|state| stage(state, "prod-01") == Stage::Release);
    running.command(mins(0), cancel());
    assert_eq!(running.run(DAY), Status::Cancelled);
    assert_eq!(running.on_target().len(), 2);
    assert_eq!(stage(&running.state, "prod-02"), Stage::Skipped);
    assert_eq!(
        running.state.reason.as_deref(),
        Some("cancelled by ada: wrong version; on the version: prod-00, prod-01")
    );
    assert_eq!(cancel().check(&running.state), Ok(()), "twice is once");
}

#[test]
fn going_back_cannot_be_cancelled() {
    let mut world = world(canary(), many(3));
    world.sim("prod-00").bad = true;
    world.until(|state| state.status == Status::RollingBack);
    assert_eq!(cancel().check(&world.state), Err(Refusal::GoingBack));
    world.command(mins(0), cancel());
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert_eq!(world.told("refused"), 1);
}

#[test]
fn a_rollback_by_hand_takes_all_or_some_also_after_completion() {
    let mut all = world(canary(), many(3));
    assert_eq!(all.run(DAY), Status::Completed);
    all.command(mins(1), back(None));
    assert_eq!(all.run(DAY), Status::RolledBack);
    assert!(all.on_target().is_empty());
    let mut some = world(canary(), many(3));
    some.run(DAY);
    assert_eq!(
        back(Some(&["prod-01", "mars"])).check(&some.state),
        Err(Refusal::Clusters { clusters: "mars".to_owned(), why: "was not changed by this deployment" })
    );
    some.command(mins(1), back(Some(&["prod-01"])));
    assert_eq!(some.run(DAY), Status::RolledBack);
    assert_eq!(some.on_target().into_iter().collect::<Vec<_>>(), ["prod-00", "prod-02"]);
    let mut early = world(canary(), many(3));
    early.until(|state| state.phase == Phase::Preflight);
    assert_eq!(back(None).check(&early.state), Err(Refusal::Untouched));
}

#[test]
fn a_newer_one_supersedes_what_only_waits_and_ends_the_way_back() {
    let newer = RolloutId(uuid::Uuid::from_u128(9));
    let supersede = Command::Supersede { by: newer };
    let mut waits = world(canary(), many(2));
    waits.command(mins(0), supersede.clone());
    assert_eq!(waits.run(DAY), Status::Cancelled);
    let mut done = world(canary(), many(2));
    done.until(|state| state.status == Status::Completed);
    done.command(mins(0), supersede.clone());
    done.run(mins(2));
    assert!(done.is_over());
    assert_eq!(back(None).check(&done.state), Err(Refusal::Replaced(newer)));
    let mut busy = world(canary(), many(2));
    busy.until(soaking);
    assert!(matches!(supersede.check(&busy.state), Err(Refusal::Nothing(_))));
}

#[test]
fn soaks_can_be_cut_short_and_made_longer() {
    let mut short = world(canary(), many(2));
    short.until(soaking);
    let begun = short.now;
    short.command(mins(1), Command::Promote);
    short.until(|state| state.passed == 1);
    assert!(short.now.duration_since(begun) < mins(2));
    let mut long = world(canary(), many(2));
    long.until(soaking);
    let begun = long.now;
    long.command(mins(1), Command::ExtendSoak { by: mins(30) });
    long.until(|state| state.passed == 1);
    assert!(long.now.duration_since(begun) >= mins(35));
    long.until(|state| stage(state, "prod-01") == Stage::Release);
    assert!(Command::ExtendSoak { by: mins(1) }.check(&long.state).is_err());
}

#[test]
fn without_automatic_rollback_a_failure_waits_for_somebody() {
    let mut settings = canary();
    settings.auto_rollback_enabled = false;
    let held = || {
        let mut world = world(settings.clone(), many(3));
        world.sim("prod-01").bad = true;
        world.until(|state| state.paused.is_some());
        assert_eq!(world.told("rollingBack"), 0);
        world
    };
    let mut resumed = held();
    resumed.command(mins(1), Command::Resume);
    assert_eq!(resumed.run(DAY), Status::Failed, "accepted, named, and not complete");
    assert_eq!(stage(&resumed.state, "prod-02"), Stage::Done);
    let mut retried = held();
    retried.sim("prod-01").bad = false;
    retried.command(mins(1), Command::Retry { clusters: None });
    assert_eq!(retried.run(DAY), Status::Completed);
    let mut skipped = held();
    skipped.command(mins(1), Command::Skip { cluster: name("prod-01") });
    assert_eq!(skipped.run(DAY), Status::Failed);
    assert_eq!(skipped.state.clusters[&name("prod-02")].runs, Runs::Target);
    let mut back_again = held();
    back_again.command(mins(1), back(None));
    assert_eq!(back_again.run(DAY), Status::RolledBack);
}

#[test]
fn retry_completes_what_ended_half_way_wave_by_wave() {
    let mut world = world(Settings::with(Strategy::Rolling(Rolling::default())), many(4));
    world.sim("prod-01").bad = true;
    assert_eq!(world.run(DAY), Status::Failed);
    world.sim("prod-01").bad = false;
    world.command(mins(1), Command::Retry { clusters: None });
    assert_eq!(world.run(DAY), Status::Completed);
    assert_eq!(world.on_target().len(), 4);
    assert_eq!(world.state.waves.len(), 4, "they had their own waves still");
    assert_eq!(Command::Retry { clusters: None }.check(&world.state), Err(Refusal::Over(Status::Completed)));
}

#[test]
fn retry_takes_back_again_what_could_not_be_taken_back() {
    let mut world = world(canary(), many(2));
    world.sim("prod-00").bad = true;
    world.sim("prod-00").restore_fails = 10;
    assert_eq!(world.run(DAY), Status::Failed);
    world.command(mins(1), Command::Retry { clusters: None });
    assert_eq!(world.run(DAY), Status::RolledBack);
}

#[test]
fn a_cluster_can_be_left_out_before_its_turn() {
    let mut world = world(canary(), many(3));
    world.sim("prod-02").away.push((start(), start() + DAY));
    world.until(|state| stage(state, "prod-02") == Stage::Quarantined);
    world.command(mins(1), Command::Skip { cluster: name("prod-02") });
    assert_eq!(world.run(DAY), Status::Failed);
    assert!(world.state.reason.clone().unwrap().contains("prod-02 (left out by ada)"));
    assert!(Command::Skip { cluster: name("mars") }.check(&world.state).is_err());
}

#[test]
fn a_command_counts_once_however_often_it_is_read() {
    let mut world = world(canary(), many(2));
    world.until(soaking);
    world.command(mins(0), Command::ExtendSoak { by: mins(10) });
    world.run(mins(1));
    let Phase::Wave { part: Part::Soaking { until }, .. } = world.state.phase.clone() else { panic!() };
    world.run(mins(2));
    assert_eq!(world.state.phase, Phase::Wave { index: 0, part: Part::Soaking { until } });
}
