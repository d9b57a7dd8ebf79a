//! Admission webhooks, as they are registered.

use std::fmt;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Deserialize;

use super::call::{Call, Fault};
use super::release::{Registration, Subject};

/// A webhook.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hook {
    pub(super) registration: Registration,
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) endpoint: Endpoint,
    pub(super) fails_closed: bool,
    /// Whether a dry run leaves no trace.
    pub(super) harmless: bool,
    pub(super) rules: Vec<RuleWithOperations>,
    pub(super) namespaces: LabelSelector,
    pub(super) objects: LabelSelector,
    /// Whether further conditions may leave an object out that its rules match.
    pub(super) conditional: bool,
    /// The authorities that its certificate has to come from, PEM.
    pub(super) authorities: Vec<u8>,
}

/// Where a webhook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Endpoint {
    Service { namespace: String, name: String, port: i32, path: String },
    Url(String),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service { namespace, name, port, path } => write!(f, "{namespace}/{name}:{port}{path}"),
            Self::Url(url) => f.write_str(url),
        }
    }
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

/// The webhooks of a release: those it registers, and those that others registered for its services, such as
/// the operator itself when it started.
pub(super) async fn read(call: &Call, subject: &Subject) -> Result<Vec<Hook>, Fault> {
    let base = "/apis/admissionregistration.k8s.io/v1";
    let (validating, mutating) =
        (format!("{base}/validatingwebhookconfigurations"), format!("{base}/mutatingwebhookconfigurations"));
    let (validating, mutating) = futures::join!(
        call.get::<List<ValidatingWebhookConfiguration>>(&validating),
        call.get::<List<MutatingWebhookConfiguration>>(&mutating)
    );
    let mut hooks = Vec::new();
    for configuration in mutating?.items {
        for hook in configuration.webhooks.into_iter().flatten() {
            hooks.push(of_mutating(&configuration.metadata, hook));
        }
    }
    for configuration in validating?.items {
        for hook in configuration.webhooks.into_iter().flatten() {
            hooks.push(of_validating(&configuration.metadata, hook));
        }
    }
    hooks.retain(|hook| {
        let registered = subject.registrations.contains(&(hook.registration, hook.configuration.clone()));
        let served = matches!(&hook.endpoint, Endpoint::Service { namespace, name, .. }
            if subject.services.contains(&(namespace.clone(), name.clone())));
        registered || served
    });
    Ok(hooks)
}

fn of_validating(metadata: &ObjectMeta, hook: ValidatingWebhook) -> Hook {
    Hook {
        registration: Registration::Validating,
        configuration: metadata.name.clone().unwrap_or_default(),
        name: hook.name,
        endpoint: endpoint(&hook.client_config),
        fails_closed: hook.failure_policy.as_deref() != Some("Ignore"),
        harmless: harmless(&hook.side_effects),
        rules: hook.rules.unwrap_or_default(),
        namespaces: hook.namespace_selector.unwrap_or_default(),
        objects: hook.object_selector.unwrap_or_default(),
        conditional: hook.match_conditions.is_some_and(|conditions| !conditions.is_empty()),
        authorities: hook.client_config.ca_bundle.map(|bundle| bundle.0).unwrap_or_default(),
    }
}

fn of_mutating(metadata: &ObjectMeta, hook: MutatingWebhook) -> Hook {
    Hook {
        registration: Registration::Mutating,
        configuration: metadata.name.clone().unwrap_or_default(),
        name: hook.name,
        endpoint: endpoint(&hook.client_config),
        fails_closed: hook.failure_policy.as_deref() != Some("Ignore"),
        harmless: harmless(&hook.side_effects),
        rules: hook.rules.unwrap_or_default(),
        namespaces: hook.namespace_selector.unwrap_or_default(),
        objects: hook.object_selector.unwrap_or_default(),
        conditional: hook.match_conditions.is_some_and(|conditions| !conditions.is_empty()),
        authorities: hook.client_config.ca_bundle.map(|bundle| bundle.0).unwrap_or_default(),
    }
}

fn harmless(side_effects: &str) -> bool {
    matches!(side_effects, "None" | "NoneOnDryRun")
}

fn endpoint(client: &WebhookClientConfig) -> Endpoint {
    match (&client.service, &client.url) {
        (Some(service), _) => Endpoint::Service {
            namespace: service.namespace.clone(),
            name: service.name.clone(),
            port: service.port.unwrap_or(443),
            path: service.path.clone().unwrap_or_default(),
        },
        (None, url) => Endpoint::Url(url.clone().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_promises_to_leave_no_trace_is_harmless() {
        for (side_effects, harmless) in
            [("None", true), ("NoneOnDryRun", true), ("Some", false), ("Unknown", false)]
        {
            let hook: ValidatingWebhook = serde_json::from_value(json!({
                "name": "a", "sideEffects": side_effects, "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "boats", "name": "webhook", "path": "/admit"}}}))
            .unwrap();
            let hook = of_validating(&ObjectMeta::default(), hook);
            assert_eq!(hook.harmless, harmless, "{side_effects}");
            assert!(hook.fails_closed, "that is the default");
            assert_eq!(hook.endpoint.to_string(), "boats/webhook:443/admit");
        }
    }
}
