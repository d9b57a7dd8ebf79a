//! One request: bounded in size and time, and careful about where it is led.

use std::error::Error as _;
use std::time::Duration;

use futures::StreamExt as _;
use http::header::{ACCEPT, AUTHORIZATION, ETAG, IF_NONE_MATCH, LOCATION};
use http::{HeaderMap, HeaderValue, StatusCode};
use moka::future::Cache;
use reqwest::Certificate;
use url::Url;

/// How often a request may be led elsewhere.
const MOST_REDIRECTS: usize = 5;

/// What is asked for.
pub(super) struct Ask<'a> {
    pub(super) url: Url,
    /// The authority that vouches for the host, as PEM.
    pub(super) authority: Option<&'a str>,
    /// Sent to the host of `url` only.
    pub(super) authorization: Option<&'a HeaderValue>,
    pub(super) accept: Option<&'static str>,
    /// The tag of what is known already.
    pub(super) known: Option<&'a str>,
    /// The most bytes that are read.
    pub(super) most: usize,
}

/// What came.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Fetched {
    /// The tag for asking again.
    pub(super) fn tag(&self) -> Option<String> {
        self.headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned)
    }

    /// A header's text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Makes requests; one client per authority.
#[derive(Debug)]
pub(super) struct Fetcher {
    clients: Cache<(Option<String>, bool), reqwest::Client>,
    timeout: Duration,
}

impl Fetcher {
    pub(super) fn new(timeout: Duration) -> Self {
        Self { clients: Cache::builder().max_capacity(200).build(), timeout }
    }

    /// Asks, and follows to the same host or to an encrypted one. The reason of a failure is for people.
    pub(super) async fn fetch(&self, ask: Ask<'_>) -> Result<Fetched, String> {
        let mut url = ask.url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let same_host = same_origin(&url, &ask.url);
            let client = self.client(ask.authority, is_loopback(&url)).await?;
            let mut request = client.get(url.clone());
            if let Some(accept) = ask.accept {
                request = request.header(ACCEPT, accept);
            }
            if let Some(tag) = ask.known {
                request = request.header(IF_NONE_MATCH, tag);
            }
            if same_host && let Some(authorization) = ask.authorization {
                request = request.header(AUTHORIZATION, authorization.clone());
            }
            let answer = request.send().await.map_err(|error| self.reason(&error))?;
            let status = answer.status();
            if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
                let headers = answer.headers().clone();
                let body = self.read(answer, ask.most).await?;
                return Ok(Fetched { status, headers, body });
            }
            let to = answer
                .headers()
                .get(LOCATION)
                .and_then(|location| location.to_str().ok())
                .and_then(|location| url.join(location).ok())
                .ok_or("it leads elsewhere without saying where")?;
            if to.scheme() != "https" && !same_origin(&to, &ask.url) {
                return Err(format!(
                    "it leads to {}, which is neither itself nor encrypted",
                    to.host_str().unwrap_or("nowhere")
                ));
            }
            url = to;
        }
        Err(format!("it leads elsewhere more than {MOST_REDIRECTS} times"))
    }

    async fn read(&self, answer: reqwest::Response, most: usize) -> Result<Vec<u8>, String> {
        let too_much = || format!("its answer is larger than {} MB", most >> 20);
        if answer.content_length().is_some_and(|length| length > most as u64) {
            return Err(too_much());
        }
        let mut body = Vec::new();
        let mut stream = answer.bytes_stream();
        while let Some(part) = stream.next().await {
            let part = part.map_err(|error| self.reason(&error))?;
            if body.len() + part.len() > most {
                return Err(too_much());
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    async fn client(&self, authority: Option<&str>, loopback: bool) -> Result<reqwest::Client, String> {
        let key = (authority.map(str::to_owned), loopback);
        if let Some(client) = self.clients.get(&key).await {
            return Ok(client);
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(self.timeout.min(Duration::from_secs(10)))
            .timeout(self.timeout)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if loopback {
            builder = builder.no_proxy();
        }
        if let Some(pem) = authority {
            let certificates = Certificate::from_pem_bundle(pem.as_bytes())
                .ok()
                .filter(|certificates| !certificates.is_empty())
                .ok_or("the authority that was given is no certificate in PEM")?;
            builder = builder.tls_certs_merge(certificates);
        }
        let client = builder.build().map_err(|error| format!("no connection can be made: {error}"))?;
        self.clients.insert(key, client.clone()).await;
        Ok(client)
    }

    /// What went wrong, in words; never the address, which people know and which may be long.
    fn reason(&self, error: &reqwest::Error) -> String {
        if error.is_timeout() {
            return format!("it did not answer within {} seconds", self.timeout.as_secs());
        }
        let mut deepest: &dyn std::error::Error = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        let text = deepest.to_string();
        if text.contains("UnknownIssuer") || text.contains("unknown issuer") {
            return "its certificate is signed by an authority that is not known here; give that authority's certificate"
                .to_owned();
        }
        if error.is_connect() && error.source().is_some_and(|source| source.to_string().contains("dns")) {
            return format!("its name cannot be resolved ({text})");
        }
        text
    }
}

fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
