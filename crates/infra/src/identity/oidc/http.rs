//! Asking an issuer.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use slipway_orchestrator::ports::identity::Password;
use url::Url;
use zeroize::Zeroizing;

const TIMEOUT: Duration = Duration::from_secs(10);
const LARGEST: usize = 1024 * 1024;

pub(super) struct Http {
    client: reqwest::Client,
}

/// How we prove who we are.
pub(super) struct Credentials<'a> {
    pub(super) client_id: &'a str,
    pub(super) secret: &'a Password,
    pub(super) in_body: bool,
}

/// What a token endpoint says.
pub(super) enum TokenAnswer {
    Tokens {
        id_token: String,
        access_token: Option<String>,
    },
    /// The error's code.
    Refused(String),
}

/// Whether an address is on this machine.
pub(super) fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether we may ask there: over TLS, or on this machine.
pub(super) fn allowed(url: &Url) -> Result<(), String> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its address must not hold a password".to_owned());
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_here(url) => Ok(()),
        _ => Err(format!("{url} is not an address with https")),
    }
}

impl Http {
    /// For an issuer, behind the machine's proxy if there is one and the issuer is elsewhere.
    pub(super) fn new(issuer: &Url, ca: Option<&str>) -> Result<Self, String> {
        let mut builder = reqwest::Client::builder()
            .timeout(TIMEOUT)
            .connect_timeout(TIMEOUT / 2)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if is_here(issuer) {
            builder = builder.no_proxy();
        }
        if let Some(ca) = ca {
            let found = reqwest::Certificate::from_pem_bundle(ca.as_bytes())
                .map_err(|error| format!("its certificate authorities cannot be read: {error}"))?;
            builder = builder.tls_certs_merge(found);
        }
        builder
            .build()
            .map(|client| Self { client })
            .map_err(|error| format!("no connections can be made: {error}"))
    }

    pub(super) async fn get_json<T: DeserializeOwned>(
        &self,
        url: &Url,
        bearer: Option<&str>,
    ) -> Result<T, String> {
        let mut request = self.client.get(url.clone()).header("accept", "application/json");
        if let Some(bearer) = bearer {
            request = request.bearer_auth(bearer);
        }
        let (status, body) = read(request).await?;
        json(status, &body)
    }

    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: &[(&str, &str)],
        credentials: Option<Credentials<'_>>,
    ) -> Result<(u16, Vec<u8>), String> {
        let mut request = self.client.post(url.clone()).header("accept", "application/json");
        let mut form = form.to_vec();
        match &credentials {
            Some(Credentials { secret, in_body: true, .. }) => form.push(("client_secret", secret.expose())),
            Some(Credentials { client_id, secret, in_body: false }) => {
                // Each part is encoded first: a colon in either must not shift the border.
                let encode =
                    |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = Zeroizing::new(format!("{}:{}", encode(client_id), encode(secret.expose())));
                request =
                    request.header("authorization", format!("Basic {}", STANDARD.encode(pair.as_bytes())));
            }
            None => {}
        }
        read(request.form(&form)).await
    }
}

async fn read(request: reqwest::RequestBuilder) -> Result<(u16, Vec<u8>), String> {
    let failed = |error: reqwest::Error| {
        if error.is_timeout() {
            "it does not answer in time".to_owned()
        } else {
            "it cannot be reached".to_owned()
        }
    };
    let mut reply = request.send().await.map_err(|error| {
        tracing::warn!(error = &error.without_url() as &dyn std::error::Error, "an issuer cannot be reached");
        "it cannot be reached".to_owned()
    })?;
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > LARGEST {
            return Err("its answer is too long".to_owned());
        }
        body.extend_from_slice(&chunk);
    }
    Ok((reply.status().as_u16(), body))
}

pub(super) fn json<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, String> {
    if status != 200 {
        return Err(format!("it answers {status}"));
    }
    serde_json::from_slice(body).map_err(|_| "its answer cannot be read".to_owned())
}

pub(super) fn token_answer(status: u16, body: &[u8]) -> Result<TokenAnswer, String> {
    #[derive(Deserialize)]
    struct Good {
        id_token: Option<String>,
        access_token: Option<String>,
    }
    #[derive(Deserialize)]
    struct Bad {
        error: String,
    }
    if status == 200 {
        let good: Good = json(status, body)?;
        let id_token = good.id_token.ok_or("it gives no ID token")?;
        return Ok(TokenAnswer::Tokens { id_token, access_token: good.access_token });
    }
    if (400..500).contains(&status)
        && let Ok(Bad { error }) = serde_json::from_slice(body)
    {
        let error: String =
            error.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(64).collect();
        // That we are not who we say is for the admin to mend, not for whoever logs in.
        return if error == "invalid_client" || error == "unauthorized_client" {
            Err(format!("it does not accept this server as a client ({error})"))
        } else {
            Ok(TokenAnswer::Refused(error))
        };
    }
    Err(format!("it answers {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuers_are_asked_over_tls_or_on_this_machine() {
        let may = |text: &str| allowed(&text.parse().unwrap()).is_ok();
        for good in ["https://id.example", "http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:1"] {
            assert!(may(good), "{good}");
        }
        for bad in [
            "http://id.example",
            "ftp://localhost",
            "https://a:b@id.example",
            "http://localhost.evil.example",
        ] {
            assert!(!may(bad), "{bad}");
        }
    }
}
