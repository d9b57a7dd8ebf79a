//! Bounds each attempt in time, its body included.

use std::task::{Context, Poll};
use std::time::Duration;

use http::header::UPGRADE;
use http::{Request, Response};
use kube::client::Body;
use thiserror::Error;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Sending;
use super::request::RequestInfo;

/// An attempt that took too long.
#[derive(Debug, Clone, Copy, Error)]
#[error("no whole answer from the API server in {0:.1?}")]
pub(super) struct TooLong(Duration);

/// Gives attempts a time to end in.
#[derive(Clone)]
pub(super) struct TimeoutLayer {
    timeout: Duration,
}

impl TimeoutLayer {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { timeout }
    }
}

impl<S> Layer<S> for TimeoutLayer {
    type Service = Timed<S>;

    fn layer(&self, inner: S) -> Timed<S> {
        Timed { inner, timeout: self.timeout }
    }
}

#[derive(Clone)]
pub(super) struct Timed<S> {
    inner: S,
    timeout: Duration,
}

impl<S> Service<Request<Body>> for Timed<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = BoxError> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Sending {
        let (inner, timeout) = (self.inner.clone(), self.timeout);
        Box::pin(async move {
            if RequestInfo::of_request(&request).streams() || request.headers().contains_key(UPGRADE) {
                return inner.oneshot(request).await;
            }
            let whole = async {
                let (head, body) = inner.oneshot(request).await?.into_parts();
                // kube would gather it anyway; here its time counts, and a read that breaks in the
                // middle can be repeated.
                let body = body.collect_bytes().await?;
                Ok(Response::from_parts(head, Body::from(body)))
            };
            match tokio::time::timeout(timeout, whole).await {
                Ok(answer) => answer,
                Err(_) => Err(TooLong(timeout).into()),
            }
        })
    }
}
