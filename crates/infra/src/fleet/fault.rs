//! Why a step was not done, as far as it matters for what comes next.

use std::fmt;

use slipway_domain::rollout::Outcome;
use slipway_helm::HelmError;
use slipway_orchestrator::ports::fleet::FleetError;

use crate::kubernetes::{ConnectError, LendError, unreachable};

/// How long a silent API server is waited for; the client gives up after that.
const PATIENCE: u64 = 30;

/// Why a step was not done. The texts hold no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The cluster could not be reached.
    Unreachable(String),
    /// It may pass: a conflict, a timeout of one call, something of this machine.
    Hiccup(String),
    /// Trying again is of no use.
    Failed(String),
}

impl Fault {
    /// What the decider takes.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Unreachable(reason) => Outcome::Unreachable { reason },
            Self::Hiccup(reason) => Outcome::Hiccup { reason },
            Self::Failed(reason) => Outcome::Failed { reason },
        }
    }

    /// The same with what was being done in front.
    #[must_use]
    pub(crate) fn while_(self, doing: &str) -> Self {
        match self {
            Self::Unreachable(reason) => Self::Unreachable(reason),
            Self::Hiccup(reason) => Self::Hiccup(format!("{doing}: {reason}")),
            Self::Failed(reason) => Self::Failed(format!("{doing}: {reason}")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unreachable(reason) | Self::Hiccup(reason) | Self::Failed(reason)) = self;
        f.write_str(reason)
    }
}

impl From<Fault> for FleetError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Unreachable(reason) => Self::Unreachable(reason),
            Fault::Hiccup(reason) | Fault::Failed(reason) => Self::Refused(reason),
        }
    }
}

impl From<kube::Error> for Fault {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) => {
                let message = status.message.clone();
                match status.code {
                    401 => Self::Unreachable("the cluster does not know our token any more".to_owned()),
                    409 | 429 | 500..=599 => Self::Hiccup(message),
                    _ => Self::Failed(message),
                }
            }
            kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
                Self::Hiccup("the cluster's reply cannot be read".to_owned())
            }
            other => Self::Unreachable(unreachable(other, PATIENCE).to_string()),
        }
    }
}

impl From<ConnectError> for Fault {
    fn from(error: ConnectError) -> Self {
        let reason = std::error::Error::source(&error)
            .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        match error {
            ConnectError::Unknown => Self::Failed(reason),
            _ => Self::Hiccup(reason),
        }
    }
}

impl From<LendError> for Fault {
    fn from(error: LendError) -> Self {
        match error {
            LendError::Connect(error) => error.into(),
            LendError::Cluster(error) => (*error).into(),
        }
    }
}

impl From<HelmError> for Fault {
    fn from(error: HelmError) -> Self {
        let reason = error.to_string();
        match error {
            HelmError::Unreachable { .. } => Self::Unreachable(reason),
            HelmError::Missing(_)
            | HelmError::Start { .. }
            | HelmError::NotHelm { .. }
            | HelmError::Home(_)
            | HelmError::Pending => Self::Hiccup(reason),
            _ => Self::Failed(reason),
        }
    }
}
