//! The schemas of CRDs: stored with each version of an operator, judged, agreed to, left, and looked at on
//! every cluster.

mod changes;
mod compare;
mod decide;
mod find;
mod record;
mod status;
mod validate;
mod watch;

use slipway_domain::access::{Actor, Permission};
use slipway_domain::crd::{CrdChange, StoredCrd};

use crate::error::Error;
use crate::manager::Manager;
use crate::page::{Page, Window};
use crate::ports::store::CrdFilter;

pub use compare::Comparisons;
pub use decide::{ApproveCrd, DeprecateCrd};
pub use find::CrdChoice;
pub use record::{NewSchema, Recorded};
pub use status::{CrdOnCluster, CrdState, CrdStatusReport, Drift};
pub use validate::{CrdVerdict, ValidateCrd};
pub use watch::{CRD_STATUS, CrdStatusWorker, EVERY_CLUSTER, EVERY_CLUSTER_SOON};

/// How many lines of its history come with a CRD; the rest has its own list.
const HISTORY: u32 = Window::MOST;

/// A stored schema with its text and the newest of its history.
#[derive(Debug, Clone, PartialEq)]
pub struct CrdDetail {
    /// The facts.
    pub crd: StoredCrd,
    /// The definition, as it was written.
    pub definition: String,
    /// The newest of its history, the newest first.
    pub history: Vec<CrdChange>,
}

impl Manager {
    /// The CRDs that are stored, by name: of each the current schema.
    pub async fn crds(
        &self,
        actor: &Actor,
        filter: &CrdFilter,
        window: Window,
    ) -> Result<Page<StoredCrd>, Error> {
        self.permit(actor, Permission::Read, "crd.read", "crd").await?;
        Ok(self.store().crds(filter, window).await?)
    }

    /// One, with its text and history.
    pub async fn crd(&self, actor: &Actor, choice: &CrdChoice) -> Result<CrdDetail, Error> {
        self.permit(actor, Permission::Read, "crd.read", &choice.resource()).await?;
        let crd = self.find_crd(choice).await?;
        self.detail(crd).await
    }

    /// The history of one, the newest first.
    pub async fn crd_history(
        &self,
        actor: &Actor,
        choice: &CrdChoice,
        window: Window,
    ) -> Result<Page<CrdChange>, Error> {
        self.permit(actor, Permission::Read, "crd.read", &choice.resource()).await?;
        let crd = self.find_crd(choice).await?;
        Ok(self.store().crd_history(&crd.operator, &crd.name, window).await?)
    }

    pub(crate) async fn detail(&self, crd: StoredCrd) -> Result<CrdDetail, Error> {
        let definition = self.definition(&crd).await?;
        let window = Window { limit: HISTORY, offset: 0 };
        let history = self.store().crd_history(&crd.operator, &crd.name, window).await?.items;
        Ok(CrdDetail { crd, definition, history })
    }
}
