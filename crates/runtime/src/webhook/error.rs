//! What keeps webhooks from being served.

use std::io;
use std::net::SocketAddr;

/// Why the webhooks could not start, or a certificate could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// The address is taken or not ours.
    #[error("could not listen for webhook calls on {address}; is another process using the port?")]
    Listen {
        /// The wanted address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate's times contradict each other.
    #[error("the certificate schedule cannot work: {0}")]
    Schedule(String),
    /// A certificate or key is not what it should be.
    #[error("{what} cannot be used: {reason}")]
    Certificate {
        /// Which one.
        what: String,
        /// Why not.
        reason: String,
    },
    /// A file of the certificate could not be read.
    #[error("could not read {path}")]
    File {
        /// Its path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// TLS itself could not be set up.
    #[error("could not set TLS up")]
    Tls(#[source] rustls::Error),
    /// Kubernetes refused or could not be asked.
    #[error("{doing}")]
    Kubernetes {
        /// What was being done.
        doing: String,
        /// What came back.
        #[source]
        source: Box<kube::Error>,
    },
}

impl WebhookError {
    pub(crate) fn certificate(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Certificate { what: what.into(), reason: reason.into() }
    }

    pub(crate) fn kubernetes(doing: impl Into<String>, source: kube::Error) -> Self {
        Self::Kubernetes { doing: doing.into(), source: Box::new(source) }
    }

    /// Whether somebody else wrote in between, so that reading again may help.
    pub(crate) fn outrun(&self) -> bool {
        // A failed `test` of a JSON Patch is 422, as is an object that is not valid.
        matches!(self, Self::Kubernetes { source, .. } if matches!(code(source), Some(404 | 409 | 422)))
    }
}

/// The code of an API server's refusal.
pub(crate) fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// An error with its causes, in one line for a log.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    // kube shows a refusal with all its fields; its message is what people read.
    if let Some(WebhookError::Kubernetes { source, .. }) = error.downcast_ref()
        && let kube::Error::Api(status) = source.as_ref()
    {
        return format!("{text}: {}", status.message);
    }
    while let Some(next) = cause {
        // kube repeats its source in its own words; saying it twice helps nobody.
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text.push_str(": ");
            text.push_str(&next_text);
        }
        cause = next.source();
    }
    text
}
