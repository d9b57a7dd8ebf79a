//! Checks between waves that look beyond the clusters: a Prometheus query, an HTTP request.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::document::Fields;
use crate::problem::Problems;

/// A check that has to pass during a soak.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    /// What people call it.
    pub name: String,
    /// What is asked.
    #[serde(flatten)]
    pub probe: Probe,
}

/// What a gate asks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Probe {
    /// A query whose value has to fulfil a condition.
    Prometheus {
        /// The address of the server.
        url: Url,
        /// The query.
        query: String,
        /// What the value has to be.
        condition: Condition,
    },
    /// A request that has to be answered with a status.
    Http {
        /// The address.
        url: Url,
        /// The status.
        status: u16,
    },
}

/// What a value has to be, such as `< 0.05`; kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    text: String,
    comparison: Comparison,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

/// The longer signs first, for the shorter ones begin them.
const SIGNS: [(&str, Comparison); 6] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Condition {
    /// Whether a value fulfils it; one that is no number never does.
    pub fn holds(&self, value: f64) -> bool {
        let bound = self.bound();
        match self.comparison {
            Comparison::Less => value < bound,
            Comparison::LessOrEqual => value <= bound,
            Comparison::Greater => value > bound,
            Comparison::GreaterOrEqual => value >= bound,
            Comparison::Equal => (value - bound).abs() < f64::EPSILON,
            Comparison::NotEqual => (value - bound).abs() >= f64::EPSILON,
        }
    }

    fn bound(&self) -> f64 {
        let digits = self.text.trim_start_matches(['<', '>', '=', '!']).trim();
        digits.parse().unwrap_or(f64::NAN)
    }
}

impl FromStr for Condition {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let found = SIGNS.iter().find_map(|(sign, comparison)| {
            let number: f64 = text.strip_prefix(sign)?.trim().parse().ok()?;
            number.is_finite().then_some(*comparison)
        });
        let comparison = found.ok_or("has to be a comparison with a number, such as < 0.05")?;
        Ok(Self { text: text.to_owned(), comparison })
    }
}

impl TryFrom<String> for Condition {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.text
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Gate {
    /// Reads one, and says all that is wrong.
    pub fn read(value: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let mut fields = Fields::of(value, &mut problems);
        let name: Option<String> = fields.required("name");
        let prometheus = fields.inner("prometheus", prometheus);
        let http = fields.inner("http", http);
        fields.end();
        if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            problems.add("name", "is empty");
        }
        let both = value.get("prometheus").is_some() == value.get("http").is_some();
        if both && value.is_object() {
            problems.add("", "has to hold either prometheus or http");
        }
        match (name, prometheus.or(http)) {
            (Some(name), Some(probe)) => problems.or(Self { name, probe }),
            _ => Err(problems),
        }
    }
}

fn prometheus(value: &Value) -> Result<Probe, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let url: Option<Url> = fields.required("url");
    let query: Option<String> = fields.required("query");
    let condition: Option<Condition> = fields.required("condition");
    fields.end();
    check_address(url.as_ref(), &mut problems);
    match (url, query, condition) {
        (Some(url), Some(query), Some(condition)) => problems.or(Probe::Prometheus { url, query, condition }),
        _ => Err(problems),
    }
}

fn http(value: &Value) -> Result<Probe, Problems> {
    let mut problems = Problems::new();
    let mut fields = Fields::of(value, &mut problems);
    let url: Option<Url> = fields.required("url");
    let status: u16 = fields.optional("status").unwrap_or(200);
    fields.end();
    check_address(url.as_ref(), &mut problems);
    if !(100..=599).contains(&status) {
        problems.add("status", "has to be from 100 to 599");
    }
    match url {
        Some(url) => problems.or(Probe::Http { url, status }),
        None => Err(problems),
    }
}

/// Settings are shown to everybody who may read, so an address must not hold a password.
fn check_address(url: Option<&Url>, problems: &mut Problems) {
    let Some(url) = url else { return };
    if !matches!(url.scheme(), "http" | "https") {
        problems.add("url", "has to begin with http:// or https://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        problems.add("url", "must not hold a name or a password");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_condition_compares_with_a_number() {
        let holds = |text: &str, value: f64| text.parse::<Condition>().unwrap().holds(value);
        assert!(holds("< 0.05", 0.01) && !holds("< 0.05", 0.05) && holds("<=0.05", 0.05));
        assert!(holds(">= 3", 3.0) && holds("== 1", 1.0) && holds("!= 1", 2.0) && !holds("> 1", f64::NAN));
        for bad in ["", "0.05", "< much", "=< 1", "< inf"] {
            assert!(bad.parse::<Condition>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_gate_is_read_and_everything_wrong_is_said() {
        let good = json!({"name": "errors", "prometheus": {
            "url": "http://prometheus:9090", "query": "sum(rate(errors[5m]))", "condition": "< 0.05"}});
        let gate = Gate::read(&good).unwrap();
        let kept = serde_json::to_value(&gate).unwrap();
        assert_eq!(serde_json::from_value::<Gate>(kept).unwrap(), gate);
        let bad = json!({"name": " ", "http": {"url": "ftp://me:secret@host", "status": 7, "method": "GET"}});
        assert_eq!(
            Gate::read(&bad).unwrap_err().to_string(),
            "http.method is not a field here; http.url has to begin with http:// or https://; \
             http.url must not hold a name or a password; http.status has to be from 100 to 599; name is empty"
        );
        assert!(Gate::read(&json!({"name": "x"})).unwrap_err().to_string().contains("either prometheus or"));
    }
}
