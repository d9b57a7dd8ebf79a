//! A row of the table.

use std::borrow::Cow;

use slipway_domain::access::Permission;
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, PartialSchema, ToSchema};

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Makes, or does.
    Post,
    /// Replaces.
    Put,
    /// Changes in part.
    Patch,
    /// Removes.
    Delete,
}

impl Method {
    /// As it is on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// Who may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without logging in.
    Open,
    /// Whoever has the permission.
    Needs(Permission),
}

/// What a reply is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// JSON.
    Json,
    /// A stream of server-sent events.
    Events,
    /// JSON, a line each.
    Lines,
    /// No body.
    Nothing,
}

/// A type on the wire, as far as the OpenAPI document needs it.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Its name there.
    pub name: fn() -> Cow<'static, str>,
    /// What it looks like.
    pub schema: fn() -> RefOr<Schema>,
    /// The types it refers to.
    pub parts: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl Shape {
    /// Of a type.
    pub const fn of<T: ToSchema>() -> Self {
        Self { name: T::name, schema: <T as PartialSchema>::schema, parts: T::schemas }
    }
}

/// One endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint {
    /// Its operation id, such as `listClusters`; unique.
    pub name: &'static str,
    /// The verb.
    pub method: Method,
    /// The path below [`BASE`](crate::BASE), with `{name}` for parameters.
    pub path: &'static str,
    /// Who may call.
    pub access: Access,
    /// How often one caller may, per minute; nothing means as often as they like.
    pub per_minute: Option<u32>,
    /// One line for the document.
    pub summary: &'static str,
    /// The status when all went well.
    pub success: u16,
    /// The statuses of failures besides 401, 403, 429, 500 and 503, which every guarded endpoint has.
    pub failures: &'static [u16],
    /// The body that is sent.
    pub request: Option<Shape>,
    /// What comes back.
    pub content: Content,
    /// The body that comes back.
    pub reply: Option<Shape>,
    /// The query parameters.
    pub query: Option<fn() -> Vec<Parameter>>,
    /// The most bytes that a body may have.
    pub body_limit: usize,
    /// How many seconds the reply may take to begin, where that is longer than usual.
    pub seconds: Option<u16>,
    /// Whether the reply carries an `ETag`, and a change may ask for it with `If-Match`.
    pub tagged: bool,
    /// Whether the reply holds a secret, such as a token. Such a reply is never kept, so a POST with the same
    /// `Idempotency-Key` is not answered with it again.
    pub secret: bool,
}

impl Endpoint {
    /// An endpoint for whoever has the permission, without a body either way.
    #[must_use]
    pub const fn new(
        method: Method,
        path: &'static str,
        name: &'static str,
        permission: Permission,
        per_minute: u32,
    ) -> Self {
        Self {
            name,
            method,
            path,
            access: Access::Needs(permission),
            per_minute: Some(per_minute),
            summary: "",
            success: 200,
            failures: &[],
            request: None,
            content: Content::Nothing,
            reply: None,
            query: None,
            body_limit: 256 * 1024,
            seconds: None,
            tagged: false,
            secret: false,
        }
    }

    /// Open to anybody.
    #[must_use]
    pub const fn open(mut self) -> Self {
        self.access = Access::Open;
        self
    }

    /// Takes a body.
    #[must_use]
    pub const fn takes<T: ToSchema>(mut self) -> Self {
        self.request = Some(Shape::of::<T>());
        self
    }

    /// Gives a body, with a status.
    #[must_use]
    pub const fn gives<T: ToSchema>(mut self, status: u16) -> Self {
        self.success = status;
        self.content = Content::Json;
        self.reply = Some(Shape::of::<T>());
        self
    }

    /// Gives a status and nothing else.
    #[must_use]
    pub const fn gives_nothing(mut self, status: u16) -> Self {
        self.success = status;
        self
    }

    /// Gives a stream: events, or lines.
    #[must_use]
    pub const fn streams<T: ToSchema>(mut self, content: Content) -> Self {
        self.content = content;
        self.reply = Some(Shape::of::<T>());
        self
    }

    /// Takes query parameters.
    #[must_use]
    pub const fn asks<T: Asks>(mut self) -> Self {
        self.query = Some(T::parameters);
        self
    }

    /// Fails with these, too.
    #[must_use]
    pub const fn fails(mut self, failures: &'static [u16]) -> Self {
        self.failures = failures;
        self
    }

    /// Takes up to so many bytes.
    #[must_use]
    pub const fn up_to(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// May take so many seconds to answer: it waits for clusters.
    #[must_use]
    pub const fn within(mut self, seconds: u16) -> Self {
        self.seconds = Some(seconds);
        self
    }

    /// Whether a request is meant for it, whatever stands for the parameters of its path.
    pub fn is_at(&self, method: &str, path: &str) -> bool {
        let Some(path) = path.strip_prefix(crate::BASE) else { return false };
        let (mut ours, mut asked) = (self.path.split('/'), path.split('/'));
        self.method.as_str() == method
            && loop {
                match (ours.next(), asked.next()) {
                    (None, None) => break true,
                    (Some(part), Some(other)) if part == other || part.starts_with('{') => {}
                    _ => break false,
                }
            }
    }

    /// Replies carry an `ETag`; a change may ask for it.
    #[must_use]
    pub const fn tagged(mut self) -> Self {
        self.tagged = true;
        self
    }

    /// The reply holds a secret, and is kept nowhere.
    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// Whether a second request with the same `Idempotency-Key` gets the reply of the first.
    pub const fn replays(&self) -> bool {
        matches!(self.method, Method::Post)
            && !self.secret
            && matches!(self.content, Content::Json | Content::Nothing)
    }

    /// One line for the document.
    #[must_use]
    pub const fn says(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }
}

/// Query parameters that describe themselves.
pub trait Asks {
    /// What may be asked.
    fn parameters() -> Vec<Parameter>;
}

impl<T: IntoParams> Asks for T {
    fn parameters() -> Vec<Parameter> {
        T::into_params(|| Some(utoipa::openapi::path::ParameterIn::Query))
    }
}
