//! Fleets, faults and people, by seed.

use std::ops::Range;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use slipway_domain::access::Environment;
use slipway_domain::cluster::Labels;
use slipway_domain::id::RolloutId;
use slipway_domain::name::Name;
use slipway_domain::rollout::{
    Amount, BlueGreen, Canary, Command, Consent, Direct, Facts, Gate, Phase, Rolling, Seen, Settings, Stage,
    Status, StepKind, Strategy, Target, why,
};
use slipway_domain::settings::Window;
use uuid::Uuid;

use super::chance::Chance;
use super::cluster::NEW;
use super::site::{Defect, Event, Faults, start};
use super::{Simulation, Unrest, again};

/// Everything that may pass goes wrong.
const TRANSIENT: Faults =
    Faults { unheard: 200, database: 0, hiccups: 30, killed: 20, flaps: 10, slow: 50, skew: 3, stalls: 0 };

const DAYS: SignedDuration = SignedDuration::from_hours(24 * 3);

fn seconds(count: u64) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(count).unwrap())
}

/// The seeds to try: so many; more with `SLIPWAY_SEEDS=1000`, one alone with `SLIPWAY_SEED=66`, and ever new
/// ones in a soak.
fn seeds(few: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let many = number("SLIPWAY_SEEDS");
    match (number("SLIPWAY_SEED"), many, number("SLIPWAY_SOAK_ROUND")) {
        (Some(seed), _, _) => seed..seed + 1,
        (None, many, Some(round)) => {
            let count = many.unwrap_or(few * 4);
            round * count..(round + 1) * count
        }
        (None, Some(count), None) => 0..count,
        (None, None, None) => 0..few,
    }
}

fn targets(count: u64, chance: &mut Chance) -> Vec<Target> {
    let all = [Environment::Development, Environment::Staging, Environment::Production];
    let target = |index| Target {
        cluster: format!("c{index:04}").parse().unwrap(),
        environment: *chance.of(&all),
        labels: Labels::default(),
    };
    (0..count).map(target).collect()
}

/// A strategy, and the largest fleet that it is tried on: what goes slowly goes to fewer.
fn strategy(number: u64) -> (Strategy, u64) {
    let minutes = SignedDuration::from_mins;
    match number % 4 {
        0 => (Strategy::Direct(Direct::default()), 40),
        1 => (Strategy::Canary(Canary { evaluation_period: minutes(2), ..Canary::default() }), 30),
        2 => {
            let rolling = Rolling {
                validation_period: minutes(1),
                pause_between_clusters: seconds(20),
                stop_on_failure: number % 8 < 4,
                ..Rolling::default()
            };
            (Strategy::Rolling(rolling), 8)
        }
        _ => {
            let switch = BlueGreen {
                validation_period: minutes(2),
                switch_monitoring_period: minutes(1),
                retention_period: minutes(15),
                ..BlueGreen::between("blue".parse().unwrap(), "green".parse().unwrap())
            };
            (Strategy::BlueGreen(switch), 16)
        }
    }
}

/// A fleet, servers and faults that pass.
fn fleet(seed: u64, chance: &mut Chance) -> Simulation {
    let mut simulation = quiet_fleet(seed, chance);
    disturbed(&mut simulation, chance);
    simulation
}

/// The same, with servers and a database that stay.
fn quiet_fleet(seed: u64, chance: &mut Chance) -> Simulation {
    let (strategy, most) = strategy(seed);
    let count = 1 + chance.up_to(most - 1).min(chance.up_to(most - 1));
    let mut settings = Settings::with(strategy);
    settings.auto_rollback_window = SignedDuration::from_mins(3);
    if chance.per_mille(300) {
        settings.max_unavailable = Some(Amount::Count(u32::try_from(1 + chance.up_to(5)).unwrap()));
    }
    let targets = targets(count, chance);
    let servers = usize::try_from(1 + chance.up_to(2)).unwrap();
    Simulation::new(seed, servers, settings, targets, TRANSIENT)
}

/// Servers, the database and clusters go away, and come back before anybody loses patience.
fn disturbed(simulation: &mut Simulation, chance: &mut Chance) {
    let within = *chance.of(&[None, Some(600), Some(1_800), Some(3_600)]);
    simulation.disturb(Unrest { within, away: 90 });
    simulation.with(|inner| {
        inner.faults = Faults { database: 2, stalls: 1, ..inner.faults };
        for _ in 0..chance.up_to(3) {
            let from = start() + seconds(chance.up_to(3_600));
            inner.outages.push((from, from + seconds(1 + chance.up_to(40))));
        }
        if chance.per_mille(300) {
            let offset = chance.millis(0, 4_000) - seconds(2);
            inner.after(seconds(chance.up_to(1_800)), Event::Failover(offset));
        }
        for cluster in inner.fleet.values_mut() {
            cluster.revokes = chance.per_mille(700);
            if chance.per_mille(150) {
                let from = start() + seconds(chance.up_to(1_800));
                cluster.away.push((from, from + seconds(10 + chance.up_to(200))));
            }
        }
    });
}

/// How a run went, for the tests' own words.
fn told(simulation: &Simulation) -> String {
    simulation.with(|inner| {
        let state = &inner.rows.rollout.state;
        let last: Vec<_> = inner.rows.news.iter().rev().take(12).collect();
        format!("{} {:?} {:?} {last:#?}", state.status, state.phase, state.reason)
    })
}

fn on_target(simulation: &Simulation) -> usize {
    simulation.with(|inner| inner.fleet.values().filter(|cluster| cluster.version() == Some(NEW)).count())
}

#[test]
fn with_faults_that_pass_999_of_1000_rollouts_complete() {
    let (mut failed, mut sums) = (Vec::new(), [0; 5]);
    for seed in seeds(100) {
        let mut chance = Chance::new(seed + 1_000_000);
        let mut simulation = fleet(seed, &mut chance);
        let status = simulation.run(DAYS);
        assert!(simulation.is_over(), "it goes on for ever: {}", told(&simulation));
        if status != Status::Completed {
            failed.push((again(seed), told(&simulation)));
        }
        simulation.with(|inner| {
            let watch = &inner.watch;
            let figures = [inner.fleet.len() as u64, watch.decisions, watch.acts, watch.resumed, watch.late];
            sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
        });
    }
    let tried = seeds(100).count();
    let [clusters, decisions, acts, resumed, late] = sums;
    eprintln!(
        "{tried} rollouts, {clusters} clusters, {decisions} decisions, {acts} acts, {resumed} taken over, {late} late"
    );
    assert!(failed.len() * 1000 <= tried, "{} of {tried} failed: {failed:#?}", failed.len());
}

#[test]
fn a_bad_version_is_taken_back_everywhere_whatever_passes_meanwhile() {
    let mut failed = Vec::new();
    for seed in seeds(60) {
        let mut chance = Chance::new(seed + 2_000_000);
        let mut simulation = fleet(seed, &mut chance);
        let from = start() + seconds(chance.up_to(600));
        simulation.with(|inner| {
            for cluster in inner.fleet.values_mut() {
                cluster.bad_from = Some(from);
            }
        });
        let status = simulation.run(DAYS);
        assert!(simulation.is_over(), "it goes on for ever: {}", told(&simulation));
        let back = simulation.with(|inner| {
            let state = &inner.rows.rollout.state;
            let goes_on = state.spec.settings.strategy.goes_on_after_failure();
            let partly = goes_on || state.spec.settings.strategy.kind().to_string() == "Rolling";
            let reached = state.clusters.values().all(|known| known.stage != Stage::RollbackFailed);
            // One after the other means that those that were well when they were watched keep the version.
            let ended = matches!(status, Status::RolledBack) || (partly && status != Status::Completed);
            reached && (ended || status == Status::Completed && state.completed.is_some_and(|at| at < from))
        });
        let left = on_target(&simulation) > 0 && status == Status::RolledBack;
        if !back || left {
            failed.push((again(seed), told(&simulation)));
        }
    }
    let tried = seeds(60).count();
    assert!(failed.len() * 1000 <= tried, "{} of {tried} failed: {failed:#?}", failed.len());
}

/// Clusters, settings and people of every kind.
fn anything(simulation: &Simulation, chance: &mut Chance) {
    simulation.with(|inner| {
        for cluster in inner.fleet.values_mut() {
            if chance.per_mille(100) {
                cluster.live = None;
                cluster.revisions = 0;
            }
            cluster.bad_from = chance.per_mille(100).then(|| start() + seconds(chance.up_to(1_800)));
            cluster.helm_fails = chance.per_mille(30);
            cluster.restore_fails = u32::try_from(chance.up_to(2)).unwrap();
            cluster.one_way = chance.per_mille(20);
            cluster.refuses = chance.per_mille(10);
            if chance.per_mille(80) {
                let from = start() + seconds(chance.up_to(1_800));
                cluster.away.push((from, from + seconds(60 * chance.up_to(120))));
            }
        }
        inner.faults.flaps = 50;
        let spec = &mut Arc::make_mut(&mut inner.rows.rollout).state.spec;
        spec.smoke = chance.per_mille(300);
        spec.migrate = chance.per_mille(200);
        spec.settings.auto_rollback_enabled = chance.per_mille(700);
        spec.settings.pause_before =
            chance.per_mille(150).then_some(Environment::Production).into_iter().collect();
        spec.settings.failure_budget = chance.per_mille(200).then_some(Amount::Count(1));
        if chance.per_mille(200) {
            let gate = json!({"name": "errors", "http": {"url": "https://status.example"}});
            spec.settings.gates = vec![Gate::read(&gate).unwrap()];
        }
        inner.watch.gate =
            *chance.of(&[Seen::Passed, Seen::Passed, Seen::Passed, Seen::Failed, Seen::Undecided]);
        inner.windows = windows(chance);
        let answer = match chance.up_to(9) {
            0 => Consent::Rejected { reason: "ada: no".to_owned() },
            1 => Consent::Expired,
            _ => Consent::Granted,
        };
        inner.consent = (seconds(chance.up_to(1_200)), answer);
    });
}

/// Sometimes a freeze, sometimes a time outside which nothing may begin; each in one environment.
fn windows(chance: &mut Chance) -> Vec<(String, Window)> {
    let mut windows = Vec::new();
    let mut add = |name: &str, mode: &str, often: u64| {
        if chance.per_mille(often) {
            let from = start() + seconds(chance.up_to(3_600));
            let to = from + seconds(60 + chance.up_to(5_400));
            let environment = *chance.of(&["Development", "Staging", "Production"]);
            let civil = |at: Timestamp| at.to_zoned(TimeZone::UTC).datetime().to_string();
            // What allows comes again, so that nobody waits for ever.
            let later =
                [(start() + SignedDuration::from_hours(3)), (start() + SignedDuration::from_hours(8))];
            let dates = json!([{"from": civil(from), "to": civil(to)}]);
            let again = json!([{"from": civil(from), "to": civil(to)},
                {"from": civil(later[0]), "to": civil(later[1])}]);
            let dates = if mode == "Allow" { again } else { dates };
            let window =
                json!({"mode": mode, "environments": [environment], "timeZone": "UTC", "dates": dates});
            windows.push((name.to_owned(), Window::read(&window).unwrap()));
        }
    };
    add("holidays", "Freeze", 250);
    add("nights", "Allow", 100);
    windows
}

fn command(chance: &mut Chance, names: &[Name]) -> Command {
    let reason = "somebody wanted it".to_owned();
    let cluster = chance.of(names).clone();
    match chance.up_to(9) {
        0 => Command::Pause { reason },
        1 => Command::Cancel { reason },
        2 | 3 => Command::Retry { clusters: None },
        4 => Command::Skip { cluster },
        5 => Command::Promote,
        6 => Command::ExtendSoak { by: SignedDuration::from_mins(3) },
        7 => Command::RollBack { reason, clusters: None, down_migrate: false },
        8 => Command::Supersede { by: RolloutId(Uuid::from_u128(7)) },
        _ => {
            let clusters = Some([cluster].into_iter().collect());
            Command::RollBack { reason, clusters, down_migrate: false }
        }
    }
}

#[test]
fn people_may_do_anything_at_any_time() {
    for seed in seeds(100) {
        let mut chance = Chance::new(seed + 3_000_000);
        let mut simulation = fleet(seed, &mut chance);
        anything(&simulation, &mut chance);
        let names: Vec<Name> = simulation.with(|inner| inner.fleet.keys().cloned().collect());
        for _ in 0..=chance.up_to(5) {
            let after = seconds(chance.up_to(3_600));
            simulation.want(after, command(&mut chance, &names));
            simulation.want(after + SignedDuration::from_mins(7), Command::Resume);
        }
        simulation.run(SignedDuration::from_hours(8));
        let now = simulation.now();
        simulation.with(|inner| {
            let state = &inner.rows.rollout.state;
            let wait = why(state, &Facts::default(), now).rollout;
            let people = wait.is_some_and(|wait| wait.unblock.is_some());
            assert!(state.phase == Phase::Over || people, "it just sits there: {:?}", state.phase);
        });
    }
}

#[test]
fn a_large_fleet_gets_the_version() {
    // Unoptimized, a thousand take minutes: most of it goes into copying what is known of them.
    let many = ["SLIPWAY_SEED", "SLIPWAY_SEEDS", "SLIPWAY_SOAK_ROUND"];
    let count = if many.iter().any(|name| std::env::var_os(name).is_some()) { 1_000 } else { 200 };
    for seed in seeds(1).take(4) {
        let mut chance = Chance::new(seed + 4_000_000);
        let targets = targets(count, &mut chance);
        let direct = Direct { parallel_clusters: 200, ..Direct::default() };
        let mut settings = Settings::with(Strategy::Direct(direct));
        settings.auto_rollback_window = SignedDuration::ZERO;
        let mut simulation = Simulation::new(seed, 3, settings, targets, TRANSIENT);
        // Large servers, and a database that takes its time: much is decided at once.
        simulation.strength = 8;
        disturbed(&mut simulation, &mut chance);
        simulation.with(|inner| {
            inner.pace = 150;
            inner.faults = Faults { slow: 0, killed: 2, ..inner.faults };
        });
        assert_eq!(simulation.run(DAYS), Status::Completed, "{}", told(&simulation));
        assert_eq!(on_target(&simulation) as u64, count);
    }
}

#[test]
fn one_seed_decides_everything() {
    let run = |seed| {
        let mut chance = Chance::new(seed);
        let mut simulation = fleet(seed, &mut chance);
        simulation.run(DAYS);
        (simulation.now(), simulation.with(|inner| inner.rows.news.clone()))
    };
    for seed in 0..4 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
}

/// Each server has only so many hands, and the others wait for one to be free.
#[test]
fn whoever_waits_for_a_free_place_loses_none_of_its_time() {
    let attempts = |defect| {
        let targets = targets(60, &mut Chance::new(0));
        let direct = Direct { parallel_clusters: 60, ..Direct::default() };
        let mut settings = Settings::with(Strategy::Direct(direct));
        settings.auto_rollback_window = SignedDuration::ZERO;
        let slow = Faults { slow: 1_000, ..Faults::default() };
        let mut simulation = Simulation::new(0, 1, settings, targets, slow);
        simulation.with(|inner| {
            inner.pace = 100;
            inner.defect = defect;
        });
        let status = simulation.run(DAYS);
        simulation.with(|inner| {
            let clusters = inner.rows.rollout.state.clusters.values();
            (status, clusters.filter_map(|known| known.attempts.get(&StepKind::Release)).max().copied())
        })
    };
    assert_eq!(attempts(None), (Status::Completed, Some(1)));
    assert_ne!(attempts(Some(Defect::Hasty)), (Status::Completed, Some(1)), "the test proves nothing");
}

/// A simulation that finds nothing wrong says nothing unless it finds what is.
#[test]
fn an_engine_with_a_defect_does_not_get_through() {
    let passes = |seed: u64, defect| {
        let run = || {
            let mut chance = Chance::new(seed + 5_000_000);
            // What is lost in silence shows best where nothing else goes wrong.
            let mut simulation = quiet_fleet(seed, &mut chance);
            if seed.is_multiple_of(2) {
                disturbed(&mut simulation, &mut chance);
                simulation.disturb(Unrest { within: Some(120), away: 90 });
                simulation.with(|inner| inner.blind = 30_000);
            }
            simulation.with(|inner| {
                inner.defect = defect;
                inner.rows.forgets = defect == Some(Defect::NotMoved);
            });
            let status = simulation.run(DAYS);
            assert!(simulation.is_over() && status == Status::Completed, "{status}");
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok()
    };
    for defect in [
        Defect::Unfenced,
        Defect::Unbegun,
        Defect::Unintended,
        Defect::NotResumed,
        Defect::NotMoved,
        Defect::Untold,
    ] {
        let found = (0..100).find(|seed| !passes(*seed, Some(defect)) && passes(*seed, None));
        eprintln!("{defect:?} was found with seed {found:?}");
        assert!(found.is_some(), "{defect:?} was not found");
    }
}
