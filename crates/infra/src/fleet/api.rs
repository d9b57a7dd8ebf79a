//! Requests to one cluster, each with a deadline, and what their failures mean for a step.

use std::fmt;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use kube::core::Status;
use serde_json::Value;
use slipway_orchestrator::ports::fleet::Act;

use super::fault::Fault;

/// The longest that one request may take.
const LONGEST: Duration = Duration::from_secs(30);

/// Why a request was not answered as hoped.
#[derive(Debug, Clone)]
pub(crate) enum Trouble {
    /// The API server says no.
    Refused(Box<Status>),
    /// It did not answer.
    Lost(String),
    /// It answered something that makes no sense here.
    Strange(String),
    /// There was no time left to ask.
    Late,
}

impl Trouble {
    /// The status it was refused with.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(status) => Some(status.code),
            Self::Lost(_) | Self::Strange(_) | Self::Late => None,
        }
    }

    /// Whether there is no such thing.
    pub(crate) fn is_absence(&self) -> bool {
        self.code() == Some(404)
    }
}

/// What it means for a step.
impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        let reason = trouble.to_string();
        match trouble {
            Trouble::Lost(_) => Self::Unreachable(reason),
            Trouble::Strange(_) => Self::Hiccup(reason),
            Trouble::Late => Self::Failed(reason),
            Trouble::Refused(status) => kube::Error::Api(status).into(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(status) if status.message.is_empty() => write!(f, "status {}", status.code),
            Self::Refused(status) => f.write_str(&status.message),
            Self::Lost(text) | Self::Strange(text) => f.write_str(text),
            Self::Late => f.write_str("its time was over"),
        }
    }
}

/// Server-side apply: who, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Apply<'a> {
    /// The field manager.
    pub(crate) manager: &'a str,
    /// Whether fields of others are taken over.
    pub(crate) force: bool,
    /// Whether it is only tried.
    pub(crate) dry_run: bool,
}

/// Asks one cluster until a moment.
#[derive(Clone)]
pub(crate) struct Api {
    client: Client,
    cluster: String,
    until: Instant,
}

impl Api {
    /// Of a cluster that people call so.
    pub(crate) fn new(client: Client, cluster: &str, until: Instant) -> Self {
        Self { client, cluster: cluster.to_owned(), until }
    }

    /// Until the attempt is over.
    pub(crate) fn of_act(client: Client, act: &Act) -> Self {
        let left = act.deadline.duration_since(act.now).unsigned_abs();
        let until = if act.deadline > act.now { Instant::now() + left } else { Instant::now() };
        Self::new(client, act.subject.cluster.as_str(), until)
    }

    /// The same with time to look at what became of an attempt, even if that is over.
    pub(crate) fn patient(&self) -> Self {
        Self { until: self.until.max(Instant::now() + LONGEST), ..self.clone() }
    }

    /// How much time is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// The cluster's name.
    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value, Trouble> {
        self.send(Method::GET, path, None, "application/json").await
    }

    /// The same, where it may not be there.
    pub(crate) async fn find(&self, path: &str) -> Result<Option<Value>, Trouble> {
        match self.get(path).await {
            Ok(value) => Ok(Some(value)),
            Err(fault) if fault.is_absence() => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// The metadata of what a list holds, without the objects themselves.
    pub(crate) async fn list_metadata(&self, path: &str) -> Result<Vec<Value>, Trouble> {
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let mut list = self.ask(Method::GET, path, None, "application/json", accept).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.send(Method::POST, path, Some(body), "application/json").await
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.send(Method::PUT, path, Some(body), "application/json").await
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.send(Method::PATCH, path, Some(body), "application/merge-patch+json").await
    }

    pub(crate) async fn json_patch(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        self.send(Method::PATCH, path, Some(body), "application/json-patch+json").await
    }

    /// Deletes; what is not there any more is gone.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), Trouble> {
        match self.send(Method::DELETE, path, None, "application/json").await {
            Err(fault) if !fault.is_absence() => Err(fault),
            _ => Ok(()),
        }
    }

    /// Server-side apply.
    pub(crate) async fn apply(&self, path: &str, body: &Value, how: Apply<'_>) -> Result<Value, Trouble> {
        let mut path = format!("{path}?fieldManager={}&force={}", quoted(how.manager), how.force);
        if how.dry_run {
            path.push_str("&dryRun=All");
        }
        // JSON is YAML.
        self.send(Method::PATCH, &path, Some(body), "application/apply-patch+yaml").await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        content: &str,
    ) -> Result<Value, Trouble> {
        self.ask(method, path, body, content, "application/json").await
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        content: &str,
        accept: &str,
    ) -> Result<Value, Trouble> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, accept)
            .header(http::header::CONTENT_TYPE, content)
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default())
            .map_err(|error| Trouble::Strange(format!("{path} is no path to ask for: {error}")))?;
        let left = self.left();
        if left.is_zero() {
            return Err(Trouble::Late);
        }
        match tokio::time::timeout(left.min(LONGEST), self.client.request(request)).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.fault(error)),
            Err(_) => Err(Trouble::Lost(format!("cluster {} did not answer in time", self.cluster))),
        }
    }

    fn fault(&self, error: kube::Error) -> Trouble {
        match error {
            kube::Error::Api(status) => Trouble::Refused(status),
            kube::Error::SerdeError(error) => {
                Trouble::Strange(format!("cluster {} answered something strange: {error}", self.cluster))
            }
            other => {
                // The innermost cause is the one that says something: connection refused, unknown issuer.
                let mut cause: &dyn std::error::Error = &other;
                while let Some(inner) = cause.source() {
                    cause = inner;
                }
                Trouble::Lost(format!("cluster {} does not answer: {cause}", self.cluster))
            }
        }
    }
}

/// A value in a query, as it has to be written.
pub(crate) fn quoted(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
