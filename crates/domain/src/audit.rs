//! What is written down of everything that was done, tried or refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Actor;

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditResult {
    /// Done.
    Success,
    /// Tried in vain.
    Failure,
    /// Not allowed.
    Denied,
}

/// One thing that somebody did, tried or was refused. It holds no secret, ever.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// Who, from where.
    pub actor: Actor,
    /// What, such as `cluster.register`: the thing, a dot, the verb.
    pub action: String,
    /// To what, such as `cluster/prod-eu`.
    pub resource: String,
    /// How it ended.
    pub result: AuditResult,
    /// A sentence for people.
    pub message: String,
    /// What it was before, without secrets.
    pub before: Option<Value>,
    /// What it is now, without secrets.
    pub after: Option<Value>,
}

impl AuditEntry {
    /// Something that was done.
    pub fn done(
        actor: &Actor,
        action: &str,
        resource: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::new(actor, action, resource, AuditResult::Success, message)
    }

    /// Something with an outcome.
    pub fn new(
        actor: &Actor,
        action: &str,
        resource: impl Into<String>,
        result: AuditResult,
        message: impl Into<String>,
    ) -> Self {
        Self {
            actor: actor.clone(),
            action: action.to_owned(),
            resource: resource.into(),
            result,
            message: message.into(),
            before: None,
            after: None,
        }
    }

    /// Adds what it was and what it is.
    #[must_use]
    pub fn changing(mut self, before: Option<Value>, after: Option<Value>) -> Self {
        self.before = before;
        self.after = after;
        self
    }
}
