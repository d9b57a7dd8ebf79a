//! Where operators are installed: found on clusters, and handed to Slipway.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, State};
use slipway_domain::event::{Event, Topic};
use slipway_domain::health::Verdict;
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::name::Name;
use slipway_domain::operator::{
    Installation, InstallationState, Manager as Managed, Operator, Seen, match_operator,
};
use zeroize::Zeroizing;

use super::{news, resource};
use crate::changes::{Changeset, Fence};
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::releases::{FoundRelease, ReleasesError};
use crate::ports::store::{OperatorWrite, Sealed};
use crate::rollouts::WhichDrift;

/// Where an operator is installed.
#[derive(Debug, Clone, PartialEq)]
pub struct DeployedCluster {
    /// The cluster's name.
    pub cluster: String,
    /// The installation.
    pub installation: Installation,
    /// How the operator is there.
    pub health: Verdict,
}

/// What is installed on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallationView {
    /// The name of the operator it belongs to.
    pub operator: Option<Name>,
    /// The installation.
    pub installation: Installation,
}

/// What became of a look at a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// What is installed is known.
    Seen,
    /// The cluster takes no part; what was known stays.
    Disabled,
    /// There is no such cluster any more.
    Gone,
}

impl Manager {
    /// What is installed on a cluster, as it was last seen.
    pub async fn cluster_installations(
        &self,
        actor: &Actor,
        cluster: &str,
    ) -> Result<Vec<InstallationView>, Error> {
        self.permit(actor, Permission::Read, "cluster.installations", &format!("cluster/{cluster}")).await?;
        let cluster = self.named_cluster(cluster).await?;
        self.installation_views(cluster.id).await
    }

    /// Looks at a cluster now.
    pub async fn discover_cluster(
        &self,
        actor: &Actor,
        cluster: &str,
    ) -> Result<Vec<InstallationView>, Error> {
        let resource = format!("cluster/{cluster}");
        self.permit(actor, Permission::ManageOperators, "cluster.discover", &resource).await?;
        let found = self.named_cluster(cluster).await?;
        let message = format!("looked for releases on {cluster}");
        let entry = AuditEntry::done(actor, "cluster.discover", resource, message);
        self.store().commit(Changeset::new().audit(entry)).await?;
        if self.discover(found.id, None).await? != Looked::Seen {
            return Err(Error::new(
                Code::Conflict,
                format!("{cluster} is disabled; enable it to look at it"),
            ));
        }
        self.look_for_drift(found.id, WhichDrift::All).await?;
        self.installation_views(found.id).await
    }

    /// Hands a release that helm installed to Slipway: rollouts may change it from then on. Nothing on the
    /// cluster is touched.
    pub async fn adopt(
        &self,
        actor: &Actor,
        operator: &str,
        cluster: &str,
        release: Option<&str>,
    ) -> Result<DeployedCluster, Error> {
        self.permit(actor, Permission::ManageOperators, "operator.adopt", &resource(operator)).await?;
        let operator = self.find_operator(operator).await?;
        let cluster = self.named_cluster(cluster).await?;
        self.discover(cluster.id, None).await?;
        let candidates = self.store().installations(Some(cluster.id), None).await?;
        let installation = adoptable(&operator, cluster.name.as_str(), release, candidates)?;
        let at = self.now();
        let write = OperatorWrite::Adopt {
            cluster: cluster.id,
            namespace: installation.seen.namespace.clone(),
            release: installation.seen.release.clone(),
            operator: operator.id,
            by: actor.name.clone(),
            at,
        };
        let message = format!(
            "adopted the release {}/{} of {} {} on {}",
            installation.seen.namespace,
            installation.seen.release,
            operator.name,
            installation.seen.version,
            cluster.name
        );
        let mut changes = Changeset::new()
            .write(write)
            .audit(AuditEntry::done(actor, "operator.adopt", resource(operator.name.as_str()), message))
            .tell(news(&operator.name, "adopted", json!({ "cluster": cluster.name })));
        // What the fleet is on is not known yet: this is the first that is known of it.
        if operator.current_version.is_none()
            && let Ok(version) = installation.seen.version.parse()
        {
            let mut changed = operator.clone();
            changed.current_version = Some(version);
            changed.updated_at = at;
            changed.revision += 1;
            changes = changes.write(OperatorWrite::Change {
                operator: Box::new(changed),
                revision: operator.revision,
                credentials: None,
            });
        }
        self.store().commit(changes).await?;
        let this = |found: &DeployedCluster| {
            let (is, was) = (&found.installation, &installation);
            is.cluster_id == was.cluster_id
                && is.seen.namespace == was.seen.namespace
                && is.seen.release == was.seen.release
        };
        let stale = || Error::from(StoreError::Stale { what: "the release".to_owned() });
        self.deployed(&operator).await?.into_iter().find(this).ok_or_else(stale)
    }

    /// The values that somebody gave to an installation, for planning its next change. They may hold
    /// secrets: they are for rendering, not for showing.
    pub async fn installed_values(&self, installation: &Installation) -> Result<Map<String, Value>, Error> {
        let seen = &installation.seen;
        let sealed =
            self.store().installation_values(installation.cluster_id, &seen.namespace, &seen.release).await?;
        let Some(Sealed(sealed)) = sealed else { return Ok(Map::new()) };
        let context = context(installation.cluster_id, &seen.namespace, &seen.release);
        let plain =
            self.parts.keyring.open(&context, &sealed).map_err(|error| {
                Error::new(Code::Unavailable, "the values cannot be opened").caused_by(error)
            })?;
        serde_json::from_slice(&plain)
            .map_err(|_| Error::new(Code::InternalError, "the values that were kept cannot be read"))
    }

    /// The names of the registered operators that are installed on a cluster.
    pub(crate) async fn operators_on(&self, cluster: ClusterId) -> Result<Vec<String>, Error> {
        let views = self.installation_views(cluster).await?;
        let mut names: Vec<String> =
            views.iter().filter_map(|view| view.operator.as_ref().map(ToString::to_string)).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Where an operator is installed, by the cluster's name.
    pub(super) async fn deployed(&self, operator: &Operator) -> Result<Vec<DeployedCluster>, Error> {
        let installations = self.store().installations(None, Some(operator.id)).await?;
        if installations.is_empty() {
            return Ok(Vec::new());
        }
        let health: BTreeMap<ClusterId, Verdict> = self
            .store()
            .operator_health_everywhere(operator.id)
            .await?
            .into_iter()
            .filter_map(|record| Some((record.place.cluster, record.health?.verdict)))
            .collect();
        let mut names: BTreeMap<ClusterId, String> = BTreeMap::new();
        let mut deployed = Vec::new();
        for installation in installations {
            let id = installation.cluster_id;
            if let std::collections::btree_map::Entry::Vacant(vacant) = names.entry(id) {
                let Some(cluster) = self.store().cluster(id).await? else { continue };
                vacant.insert(cluster.name.to_string());
            }
            if let Some(cluster) = names.get(&id) {
                let health = health.get(&id).copied().unwrap_or_default();
                deployed.push(DeployedCluster { cluster: cluster.clone(), installation, health });
            }
        }
        deployed.sort_by(|a, b| a.cluster.cmp(&b.cluster));
        Ok(deployed)
    }

    /// Looks at a cluster and writes down what is new, changed or gone.
    pub(super) async fn discover(&self, id: ClusterId, fence: Option<Fence>) -> Result<Looked, Error> {
        let Some(cluster) = self.store().cluster(id).await? else { return Ok(Looked::Gone) };
        if cluster.state != State::Enabled {
            return Ok(Looked::Disabled);
        }
        let found = self.parts.releases.discover(id).await.map_err(|error| unreadable(&cluster, error))?;
        let known = self.store().installations(Some(id), None).await?;
        // Most of the time on most clusters; there may be hundreds of operators.
        if found.is_empty() && known.is_empty() {
            return Ok(Looked::Seen);
        }
        let operators = self.store().all_operators().await?;
        let changes = self.compared(&cluster, found, &known, &operators)?;
        if !changes.rows.is_empty() {
            self.store().commit(Changeset { fence, ..changes }).await?;
        }
        Ok(Looked::Seen)
    }

    /// What has to be written so that what is known is what was found.
    fn compared(
        &self,
        cluster: &Cluster,
        found: Vec<FoundRelease>,
        known: &[Installation],
        operators: &[Operator],
    ) -> Result<Changeset, Error> {
        let at = self.now();
        let mut changes = Changeset::new();
        let same = |installation: &&Installation, seen: &Seen| {
            installation.seen.namespace == seen.namespace && installation.seen.release == seen.release
        };
        for gone in known.iter().filter(|known| !found.iter().any(|found| same(known, &found.seen))) {
            changes = changes.write(OperatorWrite::Gone {
                cluster: cluster.id,
                namespace: gone.seen.namespace.clone(),
                release: gone.seen.release.clone(),
            });
            if let Some(operator) = name_of(operators, gone.operator_id) {
                changes = changes.tell(told(cluster, operator, "operatorGone", &gone.seen));
            }
        }
        for FoundRelease { mut seen, values } in found {
            let before = known.iter().find(|known| same(known, &seen));
            seen.managed_by = Managed::after(before.map(|before| before.seen.managed_by), seen.managed_by);
            let operator = match before.and_then(|before| before.adopted_at.and(before.operator_id)) {
                // What was adopted belongs to whom it was adopted for.
                Some(operator) => Some(operator),
                None => match_operator(operators, &seen.chart, &seen.namespace),
            };
            let unchanged =
                before.is_some_and(|before| before.seen == kept(&seen) && before.operator_id == operator);
            if unchanged {
                continue;
            }
            if let Some(name) = name_of(operators, operator) {
                let kind = match before {
                    None => "operatorFound",
                    Some(before) if before.operator_id != operator => "operatorFound",
                    Some(_) => "operatorChanged",
                };
                changes = changes.tell(told(cluster, name, kind, &seen));
            }
            let values = operator.map(|_| self.sealed_values(cluster.id, &seen, &values)).transpose()?;
            changes = changes.write(OperatorWrite::Seen {
                cluster: cluster.id,
                operator,
                seen: Box::new(seen),
                values,
                at,
            });
        }
        Ok(changes)
    }

    fn sealed_values(
        &self,
        cluster: ClusterId,
        seen: &Seen,
        values: &Map<String, Value>,
    ) -> Result<Sealed, Error> {
        let failed = || Error::new(Code::InternalError, "the values of a release could not be sealed");
        let plain = Zeroizing::new(serde_json::to_vec(values).map_err(|_| failed())?);
        let sealed = self.parts.keyring.seal(&context(cluster, &seen.namespace, &seen.release), &plain);
        sealed.map(Sealed).map_err(|error| failed().caused_by(error))
    }

    async fn installation_views(&self, cluster: ClusterId) -> Result<Vec<InstallationView>, Error> {
        let installations = self.store().installations(Some(cluster), None).await?;
        let operators = self.store().all_operators().await?;
        let view = |installation: Installation| InstallationView {
            operator: name_of(&operators, installation.operator_id).cloned(),
            installation,
        };
        Ok(installations.into_iter().map(view).collect())
    }

    async fn named_cluster(&self, name: &str) -> Result<Cluster, Error> {
        let missing = || Error::not_found(Code::ClusterNotFound, "cluster", name);
        let parsed: Name = name.parse().map_err(|_| missing())?;
        self.store().cluster_by_name(&parsed).await?.ok_or_else(missing)
    }
}

/// The release that is meant, if it may be adopted.
fn adoptable(
    operator: &Operator,
    cluster: &str,
    release: Option<&str>,
    candidates: Vec<Installation>,
) -> Result<Installation, Error> {
    let (namespace, wanted) = match release.map(|release| release.split_once('/').ok_or(release)) {
        Some(Ok((namespace, name))) => (Some(namespace), Some(name)),
        Some(Err(name)) => (None, Some(name)),
        None => (None, None),
    };
    let mut fitting: Vec<Installation> = candidates
        .into_iter()
        .filter(|installation| {
            let seen = &installation.seen;
            seen.chart == operator.chart.chart.as_str()
                && wanted.is_none_or(|wanted| seen.release == wanted)
                && namespace.is_none_or(|namespace| seen.namespace == namespace)
        })
        .collect();
    if fitting.len() > 1 && wanted.is_none() {
        // The operator's own namespace is what is meant, unless somebody says otherwise.
        fitting.retain(|installation| installation.seen.namespace == operator.namespace.as_str());
    }
    let conflict = |message: String| Error::new(Code::Conflict, message);
    let chart = &operator.chart.chart;
    let Some(installation) = fitting.pop() else {
        let what = release.map_or_else(String::new, |release| format!(" called {release}"));
        return Err(Error::new(
            Code::NotFound,
            format!("{cluster} has no release{what} of the chart {chart}"),
        ));
    };
    if !fitting.is_empty() {
        return Err(conflict(format!(
            "{cluster} has several releases of the chart {chart}; say which: --release NAMESPACE/NAME"
        )));
    }
    let seen = &installation.seen;
    let which = format!("{}/{} on {cluster}", seen.namespace, seen.release);
    match seen.managed_by {
        Managed::ArgoCd | Managed::Flux | Managed::Olm => {
            let reference =
                seen.manager_reference.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
            return Err(conflict(format!(
                "{which} is managed by {}{reference}, which would undo what Slipway does; remove it there first, keeping what is installed",
                seen.managed_by
            )));
        }
        Managed::Slipway => return Err(conflict(format!("{which} is managed by Slipway already"))),
        Managed::Helm => {}
    }
    match seen.state {
        InstallationState::Deployed | InstallationState::Failed => Ok(installation),
        InstallationState::Pending => Err(conflict(format!(
            "{which} is in the middle of a change, or that was killed; finish it with helm first"
        ))),
        _ => Err(conflict(format!("{which} is not installed any more"))),
    }
}

fn name_of(operators: &[Operator], id: Option<OperatorId>) -> Option<&Name> {
    operators.iter().find(|operator| Some(operator.id) == id).map(|operator| &operator.name)
}

fn told(cluster: &Cluster, operator: &Name, kind: &str, seen: &Seen) -> Event {
    let data = json!({
        "operator": operator,
        "version": seen.version,
        "namespace": seen.namespace,
        "release": seen.release,
        "managedBy": seen.managed_by.word(),
    });
    Event { topic: Topic::Cluster, subject: cluster.name.to_string(), kind: kind.to_owned(), data }
}

/// As it is when it is read again: the database keeps microseconds.
fn kept(seen: &Seen) -> Seen {
    let mut seen = seen.clone();
    seen.deployed_at = seen.deployed_at.map(|at: Timestamp| at.round(jiff::Unit::Microsecond).unwrap_or(at));
    seen
}

/// The context that values are sealed in.
pub(super) fn context(cluster: ClusterId, namespace: &str, release: &str) -> String {
    format!("installation/{cluster}/{namespace}/{release}")
}

fn unreadable(cluster: &Cluster, error: ReleasesError) -> Error {
    let message = format!("what is installed on {} cannot be read: {error}", cluster.name);
    Error::new(Code::ClusterUnreachable, message).caused_by(error)
}
