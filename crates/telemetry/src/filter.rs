//! Which events are logged: `LOG_LEVEL`, read strictly.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Context, Filter};

/// kube logs every 5xx and broken connection as an error, also those that are retried a moment later.
const NOISY: &str = "kube_client::client::builder";

/// Why a filter cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the log filter \"{filter}\" cannot be used: {reason}")]
pub struct FilterError {
    /// The whole filter as it was given.
    pub filter: String,
    /// What is wrong with it, and what would be right.
    pub reason: String,
}

/// Reads a level (`info`) or a filter (`slipway_runtime=debug,kube=warn`). kube's own error lines are
/// left out unless the filter asks for debug there or names that module.
pub fn parse(filter: &str) -> Result<EnvFilter, FilterError> {
    let refused = |reason: String| FilterError { filter: filter.to_owned(), reason };
    let directives: Vec<&str> = filter.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    for directive in &directives {
        // The syntax takes a bare word for a module and would log all of it, so that a misspelt
        // level silently changes everything.
        let bare = !directive.contains(['=', '[', ':']);
        if bare && directive.parse::<LevelFilter>().is_err() {
            return Err(refused(format!(
                "\"{directive}\" is no level; use off, error, warn, info, debug or trace, or a module with \
                 one of them (kube=warn)"
            )));
        }
    }
    let mut text = if directives.is_empty() { "info".to_owned() } else { directives.join(",") };
    if !wants_noise(&directives) {
        text.push(',');
        text.push_str(NOISY);
        text.push_str("=off");
    }
    EnvFilter::builder().parse(text).map_err(|error| refused(error.to_string()))
}

/// Whether the most specific directive for the noisy module names it, or asks for debug.
fn wants_noise(directives: &[&str]) -> bool {
    let mut best: Option<(&str, LevelFilter)> = None;
    for directive in directives {
        let (target, level) = match directive.split_once('=') {
            Some((target, level)) => (target, level),
            None if directive.parse::<LevelFilter>().is_ok() => ("", *directive),
            None => (*directive, "trace"),
        };
        let Ok(level) = level.parse::<LevelFilter>() else { continue };
        if NOISY.starts_with(target) && best.is_none_or(|(known, _)| known.len() <= target.len()) {
            best = Some((target, level));
        }
    }
    best.is_some_and(|(target, level)| {
        target.starts_with("kube_client::client") || level >= LevelFilter::DEBUG
    })
}

/// Lets every span of level info or above pass, so that a line logged under `warn` still says which
/// object and which trace it belongs to.
#[derive(Debug)]
pub(crate) struct KeepingContext<F>(pub(crate) F);

fn carries_context(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && *metadata.level() <= tracing::Level::INFO
}

impl<S: Subscriber, F: Filter<S>> Filter<S> for KeepingContext<F> {
    fn enabled(&self, metadata: &Metadata<'_>, context: &Context<'_, S>) -> bool {
        carries_context(metadata) || self.0.enabled(metadata, context)
    }

    /// Never "always": a library that only asks whether something would be logged leaves its answer behind in
    /// the thread, and the next line for which nobody has to ask again would be lost by it.
    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if carries_context(metadata) {
            return Interest::sometimes();
        }
        let interest = self.0.callsite_enabled(metadata);
        if interest.is_always() { Interest::sometimes() } else { interest }
    }

    fn event_enabled(&self, event: &tracing::Event<'_>, context: &Context<'_, S>) -> bool {
        self.0.event_enabled(event, context)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.0.max_level_hint().map(|level| level.max(LevelFilter::INFO))
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.0.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.0.on_record(id, values, context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.0.on_enter(id, context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.0.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.0.on_close(id, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_filters_are_read() {
        for good in
            ["info", "DEBUG", "off", "slipway_runtime=debug,kube=warn", " info , kube=warn ", "", "a[b]=info"]
        {
            assert!(parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn a_misspelt_level_is_an_error_that_names_it() {
        let error = parse("verbose").unwrap_err().to_string();
        assert_eq!(
            error,
            "the log filter \"verbose\" cannot be used: \"verbose\" is no level; use off, error, warn, info, \
             debug or trace, or a module with one of them (kube=warn)"
        );
        let error = parse("kube=loud").unwrap_err().to_string();
        assert!(error.starts_with("the log filter \"kube=loud\" cannot be used: "), "{error}");
    }

    #[test]
    fn kube_is_quiet_unless_it_is_asked() {
        let quiet =
            |filter: &str| parse(filter).unwrap().to_string().contains("kube_client::client::builder=off");
        assert!(quiet("info"));
        assert!(quiet("warn,kube=info"));
        assert!(quiet("debug,kube=warn"));
        assert!(!quiet("debug"));
        assert!(!quiet("info,kube_client=debug"));
        assert!(!quiet("info,kube_client::client::builder=error"));
    }
}
