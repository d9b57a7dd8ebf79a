//! Logging in, people and tokens over REST: the whole server but its other resources, on a real database.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

#[path = "../../infra/tests/support/mod.rs"]
mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_api::{App, Options, router};
use slipway_client::{Client, ClientError, RenewLogin, Token};
use slipway_contract::identity::{
    CreateTokenRequest, CreateUserRequest, LoginReply, LoginRequest, SecretText, TokensQuery,
    UpdateUserRequest, UserRole, UserState, UsersQuery,
};
use slipway_domain::access::{Actor, Permission};
use slipway_http::guard::Authenticator;
use slipway_infra::charts::{ChartRepositories, HelmPrograms};
use slipway_infra::clock::SystemClock;
use slipway_infra::identity::Identities;
use slipway_infra::keyring::{AesKeyring, KeySource};
use slipway_infra::kubernetes::{AddressRules, Connections, KubernetesClusters};
use slipway_infra::notifier::Notifiers;
use slipway_infra::releases::HelmReleases;
use slipway_orchestrator::ports::Keyring;
use slipway_orchestrator::ports::identity::Password;
use slipway_orchestrator::{Error, Manager, Parts, Settings};

const ADMIN: &str = "a sentence for tests";
const PASSWORD: &str = "another long sentence";

/// Asks the use cases, as the server does.
struct Callers(Manager);

#[async_trait]
impl Authenticator for Callers {
    async fn authenticate(&self, bearer: &str) -> Result<Actor, Error> {
        self.0.authenticate(bearer).await
    }

    async fn admit(&self, actor: &Actor, permission: Permission, endpoint: &str) -> Result<(), Error> {
        self.0.admit(actor, permission, endpoint).await
    }
}

struct Served {
    address: String,
    _stored: support::Stored,
}

impl Served {
    async fn start() -> Self {
        let stored = support::database().await;
        let store = Arc::new(stored.store.clone());
        let key = zeroize::Zeroizing::new("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=".to_owned());
        let keyring: Arc<dyn Keyring> = Arc::new(AesKeyring::load(&KeySource::Text(key)).unwrap());
        let connections = Arc::new(Connections::new(store.clone(), Arc::clone(&keyring)));
        let guardian = slipway_testkit::guardian::guardian().unwrap().to_owned();
        let parts = Parts {
            store: store.clone(),
            clusters: Arc::new(KubernetesClusters::new(Arc::clone(&connections), AddressRules::default())),
            charts: Arc::new(ChartRepositories::new(HelmPrograms { guardian, helm: None })),
            releases: Arc::new(HelmReleases::new(connections)),
            probes: Arc::new(slipway_orchestrator::ports::probes::Blind),
            fleet: Arc::new(slipway_orchestrator::ports::fleet::NoFleet),
            keyring,
            notifier: Arc::new(Notifiers::default()),
            identity: Arc::new(Identities::new(Vec::new()).unwrap()),
            clock: Arc::new(SystemClock),
        };
        let manager = Manager::new(parts, Settings::default());
        manager.ensure_admin(Some(&Password::new(ADMIN))).await.unwrap();
        let app = App::new(manager.clone(), Arc::new(Callers(manager)), store.clone(), store, Vec::new());
        let service = router(app, Options::default()).into_make_service_with_connect_info::<SocketAddr>();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, _stored: stored }
    }

    fn nobody(&self) -> Client {
        Client::builder(&self.address).build().unwrap()
    }

    async fn client(&self, name: &str, password: &str) -> Client {
        let client = self.nobody();
        let reply = client.login(&login(name, password, None)).await.unwrap();
        use_token(&client, &reply);
        client
    }
}

fn use_token(client: &Client, reply: &LoginReply) {
    client.set_token(Some(Token::new(reply.token.0.clone(), Some(reply.expires_at))));
}

fn login(name: &str, password: &str, new: Option<&str>) -> LoginRequest {
    LoginRequest {
        username: name.to_owned(),
        password: SecretText(password.to_owned()),
        new_password: new.map(|new| SecretText(new.to_owned())),
    }
}

fn new_user(name: &str, role: UserRole) -> CreateUserRequest {
    CreateUserRequest { username: name.to_owned(), full_name: None, email: None, role, environments: vec![] }
}

fn refused(error: ClientError) -> (u16, String) {
    match error {
        ClientError::Refused { status, body } => (status, body.code),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_lives_from_the_first_password_to_being_disabled_over_rest() {
    let served = Served::start().await;
    let admin = served.client("admin", ADMIN).await;
    let made = admin.create_user(&new_user("ada", UserRole::Operator)).await.unwrap();
    assert_eq!(made.user.state, UserState::Enabled);
    let once = made.one_time_password.0;

    let ada = served.nobody();
    let error = ada.login(&login("ada", &once, None)).await.unwrap_err();
    assert_eq!(refused(error), (403, "PASSWORD_CHANGE_REQUIRED".to_owned()));
    let reply = ada.login(&login("ada", &once, Some(PASSWORD))).await.unwrap();
    assert_eq!((reply.user.username.as_str(), reply.user.role), ("ada", UserRole::Operator));
    use_token(&ada, &reply);
    let me = ada.me().await.unwrap();
    assert!(
        me.permissions.contains(&"Deploy".to_owned()) && !me.permissions.contains(&"ManageUsers".to_owned())
    );
    assert_eq!(refused(ada.users(&UsersQuery::default()).await.unwrap_err()).0, 403);

    // A change that carries an old tag is refused.
    let read = admin.user("ada").await.unwrap();
    let viewer =
        UpdateUserRequest { full_name: None, email: None, role: UserRole::Viewer, environments: vec![] };
    admin.update_user("ada", &viewer, read.tag.as_deref()).await.unwrap();
    let stale = admin.update_user("ada", &viewer, read.tag.as_deref()).await.unwrap_err();
    assert_eq!(refused(stale).0, 412);
    assert_eq!(refused(ada.me().await.unwrap_err()), (401, "UNAUTHORIZED".to_owned()));

    let ada = served.client("ada", PASSWORD).await;
    admin.disable_user("ada").await.unwrap();
    assert_eq!(refused(ada.me().await.unwrap_err()).0, 401);
    let error = served.nobody().login(&login("ada", PASSWORD, None)).await.unwrap_err();
    assert_eq!(refused(error).0, 401);
    admin.enable_user("ada").await.unwrap();
    let reset = admin.reset_password("ada").await.unwrap();
    assert_ne!(reset.one_time_password.0, once);
    admin.delete_user("ada").await.unwrap();
    assert_eq!(refused(admin.user("ada").await.unwrap_err()).0, 404);
    assert_eq!(refused(admin.disable_user("admin").await.unwrap_err()), (409, "CONFLICT".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_works_with_its_token_until_it_is_revoked_over_rest() {
    let served = Served::start().await;
    let admin = served.client("admin", ADMIN).await;
    let request = CreateTokenRequest {
        name: "ci".to_owned(),
        role: UserRole::Viewer,
        environments: vec![],
        expires_at: None,
    };
    let made = admin.create_token(&request).await.unwrap();
    let machine = served.nobody().with_token(made.secret.0.clone());
    let me = machine.me().await.unwrap();
    assert_eq!((me.name.as_str(), me.kind.as_str(), me.role), ("admin/ci", "token", UserRole::Viewer));
    assert!(machine.roles().await.unwrap().permissions.len() > 5);
    assert_eq!(refused(machine.create_token(&request).await.unwrap_err()).0, 403);

    let listed = admin.tokens(&TokensQuery::default()).await.unwrap();
    assert!(!serde_json::to_string(&listed).unwrap().contains(&made.secret.0));
    admin.revoke_token(&made.token.token_id.to_string()).await.unwrap();
    assert_eq!(refused(machine.me().await.unwrap_err()).0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_renewed_silently_and_ends_when_one_logs_out() {
    let served = Served::start().await;
    let first = served.nobody().login(&login("admin", ADMIN, None)).await.unwrap();
    let (kept, news) = std::sync::mpsc::channel();
    let client = served.nobody().renewing(Arc::new(RenewLogin::new(move |token| {
        kept.send(token.secret().to_owned()).unwrap();
    })));
    // As if it ended soon.
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(5);
    client.set_token(Some(Token::new(first.token.0.clone(), Some(soon))));
    client.me().await.unwrap();
    let renewed = news.try_recv().unwrap();
    assert_ne!(renewed, first.token.0);
    client.logout().await.unwrap();
    for token in [first.token.0, renewed] {
        let error = served.nobody().with_token(token).me().await.unwrap_err();
        assert_eq!(refused(error).0, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_in_is_open_limited_and_exact_about_its_input() {
    let served = Served::start().await;
    let nobody = served.nobody();
    assert!(nobody.login_methods().await.unwrap().password);
    assert_eq!(refused(nobody.me().await.unwrap_err()).0, 401);
    assert_eq!(refused(nobody.start_device_login("corp").await.unwrap_err()).0, 404);
    let http = raw(&served.address);
    for (body, status) in [
        (r#"{"username":"","password":""}"#, 400),
        (r#"{"username":"admin","password":"x","role":"Admin"}"#, 400),
        (r#"{"username":"admin","password":"not the password"}"#, 401),
    ] {
        assert_eq!(http.post(body).await, status, "{body}");
    }
    let mut last = 0;
    for _ in 0..10 {
        last = http.post(r#"{"username":"nobody","password":"not the password"}"#).await;
    }
    assert_eq!(last, 429, "ten a minute from one address");
}

/// Posts to the login what the typed client would not.
struct Raw(String);

fn raw(address: &str) -> Raw {
    Raw(address.trim_start_matches("http://").to_owned())
}

impl Raw {
    async fn post(&self, body: &str) -> u16 {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let mut stream = tokio::net::TcpStream::connect(&self.0).await.unwrap();
        let request = format!(
            "POST /api/v1/authentication/login HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.0,
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply.split(' ').nth(1).unwrap().parse().unwrap()
    }
}
