//! Making a cluster known: looked at first, then kept.

use std::collections::BTreeMap;

use slipway_domain::access::{Actor, Environment, Permission};
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::cluster::{Cluster, ClusterHealth, Labels, State, described};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use uuid::Uuid;

use super::access::ClusterAccess;
use super::{CLUSTER_HEALTH, CLUSTER_TOKENS, first_renewal, health, news, resource, unreachable, work};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::clusters::GivenAccess;
use crate::ports::store::ClusterWrite;

/// A cluster that somebody wants to make known.
#[derive(Debug)]
pub struct Registration {
    /// How it shall be called.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Where it stands.
    pub environment: Environment,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// How it is reached, or what is wrong with how that was given.
    pub access: Result<GivenAccess, Problems>,
    /// Whether it may be the same cluster as another one that is registered.
    pub duplicate: bool,
}

impl Manager {
    /// Registers a cluster after looking at it. What fails leaves nothing but an entry in the audit.
    pub async fn register_cluster(
        &self,
        actor: &Actor,
        registration: Registration,
    ) -> Result<Cluster, Error> {
        const ACTION: &str = "cluster.register";
        let name = registration.name.clone();
        self.permit(actor, Permission::ManageClusters, ACTION, &resource(&name)).await?;
        let (name, description, labels, access) = self.read_registration(&registration)?;
        if self.store().cluster_by_name(&name).await?.is_some() {
            return Err(taken(&name));
        }
        let outcome = self.look_at_new(&name, &access, registration.duplicate).await;
        let (health, uid) = match outcome {
            Ok(found) => found,
            Err(error) => {
                let resource = resource(name.as_str());
                let entry = AuditEntry::new(actor, ACTION, resource, AuditResult::Failure, error.to_string());
                self.store().commit(Changeset::new().audit(entry)).await?;
                return Err(error);
            }
        };

        let now = self.now();
        let id = ClusterId(Uuid::now_v7());
        let sealed = self.seal(id, &access)?;
        let cluster = Cluster {
            id,
            name,
            description,
            environment: registration.environment,
            labels,
            server: access.server.clone(),
            uid,
            state: State::Enabled,
            health,
            credentials: access.facts(now),
            revision: 1,
            registered_at: now,
            updated_at: now,
        };
        let said = format!("registered {} at {}", cluster.name, cluster.server);
        let entry = AuditEntry::done(actor, ACTION, resource(cluster.name.as_str()), said);
        let facts = cluster.facts();
        let next = health::jittered(self.settings.cluster_health_every);
        let changes = Changeset::new()
            .write(ClusterWrite::Insert { cluster: Box::new(cluster.clone()), sealed })
            .audit(entry.changing(None, Some(facts.clone())))
            .tell(news(&cluster, "registered", facts))
            .due(work(CLUSTER_HEALTH, id), now.checked_add(next).unwrap_or(now))
            .due(work(CLUSTER_TOKENS, id), first_renewal(&access, now))
            .due(crate::operators::discovery(id), now);
        match self.store().commit(changes).await {
            Err(StoreError::Taken { .. }) => Err(taken(&cluster.name)),
            Err(error) => Err(error.into()),
            Ok(()) => {
                self.metrics.cluster_registered();
                Ok(cluster)
            }
        }
    }

    fn read_registration(
        &self,
        registration: &Registration,
    ) -> Result<(Name, Option<String>, Labels, ClusterAccess), Error> {
        let mut problems = Problems::new();
        let described = described(
            &registration.name,
            registration.description.as_deref(),
            &registration.labels,
            &mut problems,
        );
        let access = match &registration.access {
            Ok(given) => Some(self.read_access(given)),
            Err(wrong) => {
                problems.nest("", wrong.clone());
                None
            }
        };
        match (problems.is_empty(), described, access) {
            (true, Some((name, description, labels)), Some(access)) => {
                Ok((name, description, labels, access?))
            }
            // Whatever else is wrong is said with it; the code is that of the rest.
            (_, _, Some(Err(error))) => {
                for problem in &error.details {
                    problems.add(problem.path.clone(), &problem.message);
                }
                Err(problems.into())
            }
            _ => Err(problems.into()),
        }
    }

    /// Reads what was given to reach a cluster with.
    pub(super) fn read_access(&self, given: &GivenAccess) -> Result<ClusterAccess, Error> {
        self.parts.clusters.read(given).map_err(|problems| {
            let message = problems.to_string();
            Error { details: problems, ..Error::new(Code::InvalidKubeconfig, message) }
        })
    }

    pub(super) fn seal(&self, id: ClusterId, access: &ClusterAccess) -> Result<Vec<u8>, Error> {
        access.seal(id, &*self.parts.keyring).map_err(|error| {
            Error::new(Code::InternalError, "the credential could not be encrypted").caused_by(error)
        })
    }

    async fn look_at_new(
        &self,
        name: &Name,
        access: &ClusterAccess,
        duplicate: bool,
    ) -> Result<(ClusterHealth, Option<String>), Error> {
        let seen = self.parts.clusters.look(access).await;
        let health = ClusterHealth::default().after(&seen, self.now());
        let uid = seen.map_err(|why| unreachable(name.as_str(), &access.server, &why))?.uid;
        let other = match &uid {
            Some(uid) if !duplicate => self.store().cluster_with_uid(uid).await?,
            _ => None,
        };
        match other {
            Some(other) => Err(Error::new(
                Code::ClusterAlreadyExists,
                format!(
                    "{} is the cluster that is registered as {other}; two names for one cluster would let \
                     two rollouts meet there",
                    access.server
                ),
            )),
            None => Ok((health, uid)),
        }
    }
}

fn taken(name: &Name) -> Error {
    Error::new(
        Code::ClusterAlreadyExists,
        format!(
            "there is a cluster {name} already; choose another name, or see it: slipway cluster show {name}"
        ),
    )
}
