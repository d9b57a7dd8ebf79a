//! Sealing with the newest key what an older one sealed: credentials of repositories, and values of installations.

use std::time::Duration;

use async_trait::async_trait;
use slipway_domain::access::Actor;
use slipway_domain::audit::AuditEntry;

use super::{access, installations};
use crate::changes::{Changeset, Work};
use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::{Claim, OperatorWrite, Sealed, SealedPlace};
use crate::workers::{Next, Worker};

/// The kind of work that sealing anew is; there is one piece.
pub const OPERATOR_RESEAL: &str = "operator-reseal";

/// Seals anew what an older key sealed. A server gets its keys when it starts, so it is done then.
pub struct ResealWorker(pub Manager);

#[async_trait]
impl Worker for ResealWorker {
    fn kind(&self) -> &'static str {
        OPERATOR_RESEAL
    }

    fn lease(&self) -> Duration {
        Duration::from_mins(1)
    }

    async fn work(&self, _: &Claim) -> Result<Next, Error> {
        self.0.reseal_operators().await?;
        Ok(Next::Ended)
    }
}

impl Manager {
    /// Has what belongs to operators sealed with the newest key. Called when a server starts.
    pub async fn start_operator_reseal(&self) -> Result<(), Error> {
        let work = Work { kind: OPERATOR_RESEAL, key: "all".to_owned() };
        Ok(self.store().commit(Changeset::new().due(work, self.now())).await?)
    }

    async fn reseal_operators(&self) -> Result<(), Error> {
        let mut done = 0_usize;
        for place in self.store().sealed_of_operators().await? {
            if self.reseal_place(place).await? {
                done += 1;
            }
        }
        if done > 0 {
            let said = format!("sealed {done} credentials and values of operators with the newest key");
            let actor = Actor::system(OPERATOR_RESEAL);
            let entry = AuditEntry::done(&actor, "operator.reseal", "operator", said);
            self.store().commit(Changeset::new().audit(entry)).await?;
        }
        Ok(())
    }

    /// Whether it had to be sealed anew, and could be.
    async fn reseal_place(&self, place: SealedPlace) -> Result<bool, Error> {
        let (found, context) = match &place {
            SealedPlace::Credentials(id) => {
                (self.store().operator_credentials(*id).await?, access::context(*id))
            }
            SealedPlace::Values { cluster, namespace, release } => (
                self.store().installation_values(*cluster, namespace, release).await?,
                installations::context(*cluster, namespace, release),
            ),
        };
        let keyring = &self.parts.keyring;
        let Some(before) = found.filter(|found| keyring.is_old(&found.0)) else { return Ok(false) };
        let sealed = keyring.open(&context, &before.0).and_then(|plain| keyring.seal(&context, &plain));
        match sealed {
            Ok(sealed) => {
                let write = OperatorWrite::Reseal { place, before, sealed: Sealed(sealed) };
                self.store().commit(Changeset::new().write(write)).await?;
                Ok(true)
            }
            Err(error) => {
                tracing::warn!(?place, %error, "what an older key sealed cannot be sealed anew");
                Ok(false)
            }
        }
    }
}
