//! Messages that are sent because of a change: written with it, sent after it, once.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StoreError;

/// Who gets a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "camelCase")]
pub enum Recipient {
    /// By mail.
    Mail {
        /// The address.
        address: String,
    },
    /// By a signed HTTP request to a configured receiver.
    Webhook {
        /// The name of the receiver in the settings; its address and secret are not here.
        receiver: String,
    },
}

/// A message: the facts and where to look, never a secret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who gets it.
    pub to: Recipient,
    /// A second message with the same key is not sent.
    pub key: String,
    /// What it is about, such as `approval.required`.
    pub kind: String,
    /// One line.
    pub subject: String,
    /// The text for people.
    pub text: String,
    /// The facts for programs.
    pub facts: Value,
}

/// A message on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing {
    /// Which.
    pub id: i64,
    /// How often it was tried.
    pub attempt: u32,
    /// When it was written.
    pub written_at: Timestamp,
    /// What.
    pub message: Message,
}

/// The outbox. Messages are work of the kind [`OUTBOX`], with their id as key.
#[async_trait]
pub trait OutboxRows: Send + Sync {
    /// A message that was claimed; nothing once it is sent or given up.
    async fn outgoing(&self, id: i64) -> Result<Option<Outgoing>, StoreError>;

    /// It was sent.
    async fn sent(&self, id: i64) -> Result<(), StoreError>;

    /// It could not be sent this time; `give_up` ends it.
    async fn unsent(&self, id: i64, error: &str, give_up: bool) -> Result<(), StoreError>;
}

/// The kind of work that sending messages is.
pub const OUTBOX: &str = "outbox";
