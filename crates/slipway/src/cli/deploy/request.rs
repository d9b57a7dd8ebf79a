//! From flags and files to what is sent.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};
use slipway_contract::deployments::{
    Amount, BlueGreenConfig, CanaryConfig, DeploymentStrategy as Kind, DirectConfig, Emergency,
    RollbackScope, RollingConfig, StartDeployment,
};

use super::select::Chosen;
use super::values::{lay, set};
use super::{Deploy, Scope, Settings};
use crate::cli::operator::values;

/// What is sent, and the strategy that it names or implies.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) json: Value,
    pub(super) strategy: Option<Kind>,
}

/// The blocks of the interface, by strategy.
const BLOCKS: [(&str, Kind); 4] = [
    ("directConfig", Kind::Direct),
    ("canaryConfig", Kind::Canary),
    ("rollingConfig", Kind::Rolling),
    ("blueGreenConfig", Kind::BlueGreen),
];

/// What a file says, with the names of clusters apart: they may stand there instead of on the command line.
pub(super) struct File {
    settings: Map<String, Value>,
    pub(super) clusters: Vec<String>,
}

impl File {
    pub(super) fn read(deploy: &Deploy) -> anyhow::Result<Self> {
        let mut settings = deploy.config.as_deref().map(values).transpose()?.unwrap_or_default();
        let mut clusters = Vec::new();
        for key in ["targetClusters", "clusters"] {
            let Some(named) = settings.remove(key) else { continue };
            let named: Vec<String> = serde_json::from_value(named)
                .with_context(|| format!("{key} of the file is no list of names"))?;
            clusters.extend(named);
        }
        if !clusters.is_empty() && !deploy.clusters.is_empty() {
            bail!("the file names clusters, and so does --clusters; give one of them");
        }
        // A block may stand nested or at the top; flags are laid over it, wherever it is.
        if let Some(Value::Object(nested)) = settings.remove("strategyConfig") {
            for (key, value) in nested {
                if settings.insert(key.clone(), value).is_some() {
                    bail!("{key} is in the file twice, nested and at the top");
                }
            }
        }
        Ok(Self { settings, clusters })
    }

    /// The strategy that it names, or whose block it holds.
    fn strategy(&self) -> anyhow::Result<Option<Kind>> {
        if let Some(named) = self.settings.get("strategy").filter(|named| !named.is_null()) {
            let known = "Direct, Canary, Rolling and BlueGreen";
            let read = serde_json::from_value(named.clone());
            return read.map(Some).with_context(|| format!("{named} is no strategy; there are {known}"));
        }
        let mut found =
            BLOCKS.iter().filter(|(key, _)| self.settings.contains_key(*key)).map(|(_, kind)| *kind);
        Ok(match (found.next(), found.next()) {
            (Some(kind), None) => Some(kind),
            _ => None,
        })
    }
}

pub(super) fn request(
    deploy: &Deploy,
    file: File,
    version: &str,
    chosen: &Chosen,
) -> anyhow::Result<Request> {
    let named = deploy.strategy.map(Kind::from).or(file.strategy()?);
    let settings = &deploy.settings;
    let implied = settings.implied()?;
    if let (Some(named), Some((implied, flag))) = (named, implied)
        && named != implied
    {
        bail!("{flag} belongs to {implied:?}, and the strategy is {named:?}");
    }
    let strategy = named.or(implied.map(|(kind, _)| kind));
    let mut given = Map::new();
    for path in &deploy.values {
        lay(&mut given, values(path)?);
    }
    let sets = deploy.set.iter().map(|one| (one, false));
    for (one, text) in sets.chain(deploy.set_string.iter().map(|one| (one, true))) {
        set(&mut given, one, text)?;
    }
    let mut start = StartDeployment {
        operator_name: deploy.operator.clone(),
        target_version: version.to_owned(),
        strategy,
        target_clusters: Some(chosen.names.clone()),
        helm_values: given,
        emergency: deploy.emergency.clone().map(|reason| Emergency { reason }),
        ..StartDeployment::default()
    };
    settings.fill(&mut start, strategy.unwrap_or_else(|| chosen.usual()))?;
    let flags = serde_json::to_value(&start).context("writing the request")?;
    let mut json = file.settings;
    if let Value::Object(flags) = flags {
        lay(&mut json, flags);
    }
    Ok(Request { json: Value::Object(json), strategy })
}

impl Settings {
    /// The strategy that flags belong to, with one of them.
    fn implied(&self) -> anyhow::Result<Option<(Kind, &'static str)>> {
        let flags = [
            (self.initial.is_some(), Kind::Canary, "--initial"),
            (self.increment.is_some(), Kind::Canary, "--increment"),
            (!self.stages.is_empty(), Kind::Canary, "--stages"),
            (self.threshold.is_some(), Kind::Canary, "--threshold"),
            (self.interval.is_some(), Kind::Canary, "--interval"),
            (self.rest.is_some(), Kind::Rolling, "--rest"),
            (self.continue_on_failure, Kind::Rolling, "--continue-on-failure"),
            (self.parallel.is_some(), Kind::Direct, "--parallel"),
            (self.skip_health_checks, Kind::Direct, "--skip-health-checks"),
            (self.timeout.is_some(), Kind::Direct, "--timeout"),
            (self.blue_namespace.is_some(), Kind::BlueGreen, "--blue-namespace"),
            (self.green_namespace.is_some(), Kind::BlueGreen, "--green-namespace"),
            (self.no_auto_switch, Kind::BlueGreen, "--no-auto-switch"),
            (self.retention.is_some(), Kind::BlueGreen, "--retention"),
            (self.switch_soak.is_some(), Kind::BlueGreen, "--switch-soak"),
        ];
        let mut found: Option<(Kind, &'static str)> = None;
        for (_, kind, flag) in flags.into_iter().filter(|(given, ..)| *given) {
            match found {
                Some((other, before)) if other != kind => {
                    bail!(
                        "{before} belongs to {other:?} and {flag} to {kind:?}; one strategy has to be meant"
                    );
                }
                _ => found = Some((kind, flag)),
            }
        }
        Ok(found)
    }

    /// Fills what flags say into a request of a strategy.
    fn fill(&self, start: &mut StartDeployment, kind: Kind) -> anyhow::Result<()> {
        let order = (!self.order.is_empty()).then(|| self.order.clone());
        if order.is_some() && !matches!(kind, Kind::Canary | Kind::Rolling) {
            bail!("--order belongs to canary and rolling, and the strategy is {kind:?}");
        }
        if self.soak.is_some() && kind == Kind::Direct {
            bail!(
                "--soak belongs to canary, rolling and blue-green, and the strategy is Direct: it watches nothing"
            );
        }
        match kind {
            Kind::Direct => {
                start.direct_config = block(DirectConfig {
                    parallel_clusters: self.parallel,
                    skip_health_checks: self.skip_health_checks.then_some(true),
                    timeout: self.timeout.clone(),
                });
            }
            Kind::Canary => {
                start.canary_config = block(CanaryConfig {
                    initial_percentage: self.initial,
                    increment_percentage: self.increment,
                    stages: (!self.stages.is_empty()).then(|| self.stages.clone()),
                    evaluation_period: self.soak.clone(),
                    success_threshold: self.threshold,
                    health_check_interval: self.interval.clone(),
                    cluster_order: order,
                    ..CanaryConfig::default()
                });
            }
            Kind::Rolling => {
                start.rolling_config = block(RollingConfig {
                    cluster_order: order,
                    validation_period: self.soak.clone(),
                    pause_between_clusters: self.rest.clone(),
                    stop_on_failure: self.continue_on_failure.then_some(false),
                });
            }
            Kind::BlueGreen => {
                start.blue_green_config = block(BlueGreenConfig {
                    blue_namespace: self.blue_namespace.clone(),
                    green_namespace: self.green_namespace.clone(),
                    validation_period: self.soak.clone(),
                    auto_switch: self.no_auto_switch.then_some(false),
                    retention_period: self.retention.clone(),
                    switch_monitoring_period: self.switch_soak.clone(),
                });
            }
        }
        start.max_unavailable = self.max_unavailable.as_deref().map(Amount::written);
        start.failure_budget = self.failure_budget.as_deref().map(Amount::written);
        start.auto_rollback_enabled = self.no_auto_rollback.then_some(false);
        start.auto_rollback_window.clone_from(&self.rollback_window);
        start.rollback_scope = self.rollback_scope.map(|scope| match scope {
            Scope::All => RollbackScope::All,
            Scope::Failed => RollbackScope::Failed,
        });
        start.quarantine_timeout.clone_from(&self.quarantine);
        start.pause_before = self.pause_before.iter().map(|one| (*one).into()).collect();
        start.may_delete.clone_from(&self.may_delete);
        start.migrate = self.migrate.then_some(true);
        start.supersede = self.supersede.then_some(true);
        Ok(())
    }
}

/// A block, if it says anything.
fn block<T: Default + PartialEq>(block: T) -> Option<T> {
    (block != T::default()).then_some(block)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        deploy: Deploy,
    }

    fn sent(words: &str) -> Result<Value, String> {
        let words = ["deploy", "cert-manager", "v1.14.0"].into_iter().chain(words.split_whitespace());
        let program = Program::try_parse_from(words).map_err(|error| error.to_string())?;
        let chosen = Chosen::named(&["dev-1", "eu-1"]);
        let sent =
            File::read(&program.deploy).and_then(|file| request(&program.deploy, file, "v1.14.0", &chosen));
        sent.map(|request| request.json).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn nothing_is_sent_that_nobody_said() {
        assert_eq!(
            sent("--clusters all").unwrap(),
            json!({"operatorName": "cert-manager", "targetVersion": "v1.14.0",
                "targetClusters": ["dev-1", "eu-1"]})
        );
    }

    #[test]
    fn flags_become_the_block_of_their_strategy() {
        let canary =
            sent("--initial 5 --increment 20 --soak 10m --threshold 95% --max-unavailable 10%").unwrap();
        assert_eq!(canary["strategy"], "Canary");
        assert_eq!(
            canary["canaryConfig"],
            json!({"initialPercentage": 5, "incrementPercentage": 20, "evaluationPeriod": "PT10M",
                "successThreshold": 0.95})
        );
        assert_eq!(canary["maxUnavailable"], "10%");
        let stages =
            sent("--strategy canary --stages 1,5,100 --order eu-1,dev-1 --failure-budget 2").unwrap();
        assert_eq!(stages["canaryConfig"], json!({"stages": [1, 5, 100], "clusterOrder": ["eu-1", "dev-1"]}));
        assert_eq!(stages["failureBudget"], 2);
        let rolling = sent("--rest 1m --continue-on-failure --soak 30s").unwrap();
        assert_eq!(
            rolling["rollingConfig"],
            json!({"validationPeriod": "PT30S", "pauseBetweenClusters": "PT1M", "stopOnFailure": false})
        );
        let direct = sent("--parallel 3 --skip-health-checks --timeout 2m").unwrap();
        assert_eq!(
            direct["directConfig"],
            json!({"parallelClusters": 3, "skipHealthChecks": true, "timeout": "PT2M"})
        );
        let switch = sent("--strategy blue-green --no-auto-switch --retention 1h").unwrap();
        assert_eq!(switch["blueGreenConfig"], json!({"autoSwitch": false, "retentionPeriod": "PT1H"}));
    }

    #[test]
    fn everything_else_has_its_field() {
        let sent = sent(
            "--no-auto-rollback --rollback-window 2h --rollback-scope failed --quarantine 30m --pause-before production \
             --may-delete PersistentVolumeClaim/x --migrate --supersede --emergency outage --set a.b=1 --set-string c=2",
        )
        .unwrap();
        let wanted = json!({
            "operatorName": "cert-manager", "targetVersion": "v1.14.0", "targetClusters": ["dev-1", "eu-1"],
            "autoRollbackEnabled": false, "autoRollbackWindow": "PT2H", "rollbackScope": "failed",
            "quarantineTimeout": "PT30M", "pauseBefore": ["Production"],
            "mayDelete": ["PersistentVolumeClaim/x"], "migrate": true, "supersede": true,
            "emergency": {"reason": "outage"}, "helmValues": {"a": {"b": 1}, "c": "2"},
        });
        assert_eq!(sent, wanted);
    }

    #[test]
    fn flags_of_two_strategies_are_refused() {
        let error = sent("--initial 5 --rest 1m").unwrap_err();
        assert_eq!(error, "--initial belongs to Canary and --rest to Rolling; one strategy has to be meant");
        let error = sent("--strategy direct --initial 5").unwrap_err();
        assert_eq!(error, "--initial belongs to Canary, and the strategy is Direct");
        assert!(sent("--strategy direct --soak 5m").unwrap_err().contains("watches nothing"));
        assert!(sent("--soak soon").unwrap_err().contains("such as 5m"));
    }

    #[test]
    fn a_file_holds_what_has_no_flag_and_flags_count_more() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = "strategyConfig:\n  canaryConfig: {initialPercentage: 5, ladder: whole}\ngates:\n- name: errors\n  \
                      http: {url: https://x}\nmaxUnavailable: 2\n";
        std::fs::write(file.path(), config).unwrap();
        let sent = sent(&format!("--config {} --initial 7", file.path().display())).unwrap();
        assert_eq!(sent["strategy"], "Canary");
        assert_eq!(sent["canaryConfig"], json!({"initialPercentage": 7, "ladder": "whole"}));
        assert_eq!(sent["gates"][0]["name"], "errors");
        assert_eq!(sent["maxUnavailable"], 2);
    }
}
