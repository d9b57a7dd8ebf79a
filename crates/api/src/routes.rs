//! Binds the rows of the table to their handlers, each behind the guard.

use std::pin::Pin;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use slipway_contract::{BASE, Endpoint, Method};

use crate::App;

/// Endpoints with their handlers.
#[derive(Default)]
pub struct Routes {
    router: Router<App>,
    bound: Vec<&'static str>,
}

impl Routes {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds an endpoint to its handler, which is called only for what the guard lets through.
    #[must_use]
    pub fn add<H, T>(mut self, endpoint: &'static Endpoint, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let verb = match endpoint.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
            Method::Patch => MethodFilter::PATCH,
            Method::Delete => MethodFilter::DELETE,
        };
        let guarded = Guarded { endpoint, handler };
        self.router = self.router.route(&format!("{BASE}{}", endpoint.path), on(verb, guarded));
        self.bound.push(endpoint.name);
        self
    }

    /// The operation ids that have a handler.
    pub fn bound(&self) -> &[&'static str] {
        &self.bound
    }

    /// The router.
    pub fn into_router(self) -> Router<App> {
        self.router
    }
}

/// A handler behind the guard.
#[derive(Clone)]
struct Guarded<H> {
    endpoint: &'static Endpoint,
    handler: H,
}

/// Tells a guarded handler from a plain one, whose arguments are the same.
struct ByRow<T>(std::marker::PhantomData<T>);

impl<H, T> Handler<ByRow<T>, App> for Guarded<H>
where
    H: Handler<T, App>,
    T: 'static,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, app: App) -> Self::Future {
        Box::pin(async move {
            let guard = app.guard.clone();
            guard.pass(self.endpoint, request, |request| self.handler.call(request, app)).await
        })
    }
}
