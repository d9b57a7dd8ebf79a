//! One call.

use std::time::Duration;

use http::header::{ETAG, IF_MATCH};
use serde::Serialize;
use serde::de::DeserializeOwned;
use slipway_contract::error::ErrorReply;
use slipway_contract::{BASE, Endpoint, Method};
use uuid::Uuid;

use crate::client::Client;
use crate::error::ClientError;
use crate::retry::{ATTEMPTS, Repeat, pause};

/// A call in the making.
#[derive(Debug)]
pub struct Call<'a> {
    client: &'a Client,
    request: reqwest::RequestBuilder,
    repeat: Repeat,
    timeout: Option<Duration>,
}

/// A reply and its tag: a change that carries the tag fails when somebody else changed the thing first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tagged<T> {
    /// What came back.
    pub value: T,
    /// The `ETag`, if the server gave one.
    pub tag: Option<String>,
}

impl Client {
    /// Begins a call of an endpoint; `parameters` fill the braces of its path in order.
    pub fn call(&self, endpoint: &Endpoint, parameters: &[&str]) -> Call<'_> {
        let mut url = self.server().clone();
        let mut parameters = parameters.iter();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty();
            for segment in
                BASE.split('/').chain(endpoint.path.split('/')).filter(|segment| !segment.is_empty())
            {
                segments.push(if segment.starts_with('{') {
                    parameters.next().copied().unwrap_or_default()
                } else {
                    segment
                });
            }
        }
        let method = match endpoint.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
            Method::Put => reqwest::Method::PUT,
            Method::Patch => reqwest::Method::PATCH,
            Method::Delete => reqwest::Method::DELETE,
        };
        let mut request = self.http.request(method, url);
        if endpoint.replays() {
            request = request.header("Idempotency-Key", Uuid::new_v4().to_string());
        }
        // The server may take that long, and says so itself afterwards.
        let longer = endpoint.seconds.map(|seconds| Duration::from_secs(u64::from(seconds) + 15));
        let timeout = Some(longer.map_or(self.timeout, |longer| longer.max(self.timeout)));
        Call { client: self, request, repeat: Repeat::of(endpoint), timeout }
    }
}

impl Call<'_> {
    /// With query parameters.
    #[must_use]
    pub fn query(mut self, query: &impl Serialize) -> Self {
        self.request = self.request.query(query);
        self
    }

    /// With a body.
    #[must_use]
    pub fn body(mut self, body: &impl Serialize) -> Self {
        self.request = self.request.json(body);
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// Only if the thing still has this tag.
    #[must_use]
    pub fn if_match(mut self, tag: Option<&str>) -> Self {
        if let Some(tag) = tag {
            self.request = self.request.header(IF_MATCH, tag);
        }
        self
    }

    /// For as long as it takes, such as a stream.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Sends it and reads what comes back.
    pub async fn send<T: DeserializeOwned>(self) -> Result<T, ClientError> {
        self.send_tagged().await.map(|tagged| tagged.value)
    }

    /// Sends it and reads what comes back, with its tag.
    pub async fn send_tagged<T: DeserializeOwned>(self) -> Result<Tagged<T>, ClientError> {
        let client = self.client;
        let reply = self.raw().await?;
        let status = reply.status().as_u16();
        let tag = reply.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let body = reply.bytes().await.map_err(|source| unreachable(client, source))?;
        let value = serde_json::from_slice(&body)
            .map_err(|_| ClientError::Strange { server: client.server().to_string(), status })?;
        Ok(Tagged { value, tag })
    }

    /// Sends it; only that it worked counts.
    pub async fn send_only(self) -> Result<(), ClientError> {
        self.raw().await.map(drop)
    }

    /// Sends it and gives the reply unread, if it says that all went well.
    pub async fn raw(self) -> Result<reqwest::Response, ClientError> {
        let client = self.client;
        let reply = self.deliver().await?;
        if reply.status().is_success() {
            return Ok(reply);
        }
        let status = reply.status().as_u16();
        let body = reply.bytes().await.map_err(|source| unreachable(client, source))?;
        match serde_json::from_slice::<ErrorReply>(&body) {
            Ok(reply) => Err(ClientError::Refused { status, body: Box::new(reply.error) }),
            Err(_) => Err(ClientError::Strange { server: client.server().to_string(), status }),
        }
    }

    async fn deliver(self) -> Result<reqwest::Response, ClientError> {
        let mut request = self.request;
        if let Some(timeout) = self.timeout {
            request = request.timeout(timeout);
        }
        if let Some(token) = self.client.current_token().await {
            request = request.bearer_auth(token.secret());
        }
        let mut attempt = 1;
        loop {
            // A body that streams cannot be sent twice; ours are all in memory.
            let again = request.try_clone().filter(|_| attempt < ATTEMPTS);
            let error = match request.send().await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            match again {
                // What took too long once would take too long again.
                Some(again) if self.repeat.allows(&error) && !error.is_timeout() => request = again,
                _ => return Err(unreachable(self.client, error)),
            }
            tokio::time::sleep(pause(attempt)).await;
            attempt += 1;
        }
    }
}

pub(crate) fn unreachable(client: &Client, source: reqwest::Error) -> ClientError {
    // The address is in the sentence already, and a query may be long.
    ClientError::Unreachable { server: client.server().to_string(), source: source.without_url() }
}
