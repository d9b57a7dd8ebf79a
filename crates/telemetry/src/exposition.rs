//! A registry as text, in the format that the reader asks for.
//!
//! The encoder writes `OpenMetrics`, where a counter `x_total` belongs to a family `x`. In the older
//! text format 0.0.4 the family has the sample's name, so the headers are rewritten for it.

use std::fmt::Write as _;

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry;

/// The content type of the text format 0.0.4.
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The content type of `OpenMetrics` 1.0.
pub const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The content type and the text, by what the `Accept` header asks for; 0.0.4 when it does not say.
pub fn render(registry: &Registry, accept: Option<&str>) -> (&'static str, String) {
    let mut text = String::new();
    // Writing to a string fails only if a metric's own encoding does; the rest is still worth having.
    if let Err(error) = encode_registry(&mut text, registry) {
        tracing::warn!("a metric could not be written: {error}");
    }
    if accept.is_some_and(prefers_openmetrics) {
        let _ = encode_eof(&mut text);
        (OPENMETRICS, text)
    } else {
        (TEXT, to_text(&text))
    }
}

fn prefers_openmetrics(accept: &str) -> bool {
    let (mut openmetrics, mut plain) = (0.0_f32, 0.0_f32);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let quality = parts
            .filter_map(|part| part.strip_prefix("q="))
            .find_map(|value| value.parse::<f32>().ok())
            .unwrap_or(1.0);
        if media.eq_ignore_ascii_case("application/openmetrics-text") {
            openmetrics = openmetrics.max(quality);
        } else if media.eq_ignore_ascii_case("text/plain") || media == "text/*" {
            plain = plain.max(quality);
        }
    }
    openmetrics > 0.0 && openmetrics >= plain
}

fn to_text(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let mut help = "";
    for line in openmetrics.lines() {
        if let Some(of_family) = line.strip_prefix("# HELP ") {
            help = of_family.split_once(' ').map_or("", |(_, help)| help);
        } else if let Some(of_family) = line.strip_prefix("# TYPE ") {
            let (family, kind) = of_family.split_once(' ').unwrap_or((of_family, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "gauge" | "histogram" | "summary" => ("", kind),
                "stateset" => ("", "gauge"),
                _ => ("", "untyped"),
            };
            let _ = writeln!(text, "# HELP {family}{suffix} {help}\n# TYPE {family}{suffix} {kind}");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;

    use super::*;

    fn registry() -> Registry {
        let mut registry = Registry::default();
        let counter = Family::<Vec<(String, String)>, Counter>::default();
        counter.get_or_create(&vec![("result".to_owned(), "a\"b\\c\nd,e".to_owned())]).inc();
        registry.register("controller_reconcile", "Reconciles", counter);
        let gauge: Gauge = Gauge::default();
        gauge.set(3);
        registry.register("workqueue_depth", "Depth", gauge);
        let histogram = Histogram::new([0.005, 1.0]);
        histogram.observe(0.5);
        registry.register("took_seconds", "Time", histogram);
        registry
    }

    #[test]
    fn text_names_counters_as_their_samples() {
        let (kind, text) = render(&registry(), None);
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        assert_eq!(
            text,
            "# HELP controller_reconcile_total Reconciles.\n\
             # TYPE controller_reconcile_total counter\n\
             controller_reconcile_total{result=\"a\\\"b\\\\c\\nd,e\"} 1\n\
             # HELP workqueue_depth Depth.\n\
             # TYPE workqueue_depth gauge\n\
             workqueue_depth 3\n\
             # HELP took_seconds Time.\n\
             # TYPE took_seconds histogram\n\
             took_seconds_sum 0.5\n\
             took_seconds_count 1\n\
             took_seconds_bucket{le=\"0.005\"} 0\n\
             took_seconds_bucket{le=\"1.0\"} 1\n\
             took_seconds_bucket{le=\"+Inf\"} 1\n"
        );
    }

    #[test]
    fn openmetrics_is_given_to_those_who_prefer_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let (kind, text) = render(&registry(), Some(prometheus));
        assert_eq!(kind, OPENMETRICS);
        assert!(
            text.starts_with(
                "# HELP controller_reconcile Reconciles.\n# TYPE controller_reconcile counter\n"
            )
        );
        assert!(text.ends_with("# EOF\n"));
        for other in ["*/*", "text/plain", "text/plain;q=0.9,application/openmetrics-text;q=0.1"] {
            assert_eq!(render(&registry(), Some(other)).0, TEXT, "{other}");
        }
    }

    #[test]
    fn process_metrics_have_their_usual_names() {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(crate::process::ProcessMetrics::new()));
        let (_, text) = render(&registry, None);
        for (name, kind) in [
            ("process_start_time_seconds", "gauge"),
            ("process_cpu_seconds_total", "counter"),
            ("process_resident_memory_bytes", "gauge"),
            ("process_open_fds", "gauge"),
            ("process_max_fds", "gauge"),
            ("process_threads", "gauge"),
        ] {
            assert!(text.contains(&format!("# TYPE {name} {kind}\n{name} ")), "{name} in {text}");
        }
    }
}
