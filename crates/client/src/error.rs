//! How a call fails.

use std::path::PathBuf;

use slipway_contract::error::ErrorBody;

/// Why a call did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused, and says why.
    #[error("{}", .body.message)]
    Refused {
        /// The status.
        status: u16,
        /// What it says.
        body: Box<ErrorBody>,
    },
    /// The server does not answer.
    #[error("{server} does not answer")]
    Unreachable {
        /// Its address.
        server: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// What answers is no Slipway server, or another version of it.
    #[error("{server} answered {status} with something that is no reply of Slipway")]
    Strange {
        /// Its address.
        server: String,
        /// The status.
        status: u16,
    },
    /// The address makes no sense.
    #[error("{0} is not the address of a server, such as https://slipway.example:5001")]
    Address(String),
    /// The file of authorities cannot be used.
    #[error("the certificates of {} cannot be used", .file.display())]
    Authorities {
        /// Which file.
        file: PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Connections cannot be made on this machine.
    #[error("connections cannot be made from this machine")]
    Setup(#[source] reqwest::Error),
}

impl ClientError {
    /// The server's code, if it refused.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { body, .. } => Some(&body.code),
            _ => None,
        }
    }

    /// The status, if something answered.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } | Self::Strange { status, .. } => Some(*status),
            _ => None,
        }
    }
}
