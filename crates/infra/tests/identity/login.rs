//! Passwords, sessions and lock-outs.

use std::time::Duration;

use futures::future::join_all;
use slipway_domain::access::{Actor, Role};
use slipway_domain::audit::AuditResult;
use slipway_orchestrator::Code;
use slipway_orchestrator::ports::identity::Password;

use crate::scene::{ADMIN_PASSWORD, PASSWORD, Scene, caller, new_user};

const MINUTE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_a_token_for_an_hour_that_is_renewed_for_half_a_day() {
    let scene = Scene::new().await;
    let first = scene.login("Admin", ADMIN_PASSWORD).await.unwrap();
    let actor = scene.one.accepts(&first.token).await;
    assert_eq!((actor.name.as_str(), actor.role), ("admin", Some(Role::Admin)));
    let entry = &scene.audit("user.login").await[0];
    assert_eq!((entry.actor.as_str(), entry.result), ("admin", AuditResult::Success));
    assert_eq!(entry.source.as_deref(), Some("192.0.2.7"));

    scene.clock.pass(59 * MINUTE);
    let mut renewed = scene.one.manager.refresh_session(&first.token).await.unwrap();
    scene.clock.pass(MINUTE);
    assert!(scene.one.refuses(&first.token).await.contains("expired"));
    for _ in 0..10 {
        scene.one.accepts(&renewed.token).await;
        scene.clock.pass(58 * MINUTE);
        renewed = scene.one.manager.refresh_session(&renewed.token).await.unwrap();
    }
    scene.clock.pass(59 * MINUTE);
    let last = scene.one.manager.refresh_session(&renewed.token).await.unwrap();
    assert_eq!(last.expires_at.as_second(), first.session_ends_at.as_second(), "never beyond the session");
    scene.clock.pass(21 * MINUTE);
    scene.one.refuses(&last.token).await;
    assert_eq!(scene.one.manager.refresh_session(&last.token).await.unwrap_err().code, Code::Unauthorized);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_logs_out_is_out_with_all_tokens_of_that_session() {
    let scene = Scene::new().await;
    let here = scene.login("admin", ADMIN_PASSWORD).await.unwrap();
    let elsewhere = scene.login("admin", ADMIN_PASSWORD).await.unwrap();
    let renewed = scene.one.manager.refresh_session(&here.token).await.unwrap();
    let actor = scene.one.accepts(&here.token).await;
    scene.one.manager.logout(&actor, &here.token).await.unwrap();
    for token in [&here.token, &renewed.token] {
        assert!(scene.one.refuses(token).await.contains("session has ended"));
    }
    scene.one.accepts(&elsewhere.token).await;
    assert_eq!(scene.audit("user.logout").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_looks_alike_and_costs_the_same() {
    let scene = Scene::new().await;
    scene.user("ada", Role::Viewer, &[]).await;
    scene.user("bob", Role::Viewer, &[]).await;
    let admin = scene.admin().await;
    scene.one.manager.disable_user(&admin, "bob").await.unwrap();
    for _ in 0..5 {
        scene.login("admin", "not the password at all").await.unwrap_err();
    }
    let mut reasons = Vec::new();
    for (name, password) in [
        ("nobody", PASSWORD),
        ("not a name!", PASSWORD),
        ("ada", "not the password at all"),
        ("bob", PASSWORD),
        ("admin", ADMIN_PASSWORD),
    ] {
        let before = scene.one.identities.password_work();
        let error = scene.login(name, password).await.unwrap_err();
        assert_eq!(scene.one.identities.password_work(), before + 1, "{name}");
        assert_eq!(error.code, Code::Unauthorized);
        assert_eq!(error.to_string(), "the username or the password is wrong", "{name}");
        let entry = scene.audit("user.login").await.swap_remove(0);
        assert_eq!(entry.result, AuditResult::Failure);
        reasons.push(format!("{}: {}", entry.resource, entry.message));
    }
    assert_eq!(
        reasons[..4],
        [
            "user/unknown: there is no such user",
            "user/unknown: there is no such user",
            "user/ada: wrong password",
            "user/bob: the account is disabled",
        ]
    );
    assert!(reasons[4].starts_with("user/admin: locked until "), "{reasons:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_failures_lock_a_name_for_a_growing_time() {
    let scene = Scene::new().await;
    let fail = async || scene.login("admin", "not the password at all").await.unwrap_err();
    for _ in 0..4 {
        fail().await;
    }
    scene.login("admin", ADMIN_PASSWORD).await.expect("four are free");
    for _ in 0..5 {
        fail().await;
    }
    scene.login("admin", ADMIN_PASSWORD).await.expect_err("locked, whatever the password");
    // Another server knows it, too.
    let two = scene.another("two").await;
    two.login("admin", ADMIN_PASSWORD).await.expect_err("locked everywhere");
    scene.clock.pass(MINUTE);
    fail().await;
    scene.clock.pass(MINUTE);
    scene.login("admin", ADMIN_PASSWORD).await.expect_err("the second lock lasts two minutes");
    scene.clock.pass(MINUTE);
    scene.login("admin", ADMIN_PASSWORD).await.expect("the lock has ended");
    for _ in 0..4 {
        fail().await;
    }
    scene.login("admin", ADMIN_PASSWORD).await.expect("a login that worked forgets the failures");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_guesses_at_once_are_no_more_than_five() {
    let scene = Scene::new().await;
    let two = scene.another("two").await;
    let guess = async |turn: usize| {
        let server = if turn.is_multiple_of(2) { &scene.one } else { &two };
        server.login("admin", &format!("guess number {turn} of many")).await.unwrap_err()
    };
    join_all((0..16).map(guess)).await;
    let heard = scene.audit("user.login").await.into_iter().filter(|entry| entry.message == "wrong password");
    assert_eq!(heard.count(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_that_tries_many_names_is_not_heard_any_more() {
    let scene = Scene::new().await;
    for turn in 0..50 {
        scene.login(&format!("name-{}", turn / 4), PASSWORD).await.unwrap_err();
    }
    scene.login("admin", ADMIN_PASSWORD).await.expect_err("the address is locked");
    assert!(scene.audit("user.login").await[0].message.contains("address"));
    let elsewhere = Actor { source: Some("192.0.2.8".to_owned()), ..Actor::anonymous() };
    let password = Password::new(ADMIN_PASSWORD);
    scene.one.manager.login(&elsewhere, "admin", &password, None).await.expect("from elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_from_somebody_else_counts_once() {
    let scene = Scene::new().await;
    let admin = scene.admin().await;
    let manager = &scene.one.manager;
    let (user, once) = manager.create_user(&admin, &new_user("ada", Role::Operator, &[])).await.unwrap();
    assert!(user.must_change_password);

    let error = manager.login(&caller(), "ada", &once, None).await.unwrap_err();
    assert_eq!(error.code, Code::PasswordChangeRequired);
    for (new, problem) in [
        (once.expose(), "newPassword has to differ from the old one"),
        ("too short", "newPassword has to have at least 12 characters"),
        ("this is ada's password", "newPassword must not contain the username"),
    ] {
        let error = manager.login(&caller(), "ada", &once, Some(&Password::new(new))).await.unwrap_err();
        assert_eq!((error.code, error.to_string().as_str()), (Code::ValidationError, problem));
    }
    let new = Password::new(PASSWORD);
    let logged_in = manager.login(&caller(), "ada", &once, Some(&new)).await.unwrap();
    scene.one.accepts(&logged_in.token).await;
    let entries = scene.audit("user.changePassword").await;
    assert_eq!((entries.len(), entries[0].actor.as_str()), (1, "ada"), "an entry of its own");
    assert_eq!(manager.login(&caller(), "ada", &once, None).await.unwrap_err().code, Code::Unauthorized);
    scene.login("ada", PASSWORD).await.unwrap();

    // A reset ends what was there, and lasts a week.
    let (_, reset) = manager.reset_password(&admin, "ada").await.unwrap();
    scene.one.refuses(&logged_in.token).await;
    scene.login("ada", PASSWORD).await.unwrap_err();
    scene.clock.pass(Duration::from_hours(8 * 24));
    let error = manager.login(&caller(), "ada", &reset, Some(&new)).await.unwrap_err();
    assert_eq!(error.code, Code::Unauthorized);
    assert!(scene.audit("user.login").await[0].message.starts_with("the one-time password ended"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_changes_the_password_is_the_only_one_left() {
    let scene = Scene::new().await;
    scene.user("ada", Role::Viewer, &[]).await;
    let other = scene.login("ada", PASSWORD).await.unwrap();
    let mine = scene.login("ada", PASSWORD).await.unwrap();
    let ada = scene.one.accepts(&mine.token).await;
    let manager = &scene.one.manager;
    let new = Password::new("a third long sentence");

    let wrong = manager.change_password(&ada, &Password::new("wrong"), &new).await.unwrap_err();
    assert_eq!(wrong.to_string(), "currentPassword is wrong");
    let fresh = manager.change_password(&ada, &Password::new(PASSWORD), &new).await.unwrap();
    scene.one.refuses(&other.token).await;
    scene.one.refuses(&mine.token).await;
    scene.one.accepts(&fresh.token).await;
    scene.login("ada", PASSWORD).await.unwrap_err();
    scene.login("ada", new.expose()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn several_servers_that_start_at_once_make_one_admin() {
    let scene = Scene::empty(Vec::new(), "http://localhost:5000").await;
    let servers = [scene.another("two").await, scene.another("three").await, scene.another("four").await];
    let made = join_all(servers.iter().map(|server| server.manager.ensure_admin(None))).await;
    let passwords: Vec<Password> = made.into_iter().filter_map(|made| made.unwrap()).collect();
    assert_eq!(passwords.len(), 1, "one prints a password");
    let new = Password::new(PASSWORD);
    scene.one.manager.login(&caller(), "admin", &passwords[0], Some(&new)).await.unwrap();
    assert!(scene.one.manager.ensure_admin(None).await.unwrap().is_none(), "and never again");
    assert_eq!(scene.audit("user.create").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_for_the_first_admin_keeps_the_rules() {
    let scene = Scene::empty(Vec::new(), "http://localhost:5000").await;
    let error = scene.one.manager.ensure_admin(Some(&Password::new("short"))).await.unwrap_err();
    assert_eq!(error.to_string(), "the admin's password has to have at least 12 characters");
}
