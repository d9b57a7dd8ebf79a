//! `slipway operator`: what is registered, what there is of it, and where it runs.

mod add;
mod input;
mod installed;
mod show;
mod update;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use slipway_contract::operators::{
    AdoptRelease, OperatorReply, OperatorsQuery, OperatorsReply, VersionReply, VersionsReply,
};

use super::health::OperatorHealth;
use super::relative::ago;
use super::session::Session;
use super::table::{Cell, Tone, facts, table};
use add::Add;
pub(super) use input::values;
use installed::Installed;
use update::{ProfileCommand, Update};

#[derive(Debug, Subcommand)]
pub(crate) enum OperatorCommand {
    /// Register an operator from a chart repository.
    ///
    /// The repository is asked for the chart first, and its newest archive is fetched and checked.
    Add(Box<Add>),
    /// List operators.
    #[command(visible_alias = "ls")]
    List(List),
    /// Show an operator and where it is installed.
    Show(Named),
    /// List the versions that the repository offers, the newest first.
    Versions(Versions),
    /// Change an operator; what is not named stays.
    Update(Box<Update>),
    /// Forget an operator that is installed nowhere. No cluster is touched.
    #[command(visible_alias = "rm")]
    Remove(Named),
    /// Hand a release that helm installed to Slipway. Nothing on the cluster is touched.
    ///
    /// A release that Argo CD, Flux or OLM manages is refused: that tool would undo what Slipway does.
    Adopt(Adopt),
    /// List what is installed on a cluster: by helm, Argo CD, Flux, OLM or Slipway.
    Installed(Installed),
    /// Show or set what has to be known to roll an operator out.
    Profile(ProfileCommand),
    /// Show how an operator is on its clusters, and why.
    Health(OperatorHealth),
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The operator's name.
    name: String,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only of this namespace.
    #[arg(long, short = 'n', value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Only with this label; may be repeated.
    #[arg(long, short = 'l', value_name = "KEY=VALUE")]
    label: Vec<String>,
    /// Only those with a newer version in their repository.
    #[arg(long)]
    has_update: bool,
    /// How many at most, 1 to 100.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: i64,
    /// After how many.
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    offset: i64,
}

#[derive(Debug, Args)]
pub(crate) struct Versions {
    /// The operator's name.
    name: String,
    /// Read the repository now.
    #[arg(long)]
    refresh: bool,
    /// Show pre-releases, too.
    #[arg(long)]
    pre_releases: bool,
    /// Show all, not only the newest fifteen.
    #[arg(long)]
    all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Adopt {
    /// The operator's name.
    name: String,
    /// The cluster that has the release.
    #[arg(long, value_name = "CLUSTER")]
    cluster: String,
    /// The release, where several could be meant.
    #[arg(long, value_name = "[NAMESPACE/]NAME")]
    release: Option<String>,
}

impl OperatorCommand {
    pub(crate) async fn run(self, session: &Session) -> anyhow::Result<()> {
        match self {
            Self::Add(add) => add.run(session).await,
            Self::List(list) => list.run(session).await,
            Self::Show(named) => show::run(&named.name, session).await,
            Self::Versions(versions) => versions.run(session).await,
            Self::Update(update) => update.run(session).await,
            Self::Remove(named) => {
                session.client.remove_operator(&named.name).await?;
                session.say(&format!("{} is forgotten; no cluster was touched", named.name))
            }
            Self::Adopt(adopt) => adopt.run(session).await,
            Self::Installed(installed) => installed.run(session).await,
            Self::Profile(command) => command.run(session).await,
            Self::Health(command) => command.run(session).await,
        }
    }
}

impl List {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let query = OperatorsQuery {
            namespace: self.namespace,
            label: (!self.label.is_empty()).then(|| self.label.join(",")),
            has_update: self.has_update.then_some(true),
            limit: Some(self.limit),
            offset: Some(self.offset),
        };
        let reply = session.client.operators(&query).await?;
        session.show(&reply, listed)
    }
}

fn listed(reply: &OperatorsReply) -> String {
    let mut text = table(
        &["NAME", "NAMESPACE", "CURRENT", "LATEST", "CLUSTERS"],
        reply.operators.iter().map(row),
        "no operators; add one: slipway operator add NAME --repository URL",
    );
    if let Some(next) = reply.page.next_offset {
        let more = reply.page.total.saturating_sub(next);
        text.push_str(&format!("{more} more: slipway operator list --offset {next}\n"));
    }
    text
}

fn row(operator: &OperatorReply) -> Vec<Cell> {
    let latest = operator.latest_version.clone().map_or_else(
        || Cell::new("-", Tone::Quiet),
        |latest| Cell::new(latest, if operator.has_update { Tone::Warning } else { Tone::Plain }),
    );
    vec![
        (&operator.name).into(),
        (&operator.namespace).into(),
        operator.current_version.clone().into(),
        latest,
        operator.deployed_cluster_count.to_string().into(),
    ]
}

impl Versions {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let reply = if self.refresh {
            session.client.refresh_operator(&self.name).await?
        } else {
            session.client.operator_versions(&self.name).await?
        };
        session.show(&reply, |reply| self.text(reply, session.now))
    }

    fn text(&self, reply: &VersionsReply, now: Timestamp) -> String {
        let most = if self.all { usize::MAX } else { 15 };
        let before = reply.pre_releases.iter().filter(|_| self.pre_releases).map(|version| (version, true));
        let released = reply.versions.iter().map(|version| (version, false));
        let rows = before.take(most).chain(released.take(most));
        let rows = rows.map(|(version, before)| version_row(version, before, reply, now));
        let mut text = table(
            &["VERSION", "RELEASED", "", "CHANGES"],
            rows,
            "the repository offers no released version; see --pre-releases\n",
        );
        let hidden = reply.versions.len().saturating_sub(most);
        let mut notes = Vec::new();
        if hidden > 0 {
            notes.push(format!("{hidden} older: --all"));
        }
        if !self.pre_releases && !reply.pre_releases.is_empty() {
            let count = reply.pre_releases.len();
            notes.push(format!("{count} pre-release{}: --pre-releases", if count == 1 { "" } else { "s" }));
        }
        if let Some(checked) = reply.checked_at {
            notes.push(format!("repository read {}", ago(checked, now)));
        }
        if !notes.is_empty() {
            text.push_str(&format!("{}\n", notes.join(", ")));
        }
        if let Some(error) = &reply.check_error {
            text.push_str(&format!("the last look failed: {error}\n"));
        }
        text
    }
}

fn version_row(version: &VersionReply, before: bool, reply: &VersionsReply, now: Timestamp) -> Vec<Cell> {
    let mut marks = Vec::new();
    if reply.current_version.as_deref() == Some(&version.version) {
        marks.push("current");
    }
    if version.is_latest {
        marks.push("latest");
    }
    if before {
        marks.push("pre-release");
    }
    if version.deprecated {
        marks.push("deprecated");
    }
    let tone = if version.deprecated { Tone::Warning } else { Tone::Good };
    vec![
        (&version.version).into(),
        version.release_date.map(|date| ago(date, now)).into(),
        Cell::new(marks.join(", "), tone),
        Cell::new(version.changelog_url.clone().unwrap_or_default(), Tone::Quiet),
    ]
}

impl Adopt {
    async fn run(self, session: &Session) -> anyhow::Result<()> {
        let asked = AdoptRelease { cluster_name: self.cluster, release: self.release };
        let adopted = session.client.adopt(&self.name, &asked).await?;
        session.show(&adopted, |adopted| {
            format!(
                "{} {} on {} is managed by Slipway now\n{}",
                self.name,
                adopted.version,
                adopted.cluster_name,
                facts([
                    ("release", format!("{}/{}", adopted.namespace, adopted.release).into()),
                    ("revision", adopted.revision.to_string().into()),
                ])
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-11-15T12:00:00Z";

    #[test]
    fn operators_are_a_line_each_and_what_is_left_is_said() {
        let operator = |name: &str, current: Value, latest: Value, has_update: bool, clusters: u32| {
            json!({
                "operatorId": "018f3f3e-0000-7000-8000-000000000000", "name": name, "namespace": name,
                "currentVersion": current, "latestVersion": latest, "hasUpdate": has_update,
                "deployedClusterCount": clusters, "createdAt": NOW,
            })
        };
        let reply: OperatorsReply = serde_json::from_value(json!({
            "operators": [
                operator("cert-manager", json!("v1.13.2"), json!("v1.14.0"), true, 12),
                operator("kafka", json!(null), json!(null), false, 0),
            ],
            "total": 9, "limit": 2, "offset": 0, "hasMore": true, "nextOffset": 2,
        }))
        .unwrap();
        insta::assert_snapshot!(listed(&reply), @r"
        NAME          NAMESPACE     CURRENT  LATEST   CLUSTERS
        cert-manager  cert-manager  v1.13.2  v1.14.0  12
        kafka         kafka         -        -        0
        7 more: slipway operator list --offset 2
        ");
    }

    #[test]
    fn versions_are_told_with_pre_releases_apart() {
        let version = |version: &str, date: Value, latest: bool, deprecated: bool| {
            json!({
                "version": version, "releaseDate": date, "isLatest": latest, "deprecated": deprecated,
                "changelogUrl": format!("https://example.com/{version}"), "appVersion": null,
            })
        };
        let reply: VersionsReply = serde_json::from_value(json!({
            "operatorName": "cert-manager", "currentVersion": "v1.13.2",
            "versions": [
                version("v1.14.0", json!("2026-11-13T12:00:00Z"), true, false),
                version("v1.13.2", json!("2026-08-15T12:00:00Z"), false, false),
                version("v1.13.1", json!(null), false, true),
            ],
            "preReleases": [version("v1.15.0-rc.1", json!("2026-11-15T11:00:00Z"), false, false)],
            "checkedAt": "2026-11-15T11:50:00Z", "checkError": null,
        }))
        .unwrap();
        let versions = |pre_releases| Versions {
            name: "cert-manager".to_owned(),
            refresh: false,
            pre_releases,
            all: false,
        };
        let now = NOW.parse().unwrap();
        insta::assert_snapshot!(versions(false).text(&reply, now), @r"
        VERSION  RELEASED                  CHANGES
        v1.14.0  2 days ago    latest      https://example.com/v1.14.0
        v1.13.2  3 months ago  current     https://example.com/v1.13.2
        v1.13.1  -             deprecated  https://example.com/v1.13.1
        1 pre-release: --pre-releases, repository read 10 minutes ago
        ");
        let failed = VersionsReply { check_error: Some("it answers 503".to_owned()), ..reply };
        insta::assert_snapshot!(versions(true).text(&failed, now), @r"
        VERSION       RELEASED                   CHANGES
        v1.15.0-rc.1  1 hour ago    pre-release  https://example.com/v1.15.0-rc.1
        v1.14.0       2 days ago    latest       https://example.com/v1.14.0
        v1.13.2       3 months ago  current      https://example.com/v1.13.2
        v1.13.1       -             deprecated   https://example.com/v1.13.1
        repository read 10 minutes ago
        the last look failed: it answers 503
        ");
    }
}
