//! Canary, rolling and direct: success, failure in each wave, rollback, gates, quarantine.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::super::simulation::{Sim, start};
use super::super::{
    Amount, Consent, Direct, Gate, Part, Phase, RollbackScope, Rolling, Runs, Seen, Settings, Stage, Status,
    Strategy, why,
};
use super::{DAY, canary, many, mins, stage, targets, world};
use crate::access::Environment;
use crate::settings::Window;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[test]
fn a_canary_that_goes_well_completes_and_is_watched_for_an_hour() {
    let mut world = world(canary(), many(12));
    world.until(|state| state.status == Status::Completed);
    assert!(matches!(world.state.phase, Phase::Watching { .. }));
    assert_eq!(world.on_target().len(), 12);
    assert_eq!(world.told("wavePassed"), 3);
    let completed = world.now;
    world.run(DAY);
    assert!(world.is_over());
    assert!(world.state.at.duration_since(completed) >= mins(60));
}

#[test]
fn a_failure_in_any_wave_takes_back_every_touched_cluster() {
    for (bad, touched) in [("prod-00", 1), ("prod-02", 4), ("prod-11", 12)] {
        let mut world = world(canary(), many(12));
        world.sim(bad).bad = true;
        assert_eq!(world.run(DAY), Status::RolledBack);
        assert!(world.on_target().is_empty());
        let back = world.state.clusters.values().filter(|c| c.stage == Stage::RolledBack).count();
        assert!(back <= touched && back > 0, "{bad}: {back}");
        let reason = world.state.reason.clone().unwrap();
        assert!(reason.contains(bad) && reason.contains("three failed checks in a row"), "{reason}");
    }
}

#[test]
fn a_version_that_turns_bad_during_the_soak_or_after_completion_is_taken_back() {
    for after in [4, 40] {
        let mut world = world(canary(), many(3));
        world.sim("prod-00").bad_from = Some(start() + mins(after));
        assert_eq!(world.run(DAY), Status::RolledBack, "{after}");
        assert_eq!(world.told("ended"), if after > 20 { 2 } else { 1 });
    }
    let mut world = world(canary(), many(3));
    world.sim("prod-00").bad_from = Some(start() + mins(180));
    assert_eq!(world.run(DAY), Status::Completed, "later it is an alert, not a rollback");
}

#[test]
fn one_bad_check_is_none() {
    let mut world = world(canary(), many(10));
    world.faults.flaps = 60;
    assert_eq!(world.run(DAY), Status::Completed);
}

#[test]
fn a_helm_failure_takes_back_and_a_failing_rollback_is_retried_then_named_without_stopping_the_others() {
    let mut settings = canary();
    settings.max_unavailable = Some(Amount::Count(3));
    let mut world = world(settings, many(10));
    world.sim("prod-09").helm_fails = true;
    world.sim("prod-01").restore_fails = 3;
    world.sim("prod-02").restore_fails = 100;
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(stage(&world.state, "prod-01"), Stage::RolledBack);
    assert_eq!(stage(&world.state, "prod-02"), Stage::RollbackFailed);
    assert_eq!(world.told("rollbackFailed"), 1);
    assert!(world.state.reason.clone().unwrap().contains("could not be taken back: prod-02"));
    assert!(world.on_target().len() == 1 && world.on_target().contains("prod-02"));
}

#[test]
fn a_cluster_that_cannot_be_taken_back_yet_does_not_keep_the_others_waiting() {
    for away in [false, true] {
        let mut settings = canary();
        settings.max_unavailable = Some(Amount::Count(1));
        let mut world = world(settings, many(4));
        let last = world.sim("prod-03");
        last.helm_fails = true;
        last.restore_fails = 100;
        if away {
            world.until(|state| state.status == Status::RollingBack);
            let (from, until) = (world.now, world.now + mins(50));
            world.sim("prod-03").away.push((from, until));
        }
        world.until(|state| stage(state, "prod-00") == Stage::RolledBack);
        assert_eq!(world.state.status, Status::RollingBack);
        assert_ne!(stage(&world.state, "prod-03"), Stage::RollbackFailed, "it is still tried");
        assert_eq!(world.run(DAY), Status::Failed);
    }
}

#[test]
fn failures_within_the_budget_end_as_failed_with_nothing_taken_back() {
    let mut settings = canary();
    settings.failure_budget = Some(Amount::Count(1));
    let Strategy::Canary(block) = &mut settings.strategy else { unreachable!() };
    block.success_threshold = 0.5.try_into().unwrap();
    let mut world = world(settings, many(10));
    world.sim("prod-05").helm_fails = true;
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(world.on_target().len(), 9);
    assert_eq!(world.told("rollingBack"), 0);
    assert!(world.state.reason.clone().unwrap().contains("prod-05 (running helm failed"));
}

#[test]
fn rolling_takes_back_the_failing_cluster_and_stops() {
    let mut world = world(Settings::with(Strategy::Rolling(Rolling::default())), many(4));
    world.sim("prod-02").bad = true;
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(world.on_target().into_iter().collect::<Vec<_>>(), ["prod-00", "prod-01"]);
    assert_eq!(stage(&world.state, "prod-02"), Stage::RolledBack);
    assert_eq!(stage(&world.state, "prod-03"), Stage::Skipped);
}

#[test]
fn rolling_may_go_on_without_the_failing_cluster() {
    let rolling = Rolling { stop_on_failure: false, ..Rolling::default() };
    let mut world = world(Settings::with(Strategy::Rolling(rolling)), many(4));
    world.sim("prod-01").bad = true;
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(world.on_target().len(), 3);
    assert_eq!(stage(&world.state, "prod-01"), Stage::RolledBack);
}

#[test]
fn the_scope_can_be_set_the_other_way() {
    let mut settings = canary();
    settings.rollback_scope = Some(RollbackScope::Failed);
    let mut world = world(settings, many(3));
    world.sim("prod-02").bad = true;
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(world.on_target().len(), 2);
}

#[test]
fn direct_may_skip_checks_and_says_so() {
    let direct = Direct { skip_health_checks: true, ..Direct::default() };
    let mut world = world(Settings::with(Strategy::Direct(direct)), targets(&["dev-a", "dev-b"]));
    world.sim("dev-a").bad = true;
    assert_eq!(world.run(DAY), Status::Completed);
    assert!(world.state.clusters.values().all(|cluster| cluster.unchecked));
}

#[test]
fn preflight_refuses_before_anything_is_touched() {
    let mut world = world(canary(), many(3));
    world.sim("prod-01").refuses = Some("CRD certificates.cert-manager.io: 3 live objects would break");
    assert_eq!(world.run(DAY), Status::Failed);
    assert!(!world.state.touched());
    assert!(world.state.reason.clone().unwrap().contains("prod-01: preflight refused: CRD certificates"));
}

#[test]
fn a_cluster_away_before_touch_is_quarantined_and_caught_up() {
    let mut world = world(canary(), many(4));
    world.sim("prod-02").away.push((start(), start() + mins(45)));
    assert_eq!(world.run(DAY), Status::Completed);
    assert_eq!(world.told("quarantined"), 1);
    assert_eq!(world.told("catchUp"), 1);
    assert_eq!(world.on_target().len(), 4);
}

#[test]
fn a_quarantined_cluster_follows_the_outcome_and_is_left_alone_when_it_is_taken_back() {
    let mut world = world(canary(), many(4));
    world.sim("prod-02").away.push((start(), start() + mins(8)));
    world.sim("prod-01").bad = true;
    assert_eq!(world.run(DAY), Status::RolledBack);
    let cluster = &world.state.clusters[&super::name("prod-02")];
    assert_eq!((cluster.stage, cluster.touched), (Stage::Skipped, None));
}

#[test]
fn a_cluster_that_stays_away_is_given_up_and_named() {
    let mut world = world(canary(), many(4));
    world.sim("prod-02").away.push((start(), start() + DAY));
    world.until(|state| state.phase == Phase::CatchUp);
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert!(said.what.contains("cluster prod-02 could not be reached"), "{said:?}");
    assert_eq!(
        said.until,
        Some(world.state.clusters[&super::name("prod-02")].unreachable.unwrap() + mins(60))
    );
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(stage(&world.state, "prod-02"), Stage::GivenUp);
    assert_eq!(world.on_target().len(), 3, "nothing is taken back");
}

#[test]
fn a_first_wave_that_cannot_be_reached_proves_nothing() {
    let mut world = world(canary(), many(4));
    world.sim("prod-00").away.push((start(), start() + DAY));
    assert_eq!(world.run(DAY), Status::Failed);
    assert!(!world.state.touched());
}

#[test]
fn a_cluster_away_after_touch_holds_the_wave_and_then_counts_as_failed() {
    let settings = canary();
    let mut world = world(settings, many(3));
    world.until(|state| stage(state, "prod-00") == Stage::Release);
    let (from, short) = (world.now, mins(4));
    world.sim("prod-00").away.push((from, from + short));
    assert_eq!(world.run(DAY), Status::Completed, "a short absence is waited for");
    let mut world = super::world(canary(), many(3));
    world.until(|state| stage(state, "prod-01") == Stage::Settling);
    let from = world.now;
    world.sim("prod-01").away.push((from, from + mins(30)));
    world.run(mins(5));
    assert_eq!(stage(&world.state, "prod-02"), Stage::Waiting, "nobody else begins meanwhile");
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty(), "it is taken back once it can be reached");
}

#[test]
fn gates_have_to_pass_and_three_failures_take_it_back() {
    let gate = json!({"name": "errors", "http": {"url": "https://status.example"}});
    let mut settings = canary();
    settings.gates = vec![Gate::read(&gate).unwrap()];
    let mut good = world(settings.clone(), many(2));
    assert_eq!(good.run(DAY), Status::Completed);
    let mut bad = world(settings.clone(), many(2));
    bad.gate = Seen::Failed;
    assert_eq!(bad.run(DAY), Status::RolledBack);
    assert!(bad.state.reason.clone().unwrap().starts_with("gate errors failed three times in a row"));
    let mut mute = world(settings, many(2));
    mute.gate = Seen::Undecided;
    mute.until(|state| matches!(state.phase, Phase::Wave { part: Part::Soaking { .. }, .. }));
    mute.run(mins(6));
    let said = why(&mute.state, &mute.facts, mute.now).rollout.unwrap();
    assert!(said.what.contains("gate errors has not passed yet"), "{said:?}");
    assert_eq!(mute.run(DAY), Status::RolledBack, "a gate that never answers lets nothing pass");
}

#[test]
fn windows_hold_changes_but_never_a_rollback() {
    let nights = json!({"mode": "Allow", "timeZone": "UTC", "environments": ["Production"],
        "weekly": [{"days": ["Monday"], "from": "20:00", "to": "20:12"}]});
    let mut world = world(canary(), targets(&["dev-a", "prod-a"]));
    world.facts.windows = vec![("nights".to_owned(), Window::read(&nights).unwrap())];
    world.sim("prod-a").bad = true;
    world.run(mins(60));
    assert_eq!(stage(&world.state, "dev-a"), Stage::Done);
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert!(said.what.contains("Production must not be changed now, no window is open"), "{said:?}");
    assert_eq!(said.until, Some(at("2026-11-16T20:00:00Z")));
    world.sim("dev-a").bad_from = Some(at("2026-11-16T20:11:50Z"));
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty());
}

#[test]
fn approvals_come_first_and_a_no_cancels() {
    for (answer, reason) in [
        (Consent::Rejected { reason: "ada: not today".to_owned() }, "approval rejected: ada: not today"),
        (Consent::Expired, "nobody approved in time"),
    ] {
        let mut world = world(canary(), many(2));
        let expires_at = start() + mins(60);
        world.consent = Consent::Pending { waits_for: "an owner of Production".to_owned(), expires_at };
        world.run(mins(10));
        let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
        assert_eq!(said.what, "the plan needs the approval of an owner of Production");
        assert_eq!((said.until, world.state.touched()), (Some(expires_at), false));
        world.facts.consent = Some((world.state.asks, answer));
        assert_eq!(world.run(DAY), Status::Cancelled);
        assert_eq!(world.state.reason.as_deref(), Some(reason));
    }
}

#[test]
fn a_plan_that_changes_after_approval_is_asked_about_again() {
    let mut world = world(canary(), many(4));
    world.until(|state| matches!(state.phase, Phase::Wave { index: 0, part: Part::Soaking { .. } }));
    let (asks, plan) = (world.state.asks, world.state.plan.clone());
    world.sim("prod-03").digest = "another change";
    world.consent = Consent::Rejected { reason: "ada: what is this?".to_owned() };
    world.until(|state| state.paused.is_some());
    assert_eq!(world.state.asks, asks + 1);
    assert_ne!(world.state.plan, plan);
    assert_eq!(world.told("rollingBack"), 0, "nothing is taken back by itself");
    assert!(world.state.paused.clone().unwrap().reason.contains("what is this?"));
    let refused = world.state.plan.clone();
    world.consent = Consent::Granted;
    world.command(mins(1), super::super::Command::Resume);
    assert_eq!(world.run(DAY), Status::Completed);
    assert_eq!(world.state.asks, asks + 2);
    assert_ne!(world.state.plan, refused, "the no stands, so going on is another question");
}

#[test]
fn an_environment_can_wait_for_somebody() {
    let mut settings = canary();
    settings.pause_before = vec![Environment::Production];
    let mut world = world(settings, targets(&["dev-a", "stage-a", "prod-a"]));
    world.run(mins(120));
    let said = why(&world.state, &world.facts, world.now).rollout.unwrap();
    assert_eq!(said.what, "the first change in Production waits for somebody to promote it");
    assert_eq!(said.unblock.as_deref(), Some("promote"));
    world.command(mins(1), super::super::Command::Promote);
    assert_eq!(world.run(DAY), Status::Completed);
}

#[test]
fn a_version_that_cannot_be_left_is_held_and_told() {
    let mut world = world(canary(), many(3));
    for sim in world.fleet.values_mut() {
        sim.one_way = true;
    }
    world.sim("prod-01").bad = true;
    world.run(DAY);
    let pause = world.state.paused.clone().unwrap();
    assert!(pause.automatic && pause.reason.contains("2.0.0 cannot be left again"), "{pause:?}");
    assert_eq!(world.told("rollingBack"), 0);
}

#[test]
fn a_first_install_is_taken_back_to_nothing() {
    let mut world = world(canary(), many(2));
    *world.sim("prod-00") = Sim::empty();
    world.sim("prod-00").bad = true;
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert_eq!(world.fleet[&super::name("prod-00")].version(), None);
    assert_eq!(world.state.clusters[&super::name("prod-00")].runs, Runs::Before);
}

#[test]
fn health_of_another_revision_counts_for_nothing() {
    let mut world = world(canary(), many(1));
    world.until(|state| stage(state, "prod-00") == Stage::Settling);
    let name = super::name("prod-00");
    let revision = world.state.clusters[&name].revision.clone();
    world.until(|state| stage(state, "prod-00") == Stage::Done);
    assert!(revision.is_some() && world.state.clusters[&name].revision == revision);
    let mut stale = world.facts.observations[&name].clone();
    stale.at = world.now + SignedDuration::from_secs(1);
    stale.revision = Some(super::super::Revision("cert-manager.v1".to_owned()));
    let seen = world.state.clusters[&name].watch.passed;
    world.facts.observations.insert(name.clone(), stale);
    let next = super::super::decide(world.state.clone(), &world.facts, world.now + mins(1)).state;
    assert_eq!(next.clusters[&name].watch.passed, seen);
}

#[test]
fn what_gets_bad_while_others_are_waited_for_is_taken_back() {
    let mut world = world(canary(), many(3));
    world.sim("prod-02").away.push((start(), start() + DAY));
    world.until(|state| state.phase == Phase::CatchUp);
    world.sim("prod-00").bad_from = Some(world.now);
    assert_eq!(world.run(DAY), Status::RolledBack);
    assert!(world.on_target().is_empty());
}

#[test]
fn a_later_cluster_that_refuses_holds_it_and_takes_nothing_back() {
    let mut world = world(canary(), many(3));
    world.until(|state| matches!(state.phase, Phase::Wave { index: 0, part: Part::Soaking { .. } }));
    world.sim("prod-02").refuses = Some("Argo CD manages it now");
    world.run(DAY);
    let pause = world.state.paused.clone().unwrap();
    assert!(pause.reason.contains("prod-02: preflight refused: Argo CD manages it now"), "{pause:?}");
    assert_eq!(world.told("rollingBack"), 0);
    world.command(mins(1), super::super::Command::Skip { cluster: super::name("prod-02") });
    assert_eq!(world.run(DAY), Status::Failed);
    assert_eq!(world.on_target().len(), 2);
}

#[test]
fn the_smoke_test_comes_after_health_on_every_cluster() {
    let mut world = world(canary(), many(2));
    world.state.spec.smoke = true;
    assert_eq!(world.run(DAY), Status::Completed);
    assert!(world.state.clusters.values().all(|c| c.tried(super::super::StepKind::Smoke)));
}

#[test]
fn somebody_may_go_past_a_gate() {
    let gate = json!({"name": "errors", "http": {"url": "https://status.example"}});
    let mut settings = canary();
    settings.gates = vec![Gate::read(&gate).unwrap()];
    settings.auto_rollback_enabled = false;
    let mut world = world(settings, many(2));
    world.gate = Seen::Failed;
    world.until(|state| state.paused.is_some());
    world.command(mins(1), super::super::Command::Resume);
    world.until(|state| state.passed == 1);
    world.until(|state| state.paused.is_some());
    assert_eq!(world.state.passed, 1, "the next wave asks again");
}
