//! Everything a use case can reach.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use slipway_domain::access::{Actor, Permission, Role};
use slipway_domain::audit::{AuditEntry, AuditResult};

use crate::changes::Changeset;
use crate::crds::Comparisons;
use crate::error::{Code, Error, permit};
use crate::identity::{IdentitySettings, IdentityState};
use crate::metrics::Metrics;
use crate::notices::NoticeSettings;
use crate::ports::{Charts, Clock, Clusters, Fleet, Identity, Keyring, Notifier, Probes, Releases, Store};
use crate::rollouts::RolloutSettings;

/// The adapters.
#[derive(Clone)]
pub struct Parts {
    /// The database.
    pub store: Arc<dyn Store>,
    /// The clusters.
    pub clusters: Arc<dyn Clusters>,
    /// Chart repositories.
    pub charts: Arc<dyn Charts>,
    /// Looking at operators.
    pub probes: Arc<dyn Probes>,
    /// Changing operators on clusters.
    pub fleet: Arc<dyn Fleet>,
    /// Helm releases.
    pub releases: Arc<dyn Releases>,
    /// Encryption.
    pub keyring: Arc<dyn Keyring>,
    /// Mails and webhooks.
    pub notifier: Arc<dyn Notifier>,
    /// Passwords and tokens.
    pub identity: Arc<dyn Identity>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What can be set about the use cases.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where people reach this server, for links in mails.
    pub public_url: String,
    /// How often a cluster is looked at.
    pub cluster_health_every: Duration,
    /// How often an operator on a cluster is looked at.
    pub operator_health_every: Duration,
    /// How long the audit is kept; nothing means for good.
    pub audit_retention: Option<Duration>,
    /// About logging in.
    pub identity: IdentitySettings,
    /// Who is told what, and how.
    pub notices: NoticeSettings,
    /// About rollouts.
    pub rollouts: RolloutSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            public_url: "http://localhost:5000".to_owned(),
            cluster_health_every: Duration::from_mins(1),
            operator_health_every: Duration::from_secs(30),
            audit_retention: None,
            identity: IdentitySettings::default(),
            notices: NoticeSettings::default(),
            rollouts: RolloutSettings::default(),
        }
    }
}

/// The manager: its use cases are methods, in one file per resource.
#[derive(Clone)]
pub struct Manager {
    pub(crate) parts: Parts,
    pub(crate) settings: Arc<Settings>,
    pub(crate) identity: Arc<IdentityState>,
    pub(crate) comparisons: Arc<Comparisons>,
    pub(crate) metrics: Metrics,
}

impl Manager {
    /// On these adapters.
    pub fn new(parts: Parts, settings: Settings) -> Self {
        Self {
            parts,
            settings: Arc::new(settings),
            identity: Arc::new(IdentityState::new()),
            comparisons: Arc::default(),
            metrics: Metrics::default(),
        }
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// The database.
    pub(crate) fn store(&self) -> &dyn Store {
        &*self.parts.store
    }

    /// Lets the actor go on, or writes the refusal down and says who may.
    pub(crate) async fn permit(
        &self,
        actor: &Actor,
        permission: Permission,
        action: &str,
        resource: &str,
    ) -> Result<(), Error> {
        // What one role may is a setting; everything else is the table.
        let lent = permission == Permission::RollBack && self.settings.rollouts.operators_roll_back;
        if lent && actor.role == Some(Role::Operator) {
            return Ok(());
        }
        let Err(error) = permit(actor, permission) else { return Ok(()) };
        if error.code == Code::Forbidden {
            let entry = AuditEntry::new(actor, action, resource, AuditResult::Denied, error.to_string());
            self.store().commit(Changeset::new().audit(entry)).await?;
        }
        Err(error)
    }

    /// Lets the actor call an endpoint, or writes the refusal down and says who may. Use cases ask again for
    /// themselves; this keeps the parsing of bodies from those who may not send them.
    pub async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error> {
        self.permit(actor, permission, "api.call", endpoint).await
    }

    /// Whether the server can work: the database answers.
    pub async fn ready(&self) -> Result<(), Error> {
        Ok(self.store().ready().await?)
    }
}
