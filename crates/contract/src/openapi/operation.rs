//! One endpoint in the document.

use std::collections::BTreeSet;

use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{Ref, Required};

use super::{SCHEME, reply};
use crate::endpoint::Content;
use crate::{Access, Endpoint, Method};

/// The group that an endpoint is shown in: the first part of its path.
pub(super) fn tag(endpoint: &Endpoint) -> &'static str {
    endpoint.path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// The parameters of a path, in order.
pub(super) fn parameters(path: &str) -> Vec<&str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
}

/// The operation.
pub(super) fn of(endpoint: &Endpoint) -> Operation {
    let mut operation = OperationBuilder::new()
        .operation_id(Some(endpoint.name))
        .tag(tag(endpoint))
        .summary(Some(endpoint.summary))
        .description(Some(about(endpoint)));
    for name in parameters(endpoint.path) {
        operation = operation.parameter(text(name, ParameterIn::Path, None));
    }
    for parameter in endpoint.query.iter().flat_map(|query| query()) {
        operation = operation.parameter(parameter);
    }
    for parameter in headers(endpoint) {
        operation = operation.parameter(parameter);
    }
    if let Some(shape) = &endpoint.request {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name((shape.name)()))).build();
        operation = operation.request_body(Some(
            RequestBodyBuilder::new()
                .content("application/json", content)
                .required(Some(Required::True))
                .build(),
        ));
    }
    let failures: BTreeSet<u16> = failures(endpoint);
    operation = operation.response(endpoint.success.to_string(), reply::success(endpoint));
    if endpoint.tagged && endpoint.method == Method::Get {
        operation = operation.response("304", reply::unchanged());
    }
    for status in failures {
        operation = operation.response(status.to_string(), reply::failure(status, endpoint));
    }
    operation = match endpoint.access {
        Access::Open => operation.securities(Some([])),
        Access::Needs(permission) => {
            operation.security(SecurityRequirement::new(SCHEME, <[String; 0]>::default())).extensions(Some(
                ExtensionsBuilder::new().add("x-slipway-permission", format!("{permission:?}")).build(),
            ))
        }
    };
    operation.build()
}

fn about(endpoint: &Endpoint) -> String {
    let who = match endpoint.access {
        Access::Open => "Open without a login.".to_owned(),
        Access::Needs(permission) => {
            let roles: Vec<String> = permission.roles().iter().map(ToString::to_string).collect();
            format!("Roles: {}.", roles.join(", "))
        }
    };
    match endpoint.per_minute {
        Some(often) => format!("{who} At most {often} a minute."),
        None => who,
    }
}

/// The statuses of failures: what the row names, and what the guard does by itself.
fn failures(endpoint: &Endpoint) -> BTreeSet<u16> {
    let mut all: BTreeSet<u16> = endpoint.failures.iter().copied().collect();
    all.extend([500, 503]);
    if matches!(endpoint.access, Access::Needs(_)) {
        all.extend([401, 403]);
    }
    if endpoint.per_minute.is_some() {
        all.insert(429);
    }
    if endpoint.request.is_some() {
        all.extend([400, 413, 415]);
    }
    if endpoint.query.is_some() {
        all.insert(400);
    }
    if endpoint.path.contains('{') {
        all.insert(404);
    }
    if endpoint.replays() {
        all.extend([400, 409]);
    }
    if endpoint.tagged && endpoint.method != Method::Get {
        all.insert(412);
    }
    all
}

fn headers(endpoint: &Endpoint) -> Vec<Parameter> {
    let header = |name, about| text(name, ParameterIn::Header, Some(about));
    let mut headers = Vec::new();
    if endpoint.replays() {
        headers.push(header(
            "Idempotency-Key",
            "1 to 255 letters, digits or signs. The same request with the same key gets the first one's reply \
             for 24 hours; another request with it is a 409",
        ));
    }
    if endpoint.tagged && endpoint.method == Method::Get {
        headers.push(header("If-None-Match", "An ETag: 304 if it still holds"));
    } else if endpoint.tagged {
        headers.push(header("If-Match", "The ETag of what was read: 412 if somebody else changed it since"));
    }
    if endpoint.content == Content::Events {
        headers.push(header("Last-Event-ID", "Goes on after this event"));
    }
    headers
}

fn text(name: &str, place: ParameterIn, about: Option<&str>) -> Parameter {
    let required = if place == ParameterIn::Path { Required::True } else { Required::False };
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(required)
        .description(about)
        .schema(Some(ObjectBuilder::new().schema_type(Type::String).build()))
        .build()
}
