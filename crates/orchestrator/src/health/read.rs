//! Showing the health of operators.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use slipway_domain::access::{Actor, Environment, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::{Cluster, State};
use slipway_domain::health::{FleetHealth, Verdict, fleet};
use slipway_domain::id::{ClusterId, OperatorId};
use slipway_domain::operator::Operator;

use super::check::{Occasion, is_there};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::{HealthRecord, HealthSample, Place};

/// So many clusters are looked at afresh for one request, so many at a time; of the others the last record
/// is shown.
const FRESH: usize = 32;
const AT_ONCE: usize = 8;

/// An operator on a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterView {
    /// The cluster.
    pub cluster_name: String,
    /// Where it stands.
    pub environment: Environment,
    /// The operator.
    pub operator_name: String,
    /// The version that is installed.
    pub version: Option<String>,
    /// What is known of it.
    pub record: HealthRecord,
    /// Whether it was looked at for this reply.
    pub fresh: bool,
}

/// An operator on all clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorView {
    /// The operator.
    pub operator_name: String,
    /// All clusters in one word, and counted.
    pub fleet: FleetHealth,
    /// Cluster by cluster, by name.
    pub clusters: Vec<ClusterView>,
}

/// An operator in the overview of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetView {
    /// The operator.
    pub operator_name: String,
    /// All its clusters in one word, and counted.
    pub fleet: FleetHealth,
}

impl Manager {
    /// How an operator is on one cluster: the last record, or as it is now.
    pub async fn operator_health_on(
        &self,
        actor: &Actor,
        cluster: &str,
        operator: &str,
        fresh: bool,
    ) -> Result<ClusterView, Error> {
        self.permit(actor, Permission::Read, "operator.health", &format!("operator/{operator}")).await?;
        let (cluster, operator) = self.cluster_and_operator(cluster, operator).await?;
        let versions = self.versions(Some(cluster.id), operator.id).await?;
        let Some(version) = versions.get(&cluster.id) else {
            return Err(Error::new(
                Code::NotFound,
                format!("{} is not installed on cluster {}", operator.name, cluster.name),
            ));
        };
        let place = Place { cluster: cluster.id, operator: operator.id };
        let record = self.health_record(place).await?;
        let view = ClusterView {
            cluster_name: cluster.name.to_string(),
            environment: cluster.environment,
            operator_name: operator.name.to_string(),
            version: Some(version.clone()),
            record,
            fresh: false,
        };
        if !fresh {
            return Ok(view);
        }
        let entry = AuditEntry::done(
            actor,
            "cluster.access",
            format!("cluster/{}", cluster.name),
            format!("looked at operator {} on the cluster", operator.name),
        );
        self.store().commit(Changeset::new().audit(entry)).await?;
        self.refreshed(&cluster, &operator, view).await
    }

    /// How an operator is on all clusters it is installed on.
    pub async fn operator_health(
        &self,
        actor: &Actor,
        operator: &str,
        fresh: bool,
    ) -> Result<OperatorView, Error> {
        self.permit(actor, Permission::Read, "operator.health", &format!("operator/{operator}")).await?;
        let operator = self.operator_named(operator).await?;
        let versions = self.versions(None, operator.id).await?;
        let mut records: BTreeMap<ClusterId, HealthRecord> = self
            .store()
            .operator_health_everywhere(operator.id)
            .await?
            .into_iter()
            .map(|record| (record.place.cluster, record))
            .collect();
        let mut views: Vec<(Cluster, ClusterView)> = Vec::new();
        for (id, version) in versions {
            let Some(cluster) = self.store().cluster(id).await? else { continue };
            let place = Place { cluster: id, operator: operator.id };
            let record = records.remove(&id).unwrap_or_else(|| HealthRecord::new(place));
            let view = ClusterView {
                cluster_name: cluster.name.to_string(),
                environment: cluster.environment,
                operator_name: operator.name.to_string(),
                version: Some(version),
                record,
                fresh: false,
            };
            views.push((cluster, view));
        }
        views.sort_by(|one, other| one.1.cluster_name.cmp(&other.1.cluster_name));
        let clusters = if fresh {
            let entry = AuditEntry::done(
                actor,
                "cluster.access",
                format!("operator/{}", operator.name),
                format!("looked at operator {} on {} clusters", operator.name, views.len().min(FRESH)),
            );
            self.store().commit(Changeset::new().audit(entry)).await?;
            self.all_refreshed(&operator, views).await?
        } else {
            views.into_iter().map(|(_, view)| view).collect()
        };
        Ok(OperatorView {
            operator_name: operator.name.to_string(),
            fleet: fleet(clusters.iter().map(|view| view.record.verdict())),
            clusters,
        })
    }

    /// All operators, in a word each: the worst first, then by name.
    pub async fn fleet_health(&self, actor: &Actor, window: Window) -> Result<Page<FleetView>, Error> {
        self.permit(actor, Permission::Read, "operator.health", "operators").await?;
        let mut counts: BTreeMap<OperatorId, Vec<Verdict>> = BTreeMap::new();
        for count in self.store().health_counts().await? {
            let verdicts = counts.entry(count.operator).or_default();
            verdicts.extend((0..count.clusters).map(|_| count.verdict));
        }
        let operators = self.store().all_operators().await?;
        let mut views: Vec<FleetView> = operators
            .into_iter()
            .map(|operator| FleetView {
                operator_name: operator.name.to_string(),
                fleet: fleet(counts.remove(&operator.id).unwrap_or_default()),
            })
            .collect();
        views.sort_by(|one, other| {
            (other.fleet.overall, &one.operator_name).cmp(&(one.fleet.overall, &other.operator_name))
        });
        let total = views.len() as u64;
        let offset = usize::try_from(window.offset).unwrap_or(usize::MAX);
        let items = views.into_iter().skip(offset).take(window.limit as usize).collect();
        Ok(Page { items, total, window })
    }

    /// How an operator was on a cluster, the newest first.
    pub async fn operator_health_history(
        &self,
        actor: &Actor,
        cluster: &str,
        operator: &str,
        only_changes: bool,
        window: Window,
    ) -> Result<Page<HealthSample>, Error> {
        self.permit(actor, Permission::Read, "operator.health", &format!("operator/{operator}")).await?;
        let (cluster, operator) = self.cluster_and_operator(cluster, operator).await?;
        let place = Place { cluster: cluster.id, operator: operator.id };
        Ok(self.store().health_history(place, only_changes, window).await?)
    }

    /// The same views, looked at anew where that is possible.
    async fn all_refreshed(
        &self,
        operator: &Operator,
        views: Vec<(Cluster, ClusterView)>,
    ) -> Result<Vec<ClusterView>, Error> {
        let looks: Vec<_> = views
            .into_iter()
            .enumerate()
            .map(|(index, (cluster, view))| async move {
                if index < FRESH { self.refreshed(&cluster, operator, view).await } else { Ok(view) }
            })
            .collect();
        let looked: Vec<Result<ClusterView, Error>> =
            futures::stream::iter(looks).buffered(AT_ONCE).collect().await;
        looked.into_iter().collect()
    }

    async fn refreshed(
        &self,
        cluster: &Cluster,
        operator: &Operator,
        view: ClusterView,
    ) -> Result<ClusterView, Error> {
        if cluster.state != State::Enabled {
            return Ok(view);
        }
        let Some(target) = self.health_target(cluster, operator).await? else { return Ok(view) };
        let checked = self.check_health(&target, &view.record, Occasion::Asked).await?;
        Ok(ClusterView { record: checked.record, fresh: true, ..view })
    }

    /// Where an operator is installed, with its version there.
    async fn versions(
        &self,
        cluster: Option<ClusterId>,
        operator: OperatorId,
    ) -> Result<BTreeMap<ClusterId, String>, Error> {
        let installed = self.store().installations(cluster, Some(operator)).await?;
        let installed = installed.into_iter().filter(is_there);
        Ok(installed.map(|installation| (installation.cluster_id, installation.seen.version)).collect())
    }

    pub(crate) async fn cluster_and_operator(
        &self,
        cluster: &str,
        operator: &str,
    ) -> Result<(Cluster, Operator), Error> {
        let named = match cluster.parse() {
            Ok(name) => self.store().cluster_by_name(&name).await?,
            Err(_) => None,
        };
        let cluster = named.ok_or_else(|| Error::not_found(Code::ClusterNotFound, "cluster", cluster))?;
        Ok((cluster, self.operator_named(operator).await?))
    }

    async fn operator_named(&self, operator: &str) -> Result<Operator, Error> {
        let named = match operator.parse() {
            Ok(name) => self.store().operator_by_name(&name).await?,
            Err(_) => None,
        };
        named.ok_or_else(|| Error::not_found(Code::OperatorNotFound, "operator", operator))
    }
}
