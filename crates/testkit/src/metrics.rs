//! Reads a `/metrics` page as Prometheus would, so that tests can state what a server counts.
//!
//! It parses the Prometheus text format and skips what `OpenMetrics` adds to a line. It judges nothing and
//! keeps no history: two scrapes are two values to compare.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::loopback::client;

/// One reading of a metrics page.
#[derive(Clone, Debug, Default)]
pub struct Scrape {
    samples: Vec<Sample>,
    kinds: BTreeMap<String, String>,
}

/// One line of a metrics page: a series and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The full name, with `_bucket`, `_sum` or `_count` where the line belongs to a histogram.
    pub name: String,
    /// The labels, as they were written.
    pub labels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
}

impl Sample {
    fn carries(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(key, value)| self.labels.get(*key).is_some_and(|found| found == value))
    }
}

/// A histogram: how much was observed, how often, and how it spreads.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// How many observations there were.
    pub count: f64,
    /// What they add up to.
    pub sum: f64,
    /// Upper bound and the number of observations at or below it, lowest bound first.
    pub buckets: Vec<(f64, f64)>,
}

impl Histogram {
    /// How many observations were at or below this bound; `None` where there is no such bucket.
    pub fn bucket(&self, upper_bound: f64) -> Option<f64> {
        self.buckets.iter().find(|(bound, _)| bound.total_cmp(&upper_bound).is_eq()).map(|(_, count)| *count)
    }
}

impl Scrape {
    /// Fetches and parses a metrics page.
    pub async fn get(url: &str) -> Result<Self> {
        let response = client(None, Duration::from_secs(10))?
            .get(url)
            .send()
            .await
            .with_context(|| format!("could not reach the metrics page {url}; is the server running?"))?;
        let status = response.status();
        let page = response.text().await.with_context(|| format!("the metrics page {url} broke off"))?;
        if !status.is_success() {
            bail!("the metrics page {url} answered {status}: {page}");
        }
        Self::parse(&page).with_context(|| format!("the metrics page {url} is not in the Prometheus format"))
    }

    /// Parses the text of a metrics page.
    pub fn parse(page: &str) -> Result<Self> {
        let mut scrape = Self::default();
        for (index, line) in page.lines().enumerate() {
            let line = line.trim();
            if let Some(comment) = line.strip_prefix('#') {
                let mut words = comment.split_whitespace();
                if let (Some("TYPE"), Some(name), Some(kind)) = (words.next(), words.next(), words.next()) {
                    scrape.kinds.insert(name.to_owned(), kind.to_owned());
                }
            } else if !line.is_empty() {
                scrape.samples.push(sample(line).with_context(|| format!("line {}: {line}", index + 1))?);
            }
        }
        Ok(scrape)
    }

    /// The value of the series with this name that carries these labels, whatever other labels it has.
    /// Where several do, their sum, as a query without the other labels would give.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.series(name, labels).map(|sample| sample.value).reduce(|sum, value| sum + value)
    }

    /// The histogram with this base name over all series that carry these labels.
    pub fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Option<Histogram> {
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for sample in self.series(&format!("{name}_bucket"), labels) {
            let bound: f64 = sample.labels.get("le")?.parse().ok()?;
            match buckets.iter_mut().find(|(known, _)| known.total_cmp(&bound).is_eq()) {
                Some((_, count)) => *count += sample.value,
                None => buckets.push((bound, sample.value)),
            }
        }
        buckets.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        Some(Histogram {
            count: self.value(&format!("{name}_count"), labels)?,
            sum: self.value(&format!("{name}_sum"), labels)?,
            buckets,
        })
    }

    /// What the page declares a metric to be: `counter`, `gauge`, `histogram`, …
    pub fn kind(&self, name: &str) -> Option<&str> {
        self.kinds.get(name).map(String::as_str)
    }

    /// Every line of the page.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    fn series(&self, name: &str, labels: &[(&str, &str)]) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.name == name && sample.carries(labels))
    }
}

fn sample(line: &str) -> Result<Sample> {
    let end = line.find(|next: char| next == '{' || next.is_whitespace()).unwrap_or(line.len());
    let (name, rest) = line.split_at(end);
    let valid = |next: char| next.is_ascii_alphanumeric() || next == '_' || next == ':';
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) || !name.chars().all(valid) {
        bail!("{name:?} is not a metric name");
    }
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (BTreeMap::new(), rest),
    };
    // A timestamp or an exemplar may follow; neither says anything about the value.
    let value = rest.split_whitespace().next().ok_or_else(|| anyhow!("there is no value"))?;
    let value = value.parse().with_context(|| format!("{value:?} is not a number"))?;
    Ok(Sample { name: name.to_owned(), labels, value })
}

/// Parses `key="value", …}` and returns what follows the closing brace.
fn labels(text: &str) -> Result<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    let mut rest = text.trim_start();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (key, after) = rest.split_once('=').ok_or_else(|| anyhow!("the labels are not closed"))?;
        let quoted =
            after.trim_start().strip_prefix('"').ok_or_else(|| anyhow!("label {key:?} is not quoted"))?;
        let (value, after) =
            unquote(quoted).ok_or_else(|| anyhow!("the value of label {key:?} is not closed"))?;
        labels.insert(key.trim().to_owned(), value);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.starts_with('}') => {}
            None => bail!("a comma or a brace should follow label {key:?}"),
        }
    }
}

fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[index + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                escaped => value.push(escaped),
            },
            plain => value.push(plain),
        }
    }
    None
}
