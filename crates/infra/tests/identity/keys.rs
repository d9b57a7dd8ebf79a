//! The keys that sign tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use slipway_domain::access::Role;
use slipway_infra::identity::Identities;
use slipway_orchestrator::identity::NewToken;
use slipway_orchestrator::ports::identity::{Claims, Tokens as _};
use slipway_orchestrator::ports::store::{SigningKey, UserRows as _};

use crate::scene::{ADMIN_PASSWORD, Scene};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

impl Scene {
    async fn keys(&self) -> Vec<SigningKey> {
        self.stored.store.signing_keys().await.unwrap()
    }

    /// What both servers do again and again.
    async fn pass(&self, span: Duration) {
        self.clock.pass(span);
        self.one.manager.keep_identity().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_logs_nobody_out() {
    let scene = Scene::new().await;
    let two = scene.another("two").await;
    scene.login("admin", ADMIN_PASSWORD).await.unwrap();
    let first = scene.keys().await;
    assert_eq!(first.len(), 1);

    // An hour before the turn the next key is there, and is not used yet.
    scene.pass((30 * DAY).checked_sub(HOUR).unwrap()).await;
    let keys = scene.keys().await;
    assert_eq!(keys.len(), 2, "made before it is used");
    scene.pass(HOUR / 2).await;
    let old = two.login("admin", ADMIN_PASSWORD).await.unwrap();
    assert_eq!(scene.one.identities.key_of(&old.token).unwrap(), first[0].id);

    // At the turn it signs; what the old one signed counts on both servers.
    scene.pass(HOUR / 2 + Duration::from_mins(5)).await;
    let new = two.login("admin", ADMIN_PASSWORD).await.unwrap();
    assert_eq!(scene.one.identities.key_of(&new.token).unwrap(), keys[1].id);
    for server in [&scene.one, &two] {
        server.accepts(&old.token).await;
        server.accepts(&new.token).await;
    }
    let renewed = scene.one.manager.refresh_session(&old.token).await.unwrap();
    assert_eq!(scene.one.identities.key_of(&renewed.token).unwrap(), keys[1].id, "renewed with the new one");

    // Once all its tokens have ended the old one goes, and nobody notices.
    scene.pass(2 * HOUR).await;
    let left: Vec<i64> = scene.keys().await.iter().map(|key| key.number).collect();
    assert_eq!(left, [2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_stays_as_long_as_a_machine_has_a_token_of_it() {
    let scene = Scene::new().await;
    let admin = scene.admin().await;
    let token = |name: &str, days: u32| NewToken {
        name: name.to_owned(),
        role: Role::Viewer,
        environments: vec![],
        life: days * DAY,
    };
    let long = scene.one.manager.create_token(&admin, &token("long", 100)).await.unwrap();
    let gone = scene.one.manager.create_token(&admin, &token("gone", 300)).await.unwrap();
    scene.one.manager.revoke_token(&admin, &gone.token.id.to_string()).await.unwrap();
    scene.pass(30 * DAY).await;
    scene.pass(3 * HOUR).await;
    scene.pass(DAY).await;
    assert_eq!(scene.keys().await.len(), 2, "the old key is still needed");
    scene.one.accepts(&long.secret).await;
    scene.pass(70 * DAY).await;
    scene.one.refuses(&long.secret).await;
    scene.pass(3 * HOUR).await;
    assert!(scene.keys().await.iter().all(|key| key.number > 1), "and goes with the token");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_rotate_at_once_make_one_key() {
    let scene = Scene::new().await;
    let servers = [scene.another("two").await, scene.another("three").await, scene.another("four").await];
    let logins = join_all(servers.iter().map(|server| server.login("admin", ADMIN_PASSWORD))).await;
    assert_eq!(scene.keys().await.len(), 1);
    for login in logins {
        let login = login.unwrap();
        for server in &servers {
            server.accepts(&login.token).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn private_keys_are_not_in_the_database() {
    let scene = Scene::new().await;
    scene.login("admin", ADMIN_PASSWORD).await.unwrap();
    // Every PKCS#8 key of Ed25519 holds these bytes: the algorithm's name, and the beginning of the key.
    let algorithm = [0x06, 0x03, 0x2b, 0x65, 0x70];
    for key in scene.keys().await {
        assert!(!key.sealed.windows(algorithm.len()).any(|window| window == algorithm));
        assert!(!format!("{key:?}").contains("sealed: ["));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_others_made_or_changed_are_refused() {
    let scene = Scene::new().await;
    let good = scene.login("admin", ADMIN_PASSWORD).await.unwrap().token;
    let parts: Vec<&str> = good.split('.').collect();
    let claims: Claims = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let kid = scene.keys().await[0].id.clone();

    let stranger = Identities::new(vec![]).unwrap();
    let pair = stranger.new_key().unwrap();
    let none = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"none","kid":"{kid}"}}"#));
    let mut promoted = claims.clone();
    promoted.version += 1;
    let body = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&promoted).unwrap());
    let mut signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    signature[7] ^= 1;
    let signature = URL_SAFE_NO_PAD.encode(signature);
    for (bad, why) in [
        (stranger.sign(&kid, &pair.private, &claims).unwrap(), "another key under our key's name"),
        (stranger.sign("unknown", &pair.private, &claims).unwrap(), "a key that nobody knows"),
        (format!("{none}.{}.", parts[1]), "no signature"),
        (format!("{}.{body}.{}", parts[0], parts[2]), "another body"),
        (format!("{}.{}.{signature}", parts[0], parts[1]), "another signature"),
        (format!("{good}x"), "something behind it"),
        ("x".repeat(10_000), "something long"),
        (String::new(), "nothing"),
    ] {
        let message = scene.one.refuses(&bad).await;
        assert!(message.starts_with("the token is not valid"), "{why}: {message}");
    }
    scene.one.accepts(&good).await;
    scene.clock.pass(HOUR);
    assert!(scene.one.refuses(&good).await.starts_with("the token has expired"));
}
