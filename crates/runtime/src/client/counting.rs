//! Tells of each attempt: what was asked, what came back, how long it took.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::Sending;
use super::fence::not_leader;
use super::request::RequestInfo;

/// Who is told of each request that was sent to the API server, retries included.
pub trait RequestObserver: Send + Sync {
    /// A request ended. `verb` is `get`, `list`, `watch`, `create`, `update`, `patch` or `delete`,
    /// `resource` such as `deployments` or `applications/status`, `status` the HTTP status, or 0 when no
    /// answer came. A watch counts when it begins.
    fn request(&self, verb: &'static str, resource: &str, status: u16, elapsed: Duration);
}

/// Has attempts counted.
#[derive(Clone)]
pub(super) struct CountingLayer {
    observer: Option<Arc<dyn RequestObserver>>,
}

impl CountingLayer {
    pub(super) fn new(observer: Option<Arc<dyn RequestObserver>>) -> Self {
        Self { observer }
    }
}

impl<S> Layer<S> for CountingLayer {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, observer: self.observer.clone() }
    }
}

#[derive(Clone)]
pub(super) struct Counted<S> {
    inner: S,
    observer: Option<Arc<dyn RequestObserver>>,
}

impl<S> Service<Request<Body>> for Counted<S>
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
        let (inner, observer) = (self.inner.clone(), self.observer.clone());
        Box::pin(async move {
            let Some(observer) = observer else { return inner.oneshot(request).await };
            let RequestInfo { verb, resource, .. } = RequestInfo::of_request(&request);
            let started = Instant::now();
            let answer = inner.oneshot(request).await;
            match &answer {
                Ok(response) => {
                    observer.request(verb, &resource, response.status().as_u16(), started.elapsed());
                }
                // What the fence refused was never sent.
                Err(error) if not_leader(error.as_ref()).is_some_and(|refusal| !refusal.was_sent()) => {}
                Err(_) => observer.request(verb, &resource, 0, started.elapsed()),
            }
            answer
        })
    }
}
