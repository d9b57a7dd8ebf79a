//! The registrations that make API servers call these webhooks.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::WebhookError;
use super::injection::Injection;
use super::set::{Path, WebhookSet};

/// API servers stop waiting after this many seconds.
const TIMEOUT_SECONDS: i32 = 10;

/// Where API servers find the webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Behind a Service in the cluster.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its port.
        port: u16,
    },
    /// At an address such as `https://127.0.0.1:8443`, for operators that run outside of the cluster.
    Url(String),
}

impl Target {
    fn client(&self, path: &str) -> WebhookClientConfig {
        match self {
            Self::Service { namespace, name, port } => WebhookClientConfig {
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(i32::from(*port)),
                }),
                ..WebhookClientConfig::default()
            },
            Self::Url(base) => WebhookClientConfig {
                url: Some(format!("{}{path}", base.trim_end_matches('/'))),
                ..WebhookClientConfig::default()
            },
        }
    }

    /// The `spec.conversion` of a `CustomResourceDefinition` whose versions are converted here.
    pub fn conversion(&self) -> apiextensions::CustomResourceConversion {
        let client = self.client("/convert");
        apiextensions::CustomResourceConversion {
            strategy: "Webhook".to_owned(),
            webhook: Some(apiextensions::WebhookConversion {
                client_config: Some(apiextensions::WebhookClientConfig {
                    ca_bundle: None,
                    service: client.service.map(|service| apiextensions::ServiceReference {
                        namespace: service.namespace,
                        name: service.name,
                        path: service.path,
                        port: service.port,
                    }),
                    url: client.url,
                }),
                conversion_review_versions: vec!["v1".to_owned()],
            }),
        }
    }
}

/// The registrations of a set, for a chart, a test, or to be applied.
///
/// Each has one webhook for all registrations of its path: API servers show one webhook's denial
/// only, so whoever is refused learns of all problems only if one webhook knows them all.
#[derive(Debug, Clone, PartialEq)]
pub struct Configurations {
    /// For the validators; none when there are none.
    pub validating: Option<ValidatingWebhookConfiguration>,
    /// For the mutators; none when there are none.
    pub mutating: Option<MutatingWebhookConfiguration>,
}

impl WebhookSet {
    /// The registrations of this set, both under one name, without a `caBundle`.
    pub fn configurations(&self, name: &str, target: &Target) -> Configurations {
        let metadata = || ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let versions = || vec!["v1".to_owned()];
        let validating = self.rules(Path::Validate).map(|rules| ValidatingWebhookConfiguration {
            metadata: metadata(),
            webhooks: Some(vec![ValidatingWebhook {
                name: self.webhook_name("validate", name),
                admission_review_versions: versions(),
                client_config: target.client("/validate"),
                failure_policy: Some("Fail".to_owned()),
                match_policy: Some("Equivalent".to_owned()),
                rules: Some(rules),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..ValidatingWebhook::default()
            }]),
        });
        let mutating = self.rules(Path::Mutate).map(|rules| MutatingWebhookConfiguration {
            metadata: metadata(),
            webhooks: Some(vec![MutatingWebhook {
                name: self.webhook_name("mutate", name),
                admission_review_versions: versions(),
                client_config: target.client("/mutate"),
                failure_policy: Some("Fail".to_owned()),
                match_policy: Some("Equivalent".to_owned()),
                rules: Some(rules),
                side_effects: "None".to_owned(),
                timeout_seconds: Some(TIMEOUT_SECONDS),
                ..MutatingWebhook::default()
            }]),
        });
        Configurations { validating, mutating }
    }

    /// The rules of a path, each once; none when nobody registered for it.
    fn rules(&self, path: Path) -> Option<Vec<RuleWithOperations>> {
        let mut rules: Vec<RuleWithOperations> = Vec::new();
        for registration in self.on(path) {
            let rule = registration.rules.to_kubernetes();
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        (!rules.is_empty()).then_some(rules)
    }

    /// Webhook names are domain names of three parts or more; the group is the author's own domain.
    fn webhook_name(&self, what: &str, name: &str) -> String {
        let mut groups = self.registrations.iter().map(|registration| registration.rules.group.as_str());
        let group = groups.find(|group| group.contains('.')).unwrap_or("slipway.dev");
        format!("{what}.{}.{group}", name.replace('.', "-"))
    }
}

impl Configurations {
    /// The same with this bundle, PEM, in each webhook.
    #[must_use]
    pub fn with_bundle(mut self, bundle: &str) -> Self {
        let bundle = ByteString(bundle.as_bytes().to_vec());
        for webhook in self.validating.iter_mut().flat_map(|all| all.webhooks.iter_mut().flatten()) {
            webhook.client_config.ca_bundle = Some(bundle.clone());
        }
        for webhook in self.mutating.iter_mut().flat_map(|all| all.webhooks.iter_mut().flatten()) {
            webhook.client_config.ca_bundle = Some(bundle.clone());
        }
        self
    }

    /// What to inject the bundle into.
    pub fn injection(&self) -> Injection {
        let name = |metadata: &ObjectMeta| metadata.name.clone();
        Injection {
            validating: self.validating.iter().filter_map(|all| name(&all.metadata)).collect(),
            mutating: self.mutating.iter().filter_map(|all| name(&all.metadata)).collect(),
            crds: Vec::new(),
        }
    }

    /// Applies them by server-side apply, for operators that no chart registers. Do this once the
    /// server is ready, with the bundle, or requests fail until it is injected.
    pub async fn apply(&self, client: &Client, field_manager: &str) -> Result<(), WebhookError> {
        if let Some(validating) = &self.validating {
            apply(client, field_manager, validating).await?;
        }
        if let Some(mutating) = &self.mutating {
            apply(client, field_manager, mutating).await?;
        }
        Ok(())
    }
}

async fn apply<K>(client: &Client, field_manager: &str, object: &K) -> Result<(), WebhookError>
where
    K: Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>,
    K: Clone + std::fmt::Debug + Serialize + DeserializeOwned,
{
    let name = object.meta().name.clone().unwrap_or_default();
    let params = PatchParams::apply(field_manager).force();
    Api::<K>::all(client.clone())
        .patch(&name, &params, &Patch::Apply(object))
        .await
        .map(|_| ())
        .map_err(|error| WebhookError::kubernetes(format!("could not apply {} {name}", K::kind(&())), error))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::*;
    use crate::webhook::registration::Unchanged;
    use crate::webhook::{Operation, Registration, Review, Validate, Verdict};

    struct Anything;

    impl<K: Send + Sync> Validate<K> for Anything {
        async fn validate(&self, _: &Review<K>) -> Verdict {
            Verdict::new()
        }
    }

    #[test]
    fn one_webhook_stands_for_all_validators_and_each_rule_is_there_once() {
        let set = WebhookSet::new()
            .validate::<ConfigMap>("a", Anything)
            .validate::<ConfigMap>("b", Anything)
            .register(Registration::validating::<Pod>("c", Anything).operations([Operation::Delete]));
        let target = Target::Service { namespace: "apps".into(), name: "hooks".into(), port: 443 };
        let Configurations { validating, mutating } = set.configurations("mine", &target).with_bundle("PEM");
        assert_eq!(mutating, None);
        let rule = |resource: &str, operations: &[&str]| {
            json!({
                "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource],
                "operations": operations, "scope": "*",
            })
        };
        assert_eq!(
            serde_json::to_value(validating.unwrap()).unwrap(),
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "mine"},
                "webhooks": [{
                    "name": "validate.mine.slipway.dev",
                    "admissionReviewVersions": ["v1"],
                    "clientConfig": {
                        "caBundle": "UEVN",
                        "service": {"namespace": "apps", "name": "hooks", "port": 443, "path": "/validate"},
                    },
                    "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None",
                    "timeoutSeconds": 10,
                    "rules": [rule("configmaps", &["CREATE", "UPDATE"]), rule("pods", &["DELETE"])],
                }],
            })
        );
    }

    #[test]
    fn a_url_gets_the_path_of_its_webhook() {
        let set = WebhookSet::new().mutate::<Pod>("a", Unchanged);
        let target = Target::Url("https://127.0.0.1:8443/".into());
        let mutating = set.configurations("mine", &target).mutating.unwrap();
        let client = &mutating.webhooks.unwrap()[0].client_config;
        assert_eq!(client.url.as_deref(), Some("https://127.0.0.1:8443/mutate"));
        let conversion = serde_json::to_value(target.conversion()).unwrap();
        assert_eq!(conversion["webhook"]["clientConfig"]["url"], "https://127.0.0.1:8443/convert");
    }
}
