//! Signed HTTP requests to programs that are told what happens.
//!
//! The form is that of Standard Webhooks, which has libraries in most languages; what is sent is described
//! in `docs/reference/webhooks.md`. Requests go to the set address and nowhere else: no redirect is
//! followed, and what comes back is not looked at but for its status.

mod signature;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use slipway_orchestrator::ports::NotifyError;
use slipway_orchestrator::ports::store::Message;
use url::Url;

use crate::notifier::{delivery_id, is_loopback};
use crate::secret_file;

pub use signature::{BadSecret, BadSignature, Secrets, TOLERANCE, verify};

/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How much of an answer is read, so that the connection can be used again.
const ANSWER: usize = 64 * 1024;

/// A program that is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// Its name, unique.
    pub name: String,
    /// Where it listens.
    pub url: Url,
    /// The file with the secret that requests are signed with; two lines sign twice, so that a receiver can
    /// change from one to the other. It is read for each request.
    pub secret_file: PathBuf,
    /// Authorities that its certificate may come from, as PEM, beside those of this machine.
    pub ca_pem: Option<Vec<u8>>,
    /// Whether it may be reached over the network in the clear.
    pub plain: bool,
    /// How long it may take to answer.
    pub timeout: Duration,
}

impl ReceiverSettings {
    /// With the usual limits.
    pub fn new(name: impl Into<String>, url: Url, secret_file: PathBuf) -> Self {
        Self { name: name.into(), url, secret_file, ca_pem: None, plain: false, timeout: TIMEOUT }
    }
}

/// Why a receiver cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// Two have one name.
    #[error("there are two webhook receivers called {0}")]
    Twice(String),
    /// The address makes no sense.
    #[error("webhook {name} has to have an address such as https://example.org/hook, without a user in it")]
    Address {
        /// Which receiver.
        name: String,
    },
    /// Requests would cross the network in the clear.
    #[error(
        "requests to webhook {name} would cross the network in the clear; use https, or allow it explicitly"
    )]
    Clear {
        /// Which receiver.
        name: String,
    },
    /// The secret cannot be used.
    #[error("the secret of webhook {name} cannot be used")]
    Secret {
        /// Which receiver.
        name: String,
        /// Why.
        #[source]
        source: BadSecret,
    },
    /// The connection cannot be set up.
    #[error("setting up connections to webhook {name}")]
    Setup {
        /// Which receiver.
        name: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
}

/// Sends signed requests.
#[derive(Debug, Default)]
pub struct Webhooks {
    receivers: BTreeMap<String, Receiver>,
}

#[derive(Debug)]
struct Receiver {
    settings: ReceiverSettings,
    http: reqwest::Client,
}

impl Webhooks {
    /// Checks the settings; nothing is sent yet.
    pub fn new(receivers: impl IntoIterator<Item = ReceiverSettings>) -> Result<Self, WebhookError> {
        let mut known = BTreeMap::new();
        for settings in receivers {
            let name = settings.name.clone();
            let receiver = Receiver::new(settings)?;
            if known.insert(name.clone(), receiver).is_some() {
                return Err(WebhookError::Twice(name));
            }
        }
        Ok(Self { receivers: known })
    }

    /// Sends a message to a receiver, once.
    #[tracing::instrument(name = "webhook.send", skip_all, fields(receiver = name, kind = message.kind))]
    pub(crate) async fn send(&self, name: &str, message: &Message) -> Result<(), NotifyError> {
        let receiver = self.receivers.get(name).ok_or_else(|| {
            NotifyError::later(format!("webhook {name} is not among this server's settings"))
        })?;
        receiver.send(message, Timestamp::now()).await
    }
}

impl Receiver {
    fn new(settings: ReceiverSettings) -> Result<Self, WebhookError> {
        let name = || settings.name.clone();
        let url = &settings.url;
        let host = url.host_str().unwrap_or_default();
        let known = matches!(url.scheme(), "http" | "https");
        if !known || host.is_empty() || !url.username().is_empty() || url.password().is_some() {
            return Err(WebhookError::Address { name: name() });
        }
        let plain = settings.plain || is_loopback(host);
        if url.scheme() == "http" && !plain {
            return Err(WebhookError::Clear { name: name() });
        }
        Secrets::read(&settings.secret_file)
            .map_err(|source| WebhookError::Secret { name: name(), source })?;
        let setup = |source| WebhookError::Setup { name: name(), source };
        let mut http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .https_only(url.scheme() == "https")
            .timeout(settings.timeout)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if let Some(pem) = &settings.ca_pem {
            http = http.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem).map_err(setup)?);
        }
        let http = http.build().map_err(setup)?;
        Ok(Self { settings, http })
    }

    async fn send(&self, message: &Message, now: Timestamp) -> Result<(), NotifyError> {
        let ReceiverSettings { name, url, secret_file, .. } = &self.settings;
        let id = delivery_id(message).to_string();
        let body = json!({
            "id": id,
            "type": message.kind,
            "subject": message.subject,
            "text": message.text,
            "data": message.facts,
        })
        .to_string();
        let secrets = Secrets::read(secret_file).map_err(|error| {
            NotifyError::later(format!("signing the request to webhook {name}")).caused_by(error)
        })?;
        let seconds = now.as_second();
        let reply = self
            .http
            .post(url.clone())
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", seconds)
            .header("webhook-signature", secrets.sign(&id, seconds, body.as_bytes()))
            .body(body)
            .send()
            .await
            // An address may hold what only its owner should know.
            .map_err(|error| {
                NotifyError::later(format!("webhook {name} does not answer")).caused_by(error.without_url())
            })?;
        let status = reply.status();
        drain(reply).await;
        let said = format!("webhook {name} answered {}", status.as_u16());
        match status.as_u16() {
            200..=299 => Ok(()),
            // Gone: the receiver asks for silence.
            410 => Err(NotifyError::never(said)),
            300..=399 => Err(NotifyError::later(format!("{said}; redirects are not followed"))),
            _ => Err(NotifyError::later(said)),
        }
    }
}

/// Reads a little of the answer and forgets it: a receiver that is cut off may take the request for failed.
async fn drain(mut reply: reqwest::Response) {
    let mut left = ANSWER;
    while let Ok(Some(chunk)) = reply.chunk().await {
        match left.checked_sub(chunk.len()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

impl From<secret_file::SecretFileError> for BadSecret {
    fn from(error: secret_file::SecretFileError) -> Self {
        Self::File(error)
    }
}
