//! The server itself: events, its version.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_domain::access::Permission;
use utoipa::{IntoParams, ToSchema};

use crate::endpoint::{Content, Endpoint, Method};

/// What happens, as it happens.
pub const EVENTS: Endpoint = Endpoint::new(Method::Get, "/events", "streamEvents", Permission::Read, 60)
    .asks::<EventsQuery>()
    .streams::<EventMessage>(Content::Events)
    .fails(&[400])
    .says("Follow what happens; Last-Event-ID continues after an event");

/// Which version this is.
pub const VERSION: Endpoint = Endpoint::new(Method::Get, "/version", "getVersion", Permission::Read, 60)
    .gives::<VersionReply>(200)
    .says("The version of the server");

/// The document that describes all of this. It is in the repository for all to read, and the viewer has to
/// load it before anybody could log in there.
pub const DOCUMENT: Endpoint =
    Endpoint::new(Method::Get, "/openapi.json", "getOpenApi", Permission::Read, 60)
        .open()
        .gives::<Document>(200)
        .says("The OpenAPI document of this interface");

/// The endpoints.
pub const ENDPOINTS: &[Endpoint] = &[EVENTS, VERSION, DOCUMENT];

/// Which news are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Only these topics, separated by commas: `deployment`, `cluster`, `operator`, `approval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<String>,
    /// Only about this one: its name or id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventMessage {
    /// Its number; they grow, and `Last-Event-ID` takes one.
    pub number: i64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// What it is about: `deployment`, `cluster`, `operator` or `approval`.
    pub topic: String,
    /// Which one: its name or id.
    pub subject: String,
    /// What happened, such as `registered` or `healthChanged`.
    pub kind: String,
    /// The facts.
    #[schema(value_type = Object)]
    pub data: Value,
}

/// Which version a server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionReply {
    /// Of the program.
    pub version: String,
}

/// An OpenAPI document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(value_type = Object)]
pub struct Document(pub Value);
