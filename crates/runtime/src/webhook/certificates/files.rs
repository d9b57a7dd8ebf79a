//! Keeps the certificate that lies in files.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;

use super::{Bundle, Files, Identity, Slot};
use crate::webhook::error::WebhookError;
use crate::webhook::problems::Problems;

const PART: &str = "webhook certificates";

/// Keeps the slot filled with what the files hold.
pub(super) struct Keeper {
    files: Files,
    slot: Arc<Slot>,
    publish: watch::Sender<Option<Bundle>>,
    taken: Option<Contents>,
    problems: Problems,
}

#[derive(PartialEq, Eq)]
struct Contents {
    certificate: String,
    key: String,
    authority: Option<String>,
}

impl Keeper {
    pub(super) fn new(
        files: Files,
        slot: Arc<Slot>,
        publish: watch::Sender<Option<Bundle>>,
        problems: Problems,
    ) -> Self {
        Self { files, slot, publish, taken: None, problems }
    }

    pub(super) async fn run(mut self) {
        let mut ticks = tokio::time::interval(self.files.look_every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.look().await {
                Ok(()) => self.problems.clear(PART),
                Err(error) => self.problems.note(PART, &error),
            }
        }
    }

    /// Takes new contents if they fit together; a pair that is half written does not, and is looked
    /// at again later.
    async fn look(&mut self) -> Result<(), WebhookError> {
        let authority = match &self.files.authority {
            Some(path) => Some(read(path).await?),
            None => None,
        };
        let contents = Contents {
            certificate: read(&self.files.certificate).await?,
            key: read(&self.files.key).await?,
            authority,
        };
        if self.taken.as_ref() == Some(&contents) {
            return Ok(());
        }
        let what = self.files.certificate.display().to_string();
        let identity = Identity::read(&what, &contents.certificate, &contents.key)?;
        // What will be shown must be trusted first.
        self.publish.send_replace(contents.authority.clone().map(Into::into));
        tracing::info!(until = %identity.validity.until, "serving webhooks with the certificate in {what}");
        self.slot.fill(identity);
        self.taken = Some(contents);
        Ok(())
    }
}

async fn read(path: &Path) -> Result<String, WebhookError> {
    tokio::fs::read_to_string(path)
        .await
        .map_err(|source| WebhookError::File { path: path.display().to_string(), source })
}
