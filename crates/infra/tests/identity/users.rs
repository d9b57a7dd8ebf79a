//! People.

use std::time::Duration;

use futures::future::join_all;
use slipway_domain::access::{Environment, Role};
use slipway_domain::audit::AuditResult;
use slipway_domain::user::UserState;
use slipway_orchestrator::Code;
use slipway_orchestrator::identity::UserChange;
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::store::{UserFilter, UserRows as _};

use crate::scene::{ADMIN_PASSWORD, PASSWORD, Scene, new_user};

fn change(role: Role, environments: &[Environment]) -> UserChange {
    UserChange { full_name: None, email: None, role, environments: environments.to_vec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn disabling_somebody_works_at_once_here_and_within_seconds_elsewhere() {
    let scene = Scene::new().await;
    let two = scene.another("two").await;
    scene.user("ada", Role::Operator, &[]).await;
    let admin = scene.admin().await;
    let ada = scene.login("ada", PASSWORD).await.unwrap();
    scene.one.accepts(&ada.token).await;
    two.accepts(&ada.token).await;

    scene.one.manager.disable_user(&admin, "ada").await.unwrap();
    assert!(scene.one.refuses(&ada.token).await.contains("disabled"));
    scene.clock.pass(Duration::from_secs(3));
    assert!(two.refuses(&ada.token).await.contains("disabled"));
    let denied = scene.audit("authentication.refuse").await;
    assert!(denied.iter().all(|entry| entry.result == AuditResult::Denied && entry.actor == "ada"));
    assert_eq!(denied.len(), 2, "written down once by each server");
    two.refuses(&ada.token).await;
    assert_eq!(scene.audit("authentication.refuse").await.len(), 2, "not for every try");

    scene.one.manager.enable_user(&admin, "ada").await.unwrap();
    scene.one.refuses(&ada.token).await;
    scene.login("ada", PASSWORD).await.expect("a new login counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_role_takes_effect_at_once() {
    let scene = Scene::new().await;
    scene.user("ada", Role::Viewer, &[]).await;
    let admin = scene.admin().await;
    let token = scene.login("ada", PASSWORD).await.unwrap().token;
    let ada = scene.one.accepts(&token).await;
    let error = scene.one.manager.get_user(&ada, "admin").await.unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    assert_eq!(scene.audit("user.get").await[0].result, AuditResult::Denied);

    let owner = change(Role::EnvironmentOwner, &[Environment::Production, Environment::Staging]);
    let changed = scene.one.manager.update_user(&admin, "ada", &owner, None).await.unwrap();
    assert!(scene.one.refuses(&token).await.contains("has changed"));
    let token = scene.login("ada", PASSWORD).await.unwrap().token;
    let ada = scene.one.accepts(&token).await;
    assert!(ada.decides_for(Environment::Production) && !ada.decides_for(Environment::Development));

    // A new address changes nothing about what they may do.
    let with_mail = UserChange { email: Some("ada@example.test".to_owned()), ..owner };
    scene.one.manager.update_user(&admin, "ada", &with_mail, Some(changed.revision)).await.unwrap();
    scene.one.accepts(&token).await;
    let stale = scene.one.manager.update_user(&admin, "ada", &with_mail, Some(changed.revision)).await;
    assert_eq!(stale.unwrap_err().code, Code::PreconditionFailed);
    let owners = scene.stored.store.users_with_role(Role::EnvironmentOwner).await.unwrap();
    assert_eq!(owners[0].email.as_ref().unwrap().as_str(), "ada@example.test");
    let entry = scene.audit("user.update").await.swap_remove(0);
    assert_eq!(entry.before.unwrap()["email"], serde_json::Value::Null);
    assert_eq!(entry.after.unwrap()["email"], "ada@example.test");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_problems_of_a_new_user_are_told_at_once() {
    let scene = Scene::new().await;
    let admin = scene.admin().await;
    let mut new = new_user("no spaces", Role::EnvironmentOwner, &[]);
    new.rest.email = Some("nowhere".to_owned());
    let error = scene.one.manager.create_user(&admin, &new).await.unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
    let places: Vec<&str> = error.details.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(places, ["username", "email", "environments"]);
    let taken =
        scene.one.manager.create_user(&admin, &new_user("Admin", Role::Viewer, &[])).await.unwrap_err();
    assert_eq!(taken.code, Code::Conflict);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_user_is_out_for_good_and_the_name_with_them() {
    let scene = Scene::new().await;
    scene.user("ada", Role::Viewer, &[]).await;
    let admin = scene.admin().await;
    let manager = &scene.one.manager;
    manager.delete_user(&admin, "ada").await.unwrap();
    scene.login("ada", PASSWORD).await.unwrap_err();
    assert_eq!(manager.enable_user(&admin, "ada").await.unwrap_err().code, Code::NotFound);
    let again = manager.create_user(&admin, &new_user("ada", Role::Viewer, &[])).await.unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    let window = Window { limit: 10, offset: 0 };
    let shown = manager.list_users(&admin, &UserFilter::default(), window).await.unwrap();
    assert_eq!(shown.items.iter().map(|user| user.username.as_str()).collect::<Vec<_>>(), ["admin"]);
    let filter = UserFilter { state: Some(UserState::Deleted), ..UserFilter::default() };
    assert_eq!(manager.list_users(&admin, &filter, window).await.unwrap().total, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_manages_users_is_always_left() {
    let scene = Scene::new().await;
    let admin = scene.admin().await;
    let manager = &scene.one.manager;
    let expected = "admin is the last admin who can log in; make another one first";
    for refused in [
        manager.disable_user(&admin, "admin").await.unwrap_err(),
        manager.delete_user(&admin, "admin").await.unwrap_err(),
        manager.update_user(&admin, "admin", &change(Role::Viewer, &[]), None).await.unwrap_err(),
    ] {
        assert_eq!((refused.code, refused.to_string().as_str()), (Code::Conflict, expected));
    }
    scene.login("admin", ADMIN_PASSWORD).await.expect("nothing happened");

    // Two who remove each other at the same moment, from two servers, over and over.
    let two = scene.another("two").await;
    for turn in 0..3 {
        let (one, other) = (format!("one-{turn}"), format!("other-{turn}"));
        scene.user(&one, Role::Admin, &[]).await;
        scene.user(&other, Role::Admin, &[]).await;
        let before: Vec<String> =
            (0..turn).flat_map(|past| [format!("one-{past}"), format!("other-{past}")]).collect();
        for name in before.iter().map(String::as_str).chain(["admin"]) {
            // Whoever is left of the last turn goes first.
            let _ = manager.disable_user(&admin, name).await;
        }
        let done = join_all([
            Box::pin(manager.disable_user(&admin, &one)),
            Box::pin(two.manager.disable_user(&admin, &other)),
        ])
        .await;
        assert_eq!(done.iter().filter(|done| done.is_ok()).count(), 1, "{done:?}");
        manager.enable_user(&admin, "admin").await.unwrap();
    }
}
