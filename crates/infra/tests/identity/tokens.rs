//! Tokens of machines.

use std::time::Duration;

use slipway_domain::access::{ActorKind, Environment, Role};
use slipway_domain::user::TokenState;
use slipway_orchestrator::Code;
use slipway_orchestrator::identity::{NewToken, UserChange};
use slipway_orchestrator::page::Window;

use crate::scene::{PASSWORD, Scene};

const DAY: Duration = Duration::from_hours(24);
const WINDOW: Window = Window { limit: 10, offset: 0 };

fn token(name: &str, role: Role) -> NewToken {
    NewToken { name: name.to_owned(), role, environments: vec![], life: 30 * DAY }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_works_on_every_server_until_it_is_revoked() {
    let scene = Scene::new().await;
    let two = scene.another("two").await;
    scene.user("ada", Role::Operator, &[]).await;
    let ada = scene.one.accepts(&scene.login("ada", PASSWORD).await.unwrap().token).await;
    let made = scene.one.manager.create_token(&ada, &token("ci", Role::Viewer)).await.unwrap();
    assert!(!format!("{made:?}").contains(&made.secret));

    let machine = two.accepts(&made.secret).await;
    assert_eq!(machine.kind, ActorKind::Token { id: made.token.id });
    assert_eq!((machine.name.as_str(), machine.role), ("ada/ci", Some(Role::Viewer)));
    scene.clock.pass(2 * DAY);
    scene.one.accepts(&made.secret).await;
    let listed = scene.one.manager.list_tokens(&ada, false, WINDOW).await.unwrap().items;
    assert_eq!(listed.len(), 1);
    assert!(listed[0].last_used_at.is_some());

    // A machine makes no further tokens, renews none, and changes no password.
    let error = scene.one.manager.create_token(&machine, &token("more", Role::Viewer)).await.unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    assert_eq!(scene.one.manager.refresh_session(&made.secret).await.unwrap_err().code, Code::Conflict);

    scene.one.manager.revoke_token(&ada, &made.token.id.to_string()).await.unwrap();
    assert!(scene.one.refuses(&made.secret).await.contains("revoked"));
    scene.clock.pass(Duration::from_secs(3));
    assert!(two.refuses(&made.secret).await.contains("revoked"));
    assert_eq!(scene.audit("token.revoke").await.len(), 1);
    let again = scene.one.manager.create_token(&ada, &token("ci", Role::Viewer)).await.unwrap();
    let twice = scene.one.manager.create_token(&ada, &token("ci", Role::Viewer)).await.unwrap_err();
    assert_eq!(twice.code, Code::Conflict);
    scene.clock.pass(30 * DAY);
    assert!(scene.one.refuses(&again.secret).await.contains("expired"));
    let listed = scene.one.manager.list_tokens(&ada, false, WINDOW).await.unwrap().items;
    let states: Vec<_> = listed.iter().map(|token| token.state(again.token.expires_at)).collect();
    assert_eq!(states, [TokenState::Expired, TokenState::Revoked]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_makes_a_token_above_themselves_or_for_longer_than_a_year() {
    let scene = Scene::new().await;
    scene.user("ada", Role::EnvironmentOwner, &[Environment::Staging]).await;
    let ada = scene.one.accepts(&scene.login("ada", PASSWORD).await.unwrap().token).await;
    let manager = &scene.one.manager;
    for role in [Role::Admin, Role::Operator] {
        let error = manager.create_token(&ada, &token("ci", role)).await.unwrap_err();
        assert_eq!(error.code, Code::ValidationError, "{role}");
    }
    let production =
        NewToken { environments: vec![Environment::Production], ..token("ci", Role::EnvironmentOwner) };
    assert!(manager.create_token(&ada, &production).await.unwrap_err().to_string().contains("Production"));
    for life in [Duration::ZERO, 367 * DAY] {
        let error =
            manager.create_token(&ada, &NewToken { life, ..token("ci", Role::Viewer) }).await.unwrap_err();
        assert!(error.to_string().starts_with("expiresAt "), "{error}");
    }
    let staging = NewToken { environments: vec![Environment::Staging], ..production };
    manager.create_token(&ada, &staging).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_with_its_owner_and_never_has_more_than_they_have() {
    let scene = Scene::new().await;
    scene.user("ada", Role::Operator, &[]).await;
    scene.user("bob", Role::Viewer, &[]).await;
    let admin = scene.admin().await;
    let manager = &scene.one.manager;
    let ada = scene.one.accepts(&scene.login("ada", PASSWORD).await.unwrap().token).await;
    let strong = manager.create_token(&ada, &token("strong", Role::Operator)).await.unwrap();
    let weak = manager.create_token(&ada, &token("weak", Role::Viewer)).await.unwrap();

    let bob = scene.one.accepts(&scene.login("bob", PASSWORD).await.unwrap().token).await;
    let foreign = manager.revoke_token(&bob, &weak.token.id.to_string()).await.unwrap_err();
    assert_eq!(foreign.code, Code::NotFound, "whose tokens there are is nobody's business");
    assert_eq!(manager.list_tokens(&bob, true, WINDOW).await.unwrap_err().code, Code::Forbidden);
    assert_eq!(manager.list_tokens(&admin, true, WINDOW).await.unwrap().total, 2);

    let viewer = UserChange { full_name: None, email: None, role: Role::Viewer, environments: vec![] };
    manager.update_user(&admin, "ada", &viewer, None).await.unwrap();
    assert!(scene.one.refuses(&strong.secret).await.contains("lower role"));
    scene.one.accepts(&weak.secret).await;
    manager.disable_user(&admin, "ada").await.unwrap();
    assert!(scene.one.refuses(&weak.secret).await.contains("disabled"));
}
