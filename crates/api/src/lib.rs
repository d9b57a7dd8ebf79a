//! The REST handlers: each parses, calls one use case, and answers.
//!
//! Paths, verbs, permissions and limits are not here but in the table of `contract`; [`routes`] binds each
//! row to its handler, and a row without one is a failing test.

mod approvals;
mod audit;
mod clusters;
mod crds;
mod deployments;
mod health;
mod identity;
mod live;
mod operators;
mod page;
pub mod routes;
mod server;
mod settings;
mod site;
mod viewer;

use std::sync::Arc;

use axum::Router;
use slipway_http::Cookies;
use slipway_http::address::Network;
use slipway_http::guard::{Authenticator, Guard};
use slipway_http::metrics::HttpMetrics;
use slipway_orchestrator::Manager;
use slipway_orchestrator::ports::{Limits, Replies};

pub use live::{Live, Stop, Stopping};
pub use site::{MetricsAccess, Options};

/// What a handler can reach.
#[derive(Clone)]
pub struct App {
    /// The use cases.
    pub manager: Manager,
    /// What stands before every handler.
    pub guard: Guard,
    /// The server as it runs.
    pub live: Live,
}

impl App {
    /// On the use cases, and on what the guard needs. Proxies in `trusted` are believed about whom they ask
    /// for.
    pub fn new(
        manager: Manager,
        callers: Arc<dyn Authenticator>,
        limits: Arc<dyn Limits>,
        replies: Arc<dyn Replies>,
        trusted: Vec<Network>,
    ) -> Self {
        let cookies = Cookies { tls: manager.is_public_over_tls() };
        let guard = Guard::new(callers, limits, replies, trusted).with_cookies(cookies);
        Self { manager, guard, live: Live::default() }
    }
}

/// Everything that is served, ready to be served. Serve it with the addresses of the callers
/// (`into_make_service_with_connect_info::<SocketAddr>()`), which limits and the audit need.
pub fn router(app: App, options: Options) -> Router {
    let Options { shell, metrics: access, mut registry, stopping } = options;
    let metrics = HttpMetrics::new(&mut registry);
    app.manager.metrics().register(&mut registry);
    registry.register_collector(Box::new(slipway_telemetry::process::ProcessMetrics::new()));
    let app = App { live: Live::new(stopping, metrics.clone()), ..app };
    let site = site::router(app.clone(), access, registry);
    shell.around(routes().into_router().with_state(app).merge(site), metrics)
}

/// All endpoints.
pub fn routes() -> routes::Routes {
    let routes = routes::Routes::new();
    let routes = identity::routes(routes);
    let routes = clusters::routes(routes);
    let routes = operators::routes(routes);
    let routes = crds::routes(routes);
    let routes = deployments::routes(routes);
    let routes = approvals::routes(routes);
    let routes = health::routes(routes);
    let routes = audit::routes(routes);
    let routes = settings::routes(routes);
    server::routes(routes)
}
