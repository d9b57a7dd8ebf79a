//! `slipway deploy`: rolls a version out, or says what doing so would change.

mod report;
mod request;
mod select;
mod values;

use std::io::{IsTerminal as _, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use slipway_contract::deployments::{DeploymentEnvironment, DeploymentStrategy};
use slipway_contract::operators::VersionsReply;

use super::deployment::{Environment, Strategy, begun, watch};
use super::duration::duration;
use super::failure::{Failure, Missing};
use super::login::prompt;
use super::output::{Format, OutputArgs};
use super::relative::ago;
use super::session::Session;
use request::File;
use select::Chosen;

pub(crate) use report::found;

/// Roll a version of an operator out over clusters.
///
/// Exit code: without following it, 0 as soon as it is begun. Followed to its end: 0 completed, 1 failed, rolled
/// back or cancelled. With --dry-run: 0 nothing stands in the way, 1 something does. 2 bad input, 4 no such
/// operator or version, above that as for every command.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct Deploy {
    /// The operator's name.
    operator: String,
    /// The version it gets; see: slipway operator versions OPERATOR.
    version: String,
    /// Where: names, all, env=ENVIRONMENT or label=KEY=VALUE, separated by commas; what fits any of them. Where
    /// Slipway has installed the operator, if nothing is said.
    #[arg(long, short = 'c', value_name = "WHICH", value_delimiter = ',')]
    clusters: Vec<String>,
    /// How; by the most precious environment among the clusters where nothing is said.
    #[arg(long, value_enum)]
    strategy: Option<Strategy>,
    /// Values for the chart from this file; may be repeated, the last one counts most.
    #[arg(long = "values", short = 'f', value_name = "FILE")]
    values: Vec<PathBuf>,
    /// A value for the chart, such as image.tag=1.2; may be repeated, and counts more than files.
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// The same, always as text.
    #[arg(long, value_name = "PATH=TEXT")]
    set_string: Vec<String>,
    /// All settings from this file, YAML or JSON, as POST /deployments takes them; flags count more.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Say what it would do on each cluster; nothing is changed.
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: show every check, every change and every value.
    #[arg(long, requires = "dry_run")]
    all: bool,
    /// Follow it to its end; on a terminal that is so anyway.
    #[arg(long, conflicts_with = "no_watch")]
    watch: bool,
    /// Only begin it.
    #[arg(long)]
    no_watch: bool,
    /// Go past approvals, for this reason. Admins only; everybody who answers for the environment is told.
    #[arg(long, value_name = "REASON")]
    emergency: Option<String>,
    /// Do not ask whether it is meant.
    #[arg(long, short = 'y')]
    yes: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// What can be set about a strategy.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Strategy options")]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command")]
pub(crate) struct Settings {
    /// Canary: how much of the fleet comes first, in percent [10].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    initial: Option<u8>,
    /// Canary: how much follows before all the rest, in percent [20].
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    increment: Option<u8>,
    /// Canary: how much has the version after each stage, such as 1,5,25,100.
    #[arg(long, value_name = "PERCENTS", value_delimiter = ',', conflicts_with_all = ["initial", "increment"])]
    stages: Vec<u8>,
    /// Canary: how many of the clusters so far have to be healthy, such as 0.95 or 95%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    threshold: Option<f64>,
    /// Canary: how often health is looked at [30s].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    interval: Option<String>,
    /// Canary, rolling, blue-green: how long what was changed is watched.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    soak: Option<String>,
    /// Canary, rolling: the order of the clusters; it has to name all of them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    order: Vec<String>,
    /// Rolling: how long nothing happens after each cluster [2m].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    rest: Option<String>,
    /// Rolling: take a cluster back that fails, and go on with the next.
    #[arg(long)]
    continue_on_failure: bool,
    /// Direct: so many clusters at once [10].
    #[arg(long, value_name = "N")]
    parallel: Option<u32>,
    /// Direct: do not look whether the operator is well afterwards.
    #[arg(long)]
    skip_health_checks: bool,
    /// Direct: how long one cluster may take [5m].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<String>,
    /// Blue-green: where the first one lives [operators-blue].
    #[arg(long, value_name = "NAMESPACE")]
    blue_namespace: Option<String>,
    /// Blue-green: where the second one lives [operators-green].
    #[arg(long, value_name = "NAMESPACE")]
    green_namespace: Option<String>,
    /// Blue-green: wait for slipway deployment promote before the switch.
    #[arg(long)]
    no_auto_switch: bool,
    /// Blue-green: how long the old one is kept after the switch [24h].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    retention: Option<String>,
    /// Blue-green: how long the new one is watched after the switch [5m].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    switch_soak: Option<String>,
    /// So many clusters of a wave are changed at once: a number, or a part such as 10%.
    #[arg(long, value_name = "N|PART")]
    max_unavailable: Option<String>,
    /// So many clusters may fail: a number, or a part such as 10%.
    #[arg(long, value_name = "N|PART")]
    failure_budget: Option<String>,
    /// Take nothing back by itself.
    #[arg(long)]
    no_auto_rollback: bool,
    /// How long after completion it is still taken back by itself [1h].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    rollback_window: Option<String>,
    /// What is taken back by itself.
    #[arg(long, value_enum)]
    rollback_scope: Option<Scope>,
    /// How long a cluster that cannot be reached is waited for [1h].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    quarantine: Option<String>,
    /// Wait for slipway deployment promote before this environment; may be repeated.
    #[arg(long, value_enum, value_name = "ENVIRONMENT")]
    pause_before: Vec<Environment>,
    /// Allow this object to be deleted, such as "Secret shop/old"; may be repeated.
    #[arg(long, value_name = "OBJECT")]
    may_delete: Vec<String>,
    /// Migrate stored objects to the new version once nothing is taken back by itself any more.
    #[arg(long)]
    migrate: bool,
    /// Take the place of a deployment that only waits.
    #[arg(long)]
    supersede: bool,
}

/// What is taken back by itself.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Every cluster that was touched.
    All,
    /// Those that failed.
    Failed,
}

fn share(text: &str) -> Result<f64, String> {
    let (digits, whole) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits.trim_end(), 100.0));
    let share = digits.parse::<f64>().ok().map(|number| number / whole);
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "has to be above 0 and at most 1, such as 0.95 or 95%".to_owned())
}

impl Deploy {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<ExitCode> {
        let version = self.known_version(session).await?;
        let file = File::read(&self)?;
        let wanted = if self.clusters.is_empty() { &file.clusters } else { &self.clusters };
        let chosen = select::select(&session.client, &self.operator, wanted).await?;
        let request = request::request(&self, file, &version, &chosen)?;
        if self.dry_run {
            let reply = session.client.dry_run(&request.json).await?;
            session.show(&reply, |reply| report::dry_run(reply, self.all))?;
            return Ok(if reply.fits { ExitCode::SUCCESS } else { Failure::Failed.into() });
        }
        self.confirm(request.strategy, &chosen)?;
        let reply = session.client.start_deployment(&request.json).await?;
        let drawn = session.format == Format::Table && stdout().is_terminal();
        if self.no_watch || !(self.watch || drawn) {
            begun(session, &reply)?;
            return Ok(ExitCode::SUCCESS);
        }
        watch(session, &reply.deployment_id.to_string()).await
    }

    /// The version as the repository writes it; an error that names the newest.
    async fn known_version(&self, session: &Session) -> anyhow::Result<String> {
        let known = session.client.operator_versions(&self.operator).await?;
        find(&known, &self.version).ok_or_else(|| Missing(unknown(&known, &self.version, session.now)).into())
    }

    /// Direct to production warns and asks.
    fn confirm(&self, strategy: Option<DeploymentStrategy>, chosen: &Chosen) -> anyhow::Result<()> {
        let strategy = strategy.unwrap_or_else(|| chosen.usual());
        let production = chosen.count(DeploymentEnvironment::Production);
        if strategy != DeploymentStrategy::Direct || production == 0 || self.yes {
            return Ok(());
        }
        let what = format!(
            "direct changes all {} at once, {production} of them in production, and stops nowhere in between",
            super::deployment::counted(chosen.names.len(), "cluster")
        );
        if !stdin().is_terminal() {
            bail!("{what}\n  if that is meant, add --yes; otherwise use --strategy canary");
        }
        eprintln!("warning: {what}");
        if prompt::line("go on? [y/N] ").is_ok_and(|answer| answer.eq_ignore_ascii_case("y")) {
            return Ok(());
        }
        bail!("nothing was begun; --strategy canary begins with a few clusters")
    }
}

fn find(known: &VersionsReply, wanted: &str) -> Option<String> {
    let bare = |version: &str| version.strip_prefix('v').unwrap_or(version).to_owned();
    let all = || known.versions.iter().chain(&known.pre_releases).map(|one| one.version.as_str());
    let exact = all().find(|version| *version == wanted);
    exact.or_else(|| all().find(|version| bare(version) == bare(wanted))).map(str::to_owned)
}

fn unknown(known: &VersionsReply, wanted: &str, now: Timestamp) -> String {
    let operator = &known.operator_name;
    let mut text = format!("{operator} has no version {wanted}");
    let newest: Vec<&str> = known.versions.iter().take(3).map(|one| one.version.as_str()).collect();
    if !newest.is_empty() {
        text.push_str(&format!("\n  newest are {}", newest.join(", ")));
        if let Some(checked) = known.checked_at {
            text.push_str(&format!(" (checked {})", ago(checked, now)));
        }
    }
    if let Some(error) = &known.check_error {
        text.push_str(&format!("\n  the repository could not be read the last time: {error}"));
    }
    text.push_str(&format!("\n  see all: slipway operator versions {operator}"));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn known() -> VersionsReply {
        let version = |version: &str| {
            json!({"version": version, "isLatest": false, "deprecated": false, "appVersion": null,
                "releaseDate": null, "changelogUrl": null, "digest": null, "archived": false})
        };
        let versions = ["v1.14.0", "v1.13.6", "v1.13.5", "v1.13.4"].map(version);
        serde_json::from_value(json!({
            "operatorName": "cert-manager", "currentVersion": null, "checkError": null,
            "checkedAt": "2026-11-15T12:00:00Z", "preReleases": [version("v1.15.0-alpha.1")],
            "versions": versions,
        }))
        .unwrap()
    }

    #[test]
    fn a_version_is_found_with_and_without_its_letter() {
        assert_eq!(find(&known(), "v1.13.5").as_deref(), Some("v1.13.5"));
        assert_eq!(find(&known(), "1.14.0").as_deref(), Some("v1.14.0"));
        assert_eq!(find(&known(), "1.15.0-alpha.1").as_deref(), Some("v1.15.0-alpha.1"));
        assert_eq!(find(&known(), "1.14"), None);
    }

    #[test]
    fn an_unknown_version_is_answered_with_the_newest() {
        let now = "2026-11-15T12:00:40Z".parse().unwrap();
        insta::assert_snapshot!(unknown(&known(), "v1.14.9", now), @r"
        cert-manager has no version v1.14.9
          newest are v1.14.0, v1.13.6, v1.13.5 (checked 40 seconds ago)
          see all: slipway operator versions cert-manager
        ");
    }

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        assert_eq!(share("0.95"), Ok(0.95));
        assert_eq!(share("95 %"), Ok(0.95));
        assert!(share("95").is_err() && share("0").is_err() && share("most").is_err());
    }
}
