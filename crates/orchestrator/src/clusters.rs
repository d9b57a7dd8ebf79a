//! Registering clusters and watching their health.
//!
//! What is audited of the access to clusters: each registration, renewal, rotation and removal, with its
//! outcome; and of the checks every minute one entry per cluster and day, so that the audit shows that the
//! manager used its credential without drowning in it. Rollouts write down their own access.

pub mod access;
mod change;
mod health;
mod register;
mod remove;
mod rotate;
mod tokens;

use jiff::Timestamp;
use slipway_domain::access::{Actor, Permission};
use slipway_domain::cluster::{Cluster, Unreachable};
use slipway_domain::event::{Event, Topic};
use slipway_domain::id::ClusterId;
use slipway_domain::name::Name;

use crate::changes::Work;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::operators::InstallationView;
use crate::page::{Page, Window};
use crate::ports::store::{ClusterFilter, ClusterSample};

pub use change::Description;
pub use health::{CLUSTER_HEALTH, ClusterHealthWorker};
pub use register::Registration;
pub use remove::Removal;
pub use rotate::Rotated;
pub use tokens::{CLUSTER_TOKENS, ClusterTokenWorker};

/// How a cluster is.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterReport {
    /// The cluster.
    pub cluster: Cluster,
    /// How it was, the newest first.
    pub history: Vec<ClusterSample>,
    /// What runs there.
    pub operators: Vec<InstallationView>,
}

impl Manager {
    /// Part of the list of clusters.
    pub async fn clusters(
        &self,
        actor: &Actor,
        filter: &ClusterFilter,
        window: Window,
    ) -> Result<Page<Cluster>, Error> {
        self.permit(actor, Permission::Read, "cluster.list", "cluster").await?;
        Ok(self.store().clusters(filter, window).await?)
    }

    /// One cluster.
    pub async fn cluster(&self, actor: &Actor, name: &str) -> Result<Cluster, Error> {
        self.permit(actor, Permission::Read, "cluster.read", &resource(name)).await?;
        self.cluster_named(name).await
    }

    /// How a cluster is, how it was, and what runs there, as it was last seen.
    pub async fn cluster_report(&self, actor: &Actor, name: &str) -> Result<ClusterReport, Error> {
        let cluster = self.cluster(actor, name).await?;
        let history = self.store().cluster_history(cluster.id, Window::MOST).await?;
        let operators = self.cluster_installations(actor, name).await?;
        Ok(ClusterReport { cluster, history, operators })
    }

    pub(crate) async fn cluster_named(&self, name: &str) -> Result<Cluster, Error> {
        let unknown = || Error::not_found(Code::ClusterNotFound, "cluster", shown(name));
        let name: Name = name.parse().map_err(|_| unknown())?;
        self.store().cluster_by_name(&name).await?.ok_or_else(unknown)
    }
}

/// What the audit calls a cluster.
fn resource(name: &str) -> String {
    format!("cluster/{}", shown(name))
}

/// A name that somebody asked for, which may be anything.
fn shown(name: &str) -> String {
    name.chars().filter(|character| !character.is_control()).take(63).collect()
}

/// News about a cluster.
fn news(cluster: &Cluster, kind: &str, data: serde_json::Value) -> Event {
    Event { topic: Topic::Cluster, subject: cluster.name.to_string(), kind: kind.to_owned(), data }
}

/// Work about a cluster.
fn work(kind: &'static str, id: ClusterId) -> Work {
    Work { kind, key: id.to_string() }
}

/// When the token of a cluster is looked at first: when it is to be renewed, or in a day.
fn first_renewal(access: &access::ClusterAccess, now: Timestamp) -> Timestamp {
    let renew = access.token_facts().and_then(|facts| facts.renew_at());
    let day = now.checked_add(jiff::SignedDuration::from_hours(24)).unwrap_or(now);
    renew.unwrap_or(day).max(now)
}

/// A cluster that cannot be reached, for whoever wants to register it or change how it is reached.
fn unreachable(name: &str, server: &str, why: &Unreachable) -> Error {
    let (code, next) = match why {
        Unreachable::Unauthorized => {
            (Code::InvalidKubeconfig, "give one that the cluster accepts, such as: slipway cluster add")
        }
        Unreachable::Tls(_) => {
            (Code::InvalidKubeconfig, "give the certificate of the authority that signed its own")
        }
        Unreachable::Redirected(_) | Unreachable::Strange(_) | Unreachable::Another => {
            (Code::InvalidKubeconfig, "give the address of the cluster's own API server")
        }
        _ => (Code::ClusterUnreachable, "see whether this server can reach it, and try again"),
    };
    Error::new(code, format!("cluster {name} at {server}: {why}; {next}"))
}
