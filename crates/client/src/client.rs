//! Who is called, in whose name, and over which connection.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use url::Url;

use crate::error::ClientError;
use crate::token::{Renew, Token};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one call may take, streams apart. The server ends its own work earlier.
const CALL: Duration = Duration::from_mins(1);

/// Calls a server in the name of one caller. Clones share the connections and the token.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    server: Url,
    token: Arc<RwLock<Option<Token>>>,
    renewal: Arc<tokio::sync::Mutex<()>>,
    renew: Option<Arc<dyn Renew>>,
    pub(crate) timeout: Duration,
}

/// A client in the making.
#[derive(Debug)]
pub struct ClientBuilder {
    server: String,
    http: reqwest::ClientBuilder,
    token: Option<Token>,
    timeout: Duration,
}

impl ClientBuilder {
    /// Trusts the authorities of a PEM file beside those of this machine.
    pub fn ca_file(mut self, file: &Path) -> Result<Self, ClientError> {
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| ClientError::Authorities {
            file: file.to_owned(),
            source,
        };
        let pem = std::fs::read(file).map_err(|error| unusable(error.into()))?;
        let found = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| unusable(error.into()))?;
        if found.is_empty() {
            return Err(unusable("there is no certificate in it".into()));
        }
        self.http = self.http.tls_certs_merge(found);
        Ok(self)
    }

    /// Talks to whoever answers, without asking for proof. For tests on one's own machine only.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.http = self.http.tls_danger_accept_invalid_certs(true);
        self
    }

    /// In the name of whom this token was given.
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// How long one call may take.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The client.
    pub fn build(self) -> Result<Client, ClientError> {
        // Redirects are not followed: a token is for the server it was given for.
        let http = self
            .http
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(ClientError::Setup)?;
        let mut client = Client::new(http, &self.server)?;
        client.timeout = self.timeout;
        client.set_token(self.token);
        Ok(client)
    }
}

impl Client {
    /// A client for a server, to be made step by step.
    pub fn builder(server: impl Into<String>) -> ClientBuilder {
        ClientBuilder { server: server.into(), http: reqwest::Client::builder(), token: None, timeout: CALL }
    }

    /// For a server over connections made elsewhere, without a token yet.
    pub fn new(http: reqwest::Client, server: &str) -> Result<Self, ClientError> {
        let parsed = server
            .parse::<Url>()
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
        let server = parsed.ok_or_else(|| ClientError::Address(server.to_owned()))?;
        Ok(Self { http, server, token: Arc::default(), renewal: Arc::default(), renew: None, timeout: CALL })
    }

    /// The same in the name of whom a token was given; others that share this one's token keep it.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Arc::new(RwLock::new(Some(Token::new(token, None))));
        self
    }

    /// Renews the token in time, this way.
    #[must_use]
    pub fn renewing(mut self, renew: Arc<dyn Renew>) -> Self {
        self.renew = Some(renew);
        self
    }

    /// The server's address.
    pub fn server(&self) -> &Url {
        &self.server
    }

    /// The token in use.
    pub fn token(&self) -> Option<Token> {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses another token from now on, in all clones.
    pub fn set_token(&self, token: Option<Token>) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// The token to call with: a new one where the present one ends soon. A server that renews nothing now
    /// is no reason to fail: the present one still counts.
    pub(crate) async fn current_token(&self) -> Option<Token> {
        let token = self.token()?;
        let Some(renew) = &self.renew else { return Some(token) };
        if !token.ends_soon(Timestamp::now()) {
            return Some(token);
        }
        // One call renews; those beside it go on with what is there.
        let Ok(_renewing) = self.renewal.try_lock() else { return Some(token) };
        let plain = Self { renew: None, ..self.clone() };
        match Box::pin(renew.renew(&plain)).await {
            Ok(Some(new)) => {
                self.set_token(Some(new.clone()));
                Some(new)
            }
            Ok(None) | Err(_) => Some(token),
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("server", &self.server.as_str()).finish_non_exhaustive()
    }
}
