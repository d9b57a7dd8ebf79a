//! The database: reads by aggregate, one write.

mod approvals;
mod audit;
mod clusters;
mod crds;
mod events;
mod figures;
mod health;
mod operators;
mod outbox;
mod rollouts;
mod settings;
mod users;
mod work;

use async_trait::async_trait;

use crate::changes::Changeset;
use crate::error::{Code, Error};

pub use approvals::{APPROVAL_SUBJECT, ApprovalFilter, ApprovalRows, ApprovalWrite};
pub use audit::{AuditFilter, AuditRecord, AuditRows};
pub use clusters::{ClusterFilter, ClusterRows, ClusterSample, ClusterWrite, SealedAccess};
pub use crds::{
    CrdFilter, CrdHistory, CrdRows, CrdWrite, LiveCrd, NewCrd, OperatorCrds, SeenContent, SeenCrd,
};
pub use events::{EventRecord, EventRows};
pub use figures::{FigureRows, Figures};
pub use health::{HealthCount, HealthRecord, HealthRows, HealthSample, HealthWrite, Place};
pub use operators::{KnownVersion, OperatorFilter, OperatorRows, OperatorWrite, Sealed, SealedPlace};
pub use outbox::{Message, OUTBOX, OutboxRows, Outgoing, Recipient};
pub use rollouts::{
    Excerpt, GivenValues, Happened, RESERVED, RESERVED_OPERATOR, Recorded, Rollout, RolloutFilter,
    RolloutNews, RolloutRows, RolloutWrite, StepRow,
};
pub use settings::{SettingsRows, SettingsWrite, StoredSetting};
pub use users::{
    AttemptKey, Expired, KEY_NUMBER, LAST_ADMIN, SUBJECT, Session, SigningKey, StoredPassword, TOKEN_NAME,
    TokenFilter, USERNAME, UserFilter, UserRows, UserWrite,
};
pub use work::{Claim, WorkRows};

/// Why the database did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It does not answer, or not in time. Trying again may help.
    #[error("the database does not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A row with that key is there already; the constraint says which key.
    #[error("{constraint} is taken")]
    Taken {
        /// The name of the constraint, such as `clusters_name_key`.
        constraint: String,
    },
    /// A row that a change is conditional on is not as it was.
    #[error("{what} changed meanwhile")]
    Stale {
        /// Which row, for people.
        what: String,
    },
    /// Something still refers to it.
    #[error("{constraint} still refers to it")]
    Referenced {
        /// The name of the constraint.
        constraint: String,
    },
    /// The claim that the change stands on is lost.
    #[error("another server took over")]
    Fenced,
    /// Anything else: a defect.
    #[error("the database refused")]
    Other(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (code, message) = match &error {
            StoreError::Unavailable(_) => {
                (Code::Unavailable, "the database does not answer; try again in a moment".to_owned())
            }
            StoreError::Taken { .. } => (Code::Conflict, "it exists already".to_owned()),
            StoreError::Stale { what } => {
                (Code::PreconditionFailed, format!("{what} changed meanwhile; read it again and repeat"))
            }
            StoreError::Referenced { .. } => (Code::Conflict, "it is still in use".to_owned()),
            StoreError::Fenced | StoreError::Other(_) => (
                Code::InternalError,
                "something went wrong here; the trace id finds it in the logs".to_owned(),
            ),
        };
        Self::new(code, message).caused_by(error)
    }
}

/// The database. Reads may be a moment old; a write is one transaction.
#[async_trait]
pub trait Store:
    ApprovalRows
    + AuditRows
    + ClusterRows
    + CrdRows
    + EventRows
    + FigureRows
    + HealthRows
    + OperatorRows
    + OutboxRows
    + RolloutRows
    + SettingsRows
    + UserRows
    + WorkRows
    + Send
    + Sync
{
    /// Writes everything, or nothing.
    async fn commit(&self, changes: Changeset) -> Result<(), StoreError>;

    /// Whether it answers.
    async fn ready(&self) -> Result<(), StoreError>;
}
