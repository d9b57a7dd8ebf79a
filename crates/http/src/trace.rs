//! What ties a request to its log lines, spans, audit entries and errors.

use std::fmt;

use http::HeaderMap;
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId as OtelTraceId, TraceState,
};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use uuid::Uuid;

/// The header that carries a trace in (W3C Trace Context).
pub const TRACEPARENT: &str = "traceparent";
/// The header that carries its id out.
pub const TRACE_ID: &str = "x-trace-id";

tokio::task_local! {
    static CURRENT: TraceId;
}

/// The id of a trace: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceId(String);

impl TraceId {
    /// Of the request that is being answered; nothing outside of one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Answers a request under this id.
    pub async fn scope<F: Future>(self, answer: F) -> F::Output {
        CURRENT.scope(self, answer).await
    }

    /// Of a request: the caller's where they sent one, the span's own otherwise. The span becomes part of
    /// the caller's trace.
    pub fn of(headers: &HeaderMap, span: &Span) -> Self {
        let sent = headers.get(TRACEPARENT).and_then(|value| value.to_str().ok()).and_then(parse);
        if let Some(parent) = sent {
            let id = parent.trace_id().to_string();
            let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent));
            return Self(id);
        }
        let own = span.context().span().span_context().clone();
        if own.is_valid() {
            Self(own.trace_id().to_string())
        } else {
            // Nobody traces, as in tests: the id still ties reply, log and audit together.
            Self(Uuid::new_v4().simple().to_string())
        }
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn parse(value: &str) -> Option<SpanContext> {
    let mut parts = value.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    // A later version may say more at the end; the first one may not.
    let extra = parts.next().is_some();
    if !hex(version, 2) || version == "ff" || (version == "00" && extra) {
        return None;
    }
    if !hex(trace, 32) || !hex(span, 16) || !hex(flags, 2) {
        return None;
    }
    let context = SpanContext::new(
        OtelTraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        TraceFlags::new(u8::from_str_radix(flags, 16).ok()?),
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_trace_goes_on_and_nonsense_begins_a_new_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(parse(good).unwrap().trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        for bad in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00-\u{1b}bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            assert!(parse(bad).is_none(), "{bad}");
        }
        let mut headers = HeaderMap::new();
        headers.insert(TRACEPARENT, "junk".parse().unwrap());
        let id = TraceId::of(&headers, &Span::none());
        assert!(id.as_str().len() == 32 && id != TraceId::of(&headers, &Span::none()));
    }

    #[tokio::test]
    async fn the_id_is_known_while_a_request_is_answered() {
        assert_eq!(TraceId::current(), None);
        let id = TraceId("a".repeat(32));
        let seen = id.clone().scope(async { TraceId::current() }).await;
        assert_eq!(seen, Some(id));
    }
}
