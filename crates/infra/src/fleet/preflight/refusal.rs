//! What an API server means when it refuses something.

use kube::core::Status;

/// What it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::fleet) enum Said {
    /// We may not.
    NotPermitted,
    /// We may not give rights that we do not have ourselves.
    Escalation(String),
    /// A webhook could not be called.
    WebhookDown {
        /// Which.
        webhook: String,
        /// Why.
        why: String,
    },
    /// A webhook has side effects, so nothing can be tried.
    NoDryRun(String),
    /// It would not take it.
    No(String),
}

/// Understands a refusal.
pub(in crate::fleet) fn said(status: &Status) -> Said {
    let message = &status.message;
    if let Some((webhook, rest)) = named(message, "failed calling webhook \"") {
        let why = rest.trim_start_matches([':', ' ']).to_owned();
        return Said::WebhookDown { webhook, why };
    }
    if let Some((webhook, rest)) = named(message, "admission webhook \"") {
        if rest.contains("does not support dry run") {
            return Said::NoDryRun(webhook);
        }
        return Said::No(message.clone());
    }
    if message.contains("attempting to grant RBAC permissions not currently held") {
        return Said::Escalation(message.clone());
    }
    // `deployments.apps "a" is forbidden: User "x" cannot patch resource "deployments" in API group "apps"`.
    if status.code == 403 && message.contains(" cannot ") && message.contains(" resource \"") {
        return Said::NotPermitted;
    }
    Said::No(message.clone())
}

/// The name in quotes that follows these words, and what comes after it.
fn named(message: &str, words: &str) -> Option<(String, String)> {
    let (name, rest) = message.split_once(words)?.1.split_once('"')?;
    Some((name.to_owned(), rest.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_says_is_understood() {
        let refused = |code: u16, message: &str| said(&Status::failure(message, "").with_code(code));
        assert_eq!(
            refused(
                403,
                "deployments.apps \"a\" is forbidden: User \"x\" cannot patch resource \"deployments\" in API group \"apps\" in the namespace \"b\""
            ),
            Said::NotPermitted
        );
        assert_eq!(
            refused(400, "admission webhook \"v.sea.dev\" does not support dry run"),
            Said::NoDryRun("v.sea.dev".into())
        );
        assert!(matches!(
            refused(403, "admission webhook \"v.sea.dev\" denied the request: too wide"),
            Said::No(_)
        ));
        assert!(matches!(
            refused(500, "Internal error occurred: failed calling webhook \"v.sea.dev\": failed to call webhook: x"),
            Said::WebhookDown { webhook, .. } if webhook == "v.sea.dev"
        ));
        assert!(matches!(
            refused(
                403,
                "clusterroles.rbac.authorization.k8s.io \"a\" is forbidden: user \"x\" is attempting to grant RBAC permissions not currently held:\n{...}"
            ),
            Said::Escalation(_)
        ));
        assert!(matches!(refused(403, "pods \"a\" is forbidden: exceeded quota: tight"), Said::No(_)));
        assert!(matches!(
            refused(422, "Job \"a\" is invalid: spec.template: field is immutable"),
            Said::No(_)
        ));
    }
}
