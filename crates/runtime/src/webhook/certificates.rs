//! Where the server's certificate comes from, and how it stays valid.
//!
//! Three ways: an authority of our own in a Secret, files that somebody mounts and renews, or a
//! fixed pair for tests. Whichever it is, a new certificate takes the place of the old one between
//! two handshakes, and nothing that is under way is dropped. Keys are never logged.

mod authority;
mod files;
mod identity;
mod record;
mod rotation;
mod self_signed;
mod store;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::error::WebhookError;
use super::injection::Targets;
use super::problems::Problems;

pub(crate) use identity::{Identity, Slot};
pub use rotation::Schedule;
pub(crate) use store::SecretStore;

/// The certificates that API servers shall trust, PEM.
pub(crate) type Bundle = Arc<str>;

/// Where the server's certificate comes from.
#[derive(Debug)]
pub struct Certificates(Source);

#[derive(Debug)]
enum Source {
    SelfSigned(Box<(SecretStore, SelfSigned)>),
    Files(Files),
    Fixed(Fixed),
}

/// A certificate of an authority that the replicas make themselves and share in a Secret.
#[derive(Debug, Clone)]
pub struct SelfSigned {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The name of the Secret.
    pub secret: String,
    /// The names that API servers call the server by.
    pub dns_names: Vec<String>,
    /// The addresses that API servers call the server by, if they do not use a name.
    pub addresses: Vec<IpAddr>,
    /// How long everything lives.
    pub schedule: Schedule,
}

impl SelfSigned {
    /// For a server behind this Service, with the authority in this Secret beside it.
    pub fn for_service(namespace: &str, service: &str, secret: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            secret: secret.to_owned(),
            dns_names: vec![
                format!("{service}.{namespace}.svc"),
                format!("{service}.{namespace}.svc.cluster.local"),
                format!("{service}.{namespace}"),
                service.to_owned(),
            ],
            addresses: Vec::new(),
            schedule: Schedule::default(),
        }
    }
}

/// A certificate in files, mounted and renewed by somebody else, such as cert-manager.
#[derive(Debug, Clone)]
pub struct Files {
    /// The certificate and its chain, PEM.
    pub certificate: PathBuf,
    /// The private key, PEM.
    pub key: PathBuf,
    /// The authority to inject; none where somebody else injects it, as cert-manager's cainjector does.
    /// API servers see a new authority a moment after the certificate changed, so a file that changes
    /// its authority should hold the old and the new one for a while.
    pub authority: Option<PathBuf>,
    /// How often to look for new content.
    pub look_every: Duration,
}

impl Files {
    /// `tls.crt` and `tls.key` in a directory, as a mounted TLS Secret has them, looked at every ten seconds.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            certificate: directory.join("tls.crt"),
            key: directory.join("tls.key"),
            authority: None,
            look_every: Duration::from_secs(10),
        }
    }
}

/// A certificate that never changes, for tests.
#[derive(Clone)]
pub struct Fixed {
    /// The certificate and its chain, PEM.
    pub certificate: String,
    /// The private key, PEM.
    pub key: String,
    /// The authority to inject, PEM.
    pub authority: Option<String>,
}

impl std::fmt::Debug for Fixed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Fixed").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

impl Certificates {
    /// From an authority of our own, kept in a Secret. The client must be able to get, create and
    /// update that Secret, and must not be fenced by leadership.
    pub fn self_signed(client: Client, settings: SelfSigned) -> Result<Self, WebhookError> {
        settings.schedule.check()?;
        if settings.dns_names.is_empty() && settings.addresses.is_empty() {
            return Err(WebhookError::certificate(
                "the webhook certificate",
                "it has no name and no address",
            ));
        }
        let store = SecretStore::new(client, &settings.namespace, &settings.secret);
        Ok(Self(Source::SelfSigned(Box::new((store, settings)))))
    }

    /// From files, read again whenever they change.
    pub fn files(files: Files) -> Self {
        Self(Source::Files(files))
    }

    /// From a pair that stays.
    pub fn fixed(fixed: Fixed) -> Self {
        Self(Source::Fixed(fixed))
    }

    /// Begins to keep the slot filled and the bundle known.
    pub(crate) fn start(
        self,
        targets: Option<&Targets>,
        problems: &Problems,
    ) -> Result<Living, WebhookError> {
        let slot = Arc::new(Slot::default());
        let (publish, bundle) = watch::channel(None);
        let (keeper, fresh) = match self.0 {
            Source::SelfSigned(both) => {
                let (store, settings) = *both;
                let fresh = FreshBundle::Secret(Box::new(store.clone()));
                let keeper = self_signed::Keeper::new(
                    store,
                    settings,
                    targets.cloned(),
                    Arc::clone(&slot),
                    publish,
                    problems.clone(),
                );
                (tokio::spawn(keeper.run()), fresh)
            }
            Source::Files(files) => {
                let keeper = files::Keeper::new(files, Arc::clone(&slot), publish, problems.clone());
                (tokio::spawn(keeper.run()), FreshBundle::Held(bundle.clone()))
            }
            Source::Fixed(fixed) => {
                slot.fill(Identity::read("the webhook certificate", &fixed.certificate, &fixed.key)?);
                publish.send_replace(fixed.authority.map(Into::into));
                // Whoever listens takes a closed channel for the end of the server.
                let keeper = async move { publish.closed().await };
                (tokio::spawn(keeper), FreshBundle::Held(bundle.clone()))
            }
        };
        Ok(Living { slot, bundle, fresh, keeper })
    }
}

/// A certificate that is being kept alive.
pub(crate) struct Living {
    pub(crate) slot: Arc<Slot>,
    pub(crate) bundle: watch::Receiver<Option<Bundle>>,
    pub(crate) fresh: FreshBundle,
    pub(crate) keeper: JoinHandle<()>,
}

/// Gives the bundle as it is now, not as it was when it was last heard of. Whoever writes it must
/// ask after reading what is to be changed, or a replica that lags could put an old bundle back.
#[derive(Clone)]
pub(crate) enum FreshBundle {
    Secret(Box<SecretStore>),
    Held(watch::Receiver<Option<Bundle>>),
}

impl FreshBundle {
    pub(crate) async fn get(&self) -> Result<Option<Bundle>, WebhookError> {
        match self {
            Self::Secret(store) => Ok(store.read().await?.map(|stored| stored.record.bundle())),
            Self::Held(bundle) => Ok(bundle.borrow().clone()),
        }
    }
}
