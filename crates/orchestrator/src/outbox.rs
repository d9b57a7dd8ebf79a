//! Sending what is in the outbox: soon, again and again where it fails, and with an end.
//!
//! A message is claimed by one server at a time, so two that live never send the same one. A server that
//! dies after sending and before writing that down leaves the message to another, which sends it again
//! under the same id; that is the one way to two copies, and receivers can tell them apart from two
//! messages.

use std::error::Error as _;
use std::fmt::Write as _;
use std::time::Duration;

use async_trait::async_trait;
use jiff::SignedDuration;
use slipway_domain::access::Actor;
use slipway_domain::audit::{AuditEntry, AuditResult};

use crate::changes::Changeset;
use crate::error::Error;
use crate::manager::Manager;
use crate::metrics::Delivery;
use crate::ports::notifier::{NotifyError, Outlook};
use crate::ports::store::{Claim, OUTBOX, Outgoing, Recipient};
use crate::workers::{Next, Worker};

/// How long a message is tried.
pub const GIVE_UP_AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Sends the messages of the outbox.
#[derive(Clone)]
pub struct OutboxSender {
    manager: Manager,
    lease: Duration,
}

impl OutboxSender {
    /// With the manager's store and notifier.
    pub fn new(manager: Manager) -> Self {
        Self { manager, lease: Duration::from_secs(15) }
    }

    /// With another lease: how long another server waits for one that died.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    async fn fail(&self, outgoing: &Outgoing, error: &NotifyError) -> Result<Next, Error> {
        let store = self.manager.store();
        let tried = outgoing.attempt + 1;
        let reason = chain(error);
        let age = self.manager.now().duration_since(outgoing.written_at);
        let give_up = error.outlook == Outlook::Never || age >= GIVE_UP_AFTER;
        let to = whom(&outgoing.message.to);
        let delivery = if give_up { Delivery::GivenUp } else { Delivery::Failed };
        self.manager.metrics.delivery(&outgoing.message, delivery);
        if !give_up {
            tracing::warn!(message = outgoing.id, to, tried, reason, "a message could not be sent yet");
            store.unsent(outgoing.id, &reason, false).await?;
            return Ok(Next::After(pause(tried)));
        }
        let kind = &outgoing.message.kind;
        tracing::error!(message = outgoing.id, kind, to, tried, reason, "a message was given up");
        let sentence = format!(
            "gave up sending {:?} ({kind}) to {to} after {tried} {}: {reason}",
            outgoing.message.subject,
            if tried == 1 { "try" } else { "tries" },
        );
        let entry = AuditEntry::new(
            &Actor::system("outbox"),
            "notice.giveUp",
            format!("message/{}", outgoing.id),
            AuditResult::Failure,
            sentence,
        );
        store.commit(Changeset::new().audit(entry)).await?;
        store.unsent(outgoing.id, &reason, true).await?;
        Ok(Next::Ended)
    }
}

#[async_trait]
impl Worker for OutboxSender {
    fn kind(&self) -> &'static str {
        OUTBOX
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    async fn work(&self, claim: &Claim) -> Result<Next, Error> {
        let store = self.manager.store();
        let id = claim.work.key.parse().ok();
        let Some(outgoing) = (match id {
            Some(id) => store.outgoing(id).await?,
            None => None,
        }) else {
            // Sent or given up already, by a server that died before it ended the work.
            store.commit(Changeset::new().fenced(claim.fence()).end(claim.work.clone())).await?;
            return Ok(Next::Ended);
        };
        // The last look before the one act that cannot be taken back: a server that was frozen since it
        // claimed the message must not send what another one has taken over.
        if !store.keep(claim, self.lease()).await? {
            return Ok(Next::Ended);
        }
        match self.manager.parts.notifier.send(&outgoing.message).await {
            Ok(()) => {
                store.sent(outgoing.id).await?;
                self.manager.metrics.delivery(&outgoing.message, Delivery::Sent);
                let to = whom(&outgoing.message.to);
                tracing::info!(message = outgoing.id, kind = outgoing.message.kind, to, "a message was sent");
                Ok(Next::Ended)
            }
            Err(error) => self.fail(&outgoing, &error).await,
        }
    }
}

/// How long to wait after so many tries: 5 s, 10 s, 20 s, up to half an hour.
fn pause(tried: u32) -> Duration {
    let doubled = 5_u64.saturating_mul(1_u64.checked_shl(tried.saturating_sub(1)).unwrap_or(u64::MAX));
    Duration::from_secs(doubled.min(30 * 60))
}

fn whom(recipient: &Recipient) -> String {
    match recipient {
        Recipient::Mail { address } => address.clone(),
        Recipient::Webhook { receiver } => format!("webhook {receiver}"),
    }
}

/// An error with its causes, bounded: it is kept in a row.
fn chain(error: &NotifyError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(text, ": {error}");
        cause = error.source();
    }
    text.chars().filter(|character| !character.is_control()).take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_within_half_an_hour() {
        let pauses: Vec<u64> = (1..=10).map(|tried| pause(tried).as_secs()).collect();
        assert_eq!(pauses, [5, 10, 20, 40, 80, 160, 320, 640, 1_280, 1_800]);
        assert_eq!(pause(u32::MAX).as_secs(), 1_800);
    }
}
