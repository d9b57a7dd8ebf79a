//! Keeps a store in step with the API server, and tells what changes.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::StreamExt;
use kube::core::ApiResource;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use tokio::sync::watch;

use super::held::Arrived;
use super::store::Listing;
use super::{Change, Store};
use crate::error::Rule;

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The whole cluster.
    Cluster,
    /// These namespaces only.
    Namespaces(Vec<String>),
}

/// What an informer watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InformerOptions {
    /// The kind.
    pub api: ApiResource,
    /// Where.
    pub scope: Scope,
    /// Only objects with these labels.
    pub labels: Option<String>,
}

type Listener = Box<dyn Fn(&Change) + Send + Sync>;

/// Keeps a store in step with the API server.
pub struct Informer {
    options: InformerOptions,
    store: Arc<Store>,
    listeners: OnceLock<Vec<Listener>>,
    synced: watch::Sender<usize>,
}

impl fmt::Debug for Informer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Informer").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The waits between attempts to reach an API server that does not answer.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

impl Informer {
    /// One that has not begun.
    pub fn new(options: InformerOptions) -> Self {
        Self {
            options,
            store: Arc::new(Store::default()),
            listeners: OnceLock::new(),
            synced: watch::channel(0).0,
        }
    }

    /// What it watches.
    pub fn options(&self) -> &InformerOptions {
        &self.options
    }

    /// What is known.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Whether everything was listed once.
    pub fn is_synced(&self) -> bool {
        *self.synced.borrow() >= self.watches()
    }

    /// Waits until everything was listed once.
    pub async fn synced(&self) {
        let wanted = self.watches();
        // The sender lives as long as this does.
        let _ = self.synced.subscribe().wait_for(|synced| *synced >= wanted).await;
    }

    fn watches(&self) -> usize {
        match &self.options.scope {
            Scope::Cluster => 1,
            Scope::Namespaces(namespaces) => namespaces.len(),
        }
    }

    /// Watches for ever, telling each change to every listener, in order.
    pub async fn run(&self, client: Client, listeners: Vec<Listener>) {
        let _ = self.listeners.set(listeners);
        let api = &self.options.api;
        match &self.options.scope {
            Scope::Cluster => self.watch(Api::all_with(client, api), None).await,
            Scope::Namespaces(namespaces) => {
                let watches = namespaces.iter().map(|namespace| {
                    let client = client.clone();
                    self.watch(Api::namespaced_with(client, namespace, api), Some(namespace))
                });
                futures::future::join_all(watches).await;
            }
        }
    }

    async fn watch(&self, api: Api<Arrived>, namespace: Option<&str>) {
        let config =
            watcher::Config { label_selector: self.options.labels.clone(), ..watcher::Config::default() };
        let mut events = std::pin::pin!(watcher(api, config));
        let mut listing: Option<Listing> = None;
        let mut first = true;
        let mut wait = FIRST_WAIT;
        let mut trouble: Option<String> = None;
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    let worked = !matches!(event, Event::Init);
                    self.take(event, &mut listing, namespace, &mut first);
                    if worked {
                        wait = FIRST_WAIT;
                        if trouble.take().is_some() {
                            tracing::info!(kind = %self.options.api.kind, "the watch works again");
                        }
                    }
                }
                Err(error) => {
                    let said = self.tell(&error);
                    // The same trouble is told once, not at every attempt.
                    if trouble.as_ref() != Some(&said) {
                        if is_expected(&error) {
                            tracing::debug!(kind = %self.options.api.kind, "{said}");
                        } else {
                            tracing::warn!(kind = %self.options.api.kind, "{said}");
                        }
                        trouble = Some(said);
                    }
                    // The stream goes on when it is asked again; it asks the API server then.
                    if !is_expected(&error) {
                        tokio::time::sleep(wait).await;
                        wait = (wait * 2).min(LONGEST_WAIT);
                    }
                }
            }
        }
    }

    fn take(
        &self,
        event: Event<Arrived>,
        listing: &mut Option<Listing>,
        namespace: Option<&str>,
        first: &mut bool,
    ) {
        match event {
            Event::Init => {
                if listing.replace(self.store.begin_list()).is_some() {
                    self.store.abandon_list();
                }
            }
            Event::InitApply(object) => {
                if let Some(listing) = listing {
                    self.announce(self.store.listed(listing, object.held));
                }
            }
            Event::InitDone => {
                if let Some(listing) = listing.take() {
                    for change in self.store.end_list(&listing, namespace) {
                        self.announce(Some(change));
                    }
                }
                if std::mem::take(first) {
                    self.synced.send_modify(|synced| *synced += 1);
                }
            }
            Event::Apply(object) => self.announce(self.store.arrived(object.held)),
            Event::Delete(object) => self.announce(self.store.gone(&object.held)),
        }
    }

    fn announce(&self, change: Option<Change>) {
        let Some(change) = change else { return };
        for listener in self.listeners.get().into_iter().flatten() {
            listener(&change);
        }
    }

    fn tell(&self, error: &watcher::Error) -> String {
        let kind = &self.options.api.kind;
        let status = match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => status,
            other => return format!("watching {kind}: {other}"),
        };
        match Rule::of(&status.message) {
            Some(rule) => {
                format!("watching {kind}: a permission is missing; grant it with the RBAC rule {rule}")
            }
            None => format!("watching {kind}: {}", status.message),
        }
    }
}

/// A watch that ran into the past starts over by itself; that is no trouble.
fn is_expected(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchError(status) if status.code == 410)
}
