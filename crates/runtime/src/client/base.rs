//! The connection below all layers, shared by all clients of an operator.

use std::task::{Context, Poll};

use http::Request;
use kube::Client;
use kube::client::Body;
use tower::{BoxError, Service};

use super::Sending;

/// Sends requests as kube does, without its retry.
#[derive(Clone)]
pub(super) struct Base {
    client: Client,
}

impl Base {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    pub(super) fn default_namespace(&self) -> &str {
        self.client.default_namespace()
    }
}

impl Service<Request<Body>> for Base {
    type Response = http::Response<Body>;
    type Error = BoxError;
    type Future = Sending;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Sending {
        let client = self.client.clone();
        Box::pin(async move { client.send(request).await.map_err(BoxError::from) })
    }
}
