//! The types of the REST interface and the table of its endpoints.
//!
//! One source for four things: the router takes method and path from here, the guard takes permission and
//! limit, the client its calls, and the OpenAPI document everything. Types hold what is on the wire and
//! nothing else; rules are in `domain`.

pub mod approvals;
pub mod audit;
pub mod clusters;
pub mod crds;
pub mod deployments;
pub mod endpoint;
pub mod error;
pub mod health;
pub mod identity;
pub mod openapi;
pub mod operators;
pub mod page;
pub mod server;
pub mod settings;

pub use endpoint::{Access, Endpoint, Method, Shape};
pub use openapi::{openapi, openapi_json};

/// Where the interface begins.
pub const BASE: &str = "/api/v1";

/// All endpoints, by resource.
pub const ENDPOINTS: &[&[Endpoint]] = &[
    identity::ENDPOINTS,
    clusters::ENDPOINTS,
    operators::ENDPOINTS,
    crds::ENDPOINTS,
    deployments::ENDPOINTS,
    approvals::ENDPOINTS,
    health::ENDPOINTS,
    audit::ENDPOINTS,
    settings::ENDPOINTS,
    server::ENDPOINTS,
];

/// Each endpoint.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ENDPOINTS.iter().flat_map(|endpoints| endpoints.iter())
}
