//! Logging in through another issuer.
//!
//! In a browser by code and PKCE; on the command line by the device flow, in which this server does the
//! asking. That keeps the client's secret and the ID token here: the command line needs to reach only this
//! server, and no endpoint takes an ID token from outside, which could have been made for somebody else.
//!
//! What has to be remembered between two steps travels sealed with the caller, so any server can go on, and
//! nobody can fill the database without logging in.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use slipway_domain::access::Actor;
use slipway_domain::audit::{AuditEntry, AuditResult};
use slipway_domain::id::UserId;
use slipway_domain::name::Name;
use slipway_domain::problem::Problems;
use slipway_domain::user::{Origin, Standing, User, UserState, Username, check_full_name, standing_of};
use std::time::Duration;
use uuid::Uuid;

use super::users::{refused_change, shown};
use super::{LoggedIn, after};
use crate::changes::Changeset;
use crate::error::{Code, Error};
use crate::manager::Manager;
use crate::ports::StoreError;
use crate::ports::identity::{BrowserFlow, IssuerError, IssuerSettings, Poll, Vouched};
use crate::ports::store::{SUBJECT, USERNAME, UserWrite};

/// How long a browser may take to come back.
const BROWSER_PATIENCE: Duration = Duration::from_mins(10);

/// A way to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The issuer's name in paths.
    pub name: Name,
    /// What people read.
    pub title: String,
}

/// Where a browser goes, and what it has to bring back.
#[derive(Debug, Clone)]
pub struct OidcStart {
    /// The issuer's page.
    pub location: String,
    /// What it has to bring back in a cookie; sealed.
    pub cookie: String,
    /// How long that counts.
    pub patience: Duration,
}

/// What a browser brings back.
#[derive(Debug, Clone, Copy)]
pub struct BrowserReturn<'a> {
    /// The cookie.
    pub cookie: Option<&'a str>,
    /// From the address.
    pub state: Option<&'a str>,
    /// From the address.
    pub code: Option<&'a str>,
    /// From the address, when the issuer says no.
    pub error: Option<&'a str>,
    /// From the address, where the issuer says who it is (RFC 9207).
    pub issuer: Option<&'a str>,
}

/// A login on another device that has begun.
#[derive(Debug, Clone)]
pub struct DeviceLogin {
    /// What to ask with; sealed.
    pub handle: String,
    /// What the person types at the issuer's page.
    pub user_code: String,
    /// The page.
    pub verification_uri: String,
    /// The page with the code in it.
    pub verification_uri_complete: Option<String>,
    /// Until when.
    pub expires_at: Timestamp,
    /// How long to wait between questions.
    pub interval: Duration,
}

/// What there is to say about a login on another device.
#[derive(Debug)]
pub enum DeviceAnswer {
    /// Nothing yet.
    Pending,
    /// Nothing yet, and ask less often.
    SlowDown,
    /// Done.
    LoggedIn(Box<LoggedIn>),
}

#[derive(Serialize, Deserialize)]
struct SealedBrowser {
    flow: BrowserFlow,
    return_to: String,
    until: Timestamp,
}

#[derive(Serialize, Deserialize)]
struct SealedDevice {
    device_code: String,
    until: Timestamp,
}

impl Manager {
    /// The issuers that people can log in through.
    pub fn login_methods(&self) -> Vec<Method> {
        let issuers = self.parts.identity.issuers().iter();
        issuers.map(|issuer| Method { name: issuer.name.clone(), title: issuer.title.clone() }).collect()
    }

    /// Begins a login in a browser, which afterwards goes on to a page of ours.
    pub async fn oidc_start(&self, issuer: &str, return_to: Option<&str>) -> Result<OidcStart, Error> {
        let return_to = return_to.unwrap_or("/");
        if !is_own_page(return_to) {
            return Err(
                Problems::one("returnTo", "has to be a path on this server, such as /clusters").into()
            );
        }
        let issuer = self.issuer(issuer)?;
        let begun = self.parts.identity.authorize(issuer.name.as_str(), &self.redirect_uri(issuer)).await?;
        let sealed = SealedBrowser {
            flow: begun.flow,
            return_to: return_to.to_owned(),
            until: after(self.now(), BROWSER_PATIENCE),
        };
        let cookie = self.seal_flow("oidc-browser", issuer, &sealed)?;
        Ok(OidcStart { location: begun.location, cookie, patience: BROWSER_PATIENCE })
    }

    /// Ends it: the login, and the page to go on to.
    pub async fn oidc_finish(
        &self,
        caller: &Actor,
        issuer: &str,
        back: BrowserReturn<'_>,
    ) -> Result<(LoggedIn, String), Error> {
        let issuer = self.issuer(issuer)?;
        let outcome = self.redeem(issuer, back).await;
        let (vouched, return_to) = self.or_audited(caller, issuer, outcome).await?;
        Ok((self.login_vouched(caller, issuer, vouched).await?, return_to))
    }

    async fn redeem(
        &self,
        issuer: &IssuerSettings,
        back: BrowserReturn<'_>,
    ) -> Result<(Vouched, String), Error> {
        let stale = |reason: &str| Error::from(refused(issuer, reason));
        let cookie = back.cookie.ok_or_else(|| stale("this browser did not begin it; start again"))?;
        let sealed: SealedBrowser = self.open_flow("oidc-browser", issuer, cookie)?;
        if sealed.until <= self.now() {
            return Err(stale("it took too long; start again"));
        }
        if back.state != Some(sealed.flow.state.as_str()) {
            return Err(stale("the answer belongs to another login; start again"));
        }
        if back.issuer.is_some_and(|given| given.trim_end_matches('/') != issuer.issuer.trim_end_matches('/'))
        {
            return Err(stale("the answer is from another issuer"));
        }
        if let Some(error) = back.error {
            // Issuers choose this text: only what the standard allows is repeated.
            let error: String =
                error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(64).collect();
            return Err(stale(&error));
        }
        let code = back.code.ok_or_else(|| stale("the answer has no code"))?;
        let redirect = self.redirect_uri(issuer);
        let vouched = self.parts.identity.redeem(issuer.name.as_str(), &redirect, code, &sealed.flow).await?;
        Ok((vouched, sealed.return_to))
    }

    /// Begins a login on another device.
    pub async fn device_start(&self, issuer: &str) -> Result<DeviceLogin, Error> {
        let issuer = self.issuer(issuer)?;
        let device = self.parts.identity.begin_device(issuer.name.as_str()).await?;
        let until = after(self.now(), device.expires_in);
        let handle =
            self.seal_flow("oidc-device", issuer, &SealedDevice { device_code: device.device_code, until })?;
        Ok(DeviceLogin {
            handle,
            user_code: device.user_code,
            verification_uri: device.verification_uri,
            verification_uri_complete: device.verification_uri_complete,
            expires_at: until,
            interval: device.interval,
        })
    }

    /// Asks whether it is done.
    pub async fn device_poll(
        &self,
        caller: &Actor,
        issuer: &str,
        handle: &str,
    ) -> Result<DeviceAnswer, Error> {
        let issuer = self.issuer(issuer)?;
        let sealed: SealedDevice = self.open_flow("oidc-device", issuer, handle)?;
        if sealed.until <= self.now() {
            return Err(refused(issuer, "it took too long; start again").into());
        }
        let outcome = self.parts.identity.poll_device(issuer.name.as_str(), &sealed.device_code).await;
        match self.or_audited(caller, issuer, outcome.map_err(Error::from)).await? {
            Poll::Pending => Ok(DeviceAnswer::Pending),
            Poll::SlowDown => Ok(DeviceAnswer::SlowDown),
            Poll::Vouched(vouched) => {
                let logged_in = self.login_vouched(caller, issuer, vouched).await?;
                Ok(DeviceAnswer::LoggedIn(Box::new(logged_in)))
            }
        }
    }

    /// Lets somebody in whom an issuer vouches for. They are known by issuer and subject alone: the same
    /// address or name makes nobody the same person.
    async fn login_vouched(
        &self,
        caller: &Actor,
        issuer: &IssuerSettings,
        vouched: Vouched,
    ) -> Result<LoggedIn, Error> {
        let how = format!("through {}", issuer.name);
        let Some(standing) = standing_of(&vouched.groups, &issuer.mappings, issuer.default_role) else {
            let error = Error::new(
                Code::Forbidden,
                format!("none of your groups at {} has a role here; ask an admin for one", issuer.title),
            );
            return self.or_audited(caller, issuer, Err(error)).await;
        };
        let now = self.now();
        let known = self.store().user_by_subject(issuer.name.as_str(), &vouched.subject).await?;
        let Some(old) = known else {
            return self.first_login(caller, issuer, &vouched, standing, &how).await;
        };
        if !old.is_enabled() {
            let error = Error::new(Code::Forbidden, "this account is disabled; ask an admin");
            return self.or_audited(caller, issuer, Err(error)).await;
        }
        let mut user = told_by(old.clone(), &vouched, &standing);
        if user == old {
            return self.start_session(caller, user, &how, Changeset::new()).await;
        }
        user.version += i64::from(user.role != old.role || user.environments != old.environments);
        user.revision += 1;
        user.updated_at = now;
        let name = user.username.clone();
        let entry = AuditEntry::done(
            &Actor::system("oidc"),
            "user.update",
            format!("user/{name}"),
            format!("took over what {} says about {name}", issuer.name),
        )
        .changing(Some(shown(&old)), Some(shown(&user)));
        let change = UserWrite::Change { user: Box::new(user.clone()), password: None };
        self.start_session(caller, user, &how, Changeset::new().write(change).audit(entry))
            .await
            .map_err(|error| last_admin(error, &name))
    }

    async fn first_login(
        &self,
        caller: &Actor,
        issuer: &IssuerSettings,
        vouched: &Vouched,
        standing: Standing,
        how: &str,
    ) -> Result<LoggedIn, Error> {
        let now = self.now();
        let id = UserId(Uuid::now_v7());
        let blank = User {
            id,
            username: Username::foreign(issuer.name.as_str(), &vouched.called),
            full_name: None,
            email: None,
            role: standing.role,
            environments: Vec::new(),
            origin: Origin::Oidc { issuer: issuer.name.to_string(), subject: vouched.subject.clone() },
            state: UserState::Enabled,
            must_change_password: false,
            version: 1,
            revision: 1,
            created_at: now,
            updated_at: now,
            last_login_at: None,
        };
        let mut user = told_by(blank, vouched, &standing);
        if self.store().user_by_name(&user.username).await?.is_some() {
            // Somebody else had this name at the issuer before.
            let by = Uuid::new_v4().simple().to_string();
            user.username = user.username.told_apart(by.get(..8).unwrap_or(&by));
        }
        let entry = AuditEntry::done(
            &Actor::system("oidc"),
            "user.create",
            format!("user/{}", user.username),
            format!("made {} at the first login through {}", user.username, issuer.name),
        )
        .changing(None, Some(shown(&user)));
        let create = UserWrite::Create { user: Box::new(user.clone()), password: None };
        self.start_session(caller, user, how, Changeset::new().write(create).audit(entry)).await.map_err(
            |error| match store_error(&error) {
                Some(StoreError::Taken { constraint }) if constraint == SUBJECT || constraint == USERNAME => {
                    Error::new(Code::Conflict, "you logged in twice at once for the first time; try again")
                }
                _ => error,
            },
        )
    }

    /// Whether people reach this server over TLS: cookies are for it alone then.
    pub fn is_public_over_tls(&self) -> bool {
        self.settings.public_url.starts_with("https://")
    }

    /// Where the browser comes back to: exactly this, for the issuer compares it.
    fn redirect_uri(&self, issuer: &IssuerSettings) -> String {
        let base = self.settings.public_url.trim_end_matches('/');
        format!("{base}/api/v1/authentication/oidc/{}/callback", issuer.name)
    }

    fn issuer(&self, name: &str) -> Result<&IssuerSettings, Error> {
        let mut issuers = self.parts.identity.issuers().iter();
        let found = issuers.find(|issuer| issuer.name.as_str() == name);
        found.ok_or_else(|| Error::not_found(Code::NotFound, "issuer", name))
    }

    fn seal_flow(&self, kind: &str, issuer: &IssuerSettings, flow: &impl Serialize) -> Result<String, Error> {
        let failed = || Error::new(Code::InternalError, "the login cannot be sealed");
        let plain = serde_json::to_vec(flow).map_err(|error| failed().caused_by(error))?;
        let context = format!("{kind}/{}", issuer.name);
        let sealed = self.parts.keyring.seal(&context, &plain).map_err(|error| failed().caused_by(error))?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    fn open_flow<T: DeserializeOwned>(
        &self,
        kind: &str,
        issuer: &IssuerSettings,
        text: &str,
    ) -> Result<T, Error> {
        let strange = || Error::from(refused(issuer, "this login was not begun here; start again"));
        let sealed = URL_SAFE_NO_PAD.decode(text).map_err(|_| strange())?;
        let context = format!("{kind}/{}", issuer.name);
        let plain = self.parts.keyring.open(&context, &sealed).map_err(|_| strange())?;
        serde_json::from_slice(&plain).map_err(|_| strange())
    }

    /// Writes a refusal down before it goes out.
    async fn or_audited<T>(
        &self,
        caller: &Actor,
        issuer: &IssuerSettings,
        outcome: Result<T, Error>,
    ) -> Result<T, Error> {
        if let Err(error) = &outcome
            && matches!(error.code, Code::Unauthorized | Code::Forbidden)
        {
            let entry = AuditEntry::new(
                caller,
                "user.login",
                format!("issuer/{}", issuer.name),
                AuditResult::Failure,
                error.message.clone(),
            );
            self.store().commit(Changeset::new().audit(entry)).await?;
        }
        outcome
    }
}

/// A user with what the issuer says about them. What we cannot use of it is left out.
fn told_by(user: User, vouched: &Vouched, standing: &Standing) -> User {
    User {
        full_name: vouched.full_name.as_deref().and_then(|name| check_full_name(name).ok()),
        email: vouched.email.as_deref().and_then(|email| email.parse().ok()),
        role: standing.role,
        environments: standing.environments.clone(),
        ..user
    }
}

fn refused(issuer: &IssuerSettings, reason: &str) -> IssuerError {
    IssuerError::Refused { issuer: issuer.name.to_string(), reason: reason.to_owned() }
}

fn store_error(error: &Error) -> Option<&StoreError> {
    error.source.as_deref().and_then(|source| source.downcast_ref())
}

fn last_admin(error: Error, name: &Username) -> Error {
    match error.source.map(<dyn std::error::Error + Send + Sync>::downcast::<StoreError>) {
        Some(Ok(cause)) => refused_change(*cause, name),
        Some(Err(source)) => Error { source: Some(source), ..Error::new(error.code, error.message) },
        None => Error::new(error.code, error.message),
    }
}

/// Whether a path stays on this server: `//host` and `/\host` do not.
fn is_own_page(path: &str) -> bool {
    path.len() <= 512
        && path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_on_to_our_own_pages_only() {
        for own in ["/", "/clusters", "/deployments/7?tab=why#x"] {
            assert!(is_own_page(own), "{own}");
        }
        for other in
            ["", "clusters", "//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nb", "/a b"]
        {
            assert!(!is_own_page(other), "{other}");
        }
    }
}
