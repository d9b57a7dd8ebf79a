//! Keeps a certificate signed by an authority that all replicas share.
//!
//! Every replica runs this, with no leader among them: each step is written over the state that was
//! read, so that two replicas that take the same step take it once, and any replica can go on where
//! another one crashed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

use super::record::Record;
use super::rotation::{Step, step};
use super::store::Stored;
use super::{Bundle, SecretStore, SelfSigned, Slot};
use crate::webhook::certificates::authority::Authority;
use crate::webhook::error::WebhookError;
use crate::webhook::injection::Targets;
use crate::webhook::problems::Problems;

/// How soon to look again after something did not work, or after a step that others follow on.
const SOON: Duration = Duration::from_secs(1);

const PART: &str = "webhook certificates";
const ROTATION: &str = "rotation of the webhook authority";

/// Keeps the slot filled and the bundle known.
pub(super) struct Keeper {
    store: SecretStore,
    settings: SelfSigned,
    targets: Option<Targets>,
    slot: Arc<Slot>,
    publish: watch::Sender<Option<Bundle>>,
    /// The last record seen, to put back if somebody deletes the Secret.
    held: Option<Record>,
    /// Who signed the certificate in the slot.
    signer: Option<String>,
    problems: Problems,
}

impl Keeper {
    pub(super) fn new(
        store: SecretStore,
        settings: SelfSigned,
        targets: Option<Targets>,
        slot: Arc<Slot>,
        publish: watch::Sender<Option<Bundle>>,
        problems: Problems,
    ) -> Self {
        Self { store, settings, targets, slot, publish, held: None, signer: None, problems }
    }

    pub(super) async fn run(mut self) {
        loop {
            let pause = match self.pass().await {
                Ok(pause) => {
                    self.problems.clear(PART);
                    pause
                }
                Err(error) => {
                    self.problems.note(PART, &error);
                    self.last_resort();
                    SOON.min(self.settings.schedule.look_every)
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Takes the steps that are due, and gives how long there is nothing to do.
    async fn pass(&mut self) -> Result<Duration, WebhookError> {
        let (held, name, life) = (self.held.clone(), self.store.name(), self.settings.schedule.authority);
        let mut stored = self
            .store
            .read_or_create(|| match held {
                Some(record) => Ok(record),
                None => Ok(Record::first(Authority::generate(name, life, Timestamp::now())?)),
            })
            .await?;
        let mut stepped = false;
        while let Some(next) = self.advance(&stored).await? {
            stored = next;
            stepped = true;
        }
        let bundle = stored.record.bundle();
        self.publish.send_if_modified(|known| {
            let news = known.as_ref() != Some(&bundle);
            *known = Some(bundle);
            news
        });
        // The record was read a moment ago: what its authority signs now is trusted long enough.
        self.keep_leaf(&stored.record)?;
        self.held = Some(stored.record);
        let look_every = self.settings.schedule.look_every;
        if stepped {
            return Ok(SOON.min(look_every));
        }
        Ok(look_every.min(self.until_leaf_is_due()))
    }

    /// Takes one step if one is due, and gives the state after it, whoever made it.
    async fn advance(&self, stored: &Stored) -> Result<Option<Stored>, WebhookError> {
        let state = stored.record.state();
        let published = match &self.targets {
            Some(targets) if state.next.is_some() => match targets.carry(&stored.record.bundle()).await {
                Ok(published) => published,
                // What cannot be seen cannot be counted on, but an authority that ended needs no care.
                Err(error) if Timestamp::now() < state.current.until => {
                    self.problems.note(ROTATION, &error);
                    return Ok(None);
                }
                Err(_) => false,
            },
            _ => true,
        };
        self.problems.clear(ROTATION);
        let now = Timestamp::now();
        let step = step(&state, &self.settings.schedule, published, now);
        if step == Step::Wait {
            return Ok(None);
        }
        let record = stored.record.after(step, self.store.name(), self.settings.schedule.authority, now)?;
        let written = self.store.replace(stored, record).await?;
        if written.is_some() {
            tracing::info!(?step, "rotating the webhook authority in {:?}", self.store);
            return Ok(written);
        }
        // Another replica was quicker; see what it did.
        self.store.read().await
    }

    fn keep_leaf(&mut self, record: &Record) -> Result<(), WebhookError> {
        let now = Timestamp::now();
        let signer = &record.current.public.pem;
        let good = self.signer.as_ref() == Some(signer)
            && self.slot.get().is_some_and(|identity| now < identity.validity.due());
        if good {
            return Ok(());
        }
        let SelfSigned { dns_names, addresses, schedule, .. } = &self.settings;
        let leaf = record.current.issue(dns_names, addresses, schedule.leaf, now)?;
        tracing::info!(until = %leaf.validity.until, "serving webhooks with a new certificate");
        self.slot.fill(leaf);
        self.signer = Some(signer.clone());
        Ok(())
    }

    /// While the API server cannot be asked, the certificate is renewed from what is known, but only
    /// when the old one is about to end: the authority may have been replaced meanwhile.
    fn last_resort(&mut self) {
        let Some(identity) = self.slot.get() else { return };
        let left = identity.validity.until.duration_since(Timestamp::now());
        if left.is_positive() && left.unsigned_abs() > self.settings.schedule.leaf / 6 {
            return;
        }
        if let Some(record) = self.held.clone()
            && let Err(error) = self.keep_leaf(&record)
        {
            self.problems.note(PART, &error);
        }
    }

    fn until_leaf_is_due(&self) -> Duration {
        self.slot.get().map_or(Duration::ZERO, |identity| {
            let left = identity.validity.due().duration_since(Timestamp::now());
            if left.is_positive() {
                left.unsigned_abs().max(Duration::from_millis(50))
            } else {
                Duration::from_millis(50)
            }
        })
    }
}
