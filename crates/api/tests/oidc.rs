//! Logging in through a real issuer over REST: in a browser, and on another device for the command line.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../infra/tests/support/mod.rs"]
mod support;
#[path = "authorization/world.rs"]
mod world;

use std::time::Duration;

use http::StatusCode;
use serde_json::{Value, json};
use slipway_client::Client;
use slipway_contract::identity::{DeviceStatus, DeviceTokenRequest, UserRole};
use slipway_domain::access::Role;
use slipway_domain::user::GroupMapping;
use slipway_orchestrator::ports::identity::{IssuerSettings, Password};
use slipway_testkit::oidc::{Issuer, IssuerOptions, Visitor};
use world::{Reply, World};

const PUBLIC: &str = "http://localhost:5000";
const CALLBACK: &str = "http://localhost:5000/api/v1/authentication/oidc/corp/callback";
const ME: &str = "/api/v1/authentication/me";

async fn corp() -> (Issuer, World) {
    slipway_testkit::init();
    let issuer = Issuer::start(&IssuerOptions::new(CALLBACK)).await.unwrap();
    let mut settings = IssuerSettings::new("corp".parse().unwrap(), issuer.url(), Issuer::CLIENT_ID);
    settings.client_secret = Some(Password::new(Issuer::CLIENT_SECRET));
    settings.scopes.push("groups".to_owned());
    settings.mappings =
        vec![GroupMapping { group: "ops".to_owned(), role: Role::Operator, environments: Vec::new() }];
    issuer.seat(Some(ada(&["ops"]))).await.unwrap();
    let world = World::with_issuer(settings, PUBLIC).await;
    (issuer, world)
}

fn ada(groups: &[&str]) -> Value {
    json!({"sub": "u-1", "preferred_username": "ada", "groups": groups})
}

/// The name and value of a cookie that a reply sets, as a browser sends it back.
fn cookie(reply: &Reply, name: &str) -> String {
    let set = reply.cookies().into_iter().find(|cookie| cookie.starts_with(&format!("{name}=")));
    let set = set.unwrap_or_else(|| panic!("no {name} in {:?}", reply.cookies()));
    set.split(';').next().unwrap().to_owned()
}

/// Somebody goes to the issuer and comes back: what the server answers then.
async fn log_in(world: &World) -> Reply {
    let start = "/api/v1/authentication/oidc/corp/start?returnTo=/clusters";
    let start = world.browse("GET", start, &[]).await;
    assert_eq!(start.status, StatusCode::SEE_OTHER, "{}", start.text());
    let back = Visitor::new().unwrap().leave(start.header("location")).await.unwrap();
    let path = format!("{}?{}", back.path(), back.query().unwrap());
    world.browse("GET", &path, &[("cookie", &cookie(&start, "slipway-login"))]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_works_with_the_session_that_it_brought_from_an_issuer() {
    let (_issuer, world) = corp().await;
    let done = log_in(&world).await;
    assert_eq!(
        (done.status, done.header("location")),
        (StatusCode::SEE_OTHER, "/clusters"),
        "{}",
        done.text()
    );
    let session = cookie(&done, "slipway-session");
    assert_eq!(cookie(&done, "slipway-login"), "slipway-login=", "what was needed on the way is taken away");

    let me = world.browse("GET", ME, &[("cookie", &session)]).await;
    assert_eq!(me.status, StatusCode::OK, "{}", me.text());
    assert_eq!(
        (me.json()["name"].clone(), me.json()["role"].clone()),
        (json!("corp:ada"), json!("Operator"))
    );
    assert_eq!(world.browse("GET", ME, &[("cookie", "slipway-session=made-up")]).await.status, 401);

    // A page of somebody else makes the browser send the cookie, and changes nothing with it.
    let refresh = "/api/v1/authentication/refresh";
    for page in [("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")] {
        let refused = world.browse("POST", refresh, &[("cookie", &session), page]).await;
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (StatusCode::FORBIDDEN, "FORBIDDEN"),
            "{page:?}"
        );
    }
    let ours = ("sec-fetch-site", "same-origin");
    let renewed = world.browse("POST", refresh, &[("cookie", &session), ours]).await;
    assert_eq!(renewed.status, StatusCode::OK, "{}", renewed.text());
    assert_eq!(renewed.json()["token"], "", "scripts see no token");
    let session = cookie(&renewed, "slipway-session");
    assert_eq!(world.browse("GET", ME, &[("cookie", &session)]).await.status, StatusCode::OK);

    let out = world.browse("POST", "/api/v1/authentication/logout", &[("cookie", &session), ours]).await;
    assert_eq!(out.status, StatusCode::NO_CONTENT, "{}", out.text());
    assert_eq!(cookie(&out, "slipway-session"), "slipway-session=");
    assert_eq!(world.browse("GET", ME, &[("cookie", &session)]).await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_without_a_group_that_counts_is_sent_away_without_a_session() {
    let (issuer, world) = corp().await;
    issuer.seat(Some(ada(&["others"]))).await.unwrap();
    let refused = log_in(&world).await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text());
    assert!(refused.cookies().iter().all(|cookie| !cookie.contains("session")), "{:?}", refused.cookies());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_logs_in_on_another_device() {
    let (_issuer, world) = corp().await;
    let client = Client::builder(world.serve().await).build().unwrap();
    let methods = client.login_methods().await.unwrap();
    assert_eq!(methods.issuers[0].name, "corp");
    let begun = client.start_device_login("corp").await.unwrap();
    let asked = DeviceTokenRequest { handle: begun.handle };
    let first = client.poll_device_login("corp", &asked).await.unwrap();
    assert!(first.login.is_none() && first.status != DeviceStatus::LoggedIn, "{first:?}");
    Visitor::new().unwrap().confirm_device(&begun.verification_uri_complete.unwrap()).await.unwrap();
    let login = slipway_testkit::until("the login to be done", Duration::from_mins(1), async || {
        client.poll_device_login("corp", &asked).await.unwrap().login
    });
    let login = login.await.unwrap();
    assert_eq!((login.user.username.as_str(), login.user.role), ("corp:ada", UserRole::Operator));
    let me = client.clone().with_token(login.token.0).me().await.unwrap();
    assert_eq!(me.issuer.as_deref(), Some("corp"));
}
