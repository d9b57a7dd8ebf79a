//! Sending of mails and signed requests.

use async_trait::async_trait;

use super::store::Message;

/// Sends messages. It keeps nothing and tries once; trying again is the [outbox](crate::outbox)'s.
#[async_trait]
pub trait Notifier: Send + Sync {
    /// Sends a message, or says why not. The same message carries the same id each time, so that a receiver
    /// can tell a second copy from a second message. Returns within a minute, whatever the other side does.
    async fn send(&self, message: &Message) -> Result<(), NotifyError>;
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NotifyError {
    /// Whether another try can help.
    pub outlook: Outlook,
    /// A sentence without secrets.
    pub reason: String,
    /// What lies behind it.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Whether another try can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// The other side does not answer, or not as it should, or something here is set wrongly.
    Later,
    /// The other side does not want it, ever.
    Never,
}

impl NotifyError {
    /// Another try can help.
    pub fn later(reason: impl Into<String>) -> Self {
        Self { outlook: Outlook::Later, reason: reason.into(), source: None }
    }

    /// No other try can help.
    pub fn never(reason: impl Into<String>) -> Self {
        Self { outlook: Outlook::Never, reason: reason.into(), source: None }
    }

    /// Adds what lies behind it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}
