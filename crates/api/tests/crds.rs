//! CRDs, from the client to PostgreSQL.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on ends there"
)]

mod served;

use serde_json::{Value, json};
use served::{Server, actor, server};
use slipway_client::ClientError;
use slipway_contract::audit::AuditQuery;
use slipway_contract::crds::{
    ApproveCrd, CrdHistoryQuery, CrdQuery, CrdsQuery, CreateCrd, DeprecateCrd, ValidateCrd,
};
use slipway_contract::settings::ApplyRequest;
use slipway_domain::access::Role;

const NAME: &str = "widgets.example.com";

fn crd(schema: Value) -> Value {
    named(NAME, schema)
}

#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn named(name: &str, schema: Value) -> Value {
    let (plural, group) = name.split_once('.').unwrap();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": plural},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn plain() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "string"}}})
}

/// `email` is new and required, `size` has another type, `name` is gone.
fn broken() -> Value {
    json!({
        "type": "object", "required": ["email"],
        "properties": {"email": {"type": "string"}, "size": {"type": "integer"}},
    })
}

fn wider() -> Value {
    let mut schema = plain();
    schema["properties"]["colour"] = json!({"type": "string"});
    schema
}

async fn store(server: &Server, version: &str, schema: Value) -> slipway_contract::crds::CrdReply {
    let body = CreateCrd {
        operator_name: "widgets".to_owned(),
        operator_version: version.to_owned(),
        schema_definition: Value::String(crd(schema).to_string()),
    };
    server.client(Role::Operator).create_crd(&body).await.expect("the schema is stored")
}

async fn record(
    server: &Server,
    version: &str,
    definitions: Vec<Value>,
) -> slipway_orchestrator::crds::Recorded {
    let (operator, version) = ("widgets".parse().unwrap(), version.parse().unwrap());
    server
        .manager
        .record_crds(&actor(Some(Role::Operator)), &operator, &version, definitions)
        .await
        .expect("the CRDs are recorded")
}

fn refusal(error: ClientError) -> (u16, String, String) {
    match error {
        ClientError::Refused { status, body } => (status, body.code, body.message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_crd_has_the_fields_that_the_interface_promises() {
    let server = server().await;
    store(&server, "v1.0.0", plain()).await;
    let reply = server.client(Role::Viewer).crd(NAME, &CrdQuery::default()).await.unwrap();
    let value = serde_json::to_value(&reply).unwrap();
    for field in [
        "crdId",
        "name",
        "group",
        "versions",
        "scope",
        "operatorName",
        "operatorVersion",
        "schemaDefinition",
        "schemaVersion",
        "status",
        "approvalStatus",
        "approvedBy",
        "approvedAt",
        "schemaHistory",
        "createdAt",
    ] {
        assert!(value.get(field).is_some(), "{field} is missing in {value}");
    }
    assert_eq!(value["group"], "example.com");
    assert_eq!(value["versions"], json!(["v1"]));
    assert_eq!(value["scope"], "Namespaced");
    assert_eq!(value["schemaVersion"], "1.0");
    assert_eq!(value["status"], "Active");
    assert_eq!(value["approvalStatus"], "NotRequired");
    assert_eq!(value["createdAt"], "2026-11-15T12:00:00Z");
    let definition: Value = serde_json::from_str(value["schemaDefinition"].as_str().unwrap()).unwrap();
    assert_eq!(definition, crd(plain()), "the definition is kept as it was");
    let first = &value["schemaHistory"][0];
    assert_eq!(first["changeType"], "Added");
    assert_eq!(first["description"], "widgets.example.com came with widgets v1.0.0");
}

#[tokio::test]
async fn a_breaking_schema_waits_for_an_admin() {
    let server = server().await;
    store(&server, "1.0.0", plain()).await;
    let stored = store(&server, "1.1.0", broken()).await;
    assert_eq!(stored.summary.schema_version, "2.0");
    assert_eq!(stored.summary.approval_status, "Pending");
    let breaking: Vec<&str> = stored
        .schema_history
        .iter()
        .filter(|line| line.is_breaking && line.operator_version == "1.1.0")
        .map(|line| line.field_path.as_str())
        .collect();
    assert_eq!(breaking, ["email", "name", "size"]);
    let size = stored.schema_history.iter().find(|line| line.field_path == "size").unwrap();
    assert_eq!((size.change_type.as_str(), size.previous_type.as_deref()), ("Modified", Some("string")));
    assert_eq!(size.new_type.as_deref(), Some("integer"));
    let gone = stored.schema_history.iter().find(|line| line.field_path == "name").unwrap();
    assert_eq!((gone.change_type.as_str(), gone.previous_type.as_deref()), ("Removed", Some("string")));

    let (status, code, message) =
        refusal(server.client(Role::Operator).approve_crd(NAME, &ApproveCrd::default()).await.unwrap_err());
    assert_eq!((status, code.as_str()), (403, "FORBIDDEN"));
    assert_eq!(message, "operator may not do this; it takes the role Admin");
    let admin = server.client(Role::Admin);
    let notes = ApproveCrd { notes: Some("nobody uses it".to_owned()), ..ApproveCrd::default() };
    let approved = admin.approve_crd(NAME, &notes).await.unwrap();
    assert_eq!(approved.summary.approval_status, "Approved");
    assert_eq!(approved.summary.approved_by.as_deref(), Some("admin"));
    let again = admin.approve_crd(NAME, &ApproveCrd::default()).await.unwrap();
    assert_eq!(again.summary, approved.summary, "agreeing twice is agreeing once");

    let later = store(&server, "1.2.0", broken()).await;
    assert_eq!(later.summary.approval_status, "Approved", "the same schema needs nobody again");
    let query = AuditQuery { action: Some("crd.approve".to_owned()), ..AuditQuery::default() };
    let audit = admin.audit(&query).await.unwrap();
    let told: Vec<(&str, &str)> =
        audit.entries.iter().map(|entry| (entry.result.as_str(), entry.message.as_str())).collect();
    assert_eq!(
        told,
        [
            ("success", "agreed to widgets.example.com of widgets 1.1.0: nobody uses it"),
            ("denied", "operator may not do this; it takes the role Admin"),
        ]
    );
}

#[tokio::test]
async fn a_schema_is_judged_before_it_comes() {
    let server = server().await;
    store(&server, "1.0.0", plain()).await;
    let client = server.client(Role::Operator);
    let ask = async |definition: Value| {
        let body = ValidateCrd {
            new_schema_definition: definition,
            new_operator_version: "1.1.0".to_owned(),
            operator_name: None,
            kubernetes_version: None,
        };
        client.validate_crd(NAME, &body).await
    };
    for definition in [crd(broken()), Value::String(crd(broken()).to_string()), broken()] {
        let verdict = ask(definition).await.unwrap();
        assert!(!verdict.is_compatible && verdict.requires_approval);
        let told: Vec<(&str, &str, &str)> = verdict
            .breaking_changes
            .iter()
            .map(|change| {
                let words = change.description.split(':').next().unwrap();
                (change.change_type.as_str(), change.field_path.as_str(), words)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("Added", "email", "Required field added"),
                ("Removed", "name", "Field removed"),
                ("Modified", "size", "Field type changed"),
            ]
        );
        assert!(verdict.breaking_changes.iter().all(|change| change.severity == "breaking"));
        assert_eq!(verdict.compared_with, "1.0.0");
        assert_eq!(verdict.rollback.verdict, "after-migration");
        let required = verdict.findings.iter().find(|finding| finding.id == "required-added").unwrap();
        let witness = required.witness.as_ref().expect("an object shows it");
        assert_eq!(witness.outcome, "refused");
    }
    let verdict = ask(crd(wider())).await.unwrap();
    assert!(verdict.is_compatible && !verdict.requires_approval);
    assert!(verdict.breaking_changes.is_empty());
    assert_eq!(verdict.non_breaking_changes[0].field_path, "colour");
    let value = serde_json::to_value(&verdict).unwrap();
    for field in ["isCompatible", "breakingChanges", "nonBreakingChanges", "requiresApproval", "validatedAt"]
    {
        assert!(value.get(field).is_some(), "{field} is missing");
    }

    let (status, code, message) = refusal(ask(named("gadgets.example.com", plain())).await.unwrap_err());
    assert_eq!((status, code.as_str()), (400, "VALIDATION_ERROR"));
    assert_eq!(message, "newSchemaDefinition defines gadgets.example.com, not widgets.example.com");
    let (_, _, message) = refusal(ask(json!("{")).await.unwrap_err());
    assert!(message.starts_with("newSchemaDefinition is not JSON"), "{message}");
    let body = ValidateCrd {
        new_schema_definition: crd(plain()),
        new_operator_version: "soon".to_owned(),
        operator_name: Some("Widgets!".to_owned()),
        kubernetes_version: Some("latest".to_owned()),
    };
    let (_, _, message) = refusal(client.validate_crd(NAME, &body).await.unwrap_err());
    for part in ["newOperatorVersion is not a version", "operatorName has to consist", "kubernetesVersion"] {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
    let (status, _, message) = refusal(
        client
            .validate_crd(
                "no.such",
                &ValidateCrd {
                    new_operator_version: "1.0.0".to_owned(),
                    operator_name: None,
                    kubernetes_version: None,
                    ..body
                },
            )
            .await
            .unwrap_err(),
    );
    assert_eq!(status, 404);
    assert_eq!(message, "there is no CRD no.such; list those there are: slipway crd list");
}

#[tokio::test]
async fn a_policy_says_what_counts_as_breaking() {
    let server = server().await;
    store(&server, "1.0.0", plain()).await;
    let document = json!({
        "apiVersion": "slipway.dev/v1", "kind": "Policy", "metadata": {"name": "widgets"},
        "spec": {"operators": ["widgets"], "crds": {"rules": {"field-removed": "safe"}}},
    });
    let request = ApplyRequest { documents: vec![document], dry_run: false };
    server.client(Role::Admin).apply(&request).await.unwrap();
    let without_size = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let body = ValidateCrd {
        new_schema_definition: crd(without_size),
        new_operator_version: "1.1.0".to_owned(),
        operator_name: None,
        kubernetes_version: None,
    };
    let verdict = server.client(Role::Operator).validate_crd(NAME, &body).await.unwrap();
    assert!(verdict.is_compatible);
    assert_eq!(verdict.non_breaking_changes[0].field_path, "size");
}

#[tokio::test]
async fn history_follows_versions_in_whatever_order_they_are_stored() {
    let mut told = Vec::new();
    for order in [["1.0.0", "1.1.0", "2.0.0"], ["2.0.0", "1.0.0", "1.1.0"], ["1.1.0", "2.0.0", "1.0.0"]] {
        let server = server().await;
        for version in order {
            let schema = match version {
                "1.0.0" => plain(),
                "1.1.0" => wider(),
                _ => broken(),
            };
            record(&server, version, vec![crd(schema)]).await;
        }
        let client = server.client(Role::Viewer);
        let query = CrdHistoryQuery { limit: Some(100), ..CrdHistoryQuery::default() };
        let history = client.crd_history(NAME, &query).await.unwrap();
        let lines: Vec<String> = history
            .schema_history
            .iter()
            .map(|line| format!("{} {} {}", line.operator_version, line.change_type, line.field_path))
            .collect();
        let mut numbers = Vec::new();
        for version in ["1.0.0", "1.1.0", "2.0.0"] {
            let query = CrdQuery { operator_version: Some(version.to_owned()), ..CrdQuery::default() };
            let crd = client.crd(NAME, &query).await.unwrap().summary;
            numbers.push(format!("{version} {} {}", crd.schema_version, crd.approval_status));
        }
        let current = client.crd(NAME, &CrdQuery::default()).await.unwrap();
        assert_eq!(current.summary.operator_version, "2.0.0");
        told.push((lines, numbers));
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
    let (lines, numbers) = &told[0];
    assert_eq!(
        lines.as_slice(),
        [
            "2.0.0 Added email",
            "2.0.0 Removed colour",
            "2.0.0 Removed name",
            "2.0.0 Modified size",
            "1.1.0 Added colour",
            "1.0.0 Added ",
        ]
    );
    assert_eq!(numbers.as_slice(), ["1.0.0 1.0 NotRequired", "1.1.0 1.1 NotRequired", "2.0.0 2.0 Pending"]);
}

#[tokio::test]
async fn recording_the_same_again_changes_nothing() {
    let server = server().await;
    let first = record(&server, "v1.0.0", vec![crd(plain()), crd(plain())]).await;
    assert_eq!(first.added, [NAME]);
    let before = server.client(Role::Admin).audit(&AuditQuery::default()).await.unwrap();
    let again = record(&server, "1.0.0", vec![crd(plain())]).await;
    assert_eq!(again, slipway_orchestrator::crds::Recorded::default());
    let after = server.client(Role::Admin).audit(&AuditQuery::default()).await.unwrap();
    assert_eq!(before, after);
    let body = CreateCrd {
        operator_name: "widgets".to_owned(),
        operator_version: "1.0.0".to_owned(),
        schema_definition: crd(wider()),
    };
    let (status, code, _) = refusal(server.client(Role::Operator).create_crd(&body).await.unwrap_err());
    assert_eq!((status, code.as_str()), (409, "CONFLICT"), "a version does not change");
}

#[tokio::test]
async fn a_crd_that_a_release_no_longer_has_is_removed_and_may_come_back() {
    let server = server().await;
    let gadgets = named("gadgets.example.com", plain());
    record(&server, "1.0.0", vec![crd(plain()), gadgets.clone()]).await;
    let recorded = record(&server, "1.1.0", vec![crd(plain())]).await;
    assert_eq!(recorded.removed, ["gadgets.example.com"]);
    let client = server.client(Role::Viewer);
    let list = async |status: &str| {
        let query = CrdsQuery { status: Some(status.to_owned()), ..CrdsQuery::default() };
        let crds = client.crds(&query).await.unwrap().crds;
        crds.into_iter().map(|crd| crd.name).collect::<Vec<_>>()
    };
    assert_eq!(list("Removed").await, ["gadgets.example.com"]);
    assert_eq!(list("active").await, [NAME]);
    let gone = client.crd("gadgets.example.com", &CrdQuery::default()).await.unwrap();
    assert_eq!(gone.summary.removed_in.as_deref(), Some("1.1.0"));
    assert_eq!(gone.schema_history[0].change_type, "Removed");
    assert!(gone.schema_history[0].is_breaking);
    record(&server, "1.2.0", vec![crd(plain()), gadgets]).await;
    assert!(list("Removed").await.is_empty());
    let back = client.crd("gadgets.example.com", &CrdQuery::default()).await.unwrap();
    assert!(back.schema_history.iter().all(|line| line.change_type != "Removed"), "{back:?}");
}

#[tokio::test]
async fn a_crd_is_left_with_a_guide() {
    let server = server().await;
    store(&server, "1.0.0", plain()).await;
    let admin = server.client(Role::Admin);
    let (status, _, message) =
        refusal(admin.deprecate_crd(NAME, &DeprecateCrd::default()).await.unwrap_err());
    assert_eq!((status, message.as_str()), (400, "reason is empty; say why it is to be left"));
    let body = DeprecateCrd {
        reason: "gadgets do more".to_owned(),
        migration_guide: Some("Write a Gadget instead.".to_owned()),
        operator_name: None,
    };
    let left = admin.deprecate_crd(NAME, &body).await.unwrap().summary;
    assert_eq!(
        (left.status.as_str(), left.migration_guide.as_deref()),
        ("Deprecated", Some("Write a Gadget instead."))
    );
    assert!(left.deprecated_at.is_some());
    let later = store(&server, "1.1.0", wider()).await.summary;
    assert_eq!(later.status, "Deprecated", "a new version does not bring it back");
}

#[tokio::test]
async fn versions_that_are_stored_at_once_make_one_chain() {
    let server = server().await;
    let versions: Vec<String> = (0..6).map(|minor| format!("1.{minor}.0")).collect();
    let mut tasks = Vec::new();
    for version in &versions {
        let mut schema = plain();
        schema["properties"][format!("f{}", version.replace('.', ""))] = json!({"type": "string"});
        let (manager, version) = (server.manager.clone(), version.parse().unwrap());
        tasks.push(tokio::spawn(async move {
            let operator = "widgets".parse().unwrap();
            // Many at once may wear each other out; whoever stores tries again.
            loop {
                match manager
                    .record_crds(&actor(Some(Role::Operator)), &operator, &version, vec![crd(schema.clone())])
                    .await
                {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.code, slipway_orchestrator::Code::Conflict, "{error}"),
                }
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let client = server.client(Role::Viewer);
    for (index, version) in versions.iter().enumerate() {
        let query = CrdQuery { operator_version: Some(version.clone()), ..CrdQuery::default() };
        let crd = client.crd(NAME, &query).await.unwrap().summary;
        // Each drops the field of the one before it, which breaks.
        assert_eq!(crd.schema_version, format!("{}.0", index + 1), "{version}");
    }
}

#[tokio::test]
async fn what_is_no_crd_is_refused_with_all_reasons() {
    let server = server().await;
    let client = server.client(Role::Operator);
    let body = CreateCrd {
        operator_name: "Not A Name".to_owned(),
        operator_version: "latest".to_owned(),
        schema_definition: json!({"kind": "Pod"}),
    };
    let (status, _, message) = refusal(client.create_crd(&body).await.unwrap_err());
    assert_eq!(status, 400);
    for part in [
        "operatorName has to",
        "operatorVersion is not a version",
        "schemaDefinition cannot be used: not a CustomResourceDefinition",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message}");
    }
    let mut large = crd(plain());
    large["metadata"]["annotations"] = json!({"a": "x".repeat(4 << 20)});
    let body = CreateCrd {
        operator_name: "widgets".to_owned(),
        operator_version: "1.0.0".to_owned(),
        schema_definition: large,
    };
    let (status, _, message) = refusal(client.create_crd(&body).await.unwrap_err());
    assert_eq!((status, message.as_str()), (400, "schemaDefinition is larger than 3 MiB"));
    let (status, _, _) = refusal(client.crd("a\0b", &CrdQuery::default()).await.unwrap_err());
    assert_eq!(status, 404);
}
