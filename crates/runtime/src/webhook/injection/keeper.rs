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
use crate::webhook::problems::Problems;

/// How often to look although nothing was heard, in case a watch went quiet.
const LOOK_EVERY: Duration = Duration::from_mins(1);
/// How often to look while watching is not permitted.
const LOOK_OFTEN: Duration = Duration::from_secs(5);
/// How soon to try again after something did not work.
const SOON: Duration = Duration::from_secs(1);
/// How soon to try again after somebody else was quicker.
const AT_ONCE: Duration = Duration::from_millis(20);
/// After being outrun so often in a row, it is something else.
const RACES: u32 = 5;

/// Keeps the bundle in one registration.
pub(crate) struct Keeper {
    registered: Registered,
    fresh: FreshBundle,
    bundle: watch::Receiver<Option<Bundle>>,
    missing: bool,
    outrun: u32,
    watch_refused: bool,
    problems: Problems,
}

impl Keeper {
    pub(crate) fn new(
        registered: Registered,
        fresh: FreshBundle,
        bundle: watch::Receiver<Option<Bundle>>,
        problems: Problems,
    ) -> Self {
        Self { registered, fresh, bundle, missing: false, outrun: 0, watch_refused: false, problems }
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
                    Some(Ok(watcher::Event::InitDone)) => {
                        self.watch_refused = false;
                        self.problems.clear(&self.watching());
                        continue;
                    }
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
                Ok(()) => {
                    self.outrun = 0;
                    self.problems.clear(&self.registered.to_string());
                    if self.watch_refused { LOOK_OFTEN } else { LOOK_EVERY }
                }
                Err(error) if error.outrun() && self.outrun < RACES => {
                    self.outrun += 1;
                    AT_ONCE
                }
                Err(error) => {
                    self.problems.note(&self.registered.to_string(), &error);
                    SOON
                }
            };
            look_at = Instant::now() + pause;
        }
    }

    /// Puts the bundle in place if it is not.
    async fn pass(&mut self, seen: Option<DynamicObject>) -> Result<(), WebhookError> {
        let Some(held) = self.bundle.borrow_and_update().clone() else { return Ok(()) };
        let object = match seen {
            Some(object) => Some(object),
            None => self.registered.get().await?,
        };
        let Some(object) = object else {
            if !self.missing {
                tracing::info!("{} does not exist yet; it gets its caBundle when it does", self.registered);
                self.missing = true;
            }
            return Ok(());
        };
        self.missing = false;
        if self.registered.carries(&object, &held) {
            return Ok(());
        }
        // Asked after the registration was read, so that no older bundle can replace a newer one.
        let Some(bundle) = self.fresh.get().await? else { return Ok(()) };
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
        self.watch_refused = true;
        self.problems.note(&self.watching(), &self.registered.failed("watch", source));
    }

    fn watching(&self) -> String {
        format!("{}, looked at every {LOOK_OFTEN:?} instead of watched", self.registered)
    }
}
