//! Registering, changing, listing and forgetting operators.

use serde_json::{Value, json};
use slipway_domain::access::Role;
use slipway_domain::operator::{Asked, OperatorChange};
use slipway_orchestrator::Code;
use slipway_orchestrator::operators::{
    ChangeOperator, GivenAccess, GivenCredentials, NewOperator, ProfileOrigin, ResealWorker,
};
use slipway_orchestrator::page::Window;
use slipway_orchestrator::ports::charts::Credentials;
use slipway_orchestrator::ports::store::OperatorFilter;
use slipway_testkit::charts::ChartRepository;

use crate::server::{Server, admin, asked, greeter, person};
use crate::support::database;

fn reader(password: &str) -> Credentials {
    Credentials::Basic { username: "reader".to_owned(), password: password.to_owned() }
}

fn everything() -> Window {
    Window::new(Some(100), None).unwrap()
}

#[tokio::test]
async fn an_operator_is_registered_with_what_its_repository_says() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    for version in ["1.9.0", "1.10.0", "1.11.0-rc.1"] {
        repository.add(&greeter(version));
    }
    let operator = server
        .register(Asked { current_version: Some("1.9.0".to_owned()), ..asked(&repository.url()) })
        .await
        .unwrap();
    assert_eq!(operator.latest_version.as_ref().unwrap().as_str(), "1.10.0");
    assert!(operator.has_update());
    assert_eq!(operator.crd_names, ["greetings.example.com", "salutes.example.com"], "found in the chart");
    let shown = server.manager.operator(&person(Role::Viewer), "greeter").await.unwrap();
    assert_eq!(shown.operator.id, operator.id);
    assert_eq!(shown.operator.crd_names, operator.crd_names);
    assert_eq!(shown.operator.latest_version, operator.latest_version);
    assert!(shown.deployed.is_empty());
    assert_eq!(server.audit("operator.register").await, ["ada Success"]);
    assert!(server.news().await.contains(&"greeter registered".to_owned()));
    let offered = server.manager.operator_versions(&admin(), "greeter").await.unwrap();
    let order: Vec<String> =
        offered.versions.iter().map(|row| row.known.offered.version.to_string()).collect();
    assert_eq!(order, ["1.11.0-rc.1", "1.10.0", "1.9.0"]);
    let again = server.register(asked(&repository.url())).await.unwrap_err();
    assert_eq!(again.code, Code::Conflict);
    assert!(again.to_string().contains("there is an operator greeter already"), "{again}");
}

#[tokio::test]
async fn what_cannot_be_registered_is_refused_with_every_reason_and_nothing_is_stored() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let url = repository.url();
    let bad = Asked { name: "Greeter".to_owned(), current_version: Some("x".to_owned()), ..asked("nowhere") };
    let mut new = NewOperator { asked: bad, ..NewOperator::default() };
    new.access = GivenAccess { authority: Some("no PEM".to_owned()), ..GivenAccess::default() };
    let error = server.manager.register_operator(&admin(), new).await.unwrap_err();
    let paths: Vec<&str> = error.details.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(paths, ["name", "chartRepository", "currentVersion", "caCertificate"]);
    assert!(repository.requests().is_empty(), "nothing was asked");

    let port = slipway_testkit::free_port();
    let error = server.register(asked(&format!("http://127.0.0.1:{port}"))).await.unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
    assert!(error.to_string().contains(&format!("127.0.0.1:{port} cannot be read")), "{error}");
    assert_eq!(error.details.iter().next().unwrap().path, "chartRepository");

    let error = server.register(Asked { chart_name: "greater".to_owned(), ..asked(&url) }).await.unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
    assert!(error.to_string().ends_with("has no chart greater; it has greeter"), "{error}");

    let missing = Asked { current_version: Some("1.0.1".to_owned()), ..asked(&url) };
    let error = server.register(missing).await.unwrap_err();
    assert_eq!(error.to_string(), "greeter has no version 1.0.1; the newest are 1.0.0");

    let mut new = NewOperator { asked: asked("http://charts.example.com"), ..NewOperator::default() };
    new.access.credentials = reader("hunter2");
    let error = server.manager.register_operator(&admin(), new).await.unwrap_err();
    assert_eq!(error.to_string(), "credentials would be sent in the clear; use an https:// address");

    let viewer = person(Role::Viewer);
    let new = NewOperator { asked: asked(&url), ..NewOperator::default() };
    let error = server.manager.register_operator(&viewer, new).await.unwrap_err();
    assert_eq!(error.code, Code::Forbidden);
    assert_eq!(server.audit("operator.register").await, ["ada Denied"]);
    let listed = server.manager.operators(&admin(), &OperatorFilter::default(), everything()).await.unwrap();
    assert_eq!(listed.total, 0);
}

#[tokio::test]
async fn credentials_are_sealed_used_and_changed_and_never_seen() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::builder().login("reader", "hunter2-right").tls().start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let authority = repository.ca_pem().unwrap().to_owned();
    let register = async |credentials: Credentials| {
        let access = GivenAccess { credentials, authority: Some(authority.clone()) };
        server
            .manager
            .register_operator(&admin(), NewOperator { asked: asked(&repository.url()), access })
            .await
    };
    let error = register(Credentials::Anonymous).await.unwrap_err();
    assert!(error.to_string().contains("wants credentials"), "{error}");
    assert_eq!(error.details.iter().next().unwrap().path, "credentials");
    let error = register(reader("hunter2-wrong")).await.unwrap_err();
    assert!(error.to_string().contains("does not accept the credentials"), "{error}");
    let operator = register(reader("hunter2-right")).await.unwrap();
    assert!(operator.has_credentials);
    assert!(!format!("{operator:?}").contains("hunter2"));
    // What is kept opens again, on another server too.
    repository.add(&greeter("1.1.0"));
    let other = Server::new(&stored.another("two").await);
    let offered = other.manager.refresh_operator(&admin(), "greeter").await.unwrap();
    assert_eq!(offered.versions.len(), 2);
    // Other credentials are tried before they are kept.
    let change = |credentials| ChangeOperator {
        access: GivenCredentials { credentials: Some(credentials), authority: None },
        ..ChangeOperator::default()
    };
    let error = server.manager.change_operator(&admin(), "greeter", change(reader("hunter2-new"))).await;
    assert!(error.unwrap_err().to_string().contains("does not accept the credentials"));
    server.manager.refresh_operator(&admin(), "greeter").await.unwrap();
    // A key that is added seals them anew; then the old one may go.
    let both = Server::with_keys(&stored.store, &[7, 8]);
    both.work(&ResealWorker(both.manager.clone()), "all".to_owned()).await.unwrap();
    let new = Server::with_keys(&stored.store, &[8]);
    new.manager.refresh_operator(&admin(), "greeter").await.unwrap();
    assert_eq!(server.audit("operator.reseal").await.len(), 1);
    assert_eq!(server.database_holds("hunter2").await, Vec::<String>::new());
    assert!(!server.database_holds("sha256:").await.is_empty(), "the search itself works");
}

#[tokio::test]
async fn an_operator_is_changed_in_what_can_be_changed() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let operator = server.register(asked(&repository.url())).await.unwrap();
    let change =
        async |change: ChangeOperator| server.manager.change_operator(&admin(), "greeter", change).await;
    let error = change(ChangeOperator {
        change: OperatorChange { current_version: Some("newest".to_owned()), ..OperatorChange::default() },
        fixed: vec![("name", "greeter".to_owned()), ("namespace", "elsewhere".to_owned())],
        ..ChangeOperator::default()
    })
    .await
    .unwrap_err();
    assert_eq!(error.code, Code::ValidationError);
    assert!(
        error.to_string().contains("namespace is greetings and cannot be changed after registration"),
        "{error}"
    );
    assert_eq!(error.details.iter().count(), 2);

    let wanted = OperatorChange {
        description: Some("says hello".to_owned()),
        labels: Some([("team".to_owned(), "core".to_owned())].into()),
        default_values: json!({"greeting": "ahoy"}).as_object().cloned(),
        profile: Some(json!({"upgrade": {"path": "noSkippedMinor"}})),
        ..OperatorChange::default()
    };
    let asked =
        ChangeOperator { change: wanted, revision: Some(operator.revision), ..ChangeOperator::default() };
    let changed = change(asked.clone()).await.unwrap();
    assert_eq!(changed.revision, operator.revision + 1);
    let shown = server.manager.operator(&admin(), "greeter").await.unwrap().operator;
    assert_eq!(shown.description.as_deref(), Some("says hello"));
    assert_eq!(shown.default_values, changed.default_values);
    let error = change(asked).await.unwrap_err();
    assert_eq!(error.code, Code::PreconditionFailed, "somebody else changed it first");
    let (_, profile, origin) = server.manager.operator_profile(&admin(), "greeter").await.unwrap();
    assert_eq!(origin, ProfileOrigin::Own);
    assert!(profile.allows(&"1.0.0".parse().unwrap(), &"1.2.0".parse().unwrap()).is_err());
    let reset = OperatorChange { profile: Some(Value::Null), ..OperatorChange::default() };
    change(ChangeOperator { change: reset, ..ChangeOperator::default() }).await.unwrap();
    let (_, _, origin) = server.manager.operator_profile(&admin(), "greeter").await.unwrap();
    assert_eq!(origin, ProfileOrigin::Default);
    // The same again is no change.
    let same = change(ChangeOperator::default()).await.unwrap();
    assert_eq!(same.revision, operator.revision + 2);
    assert_eq!(server.audit("operator.update").await.len(), 2);
}

#[tokio::test]
async fn operators_are_listed_by_namespace_label_and_newer_versions() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.9.0"));
    repository.add(&greeter("1.10.0"));
    for (name, namespace, current, team) in
        [("a", "one", "1.9.0", "core"), ("b", "one", "1.10.0", "core"), ("c", "two", "v1.10.0", "edge")]
    {
        let asked = Asked {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            current_version: Some(current.to_owned()),
            labels: [("team".to_owned(), team.to_owned()), ("x".to_owned(), "y".to_owned())].into(),
            crd_names: vec!["greetings.example.com".to_owned()],
            ..asked(&repository.url())
        };
        server.register(asked).await.unwrap();
    }
    let names = async |filter: OperatorFilter| -> Vec<String> {
        let page = server.manager.operators(&admin(), &filter, everything()).await.unwrap();
        assert_eq!(page.total, page.items.len() as u64);
        page.items.iter().map(|operator| operator.name.to_string()).collect()
    };
    let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let filter = OperatorFilter::default;
    assert_eq!(names(filter()).await, ["a", "b", "c"]);
    assert_eq!(names(OperatorFilter { namespace: Some("one".to_owned()), ..filter() }).await, ["a", "b"]);
    let labels = vec![label("team", "edge"), label("x", "y")];
    assert_eq!(names(OperatorFilter { labels, ..filter() }).await, ["c"]);
    assert_eq!(names(OperatorFilter { has_update: Some(true), ..filter() }).await, ["a"]);
    assert_eq!(names(OperatorFilter { has_update: Some(false), ..filter() }).await, ["b", "c"]);
    let part =
        server.manager.operators(&admin(), &filter(), Window::new(Some(1), Some(1)).unwrap()).await.unwrap();
    assert_eq!((part.items[0].name.as_str(), part.total, part.has_more()), ("b", 3, true));
    let beyond =
        server.manager.operators(&admin(), &filter(), Window::new(Some(1), Some(9)).unwrap()).await.unwrap();
    assert_eq!((beyond.items.len(), beyond.total, beyond.has_more()), (0, 3, false));
}

#[tokio::test]
async fn an_operator_that_is_installed_nowhere_is_forgotten() {
    let stored = database().await;
    let server = Server::new(&stored.store);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    server.register(asked(&repository.url())).await.unwrap();
    let operator = person(Role::Operator);
    assert_eq!(server.manager.remove_operator(&operator, "greeter").await.unwrap_err().code, Code::Forbidden);
    server.manager.remove_operator(&admin(), "greeter").await.unwrap();
    let error = server.manager.operator(&admin(), "greeter").await.unwrap_err();
    assert_eq!(
        (error.code, error.to_string().as_str()),
        (Code::OperatorNotFound, "there is no operator greeter")
    );
    let error = server.manager.remove_operator(&admin(), "../../etc").await.unwrap_err();
    assert_eq!(error.code, Code::OperatorNotFound);
    server.register(asked(&repository.url())).await.unwrap();
}
