//! One request to an API server: never without a deadline, and with a fault that people can read.

use std::fmt;
use std::time::{Duration, Instant};

use http::{Method, Request};
use kube::Client;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;

/// The longest that one request may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Large answers are read one at a time: whoever asks this server something has the other processors.
static READING: Semaphore = Semaphore::const_new(1);

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// The API server answered that it will not.
    Refused {
        /// The status.
        code: u16,
        /// What it says.
        message: String,
    },
    /// It did not answer.
    Lost(String),
    /// It answered something that makes no sense here.
    Strange(String),
}

impl Fault {
    pub(super) fn late(cluster: &str) -> Self {
        Self::Lost(format!("cluster {cluster} did not answer in time"))
    }

    /// The status it was refused with.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Lost(_) | Self::Strange(_) => None,
        }
    }

    pub(super) fn is_absence(&self) -> bool {
        self.code() == Some(404)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { message, .. } => f.write_str(message),
            Self::Lost(text) | Self::Strange(text) => f.write_str(text),
        }
    }
}

/// Calls one cluster until a moment.
#[derive(Clone)]
pub(super) struct Call {
    client: Client,
    cluster: String,
    until: Instant,
}

impl Call {
    pub(super) fn new(client: Client, cluster: &str, until: Instant) -> Self {
        Self { client, cluster: cluster.to_owned(), until }
    }

    /// The same for longer: the smoke test has a time of its own.
    pub(super) fn until(&self, until: Instant) -> Self {
        Self { until, ..self.clone() }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// How much time is left for a request.
    pub(super) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now()).min(LONGEST)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Fault> {
        self.send(Method::GET, path, None, "application/json").await
    }

    /// The same where much may come: it is read apart from what else the server does. With how many bytes came.
    pub(super) async fn get_much<T: DeserializeOwned + Send + 'static>(
        &self,
        path: &str,
    ) -> Result<(T, usize), Fault> {
        let text = self.text(path).await?;
        let size = text.len();
        let _turn = READING.acquire().await;
        let read = tokio::task::spawn_blocking(move || {
            serde_json::from_str(&text).map_err(|error| error.to_string())
        });
        let read = read.await.map_err(|_| "reading it was broken off".to_owned()).flatten();
        read.map(|value| (value, size)).map_err(|error| self.strange(&error))
    }

    fn strange(&self, error: &dyn fmt::Display) -> Fault {
        Fault::Strange(format!("cluster {} answered something strange: {error}", self.cluster))
    }

    /// A list without the objects themselves: names and labels only.
    pub(super) async fn metadata<T: DeserializeOwned>(&self, path: &str) -> Result<T, Fault> {
        let mut request = Self::request(Method::GET, path, None, "application/json")?;
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        request.headers_mut().insert(http::header::ACCEPT, http::HeaderValue::from_static(accept));
        self.within(self.client.request(request)).await
    }

    pub(super) async fn text(&self, path: &str) -> Result<String, Fault> {
        let request = Self::request(Method::GET, path, None, "application/json")?;
        self.within(self.client.request_text(request)).await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        self.send(Method::POST, path, Some(body), "application/json").await
    }

    pub(super) async fn patch(&self, path: &str, body: &Value) -> Result<Value, Fault> {
        self.send(Method::PATCH, path, Some(body), "application/merge-patch+json").await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Fault> {
        self.send(Method::DELETE, path, None, "application/json").await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        content: &str,
    ) -> Result<T, Fault> {
        let request = Self::request(method, path, body, content)?;
        self.within(self.client.request(request)).await
    }

    fn request(
        method: Method,
        path: &str,
        body: Option<&Value>,
        content: &str,
    ) -> Result<Request<Vec<u8>>, Fault> {
        Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::ACCEPT, "application/json")
            .header(http::header::CONTENT_TYPE, content)
            .body(body.map(|body| body.to_string().into_bytes()).unwrap_or_default())
            .map_err(|error| Fault::Strange(format!("{path} is no path to ask for: {error}")))
    }

    async fn within<T>(&self, answer: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Fault> {
        match tokio::time::timeout(self.left(), answer).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => Err(self.fault(&error)),
            Err(_) => Err(Fault::late(&self.cluster)),
        }
    }

    pub(super) fn fault(&self, error: &kube::Error) -> Fault {
        match error {
            kube::Error::Api(status) => Fault::Refused { code: status.code, message: status.message.clone() },
            kube::Error::SerdeError(error) => self.strange(error),
            other => {
                // The innermost cause is the one that says something: connection refused, unknown issuer.
                let mut cause: &dyn std::error::Error = other;
                while let Some(inner) = cause.source() {
                    cause = inner;
                }
                Fault::Lost(format!("cluster {} does not answer: {cause}", self.cluster))
            }
        }
    }
}

/// The beginning of a path of a group and version: the core group is elsewhere than all others.
pub(super) fn base(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// A value in a query, as it has to be written.
pub(super) fn quoted(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
