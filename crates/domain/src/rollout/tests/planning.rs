//! Waves and batches.

use proptest::prelude::{Just, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as _;

use super::super::{
    Amount, BlueGreen, Canary, Direct, Ladder, Percent, Rolling, Selector, Settings, Strategy, StrategyKind,
    Wave, WaveKind, plan,
};
use super::{canary, many, mins, name, targets};
use crate::access::Environment;

fn sizes(waves: &[Wave]) -> Vec<usize> {
    waves.iter().map(|wave| wave.clusters.len()).collect()
}

#[test]
fn a_canary_climbs_ten_thirty_and_all() {
    let mut settings = canary();
    let Strategy::Canary(block) = &mut settings.strategy else { unreachable!() };
    block.ladder = Some(Ladder::Whole);
    let waves = plan(&settings, &many(10)).unwrap();
    assert_eq!(sizes(&waves), [1, 2, 7]);
    assert_eq!(waves[0].title, "10 % of the fleet");
    assert!(waves.iter().all(|wave| wave.at_once == 1 && wave.batched && wave.soak == mins(5)));
    assert_eq!(sizes(&plan(&settings, &many(2)).unwrap()), [1, 1], "a stage that adds nobody is merged");
    assert_eq!(sizes(&plan(&settings, &many(1)).unwrap()), [1]);
}

#[test]
fn many_clusters_in_production_make_a_ladder_of_each_environment() {
    let mut all = targets(&["stage-a", "dev-b", "dev-a", "stage-b"]);
    all.extend(many(6));
    let waves = plan(&canary(), &all).unwrap();
    assert_eq!(sizes(&waves), [1, 1, 1, 1, 1, 1, 4]);
    assert_eq!(waves[0].clusters, [name("dev-a")]);
    assert_eq!(waves.last().unwrap().title, "100 % of Production");
    all.pop();
    assert_eq!(sizes(&plan(&canary(), &all).unwrap()), [1, 2, 6], "five are not many");
}

#[test]
fn batches_are_a_tenth_in_production_and_everything_elsewhere() {
    let mut settings = canary();
    let Strategy::Canary(block) = &mut settings.strategy else { unreachable!() };
    block.stages = vec![Percent::ALL];
    assert_eq!(plan(&settings, &many(25)).unwrap()[0].at_once, 2);
    assert_eq!(plan(&settings, &targets(&["dev-a", "dev-b", "stage-c"])).unwrap()[0].at_once, 3);
    settings.max_unavailable = Some(Amount::Part(Percent::clamped(50)));
    let wave = plan(&settings, &many(25)).unwrap().remove(0);
    assert_eq!(wave.batches().map(<[_]>::len).collect::<Vec<_>>(), [12, 12, 1]);
}

#[test]
fn an_order_that_leaves_out_a_target_is_an_error() {
    let rolling =
        Rolling { cluster_order: vec![name("prod-b"), name("prod-b"), name("mars")], ..Rolling::default() };
    let settings = Settings::with(Strategy::Rolling(rolling));
    let wrong = plan(&settings, &targets(&["prod-a", "prod-b", "dev-c"])).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "clusterOrder[1] is prod-b, which is there already; \
         clusterOrder[2] is mars, which is no target of this deployment; clusterOrder leaves out dev-c, prod-a"
    );
}

#[test]
fn rolling_goes_one_by_one_by_environment_and_name() {
    let settings = Settings::with(Strategy::Rolling(Rolling::default()));
    let waves = plan(&settings, &targets(&["prod-a", "stage-z", "dev-z", "dev-a"])).unwrap();
    let titles: Vec<&str> = waves.iter().map(|wave| wave.title.as_str()).collect();
    assert_eq!(titles, ["dev-a", "dev-z", "stage-z", "prod-a"]);
    assert_eq!(waves[0].rest, mins(2));
    assert_eq!(waves[3].rest, mins(0), "nobody waits after the last");
}

#[test]
fn selectors_make_waves_and_must_take_everybody() {
    let select = |region: &str| Selector {
        match_labels: [("region".to_owned(), region.to_owned())].into_iter().collect(),
        ..Selector::default()
    };
    let with = |waves: Vec<Selector>| Settings::with(Strategy::Canary(Canary { waves, ..Canary::default() }));
    let fleet = targets(&["prod-1-eu", "prod-2-eu", "prod-3-us", "dev-4-us"]);
    let waves = plan(&with(vec![select("us"), Selector::default()]), &fleet).unwrap();
    assert_eq!(waves[0].clusters, [name("dev-4-us"), name("prod-3-us")]);
    assert_eq!(sizes(&waves), [2, 2]);
    let wrong = plan(&with(vec![select("us"), select("mars")]), &fleet).unwrap_err().to_string();
    assert!(
        wrong.contains("waves[1] takes no cluster") && wrong.contains("waves leave out prod-1-eu"),
        "{wrong}"
    );
}

#[test]
fn blue_green_prepares_everywhere_and_switches_by_environment() {
    let settings = Settings::with(Strategy::BlueGreen(BlueGreen::between(name("blue"), name("green"))));
    let waves = plan(&settings, &targets(&["prod-a", "dev-a", "prod-b"])).unwrap();
    let kinds: Vec<WaveKind> = waves.iter().map(|wave| wave.kind).collect();
    assert_eq!(kinds, [WaveKind::Prepare, WaveKind::Switch, WaveKind::Switch]);
    assert_eq!((waves[0].soak, waves[1].soak), (mins(10), mins(5)));
    assert_eq!(waves[2].clusters, [name("prod-a"), name("prod-b")]);
}

#[test]
fn the_strategy_follows_the_most_precious_environment() {
    let default = |texts: &[&str]| StrategyKind::default_for(&targets(texts));
    assert_eq!(default(&["dev-a"]), StrategyKind::Direct);
    assert_eq!(default(&["dev-a", "stage-a"]), StrategyKind::Rolling);
    assert_eq!(default(&["prod-a", "dev-a"]), StrategyKind::Canary);
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    let canary = (proptest::collection::btree_set(1u64..100, 0..5), any::<Option<bool>>()).prop_map(
        |(stages, ladder)| {
            let mut stages: Vec<Percent> = stages.into_iter().map(Percent::clamped).collect();
            stages.push(Percent::ALL);
            let ladder = ladder.map(|each| if each { Ladder::PerEnvironment } else { Ladder::Whole });
            Strategy::Canary(Canary { stages, ladder, ..Canary::default() })
        },
    );
    prop_oneof![
        (1u32..50).prop_map(|parallel_clusters| Strategy::Direct(Direct {
            parallel_clusters,
            ..Direct::default()
        })),
        canary,
        Just(Strategy::Rolling(Rolling::default())),
        Just(Strategy::BlueGreen(BlueGreen::between(name("blue"), name("green")))),
    ]
}

proptest! {
    #[test]
    fn every_target_is_in_exactly_one_wave_of_its_kind(
        strategy in strategies(),
        environments in proptest::collection::vec(0u8..3, 1..80),
        limit in proptest::option::of(1u32..20),
    ) {
        let words = ["dev", "stage", "prod"];
        let texts: Vec<String> = environments
            .iter()
            .enumerate()
            .map(|(index, environment)| format!("{}-{index}", words[usize::from(*environment)]))
            .collect();
        let fleet = targets(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut settings = Settings::with(strategy);
        settings.max_unavailable = limit.map(Amount::Count);
        let waves = plan(&settings, &fleet).unwrap();
        for kind in [WaveKind::Change, WaveKind::Prepare, WaveKind::Switch] {
            let mut there: Vec<_> =
                waves.iter().filter(|wave| wave.kind == kind).flat_map(|wave| wave.clusters.clone()).collect();
            let count = there.len();
            there.sort();
            there.dedup();
            prop_assert_eq!(there.len(), count, "somebody is there twice");
            prop_assert!(count == 0 || count == fleet.len());
        }
        for wave in &waves {
            prop_assert!(!wave.clusters.is_empty() && wave.at_once >= 1);
            let limit = limit.and_then(|limit| usize::try_from(limit).ok());
            prop_assert!(wave.kind == WaveKind::Prepare || limit.is_none_or(|limit| wave.at_once <= limit));
            let precious = fleet.iter().any(|target| {
                target.environment == Environment::Production && wave.clusters.contains(&target.cluster)
            });
            if limit.is_none() && wave.batched && precious {
                prop_assert!(wave.at_once <= (wave.clusters.len() / 10).max(1));
            }
        }
    }
}
