//! Ids: one type per kind of thing, so that none is taken for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        impl From<Uuid> for $name {
            fn from(id: Uuid) -> Self {
                Self(id)
            }
        }
    )+};
}

ids! {
    /// Of an operator that is registered.
    OperatorId,
    /// Of a cluster that is registered.
    ClusterId,
    /// Of a stored schema of a CRD.
    CrdId,
    /// Of a person who may log in.
    UserId,
    /// Of a token that a machine uses.
    TokenId,
    /// Of somebody's being logged in somewhere.
    SessionId,
    /// Of a decision that somebody has to make.
    ApprovalId,
    /// Of a rollout; on the wire a deployment.
    RolloutId,
}
