//! Other issuers by `OpenID` Connect: discovery, keys, codes, devices.
//!
//! Only HTTPS, unless the issuer is on this machine; no redirects; answers of limited size; a timeout on every
//! question. What an issuer answers is not repeated to people, apart from its error codes.

mod discovery;
mod http;
mod id_token;
mod keys;

use std::fmt::Write as _;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;
use slipway_orchestrator::ports::identity::{
    Authorization, BrowserFlow, Device, IssuerError, IssuerSettings, Poll, Vouched,
};
use url::Url;

use super::IdentitySetupError;
use discovery::Discovered;
use http::{Http, TokenAnswer};
use id_token::Expected;
use keys::Keys;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// All issuers that are trusted.
pub(super) struct Oidc {
    issuers: Vec<Issuer>,
}

impl Oidc {
    pub(super) fn new(settings: &[IssuerSettings]) -> Result<Self, IdentitySetupError> {
        Ok(Self { issuers: settings.iter().map(Issuer::new).collect::<Result<_, _>>()? })
    }

    pub(super) fn issuer(&self, name: &str) -> Result<&Issuer, IssuerError> {
        let mut issuers = self.issuers.iter();
        issuers
            .find(|issuer| issuer.settings.name.as_str() == name)
            .ok_or_else(|| IssuerError::Unknown(name.to_owned()))
    }
}

/// One issuer.
pub(super) struct Issuer {
    settings: IssuerSettings,
    http: Http,
    discovered: tokio::sync::Mutex<Option<Discovered>>,
    keys: Keys,
}

#[derive(Deserialize)]
struct DeviceReply {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    expires_in: u64,
    #[serde(default = "five")]
    interval: u64,
}

fn five() -> u64 {
    5
}

impl Issuer {
    fn new(settings: &IssuerSettings) -> Result<Self, IdentitySetupError> {
        let bad = |reason: String| IdentitySetupError::Issuer { issuer: settings.name.to_string(), reason };
        let url: Url = settings
            .issuer
            .parse()
            .map_err(|error| bad(format!("{:?} is not an address: {error}", settings.issuer)))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(bad(format!("{url} must have neither a query nor a fragment")));
        }
        http::allowed(&url).map_err(bad)?;
        if settings.client_id.is_empty() {
            return Err(bad("it has no client id".to_owned()));
        }
        for mapping in &settings.mappings {
            slipway_domain::user::environments_for(mapping.role, &mapping.environments)
                .map_err(|problems| bad(format!("for the group {}, {problems}", mapping.group)))?;
        }
        if settings.default_role == Some(slipway_domain::access::Role::EnvironmentOwner) {
            return Err(
                bad("the default role cannot be EnvironmentOwner: it has no environments".to_owned()),
            );
        }
        Ok(Self {
            http: Http::new(&url, settings.ca.as_deref()).map_err(bad)?,
            settings: settings.clone(),
            discovered: tokio::sync::Mutex::default(),
            keys: Keys::default(),
        })
    }

    pub(super) async fn authorize(&self, redirect: &str) -> Result<Authorization, IssuerError> {
        let discovered = self.discover().await?;
        let flow = BrowserFlow { state: random(), nonce: random(), verifier: random() };
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, flow.verifier.as_bytes()));
        let mut location = discovered.authorization_endpoint.clone();
        location
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", &self.scope())
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        Ok(Authorization { location: location.into(), flow })
    }

    pub(super) async fn redeem(
        &self,
        redirect: &str,
        code: &str,
        flow: &BrowserFlow,
    ) -> Result<Vouched, IssuerError> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", &flow.verifier),
        ];
        match self.ask_token(&form).await? {
            TokenAnswer::Tokens { id_token, access_token } => {
                self.vouch(&id_token, access_token.as_deref(), Some(&flow.nonce)).await
            }
            TokenAnswer::Refused(error) => Err(self.refused(&error)),
        }
    }

    pub(super) async fn begin_device(&self) -> Result<Device, IssuerError> {
        let discovered = self.discover().await?;
        let endpoint = discovered
            .device_authorization_endpoint
            .as_ref()
            .ok_or_else(|| self.unusable("it does not offer logins on another device"))?;
        let form = [("client_id", self.settings.client_id.as_str()), ("scope", &self.scope())];
        let reply: DeviceReply = self
            .http
            .post_form(endpoint, &form, self.credentials(&discovered))
            .await
            .and_then(|(status, body)| http::json(status, &body))
            .map_err(|reason| self.unusable(&reason))?;
        let is_page =
            |page: &str| page.parse::<Url>().is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_page(&reply.verification_uri) || reply.device_code.is_empty() || reply.device_code.len() > 2048
        {
            return Err(self.unusable("its answer about the device makes no sense"));
        }
        let printable = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
        if !printable(&reply.user_code) {
            return Err(self.unusable("its code for the device cannot be shown"));
        }
        Ok(Device {
            device_code: reply.device_code,
            user_code: reply.user_code,
            verification_uri: reply.verification_uri,
            verification_uri_complete: reply.verification_uri_complete.filter(|page| is_page(page)),
            expires_in: Duration::from_secs(reply.expires_in.clamp(1, 3600)),
            interval: Duration::from_secs(reply.interval.clamp(1, 60)),
        })
    }

    pub(super) async fn poll_device(&self, device_code: &str) -> Result<Poll, IssuerError> {
        let form = [("grant_type", DEVICE_GRANT), ("device_code", device_code)];
        match self.ask_token(&form).await? {
            // The device flow has no nonce; the token came straight from the issuer over its own connection.
            TokenAnswer::Tokens { id_token, access_token } => {
                Ok(Poll::Vouched(self.vouch(&id_token, access_token.as_deref(), None).await?))
            }
            TokenAnswer::Refused(error) if error == "authorization_pending" => Ok(Poll::Pending),
            TokenAnswer::Refused(error) if error == "slow_down" => Ok(Poll::SlowDown),
            TokenAnswer::Refused(error) => Err(self.refused(&error)),
        }
    }

    async fn ask_token(&self, form: &[(&str, &str)]) -> Result<TokenAnswer, IssuerError> {
        let discovered = self.discover().await?;
        let mut form = form.to_vec();
        form.push(("client_id", &self.settings.client_id));
        self.http
            .post_form(&discovered.token_endpoint, &form, self.credentials(&discovered))
            .await
            .and_then(|(status, body)| http::token_answer(status, &body))
            .map_err(|reason| self.unusable(&reason))
    }

    /// Who the ID token is about, once everything about it is right.
    async fn vouch(
        &self,
        id_token: &str,
        access_token: Option<&str>,
        nonce: Option<&str>,
    ) -> Result<Vouched, IssuerError> {
        let discovered = self.discover().await?;
        let kid = id_token::key_of(id_token).map_err(|reason| self.refused(reason))?;
        let keys = self
            .keys
            .with(kid.as_deref(), async || self.http.get_json::<Value>(&discovered.jwks_uri, None).await)
            .await
            .map_err(|reason| self.unusable(&reason))?;
        let expected = Expected {
            // Exactly as it calls itself.
            issuer: &discovered.issuer,
            client_id: &self.settings.client_id,
            nonce,
            access_token,
        };
        let mut claims =
            id_token::check(id_token, &keys, &expected).map_err(|reason| self.refused(reason))?;
        if claims.get(&self.settings.groups_claim).is_none() {
            self.add_user_info(&discovered, access_token, &mut claims).await?;
        }
        Ok(self.read(&claims))
    }

    /// Some issuers tell groups only when asked once more. What they tell must be about the same person.
    async fn add_user_info(
        &self,
        discovered: &Discovered,
        access_token: Option<&str>,
        claims: &mut serde_json::Map<String, Value>,
    ) -> Result<(), IssuerError> {
        let (Some(endpoint), Some(token)) = (&discovered.userinfo_endpoint, access_token) else {
            return Ok(());
        };
        let told: serde_json::Map<String, Value> =
            self.http.get_json(endpoint, Some(token)).await.map_err(|reason| self.unusable(&reason))?;
        if told.get("sub") != claims.get("sub") {
            return Err(self.refused("what it tells is about somebody else"));
        }
        for (name, value) in told {
            claims.entry(name).or_insert(value);
        }
        Ok(())
    }

    fn read(&self, claims: &serde_json::Map<String, Value>) -> Vouched {
        let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
        let email = text("email");
        let proven = matches!(claims.get("email_verified"), Some(Value::Bool(true)));
        let subject = text("sub").unwrap_or_default();
        let called = text(&self.settings.username_claim)
            .or_else(|| email.clone().filter(|_| proven))
            .unwrap_or_else(|| subject.clone());
        let groups = match claims.get(&self.settings.groups_claim) {
            Some(Value::Array(groups)) => {
                groups.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(Value::String(group)) => vec![group.clone()],
            _ => Vec::new(),
        };
        Vouched { called, full_name: text("name"), email: email.filter(|_| proven), groups, subject }
    }

    fn scope(&self) -> String {
        let mut scope = String::from("openid");
        for further in self.settings.scopes.iter().filter(|scope| *scope != "openid") {
            let _ = write!(scope, " {further}");
        }
        scope
    }

    fn credentials(&self, discovered: &Discovered) -> Option<http::Credentials<'_>> {
        self.settings.client_secret.as_ref().map(|secret| http::Credentials {
            client_id: &self.settings.client_id,
            secret,
            in_body: discovered.wants_secret_in_body(),
        })
    }

    fn refused(&self, reason: &str) -> IssuerError {
        IssuerError::Refused { issuer: self.settings.name.to_string(), reason: reason.to_owned() }
    }

    fn unusable(&self, reason: &str) -> IssuerError {
        IssuerError::Unusable { issuer: self.settings.name.to_string(), reason: reason.to_owned() }
    }
}

/// 256 bits that nobody can guess.
fn random() -> String {
    let mut bytes = [0_u8; 32];
    // It fails only where the system has no randomness at all, and then TLS has failed before.
    let _ = SystemRandom::new().fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}
