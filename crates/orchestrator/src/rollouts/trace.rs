//! The trace of the request that began a rollout: whatever is done for it later is linked to that.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The trace of what is being done now, as a W3C `traceparent`; nothing where nobody traces.
pub(super) fn current() -> Option<String> {
    let context = Span::current().context().span().span_context().clone();
    context.is_valid().then(|| {
        let (trace, span, flags) = (context.trace_id(), context.span_id(), context.trace_flags().to_u8());
        format!("00-{trace}-{span}-{flags:02x}")
    })
}

/// Links a span to the request that began it.
pub(super) fn link(span: &Span, parent: Option<&str>) {
    if let Some(context) = parent.and_then(read) {
        span.add_link(context);
    }
}

/// The trace in a `traceparent`.
pub(super) fn id(parent: &str) -> Option<String> {
    read(parent).map(|context| context.trace_id().to_string())
}

fn read(parent: &str) -> Option<SpanContext> {
    let mut parts = parent.split('-').skip(1);
    let trace = TraceId::from_hex(parts.next()?).ok()?;
    let span = SpanId::from_hex(parts.next()?).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(parts.next()?, 16).ok()?);
    let context = SpanContext::new(trace, span, flags, true, TraceState::default());
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_nonsense_is_not() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(id(parent).as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        for nonsense in ["", "00", "00-xyz-b7ad6b7169203331-01", "00-0-0-01"] {
            assert_eq!(id(nonsense), None, "{nonsense}");
        }
        assert_eq!(current(), None);
    }
}
