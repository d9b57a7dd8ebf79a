//! Fleets, faults and people, by seed.

use jiff::SignedDuration;

use serde_json::json;

use super::super::{
    Amount, BlueGreen, Canary, Command, Consent, Direct, Gate, Phase, Rolling, Seen, Settings, Status,
    Strategy, Target, why,
};
use super::{Chance, Faults, Sim, World, start};
use crate::access::Environment;

pub(in crate::rollout) fn targets(count: usize, chance: &mut Chance) -> Vec<Target> {
    let environment = |number| match number % 3 {
        0 => Environment::Development,
        1 => Environment::Staging,
        _ => Environment::Production,
    };
    let target = |index| Target {
        cluster: format!("c{index:04}").parse().unwrap(),
        environment: environment(chance.next()),
        labels: crate::cluster::Labels::default(),
    };
    (0..count).map(target).collect()
}

fn strategy(number: u64) -> Strategy {
    match number % 4 {
        0 => Strategy::Direct(Direct::default()),
        1 => Strategy::Canary(Canary::default()),
        2 => Strategy::Rolling(Rolling { stop_on_failure: number % 8 < 4, ..Rolling::default() }),
        _ => Strategy::BlueGreen(BlueGreen {
            retention_period: SignedDuration::from_hours(1),
            ..BlueGreen::between("blue".parse().unwrap(), "green".parse().unwrap())
        }),
    }
}

/// Everything that may pass goes wrong.
const TRANSIENT: Faults = Faults {
    lost_before: 100,
    lost_after: 100,
    repeated: 100,
    silent: 100,
    hiccups: 30,
    flaps: 10,
    slow: 50,
    skew: 2,
};

fn fleet(seed: u64, most: u64) -> World {
    let mut chance = Chance::new(seed);
    let count = usize::try_from(1 + chance.up_to(most - 1)).unwrap();
    let mut settings = Settings::with(strategy(seed));
    settings.auto_rollback_window = SignedDuration::from_mins(10);
    if chance.per_mille(300) {
        settings.max_unavailable = Some(Amount::Count(u32::try_from(1 + chance.up_to(5)).unwrap()));
    }
    let targets = targets(count, &mut chance);
    World::new(seed, settings, targets)
}

/// Outages that are over before anybody loses patience.
fn outages(world: &mut World, chance: &mut Chance, often: u64) {
    for sim in world.fleet.values_mut() {
        if chance.per_mille(often) {
            let from = start() + SignedDuration::from_secs(i64::try_from(chance.up_to(7200)).unwrap());
            let span = SignedDuration::from_secs(i64::try_from(10 + chance.up_to(300)).unwrap());
            sim.away.push((from, from + span));
        }
    }
}

/// The seeds to try: so many; more with `SLIPWAY_SEEDS=1000`, one alone with `SLIPWAY_SEED=66`, and ever new
/// ones in a soak.
fn seeds(few: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("SLIPWAY_SEED"), number("SLIPWAY_SEEDS"), number("SLIPWAY_SOAK_ROUND")) {
        (Some(seed), _, _) => seed..seed + 1,
        (None, many, Some(round)) => {
            let count = many.unwrap_or(few * 4);
            round * count..(round + 1) * count
        }
        (None, Some(count), None) => 0..count,
        (None, None, None) => 0..few,
    }
}

const DAYS: SignedDuration = SignedDuration::from_hours(24 * 6);

#[test]
fn with_faults_that_pass_999_of_1000_rollouts_complete() {
    let mut failed = Vec::new();
    for seed in seeds(24) {
        let mut chance = Chance::new(seed + 1_000_000);
        let mut world = fleet(seed, 24);
        world.faults = TRANSIENT;
        outages(&mut world, &mut chance, 200);
        let status = world.run(DAYS);
        assert!(world.is_over(), "seed {seed}: {:?}", world.state.phase);
        if status == Status::Completed {
            assert_eq!(world.on_target().len(), world.fleet.len());
        } else {
            // Now and then one looks unhealthy three times in a row by chance.
            failed.push((seed, status, world.state.reason.clone()));
        }
    }
    let tried = seeds(24).count();
    assert!(failed.len() * 1000 <= tried, "{} of {tried} failed: {failed:?}", failed.len());
}

#[test]
fn a_bad_version_is_taken_back_everywhere_whatever_passes_meanwhile() {
    for seed in seeds(24) {
        let mut chance = Chance::new(seed + 2_000_000);
        let mut world = fleet(seed, 24);
        world.faults = TRANSIENT;
        outages(&mut world, &mut chance, 100);
        for sim in world.fleet.values_mut() {
            sim.bad = true;
        }
        let status = world.run(DAYS);
        let goes_on = world.state.spec.settings.strategy.goes_on_after_failure();
        let expected = if goes_on { Status::Failed } else { Status::RolledBack };
        assert_eq!(status, expected, "seed {seed}: {:?}", world.state.reason);
        assert!(world.on_target().is_empty(), "seed {seed}: {:?}", world.on_target());
    }
}

#[test]
fn the_outcome_is_the_same_when_the_server_is_lost_around_every_act() {
    for seed in seeds(8) {
        for bad in [false, true] {
            let ends: Vec<(Status, Vec<String>)> = [(0, 0), (1000, 0), (0, 1000), (1000, 1000)]
                .into_iter()
                .map(|(lost_before, lost_after)| {
                    let mut world = fleet(seed, 6);
                    world.faults = Faults { lost_before, lost_after, repeated: 500, ..Faults::default() };
                    if bad {
                        let last = world.fleet.values_mut().next_back().unwrap();
                        last.bad = true;
                    }
                    let status = world.run(DAYS);
                    (status, world.on_target().into_iter().map(str::to_owned).collect())
                })
                .collect();
            assert!(ends.windows(2).all(|pair| pair[0] == pair[1]), "seed {seed}: {ends:?}");
        }
    }
}

/// Clusters, settings and people of every kind.
fn anything(world: &mut World, chance: &mut Chance) {
    for sim in world.fleet.values_mut() {
        if chance.per_mille(100) {
            *sim = Sim { beside: sim.beside, away: sim.away.clone(), ..Sim::empty() };
        }
        sim.bad = chance.per_mille(80);
        sim.helm_fails = chance.per_mille(30);
        sim.restore_fails = u32::try_from(chance.up_to(2)).unwrap();
        sim.one_way = chance.per_mille(20);
        sim.refuses = chance.per_mille(10).then_some("Argo CD manages it");
        if chance.per_mille(80) {
            let from = start() + SignedDuration::from_secs(i64::try_from(chance.up_to(5400)).unwrap());
            sim.away
                .push((from, from + SignedDuration::from_mins(i64::try_from(chance.up_to(180)).unwrap())));
        }
    }
    let gate = json!({"name": "errors", "http": {"url": "https://status.example"}});
    let spec = &mut world.state.spec;
    spec.smoke = chance.per_mille(300);
    spec.migrate = chance.per_mille(200);
    spec.settings.auto_rollback_enabled = chance.per_mille(700);
    spec.settings.pause_before =
        chance.per_mille(150).then_some(Environment::Production).into_iter().collect();
    spec.settings.failure_budget = chance.per_mille(200).then_some(Amount::Count(1));
    if chance.per_mille(200) {
        spec.settings.gates = vec![Gate::read(&gate).unwrap()];
    }
    world.gate = [Seen::Passed, Seen::Passed, Seen::Passed, Seen::Failed, Seen::Undecided]
        [usize::try_from(chance.up_to(4)).unwrap()];
    if chance.per_mille(100) {
        world.consent = Consent::Rejected { reason: "ada: no".to_owned() };
    }
}

#[test]
fn people_may_do_anything_at_any_time() {
    for seed in seeds(60) {
        let mut chance = Chance::new(seed + 3_000_000);
        let mut world = fleet(seed, 12);
        world.faults = Faults { flaps: 100, ..TRANSIENT };
        outages(&mut world, &mut chance, 150);
        let names: Vec<_> = world.fleet.keys().cloned().collect();
        anything(&mut world, &mut chance);
        for _ in 0..=chance.up_to(4) {
            let reason = "somebody wanted it".to_owned();
            let cluster = names[usize::try_from(chance.next() % names.len() as u64).unwrap()].clone();
            let command = match chance.up_to(8) {
                0 => Command::Pause { reason },
                1 => Command::Cancel { reason },
                2 => Command::Retry { clusters: None },
                3 => Command::Skip { cluster },
                4 => Command::Promote,
                5 => Command::ExtendSoak { by: SignedDuration::from_mins(3) },
                6 => Command::RollBack { reason, clusters: None, down_migrate: false },
                7 => Command::Supersede { by: crate::id::RolloutId(uuid::Uuid::from_u128(1)) },
                _ => Command::RollBack {
                    reason,
                    clusters: Some([cluster].into_iter().collect()),
                    down_migrate: false,
                },
            };
            let after = SignedDuration::from_secs(i64::try_from(chance.up_to(5400)).unwrap());
            world.command(after, command);
            world.command(after + SignedDuration::from_mins(7), Command::Resume);
        }
        world.run(DAYS);
        let wait = why(&world.state, &world.facts, world.now).rollout;
        let people = wait.is_some_and(|wait| wait.unblock.is_some());
        assert!(world.is_over() || people, "seed {seed}: {:?}", world.state.phase);
    }
}

#[test]
fn a_thousand_clusters_get_the_version() {
    let mut chance = Chance::new(7);
    let targets = targets(1000, &mut chance);
    let direct = Direct { parallel_clusters: 200, ..Direct::default() };
    let mut settings = Settings::with(Strategy::Direct(direct));
    settings.auto_rollback_window = SignedDuration::ZERO;
    let mut world = World::new(7, settings, targets);
    world.faults = TRANSIENT;
    outages(&mut world, &mut chance, 20);
    assert_eq!(world.run(DAYS), Status::Completed, "{:?}", world.state.reason);
    assert_eq!(world.on_target().len(), 1000);
    assert_eq!(world.state.phase, Phase::Over);
}
