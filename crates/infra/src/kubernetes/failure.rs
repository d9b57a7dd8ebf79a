//! What errors of kube mean: why a cluster could not be reached, in words that name no secret.

use std::error::Error as StdError;
use std::io;

use slipway_domain::cluster::Unreachable;
use slipway_orchestrator::ports::clusters::ClusterError;

/// Why a call did not reach the cluster, or was not let in.
pub fn unreachable(error: &kube::Error, patience: u64) -> Unreachable {
    if let kube::Error::Api(status) = error {
        return match status.code {
            401 => Unreachable::Unauthorized,
            code => Unreachable::Strange(format!("status {code}")),
        };
    }
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let mut innermost = String::new();
    while let Some(error) = cause {
        if let Some(found) = meaning(error, patience) {
            return found;
        }
        innermost = error.to_string();
        cause = error.source();
    }
    match error {
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            Unreachable::Strange("its reply cannot be read".to_owned())
        }
        _ => Unreachable::Broken(innermost),
    }
}

fn meaning(error: &(dyn StdError + 'static), patience: u64) -> Option<Unreachable> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(Unreachable::Tls(tls.to_string()));
    }
    if let Some(input) = error.downcast_ref::<io::Error>() {
        // Errors travel inside those of input, one in another, and `source` skips what is inside.
        if let Some(inner) = input.get_ref()
            && let Some(found) = meaning(inner, patience)
        {
            return Some(found);
        }
        return match input.kind() {
            io::ErrorKind::ConnectionRefused => Some(Unreachable::Refused),
            io::ErrorKind::TimedOut => Some(Unreachable::Timeout(patience)),
            _ => None,
        };
    }
    // The connector says where it failed in words only.
    (error.to_string() == "dns error").then_some(Unreachable::Unresolved)
}

/// Why something was not done on a cluster that was reached, or was not reached at all.
pub(super) fn failed(doing: &str, error: &kube::Error, patience: u64) -> ClusterError {
    match error {
        kube::Error::Api(status) if status.code == 403 => ClusterError::Forbidden { doing: doing.to_owned() },
        kube::Error::Api(status) if status.code != 401 => {
            ClusterError::Refused { doing: doing.to_owned(), why: status.message.clone() }
        }
        other => ClusterError::Unreachable(unreachable(other, patience)),
    }
}
