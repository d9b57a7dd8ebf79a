//! Work in the background: versions of operators, and what is installed on clusters.

use std::time::Duration;

use async_trait::async_trait;
use slipway_domain::access::Actor;
use slipway_domain::id::{ClusterId, OperatorId};

use super::installations::Looked;
use super::spread;
use crate::changes::Work;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::store::Claim;
use crate::rollouts::WhichDrift;
use crate::workers::{Next, Worker};

/// The kind of work that reading an operator's repository is; the key is the operator's id.
pub const OPERATOR_VERSIONS: &str = "operator-versions";
/// The kind of work that looking for releases on a cluster is; the key is the cluster's id.
pub const INSTALLATIONS: &str = "installations";

/// How often an operator's repository is read.
pub const REFRESH_EVERY: Duration = Duration::from_mins(15);
/// How soon further versions are looked into, where there are many.
const GO_ON_AFTER: Duration = Duration::from_secs(30);
/// How often a cluster is looked at.
pub const DISCOVER_EVERY: Duration = Duration::from_mins(1);

/// The work of looking at a cluster: due once it is registered, ended when it is removed.
pub fn discovery(cluster: ClusterId) -> Work {
    Work { kind: INSTALLATIONS, key: cluster.to_string() }
}

/// Reads repositories.
#[derive(Clone)]
pub struct VersionsWorker(pub Manager);

/// Looks for releases on clusters.
#[derive(Clone)]
pub struct InstallationsWorker(pub Manager);

#[async_trait]
impl Worker for VersionsWorker {
    fn kind(&self) -> &'static str {
        OPERATOR_VERSIONS
    }

    fn lease(&self) -> Duration {
        Duration::from_mins(1)
    }

    fn at_once(&self) -> u32 {
        4
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.0;
        let Ok(id) = claim.work.key.parse::<OperatorId>() else { return Ok(Next::Ended) };
        let Some(operator) = manager.store().operator(id).await? else { return Ok(Next::Ended) };
        let next = Next::After(spread(&claim.work.key, REFRESH_EVERY, manager.now()));
        match manager.refresh_versions(&operator, Some(claim.fence())).await {
            Ok(()) => {}
            // Written down already, and shown; asking more often does not help.
            Err(error) if error.code == Code::ValidationError => {
                tracing::warn!(operatorName = %operator.name, reason = %error, "a repository cannot be read");
            }
            Err(error) => return Err(error),
        }
        let Some(operator) = manager.store().operator(id).await? else { return Ok(Next::Ended) };
        let actor = Actor::system("operator-versions");
        match manager.look_into_versions(&actor, &operator).await {
            Ok(true) => Ok(Next::After(GO_ON_AFTER)),
            Err(error) if matches!(error.code, Code::Unavailable | Code::InternalError) => Err(error),
            Ok(false) | Err(_) => Ok(next),
        }
    }
}

#[async_trait]
impl Worker for InstallationsWorker {
    fn kind(&self) -> &'static str {
        INSTALLATIONS
    }

    fn lease(&self) -> Duration {
        Duration::from_mins(1)
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.0;
        let Ok(id) = claim.work.key.parse::<ClusterId>() else { return Ok(Next::Ended) };
        let next = Next::After(spread(&claim.work.key, DISCOVER_EVERY, manager.now()));
        match manager.discover(id, Some(claim.fence())).await {
            Ok(Looked::Seen) => {
                manager.look_for_drift(id, WhichDrift::Due).await?;
                Ok(next)
            }
            Ok(Looked::Disabled) => Ok(next),
            Ok(Looked::Gone) => Ok(Next::Ended),
            // The cluster's own health says so already; here it is only tried again.
            Err(error) if error.code == Code::ClusterUnreachable => {
                tracing::debug!(cluster = %id, reason = %error, "what is installed cannot be read");
                Ok(next)
            }
            Err(error) => Err(error),
        }
    }
}
