//! Replies in the document.

use utoipa::ToSchema;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Ref, Response, ResponseBuilder};

use crate::Endpoint;
use crate::endpoint::Content;
use crate::error::ErrorReply;

/// The reply when all went well.
pub(super) fn success(endpoint: &Endpoint) -> Response {
    let said = match endpoint.success {
        201 => "Made",
        202 => "Accepted; it goes on in the background",
        204 => "Done",
        300..400 => "Go on there",
        _ => "As asked",
    };
    let mut response = common(said);
    if let Some(shape) = &endpoint.reply {
        let kind = match endpoint.content {
            Content::Json | Content::Nothing => "application/json",
            Content::Events => "text/event-stream",
            Content::Lines => "application/x-ndjson",
        };
        let schema = Ref::from_schema_name((shape.name)());
        response = response.content(kind, ContentBuilder::new().schema(Some(schema)).build());
    }
    if endpoint.per_minute.is_some() {
        for (name, about) in LIMITS {
            response = response.header(name, number(about));
        }
    }
    if endpoint.tagged {
        response = response.header("ETag", text("The version of what is shown, for If-Match"));
    }
    if endpoint.replays() {
        response = response.header(
            "Idempotency-Replayed",
            text("true where this is the reply of an earlier request with the same key"),
        );
    }
    response.build()
}

/// Nothing changed since it was read.
pub(super) fn unchanged() -> Response {
    common("It still is what the tag stands for").header("ETag", text("The tag")).build()
}

/// A failure.
pub(super) fn failure(status: u16, endpoint: &Endpoint) -> Response {
    let said = match status {
        400 => "The input is wrong; `details` names every problem and its place",
        401 => "No token, or one that does not hold",
        403 => "The role does not allow it",
        404 => "There is no such thing",
        409 => "It conflicts with what is there",
        412 => "It changed since it was read",
        413 => "The body is too large",
        415 => "The body is not JSON",
        429 => "Too many requests; `Retry-After` says when to come back",
        503 => "Something needed does not answer; try again later",
        _ => "A defect; `traceId` finds it in the logs",
    };
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorReply::name()))).build();
    let mut response = common(said).content("application/json", content);
    if status == 429 {
        for (name, about) in LIMITS {
            response = response.header(name, number(about));
        }
    }
    if status == 429 || (status == 503 && endpoint.per_minute.is_some()) {
        response = response.header("Retry-After", number("In how many seconds to try again"));
    }
    response.build()
}

const LIMITS: [(&str, &str); 3] = [
    ("X-RateLimit-Limit", "How many requests of this kind a minute may have"),
    ("X-RateLimit-Remaining", "How many more there is room for now"),
    ("X-RateLimit-Reset", "When there is room for all again, in seconds since 1970"),
];

fn common(said: &str) -> ResponseBuilder {
    ResponseBuilder::new()
        .description(said)
        .header("X-Trace-Id", text("Finds the request in logs and traces"))
}

fn text(about: &str) -> Header {
    header(Type::String, about)
}

fn number(about: &str) -> Header {
    header(Type::Integer, about)
}

fn header(kind: Type, about: &str) -> Header {
    HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(kind).build()))
        .description(Some(about))
        .build()
}
