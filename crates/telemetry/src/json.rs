//! One JSON object per line, with what the spans around an event say beside it.

use std::fmt;

use opentelemetry::trace::TraceContextExt;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_opentelemetry::get_otel_context;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Keys that are ours; a field of such a name is written with a prefix.
const RESERVED: [&str; 7] = ["timestamp", "level", "message", "target", "span", "trace_id", "span_id"];

/// The field with which a span names its trace itself, as it is called in replies and in the audit.
const NAMED_TRACE: &str = "traceId";

/// Writes events as flat objects: ours first, then the fields of the spans from the outermost in, then
/// the event's own, which win.
#[derive(Debug)]
pub(crate) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = Map::new();
        let mut span_name = None;
        let mut trace = None;
        if let Some(scope) = context.event_scope() {
            for span in scope.from_root() {
                if let Some(formatted) = span.extensions().get::<FormattedFields<N>>()
                    && let Ok(Value::Object(of_span)) = serde_json::from_str(&formatted.fields)
                {
                    for (key, value) in of_span {
                        put(&mut fields, &key, value);
                    }
                }
                span_name = Some(span.name());
                trace = Some(span.id());
            }
        }
        let mut of_event = Fields { fields: &mut fields, message: None };
        event.record(&mut of_event);
        let message = of_event.message;

        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let metadata = event.metadata();
        write!(writer, "{{\"timestamp\":\"{time}\",\"level\":\"{}\"", metadata.level())?;
        if let Some(message) = message {
            write!(writer, ",\"message\":{message}")?;
        }
        write!(writer, ",\"target\":{}", Value::from(metadata.target()))?;
        if let Some(name) = span_name {
            write!(writer, ",\"span\":{}", Value::from(name))?;
        }
        if let Some(id) = trace {
            let found = tracing::dispatcher::get_default(|dispatch| get_otel_context(&id, dispatch));
            if let Some(found) = found {
                let span = found.span();
                let ids = span.span_context();
                if ids.is_valid() {
                    // A span that names its trace itself does so in the words that its readers know.
                    if !fields.contains_key(NAMED_TRACE) {
                        write!(writer, ",\"trace_id\":\"{}\"", ids.trace_id())?;
                    }
                    write!(writer, ",\"span_id\":\"{}\"", ids.span_id())?;
                }
            }
        }
        for (key, value) in &fields {
            write!(writer, ",{}:{value}", Value::from(key.as_str()))?;
        }
        writeln!(writer, "}}")
    }
}

fn put(fields: &mut Map<String, Value>, key: &str, value: Value) {
    let key = key.strip_prefix("r#").unwrap_or(key);
    if RESERVED.contains(&key) {
        fields.insert(format!("field.{key}"), value);
    } else {
        fields.insert(key.to_owned(), value);
    }
}

struct Fields<'a> {
    fields: &'a mut Map<String, Value>,
    message: Option<Value>,
}

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        // Bridged `log` records repeat their metadata as fields.
        if field.name().starts_with("log.") {
            return;
        }
        if field.name() == "message" {
            self.message = Some(value);
        } else {
            put(self.fields, field.name(), value);
        }
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Value::from(value));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut cause = value.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        self.put(field, Value::from(text));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Value::from(format!("{value:?}")));
    }
}
