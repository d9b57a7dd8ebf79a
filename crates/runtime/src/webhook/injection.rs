//! Keeps the authority's bundle in the registrations that API servers read.
//!
//! It touches `caBundle` and nothing else, writes only when it differs, and mends what others blank,
//! as `helm upgrade` does. A registration that does not exist is waited for.

mod keeper;
mod mend;

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};

use super::certificates::Bundle;
use super::error::{WebhookError, code};

pub(crate) use keeper::Keeper;

/// Which registrations get the bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injection {
    /// Names of `ValidatingWebhookConfiguration`s; every webhook in them gets the bundle.
    pub validating: Vec<String>,
    /// Names of `MutatingWebhookConfiguration`s; every webhook in them gets the bundle.
    pub mutating: Vec<String>,
    /// Names of `CustomResourceDefinition`s, whose conversion webhook gets the bundle.
    pub crds: Vec<String>,
}

impl Injection {
    /// Whether there is nothing to inject into.
    pub fn is_empty(&self) -> bool {
        self.validating.is_empty() && self.mutating.is_empty() && self.crds.is_empty()
    }
}

/// What kind of registration a target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Validating,
    Mutating,
    Definition,
}

impl Kind {
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Validating => (
                "admissionregistration.k8s.io",
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
            Self::Mutating => (
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            Self::Definition => {
                ("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions")
            }
        }
    }
}

/// The Service that webhooks are reached by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnService {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// One registration.
#[derive(Clone)]
pub(crate) struct Registered {
    api: Api<DynamicObject>,
    kind: Kind,
    name: String,
    /// Who alone is registered there with this bundle; everybody where it is not known.
    service: Option<OwnService>,
}

impl std::fmt::Display for Registered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind.names().1, self.name)
    }
}

impl Registered {
    fn new(client: &Client, kind: Kind, name: &str, service: Option<&OwnService>) -> Self {
        let (group, kind_name, plural) = kind.names();
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1", kind_name), plural);
        let api = Api::all_with(client.clone(), &resource);
        Self { api, kind, name: name.to_owned(), service: service.cloned() }
    }

    /// The registration as it is now; none when there is none.
    async fn get(&self) -> Result<Option<DynamicObject>, WebhookError> {
        self.api.get_opt(&self.name).await.map_err(|error| self.failed("get", error))
    }

    /// Whether every place for a bundle in it holds this one.
    fn carries(&self, object: &DynamicObject, bundle: &Bundle) -> bool {
        mend::patch(self.kind, object, bundle, self.service.as_ref()).is_none()
    }

    /// Writes the bundle unless it is there.
    async fn mend(&self, object: &DynamicObject, bundle: &Bundle) -> Result<(), WebhookError> {
        let patch = mend::patch(self.kind, object, bundle, self.service.as_ref());
        let Some(patch) = patch else { return Ok(()) };
        self.api
            .patch(&self.name, &PatchParams::default(), &Patch::Json::<()>(patch))
            .await
            .map_err(|error| self.failed("patch", error))?;
        tracing::info!("wrote the webhook authority's bundle into {self}");
        Ok(())
    }

    fn failed(&self, verb: &str, error: kube::Error) -> WebhookError {
        let mut doing = format!("could not {verb} {self}, whose caBundle is kept here");
        if code(&error) == Some(403) {
            let (group, _, plural) = self.kind.names();
            let verbs = ["get", "list", "watch", "patch"];
            doing = format!("{doing}; {}", rule_to_add(None, group, plural, Some(&self.name), &verbs));
        }
        WebhookError::kubernetes(doing, error)
    }
}

/// All registrations that get the bundle.
#[derive(Clone)]
pub(crate) struct Targets(Vec<Registered>);

impl Targets {
    /// `service` is the one that this process serves, where that is known: what is registered for another, such
    /// as the other of two releases that hand over to each other, is not its business.
    pub(crate) fn new(client: &Client, injection: &Injection, service: Option<&OwnService>) -> Self {
        let of = |kind: Kind, names: &[String]| -> Vec<Registered> {
            names.iter().map(|name| Registered::new(client, kind, name, service)).collect()
        };
        let mut all = of(Kind::Validating, &injection.validating);
        all.extend(of(Kind::Mutating, &injection.mutating));
        all.extend(of(Kind::Definition, &injection.crds));
        Self(all)
    }

    /// Whether every one of them that exists carries this bundle now.
    pub(crate) async fn carry(&self, bundle: &Bundle) -> Result<bool, WebhookError> {
        for registered in &self.0 {
            if let Some(object) = registered.get().await?
                && !registered.carries(&object, bundle)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn all(self) -> Vec<Registered> {
        self.0
    }
}

/// What to tell whoever may grant permissions.
pub(crate) fn rule_to_add(
    namespace: Option<&str>,
    group: &str,
    resource: &str,
    name: Option<&str>,
    verbs: &[&str],
) -> String {
    let role = match namespace {
        Some(namespace) => format!("the operator's Role in namespace {namespace}"),
        None => "the operator's ClusterRole".to_owned(),
    };
    let name = name.map(|name| format!(", resourceNames: [\"{name}\"]")).unwrap_or_default();
    let verbs = verbs.join("\", \"");
    format!(
        "add to {role}: {{apiGroups: [\"{group}\"], resources: [\"{resource}\"]{name}, verbs: [\"{verbs}\"]}}"
    )
}
