//! Watches one registration and keeps the bundle in it.

use std::time::Duration;

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, watcher};
use tokio::sync::watch;
use tokio::time::Instant;

use super::Registered;
use crate::webhook::certificates::{Bundle, FreshBundle};
use crate::webhook::error::{WebhookError, chain};

/// How often to look although nothing was heard, in case watching is not permitted or went quiet.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How soon to try again after something did not work.
const SOON: Duration = Duration::from_secs(1);

/// Keeps the bundle in one registration.
pub(crate) struct Keeper {
    registered: Registered,
    fresh: FreshBundle,
    bundle: watch::Receiver<Option<Bundle>>,
    missing: bool,
    complaint: Option<String>,
    watch_refused: bool,
}

impl Keeper {
    pub(crate) fn new(
        registered: Registered,
        fresh: FreshBundle,
        bundle: watch::Receiver<Option<Bundle>>,
    ) -> Self {
        Self { registered, fresh, bundle, missing: false, complaint: None, watch_refused: false }
    }

    pub(crate) async fn run(mut self) {
        let only_it = watcher::Config::default().fields(&format!("metadata.name={}", self.registered.name));
        let events = watcher(self.registered.api.clone(), only_it).default_backoff();
        let mut events = std::pin::pin!(events);
        let mut look_at = Instant::now();
        loop {
            let seen = tokio::select! {
                event = events.next() => match event {
                    Some(Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => Some(object),
                    Some(Ok(watcher::Event::Delete(_))) => None,
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => {
                        self.watch_failed(error);
                        continue;
                    }
                    None => return,
                },
                changed = self.bundle.changed() => {
                    if changed.is_err() {
                        // Whoever keeps the certificate is gone, and so is this server.
                        return;
                    }
                    None
                }
                () = tokio::time::sleep_until(look_at) => None,
            };
            let pause = match self.pass(seen).await {
                Ok(true) => {
                    self.complaint = None;
                    LOOK_EVERY
                }
                Ok(false) => Duration::from_millis(20),
                Err(error) => {
                    self.complain(&error);
                    SOON
                }
            };
            look_at = Instant::now() + pause;
        }
    }

    /// Puts the bundle in place if it is not. False to look again at once.
    async fn pass(&mut self, seen: Option<DynamicObject>) -> Result<bool, WebhookError> {
        if self.bundle.borrow_and_update().is_none() {
            return Ok(true);
        }
        let object = match seen {
            Some(object) => Some(object),
            None => self.registered.get().await?,
        };
        let Some(object) = object else {
            if !self.missing {
                tracing::info!("{} does not exist yet; it gets its caBundle when it does", self.registered);
                self.missing = true;
            }
            return Ok(true);
        };
        self.missing = false;
        // Asked after the registration was read, so that no older bundle can replace a newer one.
        let Some(bundle) = self.fresh.get().await? else { return Ok(true) };
        self.registered.mend(&object, &bundle).await
    }

    fn watch_failed(&mut self, error: watcher::Error) {
        let forbidden = match &error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => status.code == 403,
            _ => false,
        };
        if !forbidden {
            tracing::debug!("watching {} again: {}", self.registered, chain(&error));
            return;
        }
        let source = match error {
            watcher::Error::InitialListFailed(source) | watcher::Error::WatchStartFailed(source) => source,
            watcher::Error::WatchError(status) => kube::Error::Api(status),
            _ => return,
        };
        if !self.watch_refused {
            self.watch_refused = true;
            let error = self.registered.failed("watch", source);
            tracing::warn!(
                "webhook registrations, looked at every {LOOK_EVERY:?} meanwhile: {}",
                chain(&error)
            );
        }
    }

    /// Says what is wrong once, not at every attempt.
    fn complain(&mut self, error: &WebhookError) {
        let text = chain(error);
        if self.complaint.as_ref() != Some(&text) {
            tracing::warn!("webhook registrations: {text}");
            self.complaint = Some(text);
        }
    }
}
