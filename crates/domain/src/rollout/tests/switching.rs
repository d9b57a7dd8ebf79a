//! Blue-green.

use super::super::{BlueGreen, Command, Phase, Runs, Settings, Stage, Status, StepKind, Strategy, why};
use super::{DAY, mins, name, stage, targets, world};

fn switch() -> BlueGreen {
    BlueGreen::between(name("operators-blue"), name("operators-green"))
}

fn settings(switch: BlueGreen) -> Settings {
    Settings::with(Strategy::BlueGreen(switch))
}

#[test]
fn green_is_prepared_everywhere_then_switched_and_blue_kept_for_a_day() {
    let mut world = world(settings(switch()), targets(&["dev-a", "prod-a", "prod-b"]));
    world.until(|state| state.passed == 1);
    let prepared =
        world.state.clusters.values().all(|c| c.stage == Stage::Prepared && c.runs == Runs::Before);
    assert!(prepared && world.on_target().is_empty(), "green does no work before the switch");
    world.until(|state| state.status == Status::Completed);
    let completed = world.now;
    assert_eq!(world.on_target().len(), 3);
    world.until(|state| matches!(state.phase, Phase::Aftercare { .. }));
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert_eq!(said.what, "it is complete; blue is kept for a while");
    world.run(DAY);
    assert!(world.is_over());
    assert!(world.state.at.duration_since(completed) >= jiff::SignedDuration::from_hours(24));
    assert!(world.state.clusters.values().all(|c| c.finished.contains(&StepKind::RetireBlue)));
}

#[test]
fn green_that_is_unhealthy_before_the_switch_is_removed() {
    let mut world = world(settings(switch()), targets(&["prod-a", "prod-b"]));
    world.sim("prod-b").bad = true;
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.fleet.values().all(|sim| !sim.has_green()));
    assert!(world.state.clusters.values().all(|c| !c.tried(StepKind::Switch) && !c.tried(StepKind::Restore)));
}

#[test]
fn a_switch_that_hurts_is_reversed_without_helm() {
    let mut world = world(settings(switch()), targets(&["prod-a", "prod-b"]));
    world.until(|state| stage(state, "prod-b") == Stage::Switch);
    world.sim("prod-b").bad_from = Some(world.now);
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty() && world.fleet.values().all(|sim| !sim.has_green()));
    assert!(
        world.state.clusters.values().all(|c| c.tried(StepKind::SwitchBack) && !c.tried(StepKind::Restore))
    );
}

#[test]
fn without_auto_switch_it_waits_for_somebody() {
    let by_hand = BlueGreen { auto_switch: false, ..switch() };
    let mut world = world(settings(by_hand), targets(&["prod-a"]));
    world.run(mins(300));
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert_eq!(said.what, "the switch to green waits for somebody to promote it");
    world.command(mins(0), Command::Promote);
    world.until(|state| state.status == Status::Completed);
    assert_eq!(world.on_target().len(), 1);
}

#[test]
fn cancelling_before_the_switch_removes_green() {
    let mut world = world(settings(switch()), targets(&["prod-a", "prod-b"]));
    world.until(|state| stage(state, "prod-a") == Stage::Prepared);
    world.command(mins(0), Command::Cancel { reason: "no".to_owned() });
    assert_eq!(world.run(DAY), Status::Cancelled);
    assert!(world.on_target().is_empty() && world.fleet.values().all(|sim| !sim.has_green()));
}

#[test]
fn after_blue_is_gone_going_back_restores_it_with_helm() {
    let mut world = world(settings(switch()), targets(&["prod-a"]));
    world.run(DAY);
    assert!(world.is_over());
    let reason = "late regret".to_owned();
    world.command(mins(1), Command::RollBack { reason, clusters: None, down_migrate: false });
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty());
    assert!(world.state.clusters[&name("prod-a")].tried(StepKind::Restore));
}

#[test]
fn stored_objects_are_migrated_once_nothing_is_taken_back_by_itself() {
    let mut world = world(super::canary(), targets(&["prod-a", "prod-b"]));
    world.state.spec.migrate = true;
    world.until(|state| state.status == Status::Completed);
    let completed = world.now;
    world.until(|state| state.clusters[&name("prod-a")].tried(StepKind::Migrate));
    assert!(world.now.duration_since(completed) >= mins(60));
    world.run(DAY);
    assert!(world.is_over());
}
