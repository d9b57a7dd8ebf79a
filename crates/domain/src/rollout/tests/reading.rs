//! Requests, good and bad.

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::{Amount, RollbackScope, Strategy, StrategyKind, Wanted, read};
use super::{mins, name, target};
use crate::cluster::{Cluster, ClusterHealth, CredentialFacts, CredentialKind, State};
use crate::id::ClusterId;
use crate::problem::Problems;

fn cluster(text: &str) -> Cluster {
    let target = target(text);
    Cluster {
        id: ClusterId(Uuid::nil()),
        name: target.cluster,
        description: None,
        environment: target.environment,
        labels: target.labels,
        server: "https://example".to_owned(),
        uid: None,
        state: if text.ends_with("off") { State::Disabled } else { State::Enabled },
        health: ClusterHealth::default(),
        credentials: CredentialFacts {
            kind: CredentialKind::Token,
            expires_at: None,
            changed_at: Timestamp::UNIX_EPOCH,
        },
        revision: 1,
        registered_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
    }
}

fn reads(request: &Value) -> Result<Wanted, Problems> {
    let fleet: Vec<Cluster> =
        ["dev-a", "stage-a", "prod-a", "prod-b", "prod-off"].into_iter().map(cluster).collect();
    read(request, &["operatorName", "targetVersion", "helmValues"], &fleet)
}

#[test]
fn nothing_but_clusters_takes_the_defaults_of_their_environment() {
    let wanted = reads(&json!({"operatorName": "x", "targetClusters": ["prod-a", "dev-a"]})).unwrap();
    assert_eq!(wanted.settings.strategy.kind(), StrategyKind::Canary);
    assert!(wanted.settings.auto_rollback_enabled);
    assert_eq!(wanted.settings.auto_rollback_window, mins(60));
    assert_eq!(wanted.settings.quarantine_timeout, mins(60));
    assert_eq!(wanted.settings.scope(), RollbackScope::All);
    assert_eq!(wanted.targets[0].cluster, name("dev-a"));
    let kind = |clusters: Value| reads(&json!({"clusters": clusters})).unwrap().settings.strategy.kind();
    assert_eq!(kind(json!(["dev-a"])), StrategyKind::Direct);
    assert_eq!(kind(json!(["stage-a"])), StrategyKind::Rolling);
}

#[test]
fn blocks_are_taken_nested_and_at_the_top_and_name_their_strategy() {
    let block = json!({"initialPercentage": 25, "incrementPercentage": 25, "evaluationPeriod": "PT1M",
        "successThreshold": 0.5, "healthCheckInterval": "PT10S", "autoRollbackEnabled": false});
    let nested = reads(&json!({"strategy": "canary", "clusters": ["prod-a"],
        "strategyConfig": {"canaryConfig": block}}))
    .unwrap();
    let top = reads(&json!({"canaryConfig": block, "clusters": ["prod-a"]})).unwrap();
    assert_eq!(nested, top);
    let Strategy::Canary(canary) = &top.settings.strategy else { panic!("not a canary") };
    assert_eq!(canary.stages.iter().map(|stage| stage.get()).collect::<Vec<_>>(), [25, 50, 100]);
    assert_eq!(canary.evaluation_period, mins(1));
    assert!(!top.settings.auto_rollback_enabled);
    let kept = serde_json::to_value(&top.settings).unwrap();
    assert_eq!(serde_json::from_value::<super::Settings>(kept).unwrap(), top.settings);
}

#[test]
fn every_block_reads_its_own_settings() {
    let strategy = |block: &str, value: Value| {
        reads(&json!({"clusters": ["prod-a", "prod-b"], block: value})).unwrap().settings.strategy
    };
    let direct = json!({"parallelClusters": 3, "skipHealthChecks": true, "timeout": "PT1M"});
    let Strategy::Direct(direct) = strategy("directConfig", direct) else { panic!("not direct") };
    assert_eq!((direct.parallel_clusters, direct.skip_health_checks, direct.timeout), (3, true, mins(1)));
    let rolling = json!({"clusterOrder": ["prod-b", "prod-a"], "validationPeriod": "PT1M",
        "pauseBetweenClusters": "PT0S", "stopOnFailure": false});
    let Strategy::Rolling(rolling) = strategy("rollingConfig", rolling) else { panic!("not rolling") };
    assert_eq!((rolling.validation_period, rolling.pause_between_clusters), (mins(1), mins(0)));
    assert!(!rolling.stop_on_failure);
    let switch = json!({"blueNamespace": "ops", "greenNamespace": "ops", "autoSwitch": false,
        "validationPeriod": "PT1M", "retentionPeriod": "PT2M", "switchMonitoringPeriod": "PT3M"});
    let Strategy::BlueGreen(switch) = strategy("blueGreenConfig", switch) else { panic!("not blue-green") };
    assert!(!switch.auto_switch && switch.blue_namespace == switch.green_namespace);
    assert_eq!((switch.retention_period, switch.switch_monitoring_period), (mins(2), mins(3)));
}

#[test]
fn every_problem_is_said_at_once_with_its_path() {
    let request = json!({
        "strategy": "Canary",
        "targetClusters": ["prod-a", "mars", "prod-off", "prod-a"],
        "strategyConfig": {
            "canaryConfig": {"initialPercentage": 0, "evaluationPeriod": "5 minutes", "successThreshold": 1.5,
                "stages": [50, 20], "interval": 1},
            "rollingConfig": {},
        },
        "maxUnavailable": 0,
        "autoRollbackWindow": "soon",
        "pauseBefor": ["Production"],
        "gates": [{"name": "errors", "http": {"url": "ftp://x"}}],
    });
    let told = reads(&request).unwrap_err().to_string();
    for part in [
        "targetClusters[1] is \"mars\", which is no cluster here",
        "targetClusters[2] is \"prod-off\", which is disabled",
        "targetClusters[3] is \"prod-a\", which is there already",
        "strategyConfig.canaryConfig.initialPercentage has to be a whole percentage from 1 to 100",
        "strategyConfig.canaryConfig.evaluationPeriod is \"5 minutes\", which is no ISO 8601 duration",
        "strategyConfig.canaryConfig.successThreshold has to be above 0 and at most 1",
        "strategyConfig.canaryConfig.stages has to grow",
        "strategyConfig.canaryConfig.stages has to end with 100",
        "strategyConfig.canaryConfig.interval is not a field here",
        "strategyConfig.rollingConfig belongs to Rolling, and the strategy is Canary",
        "maxUnavailable has to be 1 or more",
        "autoRollbackWindow is \"soon\", which is no ISO 8601 duration",
        "pauseBefor is not a field here; did you mean pauseBefore?",
        "gates[0].http.url has to begin with http:// or https://",
    ] {
        assert!(told.contains(part), "{part:?} is not in {told}");
    }
}

#[test]
fn what_contradicts_itself_is_refused() {
    let told = |request: Value| reads(&request).unwrap_err().to_string();
    let twice = told(json!({"clusters": ["dev-a"], "directConfig": {},
        "strategyConfig": {"directConfig": {}}}));
    assert_eq!(twice, "directConfig is there twice, nested and at the top; give one of them");
    let both = told(json!({"clusters": ["dev-a"], "targetClusters": ["dev-a"]}));
    assert_eq!(both, "clusters is the same as targetClusters; give one of them");
    assert_eq!(told(json!({})), "targetClusters is missing");
    assert_eq!(told(json!({"clusters": []})), "clusters is empty; name at least one cluster");
    let says = told(json!({"clusters": ["dev-a"], "autoRollbackEnabled": true,
        "canaryConfig": {"autoRollbackEnabled": false}}));
    assert_eq!(says, "canaryConfig.autoRollbackEnabled says false, and outside true");
    let order = told(json!({"clusters": ["dev-a", "prod-a"], "rollingConfig": {"clusterOrder": ["dev-a"]}}));
    assert_eq!(order, "rollingConfig.clusterOrder leaves out prod-a");
    let strategy = told(json!({"clusters": ["dev-a"], "strategy": "Fast"}));
    assert!(
        strategy.contains("strategy \"Fast\" is none of Direct, Canary, Rolling, BlueGreen"),
        "{strategy}"
    );
}

#[test]
fn what_holds_for_every_strategy_is_read() {
    let wanted =
        reads(&json!({"clusters": ["prod-a", "prod-b"], "maxUnavailable": "50%", "failureBudget": 1,
        "rollbackScope": "failed", "quarantineTimeout": "PT10M", "pauseBefore": ["Production"]}))
        .unwrap();
    assert_eq!(wanted.settings.failure_budget, Some(Amount::Count(1)));
    assert_eq!(wanted.settings.scope(), RollbackScope::Failed);
    assert_eq!(wanted.settings.quarantine_timeout, mins(10));
}
