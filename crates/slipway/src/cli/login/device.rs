//! Logging in through an issuer, on its page in a browser.

use std::time::Duration;

use anyhow::bail;
use jiff::Timestamp;
use slipway_client::{Client, ClientError};
use slipway_contract::identity::{DeviceStatus, DeviceTokenRequest, LoginReply};

/// How much longer to wait between questions when the issuer asks for it.
const SLOWER: Duration = Duration::from_secs(5);

pub(super) async fn login(client: &Client, issuer: &str) -> anyhow::Result<LoginReply> {
    let begun = match client.start_device_login(issuer).await {
        Err(error @ ClientError::Refused { status: 404, .. }) => return Err(with_choice(client, error).await),
        begun => begun?,
    };
    let page = begun.verification_uri_complete.as_ref().unwrap_or(&begun.verification_uri);
    eprintln!("Open {page}\nand confirm the code {}", begun.user_code);
    let mut pause = Duration::from_secs(begun.interval_seconds.clamp(1, 60));
    let request = DeviceTokenRequest { handle: begun.handle };
    while Timestamp::now() < begun.expires_at {
        tokio::time::sleep(pause).await;
        let reply = client.poll_device_login(issuer, &request).await?;
        match (reply.status, reply.login) {
            (DeviceStatus::LoggedIn, Some(login)) => return Ok(login),
            (DeviceStatus::SlowDown, _) => pause += SLOWER,
            _ => {}
        }
    }
    bail!("nobody confirmed the code in time; try again: slipway login --oidc {issuer}")
}

/// Which issuers there are, where the one that was named is none of them.
async fn with_choice(client: &Client, error: ClientError) -> anyhow::Error {
    let Ok(methods) = client.login_methods().await else { return error.into() };
    let names: Vec<_> = methods.issuers.into_iter().map(|issuer| issuer.name).collect();
    if names.is_empty() {
        return anyhow::anyhow!("this server knows no issuers; log in with a password: slipway login");
    }
    anyhow::anyhow!("{error}; there are {}", names.join(", "))
}
