//! What can go wrong in a reconcile, by what to do about it.
//!
//! The category decides about trying again, and becomes the label of the metric; the reason becomes that
//! of the Event and of the condition.

mod rule;

use std::borrow::Cow;
use std::error::Error as StdError;
use std::time::Duration;

pub use rule::Rule;

use crate::client::is_not_leader;

/// What to do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// May be gone the next time: tried again, later and later.
    Transient,
    /// Somebody else wrote in between: tried again at once, on fresh data.
    Conflict,
    /// Something that is needed is not there yet: looked at again after the time it names.
    NotReady,
    /// A permission is missing: tried again slowly, since somebody has to grant it.
    Forbidden,
    /// The object itself is at fault: not tried again until it changes.
    Permanent,
    /// This process does not lead any more: nothing more is written, the leader does it.
    NotLeader,
}

impl Category {
    /// As a label of metrics and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Conflict => "conflict",
            Self::NotReady => "not_ready",
            Self::Forbidden => "forbidden",
            Self::Permanent => "permanent",
            Self::NotLeader => "not_leader",
        }
    }
}

/// Why a reconcile did not reach its end.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    category: Category,
    reason: Cow<'static, str>,
    message: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// One that may be gone the next time.
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(Category::Transient, "ReconciliationFailed", message)
    }

    /// One that only a change of the object can mend, such as a value that makes no sense.
    pub fn permanent(message: impl Into<String>) -> Self {
        Self::new(Category::Permanent, "InvalidSpecification", message)
    }

    /// Something is not there yet, and is looked for again after a while. Not counted as a failure.
    pub fn not_ready(message: impl Into<String>, look_again_after: Duration) -> Self {
        let mut error = Self::new(Category::NotReady, "NotReady", message);
        error.retry_after = Some(look_again_after);
        error
    }

    pub(crate) fn new(category: Category, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            category,
            reason: Cow::Borrowed(reason),
            message: message.into(),
            retry_after: None,
            source: None,
        }
    }

    /// What the API server or the way to it said while `doing` something.
    pub fn kube(doing: impl Into<String>, error: kube::Error) -> Self {
        let doing = doing.into();
        let (category, reason) = classify(&error);
        let message = match &error {
            kube::Error::Api(status) if category == Category::Forbidden => match Rule::of(&status.message) {
                Some(rule) => format!("{doing}: a permission is missing; grant it with the RBAC rule {rule}"),
                None => format!("{doing}: {}", status.message),
            },
            kube::Error::Api(status) => format!("{doing}: {}", status.message),
            other => format!("{doing}: {other}"),
        };
        Self {
            category,
            reason: Cow::Borrowed(reason),
            message,
            retry_after: None,
            source: Some(Box::new(error)),
        }
    }

    /// The same with a reason of its own, one word in CamelCase: it becomes that of the condition and the Event.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The same with its cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(cause.into());
        self
    }

    pub(crate) fn with_message(mut self, message: String) -> Self {
        self.message = message;
        self
    }

    /// What to do about it.
    pub fn category(&self) -> Category {
        self.category
    }

    /// Its reason, in one word.
    pub fn reason_word(&self) -> &str {
        &self.reason
    }

    /// When to look again, if it says.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl From<kube::Error> for Error {
    fn from(error: kube::Error) -> Self {
        Self::kube("talking to the API server", error)
    }
}

fn classify(error: &kube::Error) -> (Category, &'static str) {
    if is_not_leader(error) {
        return (Category::NotLeader, "LeadershipLost");
    }
    let kube::Error::Api(status) = error else {
        return (Category::Transient, "ApiServerUnreachable");
    };
    match status.code {
        // Quota, policies and namespaces on their way out answer 403 too; no role mends those.
        403 if Rule::of(&status.message).is_some() => (Category::Forbidden, "Forbidden"),
        409 => (Category::Conflict, "Conflict"),
        // Another admission webhook may change its mind; a schema does not.
        400 | 422 if !status.message.contains("admission webhook") => (Category::Permanent, "Refused"),
        400 | 403 | 422 => (Category::Transient, "Refused"),
        _ => (Category::Transient, "ReconciliationFailed"),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn answer(code: u16, reason: &str, message: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, reason).with_code(code).boxed())
    }

    #[test]
    fn a_missing_permission_is_told_as_the_rule_to_add() {
        let refused = answer(
            403,
            "Forbidden",
            "deployments.apps is forbidden: User \"system:serviceaccount:a:b\" cannot create resource \
             \"deployments\" in API group \"apps\" in the namespace \"shop\"",
        );
        let error = Error::kube("creating Deployment shop/web", refused);
        assert_eq!(error.category(), Category::Forbidden);
        assert_eq!(
            error.to_string(),
            "creating Deployment shop/web: a permission is missing; grant it with the RBAC rule \
             {apiGroups: [\"apps\"], resources: [\"deployments\"], verbs: [\"create\"]} in namespace \"shop\""
        );
    }

    #[test]
    fn a_used_up_quota_is_tried_again() {
        let refused = answer(403, "Forbidden", "services \"web\" is forbidden: exceeded quota: small");
        assert_eq!(Error::kube("creating", refused).category(), Category::Transient);
    }

    #[test]
    fn what_the_schema_refuses_waits_for_a_change_and_what_a_webhook_refuses_does_not() {
        let schema = answer(422, "Invalid", "Deployment.apps \"web\" is invalid: spec.replicas");
        let webhook = answer(400, "BadRequest", "admission webhook \"x\" denied the request: no");
        assert_eq!(Error::kube("applying", schema).category(), Category::Permanent);
        assert_eq!(Error::kube("applying", webhook).category(), Category::Transient);
    }
}
