//! Taking an operator away from a cluster, and letting go of one without touching it.

use slipway_domain::access::{Actor, Permission};
use slipway_domain::audit::AuditEntry;
use slipway_domain::cluster::Cluster;
use slipway_domain::id::RolloutId;
use slipway_domain::operator::{Installation, InstallationState, Manager as Managed, Operator};
use slipway_domain::settings::policy::CrdPolicy;
use uuid::Uuid;

use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::discovery;
use crate::ports::charts::Archive;
use crate::ports::fleet::{FleetError, Placement, Removal, Subject};
use crate::ports::probes::ReleaseAt;
use crate::ports::store::OperatorWrite;

impl Manager {
    /// Takes an operator away from a cluster. CRDs and custom resources stay unless told otherwise. What was
    /// left, in words.
    pub async fn uninstall_operator(
        &self,
        actor: &Actor,
        operator: &str,
        cluster: &str,
        removal: Removal,
    ) -> Result<Vec<String>, Error> {
        let resource = format!("operator/{operator}");
        self.permit(actor, Permission::RemoveOperators, "operator.uninstall", &resource).await?;
        let (cluster, operator, installation) = self.released(operator, cluster).await?;
        if !matches!(installation.seen.managed_by, Managed::Slipway | Managed::Helm) {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{} on {} is managed by {}, which would put it back; remove it there",
                    operator.name, cluster.name, installation.seen.managed_by
                ),
            ));
        }
        let subject = subject(&cluster, &operator, &installation)?;
        let left = self.parts.fleet.uninstall(&subject, removal).await.map_err(|error| {
            let code = match error {
                FleetError::Unreachable(_) => Code::ClusterUnreachable,
                FleetError::Refused(_) => Code::Conflict,
            };
            let text = format!("{} was not taken away from {}: {error}", operator.name, cluster.name);
            Error::new(code, text)
        })?;
        let with = if removal.with_crds { ", with its CRDs and every custom resource" } else { "" };
        let message = format!("uninstalled {} from {}{with}", operator.name, cluster.name);
        let changes = Changeset::new()
            .write(OperatorWrite::Gone {
                cluster: cluster.id,
                namespace: installation.seen.namespace,
                release: installation.seen.release,
            })
            .audit(AuditEntry::done(actor, "operator.uninstall", resource, message))
            .due(discovery(cluster.id), self.now());
        self.store().commit(changes).await?;
        Ok(left)
    }

    /// Lets go of an operator on a cluster without touching it.
    pub async fn unmanage_operator(&self, actor: &Actor, operator: &str, cluster: &str) -> Result<(), Error> {
        let resource = format!("operator/{operator}");
        self.permit(actor, Permission::ManageOperators, "operator.unmanage", &resource).await?;
        let (cluster, operator, installation) = self.released(operator, cluster).await?;
        if installation.seen.managed_by != Managed::Slipway {
            return Err(Error::new(
                Code::Conflict,
                format!(
                    "{} on {} is managed by {}, not by Slipway",
                    operator.name, cluster.name, installation.seen.managed_by
                ),
            ));
        }
        let message = format!("let go of {} on {}; nothing there was touched", operator.name, cluster.name);
        let changes = Changeset::new()
            .write(OperatorWrite::LetGo {
                cluster: cluster.id,
                namespace: installation.seen.namespace,
                release: installation.seen.release,
            })
            .audit(AuditEntry::done(actor, "operator.unmanage", resource, message));
        Ok(self.store().commit(changes).await?)
    }

    /// The release of an operator on a cluster that nobody rolls out to right now.
    async fn released(
        &self,
        operator: &str,
        cluster: &str,
    ) -> Result<(Cluster, Operator, Installation), Error> {
        let (cluster, operator) = self.cluster_and_operator(cluster, operator).await?;
        let taken = self.store().reservations(operator.id, &[cluster.id]).await?;
        if let Some((_, holder)) = taken.first() {
            return Err(Error::new(
                Code::DeploymentInProgress,
                format!("deployment {holder} of {} is under way on {}", operator.name, cluster.name),
            ));
        }
        let there = self.store().installations(Some(cluster.id), Some(operator.id)).await?;
        let there = there
            .into_iter()
            .filter(|installation| installation.seen.state != InstallationState::Uninstalled)
            .max_by_key(|installation| installation.seen.deployed_at);
        let missing =
            || Error::new(Code::NotFound, format!("{} is not installed on {}", operator.name, cluster.name));
        let installation = there.ok_or_else(missing)?;
        Ok((cluster, operator, installation))
    }
}

/// What is there, as a subject: enough for looking at it and for taking it away.
pub(super) fn subject(
    cluster: &Cluster,
    operator: &Operator,
    there: &Installation,
) -> Result<Subject, Error> {
    let unreadable =
        || Error::new(Code::Conflict, format!("the version {} cannot be read", there.seen.version));
    Ok(Subject {
        rollout: RolloutId(Uuid::nil()),
        cluster: cluster.name.clone(),
        environment: cluster.environment,
        operator: operator.id,
        operator_name: operator.name.clone(),
        crds: operator.crd_names.clone(),
        profile: operator.effective_profile(),
        placement: Placement {
            cluster: cluster.id,
            release: ReleaseAt { namespace: there.seen.namespace.clone(), name: there.seen.release.clone() },
            installed: true,
            adopts: false,
            beside: None,
        },
        chart: there.seen.chart.clone(),
        version: there.seen.version.parse().map_err(|_| unreadable())?,
        archive: Archive { digest: String::new(), bytes: Vec::new() },
        layers: Vec::new(),
        crd_policy: CrdPolicy::default(),
        may_delete: Vec::new(),
    })
}
