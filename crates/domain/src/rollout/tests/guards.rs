//! Rules whose breaking would go unnoticed in fleets where all goes its way.

use serde_json::json;

use super::super::{
    ActKey, Amount, Facts, Found, Outcome, Part, Percent, Phase, Report, Revision, Settings, Stage, State,
    Status, StepKind, Strategy, decide, why,
};
use super::super::{Command, Consent};
use super::{DAY, canary, many, mins, name, stage, world};
use crate::settings::Window;

/// All clusters in one wave, so many at once.
fn one_wave(at_once: u32) -> Settings {
    let mut settings = canary();
    let Strategy::Canary(block) = &mut settings.strategy else { unreachable!() };
    block.stages = vec![Percent::ALL];
    settings.max_unavailable = Some(Amount::Count(at_once));
    settings
}

#[test]
fn a_batch_is_well_before_the_next_begins() {
    let mut world = world(one_wave(2), many(4));
    world.until(|state| {
        let stages = [stage(state, "prod-00"), stage(state, "prod-01")];
        stages.contains(&Stage::Done) && stages.iter().any(|stage| stage.is_moving())
    });
    assert_eq!(stage(&world.state, "prod-02"), Stage::Waiting);
    assert_eq!(stage(&world.state, "prod-03"), Stage::Waiting);
    assert_eq!(world.run(DAY), Status::Completed);
}

#[test]
fn an_outcome_of_another_attempt_changes_nothing() {
    let mut world = world(canary(), many(1));
    world.until(|state| stage(state, "prod-00") == Stage::Release);
    let cluster = name("prod-00");
    for (kind, attempt) in [(StepKind::Release, 2), (StepKind::Release, 0), (StepKind::Restore, 1)] {
        let key = ActKey { cluster: cluster.clone(), kind, attempt };
        let outcome = Outcome::Done(Found::Released(Revision("cert-manager.v9".to_owned())));
        let facts = Facts { reports: vec![Report { key, outcome }], ..Facts::default() };
        let next = decide(world.state.clone(), &facts, world.now);
        assert_eq!(next.state.clusters[&cluster], world.state.clusters[&cluster]);
        assert_eq!(next.actions, []);
    }
}

#[test]
fn a_second_try_keeps_the_last_known_good_of_the_first() {
    let mut settings = canary();
    settings.auto_rollback_enabled = false;
    let mut world = world(settings, many(2));
    world.sim("prod-01").bad = true;
    world.until(|state| state.paused.is_some());
    world.command(mins(0), Command::Retry { clusters: None });
    world.run(mins(1));
    world.until(|state| state.paused.is_some());
    assert_eq!(world.state.clusters[&name("prod-01")].attempts[&StepKind::Release], 2);
    let reason = "enough".to_owned();
    world.command(mins(0), Command::RollBack { reason, clusters: None, down_migrate: false });
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty());
}

#[test]
fn a_window_that_closes_in_the_middle_of_a_wave_lets_no_other_cluster_begin() {
    let noon = json!({"mode": "Allow", "timeZone": "UTC", "weekly": [{"days": ["Monday", "Tuesday", "Wednesday",
        "Thursday", "Friday", "Saturday", "Sunday"], "from": "12:00", "to": "12:02"}]});
    let mut world = world(one_wave(1), many(6));
    world.facts.windows = vec![("noon".to_owned(), Window::read(&noon).unwrap())];
    world.run(mins(60));
    let count = |wanted| world.state.clusters.values().filter(|c| c.stage == wanted).count();
    assert!(count(Stage::Done) > 0 && count(Stage::Waiting) > 0);
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert_eq!(said.until, Some("2026-11-17T12:00:00Z".parse().unwrap()), "{said:?}");
    assert_eq!(world.run(DAY * 5), Status::Completed);
}

#[test]
fn an_answer_to_an_earlier_question_counts_for_nothing() {
    let mut world = world(canary(), many(1));
    let expires_at = world.now + mins(60);
    world.consent = Consent::Pending { waits_for: "an admin".to_owned(), expires_at };
    world.run(mins(5));
    let asks = world.state.asks;
    world.facts.consent = Some((asks - 1, Consent::Granted));
    world.run(mins(5));
    assert_eq!((world.state.status, world.state.asks), (Status::Planning, asks));
    world.facts.consent = Some((asks, Consent::Granted));
    assert_eq!(world.run(DAY), Status::Completed);
}

#[test]
fn time_never_goes_back() {
    let mut world = world(canary(), many(1));
    world.until(|state| stage(state, "prod-00") == Stage::Done);
    let earlier = decide(world.state.clone(), &world.facts, world.now - mins(30));
    assert_eq!(earlier.state.at, world.state.at);
    assert!(earlier.due.unwrap() >= world.state.at);
}

#[test]
fn nobody_else_begins_while_a_touched_cluster_is_away() {
    let mut world = world(one_wave(1), many(4));
    world.until(|state| stage(state, "prod-00") == Stage::Done);
    let from = world.now;
    world.sim("prod-00").away.push((from, from + mins(8)));
    world.until(|state| state.clusters[&name("prod-00")].watch.unreachable.is_some());
    let waiting = |state: &State| state.clusters.values().filter(|c| c.stage == Stage::Waiting).count();
    let before = waiting(&world.state);
    world.run(mins(5));
    assert_eq!(waiting(&world.state), before);
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert_eq!(said.what, "cluster prod-00 cannot be reached any more, which holds up the others");
    assert_eq!(world.run(DAY), Status::Completed);
}

#[test]
fn no_wave_passes_on_health_that_is_old() {
    let mut world = world(canary(), many(2));
    world.until(|state| matches!(state.phase, Phase::Wave { part: Part::Soaking { .. }, .. }));
    world.blind = true;
    world.run(mins(9));
    assert_eq!(world.state.passed, 0);
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert!(said.what.contains("not every cluster has a recent good look yet"), "{said:?}");
    world.until(|state| state.status == Status::RollingBack);
    let reason = world.state.reason.clone().unwrap();
    assert!(reason.contains("0 of 1 clusters are healthy; nothing good is known of prod-00"), "{reason}");
}

#[test]
fn a_server_that_is_lost_is_not_held_against_the_cluster() {
    let mut world = world(canary(), many(1));
    world.until(|state| stage(state, "prod-00") == Stage::Release);
    let cluster = name("prod-00");
    // What was decided last is lost, whatever it is.
    let mut lose = || {
        let step = world.state.clusters[&cluster].step.clone();
        let outcome = Outcome::Lost { reason: "its server was lost".to_owned() };
        let report = step.map(|step| {
            let key = ActKey { cluster: cluster.clone(), kind: step.kind, attempt: step.attempt };
            Report { key, outcome }
        });
        let facts = Facts { reports: report.into_iter().collect(), ..Facts::default() };
        world.now += mins(2);
        world.state = decide(world.state.clone(), &facts, world.now).state;
        world.state.clusters[&cluster].clone()
    };
    for attempt in 1..10 {
        let after = lose();
        assert_eq!((after.stage, after.hiccups), (Stage::Release, 0), "{attempt}");
        let next = after.step.expect("it is tried again at once");
        assert_eq!((next.kind, next.attempt), (StepKind::Release, attempt + 1));
    }
    // Servers may die of it; it does not go on for ever.
    let ended = (0..20).map(|_| lose()).find(|after| after.stage != Stage::Release).expect("an end");
    assert_eq!(ended.attempts[&StepKind::Release], 14);
    assert!(ended.back, "{ended:?}");
}
