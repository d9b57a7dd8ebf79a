//! Sends each message the way its recipient wants it.

use std::net::IpAddr;

use async_trait::async_trait;
use sha2::{Digest as _, Sha256};
use slipway_orchestrator::ports::store::{Message, Recipient};
use slipway_orchestrator::ports::{Notifier, NotifyError};
use uuid::Uuid;

use crate::mail::Mailer;
use crate::webhook::Webhooks;

/// Mails and webhooks behind one port.
#[derive(Debug, Default)]
pub struct Notifiers {
    /// Sends mails, where a server for them is set.
    pub mail: Option<Mailer>,
    /// Sends signed requests.
    pub webhooks: Webhooks,
}

#[async_trait]
impl Notifier for Notifiers {
    async fn send(&self, message: &Message) -> Result<(), NotifyError> {
        match (&message.to, &self.mail) {
            (Recipient::Mail { address }, Some(mailer)) => mailer.send(address, message).await,
            (Recipient::Mail { .. }, None) => {
                Err(NotifyError::later("no mail server is set; see the setting mail.host"))
            }
            (Recipient::Webhook { receiver }, _) => self.webhooks.send(receiver, message).await,
        }
    }
}

/// The id that a message carries to its receiver: the same each time it is sent, another for another.
pub fn delivery_id(message: &Message) -> Uuid {
    let digest = Sha256::digest(message.key.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// Whether a host is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_told_from_others() {
        for here in ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]"] {
            assert!(is_loopback(here), "{here}");
        }
        for elsewhere in ["mail.example", "10.0.0.1", "localhost.example", "0.0.0.0", ""] {
            assert!(!is_loopback(elsewhere), "{elsewhere}");
        }
    }
}
