//! What people see: the plan's hash, progress, estimates, the status of a rollback, reasons for single clusters.

use super::super::{Command, Part, Phase, Stage, Status, why};
use super::{DAY, canary, many, mins, name, stage, world};

#[test]
fn a_plan_has_the_same_hash_until_something_material_changes() {
    let state = || {
        let mut world = world(canary(), many(3));
        world.until(|state| state.phase == Phase::Consent);
        world.state.clone()
    };
    let plan = state().plan_hash();
    assert_eq!(state().plan_hash(), plan);
    assert!(plan.as_str().starts_with("sha256:") && plan.as_str().len() == 71);
    let mut version = state();
    version.spec.version = "2.0.1".parse().unwrap();
    let mut order = state();
    order.waves.swap(0, 1);
    let mut change = state();
    change.clusters.get_mut(&name("prod-01")).unwrap().fit.as_mut().unwrap().digest = "more".to_owned();
    let mut scope = state();
    scope.spec.settings.auto_rollback_enabled = false;
    for changed in [version, order, change, scope] {
        assert_ne!(changed.plan_hash(), plan);
    }
    let mut later = state();
    later.at += mins(5);
    later.clusters.get_mut(&name("prod-01")).unwrap().fit.as_mut().unwrap().at += mins(5);
    assert_eq!(later.plan_hash(), plan, "time alone changes nothing");
}

#[test]
fn progress_grows_and_the_estimate_is_near() {
    let mut world = world(canary(), many(4));
    world.until(|state| matches!(state.phase, Phase::Wave { part: Part::Soaking { .. }, .. }));
    assert_eq!(world.state.progress(), 25);
    let estimate = world.state.estimate(world.now).unwrap();
    world.until(|state| state.status == Status::Completed);
    assert!(world.now.duration_since(estimate).abs() < mins(5), "{estimate} {}", world.now);
    assert_eq!((world.state.progress(), world.state.estimate(world.now)), (100, None));
}

#[test]
fn the_status_of_a_rollback_names_its_clusters() {
    let mut world = world(canary(), many(3));
    assert_eq!(world.run(DAY), Status::Completed);
    assert_eq!(world.state.rollback(), None);
    world.sim("prod-01").restore_fails = 100;
    let reason = "no".to_owned();
    world.command(mins(0), Command::RollBack { reason, clusters: None, down_migrate: true });
    world.until(|state| stage(state, "prod-02") == Stage::Recovering);
    let progress = world.state.rollback().unwrap();
    assert_eq!(
        (progress.going, progress.waiting),
        (vec![name("prod-01"), name("prod-02")], vec![name("prod-00")]),
        "newest first, and one that is tried again keeps nobody waiting"
    );
    world.run(DAY);
    let progress = world.state.rollback().unwrap();
    assert_eq!(progress.failed, [(name("prod-01"), "helm: UPGRADE FAILED".to_owned())]);
    assert_eq!(progress.done, [name("prod-00"), name("prod-02")]);
}

#[test]
fn every_cluster_says_what_it_waits_for() {
    let mut world = world(canary(), many(3));
    world.until(|state| stage(state, "prod-00") == Stage::Release);
    let said = why(&world.state, &world.facts, world.now);
    assert_eq!(said.rollout.unwrap().what, "wave 1 changes cluster prod-00");
    assert_eq!(said.clusters[&name("prod-00")].what, "running helm, attempt 1");
    assert!(said.clusters[&name("prod-00")].until.is_some());
    assert_eq!(said.clusters[&name("prod-01")].what, "its turn has not come");
    let late = why(&world.state, &world.facts, world.now + mins(30));
    assert!(late.clusters[&name("prod-00")].what.contains("has to be proven over first"));
    world.sim("prod-00").bad = true;
    world.run(DAY);
    let said = why(&world.state, &world.facts, world.now);
    assert!(said.rollout.is_none() && said.ended.unwrap().contains("taken back: prod-00"));
}
