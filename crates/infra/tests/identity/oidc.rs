//! Logging in through a real issuer.

use serde_json::{Value, json};
use slipway_domain::access::{Environment, Role};
use slipway_domain::user::{GroupMapping, Origin};
use slipway_orchestrator::identity::{BrowserReturn, DeviceAnswer, LoggedIn};
use slipway_orchestrator::ports::identity::{IssuerSettings, Password};
use slipway_orchestrator::{Code, Error};
use slipway_testkit::oidc::{Issuer, IssuerOptions, Visitor};

use crate::scene::{Scene, caller, new_user};

const PUBLIC: &str = "http://localhost:5000";
const CALLBACK: &str = "http://localhost:5000/api/v1/authentication/oidc/corp/callback";

/// What a browser brings back: the cookie it got, and the address it was sent to.
struct Back {
    cookie: String,
    state: Option<String>,
    code: Option<String>,
    error: Option<String>,
    issuer: Option<String>,
}

impl Back {
    fn brought(&self) -> BrowserReturn<'_> {
        BrowserReturn {
            cookie: Some(&self.cookie),
            state: self.state.as_deref(),
            code: self.code.as_deref(),
            error: self.error.as_deref(),
            issuer: self.issuer.as_deref(),
        }
    }
}

struct Corp {
    issuer: Issuer,
    scene: Scene,
}

impl Corp {
    async fn new(options: &IssuerOptions) -> Self {
        slipway_testkit::init();
        let issuer = Issuer::start(options).await.unwrap();
        let mut settings = IssuerSettings::new("corp".parse().unwrap(), issuer.url(), Issuer::CLIENT_ID);
        settings.client_secret = Some(Password::new(Issuer::CLIENT_SECRET));
        settings.scopes.push("groups".to_owned());
        let mapping = |group: &str, role, environments: &[Environment]| GroupMapping {
            group: group.to_owned(),
            role,
            environments: environments.to_vec(),
        };
        settings.mappings = vec![
            mapping("owners", Role::EnvironmentOwner, &[Environment::Production]),
            mapping("ops", Role::Operator, &[]),
        ];
        let scene = Scene::with(vec![settings], PUBLIC).await;
        Self { issuer, scene }
    }

    async fn usual() -> Self {
        Self::new(&IssuerOptions::new(CALLBACK)).await
    }

    /// Somebody goes to the issuer and comes back.
    async fn browse(&self, account: Option<Value>) -> Back {
        self.issuer.seat(account).await.unwrap();
        let begun = self.scene.one.manager.oidc_start("corp", Some("/clusters")).await.unwrap();
        let back = Visitor::new().unwrap().leave(&begun.location).await.unwrap();
        assert!(back.as_str().starts_with(CALLBACK), "{back}");
        let part = |wanted: &str| {
            back.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
        };
        Back {
            cookie: begun.cookie,
            state: part("state"),
            code: part("code"),
            error: part("error"),
            issuer: part("iss"),
        }
    }

    async fn finish(&self, back: BrowserReturn<'_>) -> Result<LoggedIn, Error> {
        let (logged_in, return_to) = self.scene.one.manager.oidc_finish(&caller(), "corp", back).await?;
        assert_eq!(return_to, "/clusters");
        Ok(logged_in)
    }

    async fn login(&self, account: Value) -> Result<LoggedIn, Error> {
        let back = self.browse(Some(account)).await;
        self.finish(back.brought()).await
    }
}

fn ada(groups: &[&str]) -> Value {
    json!({
        "sub": "u-1",
        "preferred_username": "Ada",
        "name": "Ada Lovelace",
        "email": "ada@example.test",
        "email_verified": true,
        "groups": groups,
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_an_issuer_vouches_for_is_let_in_with_the_role_of_their_groups() {
    let corp = Corp::usual().await;
    let first = corp.login(ada(&["ops", "others"])).await.unwrap();
    let user = &first.user;
    assert_eq!((user.username.as_str(), user.role), ("corp:ada", Role::Operator));
    assert_eq!(user.full_name.as_deref(), Some("Ada Lovelace"));
    assert_eq!(user.email.as_ref().unwrap().as_str(), "ada@example.test");
    assert_eq!(user.origin, Origin::Oidc { issuer: "corp".to_owned(), subject: "u-1".to_owned() });
    corp.scene.one.accepts(&first.token).await;

    // Another group there is another role here from the next login on; older tokens end.
    let second = corp.login(ada(&["owners", "ops"])).await.unwrap();
    assert_eq!(second.user.id, user.id, "the same person");
    let actor = corp.scene.one.accepts(&second.token).await;
    assert!(actor.decides_for(Environment::Production));
    corp.scene.one.refuses(&first.token).await;

    let error = corp.login(ada(&["others"])).await.unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    assert!(error.to_string().starts_with("none of your groups at corp has a role here"), "{error}");
    assert!(corp.scene.audit("user.login").await[0].message.starts_with("none of your groups"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_address_or_name_makes_nobody_the_same_person() {
    let corp = Corp::usual().await;
    let admin = corp.scene.admin().await;
    let mut local = new_user("ada", Role::Admin, &[]);
    local.rest.email = Some("ada@example.test".to_owned());
    let (local, _) = corp.scene.one.manager.create_user(&admin, &local).await.unwrap();
    let first = corp.login(ada(&["ops"])).await.unwrap();
    assert_ne!(first.user.id, local.id);
    assert_eq!(first.user.role, Role::Operator);

    // Somebody else who is called the same there gets a name of their own.
    let mut namesake = ada(&["ops"]);
    namesake["sub"] = json!("u-2");
    namesake["email_verified"] = json!(false);
    let second = corp.login(namesake).await.unwrap();
    assert_ne!(second.user.id, first.user.id);
    assert!(second.user.username.as_str().starts_with("corp:ada-"), "{}", second.user.username);
    assert_eq!(second.user.email, None, "an address that was not proven is not used");

    // Nobody with a password of another issuer, and no role but that of the groups.
    let manager = &corp.scene.one.manager;
    let error = manager.reset_password(&admin, "corp:ada").await.unwrap_err();
    assert_eq!(error.code, Code::Conflict);
    manager.disable_user(&admin, "corp:ada").await.unwrap();
    let error = corp.login(ada(&["ops"])).await.unwrap_err();
    assert_eq!((error.code, error.to_string().contains("disabled")), (Code::Forbidden, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_did_not_begin_the_login_cannot_end_it() {
    let corp = Corp::usual().await;
    let mine = corp.browse(Some(ada(&["ops"]))).await;
    let other = corp.browse(Some(ada(&["ops"]))).await;
    let refused = async |back: BrowserReturn<'_>, why: &str| {
        let error = corp.finish(back).await.unwrap_err();
        assert_eq!(error.code, Code::Unauthorized, "{why}: {error}");
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(BrowserReturn { cookie: None, ..mine.brought() }, "did not begin").await;
    refused(BrowserReturn { cookie: Some("made-up"), ..mine.brought() }, "not begun here").await;
    refused(BrowserReturn { cookie: Some(&other.cookie), ..mine.brought() }, "another login").await;
    refused(BrowserReturn { state: None, ..mine.brought() }, "another login").await;
    refused(BrowserReturn { code: Some("made-up"), ..mine.brought() }, "invalid_grant").await;
    refused(BrowserReturn { issuer: Some("https://evil.example"), ..mine.brought() }, "another issuer").await;
    // The code of another browser's login was made for another verifier.
    refused(BrowserReturn { code: other.code.as_deref(), ..mine.brought() }, "invalid_grant").await;

    corp.finish(mine.brought()).await.unwrap();
    refused(mine.brought(), "invalid_grant").await;

    let late = corp.browse(Some(ada(&["ops"]))).await;
    corp.scene.clock.pass(std::time::Duration::from_mins(11));
    refused(late.brought(), "too long").await;

    let declined = corp.browse(None).await;
    refused(declined.brought(), "access_denied").await;
    assert_eq!(corp.scene.audit("user.login").await[0].resource, "issuer/corp");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_can_end_what_one_began() {
    let corp = Corp::usual().await;
    let two = corp.scene.another("two").await;
    let back = corp.browse(Some(ada(&["ops"]))).await;
    let (logged_in, _) = two.manager.oidc_finish(&caller(), "corp", back.brought()).await.unwrap();
    corp.scene.one.accepts(&logged_in.token).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_signatures_and_groups_told_apart_are_understood() {
    let options = IssuerOptions { algorithm: "ES256", user_info: true, ..IssuerOptions::new(CALLBACK) };
    let corp = Corp::new(&options).await;
    let logged_in = corp.login(ada(&["owners"])).await.unwrap();
    assert_eq!(logged_in.user.environments, [Environment::Production]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_logs_in_on_another_device() {
    let corp = Corp::usual().await;
    let manager = &corp.scene.one.manager;
    let two = corp.scene.another("two").await;
    corp.issuer.seat(Some(ada(&["ops"]))).await.unwrap();
    let begun = manager.device_start("corp").await.unwrap();
    assert!(!begun.user_code.is_empty());

    let waiting = two.manager.device_poll(&caller(), "corp", &begun.handle).await.unwrap();
    assert!(matches!(waiting, DeviceAnswer::Pending | DeviceAnswer::SlowDown), "{waiting:?}");
    let page = begun.verification_uri_complete.as_ref().unwrap();
    Visitor::new().unwrap().confirm_device(page).await.unwrap();
    let done = two.manager.device_poll(&caller(), "corp", &begun.handle).await.unwrap();
    let DeviceAnswer::LoggedIn(logged_in) = done else { panic!("not logged in: {done:?}") };
    let actor = corp.scene.one.accepts(&logged_in.token).await;
    assert_eq!((actor.name.as_str(), actor.role), ("corp:ada", Some(Role::Operator)));

    let again = manager.device_poll(&caller(), "corp", &begun.handle).await.unwrap_err();
    assert_eq!(again.code, Code::Unauthorized, "a code counts once");
    let made_up = manager.device_poll(&caller(), "corp", "made-up").await.unwrap_err();
    assert_eq!(made_up.code, Code::Unauthorized);
    assert_eq!(manager.device_start("elsewhere").await.unwrap_err().code, Code::NotFound);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_does_not_answer_or_is_another_is_told_as_such() {
    slipway_testkit::init();
    let issuer = Issuer::start(&IssuerOptions::new(CALLBACK)).await.unwrap();
    let gone = format!("http://127.0.0.1:{}", slipway_testkit::free_port());
    let other = issuer.url().replace("127.0.0.1", "localhost");
    let settings = |name: &str, url: &str| IssuerSettings::new(name.parse().unwrap(), url, "slipway");
    let scene = Scene::with(vec![settings("gone", &gone), settings("other", &other)], PUBLIC).await;
    for name in ["gone", "other"] {
        let error = scene.one.manager.oidc_start(name, None).await.unwrap_err();
        assert_eq!(error.code, Code::Unavailable, "{error}");
    }
    assert_eq!(scene.one.manager.login_methods().len(), 2);
}
