//! What an operator's repository offers.

use serde_json::json;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::operator::{ChartVersion, Operator, Standing, newest_stable};
use slipway_domain::version::Version;

use super::{news, resource};
use crate::changes::{Changeset, Fence};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::charts::{Freshness, Rendering};
use crate::ports::store::{KnownVersion, OperatorWrite};

/// A version in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct VersionRow {
    /// It.
    pub known: KnownVersion,
    /// How it stands among the others.
    pub standing: Standing,
}

/// What is offered of an operator, the newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Offered {
    /// The operator.
    pub operator: Operator,
    /// Its versions, without those that are not offered any more.
    pub versions: Vec<VersionRow>,
}

/// How many versions at once are looked into; a repository that is read for the first time has hundreds.
const MOST_LOOKED_INTO: usize = 5;
/// How many of the newest released versions are looked into, whether or not anybody uses the operator.
const NEWEST: usize = 10;
/// How many versions of an operator are looked into in all, however old what is in use.
const MOST_EVER: usize = 100;

impl Manager {
    /// The versions of an operator, as its repository offered them when it was last read.
    pub async fn operator_versions(&self, actor: &Actor, name: &str) -> Result<Offered, Error> {
        self.permit(actor, Permission::Read, "operator.versions", &resource(name)).await?;
        let operator = self.find_operator(name).await?;
        self.offered(operator).await
    }

    /// Reads an operator's repository now.
    pub async fn refresh_operator(&self, actor: &Actor, name: &str) -> Result<Offered, Error> {
        self.permit(actor, Permission::ManageOperators, "operator.refresh", &resource(name)).await?;
        let operator = self.find_operator(name).await?;
        let entry = AuditEntry::done(
            actor,
            "operator.refresh",
            resource(name),
            format!("read the versions of {name} from {}", operator.chart.repository.host()),
        );
        self.store().commit(Changeset::new().audit(entry)).await?;
        self.refresh_versions(&operator, None).await?;
        let operator = self.find_operator(name).await?;
        self.offered(operator).await
    }

    async fn offered(&self, operator: Operator) -> Result<Offered, Error> {
        let known = self.store().operator_versions(operator.id).await?;
        let latest = operator.latest_version.clone();
        let versions = known
            .into_iter()
            .filter(|known| known.withdrawn_at.is_none())
            .map(|known| VersionRow { standing: known.offered.standing(latest.as_ref()), known })
            .collect();
        Ok(Offered { operator, versions })
    }

    /// Reads an operator's repository and writes down what is new. An error of the repository is written
    /// down too, and comes back.
    pub(super) async fn refresh_versions(
        &self,
        operator: &Operator,
        fence: Option<Fence>,
    ) -> Result<(), Error> {
        let access = self.repository_access(operator).await?;
        let at = self.now();
        let mut changes = Changeset { fence, ..Changeset::new() };
        let offered = match self.parts.charts.versions(&operator.chart, &access, Freshness::Now).await {
            Ok(offered) => offered,
            Err(error) => {
                let reason = error.to_string();
                if operator.check_error.as_deref() != Some(&reason) {
                    changes =
                        changes.tell(news(&operator.name, "repositoryFailed", json!({ "reason": reason })));
                }
                changes = changes.write(OperatorWrite::OfferUnknown { id: operator.id, reason, at });
                self.store().commit(changes).await?;
                return Err(super::access::problem(error));
            }
        };
        let known = self.store().operator_versions(operator.id).await?;
        let latest = newest_stable(&offered).map(|newest| newest.version.clone());
        for version in new_versions(&offered, &known) {
            let facts = json!({
                "version": version.version,
                "preRelease": version.version.is_prerelease(),
                "isLatest": latest.as_ref() == Some(&version.version),
                "changelogUrl": version.changelog_url,
            });
            changes = changes.tell(news(&operator.name, "newVersion", facts));
        }
        changes = changes.write(OperatorWrite::Offer { id: operator.id, versions: offered, latest, at });
        self.store().commit(changes).await?;
        Ok(())
    }

    /// Looks into versions that have not been looked into: archives are kept, definitions recorded. What
    /// fails is tried again the next time. Whether there is more to do.
    pub(super) async fn look_into_versions(&self, actor: &Actor, operator: &Operator) -> Result<bool, Error> {
        let known = self.store().operator_versions(operator.id).await?;
        let installed = self.store().installations(None, Some(operator.id)).await?;
        let installed: Vec<Version> =
            installed.iter().filter_map(|installation| installation.seen.version.parse().ok()).collect();
        let waiting = to_look_into(operator, &known, &installed);
        let mut failed = None;
        for version in waiting.iter().take(MOST_LOOKED_INTO) {
            if let Err(error) = self.look_into(actor, operator, version).await {
                tracing::warn!(
                    operatorName = %operator.name, version = %version, error = &error as &dyn std::error::Error,
                    "a version could not be looked into"
                );
                failed = Some(error);
            }
        }
        failed.map_or(Ok(waiting.len() > MOST_LOOKED_INTO), Err)
    }

    async fn look_into(&self, actor: &Actor, operator: &Operator, version: &Version) -> Result<(), Error> {
        let archive = self.operator_archive(operator, version).await?;
        let rendering = Rendering {
            release: operator.name.as_str(),
            namespace: operator.namespace.as_str(),
            values: &operator.default_values,
        };
        let contents = self.parts.charts.open(&archive, rendering).await.map_err(super::access::problem)?;
        if let Some(reason) = &contents.not_rendered {
            tracing::warn!(operatorName = %operator.name, version = %version, reason, "a chart cannot be rendered");
        }
        let names = super::archives::names_of(&contents.crds);
        self.record_crds(actor, &operator.name, version, contents.crds).await?;
        let recorded =
            OperatorWrite::CrdsRecorded { id: operator.id, version: version.clone(), at: self.now() };
        let mut changes = Changeset::new().write(recorded);
        if operator.crd_names.is_empty() && !names.is_empty() {
            changes = changes.write(OperatorWrite::CrdNames { id: operator.id, names });
        }
        self.store().commit(changes).await?;
        Ok(())
    }
}

/// The versions that wait to be looked into, what matters most first: what is in use, the newest of all and
/// the newest release, the oldest of them first; then every release that somebody could go to, the newest
/// first.
fn to_look_into(operator: &Operator, known: &[KnownVersion], installed: &[Version]) -> Vec<Version> {
    let offered = || known.iter().filter(|known| known.withdrawn_at.is_none());
    let in_use: Vec<&Version> = operator.current_version.iter().chain(installed).collect();
    let newest = offered().next().map(|known| &known.offered.version);
    let mut wanted: Vec<&Version> = in_use.clone();
    wanted.extend(operator.latest_version.iter().chain(newest));
    wanted.sort();
    let oldest = in_use.into_iter().min();
    let released = offered().map(|known| &known.offered.version).filter(|version| !version.is_prerelease());
    let further = released
        .enumerate()
        .filter(|(place, version)| *place < NEWEST || oldest.is_some_and(|oldest| *version > oldest));
    wanted.extend(further.map(|(_, version)| version).take(MOST_EVER));
    let mut waiting: Vec<Version> = Vec::new();
    for version in wanted {
        let found = known.iter().find(|known| known.offered.version == *version);
        let is_due = found.is_some_and(|known| known.crds_recorded_at.is_none());
        if is_due && !waiting.contains(version) {
            waiting.push(version.clone());
        }
    }
    waiting
}

/// Those that were not known; none where nothing was known, since then all are.
fn new_versions<'a>(offered: &'a [ChartVersion], known: &[KnownVersion]) -> Vec<&'a ChartVersion> {
    if known.is_empty() {
        return Vec::new();
    }
    let is_new =
        |version: &&ChartVersion| !known.iter().any(|known| known.offered.version == version.version);
    offered.iter().filter(is_new).take(20).collect()
}
