//! Checks between waves that look beyond the clusters: a Prometheus query, an HTTP request.
//!
//! Whoever starts a deployment makes this server connect there. So nothing is followed, little is read, what
//! is read is never shown but for a status and a number, and addresses that only this server can reach are
//! refused as they are for clusters.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use slipway_domain::rollout::{Condition, Gate, Measurement, Probe, Seen};
use url::Url;

use crate::kubernetes::AddressRules;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How much of an answer is read.
const MOST: usize = 256 * 1024;

/// Asks gates.
#[derive(Debug, Clone)]
pub(crate) struct Gates {
    rules: AddressRules,
    http: Option<reqwest::Client>,
}

impl Gates {
    /// Under these rules about addresses.
    pub(crate) fn new(rules: AddressRules) -> Self {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { rules, http: http.ok() }
    }

    /// Asks one gate. What cannot be asked is no answer: it neither passes nor fails.
    #[tracing::instrument(name = "gate.measure", skip_all, fields(gate = gate.name))]
    pub(crate) async fn measure(&self, gate: &Gate, at: Timestamp) -> Measurement {
        let answer = match &gate.probe {
            Probe::Http { url, status } => self.http(url, *status).await,
            Probe::Prometheus { url, query, condition } => self.prometheus(url, query, condition).await,
        };
        let (health, text) = answer.unwrap_or_else(|why| (Seen::Undecided, why));
        Measurement { at, health, text }
    }

    async fn http(&self, url: &Url, status: u16) -> Result<(Seen, String), String> {
        let reply = self.get(url.clone()).await?;
        let found = reply.status().as_u16();
        let health = if found == status { Seen::Passed } else { Seen::Failed };
        Ok((health, format!("{} answered {found}, and {status} is asked for", host(url))))
    }

    async fn prometheus(
        &self,
        url: &Url,
        query: &str,
        condition: &Condition,
    ) -> Result<(Seen, String), String> {
        let mut place = url.clone();
        place.set_path(&format!("{}/api/v1/query", url.path().trim_end_matches('/')));
        place.query_pairs_mut().append_pair("query", query);
        let reply = self.get(place).await?;
        let status = reply.status();
        if !status.is_success() {
            return Err(format!("{} answered {status}", host(url)));
        }
        let value = value_of(&body(reply).await?)
            .ok_or_else(|| format!("{} gave no single number; the query has to give one", host(url)))?;
        let health = if condition.holds(value) { Seen::Passed } else { Seen::Failed };
        Ok((health, format!("{value} has to be {condition}")))
    }

    async fn get(&self, url: Url) -> Result<reqwest::Response, String> {
        self.rules.reachable(&url)?;
        let http = self.http.as_ref().ok_or("this server cannot send requests")?;
        let reply = http.get(url.clone()).send().await;
        reply.map_err(|error| {
            let why = if error.is_timeout() {
                "no answer in time"
            } else if error.is_connect() {
                "no connection"
            } else {
                "the request failed"
            };
            format!("{}: {why}", host(&url))
        })
    }
}

async fn body(mut reply: reqwest::Response) -> Result<Value, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(|_| "the answer broke off".to_owned())? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MOST {
            return Err("the answer is too long".to_owned());
        }
    }
    serde_json::from_slice(&bytes).map_err(|_| "the answer is not JSON".to_owned())
}

/// The number in an answer: a scalar, or the only sample of a vector.
fn value_of(answer: &Value) -> Option<f64> {
    let data = answer.get("data")?;
    let result = data.get("result")?;
    let sample = match data.get("resultType")?.as_str()? {
        "scalar" => result,
        "vector" => match result.as_array()?.as_slice() {
            [only] => only.get("value")?,
            _ => return None,
        },
        _ => return None,
    };
    sample.get(1)?.as_str()?.parse().ok()
}

fn host(url: &Url) -> &str {
    url.host_str().unwrap_or("the address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Query;
    use axum::http::StatusCode;
    use axum::response::Redirect;
    use axum::routing::get;
    use axum::{Json, Router};
    use serde_json::json;
    use std::collections::BTreeMap;

    fn gates(loopback: bool) -> Gates {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        Gates::new(AddressRules { loopback, ..AddressRules::default() })
    }

    async fn asked(gates: &Gates, probe: Value) -> Measurement {
        let mut gate = json!({ "name": "errors" });
        gate.as_object_mut().unwrap().extend(probe.as_object().unwrap().clone());
        gates.measure(&Gate::read(&gate).unwrap(), Timestamp::UNIX_EPOCH).await
    }

    async fn served(router: Router) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    async fn prometheus(answer: Value) -> Value {
        let reply = async move |Query(asked): Query<BTreeMap<String, String>>| {
            assert_eq!(asked["query"], "sum(rate(errors[5m]))");
            Json(answer)
        };
        let server = served(Router::new().route("/prom/api/v1/query", get(reply))).await;
        json!({ "prometheus": {
            "url": format!("{server}/prom/"),
            "query": "sum(rate(errors[5m]))",
            "condition": "< 0.05",
        }})
    }

    #[tokio::test]
    async fn a_query_passes_or_fails_by_its_condition() {
        let vector = |value: &str| {
            let sample = json!({ "metric": {}, "value": [1.0, value] });
            json!({ "status": "success", "data": { "resultType": "vector", "result": [sample] } })
        };
        for (value, health) in [("0.01", Seen::Passed), ("0.2", Seen::Failed), ("NaN", Seen::Failed)] {
            let seen = asked(&gates(true), prometheus(vector(value)).await).await;
            assert_eq!(seen.health, health, "{value}: {}", seen.text);
        }
    }

    #[tokio::test]
    async fn an_answer_that_says_nothing_decides_nothing() {
        let empty = json!({ "status": "success", "data": { "resultType": "vector", "result": [] } });
        let seen = asked(&gates(true), prometheus(empty).await).await;
        assert_eq!(seen.health, Seen::Undecided);
        assert!(seen.text.contains("no single number"), "{}", seen.text);
    }

    #[tokio::test]
    async fn a_request_is_judged_by_its_status_and_redirects_are_not_followed() {
        let router = Router::new()
            .route("/moved", get(async || Redirect::temporary("/ready")))
            .route("/ready", get(async || StatusCode::OK));
        let server = served(router).await;
        let probe = |path: &str| json!({ "http": { "url": format!("{server}{path}") } });
        assert_eq!(asked(&gates(true), probe("/ready")).await.health, Seen::Passed);
        assert_eq!(asked(&gates(true), probe("/moved")).await.health, Seen::Failed);
    }

    #[tokio::test]
    async fn addresses_that_only_this_server_reaches_are_refused() {
        for url in ["http://169.254.169.254/latest", "http://127.0.0.1:1/", "http://metadata/"] {
            let seen = asked(&gates(false), json!({ "http": { "url": url } })).await;
            assert_eq!(seen.health, Seen::Undecided, "{url}");
            assert!(seen.text.starts_with("the address is"), "{}", seen.text);
        }
    }
}
