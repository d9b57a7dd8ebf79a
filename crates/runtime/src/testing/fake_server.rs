//! A stand-in for an API server, in memory.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body as Answer;
use axum::extract::Query;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::journal::{Journal, Sent};
use super::objects::{Change, Objects, Refusal};
use super::place::Place;

/// A stand-in for an API server that holds objects in memory, for unit tests of a reconciler.
///
/// It knows what reconcilers rely on: creating what exists is a conflict; every change counts
/// `resourceVersion`, and a change of what is wanted counts `generation`; `uid` and `resourceVersion` in a
/// write or a deletion are preconditions; the status is changed by its subresource only; an object with
/// finalizers stays until the last is taken off; an apply takes back what its field manager said before.
///
/// It is no API server. It takes any kind without a CRD, checks no schema, sets no defaults, asks no
/// webhooks; an apply merges, lists are replaced whole, and there are no conflicts between field managers;
/// nothing runs behind it, so that children stay when their owner goes and a Deployment never gets ready; a
/// watch stays silent. What has to be true of Kubernetes is tested on Kubernetes.
///
/// Clones are the same server.
#[derive(Clone, Default)]
pub struct FakeServer {
    inner: Arc<Mutex<Inner>>,
    journal: Journal,
}

#[derive(Default)]
struct Inner {
    objects: Objects,
    refusals: Vec<Planned>,
}

/// A refusal that waits for its request.
struct Planned {
    verb: String,
    resource: String,
    refusal: Refusal,
}

impl fmt::Debug for FakeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeServer").field("requests", &self.journal.all().len()).finish_non_exhaustive()
    }
}

impl FakeServer {
    /// A server that holds nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of it, whose own namespace is `default`. It belongs to the tokio runtime this is called in.
    pub fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.serve(request).await }
        });
        Client::new(service, "default")
    }

    /// Refuses the next request of this verb (`create`) about this resource (`configmaps`,
    /// `greetings/status`) with an HTTP status and a message, once.
    pub fn refuse_next(&self, verb: &str, resource: &str, status: u16, message: &str) {
        let reason = match status {
            400 => "BadRequest",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            422 => "Invalid",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        let refusal = Refusal::new(status, reason, message);
        let planned = Planned { verb: verb.to_owned(), resource: resource.to_owned(), refusal };
        self.inner.lock().unwrap_or_else(PoisonError::into_inner).refusals.push(planned);
    }

    /// Every request so far, in order; those about Events are left out.
    pub fn requests(&self) -> Vec<Sent> {
        self.journal.all()
    }

    /// Forgets the requests so far.
    pub fn forget_requests(&self) {
        self.journal.take();
    }

    async fn serve(&self, request: Request<Body>) -> Result<Response<Answer>, kube::Error> {
        let (parts, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let content = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content = content.unwrap_or_default();
        let (path, query) = (parts.uri.path(), parts.uri.query());
        let mut sent = Sent::new(&parts.method, path, query, &body);
        let parameters = Query::<HashMap<String, String>>::try_from_uri(&parts.uri);
        let parameters = parameters.map(|Query(parameters)| parameters).unwrap_or_default();
        let answer = if sent.verb == "watch" {
            Ok(None)
        } else {
            self.answer(&sent, &parts.method, path, &parameters, content, &body).map(Some)
        };
        let (status, body) = match answer {
            Ok(None) => (200, silence()),
            Ok(Some(object)) => (if sent.verb == "create" { 201 } else { 200 }, json_body(&object)?),
            Err(refusal) => (refusal.code, json_body(&status(&refusal))?),
        };
        sent.status = status;
        self.journal.add(sent);
        let response = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
        response.body(body).map_err(kube::Error::HttpError)
    }

    fn answer(
        &self,
        sent: &Sent,
        method: &Method,
        path: &str,
        parameters: &HashMap<String, String>,
        content: &str,
        body: &[u8],
    ) -> Result<Value, Refusal> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let planned = inner
            .refusals
            .iter()
            .position(|planned| planned.verb == sent.verb && planned.resource == sent.resource);
        if let Some(planned) = planned {
            return Err(inner.refusals.remove(planned).refusal);
        }
        let place = Place::of(path)
            .ok_or_else(|| Refusal::new(404, "NotFound", format!("there is nothing at {path}")))?;
        let manager = parameters.get("fieldManager").map_or("unknown", String::as_str);
        let objects = &mut inner.objects;
        match (method.as_str(), place.name.is_some()) {
            ("GET", true) => objects.get(&place),
            ("GET", false) => {
                objects.list(&place, parameters.get("labelSelector").map_or("", String::as_str))
            }
            ("POST", false) => objects.create(&place, manager, sent.body.clone()),
            ("PUT", true) => objects.change(&place, Change::Replace(sent.body.clone())),
            ("PATCH", true) => objects.change(&place, patch(content, manager, body)?),
            ("DELETE", true) => objects.delete(&place, &sent.body),
            _ => {
                let message = format!("this stand-in does not know {method} {path}");
                Err(Refusal::new(405, "MethodNotAllowed", message))
            }
        }
    }
}

fn patch(content: &str, manager: &str, body: &[u8]) -> Result<Change, Refusal> {
    let wrong = |error: serde_json::Error| Refusal::new(400, "BadRequest", error.to_string());
    match content {
        "application/merge-patch+json" => serde_json::from_slice(body).map(Change::Merge).map_err(wrong),
        "application/json-patch+json" => serde_json::from_slice(body).map(Change::Json).map_err(wrong),
        // The runtime and kube write JSON, which is YAML.
        "application/apply-patch+yaml" => serde_json::from_slice(body)
            .map(|wanted| Change::Apply { manager: manager.to_owned(), wanted })
            .map_err(wrong),
        other => {
            let message = format!("this stand-in does not know patches of type {other:?}");
            Err(Refusal::new(415, "UnsupportedMediaType", message))
        }
    }
}

fn status(refusal: &Refusal) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
        "message": refusal.message, "reason": refusal.reason, "code": refusal.code,
    })
}

fn json_body(value: &Value) -> Result<Answer, kube::Error> {
    serde_json::to_vec(value).map(Answer::from).map_err(kube::Error::SerdeError)
}

/// An answer that goes on without a word until whoever asked hangs up.
fn silence() -> Answer {
    Answer::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>())
}
