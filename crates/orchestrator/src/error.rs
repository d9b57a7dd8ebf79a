//! How a use case fails: always with a code for programs and a sentence for people.

use slipway_domain::access::{Actor, Permission};
use slipway_domain::problem::Problems;

/// What a failure is, for programs. The words on the wire are [`Code::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The input is wrong.
    ValidationError,
    /// The kubeconfig is wrong, or holds what is not accepted.
    InvalidKubeconfig,
    /// The schema breaks what is there.
    CrdIncompatible,
    /// Nobody known.
    Unauthorized,
    /// Known, and not allowed.
    Forbidden,
    /// The password was right, and has to be changed first.
    PasswordChangeRequired,
    /// There is no such operator.
    OperatorNotFound,
    /// There is no such cluster.
    ClusterNotFound,
    /// There is no such deployment.
    DeploymentNotFound,
    /// There is no such thing of another kind.
    NotFound,
    /// Another deployment is under way.
    DeploymentInProgress,
    /// The name is taken.
    ClusterAlreadyExists,
    /// Another conflict with what is there.
    Conflict,
    /// What was read is not what is there any more (`If-Match`).
    PreconditionFailed,
    /// The path is right, the verb is not.
    MethodNotAllowed,
    /// The body is too large.
    PayloadTooLarge,
    /// The body is not of a kind that is understood.
    UnsupportedMediaType,
    /// Too much at once.
    RateLimitExceeded,
    /// The cluster does not answer.
    ClusterUnreachable,
    /// Something needed does not answer: the database, mostly.
    Unavailable,
    /// A defect of ours.
    InternalError,
}

impl Code {
    /// As it is on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ValidationError => "VALIDATION_ERROR",
            Self::InvalidKubeconfig => "INVALID_KUBECONFIG",
            Self::CrdIncompatible => "CRD_INCOMPATIBLE",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::PasswordChangeRequired => "PASSWORD_CHANGE_REQUIRED",
            Self::OperatorNotFound => "OPERATOR_NOT_FOUND",
            Self::ClusterNotFound => "CLUSTER_NOT_FOUND",
            Self::DeploymentNotFound => "DEPLOYMENT_NOT_FOUND",
            Self::NotFound => "NOT_FOUND",
            Self::DeploymentInProgress => "DEPLOYMENT_IN_PROGRESS",
            Self::ClusterAlreadyExists => "CLUSTER_ALREADY_EXISTS",
            Self::Conflict => "CONFLICT",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::RateLimitExceeded => "RATE_LIMIT_EXCEEDED",
            Self::ClusterUnreachable => "CLUSTER_UNREACHABLE",
            Self::Unavailable => "UNAVAILABLE",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }

    /// The HTTP status that goes with it.
    pub fn status(self) -> u16 {
        match self {
            Self::ValidationError | Self::InvalidKubeconfig | Self::CrdIncompatible => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::PasswordChangeRequired => 403,
            Self::OperatorNotFound | Self::ClusterNotFound | Self::DeploymentNotFound | Self::NotFound => 404,
            Self::DeploymentInProgress | Self::ClusterAlreadyExists | Self::Conflict => 409,
            Self::PreconditionFailed => 412,
            Self::MethodNotAllowed => 405,
            Self::PayloadTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::RateLimitExceeded => 429,
            Self::ClusterUnreachable | Self::Unavailable => 503,
            Self::InternalError => 500,
        }
    }
}

/// Why a use case did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What it is, for programs.
    pub code: Code,
    /// A sentence for people: the thing, the reason, the next step. It holds no secret.
    pub message: String,
    /// Each problem of the input, or each cluster that failed.
    pub details: Problems,
    /// What lies behind it; logged, never shown.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with a sentence.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: Problems::new(), source: None }
    }

    /// The input is wrong.
    pub fn invalid(problems: Problems) -> Self {
        let message = problems.to_string();
        Self { details: problems, ..Self::new(Code::ValidationError, message) }
    }

    /// There is no such thing.
    pub fn not_found(code: Code, kind: &str, name: impl std::fmt::Display) -> Self {
        Self::new(code, format!("there is no {kind} {name}"))
    }

    /// Adds what lies behind it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl From<Problems> for Error {
    fn from(problems: Problems) -> Self {
        Self::invalid(problems)
    }
}

/// Lets the actor go on, or says who may.
pub fn permit(actor: &Actor, permission: Permission) -> Result<(), Error> {
    if actor.may(permission) {
        return Ok(());
    }
    if actor.role.is_none() {
        return Err(Error::new(Code::Unauthorized, "log in first: slipway login"));
    }
    let roles: Vec<String> = permission.roles().iter().map(ToString::to_string).collect();
    Err(Error::new(
        Code::Forbidden,
        format!("{} may not do this; it takes the role {}", actor.name, roles.join(" or ")),
    ))
}

#[cfg(test)]
mod tests {
    use slipway_domain::access::Role;

    use super::*;

    #[test]
    fn whoever_may_not_is_told_who_may() {
        let mut actor = Actor::anonymous();
        assert_eq!(permit(&actor, Permission::Read).unwrap_err().code, Code::Unauthorized);
        actor.role = Some(Role::Viewer);
        actor.name = "ada".to_owned();
        assert!(permit(&actor, Permission::Read).is_ok());
        let error = permit(&actor, Permission::Deploy).unwrap_err();
        assert_eq!(error.code, Code::Forbidden);
        assert_eq!(error.to_string(), "ada may not do this; it takes the role Operator or Admin");
    }
}
