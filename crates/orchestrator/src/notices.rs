//! Messages for people and programs: who gets which, and what it says.
//!
//! A [`Notice`] has the facts and a link, never a secret. [`Manager::messages`] turns it into one message
//! per recipient, which a use case puts into its changeset, so that a message is sent exactly when the
//! change that caused it was written. Each message has a key, and the outbox takes a key once.

mod alert;
mod approval;
mod letter;
mod rollout;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_domain::access::{Environment, Role};
use slipway_domain::approval::{Approval, Approver, Level};
use slipway_domain::id::UserId;
use slipway_domain::user::User;

use crate::error::Error;
use crate::manager::Manager;
use crate::ports::store::{Message, Recipient};

pub use alert::{Alert, AlertState};
pub use approval::{decided, required};
pub use rollout::RolloutNotice;

/// Who can be reached, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoticeSettings {
    /// Whether mails can be sent at all; without it none are written.
    pub mail: bool,
    /// Addresses that get every alert, beside the people it concerns: a list, or somebody on duty.
    pub alert_addresses: Vec<String>,
    /// Programs that are told by signed requests.
    pub receivers: Vec<Receiver>,
}

/// A program that is told by signed requests. Its address and secret are the notifier's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// Its name.
    pub name: String,
    /// What it is told: kinds such as `approval.required`, or the beginning of several such as `approval.`;
    /// empty means everything.
    pub kinds: Vec<String>,
}

impl Receiver {
    /// Whether it is told about a kind.
    pub fn wants(&self, kind: &str) -> bool {
        let fits = |wanted: &String| {
            if wanted.ends_with('.') { kind.starts_with(wanted.as_str()) } else { kind == wanted }
        };
        self.kinds.is_empty() || self.kinds.iter().any(fits)
    }
}

/// Something to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Notice {
    /// What it is about, such as `approval.required`.
    pub kind: &'static str,
    /// Tells this notice from every other; the same notice has the same key.
    pub key: String,
    /// One line.
    pub subject: String,
    /// The text for people.
    pub text: String,
    /// The facts for programs.
    pub facts: Value,
}

/// Who is told by mail. Receivers are told in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audience {
    /// Those who can decide the open level, without the starter where they must not.
    Deciders(Box<Approval>),
    /// One person.
    Person(UserId),
    /// Everybody who answers for an environment: its owners and the admins, and this person.
    Responsible(Environment, Option<UserId>),
    /// Those who answer for an environment, and the addresses for alerts.
    Alerted(Environment),
    /// Nobody.
    Nobody,
}

impl Manager {
    /// A notice as messages: one per address and receiver.
    pub async fn messages(&self, notice: &Notice, audience: &Audience) -> Result<Vec<Message>, Error> {
        let settings = &self.settings.notices;
        let mut recipients = Vec::new();
        if settings.mail {
            let addresses = self.addresses(audience).await?;
            recipients.extend(addresses.into_iter().map(|address| Recipient::Mail { address }));
        }
        let receivers = settings.receivers.iter().filter(|receiver| receiver.wants(notice.kind));
        recipients.extend(receivers.map(|receiver| Recipient::Webhook { receiver: receiver.name.clone() }));
        let message = |to: Recipient| Message {
            key: match &to {
                Recipient::Mail { address } => format!("{}/mail/{address}", notice.key),
                Recipient::Webhook { receiver } => format!("{}/webhook/{receiver}", notice.key),
            },
            to,
            kind: notice.kind.to_owned(),
            subject: notice.subject.clone(),
            text: notice.text.clone(),
            facts: notice.facts.clone(),
        };
        Ok(recipients.into_iter().map(message).collect())
    }

    /// The addresses of an audience, each once.
    async fn addresses(&self, audience: &Audience) -> Result<Vec<String>, Error> {
        let mut users = Vec::new();
        let mut extra: &[String] = &[];
        match audience {
            Audience::Deciders(approval) => {
                let level = approval.open_level().and_then(|index| approval.levels.get(index));
                if let Some(level) = level {
                    users = self.deciders(approval, level).await?;
                }
            }
            Audience::Person(id) => users.extend(self.store().user(*id).await?),
            Audience::Responsible(environment, person) => {
                users = self.responsible(*environment).await?;
                if let Some(id) = person {
                    users.extend(self.store().user(*id).await?);
                }
            }
            Audience::Alerted(environment) => {
                users = self.responsible(*environment).await?;
                extra = &self.settings.notices.alert_addresses;
            }
            Audience::Nobody => {}
        }
        let enabled = users.into_iter().filter(User::is_enabled);
        let addresses = enabled.filter_map(|user| user.email.map(|email| email.to_string()));
        // Mail servers tell addresses apart by their domain without regard to case; so do people.
        let unique: BTreeMap<String, String> =
            addresses.chain(extra.iter().cloned()).map(|address| (address.to_lowercase(), address)).collect();
        Ok(unique.into_values().collect())
    }

    async fn responsible(&self, environment: Environment) -> Result<Vec<User>, Error> {
        let mut users = self.store().users_with_role(Role::Admin).await?;
        let owners = self.store().users_with_role(Role::EnvironmentOwner).await?;
        users.extend(owners.into_iter().filter(|owner| owner.decides_for(environment)));
        Ok(users)
    }

    async fn deciders(&self, approval: &Approval, level: &Level) -> Result<Vec<User>, Error> {
        let environment = approval.subject.environment;
        let mut users = self.store().users_with_role(Role::Admin).await?;
        users.extend(self.store().users_with_role(Role::EnvironmentOwner).await?);
        // Where an environment has owners, they are asked; admins could decide, but need not be told.
        let owners = |user: &User| user.role == Role::EnvironmentOwner && user.decides_for(environment);
        let owned = users.iter().any(|user| owners(user) && !kept_out(approval, user));
        let asked = |user: &User| {
            level.by.iter().any(|approver| match approver {
                Approver::EnvironmentOwner if owned => owners(user),
                approver => approver.is(&user.actor(), environment),
            })
        };
        users.retain(|user| asked(user) && !kept_out(approval, user));
        Ok(users)
    }
}

/// Whether somebody cannot decide any more, or never could.
fn kept_out(approval: &Approval, user: &User) -> bool {
    let started = approval.four_eyes && approval.starter.person == Some(user.id.0);
    started || approval.decisions.iter().any(|decision| decision.person == user.id.0)
}

#[cfg(test)]
mod receivers {
    use super::*;

    #[test]
    fn a_receiver_is_told_what_it_asked_for() {
        let receiver = |kinds: &[&str]| Receiver {
            name: "chat".to_owned(),
            kinds: kinds.iter().map(ToString::to_string).collect(),
        };
        assert!(receiver(&[]).wants("alert.unhealthy"));
        assert!(receiver(&["approval."]).wants("approval.required"));
        assert!(!receiver(&["approval."]).wants("alert.unhealthy"));
        assert!(receiver(&["alert.unhealthy"]).wants("alert.unhealthy"));
        assert!(!receiver(&["alert"]).wants("alert.unhealthy"));
    }
}
