//! Admission reviews: read, answered by the webhooks that match, written.
//!
//! What the API server must decide about by its failure policy (a panic, a timeout, a body that is
//! no review) is an HTTP error; what the webhooks decided is a review with an answer.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::FutureExt as _;
use futures::future::join_all;
use http::StatusCode;
use kube::core::{GroupVersionKind, GroupVersionResource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::decode::decode;
use super::observer::WebhookObserver;
use super::patch;
use super::registration::{Handler, Registration};
use super::review::{Operation, Review, User};
use super::rules::Subject;
use super::set::{Path, WebhookSet};
use super::verdict::{Denial, Verdict};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// An answer that is no review: a status and a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Rejection {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

/// The request of an `AdmissionReview` as it came, objects not yet decoded.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) uid: String,
    pub(crate) kind: GroupVersionKind,
    pub(crate) resource: GroupVersionResource,
    #[serde(default)]
    pub(crate) sub_resource: Option<String>,
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    pub(crate) operation: Operation,
    #[serde(default)]
    pub(crate) user_info: UserInfo,
    #[serde(default)]
    pub(crate) object: Option<Value>,
    #[serde(default)]
    pub(crate) old_object: Option<Value>,
    #[serde(default)]
    pub(crate) dry_run: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Vec<String>,
}

impl Request {
    /// Reads a body; whatever is no `AdmissionReview` of version 1 with a request is refused.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Rejection> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Types {
            #[serde(default)]
            api_version: String,
            #[serde(default)]
            kind: String,
        }
        #[derive(Deserialize)]
        struct Envelope {
            request: Option<Request>,
        }
        let types: Types = serde_json::from_slice(body)
            .map_err(|error| Rejection::bad(format!("the body is not a JSON object: {error}")))?;
        if types.kind != KIND || types.api_version != API_VERSION {
            return Err(Rejection::bad(format!(
                "expected {KIND} of {API_VERSION}, got {:?} of {:?}; list v1 alone in admissionReviewVersions",
                types.kind, types.api_version
            )));
        }
        let envelope: Envelope = serde_json::from_slice(body)
            .map_err(|error| Rejection::bad(format!("the {KIND} cannot be read: {error}")))?;
        envelope.request.ok_or_else(|| Rejection::bad(format!("the {KIND} has no request")))
    }

    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            group: &self.resource.group,
            version: &self.resource.version,
            resource: &self.resource.resource,
            subresource: self.subresource(),
            operation: self.operation,
            namespaced: self.namespace.as_deref().is_some_and(|namespace| !namespace.is_empty()),
        }
    }

    /// The request with its objects as `K`. The old object is left out when it cannot be read: it is
    /// stored already, and refusing would keep anybody from mending it.
    pub(crate) fn review<K: DeserializeOwned>(&self, object: Option<&Value>) -> Result<Review<K>, Denial> {
        let object = object.filter(|object| !object.is_null()).map(decode).transpose()?;
        let old = match self.old_object.as_ref().filter(|old| !old.is_null()).map(decode).transpose() {
            Ok(old) => old,
            Err(denial) if object.is_none() => return Err(denial),
            Err(_) => None,
        };
        Ok(Review {
            operation: self.operation,
            object,
            old,
            namespace: self.namespace.clone().filter(|namespace| !namespace.is_empty()),
            name: self.name.clone(),
            user: User { name: self.user_info.username.clone(), groups: self.user_info.groups.clone() },
            dry_run: self.dry_run.unwrap_or_default(),
            kind: self.kind.clone(),
            resource: self.resource.clone(),
            subresource: self.subresource().map(str::to_owned),
        })
    }

    /// Whether the object is being deleted already.
    pub(crate) fn deleting(&self) -> bool {
        self.object
            .as_ref()
            .and_then(|object| object.pointer("/metadata/deletionTimestamp"))
            .is_some_and(|timestamp| !timestamp.is_null())
    }

    /// Whether a deleted object only changes its metadata, as when a finalizer is taken off.
    fn departs(&self) -> bool {
        let (Some(Value::Object(object)), Some(Value::Object(old))) = (&self.object, &self.old_object) else {
            return false;
        };
        let same = |key: &String| key == "metadata" || object.get(key) == old.get(key);
        self.deleting() && object.keys().all(same) && old.keys().all(same)
    }

    fn subresource(&self) -> Option<&str> {
        self.sub_resource.as_deref().filter(|subresource| !subresource.is_empty())
    }
}

/// Runs webhooks on a request, each watched for panics and reported to the observer.
pub(crate) struct Admission<'a> {
    pub(crate) set: &'a WebhookSet,
    pub(crate) observer: Option<&'a dyn WebhookObserver>,
    /// When the API server will have stopped waiting.
    pub(crate) deadline: tokio::time::Instant,
}

impl Admission<'_> {
    /// The whole answer to a body.
    pub(crate) async fn answer(&self, path: Path, body: &[u8]) -> Result<Value, Rejection> {
        let request = Request::read(body)?;
        let registrations: Vec<&Registration> = self.set.matching(path, request.subject()).collect();
        let response = if registrations.is_empty() {
            unmatched(path, &request)
        } else {
            match path {
                Path::Validate => self.validate(&registrations, &request).await?,
                Path::Mutate => self.mutate(&registrations, &request).await?,
            }
        };
        Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "response": response}))
    }

    async fn validate(&self, registrations: &[&Registration], request: &Request) -> Result<Value, Rejection> {
        // Whoever tightens a rule must not thereby keep old objects from ever leaving.
        if request.departs() {
            return Ok(json!({"uid": request.uid, "allowed": true}));
        }
        let asked = registrations.iter().filter_map(|registration| match &registration.handler {
            Handler::Validating(validator) => {
                Some(self.watched(&registration.name, request, validator.validate(request), Verdict::allowed))
            }
            Handler::Mutating(_) => None,
        });
        let mut verdict = Verdict::new();
        for one in join_all(asked).await {
            verdict.merge(one?);
        }
        Ok(response(request, &verdict))
    }

    async fn mutate(&self, registrations: &[&Registration], request: &Request) -> Result<Value, Rejection> {
        let Some(original) = request.object.as_ref().filter(|object| !object.is_null()) else {
            return Ok(json!({"uid": request.uid, "allowed": true}));
        };
        let mut object = original.clone();
        for registration in registrations {
            let Handler::Mutating(mutator) = &registration.handler else { continue };
            let changed = self
                .watched(&registration.name, request, mutator.mutate(request, &object), Result::is_ok)
                .await?;
            match changed {
                Ok(changed) => object = changed,
                Err(denial) => return Ok(response(request, &denial.into())),
            }
            if let Some(finalizer) = &registration.finalizer
                && request.operation == Operation::Create
                && request.subresource().is_none()
            {
                patch::add_finalizer(&mut object, finalizer);
            }
        }
        let mut response = response(request, &Verdict::new());
        if let Some(patch) = patch::between(original, &object) {
            let patch = serde_json::to_vec(&patch).map_err(|error| {
                Rejection::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!("the patch cannot be written: {error}"),
                )
            })?;
            response["patchType"] = "JSONPatch".into();
            response["patch"] = BASE64.encode(patch).into();
        }
        Ok(response)
    }

    /// Waits for a webhook, but not for ever, tells the observer, and turns a panic into an error.
    async fn watched<T>(
        &self,
        name: &str,
        request: &Request,
        asked: impl Future<Output = T>,
        allowed: impl Fn(&T) -> bool,
    ) -> Result<T, Rejection> {
        let started = Instant::now();
        let answer = tokio::time::timeout_at(self.deadline, AssertUnwindSafe(asked).catch_unwind()).await;
        let fine = matches!(&answer, Ok(Ok(answer)) if allowed(answer));
        if let Some(observer) = self.observer {
            observer.served(name, request.operation.as_str(), fine, started.elapsed());
        }
        let (status, message, detail) = match &answer {
            Ok(Ok(_)) => (StatusCode::OK, String::new(), ""),
            Ok(Err(panic)) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("webhook {name} failed inside; its operator's log says why"),
                panic_text(panic.as_ref()),
            ),
            Err(_) => (
                StatusCode::GATEWAY_TIMEOUT,
                format!("webhook {name} did not answer in time"),
                "it was not heard of before the limit on a request's time",
            ),
        };
        if let Ok(Ok(answer)) = answer {
            return Ok(answer);
        }
        tracing::error!(
            webhook = name,
            operation = request.operation.as_str(),
            namespace = request.namespace.as_deref().unwrap_or_default(),
            object = request.name,
            "{message}: {detail}"
        );
        Err(Rejection::new(status, message))
    }
}

fn response(request: &Request, verdict: &Verdict) -> Value {
    let mut response = json!({"uid": request.uid, "allowed": verdict.allowed()});
    if !verdict.allowed() {
        response["status"] = verdict.status();
    }
    if !verdict.warnings().is_empty() {
        response["warnings"] = verdict.warnings().into();
    }
    response
}

/// Nobody here is for this request, so the configuration that sent it is wrong. Allowing it would
/// hide that a rule is not enforced.
fn unmatched(path: Path, request: &Request) -> Value {
    let GroupVersionResource { group, version, resource, .. } = &request.resource;
    let path = match path {
        Path::Validate => "/validate",
        Path::Mutate => "/mutate",
    };
    let subresource = request.subresource().map(|subresource| format!("/{subresource}")).unwrap_or_default();
    let message = format!(
        "no webhook at {path} is for {} of {resource}{subresource} in {group}/{version}; \
         compare the rules of the webhook configuration with those of the operator",
        request.operation.as_str()
    );
    tracing::warn!("{message}");
    json!({
        "uid": request.uid,
        "allowed": false,
        "status": {"status": "Failure", "code": 400, "reason": "BadRequest", "message": message},
    })
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}

#[cfg(test)]
mod tests;
