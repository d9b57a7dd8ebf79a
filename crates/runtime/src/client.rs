//! The client that controllers write through: fenced by leadership, limited, retried, counted.
//!
//! [`Clients`] makes every kube client of an operator from one configuration. From outside to inside a
//! request passes:
//!
//! 1. **retry**: reads are repeated when the connection or the server fails for a moment; a write only
//!    when the server surely did not do it (429 with `Retry-After`, or never connected);
//! 2. **rate limit**: one token bucket for all clients, so that an operator never floods the API
//!    server; watches and requests about Leases pass free;
//! 3. **counting**: each attempt with its verb, resource, status and time;
//! 4. **timeout**: each attempt, its body included; what streams has none;
//! 5. **fence**, in [`Clients::fenced`] only: a write is refused with [`NotLeader`] unless this
//!    instance leads at the moment of sending, and is given up when leadership ends on its way.
//!
//! kube's own retry, which would sit below the fence, is off.
//!
//! Kubernetes has no fencing token: a process that is frozen between the check and the send may still
//! send one request when it wakes. Writes therefore carry uid or resourceVersion preconditions besides.
//!
//! # Permissions
//!
//! None of its own: each request needs what its verb and resource need.

mod base;
mod bucket;
mod counting;
mod fence;
mod request;
mod retry;
mod timeout;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::{Client, Config};
use thiserror::Error;
use tower::{BoxError, ServiceBuilder};

pub use self::bucket::{InvalidRateLimit, RateLimit};
pub use self::counting::RequestObserver;
pub use self::fence::{current_term, in_term, is_not_leader};
pub use self::request::RequestInfo;
pub use crate::leader::NotLeader;

use self::base::Base;
use self::bucket::{Bucket, BucketLayer};
use self::counting::CountingLayer;
use self::fence::FenceLayer;
use self::retry::RetryLayer;
use self::timeout::TimeoutLayer;
use crate::leader::Leadership;

/// How the clients of an operator behave.
#[derive(Clone)]
pub struct ClientOptions {
    rate_limit: RateLimit,
    timeout: Duration,
    observer: Option<Arc<dyn RequestObserver>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { rate_limit: RateLimit::default(), timeout: Duration::from_secs(30), observer: None }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("rate_limit", &self.rate_limit)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl ClientOptions {
    /// How many requests all clients together may send; 200 a second and 400 at once unless told.
    #[must_use]
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = limit;
        self
    }

    /// How long one attempt may take, its body included; 30 s unless told.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Who is told of each attempt.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn RequestObserver>) -> Self {
        self.observer = Some(observer);
        self
    }
}

/// Clients that could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection cannot be made as configured.
    #[error("making a client for the API server")]
    Connection(#[source] kube::Error),
    /// The rate limit makes no sense.
    #[error("limiting requests to the API server")]
    RateLimit(#[from] InvalidRateLimit),
}

/// The clients of one operator towards one API server. They share connections, the rate limit and who
/// is told of requests.
#[derive(Clone)]
pub struct Clients {
    base: Base,
    bucket: Arc<Bucket>,
    options: ClientOptions,
    raw: Client,
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Clients {
    /// Makes them. They belong to the tokio runtime that this is called in.
    pub fn new(mut config: Config, options: ClientOptions) -> Result<Self, ClientError> {
        // It would repeat writes below the fence.
        config.default_retry = false;
        let base = Base::new(Client::try_from(config).map_err(ClientError::Connection)?);
        let bucket = Arc::new(Bucket::new(options.rate_limit)?);
        let raw = client(&base, &bucket, &options, None);
        Ok(Self { base, bucket, options, raw })
    }

    /// A client that writes whoever leads: for Leases, certificates, reviews, events, and for reading.
    pub fn raw(&self) -> Client {
        self.raw.clone()
    }

    /// A client that writes only while this instance leads, and inside [`in_term`] only in that term.
    pub fn fenced(&self, leadership: &Leadership) -> Client {
        client(&self.base, &self.bucket, &self.options, Some(leadership.clone()))
    }

    /// Changes the rate limit, for requests that wait now as well.
    pub fn set_rate_limit(&self, limit: RateLimit) -> Result<(), InvalidRateLimit> {
        self.bucket.set(limit)
    }

    /// The rate limit in force.
    pub fn rate_limit(&self) -> RateLimit {
        self.bucket.limit()
    }
}

fn client(
    base: &Base,
    bucket: &Arc<Bucket>,
    options: &ClientOptions,
    leadership: Option<Leadership>,
) -> Client {
    let service = ServiceBuilder::new()
        .layer(RetryLayer)
        .layer(BucketLayer::new(Arc::clone(bucket)))
        .layer(CountingLayer::new(options.observer.clone()))
        .layer(TimeoutLayer::new(options.timeout))
        .layer(FenceLayer::new(leadership))
        .service(base.clone());
    Client::new(service, base.default_namespace())
}

/// The future of a request on its way through the layers.
type Sending = futures::future::BoxFuture<'static, Result<http::Response<kube::client::Body>, BoxError>>;
