//! Operators and people as documents.

use serde_json::{Value, json};
use slipway_client::ClientError;
use slipway_contract::audit::AuditQuery;
use slipway_contract::identity::{LoginRequest, SecretText, UserState};
use slipway_contract::operators::{OperatorsQuery, RegisterOperator, RepositoryCredentials};
use slipway_contract::settings::{ApplyOutcome, ApplyReply, KindQuery};
use slipway_domain::access::Role;
use slipway_testkit::charts::{Chart, ChartBuilder, ChartRepository};

use super::served::{Server, server};
use super::{apply, document, nights};

fn greeter(version: &str) -> Chart {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "greetings.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "greetings", "singular": "greeting", "kind": "Greeting", "listKind": "GreetingList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    ChartBuilder::new("greeter", version).crd("greetings.yaml", &definition.to_string()).build().unwrap()
}

fn paths(reply: &ApplyReply) -> Vec<&str> {
    reply.results.iter().flat_map(|one| &one.differences).map(|one| one.path.as_str()).collect()
}

fn refused(error: ClientError) -> (u16, Vec<String>) {
    let ClientError::Refused { status, body } = error else { panic!("{error}") };
    let told: Vec<String> = body
        .details
        .iter()
        .map(|detail| format!("{} {}", detail.path.as_deref().unwrap_or_default(), detail.message))
        .collect();
    (status, if told.is_empty() { vec![body.message] } else { told })
}

async fn exported(server: &Server, kind: &str) -> Vec<Value> {
    let query = KindQuery { kind: Some(kind.to_owned()) };
    let reply = server.client(Role::Admin).export(&query).await.unwrap();
    reply.documents.iter().map(|document| serde_json::to_value(document).unwrap()).collect()
}

async fn audit(server: &Server, action: &str) -> Vec<String> {
    let query = AuditQuery { action: Some(action.to_owned()), ..AuditQuery::default() };
    let list = server.client(Role::Admin).audit(&query).await.unwrap();
    list.entries.iter().map(|entry| entry.message.clone()).collect()
}

#[tokio::test]
async fn an_operator_is_registered_and_changed_by_its_document() {
    let server = server().await;
    let viewer = server.client(Role::Viewer);
    let repository = ChartRepository::start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    repository.add(&greeter("1.1.0"));
    let wanted = document(
        "Operator",
        "greeter",
        json!({
            "chartRepository": repository.url(), "namespace": "greetings", "description": "says hello",
            "labels": {"team": "core"}, "defaultValues": {"greeting": "ahoy"}, "currentVersion": "1.0.0",
            "profile": {"upgrade": {"path": "noSkippedMinor"}},
        }),
    );
    let dry = apply(&server, std::slice::from_ref(&wanted), true).await.unwrap();
    assert_eq!(dry.results[0].outcome, ApplyOutcome::Created);
    assert_eq!(viewer.operators(&OperatorsQuery::default()).await.unwrap().page.total, 0, "only said");
    apply(&server, std::slice::from_ref(&wanted), false).await.unwrap();
    let shown = viewer.operator("greeter").await.unwrap().value;
    assert_eq!(shown.operator.latest_version.as_deref(), Some("1.1.0"), "its repository was asked");
    assert_eq!(shown.operator.current_version.as_deref(), Some("1.0.0"));
    assert_eq!(shown.crd_names, ["greetings.example.com"], "found in the chart");
    assert_eq!(shown.chart_name, "greeter", "like the operator, where nothing is said");
    assert_eq!(viewer.operator_profile("greeter").await.unwrap().origin, "own");
    let again = apply(&server, std::slice::from_ref(&wanted), false).await.unwrap();
    assert_eq!(again.changed, 0, "{again:?}");

    // What a document leaves out goes back to what is usual, but for the version, which rollouts set.
    let less = document(
        "Operator",
        "greeter",
        json!({"chartRepository": repository.url(), "namespace": "greetings", "labels": {"team": "edge"}}),
    );
    let reply = apply(&server, &[less], false).await.unwrap();
    assert_eq!(paths(&reply), ["defaultValues", "description", "labels.team", "profile"]);
    let shown = viewer.operator("greeter").await.unwrap().value;
    assert_eq!((shown.description, shown.labels["team"].as_str()), (None, "edge"));
    assert_eq!(shown.operator.current_version.as_deref(), Some("1.0.0"));
    let mut newer = wanted.clone();
    newer["spec"]["currentVersion"] = json!("1.1.0");
    let reply = apply(&server, &[newer], false).await.unwrap();
    assert!(paths(&reply).contains(&"currentVersion"), "{reply:?}");

    let documents = exported(&server, "Operator").await;
    assert_eq!(documents.len(), 1);
    assert_eq!(documents[0]["spec"]["profile"]["upgrade"]["path"], "noSkippedMinor");
    assert_eq!(apply(&server, &documents, false).await.unwrap().changed, 0);
    assert_eq!(exported(&server, "operator").await, documents);
    assert_eq!(audit(&server, "operator.register").await.len(), 1);
    assert_eq!(audit(&server, "operator.update").await, ["changed greeter", "changed greeter"]);
}

#[tokio::test]
async fn an_operator_that_cannot_be_stops_everything_else() {
    let server = server().await;
    let repository = ChartRepository::builder().login("reader", "hunter2").tls().start().await.unwrap();
    repository.add(&greeter("1.0.0"));
    let open = ChartRepository::start().await.unwrap();
    open.add(&greeter("1.0.0"));
    let authority = repository.ca_pem().unwrap().to_owned();
    let documents = [
        nights(),
        document("Operator", "greeter", json!({"chartRepository": open.url()})),
        document(
            "Operator",
            "other",
            json!({"chartRepository": open.url(), "nameSpace": "x", "profile": {}}),
        ),
        document("Operator", "absent", json!({"chartRepository": open.url(), "chartName": "greter"})),
        document(
            "Operator",
            "closed",
            json!({"chartRepository": repository.url(), "chartName": "greeter",
            "caCertificate": authority}),
        ),
    ];
    let (status, told) = refused(apply(&server, &documents, false).await.unwrap_err());
    assert_eq!((status, told.len()), (400, 3), "{told:#?}");
    assert_eq!(told[0], "documents[2].spec.nameSpace is not a field here; did you mean namespace?");
    assert!(
        told[1].starts_with("documents[3].spec.chartName ") && told[1].contains("it has greeter"),
        "{told:#?}"
    );
    assert!(told[2].starts_with("documents[4].spec.chartRepository asks for credentials"), "{told:#?}");
    assert!(told[2].contains("slipway operator add closed"), "{told:#?}");
    assert!(exported(&server, "Window").await.is_empty() && exported(&server, "Operator").await.is_empty());

    // With credentials it is registered by a command; from then on a document describes it.
    let new = RegisterOperator {
        name: "closed".to_owned(),
        namespace: "closed".to_owned(),
        chart_repository: repository.url(),
        chart_name: "greeter".to_owned(),
        credentials: Some(RepositoryCredentials {
            username: Some("reader".to_owned()),
            password: Some("hunter2".to_owned()),
            token: None,
        }),
        ca_certificate: Some(authority.clone()),
        ..RegisterOperator::default()
    };
    server.client(Role::Operator).register_operator(&new).await.unwrap();
    let mut closed = exported(&server, "Operator").await.remove(0);
    assert!(!closed.to_string().contains("hunter2"), "{closed}");
    closed["spec"]["description"] = json!("behind a door");
    let reply = apply(&server, &[closed.clone()], false).await.unwrap();
    assert_eq!(paths(&reply), ["description"]);
    server.client(Role::Operator).refresh_operator("closed").await.expect("its credentials are still there");
    closed["spec"]["namespace"] = json!("elsewhere");
    closed["spec"]["crdNames"] = json!([]);
    let (status, told) = refused(apply(&server, &[closed], false).await.unwrap_err());
    assert_eq!(status, 400);
    assert!(told[0].starts_with("documents[0].spec.") && told[0].contains("cannot be changed"), "{told:#?}");
}

fn person(name: &str, role: &str) -> Value {
    document("User", name, json!({"role": role}))
}

fn login(name: &str, password: &str, new: Option<&str>) -> LoginRequest {
    LoginRequest {
        username: name.to_owned(),
        password: SecretText(password.to_owned()),
        new_password: new.map(|new| SecretText(new.to_owned())),
    }
}

#[tokio::test]
async fn people_are_made_changed_and_kept_out_by_their_documents() {
    let server = server().await;
    let admin = server.client(Role::Admin);
    let mut ada = document(
        "User",
        "ada",
        json!({"role": "EnvironmentOwner", "environments": ["Production"], "fullName": "Ada", "email": "ada@example.com"}),
    );
    let reply = apply(&server, &[ada.clone(), person("root", "Admin")], false).await.unwrap();
    assert_eq!(reply.changed, 2);
    assert_eq!(apply(&server, &[ada.clone(), person("root", "Admin")], false).await.unwrap().changed, 0);
    let shown = admin.user("ada").await.unwrap().value;
    assert_eq!(shown.email.as_deref(), Some("ada@example.com"));
    // Nobody gets in without a password; whoever manages users gives one.
    let error = admin.login(&login("ada", "", None)).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 400 | 401, .. }), "{error}");
    let once = admin.reset_password("ada").await.unwrap().one_time_password.0;
    admin.login(&login("ada", &once, Some("a sentence for tests"))).await.unwrap();
    assert_eq!(apply(&server, &exported(&server, "User").await, false).await.unwrap().changed, 0);

    ada["spec"]["disabled"] = json!(true);
    ada["spec"].as_object_mut().unwrap().remove("fullName");
    let reply = apply(&server, &[ada], false).await.unwrap();
    assert_eq!(paths(&reply), ["disabled", "fullName"]);
    assert_eq!(admin.user("ada").await.unwrap().value.state, UserState::Disabled);
    let error = admin.login(&login("ada", "a sentence for tests", None)).await.unwrap_err();
    assert!(matches!(error, ClientError::Refused { status: 401, .. }), "{error}");
    assert_eq!(audit(&server, "user.update").await, ["changed ada"]);
    assert_eq!(audit(&server, "user.create").await.len(), 2);
}

#[tokio::test]
async fn people_who_cannot_be_are_refused_and_an_admin_stays() {
    let server = server().await;
    apply(&server, &[person("root", "Admin"), person("eve", "Viewer")], false).await.unwrap();
    server.client(Role::Admin).delete_user("eve").await.unwrap();
    let documents = [
        nights(),
        person("Ada", "Viewer"),
        person("corp:ada", "Viewer"),
        person("eve", "Viewer"),
        document("User", "bob", json!({"role": "Boss"})),
        document(
            "User",
            "joe",
            json!({"role": "Viewer", "environments": ["Production"], "email": "nowhere"}),
        ),
    ];
    let (status, told) = refused(apply(&server, &documents, false).await.unwrap_err());
    assert_eq!(status, 400);
    let begins = [
        "documents[1].metadata.name has to be in lower case: ada",
        "documents[2].metadata.name is of somebody whom another issuer vouches for",
        "documents[3].metadata.name was the name of somebody who was deleted",
        "documents[4].spec.role ",
        "documents[5].spec.email has to look like ada@example.com",
        "documents[5].spec.environments means nothing for the role Viewer",
    ];
    assert_eq!(told.len(), begins.len(), "{told:#?}");
    for (told, begin) in told.iter().zip(begins) {
        assert!(told.starts_with(begin), "{told} does not begin with {begin}");
    }
    // Nobody else could manage users any more.
    let (status, told) =
        refused(apply(&server, &[nights(), person("root", "Viewer")], false).await.unwrap_err());
    assert_eq!((status, told[0].contains("nobody would be left")), (409, true), "{told:?}");
    assert!(exported(&server, "Window").await.is_empty(), "all or nothing");
    // In one go, whichever comes first.
    let reply = apply(&server, &[person("root", "Viewer"), person("grace", "Admin")], false).await.unwrap();
    assert_eq!(reply.results[0].name, "root");
    assert_eq!(reply.changed, 2);
    assert_eq!(exported(&server, "User").await.len(), 2, "whoever was deleted is not among them");
}

#[tokio::test]
async fn values_are_kept_in_files_and_secrets_only_by_reference() {
    let server = server().await;
    let mut wanted = document(
        "Values",
        "greeter-production",
        json!({"operator": "greeter", "environments": ["Production"], "values": {
            "replicas": 3, "auth": {"password": {"$secret": {"name": "greeter", "key": "password"}}}}}),
    );
    let reply = apply(&server, std::slice::from_ref(&wanted), false).await.unwrap();
    assert_eq!(reply.results[0].outcome, ApplyOutcome::Created);
    assert_eq!(apply(&server, std::slice::from_ref(&wanted), false).await.unwrap().changed, 0);
    assert_eq!(exported(&server, "Values").await, [wanted.clone()]);
    let viewer = server.client(Role::Viewer);
    let shown = viewer.setting("Values", "greeter-production").await.unwrap();
    assert_eq!(shown.spec, wanted["spec"]);

    wanted["spec"]["values"]["auth"] = json!({"password": "hunter2"});
    let both = document(
        "Values",
        "both",
        json!({"operator": "greeter", "environments": ["Staging"], "clusters": ["dev"], "values": {"a": 1}}),
    );
    let (status, told) = refused(apply(&server, &[wanted.clone(), both], false).await.unwrap_err());
    assert_eq!((status, told.len()), (400, 2), "{told:#?}");
    assert!(
        told[0].starts_with("documents[0].spec.values.auth.password is called like a secret"),
        "{told:#?}"
    );
    assert!(!told[0].contains("hunter2"), "{told:#?}");
    assert!(told[1].starts_with("documents[1].spec.clusters stands beside environments"), "{told:#?}");

    wanted["spec"]["values"]["auth"] = json!({"tokenLifetime": "1h"});
    wanted["spec"]["notSecret"] = json!(["auth.tokenLifetime"]);
    let reply = apply(&server, &[wanted], false).await.unwrap();
    assert_eq!(paths(&reply), ["notSecret", "values.auth.password", "values.auth.tokenLifetime"]);
    assert_eq!(audit(&server, "setting.change").await, ["changed the Values greeter-production"]);
    server.client(Role::Admin).remove_setting("Values", "greeter-production").await.unwrap();
    assert!(exported(&server, "Values").await.is_empty());
}
