//! Looking at the CRDs that clusters run.
//!
//! One piece of work per cluster, and one that sees to it that every cluster has its piece: so a cluster
//! that is registered is looked at without anybody having to think of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use slipway_domain::cluster::State;
use slipway_domain::crd::ContentHash;
use slipway_domain::crd::content::canonical;
use slipway_domain::id::ClusterId;

use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::operators::spread;
use crate::ports::LiveCrds;
use crate::ports::store::{Claim, CrdWrite, LiveCrd};
use crate::workers::{Next, Worker};

/// The kind of work that looking at a cluster's CRDs is; the key is the cluster's id.
pub const CRD_STATUS: &str = "crd-status";

/// The key of the piece that sees to it that every cluster has its piece.
pub const EVERY_CLUSTER: &str = "every-cluster";

/// The key of the piece that has every cluster looked at: one row for whoever stores a CRD that was not known, however
/// many clusters there are.
pub const EVERY_CLUSTER_SOON: &str = "every-cluster-soon";

/// How often a cluster's CRDs are looked at.
const EVERY: Duration = Duration::from_mins(5);

/// How soon clusters are looked at for a CRD that was not known: several that come one after the other make
/// one look.
const SOON: Duration = Duration::from_secs(10);

/// How often new clusters are looked for.
const SWEEP: Duration = Duration::from_mins(1);

/// Looks at the CRDs that clusters run.
pub struct CrdStatusWorker {
    manager: Manager,
    live: Arc<dyn LiveCrds>,
}

impl CrdStatusWorker {
    /// For a manager, with a way to the clusters.
    pub fn new(manager: Manager, live: Arc<dyn LiveCrds>) -> Self {
        Self { manager, live }
    }

    /// Gives every cluster a piece of work that has none.
    async fn sweep(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let known: BTreeSet<ClusterId> =
            manager.store().seen_crd("").await?.into_iter().map(|seen| seen.cluster).collect();
        let mut changes = Changeset::new().fenced(claim.fence());
        let now = manager.now();
        for cluster in manager.every_cluster().await? {
            if !known.contains(&cluster.id) {
                changes = changes.due(Work { kind: CRD_STATUS, key: cluster.id.to_string() }, now);
            }
        }
        if !changes.work.is_empty() {
            manager.store().commit(changes).await?;
        }
        Ok(Next::After(SWEEP))
    }

    /// Has every cluster looked at, one after the other.
    async fn look_everywhere(&self, claim: &Claim) -> Result<Next, Error> {
        let manager = &self.manager;
        let mut changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
        let (clusters, mut at) = (manager.every_cluster().await?, manager.now());
        let pause = SOON / u32::try_from(clusters.len()).unwrap_or(u32::MAX).max(1);
        for cluster in clusters {
            changes = changes.due(Work { kind: CRD_STATUS, key: cluster.id.to_string() }, at);
            at += pause;
        }
        manager.store().commit(changes).await?;
        Ok(Next::Ended)
    }

    async fn look(&self, claim: &Claim, id: ClusterId) -> Result<Next, Error> {
        let manager = &self.manager;
        let Some(cluster) = manager.store().cluster(id).await? else {
            // What was seen of it went with it.
            let changes = Changeset::new().fenced(claim.fence()).end(claim.work.clone());
            manager.store().commit(changes).await?;
            return Ok(Next::Ended);
        };
        if cluster.state == State::Disabled {
            return Ok(Next::After(EVERY));
        }
        // Before the names are read: what becomes known meanwhile was not looked for.
        let at = manager.now();
        let names = manager.store().crd_names().await?;
        let write = match self.live.live_crds(id, &names).await {
            Ok(found) => {
                let crds = found.iter().filter_map(live_crd).collect();
                CrdWrite::Seen { cluster: id, at, crds }
            }
            Err(error) => {
                tracing::warn!(
                    cluster = %cluster.name,
                    error = &error as &dyn std::error::Error,
                    "the CRDs of a cluster could not be read"
                );
                CrdWrite::Unseen { cluster: id, failure: error.to_string() }
            }
        };
        manager.store().commit(Changeset::new().fenced(claim.fence()).write(write)).await?;
        Ok(Next::After(spread(&claim.work.key, EVERY, at)))
    }
}

/// A CRD as a cluster gives it, with what counts of it.
fn live_crd(value: &Value) -> Option<LiveCrd> {
    let definition = canonical(value);
    let stored = value.pointer("/status/storedVersions").and_then(Value::as_array);
    let stored = stored.into_iter().flatten().filter_map(Value::as_str);
    Some(LiveCrd {
        name: value.pointer("/metadata/name")?.as_str()?.to_owned(),
        content: ContentHash::of_canonical(&definition),
        definition: definition.to_string(),
        stored_versions: stored.map(str::to_owned).collect(),
    })
}

#[async_trait]
impl Worker for CrdStatusWorker {
    fn kind(&self) -> &'static str {
        CRD_STATUS
    }

    fn lease(&self) -> Duration {
        Duration::from_mins(1)
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        match claim.work.key.as_str() {
            EVERY_CLUSTER => self.sweep(claim).await,
            EVERY_CLUSTER_SOON => self.look_everywhere(claim).await,
            cluster => match cluster.parse() {
                Ok(id) => self.look(claim, id).await,
                Err(_) => Ok(Next::Ended),
            },
        }
    }
}

impl Manager {
    /// Sees to it that the CRDs of clusters are looked at. Called when a server starts.
    pub async fn start_crd_status(&self) -> Result<(), Error> {
        let work = Work { kind: CRD_STATUS, key: EVERY_CLUSTER.to_owned() };
        Ok(self.store().commit(Changeset::new().due(work, self.now())).await?)
    }

    /// Has all clusters looked at soon, along with other changes.
    pub(super) fn look_soon(&self, changes: Changeset) -> Changeset {
        let work = Work { kind: CRD_STATUS, key: EVERY_CLUSTER_SOON.to_owned() };
        changes.due(work, self.now() + SOON)
    }
}
