//! Why a definition was not installed.

use std::time::Duration;

use slipway_crd_compat::crd::CrdError;
use thiserror::Error;

use super::judge::Judgment;
use crate::crd::Problem;

/// Why a definition was not installed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The definition is not one.
    #[error("the definition of {name} is not usable: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unusable {
        /// Name of the definition.
        name: String,
        /// Everything that is wrong with it.
        problems: Vec<Problem>,
    },
    /// The change would refuse or lose what is there.
    #[error("{}\nIt was not applied. Change the definition, or install it with the policy `force`.", judgment.summary())]
    Breaking {
        /// Name of the definition.
        name: String,
        /// What it breaks.
        judgment: Box<Judgment>,
    },
    /// Objects are stored in a version that the new definition does not have.
    #[error(
        "{name} has objects stored in {}, which the new definition no longer has; rewrite every object in the \
         storage version, take the old one out of status.storedVersions, then install again",
        versions.join(", ")
    )]
    StoredVersionDropped {
        /// Name of the definition.
        name: String,
        /// The versions.
        versions: Vec<String>,
    },
    /// Another kind has the names.
    #[error("{name} was created, but another kind has its names ({reason}); rename one of them")]
    NamesTaken {
        /// Name of the definition.
        name: String,
        /// What the API server says.
        reason: String,
    },
    /// The API server took the definition and does not serve it.
    #[error("{name} is not served {} s after it was applied ({reason})", deadline.as_secs())]
    NotServed {
        /// Name of the definition.
        name: String,
        /// How long it was waited for.
        deadline: Duration,
        /// What the API server says.
        reason: String,
    },
    /// A permission is missing.
    #[error("the operator may not {verb} {name}; add this rule to its ClusterRole:\n{rule}")]
    Forbidden {
        /// Name of the definition.
        name: String,
        /// What was tried.
        verb: &'static str,
        /// The rule, as it stands in a `ClusterRole`.
        rule: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// Somebody else manages fields that the change is about.
    #[error(
        "{name} has fields that others manage ({conflicts}); let them change it, or install it with the policy `force`"
    )]
    Managed {
        /// Name of the definition.
        name: String,
        /// Which fields, and who.
        conflicts: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// Somebody else wrote the definition while it was judged, again and again.
    #[error("{name} changed while its upgrade was judged")]
    Changed {
        /// Name of the definition.
        name: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// The API server refused the definition, or could not be asked.
    #[error("could not {verb} {name}")]
    Request {
        /// Name of the definition.
        name: String,
        /// What was tried.
        verb: &'static str,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// A definition has parts that no comparison understands.
    #[error("reading the definition {name}")]
    Shape {
        /// Name of the definition.
        name: String,
        /// What is wrong.
        source: CrdError,
    },
    /// A definition cannot be expressed as JSON.
    #[error("writing the definition {name} as JSON")]
    Json {
        /// Name of the definition.
        name: String,
        /// Why not.
        source: serde_json::Error,
    },
}

impl InstallError {
    /// The error for an answer of the API server.
    pub(super) fn request(name: &str, verb: &'static str, error: kube::Error) -> InstallError {
        let name = name.to_owned();
        let (code, reason, conflicts) = match &error {
            kube::Error::Api(status) => {
                let causes =
                    status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
                let managed = causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
                let conflicts: Vec<String> =
                    managed.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
                (status.code, status.reason.clone(), conflicts.join(", "))
            }
            _ => (0, String::new(), String::new()),
        };
        let source = Box::new(error);
        match code {
            403 => {
                let rule = format!(
                    "- apiGroups: [\"apiextensions.k8s.io\"]\n  resources: [\"customresourcedefinitions\"]\n  \
                     resourceNames: [\"{name}\"]\n  verbs: [\"get\", \"create\", \"patch\"]"
                );
                InstallError::Forbidden { name, verb, rule, source }
            }
            409 if !conflicts.is_empty() => InstallError::Managed { name, conflicts, source },
            // Two that create at once, or a version that has moved on.
            409 => InstallError::Changed { name, source },
            404 if verb == "get" && reason == "NotFound" => InstallError::Changed { name, source },
            _ => InstallError::Request { name, verb, source },
        }
    }
}
