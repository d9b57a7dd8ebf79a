//! What has to be done from time to time: new keys, and an end to what is over.

use std::time::Duration;

use async_trait::async_trait;

use super::before;
use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::{Claim, Expired};
use crate::workers::{Next, Worker};

/// The kind of work.
pub const IDENTITY_UPKEEP: &str = "identity-upkeep";

/// How often.
const EVERY: Duration = Duration::from_mins(15);
/// How long what is over can still be looked at.
const KEPT: Duration = Duration::from_hours(7 * 24);
/// A server that has not looked for new keys for so long is not there.
const MARGIN: Duration = Duration::from_mins(10);

/// Rotates keys and removes what is over.
pub struct IdentityUpkeep(pub Manager);

#[async_trait]
impl Worker for IdentityUpkeep {
    fn kind(&self) -> &'static str {
        IDENTITY_UPKEEP
    }

    async fn work(&self, _: &Claim) -> Result<Next, Error> {
        self.0.keep_identity().await?;
        Ok(Next::After(EVERY))
    }
}

impl Manager {
    /// Has the upkeep done from now on, by whichever server.
    pub async fn schedule_identity_upkeep(&self) -> Result<(), Error> {
        let work = Work { kind: IDENTITY_UPKEEP, key: "all".to_owned() };
        Ok(self.store().commit(Changeset::new().due(work, self.now())).await?)
    }

    /// Makes the next key if it is time, seals keys anew, and removes keys, sessions and attempts whose time
    /// is over. A key stays until its last token has ended, so nobody is logged out by it.
    pub async fn keep_identity(&self) -> Result<(), Error> {
        self.rotate_keys().await?;
        self.reseal_keys().await?;
        let now = self.now();
        let expired = Expired {
            before: before(now, KEPT),
            unused_since: before(now, self.settings.identity.token_life + MARGIN),
            now,
        };
        let removed = self.store().thin_identity(expired).await?;
        if removed > 0 {
            tracing::debug!(removed, "removed keys, sessions and attempts that were over");
        }
        Ok(())
    }
}
