//! Metrics that authors of operators register.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter as PlainCounter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::histogram::Histogram as PlainHistogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::FloatGauge;
use super::names::{self, MetricError};

type LabelSet = Vec<(String, String)>;

/// Labels in one order, each name once and such as Prometheus takes.
fn label_set(labels: &[(&str, &str)]) -> LabelSet {
    let mut set: LabelSet = Vec::with_capacity(labels.len());
    for (name, value) in labels {
        let name = names::label(name);
        match set.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => (*value).clone_into(known),
            None => set.push((name, (*value).to_owned())),
        }
    }
    set.sort_unstable();
    set
}

/// Counts what happens, by labels.
#[derive(Debug, Clone)]
pub struct Counter {
    family: Family<LabelSet, PlainCounter>,
}

impl Counter {
    /// It happened once.
    pub fn inc(&self, labels: &[(&str, &str)]) {
        self.add(labels, 1);
    }

    /// It happened so many times.
    pub fn add(&self, labels: &[(&str, &str)], times: u64) {
        self.family.get_or_create(&label_set(labels)).inc_by(times);
    }

    /// How often it happened.
    pub fn get(&self, labels: &[(&str, &str)]) -> u64 {
        self.family.get(&label_set(labels)).map_or(0, |counter| counter.get())
    }
}

/// Says how much there is, by labels.
#[derive(Debug, Clone)]
pub struct Gauge {
    family: Family<LabelSet, FloatGauge>,
}

impl Gauge {
    /// There is this much.
    pub fn set(&self, labels: &[(&str, &str)], value: f64) {
        self.family.get_or_create(&label_set(labels)).set(value);
    }

    /// There is so much more, or less if it is negative.
    pub fn add(&self, labels: &[(&str, &str)], difference: f64) {
        self.family.get_or_create(&label_set(labels)).inc_by(difference);
    }

    /// What these labels stand for is gone.
    pub fn remove(&self, labels: &[(&str, &str)]) {
        self.family.remove(&label_set(labels));
    }

    /// How much there is; nothing was said yet of labels that give none.
    pub fn get(&self, labels: &[(&str, &str)]) -> Option<f64> {
        self.family.get(&label_set(labels)).map(|gauge| gauge.get())
    }
}

#[derive(Clone)]
struct Bounds(Arc<[f64]>);

impl MetricConstructor<PlainHistogram> for Bounds {
    fn new_metric(&self) -> PlainHistogram {
        PlainHistogram::new(self.0.iter().copied())
    }
}

/// Keeps how values are spread, by labels.
#[derive(Clone)]
pub struct Histogram {
    family: Family<LabelSet, PlainHistogram, Bounds>,
}

impl fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Histogram").finish_non_exhaustive()
    }
}

impl Histogram {
    /// One more value.
    pub fn observe(&self, labels: &[(&str, &str)], value: f64) {
        self.family.get_or_create(&label_set(labels)).observe(value);
    }

    /// Measures from now until the timer is stopped or dropped, in seconds.
    pub fn timer(&self, labels: &[(&str, &str)]) -> Timer {
        Timer {
            histogram: Some(self.family.get_or_create_owned(&label_set(labels))),
            started: Instant::now(),
        }
    }
}

/// Measures time until it is stopped or dropped.
#[derive(Debug)]
#[must_use = "a timer that is dropped at once measures nothing"]
pub struct Timer {
    histogram: Option<PlainHistogram>,
    started: Instant,
}

impl Timer {
    /// Ends the measurement, and says how long it took.
    pub fn stop(mut self) -> Duration {
        self.observe()
    }

    /// Forgets the measurement.
    pub fn discard(mut self) {
        self.histogram = None;
    }

    fn observe(&mut self) -> Duration {
        let elapsed = self.started.elapsed();
        if let Some(histogram) = self.histogram.take() {
            histogram.observe(elapsed.as_secs_f64());
        }
        elapsed
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.observe();
    }
}

/// Who has which name.
#[derive(Debug, Default)]
pub(super) struct Authors {
    /// Each sample's name, and the metric it belongs to; none for the runtime's own.
    samples: HashMap<String, Option<String>>,
    registered: HashMap<String, Registered>,
}

#[derive(Debug, Clone)]
enum Registered {
    Counter(Counter),
    Gauge(Gauge),
    Histogram(Histogram),
}

impl Registered {
    fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "a counter",
            Self::Gauge(_) => "a gauge",
            Self::Histogram(_) => "a histogram",
        }
    }
}

impl Authors {
    pub(super) fn reserve(&mut self, sample: &str) {
        self.samples.insert(sample.to_owned(), None);
    }

    pub(super) fn counter(
        &mut self,
        registry: &mut Registry,
        name: &str,
        help: &str,
    ) -> Result<Counter, MetricError> {
        let base = name.strip_suffix("_total").unwrap_or(name);
        let name = format!("{base}_total");
        if let Some(Registered::Counter(known)) = self.known(&name) {
            return Ok(known);
        }
        self.claim(&name, &[""])?;
        let counter = Counter { family: Family::default() };
        registry.register(base, names::help(help), counter.family.clone());
        self.registered.insert(name, Registered::Counter(counter.clone()));
        Ok(counter)
    }

    pub(super) fn gauge(
        &mut self,
        registry: &mut Registry,
        name: &str,
        help: &str,
    ) -> Result<Gauge, MetricError> {
        if let Some(Registered::Gauge(known)) = self.known(name) {
            return Ok(known);
        }
        self.claim(name, &[""])?;
        let gauge = Gauge { family: Family::default() };
        registry.register(name, names::help(help), gauge.family.clone());
        self.registered.insert(name.to_owned(), Registered::Gauge(gauge.clone()));
        Ok(gauge)
    }

    pub(super) fn histogram(
        &mut self,
        registry: &mut Registry,
        name: &str,
        help: &str,
        buckets: &[f64],
    ) -> Result<Histogram, MetricError> {
        if let Some(Registered::Histogram(known)) = self.known(name) {
            return Ok(known);
        }
        let finite = buckets.iter().all(|bound| bound.is_finite());
        if buckets.is_empty() || !finite || buckets.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(MetricError::Buckets(name.to_owned()));
        }
        self.claim(name, &["", "_sum", "_count", "_bucket"])?;
        let histogram = Histogram { family: Family::new_with_constructor(Bounds(buckets.into())) };
        registry.register(name, names::help(help), histogram.family.clone());
        self.registered.insert(name.to_owned(), Registered::Histogram(histogram.clone()));
        Ok(histogram)
    }

    fn known(&self, name: &str) -> Option<Registered> {
        self.registered.get(name).cloned()
    }

    fn claim(&mut self, name: &str, suffixes: &[&str]) -> Result<(), MetricError> {
        names::check(name)?;
        for suffix in suffixes {
            let sample = format!("{name}{suffix}");
            if let Some(owner) = self.samples.get(&sample) {
                let taken_by = match owner {
                    None => "the runtime".to_owned(),
                    Some(owner) => {
                        let kind = self.registered.get(owner).map_or("a metric", Registered::kind);
                        format!("{kind} ({owner})")
                    }
                };
                return Err(MetricError::Taken { name: name.to_owned(), taken_by });
            }
        }
        for suffix in suffixes {
            self.samples.insert(format!("{name}{suffix}"), Some(name.to_owned()));
        }
        Ok(())
    }
}
